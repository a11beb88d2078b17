// SPDX-License-Identifier: Apache-2.0
// A put with a signal: whoever sees the signal sees the data. SEA_ORDERED: later ones do not overtake.
#include "packets.hpp"

#include "onesea/neighbors.h"

#include <algorithm>
#include <cstring>

using namespace proof;

namespace {

sea_counter *counter_in(const place &p, std::size_t at = 0) { return reinterpret_cast<sea_counter *>(p.memory() + at); }

} // namespace

STEP(350, who_sees_the_signal_sees_the_data)
{
    constexpr std::size_t most = 1 << 20;
    place data(kind::heap, most), signal(kind::heap, 64);
    poke8(signal.memory(), 0);
    std::vector<sea_addr> datas = t.exchange(data.address()), signals = t.exchange(signal.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size), left = std::size_t((t.rank + t.size - 1) % t.size);
    std::vector<unsigned char> out(most);
    std::uint64_t round = 0;
    for (std::size_t bytes :
         {std::size_t(0), std::size_t(1), std::size_t(8), std::size_t(1000), std::size_t(70000), most})
        for (int kind_of : {SEA_SIGNAL_SET, SEA_SIGNAL_ADD}) {
            if (t.size > 4 && bytes == most) continue;
            ++round;
            fill(out.data(), bytes, round * 100 + std::uint64_t(t.rank));
            CHECK_OK(sea_put_signal(datas[right], out.data(), bytes, signals[right],
                                    kind_of == SEA_SIGNAL_SET ? round : 1, kind_of, nullptr));
            set_bytes(out.data(), bytes, 0);
            CHECK_OK(sea_counter_wait(counter_in(signal), round, 30));
            CHECK_EQ(round, peek8(signal.memory()));
            CHECK_DATA(data.memory(), bytes, round * 100 + left);
            t.sync();
        }
}

STEP(351, signals_add_up)
{
    place data(kind::heap, std::size_t(t.size) * 64), signal(kind::malloced, 64);
    poke8(signal.memory(), 0);
    std::vector<sea_addr> datas = t.exchange(data.address()), signals = t.exchange(signal.address());
    const std::uint64_t rounds = std::uint64_t(t.times(100));
    std::vector<std::uint64_t> sum = t.exchange(rounds);
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_ORDERED; // the last value is the last to arrive
    for (std::uint64_t i = 0; i < rounds; ++i)
        CHECK_OK(sea_put_signal(datas[0] + std::uint64_t(t.rank) * 64, &i, 8, signals[0], 1, SEA_SIGNAL_ADD, &o));
    if (t.rank == 0) CHECK_OK(sea_counter_take(counter_in(signal), rounds * std::uint64_t(t.size), 60));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(0, peek8(signal.memory()));
    for (int r = 0; r < t.size && t.rank == 0; ++r) CHECK_EQ(rounds - 1, peek8(data.memory() + r * 64));
}

STEP(352, wrong_signals_leave_everything_as_it_is)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size), next = std::size_t((t.rank + 2) % t.size);
    sea_addr a = all[right], far = UINT64_C(1) << 39;
    std::vector<unsigned char> data(70000, 1);
    auto put = [&](sea_addr to, std::size_t bytes, sea_addr signal, int how) {
        return outcome([&](sea_opts *o) { return sea_put_signal(to, data.data(), bytes, signal, 1, how, o); });
    };
    for (std::size_t bytes : {8, 1000}) {
        CHECK_STATUS(SEA_ERR_ALIGN, put(a, bytes, a + 2044, SEA_SIGNAL_SET));
        CHECK_STATUS(SEA_ERR_ALIGN, put(a, bytes, a + 2049, SEA_SIGNAL_ADD));
        CHECK_STATUS(SEA_ERR_INVALID, put(a, bytes, a + 2048, 2));
        CHECK_STATUS(SEA_ERR_INVALID, put(a, bytes, a + 2048, -1));
        if (right != next) CHECK_STATUS(SEA_ERR_INVALID, put(a, bytes, all[next] + 2048, SEA_SIGNAL_SET));
        CHECK_STATUS(SEA_ERR_ADDRESS, put(a + far, bytes, a + 2048, SEA_SIGNAL_SET));
        CHECK(put(a, bytes, SEA_NULL, SEA_SIGNAL_SET) != SEA_OK);
    }
    CHECK_STATUS(SEA_ERR_ADDRESS, put(a, 70000, a + 2048, SEA_SIGNAL_SET));
    CHECK_STATUS(SEA_ERR_INVALID, sea_put_signal(a, nullptr, 8, a + 2048, 1, SEA_SIGNAL_SET, nullptr));
    t.sync();
    CHECK_EQ(2048, not_all(p.memory() + 2048, 2048, blank));
    t.sync();
}

