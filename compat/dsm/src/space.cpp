// SPDX-License-Identifier: Apache-2.0
#include "space.hpp"

#include "error.hpp"

#include <iterator>
#include <numeric>
#include <utility>

namespace dsm {
namespace {

const char *name_of(access kind)
{
    switch (kind) {
    case access::read:
        return "READ";
    case access::write:
        return "WRITE";
    case access::write_b:
        return "WRITE_B";
    case access::update:
        return "FETCH_ADD";
    }
    return "access";
}

} // namespace

std::uint64_t space::total() const { return std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0}); }

int space::explain(access kind, int node, std::uint64_t address, std::uint64_t length) const
{
    if (!has(node))
        return fail(DSM_ERR_NODE, "{} at node {}, address {}, length {}: the nodes are 0 to {}", name_of(kind), node,
                    address, length, nodes() - 1);
    if (length > size_of(node) || address > size_of(node) - length)
        return fail(DSM_ERR_RANGE, "{} at node {}, address {}, length {}: the part of node {} has {} bytes",
                    name_of(kind), node, address, length, node, size_of(node));
    if (kind == access::read || length == 0) return DSM_OK;
    const ranges &all = read_only_[static_cast<std::size_t>(node)];
    auto next = all.lower_bound(address + length); // the first that begins behind the access
    if (next == all.begin() || std::prev(next)->second <= address) return DSM_OK;
    const auto [begin, end] = *std::prev(next);
    return fail(DSM_ERR_READ_ONLY, "{} at node {}, address {}, length {}: bytes {} to {} of node {} are read-only",
                name_of(kind), node, address, length, begin, end - 1, node);
}

void space::protect(int node, std::uint64_t address, std::uint64_t length, bool read_only)
{
    if (length == 0) return;
    ranges &all = read_only_[static_cast<std::size_t>(node)];
    std::uint64_t begin = address, end = address + length;
    auto at = all.upper_bound(begin);
    if (at != all.begin() && std::prev(at)->second >= begin) --at;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rests; // of ranges that are cut
    while (at != all.end() && at->first <= end) {
        rests.emplace_back(at->first, begin);
        rests.emplace_back(end, at->second);
        if (read_only) {
            begin = std::min(begin, at->first);
            end = std::max(end, at->second);
        }
        at = all.erase(at);
    }
    if (read_only) {
        all.emplace(begin, end);
        return;
    }
    for (const auto &[from, to] : rests)
        if (from < to) all.emplace(from, to);
}

} // namespace dsm
