// SPDX-License-Identifier: Apache-2.0
#include "coll/core_courier.hpp"

#include "coll/near.hpp"
#include "core/internal.hpp"
#include "core/node.hpp"

#include <atomic>
#include <cstring>
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

void *on_message(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    envelope e;
    if (message->header_bytes < sizeof e) return nullptr;
    std::memcpy(&e, message->header, sizeof e);
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

// The same at once for what brings its data along. A notice may have to go on, which a handler does.
bool on_arrival(int source, std::span<const std::byte> header, std::span<const std::byte> data)
{
    envelope e;
    if (header.size() < sizeof e) return true;
    std::memcpy(&e, header.data(), sizeof e);
    if (e.sign.what == kind::notice) return false;
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
    if (bytes <= core::most_untold(rank, sizeof e)) {
        const int status = core::send_untold(rank, core::am_collective, &e, sizeof e, data, bytes);
        if (status == SEA_OK) std::atomic_ref(sent->value).fetch_add(1, std::memory_order_release);
        return status;
    }
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.origin_counter = sent;
    return core::send_internal_am(rank, core::am_collective, &e, sizeof e, data, bytes, &opts);
}

int core_courier::wait(bool (*ready)(void *), void *argument, nanoseconds deadline)
{
    return core::wait_until(ready, argument, deadline);
}

void core_courier::nudge() { core::nudge(); }

std::size_t core_courier::near_bytes(int rank) { return the_near_post().is_near(rank) ? near_post::most_bytes : 0; }

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
    constexpr int looks = 300;
    for (int i = core::crowded() ? looks : 0; i < looks; ++i) {
        if (ready(argument)) return true;
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
