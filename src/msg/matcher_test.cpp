// SPDX-License-Identifier: Apache-2.0
#include "msg/matcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <memory_resource>
#include <random>
#include <vector>

using namespace onesea::msg;

namespace {

posted wanting(std::uint64_t team, int source, int tag)
{
    posted p;
    p.want = {team, source, tag};
    return p;
}

arrival from(std::uint64_t team, int source, int tag)
{
    arrival a;
    a.what = {team, source, tag};
    return a;
}

TEST(matcher, gives_a_message_to_the_earliest_receive_that_wants_it)
{
    matcher m;
    posted other = wanting(1, 0, 8), open = wanting(1, anything, anything), exact = wanting(1, 0, 7);
    for (posted *p : {&other, &open, &exact}) m.post(p);
    EXPECT_EQ(m.meet({1, 0, 7}), &open);
    EXPECT_EQ(m.meet({1, 0, 7}), &exact);
    EXPECT_EQ(m.meet({1, 0, 7}), nullptr);
    EXPECT_EQ(m.posted_count(), 1u);
}

TEST(matcher, gives_a_receive_the_earliest_message)
{
    matcher m;
    arrival first = from(1, 3, 9), second = from(1, 2, 7), third = from(1, 3, 7);
    for (arrival *a : {&first, &second, &third}) m.keep(a);
    EXPECT_EQ(m.find({1, anything, anything}), &first);
    EXPECT_EQ(m.find({1, anything, 7}), &second);
    EXPECT_EQ(m.find({1, 3, anything}), &first);
    EXPECT_EQ(m.find({1, 3, 7}), &third);
    m.take(&first);
    EXPECT_EQ(m.find({1, 3, anything}), &third);
}

TEST(matcher, keeps_teams_apart)
{
    matcher m;
    posted p = wanting(1, anything, anything);
    m.post(&p);
    EXPECT_EQ(m.meet({2, 0, 0}), nullptr);
    arrival a = from(2, 0, 0);
    m.keep(&a);
    EXPECT_EQ(m.find({1, anything, anything}), nullptr);
    EXPECT_EQ(m.find({2, anything, anything}), &a);
}

TEST(matcher, forgets_what_was_withdrawn)
{
    matcher m;
    posted p = wanting(1, 0, 0), q = wanting(1, 0, 0), r = wanting(1, anything, 0);
    m.post(&p);
    m.withdraw(&p);
    EXPECT_EQ(m.meet({1, 0, 0}), nullptr);
    for (posted *one : {&p, &q, &r}) m.post(one);
    m.withdraw(&p);
    m.withdraw(&r);
    EXPECT_EQ(m.meet({1, 0, 0}), &q);
    EXPECT_EQ(m.posted_count(), 0u);
}

// The obvious way: lists in order, searched from the front.
struct model {
    std::list<posted *> waiting;
    std::list<arrival *> kept;

    posted *meet(const pattern &message)
    {
        auto at = std::find_if(waiting.begin(), waiting.end(), [&](posted *p) { return p->want.wants(message); });
        if (at == waiting.end()) return nullptr;
        posted *found = *at;
        waiting.erase(at);
        return found;
    }
    arrival *find(const pattern &want)
    {
        auto at = std::find_if(kept.begin(), kept.end(), [&](arrival *a) { return want.wants(a->what); });
        return at == kept.end() ? nullptr : *at;
    }
};

class random_run {
  public:
    explicit random_run(unsigned seed) : dice_(seed) {}
    void step()
    {
        switch (below(8)) {
        case 0:
        case 1:
        case 2:
            return receive();
        case 3:
        case 4:
        case 5:
            return arrive();
        case 6:
            return withdraw_one();
        default:
            return look();
        }
    }
    void compare_all()
    {
        std::vector<posted *> waiting;
        m_.for_each_posted([&](posted *p) { waiting.push_back(p); });
        EXPECT_TRUE(std::equal(waiting.begin(), waiting.end(), model_.waiting.begin(), model_.waiting.end()));
        std::vector<arrival *> kept;
        m_.for_each_kept([&](arrival *a) { kept.push_back(a); });
        EXPECT_TRUE(std::equal(kept.begin(), kept.end(), model_.kept.begin(), model_.kept.end()));
    }

  private:
    std::mt19937 dice_;
    matcher m_;
    model model_;
    std::deque<posted> receives_;
    std::deque<arrival> messages_;

