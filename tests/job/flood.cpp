// SPDX-License-Identifier: Apache-2.0
// Goodput of one rank to another while a process that has nothing to do with the job floods the receiver's port.
//
//   onesea run -n 2 --nodes 2 flood [SECONDS]
//   onesea run -n 3 --nodes 3 flood [SECONDS]
//
// All others put into the last rank: with nothing else; beside a process that only uses the processor; and beside a
// flood of noise, of headers of this job with wrong tags (as anybody who can read the network could make), and of such
// packets as long as a datagram can be. The flooding process belongs to nobody if the job may do that.
//
// It takes processor time, whomever it floods. So each flood is measured twice: at the receiver, and with the same
// packets at a socket that has nothing to do with the job and that nobody reads. Two ratios are printed: to the goodput
// with nothing else, and to that beside the flood elsewhere; the second is what the packets themselves do to the
// transfer, and must be at least a half. Machines change their speed, and others use them: the situations take turns in
// short slices, of which the medians count; SECONDS is the sum of each one's. Where the ratio is below a half more
// slices follow before that counts.
//
// Also fails if data or an operation was harmed, or if what was sent has not been counted.
#include "base/clock.hpp"
#include "core/engine.hpp"
#include "net/crypto.hpp"
#include "net/packet.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace onesea;

