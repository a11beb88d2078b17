// SPDX-License-Identifier: Apache-2.0
// Atomics: what each does, and that all ranks and the owner's own CPU atomics see one word.
#include "places.hpp"

#include <atomic>
#include <set>

using namespace proof;

namespace {

constexpr sea_atomic_kind every_kind[] = {SEA_ATOMIC_SWAP, SEA_ATOMIC_CAS, SEA_ATOMIC_ADD,
                                          SEA_ATOMIC_AND,  SEA_ATOMIC_OR,  SEA_ATOMIC_XOR};

std::uint64_t model(sea_atomic_kind k, std::uint64_t word, std::uint64_t operand, std::uint64_t compare)
{
    switch (k) {
    case SEA_ATOMIC_SWAP:
        return operand;
    case SEA_ATOMIC_CAS:
        return word == compare ? operand : word;
    case SEA_ATOMIC_ADD:
        return word + operand;
    case SEA_ATOMIC_AND:
        return word & operand;
    case SEA_ATOMIC_OR:
        return word | operand;
    case SEA_ATOMIC_XOR:
        return word ^ operand;
    }
    return 0;
}

std::uint64_t cut(std::uint64_t v, int width) { return width == 4 ? v & 0xffffffff : v; }

// One update of the word at `a` against the model; its neighbours must stay as they are.
void one_update(sea_atomic_kind k, sea_addr a, int width, dice &d, bool fetch)
{
    std::uint64_t words[3] = {d.next(), d.next(), d.next()}, back[3];
    CHECK_OK(sea_put(a - 8, words, 24, nullptr));
    CHECK_OK(sea_fence(sea_addr_rank(a)));
    std::uint64_t before = cut(words[1], width), operand = cut(d.next(), width);
    std::uint64_t compare = d.below(2) ? before : cut(d.next(), width), old = ~before;
    CHECK_OK(sea_atomic(k, a, width, operand, compare, fetch ? &old : nullptr, nullptr));
    CHECK_OK(sea_fence(sea_addr_rank(a)));
    CHECK_OK(sea_get(back, a - 8, 24, nullptr));
    std::uint64_t rest = width == 4 ? words[1] >> 32 << 32 : 0;
    CHECK_EQ(words[0], back[0]);
    CHECK_EQ(rest | cut(model(k, before, operand, compare), width), back[1]);
    CHECK_EQ(words[2], back[2]);
    if (fetch) CHECK_EQ(before, cut(old, width));
    if (fetch && width == 4) CHECK_EQ(~before >> 32, old >> 32); // four bytes are written, not eight
}

std::atomic_ref<std::uint64_t> word_at(const place &p, std::size_t at)
{
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t *>(p.memory() + at));
}

} // namespace

STEP(400, every_atomic_does_what_it_says)
{
    place heap(kind::heap, std::size_t(t.size) * 64), own(kind::malloced, std::size_t(t.size) * 64 + 64);
    std::vector<sea_addr> heaps = t.exchange(heap.address());
    std::uint64_t skew = (64 - reinterpret_cast<std::uintptr_t>(own.memory()) % 64) % 64;
    std::vector<sea_addr> owns = t.exchange(own.address() + skew);
    dice d{t.seed + std::uint64_t(t.rank)};
    for (int peer : t.peers())
        for (auto *all : {&heaps, &owns})
            for (sea_atomic_kind k : every_kind)
                for (int width : {4, 8})
                    for (int i = 0; i < 6; ++i)
                        one_update(k, (*all)[std::size_t(peer)] + std::uint64_t(t.rank) * 64 + 16, width, d,
                                   i % 2 == 0);
    t.sync();
}

LIGHT_STEP(401, additions_of_all_ranks_are_all_counted)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    const std::uint64_t n = std::uint64_t(t.times(400));
    std::vector<std::uint64_t> seen(n);
    for (std::uint64_t &old : seen) CHECK_OK(sea_fetch_add8(all[0], 1, &old, nullptr));
    for (std::uint64_t i = 1; i < n; ++i) CHECK(seen[i] > seen[i - 1]);
    if (t.rank == 0)
        for (std::uint64_t i = 0; i < n; ++i) word_at(p, 0).fetch_add(1); // the owner's own CPU
    CHECK_OK(sea_fence_all());
    t.sync();
    if (t.rank == 0) CHECK_EQ(n * std::uint64_t(t.size + 1), peek8(p.memory()));
    t.sync();
}

