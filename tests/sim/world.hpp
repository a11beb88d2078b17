// SPDX-License-Identifier: Apache-2.0
// A job of several ranks over a simulated network: random operations, random faults, and a model of how it must end.
//
// Each rank has the real net transport, with all that stands in it (links made by the first packet, shared receive
// buffers, batches, timers), over a simulated port. A run is a function of its family and its seed. Wherever something
// is not as it must be, wrong() is told; the run ends there.
#pragma once

#include "network.hpp"
#include "rank.hpp"

#include <deque>
#include <functional>
#include <map>
#include <queue>

namespace onesea::sim {

enum class family { loss, bursts, hostile, partitions, give_up, stops, clocks, refusals, deaths, everything };
inline constexpr family families[] = {family::loss,    family::bursts,    family::hostile, family::partitions,
                                      family::give_up, family::stops,     family::clocks,  family::refusals,
                                      family::deaths,  family::everything};
const char *name_of(family f);

struct plan {
    unsigned ranks = 2, operations = 40;
    net::secure_mode mode = net::secure_mode::auth;
    std::uint32_t mtu = 1500;
    nanoseconds give_up = net::default_give_up;
    std::uint32_t trust = 256;
    nanoseconds gap = 0;            // between two operations of a rank, at most
    std::uint64_t longest = 20'000; // bytes of a put or get
    damage wrong;
    // Chance of a fault with each operation that begins, and the kinds of faults.
    double faults = 0;
    bool partitions = false, long_partitions = false, stops = false, jumps = false, deaths = false;
};

// What a run, or many, has seen: a test that shows nothing fails.
struct sightings {
    tally wire;
    std::map<int, std::uint64_t> ends; // operations by status
    std::uint64_t packets_lost = 0, landed = 0, partitions = 0, stops = 0, jumps = 0, deaths = 0;
    void add(const sightings &other);
};

class world {
  public:
    world(family f, std::uint64_t seed);
    ~world();

    // False: see problem().
    bool run();
    const std::string &problem() const { return problem_; }
    const sightings &seen() const { return seen_; }
    std::uint64_t trace() const { return network_->trace(); } // equal for equal runs

    // For the ranks.
    unsigned ranks_planned() const { return plan_.ranks; }
    rank &at(unsigned r) { return *ranks_[r]; }
    operation *find(std::uint64_t id) { return id - 1 < operations_.size() ? &operations_[id - 1] : nullptr; }
    std::deque<operation> &operations() { return operations_; }
    bool links_may_fail() const { return plan_.long_partitions; }
    void wrong(std::string text);
    void count_landed(std::uint64_t bytes) { seen_.landed += bytes; }
    void count_end(const operation &op) { ++seen_.ends[op.status]; }

  private:
    struct event {
        nanoseconds at;
        std::uint64_t order;
        std::function<void()> what;
        bool operator<(const event &o) const { return at != o.at ? at > o.at : order > o.order; }
    };

    network::random_engine random_;
    plan plan_;
    std::unique_ptr<network> network_;
    std::vector<std::unique_ptr<rank>> ranks_;
    std::deque<operation> operations_;
    std::priority_queue<event> events_;
    std::uint64_t order_ = 0;
    std::string problem_;
    sightings seen_;
    nanoseconds now_of_serves_ = 0;
    unsigned serves_now_ = 0;

    std::uint64_t up_to(std::uint64_t n) { return random_() % (n + 1); }
    bool chance(double rate) { return double(random_() >> 11) * 0x1p-53 < rate; }
    void at_time(nanoseconds when, std::function<void()> what) { events_.push({when, order_++, std::move(what)}); }

    profile any_tuning();
    void make_rank(unsigned r);
    bool steps(const std::function<bool()> &over, nanoseconds limit);
    void step(nanoseconds to);
    void serve(unsigned r);
    void look_at_timers(unsigned r);
    void keep_beginning(unsigned r);
    void begin_one(unsigned r);
    bool choose(operation &op);
    bool choose_cell(operation &op);
    void random_fault();
    void partition();
    void kill(unsigned r);
    void tell_death(unsigned r, unsigned dead);
    void tell_leave(unsigned r, unsigned left);
    bool all_over() const;
    bool at_rest() const;
    void leave_one_by_one();
    std::string unfinished_text() const;
};

plan make_plan(family f, network::random_engine &random);

} // namespace onesea::sim
