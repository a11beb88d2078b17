// SPDX-License-Identifier: Apache-2.0
// Barrier and broadcast. The barrier gathers each node's members at their leader, lets the leaders exchange in log(n)
// rounds (after round k everybody knows of the 2^k leaders before), and releases the node.
#include "base/wide_copy.hpp"
#include "coll/algorithms.hpp"
#include "coll/choose.hpp"

#include <algorithm>
#include <vector>

namespace onesea::coll {
namespace {

// Pieces whose receives are posted before the first one has shown that the members agree about how many there are.
constexpr std::size_t until_agreed = 1024;

enum step : unsigned { come = 0, go = 1, exchange = 2 };

template <class Member>
void disseminate(call &c, int at, int n, Member &&member)
{
    unsigned round = exchange;
    for (int distance = 1; distance < n; distance *= 2, ++round) {
        receive *r = c.expect(member((at + n - distance) % n), round, nullptr, 0);
        c.send(member((at + distance) % n), round, nullptr, 0);
        c.await(r);
    }
}

std::size_t parts_of(std::size_t bytes, std::size_t most) { return (bytes - 1) / most + 1; }

// The bytes of each of as few parts as there can be; whole cache lines.
std::size_t equal_parts(std::size_t bytes, std::size_t most)
{
    const std::size_t n = parts_of(bytes, most);
    return ((bytes + n - 1) / n + 63) / 64 * 64;
}

} // namespace

void copy_part(void *to, const void *from, std::size_t bytes)
{
    if (bytes > 0 && to && from && to != from) copy_of(0, to, from, bytes);
}

void barrier(call &c)
{
    const layout &l = c.places();
    if (c.size() <= few || l.nodes() == c.size()) return disseminate(c, c.me(), c.size(), [](int m) { return m; });

    const tree t = l.tree_in_node();
    receive *release = t.parent >= 0 ? c.expect(t.parent, go, nullptr, 0) : nullptr;
    std::vector<receive *> below;
    for (int child : t.children) below.push_back(c.expect(child, come, nullptr, 0));
    for (receive *r : below) c.await(r);
    if (t.parent >= 0) {
        c.send(t.parent, come, nullptr, 0);
        c.await(release);
    } else {
        disseminate(c, l.node(), l.nodes(), [&](int node) { return l.leader(node); });
    }
    for (int child : t.children) c.send(child, go, nullptr, 0);
}

void broadcast(call &c, int root, void *buffer, std::size_t bytes)
{
    if (bytes == 0) return;
    const bool short_pieces = c.places().nodes() > 1 && bytes <= in_short_pieces;
    const std::size_t piece = short_pieces ? equal_parts(bytes, short_piece) : long_piece;
    const std::size_t pieces = parts_of(bytes, piece);
    const bool chain = parts_of(bytes, long_piece) >= std::size_t(c.places().nodes());
    const tree t = c.places().tree_from(root, chain ? between_nodes::chain : between_nodes::binomial);
    auto *data = static_cast<std::byte *>(buffer);
    auto size = [&](std::size_t i) { return std::min(piece, bytes - i * piece); };

    std::vector<receive *> expected;
    auto expect_until = [&](std::size_t end) {
        for (std::size_t i = expected.size(); i < end && !c.broken(); ++i)
            expected.push_back(c.expect(t.parent, unsigned(i), data + i * piece, size(i)));
    };
    if (t.parent >= 0) {
        expect_until(std::min(pieces, until_agreed));
        c.await(expected.empty() ? nullptr : expected.front());
        expect_until(pieces);
    }
    for (std::size_t i = 0; i < pieces && !c.broken(); ++i) {
        if (t.parent >= 0) c.await(expected[i]);
        for (int child : t.children) c.send(child, unsigned(i), data + i * piece, size(i));
    }
    c.finish();
}

} // namespace onesea::coll
