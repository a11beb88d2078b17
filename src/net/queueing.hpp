// SPDX-License-Identifier: Apache-2.0
// When to let packets queue up for a moment. In the midst of a long stream from one peer a receiver that takes in each
// packet as it comes works on the lines of memory on which the sender works, and both took a third longer for each
// packet than where some are taken in together. A shorter transfer would only be delayed by it. So would what
// others send, for the faster stream keeps the socket full: nothing queues up where somebody else was heard of lately.
#pragma once

#include "base/clock.hpp"
#include "net/constants.hpp"

#include <algorithm>
#include <cstddef>

namespace onesea::net {

class queueing {
  public:
    // A packet of that rank. `rest_follows`: it ended within a message. `asks`: for an answer, before more is sent.
    void came(int rank, std::size_t bytes, bool rest_follows, bool asks, nanoseconds now)
    {
        if (rank != rank_) {
            others_at_ = at_;
            rank_ = rank;
            streamed_ = 0;
        }
        at_ = now;
        if (rest_follows)
            streamed_ = std::min(streamed_ + bytes, queueing_stream + queueing_end);
        else
            streamed_ -= std::min(streamed_, queueing_end);
        const bool alone = now >= others_at_ + active_time;
        more_comes_ = rest_follows && !asks && alone && streamed_ >= queueing_stream;
    }

    // Where there is nothing to take in now.
    bool may_begin() const { return more_comes_; }
    void begin(nanoseconds now)
    {
        more_comes_ = false;
        until_ = now + queueing_time;
    }
    void end() { until_ = never; }
    nanoseconds until() const { return until_; } // never: it has ended
    bool goes_on(nanoseconds now)
    {
        if (until_ == never) return false;
        if (now >= until_) end();
        return until_ != never;
    }

  private:
    int rank_ = -1;
    nanoseconds at_ = 0, others_at_ = 0; // the newest packet of that rank, and of any other
    std::size_t streamed_ = 0;           // by it, less for each message that ended
    bool more_comes_ = false;
    nanoseconds until_ = never;
};

} // namespace onesea::net