STEP(353, ordered_puts_to_one_word_keep_their_order)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size);
    const std::uint64_t last = std::uint64_t(t.times(3000));
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_ORDERED | SEA_NOWAIT;
    std::vector<std::uint64_t> values(last + 1);
    std::uint64_t seen = 0;
    for (std::uint64_t i = 1; i <= last; ++i) {
        values[i] = i;
        CHECK_OK(sea_put(all[right], &values[i], 8, &o));
        std::uint64_t now_there = peek8(p.memory());
        if (now_there < seen) CHECK_EQ(seen, now_there);
        seen = now_there;
    }
    CHECK_OK(sea_fence(int(right)));
    t.sync();
    CHECK_EQ(last, peek8(p.memory()));
}

STEP(354, an_ordered_flag_follows_its_data)
{
    constexpr std::size_t most = 100000;
    place data(kind::heap, most), flag(kind::heap, 64);
    poke8(flag.memory(), 0);
    std::vector<sea_addr> datas = t.exchange(data.address()), flags = t.exchange(flag.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size), left = std::size_t((t.rank + t.size - 1) % t.size);
    std::vector<unsigned char> out(most);
    dice d{t.seed};
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_ORDERED | SEA_NOWAIT;
    for (std::uint64_t round = 1; round <= std::uint64_t(t.times(40)); ++round) {
        std::size_t bytes = 1 + d.below(round % 4 == 0 ? most : 3000);
        fill(out.data(), bytes, round * 1000 + std::uint64_t(t.rank));
        CHECK_OK(sea_put(datas[right], out.data(), bytes, &o));
        if (round % 2)
            CHECK_OK(sea_put(flags[right], &round, 8, &o));
        else
            CHECK_OK(sea_atomic(SEA_ATOMIC_ADD, flags[right], 8, 1, 0, nullptr, &o));
        CHECK_OK(sea_counter_wait(counter_in(flag), round, 30));
        CHECK_DATA(data.memory(), bytes, round * 1000 + left);
        CHECK_OK(sea_fence(int(right)));
        t.sync();
    }
}

STEP(355, an_ordered_get_sees_what_was_put_before)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size);
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_ORDERED | SEA_NOWAIT;
    sea_opts read = SEA_OPTS_INIT;
    read.flags = SEA_ORDERED;
    unsigned char out[1500], in[1500];
    for (std::uint64_t i = 0; i < std::uint64_t(t.times(300)); ++i) {
        std::size_t bytes = 1 + i * 37 % 1500;
        fill(out, bytes, i);
        CHECK_OK(sea_put(all[right], out, bytes, &o));
        CHECK_OK(sea_get(in, all[right], bytes, &read));
        CHECK_DATA(in, bytes, i);
        CHECK_OK(sea_fence(int(right)));
    }
    t.sync();
}

