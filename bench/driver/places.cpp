// SPDX-License-Identifier: Apache-2.0
#include "driver/places.hpp"

#include <cstdlib>
#include <filesystem>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace bench {
namespace {

namespace fs = std::filesystem;

// A folder that may not be looked at, such as root's in an inherited PATH, has no program for us.
bool can_run(const fs::path &file)
{
    std::error_code none;
    return fs::is_regular_file(file, none) && access(file.c_str(), X_OK) == 0;
}

fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

} // namespace

std::optional<std::string> in_path(const std::string &name)
{
    const char *path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (can_run(fs::path(folder) / name)) return (fs::path(folder) / name).string();
    return std::nullopt;
}

std::optional<std::string> find_own_program(const std::string &name)
{
    const fs::path here = own_folder();
    for (const auto &folder : {here, here / "../bin", here / "../../bin", here / "../libexec/onesea"})
        if (can_run(folder / name)) return fs::canonical(folder / name).string();
    return std::nullopt;
}

std::string own_program(const std::string &name)
{
    auto found = find_own_program(name);
    if (!found)
        throw std::runtime_error(name + " is not beside this program (" + own_folder().string() +
                                 "), nor in bin or libexec/onesea of the same tree");
    return *found;
}

core_pair measuring_cores()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {-1, -1};
    core_pair cores{-1, -1};
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(static_cast<std::size_t>(i), &set)) continue;
        if (cores.origin >= 0) return {cores.origin, i};
        cores = {i, i};
    }
    return cores;
}

} // namespace bench
