// SPDX-License-Identifier: Apache-2.0
// `onesea bench NAME` runs the program onesea-bench-NAME.
#include "commands.hpp"
#include "helpers.hpp"

#include "agent/hosts.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace onesea::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view stem = "onesea-bench-";

// What benchmarks start themselves.
bool is_part(const std::string &name)
{
    return name == "floors" || name.starts_with("worker-") || name.starts_with("peer-");
}

std::set<std::string> names()
{
    std::set<std::string> found;
    for (const fs::path &folder : helper_folders()) {
        std::error_code none;
        for (const auto &entry : fs::directory_iterator(folder, none)) {
            std::string name = entry.path().filename().string();
            if (!name.starts_with(stem) || access(entry.path().c_str(), X_OK) != 0) continue;
            if (name = name.substr(stem.size()); !is_part(name)) found.insert(name);
        }
    }
    return found;
}

std::string list()
{
    auto found = names();
    return found.empty() ? "none is installed" : fmt::format("{}", fmt::join(found, ", "));
}

} // namespace

int bench(const arguments &args)
{
    if (args.empty() || args[0] == "--help" || args[0] == "-h") {
        fmt::print("onesea bench NAME [--quick] [--json] [--runs N] [--out DIR]\nbenchmarks: {}\n", list());
        return 0;
    }
    const std::string &name = args[0];
    if (name.starts_with('-'))
        throw onesea::agent::request_error(
            fmt::format("bench has no option '{}' before the name of a benchmark", name));
    if (name.find('/') == name.npos) run_helper(std::string(stem) + name, arguments(args.begin() + 1, args.end()));
    throw onesea::agent::request_error(fmt::format("there is no benchmark '{}'; there are: {}", name, list()), 127);
}

} // namespace onesea::cli
