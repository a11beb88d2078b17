// SPDX-License-Identifier: Apache-2.0
#include "data/crc64.hpp"
#include "data/table_items.hpp"
#include "data/table_part.hpp"
#include "shm/heap.hpp"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <pthread.h>
#include <random>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>

namespace onesea::data {
namespace {

constexpr std::uint64_t far = ~std::uint64_t(0);

class test_memory : public part_memory {
  public:
    explicit test_memory(std::uint64_t bytes = 16 << 20) : bytes_(bytes)
    {
        meta_ = map(shm::heap_meta_bytes(bytes));
        base = map(bytes);
        end = bytes;
        rank = 3;
        shm::heap::format(meta_, bytes);
        heap_.emplace(meta_);
    }
    ~test_memory() override
    {
        munmap(meta_, shm::heap_meta_bytes(bytes_));
        munmap(base, bytes_);
    }
    std::uint64_t allocate(std::uint64_t n) override { return heap_->allocate(n); }
    void release(std::uint64_t offset) override
    {
        std::memset(base + offset, 0xee, 64);
        EXPECT_TRUE(heap_->release(offset));
    }
    bool live(std::uint64_t offset, std::uint64_t n) override { return heap_->contains(offset, n); }
    std::uint64_t used() { return heap_->used(); }

