// SPDX-License-Identifier: Apache-2.0
// The barrier of sea_finalize(): nobody's transports close before every living rank of the job has come, whoever dies
// meanwhile. A state machine without I/O; leave_core.cpp drives it.
//
// Everybody tells the *keeper*, the lowest living rank, that it has arrived. When the keeper has heard from all living
// ranks, also those that joined later, it lets everybody go. When the keeper ends, the next lowest takes over and is
// told anew. Two facts make this safe:
//  - a rank that was let go ends soon, and then counts as heard: so a second keeper never waits for one whom the first
//    one let go before it died;
//  - the keeper itself leaves only when its word has reached everybody (or they have ended).
// Messages: two per rank, and one more per rank for each keeper that dies.
#pragma once

#include <functional>
#include <vector>

namespace onesea::coll {

class leave_state {
  public:
    enum class step { wait, tell, release, done };
    struct action {
        step what = step::wait;
        int rank = -1; // tell: whom
    };
    using alive_fn = std::function<bool(int rank)>;

    explicit leave_state(int own_rank = 0) : me_(own_rank) {}

    void heard(int rank); // it has arrived
    void released() { released_ = true; }

    // What to do now; `wait` until a message comes or somebody ends. Asks for as few ranks as needed.
    action next(int ranks, const alive_fn &alive);

  private:
    int me_;
    int keeper_ = 0;  // all below have ended; ranks do not come back
    int told_ = -1;   // the keeper that knows of us
    int missing_ = 0; // all below have arrived or ended
    bool released_ = false;
    std::vector<bool> heard_;
};

} // namespace onesea::coll
