// SPDX-License-Identifier: Apache-2.0
// The program's lock and polling mode: when handlers may run, and what waits for them meanwhile.
#include "battery.hpp"

#include <chrono>
#include <ctime>
#include <pthread.h>
#include <thread>

using namespace battery;

namespace {

std::atomic<int> calls = 0;
// The messages of send_three() are under way together, in any order: each has memory of its own.
char few[100], many[40000];

void *count_header(lapi_handle_t *, void *, uint *, ulong *len, compl_hndlr_t **, void **)
{
    ++calls;
    if (*len == 0) return nullptr;
    return *len == sizeof few ? few : many;
}

lapi_thread_func_t functions()
{
    lapi_util_t util;
    util.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(self.h, &util));
    return util.ThreadUtil;
}

void send_three(const std::vector<lapi_long_t> &handlers, lapi_cntr_t *done)
{
    static char data[sizeof many];
    for (ulong bytes : {std::size_t(0), sizeof few, sizeof many})
        OK(LAPI_Amsend(self.h, self.right(), reinterpret_cast<void *>(handlers[self.right()]), nullptr, 0, data, bytes,
                       nullptr, nullptr, done));
}

// Lets all tasks come here without any call of LAPI: files in memory would do, but time is enough to show a fault.
void outside_lapi() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

} // namespace

STEP(utilities_refuse_bad_commands)
{
    lapi_util_t util;
    for (int type = 0; type <= LAPI_LAST_UTIL; ++type) {
        util.Util_type = lapi_util_type_t(type);
        EQUAL(LAPI_Util(self.h, &util), type == LAPI_GET_THREAD_FUNC ? LAPI_SUCCESS : LAPI_ERR_UTIL_CMD);
    }
    EQUAL(LAPI_Util(self.h, nullptr), LAPI_ERR_UTIL_CMD);
}

STEP(the_lock_is_recursive_and_owned)
{
    lapi_thread_func_t f = functions();
    pthread_t owner;
    OK(f.mutex_lock(self.h));
    OK(f.mutex_lock(self.h));
    OK(f.mutex_trylock(self.h));
    OK(f.mutex_getowner(self.h, &owner));
    CHECK(pthread_equal(owner, pthread_self()));
    std::thread other([&] {
        EQUAL(f.mutex_trylock(self.h), LAPI_ERR_UNKNOWN);
        EQUAL(f.mutex_unlock(self.h), LAPI_ERR_UNKNOWN);
        lapi_cntr_t c = {};
        OK(LAPI_Setcntr(self.h, &c, 1)); // calls do not need the lock
        OK(LAPI_Waitcntr(self.h, &c, 1, nullptr));
    });
    other.join();
    for (int i = 0; i < 3; ++i) OK(f.mutex_unlock(self.h));
    EQUAL(f.mutex_unlock(self.h), LAPI_ERR_UNKNOWN);
    std::thread another([&] {
        OK(f.mutex_lock(self.h));
        OK(f.mutex_unlock(self.h));
    });
    another.join();
    const lapi_handle_t bad = self.h + 1000;
    EQUAL(f.mutex_lock(bad), LAPI_ERR_HNDL_INVALID);
    EQUAL(f.mutex_getowner(self.h, nullptr), LAPI_ERR_RET_PTR_NULL);
}

STEP(conditions_go_with_the_lock)
{
    lapi_thread_func_t f = functions();
    lapi_cond_t cond;
    OK(f.cond_init(self.h, &cond));
    bool ready = false;
    OK(f.mutex_lock(self.h));
    std::thread other([&] {
        OK(f.mutex_lock(self.h));
        ready = true;
        OK(f.cond_signal(self.h, &cond));
        OK(f.mutex_unlock(self.h));
    });
    while (!ready) OK(f.cond_wait(self.h, &cond));
    other.join();
    timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    EQUAL(f.cond_timedwait(self.h, &cond, &soon), LAPI_ERR_TIMEOUT);
    OK(f.mutex_unlock(self.h));
    EQUAL(f.cond_wait(self.h, &cond), LAPI_ERR_UNKNOWN); // not the owner
    OK(f.cond_destroy(self.h, &cond));
    EQUAL(f.cond_wait(self.h, &cond), LAPI_ERR_RET_PTR_NULL);
    EQUAL(f.cond_init(self.h, nullptr), LAPI_ERR_RET_PTR_NULL);
}

STEP(handlers_wait_for_the_lock_and_its_owner_lets_them_run)
{
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    lapi_thread_func_t f = functions();
    counter done, ready;
    calls = 0;
    fence_all();
    OK(f.mutex_lock(self.h));
    OK(LAPI_Put(self.h, self.left(), 0, nullptr, nullptr, ready.of(self.left()), nullptr, nullptr));
    ready.wait(1); // the right one has its lock
    const int before = calls;
    send_three(handlers, done.here());
    outside_lapi();
    EQUAL(calls.load(), before); // between the calls of the owner none runs
    done.wait(3);                // the owner waits inside a call: its own neighbour's handlers run meanwhile
    OK(LAPI_Gfence(self.h));     // also while the lock is held
    EQUAL(calls.load(), 3);
    OK(f.mutex_unlock(self.h));
}

