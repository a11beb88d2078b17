// SPDX-License-Identifier: Apache-2.0
// Writes to the launcher's stdout, stderr or a file without ever blocking the launcher on a slow reader.
#pragma once

#include "agent/event_loop.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace onesea::agent {

class byte_sink {
  public:
    byte_sink(event_loop &loop, int fd);
    ~byte_sink();
    byte_sink(const byte_sink &) = delete;
    byte_sink &operator=(const byte_sink &) = delete;

    void write(std::string_view bytes);
    std::size_t queued() const { return buffer_.size() - start_; }
    int error() const { return error_; } // of the last write; what comes after an error is dropped
    void on_progress(std::function<void()> fn) { progress_ = std::move(fn); }

  private:
    void write_some();
    bool ready() const;

    event_loop &loop_;
    const int own_; // a terminal or a pipe, opened once more; -1: none
    const int fd_;
    const mode_t kind_; // S_IFREG, S_IFSOCK, ...
    std::string buffer_;
    std::size_t start_ = 0;
    int error_ = 0;
    bool watched_ = false;
    std::function<void()> progress_;
};

} // namespace onesea::agent
