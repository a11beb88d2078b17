// SPDX-License-Identifier: Apache-2.0
// Receives as threads of the program make them: posted, waited for, withdrawn; and the handles that are kept here.
#include "base/error.hpp"
#include "msg/office.hpp"
#include "msg/settings.hpp"

#include <algorithm>
#include <climits>
#include <utility>

namespace onesea::msg {

void office::receive(request &r)
{
    guard held(lock_);
    take_or_post(r);
}

void office::receive_here(request &r)
{
    guard held(lock_);
    r.may_sleep = comes_in_frames(r.want);
    take_or_post(r);
    if (!r.may_sleep) watch_lane(r);
}

// Looks at the lane through which it comes, with the lock held: nothing is quicker.
void office::watch_lane(request &r)
{
    const unsigned slot = crowded_ ? no_slot : lane_to_watch(r);
    if (slot == no_slot) return;
    for (int i = 0; i < looks_quick && matcher::is_posted(&r) && !lock_.wanted() && !stage_.wanted(); ++i)
        if (lanes_[slot].in.ready())
            drain(slot, INT_MAX, &r);
        else
            __builtin_ia32_pause(); // who looks all the time takes the line away from who writes it
}

void office::take_or_post(request &r)
{
    if (arrival *a = matcher_.find(r.want)) {
        matcher_.take(a);
        return hand_out(static_cast<letter *>(a), r);
    }
    matcher_.post(&r);
    if (r.has_handle()) ++handles_posted_;
    drain_for(r.want, &r);
    if (!matcher_.is_posted(&r)) return;
    if (int s = end_of_sources(r.want, r.team.get())) {
        drain_for(r.want, nullptr); // it may have sent and ended since the first look
        if (!matcher_.is_posted(&r)) return;
        unpost(r);
        finish(r, s);
    }
}

int office::receive_taken(std::uint64_t number, request &r)
{
    guard held(lock_);
    auto found = taken_.find(number);
    if (found == taken_.end()) return SEA_ERR_HANDLE;
    letter *l = found->second.what;
    taken_.erase(found);
    hand_out(l, r);
    return SEA_OK;
}

bool office::withdraw(request &r, int status)
{
    guard held(lock_);
    if (!matcher_.is_posted(&r)) return false;
    unpost(r);
    finish(r, status);
    return true;
}

int office::wait(request &r, nanoseconds deadline)
{
    using phase = request::phase;
    auto ready = [](void *argument) {
        const phase now = static_cast<request *>(argument)->state.load(std::memory_order_acquire);
        return now == phase::done || now == phase::own_fetch;
    };
    if (!r.may_sleep && !ready(&r)) spin_for(r);
    settle();
    if (!ready(&r)) {
        if (!r.may_sleep) {
            guard held(lock_);
            r.may_sleep = true;
        }
        if (core::wait_watched(ready, &r, deadline) == SEA_ERR_TIMEOUT && !withdraw(r, SEA_ERR_TIMEOUT))
            core::wait_watched(ready, &r, never);
    }
    if (r.state.load(std::memory_order_acquire) == phase::own_fetch) fetch_here(r);
    if (r.status == SEA_OK) [[likely]]
        return SEA_OK;
    return fail(r.status, "{}", end_text(r));
}

std::string office::end_text(const request &r)
{
    switch (r.status) {
    case SEA_ERR_TRUNCATED:
        return fmt::format("a message of {} bytes with tag {} came from rank {} for a receive of {}", r.bytes, r.tag,
                           r.source, r.capacity);
    case SEA_ERR_TIMEOUT:
        return fmt::format("a receive{}{}: the time given has passed",
                           r.want.source == anything ? "" : fmt::format(" from rank {}", r.want.source),
                           r.want.tag == anything ? "" : fmt::format(" with tag {}", r.want.tag));
    case SEA_ERR_DEAD:
    case SEA_ERR_LINK:
        if (r.want.source == anything)
            return r.status == SEA_ERR_DEAD ? "all other members of the team have ended"
                                            : "no other member of the team can be reached any more";
        return fmt::format("nothing more can come from rank {}: {}", r.want.source, sea_strerror(r.status));
    case SEA_ERR_CANCELLED:
        return "the receive was withdrawn";
    case SEA_ERR_INVALID:
        return fmt::format("{} bytes from rank {} cannot be written to the buffer at {}", std::min(r.bytes, r.capacity),
                           r.source, fmt::ptr(r.buffer));
    default:
        return fmt::format("{} bytes from rank {}: {}", r.bytes, r.source, sea_strerror(r.status));
    }
}

// ---- with a handle of the receive table ----

sea_op office::receive_kept(std::unique_ptr<request> &r)
{
    sea_op handle = SEA_OP_NONE;
    bool first = false;
    {
        guard held(lock_);
        handles_.make_room();
        r->kept = true;
        take_or_post(*r);
        first = handles_posted_ == 1;
        if (r->state.load(std::memory_order_relaxed) != request::phase::done) handle = handles_.put(std::move(r));
    }
    settle();
    if (handle != SEA_OP_NONE) core::left_open(first);
    return handle;
}

// What became of it; *r: if it is in use.
core::handle_state office::state_of(sea_op handle, request **r) const
{
    using core::handle_state;
    *r = handles_.find(handle);
    if (!*r) return handles_.knows(handle) ? handle_state::used_up : handle_state::unknown;
    const bool done = (*r)->state.load(std::memory_order_relaxed) == request::phase::done;
    return done ? handle_state::done : handle_state::open;
}

core::handle_state office::state_after_look(sea_op handle)
{
    request *r;
    const core::handle_state before = state_of(handle, &r);
    if (before != core::handle_state::open || !matcher::is_posted(r)) return before;
    watch_lane(*r);
    return state_of(handle, &r);
}

core::handle_state office::state(sea_op handle)
{
    request *r;
    guard held(lock_);
    return state_of(handle, &r);
}

core::handle_state office::look_for(sea_op handle)
{
    const core::handle_state found = [&] {
        guard held(lock_);
        return state_after_look(handle);
    }();
    settle();
    return found;
}

core::handle_state office::take(sea_op handle, bool look, int *status)
{
    std::unique_ptr<request> taken;
    core::handle_state found;
    {
        request *r;
        guard held(lock_);
        found = look ? state_after_look(handle) : state_of(handle, &r);
        if (found == core::handle_state::done) taken = handles_.take(handle);
    }
    if (look) settle();
    if (!taken) return found;
    *status = taken->status;
    if (*status != SEA_OK) fail(*status, "{}", end_text(*taken));
    return found;
}

int office::follow(core::engine_held_t held, sea_op handle, sea_op *operation)
{
    request *r;
    guard inside(lock_);
    *operation = SEA_OP_NONE;
    switch (state_of(handle, &r)) {
    case core::handle_state::open:
        if (!r->follower) r->follower = core::begin_follower(held);
        *operation = r->follower;
        return SEA_OK;
    case core::handle_state::done:
        return r->status;
    default:
        return SEA_OK;
    }
}

bool office::cancel(sea_op handle)
{
    guard held(lock_);
    request *r = handles_.find(handle);
    if (!r) return false;
    if (matcher::is_posted(r)) {
        unpost(*r);
        finish(*r, SEA_ERR_CANCELLED);
    }
    return true;
}

} // namespace onesea::msg
