// SPDX-License-Identifier: Apache-2.0
// Round trips and congestion on their own: numbers in, numbers out.
#include "net/recovery.hpp"

#include <gtest/gtest.h>

using namespace onesea::net;

TEST(round_trip, is_unknown_at_first_and_then_what_was_measured)
{
    round_trip r;
    EXPECT_FALSE(r.measured());
    r.sample(5 * millisecond, 0);
    EXPECT_TRUE(r.measured());
    EXPECT_EQ(r.smoothed(), 5 * millisecond);
}

TEST(round_trip, does_not_count_the_time_that_the_peer_kept_the_acknowledgement)
{
    round_trip r;
    r.sample(1 * millisecond, 0);
    for (int i = 0; i < 100; ++i) r.sample(1400 * microsecond, 400 * microsecond);
    EXPECT_NEAR(double(r.smoothed()), double(millisecond), double(microsecond));
}

TEST(round_trip, does_not_believe_a_peer_that_claims_more_delay_than_there_was)
{
    round_trip r;
    r.sample(1 * millisecond, 0);
    for (int i = 0; i < 100; ++i) r.sample(1 * millisecond, second);
    EXPECT_EQ(r.smoothed(), 1 * millisecond) << "less than the lowest ever seen is no round trip";
    round_trip first;
    first.sample(1 * millisecond, second);
    EXPECT_EQ(first.smoothed(), 1 * millisecond);
}

TEST(round_trip, follows_a_path_that_has_become_slower_or_faster)
{
    round_trip r;
    r.sample(100 * microsecond, 0);
    for (int i = 0; i < 60; ++i) r.sample(10 * millisecond, 0);
    EXPECT_GT(r.smoothed(), 9 * millisecond);
    for (int i = 0; i < 60; ++i) r.sample(100 * microsecond, 0);
    EXPECT_LT(r.smoothed(), 200 * microsecond);
}

// The delay is taken off what is left above the quickest one, which need not be the first.
TEST(round_trip, takes_the_delay_off_also_where_the_first_one_was_slow)
{
    round_trip r;
    r.sample(10 * millisecond, 0);
    r.sample(1 * millisecond, 0);
    for (int i = 0; i < 100; ++i) r.sample(1400 * microsecond, 400 * microsecond);
    EXPECT_NEAR(double(r.smoothed()), double(millisecond), double(microsecond));
}

TEST(round_trip, is_measured_also_where_no_time_has_passed)
{
    round_trip r;
    r.sample(0, 0);
    EXPECT_TRUE(r.measured());
}

TEST(round_trip, gives_a_starting_peer_more_time_before_it_probes)
{
    round_trip r;
    EXPECT_EQ(r.probe_after(0), first_probe);
    r.sample(20 * microsecond, 0);
    EXPECT_EQ(r.probe_after(0), least_probe) << "a peer that is only descheduled is not probed";
}

TEST(round_trip, waits_for_its_variations_before_it_probes)
{
    round_trip r;
    for (int i = 0; i < 100; ++i) r.sample((i % 2 ? 30 : 10) * millisecond, 0);
    EXPECT_GT(r.probe_after(0), r.smoothed() + 20 * millisecond);
}

TEST(round_trip, doubles_the_time_to_the_next_probe_up_to_a_limit)
{
    round_trip r;
    r.sample(20 * microsecond, 0);
    for (unsigned n = 1; n <= 1000; ++n)
        EXPECT_EQ(r.probe_after(n), std::min(2 * r.probe_after(n - 1), most_probe)) << n << " were not answered";
    r = {};
    for (int i = 0; i < 100; ++i) r.sample(10 * second, 0);
    EXPECT_EQ(r.probe_after(0), most_probe) << "also where round trips are longer";
}

TEST(round_trip, takes_a_packet_for_lost_an_eighth_of_a_round_trip_later_than_its_acknowledgement)
{
    round_trip r;
    EXPECT_EQ(r.reorder_after(), least_reorder);
    r.sample(20 * microsecond, 0);
    EXPECT_EQ(r.reorder_after(), least_reorder) << "threads are moved between cores, and packets with them";
    r = {};
    r.sample(8 * millisecond, 0);
    EXPECT_EQ(r.reorder_after(), 9 * millisecond);
    EXPECT_GE(r.forget_after(), r.reorder_after() + 8 * millisecond) << "it may still be on its way";
}

