// SPDX-License-Identifier: Apache-2.0
// Copies and atomics, alone and with start conditions.
#include "battery.hpp"

#include <atomic>
#include <onesea.h>
#include <thread>

using namespace battery;

STEP(copies_go_everywhere)
{
    for (std::size_t bytes :
         {std::size_t(1), std::size_t(8), std::size_t(100), std::size_t(4097), std::size_t(300000)}) {
        registered<unsigned char> here(bytes + 1), there(bytes + 1);
        const auto sources = everywhere(here.at(0)), targets = everywhere(there.at(0));
        for (std::size_t i = 0; i < bytes; ++i) here[i] = static_cast<unsigned char>(i * 7 + std::size_t(self.me));
        there[bytes] = 99;
        acp_sync();
        const auto expect = [&](int from, const char *what) {
            bool good = there[bytes] == 99;
            for (std::size_t i = 0; i < bytes; ++i)
                good &= there[i] == static_cast<unsigned char>(i * 7 + std::size_t(from));
            if (!good) failed(__FILE__, __LINE__, what);
            std::fill_n(there.data(), bytes, static_cast<unsigned char>(0));
            acp_sync();
        };
        const auto r = std::size_t(self.right()), l = std::size_t(self.left());
        do_copy(targets[r], sources[std::size_t(self.me)], bytes);
        acp_sync();
        expect(self.left(), "from here to there");
        do_copy(targets[std::size_t(self.me)], sources[l], bytes);
        expect(self.left(), "from there to here");
        do_copy(targets[r], sources[l], bytes); // by a third
        acp_sync();
        expect((self.me + 2 * self.n - 2) % self.n, "between two others");
        do_copy(targets[std::size_t(self.me)], sources[std::size_t(self.me)], bytes);
        expect(self.me, "at home");
    }
}

STEP(copies_of_nothing_complete)
{
    const acp_handle_t h = acp_copy(ACP_GA_NULL, ACP_GA_NULL, 0, ACP_HANDLE_NULL);
    CHECK(h > 0);
    acp_complete(h);
    EQUAL(acp_inquire(h), 0);
    const acp_handle_t next = acp_copy(word_of(self.right(), 0), word_of(self.me, 0), 0, ACP_HANDLE_ALL);
    CHECK(next > h);
    acp_complete(next);
}

STEP(copies_and_atomics_of_all_colours)
{
    registered<std::uint64_t> target(4, acp_colors() - 1);
    const auto all = everywhere(target.at(0));
    const acp_ga_t right = all[std::size_t(self.right())];
    EQUAL(acp_query_color(right), acp_colors() - 1);
    EQUAL(acp_query_rank(right), self.right());
    words()[0] = 41 + std::uint64_t(self.me);
    do_copy(right, word_of(self.me, 0), 8);
    acp_complete(acp_add8(word_of(self.me, 1), right, 1, ACP_HANDLE_NULL));
    EQUAL(words()[1], 41 + std::uint64_t(self.me));
    acp_sync();
    EQUAL(target[0], 42 + std::uint64_t(self.left()));
}

STEP(each_atomic_of_8_bytes)
{
    fill_words(4, 0);
    const acp_ga_t there = word_of(self.right(), 2), old = word_of(self.me, 0);
    const auto is = [&](acp_handle_t h, std::uint64_t before, std::uint64_t now) {
        acp_complete(h);
        EQUAL(words()[0], before);
        do_copy(word_of(self.me, 1), there, 8);
        EQUAL(words()[1], now);
    };
    is(acp_swap8(old, there, 0xf0f0f0f0f0f0f0f0u, ACP_HANDLE_NULL), 0, 0xf0f0f0f0f0f0f0f0u);
    is(acp_xor8(old, there, 0xff, ACP_HANDLE_NULL), 0xf0f0f0f0f0f0f0f0u, 0xf0f0f0f0f0f0f00fu);
    is(acp_or8(old, there, 0xf000, ACP_HANDLE_NULL), 0xf0f0f0f0f0f0f00fu, 0xf0f0f0f0f0f0f00fu);
    is(acp_and8(old, there, 0xff, ACP_HANDLE_NULL), 0xf0f0f0f0f0f0f00fu, 0x0f);
    is(acp_add8(old, there, ~0ull, ACP_HANDLE_NULL), 0x0f, 0x0e);
    is(acp_cas8(old, there, 5, 6, ACP_HANDLE_NULL), 0x0e, 0x0e);
    is(acp_cas8(old, there, 0x0e, 6, ACP_HANDLE_NULL), 0x0e, 6);
}

