// SPDX-License-Identifier: Apache-2.0
// What a benchmark finds out: the runs of one measurement, their summary, and what it is compared with.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace bench {

// Middle value; the mean of the middle two if there are two. `values` must not be empty.
double median(std::vector<double> values);

struct run_result { // one run of one measurement
    double median, p99;
    int turn = 0; // of the benchmark
};

// Who measured what: source ("onesea", "floor", "mpich" ...), its name for it, its metric, bytes.
using series_key = std::tuple<std::string, std::string, std::string, std::size_t>;

// All runs of all measurements.
class series_table {
  public:
    void begin_turn() { ++turn_; }
    void add(const series_key &key, run_result result)
    {
        result.turn = turn_;
        runs_[key].push_back(result);
    }
    const std::vector<run_result> *find(const series_key &key) const;

    // Takes the "result NAME METRIC BYTES MEDIAN P99 SAMPLES" lines of measure.h out of a program's output; gives how
    // many there were. `source` gets a suffix that keeps apart what is to be kept apart.
    std::size_t add_lines(const std::string &source, std::string_view output);

  private:
    std::map<series_key, std::vector<run_result>> runs_;
    int turn_ = 0;
};

struct rival { // a floor or a peer beside a figure
    std::string name, kind, version;
    double median = 0, ratio = 0; // ratio: the figure's median / this median
    double turn_ratio = 0;        // the median of the turns' ratios; 0: it was in no turn of the figure
    double p99 = 0;               // as that of a figure; 0: says nothing
    double lost_percent = -1;     // of what it moved, where that can be; negative: says nothing
};

struct figure {
    std::string bench, name, path, target, secure;
    std::size_t bytes = 0;
    int ranks = 0;
    std::string metric;
    double median = 0, min = 0, max = 0, p99 = 0;
    std::size_t runs = 0;
    std::vector<rival> against = {};
    std::vector<run_result> of = {}; // the runs
};

// In another unit; none of none.
std::vector<run_result> scaled(const std::vector<run_result> *runs, double factor);

// Fills median, min, max, p99, runs and of. The figure is the median of the runs' medians; p99 that of the runs' p99.
void summarise(figure &f, const std::vector<run_result> &runs);

// Adds a rival with its median, p99 and ratios; nothing if it has no runs. A machine that is shared has phases of
// seconds in which everything takes longer: the medians of two may come from different ones, what both took in a turn
// does less.
void compare(figure &f, const rival &with, const std::vector<run_result> *runs);

// Adds that one of them whose median is best: the same thing done in ways of which a user would choose.
void compare_best(figure &f, const std::vector<std::pair<rival, const std::vector<run_result> *>> &ways);

bool more_is_better(std::string_view metric);

// The first floor, and the best peer; null if there is none.
const rival *floor_of(const figure &f);
const rival *best_peer_of(const figure &f);

struct setting { // what figures were measured on
    std::string machine;
    bool trained = false; // the library
};

// One line of JSON, without the newline.
std::string json_line(const figure &f, const setting &on);

} // namespace bench
