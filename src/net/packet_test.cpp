// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of packets, the vectors of docs/protocol.md, and a second of random damage to every decoder.
#include "net/packet.hpp"

#include "net/crypto.hpp"
#include "net/train.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <vector>

using namespace onesea;
using namespace onesea::net;

namespace {

using bytes = std::vector<std::byte>;

const std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();

std::string to_hex(std::span<const std::byte> data)
{
    std::string out;
    for (std::byte b : data) out += "0123456789abcdef"[unsigned(b) >> 4], out += "0123456789abcdef"[unsigned(b) & 15];
    return out;
}

template <std::size_t N>
std::string to_hex(const std::uint8_t (&data)[N])
{
    return to_hex(std::as_bytes(std::span(data)));
}

// Lines "name = hex" of docs/protocol.md.
std::map<std::string, std::string> vectors()
{
    std::ifstream in(here / "../../docs/protocol.md");
    std::map<std::string, std::string> result;
    for (std::string line; std::getline(in, line);)
        if (auto at = line.find(" = "); at != std::string::npos && at > 0 && line[0] != '|')
            result[line.substr(0, at)] = line.substr(at + 3);
    return result;
}

job_key vector_key()
{
    job_key key;
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = std::uint8_t(i);
    return key;
}

// Header, acknowledgement, one frame with `payload` bytes 0, 1, 2 ..; room for the tag.
bytes sample(std::size_t payload, std::size_t tag)
{
    packet_header h;
    h.flags = packet_flags::bundle | packet_flags::ask_ack;
    h.ack_bytes = ack_fixed_bytes + 8;
    h.job_tag = derive_job_tag(vector_key());
    h.source = 1;
    h.target = 2;
    h.number = 5;
    h.bundle = 3;
    ack_block a;
    a.largest = 9;
    a.executed = 7;
    a.delay_ns = 1000;
    a.window = 65536;
    a.notices = 0;
    const std::uint64_t words[] = {0x1ff};
    frame f{};
    f.type = frame_type::put;
    f.flags = frame_flags::last;
    f.length = std::uint32_t(payload);
    f.position = 4096;
    f.id = 17;
    bytes p(header_bytes + h.ack_bytes + frame_bytes + padded(payload) + tag);
    write_header(p.data(), h);
    write_ack(p.data() + header_bytes, a, words);
    std::memcpy(p.data() + header_bytes + h.ack_bytes, &f, sizeof f);
    for (std::size_t i = 0; i < payload; ++i) p[header_bytes + h.ack_bytes + frame_bytes + i] = std::byte(i);
    return p;
}

bytes from_hex(const std::string &text)
{
    bytes out;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        out.push_back(std::byte(std::stoul(text.substr(i, 2), nullptr, 16)));
    return out;
}

// One end of the link between ranks 1 and 2 under the key of the vectors: packets go in and out as on the wire.
class wire_end {
  public:
    wire_end(std::uint32_t own, std::uint32_t other, secure_mode mode)
        : cipher_(mode), link_(config(mode, own, other), cipher_, nobody_, pool_)
    {
    }
    ~wire_end() { link_.settle_all(SEA_OK); }
    net::link &link() { return link_; }

    void hear(const std::string &hex, std::uint64_t now)
    {
        bytes p = from_hex(hex);
        packet_header h;
        packet_view v;
        ASSERT_TRUE(read_header(p, true, &h));
        ASSERT_TRUE(cipher_.open(link_.keys_in(), h.number, p));
        ASSERT_EQ(read_packet(p, true, h, &v), defect::none);
        EXPECT_TRUE(link_.receive(v, now));
    }
    std::string close(std::uint64_t now)
    {
        datagram d;
        link_.build_close(now, &d);
        return hex_of(d);
    }
    std::string next(std::uint64_t now) // "": nothing
    {
        datagram d;
        return link_.build(now, &d) ? hex_of(d) : "";
    }

  private:
    struct nobody final : sink {
        void receive(int, const frame &, std::span<const std::byte>) override {}
    };
    nobody nobody_;
    crypto cipher_;
    bundle_pool pool_;
    net::link link_;

    static link_config config(secure_mode mode, std::uint32_t own, std::uint32_t other)
    {
        link_config c;
        c.own_rank = own;
        c.peer_rank = other;
        c.job_tag = derive_job_tag(vector_key());
        c.out = derive_keys(mode, vector_key(), own, other, 0);
        c.in = derive_keys(mode, vector_key(), other, own, 0);
        return c;
    }
    static std::string hex_of(const datagram &d)
    {
        std::string all;
        for (unsigned i = 0; i < d.count; ++i) all += to_hex(d.pieces[i]);
        return all;
    }
};

} // namespace