STEP(402, fetched_values_are_all_different)
{
    const std::uint64_t n = std::uint64_t(t.times(300));
    place p(kind::malloced, 64 + 8 * n * std::uint64_t(t.size));
    std::uint64_t skew = (8 - reinterpret_cast<std::uintptr_t>(p.memory()) % 8) % 8;
    poke8(p.memory() + skew, 0);
    set_bytes(p.memory() + skew + 8, 8 * n * std::uint64_t(t.size), 0);
    std::vector<sea_addr> all = t.exchange(p.address() + skew);
    std::uint64_t one = 1, old;
    for (std::uint64_t i = 0; i < n; ++i) {
        CHECK_OK(sea_fetch_add8(all[0], 1, &old, nullptr));
        REQUIRE(old < n * std::uint64_t(t.size));
        CHECK_OK(sea_put(all[0] + 8 + old * 8, &one, 8, nullptr)); // a ticket is used by one
    }
    CHECK_OK(sea_fence_all());
    t.sync();
    for (std::uint64_t i = 0; i < n * std::uint64_t(t.size) && t.rank == 0; ++i)
        CHECK_EQ(1, peek8(p.memory() + skew + 8 + i * 8));
    t.sync();
}

STEP(403, compare_and_swap_makes_a_lock_free_counter)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    const int n = t.times(60);
    sea_addr a = all[std::size_t(t.size - 1)];
    for (int i = 0; i < n; ++i) {
        std::uint64_t expect = 0, old = 0;
        CHECK_OK(sea_get(&expect, a, 8, nullptr));
        while (true) {
            CHECK_OK(sea_cas8(a, expect, expect + 3, &old, nullptr));
            if (old == expect) break;
            expect = old;
        }
    }
    t.sync();
    if (t.rank == t.size - 1) CHECK_EQ(3 * n * t.size, peek8(p.memory()));
    t.sync();
}

STEP(404, halves_of_a_word_are_their_own_words)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    const std::uint32_t n = std::uint32_t(t.times(300));
    for (std::uint32_t i = 0; i < n; ++i) {
        std::uint32_t low = 0, high = 0;
        CHECK_OK(sea_fetch_add4(all[0], 1, &low, nullptr));
        CHECK_OK(sea_fetch_add4(all[0] + 4, ~0u, &high, nullptr)); // minus one: no borrow from the neighbour
    }
    t.sync();
    std::uint32_t total = n * std::uint32_t(t.size);
    if (t.rank == 0) CHECK_EQ(std::uint64_t(-total) << 32 | total, peek8(p.memory()));
    t.sync();
}

STEP(405, bits_of_each_rank_are_its_own)
{
    place p(kind::heap, 192);
    for (int i : {0, 64, 128}) poke8(p.memory() + i, i == 64 ? ~UINT64_C(0) : 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::uint64_t bit = UINT64_C(1) << (t.rank % 64);
    sea_addr a = all[0];
    if (t.rank < 64) {
        CHECK_OK(sea_atomic(SEA_ATOMIC_OR, a, 8, bit, 0, nullptr, nullptr));
        CHECK_OK(sea_atomic(SEA_ATOMIC_AND, a + 64, 8, ~bit, 0, nullptr, nullptr));
        for (int i = 0; i < 7; ++i) CHECK_OK(sea_atomic(SEA_ATOMIC_XOR, a + 128, 8, bit, 0, nullptr, nullptr));
    }
    CHECK_OK(sea_fence_all());
    t.sync();
    std::uint64_t bits = t.size >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << t.size) - 1;
    if (t.rank == 0) {
        CHECK_EQ(bits, peek8(p.memory()));
        CHECK_EQ(~bits, peek8(p.memory() + 64));
        CHECK_EQ(bits, peek8(p.memory() + 128));
    }
    t.sync();
}

