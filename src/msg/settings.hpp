// SPDX-License-Identifier: Apache-2.0
// What can be set, and the sizes at which a message takes another way.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace onesea::msg {

inline constexpr const char *memory_variable = "ONESEA_MESSAGE_MEMORY";
inline constexpr std::size_t default_memory = std::size_t(64) << 20;

// Largest messages that are sent without asking. In the lane: two copies then cost as much as the system call and the
// answer of the one copy. Between nodes: one more round trip weighs little beside the bytes. A profile
// (base/profile.hpp, eager_message) may say less.
inline constexpr std::size_t lane_eager = 8 * 1024;
inline constexpr std::size_t net_eager = 64 * 1024;

// Between nodes those of so much may go from where they lie: send_row.hpp. Of shorter ones their operations, which have
// to be ended then, cost more than the second copy.
inline constexpr std::size_t least_in_place = 3 * 1024;

// So often a receiving thread looks at a lane with the lock held, which is the quickest way, before it lets others in:
// with a pause of 25 to 45 ns after each.
inline constexpr int looks_quick = 200;

// "64M" as bytes; nullopt: not understood.
std::optional<std::size_t> parse_bytes(std::string_view text);

// The bound of this process, from the environment; a value that is not understood is told and not used.
std::size_t message_memory();

} // namespace onesea::msg
