// SPDX-License-Identifier: Apache-2.0
// SipHash and the key derivation (keyed BLAKE2b) come from libsodium, AES-GCM from OpenSSL.
//
// A GMAC is GCM with everything as additional data and nothing encrypted. It is checked by computing it again and
// comparing in constant time. Contexts are direct-mapped by their key: preparing one costs as much as a few packets,
// finding one prepared costs a compare of 16 bytes.
#include "net/crypto.hpp"

#include <cstring>
#include <openssl/evp.h>
#include <sodium.h>
#include <stdexcept>

namespace onesea::net {
namespace {

constexpr char link_label[] = "onesea link keys 1"; // its zero byte is part of what is hashed
constexpr char tag_label[] = "onesea job tag 1";

void require(bool good)
{
    if (!good) throw std::runtime_error("the cipher of the crypto library failed");
}

const unsigned char *bytes(std::span<const std::byte> s) { return reinterpret_cast<const unsigned char *>(s.data()); }

void sip_tag(const direction_keys &keys, std::span<const std::byte> data, unsigned char *tag)
{
    static_assert(crypto_shorthash_siphashx24_BYTES == tag_bytes);
    crypto_shorthash_siphashx24(tag, bytes(data), data.size(), keys.sip);
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
    std::uint8_t out[36];
    crypto_generichash_blake2b(out, sizeof out, message, sizeof message, key.data(), key.size());
    direction_keys result;
    std::memcpy(result.sip, out, 16);
    std::memcpy(result.gcm, out + 16, 16);
    std::memcpy(result.salt, out + 32, 4);
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
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    std::uint8_t key[16] = {};
    bool encrypt = false, keyed = false;
    prepared() { require(context != nullptr); }
    ~prepared()
    {
        EVP_CIPHER_CTX_free(context); // also wipes it
        sodium_memzero(key, sizeof key);
    }
};

crypto::crypto(secure_mode mode) : mode_(mode) {}
crypto::~crypto() = default;

EVP_CIPHER_CTX *crypto::context(const direction_keys &keys, std::uint64_t number, bool encrypt)
{
    auto &slot = cache_[std::size_t(keys.gcm[0] ^ (encrypt ? 1 : 0)) % cache_size];
    if (!slot) slot = std::make_unique<prepared>();
    unsigned char nonce[12];
    std::memcpy(nonce, keys.salt, 4);
    std::memcpy(nonce + 4, &number, 8);
    if (slot->keyed && slot->encrypt == encrypt && std::memcmp(slot->key, keys.gcm, 16) == 0) {
        require(EVP_CipherInit_ex(slot->context, nullptr, nullptr, nullptr, nonce, encrypt) == 1);
        return slot->context;
    }
    require(EVP_CipherInit_ex(slot->context, EVP_aes_128_gcm(), nullptr, keys.gcm, nonce, encrypt) == 1);
    std::memcpy(slot->key, keys.gcm, 16);
    slot->encrypt = encrypt;
    slot->keyed = true;
    return slot->context;
}

void crypto::seal_pieces(const direction_keys &keys, std::uint64_t number,
                         std::span<const std::span<const std::byte>> pieces, std::byte *tag)
{
    auto *c = context(keys, number, true);
    int n;
    for (auto piece : pieces) require(EVP_EncryptUpdate(c, nullptr, &n, bytes(piece), int(piece.size())) == 1);
    unsigned char none[16];
    require(EVP_EncryptFinal_ex(c, none, &n) == 1);
    require(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1);
}

void crypto::seal(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet)
{
    if (mode_ == secure_mode::off) return;
    auto body = packet.first(packet.size() - tag_bytes);
    auto *tag = packet.data() + body.size();
    if (mode_ == secure_mode::auth) {
        if (packet.size() <= short_packet) return sip_tag(keys, body, reinterpret_cast<unsigned char *>(tag));
        std::span<const std::byte> whole = body;
        return seal_pieces(keys, number, {&whole, 1}, tag);
    }
    auto *c = context(keys, number, true);
    int n;
    auto secret = body.subspan(header_bytes);
    auto *text = reinterpret_cast<unsigned char *>(secret.data());
    require(EVP_EncryptUpdate(c, nullptr, &n, bytes(body), header_bytes) == 1);
    if (!secret.empty()) require(EVP_EncryptUpdate(c, text, &n, text, int(secret.size())) == 1);
    unsigned char none[16];
    require(EVP_EncryptFinal_ex(c, none, &n) == 1);
    require(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1);
}

bool crypto::open(const direction_keys &keys, std::uint64_t number, std::span<std::byte> packet)
{
    if (mode_ == secure_mode::off) return true;
    auto body = packet.first(packet.size() - tag_bytes);
    auto *tag = packet.data() + body.size();
    if (mode_ == secure_mode::auth) {
        unsigned char good[tag_bytes];
        std::span<const std::byte> whole = body;
        if (packet.size() <= short_packet)
            sip_tag(keys, body, good);
        else
            seal_pieces(keys, number, {&whole, 1}, reinterpret_cast<std::byte *>(good));
        return sodium_memcmp(good, tag, tag_bytes) == 0;
    }
    auto *c = context(keys, number, false);
    int n;
    auto secret = body.subspan(header_bytes);
    auto *text = reinterpret_cast<unsigned char *>(secret.data());
    require(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag) == 1);
    require(EVP_DecryptUpdate(c, nullptr, &n, bytes(body), header_bytes) == 1);
    if (!secret.empty()) require(EVP_DecryptUpdate(c, text, &n, text, int(secret.size())) == 1);
    unsigned char none[16];
    return EVP_DecryptFinal_ex(c, none, &n) == 1;
}

} // namespace onesea::net
