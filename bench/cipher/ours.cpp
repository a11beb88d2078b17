// SPDX-License-Identifier: Apache-2.0
// The cipher of links as they call it, and each of the two that it is made of, so that it can be seen where one becomes
// faster than the other.
#include "cipher/cipher.hpp"
#include "net/crypto.hpp"

#include <stdexcept>

namespace bench {
namespace {

static_assert(head_bytes == onesea::net::header_bytes && tag_bytes == onesea::net::tag_bytes);

onesea::net::direction_keys some_keys(onesea::net::secure_mode mode)
{
    return onesea::net::derive_keys(mode, {}, 0, 1, 0);
}

class of_links : public cipher {
  public:
    explicit of_links(onesea::net::secure_mode mode) : crypto_(mode), keys_(some_keys(mode)) {}
    void seal(std::span<std::byte> packet, std::uint64_t number) override { crypto_.seal(keys_, number, packet); }
    bool open(std::span<std::byte> packet, std::uint64_t number) override
    {
        return crypto_.open(keys_, number, packet);
    }

  private:
    onesea::net::crypto crypto_;
    onesea::net::direction_keys keys_;
};

template <class Mac, void (*make)(Mac *, const onesea_aegis_key *),
          void (*add)(Mac *, const std::uint8_t *, std::size_t), void (*finish)(Mac *, std::uint8_t *)>
class one_mac : public mac {
  public:
    explicit one_mac(const onesea_aegis_key &key) { make(&mac_, &key); }

  private:
    void make_tag(std::span<std::byte> text, std::uint8_t *tag) override
    {
        add(&mac_, raw(text.data()), text.size());
        finish(&mac_, tag);
    }
    Mac mac_;
};

using short_mac = one_mac<onesea_aegis_short_mac, onesea_aegis_short_mac_make, onesea_aegis_short_mac_add,
                          onesea_aegis_short_mac_finish>;
using long_mac =
    one_mac<onesea_aegis_long_mac, onesea_aegis_long_mac_make, onesea_aegis_long_mac_add, onesea_aegis_long_mac_finish>;

class one_encryption : public cipher {
  public:
    explicit one_encryption(bool is_long) : keys_(some_keys(onesea::net::secure_mode::encrypt)), is_long_(is_long) {}
    void seal(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, true);
        const nonce n(number);
        onesea_aegis_encrypt(&keys_.cipher, is_long_, n.bytes, raw(p.head.data()), p.head.size(), raw(p.text.data()),
                             p.text.size(), raw(p.tag));
    }
    bool open(std::span<std::byte> packet, std::uint64_t number) override
    {
        const packet_parts p(packet, true);
        const nonce n(number);
        return onesea_aegis_decrypt(&keys_.cipher, is_long_, n.bytes, raw(p.head.data()), p.head.size(),
                                    raw(p.text.data()), p.text.size(), raw(p.tag));
    }

  private:
    struct nonce {
        std::uint8_t bytes[16] = {};
        explicit nonce(std::uint64_t number) { std::memcpy(bytes, &number, sizeof number); }
    };
    onesea::net::direction_keys keys_;
    bool is_long_;
};

} // namespace

candidates our_ciphers()
{
    if (!onesea::net::crypto_ready()) throw std::runtime_error("the cryptographic libraries do not work here");
    candidates all;
    all.push_back({"onesea", "", "", false, std::make_unique<of_links>(onesea::net::secure_mode::auth)});
    all.push_back({"onesea", "", "", true, std::make_unique<of_links>(onesea::net::secure_mode::encrypt)});
    const auto keys = some_keys(onesea::net::secure_mode::auth);
    all.push_back({"aegis_128l", "own", "", false, std::make_unique<short_mac>(keys.cipher[0])});
    all.push_back({"aegis_128l", "own", "", true, std::make_unique<one_encryption>(false)});
    all.push_back({"aegis_128x4", "own", "", false, std::make_unique<long_mac>(keys.cipher[1])});
    all.push_back({"aegis_128x4", "own", "", true, std::make_unique<one_encryption>(true)});
    return all;
}

} // namespace bench
