// SPDX-License-Identifier: Apache-2.0
// Exit statuses and messages of `onesea run`.
#include "command.hpp"

#include <csignal>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace job_test {
namespace {

using words = std::vector<std::string>;

TEST(run_status, success_is_zero_and_silent)
{
    for (const char *nodes : {"1", "2", "4"}) {
        auto o = onesea({"run", "-n", "4", "--nodes", nodes, "true"});
        EXPECT_EQ(o.status, 0) << o.err;
        EXPECT_EQ(o.out + o.err, "");
    }
}

TEST(run_status, first_failing_rank_decides)
{
    for (const char *nodes : {"1", "2", "4"}) {
        auto o = onesea({"run", "-n", "4", "--nodes", nodes, "sh", "-c", "[ $ONESEA_RANK = 2 ] && exit 7; sleep 30"});
        EXPECT_EQ(o.status, 7);
        EXPECT_LT(o.seconds, 10);
        EXPECT_NE(o.err.find("rank 2 on localhost exited with status 7"), std::string::npos) << o.err;
        EXPECT_NE(o.err.find("3 other ranks were ended by the launcher"), std::string::npos) << o.err;
    }
}

TEST(run_status, a_signal_is_128_and_its_number)
{
    auto o = onesea({"run", "-n", "2", "sh", "-c", "[ $ONESEA_RANK = 1 ] && kill -SEGV $$; sleep 30"});
    EXPECT_EQ(o.status, 128 + SIGSEGV);
    EXPECT_NE(o.err.find("killed by signal 11 (Segmentation fault"), std::string::npos) << o.err;
}

TEST(run_status, a_handler_that_throws_ends_its_process)
{
    for (const char *nodes : {"1", "2"})
        for (const std::string where : {"header", "completion", "data", "error", "death"}) {
            auto o = onesea({"run", "-n", "2", "--nodes", nodes, "--timeout", "30", "--on-death",
                             where == "death" ? "continue" : "kill", ONESEA_THROWING, where});
            EXPECT_EQ(o.status, where == "death" ? 7 : 128 + SIGABRT) << where << ": " << o.err;
            EXPECT_NE(o.err.find("thrown by a "), std::string::npos) << where << ": " << o.err;
            if (where == "death") continue; // where the rank that ended first is named
            EXPECT_NE(o.err.find("rank 1 on localhost was killed by signal 6"), std::string::npos) << o.err;
        }
}

TEST(run_status, a_failure_ends_ranks_that_ignore_sigterm_within_a_second)
{
    command c({"run", "-n", "3", "--nodes", "2", "sh", "-c",
               "trap '' TERM; [ $ONESEA_RANK = 0 ] && { sleep 1; exit 3; }; while :; do sleep 5; done"});
    auto o = c.wait();
    EXPECT_EQ(o.status, 3);
    EXPECT_LT(o.seconds, 4);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_status, with_continue_the_others_go_on)
{
    auto o = onesea({"run", "-n", "3", "--on-death", "continue", "sh", "-c",
                     "[ $ONESEA_RANK = 1 ] && exit 9; sleep 0.5; echo alive $ONESEA_RANK"});
    EXPECT_EQ(o.status, 9);
    EXPECT_NE(o.out.find("alive 0\n"), std::string::npos);
    EXPECT_NE(o.out.find("alive 2\n"), std::string::npos);
}

TEST(run_status, time_limit_is_124)
{
    auto o = onesea({"run", "-n", "2", "--nodes", "2", "--timeout", "0.5", "sleep", "30"});
    EXPECT_EQ(o.status, 124);
    EXPECT_LT(o.seconds, 10);
    EXPECT_NE(o.err.find("time limit of 0.5 s"), std::string::npos) << o.err;
}

TEST(run_status, missing_program_is_127_and_nothing_starts)
{
    scratch s;
    auto o = onesea({"run", "touch", s.path("started"), ":", "surely-not-there"});
    EXPECT_EQ(o.status, 127);
    EXPECT_EQ(o.err, "onesea: program 'surely-not-there' not found\n");
    EXPECT_EQ(access(s.path("started").c_str(), F_OK), -1);
    o = onesea({"run", "-n", "4", "--nodes", "4", "./surely-not-there"});
    EXPECT_EQ(o.status, 127);
    EXPECT_EQ(o.err, "onesea: program './surely-not-there' not found\n") << "one message for all nodes";
}

TEST(run_status, program_that_cannot_be_executed_is_126)
{
    scratch s;
    EXPECT_EQ(onesea({"run", s.write("plain", "text")}).status, 126);
    EXPECT_EQ(onesea({"run", "/tmp"}).status, 126);
    auto o = onesea({"run", s.write("badline", "#!/nonexistent/shell\n", true)});
    EXPECT_EQ(o.status, 126);
    EXPECT_NE(o.err.find("badline"), std::string::npos);
}

TEST(run_status, script_without_first_line_is_run_by_the_shell)
{
    scratch s;
    auto o = onesea({"run", s.write("script", "echo from $1\n", true), "shell"});
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.out, "from shell\n");
}

