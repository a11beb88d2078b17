// SPDX-License-Identifier: Apache-2.0
// stdin, stdout, stderr, tags, files, environment and directory of the ranks.
#include "command.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace job_test {
namespace {

std::vector<std::string> sorted_lines(const std::string &text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::string numbers(int n)
{
    std::string text;
    for (int i = 0; i < n; ++i) text += fmt::format("{}\n", i);
    return text;
}

TEST(run_streams, standard_descriptors_may_be_closed)
{
    for (const char *closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
        const std::string line = ONESEA_COMMAND " run -n 2 sh -c 'echo out; echo err >&2' ";
        EXPECT_EQ(std::system((line + closed).c_str()), 0) << closed;
    }
}

TEST(run_streams, rank_zero_reads_stdin_by_default)
{
    std::string input = numbers(200000);
    auto o = onesea({"run", "-n", "2", "--nodes", "2", "cat"}, input);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(o.out == input) << o.out.size() << " of " << input.size();
}

TEST(run_streams, all_read_stdin_when_asked)
{
    auto o = onesea({"run", "-n", "3", "--nodes", "2", "--stdin", "all", "wc", "-c"}, numbers(100000));
    EXPECT_EQ(o.out, "588890\n588890\n588890\n");
}

TEST(run_streams, nobody_reads_stdin_when_asked)
{
    EXPECT_EQ(onesea({"run", "-n", "2", "--stdin", "none", "wc", "-c"}, numbers(100)).out, "0\n0\n");
}

TEST(run_streams, a_rank_that_does_not_read_holds_up_nobody)
{
    auto o = onesea({"run", "-n", "2", "sh", "-c", "exec 0<&-; sleep 0.2; echo done"}, numbers(300000));
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.out, "done\ndone\n");
}

TEST(run_streams, stdout_and_stderr_stay_apart)
{
    auto o = onesea({"run", "sh", "-c", "echo to-out; echo to-err >&2"});
    EXPECT_EQ(o.out, "to-out\n");
    EXPECT_EQ(o.err, "to-err\n");
}

TEST(run_streams, heavy_output_of_many_ranks_comes_whole_and_in_order)
{
    const char *script =
        "i=0; while [ $i -lt 3000 ]; do echo r$ONESEA_RANK-$i-abcdefghijklmnopqrstuvwxyz; i=$((i+1)); done";
    auto o = onesea({"run", "-n", "8", "--nodes", "2", "sh", "-c", script});
    ASSERT_EQ(o.status, 0) << o.err;
    std::map<int, int> next;
    std::istringstream stream(o.out);
    for (std::string line; std::getline(stream, line);) {
        int rank = -1, i = -1, used = 0;
        ASSERT_EQ(std::sscanf(line.c_str(), "r%d-%d-abcdefghijklmnopqrstuvwxyz%n", &rank, &i, &used), 2) << line;
        ASSERT_EQ(std::size_t(used), line.size()) << line;
        ASSERT_EQ(i, next[rank]++);
    }
    ASSERT_EQ(next.size(), 8u);
    for (auto [rank, n] : next) EXPECT_EQ(n, 3000) << "rank " << rank;
}

TEST(run_streams, a_big_last_burst_is_not_lost)
{
    for (int round = 0; round < 5; ++round) {
        auto o = onesea({"run", "-n", "4", "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo"});
        EXPECT_EQ(o.out.size(), 4u * 3000001 + std::size_t(std::count(o.out.begin(), o.out.end(), '\n')) - 4);
        EXPECT_EQ(std::count(o.out.begin(), o.out.end(), 'x'), 4 * 3000000);
    }
}

TEST(run_streams, output_of_what_a_rank_left_running_is_kept_until_it_is_ended)
{
    command c({"run", "-n", "1", "sh", "-c", "(echo early; sleep 60) & sleep 0.3; echo late"});
    auto o = c.wait();
    EXPECT_EQ(o.out, "early\nlate\n");
    EXPECT_LT(o.seconds, 20);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_streams, tags)
{
    auto o = onesea({"run", "-n", "2", "--tag", "sh", "-c", "echo hi; printf half"});
    EXPECT_EQ(sorted_lines(o.out), (std::vector<std::string>{"[0] half", "[0] hi", "[1] half", "[1] hi"}));
    o = onesea({"run", "-n", "1", "--tag=rank,host,time", "echo", "x"});
    int h, m, s, ms;
    EXPECT_EQ(std::sscanf(o.out.c_str(), "[0 localhost %d:%d:%d.%d] x", &h, &m, &s, &ms), 4) << o.out;
}

TEST(run_streams, files_hold_the_very_bytes)
{
    scratch s;
    auto o = onesea({"run", "-n", "3", "--nodes", "2", "--output", s.path("out/deep"), "--quiet", "sh", "-c",
                     "head -c 300000 /dev/urandom > " + s.path("want") + ".$ONESEA_RANK; cat " + s.path("want") +
                         ".$ONESEA_RANK; echo e >&2"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out + o.err, "");
    for (int r = 0; r < 3; ++r) {
        EXPECT_TRUE(s.read(fmt::format("out/deep/rank.{}.out", r)) == s.read(fmt::format("want.{}", r)));
        EXPECT_EQ(s.read(fmt::format("out/deep/rank.{}.err", r)), "e\n");
    }
}

TEST(run_streams, a_start_that_fails_leaves_the_files_of_the_run_before)
{
    scratch s;
    ASSERT_EQ(onesea({"run", "--quiet", "--output", s.path("out"), "-n", "1", "echo", "precious"}).status, 0);
    EXPECT_EQ(onesea({"run", "--output", s.path("out"), "/no/such/program"}).status, 127);
    EXPECT_EQ(s.read("out/rank.0.out"), "precious\n");
    ASSERT_EQ(onesea({"run", "--quiet", "--output", s.path("out"), "-n", "1", "echo", "new"}).status, 0);
    EXPECT_EQ(s.read("out/rank.0.out"), "new\n");
}

struct pipe_by_name {
    explicit pipe_by_name(const std::string &path) : made(mkfifo(path.c_str(), 0600) == 0), path_(path) {}
    ~pipe_by_name()
    {
        if (reader >= 0) close(reader);
    }
    void open_and_read_nothing()
    {
        reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        ASSERT_GE(reader, 0);
    }
    const bool made;
    int reader = -1;

  private:
    const std::string path_;
};

TEST(run_streams, a_pipe_among_the_files_that_nobody_reads_is_named_before_anything_starts)
{
    scratch s;
    s.write("out/other", "");
    const pipe_by_name pipe(s.path("out/rank.0.err"));
    ASSERT_TRUE(pipe.made);
    command c({"run", "--output", s.path("out"), "touch", s.path("started")});
    auto o = c.wait(10);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("/rank.0.err' cannot be written: nobody reads it"), o.err.npos) << o.err;
    EXPECT_NE(access(s.path("started").c_str(), F_OK), 0);
}

TEST(run_streams, a_pipe_among_the_files_gets_all_when_it_is_read)
{
    scratch s;
    s.write("out/other", "");
    const pipe_by_name pipe(s.path("out/rank.1.out"));
    ASSERT_TRUE(pipe.made);
    const std::string script = s.write(
        "read.sh", fmt::format("(sleep 0.5; cat) <{} | wc -c & exec 3>{}\n"
                               "{} run -n 2 --quiet --output {} head -c 9000000 /dev/zero; exec 3>&-; wait\n",
                               s.path("out/rank.1.out"), s.path("out/rank.1.out"), ONESEA_COMMAND, s.path("out")));
    auto o = onesea({"run", "sh", script});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out, "9000000\n");
    EXPECT_EQ(s.read("out/rank.0.out").size(), 9'000'000u);
}

