// SPDX-License-Identifier: Apache-2.0
// A sender that outruns its receiver: rank 0 sends --bytes in messages of --size to rank 1, which takes its time, and
// neither process grows beyond the sender's share of the bound on memory for messages that nobody has received, which
// is half of it, or less where more ranks may come (without `--spawn 0`: an eighteenth, so little that nothing is
// proven). Three ways: blocking sends to a receiver that sleeps now and then; operations, of which --flying are under
// way at a time; and, with small messages, a receiver that wants first what was sent last.
//
//   outrun [--bytes N] [--size N] [--flying N]
#include "common.hpp"

#include <onesea/message.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

struct settings {
    std::uint64_t bytes = 1u << 30, size = 4096, flying = 64;
};

// The most memory that this process ever had, in bytes.
std::uint64_t peak_memory()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    give_up("/proc/self/status has no VmHWM");
}

void send_blocking(const settings &s)
{
    std::vector<std::uint64_t> data(s.size / 8 + 1);
    for (std::uint64_t i = 0; i < s.bytes / s.size; ++i) {
        data[0] = i;
        good(sea_message_send(SEA_TEAM_WORLD, 1, 1, data.data(), s.size, nullptr), "sea_message_send");
    }
}

void send_flying(const settings &s)
{
    std::vector<std::vector<std::uint64_t>> data(s.flying, std::vector<std::uint64_t>(s.size / 8 + 1));
    std::vector<sea_op> ops(s.flying, SEA_OP_NONE);
    for (std::uint64_t i = 0; i < s.bytes / s.size; ++i) {
        const std::size_t at = i % s.flying;
        good(sea_wait(ops[at], SEA_FOREVER), "a send");
        ops[at] = SEA_OP_NONE;
        data[at][0] = i;
        sea_opts o = SEA_OPTS_INIT;
        o.op = &ops[at];
        good(sea_message_send(SEA_TEAM_WORLD, 1, 1, data[at].data(), s.size, &o), "sea_message_send");
    }
    good(sea_wait_all(ops.data(), int(ops.size()), SEA_FOREVER), "sea_wait_all");
}

void receive_slowly(const settings &s)
{
    std::vector<std::uint64_t> data(s.size / 8 + 1);
    for (std::uint64_t i = 0; i < s.bytes / s.size; ++i) {
        if (i % (s.bytes / s.size / 8 + 1) == 0) usleep(100000); // outside the library
        good(sea_message_receive(SEA_TEAM_WORLD, 0, 1, data.data(), s.size, nullptr, nullptr), "sea_message_receive");
        if (s.size >= 8 && data[0] != i) give_up("a message is lost, doubled or out of order");
    }
}

// What is wanted first comes last, behind more than there is room for.
void last_first(int n)
{
    std::vector<std::uint32_t> words(static_cast<std::size_t>(n));
    std::vector<sea_op> ops(std::size_t(n), SEA_OP_NONE);
    for (int i = 0; i < n; ++i) {
        auto at = std::size_t(i);
        sea_opts o = SEA_OPTS_INIT;
        o.op = &ops[at];
        words[at] = std::uint32_t(i);
        if (sea_rank() == 0) good(sea_message_send(SEA_TEAM_WORLD, 1, i, &words[at], 4, &o), "sea_message_send");
    }
    for (int i = n - 1; i >= 0 && sea_rank() == 1; --i) {
        std::uint32_t word = 0;
        good(sea_message_receive(SEA_TEAM_WORLD, 0, i, &word, 4, nullptr, nullptr), "sea_message_receive");
        if (word != std::uint32_t(i)) give_up("a wrong message");
    }
    good(sea_wait_all(ops.data(), n, SEA_FOREVER), "sea_wait_all");
}

} // namespace

int main(int argc, char **argv)
{
    settings s;
    read_options(argc, argv, {{"--bytes", &s.bytes, 1}, {"--size", &s.size, 1}, {"--flying", &s.flying, 1}});
    if (sea_init(nullptr) != SEA_OK || sea_size() != 2) return 1;
    std::size_t bound = 0;
    good(sea_message_memory(nullptr, &bound), "sea_message_memory");
    good(sea_barrier(SEA_TEAM_WORLD), "sea_barrier");
    const std::uint64_t before = peak_memory();
    for (auto way : {send_blocking, send_flying}) {
        if (sea_rank() == 0)
            way(s);
        else
            receive_slowly(s);
    }
    good(sea_barrier(SEA_TEAM_WORLD), "sea_barrier");
    const std::uint64_t grown = peak_memory() - before, own = 2 * s.flying * s.size + (16u << 20);
    const std::uint64_t share = bound / 2;
    std::printf("rank %d grew by %.1f MB; the share is %.1f MB at most, and %.1f MB of its own\n", sea_rank(),
                double(grown) / 1e6, double(share) / 1e6, double(own) / 1e6);
    if (grown > share + own) give_up("this process has grown beyond its bound");
    last_first(20000);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
