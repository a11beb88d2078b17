// SPDX-License-Identifier: Apache-2.0
#include "core/internal.hpp"

#include <gtest/gtest.h>

namespace onesea::core {
namespace {

TEST(waits, name_a_few_ranks)
{
    EXPECT_EQ(ranks_text({3}), "rank 3");
    EXPECT_EQ(ranks_text({5, 3}), "ranks 3, 5");
    EXPECT_EQ(ranks_text({5, 3, 9}), "ranks 3, 5, 9");
    EXPECT_EQ(ranks_text({5, 3, 9, 12, 10}), "ranks 3, 5, 9 and 2 more");
}

TEST(waits, count_in_words)
{
    EXPECT_EQ(counted(1, "receive"), "1 receive");
    EXPECT_EQ(counted(2, "receive"), "2 receives");
}

} // namespace
} // namespace onesea::core
