// SPDX-License-Identifier: Apache-2.0
// The barrier of sea_finalize(): nobody's transports close before every living rank of the job has come, whoever dies
// meanwhile. A state machine without I/O; leave_core.cpp drives it.
//
// The lowest living rank of a node is its *keeper*. Nodes form a tree by their numbers, in which each has up to `radix`
// below it; where a node has no living rank any more, those below it count as below the next living one above, and
// where there is none above, as below the lowest living node of the job, the *root*. Everybody tells the keeper of its
// node that it has arrived; a keeper whose node and whose nodes below are complete tells the keeper above, with the
// number of ranks that it knew of; when the root's keeper is complete the word to go runs the same ways back. So few
// messages run between nodes, and nobody hears or remembers more than the ranks of its node and `radix` keepers.
//
// When a keeper ends, the next lowest takes over and is told anew. Three facts make this safe:
//  - who has ended does not come back, so that one who takes itself for the root is it;
//  - a rank that was let go ends soon and then needs not be heard: so a second keeper never waits for one whom the
//    first one let go before it died;
//  - a keeper leaves only when its word has reached those whom it keeps (or they have ended); if it dies before, those
//    who are left start again among themselves.
//
// A link that was given up stays so, and not all links of two nodes need be. Who cannot reach its keeper above lets
// those below go once they have come, and ends; nobody waits for a keeper that it cannot reach.
#pragma once

#include <functional>
#include <unordered_map>
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
        int world; // of them, those it started with: each node's have consecutive numbers, in the order of the nodes
        int nodes;
        std::function<bool(int rank)> alive;
        std::function<int(int rank)> node_of;
        std::function<bool(int rank)> reachable = [](int) { return true; };

        int first_of(int node) const; // its first rank of those the job started with
    };
    static constexpr int default_radix = 16;

    explicit leave_state(int own_rank = 0, int radix = default_radix) : me_(own_rank), radix_(radix) {}

    void heard(int rank, int ranks_known); // it, or all that it keeps, has arrived
    void released() { released_ = true; }

    // What to do now; `wait` until a message comes or somebody ends.
    action next(const view &v);

  private:
    // Goes through the ranks of one node once, those that came later at the end.
    class walk {
      public:
        explicit walk(int node = -1) : node_(node) {}
        int node() const { return node_; }
        // The first, from where it stands, that is not passed by; -1: none.
        template <class Passed>
        int first(const view &v, Passed &&passed);

      private:
        int node_, at_ = -1, end_ = 0;
    };

    int me_, radix_;
    walk keeper_, missing_;   // of the own node: below, all have ended; below, all have arrived or ended
    std::vector<walk> above_; // towards the root
    std::vector<walk> below_; // living nodes that tell us
    int below_ranks_ = 0;     // how many ranks there were when below_ was made; 0: not yet
    bool root_ = false;
    int first_living_ = 0; // all that the job started with below have ended
    int told_ = -1, told_ranks_ = 0;
    bool released_ = false;
    std::unordered_map<int, int> heard_; // rank -> how many ranks it knew of

    int heard_from(int rank) const;
    action tell_once(int keeper, int ranks);
    void find_place(const view &v);
    int keeper_above(const view &v); // -1: we are the root
    int lowest_living(const view &v);
    void find_below(const view &v);
    void add_below(const view &v, int node);
    bool all_have_come(const view &v);
    action release(const view &v);
};

} // namespace onesea::coll
