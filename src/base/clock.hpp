// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <limits>

namespace onesea {

// Monotonic time in nanoseconds; about 25 ns a call.
inline std::uint64_t now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::uint64_t(t.tv_sec) * 1'000'000'000u + std::uint64_t(t.tv_nsec);
}

using nanoseconds = std::uint64_t; // monotonic
inline constexpr nanoseconds never = std::numeric_limits<nanoseconds>::max();

// The time when so many seconds are over. -1.0 (SEA_FOREVER) never are; others below 0 are of a time that has just
// passed.
inline bool is_for_ever(double seconds) { return seconds == -1.0 || seconds > 1e9; }
inline nanoseconds deadline_after(double seconds, nanoseconds now)
{
    if (is_for_ever(seconds)) return never;
    return seconds > 0 ? now + nanoseconds(seconds * 1e9) : now;
}
inline nanoseconds deadline_after(double seconds) // most wait for ever, and need no clock
{
    return is_for_ever(seconds) ? never : deadline_after(seconds, now_ns());
}

} // namespace onesea
