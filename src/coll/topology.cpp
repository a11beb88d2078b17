// SPDX-License-Identifier: Apache-2.0
#include "coll/topology.hpp"

#include <algorithm>
#include <unordered_map>

namespace onesea::coll {

int binomial_parent(int place) { return place & (place - 1); }

std::vector<int> binomial_children(int place, int n)
{
    std::vector<int> children;
    int lowest = place == 0 ? n : place & -place;
    for (int bit = 1; bit < lowest && place + bit < n; bit <<= 1) children.push_back(place + bit);
    std::reverse(children.begin(), children.end());
    return children;
}

layout::layout(const std::vector<int> &node_of_member, int me) : me_(me)
{
    std::unordered_map<int, int> group_of_node;
    for (int member = 0; member < int(node_of_member.size()); ++member) {
        auto [at, fresh] = group_of_node.try_emplace(node_of_member[std::size_t(member)], nodes());
        if (fresh) groups_.emplace_back();
        auto &group = groups_[std::size_t(at->second)];
        place_.push_back({at->second, int(group.size())});
        group.push_back(member);
    }
}

// The node's members in their order, but `first` changes places with the lowest.
void layout::add_node_part(tree *t, int first) const
{
    const auto &group = groups_[std::size_t(node())];
    const int swapped = place_[std::size_t(first)].index, n = int(group.size());
    auto swap = [&](int index) { return index == 0 ? swapped : index == swapped ? 0 : index; };
    const int at = swap(place_[std::size_t(me_)].index);
    if (at > 0) t->parent = group[std::size_t(swap((at - 1) / node_radix))];
    for (int child = at * node_radix + 1; child <= at * node_radix + node_radix && child < n; ++child)
        t->children.push_back(group[std::size_t(swap(child))]);
}

void layout::add_leader_part(tree *t, int root, between_nodes shape) const
{
    const int from = place_[std::size_t(root)].group, n = nodes();
    const int at = (node() - from + n) % n;
    auto head = [&](int step) { return step == 0 ? root : leader((from + step) % n); };
    if (shape == between_nodes::chain) {
        if (at > 0) t->parent = head(at - 1);
        if (at + 1 < n) t->children.push_back(head(at + 1));
        return;
    }
    if (at > 0) t->parent = head(binomial_parent(at));
    for (int child : binomial_children(at, n)) t->children.push_back(head(child));
}

tree layout::tree_from(int root, between_nodes shape) const
{
    tree t;
    const bool root_is_here = place_[std::size_t(root)].group == node();
    const int first = root_is_here ? root : leader(node());
    if (me_ == first) add_leader_part(&t, root, shape); // first to the far nodes, they have the longer way
    add_node_part(&t, first);
    return t;
}

tree layout::tree_in_node() const
{
    tree t;
    add_node_part(&t, leader(node()));
    return t;
}

} // namespace onesea::coll
