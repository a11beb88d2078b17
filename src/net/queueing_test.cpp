// SPDX-License-Identifier: Apache-2.0
// A stream of which a long packet comes every 8 us, to a receiver that spins: what queues up for a moment, and what is
// answered.
#include "net/queueing.hpp"
#include "net/virtual_pair.hpp"

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

struct paced_stream : virtual_pair {
    const std::vector<std::byte> data = noise(4 * queueing_stream);

    paced_stream() : virtual_pair(65536) { ports[1].spacing = 8 * microsecond; }

    // Both ends look four times in a microsecond.
    template <class Done>
    bool spin(Done done)
    {
        for (const nanoseconds until = now + second; !done(); now += microsecond / 4) {
            if (now > until) return false;
            for (int i = 0; i < 2; ++i) ends[i]->poll(now);
        }
        return true;
    }
    // How long a packet of a put waited at most for being taken in.
    nanoseconds wait_in_put_of(std::size_t bytes)
    {
        const std::vector<std::byte> some(data.begin(), data.begin() + std::ptrdiff_t(bytes));
        wait_for w;
        ports[1].longest_wait = 0;
        ends[0]->send(1, put(0, some, &w));
        EXPECT_TRUE(spin([&] { return w.status != 1; }));
        EXPECT_TRUE(std::equal(some.begin(), some.end(), sinks[1].memory.begin()));
        return ports[1].longest_wait;
    }
};

} // namespace

TEST_F(paced_stream, queues_up_when_it_is_long_and_not_for_long)
{
    const nanoseconds waited = wait_in_put_of(data.size());
    EXPECT_GT(waited, queueing_time / 2);
    EXPECT_LE(waited, queueing_time);
}

TEST_F(paced_stream, is_not_delayed_when_it_is_shorter)
{
    for (const std::size_t bytes : {std::size_t(8), std::size_t(256) << 10, queueing_end})
        for (int i = 0; i < 20; ++i) ASSERT_LT(wait_in_put_of(bytes), microsecond) << bytes;
}

TEST_F(paced_stream, delays_nothing_behind_its_end)
{
    wait_for long_one, next;
    ends[0]->send(1, put(0, data, &long_one));
    ASSERT_TRUE(spin([&] { return sinks[1].bytes == data.size(); }));
    ports[1].longest_wait = 0;
    ends[0]->send(1, put(0, noise(8), &next));
    ASSERT_TRUE(spin([&] { return next.status != 1; }));
    EXPECT_LT(ports[1].longest_wait, microsecond);
}

// 4 MB in flight, again and again: a few ends of messages change nothing.
TEST_F(paced_stream, queues_up_in_the_next_one_of_long_messages_too)
{
    wait_in_put_of(data.size());
    EXPECT_GT(wait_in_put_of(queueing_end + 512 * 1024), queueing_time / 2);
}

TEST_F(paced_stream, queues_up_until_who_slept_wakes_and_tells_a_deadline)
{
    wait_for w;
    ends[0]->send(1, put(0, data, &w));
    ASSERT_TRUE(spin([&] { return sinks[1].bytes > queueing_stream && ports[1].wire.front().at < now; }));
    EXPECT_FALSE(ends[1]->poll(now)) << "it has come, and waits";
    EXPECT_LE(ends[1]->deadline(), now + queueing_time);
    ends[1]->arm(false);
    ends[1]->disarm();
    EXPECT_TRUE(ends[1]->poll(now));
    ASSERT_TRUE(spin([&] { return w.status != 1; }));
}

TEST_F(paced_stream, is_answered_a_few_times_in_a_window)
{
    wait_in_put_of(data.size());
    const unsigned packets = ports[0].sent, answers = ports[1].sent;
    wait_in_put_of(data.size());
    EXPECT_LE(ports[1].sent - answers, (ports[0].sent - packets) / 3);
    EXPECT_GE(ports[1].sent - answers, 2 * data.size() / path_tuning{}.window) << "or it stands still in between";
}

namespace {

// Packets each 10 us, as in the midst of a stream.
struct stream_of_one {
    queueing q;
    nanoseconds now = second;

    bool goes_on_for(nanoseconds time)
    {
        for (const nanoseconds end = now + time; now < end; now += 10 * microsecond) q.came(1, 60000, true, false, now);
        return q.may_begin();
    }
};

} // namespace

TEST(queueing, is_not_for_several_that_send_at_the_same_time)
{
    queueing q;
    for (nanoseconds now = 0; now < second; now += 10 * microsecond) {
        q.came(now / microsecond % 20 ? 1 : 2, 60000, true, false, now);
        ASSERT_FALSE(q.may_begin());
    }
}

TEST(queueing, delays_nobody_who_was_heard_of_lately)
{
    stream_of_one s;
    EXPECT_TRUE(s.goes_on_for(millisecond));
    s.q.came(2, 100, false, true, s.now); // it may come again
    EXPECT_FALSE(s.goes_on_for(active_time - millisecond));
    EXPECT_TRUE(s.goes_on_for(2 * millisecond));
}

TEST(queueing, waits_for_nobody_who_waits_for_an_answer)
{
    stream_of_one s;
    EXPECT_TRUE(s.goes_on_for(millisecond));
    s.q.came(1, 60000, true, true, s.now);
    EXPECT_FALSE(s.q.may_begin());
}
