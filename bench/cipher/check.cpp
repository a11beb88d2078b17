// SPDX-License-Identifier: Apache-2.0
#include "cipher/check.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

using packet = std::vector<std::byte>;
constexpr std::uint64_t number = 7;

packet some_packet(std::size_t bytes)
{
    packet p(bytes + tag_bytes);
    for (std::size_t i = 0; i < bytes; i++) p[i] = static_cast<std::byte>(i * 37 + i / 256);
    return p;
}

bool same(const packet &a, const packet &b, std::size_t from, std::size_t to)
{
    const auto at = [](const packet &p, std::size_t i) { return p.begin() + static_cast<std::ptrdiff_t>(i); };
    return std::equal(at(a, from), at(a, to), at(b, from));
}

} // namespace

std::string fault_of(const candidate &c, std::size_t bytes)
{
    const packet plain = some_packet(bytes);
    packet sealed = plain;
    c.self->seal(sealed, number);
    if (!same(sealed, plain, 0, c.hides ? head_bytes : bytes)) return "sealing changed what stays readable";
    if (c.hides && same(sealed, plain, head_bytes, bytes)) return "sealing hid nothing";
    packet opened = sealed;
    if (!c.self->open(opened, number)) return fmt::format("a good packet of {} bytes does not open", bytes);
    if (!same(opened, plain, 0, bytes)) return fmt::format("a packet of {} bytes came back as another", bytes);
    for (const std::size_t at : {std::size_t(0), head_bytes, bytes / 2, bytes - 1, bytes, bytes + tag_bytes - 1}) {
        packet bad = sealed;
        bad[at] ^= std::byte{0x10};
        if (c.self->open(bad, number)) return fmt::format("a packet of {} bytes opens with byte {} changed", bytes, at);
    }
    return "";
}

} // namespace bench
