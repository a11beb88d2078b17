// SPDX-License-Identifier: Apache-2.0
// Random operations against a model. Every rank has a *lane* in each rank's heap and in each rank's private memory and
// knows what must stand there. A round starts operations on cells of its lanes, no cell twice, in random order and with
// random options, waits for them in a random way, and compares what it got. Words shared by all are only added to;
// their sums are compared at the end. The seed is an option of the program.
#include "places.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace proof;

namespace {

constexpr std::size_t cell = 768, cells = 24, lane = cell * cells;

struct one_lane {
    sea_addr at;
    std::vector<unsigned char> model;
};

struct started {
    sea_op op = SEA_OP_NONE;
    std::vector<unsigned char> buffer; // of the operation
    std::vector<unsigned char> expect; // if it is a get: what must have come
    std::uint64_t old = 0, expect_old = 0;
    bool fetches = false;
};

struct world {
    run &t;
    dice d;
    std::vector<one_lane> lanes;
    std::vector<sea_addr> sums;
    std::vector<std::uint64_t> added;
    std::vector<std::unique_ptr<started>> flying;
    sea_counter remote{};
    std::uint64_t counted = 0;
};

// Options: a handle, or only the counter; sometimes after an earlier operation of the round, sometimes ordered.
sea_opts throw_options(world &w, started &s, bool counted_only)
{
    sea_opts o = SEA_OPTS_INIT;
    o.remote_counter = &w.remote;
    ++w.counted;
    if (counted_only)
        o.flags |= SEA_NOWAIT;
    else
        o.op = &s.op;
    if (w.d.below(3) == 0) o.flags |= SEA_ORDERED;
    if (w.d.below(6) == 0 && !w.flying.empty()) o.after = w.flying[w.d.below(w.flying.size())]->op;
    if (w.d.below(30) == 0) o.after = SEA_OP_ALL;
    return o;
}

void put_something(world &w, started &s, one_lane &l, std::size_t at, std::size_t bytes, const sea_opts *o)
{
    s.buffer.resize(bytes);
    fill(s.buffer.data(), bytes, w.d.next());
    std::memcpy(&l.model[at], s.buffer.data(), bytes);
    CHECK_OK(sea_put(l.at + at, s.buffer.data(), bytes, o));
}

void get_something(started &s, const one_lane &l, std::size_t at, std::size_t bytes, const sea_opts *o)
{
    s.buffer.resize(bytes);
    s.expect.assign(&l.model[at], &l.model[at] + bytes);
    CHECK_OK(sea_get(s.buffer.data(), l.at + at, bytes, o));
}

// A box of rows of 16 bytes, every second one.
void put_rows(world &w, started &s, one_lane &l, std::size_t at, std::size_t rows, const sea_opts *o)
{
    s.buffer.resize(rows * 16);
    fill(s.buffer.data(), s.buffer.size(), w.d.next());
    for (std::size_t r = 0; r < rows; ++r) std::memcpy(&l.model[at + r * 32], &s.buffer[r * 16], 16);
    std::int64_t there[] = {32}, here[] = {16};
    std::size_t counts[] = {16, rows};
    CHECK_OK(sea_put_strided(l.at + at, there, s.buffer.data(), here, counts, 1, o));
}

void update_word(world &w, started &s, one_lane &l, std::size_t at, const sea_opts *o)
{
    std::uint64_t before, operand = w.d.next();
    std::memcpy(&before, &l.model[at], 8);
    bool cas = w.d.below(2) == 0;
    std::uint64_t after = cas ? operand : before ^ operand;
    s.fetches = true;
    s.expect_old = before;
    CHECK_OK(sea_atomic(cas ? SEA_ATOMIC_CAS : SEA_ATOMIC_XOR, l.at + at, 8, operand, before, &s.old, o));
    std::memcpy(&l.model[at], &after, 8);
}

void start_one(world &w, std::size_t which)
{
    one_lane &l = w.lanes[which / cells], &other = w.lanes[w.d.below(w.lanes.size())];
    std::size_t at = which % cells * cell, bytes = 1 + w.d.below(cell);
    auto s = std::make_unique<started>();
    sea_opts o = throw_options(w, *s, w.d.below(4) == 0);
    switch (w.d.below(7)) {
    case 0:
    case 1:
        put_something(w, *s, l, at + w.d.below(cell - bytes + 1), bytes, &o);
        break;
    case 2:
        get_something(*s, l, at + w.d.below(cell - bytes + 1), bytes, &o);
        break;
    case 3:
        put_rows(w, *s, l, at, cell / 32, &o);
        break;
    case 4:
        update_word(w, *s, l, at + w.d.below(cell / 8) * 8, &o);
        break;
    case 5: {
        std::size_t peer = w.d.below(w.sums.size());
        w.added[peer] += bytes;
        CHECK_OK(sea_atomic(SEA_ATOMIC_ADD, w.sums[peer], 8, bytes, 0, nullptr, &o));
        break;
    }
    case 6: // within this cell of two lanes; the caller uses each cell number once a round
        std::memmove(&l.model[at], &other.model[at], cell);
        CHECK_OK(sea_copy(l.at + at, other.at + at, &l == &other ? 0 : cell, &o));
        break;
    }
    w.flying.push_back(std::move(s));
}

void finish_round(world &w)
{
    std::vector<sea_op> ops;
    for (auto &s : w.flying) ops.push_back(s->op);
    int n = int(ops.size());
    switch (w.d.below(4)) {
    case 0:
        CHECK_OK(sea_wait_all(ops.data(), n, 50));
        break;
    case 1:
        for (int index = 0; index >= 0;)
            if (!CHECK_OK(sea_wait_any(ops.data(), n, &index, 50))) break;
        break;
    case 2:
        CHECK_OK(sea_fence_all());
        break;
    case 3:
        break;
    }
    CHECK_OK(sea_counter_take(&w.remote, w.counted, 50));
    w.counted = 0;
    CHECK_OK(sea_wait_all(ops.data(), n, 50));
    for (auto &s : w.flying) {
        if (!s->expect.empty()) CHECK(s->buffer == s->expect);
        if (s->fetches) CHECK_EQ(s->expect_old, s->old);
    }
    w.flying.clear();
}

} // namespace

