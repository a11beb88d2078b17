// SPDX-License-Identifier: Apache-2.0
// Copies between any two global addresses, whoever owns them.
#include "places.hpp"

using namespace proof;

namespace {

struct corner {
    int owner;
    sea_addr at;
};

void one_copy(corner from, corner to, std::size_t bytes, std::uint64_t seed)
{
    std::vector<unsigned char> data(bytes), back(bytes);
    fill(data.data(), bytes, seed);
    CHECK_OK(sea_put(from.at, data.data(), bytes, nullptr));
    CHECK_OK(sea_fence(from.owner));
    CHECK_OK(sea_copy(to.at, from.at, bytes, nullptr));
    CHECK_OK(sea_get(back.data(), to.at, bytes, nullptr)); // local completion was remote completion
    if (!CHECK_DATA(back.data(), bytes, seed))
        failed(__FILE__, __LINE__, "copy of " + std::to_string(bytes), "from rank " + std::to_string(from.owner),
               "to rank " + std::to_string(to.owner));
}

} // namespace

STEP(250, copy_works_between_any_two_ranks)
{
    constexpr std::size_t most = 70000;
    // Each asking rank has its own part of everybody's memory.
    place heap(kind::heap, 2 * most), own(kind::malloced, 2 * most);
    std::vector<sea_addr> heaps = t.exchange(heap.address()), owns = t.exchange(own.address());
    std::vector<int> peers = t.peers();
    for (int asker = 0; asker < std::min(t.size, 4); ++asker) {
        t.sync();
        if (asker != t.rank) continue;
        for (int from : peers)
            for (int to : peers)
                for (std::size_t bytes : {1, 8, 1000, 65541})
                    for (int kinds = 0; kinds < 4; ++kinds) {
                        corner source{from, (kinds & 1 ? owns : heaps)[std::size_t(from)] + 1};
                        corner target{to, (kinds & 2 ? owns : heaps)[std::size_t(to)] + most + 3};
                        if (sanitized && bytes > 1000 && kinds % 3 != 0) continue;
                        one_copy(source, target, bytes, bytes + std::uint64_t(from * 100 + to * 10 + kinds));
                    }
    }
    t.sync();
}

STEP(251, large_copies_go_straight)
{
    constexpr std::size_t bytes = (1 << 20) + 11;
    place p(kind::heap, 2 * bytes);
    std::vector<sea_addr> all = t.exchange(p.address());
    int from = (t.rank + 1) % t.size, to = (t.rank + 2) % t.size;
    fill(p.memory(), bytes, std::uint64_t(t.rank));
    t.sync();
    CHECK_OK(sea_copy(all[std::size_t(to)] + bytes, all[std::size_t(from)], bytes, nullptr));
    t.sync();
    CHECK_DATA(p.memory() + bytes, bytes, std::uint64_t((t.rank + t.size - 1) % t.size));
    t.sync();
}

STEP(252, copies_tell_by_handle_and_counters)
{
    place p(kind::heap, 4096), counters(kind::heap, 64);
    poke8(counters.memory(), 0);
    fill(p.memory(), 1000, std::uint64_t(t.rank));
    std::vector<sea_addr> all = t.exchange(p.address()), counts = t.exchange(counters.address());
    int from = (t.rank + 1) % t.size, to = (t.rank + 2) % t.size;
    sea_counter origin{}, remote{};
    sea_op op;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    o.origin_counter = &origin;
    o.remote_counter = &remote;
    o.target_counter = counts[std::size_t(to)];
    CHECK_OK(sea_copy(all[std::size_t(to)] + 2000, all[std::size_t(from)], 1000, &o));
    CHECK_OK(sea_wait(op, 30));
    CHECK_OK(sea_counter_take(&origin, 1, 5));
    CHECK_OK(sea_counter_take(&remote, 1, 5));
    CHECK_OK(sea_counter_wait(reinterpret_cast<sea_counter *>(counters.memory()), 1, 30));
    CHECK_DATA(p.memory() + 2000, 1000, std::uint64_t((t.rank + t.size - 1) % t.size));
    CHECK_EQ(0, origin.value + remote.value);
    t.sync();
    CHECK_EQ(1, peek8(counters.memory()));
}

namespace {

// What this rank has asked of all others.
sea_pair_stats asked(const run &t)
{
    sea_pair_stats sum{};
    for (int rank = 0; rank < t.size; ++rank) {
        sea_pair_stats one;
        if (!CHECK_OK(sea_stats(rank, &one))) continue;
        sum.copies += one.copies;
        sum.bytes_out += one.bytes_out;
        sum.bytes_in += one.bytes_in;
    }
    return sum;
}

void expect_counted(const run &t, sea_addr to, sea_addr from, std::uint64_t out, std::uint64_t in)
{
    const sea_pair_stats before = asked(t);
    CHECK_OK(sea_copy(to, from, 5000, nullptr));
    const sea_pair_stats after = asked(t);
    CHECK_EQ(before.copies + 1, after.copies);
    CHECK_EQ(before.bytes_out + out, after.bytes_out);
    CHECK_EQ(before.bytes_in + in, after.bytes_in);
}

} // namespace

STEP(254, copies_count_what_they_write_and_read)
{
    place p(kind::heap, 10000);
    const std::vector<sea_addr> all = t.exchange(p.address());
    const int next = (t.rank + 1) % t.size, third = (t.rank + 2) % t.size;
    const sea_addr own = all[std::size_t(t.rank)], other = all[std::size_t(next)];
    expect_counted(t, own + 5000, own, 5000, 0);
    t.sync();
    expect_counted(t, other + 5000, own, 5000, 0);
    t.sync();
    if (t.size > 1) expect_counted(t, own, other + 5000, 0, 5000);
    t.sync();
    if (t.size > 2) expect_counted(t, all[std::size_t(third)], other + 5000, 5000, 0);
    t.sync();
}

STEP(253, copy_names_the_end_that_is_wrong)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = t.exchange(p.address());
    int from = (t.rank + 1) % t.size, to = (t.rank + t.size / 2) % t.size;
    sea_addr far = UINT64_C(1) << 39;
    auto copy = [&](sea_addr target, sea_addr source, std::size_t bytes) {
        return outcome([&](sea_opts *o) { return sea_copy(target, source, bytes, o); });
    };
    sea_addr good_from = all[std::size_t(from)], good_to = all[std::size_t(to)] + 2048;
    CHECK_STATUS(SEA_ERR_ADDRESS, copy(good_to, good_from + far, 64));
    CHECK_STATUS(SEA_ERR_ADDRESS, copy(good_to + far, good_from, 64));
    CHECK_STATUS(SEA_ERR_ADDRESS, copy(good_to, good_from, 1 << 20));
    CHECK_STATUS(SEA_ERR_RANK, copy((sea_addr(t.size) << SEA_OFFSET_BITS) + 64, good_from, 64));
    CHECK_STATUS(SEA_ERR_RANK, copy(good_to, (sea_addr(t.size) << SEA_OFFSET_BITS) + 64, 64));
    CHECK_STATUS(SEA_ERR_ADDRESS, copy(SEA_NULL, good_from, 64));
    CHECK_STATUS(SEA_ERR_ADDRESS, copy(good_to, SEA_NULL, 64));
    t.sync();
    CHECK_EQ(4096, not_all(p.memory(), 4096, blank));
    t.sync();
}
