// SPDX-License-Identifier: Apache-2.0
// Traffic of all kinds between all ranks, the food of kill_soak: until somebody ends it, at most a minute.
// `soak_traffic SECONDS` is for jobs that survive deaths: it goes on that long, and says "fine" if every operation on
// the living was good and every one on a dead rank ended within the limit, by SEA_ERR_DEAD if not by success.
#include <onesea.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double limit = 8;
#else
constexpr double limit = 1;
#endif

// Seconds that the machine kept from a thread which only sleeps, and so from everybody: they count for nothing.
std::atomic<double> withheld{0};

void watch_the_machine()
{
    while (true) {
        double before = sea_time();
        usleep(1000);
        withheld = withheld + std::max(0.0, sea_time() - before - 0.002);
    }
}

class judge {
  public:
    explicit judge(bool lenient) : lenient_(lenient) {}

    template <class Call>
    int look(const char *what, int peer, Call &&call)
    {
        double began = sea_time() - withheld;
        int status = call();
        double took = sea_time() - withheld - began;
        bool allowed = status == SEA_OK || (status == SEA_ERR_DEAD && (peer < 0 || sea_alive(peer) == 0));
        if (lenient_ && (!allowed || took > limit)) {
            std::fprintf(stderr, "soak: %s on rank %d: %s after %.2f s\n", what, peer, sea_strerror(status), took);
            good_ = false;
        }
        return status;
    }
    bool good() const { return good_; }

  private:
    bool lenient_, good_ = true;
};

void *no_data(const sea_am *, sea_am_complete_fn *, void **) { return nullptr; }

} // namespace

int main(int argc, char **argv)
{
    const bool survives = argc > 1;
    if (sea_init(nullptr) != SEA_OK) return 1;
    sea_am_register(1, no_data, nullptr);
    int me = sea_rank(), n = sea_size();
    judge j(survives);
    if (survives) std::thread(watch_the_machine).detach();
    std::vector<sea_addr> blocks(std::size_t(n), SEA_NULL);
    for (int r = 0; r < n; ++r)
        if (j.look("alloc", r, [&] { return sea_heap_alloc(r, 100000, &blocks[std::size_t(r)]); }) && !survives)
            return 1;
    std::vector<unsigned char> data(100000);
    // Who has passed it knows that all have registered their handler.
    const bool together = j.look("barrier", -1, [] { return sea_barrier(SEA_TEAM_WORLD); }) == SEA_OK;
    double end = sea_time() + (survives ? std::atof(argv[1]) : 60);
    for (std::uint64_t i = 0; sea_time() < end && j.good(); ++i) {
        int peer = int((std::uint64_t(me) + i) % std::uint64_t(n));
        sea_addr a = blocks[std::size_t(peer)], own = SEA_NULL;
        if (a == SEA_NULL) continue; // it was dead before
        std::uint64_t old = 0;
        j.look("put", peer, [&] { return sea_put(a, data.data(), i * 997 % data.size(), nullptr); });
        j.look("fence", peer, [&] { return sea_fence(peer); });
        j.look("get", peer, [&] { return sea_get(data.data(), a, i * 499 % data.size(), nullptr); });
        j.look("add", peer, [&] { return sea_fetch_add8(a, 1, &old, nullptr); });
        if (together)
            j.look("am", peer, [&] { return sea_am_send(peer, 1, &i, 8, data.data(), i * 31 % data.size(), nullptr); });
        j.look("fence", peer, [&] { return sea_fence(peer); });
        if (i % 16 == 0 && sea_register(data.data(), data.size(), 0, &own) == SEA_OK) sea_unregister(own);
        if (i % 64 == 0 && !survives) sea_barrier(SEA_TEAM_WORLD);
        if (j.look("alloc", peer, [&] { return sea_heap_alloc(peer, 1000, &a); }) == SEA_OK)
            j.look("free", peer, [&] { return sea_heap_free(a); });
    }
    int status = sea_finalize();
    if (!survives) return status == SEA_OK ? 0 : 1;
    if (!j.good() || (status != SEA_OK && status != SEA_ERR_DEAD)) return 3;
    std::puts("fine");
    return 0;
}
