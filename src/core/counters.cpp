// SPDX-License-Identifier: Apache-2.0
#include "core/engine.hpp"

#include <atomic>
#include <cmath>

using namespace onesea;
using namespace onesea::core;

namespace {

constexpr nanoseconds longest_nap = 10'000'000; // how long a plain store may stay unseen

int check(const char *function, const sea_counter *counter)
{
    if (int s = check_started(function)) return s;
    if (!counter) return fail(SEA_ERR_INVALID, "{}: the counter is null", function);
    if (reinterpret_cast<std::uintptr_t>(counter) % 8)
        return fail(SEA_ERR_ALIGN, "{}: the counter at {} is not aligned to 8 bytes", function, fmt::ptr(counter));
    return SEA_OK;
}

std::uint64_t load(const sea_counter *c) { return __atomic_load_n(&c->value, __ATOMIC_SEQ_CST); }

int wait_for(const char *function, std::uint64_t value, function_ref<bool()> ready, double seconds)
{
    if (std::isnan(seconds)) return fail(SEA_ERR_INVALID, "{}: the time is not a number", function);
    if (ready()) {
        if (held_is_due()) send_held(enter());
        return SEA_OK;
    }
    locked lock = enter();
    return told_by_name(wait(lock, ready, deadline_after(seconds), longest_nap),
                        [=] { return fmt::format("{}: the counter did not reach {}", function, value); });
}

} // namespace

int sea_counter_set(sea_counter *counter, uint64_t value)
{
    if (int s = check("sea_counter_set", counter)) return s;
    __atomic_store_n(&counter->value, value, __ATOMIC_SEQ_CST);
    nudge();
    engine().shm->wake_owner(counter);
    return SEA_OK;
}

int sea_counter_get(const sea_counter *counter, uint64_t *value)
{
    if (int s = check("sea_counter_get", counter)) return s;
    if (!value) return fail(SEA_ERR_INVALID, "sea_counter_get: value is null");
    *value = load(counter);
    return SEA_OK;
}

int sea_counter_wait(const sea_counter *counter, uint64_t value, double seconds)
{
    if (int s = check("sea_counter_wait", counter)) return s;
    auto reached = [=] { return load(counter) >= value; };
    return wait_for("sea_counter_wait", value, reached, seconds);
}

int sea_counter_take(sea_counter *counter, uint64_t value, double seconds)
{
    if (int s = check("sea_counter_take", counter)) return s;
    auto take = [=] {
        std::uint64_t now = load(counter);
        while (now >= value)
            if (std::atomic_ref(counter->value).compare_exchange_weak(now, now - value)) return true;
        return false;
    };
    return wait_for("sea_counter_take", value, take, seconds);
}
