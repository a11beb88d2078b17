// SPDX-License-Identifier: Apache-2.0
// `onesea doctor [--json]`: one line for each thing that matters here; status 1 if something is bad.
#include "commands.hpp"
#include "doctor_checks.hpp"

#include "agent/hosts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace onesea::cli {
namespace {

const char *name_of(health h)
{
    switch (h) {
    case health::ok:
        return "ok";
    case health::warn:
        return "warn";
    case health::bad:
        return "bad";
    }
    return "";
}

void print(const finding &f, bool json)
{
    if (json) {
        nlohmann::json line = {{"check", f.name}, {"state", name_of(f.state)}, {"text", f.text}, {"change", f.change}};
        fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        return;
    }
    fmt::print("{:<5} {:<22} {}\n", name_of(f.state), f.name, f.text);
    if (!f.change.empty()) fmt::print("{:<5} {:<22} -> {}\n", "", "", f.change);
}

} // namespace

int doctor(const arguments &args)
{
    bool json = false, bad = false;
    for (const std::string &a : args) {
        if (a == "--help" || a == "-h") {
            fmt::print("onesea doctor [--json]: what this machine offers to Onesea, and what to change\n");
            return 0;
        }
        if (a != "--json")
            throw onesea::agent::request_error(fmt::format("doctor has no option '{}'; it knows --json", a));
        json = true;
    }
    for (auto examine : {examine_machine, examine_network, examine_choices})
        for (const finding &f : examine()) {
            print(f, json);
            bad = bad || f.state == health::bad;
        }
    return bad ? 1 : 0;
}

} // namespace onesea::cli
