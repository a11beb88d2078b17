// SPDX-License-Identifier: Apache-2.0
// What the kernel drops at a socket before it costs its owner anything: a classic BPF program, for which nobody needs
// a privilege. It spares work and proves nothing: whatever it lets in is checked as if it were not there.
#pragma once

#include "net/port.hpp"

#include <linux/filter.h>
#include <vector>

namespace onesea::net {

inline constexpr std::size_t most_sources = 500; // what fits where the kernel allows a socket 20 KiB of options

// For a socket of that family (AF_INET, AF_INET6). Of rules.sources, those of the other family are left out.
std::vector<sock_filter> make_filter(int family, const entry_rules &rules);

// Replaces the one before without a gap; it stays where the kernel refuses the new one (false).
bool attach_filter(int fd, const entry_rules &rules);

// Datagrams that the kernel has dropped at this socket: kept out by the filter, without room in the buffer, or with a
// wrong checksum. Modulo 2^32; 0 where it does not tell.
std::uint32_t kernel_drops(int fd);

} // namespace onesea::net
