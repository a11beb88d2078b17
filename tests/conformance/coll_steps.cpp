// SPDX-License-Identifier: Apache-2.0
// Collectives and teams in a real job, against a reference that every rank computes alone.
#include "coll_reference.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

using namespace proof;

namespace {

int modulo(int a, int n) { return (a % n + n) % n; }

std::uint64_t fingerprint(const bytes &b)
{
    std::uint64_t h = 1469598103934665603u;
    for (unsigned char c : b) h = (h ^ c) * 1099511628211u;
    return h;
}

} // namespace

LIGHT_STEP(10, world_holds_all_ranks_in_order)
{
    CHECK_EQ(t.size, sea_team_size(SEA_TEAM_WORLD));
    CHECK_EQ(t.rank, sea_team_rank(SEA_TEAM_WORLD));
    for (int r = 0; r < t.size; ++r) CHECK_EQ(r, sea_team_member(SEA_TEAM_WORLD, r));
    CHECK_STATUS(SEA_ERR_RANK, sea_team_member(SEA_TEAM_WORLD, t.size));
}

LIGHT_STEP(20, nobody_leaves_a_barrier_before_all_have_come)
{
    auto &word = t.shared->seats[t.rank].words[0];
    word = 0;
    t.sync();
    for (int i = 1, n = t.times(200); i <= n; ++i) {
        if (t.rank == i % t.size && i % 16 == 0) pause_for(0.002);
        word = std::uint64_t(i);
        CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
        for (int r = 0; r < t.size; ++r) CHECK(t.shared->seats[r].words[0].load() >= std::uint64_t(i));
    }
}

LIGHT_STEP(30, every_type_and_operation_reduces)
{
    for (int type = SEA_INT8; type <= SEA_DOUBLE; ++type)
        for (int op = SEA_SUM; op <= SEA_BXOR; ++op) {
            auto ty = sea_type(type);
            auto o = sea_reduce_op(op);
            if (is_float(ty) && op >= SEA_BAND) continue;
            for (std::size_t count : {std::size_t(0), std::size_t(1), std::size_t(37), std::size_t(9001)}) {
                if (t.light && count > 37) continue;
                bytes in = numbers_of(t.seed, t.rank, count, ty, o), out(in.size());
                CHECK_OK(sea_allreduce(SEA_TEAM_WORLD, in.data(), out.data(), count, ty, o));
                EXPECT_SAME("allreduce", reduced(t.seed, t.size, count, ty, o), out);
            }
        }
}

LIGHT_STEP(40, random_calls_of_random_sizes)
{
    exercise(t, SEA_TEAM_WORLD, t.seed * 31 + 5, t.times(t.light ? 40 : 100));
}

STEP(50, floats_give_the_same_bits_everywhere_and_each_time)
{
    for (std::size_t count : {3u, 1000u, 4096u, 100003u}) {
        std::vector<double> in(count), first(count), again(count);
        dice d{t.seed + std::uint64_t(t.rank)};
        for (double &v : in) v = double(std::int64_t(d.next())) * 1e-3;
        CHECK_OK(sea_allreduce(SEA_TEAM_WORLD, in.data(), first.data(), count, SEA_DOUBLE, SEA_SUM));
        CHECK_OK(sea_allreduce(SEA_TEAM_WORLD, in.data(), again.data(), count, SEA_DOUBLE, SEA_SUM));
        bytes a(count * 8), b(count * 8);
        std::memcpy(a.data(), first.data(), a.size());
        std::memcpy(b.data(), again.data(), b.size());
        EXPECT_SAME("the second run", a, b);
        for (std::uint64_t other : t.exchange(fingerprint(a))) CHECK_EQ(fingerprint(a), other);
    }
}

LIGHT_STEP(60, split_orders_by_key_then_by_number)
{
    sea_team half = SEA_TEAM_WORLD;
    CHECK_OK(sea_team_split(SEA_TEAM_WORLD, t.rank % 2, -t.rank, &half));
    const int n = (t.size + 1 - t.rank % 2) / 2;
    CHECK_EQ(n, sea_team_size(half));
    for (int m = 0; m < n; ++m) CHECK_EQ((n - 1 - m) * 2 + t.rank % 2, sea_team_member(half, m));
    CHECK_EQ(n - 1 - t.rank / 2, sea_team_rank(half));
    exercise(t, half, t.seed + std::uint64_t(t.rank % 2), t.times(20));
    sea_team none = half;
    CHECK_OK(sea_team_split(half, t.rank < 2 ? -1 : 0, 0, &none));
    CHECK_EQ(t.rank < 2 ? SEA_TEAM_NULL : 1, none == SEA_TEAM_NULL ? SEA_TEAM_NULL : 1);
    if (none != SEA_TEAM_NULL) {
        CHECK_OK(sea_barrier(none));
        CHECK_OK(sea_team_free(none));
    }
    CHECK_OK(sea_team_free(half));
    CHECK_STATUS(SEA_ERR_INVALID, sea_barrier(half));
}

