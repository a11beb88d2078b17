// SPDX-License-Identifier: Apache-2.0
// `onesea run --stats`: what it tells is what the program did.
#include "command.hpp"

#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace job_test {
namespace {

using words = std::vector<std::string>;

struct told {
    outcome end;
    nlohmann::json stats;
};

told run_counted(const words &options, const words &arguments, const words &variables = {})
{
    scratch s;
    words line{"run", "--stats=" + s.path("stats.json"), "--timeout", "60"};
    line.insert(line.end(), options.begin(), options.end());
    line.push_back(ONESEA_COUNTED);
    line.insert(line.end(), arguments.begin(), arguments.end());
    told t;
    t.end = onesea(line, "", variables);
    t.stats = nlohmann::json::parse(s.read("stats.json"), nullptr, false);
    EXPECT_TRUE(t.stats.is_object()) << t.end.err;
    return t;
}

const nlohmann::json *pair_of(const nlohmann::json &stats, int from, int to)
{
    for (const auto &r : stats.at("ranks"))
        for (const auto &p : r.at("pairs"))
            if (r.at("rank") == from && p.at("rank") == to) return &p;
    return nullptr;
}

// What tests/job/counted.c does to its neighbour.
void expect_counted(const nlohmann::json &stats, int from, int to, std::uint64_t n, std::uint64_t bytes)
{
    const nlohmann::json *p = pair_of(stats, from, to);
    ASSERT_TRUE(p) << from << " -> " << to << " in " << stats.dump();
    EXPECT_EQ(p->at("puts"), 2 * n + 1);
    EXPECT_EQ(p->at("gets"), 2 * n);
    EXPECT_EQ(p->at("atomics"), n);
    EXPECT_EQ(p->at("bytes_in"), n * 1008);
    EXPECT_GE(p->at("bytes_out"), n * 1008 + bytes) << "and messages of collectives";
    EXPECT_LT(p->at("bytes_out"), n * 1008 + bytes + 10'000);
}

std::uint64_t sum(const nlohmann::json &stats, const char *what)
{
    std::uint64_t n = 0;
    for (const auto &r : stats.at("ranks"))
        for (const auto &p : r.at("pairs")) n += p.at(what).get<std::uint64_t>();
    return n;
}

TEST(run_stats, tells_what_the_program_did_inside_a_node_and_between_two)
{
    auto t = run_counted({"-n", "4", "--nodes", "2"}, {"50", "100000"});
    EXPECT_EQ(t.end.status, 0) << t.end.err;
    for (int r = 0; r < 4; ++r) expect_counted(t.stats, r, (r + 1) % 4, 50, 100'000);
    const auto &inside = *pair_of(t.stats, 0, 1), &between = *pair_of(t.stats, 1, 2);
    EXPECT_EQ(inside.at("packets_out"), 0);
    EXPECT_FALSE(inside.contains("round_trip_ns"));
    EXPECT_GT(between.at("packets_out"), 0);
    const auto &trip = between.at("round_trip_ns");
    EXPECT_GT(trip.at("samples"), 50);
    EXPECT_GT(trip.at("p50"), 1000);
    EXPECT_LE(trip.at("p50"), trip.at("p99"));
    EXPECT_LE(trip.at("p99"), trip.at("max"));
    EXPECT_EQ(t.stats.at("ranks").at(3).at("node"), 1);
    EXPECT_GT(t.stats.at("ranks").at(0).at("process").at("waits"), 0);
}

TEST(run_stats, agrees_with_sea_stats_of_the_rank_itself)
{
    auto t = run_counted({"-n", "2"}, {"20", "5000"});
    std::uint64_t puts, gets, atomics, out, in;
    std::istringstream(t.end.out) >> puts >> gets >> atomics >> out >> in;
    const auto &p = *pair_of(t.stats, 0, 1);
    EXPECT_EQ(p.at("puts"), puts);
    EXPECT_EQ(p.at("gets"), gets);
    EXPECT_EQ(p.at("atomics"), atomics);
    EXPECT_EQ(p.at("bytes_in"), in);
    EXPECT_GE(p.at("bytes_out"), out) << "sea_finalize() still sends messages";
}

TEST(run_stats, a_job_of_one_rank_counts_what_it_does_to_itself)
{
    auto t = run_counted({"-n", "1"}, {"10", "2000"});
    expect_counted(t.stats, 0, 0, 10, 2000);
}

TEST(run_stats, what_was_lost_is_counted_as_sent_again)
{
    auto t = run_counted({"-n", "2", "--nodes", "2"}, {"20", "20000000"}, {"ONESEA_NET_FAULTS=loss=0.05,seed=3"});
    EXPECT_EQ(t.end.status, 0) << t.end.err;
    for (int r = 0; r < 2; ++r) expect_counted(t.stats, r, 1 - r, 20, 20'000'000);
    EXPECT_GT(sum(t.stats, "packets_lost"), 0u);
    EXPECT_EQ(sum(run_counted({"-n", "2"}, {"20", "20000000"}).stats, "packets_lost"), 0u);
}

TEST(run_stats, forged_datagrams_are_told_by_their_reason)
{
    auto t = run_counted({"-n", "2", "--nodes", "2"}, {"20", "5000000"}, {"ONESEA_NET_FAULTS=corrupt=0.1,seed=5"});
    EXPECT_EQ(t.end.status, 0) << t.end.err;
    std::uint64_t bad = 0;
    for (const auto &r : t.stats.at("ranks"))
        for (const char *why : {"forged", "not_ours"}) bad += r.at("process").at(why).get<std::uint64_t>();
    EXPECT_GT(bad, 0u);
}

TEST(run_stats, a_killed_rank_and_those_that_were_ended_are_told_as_well)
{
    for (const char *nodes : {"1", "2"}) {
        auto t = run_counted({"-n", "3", "--nodes", nodes}, {"30", "40000", "die"});
        EXPECT_EQ(t.end.status, 128 + 9) << t.end.err;
        EXPECT_NE(t.end.err.find("rank 2"), std::string::npos) << t.end.err;
        for (int r = 0; r < 3; ++r) expect_counted(t.stats, r, (r + 1) % 3, 30, 40'000);
        EXPECT_TRUE(t.stats.at("lost").empty());
    }
}

TEST(run_stats, several_programs_are_one_job)
{
    auto t = run_counted({"-n", "1"}, {"5", "3000", ":", "-n", "2", ONESEA_COUNTED, "7", "3000"});
    EXPECT_EQ(t.end.status, 0) << t.end.err;
    expect_counted(t.stats, 0, 1, 5, 3000);
    expect_counted(t.stats, 1, 2, 7, 3000);
    expect_counted(t.stats, 2, 0, 7, 3000);
}

TEST(run_stats, the_table_goes_to_stderr_behind_all_output)
{
    auto o = onesea({"run", "--stats", "-n", "2", "--nodes", "2", ONESEA_COUNTED, "3", "1000"});
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.out.find("from"), std::string::npos);
    std::istringstream stream(o.err);
    std::string line, word, first;
    std::getline(stream, first);
    EXPECT_EQ(first, "onesea: 2 pairs of ranks spoke");
    std::getline(stream, line); // the head
    std::getline(stream, line);
    words row;
    for (std::istringstream cells(line); cells >> word;) row.push_back(word);
    ASSERT_GT(row.size(), 9u) << o.err;
    EXPECT_EQ(words(row.begin(), row.begin() + 6), (words{"0", "1", "net", "7", "6", "3"})) << o.err;
    EXPECT_EQ(row[9], "3024") << "bytes in";
    EXPECT_EQ(onesea({"run", "-n", "2", ONESEA_COUNTED}).err, "") << "nothing without being asked";
}

TEST(run_stats, a_job_without_onesea_says_so)
{
    auto o = onesea({"run", "--stats", "-n", "2", "true"});
    EXPECT_EQ(o.err, "onesea: 0 pairs of ranks spoke\n  2 ranks never called sea_init()\n");
}

TEST(run_stats, a_file_that_cannot_be_written_is_named_before_anything_starts)
{
    scratch s;
    auto o = onesea({"run", "--stats=" + s.path("none/x"), "touch", s.path("started")});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("none/x"), std::string::npos) << o.err;
    EXPECT_EQ(onesea({"run", "ls", s.path("started")}).out, "");
    ASSERT_EQ(mkfifo(s.path("unread").c_str(), 0600), 0);
    o = onesea({"run", "--stats=" + s.path("unread"), "true"});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("unread"), std::string::npos) << o.err;
    o = onesea({"run", "--stats=/dev/full", "true"});
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("/dev/full"), std::string::npos) << o.err;
}

