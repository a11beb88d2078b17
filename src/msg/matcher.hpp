// SPDX-License-Identifier: Apache-2.0
// Messages meet receives. A state machine without I/O: it owns nothing, it links what its user owns.
//
// A *pattern* is what a receive wants: team, source, tag, of which source and tag may be open. A message takes the
// earliest posted receive that wants it, a receive the earliest message. Both must be quick among 100,000 others:
//
//   posted    are queued by their pattern. A message has four patterns that want it (source and tag given or open), so
//             it looks at the heads of four queues and takes the one that was posted first.
//   arrivals  are in four queues each, one for every pattern that wants them, so a receive looks at one queue.
//
// Queues are found by hash and live only while they hold something. Most of the time one receive is posted at a time:
// a lone one is kept aside and never hashed; else receives in a row mostly want the same: the queue of the one posted
// last is at hand, and lives on when it is empty. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>

namespace onesea::msg {

inline constexpr int anything = -1; // of source, tag

struct pattern {
    std::uint64_t team = 0;
    std::int32_t source = anything; // rank
    std::int32_t tag = anything;
    bool operator==(const pattern &) const = default;
    // `message` has neither source nor tag open.
    bool wants(const pattern &message) const
    {
        return team == message.team && (tag == anything || tag == message.tag) &&
               (source == anything || source == message.source);
    }
};

template <class Node>
struct links {
    Node *before = nullptr, *after = nullptr;
};

// A receive that waits. Embedded in its owner.
struct posted {
    pattern want;
    std::uint64_t number = 0; // in the order of posting
    bool waiting = false;     // it is posted now
    links<posted> queue, all;
};

inline constexpr std::size_t ways = 4; // to want a message: 1: source open, 2: tag open

// A message that nobody has received. Embedded in its owner.
struct arrival {
    pattern what;
    std::array<links<arrival>, ways> queue;
    links<arrival> all;
};

class matcher {
  public:
    matcher();

    // The earliest receive that wants this message, taken out; nullptr: nobody does.
    posted *meet(const pattern &message);
    void post(posted *p);
    void withdraw(posted *p); // one that is posted
    static bool is_posted(const posted *p) { return p->waiting; }
    std::size_t posted_count() const { return posted_; }
    const posted *earliest_posted() const { return first_posted_; } // nullptr: there is none

    // The earliest message that is wanted, left where it is; nullptr.
    arrival *find(const pattern &want) const;
    void keep(arrival *a); // behind all others
    void take(arrival *a); // one that is kept
    std::size_t kept_count() const { return kept_; }

    // All posted receives, in the order of posting; `use` may withdraw the one it is given.
    template <class Use>
    void for_each_posted(Use &&use)
    {
        for (posted *p = first_posted_; p;) {
            posted *next = p->all.after;
            use(p);
            p = next;
        }
    }
    // All messages, earliest first; `use` may take the one it is given.
    template <class Use>
    void for_each_kept(Use &&use)
    {
        for (arrival *a = first_kept_; a;) {
            arrival *next = a->all.after;
            use(a);
            a = next;
        }
    }

  private:
    struct hash {
        std::size_t operator()(const pattern &p) const;
    };
    template <class Node>
    struct ends {
        Node *first = nullptr, *last = nullptr;
    };
    template <class Node>
    using queues = std::pmr::unordered_map<pattern, ends<Node>, hash>;

    std::pmr::unsynchronized_pool_resource pool_;
    queues<posted> waiting_;
    queues<arrival> messages_;
    std::array<std::size_t, ways> waiting_ways_{}; // how many queued receives leave open what
    using waiting_queue = queues<posted>::value_type;
    waiting_queue *recent_ = nullptr; // where the last receive was posted
    posted *lone_ = nullptr;
    posted *first_posted_ = nullptr, *last_posted_ = nullptr;
    arrival *first_kept_ = nullptr, *last_kept_ = nullptr;
    std::size_t posted_ = 0, kept_ = 0;
    std::uint64_t next_number_ = 0;

    waiting_queue *waiting_for(const pattern &want);
    void enqueue(posted *p);
    void dequeue(posted *p, waiting_queue *queue);
    void unlist(posted *p);
};

} // namespace onesea::msg
