// SPDX-License-Identifier: Apache-2.0
// Status and text of what went wrong. The text belongs to the thread and lies in a fixed place, so that telling an
// error needs no memory.
#pragma once

#include "mmp.h"

namespace mmp {

// The MMP status of one of Onesea's.
int status_of(int sea_status);

// Keeps the text for MP_last_error() and returns `status`.
__attribute__((cold, format(printf, 2, 3))) int fail(int status, const char *format, ...);

// Fails with the status of a failed call of Onesea: what it was about, then the library's own words.
__attribute__((cold, format(printf, 2, 3))) int fail_below(int sea_status, const char *format, ...);
// The same with words that the library said earlier.
__attribute__((cold, format(printf, 3, 4))) int fail_as_before(int sea_status, const char *words, const char *format,
                                                               ...);

const char *last_error();

} // namespace mmp