TEST(packet, is_read_as_it_was_written)
{
    bytes p = sample(13, tag_bytes);
    packet_header h;
    packet_view v;
    ASSERT_TRUE(read_header(p, true, &h));
    ASSERT_EQ(read_packet(p, true, h, &v), defect::none);
    EXPECT_EQ(v.header.number, 5u);
    EXPECT_EQ(v.header.bundle, 3u);
    EXPECT_EQ(v.ack.fixed.executed, 7u);
    EXPECT_TRUE(v.ack.has(9));
    EXPECT_TRUE(v.ack.has(0));
    EXPECT_EQ(v.ack.lowest(), 0u);
    std::span<const std::byte> payload;
    frame f = next_frame(&v.content, &payload);
    EXPECT_EQ(f.position, 4096u);
    EXPECT_EQ(payload.size(), 13u);
    EXPECT_EQ(payload[12], std::byte(12));
    EXPECT_TRUE(v.content.empty());
}

TEST(packet, is_refused_at_every_other_length)
{
    bytes p = sample(16, tag_bytes);
    packet_header h;
    packet_view v;
    for (std::size_t n = 0; n < p.size(); ++n) {
        std::span cut(p.data(), n);
        EXPECT_FALSE(read_header(cut, true, &h) && read_packet(cut, true, h, &v) == defect::none) << n;
    }
}

TEST(packet, has_any_number_of_words_up_to_sixteen)
{
    for (std::size_t words = 0; words <= max_ack_words + 1; ++words) {
        packet_header h;
        h.ack_bytes = std::uint16_t(ack_fixed_bytes + 8 * words);
        ack_block a;
        a.largest = 2000;
        const std::vector<std::uint64_t> ones(words, ~std::uint64_t(0));
        bytes p(header_bytes + h.ack_bytes);
        write_header(p.data(), h);
        write_ack(p.data() + header_bytes, a, ones);
        packet_view v;
        ASSERT_TRUE(read_header(p, false, &h));
        ASSERT_EQ(read_packet(p, false, h, &v) == defect::none, words <= max_ack_words) << words;
        if (words > max_ack_words) continue;
        EXPECT_TRUE(v.ack.has(2000));
        EXPECT_EQ(v.ack.lowest(), 2000 - 64 * words);
        EXPECT_EQ(v.ack.has(1999), words > 0);
        EXPECT_EQ(v.ack.has(2000 - 64 * words), true);
        EXPECT_FALSE(v.ack.has(1999 - 64 * words));
    }
}

TEST(packet, is_refused_for_each_wrong_field)
{
    const bytes good = sample(16, 0);
    struct change {
        std::size_t at;
        std::uint8_t value;
    };
    const change changes[] = {{0, 2} /* version */,
                              {1, 0x85} /* no part */,
                              {1, 0x25} /* no train */,
                              {30, 8} /* train */,
                              {1, 0} /* frames without bundle */,
                              {2, 8} /* ack too short */,
                              {3, 0xff} /* ack too long */,
                              {11, 1} /* rank */,
                              {23, 1} /* number */,
                              {header_bytes + 40 + 4, 0xff} /* frame too long */,
                              {header_bytes + 40 + 7, 0xff} /* length that overflows */};
    for (auto c : changes) {
        bytes p = good;
        p[c.at] = std::byte(c.value);
        packet_header h;
        packet_view v;
        EXPECT_FALSE(read_header(p, false, &h) && read_packet(p, false, h, &v) == defect::none) << c.at;
    }
}

// Its first datagram, however much that has of it.
TEST(packet, begins_a_bare_train)
{
    const bytes whole = sample(200, 0);
    packet_header h;
    ASSERT_TRUE(read_header(whole, false, &h));
    const auto reads = [&](std::size_t length, std::size_t front) {
        bytes p(whole.begin(), whole.begin() + std::ptrdiff_t(front));
        h.train = std::uint16_t(length);
        h.flags = packet_flags::bundle | packet_flags::first;
        write_header(p.data(), h);
        packet_header seen;
        return read_header(p, false, &seen) && seen.bare_train();
    };
    EXPECT_TRUE(reads(whole.size(), whole.size()));
    EXPECT_TRUE(reads(whole.size(), 136));
    EXPECT_TRUE(reads(gso_bytes, 136));
    EXPECT_FALSE(reads(whole.size() - 8, whole.size())) << "longer than it";
    EXPECT_FALSE(reads(whole.size() + 4, 136)) << "no packet is so long";
    EXPECT_FALSE(reads(gso_bytes + 8, 136)) << "nor so long";
    EXPECT_FALSE(reads(0, 136));
}

