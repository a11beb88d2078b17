// SPDX-License-Identifier: Apache-2.0
#include "coll/teams.hpp"

#include "base/error.hpp"
#include "coll/core_courier.hpp"
#include "coll/near.hpp"
#include "core/internal.hpp"

namespace onesea::coll {
namespace {

constexpr int place_bits = 16;
constexpr int most_places = 1 << place_bits;
constexpr int use_mask = (1 << (31 - place_bits)) - 1;
constexpr std::size_t free_places = 64; // at least; 2^15 uses of each

void started()
{
    the_near_post().open();
    the_teams().open(the_mailbox(), the_courier(), sea_rank(), core::world_size());
}

void ended()
{
    the_teams().close();
    the_mailbox().clear();
    the_near_post().close();
}

const bool registered = [] {
    core::add_lifecycle(started, ended);
    return true;
}();

} // namespace

team_table &the_teams()
{
    static auto *t = new team_table; // never destroyed: collectives may be called by a handler of exit()
    return *t;
}

void team_table::open(mailbox &m, courier &c, int own_rank, int world_size)
{
    std::lock_guard lock(mutex_);
    mail_ = &m;
    world_ = &c;
    own_rank_ = own_rank;
    places_.resize(1);
    places_[0].what = std::make_shared<team>(m, c, world_context, members::of_world(world_size), own_rank);
}

void team_table::close()
{
    std::lock_guard lock(mutex_);
    places_.clear();
    free_.clear();
    uses_.clear();
}

int team_table::find(const char *function, sea_team handle, std::shared_ptr<team> *result)
{
    std::lock_guard lock(mutex_);
    const auto at = std::size_t(handle & (most_places - 1));
    if (handle >= 0 && at < places_.size() && places_[at].what && places_[at].uses == handle >> place_bits) {
        *result = places_[at].what;
        return SEA_OK;
    }
    if (handle == SEA_TEAM_NULL) return fail(SEA_ERR_INVALID, "{}: the team is SEA_TEAM_NULL", function);
    return fail(SEA_ERR_INVALID, "{}: {:#x} is not a team: it was never given out, or has been freed", function,
                handle);
}

int team_table::add(const char *function, const context_id &id, members all, sea_team *result)
{
    auto made = std::make_shared<team>(*mail_, *world_, id, std::move(all), own_rank_);
    if (!made->messages)
        return fail(SEA_ERR_STATE, "{}: this team is being made by another thread at the same moment", function);
    std::lock_guard lock(mutex_);
    while (free_.size() < free_places && places_.size() < most_places) {
        places_.emplace_back();
        free_.push_back(int(places_.size()) - 1);
    }
    if (free_.size() < free_places) {
        mail_->release(made->messages);
        return fail(SEA_ERR_MEMORY, "{}: there are {} teams already", function, places_.size() - free_.size());
    }
    const int at = free_.front();
    free_.pop_front();
    place &p = places_[std::size_t(at)];
    p.what = std::move(made);
    *result = p.uses << place_bits | at;
    return SEA_OK;
}

int team_table::remove(sea_team handle)
{
    std::shared_ptr<team> t;
    if (handle == SEA_TEAM_WORLD) return fail(SEA_ERR_INVALID, "sea_team_free: SEA_TEAM_WORLD cannot be freed");
    if (int status = find("sea_team_free", handle, &t)) return status;
    if (t->busy.exchange(true)) return fail(SEA_ERR_STATE, "sea_team_free: a collective of the team is running");
    for (int rank : mail_->under_way_from(t->messages))
        if (world_->nothing_comes(rank)) mail_->nothing_comes(t->messages, rank);
    std::lock_guard lock(mutex_);
    const int at = handle & (most_places - 1);
    place &p = places_[std::size_t(at)];
    p.what.reset();
    p.uses = (p.uses + 1) & use_mask;
    free_.push_back(at);
    mail_->release(t->messages);
    return SEA_OK;
}

std::uint64_t team_table::count_use(const context_id &list)
{
    std::lock_guard lock(mutex_);
    return uses_[list]++;
}

} // namespace onesea::coll
