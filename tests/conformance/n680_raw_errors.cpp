// SPDX-License-Identifier: Apache-2.0
// Raw space that is closed, and addresses in it that are bad: an error at the origin, and no harm at the target.
#include "places.hpp"

#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace proof;

namespace {

constexpr std::size_t page = 4096;

// Six pages: two good ones, one that is not there, a good one, a read-only one, a good one.
struct trap {
    unsigned char *at;
    trap()
    {
        void *m = mmap(nullptr, 6 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(m != MAP_FAILED);
        at = static_cast<unsigned char *>(m);
        set_bytes(at, 6 * page, blank);
        REQUIRE(munmap(at + 2 * page, page) == 0);
        REQUIRE(mprotect(at + 4 * page, page, PROT_READ) == 0);
    }
    ~trap()
    {
        munmap(at, 2 * page);
        munmap(at + 3 * page, 3 * page);
    }
};

// Takes the pages away and puts fresh ones there. Past the thread sanitizer, which is right that this races with copies
// to them: that is what is tested.
void replace_pages(void *pages, std::size_t bytes)
{
    syscall(SYS_mmap, pages, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

int put_status(int rank, std::uint64_t there, const void *data, std::size_t bytes)
{
    const int blocking = blocking_outcome(rank, [&] { return sea_raw_put(rank, there, data, bytes, nullptr); });
    const int handled = outcome([&](sea_opts *o) { return sea_raw_put(rank, there, data, bytes, o); });
    CHECK_EQ(blocking, handled);
    return handled;
}

int get_status(int rank, std::uint64_t there, void *data, std::size_t bytes)
{
    const int blocking = sea_raw_get(data, rank, there, bytes, nullptr);
    const int handled = outcome([&](sea_opts *o) { return sea_raw_get(data, rank, there, bytes, o); });
    CHECK_EQ(blocking, handled);
    return handled;
}

int update_status(int rank, std::uint64_t there, int width)
{
    std::uint64_t old = 5;
    const int fetching =
        outcome([&](sea_opts *o) { return sea_raw_atomic(SEA_ATOMIC_ADD, rank, there, width, 1, 0, &old, o); });
    const int plain =
        outcome([&](sea_opts *o) { return sea_raw_atomic(SEA_ATOMIC_ADD, rank, there, width, 1, 0, nullptr, o); });
    CHECK_EQ(5, old);
    CHECK_EQ(fetching, plain);
    return plain;
}

void everything_is(int status, int peer, std::uint64_t there)
{
    std::vector<unsigned char> data(3 << 20);
    for (std::size_t bytes : {std::size_t(1), std::size_t(8), std::size_t(100), std::size_t(2000), std::size_t(70000),
                              std::size_t(3) << 20}) {
        CHECK_STATUS(status, put_status(peer, there, data.data(), bytes));
        CHECK_STATUS(status, get_status(peer, there, data.data(), bytes));
        sea_raw_piece pieces[] = {{there, data.data(), bytes}, {there, data.data(), 8}};
        CHECK_STATUS(status, outcome([&](sea_opts *o) { return sea_raw_put_vector(peer, pieces, 2, o); }));
        CHECK_STATUS(status, outcome([&](sea_opts *o) { return sea_raw_get_vector(peer, pieces, 2, o); }));
    }
    for (int width : {4, 8}) CHECK_STATUS(status, update_status(peer, there, width));
}

} // namespace

LIGHT_STEP(680, a_closed_raw_space_lets_nobody_in)
{
    std::vector<unsigned char> memory(3 << 20);
    std::vector<std::uint64_t> all = t.exchange(address_of(memory.data()));
    set_bytes(memory.data(), memory.size(), blank);
    const int right = (t.rank + 1) % t.size;
    place heap(kind::heap, 3 << 20);
    const std::uint64_t heap_there = t.exchange(address_of(heap.memory()))[std::size_t(right)];
    everything_is(SEA_ERR_ACCESS, right, all[std::size_t(right)]);
    everything_is(SEA_ERR_ACCESS, right, heap_there);
    t.sync();
    CHECK_OK(sea_raw_open());
    CHECK_OK(sea_raw_open()); // again: nothing
    t.sync();
    std::uint64_t word = 7, back = 0;
    CHECK_OK(sea_raw_put(right, all[std::size_t(right)], &word, 8, nullptr));
    CHECK_OK(sea_fence(right));
    CHECK_OK(sea_raw_get(&back, right, all[std::size_t(right)], 8, nullptr));
    CHECK_EQ(7, back);
    t.sync();
    CHECK_OK(sea_raw_close());
    CHECK_OK(sea_raw_close());
    t.sync();
    everything_is(SEA_ERR_ACCESS, right, all[std::size_t(right)]);
    everything_is(SEA_ERR_ACCESS, right, heap_there);
    sea_raw_get(&word, right, all[std::size_t(right)], 8, nullptr);
    CHECK(std::strstr(sea_last_error(), "closed") || t.size == 1 || !t.local(right));
    t.sync();
    CHECK_EQ(7, peek8(memory.data()));
    CHECK_EQ(memory.size() - 8, not_all(memory.data() + 8, memory.size() - 8, blank));
}

STEP(681, bad_pointers_are_errors_at_the_origin)
{
    trap mine;
    CHECK_OK(sea_raw_open());
    std::vector<std::uint64_t> all = t.exchange(address_of(mine.at));
    for (int peer : t.peers()) {
        const std::uint64_t there = all[std::size_t(peer)];
        unsigned char data[3 * page];
        std::memset(data, 1, sizeof data);
        for (std::uint64_t bad : {std::uint64_t(0), std::uint64_t(64), there + 2 * page, std::uint64_t(1) << 47,
                                  (std::uint64_t(1) << 57) - 4096, (std::uint64_t(1) << 62) - 8, std::uint64_t(1) << 62,
                                  std::uint64_t(1) << 63, ~std::uint64_t(0) - 7})
            if (!CHECK_STATUS(SEA_ERR_ADDRESS, put_status(peer, bad, data, 8)) ||
                !CHECK_STATUS(SEA_ERR_ADDRESS, put_status(peer, bad, data, sizeof data)) ||
                !CHECK_STATUS(SEA_ERR_ADDRESS, get_status(peer, bad, data, 8)) ||
                !CHECK_STATUS(SEA_ERR_ADDRESS, get_status(peer, bad, data, sizeof data)) ||
                !CHECK_STATUS(SEA_ERR_ADDRESS, update_status(peer, bad & ~std::uint64_t(7), 8)))
                failed(__FILE__, __LINE__, "address", "", std::to_string(bad));
        CHECK_STATUS(SEA_ERR_ACCESS, put_status(peer, there + 4 * page, data, 8));
        CHECK_STATUS(SEA_ERR_ACCESS, put_status(peer, there + 4 * page, data, 3000));
        CHECK_STATUS(SEA_ERR_ACCESS, update_status(peer, there + 4 * page + 8, 8));
        CHECK_STATUS(SEA_ERR_ACCESS, update_status(peer, there + 4 * page + 4, 4));
        CHECK_OK(get_status(peer, there + 4 * page, data, 8));
        CHECK_OK(get_status(peer, there + 4 * page, data, page));
        CHECK_EQ(page, not_all(data, page, blank));
    }
    t.sync();
    CHECK_EQ(page, not_all(mine.at + 4 * page, page, blank));
    t.sync();
    CHECK_OK(sea_raw_close());
    t.sync();
}

STEP(682, transfers_stop_at_the_edge_of_a_page)
{
    trap mine;
    CHECK_OK(sea_raw_open());
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(mine.at))[std::size_t(right)];
    std::vector<unsigned char> data(5 * page);
    set_bytes(data.data(), data.size(), 0x11);
    for (std::size_t before : {1, 4, 7, 100, 2000}) {
        for (std::size_t behind : {1, 8, 60, 5000}) {
            const std::size_t bytes = before + behind;
            CHECK_STATUS(SEA_ERR_ADDRESS, put_status(right, there + 2 * page - before, data.data(), bytes));
            CHECK_STATUS(SEA_ERR_ADDRESS, get_status(right, there + 2 * page - before, data.data(), bytes));
            CHECK_STATUS(SEA_ERR_ACCESS, put_status(right, there + 4 * page - before, data.data(), bytes));
            CHECK_OK(get_status(right, there + 4 * page - before, data.data(), bytes));
            set_bytes(data.data(), data.size(), 0x11);
        }
        CHECK_OK(put_status(right, there + 2 * page - before, data.data(), before)); // up to it
        CHECK_OK(put_status(right, there + 5 * page, data.data(), before));          // from it on
        CHECK_STATUS(SEA_ERR_ADDRESS, put_status(right, there + 3 * page - before, data.data(), before + 8));
    }
    t.sync();
    CHECK_EQ(page, not_all(mine.at + 4 * page, page, blank));
    CHECK_EQ(page, not_all(mine.at, page, blank));
    CHECK_EQ(page - 2000, not_all(mine.at + 5 * page + 2000, page - 2000, blank));
    CHECK_EQ(2000, not_all(mine.at + 5 * page, 2000, 0x11));
    t.sync();
    CHECK_OK(sea_raw_close());
    t.sync();
}

STEP(683, what_is_wrong_with_the_call_is_told)
{
    alignas(8) std::uint64_t words[8] = {};
    CHECK_OK(sea_raw_open());
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(words))[std::size_t(right)];
    std::uint64_t value = 3;
    for (int rank : {-1, t.size, 1 << 24, INT32_MIN}) {
        CHECK_STATUS(SEA_ERR_RANK, sea_raw_put(rank, there, &value, 8, nullptr));
        CHECK_STATUS(SEA_ERR_RANK, sea_raw_put(rank, there, &value, 0, nullptr));
        CHECK_STATUS(SEA_ERR_RANK, sea_raw_get(&value, rank, there, 8, nullptr));
        CHECK_STATUS(SEA_ERR_RANK, sea_raw_atomic(SEA_ATOMIC_ADD, rank, there, 8, 1, 0, nullptr, nullptr));
        CHECK_STATUS(SEA_ERR_RANK, sea_raw_put_vector(rank, nullptr, 0, nullptr));
        CHECK_STATUS(SEA_ERR_RANK, sea_raw_get_vector(rank, nullptr, 0, nullptr));
    }
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_put(right, there, nullptr, 8, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_get(nullptr, right, there, 8, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_put_vector(right, nullptr, 2, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_get_vector(right, nullptr, 2, nullptr));
    sea_raw_piece piece = {there, nullptr, 8};
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_put_vector(right, &piece, 1, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_atomic(sea_atomic_kind(6), right, there, 8, 1, 0, nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_atomic(SEA_ATOMIC_ADD, right, there, 2, 1, 0, nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_ALIGN, sea_raw_atomic(SEA_ATOMIC_ADD, right, there + 4, 8, 1, 0, nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_ALIGN, sea_raw_atomic(SEA_ATOMIC_ADD, right, there + 2, 4, 1, 0, nullptr, nullptr));
    sea_opts o = SEA_OPTS_INIT;
    o.target_raw_counter = there + 4;
    CHECK_STATUS(SEA_ERR_ALIGN, sea_raw_put(right, there, &value, 8, &o));
    CHECK_STATUS(SEA_ERR_ALIGN, sea_am_send(right, 66, nullptr, 0, nullptr, 0, &o));
    o.target_raw_counter = std::uint64_t(1) << 63;
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_raw_put(right, there, &value, 8, &o));
    o.target_raw_counter = there + 8;
    CHECK_STATUS(SEA_ERR_INVALID, sea_put_vector(nullptr, 0, &o)); // on which rank?
    CHECK_STATUS(SEA_ERR_INVALID, sea_get_vector(nullptr, 0, &o));
    o.target_counter = sea_addr(right) << SEA_OFFSET_BITS | 64;
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_put(right, there, &value, 8, &o));
    CHECK_STATUS(SEA_ERR_INVALID, sea_raw_get(&value, right, there, 8, &o));
    CHECK_OK(sea_raw_put(right, 1, &value, 0, nullptr)); // no bytes: any address
    CHECK_OK(sea_raw_get(&value, right, ~std::uint64_t(0), 0, nullptr));
    CHECK_OK(sea_raw_put(right, 1, nullptr, 0, nullptr));
    CHECK_EQ(3, value);
    CHECK_OK(sea_fence_all());
    t.sync();
    for (std::uint64_t w : words) CHECK_EQ(0, w);
    CHECK_OK(sea_raw_close());
    t.sync();
}

STEP(684, a_bad_raw_counter_is_an_error_of_the_operation)
{
    trap mine;
    std::vector<unsigned char> memory(100000), data(100000);
    CHECK_OK(sea_raw_open());
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t bad = t.exchange(address_of(mine.at))[std::size_t(right)];
    const std::uint64_t there = t.exchange(address_of(memory.data()))[std::size_t(right)];
    for (std::size_t bytes : {0, 8, 3000, 100000}) {
        for (auto [counter, status] : {std::pair(bad + 2 * page, SEA_ERR_ADDRESS), {bad + 4 * page, SEA_ERR_ACCESS}}) {
            sea_opts o = SEA_OPTS_INIT;
            o.target_raw_counter = counter;
            CHECK_STATUS(status,
                         outcome([&](sea_opts *p) { return sea_raw_put(right, there, data.data(), bytes, p); }, o));
            CHECK_STATUS(status,
                         blocking_outcome(right, [&] { return sea_raw_put(right, there, data.data(), bytes, &o); }));
            CHECK_STATUS(status, blocking_outcome(right, [&] { // a get ends before its counter
                             return sea_raw_get(data.data(), right, there, bytes, &o);
                         }));
        }
    }
    t.sync();
    CHECK_EQ(page, not_all(mine.at + 4 * page, page, blank));
    CHECK_OK(sea_raw_close());
    t.sync();
    sea_opts o = SEA_OPTS_INIT;
    o.target_raw_counter = there;
    CHECK_STATUS(SEA_ERR_ACCESS, outcome([&](sea_opts *p) { return sea_raw_put(right, there, data.data(), 0, p); }, o));
    t.sync();
    CHECK_EQ(0, peek8(memory.data()));
}

STEP(685, memory_may_go_away_under_transfers)
{
    constexpr std::size_t bytes = 1 << 20;
    void *m = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(m != MAP_FAILED);
    CHECK_OK(sea_raw_open());
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(m))[std::size_t(right)];
    std::atomic<bool> stop{false};
    std::thread breaker([&] { // takes pages away and gives them back
        dice d{t.seed + std::uint64_t(t.rank)};
        while (!stop) {
            void *some = static_cast<char *>(m) + d.below(200) * page;
            const std::size_t n = (1 + d.below(50)) * page;
            const std::uint64_t how = d.below(3);
            if (how == 0) mprotect(some, n, PROT_READ);
            if (how == 1) mprotect(some, n, PROT_NONE);
            if (how == 2) replace_pages(some, n);
            pause_for(0.0001);
            mprotect(some, n, PROT_READ | PROT_WRITE);
        }
    });
    std::vector<unsigned char> data(bytes);
    dice d{t.seed * 77 + std::uint64_t(t.rank)};
    int errors = 0;
    const double began = now();
    while (now() - began < (errors > 0 ? 0.5 : 20)) {
        const std::size_t n = d.below(2) ? 1 + d.below(3000) : 1 + d.below(bytes);
        const std::uint64_t at = there + d.below(bytes - n + 1);
        const int s = d.below(2) ? outcome([&](sea_opts *o) { return sea_raw_put(right, at, data.data(), n, o); })
                                 : sea_raw_get(data.data(), right, at, n, nullptr);
        if (!CHECK(s == SEA_OK || s == SEA_ERR_ADDRESS || s == SEA_ERR_ACCESS)) break;
        errors += s != SEA_OK;
    }
    t.sync();
    stop = true;
    breaker.join();
    t.sync(); // others' memory stays from now on
    CHECK(errors > 0);
    std::uint64_t word = 9, back = 0; // everything still works
    CHECK_OK(sea_raw_put(right, there, &word, 8, nullptr));
    CHECK_OK(sea_fence(right));
    CHECK_OK(sea_raw_get(&back, right, there, 8, nullptr));
    CHECK_EQ(9, back);
    t.sync();
    CHECK_OK(sea_raw_close());
    t.sync();
    munmap(m, bytes);
}

STEP(686, closing_ends_transfers_that_are_under_way)
{
    constexpr std::size_t bytes = 4 << 20;
    for (int round = 0; round < t.times(10); ++round) {
        void *m = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(m != MAP_FAILED);
        CHECK_OK(sea_raw_open());
        const int right = (t.rank + 1) % t.size;
        const std::uint64_t there = t.exchange(address_of(m))[std::size_t(right)];
        std::vector<unsigned char> data(bytes);
        std::thread closer([&] {
            pause_for(0.0005 * round);
            CHECK_OK(sea_raw_close());
            munmap(m, bytes);
        });
        int s = SEA_OK;
        for (int i = 0; s == SEA_OK; ++i)
            s = i % 2 ? sea_raw_get(data.data(), right, there, bytes, nullptr)
                      : outcome([&](sea_opts *o) { return sea_raw_put(right, there, data.data(), bytes, o); });
        CHECK_STATUS(SEA_ERR_ACCESS, s);
        closer.join();
        t.sync();
    }
}

STEP(687, a_vector_with_a_bad_piece_fails)
{
    trap mine;
    constexpr std::size_t n = 600;
    CHECK_OK(sea_raw_open());
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(mine.at))[std::size_t(right)];
    std::vector<unsigned char> data(n * 8);
    std::vector<sea_raw_piece> pieces(n);
    for (std::size_t bad : {std::size_t(0), std::size_t(1), std::size_t(255), std::size_t(256), n - 1})
        for (auto [place, status] : {std::pair(there + 2 * page, SEA_ERR_ADDRESS),
                                     {there + 4 * page, SEA_ERR_ACCESS},
                                     {std::uint64_t(8), SEA_ERR_ADDRESS},
                                     {there + 2 * page - 4, SEA_ERR_ADDRESS}}) {
            for (std::size_t i = 0; i < n; ++i) pieces[i] = {there + i * 8, data.data() + i * 8, 8};
            pieces[bad].remote = place;
            CHECK_STATUS(status, outcome([&](sea_opts *o) { return sea_raw_put_vector(right, pieces.data(), n, o); }));
            const bool readable = status == SEA_ERR_ACCESS;
            CHECK_STATUS(readable ? SEA_OK : status,
                         outcome([&](sea_opts *o) { return sea_raw_get_vector(right, pieces.data(), n, o); }));
        }
    t.sync();
    CHECK_EQ(page, not_all(mine.at + 4 * page, page, blank));
    CHECK_OK(sea_raw_close());
    t.sync();
}
