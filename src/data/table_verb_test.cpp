// SPDX-License-Identifier: Apache-2.0
#include "data/plain_heap.hpp"
#include "data/table_items.hpp"
#include "data/table_verb.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace onesea::data {
namespace {

byte_span as_bytes(const std::string &s) { return std::as_bytes(std::span(s)); }

// One table of one part, asked as by a message.
struct asked_table {
    plain_heap heap{1 << 20};
    sea_addr part = SEA_NULL, directory = SEA_NULL;
    part_answer answer;
    std::string output;
    why reason = why::nothing;
    std::uint64_t told[2] = {}; // with it

    explicit asked_table(sea_table_kind kind)
    {
        table_request a;
        a.id = 70;
        a.slot = 10;
        a.number = 1;
        a.mode = std::uint8_t(kind);
        EXPECT_EQ(SEA_OK, ask(SEA_NULL, table_what::make_part, a));
        part = heap.view().address(answer.elem);
        const std::string parts(reinterpret_cast<const char *>(&part), sizeof part);
        EXPECT_EQ(SEA_OK, ask(SEA_NULL, table_what::make_directory, a, {}, parts));
        directory = heap.view().address(answer.elem) | tag_of_table(70);
    }

    int ask(sea_addr at, table_what what, table_request a, const std::string &key = {}, const std::string &data = {})
    {
        a.what = what;
        a.key_bytes = std::uint32_t(key.size());
        std::string arguments(reinterpret_cast<const char *>(&a), sizeof a), payload = data;
        (key.size() <= short_key ? arguments : payload.insert(0, key)).append(key.size() <= short_key ? key : "");
        return ask(at, arguments, payload);
    }
    int ask(sea_addr at, const std::string &arguments, const std::string &payload)
    {
        execution x = heap.start(at);
        x.arguments = as_bytes(arguments);
        x.data = as_bytes(payload);
        const int status = table_verb(x);
        if (x.result_bytes == sizeof answer) std::memcpy(&answer, x.result, sizeof answer);
        output.assign(reinterpret_cast<const char *>(x.output.data()), x.output.size());
        reason = x.reason;
        told[0] = x.a;
        told[1] = x.b;
        return status;
    }
    int on_key(table_what what, const std::string &key, const std::string &data = {}, std::uint8_t mode = 0)
    {
        table_request a;
        a.id = 70;
        a.mode = mode;
        a.room = 1000;
        return ask(part, what, a, key, data);
    }
};

TEST(TableVerb, keys_travel_in_the_arguments_if_short_and_in_the_data_if_long)
{
    asked_table t(SEA_TABLE_MAP);
    for (std::size_t n : {1, 512, 513, 5000}) {
        const std::string key(n, 'k');
        EXPECT_EQ(SEA_OK, t.on_key(table_what::insert, key, "value"));
        EXPECT_EQ(1, t.answer.result);
        EXPECT_EQ(SEA_OK, t.on_key(table_what::get, key));
        EXPECT_EQ("value", t.output);
    }
}

TEST(TableVerb, directory_tells_the_parts_of_the_right_handle_only)
{
    asked_table t(SEA_TABLE_SET);
    table_request a;
    a.number = 1;
    a.room = 10;
    EXPECT_EQ(SEA_OK, t.ask(t.directory, table_what::look_up, a));
    EXPECT_EQ(70, t.answer.elem);
    EXPECT_EQ(std::string(reinterpret_cast<const char *>(&t.part), 8), t.output);
    EXPECT_EQ(SEA_ERR_HANDLE, t.ask(t.directory ^ 1, table_what::look_up, a)); // another tag
    EXPECT_EQ(SEA_ERR_HANDLE, t.ask(t.part, table_what::look_up, a));
    a.room = 11;
    EXPECT_EQ(SEA_ERR_HANDLE, t.ask(t.directory, table_what::look_up, a));
    EXPECT_EQ(-1, t.answer.slot);
    a.id = 70;
    EXPECT_EQ(SEA_OK, t.ask(t.directory, table_what::free_directory, a));
    EXPECT_EQ(SEA_ERR_HANDLE, t.ask(t.directory, table_what::free_directory, a));
}

TEST(TableVerb, a_kind_has_its_own_inserts_only)
{
    const auto keep = std::uint8_t(insert_mode::keep), replace = std::uint8_t(insert_mode::replace),
               add = std::uint8_t(insert_mode::add);
    asked_table set(SEA_TABLE_SET), counts(SEA_TABLE_MULTISET), map(SEA_TABLE_MAP);
    EXPECT_EQ(SEA_OK, set.on_key(table_what::insert, "k", "", keep));
    EXPECT_EQ(SEA_ERR_INVALID, set.on_key(table_what::insert, "k", "12345678", add));
    EXPECT_EQ(SEA_ERR_INVALID, counts.on_key(table_what::insert, "k", "", keep));
    EXPECT_EQ(SEA_ERR_INVALID, counts.on_key(table_what::insert, "k", "12345678", replace));
    EXPECT_EQ(SEA_ERR_INVALID, counts.on_key(table_what::insert, "k", "1234", add));
    EXPECT_EQ(SEA_ERR_INVALID, map.on_key(table_what::insert, "k", "1234", add));
    EXPECT_EQ(SEA_ERR_INVALID, map.on_key(table_what::insert, "k", "1234", 9));
    EXPECT_EQ(SEA_ERR_INTERNAL, map.on_key(table_what::insert, "", "1234", keep));
}

TEST(TableVerb, a_scan_without_room_tells_how_much_there_is_and_is_needed)
{
    asked_table t(SEA_TABLE_SET);
    EXPECT_EQ(SEA_OK, t.on_key(table_what::insert, std::string(100, 'k')));
    table_request a;
    a.id = 70;
    a.room = 50;
    EXPECT_EQ(SEA_ERR_MEMORY, t.ask(t.part, table_what::scan, a));
    EXPECT_EQ(why::too_large, t.reason);
    EXPECT_EQ(item_bytes(100, 0), t.told[0]);
    EXPECT_EQ(50u, t.told[1]);
}

// What comes over the wire may be anything: an error, never a crash, and the table stays whole.
TEST(TableVerb, random_requests_leave_the_table_whole)
{
    asked_table t(SEA_TABLE_MULTISET);
    std::mt19937_64 random(3);
    const std::string one("\1\0\0\0\0\0\0\0", 8);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(SEA_OK, t.on_key(table_what::insert, std::to_string(i), one, std::uint8_t(insert_mode::add)));
    const sea_addr places[] = {t.part, t.directory, SEA_NULL, t.part + 64, t.part - 64, ~sea_addr(0)};
    for (int i = 0; i < 100000; ++i) {
        table_request a;
        a.id = random() % 4 ? 70 : random();
        for (std::uint64_t *word : {&a.slot, &a.number, &a.elem, &a.room}) *word = random() >> random() % 64;
        a.room %= 1 << 16;
        a.what = table_what(random() % 20);
        if (a.what == table_what::make_part || a.what == table_what::make_directory) continue; // fill the heap
        if (a.what == table_what::free_part || a.what == table_what::free_directory) a.id = 71;
        a.mode = std::uint8_t(random() % 4);
        std::string arguments(reinterpret_cast<const char *>(&a), sizeof a), data(random() % 100, char(random()));
        a.key_bytes = std::uint32_t(random() % 3 ? random() % 120 : random());
        std::memcpy(arguments.data(), &a, sizeof a);
        if (random() % 2) arguments.append(a.key_bytes % 600, 'k');
        if (random() % 8 == 0) arguments.resize(random() % arguments.size());
        if (random() % 4 == 0) std::memcpy(data.data(), one.data(), std::min(data.size(), one.size()));
        (void)t.ask(places[random() % 6], arguments, data);
    }
    class whole_memory : public part_memory {
      public:
        explicit whole_memory(owner_heap h) : heap_(h)
        {
            base = h.memory;
            end = h.heap->capacity();
        }
        std::uint64_t allocate(std::uint64_t n) override { return heap_.allocate(n); }
        void release(std::uint64_t offset) override { heap_.release(offset); }
        bool live(std::uint64_t offset, std::uint64_t n) override { return heap_.live(offset, n); }

      private:
        owner_heap heap_;
    } memory(t.heap.view());
    table_part part(memory, sea_addr_offset(t.part), 70, 0);
    ASSERT_EQ(SEA_OK, part.status());
    EXPECT_TRUE(part.consistent());
    EXPECT_TRUE(t.heap.heap().consistent());
}

} // namespace
} // namespace onesea::data
