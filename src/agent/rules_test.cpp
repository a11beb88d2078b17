// SPDX-License-Identifier: Apache-2.0
// The small rules: exit statuses, stopping, silence, binding, addresses, environments, the words for ssh.
#include "agent/address.hpp"
#include "agent/binding.hpp"
#include "agent/environment.hpp"
#include "agent/hosts.hpp"
#include "agent/node_link.hpp"
#include "agent/silence.hpp"
#include "agent/start.hpp"
#include "agent/stop_ladder.hpp"
#include "agent/verdict.hpp"

#include <gtest/gtest.h>

namespace onesea::agent {
namespace {

rank_end end_of(int rank, int code, int signal = 0, bool unfinished = false)
{
    return {rank, code, signal, false, unfinished};
}

TEST(verdict, first_failure_decides)
{
    verdict v;
    v.add(end_of(0, 0), false);
    EXPECT_FALSE(v.failed());
    EXPECT_EQ(v.exit_status(), 0);
    v.add(end_of(2, 3), false);
    v.add(end_of(1, 7), false);
    v.add(end_of(3, 0, SIGTERM), true);
    EXPECT_EQ(v.exit_status(), 3);
    EXPECT_EQ(v.first()->rank, 2);
    EXPECT_EQ(v.ended_by_launcher(), 1u);
}

TEST(verdict, counts_as_a_shell)
{
    EXPECT_EQ(shell_status(end_of(0, 0, SIGSEGV)), 139);
    EXPECT_EQ(shell_status(end_of(0, 5)), 5);
    EXPECT_EQ(shell_status(end_of(0, 0, 0, true)), 1);
    EXPECT_EQ(describe(end_of(4, 0, SIGKILL), "h"), "rank 4 on h was killed by signal 9 (Killed)");
    EXPECT_EQ(describe(end_of(4, 0, 0, true), "h"), "rank 4 on h ended without sea_finalize");
    EXPECT_EQ(describe(end_of(4, 2), "h"), "rank 4 on h exited with status 2");
}

TEST(verdict, of_ends_found_together_the_one_that_may_have_caused_the_others_is_first)
{
    rank_end asked = end_of(0, 0, SIGKILL);
    asked.asked = true;
    for (int signal : {SIGKILL, SIGSEGV, SIGTERM, SIGBUS})
        for (const rank_end &other :
             {end_of(0, 1), end_of(0, 0, SIGABRT), end_of(0, 0, SIGPIPE), end_of(0, 0, 0, true), asked})
            EXPECT_LT(order_of_causes(end_of(1, 0, signal)), order_of_causes(other)) << describe(other, "h");
    for (const rank_end &failed : {end_of(0, 1), end_of(0, 0, SIGABRT), end_of(0, 0, 0, true), asked})
        EXPECT_LT(order_of_causes(failed), order_of_causes(end_of(1, 0))) << describe(failed, "h");
}

TEST(stop_ladder, asks_insists_kills)
{
    stop_ladder s;
    auto steps = s.asked(SIGINT);
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps[0].signal, SIGINT);
    EXPECT_EQ(steps[1].signal, SIGTERM);
    EXPECT_EQ(steps[1].after_s, 3);
    EXPECT_EQ(steps[2].signal, SIGKILL);
    EXPECT_EQ(steps[2].after_s, 5);
    steps = s.asked(SIGINT);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].signal, SIGKILL);
    EXPECT_EQ(steps[0].after_s, 0);
}

std::vector<int> list_of(const std::optional<cpu_set_t> &set)
{
    std::vector<int> list;
    for (int c = 0; set && c < 64; ++c)
        if (CPU_ISSET(std::size_t(c), &*set)) list.push_back(c);
    return list;
}

TEST(silence, one_that_says_nothing_is_asked_several_times_and_then_given_up)
{
    silence quiet;
    std::vector<unsigned> asked;
    unsigned s = 1;
    for (silence::step next; (next = quiet.second(8)) != silence::step::give_up; ++s)
        if (next == silence::step::ask) asked.push_back(s);
    EXPECT_EQ(asked, (std::vector<unsigned>{2, 4, 6, 8}));
    EXPECT_EQ(s, 9u);
}

