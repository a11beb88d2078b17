// SPDX-License-Identifier: Apache-2.0
// Handles of operations and start conditions. An operation that stays in flight as long as a step wants is made with a
// *gate*: an active message whose handler waits until a flag of the board is set.
#include "places.hpp"

#include <atomic>
#include <cstring>

using namespace proof;

namespace {

constexpr int gate_id = 17;
std::atomic<std::uint64_t> *gate_flags;

// Holds for 40 seconds at most, so that a defect becomes a failure and not a hang.
void *hold(const sea_am *message, sea_am_complete_fn *, void **)
{
    auto which = *static_cast<const std::uint64_t *>(message->header);
    for (double until = now() + 40; gate_flags[which] == 0 && now() < until;) pause_for(0.001);
    return nullptr;
}

struct gate {
    run &t;
    sea_op op = SEA_OP_NONE;

    explicit gate(run &with) : t(with)
    {
        gate_flags = t.shared->flags;
        CHECK_OK(sea_am_register(gate_id, hold, nullptr));
        t.sync();
        t.shared->flags[t.rank % 64] = 0;
        t.sync();
    }
    ~gate()
    {
        open();
        CHECK_OK(sea_fence_all());
        t.sync();
        CHECK_OK(sea_am_register(gate_id, nullptr, nullptr));
    }
    // Starts the message that will not complete before open(). One at a time, to a rank that does not hold another's.
    void close(int rank)
    {
        std::uint64_t which = std::uint64_t(t.rank % 64);
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op;
        CHECK_OK(sea_am_send(rank, gate_id, &which, 8, nullptr, 0, &o));
    }
    void open() { t.shared->flags[t.rank % 64] = 1; }
};

} // namespace

LIGHT_STEP(500, a_handle_tells_completion_once)
{
    place p(kind::heap, 64);
    std::vector<sea_addr> all = t.exchange(p.address());
    for (int peer : t.peers()) {
        std::uint64_t word = 5, back = 0;
        sea_op op = SEA_OP_NONE;
        sea_opts o = with_handle(&op);
        int done = 0;
        CHECK_OK(sea_put(all[std::size_t(peer)], &word, 8, &o));
        CHECK(op != SEA_OP_ALL);
        sea_op first = op;
        for (double until = now() + 30; !done && now() < until;) CHECK_OK(sea_test(op, &done));
        CHECK_EQ(1, done);
        CHECK_OK(sea_get(&back, all[std::size_t(peer)], 8, &o));
        CHECK_OK(sea_wait_local(op, 30));
        CHECK_OK(sea_wait_local(op, 30));
        CHECK_OK(sea_wait(op, 30));
        CHECK_EQ(5, back);
        if (first != SEA_OP_NONE) CHECK_STATUS(SEA_ERR_HANDLE, sea_wait(first, 0));
        if (op != SEA_OP_NONE) {
            CHECK_STATUS(SEA_ERR_HANDLE, sea_wait(op, 0));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_test(op, &done));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_local(op, 0));
        }
    }
    t.sync();
}

LIGHT_STEP(501, what_is_no_handle_is_refused)
{
    int done = 9, index = 9, count = 9, indices[4];
    for (sea_op wrong : {sea_op(0x1234567890abcdef), SEA_OP_ALL, sea_op(1) << 62, ~sea_op(0) - 1}) {
        CHECK_STATUS(SEA_ERR_HANDLE, sea_wait(wrong, 0));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_local(wrong, 0));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_test(wrong, &done));
        sea_op ops[2] = {SEA_OP_NONE, wrong};
        CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_all(ops, 2, 0));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_any(ops, 2, &index, 0));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_some(ops, 2, indices, &count, 0));
    }
    CHECK_EQ(9, done);
    CHECK_OK(sea_wait(SEA_OP_NONE, 0));
    CHECK_OK(sea_wait_local(SEA_OP_NONE, SEA_FOREVER));
    CHECK_OK(sea_test(SEA_OP_NONE, &done));
    CHECK_EQ(1, done);
    CHECK_STATUS(SEA_ERR_INVALID, sea_test(SEA_OP_NONE, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_wait_all(nullptr, 1, 0));
    sea_op none[3] = {};
    CHECK_STATUS(SEA_ERR_INVALID, sea_wait_all(none, -1, 0));
    CHECK_OK(sea_wait_all(none, 3, SEA_FOREVER));
    CHECK_OK(sea_wait_all(nullptr, 0, SEA_FOREVER));
    CHECK_OK(sea_wait_any(none, 3, &index, SEA_FOREVER));
    CHECK_EQ(-1, index);
    CHECK_OK(sea_wait_some(none, 3, indices, &count, SEA_FOREVER));
    CHECK_EQ(0, count);
}

