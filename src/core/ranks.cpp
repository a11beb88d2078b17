// SPDX-License-Identifier: Apache-2.0
// Who is there, how they are reached, and what has been asked of them.
#include "core/engine.hpp"
#include "core/transfer.hpp"
#include "core/windows.hpp"

#include <cstring>

namespace onesea::core {

peer &engine_state::peer_of(int r)
{
    if (r == last_peer_rank && last_peer) return *last_peer;
    auto &place = peers[r];
    if (!place) {
        place = std::make_unique<peer>();
        for (std::uint8_t i : {0, 1}) place->quick[i] = {{quick_settled}, r, i};
    }
    last_peer_rank = r;
    last_peer = place.get();
    return *place;
}

std::vector<int> engine_state::known_peers() const
{
    std::vector<int> ranks;
    for (auto &[r, p] : peers) ranks.push_back(r);
    return ranks;
}

transport *engine_state::route(int r) const
{
    if (r < 0 || r >= size()) return nullptr;
    if (r != rank && !arena.ranks().alive(r)) return nullptr;
    if (shm->reach(r)) return shm.get();
    return net.get();
}

int engine_state::check_rank(int r) const
{
    if (r < 0 || r >= size()) return fail(SEA_ERR_RANK, "there is no rank {}; the job has had {}", r, size());
    if (r == rank || route(r)) return SEA_OK;
    return fail(SEA_ERR_DEAD, "rank {} has ended", r);
}

namespace {

void add(std::uint64_t &word, std::uint64_t n)
{
    __atomic_store_n(&word, __atomic_load_n(&word, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

int check_who(const char *function)
{
    return engine().state.load(std::memory_order_acquire) == role::running ? SEA_OK : check_started(function);
}

} // namespace

int count(int rank, std::uint64_t sea_pair_stats::*what, std::uint64_t bytes_out, std::uint64_t bytes_in)
{
    auto &e = engine();
    const unsigned *slot = e.shm->slot_of(rank);
    sea_pair_stats &stats = slot ? e.local_stats[*slot] : e.peer_of(rank).stats;
    add(stats.*what, 1);
    add(stats.bytes_out, bytes_out);
    add(stats.bytes_in, bytes_in);
    return SEA_OK;
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_rank(void)
{
    if (int s = check_who("sea_rank")) return s;
    return engine().rank;
}

int sea_size(void)
{
    if (int s = check_who("sea_size")) return s;
    return engine().size();
}

int sea_node(void)
{
    if (int s = check_who("sea_node")) return s;
    return int(engine().arena.header().node);
}

int sea_nodes(void)
{
    if (int s = check_who("sea_nodes")) return s;
    return int(engine().arena.header().nodes);
}

int sea_node_of(int rank)
{
    if (int s = check_who("sea_node_of")) return s;
    if (rank < 0 || rank >= engine().size())
        return fail(SEA_ERR_RANK, "sea_node_of: there is no rank {}; the job has had {}", rank, engine().size());
    return int(engine().arena.ranks().node(rank));
}

int sea_stats(int rank, sea_pair_stats *stats)
{
    if (int s = check_started("sea_stats")) return s;
    if (!stats) return fail(SEA_ERR_INVALID, "sea_stats: stats is null");
    auto &e = engine();
    if (rank < 0 || rank >= e.size())
        return fail(SEA_ERR_RANK, "sea_stats: there is no rank {}; the job has had {}", rank, e.size());
    locked lock = enter();
    const unsigned *slot = e.shm->slot_of(rank);
    auto known = e.peers.find(rank);
    *stats = slot ? e.local_stats[*slot] : known != e.peers.end() ? known->second->stats : sea_pair_stats{};
    count_inlined(rank, stats);
    if (!slot && e.net) e.net->stats(rank, stats);
    return SEA_OK;
}

const char *sea_transport(int rank)
{
    if (check_started("sea_transport") || rank < 0 || rank >= engine().size()) return nullptr;
    auto &e = engine();
    if (rank == e.rank) return "self";
    return e.shm->reach(rank) ? "shm" : "net";
}
