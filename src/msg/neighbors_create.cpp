// SPDX-License-Identifier: Apache-2.0
// How a graph is made: every member lays its block out and writes its edges there, all tell where, each reads what its
// neighbours have written, compares, and takes the addresses that it will put to. Then all agree whether all is well.
#include "base/error.hpp"
#include "core/internal.hpp"
#include "msg/neighbors_job.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>

namespace onesea::msg {

graph_layout::graph_layout(const sea_neighbor *sources, int n, const sea_neighbor *targets, int m)
{
    for (int i = 0; i < n; ++i) in.push_back({std::uint32_t(sources[i].member), 0, sources[i].bytes, 0});
    for (int i = 0; i < m; ++i) out.push_back({std::uint32_t(targets[i].member), 0, targets[i].bytes, 0});
    bytes = round_up(out_table() + out.size() * sizeof(graph_edge));
    for (graph_edge &e : in) {
        e.buffer = bytes;
        bytes += 2 * round_up(e.bytes);
    }
    for (graph_edge &e : out) {
        e.buffer = bytes;
        bytes += round_up(e.bytes);
    }
}

int nth_edge(const std::vector<graph_edge> &edges, int member, int nth)
{
    for (std::size_t i = 0; i < edges.size(); ++i)
        if (int(edges[i].member) == member && nth-- == 0) return int(i);
    return -1;
}

namespace {

struct member_card { // what all tell all
    sea_addr block;
    std::uint32_t in, out;
    std::uint64_t name;
};

// The edges of a neighbour, read once.
class others {
  public:
    explicit others(const std::vector<member_card> &cards) : cards_(cards) {}

    struct lists {
        std::vector<graph_edge> in, out;
    };
    int of(int member, const lists **result)
    {
        auto [known, fresh] = all_.try_emplace(member);
        *result = &known->second;
        if (!fresh) return SEA_OK;
        const member_card &card = cards_[std::size_t(member)];
        known->second.in.resize(card.in);
        known->second.out.resize(card.out);
        const std::size_t in_bytes = card.in * sizeof(graph_edge), out_bytes = card.out * sizeof(graph_edge);
        const sea_addr table = card.block + graph_layout::in_table();
        int status = sea_get(known->second.in.data(), table, in_bytes, nullptr);
        if (status == SEA_OK) status = sea_get(known->second.out.data(), table + in_bytes, out_bytes, nullptr);
        may_be_written_ |= status != SEA_OK;
        return status;
    }
    bool may_be_written() const { return may_be_written_; } // a call has ended before its transfer

