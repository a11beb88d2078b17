// SPDX-License-Identifier: Apache-2.0
// What went wrong, in LAPI's numbers; and who is told when no call can return it.
#pragma once

#include "lapi.h"

namespace lapi {

struct context;

// The LAPI number of a status of onesea.h.
int from_sea(int status);

// An error that no call could return: the context's error handler hears it; without one the job ends. That handler may
// wait, LAPI_Term() its context or exit, so only threads of the program and our own may call it.
void report(context &c, int code, lapi_err_t type, int other);
// The same from a handler of onesea: it is called on a thread for that.
void report_later(context &c, int code, lapi_err_t type, int other);

// Calls a function of the program. What that throws ends the process (std::terminate), in whichever thread it runs: the
// library is not prepared for it, and others would wait for ever for what the function was to let happen.
template <class Call>
auto call_program(Call &&call) noexcept
{
    return call();
}

// In C++ no exception leaves a C function: memory is the only thing that can run out here.
template <class Body>
int guarded(Body &&body) noexcept
{
    try {
        return body();
    } catch (...) {
        return LAPI_ERR_MEMORY_EXHAUSTED;
    }
}

} // namespace lapi

// LAPI_name beside PLAPI_name, weak, so that a profiler may put its own in front.
#define LAPI_TWIN(name) extern "C" __attribute__((weak, alias("PLAPI_" #name))) decltype(PLAPI_##name) LAPI_##name
