// SPDX-License-Identifier: Apache-2.0
// The board: memory that all processes of a test share without the library under test. It carries a barrier, words for
// everybody to read, and what each rank is doing. A battery that used the library to prove the library could not tell
// where it broke, nor go on after a rank has died.
//
// The driver (see launch.cpp) holds it in a memfd that ranks open as /proc/<driver>/fd/<n>: no name is left behind.
#pragma once

#include <atomic>
#include <cstdint>

namespace proof {

inline constexpr int most_ranks = 1024;
inline constexpr int words_per_rank = 64;

struct seat {
    std::atomic<int> pid;
    std::atomic<int> line;        // of the last check, for the watchdog
    std::atomic<const char *> at; // meaningful in the rank's own process only
    char step[48];                // name of the step it is in
    std::atomic<std::uint64_t> words[words_per_rank];
};

struct board {
    std::atomic<std::uint64_t> gate; // generation << 32 | arrived << 16 | participants
    std::atomic<int> abandoned;      // a rank could not go on
    std::atomic<int> failures;       // failed checks of all ranks
    std::atomic<std::uint64_t> flags[64];
    seat seats[most_ranks];
};

// From a path; a private one for a job of one if `path` is nullptr. nullptr if that is impossible.
board *open_board(const char *path);

// Tells how many come to the barrier. Everybody says the same before the first barrier.
void set_participants(board &b, unsigned n);

// Nobody leaves before all participants have come. False if a rank has given up meanwhile.
bool barrier(board &b);

// The caller does not come any more.
void leave(board &b);

} // namespace proof
