// SPDX-License-Identifier: Apache-2.0
// Counters: which operation adds to which, and those who wait for them.
#include "places.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

using namespace proof;

namespace {

struct counted {
    run &t;
    place data{kind::heap, 400000};
    place at_target{kind::heap, 64};
    std::vector<sea_addr> datas, counts;
    sea_counter origin{}, remote{};
    std::uint64_t expected = 0; // in the counter of this rank, from the left neighbour
    std::size_t right;

    explicit counted(run &with) : t(with), right(std::size_t((with.rank + 1) % with.size))
    {
        poke8(at_target.memory(), 0);
        datas = t.exchange(data.address());
        counts = t.exchange(at_target.address());
    }

    // Starts one operation on the right neighbour with all three counters; waits for each.
    template <class Start>
    void one(const char *what, Start start)
    {
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT;
        o.origin_counter = &origin;
        o.remote_counter = &remote;
        o.target_counter = counts[right];
        CHECK_OK(start(datas[right], &o));
        bool good = CHECK_OK(sea_counter_take(&origin, 1, 20)) && CHECK_OK(sea_counter_take(&remote, 1, 20));
        auto *mine = reinterpret_cast<sea_counter *>(at_target.memory());
        ++expected;
        good = CHECK_OK(sea_counter_wait(mine, expected, 20)) && good;
        good = CHECK_EQ(0, origin.value) && CHECK_EQ(0, remote.value) && good;
        if (!good) failed(__FILE__, __LINE__, "counters of", what, "");
    }
};

void *take_all(const sea_am *, sea_am_complete_fn *, void **argument)
{
    static std::vector<unsigned char> buffer(400000);
    *argument = nullptr;
    return buffer.data();
}

} // namespace

STEP(600, every_operation_adds_to_its_counters_once)
{
    counted c(t);
    CHECK_OK(sea_am_register(60, take_all, nullptr));
    t.sync();
    std::vector<unsigned char> own(400000);
    std::uint64_t old;
    for (std::size_t bytes : {0, 1, 8, 100, 3000, 70000, 300000}) {
        c.one("put", [&](sea_addr a, sea_opts *o) { return sea_put(a, own.data(), bytes, o); });
        c.one("get", [&](sea_addr a, sea_opts *o) { return sea_get(own.data(), a, bytes, o); });
        c.one("copy", [&](sea_addr a, sea_opts *o) {
            return sea_copy(a, c.datas[std::size_t((t.rank + 2) % t.size)], t.size > 1 ? bytes : 0, o);
        });
        c.one("am", [&](sea_addr, sea_opts *o) { return sea_am_send(int(c.right), 60, "x", 1, own.data(), bytes, o); });
        c.one("signal", [&](sea_addr a, sea_opts *o) {
            return sea_put_signal(a, own.data(), bytes, a + 300032, 1, SEA_SIGNAL_SET, o);
        });
    }
    c.one("fetch", [&](sea_addr a, sea_opts *o) { return sea_fetch_add8(a, 1, &old, o); });
    c.one("add", [&](sea_addr a, sea_opts *o) { return sea_atomic(SEA_ATOMIC_ADD, a, 4, 1, 0, nullptr, o); });
    std::int64_t stride[] = {64};
    std::size_t counts[] = {10, 20};
    c.one("box", [&](sea_addr a, sea_opts *o) { return sea_put_strided(a, stride, own.data(), stride, counts, 1, o); });
    c.one("box", [&](sea_addr a, sea_opts *o) { return sea_get_strided(own.data(), stride, a, stride, counts, 1, o); });
    c.one("vector", [&](sea_addr a, sea_opts *o) {
        sea_piece pieces[] = {{a, own.data(), 10}, {a + 100, own.data() + 50, 2000}};
        return sea_put_vector(pieces, 2, o);
    });
    c.one("vector", [&](sea_addr a, sea_opts *o) {
        sea_piece pieces[] = {{a, own.data(), 10}, {a + 100, own.data() + 50, 2000}};
        return sea_get_vector(pieces, 2, o);
    });
    t.sync();
    CHECK_EQ(c.expected, peek8(c.at_target.memory()));
    CHECK_OK(sea_am_register(60, nullptr, nullptr));
}

