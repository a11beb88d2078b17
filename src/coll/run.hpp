// SPDX-License-Identifier: Apache-2.0
// What all entry points of collectives share: find the team, allow one call at a time, run, let no exception out.
#pragma once

#include "base/error.hpp"
#include "coll/algorithms.hpp"
#include "coll/choose.hpp"
#include "coll/teams.hpp"
#include "core/internal.hpp"

#include <bit>
#include <memory>
#include <new>

namespace onesea::coll {

inline bool flows_one_way(kind what)
{
    using enum kind;
    return what == broadcast || what == reduce || what == gather || what == scatter || what == gatherv ||
           what == scatterv || what == scan || what == exscan;
}

// About the most bytes of such a call that may lie at one member before that comes to it.
inline std::uint64_t volume(const signature &sign, int members)
{
    if (sign.what == kind::broadcast) return sign.size;
    if (sign.what == kind::gatherv || sign.what == kind::scatterv) return 0; // long parts are answered
    if (sign.what == kind::reduce) return sign.size * type_width(sea_type(sign.type));
    if (sign.what == kind::scan || sign.what == kind::exscan)
        return sign.size * type_width(sea_type(sign.type)) * std::uint64_t(std::bit_width(unsigned(members - 1)));
    return sign.size * std::uint64_t(members);
}

// Whether all wait for each other behind a call. They decide alike, since nothing enters but what all know.
inline bool holds_back(team &t, const signature &sign, std::uint32_t sequence)
{
    if (!flows_one_way(sign.what)) return false;
    t.ahead += volume(sign, t.who.size());
    if (sequence % calls_ahead != 0 && t.ahead < bytes_ahead) return false;
    t.ahead = 0;
    return true;
}

struct one_at_a_time {
    explicit one_at_a_time(team &t) : team_(t), mine(!t.busy.exchange(true, std::memory_order_acquire)) {}
    ~one_at_a_time()
    {
        if (mine) team_.busy.store(false, std::memory_order_release);
    }
    one_at_a_time(const one_at_a_time &) = delete;
    one_at_a_time &operator=(const one_at_a_time &) = delete;

  private:
    team &team_;

  public:
    const bool mine;
};

// The team that the caller is a member of.
inline int member_of(const char *function, sea_team handle, std::shared_ptr<team> *result)
{
    if (int status = core::check_started(function)) return status;
    std::shared_ptr<team> found;
    if (int status = the_teams().find(function, handle, &found)) return status;
    if (!found->messages) return fail(SEA_ERR_INVALID, "{}: rank {} is not a member of the team", function, sea_rank());
    *result = std::move(found);
    return SEA_OK;
}

template <class Body>
int run(const char *function, team &t, const signature &sign, Body &&body)
{
    one_at_a_time turn(t);
    if (!turn.mine) return fail(SEA_ERR_STATE, "{}: another thread is inside a collective of the same team", function);
    return guarded(function, [&] {
        call c(t, sign, core::thread_deadline());
        try {
            if (!c.broken()) body(c);
            if (!c.broken() && holds_back(t, sign, c.sequence())) {
                c.next_phase();
                barrier(c);
            }
        } catch (const std::bad_alloc &) {
            c.break_down(SEA_ERR_MEMORY, "not enough memory");
        }
        return c.conclude();
    });
}

} // namespace onesea::coll
