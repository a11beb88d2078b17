// SPDX-License-Identifier: Apache-2.0
#include "coll/context.hpp"
#include "coll/mailbox.hpp"
#include "coll/members.hpp"
#include "coll/reduction.hpp"
#include "coll/topology.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace onesea::coll {
namespace {

TEST(ContextTest, differs_with_order_tag_use_color_and_parent)
{
    const int ab[] = {0, 1}, ba[] = {1, 0};
    const context_id one = context_of_list(ab, 0);
    EXPECT_EQ(one, context_of_list(ab, 0));
    EXPECT_NE(one, context_of_list(ba, 0));
    EXPECT_NE(one, context_of_list(ab, 1));
    EXPECT_NE(context_of_use(one, 0), context_of_use(one, 1));
    EXPECT_NE(context_of_split(one, 1, 0), context_of_split(one, 2, 0));
    EXPECT_NE(context_of_split(one, 1, 0), context_of_split(one, 1, 1));
    EXPECT_NE(context_of_split(one, 1, 0), context_of_split(world_context, 1, 0));
}

TEST(TopologyTest, every_tree_reaches_everybody_once_and_crosses_nodes_seldom)
{
    for (int n : {1, 2, 5, 16, 17, 40, 100})
        for (int per_node : {1, 3, 20, 100})
            for (int root : {0, n / 2, n - 1})
                for (auto shape : {between_nodes::binomial, between_nodes::chain}) {
                    std::vector<int> node, parents(std::size_t(n), -2);
                    for (int m = 0; m < n; ++m) node.push_back((m * 7) % ((n - 1) / per_node + 1));
                    int crossings = 0;
                    for (int m = 0; m < n; ++m) {
                        const tree t = layout(node, m).tree_from(root, shape);
                        EXPECT_EQ(m == root, t.parent == -1);
                        parents[std::size_t(m)] = t.parent;
                        for (int child : t.children) {
                            crossings += node[std::size_t(child)] != node[std::size_t(m)];
                            EXPECT_EQ(m, layout(node, child).tree_from(root, shape).parent);
                        }
                    }
                    for (int m = 0; m < n; ++m) {
                        int at = m, hops = 0;
                        while (at != root && hops++ < n) at = parents[std::size_t(at)];
                        EXPECT_EQ(root, at);
                    }
                    EXPECT_EQ(layout(node, 0).nodes() - 1, crossings);
                }
}

TEST(TopologyTest, members_side_by_side_need_no_table)
{
    for (int n : {1, 2, 5, 17, 40})
        for (int per_node : {1, 3, 20, 40}) {
            std::vector<int> node;
            for (int m = 0; m < n; ++m) node.push_back(m / per_node);
            for (int me = 0; me < n; ++me) {
                const layout table(node, me), search([&](int m) { return m / per_node; }, n, me);
                ASSERT_EQ(table.nodes(), search.nodes());
                ASSERT_EQ(table.node(), search.node());
                EXPECT_EQ(table.tree_in_node().parent, search.tree_in_node().parent);
                EXPECT_EQ(table.tree_in_node().children, search.tree_in_node().children);
                for (int root : {0, n / 2, n - 1})
                    for (auto shape : {between_nodes::binomial, between_nodes::chain}) {
                        EXPECT_EQ(table.tree_from(root, shape).parent, search.tree_from(root, shape).parent);
                        EXPECT_EQ(table.tree_from(root, shape).children, search.tree_from(root, shape).children);
                    }
            }
        }
}

TEST(MembersTest, finds_a_rank_whatever_the_order)
{
    const members sorted({3, 5, 9}), mixed({9, 3, 5}), world = members::of_world(4);
    EXPECT_EQ(1, sorted.member(5));
    EXPECT_EQ(2, mixed.member(5));
    EXPECT_EQ(0, mixed.member(9));
    EXPECT_EQ(9, mixed.rank(0));
    EXPECT_EQ(-1, mixed.member(4));
    EXPECT_EQ(-1, sorted.member(10));
    EXPECT_EQ(3, world.member(3));
    EXPECT_EQ(-1, world.member(4));
    EXPECT_EQ(-1, world.member(-1));
}

TEST(ReductionTest, wraps_integers_and_keeps_the_order_of_operands)
{
    std::int8_t a = 127, b = 1, c = 0;
    combiner(SEA_INT8, SEA_SUM)(&c, &a, &b, 1);
    EXPECT_EQ(-128, c);
    std::uint16_t big = 65535, square = 0;
    combiner(SEA_UINT16, SEA_PROD)(&square, &big, &big, 1);
    EXPECT_EQ(1, square);
    double minus = -0.0, plus = 0.0, low = 1;
    combiner(SEA_DOUBLE, SEA_MIN)(&low, &minus, &plus, 1);
    EXPECT_TRUE(std::signbit(low));
    combiner(SEA_DOUBLE, SEA_MIN)(&low, &plus, &minus, 1);
    EXPECT_FALSE(std::signbit(low));
    EXPECT_EQ(nullptr, combiner(SEA_FLOAT, SEA_BXOR));
    EXPECT_EQ(nullptr, combiner(sea_type(14), SEA_SUM));
}

TEST(ReductionTest, takes_unaligned_buffers)
{
    char in[9 * 8 + 1], out[9 * 8 + 3];
    for (int i = 0; i < 9; ++i) {
        std::int64_t v = i;
        std::memcpy(in + 1 + i * 8, &v, 8);
        std::memcpy(out + 3 + i * 8, &v, 8);
    }
    combiner(SEA_INT64, SEA_SUM)(out + 3, in + 1, out + 3, 9);
    for (int i = 0; i < 9; ++i) {
        std::int64_t v;
        std::memcpy(&v, out + 3 + i * 8, 8);
        EXPECT_EQ(2 * i, v);
    }
}

struct MailboxTest : testing::Test {
    mailbox mail;
    box *b = mail.adopt(world_context);
    int value = 0;
    envelope letter(std::uint32_t sequence, std::uint32_t step) { return {world_context, sequence, step, {}}; }
};

TEST_F(MailboxTest, hands_an_early_message_to_the_receive_that_comes_later)
{
    const int data = 42;
    mail.take_in(3, letter(1, 7), &data, sizeof data);
    mail.begin(b, {});
    receive *r = mail.post(b, 3, 7, &value, sizeof value);
    EXPECT_EQ(receive::phase::here, r->state);
    EXPECT_EQ(42, value);
    EXPECT_EQ(0u, b->outstanding);
}

TEST_F(MailboxTest, lets_long_data_go_straight_to_a_posted_receive)
{
    mail.begin(b, {});
    receive *r = mail.post(b, 3, 0, &value, sizeof value);
    placement p = mail.take_in(3, letter(1, 0), nullptr, sizeof value);
    EXPECT_EQ(&value, p.to);
    EXPECT_EQ(r, p.matched);
    EXPECT_EQ(1u, b->outstanding);
    mail.arrived(p.matched);
    EXPECT_EQ(0u, b->outstanding);
}

TEST_F(MailboxTest, copies_data_that_was_arriving_when_its_receive_was_posted)
{
    placement p = mail.take_in(3, letter(1, 0), nullptr, sizeof value);
    ASSERT_NE(nullptr, p.stored);
    mail.begin(b, {});
    receive *r = mail.post(b, 3, 0, &value, sizeof value);
    EXPECT_EQ(receive::phase::arriving, r->state);
    const int data = 9;
    std::memcpy(p.to, &data, sizeof data);
    mail.arrived(p.stored);
    EXPECT_EQ(9, value);
    EXPECT_EQ(0u, b->outstanding);
}

TEST_F(MailboxTest, keeps_the_messages_of_a_team_that_is_not_here_yet)
{
    const context_id other{5, 5};
    const int data = 8;
    mail.take_in(1, {other, 1, 0, {}}, &data, sizeof data);
    box *late = mail.adopt(other);
    mail.begin(late, {});
    mail.post(late, 1, 0, &value, sizeof value);
    EXPECT_EQ(8, value);
    EXPECT_EQ(nullptr, mail.adopt(other));
}

TEST_F(MailboxTest, breaks_at_a_wrong_size_and_throws_away_what_comes_then)
{
    const long data = 1;
    mail.begin(b, {});
    mail.post(b, 3, 0, &value, sizeof value);
    EXPECT_TRUE(mail.take_in(3, letter(1, 0), &data, sizeof data).somebody_waits);
    EXPECT_TRUE(b->broken);
    EXPECT_EQ(SEA_ERR_INVALID, b->status);
    EXPECT_NE(std::string::npos, b->reason.find("rank 3 sent 8 bytes where 4"));
    mail.take_in(2, letter(9, 0), &data, sizeof data);
    mail.release(b);
    mail.take_in(2, letter(9, 1), &data, sizeof data); // nor is anything taken for a team that is gone
    EXPECT_EQ(0u, mail.early_count(world_context));
}

TEST_F(MailboxTest, a_freed_team_that_broke_keeps_only_memory_that_may_still_be_written_to)
{
    const envelope some = letter(1, 0);
    mail.begin(b, {});
    mail.scratch(b, 1000);
    mail.post(b, 3, 0, &value, sizeof value);
    receive *arriving = mail.take_in(3, some, nullptr, sizeof value).matched;
    ASSERT_NE(nullptr, arriving);
    mail.break_down(b, SEA_ERR_DEAD, "rank 2 has ended");
    mail.release(b);
    EXPECT_EQ(1u, b->scratch.size());
    mail.arrived(arriving);
    EXPECT_EQ(0u, mail.box_count());
}

TEST_F(MailboxTest, tells_from_whom_something_is_missing)
{
    mail.begin(b, {});
    for (const auto &[rank, step] : {std::pair(7, 0u), {3, 0u}, {3, 1u}, {5, 0u}})
        mail.post(b, rank, step, &value, sizeof value);
    EXPECT_EQ((std::vector<int>{3, 5, 7}), mail.missing_from(b));
    mail.take_in(7, letter(1, 0), &value, sizeof value);
    mail.take_in(3, letter(1, 1), &value, sizeof value);
    receive *arriving = mail.take_in(5, letter(1, 0), nullptr, sizeof value).matched;
    EXPECT_EQ((std::vector<int>{3, 5}), mail.missing_from(b));
    mail.arrived(arriving);
    mail.take_in(3, letter(1, 0), &value, sizeof value);
    EXPECT_TRUE(mail.missing_from(b).empty());
}

TEST_F(MailboxTest, of_a_freed_team_that_broke_while_nothing_was_under_way_only_the_name_is_kept)
{
    mail.begin(b, {});
    mail.scratch(b, 1000);
    mail.break_down(b, SEA_ERR_TIMEOUT, "the time given has passed");
    mail.release(b);
    EXPECT_EQ(0u, mail.box_count());
    EXPECT_EQ(nullptr, mail.take_in(3, letter(1, 0), nullptr, sizeof value).to); // late ones
    EXPECT_EQ(nullptr, mail.take_in(3, letter(1, 1), nullptr, 0).stored);
    const envelope notice{world_context, 1, 3, {.what = kind::notice, .root = SEA_ERR_TIMEOUT}};
    EXPECT_FALSE(mail.take_in(3, notice, nullptr, 0).given_up);
    mail.given_up(notice); // it was taken in before
    EXPECT_EQ(0u, mail.box_count());
    EXPECT_EQ(nullptr, mail.adopt(world_context));
}

TEST_F(MailboxTest, a_notice_of_a_team_that_did_well_here_and_was_freed_leaves_nothing)
{
    const envelope notice{world_context, 1, 3, {.what = kind::notice, .root = SEA_ERR_TIMEOUT}};
    mail.release(b);
    EXPECT_FALSE(mail.take_in(3, notice, nullptr, 0).given_up);
    EXPECT_EQ(0u, mail.box_count());
}

TEST_F(MailboxTest, a_freed_team_that_broke_stays_until_its_own_long_data_has_been_read)
{
    auto fail_another = [&](std::uint64_t name) {
        box *other = mail.adopt({5, name});
        mail.break_down(other, SEA_ERR_TIMEOUT, "");
        mail.release(other);
    };
    mail.begin(b, {});
    mail.scratch(b, 1000);
    b->started = 1;
    mail.break_down(b, SEA_ERR_TIMEOUT, "the time given has passed");
    mail.release(b);
    fail_another(1);
    ASSERT_EQ(1u, mail.box_count());
    EXPECT_EQ(1u, b->scratch.size());
    b->sent.value = 1;
    fail_another(2);
    EXPECT_EQ(0u, mail.box_count());
}

// It did well, or broke in a handler and the program did not call it any more. Others may wait for who gave up.
TEST_F(MailboxTest, a_freed_team_still_passes_the_first_notice_on)
{
    for (const bool breaks : {false, true}) {
        const context_id large{5, breaks};
        box *of_many = mail.adopt(large, {1, 2, 3}, true);
        mail.begin(of_many, {});
        mail.end(of_many);
        EXPECT_EQ(breaks, breaks && mail.take_in(2, {large, 1, 0, {}}, nullptr, 0).somebody_waits); // too late
        mail.release(of_many);
        EXPECT_EQ(1u, mail.box_count()); // that of the world
        const envelope notice{large, 1, 3, {.what = kind::notice, .root = SEA_ERR_TIMEOUT}};
        const placement p = mail.take_in(3, notice, nullptr, 0);
        EXPECT_TRUE(p.given_up);
        EXPECT_EQ((std::vector{1, 2}), p.tell);
        mail.given_up(notice);
        EXPECT_FALSE(mail.take_in(1, notice, nullptr, 0).given_up);
        EXPECT_EQ(1u, mail.box_count());
    }
}

TEST_F(MailboxTest, a_freed_team_that_has_given_up_or_seen_a_death_passes_no_notice_on)
{
    for (const int status : {SEA_ERR_TIMEOUT, SEA_ERR_DEAD}) {
        const context_id large{6, std::uint64_t(status == SEA_ERR_DEAD)};
        box *of_many = mail.adopt(large, {1, 2, 3}, true);
        mail.break_down(of_many, status, "");
        const std::vector<int> told = status == SEA_ERR_TIMEOUT ? mail.give_up(of_many) : std::vector<int>{1, 2, 3};
        EXPECT_EQ((std::vector{1, 2, 3}), told);
        mail.release(of_many);
        const envelope notice{large, 1, 3, {.what = kind::notice, .root = status}};
        EXPECT_FALSE(mail.take_in(3, notice, nullptr, 0).given_up);
    }
}

TEST(GoneTeamsTest, knows_the_latest_names)
{
    gone_teams gone;
    for (std::uint64_t i = 0; i <= gone_teams::most; ++i) gone.add({i, 7}, {int(i)});
    EXPECT_EQ(nullptr, gone.find({0, 7}));
    for (const std::uint64_t i : {std::uint64_t(1), std::uint64_t(gone_teams::most)}) {
        ASSERT_NE(nullptr, gone.find({i, 7}));
        EXPECT_EQ(std::vector{int(i)}, *gone.find({i, 7}));
    }
}

} // namespace
} // namespace onesea::coll
