// SPDX-License-Identifier: Apache-2.0
// What LAPI says went wrong, in our words.
#pragma once

#include "error.hpp"

#include <lapi.h>

namespace dsm {

inline std::array<char, LAPI_MAX_ERR_STRING> words_of_lapi(int code)
{
    std::array<char, LAPI_MAX_ERR_STRING> words{};
    LAPI_Msg_string(code, words.data());
    return words;
}

inline int fail_below(int code, std::string_view what)
{
    return fail(DSM_ERR_BELOW, "{}: LAPI: {}", what, words_of_lapi(code).data());
}

} // namespace dsm
