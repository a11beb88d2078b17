// SPDX-License-Identifier: Apache-2.0
// The one-sided back end: puts with signals into the other's global heap. Nobody answers or asks: a rank's only call is
// its put.
//
// CG: each rank has one slab. In it every channel has a counter and two landing buffers:
//
//     slab   | counter  pad | buffer 0 ... | buffer 1 ... | counter  pad | ...
//              channel 0                                    channel 1
//
// Exchange k of a channel puts into the partner's buffer k % 2 and adds 1 to the partner's counter behind it; then it
// waits until its own counter is above k. Why two buffers suffice: the partner writes my buffer k % 2 again in its
// exchange k + 2, which it begins when it has my put of exchange k + 1, which I issue when I no longer read what came
// in exchange k. With one buffer a fast partner's exchange k + 1 would overwrite what I still read.
//
// A put to another node has its data until they are acknowledged, and the partner may compute by then. So such data are
// copied, and an exchange waits for the end of the one before on its channel, not of its own.
//
// IS: each rank has a slab with one entry for every source, its landing, and its own keys:
//
//     slab   | counter, from  pad | counter, from  pad | ... | landing ... | own keys ...
//              source 0             source 1
//
// Delivery k puts keys for another node where they belong and adds 1 to my counter there. A neighbour on this node
// reads them where they are: it is told only where, by `from`, an index of my own keys. The landing needs no second
// copy: who puts in delivery k + 1 has all ranks' counts of it, which they gave when they no longer read what came in
// delivery k; and by then they have what I sent, so it costs no time to wait for that. Keys for other nodes are sent
// first, so that they travel while those of neighbours are counted.
#include "comm.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <onesea.h>
#include <stdexcept>

namespace npb {
namespace {

constexpr std::uint64_t line = 64; // counters of different channels and sources do not share one
constexpr double patience = 1.0;   // seconds between looks whether the partner lives

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + line - 1) / line * line; }

void check(int status, const char *call)
{
    if (status != SEA_OK)
        throw std::runtime_error(std::string(call) + ": " + sea_strerror(status) + ": " + sea_last_error());
}

// Started only, so that all directions are under way while this rank waits for the others' data; counted in `sent` when
// the source may be reused.
void put(sea_addr to, const void *from, std::size_t bytes, sea_addr signal, sea_counter &sent)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.origin_counter = &sent;
    check(sea_put_signal(to, from, bytes, signal, 1, SEA_SIGNAL_ADD, &opts), "sea_put_signal");
}

void wait_until_sent(const sea_counter &sent, std::uint64_t puts)
{
    check(sea_counter_wait(&sent, puts, SEA_FOREVER), "sea_counter_wait");
}

// Memory of the same size in every rank's global heap, zero at first.
class slab {
  public:
    slab(int rank, int size, std::uint64_t bytes) : rank_(rank), starts_(static_cast<std::size_t>(size))
    {
        sea_addr mine = SEA_NULL;
        check(sea_heap_alloc(rank, bytes, &mine), "sea_heap_alloc");
        memory_ = static_cast<char *>(sea_local(mine));
        std::memset(memory_, 0, bytes);
        check(sea_allgather(SEA_TEAM_WORLD, &mine, starts_.data(), sizeof mine), "sea_allgather");
    }
    ~slab() { sea_heap_free(starts_[static_cast<std::size_t>(rank_)]); }
    slab(const slab &) = delete;
    slab &operator=(const slab &) = delete;

    char *mine(std::uint64_t offset) const { return memory_ + offset; }
    sea_addr at(int rank, std::uint64_t offset) const { return starts_[static_cast<std::size_t>(rank)] + offset; }

    // Waits until my counter at that offset is at least `value`. The death of who should add ends a waiting rank too,
    // whatever the launcher was told to do about deaths.
    void await(std::uint64_t offset, std::uint64_t value, int source) const
    {
        const auto *counter = reinterpret_cast<const sea_counter *>(mine(offset));
        for (;;) {
            int status = sea_counter_wait(counter, value, patience);
            if (status == SEA_OK) return;
            if (status != SEA_ERR_TIMEOUT) check(status, "sea_counter_wait");
            if (sea_alive(source) != 1)
                throw std::runtime_error("rank " + std::to_string(source) + " ended while others waited for it");
        }
    }

  private:
    int rank_;
    char *memory_ = nullptr;
    std::vector<sea_addr> starts_; // of every rank's
};

