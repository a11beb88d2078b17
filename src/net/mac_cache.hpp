// SPDX-License-Identifier: Apache-2.0
// MACs that have begun, by their keys. Beginning one takes as long as the MACs of some short packets, and a rank that
// speaks with many others needs two for each; a link has no room to keep them.
//
// Sets of four, the one used last in front, so that finding it is a compare of 16 bytes. In a set that is full the one
// that was used longest ago makes room. Keys are random, so a byte of them tells the set.
#pragma once

#include "net/aegis/aegis.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <sodium.h>

namespace onesea::net {

template <class Mac, void (*make)(Mac *, const onesea_aegis_key *), std::size_t sets>
class mac_cache {
  public:
    static constexpr std::size_t ways = 4;
    static_assert(sets <= 256);

    // Good until the next call.
    Mac &of(const onesea_aegis_key &key)
    {
        set &s = sets_[key[0] % sets];
        if (!s[0] || !s[0]->is_of(key)) [[unlikely]]
            bring_to_front(s, key);
        return s[0]->mac;
    }

  private:
    struct begun {
        Mac mac;
        onesea_aegis_key key = {};

        bool is_of(const onesea_aegis_key &other) const { return std::memcmp(key, other, sizeof key) == 0; }
        void begin(const onesea_aegis_key &its)
        {
            make(&mac, &its);
            std::memcpy(key, its, sizeof key);
        }
        ~begun() { sodium_memzero(this, sizeof *this); }
    };
    using set = std::array<std::unique_ptr<begun>, ways>;
    std::array<set, sets> sets_;

    [[gnu::noinline]] static void bring_to_front(set &s, const onesea_aegis_key &key)
    {
        const auto found = std::find_if(s.begin(), s.end(), [&](const auto &m) { return !m || m->is_of(key); });
        const auto place = found == s.end() ? s.end() - 1 : found;
        const bool known = found != s.end() && *found;
        if (place != s.begin()) std::rotate(s.begin(), place, place + 1);
        if (!s[0]) s[0] = std::make_unique<begun>();
        if (!known) s[0]->begin(key);
    }
};

} // namespace onesea::net
