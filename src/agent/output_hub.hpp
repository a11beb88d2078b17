// SPDX-License-Identifier: Apache-2.0
// Where the output of the ranks goes: the terminal, line by line and tagged, and files.
#pragma once

#include "agent/byte_sink.hpp"
#include "agent/lines.hpp"
#include "agent/output_file.hpp"
#include "agent/placement.hpp"

namespace onesea::agent {

class output_hub {
  public:
    // Opens the files of --output, and leaves in them what is there. Throws request_error.
    output_hub(event_loop &loop, const job_request &request, const placement &placed);

    void begin();    // the job starts: what the files held before is gone
    void add_rank(); // one more, placed by now; its trouble with files is told by file_error()
    void take(unsigned rank, int stream, std::string_view bytes); // stream 1 or 2; empty: it is closed
    void say(std::string_view line);                              // by the launcher, to stderr
    void show(std::string_view lines);                            // whole lines as they are, to stderr
    std::size_t queued() const;
    void on_progress(const std::function<void()> &fn);
    bool reader_gone() const;       // nobody reads stdout, or nobody stderr, any more
    std::string file_error() const; // "" if everything reached its file

    // The last lines that the rank wrote to stderr, "" if they were shown already.
    std::string hidden_errors(unsigned rank) const;

  private:
    std::string tag(unsigned rank) const;
    void open_files();
    std::string open_files_of(std::size_t rank); // "", or what is wrong
    void close_file(unsigned rank, int stream);  // no more comes
    void write_file(unsigned rank, int stream, std::string_view bytes);
    std::string error_of(std::size_t file) const; // "": none

    event_loop &loop_;
    const job_request &request_;
    const placement &placed_;
    bool shown_, begun_ = false;
    line_merger lines_[2];
    byte_sink sinks_[2];
    std::function<void()> progress_;
    std::vector<std::unique_ptr<output_file>> files_; // rank * 2 + stream - 1; nullptr: closed, or not to be opened
    std::vector<std::size_t> slow_files_;             // those of them that may have something queued
    std::string file_error_;
    std::vector<std::string> tails_; // end of each rank's stderr if that is not shown
};

} // namespace onesea::agent
