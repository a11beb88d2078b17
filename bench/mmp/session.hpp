// SPDX-License-Identifier: Apache-2.0
// What the parts of `onesea bench mmp` share.
#pragma once

#include "base/profile.hpp"
#include "driver/cable.hpp"
#include "driver/options.hpp"
#include "driver/peers.hpp"
#include "driver/picture.hpp"
#include "driver/places.hpp"
#include "mmp/plan.hpp"

#include <memory>
#include <optional>

namespace bench {

struct mmp_session {
    options opts;
    std::string onesea, worker, put_worker, floors, folder; // folder: for files of a run
    std::vector<peer> peers;
    core_pair cores{-1, -1};
    std::unique_ptr<cable> wire; // null: no group wants it
    onesea::profile tuned;       // what jobs load here
    std::string tuned_file;      // "": the defaults
    series_table series;

    const cable *wire_for(const std::string &path) const { return path == "cable" ? wire.get() : nullptr; }
    std::string milliseconds() const { return opts.quick ? "8" : "60"; }
    std::uint32_t tuned_fragment(const std::string &path) const;
    // `onesea run` with so many ranks on that path; half of them on each node of two.
    command job(const std::string &path, int ranks) const;
    // Runs it and keeps its results under that name; false, with a line on stderr, if it did not end well.
    bool measure(const std::string &who, const command &what, const budget &time);
};

// npb.cpp. One turn of a group: ours, the one-sided ones, the MPIs. False if one of ours failed.
bool measure_npb(mmp_session &s, const npb_group &group, const budget &time);
std::vector<figure> npb_figures(const mmp_session &s, const std::vector<npb_group> &groups);

// pictures.cpp: file names and SVG.
std::vector<std::pair<std::string, std::string>> mmp_pictures(const mmp_session &s, const std::vector<figure> &figures);

std::string last_line(const std::string &text);

} // namespace bench
