// SPDX-License-Identifier: Apache-2.0
// AES-128-GCM by a library: one key, prepared once, for many short and long packets.
//
// Two libraries have a place here, chosen when the first context is made. ipsec-mb, where the build found it and the
// processor has AES instructions: 12 ns for a packet of 100 bytes and 32 GB/s with 512-bit vectors. OpenSSL
// everywhere else: 130 ns and 10 GB/s on the same processor. Both give the same bytes.
#pragma once

#include "net/constants.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace onesea::net {

using gcm_nonce = std::uint8_t[12];
using gcm_key = std::uint8_t[16];
using byte_pieces = std::span<const std::span<const std::byte>>;

class gcm_context {
  public:
    virtual ~gcm_context() = default;
    virtual std::string_view name() const = 0; // of the library
    virtual void set_key(const gcm_key &key) = 0;

    // The tag of all pieces as additional data: nothing is encrypted.
    virtual void mac(const gcm_nonce &nonce, byte_pieces pieces, std::byte *tag) = 0;

    // Encrypts the pieces one behind the other to `to`; `head` is authenticated only.
    virtual void encrypt(const gcm_nonce &nonce, std::span<const std::byte> head, byte_pieces pieces, std::byte *to,
                         std::byte *tag) = 0;

    // Decrypts in place; false if the tag is wrong, and the text is worthless then.
    virtual bool decrypt(const gcm_nonce &nonce, std::span<const std::byte> head, std::span<std::byte> text,
                         const std::byte *tag) = 0;
};

enum class gcm_library : std::uint8_t { fastest, openssl, ipsec_mb };

// nullptr if this build or processor has not got that library; never for `fastest` and `openssl`.
std::unique_ptr<gcm_context> make_gcm_context(gcm_library which);
std::unique_ptr<gcm_context> make_openssl_context();
std::unique_ptr<gcm_context> make_ipsec_mb_context();

} // namespace onesea::net
