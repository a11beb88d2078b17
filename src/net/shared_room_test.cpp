// SPDX-License-Identifier: Apache-2.0
// What the links of a process share: the room for what has arrived, the time of the next timer. And what they have of
// their own: the length of frames.
// Three transports in virtual time.
#include "net/virtual_pair.hpp"

#include <algorithm>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

struct shared_room : virtual_pair {
    explicit shared_room(std::uint32_t mtu = 1500) : virtual_pair(mtu) {}
    const std::vector<std::byte> little = noise(8), much = noise(4'000'000);

    void speak(int from, int to)
    {
        wait_for w;
        ends[from]->send(to, put(0, little, &w));
        ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
    }
    void stream_to_0(std::vector<int> from)
    {
        std::vector<wait_for> w(from.size());
        for (std::size_t i = 0; i < w.size(); ++i) ends[from[i]]->send(0, put(0, much, &w[i]));
        ASSERT_TRUE(run([&] { return std::ranges::all_of(w, [](wait_for &o) { return o.status == SEA_OK; }); },
                        now + 60 * second));
    }
    void rest()
    {
        run([] { return false; }, now + 4 * active_time);
    }
};

struct with_long_packets : shared_room {
    with_long_packets() : shared_room(65536) {}
};

} // namespace

// Half of what the kernel has given is for others than the packets of the streams.
TEST_F(shared_room, of_what_has_arrived_is_divided_among_those_who_send)
{
    ports[0].room = 512 * 1024;
    for (int i = 0; i < 3; ++i) join(i);
    for (int round = 0; round < 2; ++round)
        for (int from : {1, 2}) speak(from, 0);
    stream_to_0({1, 2});
    EXPECT_LE(ports[0].most_charged, ports[0].room * 5 / 8);
    rest();
    ports[0].most_charged = 0;
    for (int round = 0; round < 2; ++round) speak(1, 0);
    stream_to_0({1});
    EXPECT_GT(ports[0].most_charged, ports[0].room / 4) << "the other one has been silent";
    EXPECT_LE(ports[0].most_charged, ports[0].room * 5 / 8);
}

// Who sends much hears little.
TEST_F(with_long_packets, the_peer_of_a_stream_is_preferred_at_both_ends)
{
    for (auto &p : ports) p.spacing = 50 * microsecond;
    for (int i = 0; i < 3; ++i) join(i);
    for (int from : {1, 2}) {
        for (int round = 0; round < 4; ++round) stream_to_0({from});
        EXPECT_EQ(ports[0].preferred, ports[from].own);
        EXPECT_EQ(ports[from].preferred, ports[0].own);
    }
}

// Of a process that does not sleep in between.
TEST_F(shared_room, has_a_timer_for_each_peer_whoever_is_due_first)
{
    for (int round = 0; round < 3; ++round) speak(0, 1);
    wait_for first, other;
    ends[0]->send(2, put(0, little, &other)); // who does not answer
    ports[0].loses = true;
    ends[0]->send(1, put(0, little, &first));
    ports[0].loses = false;
    const nanoseconds end = now + 4 * first_probe;
    for (; now < end; now += 50 * microsecond)
        for (int i = 0; i < 2; ++i) ends[i]->poll(now);
    EXPECT_EQ(first.status, SEA_OK);
    EXPECT_GT(counts[0].row_of(1).counts.probes, 0u);
    EXPECT_GT(counts[0].row_of(2).counts.probes, 0u);
    ends[0]->peer_gone(2, true);
}

TEST_F(shared_room, takes_frames_that_fit_the_smaller_mtu_of_both_ends)
{
    for (const std::uint32_t own : {0u, 1500u, 9000u, 65536u})
        for (const std::uint32_t theirs : {0u, 600u, 1500u, 9000u, 65536u}) {
            configs[0].own_mtu = own;
            configs[0].lookup = [theirs](int, peer_address *where) { return *where = address_of(1, theirs), true; };
            join(0);
            const std::size_t frame = ends[0]->max_frame(1),
                              smaller = std::min(own ? own : 1500, theirs ? theirs : 1500);
            EXPECT_GE(frame, 1280u) << own << ", " << theirs;
            EXPECT_LE(frame, std::max<std::size_t>(smaller, 1400)) << own << ", " << theirs;
            EXPECT_GE(frame + 200, std::min<std::size_t>(smaller, most_payload)) << own << ", " << theirs;
        }
}
