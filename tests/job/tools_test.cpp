// SPDX-License-Identifier: Apache-2.0
// The other verbs of the command.
#include "command.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace job_test {
namespace {

TEST(tools, version_and_help)
{
    EXPECT_EQ(onesea({"version"}).out.rfind("onesea 0.", 0), 0u);
    for (const std::vector<std::string> &words :
         {std::vector<std::string>{"help"}, {"--help"}, {"version", "--help"}, {"version", "-h"}, {"help", "--help"}}) {
        auto told = onesea(words);
        EXPECT_EQ(told.status, 0) << words[0];
        EXPECT_NE(told.out.find("onesea run"), std::string::npos) << words[0];
        EXPECT_EQ(told.err, "") << words[0];
    }
    auto o = onesea({"run", "--help"});
    EXPECT_EQ(o.status, 0);
    for (const char *option :
         {"--nodes", "--ppn", "--hostfile", "--on-death", "--secure", "--tag", "--timeout", "--dry-run"})
        EXPECT_NE(o.out.find(option), std::string::npos) << option;
}

TEST(tools, words_that_nothing_reads_are_told)
{
    for (const std::vector<std::string> &words :
         {std::vector<std::string>{"version", "surely-none"}, {"help", "surely-none"}, {"bench", "--surely-none"}}) {
        auto o = onesea(words);
        EXPECT_EQ(o.status, 125) << words[0];
        EXPECT_EQ(o.out, "") << words[0];
        EXPECT_NE(o.err.find(words[1]), std::string::npos) << o.err;
    }
}

TEST(tools, what_cannot_be_printed_is_no_success)
{
    scratch s;
    const std::string script = s.write("full.sh", fmt::format("{0} \"$@\" >/dev/full\necho $?\n", ONESEA_COMMAND));
    for (const std::vector<std::string> &words :
         {std::vector<std::string>{"version"}, {"run", "--help"}, {"run", "--dry-run", "true"}}) {
        std::vector<std::string> all{"run", "sh", script};
        all.insert(all.end(), words.begin(), words.end());
        auto o = onesea(all);
        EXPECT_EQ(o.out, "125\n") << words[0];
        EXPECT_NE(o.err.find("stdout cannot be written: No space left on device"), std::string::npos) << o.err;
    }
}

TEST(tools, words_that_nobody_takes_change_no_status)
{
    scratch s;
    const std::string script = s.write("full.sh", fmt::format("{0} \"$@\" 2>/dev/full\necho $?\n", ONESEA_COMMAND));
    const std::pair<std::string, std::vector<std::string>> cases[] = {
        {"125\n", {"run", "--foo", "true"}},
        {"0\n", {"run", "--show-map", "true"}},
        {"125\n", {"nonsense"}},
        {"125\n", {"top", "--nonsense"}},
    };
    for (const auto &[status, words] : cases) {
        std::vector<std::string> all{"run", "-x", "ONESEA_LGO=1", "sh", script}; // a warning, too
        all.insert(all.end(), words.begin(), words.end());
        EXPECT_EQ(onesea(all).out, status) << words[0];
    }
}

TEST(tools, a_limit_of_file_sizes_is_told)
{
    scratch s;
    const std::string script =
        s.write("limit.sh", fmt::format("ulimit -f 1000\n{0} doctor\n{0} run true\n", ONESEA_COMMAND));
    auto o = onesea({"run", "sh", script});
    EXPECT_NE(o.out.find("memfd works, but not with 1 TiB"), std::string::npos) << o.out;
    EXPECT_NE(o.err.find("(raise the limit of file sizes: ulimit -f)"), std::string::npos) << o.err;
}

TEST(tools, doctor_tells_every_check_with_a_state)
{
    auto o = onesea({"doctor", "--json"}, "", {"ONESEA_LGO=x"});
    std::set<std::string> seen;
    std::istringstream stream(o.out);
    for (std::string line; std::getline(stream, line);) {
        auto j = nlohmann::json::parse(line);
        seen.insert(j.at("check").get<std::string>());
        std::string state = j.at("state");
        EXPECT_TRUE(state == "ok" || state == "warn" || state == "bad") << line;
        EXPECT_EQ(state == "ok", j.at("change").get<std::string>().empty()) << line;
        EXPECT_FALSE(j.at("text").get<std::string>().empty()) << line;
        EXPECT_EQ(line.find(" ,"), std::string::npos) << line;
    }
    for (const char *check : {"cores", "memory", "kernel", "clock", "open files", "shared memory", "process_vm",
                              "userfaultfd", "gso", "gro", "remote shell", "ranks of one node", "virtual nodes here",
                              "nodes on two machines", "variable ONESEA_LGO"})
        EXPECT_TRUE(seen.count(check)) << check;
    EXPECT_EQ(onesea({"doctor", "--nosuch"}).status, 125);
}

TEST(tools, unknown_benchmark_is_named)
{
    auto o = onesea({"bench", "surely-none"});
    EXPECT_EQ(o.status, 127);
    EXPECT_NE(o.err.find("'surely-none'"), std::string::npos);
    EXPECT_EQ(onesea({"bench", "../x"}).status, 127);
    EXPECT_EQ(onesea({"bench"}).status, 0);
}

TEST(tools, agent_refuses_a_stream_that_is_no_control_line)
{
    auto o = onesea({"agent"}, "a file\n");
    EXPECT_EQ(o.status, 125);
    EXPECT_NE(o.err.find("not by hand"), std::string::npos);
    for (const char *bytes : {"this is no launcher", "SEA1\\020", "SEA1\\377\\377\\377\\377\\377\\377\\377\\377",
                              "SEA1\\002\\000\\000\\000\\000\\000\\000\\000{}"}) {
        std::string script =
            fmt::format("printf '{}' | timeout 20 {} agent >/dev/null; echo $?", bytes, ONESEA_COMMAND);
        EXPECT_EQ(onesea({"run", "sh", "-c", script}).out, "0\n") << bytes;
    }
}

} // namespace
} // namespace job_test
