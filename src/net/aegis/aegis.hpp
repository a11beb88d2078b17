// SPDX-License-Identifier: Apache-2.0
// AEGIS (draft-irtf-cfrg-aegis-aead-18) with tags of 16 bytes: the crate `aegis`, which is libaegis, behind functions
// of C. aegis.rs beside this file has them.
//
// `keys` are two keys: AEGIS-128L, for short texts, has the first; AEGIS-128X4, which digests 128 bytes at once but
// takes longer to begin and to end, has the second. Nothing here keeps a reference to what it was given.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using onesea_aegis_key = std::uint8_t[16];
using onesea_aegis_keys = onesea_aegis_key[2]; // for short texts, for long ones

// Of one key: what a MAC (AEGISMAC with a nonce of zeros) begins with, and the one under way.
struct onesea_aegis_short_mac {
    alignas(64) std::uint8_t opaque[384];
};
struct onesea_aegis_long_mac {
    alignas(64) std::uint8_t opaque[1344];
};

// One encryption under way.
struct onesea_aegis_encryption {
    alignas(64) std::uint8_t opaque[1088];
};

void onesea_aegis_short_mac_make(onesea_aegis_short_mac *mac, const onesea_aegis_key *key);
void onesea_aegis_short_mac_add(onesea_aegis_short_mac *mac, const std::uint8_t *data, std::size_t bytes);
void onesea_aegis_short_mac_finish(onesea_aegis_short_mac *mac, std::uint8_t *tag); // then the next one may begin

void onesea_aegis_long_mac_make(onesea_aegis_long_mac *mac, const onesea_aegis_key *key);
void onesea_aegis_long_mac_add(onesea_aegis_long_mac *mac, const std::uint8_t *data, std::size_t bytes);
void onesea_aegis_long_mac_finish(onesea_aegis_long_mac *mac, std::uint8_t *tag);

void onesea_aegis_encrypt_begin(onesea_aegis_encryption *encryption, const onesea_aegis_keys *keys, bool is_long,
                                const std::uint8_t *nonce /* 16 bytes */, const std::uint8_t *head,
                                std::size_t head_bytes);
void onesea_aegis_encrypt_add(onesea_aegis_encryption *encryption, const std::uint8_t *data, std::size_t bytes,
                              std::uint8_t *to);
void onesea_aegis_encrypt_finish(onesea_aegis_encryption *encryption, std::uint8_t *tag); // ends it

// The same at once, in place. Takes less time for short texts: the end of the other wipes its state byte by byte.
void onesea_aegis_encrypt(const onesea_aegis_keys *keys, bool is_long, const std::uint8_t *nonce,
                          const std::uint8_t *head, std::size_t head_bytes, std::uint8_t *text, std::size_t bytes,
                          std::uint8_t *tag);

// In place; false: the tag is wrong, and the text is wiped.
bool onesea_aegis_decrypt(const onesea_aegis_keys *keys, bool is_long, const std::uint8_t *nonce,
                          const std::uint8_t *head, std::size_t head_bytes, std::uint8_t *text, std::size_t bytes,
                          const std::uint8_t *tag);

} // extern "C"
