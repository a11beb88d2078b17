// SPDX-License-Identifier: Apache-2.0
// core: the allowed processors are cut in as many equal runs as there are ranks, so that a rank's dispatcher and its
// program's threads share what is its own. With more ranks than processors, ranks share them round and round.
// automatic: core, or none with more ranks than processors: there the kernel's balancing is worth more.
#include "agent/binding.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fstream>

namespace onesea::agent {
namespace {

cpu_set_t set_of(const std::vector<int> &cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int c : cpus)
        if (c >= 0 && c < CPU_SETSIZE) CPU_SET(std::size_t(c), &set);
    return set;
}

} // namespace

std::vector<int> parse_cpu_list(std::string_view text)
{
    std::vector<int> cpus;
    const char *p = text.data(), *end = p + text.size();
    while (p < end && *p >= '0' && *p <= '9') {
        int first = 0, last = 0;
        p = std::from_chars(p, end, first).ptr;
        last = first;
        if (p < end && *p == '-') p = std::from_chars(p + 1, end, last).ptr;
        for (int c = first; c <= last && c < CPU_SETSIZE; ++c) cpus.push_back(c);
        if (p < end && *p == ',') ++p;
    }
    return cpus;
}

std::vector<std::vector<int>> numa_groups()
{
    std::vector<std::vector<int>> groups;
    for (int n = 0; n < 1024; ++n) {
        std::ifstream file(fmt::format("/sys/devices/system/node/node{}/cpulist", n));
        std::string line;
        if (!std::getline(file, line)) break;
        if (auto cpus = parse_cpu_list(line); !cpus.empty()) groups.push_back(std::move(cpus));
    }
    if (groups.empty()) groups.push_back(allowed_cpus());
    return groups;
}

std::vector<int> allowed_cpus()
{
    cpu_set_t set;
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
    for (int c = 0; c < CPU_SETSIZE; ++c)
        if (CPU_ISSET(std::size_t(c), &set)) cpus.push_back(c);
    return cpus;
}

std::optional<cpu_set_t> choose_cpus(bind_mode mode, unsigned index, unsigned total, const std::vector<int> &allowed,
                                     const std::vector<std::vector<int>> &numa)
{
    std::size_t n = allowed.size();
    if (mode == bind_mode::none || n == 0 || total == 0) return std::nullopt;
    if (mode == bind_mode::automatic && total > n) return std::nullopt;
    if (mode != bind_mode::numa) {
        if (total > n) return set_of({allowed[index % n]});
        std::size_t first = index * n / total, last = (index + 1) * n / total;
        return set_of({allowed.begin() + long(first), allowed.begin() + long(last)});
    }
    std::vector<std::vector<int>> groups;
    for (const auto &g : numa) {
        std::vector<int> both;
        for (int c : g)
            if (std::find(allowed.begin(), allowed.end(), c) != allowed.end()) both.push_back(c);
        if (!both.empty()) groups.push_back(std::move(both));
    }
    if (groups.empty()) return std::nullopt;
    return set_of(groups[std::size_t(index) * groups.size() / total % groups.size()]);
}

} // namespace onesea::agent
