// SPDX-License-Identifier: Apache-2.0
#include "driver/machine.hpp"

#include "driver/table.hpp"

#include <cstddef>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sched.h>
#include <vector>

namespace bench {
namespace {

std::string first_line(const std::string &file)
{
    std::string line;
    std::getline(std::ifstream(file), line);
    return line;
}

// The value behind "name  : " where it comes first.
std::string field_of(const std::string &file, const std::string &name)
{
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(": ");
        if (colon != std::string::npos && line.starts_with(name)) return line.substr(colon + 2);
    }
    return "";
}

// "L2 2 MB", "L3 300 MB", of the first processor.
std::vector<std::string> caches(const std::string &system)
{
    std::vector<std::string> all;
    for (int i = 0;; ++i) {
        const std::string folder = fmt::format("{}/sys/devices/system/cpu/cpu0/cache/index{}/", system, i);
        const std::string level = first_line(folder + "level"), size = first_line(folder + "size");
        if (level.empty() || size.empty()) return all;
        std::size_t kilobytes = 0;
        if (level != "1" && std::sscanf(size.c_str(), "%zuK", &kilobytes) == 1 && kilobytes > 0)
            all.push_back(fmt::format("L{} {}", level, size_text(kilobytes * 1024)));
    }
}

long usable_processors()
{
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 0;
}

} // namespace

std::string machine_text(const std::string &system, long processors)
{
    std::vector<std::string> parts;
    const std::string model = field_of(system + "/proc/cpuinfo", "model name");
    if (!model.empty()) parts.push_back(model);
    if (processors > 0) parts.push_back(fmt::format("{} processor{}", processors, processors == 1 ? "" : "s"));
    for (const std::string &cache : caches(system)) parts.push_back(cache);
    const std::string release = first_line(system + "/proc/sys/kernel/osrelease");
    const std::string kernel = release.substr(0, release.find_first_not_of("0123456789."));
    if (!kernel.empty()) parts.push_back("Linux " + kernel);
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string machine_text() { return machine_text("", usable_processors()); }

} // namespace bench