LIGHT_STEP(601, counters_are_set_read_and_taken)
{
    sea_counter c = {0};
    std::uint64_t value = 9;
    CHECK_OK(sea_counter_get(&c, &value));
    CHECK_EQ(0, value);
    CHECK_OK(sea_counter_set(&c, 10));
    CHECK_OK(sea_counter_wait(&c, 10, 0));
    CHECK_OK(sea_counter_wait(&c, 0, SEA_FOREVER));
    CHECK_OK(sea_counter_take(&c, 4, 0));
    CHECK_OK(sea_counter_get(&c, &value));
    CHECK_EQ(6, value);
    double began = now();
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_counter_take(&c, 7, 0.1));
    CHECK(std::strstr(sea_last_error(), "sea_counter_take: the counter did not reach 7") != nullptr);
    CHECK(now() - began >= 0.099 && now() - began < 5);
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_counter_wait(&c, 7, 0));
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_counter_wait(&c, 7, -1e-6));
    CHECK_STATUS(SEA_ERR_INVALID, sea_set_timeout(-0.5));
    CHECK_EQ(6, c.value);
    CHECK(sea_timeout() == SEA_FOREVER);
    CHECK_OK(sea_set_timeout(0.01)); // only for calls without a time-out of their own
    CHECK(sea_timeout() == 0.01);
    began = now();
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_counter_wait(&c, 7, 0.1));
    CHECK(now() - began >= 0.099);
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    CHECK_STATUS(SEA_ERR_INVALID, sea_counter_get(nullptr, &value));
    CHECK_STATUS(SEA_ERR_INVALID, sea_counter_get(&c, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_counter_set(nullptr, 1));
    CHECK_STATUS(SEA_ERR_INVALID, sea_counter_wait(nullptr, 1, 0));
    CHECK_STATUS(SEA_ERR_INVALID, sea_counter_take(nullptr, 1, 0));
}

STEP(602, a_sleeper_is_woken_by_what_it_waits_for)
{
    place p(kind::heap, 128);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    auto *mine = reinterpret_cast<sea_counter *>(p.memory());
    for (std::uint64_t round = 1; round <= 6; ++round) {
        if (t.rank != 0) { // sleeps long before it is woken
            CHECK_OK(sea_counter_wait(mine, round, 30));
            t.shared->flags[t.rank % 64] = round;
        } else {
            pause_for(0.1);
            double began = now();
            for (int r = 1; r < t.size; ++r) {
                sea_addr a = all[std::size_t(r)];
                sea_opts o = SEA_OPTS_INIT;
                if (round % 3 == 0) o.target_counter = a;
                std::uint64_t word = 1;
                if (round % 3 == 0)
                    CHECK_OK(sea_put(a + 64, &word, 8, &o));
                else if (round % 3 == 1)
                    CHECK_OK(sea_put_signal(a + 64, &word, 8, a, 1, SEA_SIGNAL_ADD, nullptr));
                else
                    CHECK_OK(sea_fetch_add8(a, 1, &word, nullptr));
            }
            for (int r = 1; r < t.size; ++r)
                while (t.shared->flags[r % 64] < round && now() < began + 20) pause_for(0.0002);
            double limit = (sanitized ? 3.0 : 0.5) + 0.05 * t.size;
            if (now() - began > limit)
                failed(__FILE__, __LINE__, "time to wake", std::to_string(limit), std::to_string(now() - began));
        }
        t.sync();
    }
    t.shared->flags[t.rank % 64] = 0;
    t.sync();
}

STEP(603, threads_that_sleep_on_one_counter_are_all_woken)
{
    sea_counter c{};
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 4; ++i)
        sleepers.emplace_back([&] {
            CHECK_OK(sea_counter_take(&c, 1, 30));
            CHECK_OK(sea_counter_wait(&c, 0, 30));
        });
    pause_for(0.05);
    CHECK_OK(sea_counter_set(&c, 4));
    for (std::thread &s : sleepers) s.join();
    CHECK_EQ(0, c.value);
    std::thread one([&] { CHECK_OK(sea_counter_wait(&c, 77, 30)); });
    pause_for(0.05);
    __atomic_store_n(&c.value, 77, __ATOMIC_SEQ_CST); // a plain store is found soon
    double began = now();
    one.join();
    CHECK(now() - began < (sanitized || t.size > 4 ? 5.0 : 0.5));
}

