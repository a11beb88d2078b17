// SPDX-License-Identifier: Apache-2.0
#include "core/operation.hpp"

#include <cstdint>
#include <gtest/gtest.h>

using namespace onesea::core;

namespace {

void finish(operation_table &t, operation *op)
{
    t.finish_order(op);
    op->state = operation::phase::done;
    t.release(op);
}

TEST(OperationTableTest, numbers_of_released_operations_do_not_find_their_successors)
{
    operation_table t;
    operation *first = t.take();
    auto id = operation_table::id_of(first);
    finish(t, first);
    operation *second = t.take();
    EXPECT_EQ(second, first); // the place is reused
    bool known = false;
    EXPECT_EQ(t.find(id, &known), nullptr);
    EXPECT_TRUE(known);
    EXPECT_EQ(t.find(operation_table::id_of(second)), second);
}

TEST(OperationTableTest, knows_numbers_that_were_never_given_out)
{
    operation_table t;
    operation *op = t.take();
    bool known = true;
    EXPECT_EQ(t.find(operation_table::id_of(op) + 1, &known), nullptr);
    EXPECT_FALSE(known);
    t.find(operation_table::id_of(op) + (1ull << 32), &known);
    EXPECT_FALSE(known);
    t.find(0, &known);
    EXPECT_FALSE(known);
}

TEST(OperationTableTest, a_used_up_number_stays_known_when_its_place_has_had_all_of_them)
{
    operation_table t;
    operation *op = t.take();
    op->generation = UINT32_MAX;
    const auto last = operation_table::id_of(op);
    finish(t, op);
    bool known = false;
    EXPECT_EQ(t.find(last, &known), nullptr);
    EXPECT_TRUE(known);
    op = t.take();
    EXPECT_EQ(t.find(operation_table::id_of(op), &known), op);
    EXPECT_EQ(t.find(last, &known), nullptr);
    EXPECT_TRUE(known);
    t.find(0, &known);
    EXPECT_FALSE(known);
}

TEST(OperationTableTest, keeps_unfinished_operations_in_the_order_of_their_calls)
{
    operation_table t;
    operation *a = t.take(), *b = t.take(), *c = t.take();
    finish(t, b);
    EXPECT_EQ(t.oldest(), a);
    finish(t, a);
    EXPECT_EQ(t.oldest(), c);
    operation *d = t.take();
    std::vector<operation *> order;
    t.for_each_unfinished([&](operation *op) { order.push_back(op); });
    EXPECT_EQ(order, (std::vector{c, d}));
    finish(t, c);
    finish(t, d);
    EXPECT_EQ(t.oldest(), nullptr);
}

} // namespace
