// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <array>
#include <cstdlib>
#include <unistd.h>

namespace onesea {
namespace {

constexpr std::array<std::string_view, 5> names{"error", "warn", "info", "debug", "trace"};
int rank_shown = -1;

level read_level() noexcept
{
    const char *wanted = std::getenv("ONESEA_LOG");
    if (!wanted) return level::warn;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == wanted) return level(i);
    log_line(level::warn, fmt::format("ONESEA_LOG is '{}'; use error, warn, info, debug or trace", wanted));
    return level::warn;
}

} // namespace

level log_level() noexcept
{
    static const level chosen = read_level();
    return chosen;
}

void set_log_rank(int rank) noexcept { rank_shown = rank; }

void log_line(level l, std::string_view text) noexcept
{
    try {
        auto name = names[std::size_t(l)];
        auto line = rank_shown >= 0 ? fmt::format("onesea[{}] {}: {}\n", rank_shown, name, text)
                                    : fmt::format("onesea {}: {}\n", name, text);
        [[maybe_unused]] auto n = ::write(STDERR_FILENO, line.data(), line.size());
    } catch (...) {
    }
}

} // namespace onesea