TEST(run_streams, a_pipe_among_the_files_that_is_not_read_holds_up_neither_time_limits_nor_signals)
{
    scratch s;
    s.write("out/other", "");
    pipe_by_name pipe(s.path("out/rank.0.out"));
    ASSERT_TRUE(pipe.made);
    pipe.open_and_read_nothing();
    for (const char *bytes : {"1000000", "50000000"}) {
        command limited(
            {"run", "--timeout", "1", "--quiet", "--output", s.path("out"), "head", "-c", bytes, "/dev/zero"});
        auto o = limited.wait(30);
        EXPECT_FALSE(o.timed_out) << bytes;
        EXPECT_EQ(o.status, 124) << o.err;
        EXPECT_NE(o.err.find("bytes of output are lost: nobody has read them"), o.err.npos) << o.err;

        command asked(
            {"run", "--quiet", "--output", s.path("out"), "sh", "-c", "head -c $0 /dev/zero; echo x >&2", bytes});
        sleep(1);
        asked.send(SIGTERM);
        o = asked.wait(30);
        EXPECT_FALSE(o.timed_out) << bytes;
        EXPECT_EQ(o.status, 143) << o.err;
    }
}

TEST(run_streams, a_quiet_jobs_last_words_are_shown_when_it_fails)
{
    scratch s;
    auto o = onesea({"run", "--output", s.path("out"), "--quiet", "sh", "-c", "echo cause of it >&2; exit 4"});
    EXPECT_EQ(o.status, 4);
    EXPECT_NE(o.err.find("exited with status 4"), std::string::npos);
    EXPECT_NE(o.err.find("cause of it"), std::string::npos) << o.err;
}