TEST(run_status, wrong_requests_are_125_and_name_the_thing)
{
    scratch s;
    std::string hosts = s.write("hosts", "localhost slots=2\nb slots=x\n");
    const std::pair<words, std::string> cases[] = {
        {{"run", "-N", "2", "true"}, "--nodes M"},
        {{"run", "--bogus", "true"}, "--bogus"},
        {{"run", "-n", "0", "true"}, "0"},
        {{"run", "-n", "2"}, "no program"},
        {{"run", "--hostfile", hosts, "true"}, "hosts:2: 'x'"},
        {{"run", "--hostfile", "/nonexistent/h", "true"}, "/nonexistent/h"},
        {{"run", "-n", "5", "--host", "localhost:2", "true"}, "5 ranks do not fit in the 2 slots"},
        {{"run", "-n", "5", "--nodes", "2", "--ppn", "2", "true"}, "--ppn 2"},
        {{"run", "-w", "/nonexistent/dir", "true"}, "/nonexistent/dir"},
        {{"run", "--iface", "nosuch0", "-n", "2", "--nodes", "2", "true"}, "'nosuch0'"},
        {{"run", "--transport", "shm", "-n", "2", "--nodes", "2", "true"}, "--transport shm"},
        {{"run", "--transport", "pigeon", "true"}, "pigeon"},
        {{"run", "--heap", "many", "true"}, "'many'"},
        {{"run", "--env-file", s.write("env", "A=1\nB\n"), "true"}, "env:2"},
        {{"run", "-x", "NOT_SET_ANYWHERE_HERE", "true"}, "NOT_SET_ANYWHERE_HERE"},
        {{"run", "--output", "/proc/nothing/here", "true"}, "/proc/nothing/here"},
        {{"walk"}, "'walk'"},
    };
    for (const auto &[line, text] : cases) {
        auto o = onesea(line);
        EXPECT_EQ(o.status, 125) << fmt::format("{}", fmt::join(line, " "));
        EXPECT_NE(o.err.find(text), std::string::npos) << o.err;
        EXPECT_EQ(o.out, "");
    }
}

TEST(run_status, a_host_without_answer_is_125_with_the_shells_own_words)
{
    scratch s;
    std::string shell = s.write("rsh", "#!/bin/sh\necho \"no way to $1\" >&2\nexit 255\n", true);
    auto o = onesea({"run", "-n", "2", "--host", "far-a,far-b", "true"}, "", {"ONESEA_RSH=" + shell});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("host far-a: cannot be reached: no way to far-a"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("host far-b: cannot be reached: no way to far-b"), std::string::npos) << o.err;
}

TEST(run_status, a_talking_login_shell_is_told_apart)
{
    scratch s;
    std::string shell = s.write("rsh", "#!/bin/sh\necho 'Welcome, friend'\nsleep 1\n", true);
    auto o = onesea({"run", "--host", "far-a", "true"}, "", {"ONESEA_RSH=" + shell});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("Welcome, friend"), std::string::npos) << o.err;
}

// A job of two ranks, the second on another host. Its agent is a real one; the shell says something in between.
outcome run_beside(const std::string &head, const std::vector<std::string> &options)
{
    scratch s;
    const std::string own = ONESEA_COMMAND, prefix = own.substr(0, own.rfind("/bin/"));
    const std::string said = fmt::format("SEA1\\{:03o}\\0\\0\\0\\0\\0\\0\\0%s", head.size());
    const std::string shell = s.write("shell",
                                      "#!/bin/sh\nexec 3<&0\nshift\nsh -c \"$1\" <&3 &\nsleep 0.7\nprintf '" + said +
                                          "' '" + head + "'\nwait\n",
                                      true);
    std::vector<std::string> line{"run", "--host", "localhost,far.invalid", "--prefix", prefix, "-n", "2"};
    line.insert(line.begin() + 1, options.begin(), options.end());
    line.insert(line.end(), {"sh", "-c", "sleep 1.5; echo $ONESEA_RANK goes on"});
    return onesea(line, "", {"ONESEA_RSH=" + shell, "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 2"});
}

