// SPDX-License-Identifier: Apache-2.0
// The text behind sea_last_error(): per thread. The first who knows the cause sets it and returns the status.
#pragma once

#include "onesea.h"

#include <exception>
#include <fmt/format.h>
#include <new>
#include <string>
#include <utility>

namespace onesea {

const char *last_error() noexcept;
[[gnu::cold]] int set_error(int status, std::string text) noexcept;

// return fail(SEA_ERR_RANK, "there is no rank {}; the job has {}", rank, size);
template <class... Args>
[[gnu::cold, gnu::noinline]] int fail(int status, fmt::format_string<Args...> format, Args &&...args) noexcept
{
    try {
        return set_error(status, fmt::format(format, std::forward<Args>(args)...));
    } catch (...) {
        return set_error(status, {});
    }
}

// What a C function returns for std::bad_alloc, which must not leave it.
[[gnu::cold]] inline int no_memory(const char *function) noexcept
{
    return fail(SEA_ERR_MEMORY, "{}: this process has no memory for the call", function);
}

// Runs what a C function does; no exception leaves it.
template <class Body>
int guarded(const char *function, Body &&body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return no_memory(function);
    } catch (const std::exception &problem) {
        return fail(SEA_ERR_MEMORY, "{}: {}", function, problem.what());
    }
}

} // namespace onesea
