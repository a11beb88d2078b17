// SPDX-License-Identifier: Apache-2.0
// The barrier of sea_finalize() over core: see leave.hpp.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/leave.hpp"
#include "core/internal.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace onesea::coll {
namespace {

enum word : std::uint64_t { arrived = 1, go = 2 };

struct leaving {
    std::mutex mutex; // handlers may run on any thread
    std::optional<leave_state> state;
    std::optional<leave_state::action> found; // by the condition of the wait, for the one who waits

    leave_state &get() // the first message may come before this rank is ready to leave
    {
        if (!state) state.emplace(sea_rank());
        return *state;
    }
};

leaving &the_leaving()
{
    static leaving l;
    return l;
}

void *on_leave(const sea_am *message, sea_am_complete_fn *, void **)
{
    if (message->header_bytes != sizeof(std::uint64_t)) return nullptr;
    {
        auto &l = the_leaving();
        std::lock_guard lock(l.mutex);
        if (*static_cast<const std::uint64_t *>(message->header) == go)
            l.get().released();
        else
            l.get().heard(message->source);
    }
    core::nudge();
    return nullptr;
}

bool something_to_do(void *)
{
    auto &l = the_leaving();
    std::lock_guard lock(l.mutex);
    auto a = l.get().next(sea_size(), [](int rank) { return sea_alive(rank) == 1; });
    if (a.what == leave_state::step::wait) return false;
    l.found = a;
    return true;
}

void tell(int rank, std::uint64_t what, sea_op *op)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.op = op;
    // A failure means that the rank has ended, which the next look at who lives tells.
    core::send_internal_am(rank, core::am_leave, &what, sizeof what, nullptr, 0, &opts);
}

double seconds_until(nanoseconds deadline)
{
    if (deadline == never) return SEA_FOREVER;
    nanoseconds now = now_ns();
    return deadline > now ? double(deadline - now) * 1e-9 : 0.0;
}

int release_all(nanoseconds deadline)
{
    std::vector<sea_op> told;
    for (int rank = 0, n = sea_size(), me = sea_rank(); rank < n; ++rank) {
        if (rank == me || sea_alive(rank) != 1) continue;
        told.push_back(SEA_OP_NONE);
        tell(rank, go, &told.back());
    }
    // Those who end before their answer is here have left because they were told, or are dead.
    int status = sea_wait_all(told.data(), int(told.size()), seconds_until(deadline));
    return status == SEA_ERR_TIMEOUT ? status : SEA_OK;
}

int leave(nanoseconds deadline)
{
    auto &l = the_leaving();
    while (true) {
        if (int status = core::wait_until(something_to_do, nullptr, deadline)) {
            if (status == SEA_ERR_TIMEOUT)
                return fail(status, "sea_finalize: the time given has passed before all ranks came");
            return status;
        }
        auto a = *l.found;
        if (a.what == leave_state::step::done) return SEA_OK;
        if (a.what == leave_state::step::release) return release_all(deadline);
        tell(a.rank, arrived, nullptr);
    }
}

const bool registered = [] {
    core::register_internal_am(core::am_leave, on_leave, nullptr);
    core::set_leave_barrier(leave);
    return true;
}();

} // namespace
} // namespace onesea::coll
