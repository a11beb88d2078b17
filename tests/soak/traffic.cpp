// SPDX-License-Identifier: Apache-2.0
// Traffic of all kinds between all ranks, the food of kill_soak: until somebody ends it, at most a minute.
// `soak_traffic survive` is for jobs that survive deaths: it goes on until a rank has died and for a while after, and
// then reports (survivors.hpp) what became of its operations on the living and on the dead. A report is made only if
// every operation on the living was good, none took too long, and none on a dead rank that began after this rank had
// been told of the death (sea_on_death) ended otherwise than by SEA_ERR_DEAD.
#include "fair_clock.hpp"
#include "survivors.hpp"

#include <onesea.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr double at_most = 60, goes_on_for = 0.2; // seconds, at all and behind the first death

constexpr int most_ranks = 64;
std::atomic<bool> told[most_ranks]; // of that rank's death

void hear(int rank, int, void *)
{
    if (rank >= 0 && rank < most_ranks) told[rank] = true;
}

// Nobody is told of who had died before.
bool any_dead(int ranks)
{
    for (int r = 0; r < ranks; ++r)
        if (told[r] || sea_alive(r) == 0) return true;
    return false;
}

struct peer_record {
    std::uint64_t good = 0, refused = 0;     // operations that tell whether the peer lives
    double last_good = 0, first_refused = 0; // when they ended
};

class witness {
  public:
    witness(bool lenient, int ranks) : lenient_(lenient), peers_(std::size_t(ranks)) {}

    // An operation that the peer has to answer.
    template <class Call>
    int look(const char *what, int peer, Call &&call)
    {
        peer_record &p = peers_[std::size_t(peer)];
        const int status = time(what, peer, call, told[peer] ? SEA_ERR_DEAD : SEA_OK);
        if (status == SEA_OK) {
            ++p.good;
            p.last_good = proof::now();
        } else if (status == SEA_ERR_DEAD && ++p.refused == 1) {
            p.first_refused = proof::now();
        }
        return status;
    }
    // One that may have nothing to do with anybody, and is good then: a fence, a barrier.
    template <class Call>
    int look_at_all(const char *what, int peer, Call &&call)
    {
        return time(what, peer, call, SEA_OK);
    }
    bool good() const { return good_; }
    const peer_record &of(int peer) const { return peers_[std::size_t(peer)]; }

  private:
    bool lenient_, good_ = true;
    std::vector<peer_record> peers_;
    proof::fair_clock clock_;

    // `wanted`: SEA_OK, unless the peer is dead; SEA_ERR_DEAD
    template <class Call>
    int time(const char *what, int peer, Call &&call, int wanted)
    {
        const double began = clock_.now();
        const int status = call();
        const double took = clock_.now() - began;
        const bool dead = status == SEA_ERR_DEAD && (peer < 0 || sea_alive(peer) == 0);
        if (lenient_ && (!(dead || status == wanted) || took > proof::death_limit)) {
            std::fprintf(stderr, "soak: %s on rank %d: %s after %.2f s\n", what, peer, sea_strerror(status), took);
            good_ = false;
        }
        return status;
    }
};

void *no_data(const sea_am *, sea_am_complete_fn *, void **) { return nullptr; }

// One of everything.
void work_with(witness &j, int peer, sea_addr a, std::uint64_t i, std::vector<unsigned char> &data, bool messages)
{
    sea_addr more = SEA_NULL;
    if (j.look("alloc", peer, [&] { return sea_heap_alloc(peer, 1000, &more); }) == SEA_OK)
        j.look("free", peer, [&] { return sea_heap_free(more); });
    if (a == SEA_NULL) return; // it was dead before there was any
    std::uint64_t old = 0;
    const std::size_t size = data.size();
    j.look("put", peer, [&] { return sea_put(a, data.data(), 1 + i * 997 % (size - 1), nullptr); });
    j.look_at_all("fence", peer, [&] { return sea_fence(peer); });
    j.look("get", peer, [&] { return sea_get(data.data(), a, 1 + i * 499 % (size - 1), nullptr); });
    j.look("add", peer, [&] { return sea_fetch_add8(a, 1, &old, nullptr); });
    if (messages) j.look("am", peer, [&] { return sea_am_send(peer, 1, &i, 8, data.data(), i * 31 % size, nullptr); });
    j.look_at_all("fence", peer, [&] { return sea_fence(peer); });
}

void report(const witness &j, int me, int ranks)
{
    survivor s;
    s.rank = me;
    s.node = sea_node_of(me);
    for (int r = 0; r < ranks; ++r) {
        const peer_record &p = j.of(r);
        if (sea_alive(r) == 0)
            s.dead.push_back({r, sea_node_of(r), p.refused, p.first_refused, p.last_good});
        else
            s.living.push_back({r, p.good, p.last_good});
    }
    std::puts(to_line(s).c_str());
}

} // namespace

int main(int argc, char **)
{
    const bool survives = argc > 1;
    if (sea_init(nullptr) != SEA_OK) return 1;
    if (sea_size() > most_ranks || sea_on_death(hear, nullptr) != SEA_OK) return 1;
    sea_am_register(1, no_data, nullptr);
    const int me = sea_rank(), n = sea_size();
    witness j(survives, n);
    std::vector<sea_addr> blocks(std::size_t(n), SEA_NULL);
    for (int r = 0; r < n; ++r)
        if (j.look("alloc", r, [&] { return sea_heap_alloc(r, 100000, &blocks[std::size_t(r)]); }) && !survives)
            return 1;
    std::vector<unsigned char> data(100000);
    // Who has passed it knows that all have registered their handler.
    const bool together = j.look_at_all("barrier", -1, [] { return sea_barrier(SEA_TEAM_WORLD); }) == SEA_OK;
    double end = proof::now() + at_most;
    std::uint64_t turns_left = 1; // once each with all ranks after a death, however slow the machine is
    bool death_seen = false;
    for (std::uint64_t i = 0; (proof::now() < end || (death_seen && turns_left > 0)) && j.good(); ++i) {
        const int peer = int((std::uint64_t(me) + i) % std::uint64_t(n));
        work_with(j, peer, blocks[std::size_t(peer)], i, data, together);
        sea_addr own = SEA_NULL;
        if (i % 16 == 0 && sea_register(data.data(), data.size(), 0, &own) == SEA_OK) sea_unregister(own);
        if (i % 64 == 0 && !survives) sea_barrier(SEA_TEAM_WORLD);
        turns_left -= death_seen && turns_left > 0;
        if (!survives || death_seen || !any_dead(n)) continue;
        death_seen = true;
        turns_left = 2 * std::uint64_t(n);
        end = proof::now() + goes_on_for;
    }
    if (survives && j.good()) report(j, me, n);
    const int status = sea_finalize();
    if (!survives) return status == SEA_OK ? 0 : 1;
    if (status == SEA_OK || status == SEA_ERR_DEAD) return j.good() ? 0 : 3;
    std::fprintf(stderr, "soak: sea_finalize: %s\n", sea_strerror(status));
    return 3;
}
