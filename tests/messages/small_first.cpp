// SPDX-License-Identifier: Apache-2.0
// Small messages go before their receives are posted, as many as the receiver has memory for, also while it computes
// and whoever gets a processor first: a barrier behind them is reached. Those of two rounds lie there at a time, and
// are to be less than a rank's share of that memory.
//
//   small_first [--bytes N] [--count N]     messages, half of them by operations
#include "common.hpp"

#include <onesea.h>
#include <onesea/message.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int sender = 0, receiver = 1, rounds = 4;

void compute(std::chrono::milliseconds time)
{
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

void send(const std::vector<std::uint64_t> &data, bool by_operation)
{
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    const std::size_t bytes = 8 * data.size();
    good(sea_message_send(SEA_TEAM_WORLD, receiver, 1, data.data(), bytes, by_operation ? &opts : nullptr),
         "sea_message_send");
    if (by_operation) good(sea_wait(op, 30), "sea_wait");
}

} // namespace

int main(int argc, char **argv)
{
    std::uint64_t bytes = 4000, count = 50;
    read_options(argc, argv, {{"--bytes", &bytes, 8}, {"--count", &count, 1}});
    good(sea_init(nullptr), "sea_init");
    if (sea_size() != 2) give_up("it takes two ranks");
    good(sea_set_timeout(30), "sea_set_timeout");
    std::vector<std::uint64_t> data(bytes / 8);
    for (int round = 0; round < rounds; ++round) {
        for (std::uint64_t i = 0; sea_rank() == sender && i < count; ++i) {
            data.assign(data.size(), i);
            send(data, i % 2);
        }
        if (sea_rank() == receiver) compute(std::chrono::milliseconds(20));
        good(sea_barrier(SEA_TEAM_WORLD), "sea_barrier");
        for (std::uint64_t i = 0; sea_rank() == receiver && i < count; ++i) {
            good(sea_message_receive(SEA_TEAM_WORLD, sender, 1, data.data(), bytes, nullptr, nullptr),
                 "sea_message_receive");
            if (data.front() != i || data.back() != i) give_up("message " + std::to_string(i) + " is another");
        }
    }
    good(sea_finalize(), "sea_finalize");
}
