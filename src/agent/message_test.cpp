// SPDX-License-Identifier: Apache-2.0
#include "agent/hosts.hpp"
#include "agent/message.hpp"
#include "agent/node_job.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace onesea::agent {
namespace {

using outcome = decoder::outcome;

TEST(message, comes_back_as_it_was)
{
    std::string body("a\0b\n\xff", 5);
    decoder d;
    d.feed(encode({{"type", "output"}, {"rank", 3}}, body));
    message m;
    ASSERT_EQ(d.next(&m), outcome::complete);
    EXPECT_EQ(m.type(), "output");
    EXPECT_EQ(m.head["rank"], 3);
    EXPECT_EQ(m.body, body);
    EXPECT_EQ(d.next(&m), outcome::incomplete);
}

TEST(message, may_be_cut_anywhere)
{
    std::string two = encode({{"type", "a"}}, "body") + encode({{"type", "b"}});
    for (std::size_t cut = 0; cut <= two.size(); ++cut) {
        decoder d;
        message m;
        std::string types;
        for (auto part : {two.substr(0, cut), two.substr(cut)}) {
            d.feed(part);
            while (d.next(&m) == outcome::complete) types += m.type();
            EXPECT_EQ(d.error(), "");
        }
        EXPECT_EQ(types, "ab") << "cut at " << cut;
    }
}

TEST(message, every_truncation_is_incomplete_and_never_wrong)
{
    std::string whole = encode({{"type", "exit"}, {"rank", 1}}, "xyz");
    for (std::size_t n = 0; n < whole.size(); ++n) {
        decoder d;
        d.feed(whole.substr(0, n));
        message m;
        EXPECT_EQ(d.next(&m), outcome::incomplete) << n;
    }
}

std::string framed(const std::string &head)
{
    std::string text = encode({{"type", "x"}});
    text.resize(4);
    for (std::size_t n : {head.size(), std::size_t(0)})
        for (unsigned i = 0; i < 4; ++i) text += char(n >> (8 * i));
    return text + head;
}

TEST(message, numbers_that_are_no_integers_or_too_large_are_refused)
{
    for (const char *number : {"1.5", "55E36", "123456789012345678901234567890", "-1e400"}) {
        const std::string head = fmt::format(R"({{"type":"table","nodes":[["127.0.0.1",{},4]]}})", number);
        decoder d;
        d.feed(framed(head));
        message m;
        EXPECT_EQ(d.next(&m), outcome::damaged) << number;
    }
}

TEST(message, what_is_nested_too_deeply_is_refused)
{
    for (const char *level : {"[", R"({"a":)"}) {
        std::string head = R"({"type":)";
        for (int i = 0; i < 1'000'000; ++i) head += level;
        decoder d;
        d.feed(framed(head));
        message m;
        EXPECT_EQ(d.next(&m), outcome::damaged);
        EXPECT_NE(d.error().find("nested too deeply"), std::string::npos) << d.error();
        EXPECT_LT(d.error().size(), 300u);
    }
}

TEST(message, text_for_people_is_one_line_without_commands_for_a_terminal)
{
    decoder d;
    d.feed(framed(R"({"type":"warning","text":"a\nonesea: b\u001b[2J"})"));
    message m;
    ASSERT_EQ(d.next(&m), outcome::complete);
    EXPECT_EQ(text_for_people(m), "a.onesea: b.[2J");
}

TEST(message, text_of_a_login_shell_is_shown)
{
    decoder d;
    d.feed("Welcome to host\n");
    message m;
    EXPECT_EQ(d.next(&m), outcome::damaged);
    EXPECT_NE(d.error().find("Welcome to host"), std::string::npos);
    d.feed(encode({{"type", "a"}}));
    EXPECT_EQ(d.next(&m), outcome::damaged) << "nothing comes after damage";
}

TEST(message, unreasonable_lengths_and_heads_are_damage)
{
    message m;
    for (std::string wrong :
         {std::string("SEA1\xff\xff\xff\xff\0\0\0\0", 12), std::string("SEA1\2\0\0\0\xff\xff\xff\xff{}", 14),
          std::string("SEA1\2\0\0\0\0\0\0\0{}", 14), std::string("SEA1\2\0\0\0\0\0\0\0[]", 14),
          std::string("SEA1\3\0\0\0\0\0\0\0{{{", 15), std::string("SEA1\0\0\0\0\0\0\0\0", 12)}) {
        decoder d;
        d.feed(wrong);
        EXPECT_EQ(d.next(&m), outcome::damaged);
        EXPECT_NE(d.error(), "");
    }
}

TEST(message, random_damage_never_crashes)
{
    std::mt19937 random(7);
    const std::string good = encode({{"type", "job"}, {"node", 1}, {"list", {1, 2, 3}}}, std::string(50, 'x'));
    for (int round = 0; round < 20000; ++round) {
        std::string bytes = good + good;
        for (unsigned flips = 1 + random() % 4; flips; --flips) bytes[random() % bytes.size()] = char(random());
        bytes.resize(bytes.size() - random() % 20);
        decoder d;
        message m;
        for (std::size_t at = 0; at < bytes.size(); at += 37) {
            d.feed(std::string_view(bytes).substr(at, 37));
            while (d.next(&m) == outcome::complete) EXPECT_TRUE(m.head["type"].is_string());
        }
    }
}

TEST(message, bytes_that_are_no_utf8_do_not_stop_a_message)
{
    decoder d;
    d.feed(encode({{"type", "failed"}, {"text", "\xff\xfe"}}));
    message m;
    EXPECT_EQ(d.next(&m), outcome::complete);
}

TEST(message, any_bytes_travel_as_text)
{
    std::string all;
    for (int c = 1; c < 256; ++c) all += char(c);
    decoder d;
    d.feed(encode({{"type", "job"}, {"argv", texts_of({all, "", "gr\xc3\xbc\xc3\x9f"})}}));
    message m;
    ASSERT_EQ(d.next(&m), outcome::complete);
    EXPECT_EQ(all_bytes_of(m.head["argv"]), (std::vector<std::string>{all, "", "gr\xc3\xbc\xc3\x9f"}));
    for (const nlohmann::json &wrong : {nlohmann::json("\u20ac"), nlohmann::json("\xc3"), nlohmann::json(5)})
        EXPECT_THROW(bytes_of(wrong), nlohmann::json::exception);
    EXPECT_THROW(all_bytes_of("no list"), nlohmann::json::exception);
}

node_job sample()
{
    node_job job;
    job.nodes = 2;
    job.node = 1;
    job.total_ranks = 3;
    job.ranks = {{2, 0, true}};
    job.programs = {{{"prog", "a b"}, {{"K", "v"}}, "/d", true}};
    job.key = std::string(64, 'a');
    return job;
}

TEST(node_job, comes_back_as_it_was)
{
    node_job back = node_job_from(to_json(sample()));
    EXPECT_EQ(to_json(back), to_json(sample()));
    EXPECT_EQ(back.programs[0].environment[0].second, "v");
}

TEST(node_job, nonsense_is_refused)
{
    for (const char *missing : {"node", "ranks", "programs", "key", "transport"}) {
        auto j = to_json(sample());
        j.erase(missing);
        EXPECT_THROW(node_job_from(j), nlohmann::json::exception) << missing;
    }
    auto j = to_json(sample());
    j["ranks"][0][0] = 3;
    EXPECT_THROW(node_job_from(j), request_error);
    j = to_json(sample());
    j["programs"][0]["argv"] = nlohmann::json::array();
    EXPECT_THROW(node_job_from(j), request_error);
}

TEST(joining_rank, comes_back_as_it_was)
{
    const joining_rank more{7, 2, 65535};
    EXPECT_EQ(to_json(joining_rank_from(to_json(more))), to_json(more));
    auto j = to_json(more);
    j.erase("node");
    EXPECT_THROW(joining_rank_from(j), nlohmann::json::exception);
}

TEST(node_program, without_words_is_refused)
{
    const node_program program{{"prog", ""}, {{"K", ""}}, "/d", false};
    EXPECT_EQ(to_json(node_program_from(to_json(program))), to_json(program));
    EXPECT_THROW(node_program_from(to_json(node_program{})), request_error);
}

TEST(job_table, costs_two_bytes_a_rank_and_comes_back_as_it_was)
{
    job_table table;
    for (unsigned n = 0; n < 15625; ++n) table.nodes.push_back({"10.0.0.1", 1500, 64});
    for (unsigned r = 0; r < 1'000'000; ++r) table.ports.push_back(std::uint16_t(r));
    message sent = to_message(table);
    EXPECT_LE(sent.body.size() + sent.head.dump().size(), 2'500'000u);
    decoder d;
    d.feed(encode(sent.head, sent.body));
    message m;
    ASSERT_EQ(d.next(&m), outcome::complete);
    job_table back = job_table_from(m);
    EXPECT_EQ(back.ports, table.ports);
    ASSERT_EQ(back.nodes.size(), table.nodes.size());
    EXPECT_EQ(back.nodes[15624].address, "10.0.0.1");
    EXPECT_EQ(back.nodes[15624].ranks, 64u);
}

TEST(job_table, nonsense_is_refused)
{
    job_table table;
    table.nodes = {{"10.0.0.1", 1500, 2}};
    table.ports = {1, 65535};
    EXPECT_EQ(job_table_from(to_message(table)).ports[1], 65535);
    table.ports = {1};
    EXPECT_THROW(job_table_from(to_message(table)), request_error);
    message m;
    m.head = {{"type", "table"}};
    EXPECT_THROW(job_table_from(m), nlohmann::json::exception);
}

TEST(hex, both_ways_and_refuses_others)
{
    std::uint8_t bytes[3] = {0, 0xab, 0xff}, back[3] = {};
    EXPECT_EQ(to_hex(bytes, 3), "00abff");
    EXPECT_TRUE(from_hex("00abff", back, 3));
    EXPECT_EQ(back[1], 0xab);
    EXPECT_FALSE(from_hex("00abf", back, 3));
    EXPECT_FALSE(from_hex("00abfg", back, 3));
}

} // namespace
} // namespace onesea::agent