TEST(silence, begins_anew_with_each_word)
{
    silence quiet;
    for (int i = 0; i < 3; ++i) EXPECT_NE(quiet.second(3), silence::step::give_up);
    quiet.broken();
    for (int i = 0; i < 3; ++i) EXPECT_NE(quiet.second(3), silence::step::give_up);
    EXPECT_EQ(quiet.second(3), silence::step::give_up);
}

TEST(silence, may_last_for_ever_without_a_limit_but_not_at_the_end)
{
    silence quiet;
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(quiet.second(0), silence::step::wait);
    quiet.broken();
    for (unsigned i = 0; i < silence_at_end_s; ++i) ASSERT_EQ(quiet.second_at_end(), silence::step::wait);
    EXPECT_EQ(quiet.second_at_end(), silence::step::give_up);
}

TEST(binding, cores_are_shared_out)
{
    std::vector<int> eight{0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(list_of(choose_cpus(bind_mode::core, 1, 2, eight, {})), (std::vector<int>{4, 5, 6, 7}));
    EXPECT_EQ(list_of(choose_cpus(bind_mode::automatic, 7, 8, eight, {})), (std::vector<int>{7}));
    EXPECT_FALSE(choose_cpus(bind_mode::automatic, 8, 9, eight, {}));
    EXPECT_FALSE(choose_cpus(bind_mode::none, 0, 1, eight, {}));
    EXPECT_EQ(list_of(choose_cpus(bind_mode::core, 9, 16, eight, {})), (std::vector<int>{1}));
    EXPECT_EQ(list_of(choose_cpus(bind_mode::numa, 1, 2, {1, 2, 3}, {{0, 1}, {2, 3}})), (std::vector<int>{2, 3}));
}

TEST(binding, kernel_lists_are_read)
{
    EXPECT_EQ(parse_cpu_list("0-2,8,10-11\n"), (std::vector<int>{0, 1, 2, 8, 10, 11}));
    EXPECT_TRUE(parse_cpu_list("").empty());
    EXPECT_TRUE(parse_cpu_list("x").empty());
}

net::interface_info interface_of(const char *name, const char *address, bool up = true)
{
    net::interface_info i;
    i.name = name;
    net::parse_ip(address, &i.address);
    i.mtu = 1500;
    i.up = up;
    i.loopback = i.address.is_loopback();
    return i;
}

TEST(address, choice_in_order)
{
    std::vector<net::interface_info> list{interface_of("lo", "127.0.0.1"),         interface_of("e0", "fe80::1"),
                                          interface_of("e1", "10.0.0.5"),          interface_of("e2", "10.9.0.5"),
                                          interface_of("down", "10.8.0.1", false), interface_of("lo", "::1")};
    std::string error;
    EXPECT_EQ(choose_address({"e2", "10.0.0.5", false}, list, &error)->interface, "e2");
    EXPECT_EQ(choose_address({"", "10.9.0.5", false}, list, &error)->interface, "e2");
    EXPECT_EQ(choose_address({"", "", false}, list, &error)->interface, "e1");
    EXPECT_EQ(choose_address({"", "", true}, list, &error)->interface, "lo");
    EXPECT_EQ(choose_address({"", "192.168.1.1", false}, list, &error)->interface, "e1")
        << "an address that is not ours";
    EXPECT_FALSE(choose_address({"down", "", false}, list, &error));
    EXPECT_EQ(error, "there is no interface 'down' that is up and has an address; there are: lo, e0, e1, e2");
    EXPECT_FALSE(choose_address({"", "", false}, {}, &error));
}

TEST(address, ssh_connection_is_read)
{
    auto ends = parse_ssh_connection("10.0.0.1 5555 10.0.0.2 22");
    EXPECT_EQ(ends.client, "10.0.0.1");
    EXPECT_EQ(ends.server, "10.0.0.2");
    EXPECT_EQ(parse_ssh_connection(nullptr).client, "");
    EXPECT_EQ(parse_ssh_connection("garbage").client, "");
}

TEST(environment, later_changes_win_and_an_outer_job_is_left_out)
{
    char a[] = "A=1", b[] = "ONESEA_BIRTH=x", c[] = "ONESEA_LOG=info", d[] = "B=2";
    char *base[] = {a, b, c, d, nullptr};
    variables first{{"A", "9"}}, second{{"A", "10"}, {"C", ""}};
    const variables *changes[] = {&first, &second};
    EXPECT_EQ(merge_environment(base, changes), (std::vector<std::string>{"A=10", "ONESEA_LOG=info", "B=2", "C="}));
}

TEST(environment, what_the_launcher_sets_for_each_rank_cannot_be_set)
{
    const variables wished{{"ONESEA_RANK", "9"}, {"ONESEA_BIRTH", "x"}, {"ONESEA_LOG", "info"}};
    const variables *changes[] = {&wished};
    EXPECT_EQ(merge_environment(nullptr, changes), (std::vector<std::string>{"ONESEA_LOG=info"}));
}

TEST(environment, file_lines)
{
    EXPECT_EQ(parse_env_file("# c\nA=1\n\nB=x=y\r\n", "f"), (variables{{"A", "1"}, {"B", "x=y"}}));
    for (const char *wrong : {"A", "=x", "1A=2", "A B=3"})
        EXPECT_THROW(parse_env_file(wrong, "f"), request_error) << wrong;
    try {
        parse_env_file("A=1\noops\n", "vars");
        FAIL();
    } catch (const request_error &e) {
        EXPECT_EQ(std::string(e.what()), "vars:2: 'oops' is not NAME=value");
    }
}

TEST(environment, exports)
{
    variables list;
    add_export(list, "A=1=2");
    EXPECT_EQ(list, (variables{{"A", "1=2"}}));
    EXPECT_THROW(add_export(list, "SURELY_NOT_SET_ANYWHERE"), request_error);
    EXPECT_THROW(add_export(list, "=x"), request_error);
}

TEST(environment, remote_ranks_get_our_own_variables_only)
{
    char a[] = "HOME=/h", b[] = "ONESEA_LOG=info", c[] = "ONESEA_RSH=x", d[] = "ONESEA_RANK=3";
    char *base[] = {a, b, c, d, nullptr};
    EXPECT_EQ(variables_to_send(base, false), (variables{{"ONESEA_LOG", "info"}}));
    EXPECT_EQ(variables_to_send(base, true).size(), 2u);
}

TEST(environment, misspelt_variables_are_reported_with_the_nearest)
{
    char a[] = "ONESEA_LGO=info", b[] = "ONESEA_LOG=info", c[] = "ONESEA_COMPLETELY_ELSE=1", d[] = "HOME=/";
    char *base[] = {a, b, c, d, nullptr};
    auto unknown = unknown_variables(base);
    ASSERT_EQ(unknown.size(), 2u);
    EXPECT_EQ(unknown[0].first, "ONESEA_LGO");
    EXPECT_EQ(unknown[0].second, "ONESEA_LOG");
    EXPECT_EQ(unknown[1].second, "");
}

TEST(node_link, ssh_gets_safe_options_and_other_shells_none)
{
    auto words = remote_words({"/x/bin/onesea", "", "/opt/one sea"}, "host");
    EXPECT_EQ(words[0], "ssh");
    EXPECT_NE(std::find(words.begin(), words.end(), "BatchMode=yes"), words.end());
    EXPECT_EQ(words[words.size() - 2], "host");
    EXPECT_EQ(words.back(), "'/opt/one sea/bin/onesea' agent --guard");
    words = remote_words({"", "myrsh -q", "/p"}, "host");
    EXPECT_EQ(words, (std::vector<std::string>{"myrsh", "-q", "host", "'/p/bin/onesea' agent --guard"}));
    words = remote_words({"", "/usr/bin/ssh -F conf", "/p"}, "host");
    EXPECT_EQ(words[2], "conf");
    EXPECT_EQ(words[3], "-o");
}

TEST(find_program, status_of_a_shell)
{
    std::string path;
    EXPECT_EQ(find_program("sh", "/nonexistent:/bin:/usr/bin", "", &path), 0);
    EXPECT_EQ(find_program("surely-not-there", "/bin:/usr/bin", "", &path), 127);
    EXPECT_EQ(find_program("/etc/passwd", "", "", &path), 126);
    EXPECT_EQ(find_program("/etc", "", "", &path), 126);
    EXPECT_EQ(find_program("./sh", "", "/bin", &path), 0);
    EXPECT_EQ(find_program("", "/bin", "", &path), 127);
}

} // namespace
} // namespace onesea::agent
