// SPDX-License-Identifier: Apache-2.0
// Two ranks pass each other long messages between private buffers, which both bring where that is faster.
//
//   long_messages [--turns N] [--most BYTES] [--seed N]
//
// What a turn does both ranks draw from the same seed: one way or both, how many messages at a time and how long,
// whether the receiver's buffer is too short, whether the sender waits for the end or computes meanwhile, whether the
// receiver's thread brings the data itself (a blocking receive). All bytes are compared, and what lies around them.
#include "common.hpp"

#include <onesea.h>
#include <onesea/message.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t guard = 64; // bytes on either side
constexpr unsigned char untouched = 0xa5;

// What messages consist of, each from another place on: quickly written and compared.
class contents {
  public:
    explicit contents(std::size_t most) : bytes_(most + places)
    {
        std::mt19937_64 random(most);
        for (unsigned char &b : bytes_) b = static_cast<unsigned char>(random());
    }
    const unsigned char *of(std::uint64_t number) const { return bytes_.data() + number * 61 % places; }

  private:
    static constexpr std::size_t places = 4093;
    std::vector<unsigned char> bytes_;
};

struct plan {
    std::size_t bytes = 0, capacity = 0;
    bool blocking_send = false, blocking_receive = false, computes = false;
};

struct message {
    plan how;
    std::uint64_t number = 0;
    std::vector<unsigned char> memory;
    sea_op operation = SEA_OP_NONE;
    sea_message_info info{};
    int status = SEA_OK;
    unsigned char *data() { return memory.data() + guard; }
};

void compute(std::chrono::microseconds time)
{
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) continue;
}

void prepare(message &m, const contents *sent)
{
    m.memory.assign((sent ? m.how.bytes : m.how.capacity) + 2 * guard, untouched);
    if (sent) std::memcpy(m.data(), sent->of(m.number), m.how.bytes);
}

void send(message &m, int rank)
{
    sea_opts o = SEA_OPTS_INIT;
    o.op = &m.operation;
    good(sea_message_send(SEA_TEAM_WORLD, rank, int(m.number % 5), m.data(), m.how.bytes,
                          m.how.blocking_send ? nullptr : &o),
         "sea_message_send");
}

void receive(message &m, int rank)
{
    sea_opts o = SEA_OPTS_INIT;
    o.op = &m.operation;
    m.status = sea_message_receive(SEA_TEAM_WORLD, rank, int(m.number % 5), m.data(), m.how.capacity, &m.info,
                                   m.how.blocking_receive ? nullptr : &o);
}

void check(message &m, int rank, const contents &sent)
{
    const std::string which = "message " + std::to_string(m.number) + " of " + std::to_string(m.how.bytes) + " bytes ";
    if (m.operation != SEA_OP_NONE) m.status = sea_wait(m.operation, SEA_FOREVER);
    const std::size_t come = std::min(m.how.bytes, m.how.capacity);
    if (m.status != (come < m.how.bytes ? SEA_ERR_TRUNCATED : SEA_OK))
        give_up(which + "gave " + sea_status_name(m.status));
    if (m.info.bytes != m.how.bytes || m.info.source != rank) give_up(which + "tells another source or length");
    const auto *differs = std::mismatch(m.data(), m.data() + come, sent.of(m.number)).first;
    if (differs != m.data() + come) give_up(which + "has another byte at " + std::to_string(differs - m.data()));
    const auto is_untouched = [](unsigned char b) { return b == untouched; };
    if (!std::all_of(m.memory.begin(), m.memory.begin() + guard, is_untouched) ||
        !std::all_of(m.memory.begin() + guard + std::ptrdiff_t(come), m.memory.end(), is_untouched))
        give_up(which + "went beyond its end");
}

class dice {
  public:
    explicit dice(std::uint64_t seed) : random_(seed) {}
    bool one_in(unsigned n) { return random_() % n == 0; }
    unsigned below(unsigned n) { return unsigned(random_() % n); }
    plan draw(std::size_t most)
    {
        const double least = 4096;
        plan p;
        p.bytes = std::size_t(least * std::pow(double(most) / least, double(random_() % 10'000) / 10'000)) + below(9);
        p.capacity = one_in(8) ? p.bytes - below(unsigned(p.bytes)) : p.bytes + below(100);
        p.blocking_send = one_in(2);
        p.blocking_receive = one_in(2);
        p.computes = one_in(4);
        return p;
    }

  private:
    std::mt19937_64 random_;
};

// Those that this rank sends, and those that it receives; blocking calls on both sides would wait for each other.
void pass(std::vector<message> &out, std::vector<message> &in, int rank, const contents &all)
{
    const bool both = !out.empty() && !in.empty();
    for (message &m : out) prepare(m, &all);
    for (message &m : in) prepare(m, nullptr);
    good(sea_barrier(SEA_TEAM_WORLD), "sea_barrier"); // so that nobody computes but who is to
    for (message &m : in) {
        m.how.blocking_receive &= !both;
        receive(m, rank);
    }
    for (message &m : out) {
        m.how.blocking_send &= !both;
        send(m, rank);
        if (m.how.computes) compute(std::chrono::microseconds(m.number % 500));
    }
    for (message &m : out) good(sea_wait(m.operation, SEA_FOREVER), "a send");
    for (message &m : in) check(m, rank, all);
}

} // namespace

int main(int argc, char **argv)
{
    std::uint64_t turns = 400, most = 6'000'000, seed = 1;
    read_options(argc, argv, {{"--turns", &turns}, {"--most", &most, 10'000}, {"--seed", &seed}});
    good(sea_init(nullptr), "sea_init");
    if (sea_size() != 2) give_up("needs two ranks");
    const int me = sea_rank(), other = 1 - me;
    const contents all(most + 16);
    dice both(seed);
    std::uint64_t number = 0;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        const unsigned who = both.below(3), at_a_time = 1 + both.below(3);
        std::vector<message> out, in;
        for (int sender : {0, 1}) {
            if (who != 2 && int(who) != sender) continue;
            for (unsigned i = 0; i < at_a_time; ++i) {
                message m;
                m.how = both.draw(std::size_t(most));
                m.number = ++number;
                (sender == me ? out : in).push_back(std::move(m));
            }
        }
        pass(out, in, other, all);
    }
    if (me == 0) std::printf("%llu long messages passed\n", static_cast<unsigned long long>(number));
    good(sea_finalize(), "sea_finalize");
    return 0;
}