  private:
    std::uint64_t bytes_;
    std::byte *meta_;
    std::optional<shm::heap> heap_;
    static std::byte *map(std::uint64_t n)
    {
        return static_cast<std::byte *>(mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    }
};

byte_span bytes(const std::string &s) { return std::as_bytes(std::span(s)); }
byte_span bytes(const std::uint64_t &n) { return std::as_bytes(std::span(&n, 1)); }
std::string text(byte_span b) { return {reinterpret_cast<const char *>(b.data()), b.size()}; }

class string_sink : public value_sink {
  public:
    std::string value;
    bool put(byte_span v) override
    {
        value = text(v);
        return true;
    }
};

class TablePart : public testing::Test {
  protected:
    test_memory memory;
    std::uint64_t offset = 0;
    table_part make(sea_table_kind kind, std::uint64_t slots)
    {
        part_shape shape;
        shape.id = 77;
        shape.kind = kind;
        shape.slots = slots;
        offset = table_part::make(memory, shape);
        EXPECT_NE(0, offset);
        return open();
    }
    table_part open(std::uint64_t id = 77) { return {memory, offset, id, far}; }
};

std::string value_in(table_part &part, const std::string &key)
{
    string_sink sink;
    part_answer a = part.get(bytes(key), sink);
    EXPECT_EQ(SEA_OK, a.status);
    return a.result ? sink.value : "absent";
}

struct told {
    std::string key, value;
    sea_table_item item;
};

std::vector<told> items_of(byte_span left)
{
    std::vector<told> all;
    sea_table_item item;
    byte_span key, value;
    while (!left.empty()) {
        EXPECT_TRUE(read_item(left, &item, &key, &value));
        all.push_back({text(key), text(value), item});
    }
    return all;
}

std::vector<told> scan_all(table_part &part, std::uint64_t room)
{
    std::vector<told> all;
    std::uint64_t slot = 0, passed = 0;
    while (slot < part.slots()) {
        std::vector<std::byte> items;
        part_answer a = part.scan(slot, passed, room, items);
        EXPECT_EQ(SEA_OK, a.status);
        if (a.status != SEA_OK) break;
        auto more = items_of(items);
        EXPECT_EQ(a.result, more.size());
        all.insert(all.end(), more.begin(), more.end());
        slot = std::uint64_t(a.slot);
        passed = a.passed;
    }
    return all;
}

TEST(crc64, gives_the_published_check_value)
{
    EXPECT_EQ(0x995DC9BBDF1939FAu, crc64(bytes(std::string("123456789"))));
    EXPECT_EQ(0u, crc64({}));
}

TEST(crc64, is_the_same_by_steps_of_eight_and_of_one)
{
    std::string s;
    for (int i = 0; i < 100; ++i) {
        std::uint64_t crc = ~std::uint64_t(0);
        for (char c : s) {
            crc ^= static_cast<unsigned char>(c);
            for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xC96C5795D7870F42u : crc >> 1;
        }
        EXPECT_EQ(~crc, crc64(bytes(s)));
        s += char(i * 37);
    }
}

TEST(place_of_key, is_part_and_slot_of_the_crc_without_its_low_bits)
{
    const std::uint64_t h = 0x995DC9BBDF1939FAu >> 16;
    key_place p = place_of_key(bytes(std::string("123456789")), 5, 11);
    EXPECT_EQ(h, p.hash);
    EXPECT_EQ(h / 11 % 5, p.part);
    EXPECT_EQ(h % 11, p.slot);
}

TEST_F(TablePart, set_inserts_a_key_once)
{
    table_part part = make(SEA_TABLE_SET, 7);
    EXPECT_EQ(1, part.insert(bytes("a"), {}, insert_mode::keep).result);
    EXPECT_EQ(0, part.insert(bytes("a"), {}, insert_mode::keep).result);
    EXPECT_EQ(1, part.count(bytes("a")).result);
    EXPECT_EQ(1, part.size().result);
    EXPECT_EQ(1, part.remove(bytes("a"), false).result);
    EXPECT_EQ(0, part.remove(bytes("a"), false).result);
    EXPECT_EQ(0, part.count(bytes("a")).result);
}

TEST_F(TablePart, map_keeps_or_replaces_values_of_any_length)
{
    table_part part = make(SEA_TABLE_MAP, 1);
    EXPECT_EQ(1, part.insert(bytes("k"), bytes("one"), insert_mode::keep).result);
    EXPECT_EQ(0, part.insert(bytes("k"), bytes("two"), insert_mode::keep).result);
    EXPECT_EQ("one", value_in(part, "k"));
    for (std::size_t n : {0, 1, 7, 8, 9, 1000, 8, 100000, 0}) {
        std::string v(n, 'x');
        EXPECT_EQ(0, part.insert(bytes("k"), bytes(v), insert_mode::replace).result);
        EXPECT_EQ(v, value_in(part, "k"));
    }
    EXPECT_TRUE(part.consistent());
}

TEST_F(TablePart, replacing_keeps_the_place_in_the_order)
{
    table_part part = make(SEA_TABLE_MAP, 1);
    for (const char *k : {"a", "b", "c"}) part.insert(bytes(k), bytes("v"), insert_mode::keep);
    part.insert(bytes("b"), bytes("a longer value"), insert_mode::replace);
    auto all = scan_all(part, 4096);
    ASSERT_EQ(3u, all.size());
    EXPECT_EQ("b", all[1].key);
    EXPECT_EQ("a longer value", all[1].value);
}

TEST_F(TablePart, add_makes_counts_and_a_multiset_loses_a_key_at_0)
{
    table_part part = make(SEA_TABLE_MULTISET, 3);
    EXPECT_EQ(0, part.insert(bytes("w"), bytes(std::uint64_t(1)), insert_mode::add).result);
    EXPECT_EQ(1, part.insert(bytes("w"), bytes(std::uint64_t(4)), insert_mode::add).result);
    EXPECT_EQ(5, part.count(bytes("w")).result);
    EXPECT_EQ(5, part.total().result);
    EXPECT_EQ(5, part.remove(bytes("w"), false).result);
    EXPECT_EQ(4, part.total().result);
    part.insert(bytes("w"), bytes(~std::uint64_t(0) - 3), insert_mode::add);
    EXPECT_EQ(0, part.size().result);
    part.insert(bytes("none"), bytes(std::uint64_t(0)), insert_mode::add);
    EXPECT_EQ(0, part.size().result);
    EXPECT_TRUE(part.consistent());
}

TEST_F(TablePart, add_refuses_a_value_that_is_no_integer)
{
    table_part part = make(SEA_TABLE_MAP, 3);
    part.insert(bytes("k"), bytes("text"), insert_mode::keep);
    EXPECT_EQ(SEA_ERR_ALIGN, part.insert(bytes("k"), bytes(std::uint64_t(1)), insert_mode::add).status);
    EXPECT_EQ("text", value_in(part, "k"));
}

TEST_F(TablePart, iterator_goes_by_slot_then_insertion_and_tells_when_it_is_stale)
{
    table_part part = make(SEA_TABLE_SET, 5);
    std::vector<std::vector<std::string>> model(5);
    for (int i = 0; i < 50; ++i) {
        std::string k = "key" + std::to_string(i);
        model[place_of_key(bytes(k), 1, 5).slot].push_back(k);
        part.insert(bytes(k), {}, insert_mode::keep);
    }
    part_answer at = part.next(0, 0), third;
    int n = 0;
    for (std::size_t slot = 0; slot < 5; ++slot)
        for (const std::string &k : model[slot]) {
            EXPECT_EQ(slot, std::size_t(at.slot));
            EXPECT_EQ(part.find(bytes(k)).elem, at.elem);
            if (++n == 3) third = at;
            at = part.next(slot, at.elem);
            ASSERT_EQ(SEA_OK, at.status);
        }
    EXPECT_EQ(0, at.elem);
    part.remove(bytes(model[std::size_t(third.slot)][2]), false);
    EXPECT_EQ(SEA_ERR_HANDLE, part.next(std::uint64_t(third.slot), third.elem).status);
    EXPECT_EQ(SEA_ERR_HANDLE, part.entry(std::uint64_t(third.slot), third.elem).status);
    for (std::uint64_t wild : {std::uint64_t(1), offset, std::uint64_t(64), ~std::uint64_t(0)})
        EXPECT_EQ(SEA_ERR_HANDLE, part.entry(0, wild).status);
    EXPECT_EQ(SEA_ERR_HANDLE, part.entry(5, third.elem).status);
}

TEST_F(TablePart, scan_goes_on_where_it_was_whatever_is_removed)
{
    table_part part = make(SEA_TABLE_SET, 2);
    for (int i = 0; i < 100; ++i) part.insert(bytes("key" + std::to_string(i)), {}, insert_mode::keep);
    std::vector<std::byte> items;
    part_answer a = part.scan(0, 0, 1000, items);
    auto first = items_of(items);
    ASSERT_GT(first.size(), 3u);
    std::set<std::string> seen;
    for (auto &t : first) {
        seen.insert(t.key);
        part.remove(bytes(t.key), false); // what the scan stands on is gone
    }
    while (std::uint64_t(a.slot) < part.slots()) {
        items.clear();
        a = part.scan(std::uint64_t(a.slot), a.passed, 1000, items);
        for (auto &t : items_of(items)) EXPECT_TRUE(seen.insert(t.key).second);
    }
    EXPECT_EQ(100u, seen.size());
}

TEST_F(TablePart, scan_tells_how_long_an_item_is_that_has_no_room)
{
    table_part part = make(SEA_TABLE_MAP, 2);
    part.insert(bytes("k"), bytes(std::string(1000, 'v')), insert_mode::keep);
    std::vector<std::byte> items;
    part_answer a = part.scan(0, 0, 100, items);
    EXPECT_EQ(SEA_ERR_MEMORY, a.status);
    EXPECT_EQ(item_bytes(1, 1000), a.value_bytes);
    a = part.scan(std::uint64_t(a.slot), a.passed, a.value_bytes, items);
    EXPECT_EQ(1, a.result);
}

TEST_F(TablePart, items_move_to_another_part_and_leave_what_has_changed)
{
    table_part from = make(SEA_TABLE_MULTISET, 4);
    for (int i = 0; i < 30; ++i)
        from.insert(bytes("k" + std::to_string(i)), bytes(std::uint64_t(i + 1)), insert_mode::add);
    std::vector<std::byte> items;
    EXPECT_EQ(30, from.scan(0, 0, 1 << 20, items).result);
    table_part to = make(SEA_TABLE_MULTISET, 9);
    to.insert(bytes("k5"), bytes(std::uint64_t(100)), insert_mode::add);
    EXPECT_EQ(30, to.insert_items(items).result);
    from.insert(bytes("k7"), bytes(std::uint64_t(3)), insert_mode::add);
    EXPECT_EQ(30, from.remove_items(items).result);
    EXPECT_EQ(1, from.size().result);
    EXPECT_EQ(3, from.count(bytes("k7")).result);
    EXPECT_EQ(3, from.total().result);
    EXPECT_EQ(106, to.count(bytes("k5")).result);
    EXPECT_EQ(30 * 31 / 2 + 100, to.total().result);
    EXPECT_EQ(30, from.remove_items(items).result); // 8 of k7 have moved, and the 3 there now are fewer
    EXPECT_EQ(0, from.count(bytes("k7")).result);
    EXPECT_EQ(0, from.total().result);
    EXPECT_TRUE(from.consistent());
    EXPECT_TRUE(to.consistent());
}

TEST_F(TablePart, damaged_items_are_refused)
{
    table_part part = make(SEA_TABLE_SET, 4);
    part.insert(bytes("key"), {}, insert_mode::keep);
    std::vector<std::byte> good;
    part.scan(0, 0, 4096, good);
    std::mt19937_64 random(5);
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::byte> bad = good;
        bad[random() % bad.size()] ^= std::byte(1u << random() % 8);
        bad.resize(bad.size() - random() % 2 * 8);
        (void)part.insert_items(bad);
        (void)part.remove_items(bad);
        ASSERT_TRUE(part.consistent());
    }
    EXPECT_EQ(SEA_ERR_INVALID, part.insert_items(std::span(good).first(good.size() - 8)).status);
}

TEST_F(TablePart, no_room_is_an_error_and_changes_nothing)
{
    test_memory small(64 << 10);
    part_shape shape;
    shape.id = 1;
    shape.kind = SEA_TABLE_MAP;
    shape.slots = 4;
    std::uint64_t at = table_part::make(small, shape);
    table_part part(small, at, 1, far);
    EXPECT_EQ(SEA_OK, part.insert(bytes("k"), bytes("v"), insert_mode::keep).status);
    std::string large(100 << 10, 'x');
    EXPECT_EQ(SEA_ERR_MEMORY, part.insert(bytes(large), {}, insert_mode::keep).status);
    EXPECT_EQ(SEA_ERR_MEMORY, part.insert(bytes("k"), bytes(large), insert_mode::replace).status);
    EXPECT_EQ("v", value_in(part, "k"));
    EXPECT_EQ(1, part.size().result);
    EXPECT_TRUE(part.consistent());
    shape.slots = 1 << 20;
    EXPECT_EQ(0, table_part::make(small, shape));
}

TEST_F(TablePart, destroyed_or_never_made_is_an_error_and_all_memory_comes_back)
{
    const std::uint64_t before = memory.used();
    table_part part = make(SEA_TABLE_SET, 100);
    for (int i = 0; i < 500; ++i) part.insert(bytes(std::to_string(i)), {}, insert_mode::keep);
    EXPECT_EQ(SEA_ERR_HANDLE, open(78).status());
    EXPECT_EQ(SEA_OK, open().status());
    table_part other = open();
    EXPECT_EQ(SEA_OK, part.destroy().status);
    EXPECT_EQ(before, memory.used());
    EXPECT_EQ(SEA_ERR_HANDLE, open().status());
    EXPECT_EQ(SEA_ERR_HANDLE, other.insert(bytes("a"), {}, insert_mode::keep).status);
    for (std::uint64_t wild : {std::uint64_t(0), std::uint64_t(64), std::uint64_t(8), ~std::uint64_t(63)})
        EXPECT_EQ(SEA_ERR_HANDLE, table_part(memory, wild, 77, far).status());
}

TEST_F(TablePart, an_overwritten_chain_is_an_error)
{
    table_part part = make(SEA_TABLE_SET, 1);
    for (const char *k : {"a", "b", "c"}) part.insert(bytes(k), {}, insert_mode::keep);
    std::memset(memory.base + part.find(bytes("b")).elem, 0x41, 16);
    EXPECT_EQ(SEA_ERR_ADDRESS, part.find(bytes("c")).status);
    EXPECT_EQ(1, part.count(bytes("a")).result);
    EXPECT_EQ(SEA_OK, part.destroy().status);
}

TEST_F(TablePart, who_finds_the_lock_of_a_dead_holder_counts_again)
{
    table_part part = make(SEA_TABLE_MULTISET, 16);
    for (int i = 0; i < 100; ++i) part.insert(bytes(std::to_string(i)), bytes(std::uint64_t(2)), insert_mode::add);
    for (int i = 0; i < 8; ++i) part.die_holding(bytes(std::to_string(i)));
    EXPECT_EQ(100, part.size().result);
    EXPECT_EQ(200, part.total().result);
    EXPECT_TRUE(part.consistent());
}

TEST_F(TablePart, a_lock_that_is_held_ends_with_the_time)
{
    make(SEA_TABLE_SET, 1);
    table_part hasty(memory, offset, 77, 0);
    auto *mutex = reinterpret_cast<part_head *>(memory.base + offset)->stripes;
    pthread_mutex_lock(&mutex->mutex);
    std::thread([&] { EXPECT_EQ(part_busy, hasty.find(bytes("a")).status); }).join();
    pthread_mutex_unlock(&mutex->mutex);
    EXPECT_EQ(SEA_OK, hasty.find(bytes("a")).status);
}

// Random calls on a map against std::map.
void compare_with_model(test_memory &memory, std::uint64_t offset, std::uint64_t seed)
{
    table_part part(memory, offset, 77, far);
    std::map<std::string, std::string> model;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20000; ++i) {
        std::string key = "k" + std::to_string(random() % 300);
        std::string value(random() % 5 ? 8 : random() % 200, char('a' + random() % 26));
        const bool there = model.count(key);
        switch (random() % 5) {
        case 0:
            EXPECT_EQ(!there, part.insert(bytes(key), bytes(value), insert_mode::keep).result);
            model.emplace(key, value);
            break;
        case 1:
            EXPECT_EQ(!there, part.insert(bytes(key), bytes(value), insert_mode::replace).result);
            model[key] = value;
            break;
        case 2:
            EXPECT_EQ(there, part.remove(bytes(key), random() % 2).result);
            model.erase(key);
            break;
        case 3:
            EXPECT_EQ(there ? model[key] : "absent", value_in(part, key));
            break;
        case 4:
            EXPECT_EQ(there, part.count(bytes(key)).result);
            if (random() % 1000 == 0) {
                for (std::uint64_t s = 0; s < part.slots(); s = std::uint64_t(part.clear(s).slot)) {
                }
                EXPECT_EQ(0, part.size().result);
                model.clear();
            }
        }
    }
    std::map<std::string, std::string> seen;
    for (auto &t : scan_all(part, 700)) EXPECT_TRUE(seen.emplace(t.key, t.value).second);
    EXPECT_EQ(model, seen);
    EXPECT_EQ(model.size(), part.size().result);
    EXPECT_TRUE(part.consistent());
}

TEST_F(TablePart, random_calls_agree_with_a_model)
{
    const std::uint64_t before = memory.used();
    for (std::uint64_t slots : {1, 7, 64, 1000}) {
        make(SEA_TABLE_MAP, slots);
        compare_with_model(memory, offset, slots);
        EXPECT_EQ(SEA_OK, open().destroy().status);
    }
    EXPECT_EQ(before, memory.used());
}

TEST_F(TablePart, racing_threads_insert_each_key_once_and_lose_no_count)
{
    table_part set = make(SEA_TABLE_SET, 32);
    const std::uint64_t set_at = offset;
    make(SEA_TABLE_MULTISET, 32);
    std::atomic<std::uint64_t> won = 0;
    auto work = [&](std::uint64_t seed) {
        table_part s(memory, set_at, 77, far), m(memory, offset, 77, far);
        std::mt19937_64 random(seed);
        for (int i = 0; i < 4000; ++i) {
            won += s.insert(bytes(std::to_string(i)), {}, insert_mode::keep).result;
            m.insert(bytes(std::to_string(random() % 50)), bytes(std::uint64_t(1)), insert_mode::add);
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
    for (auto &t : threads) t.join();
    EXPECT_EQ(4000u, won.load());
    EXPECT_EQ(16000, open().total().result);
    EXPECT_TRUE(set.consistent());
    EXPECT_TRUE(open().consistent());
}

} // namespace
} // namespace onesea::data
