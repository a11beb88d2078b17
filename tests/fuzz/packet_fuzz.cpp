// SPDX-License-Identifier: Apache-2.0
// Any bytes as a packet whose tag was good: the decoder refuses it or yields parts that lie inside it. And any bytes as
// a train: whether its datagrams come at once or one by one makes no difference, nor where a bare one is cut.
#include "net/train.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace onesea;
using namespace onesea::net;

static void read(std::span<const std::byte> datagram, bool tagged)
{
    packet_header header;
    packet_view view;
    if (!read_header(datagram, tagged, &header) || read_packet(datagram, tagged, header, &view) != defect::none) return;
    if (header.ack_bytes)
        for (std::uint64_t n = view.ack.lowest(); n <= view.ack.fixed.largest && n < view.ack.lowest() + 2000; ++n)
            view.ack.has(n);
    if (view.part.count) {
        const part_range range = range_of(view.part);
        if (range.bytes != view.content.size() || range.from + range.bytes > view.part.whole) std::abort();
        return;
    }
    while (!view.content.empty()) {
        std::span<const std::byte> payload;
        next_frame(&view.content, &payload);
        if (payload.data() < datagram.data()) std::abort();
        if (payload.data() + payload.size() > datagram.data() + datagram.size()) std::abort();
    }
}

// Cut where its own bytes say.
static void collect_bare(std::span<const std::byte> arrived, const packet_header &first)
{
    packet_header header;
    std::size_t at = std::min<std::size_t>(arrived.size() / 2 / 8 * 8, first.train);
    if (!read_header(arrived.first(at), false, &header)) return;
    train_collector collector;
    collector.begin_bare(header, arrived.first(at), false);
    for (std::size_t n = 1; at < arrived.size(); at += n) {
        n = std::min<std::size_t>(1 + std::size_t(arrived[at]) * 16, arrived.size() - at);
        const auto added = collector.add_bare(arrived.subspan(at, n), false);
        const bool goes_on = at < first.train, ends = goes_on && at + n >= first.train;
        if (added.taken != (goes_on ? std::min<std::size_t>(n, first.train - at) : 0)) std::abort();
        if (added.packet.size() != (ends ? first.train : 0u)) std::abort();
        if (ends && std::memcmp(added.packet.data(), arrived.data(), first.train) != 0) std::abort();
    }
}

static void collect(std::span<std::byte> arrived)
{
    packet_header first, header;
    if (arrived.size() < sizeof first) return;
    std::memcpy(&first, arrived.data(), sizeof first);
    if (first.bare_train()) return collect_bare(arrived, first);
    if (first.train < header_bytes || !(first.flags & packet_flags::first)) return;
    train_collector collector;
    std::vector<std::byte> packet;
    for (std::size_t at = 0; at < arrived.size() && packet.empty(); at += first.train) {
        auto one = arrived.subspan(at, std::min<std::size_t>(first.train, arrived.size() - at));
        if (!read_header(one, false, &header) || (at == 0) != bool(header.flags & packet_flags::first)) return;
        const auto added = collector.add(header, one);
        if (!added.taken) break; // another's: the train may go on behind it, but not in one piece
        packet.assign(added.packet.begin(), added.packet.end());
    }
    std::size_t bytes = 0;
    auto closed = close_up(arrived, first, &bytes);
    if (closed.size() != packet.size() || bytes > arrived.size()) std::abort();
    if (!packet.empty() && std::memcmp(closed.data(), packet.data(), packet.size()) != 0) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::vector<std::uint64_t> aligned(size / 8 + 1);
    if (size) std::memcpy(aligned.data(), data, size);
    std::span<const std::byte> datagram(reinterpret_cast<const std::byte *>(aligned.data()), size);
    read(datagram, false);
    read(datagram, true);
    collect({reinterpret_cast<std::byte *>(aligned.data()), size});
    return 0;
}
