// SPDX-License-Identifier: Apache-2.0
// What --timeout tells of a job that has not ended: who waits for whom, and who does not wait.
#include "command.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <regex>
#include <string>
#include <vector>

namespace job_test {
namespace {

void expect_line(const outcome &o, const std::string &pattern)
{
    EXPECT_TRUE(std::regex_search(o.err, std::regex("onesea:   " + pattern + "\n"))) << pattern << " in\n" << o.err;
}

int occurrences(const std::string &text, const std::string &what)
{
    int n = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
}

// On a slow machine ranks may not have come to their waits when the time is up, or not answer soon: then they get more.
outcome run_until(std::vector<std::string> words, int waiting, int silent)
{
    words.insert(words.begin(), {"run", "--timeout", "2"});
    outcome o;
    for (const char *limit : {"2", "6", "20"}) {
        words[2] = limit;
        command c(words);
        o = c.wait();
        EXPECT_EQ(o.status, 124);
        EXPECT_TRUE(c.nothing_left());
        if (occurrences(o.err, "has waited") == waiting && occurrences(o.err, "does not answer") == silent) break;
    }
    return o;
}

const std::string waited = "has waited for [0-9]+\\.[0-9] s: ";

TEST(run_waits, a_time_limit_tells_what_each_rank_waits_for)
{
    for (const char *nodes : {"1", "8"}) {
        const auto o = run_until({"-n", "8", "--nodes", nodes, ONESEA_WAITING}, 5, 1);
        expect_line(o, "rank 0 on localhost " + waited + "1 receive from any rank with tag 5");
        expect_line(o, "rank 1 on localhost " + waited + "3 receives, the first from rank 0 with tag 7");
        expect_line(o, "rank 2 on localhost " + waited + "1 message unreceived to rank 0");
        expect_line(o, "rank 3 on localhost " + waited + "a collective, for rank [0-9]+.*");
        expect_line(o, "rank 4 on localhost " + waited + "a counter, a flag or a handler");
        expect_line(o, "rank 5 on localhost does not wait");
        expect_line(o, "rank 6 on localhost does not answer");
        expect_line(o, "rank 7 on localhost has not called sea_init\\(\\)");
        EXPECT_LT(o.err.find("rank 6 on"), o.err.find("rank 5 on"));
        EXPECT_LT(o.err.find("rank 5 on"), o.err.find("rank 0 on"));
    }
}

TEST(run_waits, who_has_left_waits_for_those_who_have_not)
{
    for (const char *nodes : {"1", "3"}) {
        const auto o = run_until({"-n", "3", "--nodes", nodes, ONESEA_WAITING, "leave"}, 2, 0);
        expect_line(o, "rank 0 on localhost " + waited + "sea_finalize\\(\\) of all other ranks");
        expect_line(o, "rank 1 on localhost does not wait");
        expect_line(o, "rank 2 on localhost " + waited + "sea_finalize\\(\\) of all other ranks");
    }
}

TEST(run_waits, a_time_limit_of_a_large_job_tells_of_some)
{
    const auto o = onesea({"run", "-n", "20", "--timeout", "1", "sleep", "30"});
    EXPECT_EQ(o.status, 124);
    expect_line(o, "rank 0 on localhost has not called sea_init\\(\\)");
    expect_line(o, "and 4 more ranks");
}

TEST(run_waits, so_does_ctrl_backslash_before_it_ends_the_job)
{
    command c({"run", "-n", "2", "--nodes", "2", "sh", "-c", "echo up; exec sleep 300"});
    ASSERT_TRUE(c.wait_for("up\nup\n"));
    c.send(SIGQUIT);
    const auto o = c.wait();
    EXPECT_EQ(o.status, 128 + SIGQUIT);
    expect_line(o, "rank 0 on localhost has not called sea_init\\(\\)");
    expect_line(o, "rank 1 on localhost has not called sea_init\\(\\)");
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_waits, nothing_is_told_where_remarks_are_not_wanted)
{
    const auto o = onesea({"run", "-n", "2", "--quiet", "--timeout", "1", "sleep", "30"});
    EXPECT_EQ(o.status, 124);
    EXPECT_EQ(o.err.find("sea_init"), std::string::npos) << o.err;
}

} // namespace
} // namespace job_test
