// SPDX-License-Identifier: Apache-2.0
#include "base/birth.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace onesea {

std::string format(const birth &b)
{
    return fmt::format("1:{}:{}:{}:{}:{}", b.rank, b.slot, b.arena_fd, b.udp_fd, b.lifeline_fd);
}

std::optional<birth> parse_birth(const char *text)
{
    birth b;
    int used = 0;
    int n = std::sscanf(text, "1:%d:%u:%d:%d:%d%n", &b.rank, &b.slot, &b.arena_fd, &b.udp_fd, &b.lifeline_fd, &used);
    if (n != 5 || text[used] != '\0' || b.rank < 0 || b.arena_fd < 0) return std::nullopt;
    return b;
}

} // namespace onesea
