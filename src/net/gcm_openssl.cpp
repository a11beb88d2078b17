// SPDX-License-Identifier: Apache-2.0
#include "net/gcm.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdexcept>

namespace onesea::net {
namespace {

void require(bool good)
{
    if (!good) throw std::runtime_error("the cipher of the crypto library failed");
}

const unsigned char *bytes(const std::byte *p) { return reinterpret_cast<const unsigned char *>(p); }
unsigned char *bytes(std::byte *p) { return reinterpret_cast<unsigned char *>(p); }

class openssl_context final : public gcm_context {
  public:
    openssl_context() : context_(EVP_CIPHER_CTX_new()) { require(context_ != nullptr); }
    ~openssl_context() override { EVP_CIPHER_CTX_free(context_); } // also wipes it
    openssl_context(const openssl_context &) = delete;
    openssl_context &operator=(const openssl_context &) = delete;

    std::string_view name() const override { return "OpenSSL"; }

    void set_key(const gcm_key &key) override
    {
        require(EVP_CipherInit_ex(context_, EVP_aes_128_gcm(), nullptr, key, nullptr, 1) == 1);
    }

    void mac(const gcm_nonce &nonce, byte_pieces pieces, std::byte *tag) override
    {
        begin(nonce, true);
        for (auto piece : pieces) update(nullptr, piece);
        finish(tag);
    }

    void encrypt(const gcm_nonce &nonce, std::span<const std::byte> head, byte_pieces pieces, std::byte *to,
                 std::byte *tag) override
    {
        begin(nonce, true);
        update(nullptr, head);
        for (auto piece : pieces) {
            update(to, piece);
            to += piece.size();
        }
        finish(tag);
    }

    bool decrypt(const gcm_nonce &nonce, std::span<const std::byte> head, std::span<std::byte> text,
                 const std::byte *tag) override
    {
        begin(nonce, false);
        update(nullptr, head);
        update(text.data(), text);
        unsigned char none[16];
        int n;
        require(EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, tag_bytes, const_cast<std::byte *>(tag)) == 1);
        return EVP_DecryptFinal_ex(context_, none, &n) == 1;
    }

  private:
    EVP_CIPHER_CTX *context_;

    void begin(const gcm_nonce &nonce, bool encrypt)
    {
        require(EVP_CipherInit_ex(context_, nullptr, nullptr, nullptr, nonce, encrypt) == 1);
    }
    void update(std::byte *to, std::span<const std::byte> from)
    {
        int n;
        if (from.empty()) return;
        require(EVP_CipherUpdate(context_, bytes(to), &n, bytes(from.data()), int(from.size())) == 1);
    }
    void finish(std::byte *tag)
    {
        unsigned char none[16];
        int n;
        require(EVP_EncryptFinal_ex(context_, none, &n) == 1);
        require(EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1);
    }
};

} // namespace

std::unique_ptr<gcm_context> make_openssl_context() { return std::make_unique<openssl_context>(); }

} // namespace onesea::net
