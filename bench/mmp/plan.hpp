// SPDX-License-Identifier: Apache-2.0
// What `onesea bench mmp` measures, and beside what.
#pragma once

#include "driver/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct mmp_group {    // one kind of measurement on one path, of some sizes
    std::string kind; // pingpong, stream, fragment, computing
    std::string path; // shm, net, cable
    std::vector<std::size_t> sizes;
    std::string id() const { return kind + "@" + path; }
    std::string metric() const { return kind == "stream" || kind == "fragment" ? "bandwidth_gbs" : "latency_us"; }

    // "" if there is none for that size.
    std::string floor_for(std::size_t bytes) const;
    std::string own_case() const { return kind == "fragment" ? "stream" : kind; } // of the worker
    // Streams inside a node are also measured with buffers that both ranks can reach.
    bool also_shared() const { return kind == "stream" && path == "shm"; }
};

struct npb_group {
    std::string name; // is_s, is_a, cg_s, cg_a
    std::string path;
    std::vector<int> ranks;
    std::string kernel() const { return name.substr(0, 2); }
    std::string problem() const { return name.back() == 's' ? "S" : "A"; }
};

std::vector<std::string> mmp_case_names();
std::vector<mmp_group> groups_of(const options &o);
std::vector<npb_group> npb_groups_of(const options &o);

inline constexpr std::size_t fragment_message = 1u << 20; // bytes of the messages that the case fragment sends

// Fragment lengths to try on that path, ascending; `tuned` among them.
std::vector<std::uint32_t> fragment_lengths(const std::string &path, bool quick, std::uint32_t tuned);

} // namespace bench
