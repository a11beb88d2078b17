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

layout::layout(const std::vector<int> &node_of_member, int me) : me_(me), members_(int(node_of_member.size()))
{
    std::unordered_map<int, int> group_of_node;
    for (int member = 0; member < members_; ++member) {
        auto [found, fresh] = group_of_node.try_emplace(node_of_member[std::size_t(member)], int(groups_.size()));
        if (fresh) groups_.emplace_back();
        auto &group = groups_[std::size_t(found->second)];
        place_.push_back({found->second, int(group.size())});
        group.push_back(member);
    }
    nodes_ = int(groups_.size());
}

layout::layout(std::function<int(int)> node_of, int members, int me)
    : me_(me), nodes_(node_of(members - 1) + 1), members_(members), node_of_(std::move(node_of))
{
}

int layout::first_from(int node) const
{
    if (nodes_ == 1) return node > 0 ? members_ : 0;
    int low = 0;
    for (int high = members_; low < high;) {
        const int middle = low + (high - low) / 2;
        if (node_of_(middle) < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int layout::index_of(int member) const
{
    return node_of_ ? member - first_from(node_of_(member)) : place_[std::size_t(member)].index;
}

int layout::size_of(int node) const
{
    return node_of_ ? first_from(node + 1) - first_from(node) : int(groups_[std::size_t(node)].size());
}

int layout::at(int node, int index) const
{
    return node_of_ ? first_from(node) + index : groups_[std::size_t(node)][std::size_t(index)];
}

// The node's members in their order, but `first` changes places with the lowest.
void layout::add_node_part(tree *t, int first) const
{
    const int here = node(), swapped = index_of(first), n = size_of(here);
    auto swap = [&](int index) { return index == 0 ? swapped : index == swapped ? 0 : index; };
    const int own = swap(index_of(me_));
    if (own > 0) t->parent = at(here, swap((own - 1) / node_radix));
    for (int child = own * node_radix + 1; child <= own * node_radix + node_radix && child < n; ++child)
        t->children.push_back(at(here, swap(child)));
}

void layout::add_leader_part(tree *t, int root, between_nodes shape) const
{
    const int from = group_of(root), n = nodes();
    const int own = (node() - from + n) % n;
    auto head = [&](int step) { return step == 0 ? root : leader((from + step) % n); };
    if (shape == between_nodes::chain) {
        if (own > 0) t->parent = head(own - 1);
        if (own + 1 < n) t->children.push_back(head(own + 1));
        return;
    }
    if (own > 0) t->parent = head(binomial_parent(own));
    for (int child : binomial_children(own, n)) t->children.push_back(head(child));
}

tree layout::tree_from(int root, between_nodes shape) const
{
    tree t;
    const bool root_is_here = group_of(root) == node();
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
