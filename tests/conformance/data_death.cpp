// SPDX-License-Identifier: Apache-2.0
// Ranks are killed in the middle of calls on structures that others use: nothing hangs, what the others put in is
// there, and what was cut says so.
#include "data_reference.hpp"

#include <csignal>
#include <string>
#include <thread>
#include <unistd.h>

using namespace proof;

namespace {

struct shared {
    sea_vector log, middle; // pushed to by all; bytes inserted and erased in the middle by all
    sea_list list;
    sea_queue queue;
    sea_deque of_victim; // at the last rank, which dies
};

shared make(run &t)
{
    shared s{};
    if (t.rank == 0) {
        REQUIRE_OK(sea_vector_create(0, 0, &s.log));
        REQUIRE_OK(sea_vector_create(0, 0, &s.middle));
        REQUIRE_OK(sea_vector_assign(s.middle, std::string(4096, 'x').data(), 4096));
        REQUIRE_OK(sea_list_create(0, &s.list));
        REQUIRE_OK(sea_queue_create(0, 0, &s.queue));
    }
    if (t.rank == t.size - 1) REQUIRE_OK(sea_deque_create(t.rank, 0, &s.of_victim));
    s.log.at = t.exchange(s.log.at)[0];
    s.middle.at = t.exchange(s.middle.at)[0];
    s.list.at = t.exchange(s.list.at)[0];
    s.queue.at = t.exchange(s.queue.at)[0];
    s.of_victim.at = t.exchange(s.of_victim.at)[std::size_t(t.size - 1)];
    return s;
}

struct tally {
    int logged = 0, queued = 0, popped = 0;
    std::vector<sea_list_it> mine;
    bool middle_cut = false;
};

// One call that may be cut, if others die in it.
void touch_middle(const shared &s, tally *n, std::uint64_t number)
{
    const int status =
        number % 2 ? sea_vector_insert(s.middle, 100, "0123456789", 10) : sea_vector_erase(s.middle, 50, 10);
    if (status == SEA_OK || status == SEA_ERR_ADDRESS) return; // nothing is left to erase
    n->middle_cut = true;
    CHECK_EQ(SEA_ERR_DEAD, status);
    CHECK(std::string(sea_last_error()).find("ended while it changed this vector") != std::string::npos);
}

void work(run &t, const shared &s, tally *n, double seconds)
{
    dice d{t.seed + std::uint64_t(t.rank)};
    for (const double until = now() + seconds; now() < until;) {
        std::uint64_t element = element_of(t.rank, n->logged);
        if (!CHECK_OK(sea_vector_push_back(s.log, &element, 8, nullptr))) return;
        ++n->logged;
        sea_list_it it{};
        if (!CHECK_OK((d.below(2) ? sea_list_push_back : sea_list_push_front)(s.list, 0, &element, 8, &it))) return;
        n->mine.push_back(it);
        if (n->mine.size() > 20) {
            const std::size_t which = d.below(n->mine.size());
            if (!CHECK_OK(sea_list_erase(n->mine[which], nullptr))) return;
            n->mine.erase(n->mine.begin() + std::ptrdiff_t(which));
        }
        if (!CHECK_OK(sea_queue_push(s.queue, &element, 8, 10))) return;
        ++n->queued;
        const int status = sea_queue_pop(s.queue, &element, 8, nullptr, 0);
        if (status != SEA_ERR_TIMEOUT && !CHECK_EQ(SEA_OK, status)) return;
        n->popped += status == SEA_OK;
        touch_middle(s, n, d.next());
        const int dead = sea_deque_push_back(s.of_victim, &element, 8);
        if (dead != SEA_OK && !CHECK_EQ(SEA_ERR_DEAD, dead)) return;
    }
}

// The elements of each rank come in order, without gaps; those of survivors are all there.
void check_log(run &t, const shared &s, const tally &n)
{
    std::size_t bytes = 0;
    REQUIRE_OK(sea_vector_size(s.log, &bytes));
    std::vector<std::uint64_t> all(bytes / 8);
    REQUIRE_OK(sea_vector_read(s.log, 0, all.data(), bytes));
    std::vector<int> next(std::size_t(t.size), 0);
    bool in_order = true;
    for (std::uint64_t e : all) in_order &= e >> 32 < next.size() && int(e & 0xffffffffu) == next[e >> 32]++;
    CHECK(in_order);
    CHECK_EQ(n.logged, next[std::size_t(t.rank)]);
}

void check_list(const shared &s, const tally &n)
{
    std::size_t size = 0, count = 0;
    REQUIRE_OK(sea_list_size(s.list, &size));
    std::vector<sea_list_entry> entries(size + 1);
    sea_list_it first{};
    REQUIRE_OK(sea_list_begin(s.list, &first));
    REQUIRE_OK(sea_list_fetch(first, entries.data(), entries.size(), &count, nullptr));
    CHECK_EQ(size, count);
    std::size_t found = 0;
    for (const sea_list_it &it : n.mine)
        for (std::size_t i = 0; i < count; ++i) found += entries[i].it.entry == it.entry;
    CHECK_EQ(n.mine.size(), found);
}

} // namespace

DEATH_STEP(310, structures_stay_whole_when_ranks_are_killed_in_calls_on_them)
{
    const shared s = make(t);
    const int survivors = 2;
    tally n;
    if (t.rank >= survivors) {
        std::thread([&t] {
            dice d{t.seed * 31 + std::uint64_t(t.rank)};
            pause_for(0.05 + double(d.below(1000)) * 1e-3);
            leave(*t.shared);
            kill(getpid(), SIGKILL);
        }).detach();
        work(t, s, &n, 30);
        pause_for(60);
        return;
    }
    work(t, s, &n, 1.5);
    t.sync();
    check_log(t, s, n);
    check_list(s, n);
    for (std::uint64_t element = 0; sea_queue_pop(s.queue, &element, 8, nullptr, 0) == SEA_OK;)
        CHECK(element >> 32 < std::uint64_t(t.size));
    std::size_t bytes = 0;
    CHECK_STATUS(SEA_ERR_DEAD, sea_deque_size(s.of_victim, &bytes));
    sea_deque none{SEA_NULL};
    CHECK_STATUS(SEA_ERR_DEAD, sea_deque_create(t.size - 1, 0, &none));
    t.sync();
    if (t.rank != 0) return;
    CHECK_OK(sea_vector_destroy(s.log));
    CHECK_OK(sea_vector_destroy(s.middle));
    CHECK_OK(sea_list_destroy(s.list));
    CHECK_OK(sea_queue_destroy(s.queue));
}

// A rank that sleeps at a queue of a rank that dies, and one at a queue into which the dead one was to push.
DEATH_STEP(320, who_waits_at_a_queue_of_a_dead_rank_is_told)
{
    const int victim = t.size - 1;
    sea_queue q{SEA_NULL};
    if (t.rank == victim) REQUIRE_OK(sea_queue_create(victim, 0, &q));
    q.at = t.exchange(q.at)[std::size_t(victim)];
    char out[8];
    if (t.rank != victim) {
        CHECK_STATUS(SEA_ERR_DEAD, sea_queue_pop(q, out, sizeof out, nullptr, 30));
        return;
    }
    pause_for(0.2);
    leave(*t.shared);
    kill(getpid(), SIGKILL);
}
