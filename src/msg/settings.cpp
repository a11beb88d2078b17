// SPDX-License-Identifier: Apache-2.0
#include "msg/settings.hpp"

#include "base/log.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace onesea::msg {

std::optional<std::size_t> parse_bytes(std::string_view text)
{
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view suffix = text.substr(std::size_t(end - text.data()));
    if (error != std::errc() || suffix.size() > 1) return std::nullopt;
    constexpr std::string_view units = "KMG";
    if (suffix.empty()) return number;
    const auto unit = units.find(suffix[0]);
    if (unit == units.npos) return std::nullopt;
    const unsigned shift = 10 * (unsigned(unit) + 1);
    if (number > std::numeric_limits<std::size_t>::max() >> shift) return std::nullopt;
    return number << shift;
}

std::size_t message_memory()
{
    const char *text = std::getenv(memory_variable);
    if (!text) return default_memory;
    if (auto bytes = parse_bytes(text)) return *bytes;
    log(level::warn, "{} is '{}', which is no number of bytes; {} bytes are used", memory_variable, text,
        default_memory);
    return default_memory;
}

} // namespace onesea::msg
