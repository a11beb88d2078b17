// SPDX-License-Identifier: Apache-2.0
// CRC-64 with the polynomial 0xC96C5795D7870F42 (reflected), start and end all ones: what says where a key lies. Eight
// tables take eight bytes a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace onesea::data {

namespace detail {

constexpr std::array<std::array<std::uint64_t, 256>, 8> crc64_tables()
{
    std::array<std::array<std::uint64_t, 256>, 8> t{};
    for (std::uint64_t byte = 0; byte < 256; ++byte) {
        std::uint64_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xC96C5795D7870F42u : crc >> 1;
        t[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t byte = 0; byte < 256; ++byte) t[k][byte] = t[k - 1][byte] >> 8 ^ t[0][t[k - 1][byte] & 0xff];
    return t;
}

inline constexpr auto crc64_table = crc64_tables();

} // namespace detail

inline std::uint64_t crc64(std::span<const std::byte> bytes)
{
    const auto &t = detail::crc64_table;
    std::uint64_t crc = ~std::uint64_t(0);
    const std::byte *at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        crc ^= word;
        std::uint64_t next = 0;
        for (unsigned k = 0; k < 8; ++k) next ^= t[7 - k][crc >> (8 * k) & 0xff];
        crc = next;
    }
    for (; left; ++at, --left) crc = crc >> 8 ^ t[0][(crc ^ std::to_integer<std::uint64_t>(*at)) & 0xff];
    return ~crc;
}

} // namespace onesea::data
