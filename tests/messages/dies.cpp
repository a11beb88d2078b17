// SPDX-License-Identifier: Apache-2.0
// A rank dies by kill -9 in the middle of long messages; run with --on-death continue on two or three ranks.
//
//   dies --who sender|receiver|both [--memory private|heap] [--bytes N] [--turns N]
//
// Rank 0 and 1 pass each other long messages; --who says which way they go. Rank 1 dies while they pass: what rank 0
// has under way ends well or with SEA_ERR_DEAD, and afterwards all with SEA_ERR_DEAD. Then rank 0 and rank 2, if
// there is one, pass each other as many, whole: nothing of what the dead one had claimed is left.
#include "common.hpp"

#include <onesea.h>
#include <onesea/message.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct settings {
    std::string who, memory = "private";
    std::size_t bytes = 3'000'000;
    int turns = 40;
};

using memory = std::span<unsigned char>;

// Of this rank's part of the global heap, which the node can reach.
memory of_the_heap(std::size_t bytes)
{
    sea_addr address = SEA_NULL;
    good(sea_heap_alloc(sea_rank(), bytes, &address), "sea_heap_alloc");
    return {static_cast<unsigned char *>(sea_local(address)), bytes};
}

void fill(memory m, unsigned seed)
{
    for (std::size_t i = 0; i < m.size(); i += 61) m[i] = static_cast<unsigned char>(i / 61 + seed);
}

bool holds(memory m, unsigned seed)
{
    for (std::size_t i = 0; i < m.size(); i += 61)
        if (m[i] != static_cast<unsigned char>(i / 61 + seed)) return false;
    return true;
}

sea_op start(bool send, int rank, memory m)
{
    sea_op op = SEA_OP_NONE;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    const int s = send ? sea_message_send(SEA_TEAM_WORLD, rank, 1, m.data(), m.size(), &o)
                       : sea_message_receive(SEA_TEAM_WORLD, rank, 1, m.data(), m.size(), nullptr, &o);
    if (s != SEA_OK && s != SEA_ERR_DEAD) give_up(std::string("the start of a message gave ") + sea_status_name(s));
    return op;
}

// One message each way that is wanted, at the same time. SEA_OK, or SEA_ERR_DEAD.
int pass(int rank, bool out, bool in, memory mine, memory theirs, unsigned turn)
{
    if (out) fill(mine, turn);
    if (in) std::memset(theirs.data(), 0xee, theirs.size());
    const sea_op sent = out ? start(true, rank, mine) : SEA_OP_NONE;
    const sea_op received = in ? start(false, rank, theirs) : SEA_OP_NONE;
    const int a = sea_wait(sent, SEA_FOREVER), b = sea_wait(received, SEA_FOREVER);
    for (int s : {a, b})
        if (s != SEA_OK && s != SEA_ERR_DEAD) give_up(std::string("a message gave ") + sea_status_name(s));
    if (!sea_alive(rank)) return SEA_ERR_DEAD;
    if (a == SEA_OK && b == SEA_OK && in && !holds(theirs, turn)) give_up("a message came with other data");
    return a != SEA_OK ? a : b;
}

// Dies some turns later, at a moment that differs from run to run.
void die_soon(const std::atomic<unsigned> &turn)
{
    while (turn.load() < 5) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(unsigned(getpid()) * 7919u % 3000));
    kill(getpid(), SIGKILL);
}

} // namespace

int main(int argc, char **argv)
{
    settings s;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--who") s.who = argv[i + 1];
        if (name == "--memory") s.memory = argv[i + 1];
        if (name == "--bytes") s.bytes = std::strtoull(argv[i + 1], nullptr, 10);
        if (name == "--turns") s.turns = std::atoi(argv[i + 1]);
    }
    if (s.who != "sender" && s.who != "receiver" && s.who != "both") {
        std::fputs("usage: dies --who sender|receiver|both [--memory private|heap] [--bytes N] [--turns N]\n", stderr);
        return 2;
    }
    good(sea_init(nullptr), "sea_init");
    const int me = sea_rank();
    if (sea_size() != 2 && sea_size() != 3) give_up("needs two or three ranks");
    std::vector<unsigned char> own(s.bytes), others(s.bytes);
    const bool shared = s.memory == "heap";
    const memory mine = shared ? of_the_heap(s.bytes) : own, theirs = shared ? of_the_heap(s.bytes) : others;
    const bool to_dying = s.who != "sender", from_dying = s.who != "receiver";
    if (me == 1) {
        std::atomic<unsigned> turn{0};
        std::thread killer([&] { die_soon(turn); });
        for (;; ++turn)
            if (pass(0, from_dying, to_dying, mine, theirs, turn) != SEA_OK) give_up("rank 0 was taken for dead");
    }
    if (me == 0) {
        unsigned turn = 0;
        while (pass(1, to_dying, from_dying, mine, theirs, turn) == SEA_OK) ++turn;
        if (pass(1, true, true, mine, theirs, turn) != SEA_ERR_DEAD) give_up("a dead rank is not known as dead");
    }
    for (unsigned turn = 0; sea_size() == 3 && turn < unsigned(s.turns); ++turn)
        good(pass(me == 0 ? 2 : 0, true, true, mine, theirs, turn), "a message between the living");
    if (me == 0) std::puts("rank 0: what rank 1 left undone has ended");
    good(sea_finalize(), "sea_finalize");
    return 0;
}
