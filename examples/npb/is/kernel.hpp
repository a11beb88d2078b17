// SPDX-License-Identifier: Apache-2.0
// IS: the ranks of many small integer keys. Each process has its part of the keys at first; in the end each knows the
// ranks of all keys in its part of the range.
#pragma once

#include "../comm.hpp"
#include "problem.hpp"

#include <functional>

namespace npb::is {

struct outcome {
    int tests_passed = 0; // partial verification: of all iterations, 5 each
    bool sorted = false;  // full verification: the last ranks put all keys in order
    double seconds = 0;   // of the slowest process
};

// Called after every timed iteration with its number from 1.
using progress_fn = std::function<void(int)>;

class kernel {
  public:
    // Makes this process's keys and opens the landing. Collective.
    kernel(const problem &given, comm &peers);

    // The benchmark: one ranking that is not timed, the timed ones, the full verification. Collective.
    outcome run(const progress_fn &progress);

    // One ranking; how many of the five keys have the published rank. Collective.
    int rank_keys(int iteration);

    // After a ranking: the values of which this process knows the ranks, [first, last) ...
    key first_value() const { return first_value_; }
    key last_value() const { return last_value_; }
    // ... and how many keys of all processes are less than a value of those.
    std::uint32_t rank_of(key value) const { return ranks_[value - first_value_]; }

    // Whether the ranks put all keys of all processes in order. Collective.
    bool verify_all();

  private:
    using count = std::uint32_t;

    void change_keys(int iteration);
    void count_buckets(int iteration);
    void deal_out(); // from the counts of all processes: who takes which buckets, what goes where
    void fill_buckets();
    void receive_and_count();
    void add_up();
    int check_tests(int iteration) const;
    bool put_in_order(std::vector<key> &sorted) const;

    std::size_t parts() const { return static_cast<std::size_t>(peers_.size()); }
    std::size_t me() const { return static_cast<std::size_t>(peers_.rank()); }
    std::size_t buckets() const { return std::size_t(1) << buckets_log_; }
    const count *shared_by(std::size_t process) const { return &shared_[process * shared_length_]; }

    const problem &given_;
    comm &peers_;
    int buckets_log_, shift_; // a key's bucket is key >> shift_
    std::size_t first_key_;   // index of mine among all
    std::vector<key> keys_;

    std::size_t shared_length_; // what a process tells the others: its count of each bucket, then the test keys
    std::vector<count> mine_, shared_;
    std::vector<std::size_t> takes_; // process i takes the buckets [takes_[i], takes_[i + 1])
    std::vector<outgoing_keys> outgoing_;
    std::vector<incoming_keys> incoming_;
    std::span<key> by_bucket_;                // my keys, bucket by bucket
    std::vector<std::span<const key>> parts_; // the keys of my buckets, by source
    key first_value_ = 0, last_value_ = 0;
    std::uint32_t below_ = 0;  // keys in buckets below mine
    std::vector<count> ranks_; // first counts, then ranks, of the values of my buckets
};

} // namespace npb::is
