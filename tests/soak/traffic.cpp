// SPDX-License-Identifier: Apache-2.0
// Traffic of all kinds between all ranks until somebody ends it; at most a minute. The food of kill_soak.
#include <onesea.h>

#include <cstdint>
#include <vector>

int main()
{
    if (sea_init(nullptr) != SEA_OK) return 1;
    int me = sea_rank(), n = sea_size();
    std::vector<sea_addr> blocks(std::size_t(n), SEA_NULL);
    for (int r = 0; r < n; ++r)
        if (sea_heap_alloc(r, 100000, &blocks[std::size_t(r)]) != SEA_OK) return 1;
    std::vector<unsigned char> data(100000);
    sea_am_register(
        1, [](const sea_am *, sea_am_complete_fn *, void **) -> void * { return nullptr; }, nullptr);
    sea_barrier(SEA_TEAM_WORLD);
    double end = sea_time() + 60;
    for (std::uint64_t i = 0; sea_time() < end; ++i) {
        int peer = int((std::uint64_t(me) + i) % std::uint64_t(n));
        sea_addr a = blocks[std::size_t(peer)], own = SEA_NULL;
        std::uint64_t old = 0;
        sea_put(a, data.data(), i * 997 % data.size(), nullptr);
        sea_get(data.data(), a, i * 499 % data.size(), nullptr);
        sea_fetch_add8(a, 1, &old, nullptr);
        sea_am_send(peer, 1, &i, 8, data.data(), i * 31 % data.size(), nullptr);
        if (i % 16 == 0 && sea_register(data.data(), data.size(), 0, &own) == SEA_OK) sea_unregister(own);
        if (i % 64 == 0) sea_barrier(SEA_TEAM_WORLD);
        if (sea_heap_alloc(peer, 1000, &a) == SEA_OK) sea_heap_free(a);
    }
    return sea_finalize() == SEA_OK ? 0 : 1;
}
