// SPDX-License-Identifier: Apache-2.0
#include "data/list.hpp"
#include "data/plain_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <string>

using namespace onesea::data;

namespace {

struct place {
    sea_addr entry;
    std::uint64_t stamp;
};

struct model_element {
    std::string text;
    place at;
};

struct list_bench {
    plain_heap heap{1 << 20};
    sea_addr at = SEA_NULL, other = SEA_NULL;
    list_answer answer;

    list_bench()
    {
        at = create();
        other = create();
    }
    sea_addr create()
    {
        EXPECT_EQ(SEA_OK, run(list_create, {}, SEA_NULL));
        return answer.entry;
    }
    int run(verb_on<list_arguments> fn, const list_arguments &a, sea_addr on, const std::string &data = {},
            std::string *out = nullptr)
    {
        execution x = heap.start(on);
        x.data = std::as_bytes(std::span(data));
        const int s = fn(x, a);
        if (x.result_bytes == sizeof answer) std::memcpy(&answer, x.result, sizeof answer);
        if (out) out->assign(reinterpret_cast<char *>(x.output.data()), x.output.size());
        return s;
    }
    place insert(sea_addr on, place before, const std::string &text)
    {
        list_arguments a;
        a.before = {before.entry, before.stamp};
        EXPECT_EQ(SEA_OK, run(list_insert, a, on, text));
        return {answer.entry, answer.stamp};
    }
    int erase(sea_addr on, place p)
    {
        list_arguments a;
        a.a = {p.entry, p.stamp};
        return run(list_erase, a, on);
    }
    std::vector<std::string> contents(sea_addr on)
    {
        list_arguments a;
        a.a = {on, 0};
        std::string out;
        EXPECT_EQ(SEA_OK, run(list_size, {}, on));
        a.a = {answer.entry, answer.stamp};
        const std::uint64_t size = answer.number;
        a.bytes = ~std::uint64_t(0);
        EXPECT_EQ(SEA_OK, run(list_fetch, a, on, {}, &out));
        EXPECT_EQ(size * sizeof(list_fetched), out.size());
        std::vector<std::string> all;
        for (std::size_t i = 0; i < out.size(); i += sizeof(list_fetched)) {
            list_fetched f;
            std::memcpy(&f, out.data() + i, sizeof f);
            all.emplace_back(heap.view().as<char>(sea_addr_offset(f.data)), f.bytes);
        }
        return all;
    }
    list_control &control(sea_addr on) { return *heap.view().as<list_control>(sea_addr_offset(on) & ~tag_mask); }
    list_entry &entry(place p) { return *heap.view().as<list_entry>(sea_addr_offset(p.entry) & ~tag_mask); }
};

using model = std::list<model_element>;

std::vector<std::string> texts(const model &m)
{
    std::vector<std::string> all;
    for (const auto &e : m) all.push_back(e.text);
    return all;
}

model::iterator any_of(model &m, std::mt19937 &dice)
{
    return std::next(m.begin(), std::ptrdiff_t(dice() % (m.size() + 1)));
}

place place_at(const model &m, model::const_iterator i, sea_addr end) { return i == m.end() ? place{end, 0} : i->at; }

void reorder(list_bench &b, model &m, std::mt19937 &dice)
{
    std::vector<model::iterator> order;
    for (auto i = m.begin(); i != m.end(); ++i) order.push_back(i);
    std::shuffle(order.begin(), order.end(), dice);
    std::string entries;
    for (auto i : order) entries.append(reinterpret_cast<const char *>(&i->at.entry), sizeof(sea_addr));
    list_arguments a;
    a.bytes = b.control(b.at).version;
    ASSERT_EQ(SEA_OK, b.run(list_reorder, a, b.at, entries));
    model sorted;
    for (auto i : order) sorted.splice(sorted.end(), m, i);
    m.swap(sorted);
}

void random_operations(unsigned seed)
{
    list_bench b;
    model m[2];
    std::mt19937 dice(seed);
    for (int i = 0; i < 3000; ++i) {
        const int k = int(dice() % 2);
        const sea_addr on = k ? b.other : b.at;
        auto where = any_of(m[k], dice);
        switch (dice() % 12) {
        case 0:
        case 1:
        case 2:
        case 3: {
            const std::string text(dice() % 100 + 1, char('a' + dice() % 4));
            m[k].insert(where, {text, b.insert(on, place_at(m[k], where, on), text)});
            break;
        }
        case 4:
        case 5:
            if (where == m[k].end()) break;
            ASSERT_EQ(SEA_OK, b.erase(on, where->at));
            ASSERT_EQ(SEA_ERR_HANDLE, b.erase(on, where->at));
            m[k].erase(where);
            break;
        case 6: {
            auto last = std::next(where, std::ptrdiff_t(dice() % (std::size_t(std::distance(where, m[k].end())) + 1)));
            list_arguments a;
            a.flags = to_last;
            const place f = place_at(m[k], where, on), l = place_at(m[k], last, on);
            a.a = {f.entry, f.stamp};
            a.b = {l.entry, l.stamp};
            ASSERT_EQ(SEA_OK, b.run(list_erase, a, on));
            m[k].erase(where, last);
            break;
        }
        case 7:
            ASSERT_EQ(SEA_OK, b.run(list_reverse, {}, on));
            m[k].reverse();
            break;
        case 8: {
            list_arguments a;
            a.other = k ? b.at : b.other;
            ASSERT_EQ(SEA_OK, b.run(list_swap, a, on));
            m[0].swap(m[1]);
            break;
        }
        case 9: {
            auto to = any_of(m[!k], dice);
            auto last = std::next(where, std::ptrdiff_t(dice() % (std::size_t(std::distance(where, m[k].end())) + 1)));
            const sea_addr target = k ? b.at : b.other;
            const place t = place_at(m[!k], to, target), f = place_at(m[k], where, on), l = place_at(m[k], last, on);
            list_arguments a;
            a.other = on;
            a.before = {t.entry, t.stamp};
            a.a = {f.entry, f.stamp};
            a.b = {l.entry, l.stamp};
            ASSERT_EQ(SEA_OK, b.run(list_splice, a, target));
            m[!k].splice(to, m[k], where, last);
            break;
        }
        case 10: {
            list_arguments a;
            a.flags = unique_only;
            ASSERT_EQ(SEA_OK, b.run(list_remove, a, on));
            const std::size_t before = m[k].size();
            m[k].unique([](const model_element &x, const model_element &y) { return x.text == y.text; });
            ASSERT_EQ(before - m[k].size(), b.answer.number);
            break;
        }
        default:
            if (k == 0) reorder(b, m[0], dice);
        }
        ASSERT_EQ(texts(m[0]), b.contents(b.at)) << "seed " << seed << ", step " << i;
        ASSERT_EQ(texts(m[1]), b.contents(b.other)) << "seed " << seed << ", step " << i;
    }
    ASSERT_EQ(SEA_OK, b.run(list_destroy, {}, b.at));
    ASSERT_EQ(SEA_OK, b.run(list_destroy, {}, b.other));
    ASSERT_EQ(0u, b.heap.heap().used());
    ASSERT_TRUE(b.heap.heap().consistent());
}

} // namespace

