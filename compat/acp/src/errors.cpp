// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include "acp.h"

#include <onesea.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace acp {
namespace {

constexpr std::uint64_t most_lines = 16;

std::atomic<std::uint64_t> failures{0};
thread_local char last_text[512] = "";

} // namespace

void report(const char *function, const char *format, ...)
{
    const int used = std::snprintf(last_text, sizeof last_text, "%s: ", function);
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(last_text + used, sizeof last_text - std::size_t(used), format, arguments);
    va_end(arguments);
    const std::uint64_t number = failures.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number > most_lines) return;
    std::fprintf(stderr, "acp: rank %d: %s%s\n", acp_rank(), last_text,
                 number == most_lines ? " (further failures are only counted: acp_onesea_errors())" : "");
}

void report_sea(const char *function) { report(function, "%s", sea_last_error()); }

} // namespace acp

uint64_t acp_onesea_errors(void) { return acp::failures.load(std::memory_order_relaxed); }

const char *acp_onesea_last_error(void) { return acp::last_text; }
