// SPDX-License-Identifier: Apache-2.0
#include "coll/core_courier.hpp"

#include "base/clock.hpp"
#include "coll/near.hpp"
#include "core/internal.hpp"
#include "core/node.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sched.h>
#include <set>

namespace onesea::coll {
namespace {

void receive_complete(int, void *, std::size_t, void *receive_)
{
    the_mailbox().arrived(static_cast<receive *>(receive_));
    core::nudge();
}

void early_complete(int, void *, std::size_t, void *message)
{
    the_mailbox().arrived(static_cast<early_message *>(message));
    core::nudge();
}

// It has offered something and waits: this rank may be computing.
void take_all_from(int rank)
{
    context_id of;
    while (the_near_post().take_if_free(rank, the_mailbox(), &of)) core::nudge();
}

void *on_message(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    envelope e;
    if (message->header_bytes < sizeof e) return nullptr;
    std::memcpy(&e, message->header, sizeof e);
    if (e.sign.what == kind::look) {
        take_all_from(message->source);
        return nullptr;
    }
    const void *data = static_cast<const std::byte *>(message->header) + sizeof e;
    std::size_t bytes = message->header_bytes - sizeof e;
    if (message->data_bytes > 0) {
        data = nullptr;
        bytes = message->data_bytes;
    }
    placement p = the_mailbox().take_in(message->source, e, data, bytes);
    if (p.given_up) {
        for (int rank : p.tell)
            if (core::alive(rank)) the_courier().send(rank, e, nullptr, 0, nullptr);
        the_mailbox().given_up(e);
    }
    if (p.somebody_waits || p.given_up) core::nudge();
    if (p.matched) {
        *on_complete = receive_complete;
        *argument = p.matched;
    } else if (p.stored) {
        *on_complete = early_complete;
        *argument = p.stored;
    }
    return p.to;
}

// The same at once for what brings its data along. A notice may have to go on, and a look takes its time.
bool on_arrival(int source, std::span<const std::byte> header, std::span<const std::byte> data)
{
    envelope e;
    if (header.size() < sizeof e) return true;
    std::memcpy(&e, header.data(), sizeof e);
    if (e.sign.what == kind::notice || e.sign.what == kind::look) return false;
    const auto content = data.empty() ? header.subspan(sizeof e) : data;
    if (the_mailbox().take_in(source, e, content.data(), content.size()).somebody_waits) core::nudge(core::engine_held);
    return true;
}

const bool registered = [] {
    core::add_progress_source({nullptr, nullptr, nullptr, [](std::set<int> &ranks) { the_mailbox().awaited(ranks); },
                               [](std::vector<std::string> &what) {
                                   std::set<int> ranks;
                                   the_mailbox().awaited(ranks);
                                   if (!ranks.empty()) what.push_back("a collective, for " + core::ranks_text(ranks));
                               }});
    core::register_am_beside(core::am_collective, on_message, nullptr);
    core::set_arrival_function(core::am_collective, on_arrival);
    return true;
}();

} // namespace

mailbox &the_mailbox()
{
    static auto *m = new mailbox; // never destroyed, as the teams
    return *m;
}

core_courier &the_courier()
{
    static auto *c = new core_courier;
    return *c;
}

namespace {

// As to a rank of another node.
int send_far(const near_post::offer &o)
{
    if (o.bytes <= core::most_untold(o.rank, sizeof o.e)) {
        const int status = core::send_untold(o.rank, core::am_collective, &o.e, sizeof o.e, o.data, o.bytes);
        if (status == SEA_OK) std::atomic_ref(o.sent->value).fetch_add(1, std::memory_order_release);
        return status;
    }
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.origin_counter = o.sent;
    return core::send_internal_am(o.rank, core::am_collective, &o.e, sizeof o.e, o.data, o.bytes, &opts);
}

void ask_to_look(int rank)
{
    const envelope e{.context = {}, .sign = {.what = kind::look}};
    core::send_untold(rank, core::am_collective, &e, sizeof e, nullptr, 0); // if it has ended that shows elsewhere
}

} // namespace

int core_courier::send(int rank, const envelope &e, const void *data, std::size_t bytes, sea_counter *sent)
{
    if (!sent) {
        const bool may_wait = e.sign.what != kind::notice; // until its receiver looks; a notice is for whoever is there
        if (may_wait && the_near_post().send(rank, e, data, bytes)) return SEA_OK;
        alignas(8) std::byte header[sizeof e + short_bytes];
        std::memcpy(header, &e, sizeof e);
        if (bytes > 0) std::memcpy(header + sizeof e, data, bytes);
        return core::send_untold(rank, core::am_collective, header, sizeof e + bytes, nullptr, 0);
    }
    const near_post::offer offer{rank, e, data, bytes, sent};
    return the_near_post().send(offer) ? SEA_OK : send_far(offer);
}

int core_courier::wait(bool (*ready)(void *), void *argument, nanoseconds deadline)
{
    // Until it seems that who is to take an offer waits for nothing.
    nanoseconds patience = 100'000;
    constexpr nanoseconds most = 1'000'000'000;
    for (; the_near_post().has_offers(); patience = std::min(2 * patience, most)) {
        const nanoseconds now = now_ns();
        if (now + patience >= deadline) break;
        if (core::wait_until(ready, argument, now + patience) == SEA_OK) return SEA_OK;
        for (int rank : the_near_post().to_be_asked(now)) ask_to_look(rank);
    }
    return core::wait_until(ready, argument, deadline);
}

void core_courier::count_taken(const sea_counter &own)
{
    std::vector<near_post::offer> refused;
    if (the_near_post().count_taken(own, &refused)) core::nudge();
    for (const near_post::offer &o : refused)
        if (send_far(o) != SEA_OK) std::atomic_ref(o.sent->value).fetch_add(1, std::memory_order_release);
}

void core_courier::nudge() { core::nudge(); }

bool core_courier::comes_near(int rank, std::size_t bytes)
{
    return (bytes <= near_post::most_bytes || bytes >= near_post::least_offered) && the_near_post().is_near(rank);
}

bool core_courier::take_near(int rank, const context_id &own)
{
    context_id of = own;
    near_post &post = the_near_post();
    if (!(rank == anybody ? post.take_any(the_mailbox(), &of) : post.take_from(rank, the_mailbox(), &of))) return false;
    if (of != own) core::nudge(); // another thread may wait for it
    return true;
}

bool core_courier::look(bool (*ready)(void *), void *argument)
{
    constexpr int looks = 300, looks_crowded = 8; // who has no processor to himself lets others go on in between
    const bool crowded = core::crowded();
    for (int i = crowded ? looks_crowded : looks; i > 0; --i) {
        if (ready(argument)) return true;
        if (crowded)
            sched_yield();
        else
            __builtin_ia32_pause();
    }
    return false;
}

bool core_courier::alive(int rank) { return core::alive(rank); }

bool core_courier::nothing_comes(int rank) { return core::nothing_comes(rank); }
int core_courier::node_of(int rank) { return sea_node_of(rank); }
std::uint32_t core_courier::cut_off() { return core::cut_off(); }
int core_courier::cut_off_rank(std::uint32_t i) { return core::cut_off_rank(i); }
std::uint32_t core_courier::ended() { return core::ended(); }
int core_courier::ended_rank(std::uint32_t i) { return core::ended_rank(i); }

} // namespace onesea::coll
