// SPDX-License-Identifier: Apache-2.0
#include "agent/hosts.hpp"

#include <gtest/gtest.h>

namespace onesea::agent {
namespace {

std::string refused(std::string_view file)
{
    try {
        parse_hostfile(file, "hosts.txt");
    } catch (const request_error &e) {
        return e.what();
    }
    return "accepted";
}

TEST(host_list, names_and_slots)
{
    auto hosts = parse_host_list("a:2,b,[fe80::1]:4,::1,user@c:3");
    ASSERT_EQ(hosts.size(), 5u);
    EXPECT_EQ(hosts[0].name, "a");
    EXPECT_EQ(hosts[0].slots, 2u);
    EXPECT_EQ(hosts[1].slots, 0u);
    EXPECT_EQ(hosts[2].name, "fe80::1");
    EXPECT_EQ(hosts[2].slots, 4u);
    EXPECT_EQ(hosts[3].name, "::1");
    EXPECT_EQ(hosts[4].name, "user@c");
}

TEST(host_list, wrong_entries_are_errors)
{
    for (const char *wrong :
         {"", "a,,b", "a:", "a:0", "a:x", "a:-1", "-oProxyCommand=x", "a;b", "a b", "[::1", "[::1]x", "a:99999"})
        EXPECT_THROW(parse_host_list(wrong), request_error) << wrong;
}

TEST(hostfile, all_ways_to_give_slots)
{
    auto hosts = parse_hostfile("# machines\nalpha slots=4\nbeta:2   # fast one\n\n  gamma\r\nalpha\ngamma\n", "f");
    ASSERT_EQ(hosts.size(), 3u);
    EXPECT_EQ(hosts[0].slots, 5u);
    EXPECT_EQ(hosts[1].slots, 2u);
    EXPECT_EQ(hosts[2].name, "gamma");
    EXPECT_EQ(hosts[2].slots, 2u);
}

TEST(hostfile, wrong_line_is_named_with_file_and_number)
{
    EXPECT_NE(refused("a\nb slot=3\n").find("hosts.txt:2: 'slot=3'"), std::string::npos);
    EXPECT_NE(refused("a\n\n#x\nb slots=0\n").find("hosts.txt:4: '0'"), std::string::npos);
    EXPECT_NE(refused("a:2 slots=3").find("twice"), std::string::npos);
    EXPECT_NE(refused("a b c").find("'b c'"), std::string::npos);
    EXPECT_NE(refused("-a").find("hosts.txt:1"), std::string::npos);
    EXPECT_NE(refused("a\xff"
                      "b")
                  .find("'a.b' is not a host name"),
              std::string::npos);
    EXPECT_NE(refused("a\xc2\x9b"
                      "b")
                  .find("'a..b' is not a host name"),
              std::string::npos);
    EXPECT_NE(refused("a\x1b[2J").find("'a.[2J' is not a host name"), std::string::npos);
    EXPECT_NE(refused("# nothing\n").find("no host"), std::string::npos);
}

TEST(hostfile, missing_file_is_named)
{
    try {
        read_hostfile("/nonexistent/hosts");
        FAIL();
    } catch (const request_error &e) {
        EXPECT_NE(std::string(e.what()).find("/nonexistent/hosts"), std::string::npos);
    }
}

} // namespace
} // namespace onesea::agent
