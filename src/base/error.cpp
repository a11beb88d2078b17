// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

namespace onesea {
namespace {
thread_local std::string text;
}

const char *last_error() noexcept { return text.c_str(); }

int set_error(int status, std::string what) noexcept
{
    text = std::move(what);
    return status;
}

} // namespace onesea

using namespace onesea;

const char *sea_last_error(void) { return last_error(); }

const char *sea_strerror(int status)
{
    switch (status) {
#define CASE(name, value, meaning) \
    case value:                    \
        return meaning;
        SEA_STATUS_MAP(CASE)
#undef CASE
    default:
        return "unknown status";
    }
}

const char *sea_status_name(int status)
{
    switch (status) {
#define CASE(name, value, meaning) \
    case value:                    \
        return #name;
        SEA_STATUS_MAP(CASE)
#undef CASE
    default:
        return "SEA_ERR_UNKNOWN";
    }
}
