// SPDX-License-Identifier: Apache-2.0
#include "base/ring_queue.hpp"

#include <deque>
#include <gtest/gtest.h>
#include <random>

using onesea::ring_queue;

TEST(ring_queue, behaves_like_a_deque_under_random_use)
{
    ring_queue<int> queue;
    std::deque<int> model;
    std::mt19937 random(7);
    for (int i = 0; i < 100'000; ++i) {
        switch (random() % 7) {
        case 0:
        case 1:
            queue.push_back(i);
            model.push_back(i);
            break;
        case 2:
            queue.push_front(i);
            model.push_front(i);
            break;
        case 3:
            if (!model.empty()) queue.pop_front(), model.pop_front();
            break;
        case 4:
            if (!model.empty()) queue.pop_back(), model.pop_back();
            break;
        case 5:
            if (!model.empty()) {
                const std::size_t at = random() % model.size();
                queue.erase(at);
                model.erase(model.begin() + std::ptrdiff_t(at));
            }
            break;
        default:
            if (random() % 1000 == 0) queue.clear(), model.clear();
            if (random() % 100 == 0) queue.release();
        }
        ASSERT_EQ(queue.size(), model.size());
        if (model.empty()) continue;
        ASSERT_EQ(queue.front(), model.front());
        ASSERT_EQ(queue.back(), model.back());
        std::size_t at = random() % model.size();
        ASSERT_EQ(queue[at], model[at]);
    }
}

TEST(ring_queue, lets_go_of_what_it_gives_out)
{
    ring_queue<std::shared_ptr<int>> queue;
    auto value = std::make_shared<int>(1);
    for (int i = 0; i < 5; ++i) queue.push_back(value);
    queue.pop_front();
    queue.pop_back();
    EXPECT_EQ(value.use_count(), 4);
    queue.clear();
    EXPECT_EQ(value.use_count(), 1);
}
