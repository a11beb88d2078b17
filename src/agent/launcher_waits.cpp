// SPDX-License-Identifier: Apache-2.0
// What the ranks wait for, told before a job is ended by --timeout or SIGQUIT: whoever looks why it has not ended finds
// who waits for whom, and who does not wait.
#include "agent/launcher_state.hpp"

#include "agent/hosts.hpp"
#include "agent/launcher.hpp"
#include "agent/printable.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace onesea::agent {
namespace {

constexpr double waits_patience_s = 1.5; // with agents
constexpr std::size_t most_lines = 16, most_text = 400;

std::string describe(const rank_waits &w, const std::string &host)
{
    const std::string who = fmt::format("  rank {} on {} ", w.rank, host);
    if (!w.answers) return who + w.text;
    if (w.ms == 0) return who + (w.text.empty() ? "does not wait" : "does not wait; open: " + w.text);
    const char *unknown = "a counter, a flag or a handler";
    return who + fmt::format("has waited for {:.1f} s: {}", double(w.ms) / 1000, w.text.empty() ? unknown : w.text);
}

} // namespace

void launcher::limit_passed()
{
    limit_passed_ = true;
    if (ending_ || delivering_) return;
    output_.say(fmt::format("the time limit of {} s has passed", request_.timeout_s));
    forced_status_ = status_timeout;
    tell_waits_then([this] {
        if (!ending_) end_job(false);
    });
}

void launcher::tell_waits_then(std::function<void()> next)
{
    if (!table_sent_ || ending_ || delivering_ || behind_waits_ || request_.quiet) return next();
    behind_waits_ = std::move(next);
    waits_.clear();
    for (unsigned n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n]->ended) continue;
        waits_asked_.insert(n);
        nodes_[n]->send({{"type", "waits"}});
    }
    loop_.after(waits_patience_s, [this] { tell_waits(); });
}

void launcher::take_waits(unsigned node, const message &m)
{
    if (!behind_waits_ || !waits_asked_.erase(node)) return; // late, or unasked
    const nlohmann::json &ranks = m.head.at("ranks");
    if (ranks.size() > placed_.nodes[node].ranks.size()) throw request_error("it spoke of more ranks than it has");
    for (const auto &one : ranks) {
        waits_.push_back({rank_told_of(node, one.at(0)), one.at(1).get<bool>(), one.at(2).get<std::uint64_t>(),
                          printable(one.at(3).get<std::string>(), most_text)});
    }
    if (waits_asked_.empty()) tell_waits();
}

// First those that do not wait: others may wait for them.
void launcher::tell_waits()
{
    if (!behind_waits_) return;
    const auto key = [](const rank_waits &w) { return std::tuple(w.answers, w.ms != 0, ~w.ms, w.rank); };
    std::sort(waits_.begin(), waits_.end(), [&](const auto &a, const auto &b) { return key(a) < key(b); });
    const std::size_t shown = std::min(waits_.size(), most_lines);
    for (std::size_t i = 0; i < shown; ++i) output_.say(describe(waits_[i], host_of(waits_[i].rank)));
    if (shown < waits_.size())
        output_.say(fmt::format("  and {} more ranks{}", waits_.size() - shown, waits_[shown].ms ? " that wait" : ""));
    for (unsigned n : std::exchange(waits_asked_, {}))
        output_.say(fmt::format("  the agent of node {} ({}) does not answer", n, placed_.nodes[n].host));
    std::exchange(behind_waits_, nullptr)();
}

} // namespace onesea::agent
