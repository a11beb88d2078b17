// SPDX-License-Identifier: Apache-2.0
// cut get|barrier: with ONESEA_NET_FAULTS=give_up=S and a loopback that may be taken down, as a job of ranks on nodes
// of their own. The network goes away for good while nothing of who waits is under way. That ends with SEA_ERR_LINK at
// every rank, and so does the job.
#include <onesea.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t bytes = 32 << 20;
constexpr double until_all_have_found_out = 18;

void sleep_for(double seconds) { usleep(useconds_t(seconds * 1e6)); }

bool take_network_down()
{
    if (std::system("ip link set lo down") == 0) return true;
    std::printf("cut: the loopback cannot be taken down\n");
    return false;
}

// Of several: in the middle of some, the answers are all that is under way.
int get_until_it_fails(sea_addr from)
{
    std::vector<char> memory(bytes);
    int status = SEA_OK;
    while (status == SEA_OK) status = sea_get(memory.data(), from, bytes, nullptr);
    return status;
}

int cut_during_gets()
{
    sea_addr mine = 0;
    std::vector<sea_addr> all(static_cast<std::size_t>(sea_size()));
    if (sea_heap_alloc(sea_rank(), bytes, &mine) != SEA_OK) return SEA_ERR_MEMORY;
    if (int status = sea_allgather(SEA_TEAM_WORLD, &mine, all.data(), sizeof mine)) return status;
    if (sea_rank() == 0) return get_until_it_fails(all[1]);
    sleep_for(0.7);
    if (!take_network_down()) return SEA_ERR_SYSTEM;
    sleep_for(until_all_have_found_out);
    return SEA_ERR_LINK;
}

// The last rank comes when the others' messages of the barrier have long been acknowledged.
int cut_during_barrier()
{
    if (int status = sea_barrier(SEA_TEAM_WORLD)) return status;
    if (sea_rank() < sea_size() - 1) return sea_barrier(SEA_TEAM_WORLD);
    sleep_for(0.7);
    if (!take_network_down()) return SEA_ERR_SYSTEM;
    const int status = sea_barrier(SEA_TEAM_WORLD);
    sleep_for(until_all_have_found_out); // not: that this rank has ended
    return status;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string what = argc == 2 ? argv[1] : "";
    if ((what != "get" && what != "barrier") || sea_init(nullptr) != SEA_OK) return 2;
    const int status = what == "get" ? cut_during_gets() : cut_during_barrier();
    std::printf("cut: rank %d: %s\n", sea_rank(), sea_status_name(status));
    std::fflush(stdout);
    return sea_finalize() == SEA_OK && status == SEA_ERR_LINK ? 0 : 1;
}
