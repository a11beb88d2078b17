// SPDX-License-Identifier: Apache-2.0
// The options that all benchmarks share, and what is done with the figures at the end.
#pragma once

#include "driver/figures.hpp"
#include "driver/table.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct options {
    bool quick = false, json = false, no_peers = false;
    int runs = 0;       // 0: the benchmark's own number
    double seconds = 0; // that --quick may take before it leaves out the rest; 0: the benchmark's own
    std::string out, secure = "auth";
    std::vector<std::string> cases, paths;

    bool wants_case(const std::string &name) const;
    bool wants_path(const std::string &name) const;
    bool names_path(const std::string &name) const; // for one that is not measured unless it is asked for
};

// Time that is left of a --quick run; without --quick there is always enough.
class budget {
  public:
    static constexpr double quick_seconds = 13; // of the 20 it may take: the last program may need a moment to end
    budget(bool quick, double seconds);
    explicit budget(const options &o, double seconds = quick_seconds);
    double left() const; // seconds
    bool spent() const { return left() <= 0; }

  private:
    double end_;
};

// What an option names cannot be written.
struct place_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Makes the folder of --out, and looks whether a file finds room there; throws place_error. "": none.
void prepare_folder(const std::string &folder);

// Into the folder of --out; throws place_error.
void write_file(const std::string &folder, const std::string &name, const std::string &text);

// Progress for the person who waits: one line on stderr.
void progress(const std::string &line);

// Prints the figures as asked and writes the files of --out: NAME.json (one object a line) and what `pictures` draws.
void publish(const std::vector<figure> &figures, const options &o, const std::string &name,
             const std::function<std::vector<std::pair<std::string, std::string>>()> &pictures,
             const std::function<std::string(const std::vector<figure> &)> &for_people = table);

} // namespace bench
