// SPDX-License-Identifier: Apache-2.0
#include "core/handlers.hpp"

#include <gtest/gtest.h>

using namespace onesea::core;

namespace {

handler_task message(int source, std::uint64_t id, bool ordered)
{
    handler_task t;
    t.source = source;
    t.id = id;
    t.ordered = ordered;
    return t;
}

TEST(HandlerQueueTest, an_ordered_message_that_fetches_holds_back_ordered_ones_of_its_origin_only)
{
    handler_queue q;
    q.stall(1);
    q.push(message(1, 10, true));
    q.push(message(1, 11, false));
    q.push(message(2, 12, true));
    q.push(message(1, 13, true));
    EXPECT_EQ(q.pop().id, 11u);
    EXPECT_EQ(q.pop().id, 12u);
    EXPECT_TRUE(q.empty());
    q.push(message(2, 14, true));
    q.resume(1);
    EXPECT_EQ(q.pop().id, 10u);
    EXPECT_EQ(q.pop().id, 13u);
    EXPECT_EQ(q.pop().id, 14u);
}

TEST(HandlerQueueTest, completions_of_a_held_back_origin_are_not_held_back)
{
    handler_queue q;
    q.stall(1);
    handler_task done = message(1, 10, true);
    done.what = handler_task::kind::completion;
    q.push(std::move(done));
    EXPECT_EQ(q.pop().id, 10u);
}

} // namespace