TEST(crypto, matches_the_vectors_of_the_protocol)
{
    auto v = vectors();
    std::uint32_t tag = derive_job_tag(vector_key());
    EXPECT_EQ(to_hex(std::as_bytes(std::span(&tag, 1))), v["job tag"]);
    for (auto mode : {secure_mode::auth, secure_mode::encrypt}) {
        const std::string name = mode == secure_mode::auth ? "auth, " : "encrypt, ";
        direction_keys k = derive_keys(mode, vector_key(), 1, 2, 0);
        EXPECT_EQ(to_hex(k.cipher[0]), v[name + "short key"]);
        EXPECT_EQ(to_hex(k.cipher[1]), v[name + "long key"]);
        crypto c(mode);
        bytes p = sample(8, tag_bytes);
        c.seal(k, 5, p);
        EXPECT_EQ(to_hex(p), v[name + "packet"]);
        p = sample(1024, tag_bytes);
        c.seal(k, 5, p);
        EXPECT_EQ(to_hex(std::span(p).last(tag_bytes)), v[name + "tag of the long packet"]);
    }
}

TEST(crypto, cuts_a_train_as_the_vectors_say)
{
    auto v = vectors();
    for (auto mode : {secure_mode::auth, secure_mode::encrypt}) {
        const std::string name = mode == secure_mode::auth ? "auth, " : "encrypt, ";
        bytes p = sample(200, tag_bytes);
        packet_header h;
        ASSERT_TRUE(read_header(p, true, &h));
        h.train = 136;
        h.flags |= packet_flags::first | packet_flags::more;
        write_header(p.data(), h);
        crypto(mode).seal(derive_keys(mode, vector_key(), 1, 2, 0), 5, p);
        datagram d;
        d.pieces[0] = p;
        d.count = 1;
        d.bytes = p.size();
        d.train = h.train;
        cut_train train(d);
        ASSERT_EQ(train.count(), 3u);
        for (unsigned i = 0; i < 3; ++i) {
            bytes one;
            for (const iovec &piece : train.at(i)) {
                auto *from = static_cast<const std::byte *>(piece.iov_base);
                one.insert(one.end(), from, from + piece.iov_len);
            }
            EXPECT_TRUE(read_header(one, true, &h)) << i;
            EXPECT_EQ(to_hex(one), v[name + "datagram " + std::to_string(i + 1) + " of the train"]);
        }
    }
}

TEST(crypto, makes_a_bare_train_as_the_vector_says)
{
    bytes p = sample(200, tag_bytes);
    packet_header h;
    ASSERT_TRUE(read_header(p, true, &h));
    h.train = std::uint16_t(p.size());
    h.flags |= packet_flags::first;
    write_header(p.data(), h);
    crypto(secure_mode::auth).seal(derive_keys(secure_mode::auth, vector_key(), 1, 2, 0), 5, p);
    EXPECT_EQ(to_hex(p), vectors()["auth, bare train"]);
}

TEST(crypto, reads_the_part_of_the_vectors)
{
    bytes p = from_hex(vectors()["auth, part"]);
    packet_header h;
    packet_view view;
    ASSERT_TRUE(read_header(p, true, &h));
    ASSERT_TRUE(crypto(secure_mode::auth).open(derive_keys(secure_mode::auth, vector_key(), 1, 2, 0), 6, p));
    ASSERT_EQ(read_packet(p, true, h, &view), defect::none);
    EXPECT_EQ(view.part.index, 1u);
    EXPECT_EQ(view.part.count, 3u);
    EXPECT_EQ(view.part.whole, 224u);
    EXPECT_EQ(range_of(view.part).from, 80u);
    EXPECT_EQ(view.content.size(), 80u);
    EXPECT_EQ(view.content[0], std::byte(80 - frame_bytes));
}

