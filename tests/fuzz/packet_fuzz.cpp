// SPDX-License-Identifier: Apache-2.0
// Any bytes as a datagram whose tag was good: the decoder refuses it or yields parts that lie inside it.
#include "net/packet.hpp"

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
    while (!view.content.empty()) {
        std::span<const std::byte> payload;
        next_frame(&view.content, &payload);
        if (payload.data() < datagram.data()) std::abort();
        if (payload.data() + payload.size() > datagram.data() + datagram.size()) std::abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::vector<std::uint64_t> aligned(size / 8 + 1);
    if (size) std::memcpy(aligned.data(), data, size);
    std::span<const std::byte> datagram(reinterpret_cast<const std::byte *>(aligned.data()), size);
    read(datagram, false);
    read(datagram, true);
    return 0;
}