STEP(950, random_operations_do_what_the_model_says)
{
    place heap(kind::heap, lane * std::size_t(t.size)), own(kind::malloced, lane * std::size_t(t.size) + 8),
        sum(kind::heap, 64);
    poke8(sum.memory(), 0);
    std::uint64_t skew = (8 - reinterpret_cast<std::uintptr_t>(own.memory()) % 8) % 8;
    std::vector<sea_addr> heaps = t.exchange(heap.address()), owns = t.exchange(own.address() + skew);
    world w{t, {t.seed * 31337 + std::uint64_t(t.rank)}, {}, t.exchange(sum.address()), {}, {}, {}, 0};
    w.added.resize(std::size_t(t.size));
    for (int peer : t.peers())
        for (auto *all : {&heaps, &owns})
            w.lanes.push_back(
                {(*all)[std::size_t(peer)] + std::uint64_t(t.rank) * lane, std::vector<unsigned char>(lane, blank)});
    for (int round = 0; round < t.times(800); ++round) {
        // Each cell number once, in one lane: then a copy between two lanes meets no other operation.
        std::vector<std::size_t> order;
        for (std::size_t c = 0; c < cells; ++c) order.push_back(c + w.d.below(w.lanes.size()) * cells);
        for (std::size_t i = cells; i > 1; --i) std::swap(order[i - 1], order[w.d.below(i)]);
        for (std::size_t which : order) start_one(w, which);
        finish_round(w);
    }
    for (one_lane &l : w.lanes) {
        std::vector<unsigned char> back(lane);
        CHECK_OK(sea_get(back.data(), l.at, lane, nullptr));
        CHECK(back == l.model);
    }
    t.sync();
    for (int r = 0; r < t.size; ++r) { // everybody's additions to rank r
        std::uint64_t wanted = 0;
        for (std::uint64_t v : t.exchange(w.added[std::size_t(r)])) wanted += v;
        if (r == t.rank) CHECK_EQ(wanted, peek8(sum.memory()));
    }
}