// One sample of ten seconds: the process was stopped, or its peer.
TEST(round_trip, is_not_spoilt_by_a_process_that_was_stopped)
{
    for (unsigned before : {0u, 1u, 100u}) {
        round_trip r;
        for (unsigned i = 0; i < before; ++i) r.sample(20 * microsecond, 0);
        r.sample(10 * second, 0);
        EXPECT_LE(r.probe_after(0), before ? 2 * least_probe : 4 * first_probe);
        for (int i = 0; i < 60; ++i) r.sample(20 * microsecond, 0);
        EXPECT_EQ(r.probe_after(0), least_probe);
        EXPECT_EQ(r.reorder_after(), least_reorder);
    }
}

TEST(reordering, waits_as_long_as_late_packets_took_until_some_rounds_of_losses_had_none)
{
    round_trip path;
    path.sample(20 * microsecond, 0);
    reordering r;
    EXPECT_EQ(r.patience(), 0u);
    r.was_late(50 * microsecond, path);
    const std::uint64_t patience = r.patience();
    EXPECT_GT(patience, 50 * microsecond);
    r.was_late(30 * microsecond, path);
    EXPECT_EQ(r.patience(), patience);
    for (unsigned i = 0; i < patient_rounds; ++i) r.round_with_loss();
    EXPECT_EQ(r.patience(), patience);
    r.was_late(30 * microsecond, path);
    for (unsigned i = 0; i < patient_rounds; ++i) r.round_with_loss();
    EXPECT_EQ(r.patience(), patience) << "they are counted from the last that was late";
    r.round_with_loss();
    EXPECT_EQ(r.patience(), 0u);
}

TEST(reordering, does_not_wait_longer_than_is_worth_it)
{
    for (std::uint64_t trip : {20 * microsecond, 10 * millisecond}) {
        round_trip path;
        path.sample(trip, 0);
        reordering r;
        r.was_late(path.worth_waiting() + 1, path);
        EXPECT_EQ(r.patience(), 0u);
        r.was_late(path.worth_waiting() / 2, path);
        EXPECT_GT(r.patience(), 0u);
        EXPECT_LE(r.patience(), path.worth_waiting());
    }
}

TEST(congestion_window, doubles_with_each_round_until_something_is_lost)
{
    congestion_window c;
    const std::size_t before = c.bytes();
    c.acked(before, true);
    EXPECT_EQ(c.bytes(), 2 * before);
}

TEST(congestion_window, does_not_grow_while_something_else_limits)
{
    congestion_window c;
    const std::size_t before = c.bytes();
    for (int i = 0; i < 1000; ++i) c.acked(before, false);
    EXPECT_EQ(c.bytes(), before);
}

TEST(congestion_window, shrinks_once_for_all_packets_of_a_round)
{
    congestion_window c;
    const std::size_t before = c.bytes();
    for (std::uint64_t sent_at = 10; sent_at < 20; ++sent_at) c.lost(sent_at, 100);
    const std::size_t once = before * 7 / 10;
    EXPECT_EQ(c.bytes(), once);
    c.lost(100, 101);
    EXPECT_EQ(c.bytes(), once) << "sent before the reaction";
    c.lost(101, 200);
    EXPECT_LT(c.bytes(), once) << "the next round";
}

TEST(congestion_window, grows_by_about_a_packet_a_round_after_a_loss)
{
    congestion_window c;
    c.lost(10, 100);
    const std::size_t before = c.bytes();
    for (std::size_t acked = 0; acked < before; acked += 1500) c.acked(1500, true);
    EXPECT_GE(c.bytes(), before + 1000);
    EXPECT_LE(c.bytes(), before + 3000);
}

TEST(congestion_window, never_closes_and_never_grows_without_bound)
{
    congestion_window c;
    for (std::uint64_t round = 1; round < 100; ++round) c.lost(10 * round, 10 * round + 5);
    const std::size_t least = c.bytes();
    EXPECT_GE(least, most_payload) << "the longest packet must fit";
    congestion_window open;
    for (int round = 0; round < 100; ++round) open.acked(open.bytes(), true);
    const std::size_t most = open.bytes();
    open.acked(most, true);
    EXPECT_EQ(open.bytes(), most);
    EXPECT_LT(most, std::size_t(1) << 30);
}

TEST(congestion_window, is_restored_when_a_loss_was_none)
{
    congestion_window c;
    const std::size_t before = c.bytes();
    c.lost(10, 100);
    ASSERT_LT(c.bytes(), before);
    c.spurious(10);
    EXPECT_EQ(c.bytes(), before);
    c.acked(before, true);
    EXPECT_EQ(c.bytes(), 2 * before) << "it doubles as before";
}

