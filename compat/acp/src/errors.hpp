// SPDX-License-Identifier: Apache-2.0
// Failures: counted, kept as this thread's last one, and the first of a process told on stderr.
#pragma once

namespace acp {

// What went wrong in a call, in words; printf's format.
[[gnu::format(printf, 2, 3)]] void report(const char *function, const char *format, ...);

// The same for a call of onesea.h that has just failed in this thread.
void report_sea(const char *function);

} // namespace acp
