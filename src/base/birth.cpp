// SPDX-License-Identifier: Apache-2.0
// The text comes from the environment, so from anybody: every field is checked, nothing may follow.
#include "base/birth.hpp"

#include <charconv>
#include <fmt/format.h>
#include <string_view>

namespace onesea {
namespace {

// Takes ":<number>" off the front of the text; false if that is not what stands there.
template <class Number>
bool take(std::string_view &text, Number lowest, Number &number)
{
    if (text.empty() || text.front() != ':') return false;
    auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (error != std::errc{} || number < lowest) return false;
    text.remove_prefix(std::size_t(end - text.data()));
    return true;
}

} // namespace

std::string format(const birth &b)
{
    return fmt::format("3:{}:{}:{}:{}:{}:{}:{}", b.rank, b.slot, b.arena_fd, b.udp_fd, b.lifeline_fd, b.counts_fd,
                       b.wishes_fd);
}

std::optional<birth> parse_birth(const char *text)
{
    if (!text) return std::nullopt;
    std::string_view rest = text;
    if (!rest.starts_with('3')) return std::nullopt;
    rest.remove_prefix(1);
    birth b;
    bool good = take(rest, 0, b.rank) && take(rest, 0u, b.slot) && take(rest, 0, b.arena_fd) &&
                take(rest, -1, b.udp_fd) && take(rest, -1, b.lifeline_fd) && take(rest, 0, b.counts_fd) &&
                take(rest, -1, b.wishes_fd) && rest.empty();
    if (!good) return std::nullopt;
    return b;
}

} // namespace onesea
