// SPDX-License-Identifier: Apache-2.0
// Receiving: whom the counters of one that blocks wake, options of older programs, what has come before its receive.
#include "neighbours.hpp"
#include "places.hpp"

#include "onesea/message.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace proof;

namespace {

// Options as a program that was built with the header from before raw space has them: right before memory that nobody
// may read.
class older_opts {
  public:
    older_opts()
    {
        const auto page = std::size_t(sysconf(_SC_PAGESIZE));
        pages_ = {static_cast<std::byte *>(
                      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
                  2 * page};
        CHECK(pages_.data() != MAP_FAILED);
        CHECK_EQ(0, mprotect(pages_.data() + page, page, PROT_NONE));
        at_ = pages_.data() + page - bytes;
    }
    ~older_opts() { munmap(pages_.data(), pages_.size()); }
    older_opts(const older_opts &) = delete;
    older_opts &operator=(const older_opts &) = delete;

    const sea_opts *holding(sea_opts o)
    {
        o.size = bytes;
        std::memcpy(at_, &o, bytes);
        return reinterpret_cast<const sea_opts *>(at_);
    }

  private:
    static constexpr std::size_t bytes = offsetof(sea_opts, target_raw_counter);
    std::span<std::byte> pages_;
    std::byte *at_;
};

} // namespace

// Its owner sleeps, and would find a plain store after some milliseconds only. A quarter of them: processors are
// shared.
STEP(778, counter_of_a_receive_that_blocks_wakes_the_neighbour_in_whose_heap_it_lies)
{
    if (t.size != 2 || sea_node_of(0) != sea_node_of(1) || !t.local(1 - t.rank)) return;
    struct shared {
        sea_counter counter;
        double added;
    };
    place mine(kind::heap, sizeof(shared));
    std::memset(mine.memory(), 0, sizeof(shared));
    const std::vector<sea_addr> all = t.exchange(mine.address());
    auto *at = static_cast<shared *>(sea_local(all[0]));
    std::vector<double> late;
    for (int i = 0; i < 41; ++i) {
        t.sync();
        if (t.rank == 0) {
            CHECK_OK(sea_counter_take(&at->counter, 1, 60));
            late.push_back(now() - at->added);
            continue;
        }
        int out = i, in = -1;
        sea_opts o = SEA_OPTS_INIT, quick = SEA_OPTS_INIT;
        o.remote_counter = &at->counter;
        quick.flags = SEA_NOWAIT;
        pause_for(0.023 + i * 0.0007);
        CHECK_OK(sea_message_send(world, 1, 55, &out, sizeof out, &quick));
        at->added = now();
        CHECK_OK(sea_message_receive(world, 1, 55, &in, sizeof in, nullptr, &o));
    }
    std::sort(late.begin(), late.end());
    if (t.rank == 0) CHECK(sanitized || late[late.size() / 4] < 0.0015);
    t.sync();
}

STEP(779, blocking_receive_reads_no_more_options_than_an_older_program_has)
{
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    older_opts older;
    sea_counter ended{};
    sea_opts o = SEA_OPTS_INIT;
    o.remote_counter = &ended;
    const std::uint64_t out = 7;
    for (bool taken : {false, true}) {
        sea_op sent;
        const sea_opts s = with_handle(&sent);
        std::uint64_t in = 0;
        sea_message message = 0;
        CHECK_OK(sea_message_send(world, right, 5, &out, 8, &s));
        if (taken) CHECK_OK(sea_message_take(world, left, 5, &message, nullptr, 30));
        CHECK_OK(taken ? sea_message_receive_taken(message, &in, 8, nullptr, older.holding(o))
                       : sea_message_receive(world, left, 5, &in, 8, nullptr, older.holding(o)));
        CHECK_OK(sea_wait(sent, 60));
        CHECK_EQ(out, in);
        CHECK_EQ(taken ? 2 : 1, ended.value);
    }
    t.sync();
}

// Each kind of message that a receive with a handle finds there: it ends in the call or later, but as it should.
STEP(849, receives_with_handles_get_what_has_come_before_them)
{
    struct kind_of_message {
        std::size_t bytes, capacity;
    };
    const std::vector<kind_of_message> kinds = {{0, 0},           {4, 4},         {64, 32},
                                                {3000, 3000},     {20000, 20000}, {20000, 50},
                                                {400000, 400000}, {400000, 1000}, {3000000, 3000000}};
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    for (const bool open : {false, true}) {
        std::vector<std::vector<unsigned char>> out, in;
        std::vector<sea_op> sent(kinds.size()), came(kinds.size());
        std::vector<sea_message_info> info(kinds.size());
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            out.push_back(filled(kinds[i].bytes, unsigned(i + 1)));
            in.push_back(filled(kinds[i].capacity, 99));
            const sea_opts o = with_handle(&sent[i]);
            CHECK_OK(sea_message_send(world, right, 60 + int(i), out[i].data(), kinds[i].bytes, &o));
        }
        int token = 0; // behind them on the same way
        CHECK_OK(sea_message_send(world, right, 50, &token, sizeof token, nullptr));
        CHECK_OK(sea_message_receive(world, left, 50, &token, sizeof token, nullptr, nullptr));
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const bool cut = kinds[i].capacity < kinds[i].bytes;
            const sea_opts o = with_handle(&came[i]);
            int s = sea_message_receive(world, open ? SEA_ANY_SOURCE : left, 60 + int(i), in[i].data(),
                                        kinds[i].capacity, &info[i], &o);
            if (s == SEA_OK) s = sea_wait(came[i], 60);
            CHECK_STATUS(cut ? SEA_ERR_TRUNCATED : SEA_OK, s);
            CHECK_EQ(kinds[i].bytes, info[i].bytes);
            CHECK_EQ(left, info[i].source);
            CHECK_EQ(60 + int(i), info[i].tag);
            CHECK_DATA(in[i].data(), kinds[i].capacity, unsigned(i + 1));
        }
        CHECK_OK(sea_wait_all(sent.data(), int(sent.size()), 60));
        t.sync();
    }
}

