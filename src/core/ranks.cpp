// SPDX-License-Identifier: Apache-2.0
// Who is there, how they are reached, and what has been asked of them.
#include "core/engine.hpp"
#include "core/transfer.hpp"
#include "core/windows.hpp"

namespace onesea::core {

peer &engine_state::peer_of(int r)
{
    if (r == last_peer_rank && last_peer) return *last_peer;
    auto found = peers.find(r);
    if (found == peers.end()) {
        found = peers.emplace(r, std::make_unique<peer>()).first;
        peer *fresh = found->second.get();
        for (std::uint8_t i : {0, 1}) fresh->quick[i] = {{quick_settled}, fresh, r, i};
    }
    last_peer_rank = r;
    last_peer = found->second.get();
    return *last_peer;
}

std::vector<int> engine_state::known_peers() const
{
    std::vector<int> ranks;
    for (auto &[r, p] : peers) ranks.push_back(r);
    return ranks;
}

// Asked several times by every operation; about another node most times for the rank that it was asked for last.
transport *engine_state::route(int r)
{
    const std::uint64_t membership = arena.header().membership.load(std::memory_order_acquire);
    const std::uint64_t far = membership << 32 | std::uint32_t(~r); // never 0 for a rank
    if (r >= 0 && last_far.load(std::memory_order_relaxed) == far) return net.get();
    if (r < 0 || r >= size()) return nullptr;
    if (r != rank && !arena.ranks().alive(r)) return nullptr;
    if (shm->reach(r)) return shm.get();
    last_far.store(far, std::memory_order_relaxed);
    return net.get();
}

int engine_state::check_rank(int r)
{
    if (r < 0 || r >= size()) return fail(SEA_ERR_RANK, "there is no rank {}; the job has had {}", r, size());
    if (r == rank || route(r)) return SEA_OK;
    close_window(r); // who has been told that it has ended is not told otherwise by the inlined path
    return fail(SEA_ERR_DEAD, "rank {} has ended", r);
}

namespace {

void add_row(const pair_row &row, sea_pair_stats *stats)
{
    const pair_counts &c = row.counts;
    stats->puts += c.puts;
    stats->gets += c.gets;
    stats->atomics += c.atomics;
    stats->messages = c.messages;
    stats->copies = c.copies;
    stats->bytes_out += c.bytes_out;
    stats->bytes_in += c.bytes_in;
    stats->packets_out = c.packets_out;
    stats->packets_in = c.packets_in;
    stats->packets_lost = c.packets_lost;
    stats->probes = c.probes;
    stats->spurious = c.spurious;
    const histogram_copy trips = row.round_trips.copy();
    stats->round_trip_us = double(row.smoothed_ns) / 1e3;
    stats->round_trip_p50_us = double(trips.quantile(0.5)) / 1e3;
    stats->round_trip_p99_us = double(trips.quantile(0.99)) / 1e3;
    stats->round_trip_max_us = double(trips.longest) / 1e3;
}

[[gnu::noinline]] pair_row &first_row(int rank, unsigned slot)
{
    auto &e = engine();
    pair_row &row = e.counts->row_of(rank);
    if (slot != shm::no_slot)
        e.local_rows[slot].store(&row, std::memory_order_release);
    else
        e.peer_of(rank).row = &row;
    return row;
}

int check_who(const char *function)
{
    return engine().state.load(std::memory_order_acquire) == role::running ? SEA_OK : check_started(function);
}

} // namespace

int count(int rank, count_word pair_counts::*what, std::uint64_t bytes_out, std::uint64_t bytes_in)
{
    auto &e = engine();
    const unsigned slot = e.shm->slot_of(rank);
    pair_row *row = slot != shm::no_slot ? e.local_rows[slot].load(std::memory_order_acquire) : e.peer_of(rank).row;
    pair_counts &counts = (row ? *row : first_row(rank, slot)).counts;
    ++(counts.*what);
    if (bytes_out) counts.bytes_out += bytes_out;
    if (bytes_in) counts.bytes_in += bytes_in;
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
    *stats = sea_pair_stats{};
    count_inlined(rank, stats);
    if (const pair_row *row = e.counts->find(rank)) add_row(*row, stats);
    return SEA_OK;
}

int sea_stats_own(sea_own_stats *stats)
{
    if (int s = check_started("sea_stats_own")) return s;
    if (!stats) return fail(SEA_ERR_INVALID, "sea_stats_own: stats is null");
    auto &e = engine();
    locked lock = enter();
    if (e.net) e.net->refresh_counts();
    const process_counts &c = e.counts->process();
    *stats = {c.not_ours,
              c.forged,
              c.malformed,
              c.replayed,
              c.kept_out,
              c.waits,
              double(c.wait_ns) * 1e-9,
              c.sleeps,
              c.rounds,
              c.stalls,
              double(c.longest_stall_ns) * 1e-9};
    return SEA_OK;
}

const char *sea_transport(int rank)
{
    if (check_started("sea_transport") || rank < 0 || rank >= engine().size()) return nullptr;
    auto &e = engine();
    if (rank == e.rank) return "self";
    return e.shm->reach(rank) ? "shm" : "net";
}
