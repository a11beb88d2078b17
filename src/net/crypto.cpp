// SPDX-License-Identifier: Apache-2.0
// The key derivation (keyed BLAKE2b) comes from libsodium, AEGIS through aegis/aegis.hpp.
//
// A MAC is checked by computing it again and comparing in constant time. What it begins with depends on the key alone
// and is kept (mac_cache.hpp).
#include "net/crypto.hpp"

#include <cstring>
#include <sodium.h>

namespace onesea::net {
namespace {

constexpr char auth_label[] = "onesea link keys 2 auth"; // their zero bytes are part of what is hashed
constexpr char encrypt_label[] = "onesea link keys 2 encrypt";
constexpr char tag_label[] = "onesea job tag 1";

constexpr std::size_t short_packet = 1024; // without the tag; docs/protocol.md

bool is_long(std::size_t bytes) { return bytes > short_packet; }

const std::uint8_t *raw(const std::byte *p) { return reinterpret_cast<const std::uint8_t *>(p); }
std::uint8_t *raw(std::byte *p) { return reinterpret_cast<std::uint8_t *>(p); }

std::size_t total(byte_pieces pieces)
{
    std::size_t bytes = 0;
    for (auto piece : pieces) bytes += piece.size();
    return bytes;
}

// In constant time, like sodium_memcmp(), which takes a byte at a time and twice as long as the MAC of a short packet.
bool same(const std::byte *a, const std::byte *b)
{
    std::uint64_t x[2], y[2];
    static_assert(sizeof x == tag_bytes);
    std::memcpy(x, a, sizeof x);
    std::memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

struct packet_nonce {
    std::uint8_t bytes[16] = {};
    explicit packet_nonce(std::uint64_t number) { std::memcpy(bytes, &number, sizeof number); }
};

} // namespace

bool crypto_ready() { return sodium_init() >= 0; }

direction_keys derive_keys(secure_mode mode, const job_key &key, std::uint32_t source, std::uint32_t target,
                           std::uint32_t epoch)
{
    const std::uint32_t link[] = {source, target, epoch};
    const bool hides = mode == secure_mode::encrypt;
    const std::size_t label = hides ? sizeof encrypt_label : sizeof auth_label;
    std::uint8_t message[sizeof encrypt_label + sizeof link];
    std::memcpy(message, hides ? encrypt_label : auth_label, label);
    std::memcpy(message + label, link, sizeof link);
    direction_keys result;
    crypto_generichash_blake2b(result.cipher[0], sizeof result.cipher, message, label + sizeof link, key.data(),
                               key.size());
    return result;
}

std::uint32_t derive_job_tag(const job_key &key)
{
    std::uint8_t out[16];
    crypto_generichash_blake2b(out, sizeof out, reinterpret_cast<const std::uint8_t *>(tag_label), sizeof tag_label,
                               key.data(), key.size());
    std::uint32_t tag;
    std::memcpy(&tag, out, 4);
    return tag;
}

crypto::crypto(secure_mode mode) : mode_(mode) {}

void crypto::mac(const direction_keys &keys, byte_pieces pieces, std::byte *tag)
{
    if (is_long(total(pieces))) {
        auto &m = long_macs_.of(keys.cipher[1]);
        for (auto piece : pieces) onesea_aegis_long_mac_add(&m, raw(piece.data()), piece.size());
        onesea_aegis_long_mac_finish(&m, raw(tag));
    } else {
        auto &m = short_macs_.of(keys.cipher[0]);
        for (auto piece : pieces) onesea_aegis_short_mac_add(&m, raw(piece.data()), piece.size());
        onesea_aegis_short_mac_finish(&m, raw(tag));
    }
}

void crypto::encrypt(const direction_keys &keys, std::uint64_t number, byte_pieces pieces, std::byte *to)
{
    const packet_nonce nonce(number);
    if (to != pieces[0].data()) std::memcpy(to, pieces[0].data(), header_bytes);
    onesea_aegis_encryption e;
    onesea_aegis_encrypt_begin(&e, &keys.cipher, is_long(total(pieces)), nonce.bytes, raw(to), header_bytes);
    to += header_bytes;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto text = pieces[i].subspan(i == 0 ? header_bytes : 0);
        onesea_aegis_encrypt_add(&e, raw(text.data()), text.size(), raw(to));
        to += text.size();
    }
    onesea_aegis_encrypt_finish(&e, raw(to));
}

void crypto::seal(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet)
{
    std::span<const std::byte> body = packet.first(packet.size() - tag_size());
    if (mode_ == secure_mode::auth) mac(keys, {&body, 1}, packet.data() + body.size());
    if (mode_ != secure_mode::encrypt) return;
    const packet_nonce nonce(number);
    auto *text = packet.data() + header_bytes;
    const std::size_t bytes = body.size() - header_bytes;
    onesea_aegis_encrypt(&keys.cipher, is_long(body.size()), nonce.bytes, raw(packet.data()), header_bytes, raw(text),
                         bytes, raw(text + bytes));
}

bool crypto::open(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet)
{
    if (mode_ == secure_mode::off) return true;
    auto body = packet.first(packet.size() - tag_bytes);
    auto *tag = packet.data() + body.size();
    if (mode_ == secure_mode::encrypt) {
        const packet_nonce nonce(number);
        auto text = body.subspan(header_bytes);
        return onesea_aegis_decrypt(&keys.cipher, is_long(body.size()), nonce.bytes, raw(body.data()), header_bytes,
                                    raw(text.data()), text.size(), raw(tag));
    }
    std::span<const std::byte> whole = body;
    return proves(keys, {&whole, 1}, tag);
}

bool crypto::proves(const direction_keys &keys, byte_pieces pieces, const std::byte *tag)
{
    std::byte good[tag_bytes];
    mac(keys, pieces, good);
    return same(good, tag);
}

} // namespace onesea::net