STEP(502, waits_keep_their_time)
{
    if (t.size == 1) return;
    gate g(t);
    if (t.rank % 2 == 0 && t.rank + 1 < t.size) {
        g.close(t.rank + 1);
        int done = 7, index = 7, count = 7, indices[3];
        double began = now();
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(g.op, 0.1));
        CHECK(now() - began >= 0.099 && now() - began < 5);
        const std::string place = "rank " + std::to_string(t.rank + 1);
        CHECK(std::strstr(sea_last_error(), place.c_str()) != nullptr);
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(g.op, 0));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(g.op, -1e-6));
        CHECK_OK(sea_test(g.op, &done));
        CHECK_EQ(0, done);
        sea_op ops[3] = {SEA_OP_NONE, g.op, SEA_OP_NONE};
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait_all(ops, 3, 0.02));
        CHECK(std::strstr(sea_last_error(), place.c_str()) != nullptr);
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait_any(ops, 3, &index, 0.02));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait_some(ops, 3, indices, &count, 0.02));
        CHECK(std::strstr(sea_last_error(), "sea_wait_some: 3 handles") != nullptr);
        CHECK_EQ(g.op, ops[1]);
        CHECK_OK(sea_set_timeout(0.05));
        began = now();
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_fence(t.rank + 1));
        CHECK(std::strstr(sea_last_error(), place.c_str()) != nullptr);
        CHECK(now() - began >= 0.049 && now() - began < 5);
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_fence_all());
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        g.open();
        CHECK_OK(sea_wait(g.op, 30));
    }
}

STEP(503, any_all_and_some_tell_which)
{
    place p(kind::heap, 64 * 8);
    std::vector<sea_addr> all = t.exchange(p.address());
    constexpr int n = 12;
    std::uint64_t words[n];
    for (int round = 0; round < t.times(20); ++round) {
        sea_op ops[n];
        bool seen[n] = {};
        auto start = [&] {
            for (int i = 0; i < n; ++i) {
                ops[i] = SEA_OP_NONE;
                seen[i] = i % 4 == 3;
                sea_opts o = with_handle(&ops[i]);
                words[i] = std::uint64_t(i);
                int peer = (t.rank + i) % t.size;
                if (!seen[i]) CHECK_OK(sea_put(all[std::size_t(peer)] + 8 * std::uint64_t(i), &words[i], 8, &o));
                if (ops[i] == SEA_OP_NONE) seen[i] = true; // done already
            }
        };
        start();
        for (int index = 0; index >= 0;) {
            CHECK_OK(sea_wait_any(ops, n, &index, 30));
            REQUIRE(index >= -1 && index < n);
            if (index < 0) break;
            CHECK(!seen[index] && ops[index] == SEA_OP_NONE);
            seen[index] = true;
        }
        for (bool s : seen) CHECK(s);
        start();
        for (int count = 1, indices[n]; count > 0;) {
            CHECK_OK(sea_wait_some(ops, n, indices, &count, 30));
            REQUIRE(count >= 0 && count <= n);
            for (int i = 0; i < count; ++i) {
                CHECK(!seen[indices[i]] && ops[indices[i]] == SEA_OP_NONE);
                seen[indices[i]] = true;
            }
        }
        for (bool s : seen) CHECK(s);
        start();
        CHECK_OK(sea_wait_all(ops, n, 30));
        for (sea_op op : ops) CHECK_EQ(SEA_OP_NONE, op);
    }
    t.sync();
}

