// SPDX-License-Identifier: Apache-2.0
// Profiles that a job loads.
#include "command.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace job_test {
namespace {

constexpr const char *whole = R"({"onesea_profile": 1, "shm": {"window": 65536}, "loopback": {"fragment": 20000}})";

TEST(run_profile, reaches_the_ranks_of_every_node)
{
    scratch s;
    const auto file = s.write("p.json", whole);
    auto o = onesea({"run", "-n", "4", "--nodes", "2", "--profile", file, ONESEA_COUNTED, "3", "70000"}, "",
                    {"ONESEA_LOG=info"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_NE(o.err.find("profile " + file), std::string::npos) << o.err;
    for (const char *rank : {"onesea[0]", "onesea[2]"}) {
        EXPECT_NE(
            o.err.find(fmt::format("{} info: shm: fragment 8160, eager 8192, eager_message 8192, window 65536", rank)),
            std::string::npos)
            << o.err;
        EXPECT_NE(o.err.find(fmt::format("{} info: loopback: fragment 20000, ", rank)), std::string::npos) << o.err;
    }
}

TEST(run_profile, is_one_per_node_if_it_is_given_again)
{
    scratch s;
    const auto file = s.write("p.json", whole);
    auto o =
        onesea({"run", "-n", "3", "--nodes", "3", "--profile", "none", "--profile", file, ONESEA_COUNTED, "3", "70000"},
               "", {"ONESEA_LOG=info"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_NE(o.err.find("onesea[0] info: loopback: fragment 65000"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("onesea[1] info: loopback: fragment 20000"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("onesea[2] info: loopback: fragment 20000"), std::string::npos) << o.err;
}

TEST(run_profile, a_job_got_no_longer_fragments_than_its_rings_take)
{
    scratch s;
    const auto file = s.write("p.json", R"({"onesea_profile": 1, "shm": {"window": 16384}})");
    auto o = onesea({"run", "-n", "2", "--profile", file, ONESEA_COUNTED, "3", "70000"}, "", {"ONESEA_LOG=info"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_NE(o.err.find("info: shm: fragment 4064, "), std::string::npos) << o.err;
}

TEST(run_profile, of_the_user_is_found_and_can_be_left_out)
{
    scratch s;
    const auto folder = s.path("");
    auto o = onesea({"run", "true"}, "", {"ONESEA_LOG=info", "XDG_CONFIG_HOME=" + folder});
    EXPECT_NE(o.err.find("profile none: the defaults"), std::string::npos) << o.err;
    s.write("onesea/profile.json", R"({"onesea_profile": 1, "shm": {"windw": 1}})");
    o = onesea({"run", "true"}, "", {"XDG_CONFIG_HOME=" + folder});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(
        o.err.find("onesea/profile.json': 'shm.windw' is unknown; shm has fragment, eager, eager_message, window"),
        std::string::npos)
        << o.err;
    EXPECT_EQ(onesea({"run", "--profile", "none", "true"}, "", {"XDG_CONFIG_HOME=" + folder}).status, 0);
    o = onesea({"doctor"}, "", {"XDG_CONFIG_HOME=" + folder});
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.out.find("'shm.windw' is unknown"), std::string::npos) << o.out;
    EXPECT_EQ(onesea({"run", "--profile", s.path("absent"), "true"}).status, 125);
}

TEST(run_profile, is_shown_by_doctor)
{
    scratch s;
    s.write("onesea/profile.json", whole);
    auto o = onesea({"doctor"}, "", {"XDG_CONFIG_HOME=" + s.path("")});
    EXPECT_NE(o.out.find("/onesea/profile.json"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("window 65536\n"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("window 1572864 (the defaults)"), std::string::npos) << "ethernet: " << o.out;
}

} // namespace
} // namespace job_test
