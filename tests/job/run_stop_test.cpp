// SPDX-License-Identifier: Apache-2.0
// Stopping a job, and the sudden death of each kind of process: nothing may be left behind.
#include "command.hpp"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

namespace job_test {
namespace {

// Each rank also has a child and an orphan of its own, and ignores what can be ignored.
const char *stubborn = "trap '' INT TERM HUP; sleep 300 & (setsid sleep 300 &) ; echo up; while :; do sleep 300; done";

TEST(run_stop, ctrl_c_once_asks)
{
    for (const char *nodes : {"1", "2"}) {
        command c({"run", "-n", "2", "--nodes", nodes, "sh", "-c",
                   "trap 'echo asked; exit 0' INT; echo up; sleep 30 & wait"});
        ASSERT_TRUE(c.wait_for("up\nup\n"));
        c.send(SIGINT);
        auto o = c.wait();
        EXPECT_EQ(o.status, 0) << "ranks that end well when asked did not fail";
        EXPECT_EQ(o.out, "up\nup\nasked\nasked\n");
        EXPECT_TRUE(c.nothing_left());
    }
}

TEST(run_stop, ctrl_c_ends_plain_programs_with_130)
{
    command c({"run", "-n", "3", "sh", "-c", "echo up; exec sleep 30"});
    ASSERT_TRUE(c.wait_for("up\nup\nup\n"));
    c.send(SIGINT);
    auto o = c.wait();
    EXPECT_EQ(o.status, 130);
    EXPECT_LT(o.seconds, 10);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, ctrl_c_insists_after_three_seconds)
{
    command c({"run", "-n", "2", "sh", "-c", "trap '' INT; trap 'exit 5' TERM; echo up; while :; do sleep 0.1; done"});
    ASSERT_TRUE(c.wait_for("up\nup\n"));
    c.send(SIGINT);
    auto o = c.wait();
    EXPECT_EQ(o.status, 5);
    EXPECT_GT(o.seconds, 2.9);
    EXPECT_LT(o.seconds, 5);
}

TEST(run_stop, ctrl_c_kills_after_five_seconds)
{
    command c({"run", "-n", "2", "sh", "-c", stubborn});
    ASSERT_TRUE(c.wait_for("up\nup\n"));
    c.send(SIGINT);
    auto o = c.wait();
    EXPECT_EQ(o.status, 130);
    EXPECT_GT(o.seconds, 4.9);
    EXPECT_LT(o.seconds, 8);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, ctrl_c_twice_kills_now)
{
    for (const char *nodes : {"1", "2"}) {
        command c({"run", "-n", "4", "--nodes", nodes, "sh", "-c", stubborn});
        ASSERT_TRUE(c.wait_for("up\nup\nup\nup\n"));
        c.send(SIGINT);
        usleep(200'000);
        c.send(SIGINT);
        auto o = c.wait();
        EXPECT_EQ(o.status, 130);
        EXPECT_LT(o.seconds, 4);
        EXPECT_TRUE(c.nothing_left());
    }
}

TEST(run_stop, signals_are_passed_on)
{
    const std::pair<int, const char *> signals[] = {
        {SIGTERM, "TERM"}, {SIGHUP, "HUP"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGWINCH, "WINCH"}};
    for (auto [number, name] : signals) {
        command c({"run", "-n", "2", "sh", "-c",
                   std::string("trap 'echo got; exit 0' ") + name + "; echo up; while :; do sleep 0.05; done"});
        ASSERT_TRUE(c.wait_for("up\nup\n"));
        c.send(number);
        auto o = c.wait(20);
        EXPECT_EQ(o.status, 0) << name;
        EXPECT_EQ(o.out, "up\nup\ngot\ngot\n") << name;
    }
}

TEST(run_stop, stop_and_continue_reach_the_ranks)
{
    command c(
        {"run", "-n", "1", "sh", "-c", "trap 'echo continued; exit 0' CONT; echo up; while :; do sleep 0.05; done"});
    ASSERT_TRUE(c.wait_for("up\n"));
    c.send(SIGTSTP);
    usleep(300'000);
    c.send(SIGCONT);
    auto o = c.wait(20);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.out, "up\ncontinued\n");
}

TEST(run_stop, death_of_the_launcher_leaves_nothing)
{
    for (const char *nodes : {"1", "4"}) {
        command c({"run", "-n", "4", "--nodes", nodes, "sh", "-c", stubborn});
        ASSERT_TRUE(c.wait_for("up\nup\nup\nup\n"));
        c.send(SIGKILL);
        c.wait();
        EXPECT_TRUE(c.nothing_left()) << nodes << " nodes";
    }
}

TEST(run_stop, death_of_an_agent_ends_the_job_with_a_message)
{
    for (const char *nodes : {"1", "2"}) {
        command c({"run", "-n", "4", "--nodes", nodes, "sh", "-c", stubborn});
        ASSERT_TRUE(c.wait_for("up\nup\nup\nup\n"));
        auto agents = c.agents();
        ASSERT_EQ(agents.size(), std::size_t(atoi(nodes)));
        kill(agents.back(), SIGKILL);
        auto o = c.wait();
        EXPECT_EQ(o.status, 125);
        EXPECT_LT(o.seconds, 10);
        EXPECT_NE(o.err.find("agent of node"), std::string::npos) << o.err;
        EXPECT_NE(o.err.find("has ended unexpectedly: killed by signal 9 (Killed)"), std::string::npos) << o.err;
        EXPECT_TRUE(c.nothing_left()) << nodes << " nodes";
    }
}

TEST(run_stop, a_last_line_without_end_is_shown_when_its_agent_dies)
{
    command c({"run", "-n", "2", "--stdin", "none", "sh", "-c",
               "printf \"last words of $ONESEA_RANK\"; echo up >&2; exec sleep 60"});
    ASSERT_TRUE(c.wait_for("up\nup\n"));
    auto agents = c.agents();
    ASSERT_EQ(agents.size(), 1u);
    usleep(100'000); // the words come through another pipe
    kill(agents[0], SIGKILL);
    auto o = c.wait();
    for (const char *words : {"last words of 0", "last words of 1"})
        EXPECT_NE(o.out.find(words), std::string::npos) << o.out;
}

// A terminal that is closed, or a batch system that warns, does not wait until the ranks run.
TEST(run_stop, a_signal_while_hosts_are_being_reached_is_not_lost)
{
    scratch s;
    const std::vector<std::string> variables{
        "ONESEA_RSH=" + s.write("slow", "#!/bin/sh\necho reached >&2\nsleep 1\nshift\nexec sh -c \"$*\"\n", true)};
    for (int number : {SIGHUP, SIGUSR1}) {
        command c({"run", "--host", "far", "--iface", "lo", "sleep", "30"}, "", variables);
        usleep(500'000);
        c.send(number);
        auto o = c.wait();
        EXPECT_EQ(o.status, 128 + number) << o.err;
        EXPECT_LT(o.seconds, 20);
        EXPECT_TRUE(c.nothing_left());
    }
}

TEST(run_stop, an_agent_that_dies_at_once_is_told_of_with_a_status)
{
    for (int delay_us = 0; delay_us < 10'000; delay_us += 500) {
        command c({"run", "-n", "2", "--nodes", delay_us % 1000 ? "2" : "1", "sleep", "60"});
        std::vector<pid_t> agents;
        for (int i = 0; agents.empty() && i < 20'000; ++i) agents = c.agents();
        ASSERT_FALSE(agents.empty());
        usleep(useconds_t(delay_us));
        kill(agents.front(), SIGKILL);
        auto o = c.wait();
        EXPECT_EQ(o.status, 125) << delay_us;
        EXPECT_NE(o.err.find("agent"), std::string::npos) << delay_us << ": " << o.err;
        EXPECT_TRUE(c.nothing_left()) << delay_us;
    }
}

TEST(run_stop, an_agent_that_a_signal_ends_is_told_of_with_a_status)
{
    for (const int number : {SIGTERM, SIGHUP, SIGINT})
        for (const char *nodes : {"1", "2"}) {
            command c({"run", "-n", "2", "--nodes", nodes, "sh", "-c", stubborn});
            ASSERT_TRUE(c.wait_for("up\nup\n"));
            const auto agents = c.agents();
            ASSERT_FALSE(agents.empty());
            kill(agents.back(), number);
            auto o = c.wait();
            EXPECT_EQ(o.status, 125) << o.err;
            EXPECT_LT(o.seconds, 10);
            EXPECT_NE(o.err.find("ends the agent"), std::string::npos) << o.err;
            EXPECT_NE(o.err.find("agent of node"), std::string::npos) << o.err;
            EXPECT_TRUE(c.nothing_left()) << nodes << " nodes, signal " << number;
        }
}

TEST(run_stop, a_signal_to_the_guard_of_an_agent_elsewhere_is_the_agents)
{
    scratch s;
    const std::string shell = s.write("shell", "#!/bin/sh\nshift\nexec sh -c \"$1\"\n", true);
    const std::string own = ONESEA_COMMAND, prefix = own.substr(0, own.rfind("/bin/"));
    command c({"run", "--host", "far.invalid", "--prefix", prefix, "-n", "2", "sh", "-c", stubborn}, "",
              {"ONESEA_RSH=" + shell, "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 2"});
    ASSERT_TRUE(c.wait_for("up\nup\n"));
    const auto both = c.running(prefix + "/bin/onesea agent --guard");
    ASSERT_EQ(both.size(), 2u);
    kill(std::min(both[0], both[1]), SIGTERM); // it has started the other one
    auto o = c.wait();
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("signal 15 (Terminated) ends the agent"), o.err.npos) << o.err;
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, the_last_words_of_a_remote_shell_stand_in_the_line_about_its_agent)
{
    scratch s;
    const std::string shell = s.write("shell", "#!/bin/sh\nshift\nsh -c \"$1\"\necho gone for good >&2\n", true);
    const std::string own = ONESEA_COMMAND, prefix = own.substr(0, own.rfind("/bin/"));
    command c({"run", "--host", "far.invalid", "--prefix", prefix, "-n", "1", "sh", "-c", "echo up; sleep 300"}, "",
              {"ONESEA_RSH=" + shell, "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 2"});
    ASSERT_TRUE(c.wait_for("up\n"));
    for (pid_t p : c.running(prefix + "/bin/onesea agent --guard")) kill(p, SIGKILL);
    auto o = c.wait();
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("gone for good; the job ends\n"), o.err.npos) << o.err;
    EXPECT_TRUE(c.nothing_left());
}

// As whoever stops all processes of a service does.
TEST(run_stop, a_signal_to_the_launcher_and_all_agents_at_once_is_told_by_the_status)
{
    command c({"run", "-n", "4", "--nodes", "2", "sh", "-c", stubborn});
    ASSERT_TRUE(c.wait_for("up\nup\nup\nup\n"));
    const auto agents = c.agents();
    ASSERT_EQ(agents.size(), 2u);
    c.send(SIGTERM);
    for (pid_t agent : agents) kill(agent, SIGTERM);
    auto o = c.wait();
    EXPECT_TRUE(o.status == 128 + SIGTERM || o.status == 125) << o.status; // whichever the launcher hears of first
    EXPECT_LT(o.seconds, 10);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, a_rank_that_has_left_its_process_group_is_killed_all_the_same)
{
    command c({"run", "-n", "1", "perl", "-e",
               "$| = 1; $c = fork; if (!$c) { setpgrp(0, 0); sleep 300; exit } select(undef, undef, undef, 0.3);"
               "setpgrp(0, $c) or die; print \"up\\n\"; sleep 300"});
    ASSERT_TRUE(c.wait_for("up\n"));
    c.send(SIGINT);
    usleep(200'000);
    c.send(SIGINT);
    auto o = c.wait(20);
    EXPECT_FALSE(o.timed_out);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, a_start_that_fails_waits_for_nobody_who_holds_an_output)
{
    scratch s;
    const std::string bad = s.write("bad", "#!/nowhere/interpreter\n", true);
    const std::string leaves = s.write("leaves", "#!/bin/sh\nsetsid sleep 300 &\nsleep 300\n", true);
    command c({"run", "-n", "1", leaves, ":", "-n", "20", "sleep", "300", ":", "-n", "1", bad});
    auto o = c.wait(30);
    EXPECT_EQ(o.status, 126) << o.err;
    EXPECT_LT(o.seconds, 10);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, with_continue_the_death_of_an_agent_is_that_of_its_ranks_alone)
{
    for (const int number : {SIGKILL, SIGTERM}) {
        command c({"run", "-n", "4", "--nodes", "2", "--on-death", "continue", "sh", "-c",
                   "echo up; sleep 2; echo $ONESEA_NODE"});
        ASSERT_TRUE(c.wait_for("up\nup\nup\nup\n"));
        auto agents = c.agents();
        ASSERT_EQ(agents.size(), 2u);
        kill(std::max(agents[0], agents[1]), number); // of node 1: started last
        auto o = c.wait();
        EXPECT_EQ(o.status, 137);
        EXPECT_NE(o.out.find("0\n0\n"), std::string::npos) << o.out;
        EXPECT_NE(o.err.find("agent of node 1"), std::string::npos) << o.err;
        EXPECT_NE(o.err.find("its ranks are dead"), std::string::npos) << o.err;
        EXPECT_TRUE(c.nothing_left());
    }
}

TEST(run_stop, with_continue_nothing_is_left_of_a_dead_agents_ranks_while_the_others_go_on)
{
    scratch s;
    command c({"run", "-n", "2", "--nodes", "2", "--on-death", "continue", "sh", "-c",
               "if [ $ONESEA_RANK = 1 ]; then sleep 301 & (setsid sleep 301 &); else sleep 302 & fi; echo up; "
               "while [ ! -e " +
                   s.path("now") + " ]; do sleep 0.02; done"});
    ASSERT_TRUE(c.wait_for("up\nup\n"));
    auto agents = c.agents();
    ASSERT_EQ(agents.size(), 2u);
    for (int i = 0; i < 2000 && (c.running("sleep 301").size() < 2 || c.running("sleep 302").empty()); ++i)
        usleep(10'000);
    kill(std::max(agents[0], agents[1]), SIGKILL); // of node 1: started last
    for (int i = 0; i < 2000 && !c.running("sleep 301").empty(); ++i) usleep(10'000);
    EXPECT_TRUE(c.running("sleep 301").empty());
    EXPECT_FALSE(c.running("sleep 302").empty()) << "what the living ranks have started is none of it";
    s.write("now", "");
    auto o = c.wait();
    EXPECT_EQ(o.status, 137) << o.err;
    EXPECT_TRUE(c.nothing_left());
}

// An agent that was stopped stands for one that does not answer for whatever reason.
TEST(run_stop, an_agent_that_does_not_answer_is_given_up_some_seconds_after_the_end)
{
    const struct {
        std::vector<std::string> limit;
        std::string script;
        int status;
    } cases[] = {{{"--timeout", "1.5"}, "echo up; sleep 300", 124},
                 {{}, "echo up; sleep 1; [ $ONESEA_RANK = 0 ] && exit 5; sleep 300", 5}};
    for (const auto &one : cases) {
        std::vector<std::string> words{"run", "-n", "2", "--nodes", "2"};
        words.insert(words.end(), one.limit.begin(), one.limit.end());
        words.insert(words.end(), {"sh", "-c", one.script});
        command c(words);
        ASSERT_TRUE(c.wait_for("up\nup\n"));
        auto agents = c.agents();
        ASSERT_EQ(agents.size(), 2u);
        kill(std::max(agents[0], agents[1]), SIGSTOP); // of node 1: started last
        auto o = c.wait();
        EXPECT_FALSE(o.timed_out);
        EXPECT_EQ(o.status, one.status) << o.err;
        EXPECT_NE(o.err.find("agent of node 1 (localhost) has not answered for"), o.err.npos) << o.err;
        EXPECT_EQ(o.err.find("agent of node 0"), o.err.npos) << o.err;
        EXPECT_TRUE(c.nothing_left());
    }
}

TEST(run_stop, an_agent_that_does_not_answer_while_its_ranks_run_is_taken_for_dead)
{
    scratch s;
    const std::string waits = "echo up; while [ ! -e " + s.path("now") + " ]; do sleep 0.02; done";
    for (const bool goes_on : {false, true}) {
        std::vector<std::string> words{"run", "-n", "2", "--nodes", "2", "--agent-timeout", "3"};
        if (goes_on) words.insert(words.end(), {"--on-death", "continue"});
        words.insert(words.end(), {"sh", "-c", waits});
        command c(words);
        ASSERT_TRUE(c.wait_for("up\nup\n"));
        auto agents = c.agents();
        ASSERT_EQ(agents.size(), 2u);
        kill(std::max(agents[0], agents[1]), SIGSTOP); // of node 1: started last
        if (goes_on) {
            sleep(6);
            s.write("now", "");
        }
        auto o = c.wait();
        EXPECT_FALSE(o.timed_out);
        EXPECT_EQ(o.status, goes_on ? 137 : 125) << o.err;
        const std::string end = goes_on ? "its ranks are dead" : "the job ends";
        EXPECT_NE(o.err.find("agent of node 1 (localhost) has not answered for 3 s; " + end), o.err.npos) << o.err;
        EXPECT_EQ(o.err.find("agent of node 0"), o.err.npos) << o.err;
        EXPECT_TRUE(c.nothing_left());
    }
}

TEST(run_stop, an_agent_that_has_nothing_to_say_is_asked)
{
    command c({"run", "-n", "2", "--nodes", "2", "--agent-timeout", "4", "sleep", "9"});
    auto o = c.wait();
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.err, "");
}

TEST(run_stop, ctrl_c_three_times_does_not_wait_for_agents)
{
    command c({"run", "-n", "2", "--nodes", "2", "sh", "-c", stubborn});
    ASSERT_TRUE(c.wait_for("up\nup\n"));
    for (pid_t agent : c.agents()) kill(agent, SIGSTOP);
    for (int i = 0; i < 3; ++i) {
        c.send(SIGINT);
        usleep(300'000);
    }
    auto o = c.wait();
    EXPECT_EQ(o.status, 130);
    EXPECT_FALSE(o.killed);
    EXPECT_LT(o.seconds, 8);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, ctrl_c_ends_a_start_that_waits_for_a_silent_ssh)
{
    scratch s;
    const std::string obeys = s.write("obeys", "#!/bin/sh\necho silent >&2\nexec sleep 300\n", true);
    const std::string ignores =
        s.write("ignores", "#!/bin/sh\ntrap '' TERM INT\necho silent >&2\nwhile :; do sleep 300; done\n", true);
    for (const std::string &shell : {obeys, ignores}) {
        command c({"run", "--host", "far.invalid,localhost", "-n", "2", "true"}, "", {"ONESEA_RSH=" + shell});
        for (int i = 0; i < 2000 && c.running(shell == obeys ? "sleep" : "/bin/sh").empty(); ++i) usleep(10'000);
        c.send(SIGINT);
        if (shell == ignores) {
            usleep(300'000);
            c.send(SIGINT);
        }
        auto o = c.wait();
        EXPECT_EQ(o.status, 130);
        EXPECT_FALSE(o.killed);
        EXPECT_LT(o.seconds, 4);
        EXPECT_TRUE(c.nothing_left());
    }
}

TEST(run_stop, ranks_that_fail_by_themselves_are_not_called_ended_by_the_launcher)
{
    scratch s;
    command c({"run", "-n", "4", "--nodes", "2", "sh", "-c",
               "echo up; while [ ! -e " + s.path("now") + " ]; do sleep 0.02; done; exit 2"});
    ASSERT_TRUE(c.wait_for("up\nup\nup\nup\n"));
    c.send(SIGSTOP); // so that it hears of all of them at once
    s.write("now", "");
    sleep(1);
    c.send(SIGCONT);
    auto o = c.wait();
    EXPECT_EQ(o.status, 2);
    EXPECT_EQ(o.err.find("ended by the launcher"), std::string::npos) << o.err;
}

TEST(run_stop, death_of_a_rank_ends_the_others_and_all_they_started)
{
    command c({"run", "-n", "3", "--nodes", "2", "sh", "-c",
               "[ $ONESEA_RANK = 1 ] && { sleep 0.5; kill -KILL $$; }; sleep 300 & (setsid sleep 300 &); while :; do "
               "sleep 300; done"});
    auto o = c.wait();
    EXPECT_EQ(o.status, 137);
    EXPECT_LT(o.seconds, 5);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_stop, stopping_while_starting_leaves_nothing)
{
    for (int delay_us = 0; delay_us < 60'000; delay_us += 4'000) {
        command c({"run", "-n", "16", "--nodes", "2", "sleep", "60"});
        usleep(useconds_t(delay_us));
        c.send(delay_us % 8'000 ? SIGKILL : SIGINT);
        auto o = c.wait();
        EXPECT_FALSE(o.timed_out) << delay_us;
        EXPECT_TRUE(c.nothing_left()) << delay_us;
    }
}

} // namespace
} // namespace job_test
