// SPDX-License-Identifier: Apache-2.0
// Channels: one-way, in order, of any size.
#include "places.hpp"

#include "onesea/channel.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace proof;

namespace {

using buffer = std::vector<unsigned char>;

// To and from some ranks: in both directions.
struct mates {
    std::vector<int> ranks;
    std::vector<sea_channel> to, from;

    explicit mates(run &t)
    {
        for (int r : t.peers()) // the relation must be the same seen from both sides
            if (r != t.rank) ranks.push_back(r);
        if (t.size > 8) {
            ranks.clear();
            for (int d : {1, 2, t.size - 1, t.size - 2}) ranks.push_back((t.rank + d) % t.size);
            std::sort(ranks.begin(), ranks.end());
            ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        }
        for (int r : ranks) {
            to.emplace_back();
            from.emplace_back();
            CHECK_OK(sea_channel_open(t.rank, r, &to.back()));
            CHECK_OK(sea_channel_open(r, t.rank, &from.back()));
        }
    }
    void close()
    {
        std::vector<sea_op> ops(2 * ranks.size());
        sea_opts o = SEA_OPTS_INIT;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            o.op = &ops[2 * i];
            CHECK_OK(sea_channel_close(to[i], &o));
            o.op = &ops[2 * i + 1];
            CHECK_OK(sea_channel_close(from[i], &o));
        }
        CHECK_OK(sea_wait_all(ops.data(), int(ops.size()), 30));
    }
};

constexpr std::size_t sizes[] = {0, 1, 8, 100, 1399, 1400, 4096, 8192, 8193, 70000, 1000000};

sea_op started(int (*call)(sea_channel, const sea_opts *), sea_channel c)
{
    sea_op op = SEA_OP_NONE;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    CHECK_OK(call(c, &o));
    return op;
}

std::size_t resident_bytes()
{
    unsigned long long all = 0, resident = 0;
    if (FILE *f = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(f, "%llu %llu", &all, &resident) != 2) resident = 0;
        std::fclose(f);
    }
    REQUIRE(resident > 0);
    return std::size_t(resident) * std::size_t(sysconf(_SC_PAGESIZE));
}

double processor_seconds()
{
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

} // namespace

STEP(720, channels_carry_messages_of_every_size_in_order)
{
    mates m(t);
    std::deque<buffer> sent, got;
    std::deque<sea_received> told;
    std::vector<sea_op> ops;
    sea_opts o = SEA_OPTS_INIT;
    auto start = [&](auto &&call) {
        sea_op op = SEA_OP_NONE;
        o.op = &op;
        CHECK_OK(call());
        ops.push_back(op);
    };
    auto seed = [&](int from, int to, std::size_t i) { return std::uint64_t(from * 1000 + to) * 100 + i; };
    for (std::size_t k = 0; k < m.ranks.size(); ++k)
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            fill(sent.emplace_back(sizes[i]).data(), sizes[i], seed(t.rank, m.ranks[k], i));
            start([&] { return sea_channel_send(m.to[k], sent.back().data(), sizes[i], &o); });
            got.emplace_back(sizes[i] + 10);
            set_bytes(got.back().data(), got.back().size(), blank);
            told.emplace_back();
            start([&] { return sea_channel_receive(m.from[k], got.back().data(), sizes[i] + 10, &told.back(), &o); });
        }
    CHECK_OK(sea_wait_all(ops.data(), int(ops.size()), 60));
    for (std::size_t k = 0; k < m.ranks.size(); ++k)
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            const std::size_t at = k * std::size(sizes) + i;
            CHECK_EQ(sizes[i], told[at].bytes);
            CHECK_EQ(0, told[at].discarded);
            CHECK_DATA(got[at].data(), sizes[i], seed(m.ranks[k], t.rank, i));
            CHECK_EQ(10, not_all(got[at].data() + sizes[i], 10, blank)); // the tail is as it was
        }
    m.close();
}

