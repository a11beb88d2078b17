// SPDX-License-Identifier: Apache-2.0
// The teams of this process behind their handles. A handle is the number of a place and how often the place was used,
// so that the handle of a freed team is not taken for its successor. A place is used again when 63 others that are free
// have been: a handle comes again after 2^21 teams.
#pragma once

#include "base/light_mutex.hpp"
#include "coll/call.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace onesea::coll {

class team_table {
  public:
    void open(mailbox &m, courier &c, int own_rank, int world_size); // makes SEA_TEAM_WORLD
    void close();

    // SEA_OK, or SEA_ERR_INVALID with the text set.
    int find(const char *function, sea_team handle, std::shared_ptr<team> *result);
    int add(const char *function, const context_id &id, members all, sea_team *result);
    int remove(sea_team handle);
    // How often this list and tag were used before.
    std::uint64_t count_use(const context_id &list);

  private:
    struct place {
        std::shared_ptr<team> what;
        int uses = 0;
    };
    light_mutex mutex_{light_mutex::prepared};
    mailbox *mail_ = nullptr;
    courier *world_ = nullptr;
    int own_rank_ = -1;
    std::vector<place> places_;
    std::deque<int> free_;
    std::unordered_map<context_id, std::uint64_t, context_hash> uses_;
};

team_table &the_teams();

} // namespace onesea::coll
