// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"
#include "errors.hpp"
#include "requests.hpp"

#include <algorithm>
#include <onesea/message.h>

namespace mmp {
namespace {

thread_local double limit = MP_FOREVER;

int start(job &j)
{
    if (sea_initialized() == 0) {
        if (int status = sea_init(nullptr); status != SEA_OK) return fail_below(status, "MP_init: sea_init");
        j.owns_onesea = true;
    }
    const int me = sea_team_rank(SEA_TEAM_WORLD);
    if (me == SEA_ERR_RANK) // sea_finalize() waits for all, so it is left to the process
        return fail(MP_ERR_RANK, "MP_init: sea_spawn() started this process; MMP has the ranks that the job started "
                                 "with. It is in Onesea's job and leaves it by sea_finalize()");
    if (me < 0) return fail_below(me, "MP_init");
    j.rank = me;
    j.size = sea_team_size(SEA_TEAM_WORLD);
    return MP_OK;
}

// The program goes on with Onesea, and the memory of the receives is the program's: those that a message has met are
// waited for.
int withdraw_receives()
{
    const double end = sea_time() + limit;
    int result = MP_OK;
    const auto receives = [](auto &&use) {
        requests().for_each([&](const request &r) {
            const sea_op op = r.op.load(std::memory_order_relaxed);
            if (!r.sends.load(std::memory_order_relaxed) && op != SEA_OP_NONE) use(op);
        });
    };
    receives([](sea_op op) { sea_message_cancel(op); });
    receives([&](sea_op op) {
        const double left = limit == MP_FOREVER ? SEA_FOREVER : std::max(0.0, end - sea_time());
        if (sea_wait(op, left) == SEA_ERR_TIMEOUT) result = MP_ERR_TIMEOUT;
    });
    if (result == MP_OK) return MP_OK;
    return fail(result, "MP_finalize: a receive that a message has met is not complete in the time given");
}

} // namespace

job &here()
{
    static job j;
    return j;
}

int running(const char *call)
{
    const int state = here().state.load(std::memory_order_acquire);
    if (state == job::running) return MP_OK;
    return fail(MP_ERR_STATE, "%s: %s", call,
                state == job::before ? "MP_init() has not been called" : "MP_finalize() has been called");
}

double timeout() { return limit; }

} // namespace mmp

using namespace mmp;

int MP_init(void)
{
    job &j = here();
    if (j.state.load() != job::before) return fail(MP_ERR_STATE, "MP_init: called a second time");
    if (int status = start(j); status != MP_OK) return status;
    j.state.store(job::running, std::memory_order_release);
    return MP_OK;
}

int MP_finalize(void)
{
    if (int status = running("MP_finalize"); status != MP_OK) return status;
    job &j = here();
    j.state.store(job::after, std::memory_order_release);
    if (!j.owns_onesea) return withdraw_receives();
    const int status = sea_finalize();
    return status == SEA_OK ? MP_OK : fail_below(status, "MP_finalize: sea_finalize");
}

int MP_rank(void)
{
    const int status = running("MP_rank");
    return status == MP_OK ? here().rank : status;
}

int MP_size(void)
{
    const int status = running("MP_size");
    return status == MP_OK ? here().size : status;
}

void MP_abort(int code, const char *text) { sea_abort(code, text); }

int MP_barrier(void)
{
    if (int status = running("MP_barrier"); status != MP_OK) return status;
    const int status = sea_barrier(SEA_TEAM_WORLD);
    return status == SEA_OK ? MP_OK : fail_below(status, "MP_barrier");
}

int MP_set_timeout(double seconds)
{
    if (int status = running("MP_set_timeout"); status != MP_OK) return status;
    if (!(seconds >= 0) && seconds != MP_FOREVER)
        return fail(MP_ERR_INVALID, "MP_set_timeout: %g seconds are no time", seconds);
    if (int status = sea_set_timeout(seconds); status != SEA_OK) return fail_below(status, "MP_set_timeout");
    limit = seconds;
    return MP_OK;
}

int MP_memory(size_t *used, size_t *bound)
{
    if (int status = running("MP_memory"); status != MP_OK) return status;
    const int status = sea_message_memory(used, bound);
    return status == SEA_OK ? MP_OK : fail_below(status, "MP_memory");
}

int MP_alloc(size_t bytes, void **memory)
{
    if (int status = running("MP_alloc"); status != MP_OK) return status;
    if (memory == nullptr || bytes == 0)
        return fail(MP_ERR_INVALID, "MP_alloc: %s", bytes == 0 ? "0 bytes" : "the result is a null pointer");
    sea_addr address = SEA_NULL;
    if (int status = sea_heap_alloc(sea_rank(), bytes, &address); status != SEA_OK)
        return fail_below(status, "MP_alloc of %zu bytes", bytes);
    *memory = sea_local(address);
    return MP_OK;
}

int MP_free(void *memory)
{
    if (int status = running("MP_free"); status != MP_OK) return status;
    if (memory == nullptr) return MP_OK;
    sea_addr address = SEA_NULL;
    int status = sea_global(memory, &address);
    if (status == SEA_OK) status = sea_heap_free(address);
    return status == SEA_OK ? MP_OK : fail(MP_ERR_ADDRESS, "MP_free: %p is not what MP_alloc() gave", memory);
}

int MP_fragment(int rank, size_t *bytes)
{
    if (int status = running("MP_fragment"); status != MP_OK) return status;
    const int status = sea_message_fragment(rank, bytes);
    return status == SEA_OK ? MP_OK : fail_below(status, "MP_fragment of rank %d", rank);
}

double MP_time(void) { return sea_time(); }
