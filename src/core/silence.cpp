// SPDX-License-Identifier: Apache-2.0
// Who waits for an answer finds out that the way there is cut.
//
// What this rank sent may be acknowledged when that happens. Nothing of its own is under way then; only the target,
// whose answer does not arrive, gives the link up, and cannot tell. So something goes now and then to the ranks of
// other nodes that owe an answer for long, or of which a layer above waits for something. When that is not acknowledged
// either, this side gives the link up, too. It is looked for in rounds of progress, so who waits makes one at least as
// often.
#include "core/engine.hpp"

#include <set>
#include <utility>

namespace onesea::core {
namespace {

constexpr std::byte no_message[16] = {}; // without header, data and counter

void ask(transport &net, int rank)
{
    outgoing m;
    m.head.type = frame_type::am;
    m.head.flags = frame_flags::untold;
    m.head.aux = am_ask;
    m.payload = no_message;
    m.bytes = sizeof no_message;
    net.send(rank, m);
}

// Of operations, those that were there already when it was looked before.
std::set<int> who_is_awaited()
{
    auto &e = engine();
    std::set<int> ranks;
    ask_sources_for_awaited(ranks);
    e.operations.for_each_unfinished([&](operation *op) {
        if (op->state != operation::phase::active || !op->awaits_reply || !std::exchange(op->looked_after, true))
            return;
        for (int rank : {op->target, op->also})
            if (rank >= 0) ranks.insert(rank);
    });
    std::erase_if(
        ranks, [&e](int rank) { return rank == e.rank || e.route(rank) != e.net.get() || e.cut_off.contains(rank); });
    return ranks;
}

bool look_after_answers()
{
    static nanoseconds next = 0;
    auto &e = engine();
    if (!e.net || e.sleep.last_look < next) return false;
    next = e.sleep.last_look + longest_silence;
    for (int rank : who_is_awaited()) ask(*e.net, rank);
    return false;
}

const bool registered = [] {
    set_arrival_function(am_ask, [](int, std::span<const std::byte>, std::span<const std::byte>) { return true; });
    add_progress_source({look_after_answers, nullptr, nullptr});
    return true;
}();

} // namespace

} // namespace onesea::core
