// SPDX-License-Identifier: Apache-2.0
// What was wrong once, found by reading: each of these steps failed then.
#include "places.hpp"

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace proof;

namespace {

std::size_t place_of_right(const run &t) { return std::size_t((t.rank + 1) % t.size); }

int status_of(int started, sea_op op) { return started == SEA_OK ? sea_wait(op, 30) : started; }

} // namespace

// The origin remembers where memory begins and ends at the target; the owner frees it and makes something larger there.
STEP(870, a_long_put_into_what_replaced_smaller_blocks)
{
    constexpr std::size_t small = 1 << 19;
    sea_addr first = SEA_NULL, second = SEA_NULL;
    CHECK_OK(sea_heap_alloc(t.rank, small, &first));
    CHECK_OK(sea_heap_alloc(t.rank, small, &second));
    const std::size_t right = place_of_right(t);
    std::vector<unsigned char> data(small);
    CHECK_OK(sea_put(t.exchange(second)[right], data.data(), small, nullptr));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_OK(sea_heap_free(first));
    CHECK_OK(sea_heap_free(second));
    sea_addr large = SEA_NULL;
    CHECK_OK(sea_heap_alloc(t.rank, 3 * small, &large));
    const sea_addr there = t.exchange(large)[right];
    CHECK_OK(sea_put(there, data.data(), small, nullptr)); // asks anew
    CHECK_OK(sea_put(there + small + small / 2, data.data(), small, nullptr));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_OK(sea_heap_free(large));
}

STEP(871, a_put_of_any_length_to_what_is_read_only_has_one_error)
{
    std::vector<unsigned char> memory(1 << 20), data(1 << 20);
    sea_addr mine = SEA_NULL;
    CHECK_OK(sea_register(memory.data(), memory.size(), SEA_READ_ONLY, &mine));
    const sea_addr there = t.exchange(mine)[place_of_right(t)];
    for (std::size_t bytes : {std::size_t(8), std::size_t(1000), std::size_t(100000), memory.size()}) {
        sea_op op = SEA_OP_NONE;
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op;
        int s = sea_put(there, data.data(), bytes, &o);
        CHECK_STATUS(SEA_ERR_ACCESS, status_of(s, op));
    }
    CHECK_OK(sea_get(data.data(), there, data.size(), nullptr));
    t.sync();
    CHECK_OK(sea_unregister(mine));
}

STEP(872, counters_hear_nothing_of_what_the_target_refused)
{
    place counts(kind::heap, 64);
    set_bytes(counts.memory(), 64, 0);
    const std::size_t right = place_of_right(t);
    const sea_addr there = t.exchange(counts.address())[right];
    sea_addr gone = SEA_NULL;
    CHECK_OK(sea_heap_alloc(int(right), 4096, &gone));
    CHECK_OK(sea_heap_free(gone));
    t.sync();
    std::uint64_t word = 1, old = 0;
    for (int with_old : {0, 1}) {
        sea_op op = SEA_OP_NONE;
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op;
        o.target_counter = there;
        int s = sea_atomic(SEA_ATOMIC_ADD, gone, 8, 1, 0, with_old ? &old : nullptr, &o);
        CHECK_STATUS(SEA_ERR_ADDRESS, status_of(s, op));
    }
    sea_op op = SEA_OP_NONE;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    o.target_counter = there;
    int s = sea_put_signal(there + 8, &word, 8, gone, 1, SEA_SIGNAL_ADD, &o);
    CHECK_STATUS(SEA_ERR_ADDRESS, status_of(s, op));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(0, peek8(counts.memory()));
    t.sync();
}

