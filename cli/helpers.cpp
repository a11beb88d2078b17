// SPDX-License-Identifier: Apache-2.0
#include "helpers.hpp"

#include "agent/hosts.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace onesea::cli {

namespace fs = std::filesystem;

std::vector<fs::path> helper_folders()
{
    fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    return {own, own.parent_path() / "libexec" / "onesea"};
}

void run_helper(const std::string &name, const arguments &args)
{
    for (const fs::path &folder : helper_folders()) {
        fs::path program = folder / name;
        if (access(program.c_str(), X_OK) != 0) continue;
        std::vector<char *> argv{const_cast<char *>(program.c_str())};
        for (const std::string &a : args) argv.push_back(const_cast<char *>(a.c_str()));
        argv.push_back(nullptr);
        execv(program.c_str(), argv.data());
        throw onesea::agent::request_error(fmt::format("{} cannot be started: {}", program.string(), strerror(errno)),
                                           126);
    }
}

} // namespace onesea::cli