// Each pair would end in the wrong order if the second did not wait: a start condition comes true late, a get is
// answered from the memory itself, and a third rank's copy is heard of only at its end.
STEP(356, ordered_ones_do_not_overtake_what_starts_late_or_takes_long)
{
    constexpr std::size_t bytes = 1 << 20;
    place p(kind::heap, bytes), source(kind::heap, bytes);
    const std::size_t right = std::size_t((t.rank + 1) % t.size), next = std::size_t((t.rank + 2) % t.size);
    const sea_addr there = t.exchange(p.address())[right], third = t.exchange(source.address())[next];
    std::vector<unsigned char> before(bytes, 1), after(bytes, 2), in(bytes);
    set_bytes(source.memory(), bytes, 3);
    t.sync();
    sea_opts o = SEA_OPTS_INIT, late = SEA_OPTS_INIT, free = SEA_OPTS_INIT;
    o.flags = late.flags = SEA_ORDERED | SEA_NOWAIT;
    auto expect = [&](unsigned char value) {
        CHECK_OK(sea_fence_all());
        CHECK_OK(sea_get(in.data(), there, bytes, nullptr));
        CHECK_EQ(bytes, not_all(in.data(), bytes, value));
    };
    for (int i = 0; i < t.times(20); ++i) {
        const std::size_t some = i % 2 ? bytes : 4000;
        sea_op slow = SEA_OP_NONE, second = SEA_OP_NONE;
        free.op = &slow;
        CHECK_OK(sea_put(there, after.data(), bytes, nullptr));
        CHECK_OK(sea_get(in.data(), third, bytes, &free));
        late.after = slow;
        late.op = &second; // its handle is the condition of a later one
        CHECK_OK(sea_put(there, before.data(), bytes, &late));
        late.after = second;
        late.op = nullptr;
        CHECK_OK(sea_put(there, before.data(), some, &late));
        CHECK_OK(sea_put(there, after.data(), some, &o));
        CHECK_OK(sea_put(there + some, after.data(), bytes - some, &o));
        CHECK_OK(sea_wait(slow, 30));
        CHECK_OK(sea_wait(second, 30));
        expect(2);

        CHECK_OK(sea_get(in.data(), there, bytes, &o));
        CHECK_OK(sea_put(there, before.data(), some, &o));
        CHECK_OK(sea_put(there + some, before.data(), bytes - some, &o));
        CHECK_OK(sea_fence_all());
        CHECK_EQ(bytes, not_all(in.data(), bytes, 2));
        expect(1);

        CHECK_OK(sea_copy(there, third, some, &o));
        CHECK_OK(sea_put(there, after.data(), bytes, &o));
        expect(2);
        CHECK_OK(sea_put(there, before.data(), bytes, &o));
        CHECK_OK(sea_copy(there, third, bytes, &o));
        expect(3);
    }
    t.sync();
}

// The signal goes with its data, and the acknowledgement with what comes back anyway.
STEP(357, who_exchanges_data_with_neighbours_or_meets_in_barriers_sends_a_packet_each_time)
{
    const int other = 1 - t.rank;
    place data(kind::heap, 8192), signal(kind::heap, 64);
    poke8(signal.memory(), 0);
    std::vector<sea_addr> datas = t.exchange(data.address()), signals = t.exchange(signal.address());
    if (t.size != 2 || std::strcmp(sea_transport(other), "net") != 0) return;
    const std::vector<unsigned char> out(8192, 7);
    std::uint64_t round = 0;
    sea_counter sent{};
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    o.origin_counter = &sent;
    for (std::size_t bytes : {std::size_t(8), std::size_t(1000)}) {
        const double packets = packets_of(t, other, [&] {
            CHECK_OK(sea_counter_wait(&sent, round, 30));
            CHECK_OK(sea_put_signal(datas[std::size_t(other)], out.data(), bytes, signals[std::size_t(other)], 1,
                                    SEA_SIGNAL_ADD, &o));
            CHECK_OK(sea_counter_wait(counter_in(signal), ++round, 30));
        });
        CHECK(packets < 1.5);
    }
    CHECK(packets_of(t, other, [&] { CHECK_OK(sea_barrier(SEA_TEAM_WORLD)); }) < 1.5);
    const sea_neighbor edge{other, 1000};
    sea_neighbors graph;
    REQUIRE_OK(sea_neighbors_create(SEA_TEAM_WORLD, &edge, 1, &edge, 1, &graph));
    const double packets = packets_of(t, other, [&] {
        CHECK_OK(sea_neighbors_start(graph));
        CHECK_OK(sea_neighbors_wait(graph));
    });
    CHECK(packets < 1.5);
    CHECK_OK(sea_neighbors_free(graph));
    CHECK_OK(sea_fence_all());
    t.sync();
}

// Nobody waits for the end of such a put but a fence and what starts after all.
STEP(358, what_waits_for_puts_that_nobody_asked_about_does_not_wait_long)
{
    const std::size_t right = std::size_t((t.rank + 1) % t.size);
    place data(kind::heap, 64), signal(kind::heap, 64);
    poke8(signal.memory(), 0);
    std::vector<sea_addr> datas = t.exchange(data.address()), signals = t.exchange(signal.address());
    const std::uint64_t rounds = std::uint64_t(t.times(50)), word = 5;
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT;
        CHECK_OK(sea_put_signal(datas[right], &word, 8, signals[right], 1, SEA_SIGNAL_ADD, &o));
        if (i % 2 == 0) {
            CHECK_OK(sea_fence(int(right)));
            continue;
        }
        std::uint64_t back = 0;
        CHECK_OK(outcome([&](sea_opts *after) {
            after->after = SEA_OP_ALL;
            return sea_get(&back, datas[right], 8, after);
        }));
        CHECK_EQ(word, back);
    }
    CHECK_OK(sea_counter_wait(counter_in(signal), rounds, 30));
    t.sync();
}