STEP(873, waiting_for_local_completion_ends_when_another_thread_uses_the_handle_up)
{
    place p(kind::heap, 1 << 20);
    const sea_addr there = t.exchange(p.address())[place_of_right(t)];
    std::vector<unsigned char> data(1 << 20);
    for (int i = 0; i < t.times(200); ++i) {
        sea_op op = SEA_OP_NONE;
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op;
        CHECK_OK(sea_put(there, data.data(), i % 2 ? data.size() : 20000, &o));
        std::thread other([op] {
            const int s = sea_wait_local(op, 30);
            CHECK(s == SEA_OK || s == SEA_ERR_HANDLE); // it came too late
        });
        CHECK_OK(sea_wait(op, 30));
        other.join();
    }
    t.sync();
}

// Two ranks of a node and one of another: the last reads from the second of the two and fences, the first looks.
STEP(874, a_fence_covers_the_target_counters_of_gets)
{
    const int reader = t.size - 1;
    if (t.size < 3 || sea_node_of(0) != sea_node_of(1) || sea_node_of(reader) == sea_node_of(1)) return;
    place p(kind::heap, 4096), told(kind::heap, 64);
    set_bytes(p.memory(), 64, 0);
    set_bytes(told.memory(), 64, 0);
    const std::vector<sea_addr> at = t.exchange(p.address()), tell = t.exchange(told.address());
    for (std::uint64_t i = 1; i <= std::uint64_t(t.times(500)); ++i) {
        if (t.rank == reader) {
            char data[64];
            sea_opts o = SEA_OPTS_INIT;
            o.flags = SEA_NOWAIT;
            o.target_counter = at[1];
            CHECK_OK(sea_get(data, at[1] + 64, sizeof data, &o));
            CHECK_OK(sea_fence(1));
            CHECK_OK(sea_put(tell[0], &i, 8, nullptr));
            while (peek8(told.memory()) < i) sea_poll();
        }
        if (t.rank == 0) {
            while (peek8(told.memory()) < i) sea_poll();
            CHECK_EQ(i, peek8(sea_local(at[1])));
            CHECK_OK(sea_put(tell[std::size_t(reader)], &i, 8, nullptr));
        }
    }
    t.sync();
}

STEP(875, a_forked_process_reaches_no_global_memory)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 7);
    const pid_t child = fork();
    if (child == 0) {
        std::uint64_t word = 42, old = 0;
        const bool shut_out = sea_put(p.address(), &word, 8, nullptr) == SEA_ERR_STATE &&
                              sea_get(&old, p.address(), 8, nullptr) == SEA_ERR_STATE &&
                              sea_fetch_add8(p.address(), 1, &old, nullptr) == SEA_ERR_STATE;
        _exit(shut_out ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(0, status);
    CHECK_EQ(7, peek8(p.memory()));
    t.sync();
}

// Somebody still reads a registration whose end came too late; the next one has an entry of its own, and the memory
// may go when another call has waited to the end.
STEP(876, a_registration_after_one_that_could_not_end_in_time)
{
    constexpr std::size_t bytes = 64 << 20;
    const int reader = t.size - 1;
    if (t.size > 4) return; // it takes much memory
    std::vector<unsigned char> memory(t.rank == 0 ? bytes : 1), small(4096), to(t.rank == reader ? bytes : 1);
    sea_addr mine = SEA_NULL, next = SEA_NULL;
    CHECK_OK(sea_register(memory.data(), memory.size(), 0, &mine));
    const sea_addr there = t.exchange(mine)[0];
    sea_op op = SEA_OP_NONE;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    if (t.rank == reader) CHECK_OK(sea_get(to.data(), there, to.size(), &o));
    t.sync();
    CHECK_OK(sea_set_timeout(0.0001));
    const int ended = sea_unregister(mine);
    CHECK(ended == SEA_OK || ended == SEA_ERR_TIMEOUT);
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    CHECK_OK(sea_register(small.data(), small.size(), 0, &next));
    if (t.rank == reader) sea_wait(op, 30); // it may have met the end of the registration
    t.sync();
    CHECK_OK(sea_set_timeout(10));
    CHECK_OK(sea_unregister(next));
    CHECK_STATUS(ended == SEA_OK ? SEA_ERR_ADDRESS : SEA_OK, sea_unregister(mine));
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_unregister(mine));
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    t.sync();
}

