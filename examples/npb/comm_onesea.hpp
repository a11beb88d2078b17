// SPDX-License-Identifier: Apache-2.0
// The one-sided back end: exchanges by put-with-signal into the partner's global heap.
#pragma once

#include "comm.hpp"

#include <cstdint>
#include <onesea.h>

namespace npb {

// Constructed after sea_init(), destroyed before sea_finalize(). Every failure is an exception with the library's
// words.
class comm_onesea final : public comm {
  public:
    comm_onesea();
    ~comm_onesea() override;
    comm_onesea(const comm_onesea &) = delete;
    comm_onesea &operator=(const comm_onesea &) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    int open(int partner, std::size_t capacity) override;
    void connect() override;
    std::span<const double> exchange(int channel, std::span<const double> mine, std::size_t expected) override;
    void barrier() override;
    double maximum(double value) override;
    double seconds() const override { return sea_time(); }
    void start_counting() override;
    void stop_counting() override;
    std::vector<pair_traffic> traffic() override;

  private:
    struct channel {
        int partner;
        std::size_t capacity;    // doubles in each of its two buffers
        std::uint64_t offset;    // of its counter in the slab; the buffers follow
        std::uint64_t exchanges; // begun
        std::uint64_t buffer(std::uint64_t which) const;
        std::uint64_t end() const;
    };

    const double *await(const channel &link);

    int rank_, size_;
    std::vector<channel> channels_;
    std::vector<sea_addr> slabs_; // of every rank
    char *memory_ = nullptr;      // of my slab
    sea_counter sent_{};          // puts whose source may be reused
    std::uint64_t started_ = 0;
    std::vector<sea_pair_stats> before_, after_;
};

} // namespace npb
