// SPDX-License-Identifier: Apache-2.0
// The barrier of sea_finalize(): nobody's transports close before every living rank of the job has come, whoever dies
// meanwhile. A state machine without I/O; leave_core.cpp drives it.
//
// The lowest living rank of a node is its *keeper*, the lowest of the job the *first keeper*. Everybody tells the
// keeper of its node that it has arrived; a keeper whose node is complete tells the first keeper, with the number of
// ranks that it knew of; when all nodes are complete the word to go runs the same ways back. So few messages run
// between nodes, and nobody is flooded.
//
// When a keeper ends, the next lowest takes over and is told anew. Two facts make this safe:
//  - a rank that was let go ends soon and then needs not be heard: so a second keeper never waits for one whom the
//  first
//    one let go before it died;
//  - a keeper leaves only when its word has reached those whom it keeps (or they have ended); if it dies before, those
//    who are left start again among themselves.
#pragma once

#include <functional>
#include <vector>

namespace onesea::coll {

class leave_state {
  public:
    enum class step { wait, tell, release };
    struct action {
        step what = step::wait;
        int rank = -1;            // tell: whom
        std::vector<int> waiting; // release: who is to be told; then leave
    };
    struct view {
        int ranks; // that the job has had
        std::function<bool(int rank)> alive;
        std::function<int(int rank)> node_of;
    };

    explicit leave_state(int own_rank = 0) : me_(own_rank) {}

    void heard(int rank, int ranks_known); // it, or the node that it keeps, has arrived
    void released() { released_ = true; }

    // What to do now; `wait` until a message comes or somebody ends.
    action next(const view &v);

  private:
    int me_;
    int first_keeper_ = 0; // all below have ended; ranks do not come back
    int node_keeper_ = 0;  // the same on this node
    int missing_ = 0;      // all of this node below have arrived or ended
    int told_ = -1, told_ranks_ = 0;
    bool released_ = false;
    std::vector<int> heard_; // by rank: how many ranks it knew of, 0: not heard

    int heard_from(int rank) const { return std::size_t(rank) < heard_.size() ? heard_[std::size_t(rank)] : 0; }
    action tell_once(int keeper, int ranks);
    bool node_is_complete(const view &v);
    // Keepers of the other nodes; false: one of them has not told.
    bool other_nodes(const view &v, std::vector<int> *keepers) const;
    void add_own_node(const view &v, std::vector<int> *waiting) const;
};

} // namespace onesea::coll