STEP(604, wrong_counters_are_refused)
{
    place p(kind::heap, 128);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size), next = std::size_t((t.rank + 2) % t.size);
    std::uint64_t word = 1;
    auto put = [&](sea_addr counter) {
        sea_opts o = SEA_OPTS_INIT;
        o.target_counter = counter;
        return outcome([&](sea_opts *with) { return sea_put(all[right], &word, 8, with); }, o);
    };
    if (right != next) CHECK_STATUS(SEA_ERR_INVALID, put(all[next]));
    CHECK_STATUS(SEA_ERR_ALIGN, put(all[right] + 4));
    alignas(8) std::array<unsigned char, 16> bytes{};
    auto *crooked = reinterpret_cast<sea_counter *>(bytes.data() + 4);
    for (sea_counter *sea_opts::*counter : {&sea_opts::origin_counter, &sea_opts::remote_counter}) {
        sea_opts o = SEA_OPTS_INIT;
        o.*counter = crooked;
        CHECK_STATUS(SEA_ERR_ALIGN, sea_put(all[right], &word, 8, &o));
        CHECK_STATUS(SEA_ERR_ALIGN, sea_fetch_add8(all[right], 1, nullptr, &o));
        CHECK_STATUS(SEA_ERR_ALIGN, sea_am_send(int(right), 1, nullptr, 0, nullptr, 0, &o));
    }
    CHECK_STATUS(SEA_ERR_ALIGN, sea_counter_set(crooked, 1));
    CHECK_STATUS(SEA_ERR_ALIGN, sea_counter_get(crooked, &word));
    CHECK_STATUS(SEA_ERR_ALIGN, sea_counter_wait(crooked, 0, 0));
    CHECK_STATUS(SEA_ERR_ALIGN, sea_counter_take(crooked, 0, 0));
    t.sync();
    CHECK_EQ(128, not_all(p.memory(), 128, blank));
    t.sync();
    // Whether the counter is there only the target knows: the data may have been written by then.
    CHECK_STATUS(SEA_ERR_ADDRESS, put(all[right] + (UINT64_C(1) << 39)));
    t.sync();
    CHECK_EQ(120, not_all(p.memory() + 8, 120, blank));
    t.sync();
}

// Inside a node most fail within the call, between nodes after it.
STEP(605, a_call_that_fails_has_told_no_counter_and_one_that_does_not_tells_both)
{
    place p(kind::heap, 128);
    std::vector<sea_addr> all = t.exchange(p.address());
    const sea_addr nowhere = all[std::size_t((t.rank + 1) % t.size)] + (UINT64_C(1) << 39);
    std::uint64_t word = 1, old = 0;
    sea_op failed_before = SEA_OP_NONE;
    auto try_one = [&](unsigned flags, sea_op after, auto start) {
        sea_counter origin{}, remote{};
        sea_opts o = SEA_OPTS_INIT;
        o.flags = flags;
        o.after = after;
        o.origin_counter = &origin;
        o.remote_counter = &remote;
        const int status = start(&o);
        const int told = status == SEA_OK ? 1 : 0;
        if (told) CHECK_OK(sea_counter_wait(&origin, 1, 20));
        if (told) CHECK_OK(sea_counter_wait(&remote, 1, 20));
        CHECK_EQ(told, origin.value);
        CHECK_EQ(told, remote.value);
        return status;
    };
    for (unsigned flags : {0u, SEA_NOWAIT}) {
        try_one(flags, SEA_OP_NONE, [&](sea_opts *o) { return sea_put(nowhere, &word, 8, o); });
        const int got = try_one(flags, SEA_OP_NONE, [&](sea_opts *o) { return sea_get(&old, nowhere, 8, o); });
        const int added = try_one(flags, SEA_OP_NONE,
                                  [&](sea_opts *o) { return sea_atomic(SEA_ATOMIC_ADD, nowhere, 8, 1, 0, &old, o); });
        if (flags == 0) CHECK_STATUS(SEA_ERR_ADDRESS, got);
        if (flags == 0) CHECK_STATUS(SEA_ERR_ADDRESS, added);
        sea_opts before = SEA_OPTS_INIT;
        before.op = &failed_before;
        if (sea_get(&old, nowhere, 8, &before) == SEA_OK) {
            try_one(flags, failed_before, [&](sea_opts *o) { return sea_put(p.address(), &word, 8, o); });
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_wait(failed_before, 20));
        }
        (void)sea_fence_all(); // tells one of them
    }
    t.sync();
    CHECK_EQ(128, not_all(p.memory(), 128, blank));
    t.sync();
}

