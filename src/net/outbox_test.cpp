// SPDX-License-Identifier: Apache-2.0
#include "net/outbox.hpp"

#include "base/pages.hpp"
#include "net/packet.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace onesea;
using namespace onesea::net;

namespace {

constexpr std::size_t limit = 1424; // of a bundle

struct waiter : delivery {
    int told = 0;
    waiter()
    {
        settled = [](delivery *d, int) { ++static_cast<waiter *>(d)->told; };
    }
};

outgoing message(std::uint64_t position, std::span<const std::byte> data, delivery *done, bool borrow)
{
    outgoing m;
    m.head.type = frame_type::put;
    m.head.position = position;
    m.payload = data.data();
    m.bytes = data.size();
    m.done = done;
    m.borrow = borrow;
    return m;
}

std::vector<std::byte> noise_of(std::size_t bytes, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::vector<std::byte> data(bytes);
    for (auto &b : data) b = std::byte(random());
    return data;
}

// As it goes on the wire.
std::vector<std::byte> flat(const bundle &b)
{
    std::vector<std::byte> all;
    std::size_t from = 0;
    for (const bundle::part &p : b.parts) {
        all.insert(all.end(), b.content.begin() + std::ptrdiff_t(from), b.content.begin() + std::ptrdiff_t(p.at));
        all.insert(all.end(), p.data, p.data + p.bytes);
        from = p.at;
    }
    all.insert(all.end(), b.content.begin() + std::ptrdiff_t(from), b.content.end());
    return all;
}

// Writes every frame of a bundle where its position says; how many there were.
unsigned write_frames(const bundle &b, std::vector<std::byte> &memory)
{
    auto bytes = flat(b);
    EXPECT_EQ(bytes.size(), b.bytes);
    std::span<const std::byte> rest = bytes, payload;
    unsigned frames = 0;
    for (; !rest.empty(); ++frames) {
        frame f = next_frame(&rest, &payload);
        EXPECT_LE(f.position + payload.size(), memory.size());
        std::memcpy(memory.data() + f.position, payload.data(), payload.size());
    }
    return frames;
}

} // namespace

TEST(outbox, packs_small_messages_behind_each_other)
{
    bundle_pool pool;
    outbox box(pool);
    std::vector<waiter> done(20);
    for (std::size_t i = 0; i < done.size(); ++i) box.push(message(8 * i, noise_of(8, i), &done[i], false), limit);
    auto b = box.take(limit);
    EXPECT_TRUE(box.empty());
    EXPECT_EQ(b->bytes, 20u * 32);
    EXPECT_EQ(b->done.size(), 20u);
    std::vector<std::byte> memory(160);
    EXPECT_EQ(write_frames(*b, memory), 20u);
}

TEST(outbox, tells_once_for_each_message_also_if_many_in_a_row_tell_the_same)
{
    bundle_pool pool;
    outbox box(pool);
    waiter often, other;
    auto data = noise_of(8, 1);
    for (unsigned i = 0; i < 9; ++i) box.push(message(8 * i, data, i == 4 ? &other : &often, false), limit);
    auto b = box.take(limit);
    EXPECT_EQ(b->done.size(), 3u);
    for (const to_tell &t : b->done) t.tell(SEA_OK);
    EXPECT_EQ(often.told, 8u);
    EXPECT_EQ(other.told, 1u);
}

TEST(outbox, pads_with_zeros_whatever_was_in_the_memory_before)
{
    bundle_pool pool;
    auto old = noise_of(1000, 3);
    for (unsigned round = 0; round < 2; ++round) {
        outbox box(pool);
        for (unsigned i = 0; i < 10; ++i)
            box.push(message(0, std::span(old).first(round ? 1 + i % 7 : 64), nullptr, false), limit);
        auto b = box.take(limit);
        std::span<const std::byte> rest = b->content, payload;
        while (round && !rest.empty()) {
            next_frame(&rest, &payload);
            for (auto *p = payload.data() + payload.size(); p != rest.data(); ++p) EXPECT_EQ(*p, std::byte{});
        }
        pool.give(std::move(b));
    }
}

