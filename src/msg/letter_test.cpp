// SPDX-License-Identifier: Apache-2.0
#include "msg/letter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

using onesea::msg::request;

namespace {

using requests = std::vector<std::unique_ptr<request>>;

requests make(std::size_t n)
{
    requests all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(std::make_unique<request>());
    return all;
}

std::size_t keeps() // none where the sanitizer looks for uses of deleted ones
{
    std::size_t kept = 0;
    std::thread([&] {
        make(1);
        kept = request::spare();
    }).join();
    return kept;
}

TEST(letter, a_thread_keeps_a_bounded_number_of_its_deleted_requests)
{
    std::thread([] {
        EXPECT_EQ(request::spare(), 0u);
        make(10);
        EXPECT_EQ(request::spare(), 10 * keeps());
        make(request::most_spare + 100);
        EXPECT_EQ(request::spare(), request::most_spare * keeps());
        requests some = make(3);
        EXPECT_EQ(request::spare(), (request::most_spare - 3) * keeps());
    }).join();
}

TEST(letter, a_request_made_of_a_deleted_one_is_as_new)
{
    for (int i = 0; i < 3; ++i) {
        auto r = std::make_unique<request>();
        EXPECT_FALSE(r->waiting || r->may_sleep || r->ordered);
        EXPECT_EQ(r->operation, 0u);
        EXPECT_EQ(r->bytes, 0u);
        EXPECT_EQ(r->state.load(), request::phase::waiting);
        r->waiting = r->may_sleep = r->ordered = true;
        r->operation = r->bytes = 7;
        r->state = request::phase::done;
    }
}

TEST(letter, a_request_may_be_deleted_by_another_thread_or_after_its_thread_has_ended)
{
    requests all;
    std::thread([&] { all = make(request::most_spare * 2); }).join();
    std::thread([&] { all.clear(); }).join();
    EXPECT_TRUE(all.empty());
    std::thread([&] { all = make(5); }).join();
    all.clear();
    EXPECT_LE(request::spare(), request::most_spare);
}

} // namespace
