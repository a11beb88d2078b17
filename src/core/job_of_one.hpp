// SPDX-License-Identifier: Apache-2.0
// For tests of core that need a running library. All of them are one suite, since a process can be in one job only.
#pragma once

#include "onesea.h"

#include <gtest/gtest.h>

class JobOfOne : public testing::Test {
  protected:
    static void SetUpTestSuite() { ASSERT_EQ(sea_init(nullptr), SEA_OK); }
    static void TearDownTestSuite() { EXPECT_EQ(sea_finalize(), SEA_OK); }
};
