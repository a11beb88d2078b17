// SPDX-License-Identifier: Apache-2.0
// Keys of a link and the tags of its packets. docs/protocol.md has the derivation and test vectors.
//
// mode off: no tag. auth: AEGISMAC over everything. encrypt: AEGIS, the header in clear. Short packets take AEGIS-128L,
// long ones AEGIS-128X4: 64 bytes take as long as by the fastest AES-GMAC, 60 KB less than half of it (README.md has
// what `onesea bench cipher` measured).
//
// Keys differ by mode and direction. The nonce of an encryption is the packet number, which a sender never uses twice
// for one target; a MAC needs none, as the number is in the header.
#pragma once

#include "net/aegis/aegis.hpp"
#include "net/constants.hpp"
#include "net/mac_cache.hpp"
#include "net/net_transport.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace onesea::net {

using job_key = std::array<std::uint8_t, 32>;
using byte_pieces = std::span<const std::span<const std::byte>>;

// One direction of one link.
struct direction_keys {
    onesea_aegis_keys cipher; // for short packets, for long ones
};

direction_keys derive_keys(secure_mode mode, const job_key &key, std::uint32_t source, std::uint32_t target,
                           std::uint32_t epoch);

// Tells jobs apart in the clear; says nothing about the key.
std::uint32_t derive_job_tag(const job_key &key);

// Must be called once before anything else here; false if the libraries do not work.
bool crypto_ready();

// Seals and opens packets. Keeps MACs that have begun, so that links hold only their keys.
class crypto {
  public:
    explicit crypto(secure_mode mode);
    crypto(const crypto &) = delete;
    crypto &operator=(const crypto &) = delete;

    secure_mode mode() const { return mode_; }
    bool tagged() const { return mode_ != secure_mode::off; }
    std::size_t tag_size() const { return tagged() ? tag_bytes : 0; }

    // Mode auth: the tag of a packet in pieces.
    void mac(const direction_keys &keys, byte_pieces pieces, std::byte *tag);

    // Mode encrypt: the packet in pieces, of which the first begins with the header, to `to`, and its tag behind it.
    // `to` is where the first piece lies, or overlaps with none. Short packets take less time in one piece, by seal().
    void encrypt(const direction_keys &keys, std::uint64_t number, byte_pieces pieces, std::byte *to);

    // Either of them for a packet in one piece, in place; its last tag_size() bytes are filled in.
    void seal(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet);

    // Mode auth: is this the tag of a packet in pieces?
    bool proves(const direction_keys &keys, byte_pieces pieces, const std::byte *tag);

    // Checks the tag, and decrypts in place in mode encrypt. False: the packet is to be dropped unread.
    bool open(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet);

  private:
    secure_mode mode_;
    mac_cache<onesea_aegis_short_mac, onesea_aegis_short_mac_make, 64> short_macs_;
    mac_cache<onesea_aegis_long_mac, onesea_aegis_long_mac_make, 16> long_macs_; // a long packet takes far longer
};

} // namespace onesea::net