STEP(406, swapped_tokens_are_neither_lost_nor_doubled)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 1000);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::uint64_t token = std::uint64_t(t.rank);
    dice d{t.seed + 99 * std::uint64_t(t.rank)};
    for (int i = 0; i < t.times(300); ++i)
        CHECK_OK(sea_swap8(all[std::size_t(d.below(std::uint64_t(t.size)) % 3) % all.size()], token, &token, nullptr));
    t.sync();
    std::vector<std::uint64_t> held = t.exchange(token), lying = t.exchange(peek8(p.memory()));
    std::multiset<std::uint64_t> tokens(held.begin(), held.end());
    tokens.insert(lying.begin(), lying.end());
    CHECK_EQ(t.size, tokens.count(1000));
    for (int r = 0; r < t.size; ++r) CHECK_EQ(1, tokens.count(std::uint64_t(r)));
}

STEP(407, many_unfetched_atomics_are_done_once_each)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    const std::uint64_t n = std::uint64_t(t.times(2000));
    for (std::uint64_t i = 0; i < n; ++i)
        CHECK_OK(sea_atomic(SEA_ATOMIC_ADD, all[i % all.size()], 8, 1 + i % 2, 0, nullptr, &o));
    CHECK_OK(sea_fence_all());
    t.sync();
    std::uint64_t sum = 0, wanted = 0;
    for (std::uint64_t v : t.exchange(peek8(p.memory()))) sum += v;
    for (std::uint64_t i = 0; i < n; ++i) wanted += 1 + i % 2;
    CHECK_EQ(wanted * std::uint64_t(t.size), sum);
}

STEP(408, fetched_values_arrive_with_local_completion)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 500);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::uint64_t old = 0;
    std::uint32_t half = 0;
    sea_op op;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    sea_addr a = all[std::size_t((t.rank + 1) % t.size)];
    CHECK_OK(sea_atomic(SEA_ATOMIC_ADD, a, 8, 0, 0, &old, &o));
    CHECK_OK(sea_wait_local(op, 30));
    CHECK_EQ(500, old);
    CHECK_OK(sea_wait(op, 30));
    CHECK_OK(sea_atomic(SEA_ATOMIC_OR, a, 4, 0, 0, &half, &o));
    CHECK_OK(sea_wait(op, 30));
    CHECK_EQ(500, half);
    t.sync();
}

STEP(409, wrong_atomics_are_refused)
{
    place p(kind::heap, 64), outside(kind::malloced, 100);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::uint64_t old = 7;
    for (int peer : t.peers()) {
        sea_addr a = all[std::size_t(peer)];
        auto add = [&](sea_addr at, int width) {
            return outcome([&](sea_opts *o) { return sea_atomic(SEA_ATOMIC_ADD, at, width, 1, 0, &old, o); });
        };
        for (int width : {0, 1, 2, 3, 5, 6, 7, 9, 16, -8}) CHECK_STATUS(SEA_ERR_INVALID, add(a, width));
        for (std::uint64_t off : {1, 2, 3, 4, 5, 6, 7}) CHECK_STATUS(SEA_ERR_ALIGN, add(a + off, 8));
        for (std::uint64_t off : {1, 2, 3, 5, 6, 7}) CHECK_STATUS(SEA_ERR_ALIGN, add(a + off, 4));
        CHECK_STATUS(SEA_ERR_ADDRESS, add(a + (UINT64_C(1) << 39), 8));
        CHECK_STATUS(SEA_ERR_INVALID, sea_atomic(sea_atomic_kind(6), a, 8, 1, 0, &old, nullptr));
        CHECK_STATUS(SEA_ERR_INVALID, sea_atomic(sea_atomic_kind(7), a, 8, 1, 0, &old, nullptr));
    }
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_fetch_add8(SEA_NULL, 1, &old, nullptr));
    CHECK_STATUS(SEA_ERR_RANK, sea_fetch_add8((sea_addr(t.size) << SEA_OFFSET_BITS) + 64, 1, &old, nullptr));
    CHECK_EQ(7, old);
    t.sync();
    CHECK_EQ(64, not_all(p.memory(), 64, blank));
    t.sync();
}
