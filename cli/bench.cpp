// SPDX-License-Identifier: Apache-2.0
// `onesea bench NAME` runs the program onesea-bench-NAME, which lies beside this command in a build tree and in
// ../libexec/onesea once installed.
#include "commands.hpp"

#include "agent/hosts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace onesea::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view stem = "onesea-bench-";

std::vector<fs::path> folders()
{
    fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    return {own, own.parent_path() / "libexec" / "onesea"};
}

// What benchmarks start themselves.
bool is_part(const std::string &name)
{
    return name == "floors" || name.starts_with("worker-") || name.starts_with("peer-");
}

std::set<std::string> names()
{
    std::set<std::string> found;
    for (const fs::path &folder : folders()) {
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
    if (name.find('/') == name.npos)
        for (const fs::path &folder : folders()) {
            fs::path program = folder / (std::string(stem) + name);
            if (access(program.c_str(), X_OK) != 0) continue;
            std::vector<char *> argv{const_cast<char *>(program.c_str())};
            for (std::size_t i = 1; i < args.size(); ++i) argv.push_back(const_cast<char *>(args[i].c_str()));
            argv.push_back(nullptr);
            execv(program.c_str(), argv.data());
            throw onesea::agent::request_error(
                fmt::format("{} cannot be started: {}", program.string(), strerror(errno)), 126);
        }
    throw onesea::agent::request_error(fmt::format("there is no benchmark '{}'; there are: {}", name, list()), 127);
}

} // namespace onesea::cli
