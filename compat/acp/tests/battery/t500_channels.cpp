// SPDX-License-Identifier: Apache-2.0
// Channels and segmented buffers.
#include "battery.hpp"
#include "random.hpp"

#include <unistd.h>

using namespace battery;

namespace {

constexpr std::size_t failed_wait = std::size_t(-1);

unsigned char letter(std::size_t message, std::size_t at) { return static_cast<unsigned char>(message * 31 + at * 7); }

std::vector<unsigned char> text(std::size_t message, std::size_t bytes)
{
    std::vector<unsigned char> t(bytes);
    for (std::size_t i = 0; i < bytes; ++i) t[i] = letter(message, i);
    return t;
}

// A pair of channels of every process: to the right, from the left. In a job of two they are not the same.
struct ring {
    acp_ch_t out = acp_create_ch(self.me, self.right());
    acp_ch_t in = acp_create_ch(self.left(), self.me);
    ring()
    {
        CHECK(out != ACP_CH_NULL);
        CHECK(in != ACP_CH_NULL);
    }
    void free()
    {
        EQUAL(acp_free_ch(out), 0);
        EQUAL(acp_free_ch(in), 0);
    }
};

} // namespace

STEP(messages_of_all_sizes_come_in_order)
{
    if (self.n < 2) return;
    ring r;
    random_numbers random(seed);
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < 300; ++i) sizes.push_back(random.below(i % 30 == 0 ? 400000 : i % 3 == 0 ? 5000 : 100));
    std::vector<std::vector<unsigned char>> out, in;
    std::vector<acp_request_t> sends, receives;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        out.push_back(text(i, sizes[i]));
        in.emplace_back(sizes[i]);
        sends.push_back(acp_nbsend_ch(r.out, out.back().data(), sizes[i]));
        receives.push_back(acp_nbrecv_ch(r.in, in.back().data(), sizes[i]));
        CHECK(sends.back() && receives.back());
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) EQUAL(acp_wait_ch(receives[i]), sizes[i]);
    for (acp_request_t s : sends) EQUAL(acp_wait_ch(s), 0u);
    CHECK(in == out);
    r.free();
}

STEP(short_buffers_cut_and_long_ones_keep_their_rest)
{
    if (self.n < 2) return;
    ring r;
    for (std::size_t bytes : {std::size_t(100), std::size_t(300000)}) {
        std::vector<unsigned char> out = text(1, bytes), shorter(bytes / 2), longer(bytes * 2, 99), none(1, 99);
        acp_request_t sends[3];
        for (acp_request_t &s : sends) s = acp_nbsend_ch(r.out, out.data(), bytes);
        acp_request_t receives[3] = {acp_nbrecv_ch(r.in, shorter.data(), shorter.size()),
                                     acp_nbrecv_ch(r.in, longer.data(), longer.size()),
                                     acp_nbrecv_ch(r.in, none.data(), 0)};
        std::size_t got[3];
        EQUAL(acp_waitall_ch(receives, 3, got), 0);
        EQUAL(got[0], bytes / 2);
        EQUAL(got[1], bytes);
        EQUAL(got[2], 0u);
        CHECK(std::equal(shorter.begin(), shorter.end(), out.begin()));
        CHECK(std::equal(out.begin(), out.end(), longer.begin()));
        CHECK(longer[bytes] == 99 && longer.back() == 99 && none[0] == 99);
        EQUAL(acp_waitall_ch(sends, 3, nullptr), 0);
        for (acp_request_t s : sends) CHECK(s == ACP_REQUEST_NULL);
    }
    r.free();
}

STEP(a_thousand_requests_before_anybody_receives)
{
    if (self.n < 2) return;
    ring r;
    std::vector<std::uint64_t> out(1000), in(1000);
    std::vector<acp_request_t> requests;
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = i * 1000 + std::uint64_t(self.me);
        requests.push_back(acp_nbsend_ch(r.out, &out[i], 8));
    }
    acp_sync();
    for (std::uint64_t &word : in) requests.push_back(acp_nbrecv_ch(r.in, &word, 8));
    std::vector<std::size_t> sizes(requests.size());
    EQUAL(acp_waitall_ch(requests.data(), int(requests.size()), sizes.data()), 0);
    for (std::size_t i = 0; i < in.size(); ++i) EQUAL(in[i], i * 1000 + std::uint64_t(self.left()));
    r.free();
}