TEST(list, does_what_a_standard_list_does_under_random_operations)
{
    for (unsigned seed = 1; seed <= 6; ++seed) random_operations(seed);
}

TEST(list, iterator_of_an_erased_element_is_refused_also_when_its_place_is_used_again)
{
    list_bench b;
    const place end{b.at, 0};
    const place old = b.insert(b.at, end, "old");
    ASSERT_EQ(SEA_OK, b.erase(b.at, old));
    const place fresh = b.insert(b.at, end, "new");
    ASSERT_EQ(old.entry & ~tag_mask, fresh.entry & ~tag_mask);
    EXPECT_EQ(SEA_ERR_HANDLE, b.erase(b.at, old));
    EXPECT_EQ(SEA_ERR_HANDLE, b.erase(b.at, {old.entry, 0})); // by the tag alone
    EXPECT_EQ(SEA_ERR_HANDLE, b.erase(b.other, fresh));       // of another list
    for (sea_addr nonsense : {sea_addr(1), ~sea_addr(0), sea_addr(fresh.entry + 64), sea_addr(fresh.entry ^ 1 << 18)})
        EXPECT_EQ(SEA_ERR_HANDLE, b.erase(b.at, {nonsense, 0}));
    EXPECT_EQ(SEA_OK, b.erase(b.at, {fresh.entry, 0}));
    EXPECT_EQ(SEA_ERR_ADDRESS, b.erase(b.at, end));
}

TEST(list, order_for_another_version_or_with_other_elements_is_refused)
{
    list_bench b;
    const place end{b.at, 0};
    const place one = b.insert(b.at, end, "1"), two = b.insert(b.at, end, "2");
    auto words = [](std::initializer_list<sea_addr> all) {
        return std::string(reinterpret_cast<const char *>(all.begin()), all.size() * sizeof(sea_addr));
    };
    list_arguments a;
    a.bytes = b.control(b.at).version - 1;
    EXPECT_EQ(SEA_ERR_STATE, b.run(list_reorder, a, b.at, words({two.entry, one.entry})));
    ++a.bytes;
    EXPECT_EQ(SEA_ERR_INVALID, b.run(list_reorder, a, b.at, words({two.entry})));
    EXPECT_EQ(SEA_ERR_INVALID, b.run(list_reorder, a, b.at, words({two.entry, two.entry})));
    EXPECT_EQ(SEA_ERR_INVALID, b.run(list_reorder, a, b.at, words({two.entry, b.at})));
    EXPECT_EQ((std::vector<std::string>{"1", "2"}), b.contents(b.at));
    EXPECT_EQ(SEA_OK, b.run(list_reorder, a, b.at, words({two.entry, one.entry})));
    EXPECT_EQ((std::vector<std::string>{"2", "1"}), b.contents(b.at));
}

