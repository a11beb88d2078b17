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

std::vector<std::uint64_t> drain(handler_queue &q)
{
    std::vector<std::uint64_t> ids;
    handler_task t;
    while (q.pop(&t)) ids.push_back(t.id);
    return ids;
}

using ids = std::vector<std::uint64_t>;

TEST(HandlerQueueTest, an_ordered_message_that_fetches_holds_back_ordered_ones_of_its_origin_only)
{
    handler_queue q;
    q.push(message(1, 10, true)); // here before the stall
    q.stall(1);
    q.push(message(1, 11, false));
    q.push(message(2, 12, true));
    q.push(message(1, 13, true));
    EXPECT_EQ(drain(q), (ids{11, 12}));
    q.push(message(2, 14, true));
    q.resume(1);
    EXPECT_EQ(drain(q), (ids{10, 13, 14}));
}

TEST(HandlerQueueTest, completions_of_a_held_back_origin_are_not_held_back)
{
    handler_queue q;
    q.stall(1);
    handler_task done = message(1, 10, true);
    done.what = handler_task::kind::completion;
    q.push(std::move(done));
    EXPECT_EQ(drain(q), (ids{10}));
}

} // namespace
