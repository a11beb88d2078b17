// SPDX-License-Identifier: Apache-2.0
// LAPI_Util(): the lock of a context and its conditions.
#include "context.hpp"

#include <condition_variable>
#include <new>

using namespace lapi;

namespace {

// Calls use(gate &) of an open context; LAPI_ERR_UNKNOWN if it says false.
template <class Use>
int with_gate(lapi_handle_t hndl, Use &&use)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    return guarded([&] { return use(c->handlers) ? LAPI_SUCCESS : LAPI_ERR_UNKNOWN; });
}

int mutex_lock(lapi_handle_t hndl)
{
    return with_gate(hndl, [](gate &g) {
        g.lock();
        return true;
    });
}

int mutex_unlock(lapi_handle_t hndl)
{
    return with_gate(hndl, [](gate &g) { return g.unlock(); });
}

int mutex_trylock(lapi_handle_t hndl)
{
    return with_gate(hndl, [](gate &g) { return g.try_lock(); });
}

int mutex_getowner(lapi_handle_t hndl, void *owner)
{
    if (!owner) return LAPI_ERR_RET_PTR_NULL;
    return with_gate(hndl, [owner](gate &g) {
        *static_cast<pthread_t *>(owner) = g.owner();
        return true;
    });
}

std::condition_variable_any *condition(lapi_cond_t *cond)
{
    return cond ? static_cast<std::condition_variable_any *>(*cond) : nullptr;
}

int cond_timedwait(lapi_handle_t hndl, lapi_cond_t *cond, timespec *until)
{
    std::condition_variable_any *waited_for = condition(cond);
    if (!waited_for) return LAPI_ERR_RET_PTR_NULL;
    bool timed_out = false;
    int code = with_gate(hndl, [&](gate &g) { return g.wait_on(*waited_for, until, &timed_out); });
    return code == LAPI_SUCCESS && timed_out ? LAPI_ERR_TIMEOUT : code;
}

int cond_wait(lapi_handle_t hndl, lapi_cond_t *cond) { return cond_timedwait(hndl, cond, nullptr); }

int cond_signal(lapi_handle_t hndl, lapi_cond_t *cond)
{
    std::condition_variable_any *waited_for = condition(cond);
    if (!waited_for) return LAPI_ERR_RET_PTR_NULL;
    return with_gate(hndl, [&](gate &) {
        waited_for->notify_one();
        return true;
    });
}

int cond_init(lapi_handle_t hndl, lapi_cond_t *cond)
{
    if (!find(hndl)) return LAPI_ERR_HNDL_INVALID;
    if (!cond) return LAPI_ERR_RET_PTR_NULL;
    *cond = new (std::nothrow) std::condition_variable_any;
    return *cond ? LAPI_SUCCESS : LAPI_ERR_MEMORY_EXHAUSTED;
}

int cond_destroy(lapi_handle_t hndl, lapi_cond_t *cond)
{
    if (!find(hndl)) return LAPI_ERR_HNDL_INVALID;
    if (!condition(cond)) return LAPI_ERR_RET_PTR_NULL;
    delete condition(cond);
    *cond = nullptr;
    return LAPI_SUCCESS;
}

} // namespace

extern "C" int PLAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd)
{
    if (!find(hndl)) return LAPI_ERR_HNDL_INVALID;
    if (!util_cmd || util_cmd->Util_type != LAPI_GET_THREAD_FUNC) return LAPI_ERR_UTIL_CMD;
    util_cmd->ThreadUtil = {LAPI_GET_THREAD_FUNC, mutex_lock,  mutex_unlock, mutex_trylock, mutex_getowner, cond_wait,
                            cond_timedwait,       cond_signal, cond_init,    cond_destroy};
    return LAPI_SUCCESS;
}

LAPI_TWIN(Util);
