// SPDX-License-Identifier: Apache-2.0
#include "net/gcm.hpp"

namespace onesea::net {

std::unique_ptr<gcm_context> make_gcm_context(gcm_library which)
{
    if (which != gcm_library::openssl)
        if (auto fast = make_ipsec_mb_context(); fast || which == gcm_library::ipsec_mb) return fast;
    return make_openssl_context();
}

} // namespace onesea::net
