// SPDX-License-Identifier: Apache-2.0
// The key derivation (keyed BLAKE2b) comes from libsodium, AES-GCM through gcm.hpp.
//
// A GMAC is GCM with everything as additional data and nothing encrypted. It is checked by computing it again and
// comparing in constant time. Contexts are direct-mapped by their key: preparing one costs as much as a few packets,
// finding one prepared costs a compare of 16 bytes.
#include "net/crypto.hpp"

#include <cstring>
#include <openssl/crypto.h>
#include <sodium.h>

namespace onesea::net {
namespace {

constexpr char link_label[] = "onesea link keys 1"; // its zero byte is part of what is hashed
constexpr char tag_label[] = "onesea job tag 1";

void make_nonce(const direction_keys &keys, std::uint64_t number, gcm_nonce &nonce)
{
    std::memcpy(nonce, keys.salt, 4);
    std::memcpy(nonce + 4, &number, 8);
}

} // namespace

bool crypto_ready() { return sodium_init() >= 0; }

direction_keys derive_keys(const job_key &key, std::uint32_t source, std::uint32_t target, std::uint32_t epoch)
{
    std::uint8_t message[sizeof link_label + 12];
    std::memcpy(message, link_label, sizeof link_label);
    std::memcpy(message + sizeof link_label, &source, 4);
    std::memcpy(message + sizeof link_label + 4, &target, 4);
    std::memcpy(message + sizeof link_label + 8, &epoch, 4);
    std::uint8_t out[20];
    crypto_generichash_blake2b(out, sizeof out, message, sizeof message, key.data(), key.size());
    direction_keys result;
    std::memcpy(result.gcm, out, 16);
    std::memcpy(result.salt, out + 16, 4);
    sodium_memzero(out, sizeof out);
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

struct crypto::prepared {
    std::unique_ptr<gcm_context> context;
    gcm_key key = {};
    ~prepared() { sodium_memzero(key, sizeof key); }
};

crypto::crypto(secure_mode mode, gcm_library library) : mode_(mode), library_(library) {}
crypto::~crypto() = default;

gcm_context &crypto::context(const direction_keys &keys)
{
    auto &slot = cache_[keys.gcm[0] % cache_size];
    if (slot && std::memcmp(slot->key, keys.gcm, sizeof keys.gcm) == 0) return *slot->context;
    if (!slot) {
        slot = std::make_unique<prepared>();
        slot->context = make_gcm_context(library_);
    }
    slot->context->set_key(keys.gcm);
    std::memcpy(slot->key, keys.gcm, sizeof keys.gcm);
    return *slot->context;
}

void crypto::mac(const direction_keys &keys, std::uint64_t number, byte_pieces pieces, std::byte *tag)
{
    gcm_nonce nonce;
    make_nonce(keys, number, nonce);
    context(keys).mac(nonce, pieces, tag);
}

void crypto::encrypt(const direction_keys &keys, std::uint64_t number, byte_pieces pieces, std::byte *to)
{
    gcm_nonce nonce;
    make_nonce(keys, number, nonce);
    std::array<std::span<const std::byte>, most_pieces> text;
    std::size_t count = 0, bytes = 0;
    for (auto piece : pieces) {
        text[count++] = piece;
        bytes += piece.size();
    }
    if (to != pieces[0].data()) std::memcpy(to, pieces[0].data(), header_bytes);
    text[0] = text[0].subspan(header_bytes);
    context(keys).encrypt(nonce, {to, header_bytes}, {text.data(), count}, to + header_bytes, to + bytes);
}

void crypto::seal(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet)
{
    std::span<const std::byte> body = packet.first(packet.size() - tag_size());
    if (mode_ == secure_mode::auth) mac(keys, number, {&body, 1}, packet.data() + body.size());
    if (mode_ == secure_mode::encrypt) encrypt(keys, number, {&body, 1}, packet.data());
}

bool crypto::open(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet)
{
    if (mode_ == secure_mode::off) return true;
    gcm_nonce nonce;
    make_nonce(keys, number, nonce);
    auto body = packet.first(packet.size() - tag_bytes);
    auto *tag = packet.data() + body.size();
    if (mode_ == secure_mode::encrypt)
        return context(keys).decrypt(nonce, body.first(header_bytes), body.subspan(header_bytes), tag);
    std::byte good[tag_bytes];
    std::span<const std::byte> whole = body;
    context(keys).mac(nonce, {&whole, 1}, good);
    return CRYPTO_memcmp(good, tag, tag_bytes) == 0;
}

} // namespace onesea::net
