// SPDX-License-Identifier: Apache-2.0
// Bad input: each gives its status and a text that names the thing, and no byte of any rank changes.
//
// Every rank lays out   guard A guard | freed hole | guard B guard   in its heap, and private memory. All bytes have a
// pattern; after all ranks have tried everything on everybody the pattern is still there.
#include "places.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace proof;

namespace {

constexpr std::size_t room = 8192;

struct field {
    place first{kind::heap, room}, second{kind::heap, room}, own{kind::malloced, room};
    place locked{kind::malloced, room, nullptr, SEA_READ_ONLY};
    sea_addr hole = SEA_NULL; // of this rank: freed memory
    std::vector<sea_addr> firsts, seconds, owns, lockeds, holes;

    explicit field(run &t)
    {
        REQUIRE_OK(sea_heap_alloc(t.rank, room, &hole));
        place behind(kind::heap, 64); // so that the hole is not the end of what is used
        CHECK_OK(sea_heap_free(hole));
        std::uint64_t seed = std::uint64_t(t.rank) * 10;
        for (place *p : {&first, &second, &own, &locked}) fill(p->memory(), room, ++seed);
        firsts = t.exchange(first.address());
        seconds = t.exchange(second.address());
        owns = t.exchange(own.address());
        lockeds = t.exchange(locked.address());
        holes = t.exchange(hole);
    }

    void check(run &t)
    {
        t.sync();
        std::uint64_t seed = std::uint64_t(t.rank) * 10;
        for (place *p : {&first, &second, &own, &locked}) {
            CHECK_DATA(p->memory(), room, ++seed);
            CHECK(p->guards_whole());
        }
        t.sync();
    }
};

std::string hex(std::uint64_t v)
{
    char text[32];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(v));
    return text;
}

bool names(const std::string &part)
{
    if (std::strstr(sea_last_error(), part.c_str()) != nullptr) return true;
    failed(__FILE__, __LINE__, "sea_last_error()", "a text with '" + part + "'", sea_last_error());
    return false;
}

// All transfers of `bytes` at a wrong address give `status`, with and without a handle.
void all_transfers_fail(int status, int rank, sea_addr a, std::size_t bytes)
{
    std::vector<unsigned char> data(std::min(bytes, std::size_t(1) << 20), 0xee);
    std::vector<unsigned char> before = data;
    void *d = data.data();
    CHECK_STATUS(status, outcome([&](sea_opts *o) { return sea_put(a, d, bytes, o); }));
    CHECK_STATUS(status, blocking_outcome(rank, [&] { return sea_put(a, d, bytes, nullptr); }));
    CHECK_STATUS(status, outcome([&](sea_opts *o) { return sea_get(d, a, bytes, o); }));
    CHECK_STATUS(status, sea_get(d, a, bytes, nullptr));
    names(std::to_string(rank));
    CHECK_STATUS(status, outcome([&](sea_opts *o) {
                     sea_piece piece{a, d, bytes};
                     return sea_put_vector(&piece, 1, o);
                 }));
    CHECK_STATUS(status, outcome([&](sea_opts *o) { return sea_get_strided(d, nullptr, a, nullptr, &bytes, 0, o); }));
    CHECK(data == before);
}

} // namespace

LIGHT_STEP(900, ranges_that_are_not_inside_one_segment_are_refused)
{
    field f(t);
    for (int peer : t.peers()) {
        std::size_t i = std::size_t(peer);
        for (std::size_t bytes : {std::size_t(8), std::size_t(100), room}) {
            all_transfers_fail(SEA_ERR_ADDRESS, peer, (sea_addr(peer) << SEA_OFFSET_BITS) + (UINT64_C(1) << 38), bytes);
            all_transfers_fail(SEA_ERR_ADDRESS, peer, (sea_addr(peer) << SEA_OFFSET_BITS) + SEA_OFFSET_MASK, bytes);
            all_transfers_fail(SEA_ERR_ADDRESS, peer, f.holes[i], bytes);
            all_transfers_fail(SEA_ERR_ADDRESS, peer, f.owns[i] + room - bytes + 1, bytes); // one over the end
            all_transfers_fail(SEA_ERR_ADDRESS, peer, f.owns[i] + room, bytes);
            all_transfers_fail(SEA_ERR_ADDRESS, peer, f.owns[i] - 1, bytes);
        }
        sea_addr end = f.firsts[i] + room + guard_bytes;
        all_transfers_fail(SEA_ERR_ADDRESS, peer, end - 64 + 57, 8 + 64); // from one allocation into what follows
        all_transfers_fail(SEA_ERR_ADDRESS, peer, f.firsts[i], 2 * room + 4 * guard_bytes); // over two allocations
    }
    f.check(t);
}