TEST(congestion_window, is_restored_once_and_only_by_packets_from_before_the_loss)
{
    congestion_window c;
    const std::size_t before = c.bytes();
    c.lost(10, 100);
    c.spurious(101); // sent after the window had shrunk
    EXPECT_EQ(c.bytes(), before * 7 / 10);
    c.spurious(50);
    EXPECT_EQ(c.bytes(), before);
    c.lost(150, 200);
    c.spurious(20); // it belongs to a round that was settled long ago
    c.spurious(20);
    EXPECT_LE(c.bytes(), before);
}

TEST(congestion_window, is_restored_to_what_it_was_before_all_that_was_no_loss)
{
    congestion_window c;
    const std::size_t before = c.bytes();
    c.lost(10, 100);
    c.lost(150, 200);
    c.spurious(150);
    EXPECT_EQ(c.bytes(), before);
}

TEST(congestion_window, stays_small_after_a_loss_that_was_one)
{
    congestion_window c;
    c.lost(10, 100);
    const std::size_t small = c.bytes();
    c.confirm();
    c.spurious(10);
    EXPECT_EQ(c.bytes(), small);
    c.lost(150, 200);
    c.spurious(150);
    EXPECT_EQ(c.bytes(), small) << "the next one is undone alone";
}

TEST(congestion_window, is_restored_each_time_to_what_it_was_then)
{
    congestion_window c;
    c.lost(10, 100);
    c.spurious(10);
    for (int round = 0; round < 3; ++round) c.acked(c.bytes(), true);
    const std::size_t grown = c.bytes();
    c.lost(150, 200);
    ASSERT_LT(c.bytes(), grown);
    c.spurious(150);
    EXPECT_EQ(c.bytes(), grown);
}

// A path on which most is acknowledged one by one.
TEST(congestion_window, grows_with_every_packet_however_wide_it_is)
{
    congestion_window c;
    for (int round = 0; round < 20; ++round) c.acked(c.bytes(), true);
    c.lost(10, 100);
    const std::size_t before = c.bytes();
    ASSERT_GT(before, std::size_t(8) << 20);
    c.acked(1500, true);
    EXPECT_GT(c.bytes(), before);
    EXPECT_LT(c.bytes(), before + 1500);
}

TEST(congestion_window, keeps_what_it_has_grown_when_an_earlier_loss_was_none)
{
    congestion_window c;
    const std::size_t before = c.bytes();
    c.lost(10, 100);
    while (c.bytes() <= 2 * before) c.acked(c.bytes(), true);
    const std::size_t grown = c.bytes();
    c.spurious(10);
    EXPECT_EQ(c.bytes(), grown);
}

constexpr std::uint32_t enough = 256;

TEST(path_trust, comes_with_what_has_come_and_takes_twice_as_long_after_each_loss)
{
    path_trust t;
    for (std::uint32_t times = 1; times <= 8; times *= 2) {
        for (std::uint32_t i = 0; i < enough * times; ++i) {
            EXPECT_FALSE(t.holds(enough));
            t.came(1, enough);
        }
        EXPECT_TRUE(t.holds(enough));
        t.lost(enough);
        t.lost(enough); // while it is not trusted: that doubles nothing
    }
}

TEST(path_trust, is_as_before_when_all_suspects_were_late)
{
    path_trust t;
    t.came(enough, enough);
    const std::uint8_t first = t.suspect(enough), other = t.suspect(enough);
    EXPECT_TRUE(t.any_lost());
    EXPECT_FALSE(t.was_late(other));
    EXPECT_FALSE(t.holds(enough));
    EXPECT_TRUE(t.was_late(first));
    EXPECT_TRUE(t.holds(enough));
    EXPECT_FALSE(t.any_lost());
    t.lost(enough);
    t.came(2 * enough - 1, enough);
    EXPECT_FALSE(t.holds(enough)) << "the first loss";
    t.came(1, enough);
    EXPECT_TRUE(t.holds(enough));
}

// Nor does one that was suspected with it clear another that is suspected later.
TEST(path_trust, is_gone_when_one_of_the_suspects_was_lost)
{
    path_trust t;
    t.came(enough, enough);
    const std::uint8_t first = t.suspect(enough);
    t.suspect(enough);
    t.confirm();
    EXPECT_FALSE(t.was_late(first));
    EXPECT_FALSE(t.holds(enough));
    t.came(2 * enough, enough);
    ASSERT_TRUE(t.holds(enough));
    const std::uint8_t later = t.suspect(enough);
    EXPECT_FALSE(t.was_late(first));
    EXPECT_FALSE(t.holds(enough));
    EXPECT_TRUE(t.was_late(later));
    EXPECT_TRUE(t.holds(enough));
}

