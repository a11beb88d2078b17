// SPDX-License-Identifier: Apache-2.0
// The ends of channels that this process has opened, by name, and what became known of channels that it has not opened
// yet.
//
// On the wire an end is named by the other rank, the direction and a running number: the n-th channel that each of the
// two opens in that direction is the same one. A process keeps two numbers per rank that it ever opened channels with,
// an end from its opening until its close is complete, and a word for each receiving end of others that no sender here
// has opened yet.
//
// Under the caller's lock.
#pragma once

#include "msg/channel_end.hpp"

#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

namespace onesea::msg {

class channel_table {
  public:
    explicit channel_table(channel_courier &outside) : outside_(outside) {}

    sea_channel open(int peer, bool sends);
    const channel_end *find(sea_channel name) const; // an open one; nullptr: there is none
    // A request gets its place; the token names it from then on.
    std::uint64_t add(sea_channel name, channel_request r);
    void started(sea_channel name, std::uint64_t token, std::uint64_t operation);
    void cancelled(sea_channel name, std::uint64_t token);
    void withdraw(sea_channel name, std::uint64_t token);
    void fetched(channel_fetch *f, int status);

    void receive(int source, std::uint8_t note, std::uint64_t index, std::uint64_t id,
                 std::span<const std::byte> payload);
    void gone(int rank, int status);
    void awaited(std::set<int> &ranks) const; // adds the other ranks of ends with requests
    void clear();

    std::size_t ends() const { return by_name_.size(); }
    std::size_t strangers() const { return early_.size(); }

  private:
    struct wire_name {
        int peer;
        bool sends; // this rank does
        std::uint64_t index;
        bool operator==(const wire_name &) const = default;
    };
    struct wire_hash {
        std::size_t operator()(const wire_name &n) const
        {
            return ((n.index << 25) ^ (std::uint64_t(n.peer) << 1) ^ std::uint64_t(n.sends)) * 0x9e3779b97f4a7c15u >> 7;
        }
    };
    enum class early : std::uint8_t { opened, opened_and_closed };

    channel_courier &outside_;
    std::uint64_t names_ = 0, tokens_ = 0;
    std::unordered_map<sea_channel, std::unique_ptr<channel_end>> by_name_;
    std::unordered_map<wire_name, sea_channel, wire_hash> by_wire_;
    std::unordered_map<wire_name, early, wire_hash> early_;
    std::unordered_map<int, std::uint64_t> next_[2]; // by peer; [1]: this rank sends

    channel_end *end(sea_channel name);
    // Lets `use` work on an end and forgets the end if it is over then.
    template <class Use>
    void visit(sea_channel name, Use &&use);
    template <class Use>
    void visit(channel_end &e, Use &&use);
    void hear(channel_end &e, channel_note note, std::uint64_t id, std::span<const std::byte> payload);
    void hear_early(const wire_name &name, channel_note note, std::uint64_t id);
    void forget(sea_channel name);
};

} // namespace onesea::msg
