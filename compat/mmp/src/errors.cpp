// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <onesea.h>

namespace mmp {
namespace {

constexpr std::size_t longest = 512;
thread_local char text[longest] = "";

int append(int sea_status, const char *words)
{
    const char *meaning = sea_strerror(sea_status);
    const bool said = std::strstr(words, meaning) != nullptr;
    const std::size_t used = std::strlen(text);
    std::snprintf(text + used, longest - used, ": %s%s%s", said ? "" : meaning, said ? "" : ": ", words);
    return status_of(sea_status);
}

} // namespace

int status_of(int sea_status)
{
    switch (sea_status) {
    case SEA_OK:
        return MP_OK;
    case SEA_ERR_INVALID:
        return MP_ERR_INVALID;
    case SEA_ERR_RANK:
        return MP_ERR_RANK;
    case SEA_ERR_HANDLE:
        return MP_ERR_REQUEST;
    case SEA_ERR_STATE:
        return MP_ERR_STATE;
    case SEA_ERR_TRUNCATED:
        return MP_ERR_TRUNCATED;
    case SEA_ERR_CANCELLED:
        return MP_ERR_CANCELLED;
    case SEA_ERR_TIMEOUT:
        return MP_ERR_TIMEOUT;
    case SEA_ERR_DEAD:
        return MP_ERR_DEAD;
    case SEA_ERR_LINK:
        return MP_ERR_LINK;
    case SEA_ERR_ADDRESS:
    case SEA_ERR_ACCESS:
        return MP_ERR_ADDRESS;
    case SEA_ERR_MEMORY:
        return MP_ERR_MEMORY;
    case SEA_ERR_LAUNCH:
        return MP_ERR_LAUNCH;
    case SEA_ERR_SYSTEM:
        return MP_ERR_SYSTEM;
    default:
        return MP_ERR_INTERNAL;
    }
}

int fail(int status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    std::vsnprintf(text, longest, format, list);
    va_end(list);
    return status;
}

int fail_below(int sea_status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    std::vsnprintf(text, longest, format, list);
    va_end(list);
    return append(sea_status, sea_last_error());
}

int fail_as_before(int sea_status, const char *words, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    std::vsnprintf(text, longest, format, list);
    va_end(list);
    return append(sea_status, words);
}

const char *last_error() { return text; }

} // namespace mmp

const char *MP_strerror(int status)
{
    switch (status) {
#define MP_STATUS_CASE(name, value, meaning) \
    case value:                              \
        return meaning;
        MP_STATUS_MAP(MP_STATUS_CASE)
#undef MP_STATUS_CASE
    }
    return "this is no status of MMP";
}

const char *MP_last_error(void) { return mmp::last_error(); }
