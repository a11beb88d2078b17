// SPDX-License-Identifier: Apache-2.0
// Agents that do not answer: who watches them, and what becomes of them.
#include "agent/launcher_state.hpp"

#include "agent/node_agent.hpp"
#include "agent/silence.hpp"

#include <fmt/format.h>
#include <string>
#include <utility>

namespace onesea::agent {

static_assert(silence_at_end_s > kill_seconds + drain_seconds);

// They have just been told to kill or to leave.
void launcher::await_ends()
{
    if (std::exchange(ends_awaited_, true)) return;
    for (auto &n : nodes_) n->quiet.broken();
}

void launcher::watch_for_silence()
{
    loop_.after(1, [this] {
        const bool all = finish_sent_ || (joining_ && !ends_awaited_); // have something to say, also without ranks
        for (unsigned n = 0; n < nodes_.size(); ++n)
            if (!nodes_[n]->ended && (all || living_on(n) > 0)) count_silence(n);
        watch_for_silence();
    });
}

void launcher::count_silence(unsigned node)
{
    node_link &link = *nodes_[node];
    const unsigned limit = ends_awaited_ ? silence_at_end_s : request_.agent_timeout_s;
    const silence::step next = ends_awaited_ ? link.quiet.second_at_end() : link.quiet.second(limit);
    if (next == silence::step::ask) return link.send({{"type", "ask"}});
    if (next == silence::step::wait) return;
    const std::string why = fmt::format("has not answered for {} s", limit);
    if (ends_awaited_) return give_up_agent(node, why);
    cut_off(node);
    lose_agent(node, why);
}

// Ends its line, and kills what we have started for it: the agent, or what leads to it.
void launcher::cut_off(unsigned node)
{
    node_link &link = *nodes_[node];
    link.hang_up();
    link.kill_now();
    link.ended = agent_lost_ = maybe_over_ = true;
}

// One that was told to kill or to leave, and does neither: it is stopped, or its host is gone. Here it is killed, and
// its ranks die with it; elsewhere nobody can be told, and what lives there lives on until its host finds the line
// dead.
void launcher::give_up_agent(unsigned node, const std::string &why)
{
    node_link &link = *nodes_[node];
    if (link.done || link.ended || giving_up_) return;
    const placed_node &place = placed_.nodes[node];
    finish_lines(node);
    output_.say(fmt::format("the agent of node {} ({}) {}: {}", node, place.host, why,
                            place.local ? "it is killed" : "processes may be left there"));
    cut_off(node);
    link.failed = true;
    node_lost_to_spawn(node);
    if (forced_status_ || verdict_.failed()) return;
    forced_status_ = stop_.first_signal() ? 128 + stop_.first_signal() : status_launcher;
}

} // namespace onesea::agent
