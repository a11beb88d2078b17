// SPDX-License-Identifier: Apache-2.0
#include "run_options.hpp"

#include "agent/hosts.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace onesea::cli {
namespace {

using agent::request_error;

agent::job_request parsed(const arguments &args, bool terminal = false) { return parse_run(args, terminal).value(); }

std::string refused(const arguments &args)
{
    try {
        parse_run(args, false);
    } catch (const request_error &e) {
        EXPECT_EQ(e.code, 125);
        return e.what();
    }
    return "accepted";
}

TEST(run_options, program_arguments_stay_untouched)
{
    auto job = parsed({"-n", "2", "prog", "-n", "7", "--bogus", "--", "-N"});
    EXPECT_EQ(job.programs[0].count, 2u);
    EXPECT_EQ(job.programs[0].argv, (arguments{"prog", "-n", "7", "--bogus", "--", "-N"}));
}

TEST(run_options, np_is_an_alias)
{
    EXPECT_EQ(parsed({"-np", "3", "p"}).programs[0].count, 3u);
    EXPECT_EQ(parsed({"--np", "3", "p"}).programs[0].count, 3u);
    EXPECT_EQ(parsed({"-n3", "p"}).programs[0].count, 3u);
}

TEST(run_options, bare_big_n_is_refused_with_a_hint)
{
    EXPECT_NE(refused({"-N", "2", "p"}).find("--nodes M"), std::string::npos);
    EXPECT_NE(refused({"-N2", "p"}).find("--ppn"), std::string::npos);
}

TEST(run_options, unknown_options_are_named)
{
    EXPECT_NE(refused({"--frobnicate", "p"}).find("--frobnicate"), std::string::npos);
    EXPECT_NE(refused({"-n", "0", "p"}).find("0"), std::string::npos);
    EXPECT_NE(refused({"-n", "two", "p"}).find("two"), std::string::npos);
    EXPECT_NE(refused({"--secure", "maybe", "p"}).find("maybe"), std::string::npos);
    EXPECT_NE(refused({"--stdin", "1", "p"}).find("--stdin '1'"), std::string::npos);
    EXPECT_NE(refused({"--timeout", "p"}).find("--timeout"), std::string::npos);
    EXPECT_NE(refused({"-n"}).find("lacks its value"), std::string::npos);
    EXPECT_NE(refused({"-n", "2"}).find("no program"), std::string::npos);
    EXPECT_NE(refused({"p", ":", "--frobnicate", "q"}).find("no option '--frobnicate'"), std::string::npos);
    EXPECT_EQ(refused({"p", ":", "--nodes=2", "q"}),
              "--nodes is for the whole job: it stands before the first program");
}

TEST(run_options, a_time_limit_is_a_number_of_seconds)
{
    for (const char *wrong : {"nan", "NaN", "-nan", "inf", "-inf", "-1", "0", "1e30", "1e-30", "1e999", "5x", "x"}) {
        const std::string text = refused({"--timeout", wrong, "p"});
        EXPECT_NE(text.find("--timeout: '" + std::string(wrong) + "' is not a number of seconds"), text.npos) << text;
    }
    for (const char *wrong : {"-1", "86401", "1.5", "x", ""})
        EXPECT_NE(refused({"--agent-timeout", wrong, "p"}).find("--agent-timeout"), std::string::npos) << wrong;
    EXPECT_EQ(parsed({"p"}).agent_timeout_s, 120u);
    EXPECT_EQ(parsed({"--agent-timeout", "0", "p"}).agent_timeout_s, 0u);
    EXPECT_EQ(parsed({"--timeout", "0.5", "p"}).timeout_s, 0.5);
    EXPECT_EQ(parsed({"--timeout=1e9", "p"}).timeout_s, 1e9);
}

TEST(run_options, parts_are_split_at_colons)
{
    auto job = parsed({"-n", "2", "a", "x", ":", "-n", "3", "-x", "K=v", "b", ":", "c"});
    ASSERT_EQ(job.programs.size(), 3u);
    EXPECT_EQ(job.programs[0].argv, (arguments{"a", "x"}));
    EXPECT_EQ(job.programs[1].count, 3u);
    EXPECT_EQ(job.programs[1].environment, (agent::variables{{"K", "v"}}));
    EXPECT_EQ(job.programs[2].count, 0u);
}

TEST(run_options, job_options_belong_to_the_first_part)
{
    EXPECT_NE(refused({"a", ":", "--timeout", "3", "b"}).find("--timeout"), std::string::npos);
}

TEST(run_options, tag_takes_a_value_only_with_equals)
{
    auto job = parsed({"--tag", "p"});
    EXPECT_TRUE(job.tag.rank);
    EXPECT_EQ(job.programs[0].argv, arguments{"p"});
    job = parsed({"--tag=host,time", "p"});
    EXPECT_TRUE(job.tag.host && job.tag.time && !job.tag.rank);
    EXPECT_FALSE(parsed({"-n", "4", "--tag=none", "p"}, true).tag.any());
    EXPECT_TRUE(parsed({"-n", "4", "p"}, true).tag.rank);
    EXPECT_FALSE(parsed({"-n", "1", "p"}, true).tag.any());
    EXPECT_FALSE(parsed({"-n", "4", "p"}, false).tag.any());
    EXPECT_NE(refused({"--tag=colour", "p"}).find("colour"), std::string::npos);
}

TEST(run_options, stats_take_a_file_only_with_equals)
{
    EXPECT_FALSE(parsed({"p"}).stats);
    auto job = parsed({"--stats", "p"});
    EXPECT_TRUE(job.stats);
    EXPECT_EQ(job.stats_file, "");
    EXPECT_EQ(job.programs[0].argv, arguments{"p"});
    job = parsed({"-n", "2", "--stats=s.json", "p", ":", "q"});
    EXPECT_TRUE(job.stats);
    EXPECT_EQ(job.stats_file, "s.json");
    EXPECT_NE(refused({"a", ":", "--stats", "b"}).find("--stats"), std::string::npos);
}

TEST(run_options, choices_are_read)
{
    auto job = parsed({"--transport", "udp", "--secure", "encrypt", "--on-death", "continue", "--stdin", "all",
                       "--bind", "core", "--heap", "64M", "--timeout", "1.5", "--iface", "lo", "--host", "a:2,b", "p"});
    EXPECT_EQ(job.transport, shm::transport_choice::net);
    EXPECT_EQ(job.secure, shm::secure_mode::encrypt);
    EXPECT_TRUE(job.continue_on_death);
    EXPECT_EQ(job.input, agent::stdin_mode::all);
    EXPECT_EQ(job.bind, agent::bind_mode::core);
    EXPECT_EQ(job.heap_bytes, 64u << 20);
    EXPECT_DOUBLE_EQ(job.timeout_s, 1.5);
    EXPECT_EQ(job.interface, "lo");
    ASSERT_EQ(job.hosts.size(), 2u);
}

// Of a variable of the shell that is not set: what it was to name must not become this machine, or the default.
TEST(run_options, no_value_is_empty)
{
    for (const char *option : {"--host", "--hostfile", "-w", "--wdir", "--heap", "--output", "--profile", "--iface",
                               "--prefix", "--timeout", "--stdin", "--env-file", "-n", "-x"})
        EXPECT_EQ(refused({option, "", "p"}), fmt::format("the option '{}' has an empty value", option));
    for (const char *option : {"--host", "--heap", "--stats", "--tag"})
        EXPECT_EQ(refused({fmt::format("{}=", option), "p"}),
                  fmt::format("the option '{}' has an empty value", option));
    EXPECT_EQ(parsed({"-x", "A=", "p"}).programs[0].environment, (agent::variables{{"A", ""}}));
    EXPECT_EQ(parsed({"p", "", "--heap="}).programs[0].argv, (arguments{"p", "", "--heap="}));
}

TEST(run_options, sizes)
{
    EXPECT_EQ(parse_size("4096"), 4096u);
    EXPECT_EQ(parse_size("64M"), 64u << 20);
    EXPECT_EQ(parse_size("1.5GiB"), (3u << 30) / 2);
    EXPECT_EQ(parse_size("8kb"), 8192u);
    for (const char *wrong : {"", "M", "-1M", "64X", "1", "1e30", "nan", "600G"})
        EXPECT_THROW(parse_size(wrong), request_error) << wrong;
    EXPECT_EQ(parse_size("128G"), shm::max_heap_bytes);
    EXPECT_THROW(parse_size("129G"), request_error);
}

} // namespace
} // namespace onesea::cli
