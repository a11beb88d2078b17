// SPDX-License-Identifier: Apache-2.0
#include "mmp/plan.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr std::size_t most_datagram = 32768; // of a ping-pong: one datagram
constexpr std::size_t kb = 1024, mb = 1024 * kb;

std::vector<std::size_t> sizes_of(const std::string &kind, bool quick)
{
    if (kind == "pingpong")
        return quick ? std::vector<std::size_t>{4, 1024, 32 * kb}
                     : std::vector<std::size_t>{4, 16, 64, 256, kb, 4 * kb, 16 * kb, 32 * kb, 128 * kb, mb, 4 * mb};
    if (kind == "stream")
        return quick ? std::vector<std::size_t>{8 * kb, mb}
                     : std::vector<std::size_t>{64, kb, 8 * kb, 64 * kb, 256 * kb, mb, 4 * mb, 16 * mb, 64 * mb};
    if (kind == "fragment") return {fragment_message};
    return {8 * kb};
}

} // namespace

std::string mmp_group::floor_for(std::size_t bytes) const
{
    const bool memory = path == "shm";
    if (kind == "pingpong") return memory ? "memory_pingpong" : bytes <= most_datagram ? "udp_pingpong" : "";
    if (kind == "stream") return memory ? "memcpy" : "udp_stream_gso";
    return "";
}

std::vector<std::string> mmp_case_names()
{
    return {"pingpong", "stream", "fragment", "computing", "is_s", "is_a", "cg_s", "cg_a"};
}

std::vector<mmp_group> groups_of(const options &o)
{
    std::vector<mmp_group> all;
    for (const std::string kind : {"pingpong", "stream", "fragment", "computing"})
        for (const std::string path : {"net", "shm", "cable"}) {
            if (!o.wants_case(kind) || (path == "cable" ? !o.names_path(path) : !o.wants_path(path))) continue;
            if (kind == "fragment" && path == "shm") continue; // there messages are not cut
            all.push_back({kind, path, sizes_of(kind, o.quick)});
        }
    return all;
}

std::vector<npb_group> npb_groups_of(const options &o)
{
    std::vector<npb_group> all;
    for (const std::string name : {"is_s", "cg_s", "is_a", "cg_a"})
        for (const std::string path : {"net", "shm", "cable"}) {
            const bool named = !o.cases.empty();
            if (!o.wants_case(name) || (o.quick && !named && (name.back() == 'a' || path == "shm"))) continue;
            if (path == "cable" ? !o.names_path(path) : !o.wants_path(path)) continue;
            std::vector<int> ranks = o.quick ? std::vector<int>{4} : std::vector<int>{1, 2, 4, 8};
            if (path != "shm") std::erase(ranks, 1);
            all.push_back({name, path, ranks});
        }
    return all;
}

std::vector<std::uint32_t> fragment_lengths(const std::string &path, bool quick, std::uint32_t tuned)
{
    std::vector<std::uint32_t> all = {1472, 11776, 65000};
    if (!quick) all = {1472, 2944, 5888, 11776, 23552, 35328, 47104, 65000};
    if (path == "cable") all.front() = 1400;
    all.push_back(tuned);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

} // namespace bench
