// SPDX-License-Identifier: Apache-2.0
// Carries the launcher's stdin to ranks, no faster than they read.
#pragma once

#include "agent/event_loop.hpp"

#include <string_view>
#include <vector>

namespace onesea::agent {

class input_pump {
  public:
    using deliver = std::function<void(unsigned rank, std::string_view bytes)>; // empty: end of file

    input_pump(event_loop &loop, std::vector<unsigned> ranks, deliver give);
    ~input_pump();
    input_pump(const input_pump &) = delete;
    input_pump &operator=(const input_pump &) = delete;

    void start();
    void taken(unsigned rank, std::size_t bytes); // the rank has read that much, or will never
    void ended(unsigned rank);

  private:
    void pump();
    void update();
    bool has_room() const;

    event_loop &loop_;
    std::vector<unsigned> ranks_;          // that still read
    std::vector<std::size_t> outstanding_; // by rank
    deliver give_;
    bool open_ = false, watched_ = false, scheduled_ = false;
    event_loop::timer timer_{};
};

} // namespace onesea::agent