STEP(several_channels_of_a_pair_meet_in_order)
{
    if (self.n < 2) return;
    constexpr std::size_t count = 5;
    acp_ch_t out[count], in[count];
    for (acp_ch_t &c : out) c = acp_create_ch(self.me, self.right());
    for (acp_ch_t &c : in) c = acp_create_ch(self.left(), self.me);
    std::uint64_t sent[count], got[count];
    acp_request_t requests[2 * count];
    for (std::size_t i = 0; i < count; ++i) { // the receives the other way round
        sent[i] = 7 * i;
        requests[2 * i] = acp_nbsend_ch(out[i], &sent[i], 8);
        requests[2 * i + 1] = acp_nbrecv_ch(in[count - 1 - i], &got[count - 1 - i], 8);
    }
    EQUAL(acp_waitall_ch(requests, int(2 * count), nullptr), 0);
    for (std::size_t i = 0; i < count; ++i) EQUAL(got[i], 7 * i);
    for (std::size_t i = 0; i < count; ++i) {
        EQUAL(acp_free_ch(in[i]), 0);
        EQUAL(acp_free_ch(out[i]), 0);
    }
}

STEP(freeing_follows_what_was_sent)
{
    if (self.n < 2) return;
    ring r;
    std::vector<unsigned char> out = text(3, 200000), in(out.size());
    const acp_request_t s = acp_nbsend_ch(r.out, out.data(), out.size()), f = acp_nbfree_ch(r.out);
    const acp_request_t g = acp_nbrecv_ch(r.in, in.data(), in.size()), h = acp_nbfree_ch(r.in);
    EQUAL(acp_wait_ch(f), 0u);
    std::fill(out.begin(), out.end(), static_cast<unsigned char>(0)); // it has been sent
    EQUAL(acp_wait_ch(h), 0u);
    CHECK(in == text(3, in.size()));
    EQUAL(acp_wait_ch(g), in.size());
    EQUAL(acp_wait_ch(s), 0u);
}

STEP(wrong_uses_of_channels_are_told)
{
    ERROR_OF("", EQUAL(acp_create_ch(self.me, self.me), ACP_CH_NULL));
    ERROR_OF("no rank", EQUAL(acp_create_ch(self.me, self.n), ACP_CH_NULL));
    ERROR_OF("no rank", EQUAL(acp_create_ch(-1, self.me), ACP_CH_NULL));
    if (self.n > 2) ERROR_OF("", EQUAL(acp_create_ch(self.right(), self.left()), ACP_CH_NULL));
    ERROR_OF("no request", EQUAL(acp_wait_ch(ACP_REQUEST_NULL), failed_wait));
    ERROR_OF("no channel", EQUAL(acp_free_ch(ACP_CH_NULL), -1));
    char byte = 0;
    ERROR_OF("no channel", EQUAL(acp_nbsend_ch(reinterpret_cast<acp_ch_t>(&byte), &byte, 1), ACP_REQUEST_NULL));
    if (self.n < 2) return;
    ring r;
    ERROR_OF("acp_nbrecv_ch", EQUAL(acp_nbrecv_ch(r.out, &byte, 1), ACP_REQUEST_NULL));
    ERROR_OF("acp_nbsend_ch", EQUAL(acp_nbsend_ch(r.in, &byte, 1), ACP_REQUEST_NULL));
    const acp_request_t s = acp_nbsend_ch(r.out, &byte, 1);
    const acp_request_t g = acp_nbrecv_ch(r.in, &byte, 1);
    EQUAL(acp_wait_ch(g), 1u);
    EQUAL(acp_wait_ch(s), 0u);
    ERROR_OF("no request", EQUAL(acp_wait_ch(s), failed_wait));
    r.free();
    ERROR_OF("no channel", EQUAL(acp_nbsend_ch(r.out, &byte, 1), ACP_REQUEST_NULL));
    ERROR_OF("no channel", EQUAL(acp_nbfree_ch(r.in), ACP_REQUEST_NULL));
}