TEST(outbox, fills_datagrams_with_the_end_of_one_long_message_and_the_beginning_of_the_next)
{
    bundle_pool pool;
    outbox box(pool);
    auto data = noise_of(4096, 1);
    for (unsigned i = 0; i < 50; ++i) box.push(message(4096 * i, data, nullptr, true), limit);
    std::vector<std::byte> memory(50 * 4096);
    for (unsigned n = 0; !box.empty(); ++n) {
        auto b = box.take(limit);
        EXPECT_LE(b->bytes, limit);
        if (!box.empty()) {
            EXPECT_GT(b->bytes + frame_bytes + 8, limit) << "bundle " << n << " is not full";
        }
        write_frames(*b, memory);
    }
    EXPECT_EQ(box.bytes(), 0u);
    for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(std::memcmp(memory.data() + 4096 * i, data.data(), 4096), 0);
}

TEST(outbox, does_not_cut_what_is_to_be_executed_whole)
{
    bundle_pool pool;
    outbox box(pool);
    const auto data = noise_of(3000, 1);
    constexpr std::size_t room = 8000, each = frame_bytes + 3000;
    for (unsigned i = 0; i < 10; ++i) {
        outgoing m = message(3000 * i, data, nullptr, true);
        m.whole = true;
        box.push(m, room);
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(box.take(room)->bytes, 2 * each) << "a third does not fit";
    for (int i = 0; i < 4; ++i) EXPECT_EQ(box.take(limit)->bytes, each) << "goes in parts, but as one frame";
    EXPECT_TRUE(box.empty());
    EXPECT_EQ(box.bytes(), 0u);
}

TEST(outbox, keeps_ordered_messages_out_of_the_bundles_of_others)
{
    bundle_pool pool;
    outbox box(pool);
    auto data = noise_of(100, 1);
    for (unsigned i = 0; i < 6; ++i) {
        outgoing m = message(0, data, nullptr, false);
        m.ordered = i / 2 == 1;
        box.push(m, limit);
    }
    for (bool ordered : {false, true, false}) EXPECT_EQ(box.take(limit)->ordered, ordered);
    EXPECT_TRUE(box.empty());
}

TEST(outbox, loses_and_repeats_no_byte_of_any_mixture)
{
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        std::mt19937_64 random(seed);
        bundle_pool pool;
        outbox box(pool);
        const std::size_t most = random() % 2 ? limit : 63 * 1024;
        std::vector<std::vector<std::byte>> data;
        std::vector<std::byte> memory, expected;
        auto take = [&] {
            auto b = box.take(most);
            EXPECT_LE(b->bytes, most);
            EXPECT_LE(b->parts.size(), most_parts);
            EXPECT_EQ(b->bytes % 8, 0u);
            write_frames(*b, memory);
            pool.give(std::move(b));
        };
        memory.resize(1 << 20);
        data.reserve(100);
        for (int i = 0; i < 100; ++i) {
            std::size_t bytes = random() % (random() % 4 ? 300 : 20'000);
            data.push_back(noise_of(bytes, random()));
            outgoing m = message(expected.size(), data.back(), nullptr, bytes > limit - frame_bytes || random() % 2);
            m.ordered = random() % 8 == 0;
            box.push(m, most);
            expected.insert(expected.end(), data.back().begin(), data.back().end());
            while (!box.empty() && random() % 3 == 0) take();
        }
        while (!box.empty()) take();
        EXPECT_EQ(box.bytes(), 0u) << "seed " << seed;
        memory.resize(expected.size());
        ASSERT_EQ(memory, expected) << "seed " << seed;
    }
}

TEST(outbox, tells_everyone_once_when_it_is_dropped)
{
    bundle_pool pool;
    outbox box(pool);
    auto data = noise_of(5000, 1);
    waiter small, small_too, whole, begun;
    box.push(message(0, data, &begun, true), limit);
    auto b = box.take(limit);
    box.push(message(0, noise_of(8, 1), &small, false), limit);
    box.push(message(0, data, &whole, true), limit);
    box.push(message(0, noise_of(8, 1), &small_too, false), limit);
    box.drop([](const to_tell &t) { t.tell(SEA_ERR_DEAD); });
    for (waiter *w : {&small, &small_too, &whole, &begun}) EXPECT_EQ(w->told, 1);
    EXPECT_EQ(b->parts[0].of->message.done, nullptr) << "its bundle would tell again";
    EXPECT_TRUE(box.empty());
}

// So that the kernel can refer to what follows by a page each.
TEST(outbox, cuts_long_messages_behind_whole_pages_where_it_is_told_to)
{
    bundle_pool pool;
    constexpr std::size_t bytes = 1'000'000, long_limit = 64'000;
    std::vector<std::byte> memory = noise_of(bytes + 2 * page_bytes, 5);
    for (std::size_t inside : {std::size_t(0), std::size_t(16), std::size_t(4088), std::size_t(3)}) {
        const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory.data());
        const auto data = std::span(memory).subspan(-begin % page_bytes + inside, bytes);
        outbox box(pool);
        box.push(message(0, data, nullptr, true), long_limit);
        std::vector<std::byte> written(bytes);
        unsigned frames = 0;
        while (!box.empty()) {
            auto b = box.take(long_limit, true);
            EXPECT_LE(b->bytes, long_limit);
            frames += write_frames(*b, written);
            if (box.empty() || inside % 8) continue;
            const bundle::part &p = b->parts.front();
            const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(p.data);
            EXPECT_EQ((from + p.bytes) % page_bytes, 0u);
            EXPECT_EQ((from + p.bytes - 1) / page_bytes - from / page_bytes + 1, most_spliced - 2);
        }
        EXPECT_TRUE(std::equal(data.begin(), data.end(), written.begin()));
        EXPECT_LE(frames, bytes / ((most_spliced - 3) * page_bytes) + 1);
    }
}