STEP(giving_the_lock_back_lets_handlers_run)
{
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    lapi_thread_func_t f = functions();
    counter done;
    calls = 0;
    fence_all();
    OK(f.mutex_lock(self.h));
    send_three(handlers, done.here());
    outside_lapi();
    OK(f.mutex_unlock(self.h));
    for (int i = 0; i < 10000 && calls < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EQUAL(calls.load(), 3); // nobody was inside a call
    done.wait(3);
}

STEP(in_polling_mode_handlers_run_inside_calls_only)
{
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    counter done, ready;
    calls = 0;
    fence_all();
    OK(LAPI_Senv(self.h, INTERRUPT_SET, 0));
    OK(LAPI_Put(self.h, self.left(), 0, nullptr, nullptr, ready.of(self.left()), nullptr, nullptr));
    ready.wait(1);
    const int before = calls;
    send_three(handlers, done.here());
    outside_lapi();
    EQUAL(calls.load(), before);
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (calls < 3 && std::chrono::steady_clock::now() < limit) OK(LAPI_Probe(self.h)); // progress by hand
    EQUAL(calls.load(), 3);
    done.wait(3);
    fence_all();
    OK(LAPI_Senv(self.h, INTERRUPT_SET, 1));
}

STEP(a_fence_waits_for_handlers_that_have_to_wait)
{
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    for (int round = 0; round < 5; ++round) {
        calls = 0;
        fence_all();
        OK(LAPI_Senv(self.h, INTERRUPT_SET, 0));
        send_three(handlers, nullptr);
        std::this_thread::sleep_for(std::chrono::milliseconds(self.me * 3 % 20));
        fence_all();
        EQUAL(calls.load(), 3);
        OK(LAPI_Senv(self.h, INTERRUPT_SET, 1));
    }
}

// A word that another task puts into: the thread sanitizer takes the library's write for one that needs a lock.
__attribute__((no_sanitize("thread"))) static int look_at(const volatile int &word) { return word; }

// Task 0 runs body(release) while task 1 is outside LAPI in polling mode, until release() was called.
template <class Body>
static void while_task_1_holds_handlers_back(Body &&body)
{
    static int go_on;
    auto where = everywhere(&go_on);
    counter ready;
    go_on = 0;
    fence_all();
    if (self.me == 1) {
        OK(LAPI_Senv(self.h, INTERRUPT_SET, 0));
        OK(LAPI_Put(self.h, 0, 0, nullptr, nullptr, ready.of(0), nullptr, nullptr));
        auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (look_at(go_on) == 0 && std::chrono::steady_clock::now() < limit) outside_lapi();
        OK(LAPI_Senv(self.h, INTERRUPT_SET, 1));
    } else if (self.me == 0 && self.n > 1) {
        ready.wait(1);
        body([&] {
            int one = 1;
            OK(LAPI_Put(self.h, 1, sizeof one, reinterpret_cast<void *>(where[1]), &one, nullptr, nullptr, nullptr));
        });
    }
    fence_all();
}

STEP(each_threads_fence_waits_for_handlers)
{
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    calls = 0;
    while_task_1_holds_handlers_back([&](auto &&release) {
        send_three(handlers, nullptr);
        std::atomic<int> returned = 0;
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                OK(LAPI_Fence(self.h));
                ++returned;
            });
        for (int i = 0; i < 5; ++i) outside_lapi();
        EQUAL(returned.load(), 0);
        release();
        for (std::thread &t : threads) t.join();
    });
    if (self.me == 1) EQUAL(calls.load(), 3);
}

STEP(a_fence_waits_for_handlers_that_an_earlier_one_gave_up)
{
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    calls = 0;
    while_task_1_holds_handlers_back([&](auto &&release) {
        OK(LAPI_Senv(self.h, TIMEOUT, 1));
        send_three(handlers, nullptr);
        for (int i = 0; i < 2; ++i) {
            EQUAL(LAPI_Fence(self.h), LAPI_ERR_TIMEOUT);
            for (const heard &e : errors_heard(1)) {
                EQUAL(e.code, LAPI_ERR_TIMEOUT);
                EQUAL(e.type, TMR_ERR);
                EQUAL(e.other, 1);
            }
        }
        OK(LAPI_Senv(self.h, TIMEOUT, 900));
        release();
        OK(LAPI_Fence(self.h));
    });
    if (self.me == 1) EQUAL(calls.load(), 3);
}

STEP(waiting_without_polling_leaves_handlers_to_others)
{
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    counter done;
    calls = 0;
    fence_all();
    send_three(handlers, done.here());
    OK(LAPI_Nopoll_wait(self.h, done.here(), 3, nullptr));
    fence_all();
    EQUAL(calls.load(), 3);
}

STEP(threads_share_a_context)
{
    static int words[8];
    auto where = everywhere(words);
    auto handlers = everywhere(reinterpret_cast<void *>(count_header));
    calls = 0;
    fence_all();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            lapi_cntr_t c = {};
            for (int i = 0; i < 50; ++i) {
                int value = i, back = -1;
                void *there = reinterpret_cast<void *>(where[self.right()] + std::size_t(t) * sizeof(int));
                OK(LAPI_Put(self.h, self.right(), 4, there, &value, nullptr, nullptr, &c));
                OK(LAPI_Waitcntr(self.h, &c, 1, nullptr));
                OK(LAPI_Get(self.h, self.right(), 4, there, &back, nullptr, &c));
                OK(LAPI_Waitcntr(self.h, &c, 1, nullptr));
                EQUAL(back, value);
                OK(LAPI_Amsend(self.h, self.right(), reinterpret_cast<void *>(handlers[self.right()]), nullptr, 0,
                               nullptr, 0, nullptr, nullptr, &c));
                OK(LAPI_Waitcntr(self.h, &c, 1, nullptr));
            }
        });
    for (std::thread &t : threads) t.join();
    fence_all();
    EQUAL(calls.load(), 200);
}