TEST(packet, with_a_part_is_refused_for_each_wrong_field)
{
    const bytes good = from_hex(vectors()["auth, part"]);
    auto part_with = [&](part_head head, std::size_t cut_off) {
        bytes p(good.begin(), good.end() - std::ptrdiff_t(tag_bytes + cut_off));
        std::memcpy(p.data() + header_bytes, &head, sizeof head);
        packet_header h;
        packet_view v;
        return read_header(p, false, &h) && read_packet(p, false, h, &v) == defect::none;
    };
    EXPECT_TRUE(part_with({1, 3, 224}, 0));
    EXPECT_TRUE(part_with({2, 3, 224}, 16)) << "the last is shorter";
    for (part_head wrong : {part_head{3, 3, 224},
                            {0, 0, 224},
                            {0, 1, 80},
                            {1, 3, 228},
                            {1, 2, 224},
                            {1, 65, 224},
                            {2, 3, 224},
                            {1, 3, 0},
                            {1, 3, 1 << 17},
                            {0xffff, 0xffff, 0xffffffff}})
        EXPECT_FALSE(part_with(wrong, 0)) << wrong.index << " of " << wrong.count << ", " << wrong.whole;
    EXPECT_FALSE(part_with({1, 3, 224}, 8));
}

// Each bound by itself: all else fits.
TEST(packet, is_refused_just_beyond_each_bound)
{
    packet_header h;
    packet_view v;
    auto refused = [&](const bytes &body) {
        bytes p(header_bytes + body.size());
        write_header(p.data(), h);
        std::ranges::copy(body, p.begin() + std::ptrdiff_t(header_bytes));
        packet_header read;
        return !read_header(p, false, &read) || read_packet(p, false, read, &v) != defect::none;
    };
    auto part_refused = [&](unsigned count, std::uint32_t whole) {
        const part_head part{0, std::uint16_t(count), whole};
        bytes body(part_head_bytes + range_of(part).bytes);
        std::memcpy(body.data(), &part, sizeof part);
        return refused(body);
    };
    h.flags = packet_flags::bundle | packet_flags::part;
    EXPECT_FALSE(part_refused(most_cuts, 8 * most_cuts));
    EXPECT_TRUE(part_refused(most_cuts + 1, 8 * (most_cuts + 1)));
    EXPECT_FALSE(part_refused(2, most_bundle));
    EXPECT_TRUE(part_refused(2, most_bundle + 16));

    h = {};
    EXPECT_FALSE(refused({}));
    h.bundle = 1;
    EXPECT_TRUE(refused({})) << "of no bundle";
    for (const std::uint8_t flag : {packet_flags::ordered, packet_flags::part}) {
        h = {};
        h.flags = flag;
        EXPECT_TRUE(refused({})) << unsigned(flag);
    }

    for (const bool beyond : {false, true}) {
        h = {};
        h.ack_bytes = ack_fixed_bytes;
        ack_block ack;
        ack.largest = last_packet_number + beyond;
        bytes body(ack_fixed_bytes);
        write_ack(body.data(), ack, {});
        EXPECT_EQ(refused(body), beyond);
    }

    bytes follows(header_bytes + 8);
    h = {};
    h.train = std::uint16_t(follows.size());
    for (const unsigned place : {0u, 1u, gso_segments - 1, gso_segments}) {
        h.ack_bytes = std::uint16_t(place);
        write_header(follows.data(), h);
        packet_header read;
        EXPECT_EQ(read_header(follows, false, &read), place > 0 && place < gso_segments) << place;
    }
}

