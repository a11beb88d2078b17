// SPDX-License-Identifier: Apache-2.0
// The page of a process: its counts, in memory that others can read while it runs and after it was killed.
//
//   +--------+------------------+-----------------------------+-----------+-----------+
//   | header | owners [windows] | windows of the inlined path | 64 rows   | 64 rows   |  ...
//   +--------+------------------+-----------------------------+-----------+-----------+
//     4 KiB    whose they are     as many as ranks of the node   added when more ranks are spoken to
//
// One memfd without a name: the agent makes it and keeps it, the rank inherits it and maps it. A row belongs to one
// other rank and is made when that rank is spoken to, so that a job of any size costs what its conversations cost. The
// windows (onesea/inline.h) are those that the inlined path looks into anyway: it counts in them at no further cost.
// The file only grows (it is sealed against shrinking), so a reader that has mapped it is safe. Readers: src/observe.
#pragma once

#include "base/counts.hpp"
#include "base/histogram.hpp"
#include "onesea.h"

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace onesea {

inline constexpr std::uint32_t counts_magic = 0x434f4531; // "1EOC"
inline constexpr std::uint32_t counts_version = 2;
inline constexpr const char *counts_name = "onesea-counts"; // what /proc shows of the memfd

struct alignas(64) pair_row {
    std::int32_t rank; // the other one
    count_word smoothed_ns;
    pair_counts counts;
    histogram round_trips;
};
static_assert(sizeof(pair_row) == 1024);

// What its owner waits for, in words, when its agent asked last.
struct wait_report {
    std::atomic<std::uint32_t> answers; // the number of that question; written last
    std::atomic<std::uint32_t> bytes;
    char text[2000];
    void write(std::uint32_t question, std::string_view what);
};

struct counts_header {
    std::uint32_t magic, version;
    std::int32_t rank;
    std::uint32_t windows;
    std::uint64_t job;                            // the same in all pages of a job; 0: a job of one
    std::uint64_t owners_at, windows_at, rows_at; // byte offsets
    std::atomic<std::int32_t> pid;                // 0: it has not called sea_init() yet
    std::atomic<std::uint32_t> rows;              // filled in
    process_counts process;
    count_word waiting_since; // now_ns(), of the thread that waits in the library for longest; 0: none does
    wait_report waits;
};

class counts_page {
  public:
    static constexpr unsigned rows_at_once = 64;

    counts_page() : counts_page(-1, nullptr) {} // nobody else's: tests
    ~counts_page();
    counts_page(const counts_page &) = delete;
    counts_page &operator=(const counts_page &) = delete;

    // A memfd (close-on-exec) with an empty page for a rank with that many ranks on its node. Descriptor or -errno.
    static int create(int rank, unsigned slots, std::uint64_t job = 0);
    // Maps the page of this process; owns the descriptor on success. nullptr and *error (positive) otherwise.
    static std::unique_ptr<counts_page> map(int fd, int *error);

    process_counts &process() { return header_->process; }
    count_word &waiting_since() { return header_->waiting_since; }
    wait_report &waits() { return header_->waits; }
    // The row of a rank, made at the first call; stays where it is. Any thread. Without memory for it: a row that
    // nobody reads, and `unrecorded` counts it.
    pair_row &row_of(int rank);
    pair_row *find(int rank); // nullptr: it has none

    // The table of the inlined path, a power of two, and whose each entry is (rank + 1; 0: nobody's).
    std::span<sea_window_> windows() { return windows_; }
    std::span<std::int32_t> owners() { return owners_; }

  private:
    counts_page(int fd, counts_header *header);
    pair_row *add_rows();

    int fd_;
    counts_header *header_; // written for readers: a stray store into it leads nobody here astray
    std::span<std::int32_t> owners_;
    std::span<sea_window_> windows_;
    const std::uint64_t rows_at_;
    std::mutex mutex_; // of what follows
    std::uint32_t rows_ = 0;
    std::unordered_map<int, pair_row *> row_of_;
    std::vector<pair_row *> chunks_; // of rows_at_once
    std::unique_ptr<pair_row> nobodys_;
};

} // namespace onesea
