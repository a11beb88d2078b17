// SPDX-License-Identifier: Apache-2.0
// Long payloads that land where they belong. As a rule a packet is received into a buffer and proven there, and then
// its payload is copied to its place. Where the next one is known beforehand (sink::expects()), the kernel is asked to
// put it there at once, and the copy is spared:
//
//   datagram   | header | ack | frame | payload          | what follows, tag |
//   bytes      | header | ack | frame |      (hole)      | what follows, tag |
//   place                             | payload          |
//
// How long the payload is nobody knows beforehand. Of a shorter one the place has what follows, too, which goes back
// into the bytes; of a longer one the bytes have the rest.
//
// What comes may be something else, and of anybody: then all of it goes back, and is taken in as always. What it leaves
// in the place nobody relies on: the payload that belongs there will overwrite it. But it was copied once more, so
// where this happens again and again it is not tried for a while. Nor where landing takes longer than what is copied,
// which one packet in many is to compare: the kernel copies very slowly to some places (base/copy.hpp).
#pragma once

#include "base/transport.hpp"
#include "net/packet.hpp"
#include "net/port.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace onesea::net {

class landing {
  public:
    // What to ask the port for when nothing is expected.
    const datagram_port::aside &nothing()
    {
        if (expected_.source >= 0) [[unlikely]] // else there is nothing to forget, as in most looks at the port
            forget();
        return aside_;
    }
    // When this is.
    const datagram_port::aside &wanted(const sink::expectation &e)
    {
        forget();
        expected_ = e;
        rests_ = rest_ > 0 || landed_since_ >= compared_every;
        ends_ = e.bytes <= most_payload;
        if (!rests_) aside_ = {header_bytes + ack_bytes_[ends_] + frame_bytes, {e.to, std::min(e.bytes, most_payload)}};
        return aside_;
    }
    // A long payload is expected: it is of interest how long the receive takes.
    bool measures() const { return rests_ || !aside_.place.empty(); }

    // A packet has come. The next one's acknowledgement is as long, most likely; but where a message ends, what fills
    // the packet may leave no room for one.
    void came(const packet_header &header)
    {
        if (int(header.source) == expected_.source) ack_bytes_[ends_] = header.ack_bytes;
    }

    // A datagram, or a bare train that is all there, whose middle lies in the place, and its tag at its end. True: it
    // is what was expected, as far as its unproven bytes tell, and all of it but the payload of its first frame is in
    // the bytes. False: nothing was done.
    bool meets(const packet_header &header, std::span<std::byte> datagram, std::size_t tag)
    {
        met_ = is_expected(header, datagram, tag);
        if (met_ && length_ < aside_.place.size()) take_back(datagram, length_);
        return met_;
    }
    // What comes is to be taken in as always.
    void refuse(std::span<std::byte> arrived)
    {
        met_ = false;
        take_back(arrived, 0);
    }
    // All that the tag of one that meets it is made of.
    std::array<std::span<const std::byte>, 3> pieces(std::span<const std::byte> body) const
    {
        const std::size_t here = in_place();
        return {body.first(aside_.from), std::span<const std::byte>(expected_.to, here),
                body.subspan(aside_.from + here)};
    }
    // It was proven. Where its payload lies now, in one piece.
    const std::byte *complete(std::span<const std::byte> datagram)
    {
        const std::size_t here = in_place();
        std::memcpy(expected_.to + here, datagram.data() + aside_.from + here, length_ - here);
        return expected_.to;
    }

    // So long it took to take in so many bytes, of which a part lay in the place or not.
    void took(std::size_t bytes, bool parted, nanoseconds time)
    {
        if (bytes < sink::expectation::least) return;
        const auto each = float(time) / float(bytes);
        if (!parted) {
            landed_since_ = 0;
            if (rest_ > 0) --rest_;
            copied_ = copied_ == 0 ? each : copied_ + (std::min(each, 2 * copied_) - copied_) / 4;
            return;
        }
        ++landed_since_;
        if (met_ && each <= slow * copied_)
            failures_ = 0;
        else if (++failures_ > 1)
            rest_ = 1u << std::min(failures_, most_doublings);
    }
    // The kernel cannot write there, and has dropped what came. Without this, the program would be told by a fault.
    void place_is_bad() { rest_ = 1u << most_doublings; }

  private:
    static constexpr unsigned most_doublings = 10, compared_every = 256; // packets
    static constexpr float slow = 1.1F; // as against what is copied; where the kernel is slow it is three times that
    sink::expectation expected_;
    datagram_port::aside aside_;
    bool ends_ = false;                      // a message, in what is expected
    std::size_t ack_bytes_[2] = {0, 0};      // within a message, where it ends
    std::size_t length_ = 0;                 // of the payload
    bool met_ = false;                       // the last one that was asked for
    bool rests_ = false;                     // it would have been asked for
    unsigned failures_ = 0;                  // in a row
    unsigned rest_ = 0;                      // packets until it is tried again
    unsigned landed_since_ = compared_every; // one was copied
    float copied_ = 0;                       // ns a byte, of late, where nothing has landed

    void forget()
    {
        expected_ = {};
        aside_ = {};
        rests_ = false;
    }
    std::size_t in_place() const { return std::min(length_, aside_.place.size()); }

    bool is_expected(const packet_header &h, std::span<const std::byte> datagram, std::size_t tag)
    {
        const unsigned flags = h.flags & ~(packet_flags::ask_ack | (h.bare_train() ? packet_flags::first : 0));
        if (int(h.source) != expected_.source || flags != packet_flags::bundle || (h.train && !h.bare_train()) ||
            h.ack_bytes != ack_bytes_[ends_] || datagram.size() < aside_.from + tag)
            return false;
        frame f;
        std::memcpy(&f, datagram.data() + aside_.from - sizeof f, sizeof f);
        length_ = f.length;
        return f.type == expected_.head.type && f.id == expected_.head.id && f.position == expected_.head.position &&
               !(f.flags & notice_flag) && length_ <= expected_.bytes && length_ <= datagram.size() - aside_.from - tag;
    }

    // What lies in the place from there on, back to where it would lie without.
    void take_back(std::span<std::byte> datagram, std::size_t at) const
    {
        if (datagram.size() <= aside_.from + at) return;
        const auto rest = datagram.subspan(aside_.from + at);
        std::memcpy(rest.data(), aside_.place.data() + at, std::min(rest.size(), aside_.place.size() - at));
    }
};

} // namespace onesea::net