LIGHT_STEP(901, ranks_that_are_not_there_are_named)
{
    field f(t);
    for (int wrong : {t.size, t.size + 1, 100000, (1 << 24) - 1})
        all_transfers_fail(SEA_ERR_RANK, wrong, (sea_addr(wrong) << SEA_OFFSET_BITS) + 4096, 64);
    std::uint64_t word;
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_get(&word, SEA_NULL, 8, nullptr));
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_put(SEA_NULL, &word, 8, nullptr) == SEA_OK ? sea_fence(0) : SEA_ERR_ADDRESS);
    f.check(t);
}

LIGHT_STEP(902, lengths_larger_than_memory_are_refused)
{
    field f(t);
    unsigned char byte[64] = {};
    for (int peer : t.peers()) {
        std::size_t i = std::size_t(peer);
        for (std::size_t bytes :
             {std::size_t(8) << 30, std::size_t(1) << 40, std::size_t(1) << 63, SIZE_MAX, SIZE_MAX - 7})
            for (sea_addr a : {f.firsts[i], f.owns[i], f.lockeds[i]}) {
                CHECK(outcome([&](sea_opts *o) { return sea_put(a, byte, bytes, o); }) < 0);
                CHECK(outcome([&](sea_opts *o) { return sea_get(byte, a, bytes, o); }) < 0);
                CHECK(outcome([&](sea_opts *o) { return sea_copy(a, f.owns[std::size_t(t.rank)], bytes, o); }) < 0);
                CHECK(outcome([&](sea_opts *o) { return sea_copy(f.owns[std::size_t(t.rank)], a, bytes, o); }) < 0);
                CHECK(outcome([&](sea_opts *o) { return sea_put_signal(a, byte, bytes, a, 1, 0, o); }) < 0);
            }
        // A source that is really that long, but a target that is not: nothing of it may arrive.
        std::vector<unsigned char> large(3 << 20, 0xdd);
        for (sea_addr a : {f.firsts[i], f.owns[i]}) {
            CHECK_STATUS(SEA_ERR_ADDRESS,
                         outcome([&](sea_opts *o) { return sea_put(a, large.data(), large.size(), o); }));
            CHECK_STATUS(SEA_ERR_ADDRESS,
                         outcome([&](sea_opts *o) { return sea_put(a, large.data(), room + 4096, o); }));
        }
    }
    f.check(t);
}

// However full the packet was in which it goes.
STEP(909, a_put_that_leaves_its_memory_writes_nothing_behind_others_in_its_packet)
{
    field f(t);
    place target(kind::heap, 2 * room);
    const std::vector<sea_addr> targets = t.exchange(target.address());
    const std::vector<unsigned char> data(2 * room, 0xee);
    sea_opts nowait = SEA_OPTS_INIT;
    nowait.flags = SEA_NOWAIT;
    for (int peer : t.peers()) {
        const std::size_t i = std::size_t(peer);
        for (const std::size_t bytes : {std::size_t(1100), std::size_t(5000), room, 2 * room})
            for (int before = 20; before < 40; ++before) {
                for (int n = 0; n < before; ++n) CHECK_OK(sea_put(targets[i], data.data(), bytes, &nowait));
                CHECK_STATUS(SEA_ERR_ADDRESS, blocking_outcome(peer, [&] {
                                 return sea_put(f.owns[i] + 8, data.data(), std::max(room, bytes), &nowait);
                             }));
            }
    }
    f.check(t);
}

