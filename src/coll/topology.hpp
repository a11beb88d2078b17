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

#include <functional>
#include <vector>

namespace onesea::coll {

// Wide, so that a node with more ranks than cores wakes each process as seldom as possible.
inline constexpr int node_radix = 16;

struct tree {
    int parent = -1; // -1 at the root
    std::vector<int> children;
};

enum class between_nodes { binomial, chain };

// Nodes are counted in the order in which members appear on them.
class layout {
  public:
    layout() = default;
    // Any order of members; keeps two tables.
    layout(const std::vector<int> &node_of_member, int me);
    // Those of a node are neighbours, and the first node is 0: keeps nothing, asks and searches instead.
    layout(std::function<int(int member)> node_of, int members, int me);

    int nodes() const { return nodes_; }
    int node() const { return group_of(me_); } // of the caller
    int leader(int node) const { return at(node, 0); }
    tree tree_from(int root, between_nodes shape) const;
    tree tree_in_node() const; // of the caller's node, from its leader

  private:
    struct place {
        int group, index;
    };
    int me_ = 0, nodes_ = 0, members_ = 0;
    std::vector<std::vector<int>> groups_;   // members of each node
    std::vector<place> place_;               // of each member
    std::function<int(int member)> node_of_; // instead of the two

    int group_of(int member) const
    {
        return nodes_ == 1 ? 0 : node_of_ ? node_of_(member) : place_[std::size_t(member)].group;
    }
    int index_of(int member) const;
    int size_of(int node) const;
    int at(int node, int index) const;
    int first_from(int node) const; // the first member on this node or a later one
    void add_node_part(tree *t, int first) const;
    void add_leader_part(tree *t, int root, between_nodes shape) const;
};

// Binomial tree over 0..n-1 from 0.
int binomial_parent(int place);
std::vector<int> binomial_children(int place, int n); // the one with the largest part first

} // namespace onesea::coll