  private:
    const std::vector<member_card> &cards_;
    std::map<int, lists> all_;
    bool may_be_written_ = false;
};

// This end's edge number `own` against the list of the other end.
int match(const std::vector<graph_edge> &mine, std::size_t own, const std::vector<graph_edge> &theirs, int me,
          const char *direction, int *found)
{
    const graph_edge &edge = mine[own];
    const auto nth = std::count_if(mine.begin(), mine.begin() + std::ptrdiff_t(own),
                                   [&](const graph_edge &e) { return e.member == edge.member; });
    *found = nth_edge(theirs, me, int(nth));
    if (*found < 0)
        return fail(
            SEA_ERR_INVALID,
            "sea_neighbors_create: member {} names an edge {} member {} (number {}) that that one does not name", me,
            direction, edge.member, nth);
    const std::uint64_t bytes = theirs[std::size_t(*found)].bytes;
    if (bytes == edge.bytes) return SEA_OK;
    return fail(SEA_ERR_INVALID,
                "sea_neighbors_create: the edge {} member {} has {} bytes for member {} and {} bytes there", direction,
                edge.member, edge.bytes, me, bytes);
}

bool leads_to(const std::vector<graph_edge> &edges, std::uint32_t member)
{
    return std::any_of(edges.begin(), edges.end(), [&](const graph_edge &e) { return e.member == member; });
}

// Before anybody knows of the block, so that no news is missed.
void meet_neighbours(graph &g)
{
    const int me = sea_rank();
    auto with = [&](const graph_edge &edge) -> graph::neighbour * {
        const int rank = sea_team_member(g.team, int(edge.member));
        if (rank == me) return nullptr;
        for (graph::neighbour &n : g.neighbours)
            if (n.rank == rank) return &n;
        graph::neighbour &fresh = g.neighbours.emplace_back();
        fresh.rank = rank;
        fresh.member = int(edge.member);
        return &fresh;
    };
    for (const graph_edge &edge : g.places.in)
        if (auto *n = with(edge)) n->is_source = true;
    for (const graph_edge &edge : g.places.out)
        if (auto *n = with(edge)) n->releases = !n->is_source;
}

int connect_targets(graph &g, int me, const std::vector<member_card> &cards, others &known)
{
    std::set<std::uint32_t> releasing;
    for (std::size_t i = 0; i < g.places.out.size(); ++i) {
        const graph_edge &edge = g.places.out[i];
        const others::lists *theirs = nullptr;
        int at = -1;
        if (int s = known.of(int(edge.member), &theirs)) return s;
        if (int s = match(g.places.out, i, theirs->in, me, "to", &at)) return s;
        const sea_addr block = cards[edge.member].block;
        const sea_addr first = block + theirs->in[std::size_t(at)].buffer;
        const sea_addr counters = block + offsetof(graph_heads, arrived);
        g.targets.push_back({{first, first + round_up(edge.bytes)},
                             {counters, counters + sizeof(sea_counter)},
                             g.memory + edge.buffer,
                             edge.bytes});
        if (!leads_to(g.places.in, edge.member)) releasing.insert(edge.member);
    }
    g.releasing = std::uint32_t(releasing.size());
    return SEA_OK;
}

int check_sources(graph &g, int me, const std::vector<member_card> &cards, others &known)
{
    std::set<std::uint32_t> released;
    for (std::size_t i = 0; i < g.places.in.size(); ++i) {
        const graph_edge &edge = g.places.in[i];
        const others::lists *theirs = nullptr;
        int at = -1;
        if (int s = known.of(int(edge.member), &theirs)) return s;
        if (int s = match(g.places.in, i, theirs->out, me, "from", &at)) return s;
        const member_card &card = cards[edge.member];
        if (leads_to(g.places.out, edge.member) || !released.insert(edge.member).second) continue;
        g.release.push_back(card.block + offsetof(graph_heads, released));
    }
    return SEA_OK;
}

int check_edges(const sea_neighbor *edges, int n, int size, const char *what)
{
    if (n < 0 || (n > 0 && !edges))
        return fail(SEA_ERR_INVALID, "sea_neighbors_create: {} {} at {}", n, what, fmt::ptr(edges));
    for (int i = 0; i < n; ++i) {
        if (edges[i].member < 0 || edges[i].member >= size)
            return fail(SEA_ERR_INVALID, "sea_neighbors_create: member {} of {} number {} is not in 0..{}",
                        edges[i].member, what, i, size - 1);
        if (edges[i].bytes > SEA_OFFSET_MASK)
            return fail(SEA_ERR_MEMORY, "sea_neighbors_create: {} number {} has {} bytes", what, i, edges[i].bytes);
    }
    return SEA_OK;
}

int lay_out(graph &g)
{
    const int me = sea_rank();
    if (int s = sea_heap_alloc(me, std::max<std::uint64_t>(g.places.bytes, graph_align), &g.block)) return s;
    g.memory = static_cast<std::byte *>(sea_local(g.block));
    std::memset(g.memory, 0, g.places.bytes);
    auto copy = [&](std::uint64_t to, const std::vector<graph_edge> &edges) {
        if (!edges.empty()) std::memcpy(g.memory + to, edges.data(), edges.size() * sizeof(graph_edge));
    };
    copy(graph_layout::in_table(), g.places.in);
    copy(g.places.out_table(), g.places.out);
    static std::atomic<std::uint64_t> names{0};
    g.name = ++names;
    meet_neighbours(g);
    listen(g);
    return SEA_OK;
}

// All members' verdicts: the worst of them. The own text stays if the own verdict is not good. `heard`: of all of them;
// else others may have come to another verdict.
int agree(sea_team team, int mine, bool *heard)
{
    const std::string text = mine == SEA_OK ? "" : last_error();
    std::int64_t verdict = mine, worst = 0;
    const int s = sea_allreduce(team, &verdict, &worst, 1, SEA_INT64, SEA_MIN);
    *heard = s == SEA_OK;
    if (s != SEA_OK) return mine == SEA_OK ? s : set_error(mine, text);
    if (mine != SEA_OK) return set_error(mine, text);
    if (worst == SEA_OK) return SEA_OK;
    return fail(int(worst), "sea_neighbors_create: another member has failed: {}", sea_strerror(int(worst)));
}

} // namespace

namespace {

// What others read and write while a graph is made.
struct making {
    member_card own;
    std::vector<member_card> cards;
    others known{cards};

