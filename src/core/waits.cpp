// SPDX-License-Identifier: Apache-2.0
// What this rank waits for, in words, in its page (base/counts_page.hpp), when its agent asks: for who looks why a job
// does not end. Whoever makes progress answers: a thread that waits, or the dispatcher of a program that computes.
#include "core/engine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace onesea::core {
namespace {

constexpr std::size_t most_named = 3; // ranks

// Of a layer above: what the target has to end.
void add_external(std::vector<std::string> &what)
{
    std::set<int> targets;
    std::size_t count = 0;
    engine().operations.for_each_unfinished([&](const operation *op) {
        if (!op->external || op->state != operation::phase::active || op->target < 0) return;
        targets.insert(op->target);
        ++count;
    });
    if (count) what.push_back(fmt::format("{} unreceived to {}", counted(count, "message"), ranks_text(targets)));
}

void add_operations(std::vector<std::string> &what)
{
    std::set<int> targets;
    std::size_t count = 0;
    for (const auto &[rank, p] : engine().peers) {
        const std::size_t unfinished = std::size_t(p->unfinished[0]) + p->unfinished[1];
        if (unfinished) targets.insert(rank);
        count += unfinished;
    }
    if (count) what.push_back(fmt::format("{} to {}", counted(count, "operation"), ranks_text(targets)));
}

std::string waits_text()
{
    std::vector<std::string> what;
    ask_sources_for_waits(what);
    add_external(what);
    add_operations(what);
    return fmt::format("{}", fmt::join(what, "; "));
}

} // namespace

std::string counted(std::size_t n, const char *thing) { return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s"); }

std::string ranks_text(const std::set<int> &ranks)
{
    if (ranks.size() == 1) return fmt::format("rank {}", *ranks.begin());
    auto end = ranks.begin();
    std::advance(end, std::min(ranks.size(), most_named));
    const std::string first = fmt::format("ranks {}", fmt::join(ranks.begin(), end, ", "));
    return ranks.size() <= most_named ? first : fmt::format("{} and {} more", first, ranks.size() - most_named);
}

void tell_waits()
{
    auto &e = engine();
    e.seen_waits_asked = e.arena.header().waits_asked.load(std::memory_order_acquire);
    e.counts->waits().write(e.seen_waits_asked, waits_text());
}

} // namespace onesea::core
