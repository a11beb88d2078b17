// SPDX-License-Identifier: Apache-2.0
// What `onesea bench cipher` measures: one way to protect a packet, ours or another library's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench {

// As in the packets of links: what comes first stays readable, the tag comes last.
inline constexpr std::size_t head_bytes = 32, tag_bytes = 16;

class cipher {
  public:
    virtual ~cipher() = default;

    // In place. `number` is the packet's, of which nonces are made.
    virtual void seal(std::span<std::byte> packet, std::uint64_t number) = 0;

    // Gives back what was sealed; false: the packet is not what was sealed under that number.
    virtual bool open(std::span<std::byte> packet, std::uint64_t number) = 0;
};

struct candidate {
    std::string name, kind, version; // kind: as of a rival; of what links use it is empty
    bool hides;                      // encrypts what is behind the head; else it only proves the packet
    std::unique_ptr<cipher> self;
};

using candidates = std::vector<candidate>;

// What links use; its two ciphers at every length (kind "own").
candidates our_ciphers();
candidates sodium_ciphers();
candidates openssl_ciphers();
candidates ipsec_mb_ciphers();

// ---- For those who implement one ------------------------------------------------------------------------------------

inline std::uint8_t *raw(std::byte *p) { return reinterpret_cast<std::uint8_t *>(p); }

// The parts of a packet; for one that is not hidden all of it is the head.
struct packet_parts {
    std::span<std::byte> head, text;
    std::byte *tag;

    packet_parts(std::span<std::byte> packet, bool hides)
    {
        const auto body = packet.first(packet.size() - tag_bytes);
        head = hides ? body.first(head_bytes) : body;
        text = body.subspan(head.size());
        tag = packet.data() + body.size();
    }
};

// The nonce of AES-GCM and of ChaCha20-Poly1305.
struct short_nonce {
    std::uint8_t bytes[12] = {};
    explicit short_nonce(std::uint64_t number) { std::memcpy(bytes, &number, sizeof number); }
};

// In constant time, and as fast as links do it: no cipher is slowed down by the compare.
inline bool same_tags(const void *a, const void *b)
{
    std::uint64_t x[2], y[2];
    static_assert(sizeof x == tag_bytes);
    std::memcpy(x, a, sizeof x);
    std::memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

// One that only proves the packet, and makes the same tag to seal and to open.
class mac : public cipher {
  public:
    void seal(std::span<std::byte> packet, std::uint64_t) override
    {
        const packet_parts p(packet, false);
        make_tag(p.head, raw(p.tag));
    }
    bool open(std::span<std::byte> packet, std::uint64_t) override
    {
        const packet_parts p(packet, false);
        std::uint8_t good[tag_bytes];
        make_tag(p.head, good);
        return same_tags(good, p.tag);
    }

  private:
    virtual void make_tag(std::span<std::byte> text, std::uint8_t *tag) = 0;
};

} // namespace bench
