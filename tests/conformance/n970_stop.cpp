// SPDX-License-Identifier: Apache-2.0
// A rank that is stopped for seconds (PROOF_STOP_SECONDS in the environment: how many, else 1) is late, not lost: the
// others' operations wait for it, none fails.
#include "places.hpp"

#include <csignal>
#include <cstdlib>
#include <thread>

using namespace proof;

namespace {

void *ignore(const sea_am *, sea_am_complete_fn *, void **) { return nullptr; }

double stop_seconds()
{
    const char *wanted = std::getenv("PROOF_STOP_SECONDS");
    return wanted ? std::atof(wanted) : 1;
}

void stop_for_a_while(int pid)
{
    pause_for(0.2);
    CHECK_EQ(0, kill(pid, SIGSTOP));
    pause_for(stop_seconds());
    CHECK_EQ(0, kill(pid, SIGCONT));
}

} // namespace

STEP(970, a_stopped_rank_is_late_but_not_lost)
{
    if (t.size == 1) return;
    constexpr std::size_t room = 20000;
    place p(kind::heap, std::size_t(t.size) * room), own(kind::malloced, std::size_t(t.size) * room);
    std::vector<sea_addr> heaps = t.exchange(p.address()), owns = t.exchange(own.address());
    CHECK_OK(sea_am_register(10, ignore, nullptr));
    t.sync();
    std::thread stopper;
    if (t.rank == 0) stopper = std::thread(stop_for_a_while, t.shared->seats[1].pid.load());
    std::vector<unsigned char> out(room), in(room);
    std::uint64_t old = 0, i = 0;
    for (double until = now() + stop_seconds() + 0.5; now() < until; ++i) {
        for (int peer : t.peers()) {
            sea_addr a = (i % 2 ? heaps : owns)[std::size_t(peer)] + std::uint64_t(t.rank) * room;
            std::size_t bytes = 1 + i * 977 % room;
            fill(out.data(), bytes, i);
            CHECK_OK(sea_put(a, out.data(), bytes, nullptr));
            CHECK_OK(sea_fence(peer));
            CHECK_OK(sea_get(in.data(), a, bytes, nullptr));
            CHECK_DATA(in.data(), bytes, i);
            CHECK_OK(sea_fetch_add8(heaps[std::size_t(peer)] + (std::uint64_t(t.rank) + 1) * room / 64 * 64 - 64, 1,
                                    &old, nullptr));
            CHECK_OK(sea_am_send(peer, 10, "x", 1, out.data(), bytes, nullptr));
        }
    }
    CHECK_OK(sea_fence_all());
    if (stopper.joinable()) stopper.join();
    t.sync();
    CHECK_EQ(1, sea_alive(1));
    CHECK_OK(sea_am_register(10, nullptr, nullptr));
}
