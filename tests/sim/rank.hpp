// SPDX-License-Identifier: Apache-2.0
// A rank of the simulation: its memory, its operations, and what it does for others. It speaks frames as src/core does
// (core itself is one per process and has threads): put, get, data, atomic, value, am, signal, done, notices for
// errors.
#pragma once

#include "net/net_transport.hpp"
#include "operation.hpp"

#include <memory>
#include <vector>

namespace onesea::sim {

class world;

class rank final : public sink {
  public:
    static constexpr unsigned shared_words = 4; // for additions; as many follow for contests
    static constexpr std::uint64_t cells_from = 8 * 2 * shared_words;

    rank(world &w, unsigned self, std::vector<std::uint64_t> cell_sizes);

    counts_page counts;
    std::unique_ptr<transport> net;
    std::vector<std::byte> memory;
    std::vector<cell> cells;
    unsigned to_begin = 0;   // operations that it will still begin
    unsigned unfinished = 0; // begun
    bool dead = false;
    std::vector<bool> gone; // ranks that it was told to have died

    void begin(operation &op);
    void fail_towards(unsigned target, int status); // no answers will come from there
    static void leave_unsure(const operation &op);
    // Empty, or what is wrong with the memory when nothing is on its way any more.
    std::string check_memory() const;

    void receive(int source, const frame &head, std::span<const std::byte> payload) override;
    bool expects(expectation *next) override;
    void unreachable(int source) override;

  private:
    std::uint64_t being_answered_ = 0; // the get of whose answer more may come next; 0: none
    world &world_;
    unsigned self_;
    std::vector<std::uint64_t> sent_, received_; // ordered messages, by rank

    void send(operation &op, outgoing m);
    void begin_put(operation &op);
    void begin_atomic(operation &op);
    void settled(operation &op, int status);
    void answered(operation &op, int status);
    void finish_if_over(operation &op);
    void finish(operation &op);
    std::string check(const operation &op) const;
    std::string check_cell(const cell &c) const;

    operation *request(int source, const frame &head);
    operation *mine(int source, const frame &head);
    void on_put(operation &op, const frame &head, std::span<const std::byte> payload);
    void on_signal(operation &op, const frame &head, std::span<const std::byte> payload);
    void on_get(operation &op, const frame &head);
    void on_atomic(operation &op, const frame &head, std::span<const std::byte> payload);
    void on_message(operation &op, const frame &head, std::span<const std::byte> payload);
    void on_data(operation &op, const frame &head, std::span<const std::byte> payload);
    void send_done(const operation &op, int status);
    std::uint64_t word(std::uint64_t offset) const;
    bool fits(std::uint64_t offset, std::uint64_t bytes) const;
};

} // namespace onesea::sim
