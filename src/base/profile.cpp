// SPDX-License-Identifier: Apache-2.0
#include "base/profile.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace onesea {
namespace {

// The limits: a frame of 1280 bytes passes everywhere; a ring takes records of a quarter of itself; the kernel cuts
// sends of some 65000 bytes; a frame between nodes has at most 63 KB. More than 4 MB are never granted: sockets hold no
// more, and an acknowledgement tells of 1024 packets.
constexpr std::string_view fragment_help = "bytes of one piece of bulk data";
constexpr std::string_view eager_help = "active messages with no more data carry it; that of longer ones is pulled";
constexpr std::string_view message_help = "the same of matched messages";

// So much every program takes it that a message goes without its receive being posted.
constexpr std::uint32_t least_eager_message = 512;

constexpr std::array inside{
    parameter{"fragment", &path_tuning::fragment, 1280, (1u << 20) / 4 - 32, false, fragment_help},
    parameter{"eager", &path_tuning::eager, 0, 1u << 18, false, eager_help},
    parameter{"eager_message", &path_tuning::eager_message, least_eager_message, 8192, false, message_help},
    parameter{"window", &path_tuning::window, 16u << 10, 1u << 20, true, "bytes of the ring from one rank to another"},
};

constexpr std::array between{
    parameter{"fragment", &path_tuning::fragment, 1400, 65000, false, fragment_help},
    parameter{"eager", &path_tuning::eager, 0, 1u << 16, false, eager_help},
    parameter{"eager_message", &path_tuning::eager_message, least_eager_message, 1u << 16, false, message_help},
    parameter{"batch", &path_tuning::batch, 64, 65000, false,
              "so much small data goes behind a packet under way without waiting for more; doubles"},
    parameter{"window", &path_tuning::window, 16u << 10, 4u << 20, false,
              "bytes under way between two ranks, at most; the receiver's socket may allow less"},
};

} // namespace

std::string_view name_of(path_kind path)
{
    switch (path) {
    case path_kind::shm:
        return "shm";
    case path_kind::loopback:
        return "loopback";
    case path_kind::ethernet:
        return "ethernet";
    }
    return "";
}

std::span<const parameter> parameters_of(path_kind path)
{
    if (path == path_kind::shm) return inside;
    return between;
}

const parameter *find_parameter(path_kind path, std::string_view name)
{
    const auto all = parameters_of(path);
    auto found = std::find_if(all.begin(), all.end(), [&](const parameter &p) { return p.name == name; });
    return found == all.end() ? nullptr : &*found;
}

std::string what_is_wrong(const parameter &p, std::uint64_t value)
{
    if (value < p.least || value > p.most) return fmt::format("{} is not in {}..{}", value, p.least, p.most);
    if (p.power_of_two && !std::has_single_bit(value)) return fmt::format("{} is not a power of two", value);
    return "";
}

std::string to_text(path_kind path, const path_tuning &values)
{
    std::string text;
    for (const parameter &p : parameters_of(path))
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", p.name, values.*p.value);
    return text;
}

bool legal(const profile &all)
{
    for (path_kind path : all_paths)
        for (const parameter &p : parameters_of(path))
            if (!what_is_wrong(p, all.of(path).*p.value).empty()) return false;
    return true;
}

} // namespace onesea