TEST(crypto, closes_a_link_as_the_vectors_say)
{
    auto v = vectors();
    for (auto mode : {secure_mode::auth, secure_mode::encrypt}) {
        const std::string name = mode == secure_mode::auth ? "auth, " : "encrypt, ";
        wire_end silent(1, 2, mode), heard(2, 1, mode), other(2, 1, mode);
        EXPECT_EQ(silent.close(5000), v[name + "close"]);
        heard.hear(v[name + "packet"], 4000);
        EXPECT_EQ(heard.close(5000), v[name + "close after the packet"]);
        other.hear(v[name + "close"], 4000);
        EXPECT_TRUE(other.link().peer_closed());
        EXPECT_FALSE(other.link().has_failed());
        EXPECT_EQ(other.next(1'000'000'000), "") << "nothing is answered";
    }
}

TEST(crypto, tells_of_what_waits_as_the_vectors_say)
{
    auto v = vectors();
    wire_end one(1, 2, secure_mode::auth), two(2, 1, secure_mode::auth);
    bytes early = sample(8, tag_bytes);
    packet_header h;
    std::memcpy(&h, early.data(), sizeof h);
    h.flags |= packet_flags::ordered;
    h.number = 6;
    h.bundle = 4;
    write_header(early.data(), h);
    crypto(secure_mode::auth).seal(one.link().keys_out(), h.number, early);
    EXPECT_EQ(to_hex(early), v["auth, packet that waits"]);
    two.hear(v["auth, packet"], 4000);
    two.hear(v["auth, packet that waits"], 4500);
    EXPECT_EQ(two.next(5000), v["auth, acknowledgement while it waits"]);
}

TEST(crypto, gives_a_link_up_as_the_vectors_say)
{
    auto v = vectors();
    wire_end one(1, 2, secure_mode::auth), two(2, 1, secure_mode::auth);
    two.hear(v["auth, broken, asks"], 4000);
    EXPECT_TRUE(two.link().has_failed());
    EXPECT_EQ(two.next(4000), v["auth, broken, answer"]);
    EXPECT_EQ(two.next(1'000'000'000), "") << "once";
    one.hear(v["auth, broken, answer"], 4000);
    EXPECT_TRUE(one.link().has_failed());
    EXPECT_EQ(one.next(1'000'000'000), "") << "that ends the telling";
    packet_header h;
    h.flags = packet_flags::broken | packet_flags::ask_ack;
    h.job_tag = derive_job_tag(vector_key());
    h.source = 1;
    h.target = 2;
    h.number = 7;
    bytes p(header_bytes + tag_bytes);
    write_header(p.data(), h);
    crypto(secure_mode::auth).seal(derive_keys(secure_mode::auth, vector_key(), 1, 2, 0), 7, p);
    EXPECT_EQ(to_hex(p), v["auth, broken, asks"]);
}

TEST(crypto, makes_the_same_of_pieces_as_of_one)
{
    crypto auth(secure_mode::auth), hide(secure_mode::encrypt);
    const direction_keys proves = derive_keys(secure_mode::auth, vector_key(), 3, 4, 0);
    const direction_keys hides = derive_keys(secure_mode::encrypt, vector_key(), 3, 4, 0);
    for (std::size_t payload : {std::size_t(300), std::size_t(5000)}) {
        bytes tagged = sample(payload, tag_bytes), hidden = tagged, to(tagged.size());
        const std::size_t body = tagged.size() - tag_bytes;
        for (std::size_t cut : {std::size_t(32), std::size_t(56), std::size_t(97), body - 1}) {
            const bytes plain = sample(payload, tag_bytes);
            const std::span<const std::byte> all(plain.data(), body);
            std::array<std::span<const std::byte>, 3> pieces{all.first(cut), all.subspan(cut, 0), all.subspan(cut)};
            std::byte tag[tag_bytes];
            auth.mac(proves, pieces, tag);
            auth.seal(proves, 77, tagged = plain);
            EXPECT_EQ(std::memcmp(tag, tagged.data() + body, tag_bytes), 0) << payload << " " << cut;
            hide.encrypt(hides, 77, pieces, to.data());
            hide.seal(hides, 77, hidden = plain);
            EXPECT_EQ(to, hidden) << payload << " " << cut;
        }
    }
}

TEST(crypto, opens_what_was_sealed_and_nothing_that_was_changed)
{
    for (auto mode : {secure_mode::auth, secure_mode::encrypt})
        for (std::size_t payload : {std::size_t(0), std::size_t(8), std::size_t(944), std::size_t(952),
                                    std::size_t(960), std::size_t(3000)}) {
            crypto c(mode);
            direction_keys k = derive_keys(mode, vector_key(), 1, 2, 0),
                           back = derive_keys(mode, vector_key(), 2, 1, 0);
            bytes sealed = sample(payload, tag_bytes), plain = sealed;
            c.seal(k, 5, sealed);
            bytes p = sealed;
            ASSERT_TRUE(c.open(k, 5, p));
            EXPECT_EQ(std::memcmp(p.data(), plain.data(), p.size() - tag_bytes), 0);
            for (std::size_t at = 0; at < sealed.size(); at += 7) {
                p = sealed;
                p[at] ^= std::byte(4);
                EXPECT_FALSE(c.open(k, 5, p)) << at;
            }
            p = sealed;
            EXPECT_FALSE(c.open(back, 5, p)) << "the other direction has another key";
        }
}

TEST(crypto, hides_the_data_in_mode_encrypt)
{
    ASSERT_TRUE(crypto_ready());
    crypto c(secure_mode::encrypt);
    bytes plain = sample(64, tag_bytes), sealed = plain;
    c.seal(derive_keys(secure_mode::encrypt, vector_key(), 1, 2, 0), 5, sealed);
    EXPECT_EQ(std::memcmp(sealed.data(), plain.data(), header_bytes), 0);
    EXPECT_NE(std::memcmp(sealed.data() + header_bytes + 40, plain.data() + header_bytes + 40, 64), 0);
}