// The bytes of its elements lie on other ranks: the caller frees them, and has to be told where they are.
TEST(list, removal_whose_answer_cannot_go_back_is_refused_and_removes_nothing)
{
    list_bench b;
    const auto elsewhere = [](int i) { return sea_addr(5) << SEA_OFFSET_BITS | sea_addr(64 * i); };
    list_arguments range;
    for (int i = 1; i <= 3; ++i) {
        list_arguments a;
        a.flags = at_back;
        a.other = elsewhere(i);
        a.bytes = 8;
        ASSERT_EQ(SEA_OK, b.run(list_insert, a, b.at));
        if (i == 1) range.a = {b.answer.entry, b.answer.stamp};
    }
    range.flags = to_last;
    range.b = {b.at, 0};
    const auto refused = [&](verb_on<list_arguments> fn, const list_arguments &a) {
        execution x = b.heap.start(b.at);
        x.most_output = 3 * sizeof(sea_addr) - 1;
        EXPECT_THROW(fn(x, a), output_too_long);
        EXPECT_EQ(SEA_OK, b.run(list_size, {}, b.at));
        EXPECT_EQ(3u, b.answer.number);
    };
    refused(list_clear, {});
    refused(list_erase, range);
    refused(list_destroy, {});
    std::string out;
    EXPECT_EQ(SEA_OK, b.run(list_erase, range, b.at, {}, &out));
    ASSERT_EQ(3 * sizeof(sea_addr), out.size());
    for (int i = 1; i <= 3; ++i) {
        const sea_addr one = elsewhere(i);
        EXPECT_EQ(0, std::memcmp(&one, out.data() + std::size_t(i - 1) * sizeof one, sizeof one));
    }
}

// A rank dies between any two stores of an insertion or a removal: what a holder leaves is put right by the next.
TEST(list, ring_that_a_dead_rank_left_half_linked_is_put_right)
{
    for (int cut = 0; cut < 4; ++cut) {
        list_bench b;
        const place end{b.at, 0};
        const place one = b.insert(b.at, end, "1"), two = b.insert(b.at, end, "2"), three = b.insert(b.at, end, "3");
        list_control &c = b.control(b.at);
        if (cut == 0) b.entry(three).links.prev = sea_addr_offset(one.entry) & ~tag_mask; // inserted, not told behind
        if (cut <= 1) --c.size;                                                           // inserted, not counted
        if (cut >= 2) b.entry(two).magic = 0;                                             // being removed
        if (cut == 3) b.entry(one).links.next = sea_addr_offset(three.entry) & ~tag_mask; // unlinked on one side
        c.holder = 7 + 1;
        plain_heap::dead = 7;
        const auto expected = cut < 2 ? std::vector<std::string>{"1", "2", "3"} : std::vector<std::string>{"1", "3"};
        EXPECT_EQ(expected, b.contents(b.at)) << cut;
        plain_heap::dead = -1;
        list_arguments a;
        ASSERT_EQ(SEA_OK, b.run(list_reverse, a, b.at));
        EXPECT_EQ(std::vector<std::string>(expected.rbegin(), expected.rend()), b.contents(b.at)) << cut;
    }
}

TEST(list, reordering_that_was_cut_is_told_and_destroy_works)
{
    list_bench b;
    b.insert(b.at, {b.at, 0}, "1");
    b.control(b.at).holder = 7 + 1;
    b.control(b.at).editing = std::uint32_t(level::ownership);
    plain_heap::dead = 7;
    EXPECT_EQ(SEA_ERR_DEAD, b.run(list_size, {}, b.at));
    plain_heap::dead = -1;
    EXPECT_EQ(SEA_ERR_DEAD, b.run(list_clear, {}, b.at));
    EXPECT_EQ(SEA_OK, b.run(list_destroy, {}, b.at));
    EXPECT_EQ(SEA_ERR_HANDLE, b.run(list_size, {}, b.at));
}

TEST(list, ring_that_was_written_over_is_an_error)
{
    list_bench b;
    const place one = b.insert(b.at, {b.at, 0}, "1");
    b.insert(b.at, {b.at, 0}, "2");
    for (std::uint64_t nonsense : {std::uint64_t(8), ~std::uint64_t(0), std::uint64_t(1) << 19}) {
        b.entry(one).links.next = nonsense;
        list_arguments a;
        a.a = {one.entry, one.stamp};
        a.distance = 1;
        EXPECT_NE(SEA_OK, b.run(list_advance, a, b.at));
        b.control(b.at).links.next = nonsense;
        EXPECT_EQ(SEA_ERR_ADDRESS, b.run(list_size, {}, b.at));
        b.control(b.at).links.next = sea_addr_offset(one.entry) & ~tag_mask;
    }
}