TEST(run_status, an_agent_that_speaks_of_what_is_not_its_own_loses_its_ranks_alone)
{
    const struct {
        std::string head, told;
    } cases[] = {
        {R"({"type":"taken","slot":99,"bytes":1})", "it spoke of a slot 99 that node 1 does not have"},
        {R"({"type":"exit","rank":0})", "it spoke of rank 0, which is not on node 1"},
        {R"({"type":"output","rank":5,"stream":1})", "it spoke of rank 5, which is not on node 1"},
        {R"({"type":"hullo"})", "it said 'hullo', which no agent says"},
        {R"({"type":"\u001b[2J\nonesea: all is well"})", "it said '.[2J.onesea: all is well', which no agent says"},
    };
    for (const auto &c : cases) {
        auto o = run_beside(c.head, {"--on-death", "continue"});
        EXPECT_EQ(o.status, 137) << o.err;
        EXPECT_EQ(o.out, "0 goes on\n");
        EXPECT_NE(o.err.find(c.told), o.err.npos) << o.err;
    }
}

TEST(run_status, what_an_agent_says_is_one_line_on_the_terminal)
{
    auto o = run_beside(R"({"type":"warning","text":"x\u001b[2J\nonesea: rank 0 failed"})", {});
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.err, "onesea: far.invalid: x.[2J.onesea: rank 0 failed\n");
}

TEST(run_status, an_agent_that_fails_with_the_status_0_is_no_success)
{
    auto o = run_beside(R"({"type":"failed","text":"no more","code":0})", {});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("host far.invalid: no more\n"), o.err.npos) << o.err;
}

TEST(run_status, a_host_that_says_nothing_at_the_start_is_the_only_one_that_is_named)
{
    scratch s;
    const std::string shell = s.write("silent", "#!/bin/sh\nexec sleep 300\n", true);
    auto o = onesea({"run", "-n", "2", "--host", "localhost,far.invalid", "true"}, "", {"ONESEA_RSH=" + shell});
    EXPECT_EQ(o.status, 125);
    EXPECT_EQ(o.err, "onesea: host far.invalid: it did not answer within 30 s\n");
}

TEST(run_status, what_a_file_names_is_one_line_on_the_terminal)
{
    scratch s;
    auto o = onesea({"run", "--hostfile", s.write("hosts", "here\n\x1b[2J\n"), "true"});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("hosts:2: '.[2J' is not a host name"), o.err.npos) << o.err;
    o = onesea({"run", "--profile", s.write("p.json", "{\"a\\u001b[2J\\nb\":1}"), "true"});
    EXPECT_EQ(o.status, 125);
    EXPECT_EQ(o.err.find('\x1b'), o.err.npos) << o.err;
    EXPECT_EQ(o.err.find('\n'), o.err.size() - 1) << o.err;
}

TEST(run_status, many_ranks_start_and_end)
{
    EXPECT_EQ(onesea({"run", "-n", "64", "true"}).status, 0);
    EXPECT_EQ(onesea({"run", "-n", "64", "--nodes", "4", "true"}).status, 0);
    auto o = onesea({"run", "-n", "256", "sh", "-c", "echo x"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out.size(), 512u);
}

TEST(run_status, too_few_descriptors_for_the_agents_are_told_of)
{
    scratch s;
    const std::string few =
        s.write("few.sh", std::string("ulimit -n 20; exec ") + ONESEA_COMMAND + " run --nodes 30 -n 30 sleep 60\n");
    auto o = onesea({"run", "-n", "1", "sh", few});
    EXPECT_EQ(o.status, 125);
    EXPECT_EQ(o.err.rfind("onesea: there is no line to an agent on localhost: Too many open files (raise", 0), 0u)
        << o.err;
}

TEST(run_status, too_few_descriptors_are_told_of_whatever_lacks_one)
{
    scratch s;
    const std::string few =
        s.write("few.sh", std::string("for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done\n") +
                              "ulimit -n $1; exec " + ONESEA_COMMAND + " run -n 2 --nodes 2 true\n");
    for (const char *limit : {"4", "5", "6", "7", "9", "11", "14"}) {
        auto o = onesea({"run", "sh", few, limit});
        EXPECT_EQ(o.status, 125) << limit;
        EXPECT_NE(o.err.find(": Too many open files (raise the limit of open files: ulimit -n)"), std::string::npos)
            << limit << ": " << o.err;
    }
}

} // namespace
} // namespace job_test