TEST(path_trust, counts_what_came_before_a_suspect_and_behind_it)
{
    path_trust t;
    t.came(enough / 2, enough);
    const std::uint8_t suspicion = t.suspect(enough);
    t.came(enough / 2, enough);
    EXPECT_FALSE(t.holds(enough));
    EXPECT_TRUE(t.was_late(suspicion));
    EXPECT_TRUE(t.holds(enough));
}

TEST(path_trust, forgets_a_loss_after_many_times_as_much_and_no_earlier)
{
    for (bool forgotten : {false, true}) {
        path_trust t;
        t.came(enough, enough);
        t.lost(enough);
        t.came(2 * enough * forgive_after - !forgotten, enough);
        t.lost(enough);
        t.came(2 * enough, enough);
        EXPECT_EQ(t.holds(enough), forgotten);
        t.came(2 * enough, enough);
        EXPECT_TRUE(t.holds(enough));
    }
}

// What was forgotten while there were suspects is not remembered when they turn out to be late.
TEST(path_trust, forgets_a_loss_while_it_suspects_others)
{
    path_trust t;
    t.came(enough, enough);
    t.lost(enough);
    t.came(2 * enough, enough);
    const std::uint8_t suspicion = t.suspect(enough);
    for (int i = 0; i < 2; ++i) t.came(4 * enough * forgive_after, enough);
    EXPECT_TRUE(t.was_late(suspicion));
    t.lost(enough);
    t.came(2 * enough, enough);
    EXPECT_TRUE(t.holds(enough));
}

TEST(path_trust, comes_back_however_often_it_was_disappointed)
{
    path_trust t;
    for (unsigned losses = 0; losses < 100; ++losses) {
        t.came(enough << std::min(losses, most_doubts), enough);
        ASSERT_TRUE(t.holds(enough)) << losses;
        t.lost(enough);
    }
    t.came((enough << most_doubts) - 1, enough);
    EXPECT_FALSE(t.holds(enough));
    t.came(1, enough);
    EXPECT_TRUE(t.holds(enough));
}

TEST(path_trust, lasts_however_much_comes)
{
    constexpr std::uint32_t half = 1u << 31;
    path_trust t;
    for (int i = 0; i < 4; ++i) {
        t.came(half, enough);
        EXPECT_TRUE(t.holds(enough));
    }
    const std::uint8_t suspicion = t.suspect(enough);
    t.came(half, enough);
    EXPECT_TRUE(t.was_late(suspicion));
    EXPECT_TRUE(t.holds(enough));
}

namespace {

// A path that has dropped long packets, as the sender sees it. Numbers of its packets are kept modulo 2^13.
struct narrow_path {
    static constexpr std::uint32_t of_short = 1200, of_middle = 5000, of_long = 9000;
    static constexpr unsigned rounds = 8; // until it is known
    path_length path;
    std::uint64_t next;
    explicit narrow_path(std::uint64_t first) : next(first) {}

    void lose(std::uint32_t length = of_long) { path.lost(length, next++); }
    void round()
    {
        lose();
        path.came(of_short, ++next);
    }
};

constexpr std::uint64_t first_numbers[] = {0, 1, 4095, 5000, 8180, 8191, 1 << 20};

} // namespace

TEST(path_length, is_too_short_for_long_ones_after_some_rounds_of_which_only_short_ones_came)
{
    for (const std::uint64_t first : first_numbers) {
        narrow_path p(first);
        for (unsigned i = 0; i < narrow_path::rounds; ++i) {
            EXPECT_FALSE(p.path.drops_long_ones()) << i << " rounds from " << first;
            p.round();
        }
        EXPECT_TRUE(p.path.drops_long_ones());
        for (int i = 0; i < 40; ++i) {
            p.round();
            EXPECT_TRUE(p.path.drops_long_ones());
        }
    }
}

// All that it has cost went before anything was found missing, whatever comes while it is found.
TEST(path_length, counts_an_outage_once)
{
    for (const std::uint64_t first : first_numbers) {
        narrow_path p(first);
        for (unsigned outage = 0; outage < narrow_path::rounds; ++outage) {
            EXPECT_FALSE(p.path.drops_long_ones()) << outage << " outages from " << first;
            const std::uint64_t from = p.next;
            p.next += 100;
            for (std::uint64_t number = from; number < from + 50; ++number) {
                p.path.lost(narrow_path::of_long, number);
                for (int i = 0; i < 3; ++i) p.path.came(narrow_path::of_short, p.next);
            }
        }
        EXPECT_TRUE(p.path.drops_long_ones());
    }
}

