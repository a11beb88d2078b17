// SPDX-License-Identifier: Apache-2.0
// libsodium. Poly1305 needs a key of its own for each packet; as a MAC it is what ChaCha20-Poly1305 is without a text.
#include "cipher/cipher.hpp"
#include "driver/options.hpp"

#include <sodium.h>

namespace bench {
namespace {

class chacha20_poly1305 : public cipher {
  public:
    explicit chacha20_poly1305(bool hides) : hides_(hides) { randombytes_buf(key_, sizeof key_); }
    void seal(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, hides_);
        const short_nonce n(number);
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(raw(p.text.data()), raw(p.tag), nullptr, raw(p.text.data()),
                                                           p.text.size(), raw(p.head.data()), p.head.size(), nullptr,
                                                           n.bytes, key_);
    }
    bool open(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, hides_);
        const short_nonce n(number);
        return crypto_aead_chacha20poly1305_ietf_decrypt_detached(raw(p.text.data()), nullptr, raw(p.text.data()),
                                                                  p.text.size(), raw(p.tag), raw(p.head.data()),
                                                                  p.head.size(), n.bytes, key_) == 0;
    }

  private:
    std::uint8_t key_[crypto_aead_chacha20poly1305_ietf_KEYBYTES];
    bool hides_;
};

class aes256_gcm : public cipher {
  public:
    aes256_gcm()
    {
        std::uint8_t key[crypto_aead_aes256gcm_KEYBYTES];
        randombytes_buf(key, sizeof key);
        crypto_aead_aes256gcm_beforenm(&state_, key);
    }
    void seal(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, true);
        const short_nonce n(number);
        crypto_aead_aes256gcm_encrypt_detached_afternm(raw(p.text.data()), raw(p.tag), nullptr, raw(p.text.data()),
                                                       p.text.size(), raw(p.head.data()), p.head.size(), nullptr,
                                                       n.bytes, &state_);
    }
    bool open(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, true);
        const short_nonce n(number);
        return crypto_aead_aes256gcm_decrypt_detached_afternm(raw(p.text.data()), nullptr, raw(p.text.data()),
                                                              p.text.size(), raw(p.tag), raw(p.head.data()),
                                                              p.head.size(), n.bytes, &state_) == 0;
    }

  private:
    crypto_aead_aes256gcm_state state_;
};

class blake2b : public mac {
  public:
    blake2b() { randombytes_buf(key_, sizeof key_); }

  private:
    void make_tag(std::span<std::byte> text, std::uint8_t *tag) override
    {
        crypto_generichash_blake2b(tag, tag_bytes, raw(text.data()), text.size(), key_, sizeof key_);
    }
    std::uint8_t key_[32];
};

} // namespace

candidates sodium_ciphers()
{
    const std::string version = sodium_version_string();
    candidates all;
    all.push_back({"sodium_poly1305", "peer", version, false, std::make_unique<chacha20_poly1305>(false)});
    all.push_back({"sodium_blake2b", "peer", version, false, std::make_unique<blake2b>()});
    all.push_back({"sodium_chacha20_poly1305", "peer", version, true, std::make_unique<chacha20_poly1305>(true)});
    if (crypto_aead_aes256gcm_is_available())
        all.push_back({"sodium_aes256_gcm", "peer", version, true, std::make_unique<aes256_gcm>()});
    else
        progress("sodium_aes256_gcm is left out: libsodium has it not for this processor");
    return all;
}

} // namespace bench