STEP(721, channels_in_a_ring_of_blocking_calls)
{
    if (t.size < 2) return;
    sea_channel to = 0, from = 0;
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    REQUIRE_OK(sea_channel_open(t.rank, right, &to));
    REQUIRE_OK(sea_channel_open(left, t.rank, &from));
    buffer data(300000), got(300000);
    for (std::size_t bytes : {8u, 1000u, 300000u})
        for (int i = 0; i < t.times(20); ++i) {
            sea_received told{};
            fill(data.data(), bytes, std::uint64_t(t.rank + i));
            // A long message waits for its receive: one of the ring receives first.
            if (t.rank != 0) CHECK_OK(sea_channel_receive(from, got.data(), bytes, &told, nullptr));
            CHECK_OK(sea_channel_send(to, data.data(), bytes, nullptr));
            if (t.rank == 0) CHECK_OK(sea_channel_receive(from, got.data(), bytes, &told, nullptr));
            CHECK_EQ(bytes, told.bytes);
            CHECK_DATA(got.data(), bytes, std::uint64_t(left + i));
        }
    const sea_op one = started(sea_channel_close, to); // a ring of blocking closes would wait for each other
    CHECK_OK(sea_channel_close(from, nullptr));
    CHECK_OK(sea_wait(one, 30));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_channel_close(from, nullptr));
}

STEP(722, a_channel_cuts_what_is_too_long_and_tells_how_much)
{
    if (t.size < 2 || t.rank > 1) return;
    sea_channel c = 0;
    REQUIRE_OK(sea_channel_open(0, 1, &c));
    int sender = -1, receiver = -1;
    CHECK_OK(sea_channel_ends(c, &sender, &receiver));
    CHECK_EQ(0, sender);
    CHECK_EQ(1, receiver);
    for (std::size_t bytes : {100u, 500000u}) {
        buffer data(bytes), got(200);
        fill(data.data(), bytes, 5);
        if (t.rank == 0) {
            CHECK_OK(sea_channel_send(c, data.data(), bytes, nullptr));
            continue;
        }
        sea_received told{};
        set_bytes(got.data(), 200, blank);
        CHECK_OK(sea_channel_receive(c, got.data(), 60, &told, nullptr));
        CHECK_EQ(60, told.bytes);
        CHECK_EQ(bytes - 60, told.discarded);
        CHECK_DATA(got.data(), 60, 5);
        CHECK_EQ(140, not_all(got.data() + 60, 140, blank));
    }
    CHECK_OK(sea_channel_close(c, nullptr));
}

STEP(723, a_channel_holds_a_sender_back_that_outruns_the_receiver)
{
    if (t.size < 2) return;
    sea_channel c = 0;
    const int n = 1000;
    std::vector<sea_op> ops(n, SEA_OP_NONE);
    std::vector<std::uint64_t> words(n);
    if (t.rank <= 1) REQUIRE_OK(sea_channel_open(0, 1, &c));
    if (t.rank == 0) {
        sea_opts o = SEA_OPTS_INIT;
        for (std::size_t i = 0; i < n; ++i) {
            words[i] = i;
            o.op = &ops[i];
            CHECK_OK(sea_channel_send(c, &words[i], 8, &o));
        }
        pause_for(0.1);
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(ops[200], 0.1)); // nobody has received: 64 are there, not more
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(ops[n - 1], 0));
        CHECK_OK(sea_fence_all()); // does not wait for the receiver either
    }
    t.sync();
    if (t.rank == 1)
        for (std::uint64_t i = 0; i < n; ++i) {
            std::uint64_t word = ~i;
            CHECK_OK(sea_channel_receive(c, &word, 8, nullptr, nullptr));
            CHECK_EQ(i, word);
        }
    if (t.rank == 0) CHECK_OK(sea_wait_all(ops.data(), n, 30));
    if (t.rank <= 1) CHECK_OK(sea_channel_close(c, nullptr));
}

