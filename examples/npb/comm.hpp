// SPDX-License-Identifier: Apache-2.0
// What the kernel needs of a communication system: exchanges between pairs, and little else. One back end is a class
// that implements this; kernel, matrix and verification know no other.
//
// A *channel* joins two ranks for exchanges of up to a given number of doubles. All ranks open the same number of
// channels with the same capacities in the same order, and the c-th channel of a rank leads to a rank whose c-th
// channel leads back: so a back end can place the buffers of all channels at equal offsets and needs to tell only one
// address.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace npb {

// Traffic of one rank with another in the timed part.
struct pair_traffic {
    int from, to;
    std::string transport;
    unsigned long long operations, bytes;
};

class comm {
  public:
    virtual ~comm() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    // Before connect(). `partner` may be this rank.
    virtual int open(int partner, std::size_t capacity) = 0;
    // Collective, once, after the last open() and before the first exchange().
    virtual void connect() = 0;

    // Sends `mine` to the partner and returns the `expected` doubles that the partner sends. `mine` may be changed on
    // return; what is returned stays until the next exchange on this channel.
    virtual std::span<const double> exchange(int channel, std::span<const double> mine, std::size_t expected) = 0;

    // Collective: all have come; and the greatest of all ranks' values, for everybody.
    virtual void barrier() = 0;
    virtual double maximum(double value) = 0;

    virtual double seconds() const = 0;

    // Traffic is counted between the first two. The third is collective and returns the traffic of all pairs that had
    // any, on rank 0 (nothing elsewhere).
    virtual void start_counting() = 0;
    virtual void stop_counting() = 0;
    virtual std::vector<pair_traffic> traffic() = 0;
};

} // namespace npb
