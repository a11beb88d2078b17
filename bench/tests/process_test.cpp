// SPDX-License-Identifier: Apache-2.0
#include "driver/options.hpp"
#include "driver/places.hpp"
#include "driver/process.hpp"
#include "rma/plan.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace bench;

namespace {

command shell(const std::string &text) { return {{"/bin/sh", "-c", text}, {}}; }

struct process : testing::Test {
    static void SetUpTestSuite() { prepare_to_run(); }
};

} // namespace

TEST_F(process, output_and_exit_code_come_back)
{
    const auto r = run(shell("echo out; echo err >&2; exit 7"), 10);
    EXPECT_EQ(r.out, "out\n");
    EXPECT_EQ(r.err, "err\n");
    EXPECT_EQ(r.exit_code, 7);
    EXPECT_FALSE(r.good());
    EXPECT_FALSE(r.timed_out);
}

TEST_F(process, a_signal_is_128_plus_its_number) { EXPECT_EQ(run(shell("kill -9 $$"), 10).exit_code, 137); }

TEST_F(process, a_program_that_is_not_there_is_named)
{
    const auto r = run({{"/nowhere/program", "x"}, {}}, 10);
    EXPECT_EQ(r.exit_code, 127);
    EXPECT_NE(r.err.find("/nowhere/program"), std::string::npos);
}

TEST_F(process, environment_is_added_and_replaced)
{
    auto c = shell("echo $BENCH_TEST_A $PATH");
    c.environment = {{"BENCH_TEST_A", "one"}, {"PATH", "/two"}};
    EXPECT_EQ(run(c, 10).out, "one /two\n");
}

TEST_F(process, large_output_does_not_block)
{
    EXPECT_EQ(run(shell("head -c 3000000 /dev/zero"), 30).out.size(), 3000000u);
}

TEST_F(process, one_that_does_not_end_is_ended_when_what_is_wanted_is_there)
{
    int asked = 0;
    const auto r = run(shell("sleep 1000"), 900, [&] { return ++asked == 2; });
    EXPECT_TRUE(r.timed_out);
    EXPECT_FALSE(r.good());
    EXPECT_EQ(asked, 2) << "it is not asked again";
}

TEST_F(process, one_that_ends_when_what_is_wanted_is_there_is_good)
{
    const auto r = run(shell("echo done"), 900, [] { return true; });
    EXPECT_TRUE(r.good());
    EXPECT_EQ(r.out, "done\n");
}

TEST_F(process, time_over_ends_it_even_if_it_ignores_being_asked)
{
    const auto r = run(shell("trap '' TERM; while :; do sleep 0.1; done"), 0.2);
    EXPECT_TRUE(r.timed_out);
    EXPECT_FALSE(r.good());
    EXPECT_LT(r.seconds, 30);
}

TEST_F(process, what_a_program_leaves_behind_is_ended)
{
    const auto r = run(shell("setsid sleep 1000 & echo $!"), 10);
    const int pid = std::stoi(r.out);
    EXPECT_TRUE(kill(pid, 0) != 0) << "process " << pid << " is still there";
}

TEST_F(process, a_background_program_survives_a_run_and_ends_with_its_owner)
{
    const background server({{"/bin/sleep", "1000"}, {}});
    EXPECT_EQ(run(shell("exit 0"), 10).exit_code, 0);
    std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
    int pid = 0;
    EXPECT_TRUE(children >> pid && kill(pid, 0) == 0) << "the background program is gone";
}

// SIGPIPE: nobody reads what we print any more.
TEST_F(process, what_cleans_up_is_not_ended_by_a_signal_and_the_next_run_tells_of_it)
{
    for (int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) {
        const pid_t child = fork(); // of its own: the signal stays noted
        if (child == 0) {
            raise(number);
            const auto r = run_undisturbed(shell("sleep 0.1; echo done"), 10);
            try {
                run(shell("sleep 100"), 20);
            } catch (const interrupted &e) {
                _exit(r.good() && r.out == "done\n" && e.signal == number ? 0 : 2);
            }
            _exit(1);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << number;
    }
}

TEST(places, own_program_that_is_missing_is_named)
{
    try {
        own_program("onesea-bench-nothing");
        FAIL() << "found";
    } catch (const std::runtime_error &e) {
        EXPECT_NE(std::string(e.what()).find("onesea-bench-nothing"), std::string::npos);
    }
}

TEST(places, programs_are_found_in_path_only_if_they_can_run)
{
    EXPECT_TRUE(in_path("sh").has_value());
    EXPECT_FALSE(in_path("no-such-program-at-all").has_value());
}

TEST(plan, every_group_is_of_one_path_and_every_case_has_a_floor_of_its_metric)
{
    std::size_t states = 0;
    for (const auto &group : plan_of({})) {
        states += group.cases.empty() ? 0 : 1;
        for (const auto &one : group.cases) EXPECT_FALSE(one.floors.empty()) << group.id << " " << one.name;
    }
    EXPECT_EQ(states, 8u);
}

TEST(plan, filters_keep_what_is_asked_for)
{
    options o;
    o.cases = {"get"};
    o.paths = {"net"};
    for (const auto &group : plan_of(o)) {
        EXPECT_EQ(group.path, "net");
        for (const auto &one : group.cases) EXPECT_EQ(one.name, "get");
    }
    EXPECT_EQ(plan_of(o).size(), 4u);
}

TEST(plan, the_cable_is_measured_only_if_it_is_named)
{
    for (const auto &group : plan_of({})) EXPECT_NE(group.path, "cable");
    options o;
    o.paths = {"cable"};
    EXPECT_EQ(plan_of(o).size(), 4u);
    for (const auto &group : plan_of(o)) EXPECT_EQ(group.path, "cable");
}

// A name that is too long is refused as a folder of somebody else is, but also to root.
TEST(places, a_folder_of_path_that_cannot_be_looked_at_is_passed_over)
{
    const std::string before = std::getenv("PATH");
    setenv("PATH", ("/" + std::string(300, 'x') + ":" + before).c_str(), 1);
    const auto found = in_path("sh");
    const auto missing = in_path("no-such-program");
    setenv("PATH", before.c_str(), 1);
    ASSERT_TRUE(found);
    EXPECT_EQ(access(found->c_str(), X_OK), 0);
    EXPECT_FALSE(missing);
}
