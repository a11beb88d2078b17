// SPDX-License-Identifier: Apache-2.0
// What a fence promises and tells.
#include "gate.hpp"
#include "places.hpp"

#include <atomic>
#include <cstring>

using namespace proof;

namespace {

// An operation without handle that only its target can refuse: nobody has handler 901. One whose refusal is back before
// the call returns, which may happen inside a node, is told by the call, and another is started.
void start_failing(int rank)
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    int status = SEA_ERR_HANDLER;
    for (int i = 0; i < 100 && status == SEA_ERR_HANDLER; ++i)
        status = sea_am_send(rank, 901, nullptr, 0, nullptr, 0, &o);
    CHECK_OK(status);
}

std::atomic<int> errors_told{0}, other_told{0};

void hear(int, int status, int kind, void *context)
{
    const bool expected = status == SEA_ERR_HANDLER && kind == SEA_ERROR_MESSAGE && context == &errors_told;
    ++(expected ? errors_told : other_told);
}

} // namespace

STEP(755, errors_of_operations_without_handle_are_told_by_a_call_too)
{
    CHECK_OK(sea_on_error(hear, &errors_told));
    errors_told = other_told = 0;
    for (int peer : t.peers())
        for (int i = 0; i < 3; ++i) start_failing(peer);
    for (int peer : t.peers()) CHECK_STATUS(SEA_ERR_HANDLER, sea_fence(peer)); // the first is told here as ever
    sea_op op;                                                                 // not those that have a handle
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    CHECK_OK(sea_am_send(t.rank, 901, nullptr, 0, nullptr, 0, &o));
    CHECK_STATUS(SEA_ERR_HANDLER, sea_wait(op, 30));
    const int expected = 3 * int(t.peers().size());
    for (double end = sea_time() + 20; errors_told < expected && sea_time() < end;) sea_poll();
    CHECK_EQ(expected, errors_told.load());
    CHECK_EQ(0, other_told.load());
    CHECK_OK(sea_on_error(nullptr, nullptr));
    start_failing(t.rank);
    CHECK_STATUS(SEA_ERR_HANDLER, sea_fence(t.rank));
    CHECK_EQ(expected, errors_told.load());
}

LIGHT_STEP(750, after_a_fence_the_effects_are_there)
{
    place p(kind::heap, 100000);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size), left = std::size_t((t.rank + t.size - 1) % t.size);
    std::vector<unsigned char> out(100000);
    for (std::size_t bytes : {8, 3000, 100000}) {
        fill(out.data(), bytes, bytes + std::uint64_t(t.rank));
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT;
        CHECK_OK(sea_put(all[right], out.data(), bytes, &o));
        CHECK_OK(bytes == 3000 ? sea_fence_all() : sea_fence(int(right)));
        t.sync();
        CHECK_DATA(p.memory(), bytes, bytes + left);
        t.sync();
    }
}

STEP(751, a_fence_tells_errors_of_operations_without_handle_once)
{
    for (int peer : t.peers()) {
        start_failing(peer);
        CHECK_STATUS(SEA_ERR_HANDLER, sea_fence(peer));
        CHECK_OK(sea_fence(peer));
        CHECK_OK(sea_fence_all());
    }
    for (int peer : t.peers()) start_failing(peer);
    CHECK_STATUS(SEA_ERR_HANDLER, sea_fence_all());
    CHECK_OK(sea_fence_all());
    for (int peer : t.peers()) CHECK_OK(sea_fence(peer));
    if (t.size > 1) { // one rank's errors are not told by the fence of another
        start_failing((t.rank + 1) % t.size);
        CHECK_OK(sea_fence(t.rank));
        CHECK_STATUS(SEA_ERR_HANDLER, sea_fence((t.rank + 1) % t.size));
    }
    sea_op op; // told by the handle, not again by the fence
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    CHECK_OK(sea_am_send(t.rank, 901, nullptr, 0, nullptr, 0, &o));
    CHECK_STATUS(SEA_ERR_HANDLER, sea_wait(op, 30));
    CHECK_OK(sea_fence_all());
    t.sync();
}

STEP(752, a_failed_operation_adds_nothing_to_the_target)
{
    place p(kind::heap, 128);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    int right = (t.rank + 1) % t.size;
    sea_opts o = SEA_OPTS_INIT;
    o.target_counter = all[std::size_t(right)];
    std::uint64_t word = 1;
    CHECK(outcome([&](sea_opts *w) { return sea_am_send(right, 901, nullptr, 0, nullptr, 0, w); }, o) != SEA_OK);
    sea_addr wrong = all[std::size_t(right)] + (UINT64_C(1) << 39);
    CHECK_STATUS(SEA_ERR_ADDRESS, outcome([&](sea_opts *w) { return sea_put(wrong, &word, 8, w); }, o));
    CHECK_STATUS(SEA_ERR_ADDRESS, outcome([&](sea_opts *w) { return sea_get(&word, wrong, 8, w); }, o));
    t.sync();
    CHECK_EQ(0, peek8(p.memory()));
    CHECK_EQ(1, word);
    t.sync();
}

LIGHT_STEP(753, wrong_ranks_and_times_are_refused)
{
    for (int wrong : {-1, t.size, INT32_MIN, INT32_MAX}) {
        CHECK_STATUS(SEA_ERR_RANK, sea_fence(wrong));
        CHECK(std::strstr(sea_last_error(), std::to_string(wrong).c_str()) != nullptr);
    }
    CHECK_OK(sea_set_timeout(5));
    CHECK_OK(sea_fence_all());
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
}

STEP(754, a_fence_that_runs_out_of_time_leaves_errors_of_other_ranks_to_the_next)
{
    if (t.size == 1) return;
    place p(kind::heap, 64);
    const std::vector<sea_addr> all = t.exchange(p.address());
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t word = 1;
    for (const bool fails_here : {false, true}) { // the other one is late
        gate closed(t);
        const sea_opts later = without_waiting(closed.op());
        CHECK_OK(sea_put(all[std::size_t(fails_here ? right : t.rank)] + 8, &word, 8, &later));
        start_failing(fails_here ? t.rank : right);
        CHECK_OK(sea_set_timeout(0.1));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_fence_all());
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        closed.open();
        CHECK_STATUS(SEA_ERR_HANDLER, sea_fence_all());
        CHECK(std::strstr(sea_last_error(), std::to_string(fails_here ? t.rank : right).c_str()));
        CHECK_OK(sea_fence_all());
    }
    t.sync();
}

LONE_STEP(8110, finalize_tells_an_error_that_no_fence_has_told)
{
    start_failing((t.rank + 1) % t.size);
    t.finalize_status = SEA_ERR_HANDLER;
}
