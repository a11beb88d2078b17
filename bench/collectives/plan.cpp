// SPDX-License-Identifier: Apache-2.0
// Design. Only an exchange has a floor: each side sends once and receives once, at the same time as the other, which is
// half of a round trip in which the two take turns. That is so for short messages: no datagram holds long ones, and
// long copies at the same time are not those that take turns. Along a cable it is so for what one packet holds: a
// longer datagram goes in fragments of IP, which took two to five times as long as packets that the kernel segments.
// What more ranks do together no program of two can stand for.
#include "collectives/plan.hpp"

namespace bench {
namespace {

constexpr std::size_t kb = 1024, longest_with_floor = 32 * kb, longest_on_cable = 1472;

struct kind {
    std::string name;
    std::vector<std::size_t> sizes, quick_sizes;
    int most_ranks;
};

const std::vector<kind> &kinds()
{
    static const std::vector<kind> all = {
        {"exchange", {8, kb, 4 * kb, 16 * kb, 64 * kb}, {8, 4 * kb}, 2},
        {"barrier", {0}, {0}, 8},
        {"allgather", {8, kb, 16 * kb}, {kb}, 8},
        {"allreduce", {8, 8 * kb}, {8, 8 * kb}, 8},
        {"reduce_scatter", {8, 8 * kb}, {kb}, 8},
        {"scan", {8, 8 * kb}, {8}, 8},
        {"alltoall", {kb}, {kb}, 8},
        {"alltoallv", {kb}, {kb}, 8},
        {"broadcast", {8, 64 * kb}, {8, 64 * kb}, 8},
        {"neighbors", {8, 4 * kb}, {8, 4 * kb}, 4},
        // Behind the others: of a peer that is ended before it has measured all, the last ones are missing.
        {"allgatherv", {kb, 16 * kb}, {kb}, 8},
        {"gatherv", {kb, 16 * kb}, {kb}, 8},
        {"scatterv", {kb, 16 * kb}, {kb}, 8},
        {"exscan", {8, 8 * kb}, {8}, 8},
    };
    return all;
}

std::string floor_of_exchange(const std::string &path, std::size_t bytes)
{
    if (bytes > (path == "cable" ? longest_on_cable : longest_with_floor)) return "";
    return path == "shm" ? "memory_pingpong" : "udp_pingpong";
}

std::vector<collective_case> cases_of(const options &o, const std::string &path, int ranks)
{
    std::vector<collective_case> cases;
    for (const auto &k : kinds()) {
        if (!o.wants_case(k.name) || ranks > k.most_ranks) continue;
        for (std::size_t bytes : o.quick ? k.quick_sizes : k.sizes)
            cases.push_back({k.name, bytes, k.name == "exchange" ? floor_of_exchange(path, bytes) : ""});
    }
    return cases;
}

} // namespace

std::vector<std::string> collective_case_names()
{
    std::vector<std::string> names;
    for (const auto &k : kinds()) names.push_back(k.name);
    return names;
}

std::vector<collective_group> collective_groups_of(const options &o)
{
    std::vector<collective_group> groups;
    for (int ranks : o.quick ? std::vector<int>{2, 4} : std::vector<int>{2, 4, 8})
        for (const std::string path : {"net", "shm", "cable"})
            if (path == "cable" ? o.names_path(path) : o.wants_path(path))
                groups.push_back({path, ranks, cases_of(o, path, ranks)});
    std::erase_if(groups, [](const collective_group &g) { return g.cases.empty(); });
    return groups;
}

} // namespace bench
