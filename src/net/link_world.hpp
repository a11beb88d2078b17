// SPDX-License-Identifier: Apache-2.0
// Tests only: two links over the simulated network, with traffic that checks itself: every message carries its number
// and a pattern; the receiver counts bytes and order, and answers some with a notice that must be known before the
// request settles.
#pragma once

#include "net/simnet.hpp"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace onesea::net::test {

struct body {
    std::uint64_t number, total;
};

class party;

struct request : delivery {
    std::vector<std::uint8_t> data;
    std::uint64_t number = 0;
    bool ordered = false, wants_notice = false;
    int settled_times = 0, status = 1;
    party *owner = nullptr;
};

// One side: sends requests, executes those of the other.
class party final : public sink {
  public:
    simnet *net = nullptr;
    int side = 0;
    party *other = nullptr;
    std::deque<request> requests;
    std::set<std::uint64_t> notices;
    std::vector<std::size_t> executed; // bytes of each request of the other side
    std::uint64_t whole_below = 0;     // all requests of the other side below this one were executed
    std::uint64_t finished = 0;        // own requests that settled
    std::uint64_t live = never;        // a byte of the other side's requests that changes all the time

    void ask(std::size_t bytes, bool borrow, bool ordered, bool wants_notice);
    void settle(request &r, int status);
    void receive(int source, const frame &head, std::span<const std::byte> payload) override;
    bool all_settled() const { return finished == requests.size(); }

  private:
    bool is_right(const request &r, std::size_t from, std::span<const std::byte> got) const;
    void expect_earlier_done(std::uint64_t number);
    void answer(std::uint64_t number);
};

struct world {
    party a, b;
    simnet net;
    explicit world(std::uint64_t seed, const sim_rates &rates = {}, secure_mode mode = secure_mode::auth,
                   std::size_t limit = 1472, nanoseconds give_up = default_give_up,
                   std::array<const path_tuning *, 2> tunings = {&usual_tuning, &usual_tuning}, bool trains = false,
                   std::uint32_t trust = 0);
    ~world();
    bool finish(nanoseconds limit = 600 * second);
    void expect_all_good();
};

} // namespace onesea::net::test