STEP(a_stale_handle_names_nothing_that_was_made_later)
{
    if (self.n < 2) return;
    ring first;
    first.free();
    ring second; // perhaps in the same memory
    ERROR_OF("no channel", EQUAL(acp_free_ch(first.out), -1));
    ERROR_OF("no channel", EQUAL(acp_free_ch(first.in), -1));
    std::uint64_t out = 1, in = 0;
    for (int i = 0; i < 2; ++i) {
        const acp_request_t s = acp_nbsend_ch(second.out, &out, 8), g = acp_nbrecv_ch(second.in, &in, 8);
        EQUAL(acp_wait_ch(s), 0u);
        EQUAL(acp_wait_ch(g), 8u);
        const acp_request_t later[2] = {acp_nbsend_ch(second.out, &out, 8), acp_nbrecv_ch(second.in, &in, 8)};
        ERROR_OF("no request", EQUAL(acp_wait_ch(s), failed_wait));
        ERROR_OF("no request", EQUAL(acp_wait_ch(g), failed_wait));
        EQUAL(acp_wait_ch(later[0]), 0u);
        EQUAL(acp_wait_ch(later[1]), 8u);
    }
    second.free();
    std::uint64_t memory[4] = {};
    acp_segbuf_t gone = acp_create_src_segbuf(self.right(), memory, 8, 2);
    EQUAL(acp_free_segbuf(gone), 0);
    acp_segbuf_t kept = acp_create_src_segbuf(self.right(), memory, 8, 2);
    ERROR_OF("no segmented buffer", EQUAL(acp_free_segbuf(gone), 1));
    EQUAL(acp_free_segbuf(kept), 0);
    for (int i = 0; i < 2; ++i) EQUAL(acp_free_segbuf(acp_create_dst_segbuf(self.left(), memory, 8, 2)), 0);
}

// Of a long message both ends have asked for, of a send that nobody receives, of a receive that nothing comes for.
STEP(requests_of_channels_end_with_a_reset)
{
    if (self.n < 2) return;
    std::vector<unsigned char> out = text(1, 32 << 20), in(out.size());
    ring r, other;
    std::uint64_t word = 0;
    const acp_request_t old[4] = {acp_nbsend_ch(r.out, out.data(), out.size()),
                                  acp_nbrecv_ch(r.in, in.data(), in.size()), acp_nbsend_ch(other.out, out.data(), 8),
                                  acp_nbrecv_ch(r.in, &word, 8)};
    EQUAL(acp_reset(self.me), 0);
    CHECK(in == out);
    std::fill(in.begin(), in.end(), static_cast<unsigned char>(0)); // nothing comes into it any more
    ERROR_OF("no channel", EQUAL(acp_nbsend_ch(r.out, out.data(), 8), ACP_REQUEST_NULL));
    ring next;
    std::uint64_t mine = 7, got = 0;
    const acp_request_t s = acp_nbsend_ch(next.out, &mine, 8), g = acp_nbrecv_ch(next.in, &got, 8);
    for (acp_request_t each : old) ERROR_OF("no request", EQUAL(acp_wait_ch(each), failed_wait));
    EQUAL(acp_wait_ch(s), 0u);
    EQUAL(acp_wait_ch(g), 8u);
    EQUAL(got, 7u);
    next.free();
    usleep(50000);
    acp_sync();
    CHECK(in == std::vector<unsigned char>(in.size()));
    EQUAL(word, 0u);
}

STEP(requests_that_a_reset_ends_leave_nothing_behind)
{
    if (self.n < 2) return;
    std::uint64_t out = 1, in = 0;
    const auto round = [&](int times) {
        for (int k = 0; k < times; ++k) {
            ring r;
            for (int i = 0; i < 2000; ++i)
                CHECK(acp_nbsend_ch(r.out, &out, 8) && acp_nbrecv_ch(r.in, &in, 8)); // nobody waits for them
            EQUAL(acp_reset(self.me), 0);
        }
    };
    round(3);
    const std::size_t before = allocated_bytes();
    round(often(20));
    CHECK(allocated_falls_below(before + (256 << 10)));
}

STEP(an_access_after_all_does_not_wait_for_a_receive)
{
    if (self.n < 2) return;
    ring r;
    std::uint64_t in = 0, out = 5;
    const acp_request_t g = acp_nbrecv_ch(r.in, &in, 8);
    fill_words(4, 0);
    words()[0] = 77;
    acp_complete(acp_copy(word_of(self.right(), 1), word_of(self.me, 0), 8, ACP_HANDLE_ALL));
    acp_sync();
    EQUAL(words()[1], 77u);
    const acp_request_t s = acp_nbsend_ch(r.out, &out, 8); // only now
    EQUAL(acp_wait_ch(g), 8u);
    EQUAL(acp_wait_ch(s), 0u);
    r.free();
}

