// SPDX-License-Identifier: Apache-2.0
// Jobs that grow while they run (sea_spawn).
#include "command.hpp"

#include "fair_clock.hpp"

#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace job_test {
namespace {

using words = std::vector<std::string>;

words run_growing(words options, const words &arguments)
{
    options.insert(options.begin(), "run");
    options.push_back(ONESEA_GROWING);
    options.insert(options.end(), arguments.begin(), arguments.end());
    return options;
}

// Where the ranks are, and how they reach each other.
const words places[] = {{"-n", "1"},
                        {"-n", "2"},
                        {"-n", "2", "--nodes", "2"},
                        {"-n", "8", "--nodes", "2"},
                        {"-n", "4", "--nodes", "4"},
                        {"-n", "3", "--transport", "net"},
                        {"-n", "2", "--nodes", "2", "--secure", "encrypt"},
                        {"-n", "3", "--nodes", "3", "--secure", "off"}};

void succeeds_everywhere(const words &arguments)
{
    for (const words &place : places) {
        auto o = onesea(run_growing(place, arguments));
        EXPECT_EQ(o.status, 0) << testing::PrintToString(place) << o.err;
        EXPECT_EQ(o.err, "");
    }
}

TEST(run_spawn, one_rank_starts_others_on_all_nodes) { succeeds_everywhere({"all", "5"}); }

TEST(run_spawn, each_new_rank_starts_the_next) { succeeds_everywhere({"chain", "4"}); }

TEST(run_spawn, all_ranks_start_some_at_the_same_time) { succeeds_everywhere({"burst", "3"}); }

TEST(run_spawn, threads_of_a_rank_may_ask_at_the_same_time)
{
    auto o = onesea(run_growing({"-n", "1"}, {"threads"}));
    EXPECT_EQ(o.status, 0) << o.err;
}

TEST(run_spawn, a_time_out_holds_also_while_the_agent_has_stopped)
{
    auto o = onesea(run_growing({"-n", "1", "--timeout", "30"}, {"stalled"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_LT(o.seconds, 10);
}

TEST(run_spawn, a_rank_that_asks_for_what_no_library_asks_is_told_of_once)
{
    auto o = onesea(run_growing({"-n", "1"}, {"babble"}));
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.err, "onesea: localhost: rank 0 asks its agent for what no library asks\n");
}

TEST(run_spawn, a_refusal_of_any_length_is_answered)
{
    auto o = onesea(run_growing({"-n", "1"}, {"verbose"}));
    EXPECT_EQ(o.status, 0) << o.err.substr(0, 1000);
}

TEST(run_spawn, works_while_packets_are_lost)
{
    auto o = onesea(run_growing({"-n", "3", "--nodes", "3"}, {"all", "4"}), {}, {"ONESEA_NET_FAULTS=loss=0.1,seed=7"});
    EXPECT_EQ(o.status, 0) << o.err;
}

TEST(run_spawn, a_new_rank_takes_the_place_of_a_dead_one)
{
    for (const char *nodes : {"1", "2", "4"}) {
        auto o = onesea(run_growing({"-n", "4", "--nodes", nodes, "--on-death", "continue"}, {"replace"}));
        EXPECT_EQ(o.status, 137) << "of the rank that died; " << o.err;
        EXPECT_EQ(o.err, "onesea: rank 3 on localhost was killed by signal 9 (Killed)\n");
    }
}

TEST(run_spawn, what_a_rank_has_asked_for_comes_though_it_has_ended_meanwhile)
{
    auto o = onesea(run_growing({"-n", "1", "--timeout", "30"}, {"last_wish"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out, "rank 1, wished by rank 0\n");
}

struct kept {
    int descriptors = -1, kilobytes = -1;
};

// By agent and launcher, for 100 ranks that have ended.
std::array<kept, 2> kept_for_the_ended(words options)
{
    std::array<kept, 2> found;
    options.insert(options.end(), {"--spawn", "150"});
    auto o = onesea(run_growing(options, {"replaced", "100"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(sscanf(o.out.c_str(), "%d descriptors, %d KB\n%d descriptors, %d KB", &found[0].descriptors,
                     &found[0].kilobytes, &found[1].descriptors, &found[1].kilobytes),
              4)
        << o.out;
    return found;
}

constexpr int little = proof::sanitized ? 1 << 20 : 3000; // KB; the environments of 100 ranks have 6000

TEST(run_spawn, agent_and_launcher_keep_neither_descriptors_nor_environments_of_ranks_that_have_ended)
{
    scratch s;
    for (const words &place : {words{}, {"--transport", "net"}, {"--output", s.path("out")}})
        for (const kept &k : kept_for_the_ended(place)) {
            EXPECT_LE(k.descriptors, 0) << testing::PrintToString(place);
            EXPECT_LT(k.kilobytes, little) << testing::PrintToString(place);
        }
}

TEST(run_spawn, what_a_rank_passes_on_to_the_next_does_not_grow)
{
    auto o = onesea(run_growing({"--spawn", "80", "--on-death", "continue"}, {"heirs", "80"}));
    EXPECT_EQ(o.status, 1) << "none leaves by sea_finalize(), which would wait for the next; " << o.err;
    EXPECT_LT(o.out.empty() ? INT_MAX : atoi(o.out.c_str()), little) << o.out << o.err;
}

TEST(run_spawn, what_ranks_that_have_ended_counted_is_kept_to_be_told)
{
    const auto [agent, launcher] = kept_for_the_ended({"--stats"});
    EXPECT_EQ(agent.descriptors, 100) << "a page of each";
    EXPECT_LE(launcher.descriptors, 0);
    EXPECT_LT(agent.kilobytes, little);
}

TEST(run_spawn, without_options_it_is_the_same_program_and_arguments)
{
    auto o = onesea(run_growing({"-n", "2"}, {"again"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_NE(o.out.find("rank 2\n"), o.out.npos) << o.out;
    EXPECT_NE(o.out.find("again, by 0\n"), o.out.npos) << o.out;
}

TEST(run_spawn, the_job_waits_for_a_new_rank_and_fails_with_it)
{
    auto o = onesea(run_growing({}, {"one", "sh", "-c", "sleep 0.2; echo last; exit 3"}));
    EXPECT_EQ(o.status, 3);
    EXPECT_EQ(o.out, "rank 1\nlast\n");
    EXPECT_NE(o.err.find("rank 1 on localhost exited with status 3"), o.err.npos) << o.err;
}

TEST(run_spawn, a_new_rank_may_outlive_all_others)
{
    // The others have left: they do not wait for a program that ends without having called sea_init().
    auto o = onesea(run_growing({"-n", "2", "--nodes", "2"}, {"one", "sh", "-c", "sleep 0.3"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_GE(o.seconds, 0.3);
}

TEST(run_spawn, another_program_has_the_variables_and_the_directory_of_the_job)
{
    scratch s;
    mkdir(s.path("sub").c_str(), 0755);
    const words print{"sh", "-c", "echo $FROM; pwd"}, options{"-x", "FROM=job", "-w", s.path("")};
    auto with = [&](words arguments) {
        arguments.insert(arguments.end(), print.begin(), print.end());
        auto o = onesea(run_growing(options, arguments));
        EXPECT_EQ(o.status, 0) << o.err;
        return o.out;
    };
    const std::string there = std::filesystem::canonical(s.path(""));
    EXPECT_EQ(with({"in", "-"}), "job\n" + there + "\n");
    EXPECT_EQ(with({"in", "sub"}), "job\n" + there + "/sub\n");
    EXPECT_EQ(with({"in", "/"}), "job\n/\n");
}

TEST(run_spawn, one_that_waits_for_a_stopped_agent_makes_no_other_agent_suspect)
{
    auto o = onesea(run_growing({"-n", "2", "--nodes", "2", "--timeout", "2", "--stats"}, {"behind_a_stop"}));
    EXPECT_EQ(o.status, 124) << o.err;
    EXPECT_NE(o.err.find("the agent of node 1"), o.err.npos) << o.err;
    EXPECT_EQ(o.err.find("the agent of node 0"), o.err.npos) << o.err;
}

// Nothing but the time limit or the user can end such a job: no rank lives.
class run_spawn_at_a_silent_agent : public testing::TestWithParam<std::string> {
  protected:
    static words run(const std::string &node, const words &more = {})
    {
        words options{"-n", "2", "--nodes", "2", "--on-death", "continue"};
        options.insert(options.end(), more.begin(), more.end());
        return run_growing(options, {"wish_at_a_silent_agent", node});
    }
    static void expect_named(const outcome &o)
    {
        EXPECT_FALSE(o.timed_out) << o.err;
        EXPECT_NE(o.err.find("the agent of node 1 (localhost) has not answered for 10 s"), o.err.npos) << o.err;
        EXPECT_EQ(o.err.find("the agent of node 0"), o.err.npos) << o.err;
    }
};

TEST_P(run_spawn_at_a_silent_agent, a_time_limit_ends_the_job)
{
    command c(run(GetParam(), {"--timeout", "3"}));
    ASSERT_TRUE(c.wait_for("asked\n"));
    auto o = c.wait(30);
    expect_named(o);
    EXPECT_EQ(o.status, 124) << o.err;
    EXPECT_LT(o.seconds, 20);
    EXPECT_TRUE(c.nothing_left());
}

TEST_P(run_spawn_at_a_silent_agent, ctrl_c_ends_the_job)
{
    command c(run(GetParam()));
    ASSERT_TRUE(c.wait_for("asked\n"));
    usleep(500'000); // the launcher hears that nobody lives
    c.send(SIGINT);
    auto o = c.wait(30);
    expect_named(o);
    EXPECT_EQ(o.status, 137) << "of the rank that died; " << o.err;
    EXPECT_TRUE(c.nothing_left());
}

TEST_P(run_spawn_at_a_silent_agent, that_answers_again_after_ctrl_c_nobody_is_given_up)
{
    command c(run(GetParam()));
    ASSERT_TRUE(c.wait_for("asked\n"));
    usleep(500'000); // the launcher hears that nobody lives
    c.send(SIGINT);
    usleep(1'500'000);
    for (pid_t agent : c.agents()) kill(agent, SIGCONT);
    auto o = c.wait(30);
    EXPECT_FALSE(o.timed_out) << o.err;
    EXPECT_EQ(o.err.find("the agent of node"), o.err.npos) << o.err;
    EXPECT_LT(o.seconds, 15);
    EXPECT_TRUE(c.nothing_left());
}

// Of the node of the rank that is asked for: what is missing is that node 1 makes it known, or prepares it.
INSTANTIATE_TEST_SUITE_P(node, run_spawn_at_a_silent_agent, testing::Values("0", "1"),
                         [](const auto &one) { return "node_" + one.param; });

TEST(run_spawn, what_it_writes_is_told_apart)
{
    scratch s;
    auto o =
        onesea(run_growing({"--output", s.path("out"), "--tag=rank"}, {"one", "sh", "-c", "echo new; echo bad >&2"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(s.read("out/rank.0.out"), "rank 1\n");
    EXPECT_EQ(s.read("out/rank.1.out"), "new\n");
    EXPECT_EQ(s.read("out/rank.1.err"), "bad\n");
    EXPECT_NE(o.out.find("[1] new\n"), o.out.npos) << o.out;
}

TEST(run_spawn, what_cannot_be_started_is_refused_with_the_reason_and_the_job_goes_on)
{
    scratch s;
    const std::string no_interpreter = s.write("odd", "#!/no/such/interpreter\n", true);
    const struct {
        words options, arguments;
        std::string answer;
    } cases[] = {
        {{"-n", "2"}, {"0", "/no/such/program"}, "SEA_ERR_SYSTEM: sea_spawn: program '/no/such/program' not found\n"},
        {{"-n", "2", "--nodes", "2"},
         {"1", "/etc/passwd"},
         "SEA_ERR_SYSTEM: sea_spawn: program '/etc/passwd' is not executable\n"},
        {{"-n", "2", "--nodes", "2"},
         {"1", no_interpreter},
         "SEA_ERR_SYSTEM: sea_spawn: program '" + no_interpreter +
             "' cannot be started: execve: No such file or directory (the interpreter that it names)\n"},
        {{},
         {"0", "true", "/no/such/directory"},
         "SEA_ERR_SYSTEM: sea_spawn: nothing can start in the directory '/no/such/directory': No such file or "
         "directory\n"},
        {{}, {"1", "true"}, "SEA_ERR_INVALID: sea_spawn: there is no node 1; the job has 1\n"},
        {{}, {"-2", "true"}, "SEA_ERR_INVALID: sea_spawn: there is no node -2; the job has 1\n"},
        {{}, {"0", ""}, "SEA_ERR_INVALID: sea_spawn: the arguments do not begin with a program\n"},
        {{"--spawn", "0"},
         {"-1", "true"},
         "SEA_ERR_MEMORY: sea_spawn: no node has room for another rank: `onesea run --spawn N` makes room for N on "
         "each, here it was 0\n"},
    };
    for (const auto &c : cases) {
        words arguments{"refused"};
        arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
        auto o = onesea(run_growing(c.options, arguments));
        EXPECT_EQ(o.status, 0) << o.err;
        EXPECT_EQ(o.out, c.answer);
    }
}

TEST(run_spawn, there_is_room_for_as_many_as_was_said)
{
    auto o = onesea(run_growing({"--spawn", "5"}, {"fill"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out.substr(0, 33), "5 ranks, then SEA_ERR_MEMORY: sea");
    EXPECT_EQ(onesea(run_growing({}, {"fill"})).out.substr(0, 34), "16 ranks, then SEA_ERR_MEMORY: sea");
}

TEST(run_spawn, a_refusal_tells_how_much_room_a_node_had_that_was_nearly_full_at_the_start)
{
    auto o = onesea({"run", "--spawn", "20", "-n", "1", ONESEA_GROWING, "fill", ":", "-n", "1015", "true"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out,
              "8 ranks, then SEA_ERR_MEMORY: sea_spawn: no node has room for another rank: `onesea run --spawn N` "
              "makes room for N on each, here it was 8, for a node has at most 1024 ranks\n");
}

TEST(run_spawn, statistics_tell_of_new_ranks)
{
    auto o = onesea(run_growing({"--stats"}, {"all", "2"}));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_NE(o.err.find("9 pairs of ranks spoke"), o.err.npos) << o.err;
}

TEST(run_spawn, a_stop_ends_new_ranks_too)
{
    command c(run_growing({"-n", "2"}, {"one", "sh", "-c", "echo up; exec sleep 300"}));
    ASSERT_TRUE(c.wait_for("up\n"));
    c.send(SIGINT);
    EXPECT_EQ(c.wait().status, 130);
    EXPECT_TRUE(c.nothing_left());
}

// Whatever is killed, whenever: the job ends, nothing is left behind, and no call hangs.
void storm(const words &options, unsigned seed)
{
    std::minstd_rand random(seed);
    command c(run_growing(options, {"storm"}));
    ASSERT_TRUE(c.wait_for("up\n"));
    usleep(useconds_t(random() % 60'000));
    std::vector<pid_t> victims = c.marked();
    if (seed % 3 == 0) victims = c.agents();
    if (!victims.empty()) kill(victims[random() % victims.size()], SIGKILL);
    auto o = c.wait(30);
    EXPECT_FALSE(o.timed_out) << "seed " << seed << o.err;
    EXPECT_NE(o.status, 9) << "seed " << seed << o.err; // a check of the program
    EXPECT_EQ(o.err.find("Sanitizer"), o.err.npos) << "seed " << seed << o.err;
    EXPECT_TRUE(c.nothing_left()) << "seed " << seed;
}

TEST(run_spawn, kills_while_ranks_come_leave_nothing_behind)
{
    for (unsigned seed = 1; seed <= 12; ++seed) storm({"-n", "3", "--nodes", "3"}, seed);
}

TEST(run_spawn, kills_while_ranks_come_do_not_stop_those_who_go_on)
{
    for (unsigned seed = 1; seed <= 12; ++seed)
        storm({"-n", "3", "--nodes", "3", "--on-death", "continue", "--timeout", "60"}, seed);
}

} // namespace
} // namespace job_test
