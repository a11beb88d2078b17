// SPDX-License-Identifier: Apache-2.0
#include "dsm/service.hpp"

#include <gtest/gtest.h>

namespace bench {
namespace {

using clients = std::vector<dsm_service::client>;

TEST(dsm_service, a_free_lock_is_granted_at_once)
{
    dsm_service s(2);
    EXPECT_EQ(s.acquire(7, 0), clients{7});
    EXPECT_EQ(s.acquire(7, 1), clients{7});
}

TEST(dsm_service, a_lock_goes_on_in_the_order_of_asking)
{
    dsm_service s(3);
    EXPECT_EQ(s.acquire(1, 5), clients{1});
    EXPECT_EQ(s.acquire(3, 5), clients{});
    EXPECT_EQ(s.acquire(2, 5), clients{});
    EXPECT_EQ(s.release(5), clients{3});
    EXPECT_EQ(s.release(5), clients{2});
    EXPECT_EQ(s.release(5), clients{});
    EXPECT_EQ(s.acquire(4, 5), clients{4});
}

TEST(dsm_service, the_last_to_arrive_lets_all_go_again_and_again)
{
    dsm_service s(3);
    for (int round = 0; round < 3; round++) {
        EXPECT_EQ(s.arrive(10), clients{});
        EXPECT_EQ(s.arrive(30), clients{});
        EXPECT_EQ(s.arrive(20), (clients{10, 30, 20}));
    }
}

TEST(dsm_service, a_lock_that_is_not_there_throws)
{
    dsm_service s(1);
    EXPECT_THROW(s.acquire(1, dsm_locks), std::out_of_range);
    EXPECT_THROW(s.release(~std::uint64_t{0}), std::out_of_range);
}

} // namespace
} // namespace bench