STEP(a_hundred_thousand_channels_leave_nothing_behind)
{
    if (self.n < 2) return;
    const auto round = [](int times) {
        std::uint64_t out = 1, in = 0;
        for (int i = 0; i < times; ++i) {
            ring r;
            if (i % 16 == 0) {
                acp_request_t both[2] = {acp_nbsend_ch(r.out, &out, 8), acp_nbrecv_ch(r.in, &in, 8)};
                EQUAL(acp_waitall_ch(both, 2, nullptr), 0);
            }
            r.free();
            if (i % 100 == 0) acp_sync();
        }
        acp_sync();
        usleep(20000); // what was freed last
        acp_sync();
    };
    const int times = often(self.n > 2 ? 1000 : 50000); // two at a time
    round(2000);
    const std::size_t before = allocated_bytes();
    round(times);
    CHECK(allocated_bytes() < before + (128 << 10));
    if (allocated_bytes() >= before + (128 << 10))
        std::cerr << "    " << before << " -> " << allocated_bytes() << " bytes\n";
}

namespace {

// A segmented buffer to the right and one from the left.
struct belt {
    std::vector<std::uint64_t> out, in;
    acp_segbuf_t source, target;
    belt(std::size_t words_each, std::size_t segments)
        : out(words_each * segments), in(words_each * segments),
          source(acp_create_src_segbuf(self.right(), out.data(), 8 * words_each, segments)),
          target(acp_create_dst_segbuf(self.left(), in.data(), 8 * words_each, segments))
    {
        CHECK(source != ACP_SEGBUF_NULL);
        CHECK(target != ACP_SEGBUF_NULL);
    }
    void connect()
    {
        EQUAL(acp_connect_segbuf(source), 0);
        EQUAL(acp_connect_segbuf(target), 0);
    }
    void free()
    {
        EQUAL(acp_free_segbuf(source), 0);
        EQUAL(acp_free_segbuf(target), 0);
    }
};

} // namespace

STEP(segments_come_whole_and_in_order)
{
    if (self.n < 2) return;
    for (std::size_t words_each : {std::size_t(1), std::size_t(1000)}) {
        constexpr std::size_t segments = 4;
        belt b(words_each, segments);
        b.connect();
        EQUAL(acp_isconnected_segbuf(b.source), 0);
        EQUAL(acp_isconnected_segbuf(b.target), 0);
        EQUAL(acp_isready_segbuf(b.source), 0);
        std::uint64_t sent = 0, got = 0;
        const std::uint64_t all = 500;
        while (sent < all || got < all) {
            if (sent < all && std::uint64_t(acp_query_segbuf_sent(b.source)) + segments > sent &&
                acp_isready_segbuf(b.source) == 0) {
                for (std::size_t i = 0; i < words_each; ++i) b.out[sent % segments * words_each + i] = sent * 10000 + i;
                EQUAL(acp_ack_segbuf(b.source), 0);
                ++sent;
            }
            if (got < all && acp_isacked_segbuf(b.target) == 0) {
                for (std::size_t i = 0; i < words_each; ++i)
                    EQUAL(b.in[got % segments * words_each + i], got * 10000 + i);
                EQUAL(acp_ready_segbuf(b.target), 0);
                ++got;
            }
        }
        EQUAL(acp_query_segbuf_tail(b.source), std::int64_t(all));
        EQUAL(acp_query_segbuf_tail(b.target), std::int64_t(all));
        EQUAL(acp_query_segbuf_head(b.target), std::int64_t(all));
        EQUAL(acp_query_segbuf_sent(b.target), -1);
        acp_sync();
        if (words_each == 1) EQUAL(acp_disconnect_segbuf(b.source), 0);
        b.free();
        acp_sync();
    }
}

