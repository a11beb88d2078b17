// SPDX-License-Identifier: Apache-2.0
// cut get|barrier|broadcast|receive|receive_from_any: with ONESEA_NET_FAULTS=give_up=S and a loopback that may be taken
// down, as a job of ranks on nodes of their own. The network goes away for good while nothing of who waits is under
// way. That ends with SEA_ERR_LINK at every rank, and so does the job.
#include <onesea.h>
#include <onesea/channel.h>
#include <onesea/message.h>
#include <onesea/neighbors.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t bytes = 32 << 20;
using clock = std::chrono::steady_clock;
constexpr double until_cut = 0.7, until_all_have_found_out = 19, until_one_after_the_other = 31;

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
    sleep_for(until_cut);
    return take_network_down() ? SEA_ERR_LINK : SEA_ERR_SYSTEM;
}

// Of data that is on its way from there.
int cut_during_broadcast()
{
    const bool cuts = sea_rank() == sea_size() - 1;
    std::vector<char> memory(bytes);
    std::atomic<bool> is_down = !cuts;
    std::thread other;
    if (cuts)
        other = std::thread([&] {
            sleep_for(until_cut);
            is_down = take_network_down();
        });
    int status = SEA_OK;
    while (status == SEA_OK) status = sea_broadcast(SEA_TEAM_WORLD, sea_size() - 1, memory.data(), bytes);
    if (!cuts) return sea_alive(sea_size() - 1) == 1 ? status : SEA_ERR_DEAD;
    other.join();
    return is_down ? status : SEA_ERR_SYSTEM;
}

// The last rank comes when the others' messages of the barrier have long been acknowledged.
int cut_during_barrier()
{
    if (int status = sea_barrier(SEA_TEAM_WORLD)) return status;
    if (sea_rank() < sea_size() - 1) return sea_barrier(SEA_TEAM_WORLD);
    sleep_for(until_cut);
    return take_network_down() ? sea_barrier(SEA_TEAM_WORLD) : SEA_ERR_SYSTEM;
}

// Of what the last rank never sends; each other rank waits in another way, so that none finds out for another.
using wait_fn = int (*)(int last);

int receive(int last)
{
    char c;
    return sea_message_receive(SEA_TEAM_WORLD, last, 1, &c, 1, nullptr, nullptr);
}

int receive_with_handle(int last)
{
    char c;
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    if (int status = sea_message_receive(SEA_TEAM_WORLD, last, 1, &c, 1, nullptr, &opts)) return status;
    return sea_wait(op, SEA_FOREVER);
}

int receive_from_any(int) // of all others, one of which after the other is found out
{
    char c;
    return sea_message_receive(SEA_TEAM_WORLD, SEA_ANY_SOURCE, 1, &c, 1, nullptr, nullptr);
}

int probe(int last) { return sea_message_probe(SEA_TEAM_WORLD, last, 1, nullptr, SEA_FOREVER); }

int receive_from_channel(int last)
{
    char c;
    sea_channel channel = SEA_CHANNEL_NULL;
    if (int status = sea_channel_open(last, sea_rank(), &channel)) return status;
    return sea_channel_receive(channel, &c, 1, nullptr, nullptr);
}

sea_neighbors graph = SEA_NEIGHBORS_NULL;

int wait_for_neighbour(int)
{
    if (int status = sea_neighbors_start(graph)) return status;
    return sea_neighbors_wait(graph);
}

constexpr wait_fn waits[] = {receive, receive_with_handle, probe, receive_from_channel, wait_for_neighbour};
constexpr int kinds = sizeof waits / sizeof *waits;

// From the last rank to the one that waits for it.
int make_graph()
{
    const bool sends = sea_rank() == sea_size() - 1, receives = sea_rank() == kinds - 1;
    const sea_neighbor from{sea_size() - 1, 8}, to{kinds - 1, 8};
    return sea_neighbors_create(SEA_TEAM_WORLD, &from, receives, &to, sends, &graph);
}

int cut_during(wait_fn wait)
{
    const int last = sea_size() - 1;
    if (int status = sea_barrier(SEA_TEAM_WORLD)) return status;
    if (sea_rank() < last) return wait(last);
    sleep_for(until_cut);
    return take_network_down() ? SEA_ERR_LINK : SEA_ERR_SYSTEM;
}

int cut_during_receives()
{
    if (sea_size() != kinds + 1) return SEA_ERR_INVALID;
    if (int status = make_graph()) return status;
    return cut_during(waits[std::min(sea_rank(), kinds - 1)]);
}

int cut_during_receives_from_any() { return cut_during(receive_from_any); }

struct test_case {
    int (*run)();
    double seconds; // from the start until each rank has found out
};

} // namespace

int main(int argc, char **argv)
{
    const auto start = clock::now();
    const std::map<std::string, test_case> cases{
        {"get", {cut_during_gets, until_all_have_found_out}},
        {"barrier", {cut_during_barrier, until_all_have_found_out}},
        {"broadcast", {cut_during_broadcast, until_all_have_found_out}},
        {"receive", {cut_during_receives, until_all_have_found_out}},
        {"receive_from_any", {cut_during_receives_from_any, until_one_after_the_other}}};
    const auto chosen = cases.find(argc == 2 ? argv[1] : "");
    if (chosen == cases.end() || sea_init(nullptr) != SEA_OK) return 2;
    const int status = chosen->second.run();
    std::printf("cut: rank %d: %s\n", sea_rank(), sea_status_name(status));
    std::fflush(stdout);
    // Who has not found out yet shall not be told instead that this rank has ended.
    std::this_thread::sleep_until(start + std::chrono::duration<double>(chosen->second.seconds));
    return sea_finalize() == SEA_OK && status == SEA_ERR_LINK ? 0 : 1;
}