STEP(each_atomic_of_4_bytes_leaves_its_neighbours)
{
    fill_words(4, ~0ull);
    const acp_ga_t there = word_of(self.right(), 2) + 4, old = word_of(self.me, 0) + 4;
    const auto is = [&](acp_handle_t h, std::uint32_t before, std::uint32_t now) {
        acp_complete(h);
        EQUAL(words()[0], std::uint64_t(before) << 32 | 0xffffffff);
        do_copy(word_of(self.me, 1), word_of(self.right(), 2), 8);
        EQUAL(words()[1], std::uint64_t(now) << 32 | 0xffffffff);
    };
    is(acp_swap4(old, there, 0xf0f0f0f0u, ACP_HANDLE_NULL), 0xffffffff, 0xf0f0f0f0u);
    is(acp_xor4(old, there, 0xff, ACP_HANDLE_NULL), 0xf0f0f0f0u, 0xf0f0f00fu);
    is(acp_or4(old, there, 0x0f00, ACP_HANDLE_NULL), 0xf0f0f00fu, 0xf0f0ff0fu);
    is(acp_and4(old, there, 0xff, ACP_HANDLE_NULL), 0xf0f0ff0fu, 0x0f);
    is(acp_add4(old, there, ~0u, ACP_HANDLE_NULL), 0x0f, 0x0e);
    is(acp_cas4(old, there, 5, 6, ACP_HANDLE_NULL), 0x0e, 0x0e);
    is(acp_cas4(old, there, 0x0e, 6, ACP_HANDLE_NULL), 0x0e, 6);
}

STEP(adds_of_all_and_of_the_owners_processor_count)
{
    registered<std::uint64_t> tally(1);
    const auto all = everywhere(tally.at(0));
    constexpr int times = 500;
    for (int i = 0; i < times; ++i) {
        for (acp_ga_t ga : all) acp_add8(word_of(self.me, 0), ga, 1, ACP_HANDLE_NULL);
        std::atomic_ref(tally[0]).fetch_add(1);
        if (i % 50 == 0) acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    }
    acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    acp_sync();
    EQUAL(std::atomic_ref(tally[0]).load(), std::uint64_t(times) * (std::uint64_t(self.n) + 1));
}

STEP(wrong_accesses_are_told)
{
    const acp_ga_t mine = word_of(self.me, 0);
    ERROR_OF("acp_copy", EQUAL(acp_copy(ACP_GA_NULL, mine, 8, ACP_HANDLE_NULL), 0));
    ERROR_OF("acp_copy", EQUAL(acp_copy(mine, ACP_GA_NULL, 8, ACP_HANDLE_NULL), 0));
    ERROR_OF("no rank", EQUAL(acp_copy(mine + (acp_ga_t(self.n) << 40), mine, 8, ACP_HANDLE_NULL), 0));
    ERROR_OF("aligned", EQUAL(acp_add8(mine, word_of(self.right(), 0) + 4, 1, ACP_HANDLE_NULL), 0));
    ERROR_OF("aligned", EQUAL(acp_add4(mine, word_of(self.right(), 0) + 2, 1, ACP_HANDLE_NULL), 0));
    ERROR_OF("no memory of this process", EQUAL(acp_add8(ACP_GA_NULL, mine, 1, ACP_HANDLE_NULL), 0));
    if (self.n > 1)
        ERROR_OF("no memory of this process", EQUAL(acp_add8(word_of(self.right(), 0), mine, 1, ACP_HANDLE_NULL), 0));
    ERROR_OF("no handle", EQUAL(acp_copy(mine, mine, 8, acp_handle_t(1) << 60), 0));
    ERROR_OF("no handle", EQUAL(acp_copy(mine, mine, 8, -77), 0));
}

STEP(handles_grow_and_unknown_ones_are_complete)
{
    acp_handle_t last = 0;
    for (int i = 0; i < 100; ++i) {
        const acp_handle_t h = acp_copy(word_of(self.right(), std::size_t(i)), word_of(self.me, 0), 8, last);
        CHECK(h > last);
        last = h;
    }
    acp_complete(last);
    EQUAL(acp_inquire(last), 0);
    EQUAL(acp_inquire(1), 0);
    EQUAL(acp_inquire(acp_handle_t(ACP_HANDLE_NULL)), 0);
    EQUAL(acp_inquire(acp_handle_t(ACP_HANDLE_ALL)), 0);
    EQUAL(acp_inquire(last + 1000), 0);
    acp_complete(last + 1000);
    acp_complete(acp_handle_t(ACP_HANDLE_NULL));
}