namespace {

constexpr std::size_t block = 1 << 20;
constexpr unsigned least_slices = 5, most_slices = 60; // of each situation
constexpr double least_ratio = 0.5;                    // to the same flood elsewhere

enum class flood : int { noise, forged, long_forged, kinds };
constexpr const char *flood_names[] = {"noise", "forged packets", "long forged packets"};

enum situation : int { alone, work, first_flood }; // then each flood: elsewhere, here
constexpr int situations = first_flood + 2 * int(flood::kinds);
constexpr int elsewhere(flood f) { return first_flood + 2 * int(f); }
constexpr int here(flood f) { return elsewhere(f) + 1; }
constexpr bool is_here(int what) { return what >= first_flood && (what - first_flood) % 2; }

struct socket_address {
    sockaddr_storage where{};
    socklen_t size = sizeof where;
};

struct target {
    socket_address receiver, unrelated;
    std::uint32_t job_tag = 0, rank = 0;
};

std::atomic<std::uint64_t> *sent; // packets that the flooding process has sent

[[noreturn]] void fail_with(const char *text)
{
    std::fprintf(stderr, "flood: %s (%s)\n", text, sea_last_error());
    std::_Exit(1);
}

void require(bool good, const char *text)
{
    if (!good) fail_with(text);
}

socket_address address_of(int fd)
{
    socket_address a;
    require(getsockname(fd, reinterpret_cast<sockaddr *>(&a.where), &a.size) == 0, "no socket");
    return a;
}

// The receiver's own socket, what anybody on the network could have read in its packets, and a socket like it.
target find_target()
{
    target t;
    auto &e = core::engine();
    t.receiver = address_of(e.inherited.udp_fd);
    net::job_key key;
    std::memcpy(key.data(), e.arena.header().key, key.size());
    t.job_tag = net::derive_job_tag(key);
    t.rank = std::uint32_t(e.rank);
    socket_address free_port = t.receiver;
    if (free_port.where.ss_family == AF_INET)
        reinterpret_cast<sockaddr_in *>(&free_port.where)->sin_port = 0;
    else
        reinterpret_cast<sockaddr_in6 *>(&free_port.where)->sin6_port = 0;
    int fd = socket(t.receiver.where.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0); // open until the process ends
    require(bind(fd, reinterpret_cast<sockaddr *>(&free_port.where), free_port.size) == 0, "no second socket");
    t.unrelated = address_of(fd);
    return t;
}

[[noreturn]] void send_for_ever(flood how, const socket_address &to, const target &t)
{
    int fd = socket(to.where.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    alignas(8) static std::byte packet[60'000];
    std::size_t bytes = how == flood::long_forged ? sizeof packet : 200;
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
        if (how != flood::noise) net::write_header(packet, h);
        if (how == flood::noise) bytes = 8 + random % 1400;
        const auto *where = reinterpret_cast<const sockaddr *>(&to.where);
        if (sendto(fd, packet, bytes, 0, where, to.size) >= 0) sent->fetch_add(1, std::memory_order_relaxed);
    }
}

// By the receiver: a process that does it from now on.
pid_t start(int what, const target &t)
{
    *sent = 0;
    pid_t child = fork();
    require(child >= 0, "no process");
    if (child > 0) {
        const nanoseconds limit = now_ns() + 1'000'000'000;
        while (*sent == 0 && now_ns() < limit) usleep(1000);
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) std::_Exit(1);
    if (what == work)
        for (*sent = 1;;) *sent = *sent | 1;
    send_for_ever(flood((what - first_flood) / 2), is_here(what) ? t.receiver : t.unrelated, t);
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

// What one situation came to.
struct tally {
    std::vector<double> rates; // of each slice: of all senders together, bytes a second
    std::uint64_t sent = 0, kept_out = 0, not_ours = 0, forged = 0; // at the receiver
    std::uint64_t counted() const { return kept_out + not_ours + forged; }
};

double median(std::vector<double> all)
{
    std::nth_element(all.begin(), all.begin() + std::ptrdiff_t(all.size() / 2), all.end());
    return all[all.size() / 2];
}

double put_for(double seconds, sea_addr to, std::vector<std::uint64_t> &data)
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

void check_data(const std::byte *memory, bool written)
{
    std::vector<std::uint64_t> got(block / 8);
    std::memcpy(got.data(), memory, block);
    if (!written && std::all_of(got.begin(), got.end(), [](auto w) { return w == 0; })) return; // not yet
    for (std::size_t i = 1; i + 1 < got.size(); ++i) require(got[i] == i * 0x9e3779b97f4a7c15ull, "wrong data");
    require(got.front() == got.back(), "a part of a put is missing");
}

class measurement {
  public:
    measurement(sea_addr room, double seconds) : room_(room), slice_(seconds / least_slices), data_(block / 8)
    {
        if (receives_) target_ = find_target();
        for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = i * 0x9e3779b97f4a7c15ull;
    }
    void slice(int what);
    bool enough() const; // the same everywhere
    void report() const;
    void check() const;

  private:
    const int me_ = sea_rank(), senders_ = sea_size() - 1;
    const bool receives_ = me_ == senders_;
    sea_addr room_;
    double slice_;
    std::vector<std::uint64_t> data_;
    target target_;
    std::array<tally, situations> tallies_;

    const tally &of(int what) const { return tallies_[std::size_t(what)]; }
    double rate(int what) const { return median(of(what).rates); }
    void check_all(bool written) const;
    double ratio(flood f) const; // to the same flood elsewhere
};

// What the kernel still holds for the receiver when the flood has ended is counted when it is read.
sea_own_stats drops_when_all_is_read(const sea_own_stats &before)
{
    const nanoseconds limit = now_ns() + 5'000'000'000;
    for (;;) {
        const sea_own_stats now = drops();
        const std::uint64_t counted =
            now.kept_out + now.not_ours + now.forged - before.kept_out - before.not_ours - before.forged;
        if (counted >= *sent || now_ns() > limit) return now;
        usleep(1000);
    }
}

void measurement::slice(int what)
{
    tally &t = tallies_[std::size_t(what)];
    const sea_own_stats before = drops();
    const pid_t child = receives_ && what != alone ? start(what, target_) : -1;
    sea_barrier(SEA_TEAM_WORLD);
    const double own = receives_ ? 0 : put_for(slice_, room_ + std::uint64_t(me_) * 4 * block, data_);
    double sum = 0;
    sea_barrier(SEA_TEAM_WORLD);
    require(sea_allreduce(SEA_TEAM_WORLD, &own, &sum, 1, SEA_DOUBLE, SEA_SUM) == SEA_OK, "no sum");
    t.rates.push_back(sum);
    if (!receives_) return;
    if (child > 0) stop(child);
    check_all(false);
    const sea_own_stats after = is_here(what) ? drops_when_all_is_read(before) : drops();
    t.sent += *sent;
    t.kept_out += after.kept_out - before.kept_out;
    t.not_ours += after.not_ours - before.not_ours;
    t.forged += after.forged - before.forged;
}

void measurement::check_all(bool written) const
{
    for (int i = 0; i < 4 * senders_; ++i)
        check_data(static_cast<const std::byte *>(sea_local(room_)) + std::size_t(i) * block, written);
}

// Of the slices that came one after the other.
double measurement::ratio(flood f) const
{
    std::vector<double> ratios;
    for (std::size_t i = 0; i < of(here(f)).rates.size(); ++i)
        ratios.push_back(of(here(f)).rates[i] / of(elsewhere(f)).rates[i]);
    return median(ratios);
}

bool measurement::enough() const
{
    bool good = true;
    for (flood f : {flood::noise, flood::forged, flood::long_forged}) good &= ratio(f) >= least_ratio;
    return good;
}

void measurement::report() const
{
    const double before = rate(alone), busy = rate(work);
    if (me_ == 0) std::printf("%-20s %6.2f GB/s\n", "nothing else", before / 1e9);
    if (me_ == 0) std::printf("%-20s %6.2f GB/s, %.2f\n", "a busy process", busy / 1e9, busy / before);
    for (flood f : {flood::noise, flood::forged, flood::long_forged}) {
        const double there = rate(elsewhere(f)), at_us = rate(here(f));
        if (me_ == 0)
            std::printf("%-20s %6.2f GB/s, %.2f; elsewhere %.2f GB/s, %.2f; the one to the other %.2f\n",
                        flood_names[int(f)], at_us / 1e9, at_us / before, there / 1e9, there / before, ratio(f));
        std::fflush(stdout);
        sea_barrier(SEA_TEAM_WORLD);
        const tally &t = of(here(f));
        if (receives_)
            std::printf("%-20s %lu sent (%lu elsewhere), dropped %lu by the kernel, %lu not ours, %lu forged\n", "",
                        t.sent, of(elsewhere(f)).sent, t.kept_out, t.not_ours, t.forged);
        std::fflush(stdout);
        sea_barrier(SEA_TEAM_WORLD);
    }
}

void measurement::check() const
{
    require(enough(), "less than half of what passes beside the same flood elsewhere");
    if (!receives_) return;
    check_all(true);
    std::uint64_t forged = 0;
    for (flood f : {flood::noise, flood::forged, flood::long_forged}) {
        const tally &t = of(here(f));
        require(t.sent > 0 && t.counted() >= t.sent / 10 * 9, "some of the flood was not counted");
        forged += t.forged;
    }
    require(forged > 0, "no packet was found to be forged");
}

} // namespace

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    sent = static_cast<std::atomic<std::uint64_t> *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    require(sent != MAP_FAILED, "no memory");
    require(sea_init(nullptr) == SEA_OK && sea_size() >= 2, "needs two ranks");
    const int receiver = sea_size() - 1, peer = sea_rank() == receiver ? 0 : receiver;
    require(sea_transport(peer) && std::strcmp(sea_transport(peer), "net") == 0, "needs a node for each rank");
    sea_addr room = SEA_NULL;
    if (sea_rank() == receiver)
        require(sea_heap_alloc(receiver, 4 * block * std::size_t(receiver), &room) == SEA_OK, "no memory");
    require(sea_broadcast(SEA_TEAM_WORLD, receiver, &room, sizeof room) == SEA_OK, "no broadcast");
    measurement m(room, seconds);
    for (unsigned i = 0; i < least_slices || (i < most_slices && !m.enough()); ++i)
        for (int n = 0; n < situations; ++n) m.slice(i % 2 ? situations - 1 - n : n);
    m.report();
    m.check();
    sea_barrier(SEA_TEAM_WORLD);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