struct channel {
    int partner;
    std::size_t capacity;    // doubles in each of its two buffers
    std::uint64_t offset;    // of its counter in the slab; the buffers follow
    std::uint64_t exchanges; // begun
    bool far;                // the partner is on another node ...
    std::vector<double> out; // ... then: what I sent last
    sea_counter sent;

    std::uint64_t buffer(std::uint64_t which) const
    {
        return offset + line + which * rounded(capacity * sizeof(double));
    }
    std::uint64_t end() const { return buffer(2); }
};

struct sent_to {
    unsigned long long operations, bytes;
};

sent_to difference(const sea_pair_stats &before, const sea_pair_stats &after)
{
    auto operations = [](const sea_pair_stats &s) { return s.puts + s.gets + s.atomics + s.messages + s.copies; };
    auto bytes = [](const sea_pair_stats &s) { return s.bytes_out + s.bytes_in; };
    return {operations(after) - operations(before), bytes(after) - bytes(before)};
}

std::vector<sea_pair_stats> stats_of_all(int size)
{
    std::vector<sea_pair_stats> result(static_cast<std::size_t>(size));
    for (int other = 0; other < size; ++other)
        check(sea_stats(other, &result[static_cast<std::size_t>(other)]), "sea_stats");
    return result;
}

class comm_onesea final : public comm {
  public:
    comm_onesea() : rank_(sea_rank()), size_(sea_size()) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string describe() const override;
    double seconds() const override { return sea_time(); }
    void barrier() override;
    void allgather(const void *mine, void *all, std::size_t bytes) override;
    int open(int partner, std::size_t capacity) override;
    void connect() override { channel_slab_ = std::make_unique<slab>(rank_, size_, channels_.back().end()); }
    std::span<const double> exchange(int channel, std::span<const double> mine, std::size_t expected) override;
    std::span<key> open_landing(std::size_t capacity, std::size_t own) override;
    void deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                 const arrival_fn &arrived) override;
    void start_counting() override { before_ = stats_of_all(size_); }
    void stop_counting() override { after_ = stats_of_all(size_); }
    std::vector<pair_traffic> traffic() override;

  private:
    static bool far(int other) { return sea_node_of(other) != sea_node(); }
    static std::uint64_t counter_of(int source) { return static_cast<std::uint64_t>(source) * line; }
    static std::uint64_t from_of(int source) { return counter_of(source) + sizeof(sea_counter); }
    std::uint64_t landing_at(std::size_t place) const
    {
        return static_cast<std::uint64_t>(size_) * line + place * sizeof(key);
    }
    std::uint64_t own_keys() const { return landing_at(landing_capacity_); }
    const key *keys_from(int source, std::size_t place) const;

    int rank_, size_;
    std::vector<channel> channels_;
    std::unique_ptr<slab> channel_slab_, landing_slab_;
    std::size_t landing_capacity_ = 0;
    std::vector<int> others_;           // in the order in which keys are sent to them
    std::vector<const key *> keys_of_;  // by rank: a neighbour's own keys; nullptr: they come to the landing
    std::vector<std::uint64_t> places_; // by rank: of the keys for it among my own
    std::uint64_t deliveries_ = 0;
    sea_counter keys_sent_{}; // puts whose source may be reused
    std::vector<sea_pair_stats> before_, after_;
};

std::string comm_onesea::describe() const
{
    const int nodes = sea_nodes();
    return std::to_string(nodes) + (nodes == 1 ? " node, " : " nodes, ") + "one-sided puts with signals";
}

// Nothing is under way after it, so that memory may be freed.
void comm_onesea::barrier()
{
    check(sea_fence_all(), "sea_fence_all");
    check(sea_barrier(SEA_TEAM_WORLD), "sea_barrier");
}

void comm_onesea::allgather(const void *mine, void *all, std::size_t bytes)
{
    check(sea_allgather(SEA_TEAM_WORLD, mine, all, bytes), "sea_allgather");
    wait_until_sent(keys_sent_, deliveries_ * others_.size());
}

int comm_onesea::open(int partner, std::size_t capacity)
{
    channels_.push_back({partner, capacity, channels_.empty() ? 0 : channels_.back().end(), 0, far(partner),
                         std::vector<double>(far(partner) ? capacity : 0), sea_counter{}});
    return static_cast<int>(channels_.size()) - 1;
}

