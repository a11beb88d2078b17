// SPDX-License-Identifier: Apache-2.0
// The program compares what stands at fixed places of the header (packet.hpp): version, job, target, source.
// If the sources are known it then looks for the datagram's own one, address and port folded into a key of 32 bits, in
// a binary search laid out as jumps:
//
//        key >= k[mid]? ----> right half        leaf: key == k[i] for up to eight, then out
//          |
//          v left half
//
// Classic BPF only jumps forward, by at most 255 where there is a condition, hence the long jump beside each. Two
// sources with the same key cost a look more, no more. Where the list may lack somebody, one of `stranger_share`
// datagrams of others still comes in.
//
// The kernel runs it for each buffer, not for each datagram: what GSO sent or GRO joined is judged by its first header.
// All of it came from one socket, and those behind the first are checked by the transport as any.
#include "net/socket_filter.hpp"

#include "net/packet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <linux/sock_diag.h>
#include <sys/socket.h>

namespace onesea::net {
namespace {

constexpr std::uint32_t udp_header = 8; // what the program sees begins with it
constexpr std::uint32_t all_of_it = 0xffffffff;
constexpr std::uint32_t key_factor = 0x9e3779b1;
constexpr std::uint32_t stranger_share = 4; // a power of two
constexpr std::size_t leaf_keys = 8;
constexpr std::uint32_t v4_source_at = 12, v6_source_at = 8; // in the IP header

constexpr std::uint32_t at(std::size_t field) { return udp_header + std::uint32_t(field); }
constexpr std::uint32_t from_network(std::uint32_t v) { return __builtin_bswap32(v); } // BPF loads big endian numbers

std::uint32_t source_words(int family) { return family == AF_INET ? 1 : 4; }

std::uint32_t key_of(const endpoint &e)
{
    std::uint32_t key = __builtin_bswap16(e.any.sa_family == AF_INET ? e.v4.sin_port : e.v6.sin6_port), words[4] = {};
    if (e.any.sa_family == AF_INET)
        words[0] = e.v4.sin_addr.s_addr;
    else
        std::memcpy(words, &e.v6.sin6_addr, sizeof words);
    for (std::uint32_t i = 0; i < source_words(e.any.sa_family); ++i) key = (key * key_factor) ^ from_network(words[i]);
    return key;
}

class program {
  public:
    std::vector<sock_filter> code;

    void add(std::uint16_t what, std::uint32_t k) { code.push_back({what, 0, 0, k}); }
    void load(std::uint16_t size, std::uint32_t offset) { add(std::uint16_t(BPF_LD | size | BPF_ABS), offset); }
    void refuse() { add(BPF_RET | BPF_K, 0); }
    void accept() { add(BPF_RET | BPF_K, all_of_it); }
    // Goes on if the condition holds (or does not), else the datagram is refused.
    void require(std::uint16_t condition, std::uint32_t k, bool holds = true)
    {
        code.push_back({std::uint16_t(BPF_JMP | condition | BPF_K), std::uint8_t(holds), std::uint8_t(!holds), k});
        refuse();
    }
    void fold_source(int family);
    void search(std::span<const std::uint32_t> keys, bool strangers_too);

  private:
    void leaf(std::span<const std::uint32_t> keys, bool strangers_too);
};

void program::fold_source(int family)
{
    load(BPF_H, 0); // the source port
    const std::uint32_t address = family == AF_INET ? v4_source_at : v6_source_at;
    for (std::uint32_t i = 0; i < source_words(family); ++i) {
        add(BPF_ALU | BPF_MUL | BPF_K, key_factor);
        add(BPF_MISC | BPF_TAX, 0);
        load(BPF_W, std::uint32_t(SKF_NET_OFF) + address + 4 * i);
        add(BPF_ALU | BPF_XOR | BPF_X, 0);
    }
}

void program::leaf(std::span<const std::uint32_t> keys, bool strangers_too)
{
    const std::size_t before_accept = strangers_too ? 3 : 1;
    for (std::size_t i = 0; i < keys.size(); ++i)
        code.push_back({BPF_JMP | BPF_JEQ | BPF_K, std::uint8_t(keys.size() - 1 - i + before_accept), 0, keys[i]});
    if (strangers_too) {
        load(BPF_W, std::uint32_t(SKF_AD_OFF + SKF_AD_RANDOM));
        code.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, 1, stranger_share - 1});
    }
    refuse();
    accept();
}

void program::search(std::span<const std::uint32_t> keys, bool strangers_too)
{
    if (keys.size() <= leaf_keys) return leaf(keys, strangers_too);
    const std::size_t mid = keys.size() / 2;
    code.push_back({BPF_JMP | BPF_JGE | BPF_K, 0, 1, keys[mid]});
    const std::size_t jump = code.size();
    add(BPF_JMP | BPF_JA, 0);
    search(keys.first(mid), strangers_too);
    code[jump].k = std::uint32_t(code.size() - jump - 1);
    search(keys.subspan(mid), strangers_too);
}

} // namespace

std::vector<sock_filter> make_filter(int family, const entry_rules &rules)
{
    program p;
    p.load(BPF_B, at(offsetof(packet_header, version)));
    p.require(BPF_JEQ, protocol_version);
    p.load(BPF_W, at(offsetof(packet_header, job_tag)));
    p.require(BPF_JEQ, from_network(rules.job_tag));
    p.load(BPF_W, at(offsetof(packet_header, target)));
    p.require(BPF_JEQ, from_network(rules.target));
    p.load(BPF_W, at(offsetof(packet_header, source)));
    p.require(BPF_JEQ, from_network(rules.target), false); // its own come back
    p.require(BPF_JSET, from_network(~max_rank), false);
    p.load(BPF_W, at(header_bytes - 4)); // is there a whole header?
    if (rules.who == entry_rules::sources_are::any) {
        p.accept();
        return std::move(p.code);
    }
    std::vector<std::uint32_t> keys;
    for (const endpoint &e : rules.sources)
        if (e.any.sa_family == family) keys.push_back(key_of(e));
    std::sort(keys.begin(), keys.end());
    p.fold_source(family);
    p.search(keys, rules.who == entry_rules::sources_are::some);
    return std::move(p.code);
}

bool attach_filter(int fd, const entry_rules &rules)
{
    endpoint own;
    own.size = sizeof own.v6;
    if (getsockname(fd, &own.any, &own.size) != 0) return false;
    auto code = make_filter(own.any.sa_family, rules);
    if (code.size() > BPF_MAXINSNS) return false;
    sock_fprog whole{std::uint16_t(code.size()), code.data()};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole) == 0;
}

std::uint32_t kernel_drops(int fd)
{
    std::uint32_t values[SK_MEMINFO_VARS] = {};
    socklen_t size = sizeof values;
    return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values, &size) == 0 ? values[SK_MEMINFO_DROPS] : 0;
}

} // namespace onesea::net