// The end of a registration waits for a copy of this rank from there.
STEP(877, a_registration_that_a_copy_reads_does_not_end_before_it)
{
    constexpr std::size_t bytes = 32 << 20;
    if (t.size > 4) return; // it takes much memory
    std::vector<unsigned char> memory(bytes), landing(bytes);
    sea_addr mine = SEA_NULL, room = SEA_NULL;
    CHECK_OK(sea_register(memory.data(), bytes, 0, &mine));
    CHECK_OK(sea_register(landing.data(), bytes, 0, &room));
    const sea_addr there = t.exchange(room)[place_of_right(t)];
    sea_op op = SEA_OP_NONE;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    CHECK_OK(sea_copy(there, mine, bytes, &o));
    CHECK_OK(sea_unregister(mine));
    int done = 0;
    CHECK_OK(sea_test(op, &done));
    CHECK_EQ(1, done);
    if (!done) CHECK_OK(sea_wait(op, 30));
    t.sync();
    CHECK_OK(sea_unregister(room));
}

STEP(878, a_hole_in_a_large_registration_is_found)
{
    constexpr std::size_t bytes = 128 << 20, page = 4096, hole = (70 << 20) + 5 * page;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    sea_addr mine = SEA_NULL;
    CHECK_OK(munmap(static_cast<char *>(memory) + hole, page));
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(memory, bytes, 0, &mine));
    CHECK_OK(munmap(memory, bytes));
}

STEP(879, strides_beyond_all_memory_are_an_error)
{
    place p(kind::heap, 64);
    char byte = 0;
    const std::size_t counts[] = {8, SIZE_MAX, SIZE_MAX};
    const std::int64_t far[] = {INT64_MIN, INT64_MIN}, none[] = {0, 0};
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_put_strided(p.address(), far, &byte, none, counts, 2, nullptr));
}

STEP(880, a_piece_without_bytes_may_have_any_address)
{
    place p(kind::heap, 64);
    const sea_addr there = t.exchange(p.address())[place_of_right(t)];
    poke8(p.memory(), 0);
    t.sync();
    std::uint64_t word = 7, back = 0;
    sea_piece pieces[] = {{SEA_NULL, nullptr, 0}, {there, &word, 8}, {sea_addr(99) << SEA_OFFSET_BITS, nullptr, 0}};
    CHECK_OK(sea_put_vector(pieces, 3, nullptr));
    CHECK_OK(sea_fence_all());
    pieces[1].local = &back;
    CHECK_OK(sea_get_vector(pieces, 3, nullptr));
    CHECK_EQ(7, back);
    CHECK_OK(sea_put_vector(pieces, 1, nullptr));
    t.sync();
}

STEP(881, the_counter_of_an_operation_without_bytes_has_a_rank)
{
    place p(kind::heap, 64);
    const std::vector<sea_addr> all = t.exchange(p.address());
    set_bytes(p.memory(), 64, 0);
    t.sync();
    std::uint64_t word = 0;
    sea_opts o = SEA_OPTS_INIT;
    o.target_counter = sea_addr(t.size) << SEA_OFFSET_BITS | 64;
    CHECK_STATUS(SEA_ERR_RANK, sea_put(SEA_NULL, &word, 0, &o));
    CHECK_STATUS(SEA_ERR_RANK, sea_get(&word, SEA_NULL, 0, &o));
    CHECK_STATUS(SEA_ERR_RANK, sea_copy(SEA_NULL, SEA_NULL, 0, &o));
    const std::size_t right = place_of_right(t);
    if (t.size > 1) {
        o.target_counter = all[std::size_t(t.rank)];
        CHECK_STATUS(SEA_ERR_INVALID, sea_put_signal(SEA_NULL, &word, 0, all[right] + 8, 1, SEA_SIGNAL_ADD, &o));
    }
    o.target_counter = all[right];
    CHECK_OK(sea_put_signal(SEA_NULL, &word, 0, all[right] + 8, 1, SEA_SIGNAL_ADD, &o));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(1, peek8(p.memory()));
    CHECK_EQ(1, peek8(p.memory() + 8));
    t.sync();
}

