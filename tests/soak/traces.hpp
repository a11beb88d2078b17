// SPDX-License-Identifier: Apache-2.0
// What a job has made in the system, and what of it is there when it has ended: processes, known by a variable of their
// environment; sockets, by their numbers in /proc/net; memory without a name and in /dev/shm, by who still has it open;
// files in the folder that the job was given for everything.
#pragma once

#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

class traces {
  public:
    static constexpr const char *variable = "SOAK_JOB";

    // `mark`: the value of that variable in the job's environment; `folder`: exists, and is empty.
    traces(std::string mark, std::string folder);

    // Remembers what these processes have open and this one has not.
    void collect(const std::vector<int> &processes);
    std::size_t sockets() const { return sockets_.size(); }
    std::size_t memories() const { return memories_.size(); }

    // A line for everything that is left.
    std::vector<std::string> left() const;

  private:
    using file_id = std::pair<dev_t, ino_t>;
    std::string mark_, folder_;
    std::set<ino_t> sockets_, own_sockets_;
    std::set<file_id> memories_;
    std::set<std::string> names_before_; // in /dev/shm

    void look_for_processes(std::vector<std::string> *found) const;
    void look_for_sockets(std::vector<std::string> *found) const;
    void look_for_files(std::vector<std::string> *found) const;
};
