// SPDX-License-Identifier: Apache-2.0
// Each rank has one slab in its global heap. In it every channel has a counter and two landing buffers:
//
//     slab   | counter  pad | buffer 0 ... | buffer 1 ... | counter  pad | ...
//              channel 0                                    channel 1
//
// Exchange k of a channel puts into the partner's buffer k % 2 and adds 1 to the partner's counter behind it; then it
// waits until its own counter is above k. Nobody answers or asks: a rank's only call is its put.
//
// Why two buffers suffice: the partner writes my buffer k % 2 again in its exchange k + 2, which it begins when it has
// my put of exchange k + 1, which I issue when I no longer read what came in exchange k. With one buffer a fast
// partner's exchange k + 1 would overwrite what I still read.
#include "comm_onesea.hpp"

#include <cstring>
#include <stdexcept>

namespace npb {
namespace {

constexpr std::uint64_t line = 64; // counters of different channels do not share one
constexpr double patience = 1.0;   // seconds between looks whether the partner lives

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + line - 1) / line * line; }

void check(int status, const char *call)
{
    if (status != SEA_OK)
        throw std::runtime_error(std::string(call) + ": " + sea_strerror(status) + ": " + sea_last_error());
}

struct sent_to {
    unsigned long long operations, bytes;
};

sent_to difference(const sea_pair_stats &before, const sea_pair_stats &after)
{
    auto operations = [](const sea_pair_stats &s) { return s.puts + s.gets + s.atomics + s.messages + s.copies; };
    auto bytes = [](const sea_pair_stats &s) { return s.bytes_out + s.bytes_in; };
    return {operations(after) - operations(before), bytes(after) - bytes(before)};
}

} // namespace

std::uint64_t comm_onesea::channel::buffer(std::uint64_t which) const
{
    return offset + line + which * rounded(capacity * sizeof(double));
}

std::uint64_t comm_onesea::channel::end() const { return buffer(2); }

comm_onesea::comm_onesea() : rank_(sea_rank()), size_(sea_size()) {}

comm_onesea::~comm_onesea()
{
    if (!slabs_.empty()) sea_heap_free(slabs_[static_cast<std::size_t>(rank_)]);
}

int comm_onesea::open(int partner, std::size_t capacity)
{
    channels_.push_back({partner, capacity, channels_.empty() ? 0 : channels_.back().end(), 0});
    return static_cast<int>(channels_.size()) - 1;
}

void comm_onesea::connect()
{
    const std::uint64_t bytes = channels_.back().end();
    sea_addr slab = SEA_NULL;
    check(sea_heap_alloc(rank_, bytes, &slab), "sea_heap_alloc");
    memory_ = static_cast<char *>(sea_local(slab));
    std::memset(memory_, 0, bytes);
    slabs_.resize(static_cast<std::size_t>(size_));
    check(sea_allgather(SEA_TEAM_WORLD, &slab, slabs_.data(), sizeof slab), "sea_allgather");
}

// The partner's death ends a waiting rank too, whatever the launcher was told to do about deaths.
const double *comm_onesea::await(const channel &link)
{
    const auto *counter = reinterpret_cast<const sea_counter *>(memory_ + link.offset);
    for (;;) {
        int status = sea_counter_wait(counter, link.exchanges, patience);
        if (status == SEA_OK) break;
        if (status != SEA_ERR_TIMEOUT) check(status, "sea_counter_wait");
        if (sea_alive(link.partner) != 1)
            throw std::runtime_error("rank " + std::to_string(link.partner) + " ended while others waited for it");
    }
    return reinterpret_cast<const double *>(memory_ + link.buffer((link.exchanges - 1) % 2));
}

std::span<const double> comm_onesea::exchange(int number, std::span<const double> mine, std::size_t expected)
{
    channel &link = channels_[static_cast<std::size_t>(number)];
    if (mine.size() > link.capacity || expected > link.capacity)
        throw std::runtime_error("a channel's buffer is too small");
    const std::uint64_t landing = link.buffer(link.exchanges++ % 2);
    if (link.partner == rank_) {
        std::memcpy(memory_ + landing, mine.data(), mine.size_bytes());
        return {reinterpret_cast<const double *>(memory_ + landing), expected};
    }
    const sea_addr slab = slabs_[static_cast<std::size_t>(link.partner)];
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT; // so that both directions are under way while this rank waits for the partner's data
    opts.origin_counter = &sent_;
    check(sea_put_signal(slab + landing, mine.data(), mine.size_bytes(), slab + link.offset, 1, SEA_SIGNAL_ADD, &opts),
          "sea_put_signal");
    ++started_;
    const double *arrived = await(link);
    check(sea_counter_wait(&sent_, started_, SEA_FOREVER), "sea_counter_wait");
    return {arrived, expected};
}

void comm_onesea::barrier() { check(sea_barrier(SEA_TEAM_WORLD), "sea_barrier"); }

double comm_onesea::maximum(double value)
{
    double result = value;
    check(sea_allreduce(SEA_TEAM_WORLD, &value, &result, 1, SEA_DOUBLE, SEA_MAX), "sea_allreduce");
    return result;
}

namespace {

std::vector<sea_pair_stats> stats_of_all(int size)
{
    std::vector<sea_pair_stats> result(static_cast<std::size_t>(size));
    for (int other = 0; other < size; ++other)
        check(sea_stats(other, &result[static_cast<std::size_t>(other)]), "sea_stats");
    return result;
}

} // namespace

void comm_onesea::start_counting() { before_ = stats_of_all(size_); }
void comm_onesea::stop_counting() { after_ = stats_of_all(size_); }

std::vector<pair_traffic> comm_onesea::traffic()
{
    struct entry {
        sent_to sent;
        char transport[16];
    };
    const auto n = static_cast<std::size_t>(size_);
    std::vector<entry> mine(n), all(n * n);
    for (int to = 0; to < size_; ++to) {
        auto i = static_cast<std::size_t>(to);
        mine[i].sent = difference(before_[i], after_[i]);
        const char *transport = sea_transport(to);
        std::strncpy(mine[i].transport, transport != nullptr ? transport : "?", sizeof mine[i].transport - 1);
    }
    check(sea_allgather(SEA_TEAM_WORLD, mine.data(), all.data(), n * sizeof(entry)), "sea_allgather");
    std::vector<pair_traffic> result;
    for (int i = 0; rank_ == 0 && i < size_ * size_; ++i) {
        const entry &e = all[static_cast<std::size_t>(i)];
        if (e.sent.operations > 0)
            result.push_back({i / size_, i % size_, e.transport, e.sent.operations, e.sent.bytes});
    }
    return result;
}

} // namespace npb
