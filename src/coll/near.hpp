// SPDX-License-Identifier: Apache-2.0
// Short messages of collectives between ranks of a node: through a short lane of each to each, past rings, frames and
// handlers. Who waits in a call looks into the lanes of those that it expects something from, and before it sleeps into
// all, since others may think that they are in another call; nobody else looks, since nobody else needs it. What finds
// no room, or is longer, goes as to other nodes. The order of the two does not matter: messages are told apart by what
// they say they are.
#pragma once

#include "coll/mailbox.hpp"
#include "shm/lane.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace onesea::coll {

class near_post {
  public:
    static constexpr std::size_t most_bytes = shm::short_lane::most_bytes - sizeof(envelope); // of data

    void open();
    void close();
    bool is_near(int rank) const { return slot_near(rank) != shm::no_slot; }

    // Any thread. False: the rank is not near, or there is no room; nothing was sent.
    bool send(int rank, const envelope &e, const void *data, std::size_t bytes);
    // Any thread: hands the next message from there, or from anybody, to the mailbox, if there is one. *of: its team.
    bool take_from(int rank, mailbox &mail, context_id *of);
    bool take_any(mailbox &mail, context_id *of);

  private:
    std::mutex out_mutex_, in_mutex_;
    std::vector<shm::short_lane_writer> out_; // by slot
    std::vector<shm::short_lane_reader> in_;

    unsigned slot_near(int rank) const;
    bool take(unsigned slot, mailbox &mail, context_id *of);
};

near_post &the_near_post();

} // namespace onesea::coll