STEP(724, requests_on_channels_start_and_are_start_conditions)
{
    if (t.size < 2) return;
    sea_channel c = 0;
    place flag(kind::heap, 8);
    poke8(flag.memory(), 0);
    std::vector<sea_addr> all = t.exchange(flag.address());
    t.sync();
    std::uint64_t words[2] = {11, 22}, got[2] = {0, 0}, late = 33;
    sea_opts o = SEA_OPTS_INIT;
    sea_op ops[3] = {};
    sea_counter done{};
    if (t.rank == 0) {
        // The first send waits for a receive from the other rank; the second, without a condition, stays behind it.
        sea_channel back = 0;
        REQUIRE_OK(sea_channel_open(0, 1, &c));
        REQUIRE_OK(sea_channel_open(1, 0, &back));
        std::uint64_t ask = 0;
        o.op = &ops[0];
        CHECK_OK(sea_channel_receive(back, &ask, 8, nullptr, &o));
        o.op = &ops[1];
        o.after = ops[0];
        o.remote_counter = &done;
        CHECK_OK(sea_channel_send(c, &words[0], 8, &o));
        o.op = &ops[2];
        o.after = SEA_OP_NONE;
        CHECK_OK(sea_channel_send(c, &words[1], 8, &o));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(ops[2], 0.05));
        t.sync();
        CHECK_OK(sea_counter_wait(&done, 2, 30));
        CHECK_OK(sea_wait_all(ops, 3, 30));
        CHECK_EQ(44, ask);
        const sea_op one = started(sea_channel_close, back);
        CHECK_OK(sea_channel_close(c, nullptr));
        CHECK_OK(sea_wait(one, 30));
    } else if (t.rank == 1) {
        sea_channel back = 0;
        REQUIRE_OK(sea_channel_open(0, 1, &c));
        REQUIRE_OK(sea_channel_open(1, 0, &back));
        for (int i = 0; i < 2; ++i) {
            o.op = &ops[i];
            CHECK_OK(sea_channel_receive(c, &got[i], 8, nullptr, &o));
        }
        o.op = &ops[2];
        o.after = ops[1];
        CHECK_OK(sea_put(all[0], &late, 8, &o)); // when the second message is here
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(ops[0], 0.05));
        t.sync();
        const std::uint64_t go = 44;
        CHECK_OK(sea_channel_send(back, &go, 8, nullptr));
        CHECK_OK(sea_wait(ops[2], 30));
        CHECK_EQ(11, got[0]);
        CHECK_EQ(22, got[1]);
        CHECK_OK(sea_wait_all(ops, 2, 30));
        const sea_op one = started(sea_channel_close, back);
        CHECK_OK(sea_channel_close(c, nullptr));
        CHECK_OK(sea_wait(one, 30));
    } else {
        t.sync();
    }
    t.sync();
    if (t.rank == 0) CHECK_EQ(33, peek8(flag.memory()));
}

STEP(725, wrong_use_of_channels_is_an_error)
{
    sea_channel c = 77;
    std::uint64_t word = 5;
    sea_received told{3, 4};
    CHECK_STATUS(SEA_ERR_INVALID, sea_channel_open(t.rank, t.rank, &c));
    CHECK_STATUS(SEA_ERR_INVALID, sea_channel_open(t.rank + 1, t.rank + 2, &c));
    CHECK_STATUS(SEA_ERR_RANK, sea_channel_open(t.rank, sea_size() + 5, &c));
    CHECK_STATUS(SEA_ERR_RANK, sea_channel_open(-1, t.rank, &c));
    CHECK_EQ(77, c);
    for (sea_channel none : {SEA_CHANNEL_NULL, sea_channel(123456789)}) {
        CHECK_STATUS(SEA_ERR_HANDLE, sea_channel_send(none, &word, 8, nullptr));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_channel_receive(none, &word, 8, &told, nullptr));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_channel_close(none, nullptr));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_channel_ends(none, nullptr, nullptr));
    }
    if (t.size < 2 || t.rank > 1) return;
    CHECK_STATUS(SEA_ERR_INVALID, sea_channel_open(0, 1, nullptr));
    REQUIRE_OK(sea_channel_open(0, 1, &c));
    if (t.rank == 0)
        CHECK_STATUS(SEA_ERR_STATE, sea_channel_receive(c, &word, 8, &told, nullptr));
    else
        CHECK_STATUS(SEA_ERR_STATE, sea_channel_send(c, &word, 8, nullptr));
    CHECK(std::strstr(sea_last_error(), t.rank == 0 ? "sends" : "receives") != nullptr);
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_ORDERED;
    auto request = [&](const void *memory) {
        return t.rank == 0 ? sea_channel_send(c, memory, 8, &o)
                           : sea_channel_receive(c, const_cast<void *>(memory), 8, &told, &o);
    };
    CHECK_STATUS(SEA_ERR_INVALID, request(&word));
    CHECK_STATUS(SEA_ERR_INVALID, sea_channel_close(c, &o)); // and it is still open
    o.flags = 0;
    CHECK_STATUS(SEA_ERR_INVALID, request(nullptr));
    if (t.rank == 0) CHECK_STATUS(SEA_ERR_INVALID, sea_channel_send(c, &word, SIZE_MAX / 2 + 1, &o));
    o.after = 0x7fff00000001;
    CHECK_STATUS(SEA_ERR_HANDLE, request(&word));
    o.after = SEA_OP_NONE;
    CHECK_OK(request(&word)); // what was refused is in nobody's way
    CHECK_OK(sea_channel_close(c, nullptr));
    CHECK_EQ(3, t.rank == 0 ? told.bytes : 3);
}

