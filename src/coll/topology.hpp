// SPDX-License-Identifier: Apache-2.0
// Who talks to whom: the members of a team by node, and trees over them.
//
// A tree from a root goes first between nodes, over one *leader* per node (the root on its own node, else the lowest
// member), then inside each node. So every message between nodes is needed, and the many cheap ones stay inside.
//
//        root ───────────────► leader of node 1        between nodes: binomial, or a chain for long data in pieces
//        ├─► a                 ├─► d                    inside: each member serves up to `node_radix` others
//        └─► b ─► c            └─► e
#pragma once

#include <vector>

namespace onesea::coll {

// Wide, so that a node with more ranks than cores wakes each process as seldom as possible.
inline constexpr int node_radix = 16;

struct tree {
    int parent = -1; // -1 at the root
    std::vector<int> children;
};

enum class between_nodes { binomial, chain };

class layout {
  public:
    layout() = default;
    layout(const std::vector<int> &node_of_member, int me);

    int members() const { return int(place_.size()); }
    int nodes() const { return int(groups_.size()); }
    int node() const { return place_[std::size_t(me_)].group; } // of the caller, counted in order of appearance
    int leader(int node) const { return groups_[std::size_t(node)].front(); }
    tree tree_from(int root, between_nodes shape) const;
    tree tree_in_node() const; // of the caller's node, from its leader

  private:
    struct place {
        int group, index;
    };
    int me_ = 0;
    std::vector<std::vector<int>> groups_; // members of each node
    std::vector<place> place_;             // of each member

    void add_node_part(tree *t, int first) const;
    void add_leader_part(tree *t, int root, between_nodes shape) const;
};

// Binomial tree over 0..n-1 from 0.
int binomial_parent(int place);
std::vector<int> binomial_children(int place, int n); // the one with the largest part first

} // namespace onesea::coll
