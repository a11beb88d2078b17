// SPDX-License-Identifier: Apache-2.0
// Keys of a link and the tags of its packets. docs/protocol.md has the derivation and test vectors.
//
// mode off: no tag. auth: AES-128-GMAC over everything. encrypt: AES-128-GCM, the header in clear.
//
// The nonce is the packet number, which a sender never uses twice for one target, and keys differ by direction, so no
// nonce ever repeats under one key.
#pragma once

#include "net/constants.hpp"
#include "net/gcm.hpp"
#include "net/net_transport.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace onesea::net {

using job_key = std::array<std::uint8_t, 32>;

// One direction of one link.
struct direction_keys {
    gcm_key gcm;
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
    explicit crypto(secure_mode mode, gcm_library library = gcm_library::fastest);
    ~crypto();
    crypto(const crypto &) = delete;
    crypto &operator=(const crypto &) = delete;

    secure_mode mode() const { return mode_; }
    bool tagged() const { return mode_ != secure_mode::off; }
    std::size_t tag_size() const { return tagged() ? tag_bytes : 0; }

    static constexpr std::size_t most_pieces = 2 * most_parts + 2;

    // Mode auth: the tag of a packet in pieces.
    void mac(const direction_keys &keys, std::uint64_t number, byte_pieces pieces, std::byte *tag);

    // Mode encrypt: the packet in pieces, of which the first begins with the header, to `to`, and its tag behind it.
    void encrypt(const direction_keys &keys, std::uint64_t number, byte_pieces pieces, std::byte *to);

    // Either of them for a packet in one piece, in place; its last tag_size() bytes are filled in.
    void seal(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet);

    // Checks the tag, and decrypts in place in mode encrypt. False: the packet is to be dropped unread.
    bool open(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet);

  private:
    struct prepared;
    static constexpr std::size_t cache_size = 64;
    secure_mode mode_;
    gcm_library library_;
    std::array<std::unique_ptr<prepared>, cache_size> cache_;

    gcm_context &context(const direction_keys &keys);
};

} // namespace onesea::net
