// SPDX-License-Identifier: Apache-2.0
// Messages to stderr, one line each: "onesea[rank] level: text". ONESEA_LOG chooses error, warn (default), info, debug,
// trace.
#pragma once

#include <fmt/format.h>
#include <string_view>

namespace onesea {

// error: could not go on; warn: odd, goes on; info: per job; debug: per object; trace: per packet.
enum class level : int { error, warn, info, debug, trace };

level log_level() noexcept;
void set_log_rank(int rank) noexcept; // shown in brackets; -1: none
[[gnu::cold]] void log_line(level l, std::string_view text) noexcept;

template <class... Args>
[[gnu::cold, gnu::noinline]] void log(level l, fmt::format_string<Args...> format, Args &&...args) noexcept
{
    if (l > log_level()) return;
    try {
        log_line(l, fmt::format(format, std::forward<Args>(args)...));
    } catch (...) {
        log_line(l, "(a message could not be formatted)");
    }
}

} // namespace onesea
