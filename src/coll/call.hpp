// SPDX-License-Identifier: Apache-2.0
// One collective call on one team, as the algorithms see it: send to a member, expect from a member, wait.
//
// Failure. The first thing that goes wrong (a member ended, the time passed, the members disagree, no memory) breaks
// the team's box. From then on nothing is sent and nothing waits, so algorithms need not look: they run to their end
// over data that nobody will see, and conclude() tells. A death is noticed by every member itself, since all watch all
// members and not only their partners; anything else is told to the others by a notice, in large teams over a tree.
//
// A broken call does not return while living ranks still read or write the caller's buffers, or what ended ones had
// sent is still taken in, unless the time is up.
#pragma once

#include "coll/courier.hpp"
#include "coll/mailbox.hpp"
#include "coll/members.hpp"
#include "coll/survivors.hpp"
#include "coll/topology.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace onesea::coll {

struct team {
    team(mailbox &m, courier &c, const context_id &id, members all, int own_rank);

    mailbox &mail;
    courier &world;
    context_id context;
    members who;
    int me = -1; // -1: the caller is none of them
    layout places;
    box *messages = nullptr; // nullptr: the name is taken, or the caller is no member
    std::atomic<bool> busy{false};
    std::uint32_t seen_ended = 0;   // how far it has been looked at who has ended,
    std::uint32_t seen_cut_off = 0; // and who is cut off
    std::uint64_t ahead = 0;        // bytes of calls that flow one way, since members waited for each other behind one
    std::vector<int> near;          // ranks from which the running call expects what lies near
    survivors left;                 // under the lock of the matched messages
};

class call {
  public:
    call(team &t, const signature &sign, nanoseconds deadline);
    call(const call &) = delete;
    call &operator=(const call &) = delete;

    int me() const { return team_.me; }
    int size() const { return team_.who.size(); }
    const layout &places() const { return team_.places; }
    std::uint32_t sequence() const { return box_.sequence; }
    bool broken() const { return box_.broken.load(std::memory_order_acquire); }

    // Starts a message; the data may be changed after finish(). Both sides count steps from 0 in each phase.
    void send(int member, unsigned step, const void *data, std::size_t bytes);
    receive *expect(int member, unsigned step, void *to, std::size_t bytes);
    void await(receive *r);
    void finish(); // all that is expected is here, all that was sent may be changed

    // Keeps the messages of two algorithms that follow each other in one call apart.
    void next_phase() { phase_ += 1u << 24; }

    // Memory that transfers may still write to when the call has failed. nullptr if there is none: the call is broken.
    std::byte *scratch(std::size_t bytes);

    void break_down(int status, std::string reason); // the first reason stays

    // Ends the call: its status, with the text.
    int conclude();

  private:
    team &team_;
    box &box_;
    nanoseconds deadline_;
    std::uint32_t phase_ = 0;
    bool all_near_ = true; // nothing else is waited for
    std::uint64_t unfinished_sends() const;
    void wait_for(receive *r, std::uint64_t sends_left);
    bool is_settled(const receive *r, std::uint64_t sends_left) const;
    bool settles_near(int source, const receive *r, std::uint64_t sends_left);
    std::string what_is_missing() const;
    void check_members();
    void let_transfers_end();
    void tell_others() const;
};

} // namespace onesea::coll
