// SPDX-License-Identifier: Apache-2.0
// What the kernels need of a communication system, and little else. One back end is one file that implements this; the
// kernels and their verification know no other.
//
// CG exchanges vectors with a few partners. A *channel* joins two ranks for exchanges of up to a given number of
// doubles. All ranks open the same number of channels with the same capacities in the same order, and the c-th channel
// of a rank leads to a rank whose c-th channel leads back: so a back end can place the buffers of all channels at equal
// offsets and needs to tell only one address.
//
// IS deals out keys. Each rank has a *landing*, an array that the others' keys come to. Who sends knows where its keys
// belong there, and who receives knows what comes: a one-sided back end writes them to their place and tells it. The
// keys lie in memory that the back end chose, so that others may also read them where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace npb {

using key = std::uint32_t;

// Traffic of one rank with another in the timed part.
struct pair_traffic {
    int from, to;
    std::string transport;
    unsigned long long operations, bytes;
};

// Keys for a rank and the index in its landing where they go.
struct outgoing_keys {
    std::span<const key> keys;
    std::size_t place;
};

// What comes from a rank: so many keys, at this index in my landing.
struct incoming_keys {
    std::size_t place, count;
};

using arrival_fn = std::function<void(int source, std::span<const key>)>;

class comm {
  public:
    virtual ~comm() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual std::string describe() const = 0; // "2 nodes, one-sided puts with signals"
    virtual double seconds() const = 0;

    // Collective: all have come.
    virtual void barrier() = 0;
    // Collective: `all` becomes everybody's `bytes` bytes, in the order of the ranks.
    virtual void allgather(const void *mine, void *all, std::size_t bytes) = 0;
    // Collective: the greatest of all ranks' values, for everybody.
    double maximum(double value);

    // Before connect(). `partner` may be this rank.
    virtual int open(int partner, std::size_t capacity) = 0;
    // Collective, once, after the last open() and before the first exchange().
    virtual void connect() = 0;
    // Sends `mine` to the partner and returns the `expected` doubles that the partner sends. `mine` may be changed on
    // return; what is returned stays until the next exchange on this channel.
    virtual std::span<const double> exchange(int channel, std::span<const double> mine, std::size_t expected) = 0;

    // Collective, once, before the first deliver(): every rank's landing has room for `capacity` keys. Returns memory
    // for `own` keys, which all outgoing ones lie in.
    virtual std::span<key> open_landing(std::size_t capacity, std::size_t own) = 0;
    // Collective. Both lists have an entry for every rank; this rank's own is passed over. Calls arrived() for each
    // other rank when all it sent is there. On return all has arrived. What arrived() got stays, and the outgoing keys
    // must not be changed, until the next allgather() has returned: all take part in one before they call this again,
    // and when they have read what came.
    virtual void deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                         const arrival_fn &arrived) = 0;

    // Traffic is counted between the first two. The third is collective and returns the traffic of all pairs that had
    // any, on rank 0 (nothing elsewhere); nothing at all where a back end cannot tell it.
    virtual void start_counting() {}
    virtual void stop_counting() {}
    virtual std::vector<pair_traffic> traffic() { return {}; }
};

// What a back end gives beside: joins the job; leaves it, after the comm is gone; ends the job because of a failure.
// Failures of the first two are exceptions with the system's own words.
std::unique_ptr<comm> join(int &argc, char **&argv);
void leave();
[[noreturn]] void give_up(const std::string &text);

} // namespace npb