TEST(run_streams, programs_of_one_job_have_consecutive_ranks)
{
    auto o = onesea({"run", "-n", "2", "sh", "-c", "echo a$ONESEA_RANK/$ONESEA_SIZE", ":", "-n", "1", "-x", "V=w", "sh",
                     "-c", "echo b$ONESEA_RANK$V"});
    EXPECT_EQ(sorted_lines(o.out), (std::vector<std::string>{"a0/3", "a1/3", "b2w"}));
}

TEST(run_streams, environment_and_directory)
{
    scratch s;
    auto o = onesea({"run", "-x", "FROM_HERE", "-x", "GIVEN=a b", "--env-file", s.write("vars", "# x\nFILE=1\n"), "-w",
                     "/usr", "sh", "-c", "echo $FROM_HERE,$GIVEN,$FILE,$PLAIN,$PWD"},
                    "", {"FROM_HERE=yes", "PLAIN=too"});
    EXPECT_EQ(o.out, "yes,a b,1,too,/usr\n");
}

TEST(run_streams, a_misspelt_variable_is_reported)
{
    auto o = onesea({"run", "true"}, "", {"ONESEA_LGO=debug"});
    EXPECT_NE(o.err.find("ONESEA_LGO; did you mean ONESEA_LOG?"), std::string::npos) << o.err;
}

TEST(run_streams, a_reader_that_goes_away_ends_the_job)
{
    scratch s;
    std::string script = s.write("pipe.sh", fmt::format("{} run -n 2 yes | head -n 3; echo over\n", ONESEA_COMMAND));
    auto o = onesea({"run", "sh", script}); // a job in a job, too
    EXPECT_EQ(o.out, "y\ny\ny\nover\n");
}

TEST(run_streams, a_reader_of_errors_that_goes_away_ends_the_job)
{
    scratch s;
    std::string script = s.write("pipe.sh", fmt::format("({} run -n 2 sh -c 'yes >&2'; echo $? >{}) 2>&1 | head -n 1\n",
                                                        ONESEA_COMMAND, s.path("status")));
    EXPECT_EQ(onesea({"run", "sh", script}).out, "y\n");
    EXPECT_EQ(s.read("status"), "141\n");
}

TEST(run_streams, errors_that_cannot_be_written_are_no_success)
{
    scratch s;
    std::string script = s.write("full.sh", fmt::format("{} run sh -c 'head -c 200000 /dev/zero >&{}' >{} 2>{}\n"
                                                        "echo $?\n",
                                                        ONESEA_COMMAND, 2, "/dev/null", "/dev/full"));
    EXPECT_EQ(onesea({"run", "sh", script}).out, "125\n");
}