// Pages that a packet with this bundle refers to, if its header and its tag take one each.
std::size_t pages_referred_to(const bundle &b)
{
    std::size_t pages = 2, from = 0;
    for (const bundle::part &p : b.parts) {
        if (from || p.at > short_run) pages += pages_of(b.content.data() + from, p.at - from);
        pages += pages_of(p.data, p.bytes);
        from = p.at;
    }
    return pages;
}

bool is_lent(const bundle &b)
{
    return std::ranges::any_of(b.parts, [](const bundle::part &p) { return p.bytes >= least_lent; });
}

// What is left of one and the beginning of the next share a packet, of which nothing is copied.
TEST(outbox, cuts_several_long_messages_so_that_one_packet_refers_to_few_pages)
{
    constexpr std::size_t long_limit = 64'000;
    std::vector<std::byte> memory = noise_of(80'000 + 2 * page_bytes, 6);
    unsigned frames_in_two_pages = 0, shared = 0;
    for (std::size_t bytes : {20'480, 30'000, 40'000, 65'536, 70'008})
        for (std::size_t inside : {std::size_t(0), std::size_t(16), std::size_t(4088)}) {
            const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory.data());
            const auto data = std::span(memory).subspan(-begin % page_bytes + inside, bytes);
            bundle_pool pool;
            outbox box(pool);
            for (int i = 0; i < 30; ++i) box.push(message(0, data, nullptr, true), long_limit);
            std::size_t left = 30 * bytes;
            while (!box.empty()) {
                auto b = box.take(long_limit, true);
                std::vector<std::byte> written(bytes);
                write_frames(*b, written);
                for (const bundle::part &p : b->parts) left -= p.bytes;
                ASSERT_LE(b->bytes, long_limit);
                shared += b->parts.size() > 1;
                if (!is_lent(*b) || box.empty()) continue;
                frames_in_two_pages += pages_referred_to(*b) > most_spliced;
                EXPECT_GE(b->bytes, 8 * page_bytes) << bytes << " from " << inside;
            }
            EXPECT_EQ(left, 0u);
        }
    EXPECT_GT(shared, 100u);
    EXPECT_LE(frames_in_two_pages, 8u) << "a frame between two parts seldom lies in two pages";
}

// Where they belong they are received only if they are the first in their packet.
TEST(outbox, begins_a_packet_with_what_may_land_at_the_peer)
{
    constexpr std::size_t long_limit = 64'000;
    const auto data = noise_of(70'000, 7), small = noise_of(100, 8);
    bundle_pool pool;
    outbox box(pool);
    for (int i = 0; i < 3; ++i) {
        outgoing m = message(0, data, nullptr, true);
        m.lands = m.awaited = true;
        box.push(m, long_limit);
        box.push(message(0, small, nullptr, false), long_limit);
    }
    for (int i = 0; i < 3; ++i) {
        const auto first = box.take(long_limit, true);
        ASSERT_EQ(first->parts.size(), 1u);
        EXPECT_EQ(first->parts[0].at, frame_bytes);
        EXPECT_EQ(first->parts[0].data, data.data());
        EXPECT_FALSE(first->leaves_rest()) << "or it would wait";
        const auto rest = box.take(long_limit, true);
        EXPECT_EQ(rest->parts.size(), 1u);
        EXPECT_EQ(rest->parts[0].bytes, data.size() - first->parts[0].bytes);
        EXPECT_GT(rest->content.size(), small.size()) << "what is small goes along";
    }
    EXPECT_TRUE(box.empty());
}

// Notices are counted: one is told of once, with the last of its message, and not before what was sent earlier.
TEST(outbox, marks_the_last_frame_of_a_notice_alone_and_keeps_it_in_order)
{
    bundle_pool pool;
    outbox box(pool);
    const auto data = noise_of(5000, 1);
    for (const std::size_t bytes : {std::size_t(8), data.size()}) {
        outgoing m = message(0, std::span(data).first(bytes), nullptr, true);
        m.notice = true;
        box.push(m, limit);
        std::size_t got = 0;
        while (!box.empty()) {
            const auto b = box.take(limit);
            EXPECT_TRUE(b->ordered);
            const auto all = flat(*b);
            for (std::span<const std::byte> rest = all, payload; !rest.empty();) {
                const frame f = next_frame(&rest, &payload);
                got += payload.size();
                EXPECT_EQ((f.flags & notice_flag) != 0, got == bytes) << got;
            }
        }
        EXPECT_EQ(got, bytes);
    }
}

TEST(outbox, takes_no_more_than_the_limit)
{
    bundle_pool pool;
    outbox box(pool);
    const auto data = noise_of(40, 1);
    for (int i = 0; i < 2; ++i) box.push(message(0, data, nullptr, false), 64);
    EXPECT_EQ(box.take(2 * 64 - 8)->bytes, 64u);
    EXPECT_EQ(box.take(2 * 64 - 8)->bytes, 64u);
}

TEST(outbox, a_bundle_that_is_used_again_is_as_a_new_one)
{
    bundle_pool pool;
    auto used = pool.take();
    used->cuts = 3;
    used->in_flight = 1;
    used->parts_done = used->parts_flying = 5;
    used->ordered = used->asks = used->acked = used->tried = used->there = true;
    const bundle *const place = used.get();
    pool.give(std::move(used));
    const auto again = pool.take();
    ASSERT_EQ(again.get(), place);
    EXPECT_FALSE(again->cuts || again->in_flight || again->parts_done || again->parts_flying);
    EXPECT_FALSE(again->ordered || again->asks || again->acked || again->tried || again->there);
}

TEST(outbox, puts_no_more_long_messages_into_a_bundle_than_a_packet_has_pieces_for)
{
    bundle_pool pool;
    outbox box(pool);
    const auto data = noise_of(copy_limit + 8, 1);
    for (std::size_t i = 0; i < 2 * most_parts; ++i) box.push(message(0, data, nullptr, true), limit);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(box.take(60'000)->parts.size(), most_parts);
    EXPECT_TRUE(box.empty());
}
