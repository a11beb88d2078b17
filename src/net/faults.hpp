// SPDX-License-Identifier: Apache-2.0
// Damage on purpose to received datagrams, by rate and seed: the same code is in every build, off by default.
#pragma once

#include "net/net_transport.hpp"
#include "net/port.hpp"

#include <functional>
#include <random>
#include <span>
#include <vector>

namespace onesea::net {

class fault_injector {
  public:
    using deliver_fn = std::function<void(std::span<std::byte>, const endpoint &)>;
    explicit fault_injector(const fault_rates &rates) : rates_(rates), active_(rates.any()), random_(rates.seed) {}

    bool active() const { return active_; }
    bool holding() const { return !held_.empty(); }
    // Loses, doubles, keeps back, or changes the datagram; delivers what is left, then what was kept back before.
    void pass(std::span<std::byte> bytes, const endpoint &from, const deliver_fn &deliver);
    bool release(const deliver_fn &deliver); // was there any?

  private:
    struct kept {
        std::vector<std::uint64_t> bytes; // aligned as packets are
        std::size_t size;
        endpoint from;
    };
    fault_rates rates_;
    bool active_; // looked at for each datagram
    std::mt19937_64 random_;
    std::vector<kept> held_;

    bool happens(double rate) { return rate > 0 && std::uniform_real_distribution<>(0, 1)(random_) < rate; }
    static kept copy(std::span<const std::byte> bytes, const endpoint &from);
};

} // namespace onesea::net
