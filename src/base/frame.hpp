// SPDX-License-Identifier: Apache-2.0
// Frames: what ranks say to each other, whatever carries it. A transport moves frames reliably and exactly once and
// looks at no more of them than `length`, `position` (to cut long payloads) and `flags`.
#pragma once

#include <cstdint>

namespace onesea {

// Positions of put, get, atomic, signal and extent, and of counters, are offsets in the target's window (below 2^40),
// or with this bit an address of the target's process, in its raw space.
inline constexpr std::uint64_t raw_space = std::uint64_t(1) << 63;

enum class frame_type : std::uint8_t {
    put = 1, // position: target offset; aux: whole MiB of the transfer, a hint; payload: data
    get,     // position: source offset; payload: u64 length, u64 cookie; answered by data frames or done
    data,    // answer to get or pull: position: the asker's cookie + offset; aux: as of put; payload: data
    atomic,  // aux: kind | width << 8 | fetch << 15; position: offset; payload: operand, compare (u64 each)
    value,   // answer to a fetching atomic and to alloc: payload: u64
    am,      // aux: handler number; payload: u32 header bytes, u32 zero, u64 counter, header padded to 8, data. With
             // `untold` it may be a part of that: position: where it belongs; `id` names the message, `last` ends it
    am_long, // as am, but instead of data: u64 data bytes, which the target pulls from the origin's operation `id`;
             // inside a node also u64 address, from which it copies them
    pull,    // position: the origin's operation, whose data is wanted whole; id: the asker's; payload: as get
    copy,    // position: source offset here; payload: u64 target address, u64 length, u64 position of the counter there
             // (0: none); answered by done
    signal,  // aux: 0 set, 1 add; position: offset of the word; payload: u64 value; wants `signals` if more follow.
             // Not executed if data of the operation `id` was refused, or at position 0: it failed at its origin
    done,    // aux: status (as two's complement); ends operation `id`
    alloc,   // payload: u64 bytes; answered by value or done
    free_heap, // position: offset; answered by done
    extent,    // position: offset; answered by a value frame: first and end offset of the segment there, or 0, 0.
               // In raw space: payload u64 bytes; answered by a value frame: position and its end, or by done
    usage,     // answered by a value frame with three words: capacity, used, largest free
    upper,     // of a layer above core: aux: layer | kind << 8; position, id and payload are the layer's
    answer,    // ends a message that is a call: position: bytes of the whole answer << 32 | offset; payload: the answer
};

namespace frame_flags {
inline constexpr std::uint8_t last = 2;        // final fragment of its message; set by the transport
inline constexpr std::uint8_t signals = 8;     // put, atomic: a signal of the same operation follows
inline constexpr std::uint8_t ordered = 4;     // am: runs after earlier ordered ones of its origin
inline constexpr std::uint8_t untold = 16;     // am: its origin does not want to hear of its end
inline constexpr std::uint8_t at_leisure = 32; // am: its origin does not wait for `done` unless it asks
} // namespace frame_flags

//   0        1        2               4                               8
//   +--------+--------+---------------+-------------------------------+
//   |  type  | flags  |      aux      |            length             |
//   +--------+--------+---------------+-------------------------------+
//   |                            position                             |
//   +-----------------------------------------------------------------+
//   |                               id                                |
//   +-----------------------------------------------------------------+
//   |  length bytes of payload, then zero bytes up to a multiple of 8  |
// Little endian.
struct frame {
    frame_type type;
    std::uint8_t flags;
    std::uint16_t aux;
    std::uint32_t length; // payload bytes that follow
    std::uint64_t position;
    std::uint64_t id;
};
static_assert(sizeof(frame) == 24);

} // namespace onesea
