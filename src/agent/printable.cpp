// SPDX-License-Identifier: Apache-2.0
#include "agent/printable.hpp"

#include <algorithm>

namespace onesea::agent {
namespace {

// Of the character that the text begins with; 0 if it is none to print. C2 80 to C2 9F command terminals, as ESC does.
std::size_t length_of_character(std::string_view text)
{
    const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return lead >= ' ' && lead < 0x7f ? 1 : 0;
    const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    return lead == 0xc2 && byte(1) < 0xa0 ? 0 : length;
}

} // namespace

std::string printable(std::string_view bytes, std::size_t most)
{
    std::string text;
    for (std::string_view rest = bytes.substr(0, most); !rest.empty();) {
        const std::size_t length = length_of_character(rest);
        if (length == 0)
            text += '.';
        else
            text += rest.substr(0, length);
        rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return bytes.size() > most ? text + "..." : text;
}

std::string printable_lines(std::string_view bytes)
{
    std::string text;
    while (!bytes.empty()) {
        const std::size_t end = std::min(bytes.find('\n'), bytes.size());
        std::string_view line = bytes.substr(0, end);
        while (line.ends_with('\r')) line.remove_suffix(1);
        text += printable(line);
        if (end < bytes.size()) text += '\n';
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    return text;
}

} // namespace onesea::agent
