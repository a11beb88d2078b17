// SPDX-License-Identifier: Apache-2.0
// Data of offers comes here. Between nodes it is pulled through core. Inside the node it is copied out of the sender's
// memory: if that is mapped here, as a heap is, by a plain copy; else together with the sender (office_stage), by the
// kernel, or pulled where the kernel may not.
#include "base/clock.hpp"
#include "base/wide_copy.hpp"
#include "msg/office.hpp"
#include "shm/careful_memory.hpp"

#include <algorithm>
#include <climits>

namespace onesea::msg {
namespace {

constexpr std::size_t at_once = std::size_t(256) << 10; // bytes, while others wait for the engine lock
constexpr int pieces_at_once = 4;                       // of these, while nobody does

} // namespace

// Copies the next `bytes` of an offer of this node: SEA_OK, not_native, or an error.
int office::copy_here(request &r, std::size_t bytes)
{
    if (bytes == 0) return SEA_OK;
    auto *to = static_cast<std::byte *>(r.buffer) + r.fetched;
    const std::uint64_t from = r.offer.address + r.fetched;
    int s = SEA_OK;
    if (r.source == me_)
        copy_of(r.wanted(), to, reinterpret_cast<const void *>(from), bytes);
    else if (r.mapped)
        copy_of(r.wanted(), to, r.mapped + r.fetched, bytes);
    else
        s = copy_by_kernel(r, from, to, bytes);
    if (s == SEA_OK) r.fetched += bytes;
    return s;
}

int office::copy_by_kernel(request &r, std::uint64_t from, void *to, std::size_t bytes)
{
    const unsigned slot = slot_of(r.source);
    const nanoseconds begin = now_ns();
    r.by_kernel = true;
    const int s = core::copy_from_process(slot, from, to, bytes);
    if (s != SEA_OK || r.comes != way::kernel || bytes < std::min(r.wanted(), at_once)) return s;
    const nanoseconds time = (now_ns() - begin) * r.wanted() / bytes;
    if (r.wanted() < least_shared)
        ways_[slot].took(way::kernel, r.wanted(), time);
    else
        ways_[slot].is_open(way::kernel, r.wanted(), time); // the sender does not look, or it would be shared
    return s;
}

// What is mapped here, by pieces: memmove() of a long range takes another way, which is slower.
void office::copy_mapped(request &r, int pieces)
{
    for (; pieces > 0 && r.fetched < r.wanted(); --pieces) copy_here(r, std::min(at_once, r.wanted() - r.fetched));
}

// By the thread that waits for it, without a lock.
void office::fetch_here(request &r)
{
    if (fit_for_both(r) && looks_at_stage(slot_of(r.source))) {
        core::locked lock = core::enter();
        r.state.store(request::phase::fetching);
        fetches_.push_back(&r);
        lock.unlock();
        return wait_for(r);
    }
    if (r.mapped) copy_mapped(r, INT_MAX);
    const int s = copy_here(r, r.wanted() - r.fetched);
    core::locked lock = core::enter();
    if (s != not_native) return end_fetch(core::engine_held, r, s);
    r.state.store(request::phase::fetching);
    pull(r);
    lock.unlock();
    wait_for(r);
}

void office::wait_for(request &r)
{
    core::wait_until(
        [](void *argument) { return static_cast<request *>(argument)->state.load() == request::phase::done; }, &r,
        never);
}

// A piece of the first fetch. The engine lock is held.
void office::fetch_some()
{
    request *r = fetches_.front();
    int s = SEA_OK;
    if (r->mapped)
        copy_mapped(*r, core::others_wait(core::engine_held) ? 1 : pieces_at_once);
    else if (!take_pieces(*r)) {
        r->began = 0;
        s = copy_here(*r, std::min(at_once, r->wanted() - r->fetched));
    } else if (is_held_up(*r)) {
        return set_aside();
    }
    if (s == SEA_OK && r->fetched < r->wanted()) return;
    if (r->began && s == SEA_OK) {
        const nanoseconds now = now_ns();
        ways_[slot_of(r->source)].took(*r->comes, r->wanted(), now - std::max(r->began, last_by_both_));
        last_by_both_ = now;
    }
    fetches_.pop_front();
    if (fetches_.empty() || slot_of(fetches_.front()->source) != taking_.slot) stop_taking();
    if (s == not_native)
        pull(*r);
    else
        end_fetch(core::engine_held, *r, s);
}

// The kernel does not tell which side it could not reach.
bool office::may_be_written(const request &r)
{
    const auto at = reinterpret_cast<std::uint64_t>(r.buffer);
    return shm::all_mapped(at, r.wanted()) && shm::ends_writable(at, r.wanted());
}

void office::end_fetch(core::engine_held_t held, request &r, int status)
{
    const bool own_fault = status == SEA_ERR_ADDRESS && !may_be_written(r);
    const int of_data = own_fault ? SEA_OK : status;
    if (own_fault) status = SEA_ERR_INVALID;
    if (r.source == me_)
        core::end_external(held, r.offer.id, of_data);
    else
        core::answer_external(held, r.source, r.offer.id, of_data);
    if (r.by_kernel) huge_pages_.copied(r.buffer, r.wanted());
    guard inside(lock_);
    finish(r, status == SEA_OK ? r.good_status() : status);
}

void office::pull(request &r)
{
    core::pull_external(core::engine_held, r.source, r.offer.id, r.buffer, r.wanted(), pulled, &r);
}

void office::pulled(void *request_, int status)
{
    the_office().end_fetch(core::engine_held, *static_cast<request *>(request_), status);
}

} // namespace onesea::msg
