// SPDX-License-Identifier: Apache-2.0
// A rank is stopped at any moment while a long message of its comes. What else its receiver is to get arrives all the
// same, and of the long one nothing is missing when the sender goes on.
//
//   stopped [--turns N] [--seed N]
#include "common.hpp"

#include <onesea.h>
#include <onesea/message.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr int receiver = 0, sender = 1;
constexpr std::size_t words = std::size_t(1) << 19; // 4 MB
constexpr double in_time = 10;                      // seconds

sea_op receive(int source, std::vector<std::uint64_t> &data)
{
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    good(sea_message_receive(SEA_TEAM_WORLD, source, 1, data.data(), 8 * data.size(), nullptr, &opts),
         "sea_message_receive");
    return op;
}

void check(const std::vector<std::uint64_t> &data, std::uint64_t value, const char *what)
{
    if (std::count(data.begin(), data.end(), value) != std::ptrdiff_t(data.size()))
        give_up(std::string(what) + " of turn " + std::to_string(value) + " is another");
}

// A long one of its own is what else it is to get.
void receive_beside_stopped(pid_t pid, std::uint64_t turn, double later)
{
    std::vector<std::uint64_t> data(words), own(words), from(words, turn);
    const sea_op all = receive(sender, data);
    const int early = sea_wait(all, later);
    if (early != SEA_OK && early != SEA_ERR_TIMEOUT) good(early, "sea_wait");
    if (kill(pid, SIGSTOP) != 0) give_up("the sender cannot be stopped");
    const sea_op mine = receive(receiver, own);
    sea_op sent = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &sent;
    good(sea_message_send(SEA_TEAM_WORLD, receiver, 1, from.data(), 8 * words, &opts), "sea_message_send");
    const int status = sea_wait(mine, in_time);
    kill(pid, SIGCONT);
    good(status, "the message that nobody holds up");
    good(sea_wait(sent, in_time), "its sending");
    if (early != SEA_OK) good(sea_wait(all, in_time), "the message of who was stopped");
    check(own, turn, "the message that nobody holds up");
    check(data, turn, "the message of who was stopped");
}

} // namespace

int main(int argc, char **argv)
{
    std::uint64_t turns = 400, seed = 1;
    read_options(argc, argv, {{"--turns", &turns, 1}, {"--seed", &seed, 0}});
    good(sea_init(nullptr), "sea_init");
    if (sea_size() != 2) give_up("it takes two ranks");
    std::mt19937_64 random(seed);
    pid_t own = getpid(), pids[2];
    good(sea_allgather(SEA_TEAM_WORLD, &own, pids, sizeof own), "sea_allgather");
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        if (sea_rank() == receiver) {
            receive_beside_stopped(pids[sender], turn, double(random() % 2000) * 1e-6);
        } else {
            const std::vector<std::uint64_t> data(words, turn);
            good(sea_message_send(SEA_TEAM_WORLD, receiver, 1, data.data(), 8 * words, nullptr), "sea_message_send");
        }
        good(sea_barrier(SEA_TEAM_WORLD), "sea_barrier");
    }
    good(sea_finalize(), "sea_finalize");
}
