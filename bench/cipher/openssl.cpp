// SPDX-License-Identifier: Apache-2.0
// OpenSSL's libcrypto, through EVP: contexts hold the expanded key, a packet sets its nonce. As MACs AES-GCM (GMAC) and
// ChaCha20-Poly1305 get all of the packet as what is only proven.
#include "cipher/cipher.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdexcept>

namespace bench {
namespace {

struct free_context {
    void operator()(EVP_CIPHER_CTX *context) const { EVP_CIPHER_CTX_free(context); }
};
using context = std::unique_ptr<EVP_CIPHER_CTX, free_context>;

void must(bool good)
{
    if (!good) throw std::runtime_error("a call of libcrypto failed");
}

class aead : public cipher {
  public:
    aead(const EVP_CIPHER *type, bool hides)
        : sealing_(EVP_CIPHER_CTX_new()), opening_(EVP_CIPHER_CTX_new()), hides_(hides)
    {
        std::uint8_t key[EVP_MAX_KEY_LENGTH];
        must(RAND_bytes(key, sizeof key) == 1);
        must(EVP_EncryptInit_ex(sealing_.get(), type, nullptr, key, nullptr) == 1);
        must(EVP_DecryptInit_ex(opening_.get(), type, nullptr, key, nullptr) == 1);
    }

    void seal(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, hides_);
        const short_nonce n(number);
        auto *c = sealing_.get();
        auto *text = raw(p.text.data());
        int done = 0;
        must(EVP_EncryptInit_ex(c, nullptr, nullptr, nullptr, n.bytes) == 1 &&
             EVP_EncryptUpdate(c, nullptr, &done, raw(p.head.data()), int(p.head.size())) == 1 &&
             (!hides_ || EVP_EncryptUpdate(c, text, &done, text, int(p.text.size())) == 1) &&
             EVP_EncryptFinal_ex(c, text + p.text.size(), &done) == 1 &&
             EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, int(tag_bytes), raw(p.tag)) == 1);
    }

    bool open(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, hides_);
        const short_nonce n(number);
        auto *c = opening_.get();
        auto *text = raw(p.text.data());
        int done = 0;
        must(EVP_DecryptInit_ex(c, nullptr, nullptr, nullptr, n.bytes) == 1 &&
             EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, int(tag_bytes), raw(p.tag)) == 1 &&
             EVP_DecryptUpdate(c, nullptr, &done, raw(p.head.data()), int(p.head.size())) == 1 &&
             (!hides_ || EVP_DecryptUpdate(c, text, &done, text, int(p.text.size())) == 1));
        return EVP_DecryptFinal_ex(c, text + p.text.size(), &done) == 1;
    }

  private:
    context sealing_, opening_;
    bool hides_;
};

} // namespace

candidates openssl_ciphers()
{
    const std::string version = OpenSSL_version(OPENSSL_VERSION_STRING);
    const auto *gcm = EVP_aes_128_gcm(), *chacha = EVP_chacha20_poly1305();
    candidates all;
    all.push_back({"openssl_gmac", "peer", version, false, std::make_unique<aead>(gcm, false)});
    all.push_back({"openssl_poly1305", "peer", version, false, std::make_unique<aead>(chacha, false)});
    all.push_back({"openssl_gcm", "peer", version, true, std::make_unique<aead>(gcm, true)});
    all.push_back({"openssl_chacha20_poly1305", "peer", version, true, std::make_unique<aead>(chacha, true)});
    return all;
}

} // namespace bench
