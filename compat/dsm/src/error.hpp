// SPDX-License-Identifier: Apache-2.0
// The words of the last failing call of a thread. They lie in a buffer of the thread, so that telling a failure cannot
// itself fail.
#pragma once

#include "../include/dsm.h"

#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <string_view>

namespace dsm {

inline constexpr std::size_t words_room = 512; // bytes, with the ending zero

std::array<char, words_room> &words_of_thread() noexcept;

// Keeps the text, shortened to the room there is, and gives `status` back: `return fail(DSM_ERR_NODE, "...", ...)`.
template <class... Args>
int fail(int status, fmt::format_string<Args...> text, Args &&...args)
{
    auto &words = words_of_thread();
    const auto written = fmt::format_to_n(words.data(), words.size() - 1, text, std::forward<Args>(args)...);
    *written.out = '\0';
    return status;
}

} // namespace dsm