STEP(70, random_splits_of_splits_work)
{
    dice same{t.seed * 97}, own{t.seed * 89 + std::uint64_t(t.rank)};
    for (int i = 0; i < 5; ++i) {
        sea_team outer = SEA_TEAM_NULL, inner = SEA_TEAM_NULL;
        CHECK_OK(sea_team_split(SEA_TEAM_WORLD, int(own.below(3)), int(own.below(10)), &outer));
        CHECK_OK(sea_team_split(outer, int(own.below(2)), int(own.below(10)), &inner));
        std::uint64_t seed = same.next();
        exercise(t, inner, seed, 6);
        exercise(t, outer, seed + 1, 6);
        CHECK_OK(sea_team_free(outer));
        exercise(t, inner, seed + 2, 3);
        CHECK_OK(sea_team_free(inner));
    }
}

STEP(80, a_created_team_needs_only_its_members)
{
    const int n = std::min(t.size, 3);
    if (t.rank < n) {
        std::vector<int> ranks;
        for (int i = 0; i < n; ++i) ranks.push_back(n - 1 - i);
        for (int i = 0; i < 20; ++i) {
            sea_team a = SEA_TEAM_NULL, b = SEA_TEAM_NULL;
            CHECK_OK(sea_team_create(ranks.data(), n, 5, &a));
            CHECK_OK(sea_team_create(ranks.data(), n, 6, &b));
            CHECK_EQ(n - 1 - t.rank, sea_team_rank(a));
            int from_a = t.rank == 0 ? i : -1, from_b = t.rank == 0 ? 100 + i : -1;
            CHECK_OK(sea_broadcast(b, n - 1, &from_b, sizeof from_b));
            CHECK_OK(sea_broadcast(a, n - 1, &from_a, sizeof from_a));
            CHECK_EQ(i, from_a);
            CHECK_EQ(100 + i, from_b);
            CHECK_OK(sea_team_free(a));
            CHECK_OK(sea_team_free(b));
        }
    }
    t.sync();
}

STEP(90, teams_of_one_need_nobody)
{
    sea_team alone = SEA_TEAM_NULL;
    CHECK_OK(sea_team_create(&t.rank, 1, 1, &alone));
    exercise(t, alone, t.seed + std::uint64_t(t.rank), 20);
    CHECK_OK(sea_team_free(alone));
}

STEP(100, a_quick_root_does_not_lose_or_mix_its_broadcasts)
{
    for (int i = 0; i < 300; ++i) {
        int value = t.rank == 0 ? i : -1;
        if (t.rank == t.size - 1 && i == 10) pause_for(0.05);
        CHECK_OK(sea_broadcast(SEA_TEAM_WORLD, 0, &value, sizeof value));
        CHECK_EQ(i, value);
    }
}

STEP(110, threads_use_a_team_each)
{
    sea_team team[2];
    for (int i = 0; i < 2; ++i) CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team[i]));
    auto work = [&](int i) {
        for (int k = 0; k < 40; ++k) {
            std::int64_t mine = t.rank * (i + 1), sum = -1;
            CHECK_OK(sea_allreduce(team[i], &mine, &sum, 1, SEA_INT64, SEA_SUM));
            CHECK_EQ((i + 1) * t.size * (t.size - 1) / 2, sum);
        }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    for (int i = 0; i < 2; ++i) CHECK_OK(sea_team_free(team[i]));
}

