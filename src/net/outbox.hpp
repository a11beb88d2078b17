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
#include <vector>

namespace onesea::net {

// A message whose payload is borrowed, until all of it is acknowledged.
struct long_message {
    outgoing message;
    std::size_t cut = 0, acked = 0;
};

struct bundle {
    struct part {
        std::shared_ptr<long_message> of;
        const std::byte *data = nullptr;
        std::uint32_t bytes = 0;
        std::uint32_t at = 0; // goes behind so many bytes of content
    };
    std::uint64_t number = 0;
    std::vector<std::byte> content;
    std::vector<part> parts; // at most most_parts
    std::vector<delivery *> done;
    std::size_t bytes = 0; // content and parts
    bool ordered = false, asks = false, acked = false;
    unsigned in_flight = 0; // packets that carry it and are neither acknowledged nor lost
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
    std::size_t bytes() const { return bytes_; } // about; what is cut off takes a frame header more

    // Small messages are packed into items of at most `limit` bytes.
    void push(const outgoing &message, std::size_t limit);

    // The next bundle of at most `limit` bytes; not when empty.
    std::unique_ptr<bundle> take(std::size_t limit);
    // Empties it: tell(delivery *), or of nullptr, for every message of which no bundle has told.
    template <class Tell>
    void drop(Tell &&tell)
    {
        auto queue = std::exchange(queue_, {});
        bytes_ = 0;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            if (queue[i].packed)
                for (delivery *d : queue[i].packed->done) tell(d);
            else // a bundle may have told already; bundles that were acknowledged have not
                tell(std::exchange(queue[i].message->message.done, nullptr));
        }
    }

    void rest() { queue_.release(); }

  private:
    struct item {
        std::unique_ptr<bundle> packed;        // small messages
        std::shared_ptr<long_message> message; // or a long one
        bool ordered = false;
    };
    ring_queue<item> queue_;
    std::size_t bytes_ = 0;
    bundle_pool &pool_;

    void pack(const outgoing &message, std::size_t limit);
    bool add_packed(bundle &to, item &from, std::size_t limit);
    bool add_part(bundle &to, item &from, std::size_t limit);
};

} // namespace onesea::net
