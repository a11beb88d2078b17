// SPDX-License-Identifier: Apache-2.0
// The pages of the ranks that run on this machine now, and how fast their counts grow: `onesea top`.
#pragma once

#include "observe/page_copy.hpp"

namespace onesea::observe {

// Pages that processes of this user hold open, each once, by job and rank; those of ranks that have not called
// sea_init(), or have ended, are left out.
std::vector<page_copy> running_pages();

// Per second, between two moments.
struct rank_speed {
    int rank = -1, pid = 0;
    std::uint64_t job = 0;
    double operations = 0, bytes_out = 0, bytes_in = 0, packets = 0, lost = 0, dropped = 0;
    double waiting = 0; // seconds per second, of the waits that have ended; summed over threads
    int most_to = -1;   // the rank that it exchanged most bytes with; of equals, most operations
};
// Of the ranks that are in both.
std::vector<rank_speed> speeds(const std::vector<page_copy> &before, const std::vector<page_copy> &after,
                               double seconds);

std::string table(const std::vector<rank_speed> &ranks);

} // namespace onesea::observe