std::span<const double> comm_onesea::exchange(int number, std::span<const double> mine, std::size_t expected)
{
    channel &link = channels_[static_cast<std::size_t>(number)];
    if (mine.size() > link.capacity || expected > link.capacity)
        throw std::runtime_error("a channel's buffer is too small");
    wait_until_sent(link.sent, link.partner == rank_ ? 0 : link.exchanges);
    const std::uint64_t buffer = link.buffer(link.exchanges++ % 2);
    const auto *arrived = reinterpret_cast<const double *>(channel_slab_->mine(buffer));
    if (link.partner == rank_) {
        std::memcpy(channel_slab_->mine(buffer), mine.data(), mine.size_bytes());
        return {arrived, expected};
    }
    if (link.far) std::copy(mine.begin(), mine.end(), link.out.begin());
    put(channel_slab_->at(link.partner, buffer), link.far ? link.out.data() : mine.data(), mine.size_bytes(),
        channel_slab_->at(link.partner, link.offset), link.sent);
    channel_slab_->await(link.offset, link.exchanges, link.partner);
    if (!link.far) wait_until_sent(link.sent, link.exchanges);
    return {arrived, expected};
}

std::span<key> comm_onesea::open_landing(std::size_t capacity, std::size_t own)
{
    const auto n = static_cast<std::size_t>(size_);
    landing_capacity_ = capacity;
    landing_slab_ = std::make_unique<slab>(rank_, size_, own_keys() + own * sizeof(key));
    for (int step = 1; step < size_; ++step) others_.push_back((rank_ + step) % size_);
    std::stable_partition(others_.begin(), others_.end(), far);
    keys_of_.resize(n);
    places_.resize(n);
    for (int other : others_) {
        if (far(other)) continue;
        const auto *theirs = static_cast<const key *>(sea_local(landing_slab_->at(other, own_keys())));
        keys_of_[static_cast<std::size_t>(other)] = theirs;
    }
    return {reinterpret_cast<key *>(landing_slab_->mine(own_keys())), own};
}

// What a source has sent, when its counter has told so; `place` in my landing.
const key *comm_onesea::keys_from(int source, std::size_t place) const
{
    const key *theirs = keys_of_[static_cast<std::size_t>(source)];
    if (!theirs) return reinterpret_cast<const key *>(landing_slab_->mine(landing_at(place)));
    std::uint64_t from = 0;
    std::memcpy(&from, landing_slab_->mine(from_of(source)), sizeof from);
    return theirs + from;
}

void comm_onesea::deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                          const arrival_fn &arrived)
{
    ++deliveries_;
    const auto *own = reinterpret_cast<const key *>(landing_slab_->mine(own_keys()));
    for (int other : others_) {
        const auto i = static_cast<std::size_t>(other);
        const outgoing_keys &part = outgoing[i];
        const sea_addr counter = landing_slab_->at(other, counter_of(rank_));
        if (part.place + part.keys.size() > landing_capacity_) throw std::runtime_error("a landing is too small");
        places_[i] = static_cast<std::uint64_t>(part.keys.data() - own);
        if (keys_of_[i])
            put(landing_slab_->at(other, from_of(rank_)), &places_[i], sizeof places_[i], counter, keys_sent_);
        else
            put(landing_slab_->at(other, landing_at(part.place)), part.keys.data(), part.keys.size_bytes(), counter,
                keys_sent_);
    }
    for (auto i = others_.rbegin(); i != others_.rend(); ++i) {
        landing_slab_->await(counter_of(*i), deliveries_, *i);
        const incoming_keys &part = incoming[static_cast<std::size_t>(*i)];
        arrived(*i, {keys_from(*i, part.place), part.count});
    }
}

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
    allgather(mine.data(), all.data(), n * sizeof(entry));
    std::vector<pair_traffic> result;
    for (int i = 0; rank_ == 0 && i < size_ * size_; ++i) {
        const entry &e = all[static_cast<std::size_t>(i)];
        if (e.sent.operations > 0)
            result.push_back({i / size_, i % size_, e.transport, e.sent.operations, e.sent.bytes});
    }
    return result;
}

} // namespace

std::unique_ptr<comm> join(int &, char **&)
{
    check(sea_init(nullptr), "sea_init");
    return std::make_unique<comm_onesea>();
}

void leave() { check(sea_finalize(), "sea_finalize"); }

void give_up(const std::string &text)
{
    if (sea_initialized() != 0) sea_abort(1, text.c_str());
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(1);
}

} // namespace npb
