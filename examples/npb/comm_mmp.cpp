// SPDX-License-Identifier: Apache-2.0
// The back end over MMP. Receives are posted before anything is sent, so that what arrives goes straight to its place,
// and are waited for in the order in which they complete. The keys lie in memory that the ranks of a node share: there
// they are copied once.
//
// All gather: in step k every rank sends its part to the k-th rank after it. The tag is the number of the call, so that
// parts of two calls are told apart; a rank may be one call ahead.
#include "comm.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mmp.h>
#include <stdexcept>

namespace npb {
namespace {

enum tags { keys_tag = 0, gather_tag = 1, gather_tags = 2, exchange_tag = 3 }; // channel c of CG: exchange_tag + c

void check(int status, const char *call)
{
    if (status != MP_OK)
        throw std::runtime_error(std::string(call) + ": " + MP_strerror(status) + ": " + MP_last_error());
}

struct channel {
    int partner;
    std::vector<double> arrived;
};

// Keys that the other ranks of the node can reach.
class shared_keys {
  public:
    shared_keys() = default;
    ~shared_keys() { MP_free(keys_.data()); }
    shared_keys(const shared_keys &) = delete;
    shared_keys &operator=(const shared_keys &) = delete;

    std::span<key> allocate(std::size_t count)
    {
        void *memory = nullptr;
        check(MP_alloc(std::max<std::size_t>(count, 1) * sizeof(key), &memory), "MP_alloc");
        keys_ = {static_cast<key *>(memory), count};
        return keys_;
    }

  private:
    std::span<key> keys_;
};

class comm_mmp final : public comm {
  public:
    comm_mmp()
        : rank_(MP_rank()), size_(MP_size()), requests_(static_cast<std::size_t>(size_) * 2),
          keys_sent_(static_cast<std::size_t>(size_))
    {
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string describe() const override { return "messages of MMP"; }
    double seconds() const override { return MP_time(); }
    void barrier() override { check(MP_barrier(), "MP_barrier"); }
    void allgather(const void *mine, void *all, std::size_t bytes) override;
    int open(int partner, std::size_t capacity) override;
    void connect() override {}
    std::span<const double> exchange(int channel, std::span<const double> mine, std::size_t expected) override;
    std::span<key> open_landing(std::size_t capacity, std::size_t own) override;
    void deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                 const arrival_fn &arrived) override;

  private:
    // Those of receives by source, then those of sends by target.
    MP_request &receive_of(int source) { return requests_[static_cast<std::size_t>(source)]; }
    MP_request &send_to(int target) { return requests_[static_cast<std::size_t>(size_ + target)]; }

    int rank_, size_;
    std::vector<channel> channels_;
    std::vector<key> landing_;
    shared_keys own_keys_;
    std::vector<MP_request> requests_, keys_sent_;
    int gathers_ = 0;
};

void comm_mmp::allgather(const void *mine, void *all, std::size_t bytes)
{
    const int tag = gather_tag + gathers_++ % gather_tags;
    const auto place = [&](int rank) { return static_cast<char *>(all) + static_cast<std::size_t>(rank) * bytes; };
    for (int step = 1; step < size_; ++step) {
        const int source = (rank_ - step + size_) % size_;
        check(MP_receive(source, tag, place(source), bytes, &receive_of(source)), "MP_receive");
    }
    for (int step = 1; step < size_; ++step) {
        const int target = (rank_ + step) % size_;
        check(MP_send(target, tag, mine, bytes, &send_to(target)), "MP_send");
    }
    std::memcpy(place(rank_), mine, bytes);
    check(MP_wait_all(requests_.data(), 2 * size_, nullptr), "MP_wait_all");
    check(MP_wait_all(keys_sent_.data(), size_, nullptr), "MP_wait_all");
}

int comm_mmp::open(int partner, std::size_t capacity)
{
    channels_.push_back({partner, std::vector<double>(capacity)});
    return static_cast<int>(channels_.size()) - 1;
}

std::span<const double> comm_mmp::exchange(int number, std::span<const double> mine, std::size_t expected)
{
    channel &link = channels_[static_cast<std::size_t>(number)];
    double *const place = link.arrived.data();
    if (link.partner == rank_) {
        std::memcpy(place, mine.data(), mine.size_bytes());
        return {place, expected};
    }
    MP_request receive;
    check(MP_receive(link.partner, exchange_tag + number, place, expected * sizeof(double), &receive), "MP_receive");
    check(MP_send(link.partner, exchange_tag + number, mine.data(), mine.size_bytes(), nullptr), "MP_send");
    check(MP_wait(&receive, nullptr), "MP_wait");
    return {place, expected};
}

std::span<key> comm_mmp::open_landing(std::size_t capacity, std::size_t own)
{
    landing_.resize(capacity);
    return own_keys_.allocate(own);
}

void comm_mmp::deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                       const arrival_fn &arrived)
{
    for (int step = 1; step < size_; ++step) {
        const int source = (rank_ - step + size_) % size_;
        const incoming_keys &part = incoming[static_cast<std::size_t>(source)];
        check(MP_receive(source, keys_tag, landing_.data() + part.place, part.count * sizeof(key), &receive_of(source)),
              "MP_receive");
    }
    for (int step = 1; step < size_; ++step) {
        const int target = (rank_ + step) % size_;
        const std::span<const key> keys = outgoing[static_cast<std::size_t>(target)].keys;
        check(MP_send(target, keys_tag, keys.data(), keys.size_bytes(), &keys_sent_[static_cast<std::size_t>(target)]),
              "MP_send");
    }
    for (int left = size_ - 1; left > 0; --left) {
        int source = -1;
        check(MP_wait_any(requests_.data(), size_, &source, nullptr), "MP_wait_any");
        const incoming_keys &part = incoming[static_cast<std::size_t>(source)];
        arrived(source, {landing_.data() + part.place, part.count});
    }
}

} // namespace

std::unique_ptr<comm> join(int &, char **&)
{
    check(MP_init(), "MP_init");
    return std::make_unique<comm_mmp>();
}

void leave() { check(MP_finalize(), "MP_finalize"); }

void give_up(const std::string &text)
{
    if (MP_size() > 0) MP_abort(1, text.c_str());
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(1);
}

} // namespace npb
