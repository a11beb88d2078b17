// SPDX-License-Identifier: Apache-2.0
#include "../src/requests.hpp"

#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

namespace mmp {
namespace {

TEST(mmp_requests, numbers_are_found_until_they_are_retired)
{
    request_table table;
    request *r = table.take();
    ASSERT_NE(r, nullptr);
    const MP_request number = request_table::number_of(*r);
    EXPECT_NE(number, MP_REQUEST_NULL);
    EXPECT_EQ(table.find(number), r);
    EXPECT_TRUE(table.retire(*r, number));
    EXPECT_EQ(table.find(number), nullptr);
    EXPECT_FALSE(table.retire(*r, number));
}

TEST(mmp_requests, a_place_that_is_used_again_has_another_number)
{
    request_table table;
    std::set<MP_request> seen;
    for (int i = 0; i < 1000; ++i) {
        request *r = table.take();
        const MP_request number = request_table::number_of(*r);
        EXPECT_TRUE(seen.insert(number).second);
        EXPECT_TRUE(table.retire(*r, number));
    }
    for (MP_request old : seen) EXPECT_EQ(table.find(old), nullptr);
}

TEST(mmp_requests, many_are_open_at_once)
{
    request_table table;
    std::vector<request *> open;
    for (int i = 0; i < 5000; ++i) {
        open.push_back(table.take());
        ASSERT_NE(open.back(), nullptr);
    }
    for (request *r : open) EXPECT_EQ(table.find(request_table::number_of(*r)), r);
}

TEST(mmp_requests, numbers_that_were_never_given_out_are_not_found)
{
    request_table table;
    const MP_request number = request_table::number_of(*table.take());
    for (MP_request forged : {MP_REQUEST_NULL, number + 1, number + 5000, number + (MP_request(2) << 32),
                              ~MP_request(0), number & ~(MP_request(1) << 32)})
        EXPECT_EQ(table.find(forged), nullptr) << forged;
}

TEST(mmp_requests, an_operation_is_that_of_its_request_or_none)
{
    request_table table;
    std::atomic<MP_request> latest = MP_REQUEST_NULL;
    std::atomic<bool> stop = false;
    std::atomic<long> wrong = 0;
    const auto look = [&] {
        while (!stop) {
            const MP_request number = latest;
            request *r = table.find(number);
            sea_op op = SEA_OP_NONE;
            if (r != nullptr && table.operation_of(*r, number, &op) && op != number) ++wrong;
        }
    };
    std::thread one(look), two(look);
    for (int i = 0; i < 1'000'000; ++i) {
        request *r = table.take();
        const MP_request number = request_table::number_of(*r);
        r->op.store(number, std::memory_order_release); // any number does here
        latest = number;
        table.retire(*r, number);
    }
    stop = true;
    one.join();
    two.join();
    EXPECT_EQ(wrong, 0);
}

TEST(mmp_requests, of_threads_that_retire_one_place_only_one_does)
{
    request_table table;
    for (int round = 0; round < 200; ++round) {
        request *r = table.take();
        const MP_request number = request_table::number_of(*r);
        std::atomic<int> done = 0;
        const auto retire = [&] { done += table.retire(*r, number) ? 1 : 0; };
        std::thread one(retire), two(retire);
        one.join();
        two.join();
        EXPECT_EQ(done, 1);
    }
}

} // namespace
} // namespace mmp
