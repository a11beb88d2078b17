// SPDX-License-Identifier: Apache-2.0
// What a rank that outlived others says about it: a line of text, written by traffic.cpp and judged by kill_soak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Times are seconds of the monotonic clock, which all processes of a machine share.
struct dead_peer {
    int rank = -1, node = -1;
    std::uint64_t refused = 0; // operations that ended with SEA_ERR_DEAD
    double first_refused = 0;  // when the first of them ended
    double last_good = 0;      // when an operation on it last ended well; 0: none did
};

struct living_peer {
    int rank = -1;
    std::uint64_t good = 0;
    double last_good = 0;
};

struct survivor {
    int rank = -1, node = -1;
    std::vector<dead_peer> dead;
    std::vector<living_peer> living; // itself among them
};

std::string to_line(const survivor &s);

// All lines of that kind in the text; those that cannot be read count as survivors of rank -1.
std::vector<survivor> survivors_in(const std::string &text);

// What was killed, and how late it may be noticed.
struct killing {
    double at = 0, limit = 1;
    int ranks = 0;       // of the job
    bool agent = false;  // all ranks of a node, else one rank
    int rank = -1;       // that one; -1: it had no number yet
    bool nobody = false; // the ranks never ran: there are no survivors
};

// "" if everybody who lives has reported that all operations on all dead ranks failed in time, and that those on all
// living ones went on. *delays grows by the times from the kill to each first failure.
std::string judge(const std::vector<survivor> &all, const killing &k, std::vector<double> *delays);
