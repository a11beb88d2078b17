// SPDX-License-Identifier: Apache-2.0
// ipsec-mb finds out once which instructions the processor has; what it keeps for that is 200 KB, of which we need nine
// pointers to functions that have no state. The rest is given back at once.
#include "net/gcm.hpp"

#ifdef ONESEA_HAVE_IPSEC_MB

#include <cstring>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <sodium.h>

namespace onesea::net {
namespace {

struct functions {
    decltype(IMB_MGR::gcm128_pre) prepare = nullptr;
    decltype(IMB_MGR::gcm128_enc) encrypt_at_once = nullptr;
    decltype(IMB_MGR::gmac128_init) mac_begin = nullptr;
    decltype(IMB_MGR::gmac128_update) mac_update = nullptr;
    decltype(IMB_MGR::gmac128_finalize) mac_finish = nullptr;
    decltype(IMB_MGR::gcm128_init) begin = nullptr;
    decltype(IMB_MGR::gcm128_enc_update) encrypt = nullptr;
    decltype(IMB_MGR::gcm128_enc_finalize) encrypt_finish = nullptr;
    decltype(IMB_MGR::gcm128_dec) decrypt = nullptr;
};

functions find_functions()
{
    functions f;
    IMB_MGR *m = alloc_mb_mgr(0);
    if (!m) return f;
    IMB_ARCH chosen = IMB_ARCH_NONE;
    init_mb_mgr_auto(m, &chosen);
    constexpr auto wanted = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    if (chosen != IMB_ARCH_NONE && imb_get_errno(m) == 0 && (m->features & wanted) == wanted)
        f = {m->gcm128_pre,  m->gcm128_enc,        m->gmac128_init,        m->gmac128_update, m->gmac128_finalize,
             m->gcm128_init, m->gcm128_enc_update, m->gcm128_enc_finalize, m->gcm128_dec};
    free_mb_mgr(m);
    return f;
}

const functions &library()
{
    static const functions found = find_functions();
    return found;
}

class ipsec_mb_context final : public gcm_context {
  public:
    ~ipsec_mb_context() override { sodium_memzero(&key_, sizeof key_); }

    std::string_view name() const override { return "ipsec-mb"; }

    void set_key(const gcm_key &key) override { call_.prepare(key, &key_); }

    void mac(const gcm_nonce &nonce, byte_pieces pieces, std::byte *tag) override
    {
        gcm_context_data c;
        auto *to = reinterpret_cast<std::uint8_t *>(tag);
        if (pieces.size() == 1) { // one call instead of three: 7 ns less
            std::uint8_t nothing = 0;
            call_.encrypt_at_once(&key_, &c, &nothing, &nothing, 0, nonce, bytes(pieces[0].data()), pieces[0].size(),
                                  to, tag_bytes);
            return;
        }
        call_.mac_begin(&key_, &c, nonce, sizeof nonce);
        for (auto piece : pieces)
            if (!piece.empty()) call_.mac_update(&key_, &c, bytes(piece.data()), piece.size());
        call_.mac_finish(&key_, &c, to, tag_bytes);
    }

    void encrypt(const gcm_nonce &nonce, std::span<const std::byte> head, byte_pieces pieces, std::byte *to,
                 std::byte *tag) override
    {
        gcm_context_data c;
        call_.begin(&key_, &c, nonce, bytes(head.data()), head.size());
        for (auto piece : pieces) {
            if (piece.empty()) continue;
            call_.encrypt(&key_, &c, reinterpret_cast<std::uint8_t *>(to), bytes(piece.data()), piece.size());
            to += piece.size();
        }
        call_.encrypt_finish(&key_, &c, reinterpret_cast<std::uint8_t *>(tag), tag_bytes);
    }

    bool decrypt(const gcm_nonce &nonce, std::span<const std::byte> head, std::span<std::byte> text,
                 const std::byte *tag) override
    {
        gcm_context_data c;
        std::uint8_t good[tag_bytes];
        auto *at = reinterpret_cast<std::uint8_t *>(text.data());
        call_.decrypt(&key_, &c, at, at, text.size(), nonce, bytes(head.data()), head.size(), good, tag_bytes);
        return CRYPTO_memcmp(good, tag, tag_bytes) == 0;
    }

  private:
    const functions &call_ = library();
    gcm_key_data key_;

    static const std::uint8_t *bytes(const std::byte *p) { return reinterpret_cast<const std::uint8_t *>(p); }
};

} // namespace

std::unique_ptr<gcm_context> make_ipsec_mb_context()
{
    if (!library().prepare) return nullptr;
    return std::make_unique<ipsec_mb_context>();
}

} // namespace onesea::net

#else

namespace onesea::net {

std::unique_ptr<gcm_context> make_ipsec_mb_context() { return nullptr; }

} // namespace onesea::net

#endif
