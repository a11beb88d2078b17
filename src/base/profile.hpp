// SPDX-License-Identifier: Apache-2.0
// What `onesea tune` measures and a job loads: some numbers for each kind of path between two ranks. Every legal value
// is correct; what is fastest depends on the machine. The defaults are good on most.
//
// A profile is one for a whole node: it lies in the arena's header and travels there with the launcher's message. Two
// nodes may have different ones, so nothing here is agreed between two ranks: each number is what its own side does.
//
// A knob is a row of the table behind parameters_of(): name, default, range and help feed the reading of files, the
// checks, the help and the documentation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace onesea {

// shm: ranks of one node. loopback, ethernet: ranks of two nodes, by the length of the packets between them.
enum class path_kind : unsigned { shm, loopback, ethernet };
inline constexpr std::size_t path_kinds = 3;
inline constexpr std::array<path_kind, path_kinds> all_paths{path_kind::shm, path_kind::loopback, path_kind::ethernet};

inline constexpr std::uint32_t longest_ethernet = 9216; // mtu, bytes; only loopback has longer packets

// The kind of the path between two nodes.
constexpr path_kind path_of_mtu(std::uint32_t mtu)
{
    return mtu > longest_ethernet ? path_kind::loopback : path_kind::ethernet;
}

std::string_view name_of(path_kind path);

// All in bytes.
struct path_tuning {
    // Of one piece of bulk data: between nodes of one send, which the kernel cuts in packets; inside a node of one
    // record in a ring.
    std::uint32_t fragment = 65000;
    // Active messages with no more data carry it; the data of longer ones is pulled by the target.
    std::uint32_t eager = 8192;
    // The same of matched messages.
    std::uint32_t eager_message = 65536;
    // So much small data goes behind a packet that is under way without waiting for more; twice as much each time.
    // Inside a node nothing waits.
    std::uint32_t batch = 4096;
    // Under way between two ranks, at most; inside a node the size of a ring.
    std::uint32_t window = 1536 * 1024;

    bool operator==(const path_tuning &) const = default;
};

struct profile {
    std::array<path_tuning, path_kinds> paths{
        path_tuning{.fragment = 8160, .eager = 8192, .eager_message = 8192, .batch = 4096, .window = 32 * 1024},
        {},
        {}};

    path_tuning &of(path_kind path) { return paths[std::size_t(path)]; }
    const path_tuning &of(path_kind path) const { return paths[std::size_t(path)]; }
    bool operator==(const profile &) const = default;
};

// One number that can be set for a path.
struct parameter {
    std::string_view name;
    std::uint32_t path_tuning::*value;
    std::uint32_t least, most; // bytes, both legal
    bool power_of_two;
    std::string_view help;
};

// Those that a path has.
std::span<const parameter> parameters_of(path_kind path);
const parameter *find_parameter(path_kind path, std::string_view name); // nullptr: there is none of that name

// "" if it may be set to that value, else why not, such as "7 is not in 16384..4194304".
std::string what_is_wrong(const parameter &p, std::uint64_t value);

// "fragment 8160, eager 8192, ...", all that the path has.
std::string to_text(path_kind path, const path_tuning &values);

// Are all values legal?
bool legal(const profile &all);

} // namespace onesea