STEP(a_source_may_run_ahead_by_its_segments)
{
    if (self.n < 2) return;
    belt b(1, 3);
    b.connect();
    for (std::size_t i = 0; i < 3; ++i) {
        b.out[i] = i + 1;
        EQUAL(acp_ack_segbuf(b.source), 0);
    }
    EQUAL(acp_isready_segbuf(b.source), 1);
    ERROR_OF("no segment is free", EQUAL(acp_ack_segbuf(b.source), 1));
    ERROR_OF("this is the source", EQUAL(acp_ready_segbuf(b.source), 1));
    ERROR_OF("this is the destination", EQUAL(acp_ack_segbuf(b.target), 1));
    acp_sync(); // nobody gives back before
    while (acp_query_segbuf_tail(b.target) < 3) acp_isacked_segbuf(b.target);
    EQUAL(b.in[2], 3u);
    for (int i = 0; i < 3; ++i) EQUAL(acp_ready_segbuf(b.target), 0);
    ERROR_OF("no segment to give back", EQUAL(acp_ready_segbuf(b.target), 1));
    while (acp_query_segbuf_head(b.source) < 3) acp_isready_segbuf(b.source);
    acp_sync();
    b.free();
}

STEP(wrong_uses_of_segmented_buffers_are_told)
{
    std::uint64_t memory[4] = {};
    ERROR_OF("", EQUAL(acp_create_src_segbuf(self.me, memory, 8, 4), ACP_SEGBUF_NULL));
    ERROR_OF("no rank", EQUAL(acp_create_src_segbuf(self.n, memory, 8, 4), ACP_SEGBUF_NULL));
    ERROR_OF("no segmented buffer", EQUAL(acp_free_segbuf(ACP_SEGBUF_NULL), 1));
    if (self.n < 2) return;
    ERROR_OF("", EQUAL(acp_create_dst_segbuf(self.right(), memory, 0, 4), ACP_SEGBUF_NULL));
    ERROR_OF("", EQUAL(acp_create_src_segbuf(self.right(), nullptr, 8, 4), ACP_SEGBUF_NULL));
    acp_segbuf_t source = acp_create_src_segbuf(self.right(), memory, 8, 4);
    acp_segbuf_t target = acp_create_dst_segbuf(self.left(), memory, 8, 2);
    ERROR_OF("not connected", EQUAL(acp_ack_segbuf(source), 1));
    EQUAL(acp_query_segbuf_tail(source), -1);
    EQUAL(acp_isconnected_segbuf(source), 1);
    ERROR_OF("4 segments of 8 bytes here, 2 of 8", EQUAL(acp_connect_segbuf(source), 1));
    ERROR_OF("2 segments of 8 bytes here, 4 of 8", EQUAL(acp_connect_segbuf(target), 1));
    acp_sync();
    EQUAL(acp_free_segbuf(source), 0);
    EQUAL(acp_free_segbuf(target), 0);
    ERROR_OF("no segmented buffer", EQUAL(acp_free_segbuf(source), 1));
}

STEP(a_disconnected_segmented_buffer_stays_so)
{
    if (self.n < 2) return;
    belt b(1, 2);
    b.connect();
    acp_sync();
    EQUAL(acp_disconnect_segbuf(b.source), 0);
    EQUAL(acp_disconnect_segbuf(b.target), 0);
    acp_sync();
    ERROR_OF("has been disconnected", EQUAL(acp_connect_segbuf(b.source), 1));
    ERROR_OF("has been disconnected", EQUAL(acp_connect_segbuf(b.target), 1));
    EQUAL(acp_isconnected_segbuf(b.source), 1);
    ERROR_OF("not connected", EQUAL(acp_ack_segbuf(b.source), 1));
    ERROR_OF("not connected", EQUAL(acp_ready_segbuf(b.target), 1));
    ERROR_OF("not connected", EQUAL(acp_disconnect_segbuf(b.source), 1));
    EQUAL(acp_query_segbuf_tail(b.source), -1);
    b.free();
}

STEP(ten_thousand_segmented_buffers_leave_nothing_behind)
{
    if (self.n < 2) return;
    const auto round = [](int times) {
        for (int i = 0; i < times; ++i) {
            belt b(1, 2);
            b.connect();
            EQUAL(acp_ack_segbuf(b.source), 0);
            while (acp_isacked_segbuf(b.target)) {
            }
            b.free();
        }
        acp_sync();
    };
    round(often(200));
    const std::size_t before = allocated_bytes();
    round(often(self.n > 2 ? 200 : 5000));
    CHECK(allocated_bytes() < before + (64 << 10));
}
