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
    std::vector<pair_copy> pairs; // of ranks that something was counted for, by rank
};

inline constexpr std::uint32_t any_ranks = 1u << 31;

// Of a rank of a job of so many. Reads without mapping it: whoever owns the page cannot harm the reader. nullopt and
// *problem if it is none.
std::optional<page_copy> read_page(int fd, std::uint32_t ranks, std::string *problem);

nlohmann::json to_json(const page_copy &page);
page_copy page_from_json(const nlohmann::json &j); // throws nlohmann::json::exception

} // namespace onesea::observe
