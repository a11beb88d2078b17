// SPDX-License-Identifier: Apache-2.0
#include "shm/stage.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>

using namespace onesea::shm;

namespace {

struct stage_storage {
    stage_control control{};
    std::unique_ptr<std::byte[]> places{new std::byte[stage_places * stage_piece]};
    stage_writer in{control, places.get()};
};

std::byte content(std::uint64_t id, std::uint64_t at) { return std::byte(id * 31 + at * 7 + (at >> 12)); }

// Lays one piece of the order that comes next; false: there is none, or no room.
bool lay_one(stage_writer &w)
{
    const stage_order *o = w.next();
    if (!o || !w.has_room()) return false;
    const std::size_t n = w.piece_bytes();
    for (std::size_t i = 0; i < n; ++i) w.place()[i] = content(o->id, o->from + i);
    w.lay();
    return true;
}

// Takes a piece if it is there; how long it was.
std::size_t take_one(stage_reader &r, std::uint32_t number, std::uint64_t id, std::uint64_t at, std::uint64_t left,
                     std::size_t piece)
{
    const std::byte *p = r.front(number);
    if (!p) return 0;
    const std::size_t n = std::min<std::uint64_t>(piece, left);
    for (std::size_t i = 0; i < n; ++i)
        if (p[i] != content(id, at + i)) {
            ADD_FAILURE() << "byte " << at + i << " of " << id;
            return 0;
        }
    r.pop();
    return n;
}

void take_all(stage_writer &w, stage_reader &r, std::uint32_t number, std::uint64_t id, std::uint64_t from,
              std::uint64_t bytes)
{
    const std::size_t piece = stage_piece_of(bytes);
    for (std::uint64_t done = 0; done < bytes;) {
        const std::size_t n = take_one(r, number, id, from + done, bytes - done, piece);
        done += n;
        if (n == 0) {
            ASSERT_TRUE(lay_one(w)) << "nothing is laid though " << done << " of " << bytes << " came";
        }
    }
}

TEST(stage, hands_over_a_range_in_pieces)
{
    stage_storage s;
    stage_reader r;
    EXPECT_FALSE(s.in.wanted());
    ASSERT_TRUE(r.claim(s.control, s.places.get(), 3));
    for (std::uint64_t bytes : {1, 3, 4, 4096, 9000, 100'000, 1'000'000}) {
        const auto number = r.order(bytes + 5, 17, bytes);
        ASSERT_TRUE(s.in.wanted());
        EXPECT_EQ(s.in.next()->reader, 3u);
        take_all(s.in, r, number, bytes + 5, 17, bytes);
        EXPECT_FALSE(s.in.wanted());
        EXPECT_EQ(s.in.next(), nullptr);
    }
}

TEST(stage, has_room_for_so_many_pieces_that_nobody_has_taken)
{
    stage_storage s;
    stage_reader r;
    ASSERT_TRUE(r.claim(s.control, s.places.get(), 0));
    const auto number = r.order(1, 0, 100 * stage_piece);
    for (std::size_t i = 0; i < stage_places; ++i) ASSERT_TRUE(lay_one(s.in));
    EXPECT_FALSE(s.in.has_room());
    ASSERT_EQ(take_one(r, number, 1, 0, 100 * stage_piece, stage_piece), stage_piece);
    EXPECT_TRUE(s.in.has_room());
}

TEST(stage, serves_orders_in_turn_and_ahead)
{
    stage_storage s;
    stage_reader r;
    ASSERT_TRUE(r.claim(s.control, s.places.get(), 0));
    const auto one = r.order(1, 0, 10'000), two = r.order(2, 0, 10'000);
    while (lay_one(s.in)) {
    }
    EXPECT_FALSE(s.in.wanted());
    take_all(s.in, r, one, 1, 0, 10'000);
    take_all(s.in, r, two, 2, 0, 10'000);
}

TEST(stage, belongs_to_one_reader_until_it_leaves)
{
    stage_storage s;
    stage_reader a, b;
    ASSERT_TRUE(a.claim(s.control, s.places.get(), 0));
    EXPECT_FALSE(b.claim(s.control, s.places.get(), 1));
    a.leave();
    EXPECT_FALSE(a.owns());
    EXPECT_TRUE(b.claim(s.control, s.places.get(), 1));
}

TEST(stage, what_a_reader_did_not_wait_for_is_passed_over_by_the_next)
{
    stage_storage s;
    stage_reader a, b;
    ASSERT_TRUE(a.claim(s.control, s.places.get(), 0));
    a.order(1, 0, 1'000'000);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(lay_one(s.in));
    ASSERT_NE(s.in.next(), nullptr); // it copies a piece while the reader leaves
    a.leave();
    ASSERT_TRUE(b.claim(s.control, s.places.get(), 1));
    s.in.lay();
    const auto number = b.order(2, 50, 1'000'000);
    take_all(s.in, b, number, 2, 50, 1'000'000);
}

TEST(stage, an_order_that_the_writer_drops_does_not_hold_back_the_next)
{
    stage_storage s;
    stage_reader r;
    ASSERT_TRUE(r.claim(s.control, s.places.get(), 0));
    const auto one = r.order(1, 0, 50'000), two = r.order(2, 0, 50'000);
    ASSERT_NE(s.in.next(), nullptr);
    s.in.drop();
    ASSERT_TRUE(lay_one(s.in));
    EXPECT_EQ(r.front(one), nullptr);
    take_all(s.in, r, two, 2, 0, 50'000);
}

TEST(stage, lays_pieces_of_an_order_behind_others_of_shares)
{
    stage_storage s;
    stage_reader r;
    std::byte place{};
    ASSERT_TRUE(r.claim(s.control, s.places.get(), 0));
    for (std::uint32_t i = 0; i < 2 * stage_orders; ++i) {
        reader_shares shares = r.order_shares(1, 0, 50'000, &place);
        ASSERT_NE(s.in.next(), nullptr);
        EXPECT_EQ(s.in.next()->to, reinterpret_cast<std::uint64_t>(&place));
        while (shares.take()) continue;
        s.in.drop();
    }
    const auto number = r.order(2, 0, 50'000);
    ASSERT_NE(s.in.next(), nullptr);
    EXPECT_EQ(s.in.next()->to, 0u);
    take_all(s.in, r, number, 2, 0, 50'000);
}

TEST(stage, is_free_again_when_its_reader_has_died)
{
    stage_storage s;
    stage_reader a, b;
    ASSERT_TRUE(a.claim(s.control, s.places.get(), 4));
    a.order(1, 0, 1'000'000);
    ASSERT_TRUE(lay_one(s.in));
    s.in.reader_gone(3);
    EXPECT_FALSE(b.claim(s.control, s.places.get(), 1));
    s.in.reader_gone(4);
    EXPECT_EQ(s.in.next(), nullptr);
    ASSERT_TRUE(b.claim(s.control, s.places.get(), 1));
    take_all(s.in, b, b.order(2, 0, 300'000), 2, 0, 300'000);
}

// A writer and two readers that claim, order, lose patience and leave as it comes.
void read_at_random(stage_storage &s, unsigned slot, const std::atomic<bool> &stop, std::atomic<int> &whole)
{
    std::mt19937 dice(slot);
    stage_reader r;
    while (!stop.load()) {
        if (!r.owns() && !r.claim(s.control, s.places.get(), slot)) {
            std::this_thread::yield();
            continue;
        }
        const std::uint64_t id = dice() % 1000 + 1, bytes = dice() % 100'000 + 1;
        const auto number = r.order(id, 0, bytes);
        const std::size_t piece = stage_piece_of(bytes);
        const std::uint64_t enough = dice() % 4 == 0 ? dice() % bytes : bytes;
        std::uint64_t done = 0;
        while (done < enough && !stop.load()) {
            const std::size_t n = take_one(r, number, id, done, bytes - done, piece);
            done += n;
            if (n == 0) std::this_thread::yield();
        }
        if (done == bytes) ++whole;
        if (done < bytes || dice() % 3 == 0) r.leave();
    }
    r.leave();
}

TEST(stage, keeps_pieces_apart_between_threads)
{
    stage_storage s;
    std::atomic<bool> stop{false};
    std::atomic<int> whole{0};
    std::thread a([&] { read_at_random(s, 1, stop, whole); }), b([&] { read_at_random(s, 2, stop, whole); });
    while (whole.load() < 60)
        if (!lay_one(s.in)) std::this_thread::yield();
    stop = true;
    a.join();
    b.join();
}

} // namespace