STEP(a_chain_carries_a_value_around_the_job)
{
    fill_words(64, 0);
    if (self.me == 0) {
        words()[0] = 4711;
        acp_handle_t h = ACP_HANDLE_NULL;
        for (int rank = 0; rank < self.n; ++rank) // each link by the first process, between two others
            h = acp_copy(word_of((rank + 1) % self.n, rank + 1 == self.n ? 9 : 8),
                         rank ? word_of(rank, 8) : word_of(0, 0), 8, h);
        acp_complete(h);
        EQUAL(words()[9], 4711u);
    }
    acp_sync();
}

STEP(a_tree_of_conditions_starts_in_order)
{
    fill_words(200, 0);
    const auto me = std::size_t(self.me);
    const acp_ga_t there = word_of(self.right(), 10 + me);
    const acp_handle_t root = acp_swap8(word_of(self.me, 0), there, 100, ACP_HANDLE_NULL);
    std::vector<acp_handle_t> children;
    for (std::size_t i = 0; i < 20; ++i) children.push_back(acp_copy(word_of(self.me, 100 + i), there, 8, root));
    std::vector<acp_handle_t> grandchildren;
    for (std::size_t i = 0; i < 20; ++i)
        grandchildren.push_back(acp_copy(word_of(self.right(), 120 + i), word_of(self.me, 100 + i), 8, children[i]));
    acp_handle_t end = acp_add8(word_of(self.me, 1), there, 1, ACP_HANDLE_ALL);
    end = acp_copy(word_of(self.me, 2), there, 8, ACP_HANDLE_CONT);
    for (acp_handle_t h : grandchildren) acp_complete(h);
    acp_complete(end);
    EQUAL(words()[1], 100u);
    EQUAL(words()[2], 101u);
    for (std::size_t i = 0; i < 20; ++i) EQUAL(words()[100 + i], 100u);
    acp_sync();
    for (std::size_t i = 0; i < 20; ++i) EQUAL(words()[120 + i], 100u);
}

STEP(who_waits_for_a_condition_holds_up_nobody)
{
    if (self.n < 2) return;
    constexpr std::size_t much = 24 << 20;
    registered<unsigned char> here(much), there(much);
    const auto all = everywhere(there.at(0));
    const acp_ga_t far = all[std::size_t(self.right())];
    int measured = 0, overtaken = 0;
    for (int round = 0; round < 6; ++round) {
        if (self.me == round % self.n) {
            words()[5] = 0;
            const acp_handle_t slow = acp_copy(far, here.at(0), much, ACP_HANDLE_NULL);
            const acp_handle_t waits = acp_copy(word_of(self.right(), 3), word_of(self.me, 3), 8, slow);
            const acp_handle_t quick = acp_add8(word_of(self.me, 5), word_of(self.right(), 4), 1, ACP_HANDLE_NULL);
            CHECK(slow < waits && waits < quick);
            const bool under_way = acp_inquire(waits); // inside a node the slow one was complete when its call returned
            volatile std::uint64_t *old = &words()[5];
            for (*old = 77; *old == 77 && acp_inquire(waits);) {
            }
            measured += under_way;
            overtaken += under_way && *old != 77;
            acp_complete(quick);
            EQUAL(acp_inquire(waits), 0);
        }
        acp_sync();
    }
    CHECK(measured == 0 || overtaken > 0);
}

// A handler of onesea.h may run inside a call that waits for an access, looks at it or starts another one after it.
namespace {
std::atomic<int> completions{0};

void *complete_all(const sea_am *, sea_am_complete_fn *, void **)
{
    acp_complete(ACP_HANDLE_ALL);
    ++completions;
    return nullptr;
}
} // namespace

STEP(a_handler_completes_what_the_call_around_it_has_in_hand)
{
    if (self.n < 2) return;
    constexpr std::size_t much = 8 << 20;
    constexpr int times = 20, messages = 10;
    registered<unsigned char> here(much), there(much);
    const auto all = everywhere(there.at(0));
    EQUAL(sea_am_register(7, complete_all, nullptr), SEA_OK);
    completions = 0;
    acp_sync(); // none comes before
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    for (int round = 0; round < times; ++round) {
        const acp_handle_t slow = acp_copy(all[std::size_t(self.right())], here.at(0), much, ACP_HANDLE_NULL);
        for (int i = 0; i < messages; ++i) // both ways: handlers must not wait for each other
            EQUAL(sea_am_send(acp_onesea_rank(self.right()), 7, "", 1, nullptr, 0, &opts), SEA_OK);
        for (std::size_t i = 0; i < 200; ++i) acp_copy(word_of(self.right(), i), word_of(self.me, 300 + i), 8, slow);
    }
    acp_complete(ACP_HANDLE_ALL);
    while (completions < times * messages) sea_poll();
    acp_sync();
    EQUAL(sea_am_register(7, nullptr, nullptr), SEA_OK);
}

