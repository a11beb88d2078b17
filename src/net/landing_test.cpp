// SPDX-License-Identifier: Apache-2.0
#include "net/landing.hpp"

#include "net/test_pair.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

namespace onesea::net {
namespace {

constexpr std::size_t tag = tag_bytes;
constexpr int source = 5;

struct message {
    packet_header header;
    frame head;
    std::size_t ack_bytes = 0, payload = 0, behind = 0;
};

// A get of `bytes` of which the rest is to come, and what comes.
class Landing : public testing::Test {
  protected:
    std::vector<std::byte> memory = std::vector<std::byte>(100'000, std::byte(0x11));
    sink::expectation expected;
    landing runway;
    std::vector<std::uint64_t> words; // datagrams are aligned
    datagram_port::aside wanted;

    Landing()
    {
        expected.source = source;
        expected.head.type = frame_type::data;
        expected.head.id = 77;
        expected.head.position = 4711;
        expected.to = memory.data();
        expected.bytes = memory.size();
        copy_one();
    }
    void copy_one() { runway.took(60'000, false, 10'000); }

    message usual(std::size_t payload) const
    {
        message m;
        m.header.source = source;
        m.header.flags = packet_flags::bundle;
        m.head = expected.head;
        m.payload = payload;
        m.behind = padded(payload) - payload;
        return m;
    }
    static std::vector<std::byte> datagram_of(message m)
    {
        std::vector<std::byte> all = test::noise(header_bytes + m.ack_bytes + frame_bytes + m.payload + m.behind + tag);
        m.header.ack_bytes = std::uint16_t(m.ack_bytes);
        m.head.length = std::uint32_t(m.payload);
        std::memcpy(all.data(), &m.header, sizeof m.header);
        std::memcpy(all.data() + header_bytes + m.ack_bytes, &m.head, sizeof m.head);
        return all;
    }
    std::span<std::byte> arrives(const std::vector<std::byte> &all)
    {
        words.assign(all.size() / 8 + 1, 0);
        const std::span<std::byte> bytes(reinterpret_cast<std::byte *>(words.data()), all.size());
        std::ranges::copy(all, bytes.begin());
        wanted = runway.wanted(expected);
        EXPECT_EQ(wanted.place.data(), memory.data());
        EXPECT_TRUE(datagram_port::put_aside(wanted, bytes));
        return bytes;
    }
    static packet_header header_of(std::span<const std::byte> datagram)
    {
        packet_header h;
        std::memcpy(&h, datagram.data(), sizeof h);
        return h;
    }

    void expect_landed(const message &m)
    {
        const auto all = datagram_of(m);
        const auto bytes = arrives(all);
        ASSERT_TRUE(runway.meets(header_of(bytes), bytes, tag));
        std::vector<std::byte> signed_bytes;
        for (auto piece : runway.pieces(bytes.first(bytes.size() - tag)))
            signed_bytes.insert(signed_bytes.end(), piece.begin(), piece.end());
        const std::size_t before = header_bytes + m.ack_bytes + frame_bytes;
        EXPECT_TRUE(std::ranges::equal(signed_bytes, std::span(all).first(all.size() - tag)));
        EXPECT_EQ(runway.complete(bytes), memory.data());
        EXPECT_TRUE(std::ranges::equal(std::span(memory).first(m.payload), std::span(all).subspan(before, m.payload)));
        EXPECT_TRUE(std::ranges::equal(bytes.subspan(before + m.payload), std::span(all).subspan(before + m.payload)));
        EXPECT_TRUE(std::ranges::equal(bytes.first(before), std::span(all).first(before)));
    }
    void expect_refused(const message &m)
    {
        const auto all = datagram_of(m);
        const auto bytes = arrives(all);
        EXPECT_FALSE(runway.meets(header_of(bytes), bytes, tag));
        runway.refuse(bytes);
        EXPECT_TRUE(std::ranges::equal(bytes, all));
    }
};

TEST_F(Landing, is_that_of_the_payload_alone_whatever_its_length)
{
    for (std::size_t payload : {std::size_t(1), std::size_t(8), std::size_t(1000), std::size_t(8191),
                                std::size_t(57344), most_payload - 8, most_payload - 1, most_payload}) {
        SCOPED_TRACE(payload);
        expect_landed(usual(payload));
    }
}

// The last one, where less is expected than one packet could bring.
TEST_F(Landing, takes_no_more_than_is_expected)
{
    memory.resize(20'000);
    expected.to = memory.data();
    expected.bytes = 20'000;
    expect_landed(usual(20'000));
    expect_landed(usual(19'993));
    expect_refused(usual(20'001));
}

TEST_F(Landing, leaves_the_frames_behind_it)
{
    auto m = usual(30'000);
    m.behind = 10'000;
    expect_landed(m);
    m = usual(2000);
    m.behind = 60'000;
    expect_landed(m);
}

// As one might from a program of its own.
TEST_F(Landing, joins_a_payload_that_is_longer_than_the_place)
{
    auto m = usual(most_payload + 1000);
    expect_landed(m);
}

TEST_F(Landing, is_where_the_acknowledgement_that_came_last_lets_it_be)
{
    auto m = usual(5000);
    m.ack_bytes = 40;
    expect_refused(m);
    m.header.ack_bytes = 40;
    runway.came(m.header);
    expect_landed(m);
    m.ack_bytes = 160;
    expect_refused(m);
}

TEST_F(Landing, takes_bare_trains)
{
    auto m = usual(50'000);
    m.header.train = std::uint16_t(datagram_of(m).size());
    m.header.flags |= packet_flags::first;
    expect_landed(m);
}

TEST_F(Landing, refuses_what_was_not_expected_and_leaves_it_whole)
{
    const auto good = usual(50'000);
    auto m = good;
    m.header.source = source + 1;
    expect_refused(m);
    m = good;
    m.header.train = 1440;
    expect_refused(m);
    for (std::uint8_t flag : {packet_flags::ordered, packet_flags::close, packet_flags::broken, packet_flags::first,
                              packet_flags::more, packet_flags::part}) {
        m = good;
        m.header.flags = std::uint8_t(m.header.flags | flag);
        expect_refused(m);
    }
    m = good;
    m.head.type = frame_type::put;
    expect_refused(m);
    m = good;
    ++m.head.id;
    expect_refused(m);
    m = good;
    m.head.position += 8;
    expect_refused(m);
    m = good;
    m.head.flags = notice_flag;
    expect_refused(m);
    m = good;
    m.header.flags = std::uint8_t(m.header.flags | packet_flags::ask_ack);
    expect_landed(m);
}

TEST_F(Landing, refuses_a_frame_that_says_it_is_longer_than_its_packet)
{
    auto all = datagram_of(usual(50'000));
    for (std::size_t more : {8, 16, 17, 40'000}) {
        frame f;
        std::memcpy(&f, all.data() + header_bytes, sizeof f);
        f.length = std::uint32_t(50'000 + more);
        auto longer = all;
        std::memcpy(longer.data() + header_bytes, &f, sizeof f);
        const auto bytes = arrives(longer);
        EXPECT_FALSE(runway.meets(header_of(bytes), bytes, tag)) << more;
        runway.refuse(bytes);
        EXPECT_TRUE(std::ranges::equal(bytes, longer));
    }
}

TEST_F(Landing, is_not_asked_for_where_nothing_is_expected)
{
    EXPECT_TRUE(runway.nothing().place.empty());
    EXPECT_FALSE(runway.measures());
    EXPECT_EQ(runway.wanted(expected).place.size(), most_payload);
    EXPECT_TRUE(runway.measures());
    EXPECT_TRUE(runway.nothing().place.empty());
    EXPECT_FALSE(runway.measures());
}

class LandingLuck : public Landing {
  protected:
    static constexpr std::size_t bytes = 60'000;
    LandingLuck() : good_(datagram_of(usual(bytes))), other_(good_)
    {
        other_[header_bytes + offsetof(frame, id)] ^= std::byte(1);
    }
    bool asked() { return !runway.wanted(expected).place.empty(); }
    void comes(bool met, nanoseconds time = 6000)
    {
        if (!asked()) return runway.took(bytes, false, 10'000);
        const auto there = arrives(met ? good_ : other_);
        if (!runway.meets(header_of(there), there, tag)) runway.refuse(there);
        runway.took(bytes, true, time);
    }
    int asked_among(int packets, bool met, nanoseconds time = 6000)
    {
        int n = 0;
        for (int i = 0; i < packets; ++i) {
            n += asked();
            comes(met, time);
        }
        return n;
    }

  private:
    std::vector<std::byte> good_, other_;
};

TEST_F(LandingLuck, lasts_while_what_is_expected_comes)
{
    EXPECT_GE(asked_among(1000, true), 990);
    comes(false); // now and then something else
    EXPECT_GE(asked_among(1000, true), 990);
}

TEST_F(LandingLuck, is_tried_ever_more_rarely_where_other_things_come)
{
    EXPECT_LE(asked_among(10'000, false), 20);
    EXPECT_LE(asked_among(10'000, false), 10);
    EXPECT_GE(asked_among(10'000, true), 8'800) << "it is found out that this has changed";
}

TEST_F(LandingLuck, is_no_luck_where_the_kernel_copies_slowly_to_the_place)
{
    EXPECT_LE(asked_among(10'000, true, 30'000), 20);
    EXPECT_GE(asked_among(10'000, true, 9'000), 8'800);
}

TEST_F(LandingLuck, is_nothing_to_trust_before_one_was_copied)
{
    runway = {};
    EXPECT_FALSE(asked());
    EXPECT_TRUE(runway.measures());
    copy_one();
    EXPECT_TRUE(asked());
}

TEST_F(LandingLuck, ends_where_the_kernel_cannot_write)
{
    EXPECT_TRUE(asked());
    runway.place_is_bad();
    EXPECT_FALSE(asked());
}

} // namespace
} // namespace onesea::net
