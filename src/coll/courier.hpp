// SPDX-License-Identifier: Apache-2.0
// What collectives need of the world outside: send, wait, and who lives. One implementation stands on core
// (core_courier.cpp), one is the fake job of the tests.
#pragma once

#include "base/transport.hpp"
#include "coll/envelope.hpp"

#include <cstddef>
#include <cstdint>

namespace onesea::coll {

class courier {
  public:
    // Sends one message to a rank, the caller's own excluded. `sent` is null: the data is short and copied at once;
    // else it stays where it is until `sent` has grown by 1, which it also does when the message could not be sent.
    virtual int send(int rank, const envelope &e, const void *data, std::size_t bytes, sea_counter *sent) = 0;

    // Makes progress until ready(argument), at the latest until the deadline (SEA_ERR_TIMEOUT). Calls ready again after
    // nudge(), after sent counters, ended() or cut_off() grew, and now and then.
    virtual int wait(bool (*ready)(void *), void *argument, nanoseconds deadline) = 0;
    virtual void nudge() = 0;

    // Ranks of the own node may be near: what they send to each other then lies where who waits for it looks himself.
    virtual bool comes_near(int /*rank*/, std::size_t /*bytes*/) { return false; }
    static constexpr int anybody = -1;
    // Takes in one message from there; true: there was one. `own`: the team that the caller waits for.
    virtual bool take_near(int, const context_id &) { return false; }
    // Counts what they have taken of the own data in its `sent`. `own`: the one that the caller waits for.
    virtual void count_taken(const sea_counter & /*own*/) {}
    // Looks for a short time, without progress elsewhere, until ready(argument).
    virtual bool look(bool (*)(void *), void *) { return false; }

    virtual bool alive(int rank) = 0;
    // It has ended, or the way to it was given up, and nothing that it had sent is written to memory any more. Of what
    // was all there before, the mailbox may still be told.
    virtual bool nothing_comes(int rank) = 0;
    virtual int node_of(int rank) = 0;
    // To how many ranks the way was given up so far, and to which as the i-th of them, i < cut_off().
    virtual std::uint32_t cut_off() { return 0; }
    virtual int cut_off_rank(std::uint32_t) { return -1; }
    // How many ranks have left or died so far, and which was the i-th of them, i < ended().
    virtual std::uint32_t ended() = 0;
    virtual int ended_rank(std::uint32_t i) = 0;

  protected:
    ~courier() = default;
};

} // namespace onesea::coll
