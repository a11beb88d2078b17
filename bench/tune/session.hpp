// SPDX-License-Identifier: Apache-2.0
// Runs what the experiments ask for and chooses.
#pragma once

#include "driver/cable.hpp"
#include "driver/options.hpp"
#include "driver/picture.hpp"
#include "driver/places.hpp"
#include "tune/choice.hpp"
#include "tune/experiment.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bench {

struct tune_options {
    bool quick = false, json = false, dry_run = false;
    int runs = 0;
    std::string out, secure = "auth", hosts, profile;
    std::vector<std::string> paths, only;

    int turns() const { return runs ? runs : quick ? 3 : 7; }
    int milliseconds() const { return quick ? 6 : 30; }
};

struct tuned_path {
    std::string name; // shm, net, cable, host
    onesea::path_kind kind;
};

struct tuning_step { // one parameter
    const onesea::parameter *what = nullptr;
    std::vector<tried_value> candidates;
    choice chosen;
    std::vector<curve> curves; // what was measured, the chosen value marked
    std::string title, unit;
};

struct path_result {
    tuned_path path;
    onesea::path_tuning usual, chosen;
    std::vector<tuning_step> steps;
    std::vector<curve> figure; // throughput by size: short, tuned, long fragments
};

// The paths that are to be measured.
std::vector<tuned_path> paths_of(const tune_options &o);

// How many jobs that takes, all together.
std::size_t jobs_for(const tune_options &o, const tuned_path &path);

class tune_session {
  public:
    // Finds the programs and makes what the paths need; throws std::runtime_error that says what is missing.
    explicit tune_session(const tune_options &o);
    ~tune_session();
    tune_session(const tune_session &) = delete;
    tune_session &operator=(const tune_session &) = delete;

    // Throws std::runtime_error if a job fails.
    path_result tune(const tuned_path &path, const onesea::path_tuning &before);

  private:
    using measured = std::map<std::string, double>; // by the case's argument

    const tune_options &options_;
    std::string onesea_, worker_, folder_;
    core_pair cores_;
    std::unique_ptr<cable> wire_;
    budget time_;
    std::size_t jobs_ = 0, done_ = 0;
    double began_;

    command job(const tuned_path &path, const std::vector<tune_case> &cases) const;
    measured run_job(const tuned_path &path, const onesea::path_tuning &with, const std::vector<tune_case> &cases);
    void tell(const tuned_path &path, const std::string &what, int turn);
    tuning_step try_values(const tuned_path &path, const experiment &e, const onesea::path_tuning &with);
    tuning_step find_crossing(const tuned_path &path, const experiment &e, const onesea::path_tuning &with);
    std::vector<curve> measure_figure(const tuned_path &path, const onesea::path_tuning &with);
};

} // namespace bench
