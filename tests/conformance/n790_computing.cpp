// SPDX-License-Identifier: Apache-2.0
// What a program has started goes on while it computes: it makes no other call, and looks at its own memory only.
#include "places.hpp"

#include "onesea/channel.h"
#include "onesea/message.h"

#include <vector>

using namespace proof;

namespace {

constexpr sea_team world = SEA_TEAM_WORLD;
constexpr int tag = 79;
constexpr double limit = 20; // until what was started must have happened

// Ranks in twos: the even one computes, the odd one works with it. The last of an odd number has nothing to do.
struct couple {
    int other;
    bool whole, computes;

    explicit couple(const run &t) : other(t.rank ^ 1), whole(other < t.size), computes(t.rank % 2 == 0) {}
};

sea_opts without_waiting()
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    return o;
}

// Waits as a program does that computes: nothing of the library is called.
bool comes(const std::uint64_t *word, std::uint64_t value)
{
    const double end = now() + limit;
    while (peek8(word) != value) {
        if (now() > end) return false;
        pause_for(0.0005);
    }
    return true;
}

// A word of each rank that the other of its couple writes.
class flag {
  public:
    flag(run &t, const couple &c)
    {
        REQUIRE_OK(sea_heap_alloc(t.rank, sizeof(std::uint64_t), &mine_));
        word_ = static_cast<std::uint64_t *>(sea_local(mine_));
        poke8(word_, 0);
        const auto all = t.exchange(mine_);
        if (c.whole) others_ = all[std::size_t(c.other)];
    }
    ~flag() { CHECK_OK(sea_heap_free(mine_)); }
    flag(const flag &) = delete;
    flag &operator=(const flag &) = delete;

    void raise_there(std::uint64_t value) const
    {
        CHECK_OK(sea_put(others_, &value, sizeof value, nullptr));
        CHECK_OK(sea_fence_all());
    }
    bool comes(std::uint64_t value) const { return ::comes(word_, value); }

  private:
    sea_addr mine_ = SEA_NULL, others_ = SEA_NULL;
    std::uint64_t *word_ = nullptr;
};

// One sends without waiting until nothing has room, and computes; the other begins late and receives everything.
template <class Send, class Receive>
void send_and_compute(run &t, const couple &c, const Send &send, const Receive &receive)
{
    const int n = t.times(20000);
    const flag done(t, c);
    std::vector<std::uint64_t> words(std::size_t(n) * 8);
    for (int i = 0; i < n; ++i) words[std::size_t(i) * 8] = unsigned(i);
    t.sync();
    pause_for(0.05); // so that the library sleeps when it begins
    if (c.whole && c.computes) {
        for (int i = 0; i < n; ++i) CHECK_OK(send(&words[std::size_t(i) * 8], 64));
        REQUIRE(done.comes(1));
    } else if (c.whole) {
        pause_for(0.1);
        for (int i = 0; i < n; ++i) {
            std::uint64_t in[8] = {};
            CHECK_OK(receive(in, sizeof in));
            CHECK_EQ(i, in[0]);
        }
        done.raise_there(1);
    }
    t.sync();
}

} // namespace

LIGHT_STEP(790, messages_that_found_no_room_go_while_the_program_computes)
{
    const couple c(t);
    const sea_opts o = without_waiting();
    send_and_compute(
        t, c, [&](const void *data, std::size_t n) { return sea_message_send(world, c.other, tag, data, n, &o); },
        [&](void *data, std::size_t n) { return sea_message_receive(world, c.other, tag, data, n, nullptr, nullptr); });
}

LIGHT_STEP(791, channels_that_found_no_room_go_while_the_program_computes)
{
    const couple c(t);
    const sea_opts o = without_waiting();
    sea_channel channel{};
    if (c.whole) REQUIRE_OK(sea_channel_open(t.rank & ~1, t.rank | 1, &channel));
    send_and_compute(
        t, c, [&](const void *data, std::size_t n) { return sea_channel_send(channel, data, n, &o); },
        [&](void *data, std::size_t n) { return sea_channel_receive(channel, data, n, nullptr, nullptr); });
    if (c.whole) CHECK_OK(sea_channel_close(channel, nullptr));
}

LIGHT_STEP(792, receives_that_wait_are_met_while_the_program_computes)
{
    const couple c(t);
    for (std::size_t bytes : {std::size_t(8), std::size_t(8000), std::size_t(200000)}) {
        std::vector<unsigned char> data(bytes);
        sea_counter got{};
        t.sync();
        pause_for(0.05);
        if (c.whole && c.computes) {
            sea_opts o = without_waiting();
            o.remote_counter = &got;
            CHECK_OK(sea_message_receive(world, c.other, tag, data.data(), bytes, nullptr, &o));
            REQUIRE(comes(reinterpret_cast<const std::uint64_t *>(&got), 1));
            CHECK_DATA(data.data(), bytes, bytes);
        } else if (c.whole) {
            pause_for(0.05);
            fill(data.data(), bytes, bytes);
            CHECK_OK(sea_message_send(world, c.other, tag, data.data(), bytes, nullptr));
        }
        t.sync();
    }
}
