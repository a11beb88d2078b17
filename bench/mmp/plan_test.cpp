// SPDX-License-Identifier: Apache-2.0
#include "mmp/plan.hpp"

#include <algorithm>
#include <gtest/gtest.h>

using namespace bench;

namespace {

TEST(mmp_plan, measures_every_case_on_the_paths_that_need_no_root)
{
    for (const auto &name : mmp_case_names()) {
        options o;
        o.cases = {name};
        std::size_t n = groups_of(o).size() + npb_groups_of(o).size();
        EXPECT_EQ(n, name == "fragment" ? 1u : 2u) << name;
        o.paths = {"cable"};
        n = groups_of(o).size() + npb_groups_of(o).size();
        EXPECT_EQ(n, 1u) << name;
    }
    EXPECT_EQ(groups_of({}).size(), 7u);
}

TEST(mmp_plan, quick_leaves_out_class_a_unless_it_is_named)
{
    options o;
    o.quick = true;
    for (const auto &g : npb_groups_of(o)) EXPECT_EQ(g.problem(), "S") << g.name;
    EXPECT_EQ(npb_groups_of(o).size(), 2u);
    o.cases = {"is_a"};
    ASSERT_FALSE(npb_groups_of(o).empty());
    EXPECT_EQ(npb_groups_of(o)[0].kernel(), "is");
    EXPECT_EQ(npb_groups_of(o)[0].problem(), "A");
}

TEST(mmp_plan, compares_with_a_floor_of_the_same_path)
{
    const mmp_group net{"pingpong", "net", {}}, shm{"pingpong", "shm", {}}, stream{"stream", "cable", {}};
    EXPECT_EQ(net.floor_for(4), "udp_pingpong");
    EXPECT_EQ(net.floor_for(1 << 20), "") << "more than a datagram";
    EXPECT_EQ(shm.floor_for(1 << 20), "memory_pingpong");
    EXPECT_EQ(stream.floor_for(64), "udp_stream_gso");
}

TEST(mmp_plan, tries_the_tuned_fragment_among_others)
{
    for (const char *path : {"net", "cable"})
        for (bool quick : {false, true}) {
            const auto all = fragment_lengths(path, quick, 12345);
            EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
            EXPECT_EQ(std::count(all.begin(), all.end(), 12345u), 1);
            EXPECT_GE(all.size(), 4u);
        }
    EXPECT_EQ(fragment_lengths("net", true, 65000).size(), 3u) << "none twice";
}

} // namespace
