// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

namespace onesea {
namespace {

// A process that exits destroys what is thread_local first and then calls the functions of atexit(), in which programs
// leave the job. A text that comes after that is kept where nothing needs to be destroyed, as much of it as fits.
thread_local constinit bool destroyed = false;
thread_local constinit char afterwards[200] = "";

// The text before the last one stays: of printf("%d: %s", sea_rank(), sea_last_error()) the text is taken first, it may
// be, and then comes a call that fails, too.
struct holder {
    std::string texts[2];
    unsigned last = 0;
    ~holder() { destroyed = true; }
};
thread_local holder own;

} // namespace

const char *last_error() noexcept { return destroyed ? afterwards : own.texts[own.last].c_str(); }

int set_error(int status, std::string what) noexcept
{
    if (destroyed) {
        afterwards[what.copy(afterwards, sizeof afterwards - 1)] = '\0';
    } else {
        own.last ^= 1;
        own.texts[own.last] = std::move(what);
    }
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
