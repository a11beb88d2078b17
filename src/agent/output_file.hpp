// SPDX-License-Identifier: Apache-2.0
// A file that the user has named, to be written without ever blocking the launcher: at once if it is a regular one;
// what else a name may stand for (a pipe, a terminal, a device) gets as much as it takes.
#pragma once

#include "agent/byte_sink.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace onesea::agent {

class output_file {
  public:
    // Makes the file if there is none, and leaves in it what is there. nullptr and *why if it cannot be written.
    static std::unique_ptr<output_file> open(event_loop &loop, const std::string &path, std::string *why);
    ~output_file();
    output_file(const output_file &) = delete;
    output_file &operator=(const output_file &) = delete;

    void empty(); // what it held before is gone, if it is a regular file
    void write(std::string_view bytes);
    bool takes_all() const { return !sink_; } // at once
    std::size_t queued() const { return sink_ ? sink_->queued() : 0; }
    int error() const { return sink_ ? sink_->error() : error_; } // the last one, 0: everything is written, or queued
    void on_progress(const std::function<void()> &fn);

  private:
    explicit output_file(int fd) : fd_(fd) {}

    const int fd_;
    int error_ = 0;
    std::unique_ptr<byte_sink> sink_; // of what is no regular file
};

} // namespace onesea::agent
