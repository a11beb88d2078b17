// SPDX-License-Identifier: Apache-2.0
// A back end that passes everything on to another one and measures, between start_counting() and stop_counting(), where
// a rank's time goes: how long its calls take (without what the kernel does in arrived()), and what the process used.
#pragma once

#include "comm.hpp"

namespace npb {

// Means over all ranks.
struct spending {
    double computing, gathering, delivering, exchanging; // seconds of the timed part: outside, and inside of calls
    double user, system;                                 // processor seconds of all threads of a rank
    double sleeps, losses;                               // a thread of a rank gave its processor up; lost it to another
};

class measured_comm final : public comm {
  public:
    explicit measured_comm(std::unique_ptr<comm> inner) : inner_(std::move(inner)) {}

    int rank() const override { return inner_->rank(); }
    int size() const override { return inner_->size(); }
    std::string describe() const override { return inner_->describe(); }
    double seconds() const override { return inner_->seconds(); }
    void barrier() override { inner_->barrier(); }
    void allgather(const void *mine, void *all, std::size_t bytes) override;
    int open(int partner, std::size_t capacity) override { return inner_->open(partner, capacity); }
    void connect() override { inner_->connect(); }
    std::span<const double> exchange(int channel, std::span<const double> mine, std::size_t expected) override;
    std::span<key> open_landing(std::size_t capacity, std::size_t own) override
    {
        return inner_->open_landing(capacity, own);
    }
    void deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                 const arrival_fn &arrived) override;
    void start_counting() override;
    void stop_counting() override;
    std::vector<pair_traffic> traffic() override { return inner_->traffic(); }

    // Collective, after stop_counting(). The same for everybody.
    spending spent();

  private:
    std::unique_ptr<comm> inner_;
    spending mine_{}; // while counting: what stood there at the start, or the time in calls
    double started_ = 0;
};

} // namespace npb