TEST(run_stats, a_pipe_that_somebody_reads_gets_them)
{
    auto o = onesea({"run", "--stats=/dev/stdout", "-n", "9", "true"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(nlohmann::json::parse(o.out, nullptr, false).is_object()) << o.out;
    scratch s;
    const std::string script =
        s.write("read.sh", fmt::format("{} run --stats=/dev/fd/3 -n 250 true 3>&1 | (sleep 1; cat)\n", ONESEA_COMMAND));
    o = onesea({"run", "sh", script});
    EXPECT_GT(o.out.size(), 65'536u) << "a pipe takes all, so nothing was tested";
    EXPECT_TRUE(nlohmann::json::parse(o.out, nullptr, false).is_object()) << o.out;
}

TEST(run_stats, a_pipe_that_is_not_read_holds_up_neither_time_limits_nor_signals)
{
    scratch s;
    const std::string pipe = s.path("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    const words line{"run", "--stats=" + pipe, "-n", "250", "true"};
    words limited = line;
    limited.insert(limited.begin() + 1, {"--timeout", "2"});
    command first(limited);
    auto o = first.wait(30);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.status, 124) << o.err;
    EXPECT_NE(o.err.find("bytes of output are lost: nobody has read them"), o.err.npos) << o.err;
    command second(line);
    sleep(2);
    second.send(SIGTERM);
    o = second.wait(30);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.status, 143) << o.err;
    close(reader);
}

// The JSON of this job is longer than what stdio keeps before it writes.
TEST(run_stats, a_full_disk_costs_neither_output_nor_the_status_of_a_rank_that_failed)
{
    auto o = onesea({"run", "--stats=/dev/full", "-n", "4", "--on-death", "continue", "sh", "-c",
                     fmt::format("{}; head -c 300000 /dev/zero; exit $ONESEA_RANK", ONESEA_COUNTED)});
    EXPECT_TRUE(o.status >= 1 && o.status <= 3) << o.status;
    EXPECT_NE(o.err.find("'/dev/full' could not be written: No space left on device"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(fmt::format("exited with status {}", o.status)), std::string::npos) << o.err;
    EXPECT_GE(o.out.size(), 1'200'000u);
}

TEST(run_stats, a_start_that_fails_leaves_the_file_of_the_run_before)
{
    scratch s;
    const std::string file = s.write("stats.json", std::string(100'000, ' '));
    EXPECT_EQ(onesea({"run", "--stats=" + file, "/no/such/program"}).status, 127);
    EXPECT_EQ(s.read("stats.json").size(), 100'000u);
    EXPECT_EQ(onesea({"run", "--stats=" + file, "true"}).status, 0);
    EXPECT_LT(s.read("stats.json").size(), 10'000u);
}

TEST(run_stats, counts_of_a_lost_agent_are_said_to_be_lost)
{
    command c({"run", "--stats", "-n", "2", "--nodes", "2", "sh", "-c", "echo ready; sleep 30"});
    ASSERT_TRUE(c.wait_for("ready"));
    auto agents = c.agents();
    ASSERT_FALSE(agents.empty());
    kill(agents[0], SIGKILL);
    auto o = c.wait();
    EXPECT_EQ(o.status, 125) << o.err;
    EXPECT_NE(o.err.find("its agent was lost"), std::string::npos) << o.err;
    EXPECT_TRUE(c.nothing_left());
}

// The rank writes into its page, whose descriptor it has inherited: other bytes at the front; or so many rows that no
// memory would hold them.
TEST(run_stats, a_page_that_its_rank_has_damaged_costs_its_counts_alone)
{
    const std::string page = "page=/proc/self/fd/$(echo $ONESEA_BIRTH | cut -d: -f7); ";
    for (const char *damage :
         {"printf XXXX | dd of=$page bs=1 conv=notrunc",
          "truncate -s 1T $page; printf '\\000\\302\\353\\013' | dd of=$page bs=1 seek=52 conv=notrunc"}) {
        auto o = onesea({"run", "--stats", "-n", "2", "sh", "-c",
                         page + "[ $ONESEA_RANK = 1 ] || { " + damage + "; } 2>/dev/null"});
        EXPECT_EQ(o.status, 0) << damage;
        EXPECT_NE(o.err.find("the counts of rank 0 are unreadable"), o.err.npos) << o.err;
        EXPECT_NE(o.err.find("  rank 0 on localhost: its counts are unreadable\n"), o.err.npos) << o.err;
        EXPECT_NE(o.err.find("1 rank never called sea_init()"), o.err.npos) << o.err;
        EXPECT_EQ(o.err.find("its agent was lost"), o.err.npos) << o.err;
    }
}

TEST(run_stats, a_host_name_that_is_no_text_is_refused)
{
    scratch s;
    auto o = onesea({"run", "--host",
                     "a\xff"
                     "b",
                     "--stats=" + s.path("stats.json"), "true"},
                    "", {"ONESEA_RSH=false"});
    EXPECT_EQ(o.status, 125);
    EXPECT_EQ(o.err, "onesea: --host a.b: 'a.b' is not a host name\n");
}

// Operations per second that `onesea top` shows for one of those processes; 0 if it shows none of them.
long long speed_of(const std::vector<pid_t> &processes, const std::string &table)
{
    std::istringstream stream(table);
    for (std::string line, word; std::getline(stream, line);) {
        words row;
        for (std::istringstream cells(line); cells >> word;) row.push_back(word);
        for (pid_t p : processes)
            if (row.size() > 3 && row[2] == std::to_string(p)) return std::stoll(row[3]);
    }
    return 0;
}

TEST(top, shows_what_running_ranks_do)
{
    command job({"run", "-n", "2", ONESEA_COUNTED, "100000000", "8"});
    long long speed = 0;
    std::string table;
    for (int i = 0; i < 50 && speed == 0; ++i) {
        table = onesea({"top", "--interval", "0.2", "--count", "1"}).out;
        speed = speed_of(job.marked(), table);
    }
    EXPECT_GT(speed, 0) << table;
    job.send(SIGTERM);
    job.wait();
    EXPECT_TRUE(job.nothing_left());
}

TEST(top, refuses_what_it_does_not_know)
{
    EXPECT_EQ(onesea({"top", "--nosuch"}).status, 125);
    EXPECT_EQ(onesea({"top", "--interval", "0"}).status, 125);
    EXPECT_EQ(onesea({"top", "--interval", "nan", "--count", "1"}).status, 125);
    EXPECT_EQ(onesea({"top", "--help"}).status, 0);
}

} // namespace
} // namespace job_test
