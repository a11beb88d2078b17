// SPDX-License-Identifier: Apache-2.0
#include "error.hpp"

namespace dsm {

std::array<char, words_room> &words_of_thread() noexcept
{
    thread_local std::array<char, words_room> words{};
    return words;
}

} // namespace dsm

const char *dsm_last_error(void) { return dsm::words_of_thread().data(); }

const char *dsm_strerror(int status)
{
    switch (status) {
#define DSM_TEXT(name, value, text) \
    case value:                     \
        return text;
        DSM_STATUS_MAP(DSM_TEXT)
#undef DSM_TEXT
    default:
        return "unknown status";
    }
}

const char *dsm_status_name(int status)
{
    switch (status) {
#define DSM_NAME(name, value, text) \
    case value:                     \
        return #name;
        DSM_STATUS_MAP(DSM_NAME)
#undef DSM_NAME
    default:
        return "DSM_ERR_UNKNOWN";
    }
}
