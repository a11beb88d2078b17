// SPDX-License-Identifier: Apache-2.0
// Small puts that share a handle: SEA_JOIN.
#include "places.hpp"

using namespace proof;

namespace {

sea_opts joining(sea_op *op)
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_JOIN;
    o.op = op;
    return o;
}

// A put that joins *op where it can, else ends it and begins another. The status of what ended.
int put_with_others(sea_addr target, const void *source, std::size_t bytes, sea_op *op)
{
    sea_opts o = joining(op);
    if (sea_put(target, source, bytes, &o) == SEA_OK) return SEA_OK;
    const int s = sea_wait(*op, 30);
    *op = SEA_OP_NONE;
    CHECK_OK(sea_put(target, source, bytes, &o));
    return s;
}

} // namespace

STEP(520, puts_that_join_others_arrive_and_share_a_handle)
{
    constexpr std::size_t words = 3000;
    place p(kind::heap, words * 8 * 2);
    std::vector<sea_addr> all = t.exchange(p.address());
    for (int peer : t.peers()) {
        t.sync();
        if (peer != (t.rank + 1) % t.size) continue;
        sea_op op = SEA_OP_NONE;
        for (std::size_t i = 0; i < words; ++i) {
            const std::uint64_t value[2] = {i * 3 + 1, i * 5 + std::uint64_t(t.rank)}; // gone when the call returns
            CHECK_OK(put_with_others(all[std::size_t(peer)] + i * 16, value, 16, &op));
        }
        CHECK_OK(sea_wait(op, 30));
        bool good = true;
        for (std::size_t i = 0; i < words; i += 500) {
            std::uint64_t back[2] = {0, 0};
            CHECK_OK(sea_get(back, all[std::size_t(peer)] + i * 16, 16, nullptr));
            good &= back[0] == i * 3 + 1 && back[1] == i * 5 + std::uint64_t(t.rank);
        }
        CHECK(good);
    }
    t.sync();
    const std::uint64_t from = std::uint64_t((t.rank + t.size - 1) % t.size);
    bool good = true;
    for (std::size_t i = 0; t.size > 1 && i < words; ++i)
        good &= peek8(p.memory() + i * 16) == i * 3 + 1 && peek8(p.memory() + i * 16 + 8) == i * 5 + from;
    CHECK(good);
    t.sync();
}

LIGHT_STEP(521, a_shared_handle_tells_the_error_of_any_of_its_puts)
{
    auto gone = std::make_unique<place>(kind::malloced, 64);
    place p(kind::heap, 64);
    std::vector<sea_addr> all = t.exchange(p.address()), stale = t.exchange(gone->address());
    gone.reset();
    t.sync();
    const std::uint64_t word = 7;
    for (int peer : t.peers()) {
        sea_op op = SEA_OP_NONE;
        sea_opts o = joining(&op);
        int told = 0;
        for (int i = 0; i < 20; ++i) {
            const sea_addr target = i == 10 ? stale[std::size_t(peer)] : all[std::size_t(peer)];
            int s = sea_put(target, &word, 8, &o);
            if (s == SEA_ERR_STATE) {
                told += sea_wait(op, 30) == SEA_ERR_ADDRESS;
                op = SEA_OP_NONE;
                s = sea_put(target, &word, 8, &o);
            }
            told += s == SEA_ERR_ADDRESS;
            CHECK(s == SEA_OK || s == SEA_ERR_ADDRESS);
        }
        told += sea_wait(op, 30) == SEA_ERR_ADDRESS;
        CHECK_EQ(1, told);
        CHECK_OK(sea_fence(peer)); // its handle has told it
    }
    t.sync();
}

LIGHT_STEP(522, an_operation_takes_no_puts_that_others_would_wait_for_in_vain)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::uint64_t word = 7;
    for (int peer : t.peers()) {
        const sea_addr there = all[std::size_t(peer)], elsewhere = all[std::size_t((peer + 1) % t.size)];
        sea_op op = SEA_OP_NONE, later = SEA_OP_NONE;
        sea_opts o = joining(&op), after = SEA_OPTS_INIT;
        const auto begin = [&] {
            CHECK_OK(sea_wait(op, 30));
            op = SEA_OP_NONE;
            CHECK_OK(sea_put(there, &word, 8, &o));
            return op != SEA_OP_NONE; // else it is complete already, as inside a node
        };
        after.op = &later;
        if (begin()) {
            after.after = op;
            CHECK_OK(sea_put(there, &word, 8, &after)); // waits for it
            CHECK_STATUS(SEA_ERR_STATE, sea_put(there, &word, 8, &o));
            CHECK_OK(sea_wait(later, 30));
        }
        if (begin()) {
            CHECK_OK(sea_fence(peer));
            CHECK_STATUS(SEA_ERR_STATE, sea_put(there, &word, 8, &o));
        }
        if (begin() && t.size > 1) CHECK_STATUS(SEA_ERR_STATE, sea_put(elsewhere, &word, 8, &o));
        if (begin()) CHECK_STATUS(SEA_ERR_STATE, sea_put(there, p.memory(), 1025, &o));
        if (begin()) CHECK_STATUS(SEA_ERR_STATE, sea_put(there, nullptr, 8, &o));
        if (begin()) CHECK_OK(sea_put(there, &word, 0, &o)); // nothing to wait for
        if (begin()) {
            const sea_op used = op;
            CHECK_OK(sea_wait(op, 30));
            CHECK_STATUS(SEA_ERR_STATE, sea_put(there, &word, 8, &o));
            CHECK_EQ(used, op);
            op = SEA_OP_NONE;
        }
        CHECK_OK(sea_wait(op, 30));
    }
    t.sync();
}

LIGHT_STEP(523, joining_wants_a_handle_and_nothing_else)
{
    place p(kind::heap, 64);
    std::uint64_t word = 7, back = 0;
    sea_op op = SEA_OP_NONE;
    sea_counter counter = {0};
    sea_opts o = joining(nullptr);
    CHECK_STATUS(SEA_ERR_INVALID, sea_put(p.address(), &word, 8, &o));
    o.op = &op;
    CHECK_STATUS(SEA_ERR_INVALID, sea_get(&back, p.address(), 8, &o));
    CHECK_STATUS(SEA_ERR_INVALID, sea_copy(p.address(), p.address() + 8, 8, &o));
    o.flags = SEA_JOIN | SEA_ORDERED;
    CHECK_STATUS(SEA_ERR_INVALID, sea_put(p.address(), &word, 8, &o));
    o = joining(&op);
    o.after = SEA_OP_ALL;
    CHECK_STATUS(SEA_ERR_INVALID, sea_put(p.address(), &word, 8, &o));
    for (sea_counter *sea_opts::*which : {&sea_opts::origin_counter, &sea_opts::remote_counter}) {
        o = joining(&op);
        o.*which = &counter;
        CHECK_STATUS(SEA_ERR_INVALID, sea_put(p.address(), &word, 8, &o));
    }
    o = joining(&op);
    o.size = 3;
    CHECK_STATUS(SEA_ERR_INVALID, sea_put(p.address(), &word, 8, &o));
    o = joining(&op);
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_put(SEA_NULL, &word, 8, &o));
    CHECK_STATUS(SEA_ERR_RANK, sea_put(sea_addr(t.size) << SEA_OFFSET_BITS | 64, &word, 8, &o));
    CHECK_EQ(SEA_OP_NONE, op);
    CHECK_EQ(0, counter.value);
    CHECK_OK(sea_put(p.address(), &word, 8, &o));
    CHECK_OK(sea_wait(op, 30));
    CHECK_EQ(7, peek8(p.memory()));
}
