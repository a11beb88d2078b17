// SPDX-License-Identifier: Apache-2.0
// Where ranks run, and what they inherit.
#include "command.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <sys/stat.h>

namespace job_test {
namespace {

TEST(run_places, dry_run_prints_the_map_and_starts_nothing)
{
    scratch s;
    auto o = onesea({"run", "-n", "3", "--nodes", "2", "--dry-run", "touch", s.path("x"), ":", "-n", "2", "date"});
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.out, fmt::format("5 ranks on 2 nodes\nnode 0  localhost (this machine)  ranks 0-2  touch {0}\n"
                                 "node 1  localhost (this machine)  ranks 3-4  date\n",
                                 s.path("x")));
    EXPECT_EQ(s.read("x"), "");
    o = onesea({"run", "--dry-run", "--host", "some-far-host:2,other", "true"});
    EXPECT_NE(o.out.find("node 0  some-far-host  ranks 0-1  true\n"), std::string::npos) << o.out;
}

TEST(run_places, show_map_goes_to_stderr)
{
    auto o = onesea({"run", "--show-map", "echo", "x"});
    EXPECT_EQ(o.out, "x\n");
    EXPECT_NE(o.err.find("1 rank on 1 node"), std::string::npos);
}

TEST(run_places, hostfile_of_this_machine_runs)
{
    scratch s;
    auto o = onesea({"run", "--machinefile", s.write("h", "# us\nlocalhost slots=2\nlocalhost\n"), "echo", "x"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out, "x\nx\nx\n");
}

TEST(run_places, ranks_know_where_they_are)
{
    auto o = onesea({"run", "-n", "4", "--ppn", "2", "sh", "-c",
                     "echo $ONESEA_RANK $ONESEA_NODE $ONESEA_NODES $ONESEA_LOCAL_RANK"});
    std::set<std::string> lines;
    std::istringstream stream(o.out);
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    EXPECT_EQ(lines, (std::set<std::string>{"0 0 2 0", "1 0 2 1", "2 1 2 0", "3 1 2 1"}));
}

TEST(run_places, arguments_variables_and_directories_are_passed_byte_for_byte)
{
    scratch s;
    const std::string odd = s.path("caf\xe9");
    ASSERT_EQ(mkdir(odd.c_str(), 0700), 0);
    auto o = onesea({"run", "--nodes", "2", "-n", "2", "--wdir", odd, "-x", "LATIN1=\xfc", "sh", "-c",
                     "printf '%s %s %s\\n' \"$1\" \"$LATIN1\" \"${PWD##*/}\"", "sh", "\xff\x01"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out, "\xff\x01 \xfc caf\xe9\n\xff\x01 \xfc caf\xe9\n");
}

int usual_descriptors()
{
    FILE *shell = popen("ls /proc/self/fd | wc -l", "r");
    int count = -1;
    if (shell && std::fscanf(shell, "%d", &count) != 1) count = -1;
    if (shell) pclose(shell);
    return count;
}

// ONESEA_BIRTH is version:rank:slot:arena:udp:lifeline:counts:wishes; the descriptors it names are open, and the rank
// has few more.
TEST(run_places, ranks_inherit_what_their_birth_says)
{
    const char *script =
        "IFS=:; set -- $ONESEA_BIRTH; for fd in $4 $6 $7 $8; do [ -e /proc/self/fd/$fd ] || echo lost $fd; done;"
        "if [ $5 -ge 0 ]; then readlink /proc/self/fd/$5; else echo no socket; fi; ls /proc/self/fd | wc -l";
    auto o = onesea({"run", "-n", "2", "sh", "-c", script});
    EXPECT_EQ(o.out.find("lost"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("no socket"), std::string::npos) << "one node needs no network";
    o = onesea({"run", "-n", "1", "--spawn", "3", "--transport", "udp", "sh", "-c", script});
    EXPECT_EQ(o.out.find("lost"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("socket:["), std::string::npos) << o.out;
    // Beside what any program has here: arena, socket, lifeline, counts, wishes and four doorbells.
    EXPECT_NE(o.out.find(fmt::format("\n{}\n", usual_descriptors() + 9)), std::string::npos) << o.out;
}

// As when the library was replaced by another version's, or a wrapper lost a descriptor.
TEST(run_places, a_rank_says_that_its_descriptor_is_not_what_it_should_be)
{
    const auto with = [](const char *redirection) {
        return onesea(
            {"run", "-n", "1", "sh", "-c",
             fmt::format("IFS=:; set -- $ONESEA_BIRTH; eval \"exec $4{}\"; exec {} 1 1", redirection, ONESEA_COUNTED)});
    };
    auto other = with("</dev/zero");
    EXPECT_NE(other.err.find("holds no shared memory of this version of the library"), std::string::npos) << other.err;
    auto closed = with("<&-");
    EXPECT_NE(closed.err.find("does a wrapper close descriptors?"), std::string::npos) << closed.err;
    EXPECT_NE(other.status, 0);
    EXPECT_NE(closed.status, 0);
}

TEST(run_places, the_key_is_in_no_argument_and_no_environment)
{
    auto o = onesea({"run", "-n", "1", "--nodes", "1", "sh", "-c",
                     "tr '\\0' '\\n' </proc/$PPID/cmdline; tr '\\0' '\\n' </proc/$PPID/environ; env"});
    std::istringstream stream(o.out);
    for (std::string line; std::getline(stream, line);) {
        auto equals = line.find('=');
        std::string value = equals == line.npos ? line : line.substr(equals + 1);
        bool hex = value.size() == 64 && value.find_first_not_of("0123456789abcdef") == value.npos;
        EXPECT_FALSE(hex) << line;
    }
    EXPECT_EQ(o.out.rfind("onesea\nagent\n", 0), 0u) << o.out.substr(0, 200);
}

} // namespace
} // namespace job_test
