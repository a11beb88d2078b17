// SPDX-License-Identifier: Apache-2.0
// Ranks are numbered in blocks: the first node has the first ones. How many a node gets:
//   with --ppn K      K each, as many nodes as it takes; not more than a host has slots, if slots were given.
//   with slots        as many as a host has slots, in order; a host without a number has one, its virtual nodes share.
//   with neither      equal shares, the first nodes one more.
// --nodes M on H hosts: the first M hosts if M <= H, else each host carries M/H virtual nodes. A node that would have
// no rank is left out.
#include "agent/placement.hpp"

#include "agent/hosts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace onesea::agent {
namespace {

bool has_slots(const job_request &r)
{
    return std::any_of(r.hosts.begin(), r.hosts.end(), [](const host_slots &h) { return h.slots != 0; });
}

unsigned ceil_div(unsigned a, unsigned b) { return (a + b - 1) / b; }

// 0 for all: nobody gave a number.
unsigned slots_of(const job_request &r, const host_slots &host) { return has_slots(r) ? std::max(1u, host.slots) : 0; }

// Programs without a count get one rank each, or, if there is only one, what the hosts or --nodes and --ppn suggest.
std::vector<unsigned> rank_counts(const job_request &r)
{
    std::vector<unsigned> counts;
    for (const program &p : r.programs) counts.push_back(p.count ? p.count : 1);
    if (r.programs.size() == 1 && r.programs[0].count == 0) {
        unsigned nodes = r.nodes ? r.nodes : std::max<unsigned>(1, unsigned(r.hosts.size()));
        unsigned slots = 0;
        for (std::size_t h = 0; h < std::min<std::size_t>(nodes, r.hosts.size()); ++h) slots += slots_of(r, r.hosts[h]);
        counts[0] = r.per_node ? r.per_node * nodes : slots ? slots : nodes;
    }
    return counts;
}

// The host of each node, and how many ranks it may take (0: no limit).
std::vector<host_slots> list_nodes(const job_request &r, unsigned ranks)
{
    std::vector<host_slots> hosts;
    for (const host_slots &h : r.hosts) hosts.push_back({h.name, slots_of(r, h)});
    if (hosts.empty()) hosts.push_back({"localhost", 0});
    unsigned wanted = r.nodes;
    if (!wanted) {
        wanted = unsigned(hosts.size());
        if (r.per_node && r.hosts.empty()) wanted = ceil_div(ranks, r.per_node);
    }
    if (wanted <= hosts.size()) {
        hosts.resize(wanted);
        return hosts;
    }
    std::vector<unsigned> carried(hosts.size()), given(hosts.size());
    const auto host_of = [&](unsigned node) { return std::size_t(node) * hosts.size() / wanted; };
    for (unsigned i = 0; i < wanted; ++i) ++carried[host_of(i)];
    std::vector<host_slots> nodes;
    for (unsigned i = 0; i < wanted; ++i) {
        const std::size_t h = host_of(i);
        const unsigned one_more = given[h]++ < hosts[h].slots % carried[h];
        nodes.push_back({hosts[h].name, hosts[h].slots / carried[h] + one_more});
    }
    return nodes;
}

std::vector<unsigned> by_slots(const job_request &r, const std::vector<host_slots> &nodes, unsigned ranks)
{
    std::vector<unsigned> shares;
    unsigned left = ranks;
    for (const host_slots &n : nodes) {
        shares.push_back(std::min(left, n.slots));
        left -= shares.back();
    }
    if (left)
        throw request_error(fmt::format("{} ranks do not fit in the {} slots of {}; give them more slots or leave the "
                                        "numbers out",
                                        ranks, ranks - left,
                                        nodes.size() < r.hosts.size() ? fmt::format("--nodes {}", nodes.size())
                                                                      : std::string("the hosts")));
    return shares;
}

std::vector<unsigned> shares_of(const job_request &r, const std::vector<host_slots> &nodes, unsigned ranks)
{
    std::vector<unsigned> shares(nodes.size());
    if (r.per_node) {
        if (std::uint64_t(r.per_node) * nodes.size() < ranks)
            throw request_error(
                fmt::format("{} ranks do not fit on {} nodes with --ppn {}", ranks, nodes.size(), r.per_node));
        for (std::size_t i = 0, left = ranks; i < shares.size(); left -= shares[i++]) {
            shares[i] = unsigned(std::min<std::size_t>(left, r.per_node));
            if (has_slots(r) && shares[i] > nodes[i].slots)
                throw request_error(fmt::format("--ppn {}: {} ranks do not fit in the {} {} of a node on {}",
                                                r.per_node, shares[i], nodes[i].slots,
                                                nodes[i].slots == 1 ? "slot" : "slots", nodes[i].name));
        }
    } else if (has_slots(r)) {
        shares = by_slots(r, nodes, ranks);
    } else {
        for (std::size_t i = 0; i < shares.size(); ++i)
            shares[i] = unsigned(ranks / shares.size() + (i < ranks % shares.size()));
    }
    return shares;
}

} // namespace

