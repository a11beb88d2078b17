// SPDX-License-Identifier: Apache-2.0
// The barrier of sea_finalize() over core: see leave.hpp.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/leave.hpp"
#include "core/internal.hpp"

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace onesea::coll {
namespace {

// arrived: the sender, or the node that it keeps, with the number of ranks that it knows of.
struct word {
    enum : std::uint32_t { arrived = 1, go = 2 };
    std::uint32_t what;
    std::int32_t ranks;
};

struct leaving {
    std::mutex mutex; // handlers may run on any thread
    std::optional<leave_state> state;
    std::optional<leave_state::action> found; // by the condition of the wait, for the one who waits
    int ranks = 0;                            // when it was found
    std::atomic<bool> waits{false};

    leave_state &get() // the first message may come before this rank is ready to leave
    {
        if (!state) state.emplace(sea_rank());
        return *state;
    }
};

leaving &the_leaving()
{
    static auto *l = new leaving; // never destroyed: sea_finalize() may be called by a handler of exit()
    return *l;
}

void *on_leave(const sea_am *message, sea_am_complete_fn *, void **)
{
    word w;
    if (message->header_bytes != sizeof w) return nullptr;
    std::memcpy(&w, message->header, sizeof w);
    {
        auto &l = the_leaving();
        std::lock_guard lock(l.mutex);
        if (w.what == word::go)
            l.get().released();
        else
            l.get().heard(message->source, w.ranks);
    }
    core::nudge();
    return nullptr;
}

bool something_to_do(void *)
{
    auto &l = the_leaving();
    std::lock_guard lock(l.mutex);
    l.ranks = sea_size();
    auto reachable = [](int rank) { return !core::is_cut_off(rank); };
    auto a = l.get().next({l.ranks, core::world_size(), sea_nodes(), core::alive, sea_node_of, reachable});
    if (a.what == leave_state::step::wait) return false;
    l.found = std::move(a);
    return true;
}

void tell(int rank, const word &w, sea_op *op)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.op = op;
    // A failure means that the rank has ended or cannot be reached, which the next look tells.
    core::send_internal_am(rank, core::am_leave, &w, sizeof w, nullptr, 0, &opts);
}

double seconds_until(nanoseconds deadline)
{
    if (deadline == never) return SEA_FOREVER;
    nanoseconds now = now_ns();
    return deadline > now ? double(deadline - now) * 1e-9 : 0.0;
}

int release(const std::vector<int> &waiting, nanoseconds deadline)
{
    std::vector<sea_op> told(waiting.size(), SEA_OP_NONE);
    for (std::size_t i = 0; i < waiting.size(); ++i) tell(waiting[i], {word::go, 0}, &told[i]);
    // Those who end before their answer is here have left because they were told, or are dead.
    int status = sea_wait_all(told.data(), int(told.size()), seconds_until(deadline));
    return status == SEA_ERR_TIMEOUT ? status : SEA_OK;
}

int wait_for_all(nanoseconds deadline)
{
    auto &l = the_leaving();
    while (true) {
        if (int status = core::wait_until(something_to_do, nullptr, deadline)) {
            if (status == SEA_ERR_TIMEOUT)
                return fail(status, "sea_finalize: the time given has passed before all ranks came");
            return status;
        }
        if (l.found->what == leave_state::step::release) return release(l.found->waiting, deadline);
        tell(l.found->rank, {word::arrived, l.ranks}, nullptr);
    }
}

int leave(nanoseconds deadline)
{
    the_leaving().waits = true;
    const int status = wait_for_all(deadline);
    the_leaving().waits = false;
    return status;
}

const bool registered = [] {
    core::add_progress_source({nullptr, nullptr, nullptr, nullptr, [](std::vector<std::string> &what) {
                                   if (the_leaving().waits) what.emplace_back("sea_finalize() of all other ranks");
                               }});
    core::register_internal_am(core::am_leave, on_leave, nullptr);
    core::set_leave_barrier(leave);
    return true;
}();

} // namespace
} // namespace onesea::coll
