// SPDX-License-Identifier: Apache-2.0
#include "../src/space.hpp"

#include "../include/dsm.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

namespace {

using dsm::access;

constexpr std::uint64_t largest = ~std::uint64_t{0};

bool words_have(const std::string &text) { return std::string(dsm_last_error()).find(text) != std::string::npos; }

TEST(dsm_space, is_the_sum_of_its_parts)
{
    const dsm::space s({100, 0, 7});
    EXPECT_EQ(s.total(), 107u);
    EXPECT_EQ(s.nodes(), 3);
    EXPECT_EQ(s.size_of(2), 7u);
}

TEST(dsm_space, what_lies_inside_a_part_is_allowed)
{
    const dsm::space s({100, 0, 7});
    for (access kind : {access::read, access::write, access::write_b, access::update}) {
        EXPECT_EQ(s.check(kind, 0, 0, 100), DSM_OK);
        EXPECT_EQ(s.check(kind, 0, 99, 1), DSM_OK);
        EXPECT_EQ(s.check(kind, 2, 6, 1), DSM_OK);
        EXPECT_EQ(s.check(kind, 1, 0, 0), DSM_OK);
        EXPECT_EQ(s.check(kind, 0, 100, 0), DSM_OK);
    }
}

TEST(dsm_space, a_range_outside_names_node_address_and_length)
{
    const dsm::space s({100, 0, 7});
    EXPECT_EQ(s.check(access::read, 0, 95, 6), DSM_ERR_RANGE);
    EXPECT_TRUE(words_have("READ at node 0, address 95, length 6")) << dsm_last_error();
    EXPECT_EQ(s.check(access::write, 1, 0, 1), DSM_ERR_RANGE);
    EXPECT_TRUE(words_have("WRITE at node 1, address 0, length 1")) << dsm_last_error();
    EXPECT_EQ(s.check(access::write_b, 2, 101, 0), DSM_ERR_RANGE);
    EXPECT_EQ(s.check(access::update, 2, 0, 8), DSM_ERR_RANGE);
}

TEST(dsm_space, sums_that_wrap_around_are_outside)
{
    const dsm::space s({100});
    EXPECT_EQ(s.check(access::read, 0, largest, 1), DSM_ERR_RANGE);
    EXPECT_EQ(s.check(access::read, 0, largest, largest), DSM_ERR_RANGE);
    EXPECT_EQ(s.check(access::read, 0, 50, largest - 20), DSM_ERR_RANGE);
    EXPECT_EQ(s.check(access::read, 0, 1, largest), DSM_ERR_RANGE);
}

TEST(dsm_space, a_node_that_is_not_there_is_named)
{
    const dsm::space s({100, 100});
    for (int node : {-1, 2, 1 << 30, -2147483647 - 1}) {
        EXPECT_EQ(s.check(access::read, node, 4, 8), DSM_ERR_NODE);
        EXPECT_TRUE(words_have("node " + std::to_string(node) + ", address 4, length 8")) << dsm_last_error();
    }
}

TEST(dsm_space, read_only_bytes_are_read_and_not_written)
{
    dsm::space s({100, 100});
    s.protect(1, 20, 10, true);
    EXPECT_EQ(s.check(access::read, 1, 20, 10), DSM_OK);
    EXPECT_EQ(s.check(access::write, 0, 20, 10), DSM_OK);
    for (access kind : {access::write, access::write_b, access::update}) {
        EXPECT_EQ(s.check(kind, 1, 20, 10), DSM_ERR_READ_ONLY);
        EXPECT_EQ(s.check(kind, 1, 0, 100), DSM_ERR_READ_ONLY);
        EXPECT_EQ(s.check(kind, 1, 19, 2), DSM_ERR_READ_ONLY);
        EXPECT_EQ(s.check(kind, 1, 29, 2), DSM_ERR_READ_ONLY);
        EXPECT_EQ(s.check(kind, 1, 25, 1), DSM_ERR_READ_ONLY);
        EXPECT_TRUE(words_have("at node 1, address 25, length 1: bytes 20 to 29")) << dsm_last_error();
        EXPECT_EQ(s.check(kind, 1, 0, 20), DSM_OK);
        EXPECT_EQ(s.check(kind, 1, 30, 70), DSM_OK);
        EXPECT_EQ(s.check(kind, 1, 25, 0), DSM_OK);
    }
}

// Ranges that are set and taken back by chance, against one flag per byte.
TEST(dsm_space, the_last_word_on_a_byte_holds)
{
    constexpr std::uint64_t size = 64;
    for (unsigned seed = 1; seed <= 200; seed++) {
        std::mt19937 dice(seed);
        dsm::space s({size});
        std::vector<bool> model(size, false);
        for (int step = 0; step < 30; step++) {
            const std::uint64_t address = dice() % (size + 1), length = dice() % (size + 1 - address);
            const bool read_only = dice() % 2;
            s.protect(0, address, length, read_only);
            for (std::uint64_t i = address; i < address + length; i++) model[i] = read_only;
            for (std::uint64_t i = 0; i < size; i++)
                ASSERT_EQ(s.check(access::write, 0, i, 1), model[i] ? DSM_ERR_READ_ONLY : DSM_OK)
                    << "seed " << seed << ", step " << step << ", byte " << i;
            const std::uint64_t from = dice() % size, bytes = dice() % (size + 1 - from);
            bool any = false;
            for (std::uint64_t i = from; i < from + bytes; i++) any = any || model[i];
            ASSERT_EQ(s.check(access::write, 0, from, bytes), any ? DSM_ERR_READ_ONLY : DSM_OK) << "seed " << seed;
        }
    }
}

TEST(dsm_status, every_status_has_a_name_and_a_meaning)
{
    for (int status = DSM_ERR_BELOW; status <= DSM_OK; status++) {
        EXPECT_STRNE(dsm_status_name(status), "DSM_ERR_UNKNOWN") << status;
        EXPECT_STRNE(dsm_strerror(status), "unknown status") << status;
    }
    EXPECT_STREQ(dsm_status_name(-77), "DSM_ERR_UNKNOWN");
    EXPECT_STREQ(dsm_strerror(5), "unknown status");
}

} // namespace
