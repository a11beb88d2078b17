// SPDX-License-Identifier: Apache-2.0
// Random operations of all ranks on structures in global memory, against models. `structures OPERATIONS SEED`
//
// Each rank has structures of its own, on random owners, which must do exactly what the standard ones do; and all share
// some, in which each rank finds its own elements as it left them, whatever the others do meanwhile. OPERATIONS are
// those of all ranks together.
#include "structures.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

using namespace soak;

namespace {

constexpr std::uint64_t rounds_between_looks = 4096; // at the shared structures as wholes

bool run(std::uint64_t operations, std::uint64_t seed)
{
    random_source random(seed * 1000 + std::uint64_t(sea_rank()));
    everything all(seed);
    for (std::uint64_t i = 0; i < operations; ++i) {
        if (!all.step(random)) return false;
        if (i % rounds_between_looks == rounds_between_looks - 1 && !all.look()) return false;
    }
    sea_barrier(SEA_TEAM_WORLD);
    return all.look() && all.end();
}

} // namespace

int main(int argc, char **argv)
{
    const std::uint64_t operations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    if (sea_init(nullptr) != SEA_OK) return std::fprintf(stderr, "%s\n", sea_last_error()), 1;
    const double began = sea_time();
    if (!run(operations / std::uint64_t(sea_size()), seed)) sea_abort(1, "structures: a difference to the model");
    if (sea_rank() == 0)
        std::printf("%" PRIu64 " operations by %d ranks, no difference, %.1f s\n", operations, sea_size(),
                    sea_time() - began);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