    making(const graph &g, int size)
        : own{g.block, std::uint32_t(g.places.in.size()), std::uint32_t(g.places.out.size()), g.name},
          cards(std::size_t(size))
    {
    }
    making(const making &) = delete;
    making &operator=(const making &) = delete;
};

// Of graphs that were not made, where a call has ended before its transfers: until sea_finalize().
struct leftovers {
    std::mutex mutex;
    std::vector<std::unique_ptr<making>> all;
};

leftovers &kept()
{
    static auto &all = *new leftovers;
    return all;
}

const bool registered = [] {
    core::add_lifecycle([] {}, [] { kept().all.clear(); });
    return true;
}();

int connect(graph &g, making &m)
{
    const int me = sea_team_rank(g.team);
    for (graph::neighbour &n : g.neighbours) n.name = m.cards[std::size_t(n.member)].name;
    if (int s = connect_targets(g, me, m.cards, m.known)) return s;
    return check_sources(g, me, m.cards, m.known);
}

// From here on others know the block. *free: nobody will write to it.
int meet_others(graph &g, bool *free)
{
    auto work = std::make_unique<making>(g, sea_team_size(g.team));
    bool heard = false;
    int mine = sea_allgather(g.team, &work->own, work->cards.data(), sizeof work->own), status = mine;
    const bool met = mine == SEA_OK;
    if (met) status = agree(g.team, mine = connect(g, *work), &heard);
    const std::string text = status == SEA_OK ? "" : last_error();
    if (met && !heard) { // others may have made it
        g.broken = status;
        g.whom = sea_rank();
        tell_failure(g);
        tell_leaving(g);
    }
    if (!met || work->known.may_be_written()) {
        std::lock_guard lock(kept().mutex);
        kept().all.push_back(std::move(work));
    }
    *free = heard;
    return status == SEA_OK ? SEA_OK : set_error(status, text);
}

} // namespace

int create_graph(sea_team team, int checked, graph &g)
{
    bool heard = true, free = true;
    const int mine = checked == SEA_OK ? lay_out(g) : set_error(checked, last_error());
    int status = agree(team, mine, &heard);
    if (status == SEA_OK) status = meet_others(g, &free);
    if (status == SEA_OK) return SEA_OK;
    const std::string text = last_error();
    stop_listening(g);
    if (g.block && free) sea_heap_free(g.block);
    return set_error(status, text);
}

} // namespace onesea::msg

using namespace onesea;
using namespace onesea::msg;

int sea_neighbors_create(sea_team team, const sea_neighbor *sources, int n_sources, const sea_neighbor *targets,
                         int n_targets, sea_neighbors *result)
{
    if (int s = core::check_started("sea_neighbors_create")) return s;
    const int size = sea_team_size(team);
    if (size < 0 || sea_team_rank(team) < 0)
        return fail(SEA_ERR_INVALID, "sea_neighbors_create: {} is no team of this rank", team);
    try {
        int status = check_edges(sources, n_sources, size, "sources");
        if (status == SEA_OK) status = check_edges(targets, n_targets, size, "targets");
        if (status == SEA_OK && !result) status = fail(SEA_ERR_INVALID, "sea_neighbors_create: graph is null");
        const bool good = status == SEA_OK;
        auto g = std::make_shared<graph>(graph_layout(sources, good ? n_sources : 0, targets, good ? n_targets : 0));
        g->team = team;
        g->seen_ended = core::ended();
        if (team != SEA_TEAM_WORLD) {
            for (int i = 0; i < size; ++i) g->ranks.push_back(sea_team_member(team, i));
            std::sort(g->ranks.begin(), g->ranks.end());
        }
        if (int s = create_graph(team, status, *g)) return s;
        *result = keep_graph(std::move(g));
        return SEA_OK;
    } catch (const std::bad_alloc &) {
        return fail(SEA_ERR_MEMORY, "sea_neighbors_create: no memory for the graph");
    }
}
