// SPDX-License-Identifier: Apache-2.0
// Goodput of one rank to another while a process that has nothing to do with the job floods the receiver's port.
//
//   onesea run -n 2 --nodes 2 flood [SECONDS]
//   onesea run -n 3 --nodes 3 flood [SECONDS]
//
// All others put into the last rank, for some seconds each: with nothing else; beside a process that only uses the
// processor; and beside a flood of noise, of headers of this job with wrong tags (the worst there is: each costs a
// tag), and of such packets as long as a datagram can be. The flooding process belongs to nobody if the job may do
// that. Prints the sums and their ratios to the first; fails if data or an operation was harmed, or if nothing of a
// flood was counted.
#include "base/clock.hpp"
#include "core/engine.hpp"
#include "net/crypto.hpp"
#include "net/packet.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace onesea;

namespace {

constexpr std::size_t block = 1 << 20;

enum class disturbance : int { none, work, noise, forged, long_forged, kinds };
constexpr const char *names[] = {"nothing else", "a busy process", "noise", "forged packets", "long forged packets"};

struct target {
    sockaddr_storage where{};
    socklen_t size = sizeof where;
    std::uint32_t job_tag = 0, rank = 0;
};

[[noreturn]] void fail_with(const char *text)
{
    std::fprintf(stderr, "flood: %s (%s)\n", text, sea_last_error());
    std::_Exit(1);
}

void require(bool good, const char *text)
{
    if (!good) fail_with(text);
}

// The receiver's own socket, and what anybody on the network could have read in its packets.
target find_target()
{
    target t;
    auto &e = core::engine();
    require(getsockname(e.inherited.udp_fd, reinterpret_cast<sockaddr *>(&t.where), &t.size) == 0, "no socket");
    net::job_key key;
    std::memcpy(key.data(), e.arena.header().key, key.size());
    t.job_tag = net::derive_job_tag(key);
    t.rank = std::uint32_t(e.rank);
    return t;
}

[[noreturn]] void disturb(disturbance how, const target &t)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) std::_Exit(1);
    int fd = socket(t.where.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    alignas(8) static std::byte packet[60'000];
    std::size_t bytes = how == disturbance::long_forged ? sizeof packet : 200;
    std::uint64_t random = 88172645463325252ull;
    net::packet_header h;
    h.job_tag = t.job_tag;
    h.flags = net::packet_flags::bundle;
    h.target = t.rank;
    for (;; ++h.number) {
        for (std::size_t i = 0; i < 200; i += 8) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            std::memcpy(packet + i, &random, 8);
        }
        if (how >= disturbance::forged) net::write_header(packet, h);
        if (how == disturbance::noise) bytes = 8 + random % 1400;
        if (how != disturbance::work)
            sendto(fd, packet, bytes, 0, reinterpret_cast<const sockaddr *>(&t.where), t.size);
    }
}

// By the receiver.
pid_t start(disturbance how, const target &t)
{
    pid_t child = fork();
    require(child >= 0, "no process");
    if (child == 0) disturb(how, t);
    usleep(100'000);
    return child;
}

void stop(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

sea_own_stats drops()
{
    sea_own_stats own;
    require(sea_stats_own(&own) == SEA_OK, "no statistics");
    return own;
}

// By a sender: bytes a second.
double goodput(sea_addr to, std::vector<std::uint64_t> &data, double seconds)
{
    const nanoseconds begin = now_ns(), until = begin + nanoseconds(seconds * 1e9);
    std::uint64_t blocks = 0;
    for (; now_ns() < until; ++blocks) {
        data[0] = data.back() = blocks;
        require(sea_put(to + (blocks % 4) * block, data.data(), block, nullptr) == SEA_OK, "a put failed");
    }
    require(sea_fence_all() == SEA_OK, "the fence failed");
    return double(blocks * block) / double(now_ns() - begin) * 1e9;
}

void check_data(const std::byte *memory)
{
    std::vector<std::uint64_t> got(block / 8);
    std::memcpy(got.data(), memory, block);
    for (std::size_t i = 1; i + 1 < got.size(); ++i) require(got[i] == i * 0x9e3779b97f4a7c15ull, "wrong data");
    require(got.front() == got.back(), "a part of a put is missing");
}

void check_drops(disturbance kind, const sea_own_stats &before)
{
    const sea_own_stats after = drops();
    const std::uint64_t not_ours = after.not_ours - before.not_ours, forged = after.forged - before.forged;
    if (kind <= disturbance::work) return;
    std::printf("%-20s dropped %lu not ours, %lu forged\n", "", not_ours, forged);
    std::fflush(stdout);
    require((kind == disturbance::noise ? not_ours : forged) > 0, "nothing was counted");
}

// The sum over all senders, at each.
double measure(disturbance kind, sea_addr room, std::vector<std::uint64_t> &data, double seconds)
{
    const int me = sea_rank(), senders = sea_size() - 1;
    const bool receives = me == senders;
    const sea_own_stats before = drops();
    const pid_t child = receives && kind > disturbance::none ? start(kind, find_target()) : -1;
    sea_barrier(SEA_TEAM_WORLD);
    double rate = receives ? 0 : goodput(room + std::uint64_t(me) * 4 * block, data, seconds), sum = 0;
    sea_barrier(SEA_TEAM_WORLD);
    if (child > 0) stop(child);
    if (receives) {
        auto *memory = static_cast<std::byte *>(sea_local(room));
        for (int i = 0; i < 4 * senders; ++i) check_data(memory + std::size_t(i) * block);
        check_drops(kind, before);
    }
    require(sea_allreduce(SEA_TEAM_WORLD, &rate, &sum, 1, SEA_DOUBLE, SEA_SUM) == SEA_OK, "no sum");
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    require(sea_init(nullptr) == SEA_OK && sea_size() >= 2, "needs two ranks");
    const int receiver = sea_size() - 1, peer = sea_rank() == receiver ? 0 : receiver;
    require(sea_transport(peer) && std::strcmp(sea_transport(peer), "net") == 0, "needs a node for each rank");
    sea_addr room = SEA_NULL;
    if (sea_rank() == receiver)
        require(sea_heap_alloc(receiver, 4 * block * std::size_t(receiver), &room) == SEA_OK, "no memory");
    require(sea_broadcast(SEA_TEAM_WORLD, receiver, &room, sizeof room) == SEA_OK, "no broadcast");
    std::vector<std::uint64_t> data(block / 8);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = i * 0x9e3779b97f4a7c15ull;
    double alone = 0;
    for (int kind = 0; kind < int(disturbance::kinds); ++kind) {
        const double sum = measure(disturbance(kind), room, data, seconds);
        if (kind == 0) alone = sum;
        if (sea_rank() == 0) std::printf("%-20s %6.2f GB/s, %.2f\n", names[kind], sum / 1e9, sum / alone);
        std::fflush(stdout);
    }
    sea_barrier(SEA_TEAM_WORLD);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
