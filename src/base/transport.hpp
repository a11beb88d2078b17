// SPDX-License-Identifier: Apache-2.0
// What carries operations between two ranks. `core` knows transports only through this interface; each transport is
// one folder. What a transport does not do natively (put, get, atomic), core does with messages.
//
// Locking: the functions marked [lock] are called with the engine lock of the process held, and call back into `sink`
// and `delivery::settled` under it. The functions marked [any] are called by any thread without a lock.
#pragma once

#include "base/clock.hpp"
#include "base/frame.hpp"
#include "base/profile.hpp"
#include "onesea.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace onesea {

// Told once when every byte of a message has been executed at the target (SEA_OK), or will never be known to
// (SEA_ERR_DEAD, SEA_ERR_LINK). Embedded in its owner; not copied.
struct delivery {
    void (*settled)(delivery *self, int status);
};

struct outgoing {
    frame head{};                 // head.length is filled in by the transport
    const void *prefix = nullptr; // always copied; only in messages that fit one frame
    std::size_t prefix_bytes = 0;
    const void *payload = nullptr; // cut into frames of at most max_frame(); head.position grows with it
    std::size_t bytes = 0;
    bool borrow = false;  // payload stays valid until settled; otherwise it is copied, at most max_copied_frame()
    bool whole = false;   // is not cut, though it is borrowed: at most max_copied_frame()
    bool ordered = false; // delivered after everything sent earlier to that rank
    bool awaited = false; // the peer waits for it: none of it waits for company
    bool lands = false;   // the peer may receive the payload where it belongs, if it begins a packet
    bool notice = false;  // the peer learns that earlier frames were executed only together with, or after, this one
    delivery *done = nullptr;
    bool at_leisure = false; // nobody waits for `done`, unless hurry() is called
    bool more = false;       // another one for that rank follows at once, so that both may share a packet
    bool lazy = false;       // goes with what goes there next, when the rank asks for answers, or after a while
};

// A piece of a vector: so many bytes at a position of the target, and where they come from or go to here.
struct piece {
    std::uint64_t position;
    void *local;
    std::size_t bytes;
};

class sink {
  public:
    // One frame for this rank, exactly once. May send. The payload is 8-byte aligned and dies on return, unless it lies
    // where expects() told.
    virtual void receive(int source, const frame &head, std::span<const std::byte> payload) = 0;

    // Everything received so far is about to be acknowledged as executed. May send.
    virtual void about_to_acknowledge() {}

    // Will handlers run as soon as poll() has returned? Their answers can carry the acknowledgements.
    virtual bool answers_follow() const { return false; }

    // Has what the thread inside poll() waits for come? It goes on before more is taken in.
    virtual bool may_go_on() const { return false; }

    // Where the payload of a frame belongs that is likely to come next. Nobody relies on what lies there until all of
    // it has been received: anything may be written there in between.
    struct expectation {
        int source = -1;
        frame head{}; // its type, id and position
        std::byte *to = nullptr;
        std::size_t bytes = 0;                         // its payload at most, and how much is free there
        static constexpr std::size_t least = 8 * 1024; // fewer are copied in no time
    };
    virtual bool expects(expectation *) { return false; } // false: nothing, as a rule

    // Nothing has been heard of that rank for so long that its link was given up: no answer will come.
    virtual void unreachable(int) {}

  protected:
    ~sink() = default;
};

namespace capability {
inline constexpr std::uint32_t native_put = 1;
inline constexpr std::uint32_t native_get = 2;
inline constexpr std::uint32_t native_atomic = 4;
} // namespace capability

// Answer of a native function: this access needs a message.
inline constexpr int not_native = 1;

class transport {
  public:
    virtual ~transport() = default;
    virtual std::uint32_t capabilities() const = 0;

    // [any] Can it carry operations on that rank?
    virtual bool reach(int rank) const = 0;

    // [any] Most payload bytes (prefix included) of one frame to that rank; at least least_frame.
    static constexpr std::size_t least_frame = 1280;
    virtual std::size_t max_frame(int rank) const = 0;

    // [lock] The same for one that is copied, at this moment: the path may take longer ones while it loses nothing.
    virtual std::size_t max_copied_frame(int rank) { return max_frame(rank); }
    bool fits_frame(int rank, std::size_t bytes) { return bytes <= least_frame || bytes <= max_copied_frame(rank); }

    // [any] What was tuned for the path to that rank.
    virtual const path_tuning &tuning(int rank) const = 0;

    // [lock] Takes a message. Never refuses for lack of room: the caller bounds what it has outstanding.
    virtual void send(int rank, const outgoing &message) = 0;

    // [lock] Sends what was held back to share a packet.
    virtual void flush() = 0;
    // [lock] Somebody waits now for the end of all that was sent to that rank; and for answers that may be lazy.
    virtual void hurry(int, bool /*answers*/) {}
    // [lock] How often that rank has asked for answers, modulo 256.
    virtual std::uint8_t asked(int) const { return 0; }
    // [any] Has flush() perhaps anything to do?
    bool holds() const { return holds_.load(std::memory_order_relaxed); }

    // [lock] Takes in what has arrived and runs timers that are due; true if anything happened. Bounded work.
    virtual bool poll(nanoseconds now) = 0;

    // [lock] File descriptors of which one becomes readable when poll() has work; -1 where there is none. One
    // more after a poll() that returned true, perhaps; they stay open until close().
    static constexpr unsigned most_wake_fds = 2;
    using wake_set = std::array<int, most_wake_fds>;
    virtual wake_set wake_fds() const = 0;
    // [lock] One of them was readable.
    virtual void was_woken() {}

    // [lock] Announces that nobody will poll until a wake fd is readable or deadline() has come. False if there is work
    // already.
    // for_memory: somebody waits for memory to change, so that native accesses of others must wake this process, too.
    virtual bool arm(bool for_memory) = 0;
    // [lock] The process polls again.
    virtual void disarm() = 0;
    // [lock] When poll() must be called though nothing arrives; `never` if that is so.
    virtual nanoseconds deadline() const = 0;

    // [lock] The rank has ended. cleanly: what was sent to it counts as executed; else it settles with SEA_ERR_DEAD.
    virtual void peer_gone(int rank, bool cleanly) = 0;

    // [lock] Brings counts up to date that others than this process keep.
    virtual void refresh_counts() {}

    // [lock] All that was sent has been executed.
    virtual bool idle() const = 0;

    // [lock] Tells peers that nothing more will come; nothing is sent or received afterwards.
    virtual void close() = 0;

    // [any] Native access to offset.. of the rank's window, or of its raw space (frame.hpp): SEA_OK, an error, or
    // not_native. Only with the capability.
    virtual int put(int, std::uint64_t, const void *, std::size_t) { return not_native; }
    virtual int get(int, std::uint64_t, void *, std::size_t) { return not_native; }
    // Puts or gets all pieces in fewer steps than one each; not_native: one by one is as good. *bad: the piece that an
    // error is about; those before it have been copied.
    virtual int copy_pieces(int, std::span<const piece>, bool /*write*/, std::size_t * /*bad*/) { return not_native; }
    virtual int atomic(int, std::uint64_t, sea_atomic_kind, int /*width*/, std::uint64_t /*operand*/,
                       std::uint64_t /*compare*/, std::uint64_t * /*old*/)
    {
        return not_native;
    }

  protected:
    std::atomic<bool> holds_{false};
};

} // namespace onesea