STEP(what_waits_for_a_failed_access_fails)
{
    if (self.n < 2) return;
    registered<std::uint64_t> gone(8);
    const acp_ga_t stale = everywhere(gone.at(0))[std::size_t(self.right())];
    acp_sync();
    {
        registered<std::uint64_t> end(std::move(gone));
    }
    fill_words(8, 3);
    const std::uint64_t before = acp_onesea_errors();
    const acp_handle_t bad = acp_copy(stale, word_of(self.me, 0), 8, ACP_HANDLE_NULL);
    if (bad) { // told by its target, not by the call
        acp_copy(word_of(self.right(), 1), word_of(self.me, 2), 8, bad);
        acp_complete(acp_handle_t(ACP_HANDLE_ALL));
        EQUAL(acp_onesea_errors() - before, 2u);
        ERROR_OF("has failed", EQUAL(acp_copy(word_of(self.right(), 1), word_of(self.me, 2), 8, bad), 0));
        errors_expected += 2;
    } else {
        errors_expected += 1;
    }
    acp_sync();
}

// The additions to the right's word start after a copy that fails, while another thread asks for its end.
static void add_after_failures(int rounds, acp_ga_t stale, void (*ask)(acp_handle_t))
{
    std::atomic<acp_handle_t> asked{0};
    std::atomic<bool> over{false};
    std::thread other([&] {
        acp_handle_t seen = 0;
        while (!over) {
            const acp_handle_t h = asked;
            if (h != seen) ask(seen = h);
        }
    });
    for (int i = 0; i < rounds; ++i) {
        const acp_handle_t bad = acp_copy(stale, word_of(self.me, 0), 2048, ACP_HANDLE_NULL);
        asked = bad;
        for (volatile int k = 0; k < i * 37 % 5000;) k = k + 1;
        for (int k = 0; bad && k < 8; ++k) acp_add8(word_of(self.me, 1), word_of(self.right(), 2), 1, bad);
        acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    }
    over = true;
    other.join();
}

STEP(what_waits_for_an_access_that_fails_fails_whoever_finds_that)
{
    if (self.n < 2) return;
    registered<unsigned char> gone(4096);
    const acp_ga_t stale = everywhere(gone.at(0))[std::size_t(self.right())];
    acp_sync();
    {
        registered<unsigned char> end(std::move(gone));
    }
    fill_words(300, 0);
    add_after_failures(often(1000), stale, acp_complete);
    add_after_failures(often(1000), stale, [](acp_handle_t h) {
        while (acp_inquire(h)) {
        }
    });
    acp_sync();
    EQUAL(words()[2], 0u);
    errors_expected = acp_onesea_errors();
    acp_sync();
}

STEP(of_many_failed_accesses_the_first_is_still_known)
{
    if (self.n < 2) return;
    registered<unsigned char> gone(4096);
    const acp_ga_t stale = everywhere(gone.at(0))[std::size_t(self.right())];
    acp_sync();
    {
        registered<unsigned char> end(std::move(gone));
    }
    acp_sync();
    acp_handle_t first = 0, between = 0;
    for (int i = 0; i < 600; ++i) {
        const acp_handle_t bad = acp_copy(stale, word_of(self.me, 0), 2048, ACP_HANDLE_NULL);
        if (!first) first = bad;
        const acp_handle_t good = acp_copy(word_of(self.right(), 1), word_of(self.me, 0), 8, ACP_HANDLE_NULL);
        if (!between) between = good;
    }
    acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    errors_expected = acp_onesea_errors();
    if (first) ERROR_OF("has failed", EQUAL(acp_copy(word_of(self.right(), 1), word_of(self.me, 0), 8, first), 0));
    CHECK(acp_copy(word_of(self.right(), 1), word_of(self.me, 0), 8, between) > 0);
    acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    acp_sync();
}