LIGHT_STEP(903, null_unknown_flags_and_wrong_sizes_are_refused)
{
    field f(t);
    std::uint64_t word = 3;
    sea_addr a = f.firsts[std::size_t((t.rank + 1) % t.size)];
    CHECK_STATUS(SEA_ERR_INVALID, sea_put(a, nullptr, 8, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_put(a, nullptr, 100, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_get(nullptr, a, 8, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_get(nullptr, a, 100, nullptr));
    sea_opts o = SEA_OPTS_INIT;
    for (unsigned flags : {4u, 8u, 0x80000000u, ~0u, SEA_NOWAIT | 4u}) {
        o.flags = flags;
        CHECK_STATUS(SEA_ERR_INVALID, sea_put(a, &word, 8, &o));
        names(hex(flags));
        CHECK_STATUS(SEA_ERR_INVALID, sea_get(&word, a, 8, &o));
        CHECK_STATUS(SEA_ERR_INVALID, sea_fetch_add8(a, 1, &word, &o));
        CHECK_STATUS(SEA_ERR_INVALID, sea_copy(a, a, 8, &o));
        CHECK_STATUS(SEA_ERR_INVALID, sea_am_send(t.rank, 1, nullptr, 0, nullptr, 0, &o));
    }
    for (std::size_t size : {std::size_t(0), std::size_t(1), sizeof(sea_opts) - 4, sizeof(sea_opts) - 16,
                             sizeof(sea_opts) + 8, SIZE_MAX}) {
        o = SEA_OPTS_INIT;
        o.size = size;
        CHECK_STATUS(SEA_ERR_INVALID, sea_put(a, &word, 8, &o));
        CHECK_STATUS(SEA_ERR_INVALID, sea_get(&word, a, 8, &o));
    }
    CHECK_STATUS(SEA_ERR_INVALID, sea_heap_alloc(t.rank, 8, nullptr));
    CHECK_EQ(3, word);
    f.check(t);
}

LIGHT_STEP(904, read_only_and_misaligned_words_stay_as_they_are)
{
    field f(t);
    std::uint64_t old = 0, word = 9;
    for (int peer : t.peers()) {
        std::size_t i = std::size_t(peer);
        CHECK_STATUS(SEA_ERR_ALIGN, sea_fetch_add8(f.firsts[i] + 4, 1, &old, nullptr));
        names(std::to_string(peer));
        CHECK_STATUS(SEA_ERR_ALIGN, sea_fetch_add4(f.owns[i] + 2, 1, nullptr, nullptr));
        CHECK_STATUS(SEA_ERR_ACCESS, outcome([&](sea_opts *o) { return sea_put(f.lockeds[i], &word, 8, o); }));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_fetch_add8(f.holes[i] + 64, 1, &old, nullptr));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_fetch_add8(f.owns[i] + room, 1, &old, nullptr));
    }
    CHECK_EQ(0, old);
    f.check(t);
}

LIGHT_STEP(905, refused_operations_leave_no_error_behind)
{
    CHECK_OK(sea_fence_all());
    std::uint64_t word = 0;
    place p(kind::heap, 64);
    CHECK_OK(sea_put(p.address(), &word, 8, nullptr));
    CHECK_OK(sea_fence_all());
    CHECK(sea_last_error() != nullptr);
}

LIGHT_STEP(906, a_forked_process_is_no_rank)
{
    place p(kind::heap, 64);
    std::vector<sea_addr> all = t.exchange(p.address());
    fill(p.memory(), 64, 7);
    t.sync();
    pid_t child = fork();
    if (child == 0) {
        std::uint64_t word = 0;
        bool refused = sea_initialized() == 0 && sea_set_timeout(1) == SEA_OK; // which is for any time
        for (sea_addr to : all)
            refused = refused && sea_put_signal(to, &word, 8, to + 8, 1, SEA_SIGNAL_SET, nullptr) == SEA_ERR_STATE;
        refused = refused && std::strstr(sea_last_error(), "forked") && sea_fence_all() == SEA_ERR_STATE;
        _exit(refused && sea_finalize() == SEA_ERR_STATE ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(0, status);
    t.sync();
    CHECK_DATA(p.memory(), 64, 7);
    CHECK_OK(sea_fence_all());
}

namespace {

std::atomic<pid_t> forked{0};

void *fork_and_return(const sea_am *, sea_am_complete_fn *, void **)
{
    if (const pid_t child = fork()) forked = child;
    return nullptr;
}

bool ends_by_itself(pid_t child)
{
    int status = -1;
    for (int ms = 0; ms < 10'000; ++ms, usleep(1000))
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return false;
}

} // namespace

// Run by the dispatcher, and by a thread of the program.
LIGHT_STEP(907, a_process_forked_in_a_handler_ends_when_it_returns_there)
{
    constexpr int handler = 90;
    CHECK_OK(sea_am_register(handler, fork_and_return, nullptr));
    t.sync();
    for (bool helps : {false, true}) {
        forked = 0;
        t.sync();
        CHECK_OK(sea_am_send((t.rank + 1) % t.size, handler, nullptr, 0, nullptr, 0, nullptr));
        while (forked == 0)
            if (helps)
                CHECK_OK(sea_poll());
            else
                usleep(1000);
        CHECK(ends_by_itself(forked));
        t.sync();
    }
    CHECK_OK(sea_fence_all());
    CHECK_OK(sea_am_register(handler, nullptr, nullptr));
}

// The kernel may write what comes next to where a long answer goes on: not to where none may come.
STEP(908, a_refused_get_writes_nothing_while_long_answers_come)
{
    constexpr std::size_t bytes = 1 << 20, part = 128 * 1024;
    constexpr int answers = 4;
    place data(kind::heap, bytes);
    fill(data.memory(), bytes, std::uint64_t(t.rank));
    sea_addr gone = SEA_NULL;
    REQUIRE_OK(sea_heap_alloc(t.rank, part, &gone));
    CHECK_OK(sea_heap_free(gone));
    auto *half = static_cast<unsigned char *>(
        mmap(nullptr, 2 * part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(half != MAP_FAILED);
    REQUIRE(munmap(half + part, part) == 0);
    CHECK_OK(sea_raw_open());
    const auto all = t.exchange(data.address()), holes = t.exchange(gone);
    const auto halves = t.exchange(reinterpret_cast<std::uint64_t>(half));
    std::vector<unsigned char> into(answers * bytes), refused(part), torn(2 * part);
    for (int peer : t.peers()) {
        const auto p = std::size_t(peer);
        for (int round = 0; round < 10; ++round) {
            set_bytes(refused.data(), part, blank);
            set_bytes(torn.data(), 2 * part, blank);
            sea_op ops[answers + 2] = {};
            auto with = [&](int i) {
                sea_opts o = SEA_OPTS_INIT;
                o.op = &ops[i];
                return o;
            };
            for (int i = 0; i < answers; ++i) {
                const sea_opts o = with(i);
                CHECK_OK(sea_get(into.data() + std::size_t(i) * bytes, all[p], bytes, &o));
                if (i != answers / 2) continue;
                const sea_opts bad = with(answers), worse = with(answers + 1);
                const int one = sea_get(refused.data(), holes[p], part, &bad);
                CHECK_STATUS(SEA_ERR_ADDRESS, one != SEA_OK ? one : sea_wait(ops[answers], 30));
                const int other = sea_raw_get(torn.data(), peer, halves[p], 2 * part, &worse);
                CHECK_STATUS(SEA_ERR_ADDRESS, other != SEA_OK ? other : sea_wait(ops[answers + 1], 30));
            }
            for (int i = 0; i < answers; ++i) CHECK_OK(sea_wait(ops[i], 30));
            CHECK_EQ(part, not_all(refused.data(), part, blank));
            CHECK_EQ(part, not_all(torn.data() + part, part, blank));
        }
        for (int i = 0; i < answers; ++i) CHECK_DATA(into.data() + std::size_t(i) * bytes, bytes, std::uint64_t(peer));
    }
    t.sync();
    CHECK_OK(sea_raw_close());
    munmap(half, part);
}