LIGHT_STEP(120, bad_input_is_told_and_harms_nobody)
{
    long v = 1, w[2] = {};
    sea_team out = SEA_TEAM_WORLD;
    const int twice[] = {t.rank, t.rank}, far[] = {t.rank, t.size}, other[] = {modulo(t.rank + 1, t.size)};
    CHECK_STATUS(SEA_ERR_INVALID, sea_barrier(SEA_TEAM_NULL));
    CHECK_STATUS(SEA_ERR_INVALID, sea_barrier(12345));
    CHECK_STATUS(SEA_ERR_INVALID, sea_broadcast(SEA_TEAM_WORLD, t.size, &v, sizeof v));
    CHECK_STATUS(SEA_ERR_INVALID, sea_broadcast(SEA_TEAM_WORLD, -1, &v, sizeof v));
    CHECK_STATUS(SEA_ERR_INVALID, sea_broadcast(SEA_TEAM_WORLD, 0, nullptr, 8));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allreduce(SEA_TEAM_WORLD, &v, nullptr, 1, SEA_INT64, SEA_SUM));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allreduce(SEA_TEAM_WORLD, &v, w, 1, SEA_DOUBLE, SEA_BXOR));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allreduce(SEA_TEAM_WORLD, &v, w, 1, sea_type(12), SEA_SUM));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allreduce(SEA_TEAM_WORLD, &v, w, 1, SEA_INT64, sea_reduce_op(7)));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allreduce(SEA_TEAM_WORLD, &v, w, ~std::size_t(0), SEA_INT64, SEA_SUM));
    CHECK_STATUS(SEA_ERR_INVALID,
                 sea_allreduce(SEA_TEAM_WORLD, w, reinterpret_cast<char *>(w) + 4, 1, SEA_INT64, SEA_SUM));
    CHECK_STATUS(SEA_ERR_INVALID, sea_alltoall(SEA_TEAM_WORLD, w, w, 8));
    CHECK_STATUS(SEA_ERR_INVALID, sea_team_split(SEA_TEAM_WORLD, 0, 0, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_team_create(nullptr, 1, 0, &out));
    CHECK_STATUS(SEA_ERR_INVALID, sea_team_create(twice, 2, 0, &out));
    CHECK_STATUS(SEA_ERR_RANK, sea_team_create(far, 2, 0, &out));
    if (t.size > 1) CHECK_STATUS(SEA_ERR_INVALID, sea_team_create(other, 1, 0, &out));
    CHECK_STATUS(SEA_ERR_INVALID, sea_team_free(SEA_TEAM_WORLD));
    CHECK_STATUS(SEA_ERR_INVALID, sea_team_free(SEA_TEAM_NULL));
    CHECK_EQ(SEA_TEAM_WORLD, out);
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}

