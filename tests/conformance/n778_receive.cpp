// SPDX-License-Identifier: Apache-2.0
// Receiving that blocks: whom its counters wake, and the options of older programs.
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

constexpr sea_team world = SEA_TEAM_WORLD;

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
    if (t.size != 2 || sea_node_of(0) != sea_node_of(1)) return;
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
