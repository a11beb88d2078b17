// SPDX-License-Identifier: Apache-2.0
// Design. The floor of an operation is the least that a program without any library must do for the same effect: over
// the network one datagram there and one back, over the loopback or along a cable; inside a node a load, a store or a
// CPU atomic, a cache line there and back for a message that a polling target answers, a futex for one that must be
// woken.
#include "rma/plan.hpp"

namespace bench {
namespace {

using floors = std::vector<rma_floor>;

constexpr std::size_t word = 8;

const std::vector<std::size_t> all_sizes = {8, 64, 512, 4096, 32768, 262144, 1048576, 8388608, 67108864};
const std::vector<std::size_t> quick_sizes = {4096, 65536, 1048576},
                               quick_cable_sizes = {8, 4096, 65536, 1048576, 8388608, 67108864};
constexpr std::size_t everything_at = 1048576; // the size at which the other streams are measured too

rma_case latency(const std::string &name, const floors &beside)
{
    rma_case c{name, name, "latency_us", word, beside, "", 1, false};
    c.by_peers = name != "am" && name != "copy" && name != "flag";
    return c;
}

std::string shm_floor(const std::string &name, const std::string &target)
{
    if (name == "get") return "load";
    if (name == "fetch_add") return "cpu_fetch_add";
    if (name == "cas") return "cpu_cas";
    if (name == "flag") return "cache_line_rtt";
    if (name == "am") return target == "waiting" ? "cache_line_rtt" : "futex_rtt_" + target;
    return "store";
}

floors net_floors(const std::string &name, const std::string &target)
{
    if (name == "put") return {{"udp_send", word}};
    if (target == "waiting") return {{"udp_rtt", word}, {"tcp_rtt", word}};
    return {{"udp_rtt_" + target, word}};
}

rma_group small_group(const std::string &path, const std::string &target)
{
    std::vector<std::string> names = {"put", "put_fence", "get", "fetch_add", "cas", "am"};
    if (target == "waiting") names.push_back("copy");
    if (target == "computing") names.push_back("flag");
    rma_group group{path, target, {}, path + "/" + target + "/small", false};
    for (const auto &name : names)
        group.cases.push_back(
            latency(name, path != "shm" ? net_floors(name, target) : floors{{shm_floor(name, target), word}}));
    if (target != "waiting") return group;
    rma_case rate{"put", "put_rate", "rate_mops", word, {}, "", 1, true};
    rate.floors = path != "shm" ? floors{{"udp_rate", word}, {"udp_rate_gso", word}} : floors{{"store_rate", word}};
    group.cases.push_back(rate);
    if (path != "shm")
        for (auto &c : group.cases) {
            if (c.name == "fetch_add") c.ucx = "ucp_fadd";
            if (c.name == "cas") c.ucx = "ucp_cswap";
            if (c.name == "am") c.ucx = "ucp_am_lat", c.ucx_factor = 2; // it prints half a round trip
        }
    return group;
}

floors stream_floors(const std::string &path, std::size_t bytes)
{
    if (path == "shm") return {{"memcpy", bytes}};
    if (path == "cable") return {{"udp_stream_gso", bytes}, {"tcp_stream", bytes}};
    if (bytes != everything_at) return {{"udp_stream_gso", bytes}};
    return {{"udp_stream_gso", bytes}, {"udp_stream_60k", bytes}, {"tcp_stream", bytes}};
}

rma_group stream_group(const std::string &path, bool quick)
{
    rma_group group{path, "waiting", {}, path + "/waiting/stream", true};
    const auto &sizes = !quick ? all_sizes : path == "cable" ? quick_cable_sizes : quick_sizes;
    for (const std::string name : {"put", "get"})
        for (std::size_t bytes : sizes)
            group.cases.push_back(
                {name, name + "_bw", "bandwidth_gbs", bytes, stream_floors(path, bytes), "", 1, true});
    return group;
}

} // namespace

std::vector<std::string> rma_case_names()
{
    return {"put", "put_fence", "get", "fetch_add", "cas", "am", "copy", "flag"};
}

std::vector<rma_group> plan_of(const options &o)
{
    std::vector<rma_group> groups;
    for (const std::string path : {"net", "cable", "shm"}) {
        groups.push_back(small_group(path, "waiting"));
        groups.push_back(stream_group(path, o.quick));
    }
    for (const std::string target : {"computing", "asleep"})
        for (const std::string path : {"net", "cable", "shm"}) groups.push_back(small_group(path, target));
    std::erase_if(
        groups, [&](const rma_group &g) { return g.path == "cable" ? !o.names_path(g.path) : !o.wants_path(g.path); });
    for (auto &g : groups) std::erase_if(g.cases, [&](const rma_case &c) { return !o.wants_case(c.name); });
    std::erase_if(groups, [](const rma_group &g) { return g.cases.empty(); });
    return groups;
}

} // namespace bench
