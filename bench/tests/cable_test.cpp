// SPDX-License-Identifier: Apache-2.0
#include "driver/cable.hpp"

#include <gtest/gtest.h>

using namespace bench;

TEST(cable, names_tell_whose_they_are)
{
    EXPECT_EQ(cable_owner("seabench12a"), 12);
    EXPECT_EQ(cable_owner("seabench4194304b"), 4194304);
}

TEST(cable, names_of_others_have_no_owner)
{
    for (const char *name : {"", "seabench", "seabencha", "seabench12", "seabench12c", "seabench-1a", "seabench0a",
                             "seabench12xa", "xseabench12a", "seabench99999999999a", "seabench 1a", "onesea-loss-12"})
        EXPECT_FALSE(cable_owner(name).has_value()) << name;
}
