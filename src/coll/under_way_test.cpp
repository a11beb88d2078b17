// SPDX-License-Identifier: Apache-2.0
// Calls that fail while data is under way to them from a member that has ended.
#include "coll/teams.hpp"

#include <functional>
#include <gtest/gtest.h>

namespace onesea::coll {
namespace {

// Rank 1 ends; what it had sent may come in afterwards, until `told`.
class other_ends final : public courier {
  public:
    bool gone = false, told = false;
    std::function<void(int)> happens = [](int) {}; // in each round of a wait

    int send(int, const envelope &, const void *, std::size_t, sea_counter *) override { return SEA_OK; }
    int wait(bool (*ready)(void *), void *argument, nanoseconds) override
    {
        for (int round = 0; round < 100; ++round) {
            if (ready(argument)) return SEA_OK;
            happens(round);
        }
        return SEA_ERR_TIMEOUT;
    }
    void nudge() override {}
    bool alive(int rank) override { return rank == 0 || !gone; }
    bool nothing_comes(int rank) override { return rank == 1 && told; }
    int node_of(int) override { return 0; }
    std::uint32_t ended() override { return gone; }
    int ended_rank(std::uint32_t) override { return 1; }
};

struct UnderWayTest : testing::Test {
    static constexpr signature sign{.what = kind::broadcast, .root = 1, .size = sizeof(int)};
    const envelope piece{world_context, 1, 0, sign};
    mailbox mail;
    other_ends world;
    team two{mail, world, world_context, members::of_world(2), 0};
    int value = 0;
};

TEST_F(UnderWayTest, a_call_returns_only_when_what_an_ended_member_had_sent_is_taken_in)
{
    call c(two, sign, never);
    c.expect(1, 0, &value, sizeof value);
    const placement p = mail.take_in(1, piece, nullptr, sizeof value);
    ASSERT_EQ(&value, p.to);
    world.gone = true;
    world.happens = [&](int round) {
        if (round == 3) value = 5;
        world.told = round == 4;
    };
    EXPECT_EQ(SEA_ERR_DEAD, c.conclude());
    EXPECT_EQ(5, value) << "it was written later";
    mail.arrived(p.matched);
}

TEST_F(UnderWayTest, what_came_early_of_an_ended_member_does_not_go_to_a_call_that_has_returned)
{
    const placement p = mail.take_in(1, piece, nullptr, sizeof value);
    ASSERT_NE(nullptr, p.stored);
    call c(two, sign, never);
    c.expect(1, 0, &value, sizeof value);
    *static_cast<int *>(p.to) = 5; // all of it is there, but that has not been told
    world.gone = world.told = true;
    EXPECT_EQ(SEA_ERR_DEAD, c.conclude());
    mail.arrived(p.stored);
    EXPECT_EQ(0, value);
}

// Rank 2, say, has run out of time; the caller here has not.
TEST_F(UnderWayTest, a_call_that_another_member_has_given_up_returns_when_its_own_data_has_come)
{
    call c(two, sign, never);
    c.expect(1, 0, &value, sizeof value);
    const placement p = mail.take_in(1, piece, nullptr, sizeof value);
    ASSERT_EQ(&value, p.to);
    mail.given_up({world_context, 1, 2, {.what = kind::notice, .root = SEA_ERR_TIMEOUT}});
    world.happens = [&](int round) {
        if (round != 3) return;
        value = 5;
        mail.arrived(p.matched);
    };
    EXPECT_EQ(SEA_ERR_TIMEOUT, c.conclude());
    EXPECT_EQ(5, value) << "it was written later";
}

// A team that is freed after a call in which rank 1 ended while data of it was under way to the steps given.
struct FreedTest : testing::Test {
    const context_id id{5, 5};
    const signature sign{.what = kind::broadcast, .root = 1, .size = sizeof(int)};
    mailbox mail;
    other_ends world;
    team_table table;
    std::shared_ptr<team> two;
    placement came;

    void fail_and_free(bool awaited)
    {
        int value = 0;
        sea_team handle = SEA_TEAM_NULL;
        table.open(mail, world, 0, 2);
        ASSERT_EQ(SEA_OK, table.add("test", id, members({0, 1}), &handle));
        ASSERT_EQ(SEA_OK, table.find("test", handle, &two));
        call c(*two, sign, never);
        c.scratch(1000);
        if (awaited) c.expect(1, 0, &value, sizeof value);
        came = mail.take_in(1, {id, 1, 0, sign}, nullptr, sizeof value);
        world.gone = world.told = true;
        if (!awaited) c.break_down(SEA_ERR_DEAD, "rank 1 has ended");
        EXPECT_EQ(SEA_ERR_DEAD, c.conclude());
        EXPECT_EQ(SEA_OK, table.remove(handle));
    }
};

TEST_F(FreedTest, keeps_no_memory_for_what_will_not_come)
{
    fail_and_free(true);
    ASSERT_NE(nullptr, came.matched);
    EXPECT_TRUE(two->messages->scratch.empty());
    mail.arrived(came.matched); // all of it was there, but that is told only now
    EXPECT_EQ(1u, mail.box_count()) << "that of the world";
}

TEST_F(FreedTest, keeps_no_memory_for_what_came_early_and_will_not_be_whole)
{
    fail_and_free(false);
    ASSERT_NE(nullptr, came.stored);
    EXPECT_TRUE(two->messages->scratch.empty());
    EXPECT_EQ(nullptr, came.stored->data);
    mail.arrived(came.stored);
    EXPECT_EQ(1u, mail.box_count()) << "that of the world";
}

TEST_F(FreedTest, has_a_handle_that_no_team_has_soon)
{
    sea_team first = SEA_TEAM_NULL, handle = SEA_TEAM_NULL;
    std::uint64_t name = 0;
    table.open(mail, world, 0, 2);
    auto make = [&](sea_team *result) { return table.add("test", {6, ++name}, members({0, 1}), result); };
    ASSERT_EQ(SEA_OK, make(&first));
    ASSERT_EQ(SEA_OK, table.remove(first));
    for (int i = 0; i < 1 << 16; ++i) {
        ASSERT_EQ(SEA_OK, make(&handle));
        ASSERT_EQ(SEA_ERR_INVALID, table.find("test", first, &two)) << "after " << i;
        ASSERT_EQ(SEA_OK, table.remove(handle));
    }
}

TEST_F(FreedTest, leaves_room_for_another_when_there_can_be_no_more)
{
    std::vector<sea_team> all;
    std::uint64_t name = 0;
    table.open(mail, world, 0, 2);
    auto make = [&] { return table.add("test", {6, ++name}, members({0, 1}), &all.emplace_back()); };
    while (make() == SEA_OK) {
    }
    all.pop_back();
    EXPECT_LT(60000u, all.size());
    ASSERT_EQ(SEA_OK, table.remove(all[5]));
    EXPECT_EQ(SEA_OK, make());
    EXPECT_NE(all[5], all.back());
    EXPECT_EQ(SEA_ERR_MEMORY, make());
}

} // namespace
} // namespace onesea::coll