// The answer to an allocation comes when nobody waits for it any more.
STEP(882, a_block_that_comes_too_late_goes_back)
{
    const std::size_t right = place_of_right(t);
    std::size_t before = 0, after = 0;
    CHECK_OK(sea_heap_usage(t.rank, nullptr, &before));
    t.sync();
    CHECK_OK(sea_set_timeout(1e-6));
    std::vector<sea_addr> came;
    for (int i = 0; i < 50; ++i) {
        sea_addr block = SEA_NULL;
        const int s = sea_heap_alloc(int(right), 4096, &block);
        CHECK(s == SEA_OK || s == SEA_ERR_TIMEOUT);
        if (s == SEA_OK) came.push_back(block);
    }
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    for (sea_addr block : came) CHECK_OK(sea_heap_free(block));
    t.sync();
    for (int tenths = 0; tenths < 200; ++tenths) {
        CHECK_OK(sea_heap_usage(t.rank, nullptr, &after));
        if (after == before) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    CHECK_EQ(before, after);
    t.sync();
}

// A put there would have ended the owner.
STEP(883, what_may_not_be_written_is_registered_to_be_read)
{
    static const std::uint64_t constants[512] = {7};
    void *mapped = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    void *const fixed = const_cast<std::uint64_t *>(constants);
    sea_addr mine = SEA_NULL;
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(fixed, sizeof constants, 0, &mine));
    CHECK(std::strstr(sea_last_error(), "SEA_READ_ONLY"));
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(mapped, 8192, 0, &mine));
    CHECK_OK(mprotect(mapped, 4096, PROT_READ | PROT_WRITE));
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(mapped, 4097, 0, &mine));
    CHECK_OK(sea_register(mapped, 4096, 0, &mine));
    CHECK_OK(sea_unregister(mine));
    CHECK_OK(munmap(mapped, 8192));
    CHECK_OK(sea_register(fixed, sizeof constants, SEA_READ_ONLY, &mine));
    const sea_addr there = t.exchange(mine)[place_of_right(t)];
    std::uint64_t word = 0;
    CHECK_OK(sea_get(&word, there, 8, nullptr));
    CHECK_EQ(7, word);
    CHECK_STATUS(SEA_ERR_ACCESS,
                 blocking_outcome(int(place_of_right(t)), [&] { return sea_put(there, &word, 8, nullptr); }));
    t.sync();
    CHECK_OK(sea_unregister(mine));
}

// The good piece is on its way when the origin learns that the other one has no place.
STEP(884, the_target_counter_hears_nothing_of_pieces_of_which_one_has_no_place)
{
    constexpr std::size_t bytes = 200000;
    place good(kind::heap, bytes), counts(kind::heap, 64);
    set_bytes(counts.memory(), 64, 0);
    const std::size_t right = place_of_right(t);
    const sea_addr there = t.exchange(good.address())[right], counter = t.exchange(counts.address())[right];
    sea_addr gone = SEA_NULL;
    CHECK_OK(sea_heap_alloc(int(right), bytes, &gone));
    CHECK_OK(sea_heap_free(gone));
    t.sync();
    std::vector<unsigned char> data(bytes);
    for (const bool bad_first : {false, true})
        for (std::size_t n : {bytes, std::size_t(100)}) {
            const sea_piece pieces[] = {{bad_first ? gone : there, data.data(), bad_first ? bytes : n},
                                        {bad_first ? there : gone, data.data(), bad_first ? n : bytes}};
            sea_op op = SEA_OP_NONE;
            sea_opts o = SEA_OPTS_INIT;
            o.op = &op;
            o.target_counter = counter;
            const int s = sea_put_vector(pieces, 2, &o);
            CHECK_STATUS(SEA_ERR_ADDRESS, status_of(s, op));
        }
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(0, peek8(counts.memory()));
    t.sync();
}