STEP(small_copies_in_a_row_arrive_and_complete_in_order)
{
    if (self.n < 2) return;
    constexpr std::size_t each = 24, copies = 5000;
    registered<unsigned char> here(each * copies), there(each * copies);
    const acp_ga_t far = everywhere(there.at(0))[std::size_t(self.right())];
    for (std::size_t i = 0; i < each * copies; ++i) here[i] = static_cast<unsigned char>(i * 31 + std::size_t(self.me));
    acp_sync();
    acp_handle_t last = 0, middle = 0;
    for (std::size_t i = 0; i < copies; ++i) {
        const acp_handle_t h = acp_copy(far + i * each, here.at(i * each), each, ACP_HANDLE_NULL);
        CHECK(h > last);
        last = h;
        if (i == copies / 2) middle = h;
        if (i % 700 == 0) acp_inquire(h);
    }
    acp_complete(middle);
    EQUAL(acp_inquire(middle), 0);
    fill_words(2, 0);
    const acp_handle_t after = acp_copy(word_of(self.me, 0), far + (copies - 1) * each, 8, last);
    acp_complete(after);
    EQUAL(acp_inquire(last), 0);
    CHECK(std::memcmp(words(), &here[(copies - 1) * each], 8) == 0);
    acp_sync();
    bool good = true;
    for (std::size_t i = 0; i < each * copies; ++i)
        good &= there[i] == static_cast<unsigned char>(i * 31 + std::size_t(self.left()));
    CHECK(good);
    acp_sync();
}

STEP(small_copies_of_many_threads_each_complete)
{
    if (self.n < 2) return;
    constexpr std::size_t threads = 4, copies = 400;
    registered<std::uint64_t> here(threads * copies), there(threads * copies);
    const acp_ga_t far = everywhere(there.at(0))[std::size_t(self.right())];
    for (std::size_t i = 0; i < threads * copies; ++i) here[i] = i + 1;
    std::vector<std::thread> all;
    std::atomic<int> wrong{0};
    for (std::size_t me = 0; me < threads; ++me)
        all.emplace_back([&, me] {
            for (std::size_t i = me * copies; i < (me + 1) * copies; ++i) {
                const acp_handle_t h = acp_copy(far + i * 8, here.at(0) + i * 8, 8, ACP_HANDLE_NULL);
                wrong += h <= 0;
                if (i % 50 == me) acp_complete(h);
                if (i % 50 == me && acp_inquire(h)) ++wrong;
            }
            acp_complete(acp_handle_t(ACP_HANDLE_ALL));
        });
    for (std::thread &one : all) one.join();
    EQUAL(wrong.load(), 0);
    acp_sync();
    bool good = true;
    for (std::size_t i = 0; i < threads * copies; ++i) good &= there[i] == i + 1;
    CHECK(good);
    acp_sync();
}

STEP(a_small_copy_that_fails_among_others_is_told_and_the_others_arrive)
{
    if (self.n < 2) return;
    registered<std::uint64_t> gone(8), there(64); // what is registered later may get the address that is gone
    const acp_ga_t stale = everywhere(gone.at(0))[std::size_t(self.right())];
    const acp_ga_t far = everywhere(there.at(0))[std::size_t(self.right())];
    acp_sync();
    {
        registered<std::uint64_t> end(std::move(gone));
    }
    fill_words(64, 3);
    for (std::size_t i = 0; i < 64; ++i) words()[i] = i;
    acp_sync();
    const std::uint64_t before = acp_onesea_errors();
    acp_handle_t bad = 0;
    for (std::size_t i = 0; i < 64; ++i) {
        if (i == 20) bad = acp_copy(stale, word_of(self.me, 0), 8, ACP_HANDLE_NULL);
        CHECK(acp_copy(far + i * 8, word_of(self.me, i), 8, ACP_HANDLE_NULL) > 0);
    }
    acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    EQUAL(acp_onesea_errors() - before, 1u);
    errors_expected += 1;
    if (bad) ERROR_OF("has failed", EQUAL(acp_copy(far, word_of(self.me, 0), 8, bad), 0));
    EQUAL(acp_copy(far, word_of(self.me, 0), 8, ACP_HANDLE_NULL) > 0, true);
    acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    acp_sync();
    for (std::size_t i = 0; i < 64; ++i) EQUAL(there[i], i);
    acp_sync();
}

namespace {

void add_many(int times, int complete_each)
{
    for (int i = 1; i <= times; ++i) {
        CHECK(acp_add8(word_of(self.me, 0), word_of(self.right(), 1), 1, ACP_HANDLE_NULL) > 0);
        if (i % complete_each == 0) acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    }
    acp_complete(acp_handle_t(ACP_HANDLE_ALL));
    acp_sync();
}

} // namespace

STEP(a_hundred_thousand_accesses_leave_no_memory_behind)
{
    add_many(10000, 1000);
    const std::size_t before = allocated_bytes();
    add_many(often(100000), 1000);
    CHECK(allocated_falls_below(before + (512 << 10)));
    add_many(often(100000), 100000); // none is waited for before the last
}