LIGHT_STEP(121, parts_that_cannot_be_are_told_and_harm_nobody)
{
    const auto n = std::size_t(t.size);
    const bool alone = t.size == 1;
    std::vector<std::size_t> sizes(n, 8), offsets(n), huge(n, ~std::size_t(0) / 2), same(n, 0);
    for (std::size_t m = 0; m < n; ++m) offsets[m] = m * 8;
    bytes in(n * 8), out(n * 8);
    const auto all = SEA_TEAM_WORLD;
    CHECK_STATUS(SEA_ERR_INVALID, sea_allgatherv(all, in.data(), out.data(), nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allgatherv(all, nullptr, out.data(), sizes.data(), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allgatherv(all, in.data(), nullptr, sizes.data(), nullptr));
    if (!alone) CHECK_STATUS(SEA_ERR_INVALID, sea_allgatherv(all, in.data(), out.data(), huge.data(), nullptr));
    if (!alone) CHECK_STATUS(SEA_ERR_INVALID, sea_allgatherv(all, in.data(), out.data(), sizes.data(), same.data()));
    CHECK_STATUS(SEA_ERR_INVALID, sea_allgatherv(all, out.data() + 1, out.data(), sizes.data(), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_gatherv(all, t.size, in.data(), 8, out.data(), sizes.data(), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_gatherv(all, t.rank, in.data(), 9, out.data(), sizes.data(), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_gatherv(all, t.rank, in.data(), 8, out.data(), nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_gatherv(all, t.rank, nullptr, 8, out.data(), sizes.data(), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_scatterv(all, t.rank, in.data(), sizes.data(), nullptr, out.data(), 7));
    CHECK_STATUS(SEA_ERR_INVALID, sea_scatterv(all, -1, in.data(), sizes.data(), nullptr, out.data(), 8));
    CHECK_STATUS(SEA_ERR_INVALID, sea_scatterv(all, t.rank, in.data(), sizes.data(), nullptr, nullptr, 8));
    CHECK_STATUS(SEA_ERR_INVALID,
                 sea_alltoallv(all, in.data(), sizes.data(), nullptr, in.data(), sizes.data(), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_alltoallv(all, in.data(), nullptr, nullptr, out.data(), sizes.data(), nullptr));
    std::vector<std::size_t> other = sizes;
    other[std::size_t(t.rank)] = 4;
    CHECK_STATUS(SEA_ERR_INVALID,
                 sea_alltoallv(all, in.data(), other.data(), nullptr, out.data(), sizes.data(), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_scan(all, in.data(), out.data(), 1, sea_type(10), SEA_SUM));
    CHECK_STATUS(SEA_ERR_INVALID, sea_exscan(all, in.data(), out.data(), 1, SEA_FLOAT, SEA_BOR));
    CHECK_STATUS(SEA_ERR_INVALID, sea_reduce_scatter(all, in.data(), in.data(), 1, SEA_INT64, SEA_SUM));
    CHECK_STATUS(SEA_ERR_INVALID,
                 sea_reduce_scatter(all, in.data(), out.data(), ~std::size_t(0) / 2, SEA_INT8, SEA_SUM));
    CHECK_OK(sea_alltoallv(all, in.data(), same.data(), nullptr, nullptr, same.data(), nullptr)); // nothing of nothing
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}

STEP(130, members_that_disagree_are_told_and_other_teams_go_on)
{
    if (t.size == 1) return;
    sea_team team = SEA_TEAM_NULL;
    CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team));
    long v[4] = {}, w[4] = {};
    int status = sea_allreduce(team, v, w, t.rank == 0 ? 2 : 1, SEA_INT64, SEA_SUM);
    CHECK_STATUS(SEA_ERR_INVALID, status == SEA_OK ? sea_barrier(team) : status);
    CHECK_STATUS(SEA_ERR_INVALID, sea_barrier(team)); // and stays so
    CHECK_OK(sea_team_free(team));
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}

// The messages have the lengths that each expects: only the sizes of two members' parts are exchanged.
STEP(129, sizes_of_parts_on_which_members_do_not_agree_are_told)
{
    if (t.size == 1) return;
    sea_team team = SEA_TEAM_NULL;
    CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team));
    const auto n = std::size_t(t.size), other = std::size_t(t.rank == 0 ? n - 2 : n - 1);
    std::vector<std::size_t> sizes(n, 8);
    if (t.size > 2) sizes[other] = 16;
    if (t.size == 2 && t.rank == 0) sizes[1] = 16;
    bytes in(16), out(n * 16);
    const int status = sea_allgatherv(team, in.data(), out.data(), sizes.data(), nullptr);
    CHECK_STATUS(SEA_ERR_INVALID, status == SEA_OK ? sea_barrier(team) : status);
    CHECK_OK(sea_team_free(team));
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}

// What tells it comes from others than it waits for.
STEP(131, who_is_in_another_call_than_all_others_is_told)
{
    if (t.size == 1) return;
    sea_team team = SEA_TEAM_NULL;
    CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team));
    CHECK_OK(sea_set_timeout(30));
    long v = 0;
    CHECK_STATUS(SEA_ERR_INVALID, t.rank == 0 ? sea_broadcast(team, 1, &v, sizeof v) : sea_barrier(team));
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    CHECK_OK(sea_team_free(team));
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}

STEP(132, sizes_that_no_memory_has_are_refused_or_told)
{
    unsigned char byte = 0, other = 0;
    const std::size_t all = SIZE_MAX, half = SIZE_MAX / 2 + 1;
    for (std::size_t many : {all, half}) {
        CHECK_STATUS(SEA_ERR_INVALID, sea_broadcast(SEA_TEAM_WORLD, 0, &byte, many));
        CHECK_STATUS(SEA_ERR_INVALID, sea_allgather(SEA_TEAM_WORLD, &byte, &other, many));
        CHECK_STATUS(SEA_ERR_INVALID, sea_scatter(SEA_TEAM_WORLD, 0, &byte, &other, many));
    }
    if (t.size == 1) return;
    sea_team team = SEA_TEAM_NULL;
    CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team));
    int status = sea_broadcast(team, 0, &byte, t.rank == 0 ? 1 : SIZE_MAX / 2);
    CHECK_STATUS(SEA_ERR_INVALID, status == SEA_OK ? sea_barrier(team) : status);
    CHECK_OK(sea_team_free(team));
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}

STEP(140, a_time_limit_ends_a_call_and_the_others_hear_of_it)
{
    if (t.size == 1) return;
    sea_team team = SEA_TEAM_NULL;
    CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team));
    if (t.rank == t.size - 1) {
        t.sync(); // the others have given up
    } else {
        CHECK_OK(sea_set_timeout(0.1));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_barrier(team));
        const std::string told = sea_last_error();
        CHECK(told.find("given up this team") != told.npos || told.find("of rank ") != told.npos);
        if (t.size == 2) CHECK(told.ends_with(": the part of rank 1 has not come: the time given has passed"));
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        CHECK_OK(sea_fence_all()); // what tells the others is there, not only under way
        t.sync();
    }
    // All have entered that barrier, so it may still succeed at the last one if the news is on its way; no other can.
    int status = sea_barrier(team);
    if (t.rank < t.size - 1) CHECK_STATUS(SEA_ERR_TIMEOUT, status);
    CHECK_STATUS(SEA_ERR_TIMEOUT, status == SEA_OK ? sea_barrier(team) : status);
    sea_team again = SEA_TEAM_NULL; // of the same ranks, which go on in it
    std::vector<int> ranks;
    for (int m = 0; m < t.size; ++m) ranks.push_back(sea_team_member(team, m));
    CHECK_OK(sea_team_create(ranks.data(), t.size, 7, &again));
    CHECK_OK(sea_barrier(again));
    CHECK_OK(sea_team_free(again));
    CHECK_OK(sea_team_free(team));
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}
