// SPDX-License-Identifier: Apache-2.0
#include "core/engine.hpp"
#include "core/job_of_one.hpp"
#include "onesea.h"

#include <atomic>
#include <gtest/gtest.h>

TEST_F(JobOfOne, a_raw_space_that_somebody_copies_from_for_long_is_closed_with_a_word_on_who_does)
{
    auto &e = onesea::core::engine();
    std::atomic<std::uint32_t> &pins = e.arena.ring(e.slot, e.slot).pins;
    ASSERT_EQ(sea_raw_open(), SEA_OK);
    ++pins; // as one that copies
    const double before = sea_timeout();
    sea_set_timeout(0.02);
    EXPECT_EQ(sea_raw_close(), SEA_ERR_TIMEOUT);
    EXPECT_STREQ(sea_last_error(), "sea_raw_close: rank 0 still reads or writes there: the time given has passed");
    sea_set_timeout(before);
    --pins;
    EXPECT_EQ(sea_raw_close(), SEA_OK);
}