// What is not there is not taken for it, and the receives that stay keep their order.
STEP(848, receives_with_handles_stay_in_the_order_of_their_calls)
{
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    constexpr int n = 6;
    int in[n];
    sea_op came[n];
    for (int i = 0; i < n; ++i) {
        in[i] = -1;
        if (i == n / 2) { // the first half was posted for them, the second finds the rest
            t.sync();
            for (int k = 0; k < n; ++k) CHECK_OK(sea_message_send(world, right, 70, &k, sizeof k, nullptr));
        }
        const sea_opts o = with_handle(&came[i]);
        CHECK_OK(sea_message_receive(world, i % 2 ? SEA_ANY_SOURCE : left, 70, &in[i], sizeof(int), nullptr, &o));
    }
    CHECK_OK(sea_wait_all(came, n, 60));
    for (int i = 0; i < n; ++i) CHECK_EQ(i, in[i]);
    t.sync();
}

// An offer may lie in the lane yet when its receive begins.
STEP(847, long_messages_meet_receives_with_handles_on_their_way)
{
    constexpr std::size_t bytes = 90000;
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    for (int i = 0; i < t.times(300); ++i) {
        const auto out = filled(bytes, std::uint64_t(i));
        auto in = filled(bytes, 99999);
        sea_op ops[2];
        const sea_opts s = with_handle(&ops[0]), r = with_handle(&ops[1]);
        CHECK_OK(sea_message_send(world, right, 71, out.data(), bytes, &s));
        for (const double until = now() + i % 8 * 2e-6; now() < until;) continue;
        CHECK_OK(sea_message_receive(world, left, 71, in.data(), bytes, nullptr, &r));
        CHECK_OK(sea_wait_all(ops, 2, 60));
        CHECK_DATA(in.data(), bytes, std::uint64_t(i));
    }
    t.sync();
}