    unsigned below(unsigned n) { return unsigned(dice_() % n); }
    pattern some_pattern()
    {
        return {below(2), below(4) ? int(below(3)) : anything, below(4) ? int(below(3)) : anything};
    }
    void receive()
    {
        pattern want = some_pattern();
        arrival *a = m_.find(want);
        ASSERT_EQ(a, model_.find(want));
        if (a) {
            m_.take(a);
            model_.kept.remove(a);
            return;
        }
        posted &p = receives_.emplace_back();
        p.want = want;
        m_.post(&p);
        model_.waiting.push_back(&p);
    }
    void arrive()
    {
        pattern what{below(2), int(below(3)), int(below(3))};
        posted *p = m_.meet(what);
        ASSERT_EQ(p, model_.meet(what));
        if (p) return;
        arrival &a = messages_.emplace_back();
        a.what = what;
        m_.keep(&a);
        model_.kept.push_back(&a);
    }
    void withdraw_one()
    {
        if (model_.waiting.empty()) return;
        auto at = std::next(model_.waiting.begin(), below(unsigned(model_.waiting.size())));
        m_.withdraw(*at);
        model_.waiting.erase(at);
    }
    void look()
    {
        pattern want = some_pattern();
        ASSERT_EQ(m_.find(want), model_.find(want));
    }
};

TEST(matcher, behaves_as_two_lists_searched_from_the_front)
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        random_run run(seed);
        for (int i = 0; i < 3000; ++i) run.step();
        run.compare_all();
    }
}

TEST(matcher, tells_which_receives_are_posted)
{
    matcher m;
    posted lone = wanting(1, 0, 7), other = wanting(1, 0, 8), third = wanting(1, 0, 9);
    EXPECT_FALSE(matcher::is_posted(&lone));
    m.post(&lone);
    EXPECT_TRUE(matcher::is_posted(&lone));
    ASSERT_EQ(m.meet({1, 0, 7}), &lone);
    EXPECT_FALSE(matcher::is_posted(&lone));
    for (posted *p : {&other, &third}) m.post(p);
    ASSERT_EQ(m.meet({1, 0, 8}), &other);
    m.withdraw(&third);
    EXPECT_FALSE(matcher::is_posted(&other) || matcher::is_posted(&third));
}

struct counted_memory final : std::pmr::memory_resource {
    std::size_t taken = 0;

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        taken += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void *at, std::size_t bytes, std::size_t alignment) override
    {
        std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

// A program may count its tags up for as long as it runs.
TEST(matcher, keeps_no_memory_for_what_is_over)
{
    counted_memory memory;
    std::pmr::memory_resource *const before = std::pmr::set_default_resource(&memory);
    {
        matcher m;
        auto round = [&](int tag) {
            posted one = wanting(1, 0, tag), two = wanting(1, 1, tag), three = wanting(1, anything, tag);
            for (posted *p : {&one, &two, &three}) m.post(p);
            m.withdraw(&two);
            EXPECT_EQ(m.meet({1, 0, tag}), &one);
            EXPECT_EQ(m.meet({1, 0, tag}), &three);
            arrival a = from(1, tag, tag);
            m.keep(&a);
            m.take(&a);
        };
        for (int tag = 0; tag < 100; ++tag) round(tag);
        const std::size_t enough = memory.taken;
        for (int tag = 100; tag < 20000; ++tag) round(tag);
        EXPECT_EQ(memory.taken, enough);
    }
    std::pmr::set_default_resource(before);
}

// Would take minutes if a queue were searched.
TEST(matcher, is_quick_among_a_hundred_thousand)
{
    constexpr int n = 100000;
    matcher m;
    auto receives = std::make_unique<posted[]>(n);
    for (int i = 0; i < n; ++i) {
        receives[i].want = {1, i % 3 ? i % 64 : anything, i};
        m.post(&receives[i]);
    }
    for (int i = n - 1; i >= 0; --i) ASSERT_EQ(m.meet({1, i % 64, i}), &receives[i]);
    auto messages = std::make_unique<arrival[]>(n);
    for (int i = 0; i < n; ++i) {
        messages[i].what = {1, i % 64, i / 2};
        m.keep(&messages[i]);
    }
    for (int i = n - 1; i >= 0; --i) {
        arrival *a = m.find({1, i % 4 ? i % 64 : anything, i / 2});
        ASSERT_NE(a, nullptr);
        m.take(a);
    }
    EXPECT_EQ(m.kept_count(), 0u);
}

} // namespace
