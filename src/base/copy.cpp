// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

#include <algorithm>

namespace onesea {

void copy_in_short_pieces(void *to, const void *from, std::size_t bytes)
{
    constexpr std::size_t short_piece = 1024; // the C library's threshold is 2 KB at least; whole cache lines
    for (std::size_t at = 0; at < bytes;) {
        const std::size_t n = std::min(short_piece, bytes - at);
        std::memcpy(static_cast<std::byte *>(to) + at, static_cast<const std::byte *>(from) + at, n);
        at += n;
    }
}

} // namespace onesea
