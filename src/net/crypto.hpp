// SPDX-License-Identifier: Apache-2.0
// Keys of a link and the tags of its packets. docs/protocol.md has the derivation and test vectors.
//
// mode     packet of up to short_packet bytes      longer packet
// off      no tag                                  no tag
// auth     SipHash-2-4 with 128 bits               AES-128-GMAC
// encrypt  AES-128-GCM, the header in clear        the same
//
// Which one is a function of mode and length alone, so nobody can talk a receiver into a weaker one. Each uses its own
// key. The nonce of GCM is the packet number, which a sender never uses twice for one target, and keys differ by
// direction, so no nonce ever repeats under one key.
#pragma once

#include "net/constants.hpp"
#include "net/net_transport.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;

namespace onesea::net {

using job_key = std::array<std::uint8_t, 32>;

// One direction of one link.
struct direction_keys {
    std::uint8_t sip[16];
    std::uint8_t gcm[16];
    std::uint8_t salt[4]; // first bytes of the nonce
};

direction_keys derive_keys(const job_key &key, std::uint32_t source, std::uint32_t target, std::uint32_t epoch);

// Tells jobs apart in the clear; says nothing about the key.
std::uint32_t derive_job_tag(const job_key &key);

// Must be called once before anything else here; false if the libraries do not work.
bool crypto_ready();

// Seals and opens packets. Keeps a small cache of prepared cipher contexts, so that links hold only their keys.
class crypto {
  public:
    explicit crypto(secure_mode mode);
    ~crypto();
    crypto(const crypto &) = delete;
    crypto &operator=(const crypto &) = delete;

    secure_mode mode() const { return mode_; }
    bool tagged() const { return mode_ != secure_mode::off; }
    std::size_t tag_size() const { return tagged() ? tag_bytes : 0; }

    // A whole packet in one piece; its last tag_size() bytes are filled in. In mode encrypt the rest behind the header
    // is encrypted in place.
    void seal(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet);

    // The same for mode auth and a long packet in pieces, which are only read.
    void seal_pieces(const direction_keys &keys, std::uint64_t number,
                     std::span<const std::span<const std::byte>> pieces, std::byte *tag);

    // Checks the tag, and decrypts in place in mode encrypt. False: the packet is to be dropped unread.
    bool open(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet);

  private:
    struct prepared;
    static constexpr std::size_t cache_size = 64;
    secure_mode mode_;
    std::array<std::unique_ptr<prepared>, cache_size> cache_;

    evp_cipher_ctx_st *context(const direction_keys &keys, std::uint64_t number, bool encrypt);
};

} // namespace onesea::net
