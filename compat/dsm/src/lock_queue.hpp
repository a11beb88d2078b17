// SPDX-License-Identifier: Apache-2.0
// The locks among nodes. They are queues (after Mellor-Crummey and Scott), so that nobody polls the lock across the
// network and everybody sleeps on a counter of its own. At a lock's home (its number modulo the nodes) lies the tail:
// the last node in the queue, plus one. Who comes swaps itself in; if there was somebody before, it puts its number
// into that node's `next` and counts it in `linked`, then waits for its own `granted`. Who goes swaps itself out if it
// is still the tail; otherwise it waits for `linked`, and counts in the next one's `granted` by a Put of no bytes.
//
// A node that ends takes along what it knew of the queue, and nobody can tell a holder from one that waited: the lock
// is lost, for all and for good. A node that finds that marks its own words `lost`, also those of the one that is
// linked behind it, and counts that one's `granted`. Who waits looks every half second at the words of the node before
// it: they cannot be read, or say `lost`. So a loss goes down the whole queue; its tail is never 0 again, and who comes
// later ends up behind somebody that has lost it. Who waits to be linked does not know by whom: it gives up if there is
// a lost node or mark somewhere and a moment later still no link. Should that one come after all, it finds the mark. It
// looks beside its waiting: a node that is stopped holds up the look, and not the lock.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <lapi.h>
#include <mutex>
#include <vector>

#include "../include/dsm.h"

namespace dsm {

struct lock_words {
    long long tail;              // at the home: the last in the queue + 1; 0: free
    long long next;              // who comes after this node, once `linked` says so
    long long lost;              // this node shall have the lock no more
    lapi_cntr_t linked, granted; // of this node
};

using lock_table = std::array<lock_words, DSM_LOCKS>;

class lock_queue {
  public:
    // tables: every node's; addresses to name in calls, but for this node's.
    void open(lapi_handle_t handle, int node, std::vector<lock_table *> tables);

    // At most one thread of this node is in the queue of a lock. DSM_OK or DSM_ERR_BELOW, with words.
    int acquire(int lock);
    int release(int lock);

    // Before LAPI ends.
    void close();

  private:
    lock_words &words_of(int node, int lock) const;
    lock_words &mine(int lock) const { return words_of(node_, lock); }
    int home(int lock) const { return lock % int(tables_.size()); }
    int update_tail(RMW_ops_t op, int lock, long long *operand, long long &before) const;
    int look_at(int node, int lock) const;
    bool somebody_is_lost(int lock) const;
    int wait_behind(int before, int lock) const;
    bool looks_lost(int lock, std::future<bool> &look) const;
    int wait_for_link(int lock);
    void keep(std::future<bool> look);
    int enter(int lock) const;
    int leave(int lock);
    int lose(int lock, int code) const;

    lapi_handle_t handle_ = 0;
    int node_ = 0;
    std::vector<lock_table *> tables_;
    std::mutex looks_mutex_;
    std::vector<std::future<bool>> looks_; // whose waiting is over; their threads end by themselves
};

} // namespace dsm
