// SPDX-License-Identifier: Apache-2.0
// What nodes agree by: fetch-add, locks, and threads that do all of it at once.
#include "job.hpp"

#include <functional>
#include <thread>

namespace job {
namespace {

constexpr int adds = 100, rounds = 20, threads = 3;

void clear(int node, std::uint64_t address, std::uint64_t bytes)
{
    EXPECT_DONE(dsm_barrier());
    if (dsm_node() == 0) {
        const std::vector<char> zero(bytes);
        EXPECT_DONE(dsm_write_b(node, address, zero.data(), bytes));
    }
    EXPECT_DONE(dsm_barrier());
}

std::int64_t word_at(int node, std::uint64_t address)
{
    std::int64_t word = -1;
    EXPECT_DONE(dsm_read(node, address, &word, sizeof word));
    return word;
}

void fetch_add_loses_nothing()
{
    for (int node : givers()) {
        clear(node, 0, 16);
        std::int64_t before = -1;
        for (int i = 0; i < adds; i++) {
            std::int64_t old = -1;
            EXPECT_DONE(dsm_fetch_add(node, 0, 1, &old));
            EXPECT(old > before && old < static_cast<std::int64_t>(adds) * dsm_nodes());
            before = old;
            EXPECT_DONE(dsm_fetch_add(node, 8, -3, nullptr));
        }
        EXPECT_DONE(dsm_barrier());
        EXPECT(word_at(node, 0) == static_cast<std::int64_t>(adds) * dsm_nodes());
        EXPECT(word_at(node, 8) == static_cast<std::int64_t>(-3) * adds * dsm_nodes());
    }
}

// READ, add, WRITE, under a lock: without it additions would be lost.
void add_under(int lock, int times)
{
    const std::uint64_t address = static_cast<std::uint64_t>(lock) * 8;
    for (int i = 0; i < times; i++) {
        EXPECT_DONE(dsm_lock(lock));
        const std::int64_t next = word_at(0, address) + 1;
        EXPECT_DONE(lossy ? dsm_write_b(0, address, &next, sizeof next) : dsm_write(0, address, &next, sizeof next));
        EXPECT_DONE(dsm_unlock(lock));
    }
}

void locks_keep_others_out()
{
    clear(0, 0, 64);
    for (int lock = 0; lock < 3; lock++) add_under(lock, rounds); // homes are different nodes
    EXPECT_DONE(dsm_barrier());
    for (int lock = 0; lock < 3; lock++)
        EXPECT(word_at(0, static_cast<std::uint64_t>(lock) * 8) == static_cast<std::int64_t>(rounds) * dsm_nodes());
}

void in_threads(const std::function<void(int)> &body)
{
    std::vector<std::thread> all;
    for (int t = 0; t < threads; t++) all.emplace_back(body, t);
    for (auto &one : all) one.join();
}

void threads_share_locks_and_counters()
{
    clear(0, 0, 64);
    in_threads([](int) {
        add_under(1, rounds / 2);
        for (int i = 0; i < rounds; i++) EXPECT_DONE(dsm_fetch_add(0, 56, 1, nullptr));
    });
    EXPECT_DONE(dsm_barrier());
    EXPECT(word_at(0, 8) == static_cast<std::int64_t>(rounds / 2) * threads * dsm_nodes());
    EXPECT(word_at(0, 56) == static_cast<std::int64_t>(rounds) * threads * dsm_nodes());
    EXPECT_DONE(dsm_barrier());
}

void threads_access_everything_at_once()
{
    in_threads([](int t) {
        for (int node : givers()) {
            const place mine = slot(node, dsm_node());
            const std::uint64_t bytes = mine.bytes / threads / 8 * 8,
                                from = mine.address + bytes * static_cast<unsigned>(t);
            for (int i = 0; i < rounds / 2; i++) {
                const auto data = pattern(bytes, static_cast<unsigned>(t * 1000 + i + node));
                std::vector<char> back(bytes);
                EXPECT_DONE(dsm_write_b(node, from, data.data(), bytes));
                EXPECT_DONE(dsm_read(node, from, back.data(), bytes));
                EXPECT(back == data);
            }
        }
    });
    EXPECT_DONE(dsm_barrier());
}

// Node 0 holds it until the end; the last node waits for it, and gets it from node 0's dsm_term().
void the_end_gives_locks_back()
{
    if (dsm_node() == 0) EXPECT_DONE(dsm_lock(9));
    EXPECT_DONE(dsm_barrier());
    if (dsm_node() != dsm_nodes() - 1 || dsm_nodes() == 1) return;
    EXPECT_DONE(dsm_lock(9));
    EXPECT_DONE(dsm_unlock(9));
}

} // namespace

void agree_steps()
{
    fetch_add_loses_nothing();
    locks_keep_others_out();
    threads_share_locks_and_counters();
    threads_access_everything_at_once();
}

void last_steps() { the_end_gives_locks_back(); }

} // namespace job