void count_machines(placement &placed, const std::vector<std::string> &machines)
{
    std::map<std::pair<std::string, std::string>, unsigned> total;
    auto of = [&](std::size_t i) -> unsigned & {
        const placed_node &n = placed.nodes[i];
        return total[{machines[i], !machines[i].empty() || n.local ? std::string() : n.host}];
    };
    for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
        placed.nodes[i].first_on_machine = of(i);
        of(i) += unsigned(placed.nodes[i].ranks.size());
    }
    for (std::size_t i = 0; i < placed.nodes.size(); ++i) placed.nodes[i].ranks_on_machine = of(i);
}

placement place(const job_request &request, const std::function<bool(const std::string &)> &is_local)
{
    std::vector<unsigned> counts = rank_counts(request);
    std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t(0));
    if (total > most_ranks)
        throw request_error(fmt::format("{} ranks are more than the {} possible", total, most_ranks));
    std::vector<host_slots> nodes = list_nodes(request, unsigned(total));
    std::vector<unsigned> shares = shares_of(request, nodes, unsigned(total));

    placement placed;
    unsigned rank = 0, part = 0, of_part = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (shares[i] == 0) continue;
        if (shares[i] > shm::max_slots)
            throw request_error(fmt::format("{} ranks on node {} ({}) are more than the {} one node can have",
                                            shares[i], i, nodes[i].name, shm::max_slots));
        placed_node node{nodes[i].name, is_local(nodes[i].name), {}, 0, 0};
        for (unsigned s = 0; s < shares[i]; ++s, ++rank) {
            for (; of_part == counts[part]; of_part = 0) ++part;
            ++of_part;
            node.ranks.push_back(rank);
            placed.ranks.push_back({unsigned(placed.nodes.size()), s, part});
        }
        placed.nodes.push_back(std::move(node));
    }
    count_machines(placed, std::vector<std::string>(placed.nodes.size()));
    return placed;
}

std::string ranges(const std::vector<unsigned> &numbers)
{
    std::string text;
    for (std::size_t i = 0, end; i < numbers.size(); i = end) {
        for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
        if (!text.empty()) text += ',';
        text += end - i == 1 ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[end - 1]);
    }
    return text;
}

std::string describe(const placement &placed, const job_request &request)
{
    std::string text = fmt::format("{} {} on {} {}\n", placed.ranks.size(), placed.ranks.size() == 1 ? "rank" : "ranks",
                                   placed.nodes.size(), placed.nodes.size() == 1 ? "node" : "nodes");
    for (std::size_t n = 0; n < placed.nodes.size(); ++n) {
        std::map<unsigned, std::vector<unsigned>> by_program;
        for (unsigned r : placed.nodes[n].ranks) by_program[placed.ranks[r].program].push_back(r);
        for (const auto &[part, ranks] : by_program)
            text += fmt::format("node {}  {}{}  {} {}  {}\n", n, placed.nodes[n].host,
                                placed.nodes[n].local ? " (this machine)" : "", ranks.size() == 1 ? "rank" : "ranks",
                                ranges(ranks), fmt::join(request.programs[part].argv, " "));
    }
    return text;
}

} // namespace onesea::agent