STEP(504, a_chain_runs_link_by_link)
{
    place p(kind::heap, 64);
    std::vector<sea_addr> all = t.exchange(p.address());
    const std::size_t n = 100;
    std::vector<std::uint64_t> words(n);
    std::vector<sea_op> ops(n, SEA_OP_NONE);
    for (int peer : t.peers()) {
        t.sync();
        if (t.rank >= 8) continue; // a word for each of the first eight ranks
        sea_addr a = all[std::size_t(peer)] + std::uint64_t(t.rank) * 8;
        for (std::size_t i = 0; i < n; ++i) {
            words[i] = i;
            sea_opts o = with_handle(&ops[i], i ? ops[i - 1] : SEA_OP_NONE);
            CHECK_OK(sea_put(a, &words[i], 8, &o));
        }
        CHECK_OK(sea_wait_all(ops.data(), int(n), 60));
        std::uint64_t back = 0;
        CHECK_OK(sea_get(&back, a, 8, nullptr));
        CHECK_EQ(n - 1, back);
    }
    t.sync();
}

STEP(505, a_chain_crosses_ranks)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = t.exchange(p.address());
    const std::uint64_t skew = std::uint64_t(t.rank % 8) * 512;
    unsigned char out[500], in[500];
    for (int round = 0; round < t.times(10) && t.rank < 8; ++round) {
        fill(out, 500, std::uint64_t(round * 100 + t.rank));
        sea_op ops[8];
        sea_opts o = with_handle(&ops[0]);
        sea_addr last = all[std::size_t(t.rank)] + skew;
        CHECK_OK(sea_put(last, out, 500, &o));
        for (int i = 1; i < 7; ++i) {
            sea_addr next = all[std::size_t((t.rank + i) % t.size)] + skew;
            o = with_handle(&ops[i], ops[i - 1]);
            CHECK_OK(sea_copy(next, last, next == last ? 0 : 500, &o)); // a job of one has nowhere else
            last = next;
        }
        o = with_handle(&ops[7], ops[6]);
        CHECK_OK(sea_get(in, last, 500, &o));
        CHECK_OK(sea_wait(ops[7], 30));
        CHECK_DATA(in, 500, std::uint64_t(round * 100 + t.rank));
        CHECK_OK(sea_wait_all(ops, 7, 30));
    }
    t.sync();
}

STEP(506, after_all_waits_for_all_that_was_started)
{
    place p(kind::heap, 200000), flag(kind::heap, 64);
    poke8(flag.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address()), flags = t.exchange(flag.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size);
    std::vector<unsigned char> out(200000);
    fill(out.data(), out.size(), std::uint64_t(t.rank));
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    for (std::size_t at = 0; at < out.size(); at += 20000) CHECK_OK(sea_put(all[right] + at, &out[at], 20000, &o));
    std::uint64_t one = 1;
    sea_op op;
    sea_opts last = with_handle(&op, SEA_OP_ALL);
    CHECK_OK(sea_put(flags[right], &one, 8, &last));
    CHECK_OK(sea_counter_wait(reinterpret_cast<sea_counter *>(flag.memory()), 1, 30));
    CHECK_DATA(p.memory(), out.size(), std::uint64_t((t.rank + t.size - 1) % t.size));
    CHECK_OK(sea_wait(op, 30));
    t.sync();
}

STEP(515, after_all_waits_for_small_puts_without_handles_and_later_ones_do_not_keep_it_waiting)
{
    constexpr std::size_t words = 4000;
    place p(kind::heap, 8 * words), flag(kind::heap, 64);
    poke8(flag.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address()), flags = t.exchange(flag.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size);
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    for (std::uint64_t round = 1; round <= 5; ++round) {
        for (std::size_t i = 0; i < words; ++i) CHECK_OK(sea_put(all[right] + 8 * i, &round, 8, &o));
        sea_op op;
        sea_opts last = with_handle(&op, SEA_OP_ALL);
        CHECK_OK(sea_put(flags[right], &round, 8, &last));
        std::uint64_t later = round;
        for (int i = 0; i < 100; ++i) CHECK_OK(sea_put(flags[right] + 8, &later, 8, &o));
        CHECK_OK(sea_counter_wait(reinterpret_cast<sea_counter *>(flag.memory()), long(round), 30));
        auto *in = reinterpret_cast<const std::uint64_t *>(p.memory());
        for (std::size_t i = 0; i < words; ++i) CHECK_EQ(round, in[i]);
        CHECK_OK(sea_wait(op, 30));
        t.sync();
    }
    CHECK_OK(sea_fence(int(right))); // for the last of the later ones, before their memory goes
    t.sync();
}

