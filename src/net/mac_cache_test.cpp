// SPDX-License-Identifier: Apache-2.0
// Which MACs are begun anew, counted by one that does nothing else.
#include "net/mac_cache.hpp"

#include <gtest/gtest.h>
#include <random>

using namespace onesea::net;

namespace {

struct counted {
    int set = -1, number = -1;
};

int made = 0;

void make(counted *mac, const onesea_aegis_key *key)
{
    ++made;
    *mac = {(*key)[0], (*key)[1]};
}

constexpr std::size_t sets = 8;
using cache = mac_cache<counted, make, sets>;

class mac_cache_of_eight : public testing::Test {
  protected:
    mac_cache_of_eight() { made = 0; }

    // How many were begun for it.
    int use(int set, int number)
    {
        const int before = made;
        const onesea_aegis_key key = {std::uint8_t(set), std::uint8_t(number)};
        const counted &mac = cache_.of(key);
        EXPECT_EQ(mac.set, set);
        EXPECT_EQ(mac.number, number);
        return made - before;
    }

  private:
    cache cache_;
};

} // namespace

TEST_F(mac_cache_of_eight, begins_each_of_a_full_set_once)
{
    for (int round = 0; round < 5; ++round)
        for (int number = 0; number < int(cache::ways); ++number) EXPECT_EQ(use(3, number), round == 0);
}

TEST_F(mac_cache_of_eight, gives_up_what_was_used_longest_ago)
{
    for (int number = 0; number < int(cache::ways); ++number) use(3, number);
    EXPECT_EQ(use(3, 0), 0);
    EXPECT_EQ(use(3, 9), 1); // in the place of 1
    for (int number : {0, 2, 3, 9}) EXPECT_EQ(use(3, number), 0) << number;
    EXPECT_EQ(use(3, 1), 1);
}

TEST_F(mac_cache_of_eight, keeps_sets_apart)
{
    for (int set = 0; set < int(sets); ++set)
        for (int number = 0; number < int(cache::ways); ++number) EXPECT_EQ(use(set, number), 1);
    for (int set = 0; set < int(sets); ++set)
        for (int number = 0; number < int(cache::ways); ++number) EXPECT_EQ(use(set, number), 0);
    EXPECT_EQ(use(int(sets), 0), 1); // in set 0, which is full
    EXPECT_EQ(use(1, 0), 0);
}

TEST_F(mac_cache_of_eight, gives_none_of_another_key)
{
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) use(int(random() % 256), int(random() % 8));
    EXPECT_LT(made, 20'000);
}
