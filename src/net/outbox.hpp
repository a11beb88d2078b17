// SPDX-License-Identifier: Apache-2.0
// What a link has still to send, and how it is packed into bundles.
//
// Messages queue as items: small ones are copied behind each other into one open item; a long one stays where the
// program has it and is an item of its own. A bundle takes from the front until it is full: whole items of small
// messages, and parts of long ones. So a stream of messages of whatever size fills every datagram, and equal sizes can
// share a send.
//
//   bundle   content:  frame | data | frame |            | frame | data         copied: frames, small payloads, padding
//            parts:                         ^ long data                         borrowed, each goes in at its place
#pragma once

#include "base/ring_queue.hpp"
#include "base/transport.hpp"
#include "net/constants.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace onesea::net {

// A message whose payload is borrowed, until all of it is acknowledged.
struct long_message {
    outgoing message;
    std::size_t cut = 0, acked = 0;
    std::uint32_t users = 0; // item and parts
};

// The last user deletes it. All of a process's links are under one lock, so that counting needs no atomic operation.
class long_message_ref {
  public:
    long_message_ref() = default;
    explicit long_message_ref(const outgoing &m) : of_(new long_message{m, 0, 0, 1}) {}
    long_message_ref(const long_message_ref &o) : of_(o.of_) { of_->users += 1; }
    long_message_ref(long_message_ref &&o) noexcept : of_(std::exchange(o.of_, nullptr)) {}
    long_message_ref &operator=(long_message_ref o) noexcept
    {
        std::swap(of_, o.of_);
        return *this;
    }
    ~long_message_ref()
    {
        if (of_ && --of_->users == 0) delete of_;
    }
    long_message *operator->() const { return of_; }
    long_message &operator*() const { return *of_; }
    explicit operator bool() const { return of_ != nullptr; }

  private:
    long_message *of_ = nullptr;
};

// Bytes that grow without being cleared first: they are written at once.
template <class T>
struct without_clearing : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = without_clearing<U>;
    };
    template <class U>
    void construct(U *at)
    {
        ::new (static_cast<void *>(at)) U;
    }
    template <class U, class... From>
    void construct(U *at, From &&...from)
    {
        ::new (static_cast<void *>(at)) U(std::forward<From>(from)...);
    }
};
using byte_run = std::vector<std::byte, without_clearing<std::byte>>;

// Who is told of so many messages in a row.
struct to_tell {
    delivery *done = nullptr;
    std::uint32_t times = 0;

    void tell(int status) const
    {
        for (std::uint32_t i = 0; i < times; ++i) done->settled(done, status);
    }
};

// Parts of a bundle that goes in several packets count from 1; 0 is all of it.
constexpr std::uint64_t bit_of(unsigned part) { return part ? 1ull << (part - 1) : 0; }

struct bundle {
    struct part {
        long_message_ref of;
        const std::byte *data = nullptr;
        std::uint32_t bytes = 0;
        std::uint32_t at = 0; // goes behind so many bytes of content
    };
    std::uint64_t number = 0;
    byte_run content;
    std::vector<part> parts; // at most most_parts
    std::vector<to_tell> done;
    byte_run ends;         // of its packet, if all of that stays until it is acknowledged: head, tail with tag
    std::size_t bytes = 0; // content and parts
    bool ordered = false, asks = false, acked = false, tried = false;
    bool there = false;                             // the peer has all of it: it need not go again
    unsigned in_flight = 0;                         // packets that carry it and are neither acknowledged nor lost
    unsigned cuts = 0;                              // parts in which it goes; 0: whole
    std::uint64_t parts_done = 0, parts_flying = 0; // bit_of() each

    // When it has just been taken out of the outbox: the rest of a message is there, and may have company.
    bool leaves_rest() const
    {
        return !parts.empty() && !parts.back().of->message.awaited &&
               parts.back().of->cut < parts.back().of->message.bytes;
    }
    void landed(unsigned which) // or lost: a packet of it flies no more
    {
        --in_flight;
        parts_flying &= ~bit_of(which);
    }
};

// Used bundles keep their memory for the next ones, of all links of a process: some, and few large ones.
class bundle_pool {
  public:
    std::unique_ptr<bundle> take();
    void give(std::unique_ptr<bundle> used);
    void clear();

  private:
    static constexpr std::size_t most = 512, most_large = 8, large = 4096; // bundles; bytes
    std::vector<std::unique_ptr<bundle>> small_, large_;
};

class outbox {
  public:
    explicit outbox(bundle_pool &pool) : pool_(pool) {}

    bool empty() const { return queue_.empty(); }
    // Nothing in it needs to go by itself.
    bool only_lazy() const { return queue_.size() == 1 && queue_.front().lazy; }
    std::size_t bytes() const { return bytes_; } // about; what is cut off takes a frame header more

    // Small messages are packed into items of at most `limit` bytes.
    void push(const outgoing &message, std::size_t limit);

    // The next bundle of at most `limit` bytes; not when empty. by_pages: where it cuts a long message it leaves whole
    // pages of it, and no more than a datagram can refer to.
    std::unique_ptr<bundle> take(std::size_t limit, bool by_pages = false);
    // Empties it: tell(to_tell) for every message of which no bundle has told; `done` may be nullptr.
    template <class Tell>
    void drop(Tell &&tell)
    {
        auto queue = std::exchange(queue_, {});
        bytes_ = 0;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            if (queue[i].packed)
                for (const to_tell &t : queue[i].packed->done) tell(t);
            else // a bundle may have told already; bundles that were acknowledged have not
                tell({std::exchange(queue[i].message->message.done, nullptr), 1});
        }
    }

    void rest() { queue_.release(); }

  private:
    struct item {
        std::unique_ptr<bundle> packed; // small messages
        long_message_ref message;       // or a long one
        bool ordered = false;
        bool lazy = false; // all of it
    };
    ring_queue<item> queue_;
    std::size_t bytes_ = 0;
    bundle_pool &pool_;

    void take_along(bool ordered);
    void pack(const outgoing &message, std::size_t limit);
    bool add_packed(bundle &to, item &from, std::size_t limit);
    bool add_part(bundle &to, item &from, std::size_t limit, bool by_pages);
};

} // namespace onesea::net