TEST(path_length, is_long_enough_where_one_of_that_length_came)
{
    for (const std::uint32_t came : {narrow_path::of_middle, narrow_path::of_long})
        for (const bool shortest_last : {false, true}) {
            narrow_path p(0);
            p.lose(shortest_last ? narrow_path::of_long : narrow_path::of_middle);
            p.lose(shortest_last ? narrow_path::of_middle : narrow_path::of_long);
            for (unsigned i = 1; i < narrow_path::rounds; ++i) p.round();
            p.path.came(came, p.next);
            for (unsigned i = 1; i < narrow_path::rounds; ++i) p.round();
            EXPECT_FALSE(p.path.drops_long_ones());
            p.round();
            EXPECT_TRUE(p.path.drops_long_ones());
        }
}

TEST(path_length, is_too_short_for_long_ones_though_middle_ones_come)
{
    narrow_path p(0);
    for (unsigned i = 0; i < narrow_path::rounds; ++i) {
        EXPECT_FALSE(p.path.drops_long_ones());
        p.lose();
        p.path.came(narrow_path::of_middle, ++p.next);
    }
    EXPECT_TRUE(p.path.drops_long_ones());
}

TEST(bare_trust, holds_when_so_many_have_come_whole_in_a_row_and_twice_as_many_after_each_loss)
{
    constexpr std::uint32_t few = 32;
    bare_trust t;
    EXPECT_FALSE(t.holds(few));
    t.told(31, few);
    EXPECT_FALSE(t.holds(few));
    t.told(32, few);
    EXPECT_TRUE(t.holds(few));
    EXPECT_TRUE(t.lost(few));
    EXPECT_FALSE(t.holds(few));
    t.told(32 + 63, few);
    EXPECT_FALSE(t.holds(few));
    t.told(32 + 64, few);
    EXPECT_TRUE(t.holds(few));
    t.told(3, few); // one was split
    EXPECT_FALSE(t.holds(few));
    t.told(64, few);
    EXPECT_TRUE(t.holds(few));
    EXPECT_TRUE(t.lost(few));
    t.was_late();
    t.told(64 + 64, few);
    EXPECT_TRUE(t.holds(few));
}

// A full queue drops many at once.
TEST(bare_trust, counts_losses_at_a_time_as_one)
{
    constexpr std::uint32_t few = 32;
    bare_trust t;
    t.told(1000, few);
    EXPECT_TRUE(t.lost(few));
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(t.lost(few));
    t.told(1000 + 64, few);
    EXPECT_TRUE(t.holds(few));
}

TEST(bare_trust, comes_back_however_many_have_come_and_forgets_old_losses)
{
    constexpr std::uint32_t few = 32;
    bare_trust t;
    std::uint32_t whole = 1000;
    t.told(whole, few);
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(t.lost(few));
        t.told(whole += few << (i + 1), few);
        EXPECT_TRUE(t.holds(few));
    }
    for (int i = 0; i < 500'000; ++i) t.told(++whole, few);
    EXPECT_TRUE(t.lost(few));
    for (unsigned i = 0; i < 2 * few; ++i) t.told(++whole, few);
    EXPECT_TRUE(t.holds(few)) << "as after the first";
}

TEST(bare_trust, takes_nothing_back_that_was_forgotten)
{
    constexpr std::uint32_t few = 32;
    bare_trust t;
    t.told(few, few);
    ASSERT_TRUE(t.lost(few));
    for (std::uint32_t whole = few + 1; whole <= 2 * few * (forgive_after + 1); ++whole) t.told(whole, few);
    t.was_late();
    EXPECT_TRUE(t.lost(few));
    EXPECT_FALSE(t.holds(few));
}

TEST(bare_trust, counts_on_where_a_peer_can_tell_of_no_more)
{
    constexpr std::uint32_t few = 32;
    bare_trust t;
    for (const std::uint32_t told : {std::uint32_t(most_told_whole), UINT32_MAX}) {
        t.told(told, few);
        EXPECT_TRUE(t.holds(few));
        EXPECT_TRUE(t.lost(few));
        EXPECT_FALSE(t.holds(few));
        for (std::uint32_t i = 0; i < 4 * few; ++i) t.told(told, few);
        EXPECT_TRUE(t.holds(few));
    }
}
