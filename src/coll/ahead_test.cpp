// SPDX-License-Identifier: Apache-2.0
// How far members whose data flows one way may get ahead of one that is late.
#include "coll/fake_job.hpp"
#include "coll/run.hpp"

#include <array>
#include <chrono>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace onesea::coll {
namespace {

constexpr std::size_t mega = 1 << 20;

// Calls of which some go by before the members that are quick wait for the late one.
struct flow {
    const char *name;
    int ranks, late;
    signature sign;
    std::size_t messages; // that the late one then has, that of the barrier among them
    int done;             // calls that each of the others has ended

    friend std::ostream &operator<<(std::ostream &o, const flow &f) { return o << f.name; }
};

// Into and out of the same memory every time: what is in it does not matter here.
int call_of(team &t, const flow &f, std::vector<std::byte> &in, std::vector<std::byte> &out)
{
    const std::size_t size = f.sign.size;
    const int root = f.sign.root;
    return run(f.name, t, f.sign, [&](call &c) {
        switch (f.sign.what) {
        case kind::broadcast:
            return broadcast(c, root, in.data(), size);
        case kind::reduce:
            return reduce(c, root, in.data(), out.data(), {size, 8, combiner(SEA_DOUBLE, SEA_SUM)});
        case kind::gather:
            return gather(c, root, in.data(), out.data(), size);
        case kind::gatherv:
            return gatherv(c, root, in.data(), size, out.data(), parts(size));
        case kind::scatterv:
            return scatterv(c, root, in.data(), parts(size), out.data(), size);
        default:
            return scatter(c, root, in.data(), out.data(), size);
        }
    });
}

// How many messages have come early to a member when all others wait for it.
std::size_t early_messages(fake::job &j, int late, mailbox &m)
{
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!j.all_wait_but(late) && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return m.early_count(world_context);
}

class AheadTest : public testing::TestWithParam<flow> {};

TEST_P(AheadTest, ends_when_a_late_member_would_have_to_keep_too_many_bytes)
{
    const flow &f = GetParam();
    constexpr int calls = 2 * calls_ahead;
    std::array<std::atomic<int>, 3> done{};
    fake::job j(f.ranks, f.ranks, 11);
    j.run([&](int rank, mailbox &m, courier &c) {
        team t(m, c, world_context, members::of_world(f.ranks), rank);
        std::vector<std::byte> in(12 * mega), out(12 * mega);
        if (rank == f.late) {
            EXPECT_EQ(f.messages, early_messages(j, f.late, m));
            for (int other = 0; other < f.ranks; ++other)
                EXPECT_EQ(other == f.late ? 0 : f.done, done[std::size_t(other)]);
        }
        for (int i = 0; i < calls; ++i, ++done[std::size_t(rank)]) EXPECT_EQ(SEA_OK, call_of(t, f, in, out));
        EXPECT_EQ(0u, m.early_count(world_context));
    });
}

INSTANTIATE_TEST_SUITE_P(
    flows, AheadTest,
    testing::Values(
        flow{"broadcast", 2, 1, {.what = kind::broadcast, .size = 4 * mega}, 4 * 8 + 1, 3}, // in pieces of 512 KiB
        flow{"reduce", 2, 0, {.what = kind::reduce, .type = SEA_DOUBLE, .size = mega / 2}, 4 + 1, 3},
        flow{"gather", 3, 1, {.what = kind::gather, .root = 1, .size = 2 * mega}, 3 * 2 + 1, 2},
        flow{"scatter", 2, 1, {.what = kind::scatter, .size = 2 * mega}, 4 + 1, 3},
        flow{"gatherv", 3, 1, {.what = kind::gatherv, .root = 1, .size = mega / 2}, 2, 0}, // each waits for an answer
        flow{"scatterv", 2, 1, {.what = kind::scatterv, .size = mega}, 1, 0},
        flow{"short_gatherv", 3, 1, {.what = kind::gatherv, .root = 1, .size = mega / 8}, 32 * 2 + 1, 31},
        flow{"short_scatterv", 2, 1, {.what = kind::scatterv, .size = mega / 2}, 32 + 1, 31}),
    [](const auto &p) { return std::string(p.param.name); });

// Those who take a call for one without data send nothing that tells it, and do not wait for the others behind it.
TEST(AheadDisagreementTest, is_told_to_all_though_only_some_wait_for_each_other)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        fake::job j(2, 2, seed);
        j.run([&](int rank, mailbox &m, courier &c) {
            team t(m, c, world_context, members::of_world(2), rank);
            std::vector<std::byte> data(16 * mega);
            const flow f{"broadcast", 2, 1, {.what = kind::broadcast, .size = rank == 0 ? data.size() : 0}, 0, 0};
            int status = call_of(t, f, data, data);
            if (status == SEA_OK) status = run("barrier", t, {.what = kind::barrier}, [](call &k) { barrier(k); });
            EXPECT_EQ(SEA_ERR_INVALID, status) << "rank " << rank << ", seed " << seed;
        });
    }
}

} // namespace
} // namespace onesea::coll