// Inside a node these end within the call that starts them; then the call wakes who waits for their counters.
STEP(606, a_thread_that_sleeps_on_a_counter_is_woken_by_what_another_starts)
{
    constexpr std::uint64_t rounds = 20, each = 5;
    place p(kind::heap, 128), word(kind::heap, 16);
    poke8(word.memory(), 0);
    poke8(word.memory() + 8, 0);
    std::vector<sea_addr> all = t.exchange(p.address()), words = t.exchange(word.address());
    const std::size_t right = std::size_t((t.rank + 1) % t.size);
    sea_counter origin{}, remote{};
    std::thread sleeper([&] {
        CHECK_OK(sea_counter_wait(&origin, rounds * each, 30));
        CHECK_OK(sea_counter_wait(&remote, rounds * each, 30));
    });
    pause_for(0.05);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        sea_opts o = SEA_OPTS_INIT;
        o.origin_counter = &origin;
        o.remote_counter = &remote;
        std::uint64_t value = round, got = 0, old = 0;
        sea_op op = 77;
        o.op = &op;
        CHECK_OK(sea_put(all[right], &value, 8, &o));
        if (op != SEA_OP_NONE) CHECK_OK(sea_wait(op, 20));
        CHECK_OK(sea_get(&got, all[right], 8, &o));
        if (op != SEA_OP_NONE) CHECK_OK(sea_wait(op, 20));
        CHECK_EQ(round, got);
        o.op = nullptr;
        CHECK_OK(sea_fetch_add8(words[right], 1, &old, &o));
        CHECK_EQ(round - 1, old);
        CHECK_OK(sea_put_signal(all[right] + 64, &value, 8, words[right] + 8, 1, SEA_SIGNAL_ADD, &o));
        o.flags = SEA_NOWAIT;
        CHECK_OK(sea_put_signal(0, nullptr, 0, words[right] + 8, 1, SEA_SIGNAL_ADD, &o));
    }
    sleeper.join();
    CHECK_EQ(rounds * each, origin.value);
    CHECK_EQ(rounds * each, remote.value);
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(rounds, peek8(word.memory()));
    CHECK_EQ(2 * rounds, peek8(word.memory() + 8));
    CHECK_EQ(rounds, peek8(p.memory()));
    CHECK_EQ(rounds, peek8(p.memory() + 64));
    t.sync();
}

// It looks by itself each 10 ms, which is what an unnoticed addition waits for. A quarter of them: processors are
// shared.
STEP(607, a_sleeper_is_woken_at_once_by_what_a_neighbour_does_to_its_counter)
{
    constexpr std::size_t rounds = 21;
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    const std::vector<sea_addr> all = t.exchange(p.address());
    auto *mine = reinterpret_cast<sea_counter *>(p.memory());
    auto *theirs = t.size > 1 ? static_cast<sea_counter *>(sea_local(all[1])) : nullptr;
    std::uint64_t value = 0;
    for (const bool by_operation : {false, true}) {
        std::vector<double> took;
        for (std::size_t i = 0; i < rounds && t.rank < 2; ++i) {
            ++value;
            if (t.rank == 1 && t.local(0)) {
                CHECK_OK(sea_counter_wait(mine, value, 30));
                t.shared->flags[1] = value;
            } else if (t.rank == 0 && theirs && t.local(1)) {
                pause_for(0.013 + 0.0005 * double(i)); // it sleeps
                const double began = now();
                std::uint64_t word = value;
                sea_opts o = SEA_OPTS_INIT;
                o.remote_counter = theirs;
                CHECK_OK(by_operation ? sea_put(all[0] + 8, &word, 8, &o) : sea_counter_set(theirs, value));
                while (t.shared->flags[1] != value && now() - began < 20) pause_for(0.00005);
                took.push_back(now() - began);
            }
        }
        std::sort(took.begin(), took.end());
        if (!took.empty() && !sanitized) CHECK(took[rounds / 4] < 0.001);
    }
    t.sync();
    t.shared->flags[1] = 0;
    t.sync();
}
