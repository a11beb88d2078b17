// SPDX-License-Identifier: Apache-2.0
// Private memory that goes again and again in parts of 1 MB lies in huge pages after a while, and is as it was: the
// sender's between nodes; inside a node, where the kernel copies since the sender is asleep, also the receiver's, if it
// may. A kernel that makes no huge pages, or lends none to sockets: status 77.
//
//   gathered [--most N]     messages, before it is a failure
#include "common.hpp"
#include "huge_pages_here.hpp"

#include <onesea.h>
#include <onesea/message.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int sender = 0, receiver = 1;
constexpr std::size_t bytes = std::size_t(1) << 20, from = 3 * bytes / 2 + 4711; // not at the beginning of an area

bool lies_in_huge_pages(const huge_pages_here::memory &m)
{
    return huge_pages_here::kilobytes("AnonHugePages", m.at) > 0;
}

int sum(int own)
{
    int all = 0;
    good(sea_allreduce(SEA_TEAM_WORLD, &own, &all, 1, SEA_INT32, SEA_SUM), "sea_allreduce");
    return all;
}

bool in_one_node() { return sea_node_of(sender) == sea_node_of(receiver); }

bool none_anywhere()
{
    std::string why = huge_pages_here::why_none(false);
    if (!in_one_node() && huge_pages_here::kernel_before(6, 5)) why = "a kernel before 6.5 may have to copy";
    if (!why.empty()) std::printf("rank %d: the kernel gathers nothing in huge pages: %s\n", sea_rank(), why.c_str());
    return sum(!why.empty()) > 0;
}

// Does the kernel copy from the sender's process?
bool kernel_copies(const std::byte *part)
{
    struct {
        pid_t process;
        const std::byte *at;
    } its{getpid(), part};
    good(sea_broadcast(SEA_TEAM_WORLD, sender, &its, sizeof its), "sea_broadcast");
    std::byte one;
    const iovec here{&one, 1}, there{const_cast<std::byte *>(its.at), 1};
    return in_one_node() && process_vm_readv(its.process, &here, 1, &there, 1, 0) == 1;
}

void send(const std::byte *data)
{
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    good(sea_message_send(SEA_TEAM_WORLD, receiver, 1, data, bytes, &opts), "sea_message_send");
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the receiver is left alone with it
    good(sea_wait(op, 30), "sea_wait");
}

} // namespace

int main(int argc, char **argv)
{
    std::uint64_t most = 3000;
    read_options(argc, argv, {{"--most", &most, 1}});
    good(sea_init(nullptr), "sea_init");
    if (sea_size() != 2) give_up("it takes two ranks");
    good(sea_set_timeout(30), "sea_set_timeout");
    if (none_anywhere()) {
        good(sea_finalize(), "sea_finalize");
        return 77;
    }
    const huge_pages_here::memory memory(false, 4);
    std::byte *const part = memory.at + from;
    const bool by_kernel = kernel_copies(part), needs_none = sea_rank() == receiver && !by_kernel;
    int missing = 1;
    for (std::uint64_t i = 0; missing && i < most; ++i) {
        if (sea_rank() == sender)
            send(part);
        else
            good(sea_message_receive(SEA_TEAM_WORLD, sender, 1, part, bytes, nullptr, nullptr), "sea_message_receive");
        missing = sum(i % 50 == 49 && (needs_none || lies_in_huge_pages(memory)) ? 0 : 1);
    }
    if (missing) give_up("there are no huge pages in what was sent or received " + std::to_string(most) + " times");
    if (!memory.unharmed()) give_up("what was gathered is no more what it was");
    good(sea_finalize(), "sea_finalize");
}
