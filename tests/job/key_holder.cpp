// SPDX-License-Identifier: Apache-2.0
// A rank that gives its job's key away, to a test that wants to know where else it is: key_holder FILE. Rank 0 writes
// the key's bytes to FILE, readable by its owner alone; then all stay until FILE is removed, a minute at most.
#include "core/engine.hpp"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 2 || sea_init(nullptr) != SEA_OK) return 1;
    const int me = sea_rank(), right = (me + 1) % sea_size();
    sea_addr mine = SEA_NULL, all[64];
    if (sea_heap_alloc(me, 4096, &mine) != SEA_OK || sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine) != SEA_OK)
        return 1;
    for (int i = 0; i < 100; ++i) sea_put(all[right], &i, sizeof i, nullptr);
    if (sea_fence_all() != SEA_OK || sea_barrier(SEA_TEAM_WORLD) != SEA_OK) return 1;
    if (me == 0) {
        const auto &header = onesea::core::engine().arena.header();
        int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, header.key, sizeof header.key) != ssize_t(sizeof header.key)) return 1;
        close(fd);
        std::puts("talking");
        std::fflush(stdout);
        for (int i = 0; i < 6000 && access(argv[1], F_OK) == 0; ++i) usleep(10'000);
    }
    sea_barrier(SEA_TEAM_WORLD);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
