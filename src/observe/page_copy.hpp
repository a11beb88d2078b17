// SPDX-License-Identifier: Apache-2.0
// What the page of a process (base/counts_page.hpp) says at one moment, as plain data; and its form in JSON, in which
// agents tell it to the launcher and `onesea run --stats=FILE` writes it.
#pragma once

#include "base/counts.hpp"
#include "base/histogram.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace onesea::observe {

template <class Counts, std::size_t N>
struct values {
    std::array<std::uint64_t, N> by_label{};
    std::uint64_t operator[](count_word Counts::*word) const;
};
using pair_values = values<pair_counts, pair_labels.size()>;
using process_values = values<process_counts, process_labels.size()>;
template <>
std::uint64_t pair_values::operator[](count_word pair_counts::*word) const;
template <>
std::uint64_t process_values::operator[](count_word process_counts::*word) const;

struct pair_copy {
    int rank = -1; // the other one
    pair_values counts;
    std::uint64_t smoothed_ns = 0;
    histogram_copy round_trips;

    std::uint64_t operations() const;
    std::uint64_t bytes() const;
};

struct page_copy {
    int rank = -1;
    int pid = 0; // 0: it has not called sea_init()
    std::uint64_t job = 0;
    process_values process;
    std::vector<pair_copy> pairs;   // of ranks that something was counted for, by rank
    std::uint64_t open_wait_ns = 0; // how long a thread of it has been waiting that still does; not in JSON
};

inline constexpr std::uint32_t any_ranks = 1u << 31;

// Of a rank of a job of so many. Reads without mapping it: whoever owns the page cannot harm the reader. nullopt and
// *problem if it is none.
std::optional<page_copy> read_page(int fd, std::uint32_t ranks, std::string *problem);

// What the owner of a page waits for.
struct wait_copy {
    std::uint32_t answers = 0; // the number of the question; 0: it was never asked
    bool started = false;      // it has called sea_init()
    std::uint64_t ms = 0;      // for which a thread has been waiting in the library; 0: none does
    std::string text;          // what its owner wrote, be it what it may
};
std::optional<wait_copy> read_waits(int fd);

nlohmann::json to_json(const page_copy &page);
page_copy page_from_json(const nlohmann::json &j); // throws nlohmann::json::exception

} // namespace onesea::observe
