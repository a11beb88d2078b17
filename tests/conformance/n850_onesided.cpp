// SPDX-License-Identifier: Apache-2.0
// One-sided means one-sided: everything completes while the target computes and does not call the library. The
// computing rank looks at its clock and at the board only; it stops when the others say there that they are done.
#include "places.hpp"

#include <atomic>

using namespace proof;

namespace {

std::atomic<std::uint64_t> ran{0};
void *note(const sea_am *, sea_am_complete_fn *, void **)
{
    ran += 1;
    return nullptr;
}

void everything_once(run &t, int peer, sea_addr heap, sea_addr own)
{
    std::vector<unsigned char> out(70000), in(70000);
    for (sea_addr a : {heap, own})
        for (std::size_t bytes : {std::size_t(8), std::size_t(1000), std::size_t(70000)}) {
            fill(out.data(), bytes, bytes + std::uint64_t(t.rank));
            CHECK_OK(outcome([&](sea_opts *o) { return sea_put(a, out.data(), bytes, o); }));
            CHECK_OK(sea_get(in.data(), a, bytes, nullptr));
            CHECK_DATA(in.data(), bytes, bytes + std::uint64_t(t.rank));
        }
    std::uint64_t old = 0;
    for (sea_addr a : {heap, own}) {
        CHECK_OK(sea_swap8(a + 70016, 5, nullptr, nullptr));
        CHECK_OK(sea_fence(peer));
        CHECK_OK(sea_fetch_add8(a + 70016, 1, &old, nullptr));
        CHECK_EQ(5, old);
        CHECK_OK(sea_cas8(a + 70016, 6, 7, &old, nullptr));
        CHECK_EQ(6, old);
    }
    CHECK_OK(sea_copy(own, heap, 1000, nullptr));
    CHECK_OK(outcome([&](sea_opts *o) { return sea_am_send(peer, 9, "x", 1, out.data(), 70000, o); }));
    sea_addr block = SEA_NULL;
    CHECK_OK(sea_heap_alloc(peer, 100, &block));
    CHECK_OK(sea_heap_free(block));
    CHECK_OK(sea_fence(peer));
}

// No call into the library, no sleep: arithmetic and the clock.
bool compute_until(std::atomic<std::uint64_t> &flag, std::uint64_t value)
{
    volatile double x = 1;
    for (double until = now() + 30; now() < until;) {
        for (int i = 0; i < 2000; ++i) x = x * 1.0000001 + 1e-9;
        if (flag >= value) return true;
    }
    return false;
}

} // namespace

STEP(850, all_completes_while_the_target_computes)
{
    if (t.size == 1) return;
    place heap(kind::heap, 70080), own(kind::malloced, 70080);
    std::uint64_t skew = (8 - reinterpret_cast<std::uintptr_t>(own.memory()) % 8) % 8;
    std::vector<sea_addr> heaps = t.exchange(heap.address()), owns = t.exchange(own.address() + skew);
    ran = 0;
    CHECK_OK(sea_am_register(9, note, nullptr));
    if (t.rank < 64) t.shared->flags[t.rank] = 0;
    t.sync();
    // Pairs: the odd one computes, the even one asks. At most four pairs, since each keeps a processor busy.
    int partner = t.rank ^ 1;
    if (t.rank < 8 && partner < t.size) {
        if (t.rank % 2 == 1) {
            CHECK(compute_until(t.shared->flags[t.rank], 1));
            CHECK_EQ(1, ran.load());
            CHECK_EQ(7, peek8(heap.memory() + 70016));
        } else {
            everything_once(t, partner, heaps[std::size_t(partner)], owns[std::size_t(partner)]);
            t.shared->flags[partner] = 1;
        }
    }
    t.sync();
    CHECK_OK(sea_am_register(9, nullptr, nullptr));
    if (t.rank < 64) t.shared->flags[t.rank] = 0;
    t.sync();
}

STEP(851, all_completes_while_the_target_sleeps_elsewhere)
{
    if (t.size == 1) return;
    place heap(kind::heap, 70080), own(kind::malloced, 70080);
    std::uint64_t skew = (8 - reinterpret_cast<std::uintptr_t>(own.memory()) % 8) % 8;
    std::vector<sea_addr> heaps = t.exchange(heap.address()), owns = t.exchange(own.address() + skew);
    CHECK_OK(sea_am_register(9, note, nullptr));
    t.sync();
    // All wait at the board, outside the library; only rank 0 asks.
    for (int peer : t.peers())
        if (t.rank == 0 && peer != 0) everything_once(t, peer, heaps[std::size_t(peer)], owns[std::size_t(peer)]);
    t.sync();
    CHECK_OK(sea_am_register(9, nullptr, nullptr));
}