STEP(507, a_failed_start_condition_passes_its_status_on)
{
    place p(kind::heap, 64);
    std::vector<sea_addr> all = t.exchange(p.address());
    for (int peer : t.peers()) {
        sea_addr a = all[std::size_t(peer)];
        std::uint64_t word = 1, in = 7;
        sea_op first = SEA_OP_NONE, second = SEA_OP_NONE, third = SEA_OP_NONE;
        sea_opts o = with_handle(&first);
        // A message without handler fails after its call, wherever the target is.
        int started = sea_am_send(peer, 999, nullptr, 0, nullptr, 0, &o);
        if (started != SEA_OK) {
            CHECK_EQ(SEA_ERR_HANDLER, started);
            continue;
        }
        o = with_handle(&second, first);
        int status = sea_put(a, &word, 8, &o);
        o = with_handle(&third, second);
        if (status == SEA_OK) {
            int got = sea_get(&in, a, 8, &o);
            if (got == SEA_OK)
                CHECK_STATUS(SEA_ERR_HANDLER, sea_wait(third, 30));
            else
                CHECK_EQ(SEA_ERR_HANDLER, got);
            CHECK_STATUS(SEA_ERR_HANDLER, sea_wait(second, 30));
        } else {
            CHECK_EQ(SEA_ERR_HANDLER, status);
        }
        CHECK_STATUS(SEA_ERR_HANDLER, sea_wait(first, 30));
        CHECK_EQ(7, in);
    }
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(64, not_all(p.memory(), 64, blank));
    t.sync();
}

STEP(508, a_used_up_start_condition_counts_as_complete)
{
    place p(kind::heap, 64);
    std::vector<sea_addr> all = t.exchange(p.address());
    sea_addr a = all[std::size_t((t.rank + 1) % t.size)];
    std::uint64_t word = 5;
    sea_op first, second;
    sea_opts o = with_handle(&first);
    CHECK_OK(sea_put(a, &word, 8, &o));
    CHECK_OK(sea_wait(first, 30));
    o = with_handle(&second, first);
    CHECK_OK(sea_put(a, &word, 8, &o));
    CHECK_OK(sea_wait(second, 30));
    o = SEA_OPTS_INIT;
    o.after = first;
    CHECK_OK(sea_put(a, &word, 8, &o));
    o.after = sea_op(0x1234567890abcdef);
    CHECK_STATUS(SEA_ERR_HANDLE, sea_put(a, &word, 8, &o));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_get(&word, a, 8, &o));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_fetch_add8(a, 1, &word, &o));
    CHECK_OK(sea_fence_all());
    t.sync();
}

STEP(509, a_start_condition_holds_until_it_is_met)
{
    if (t.size == 1) return;
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    gate g(t);
    if (t.rank % 2 == 0 && t.rank + 1 < t.size) {
        sea_addr a = all[std::size_t(t.rank)]; // on this rank, which nobody holds
        std::uint64_t word = 5;
        sea_op op;
        g.close(t.rank + 1);
        sea_opts o = with_handle(&op, g.op);
        CHECK_OK(sea_put(a, &word, 8, &o));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(op, 0.05));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait_local(op, 0.02));
        CHECK_EQ(0, peek8(p.memory()));
        g.open();
        CHECK_OK(sea_wait(op, 30));
        CHECK_EQ(5, peek8(p.memory()));
        CHECK_OK(sea_wait(g.op, 30));
    }
}

STEP(510, thousands_are_in_flight)
{
    const std::size_t n = std::size_t(t.times(8000));
    place p(kind::heap, n * 8);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size);
    std::vector<std::uint64_t> words(n);
    std::vector<sea_op> ops(n, SEA_OP_NONE);
    for (std::size_t i = 0; i < n; ++i) {
        words[i] = i + std::uint64_t(t.rank) * n;
        sea_opts o = with_handle(&ops[i]);
        CHECK_OK(sea_put(all[right] + i * 8, &words[i], 8, &o));
    }
    CHECK_OK(sea_wait_all(ops.data(), int(n), 60));
    t.sync();
    std::uint64_t left = std::uint64_t((t.rank + t.size - 1) % t.size);
    for (std::size_t i = 0; i < n; ++i)
        if (!CHECK_EQ(i + left * n, peek8(p.memory() + i * 8))) break;
    t.sync();
}
