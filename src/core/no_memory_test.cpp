// SPDX-License-Identifier: Apache-2.0
// Operations when memory is short: one that finds none has not begun, and the end of one needs none.
#include "core/operation.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <optional>

namespace {

thread_local std::optional<unsigned> allocations_left; // none: as many as there are

} // namespace

// Not inlined: gcc would see malloc() meet delete, and new meet free().
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
    if (allocations_left && (*allocations_left)-- == 0) {
        allocations_left = 0;
        throw std::bad_alloc();
    }
    if (void *p = std::malloc(bytes > 0 ? bytes : 1)) return p;
    throw std::bad_alloc();
}
[[gnu::noinline]] void *operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void operator delete(void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void *p, std::size_t) noexcept { std::free(p); }

using namespace onesea::core;

namespace {

// nullptr: there was no memory.
operation *take(operation_table &t, unsigned allocations)
{
    allocations_left = allocations;
    operation *op = nullptr;
    try {
        op = t.take();
    } catch (const std::bad_alloc &) {
    }
    allocations_left.reset();
    return op;
}

TEST(NoMemoryTest, an_operation_without_memory_has_not_begun_and_the_next_one_is_as_good)
{
    operation_table t;
    std::vector<operation *> taken;
    unsigned refused = 0;
    for (unsigned i = 0; i < 100; ++i)
        for (unsigned allocations = 0; taken.size() == i; ++allocations) {
            ASSERT_LT(allocations, 20u);
            if (operation *op = take(t, allocations))
                taken.push_back(op);
            else
                ++refused;
        }
    EXPECT_GE(refused, 100u); // each needs some
    std::vector<operation *> unfinished;
    t.for_each_unfinished([&](operation *op) { unfinished.push_back(op); });
    EXPECT_EQ(unfinished, taken);
    for (operation *op : taken) EXPECT_EQ(t.find(operation_table::id_of(op)), op);
}

TEST(NoMemoryTest, signals_are_added_and_operations_end_without_memory)
{
    operation_table t;
    std::vector<operation *> taken;
    for (int i = 0; i < 100; ++i) taken.push_back(t.take());
    allocations_left = 0;
    for (operation *op : taken) {
        for (int k = 0; k < 2; ++k) op->signals.push_back({});
        t.finish_order(op);
        op->state = operation::phase::done;
        t.release(op);
        EXPECT_EQ(t.take(), op);
        t.finish_order(op);
        op->state = operation::phase::done;
        t.release(op);
    }
    allocations_left.reset();
    EXPECT_EQ(t.oldest(), nullptr);
}

} // namespace
