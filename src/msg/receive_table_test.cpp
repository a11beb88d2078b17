// SPDX-License-Identifier: Apache-2.0
#include "msg/receive_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

using onesea::msg::receive_table;
using onesea::msg::request;

namespace {

constexpr sea_op next_generation = sea_op(1) << 32;

sea_op put_one(receive_table &all)
{
    all.make_room();
    return all.put(std::make_unique<request>());
}

TEST(receive_table, what_was_put_is_found_until_it_is_taken)
{
    receive_table all;
    std::map<sea_op, request *> model;
    std::vector<sea_op> used;
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        if (random() % 100 < (i < 10'000 ? 60u : 40u)) {
            all.make_room();
            auto r = std::make_unique<request>();
            request *at = r.get();
            const sea_op handle = all.put(std::move(r));
            ASSERT_TRUE(handle & onesea::core::kept_handle);
            ASSERT_TRUE(model.emplace(handle, at).second);
        } else if (!model.empty()) {
            const auto which = std::next(model.begin(), long(random() % std::min<std::size_t>(model.size(), 50)));
            ASSERT_EQ(which->second, all.find(which->first));
            ASSERT_EQ(which->second, all.take(which->first).get());
            used.push_back(which->first);
            model.erase(which);
        }
    }
    ASSERT_FALSE(model.empty());
    for (auto [handle, at] : model) ASSERT_EQ(at, all.find(handle));
    for (sea_op handle : used) {
        ASSERT_EQ(nullptr, all.find(handle));
        ASSERT_TRUE(all.knows(handle));
        ASSERT_FALSE(model.contains(handle));
    }
}

TEST(receive_table, what_was_never_given_out_is_not_known)
{
    receive_table all;
    EXPECT_FALSE(all.knows(next_generation | onesea::core::kept_handle));
    const sea_op first = put_one(all);
    EXPECT_TRUE(all.knows(first));
    EXPECT_FALSE(all.knows(first + next_generation));
    EXPECT_FALSE(all.knows(first & 0xffffffff)); // generation 0
    EXPECT_FALSE(all.knows(first + 1));          // a place that was never used
    EXPECT_FALSE(all.knows(SEA_OP_ALL));
    EXPECT_EQ(nullptr, all.find(first + next_generation));
    EXPECT_EQ(nullptr, all.find(first + 1));
    EXPECT_EQ(nullptr, all.find(SEA_OP_ALL));
    all.take(first);
    EXPECT_TRUE(all.knows(first));
    EXPECT_FALSE(all.knows(first + next_generation));
    EXPECT_EQ(first + next_generation, put_one(all));
    EXPECT_EQ(nullptr, all.find(first));
}

TEST(receive_table, clearing_uses_up_all)
{
    receive_table all;
    const sea_op a = put_one(all), b = put_one(all);
    all.clear();
    for (sea_op handle : {a, b}) {
        EXPECT_EQ(nullptr, all.find(handle));
        EXPECT_TRUE(all.knows(handle));
    }
    const sea_op c = put_one(all);
    EXPECT_TRUE(c != a && c != b);
    EXPECT_NE(nullptr, all.find(c));
}

} // namespace