STEP(726, blocking_calls_on_channels_end_with_their_time)
{
    sea_channel c = 0;
    buffer data(100000);
    std::uint64_t word = 0;
    const bool takes_part = t.size >= 2 && t.rank <= 1;
    if (takes_part) REQUIRE_OK(sea_channel_open(0, 1, &c));
    CHECK_OK(sea_set_timeout(0.05));
    if (takes_part && t.rank == 1) CHECK_STATUS(SEA_ERR_TIMEOUT, sea_channel_receive(c, &word, 8, nullptr, nullptr));
    t.sync();
    if (takes_part && t.rank == 0) // goes on
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_channel_send(c, data.data(), data.size(), nullptr));
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    t.sync();
    if (!takes_part) return;
    sea_received told{};
    if (t.rank == 0) {
        word = 9;
        CHECK_OK(sea_channel_send(c, &word, 8, nullptr));
    } else { // the withdrawn receive takes nothing
        CHECK_OK(sea_channel_receive(c, data.data(), data.size(), &told, nullptr));
        CHECK_EQ(data.size(), told.bytes);
        CHECK_OK(sea_channel_receive(c, &word, 8, nullptr, nullptr));
        CHECK_EQ(9, word);
    }
    CHECK_OK(sea_channel_close(c, nullptr));
}

STEP(727, a_closed_receiver_or_sender_ends_what_is_left)
{
    if (t.size < 2 || t.rank > 1) return;
    for (int who = 0; who < 2; ++who) {
        sea_channel c = 0;
        REQUIRE_OK(sea_channel_open(0, 1, &c));
        buffer data(100000);
        if (t.rank == who) {
            CHECK_OK(sea_channel_close(c, nullptr));
        } else {
            int status = t.rank == 0 ? sea_channel_send(c, data.data(), data.size(), nullptr)
                                     : sea_channel_receive(c, data.data(), data.size(), nullptr, nullptr);
            CHECK_STATUS(SEA_ERR_STATE, status);
            CHECK_OK(sea_channel_close(c, nullptr));
        }
    }
}

STEP(728, several_threads_use_channels_at_once)
{
    if (t.size < 2) return;
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size, n = t.times(300);
    constexpr int threads = 3;
    sea_channel to[threads], from[threads];
    for (int i = 0; i < threads; ++i) {
        REQUIRE_OK(sea_channel_open(t.rank, right, &to[i]));
        REQUIRE_OK(sea_channel_open(left, t.rank, &from[i]));
    }
    std::vector<std::thread> all;
    std::atomic<int> wrong{0};
    for (int i = 0; i < threads; ++i) {
        all.emplace_back([&, i] {
            buffer data(20000);
            for (int k = 0; k < n; ++k) {
                const std::size_t bytes = k % 7 ? std::size_t(k % 500) : 9000;
                fill(data.data(), bytes, std::uint64_t(k));
                wrong += sea_channel_send(to[i], data.data(), bytes, nullptr) != SEA_OK;
            }
            wrong += sea_channel_close(to[i], nullptr) != SEA_OK;
        });
        all.emplace_back([&, i] {
            buffer data(20000);
            for (int k = 0; k < n; ++k) {
                const std::size_t bytes = k % 7 ? std::size_t(k % 500) : 9000;
                sea_received told{};
                wrong += sea_channel_receive(from[i], data.data(), data.size(), &told, nullptr) != SEA_OK;
                wrong += told.bytes != bytes || differs(data.data(), bytes, std::uint64_t(k)) != bytes;
            }
            wrong += sea_channel_close(from[i], nullptr) != SEA_OK;
        });
    }
    for (auto &thread : all) thread.join();
    CHECK_EQ(0, wrong.load());
}