STEP(852, all_completes_while_the_target_waits_in_the_library)
{
    if (t.size == 1) return;
    place heap(kind::heap, 70080), own(kind::malloced, 70080), wake(kind::heap, 64);
    poke8(wake.memory(), 0);
    std::uint64_t skew = (8 - reinterpret_cast<std::uintptr_t>(own.memory()) % 8) % 8;
    std::vector<sea_addr> heaps = t.exchange(heap.address()), owns = t.exchange(own.address() + skew);
    std::vector<sea_addr> wakes = t.exchange(wake.address());
    CHECK_OK(sea_am_register(9, note, nullptr));
    t.sync();
    if (t.rank == 0) {
        for (int peer : t.peers())
            if (peer != 0) everything_once(t, peer, heaps[std::size_t(peer)], owns[std::size_t(peer)]);
        for (int r = 1; r < t.size; ++r)
            CHECK_OK(
                sea_put_signal(wakes[std::size_t(r)], nullptr, 0, wakes[std::size_t(r)], 1, SEA_SIGNAL_SET, nullptr));
    } else {
        CHECK_OK(sea_counter_wait(reinterpret_cast<sea_counter *>(wake.memory()), 1, 50));
    }
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_OK(sea_am_register(9, nullptr, nullptr));
}

namespace {

// Runs until the partner says that all its operations on this rank have completed.
std::atomic<std::uint64_t> *release, *entered;
void *take_time(const sea_am *, sea_am_complete_fn *, void **)
{
    *entered = 1;
    if (!compute_until(*release, 1)) ran = 1000;
    ran += 1;
    return nullptr;
}

// `asleep`: the target has waited in the library for so long that its dispatcher has gone to rest.
void operate_during_a_handler(run &t, bool asleep)
{
    if (t.size == 1) return;
    place heap(kind::heap, 70080), wake(kind::heap, 64);
    poke8(wake.memory(), 0);
    poke8(heap.memory() + 70016, 5);
    std::vector<sea_addr> heaps = t.exchange(heap.address()), wakes = t.exchange(wake.address());
    ran = 0;
    std::atomic<std::uint64_t> *flags = t.shared->flags;
    if (t.rank < 8) {
        release = &flags[t.rank];
        entered = &flags[t.rank + 8];
        flags[t.rank] = flags[t.rank + 8] = 0;
    }
    CHECK_OK(sea_am_register(9, take_time, nullptr));
    t.sync();
    int partner = t.rank ^ 1;
    if (t.rank < 8 && partner < t.size && t.rank % 2 == 1) {
        CHECK_OK(sea_counter_wait(reinterpret_cast<sea_counter *>(wake.memory()), 1, 50));
        CHECK_EQ(1, ran.load());
    } else if (t.rank < 8 && partner < t.size) {
        sea_addr a = heaps[std::size_t(partner)], w = wakes[std::size_t(partner)];
        std::vector<unsigned char> out(70000), in(70000);
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT;
        if (asleep) usleep(60'000);
        CHECK_OK(sea_am_send(partner, 9, nullptr, 0, nullptr, 0, &o));
        for (double until = now() + 30; flags[partner + 8] == 0 && now() < until;) CHECK_OK(sea_poll());
        for (std::size_t bytes : {std::size_t(8), std::size_t(1000), std::size_t(70000)}) {
            fill(out.data(), bytes, bytes);
            CHECK_OK(outcome([&](sea_opts *with) { return sea_put(a, out.data(), bytes, with); }));
            CHECK_OK(sea_get(in.data(), a, bytes, nullptr));
            CHECK_DATA(in.data(), bytes, bytes);
        }
        std::uint64_t old = 0;
        CHECK_OK(sea_fetch_add8(a + 70016, 1, &old, nullptr));
        CHECK_EQ(5, old);
        flags[partner] = 1;
        CHECK_OK(sea_fence(partner));
        CHECK_OK(sea_put_signal(w, nullptr, 0, w, 1, SEA_SIGNAL_SET, nullptr));
        CHECK_OK(sea_fence(partner));
    }
    t.sync();
    CHECK_OK(sea_am_register(9, nullptr, nullptr));
    t.sync();
    if (t.rank < 8) flags[t.rank] = flags[t.rank + 8] = 0;
    t.sync();
}

} // namespace

STEP(853, all_completes_while_a_handler_of_the_target_takes_its_time) { operate_during_a_handler(t, false); }

STEP(854, all_completes_while_a_handler_of_a_target_that_slept_takes_its_time) { operate_during_a_handler(t, true); }