// The numbers from 1 on, without a gap, perhaps cut off.
bool counts_up(const std::string &text)
{
    std::istringstream stream(text.substr(0, text.rfind('\n') + 1));
    long wanted = 0;
    for (std::string line; std::getline(stream, line);)
        if (line != std::to_string(++wanted)) return false;
    return wanted > 0;
}

TEST(run_streams, who_reads_late_gets_everything)
{
    command c({"run", "-n", "1", "--nodes", "1", "seq", "1", "3000000"});
    ASSERT_TRUE(c.wait_for("1\n"));
    c.stop_reading();
    sleep(1);
    c.read_on();
    auto o = c.wait();
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(counts_up(o.out));
    EXPECT_TRUE(o.out.ends_with("\n3000000\n")) << o.out.size();
}

TEST(run_streams, a_death_is_noticed_while_nobody_reads_and_no_output_is_lost)
{
    command c({"run", "--nodes", "2", "-n", "1", "seq", "1", "2000000000", ":", "-n", "1", "sh", "-c",
               "sleep 1; kill -KILL $$"});
    ASSERT_TRUE(c.wait_for("1\n"));
    c.stop_reading();
    EXPECT_TRUE(c.at_most_left(1, 30)) << "ranks and agents live on";
    EXPECT_FALSE(c.marked().empty()) << "the launcher has thrown output away";
    c.read_on();
    auto o = c.wait();
    EXPECT_EQ(o.status, 137) << o.err;
    EXPECT_NE(o.err.find("rank 1 on localhost was killed by signal 9"), o.err.npos) << o.err;
    EXPECT_EQ(o.err.find("lost"), o.err.npos) << o.err;
    EXPECT_TRUE(counts_up(o.out));
    EXPECT_GT(o.out.size(), 4'000'000u) << "the launcher holds some megabytes";
}

TEST(run_streams, the_time_limit_holds_while_nobody_reads)
{
    command c({"run", "--timeout", "1", "-n", "2", "--nodes", "2", "yes"});
    c.stop_reading();
    auto o = c.wait(40);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.status, 124);
    EXPECT_NE(o.err.find("bytes of output are lost: nobody has read them"), o.err.npos) << o.err;
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_streams, the_time_limit_holds_also_when_a_rank_has_failed)
{
    command c({"run", "--timeout", "2", "sh", "-c", "head -c 3000000 /dev/zero; exit 5"});
    c.stop_reading();
    auto o = c.wait(40);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.status, 5);
    EXPECT_NE(o.err.find("bytes of output are lost: nobody has read them"), o.err.npos) << o.err;
}

TEST(run_streams, the_time_limit_is_none_for_a_reader_who_goes_on)
{
    command c({"run", "--timeout", "1", "sh", "-c", "head -c 3000000 /dev/zero"});
    c.stop_reading();
    sleep(2);
    c.read_on();
    auto o = c.wait(40);
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.out.size(), 3'000'000u);
    EXPECT_EQ(o.err, "");
}

TEST(run_streams, a_second_ctrl_c_ends_it_while_nobody_reads)
{
    command c({"run", "-n", "2", "sh", "-c", "trap '' INT; yes"});
    ASSERT_TRUE(c.wait_for("y\n"));
    c.stop_reading();
    sleep(1);
    c.send(SIGINT);
    usleep(300'000);
    c.send(SIGINT);
    auto o = c.wait(40);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.status, 130);
    EXPECT_FALSE(o.killed);
    EXPECT_TRUE(c.nothing_left());
}

TEST(run_streams, a_signal_ends_it_when_only_the_reader_is_missing)
{
    command c({"run", "-n", "1", "sh", "-c", "seq 1 300000"});
    ASSERT_TRUE(c.wait_for("1\n"));
    c.stop_reading();
    ASSERT_TRUE(c.at_most_left(1, 30));
    c.send(SIGTERM);
    auto o = c.wait(40);
    EXPECT_FALSE(o.timed_out);
    EXPECT_EQ(o.status, 143);
    EXPECT_FALSE(o.killed);
    EXPECT_TRUE(counts_up(o.out));
}

} // namespace
} // namespace job_test
