// SPDX-License-Identifier: Apache-2.0
// Messages of collectives between ranks of a node: through a short lane of each to each, past rings, frames and
// handlers. Who waits in a call looks into the lanes of those that it expects something from, and before it sleeps into
// all, since others may think that they are in another call; nobody else looks, since nobody else needs it. What finds
// no room, or is too long for the lane and too short for an offer, goes as to other nodes. The order of the ways does
// not matter: messages are told apart by what they say they are.
//
// Long data is offered: the lane carries its address, who takes that copies the data out of the sender's process, and
// counts what he has taken where the sender looks. Who waits for that in vain asks the other rank by an active message
// to look: it may be computing. Where the system forbids such copies, and the data is in no heap, which everybody has
// mapped, the offer is refused, and the sender sends it as to other nodes.
#pragma once

#include "base/clock.hpp"
#include "base/light_mutex.hpp"
#include "coll/mailbox.hpp"
#include "shm/lane.hpp"

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

namespace onesea::coll {

class near_post {
  public:
    static constexpr std::size_t most_bytes = shm::short_lane::most_bytes - sizeof(envelope); // of data in a lane
    static constexpr std::size_t least_offered = 6000;

    // The data stays where it is until `sent` grows.
    struct offer {
        int rank;
        envelope e;
        const void *data;
        std::size_t bytes;
        sea_counter *sent;
    };

    void open();
    void close();
    bool is_near(int rank) const { return slot_near(rank) != shm::no_slot; }

    // Any thread. False: the rank is not near, or there is no room; nothing was sent.
    bool send(int rank, const envelope &e, const void *data, std::size_t bytes);
    bool send(const offer &o);
    // Any thread: hands the next message from there, or from anybody, to the mailbox, if there is one. *of: its team.
    bool take_from(int rank, mailbox &mail, context_id *of);
    bool take_any(mailbox &mail, context_id *of);
    // By a handler, also before open(): does not wait for another thread that takes from there.
    bool take_if_free(int rank, mailbox &mail, context_id *of);

    // Any thread: counts what has been taken of the offers, or never will be, since its taker has ended. *refused:
    // those that go another way. True: of others than `own`, too.
    bool count_taken(const sea_counter &own, std::vector<offer> *refused);
    bool has_offers() const { return offers_.load(std::memory_order_relaxed) > 0; }
    // Ranks that have not taken all and are to be asked: for each offer soon, for the same ones again not so often.
    std::vector<int> to_be_asked(nanoseconds now);

  private:
    // What a lane carries of an offer.
    struct offer_words {
        envelope e;
        std::uint64_t address, bytes;
    };
    struct outgoing {
        shm::short_lane_writer lane;
        std::vector<offer> offered = {}; // not counted
        std::uint64_t counted = 0;       // offers ever that are
        bool refused = false;            // one was
        std::uint64_t asked_for = 0;     // offers ever, when it was asked last,
        nanoseconds asked = 0;           // and when that was
    };
    struct incoming {
        shm::short_lane_reader lane;
        light_mutex mutex{light_mutex::prepared}; // of who takes
        bool readable = false;                    // the system allows to copy from there

        incoming(shm::lane_control &control, shm::cell *cells) : lane(control, cells) {}
    };
    std::atomic<bool> open_{false};
    light_mutex out_mutex_{light_mutex::prepared};
    std::vector<outgoing> out_; // by slot
    std::vector<unsigned> offered_to_;
    std::atomic<std::size_t> offers_{0}; // not counted
    std::deque<incoming> in_;            // by slot

    unsigned slot_near(int rank) const;
    static void sent_to(unsigned slot);
    bool take(unsigned slot, mailbox &mail, context_id *of);
    bool take_front(unsigned slot, mailbox &mail, context_id *of);
    void take_offer(unsigned slot, int rank, const offer_words &words, mailbox &mail);
    static void copy_data(unsigned slot, int rank, const offer_words &words, const std::byte *mapped, mailbox &mail);
    bool count_taken_of(outgoing &out, const sea_counter &own, std::vector<offer> *refused);
};

near_post &the_near_post();

} // namespace onesea::coll