// One is killed with every kind of request open towards it.
LONE_STEP(8310, requests_on_channels_with_a_killed_rank_end_soon)
{
    REQUIRE(t.size >= 3);
    const int victim = t.size - 1;
    sea_channel to = 0, from = 0, third = 0;
    static buffer data(200000), got(200000); // outlive the step
    std::vector<sea_op> ops;
    sea_opts o = SEA_OPTS_INIT;
    std::size_t refused = 0; // calls that came after the news of the death
    auto start = [&](auto &&call) {
        sea_op op = SEA_OP_NONE;
        o.op = &op;
        const int status = call();
        CHECK_STATUS(refused || status == SEA_ERR_DEAD ? SEA_ERR_DEAD : SEA_OK, status);
        if (status == SEA_OK)
            ops.push_back(op);
        else
            ++refused;
    };
    if (t.rank == victim) {
        sea_channel in[2], out[2];
        for (int r = 0; r < 2; ++r) {
            REQUIRE_OK(sea_channel_open(r, victim, &in[r]));
            REQUIRE_OK(sea_channel_open(victim, r, &out[r]));
            std::uint64_t word = 7; // comes whole
            REQUIRE_OK(sea_channel_send(out[r], &word, 8, nullptr));
            REQUIRE_OK(sea_channel_receive(in[r], &word, 8, nullptr, nullptr));
        }
        t.sync();
        leave(*t.shared);
        kill(getpid(), SIGKILL);
    }
    if (t.rank > 1) {
        t.sync();
        return t.sync();
    }
    REQUIRE_OK(sea_channel_open(t.rank, victim, &to));
    REQUIRE_OK(sea_channel_open(victim, t.rank, &from));
    REQUIRE_OK(sea_channel_open(0, 1, &third));
    std::uint64_t word = 0;
    REQUIRE_OK(sea_channel_send(to, &word, 8, nullptr));
    t.sync();
    const fair_clock clock;
    const double began = clock.now();
    for (int i = 0; i < 100; ++i) start([&] { return sea_channel_send(to, data.data(), i % 2 ? 8 : data.size(), &o); });
    start([&] { return sea_channel_close(to, &o); });
    sea_op first = SEA_OP_NONE;
    o.op = &first;
    CHECK_OK(sea_channel_receive(from, &word, 8, nullptr, &o));
    CHECK_OK(sea_wait(first, 30));
    CHECK_EQ(7, word);
    const int sends = int(ops.size()) - (refused == 0); // the last is the close
    for (int i = 0; i < 10; ++i) start([&] { return sea_channel_receive(from, got.data(), got.size(), nullptr, &o); });
    for (int i = 0; i < int(ops.size()); ++i) {
        const int status = sea_wait(ops[std::size_t(i)], 30);
        if (i < 64 && i < sends && status == SEA_OK) continue; // it had got so far
        CHECK_STATUS(SEA_ERR_DEAD, status);
    }
    CHECK_STATUS(SEA_ERR_DEAD, sea_channel_receive(from, &word, 8, nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_channel_close(from, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_channel_open(t.rank, victim, &to));
    CHECK(clock.now() - began < 5);
    word = 12; // others are not touched
    CHECK_OK(t.rank == 0 ? sea_channel_send(third, &word, 8, nullptr)
                         : sea_channel_receive(third, &word, 8, nullptr, nullptr));
    CHECK_OK(sea_channel_close(third, nullptr));
    t.sync();
}

// Run alone: others' memory and processor time must not count.
LONE_STEP(8300, open_and_closed_channels_leave_no_memory_and_idle_ones_take_no_processor_time)
{
    REQUIRE(t.size >= 2);
    const int peer = t.rank ^ 1;
    if (peer >= t.size) return;
    const int total = 100000, batch = 1000;
    auto round = [&](int from, int until) {
        for (int done = from; done < until; done += batch) {
            std::vector<sea_channel> all(batch);
            std::vector<sea_op> ops(batch);
            sea_opts o = SEA_OPTS_INIT;
            std::uint64_t word = 1;
            for (int i = 0; i < batch; ++i) {
                auto at = std::size_t(i);
                REQUIRE_OK(sea_channel_open(t.rank & ~1, t.rank | 1, &all[at]));
                o.op = nullptr;
                if (i % 10 == 0)
                    REQUIRE_OK(t.rank & 1 ? sea_channel_receive(all[at], &word, 8, nullptr, nullptr)
                                          : sea_channel_send(all[at], &word, 8, nullptr));
            }
            for (int i = 0; i < batch; ++i) {
                o.op = &ops[std::size_t(i)];
                REQUIRE_OK(sea_channel_close(all[std::size_t(i)], &o));
            }
            REQUIRE_OK(sea_wait_all(ops.data(), batch, 60));
        }
    };
    round(0, 10 * batch);
    t.sync();
    const std::size_t before = resident_bytes();
    round(10 * batch, total);
    t.sync();
    const std::size_t after = resident_bytes();
    CHECK(after < before + (1u << 20));
    std::vector<sea_channel> idle(10000);
    for (auto &c : idle) REQUIRE_OK(sea_channel_open(t.rank & ~1, t.rank | 1, &c));
    const std::size_t open = resident_bytes();
    CHECK(open < after + idle.size() * 1000);
    pause_for(0.5);
    t.sync();
    const double began = processor_seconds();
    pause_for(1);
    CHECK(processor_seconds() - began < 0.02);
    for (auto &c : idle) {
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT;
        CHECK_OK(sea_channel_close(c, &o));
    }
}
