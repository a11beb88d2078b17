// SPDX-License-Identifier: Apache-2.0
// Steps over a graph.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "core/internal.hpp"
#include "msg/neighbors_job.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace onesea::msg {
namespace {

constexpr nanoseconds patience = 10'000'000'000; // with members that do not free a graph that has failed

std::mutex graphs_mutex;
std::uint64_t graph_names = 0;
std::unordered_map<sea_neighbors, std::shared_ptr<graph>> &graphs()
{
    static auto &all = *new std::unordered_map<sea_neighbors, std::shared_ptr<graph>>;
    return all;
}

std::shared_ptr<graph> find_graph(const char *function, sea_neighbors name)
{
    {
        std::lock_guard lock(graphs_mutex);
        if (auto found = graphs().find(name); found != graphs().end()) return found->second;
    }
    fail(SEA_ERR_HANDLE, "{}: {:#x} is not a graph of this process", function, name);
    return nullptr;
}

std::uint64_t load(const sea_counter &c) { return __atomic_load_n(&c.value, __ATOMIC_ACQUIRE); }

int break_down(graph &g, int status, int whom, std::string reason)
{
    if (g.broken == SEA_OK) {
        g.broken = status;
        g.whom = whom;
        g.reason = std::move(reason);
    }
    return set_error(g.broken, g.reason);
}

int member_ended(graph &g, int rank)
{
    return break_down(g, SEA_ERR_DEAD, rank, fmt::format("rank {} of the graph's team has ended", rank));
}

int link_ended(graph &g, int rank)
{
    return break_down(g, SEA_ERR_LINK, rank,
                      fmt::format("the link to rank {}, a neighbour in the graph, has ended", rank));
}

void check_members(graph &g)
{
    while (g.seen_ended < core::ended()) {
        const int rank = core::ended_rank(int(g.seen_ended++));
        const bool member =
            g.ranks.empty() ? rank < core::world_size() : std::binary_search(g.ranks.begin(), g.ranks.end(), rank);
        if (member) member_ended(g, rank);
    }
    if (!take_news(g)) return;
    for (const graph::neighbour &n : g.neighbours) {
        if (n.news.lost) link_ended(g, n.rank);
        if (n.news.failed == SEA_ERR_DEAD) member_ended(g, n.news.whom);
        if (n.news.failed == SEA_ERR_LINK)
            break_down(g, SEA_ERR_LINK, n.news.whom,
                       fmt::format("rank {} tells that a link to rank {} in the graph has ended", n.rank, n.news.whom));
        if (n.news.failed == SEA_ERR_STATE)
            break_down(g, SEA_ERR_STATE, n.news.whom, fmt::format("rank {} has given the graph up", n.news.whom));
    }
}

// An operation towards a neighbour has failed, with the text of sea_last_error().
int operation_failed(graph &g, int status)
{
    const std::string text = last_error();
    if (status == SEA_ERR_LINK || status == SEA_ERR_DEAD) check_members(g); // knows whose
    return break_down(g, status, sea_rank(), text);
}

// What is waited for: that neighbours of one kind have come to a step.
struct awaited {
    const sea_counter &counter;
    std::uint64_t value;
    bool graph::neighbour::*kind;
    std::uint64_t step;
    const char *function, *what; // of the step
    std::size_t of;              // how many make up the value in one step
    const char *whom;
};

bool has_come(const awaited &what) { return load(what.counter) >= what.value; }

// It has come, or the graph is broken because it will not. What was sent before the end of its sender, or before that
// has left, may have come between the two looks.
bool come_or_broken(graph &g, const awaited &what)
{
    if (has_come(what)) return true;
    check_members(g);
    const auto missing = std::find_if(g.neighbours.begin(), g.neighbours.end(), [&](const graph::neighbour &n) {
        return n.*what.kind && n.news.left && n.news.steps < what.step;
    });
    if (has_come(what) || g.broken != SEA_OK) return true;
    if (missing == g.neighbours.end()) return false;
    break_down(g, SEA_ERR_STATE, missing->rank,
               fmt::format("rank {} has left the graph after {} of its steps, here step {} needs it", missing->rank,
                           missing->news.steps, what.step));
    return true;
}

// One counter has all that came: from whom nothing has can be told only of one.
int too_late(const graph &g, const awaited &what)
{
    const auto is_kind = [&](const graph::neighbour &n) { return n.*what.kind; };
    const auto only = std::find_if(g.neighbours.begin(), g.neighbours.end(), is_kind);
    if (only != g.neighbours.end() && std::none_of(only + 1, g.neighbours.end(), is_kind))
        return fail(SEA_ERR_TIMEOUT, "{}: {} step {} has not come from rank {}: the time given has passed",
                    what.function, what.what, what.step, only->rank);
    return fail(SEA_ERR_TIMEOUT, "{}: {} step {} has not come from {} of {} {}: the time given has passed",
                what.function, what.what, what.step, what.value - load(what.counter), what.of, what.whom);
}

int await(graph &g, const awaited &what)
{
    struct condition {
        graph &g;
        const awaited &what;
    } wanted{g, what};
    auto ready = [](void *argument) {
        auto &w = *static_cast<condition *>(argument);
        return come_or_broken(w.g, w.what);
    };
    if (!ready(&wanted) && core::wait_until(ready, &wanted, core::thread_deadline()) && !has_come(what))
        return too_late(g, what);
    return has_come(what) ? SEA_OK : set_error(g.broken, g.reason);
}

awaited arrivals(const graph &g)
{
    const std::size_t sources = g.places.in.size();
    return {.counter = g.heads().arrived[g.step % 2],
            .value = sources * steps_like(g.step),
            .kind = &graph::neighbour::is_source,
            .step = g.step,
            .function = "sea_neighbors_wait",
            .what = "the data of",
            .of = sources,
            .whom = "sources"};
}

awaited releases(const graph &g, std::uint64_t step)
{
    return {.counter = g.heads().released[step % 2],
            .value = g.releasing * steps_like(step),
            .kind = &graph::neighbour::releases,
            .step = step,
            .function = "sea_neighbors_start",
            .what = "the start of",
            .of = g.releasing,
            .whom = "targets"};
}

int give_up_buffers(graph &g, std::uint64_t step)
{
    for (sea_addr word : g.release)
        if (int s = core::put_signal(SEA_NULL, nullptr, 0, word + step % 2 * sizeof(sea_counter), g.puts))
            return operation_failed(g, s);
    return SEA_OK;
}

int send_all(graph &g, std::uint64_t step)
{
    for (const graph::outgoing_edge &t : g.targets)
        if (int s = core::put_signal(t.to[step % 2], t.from, t.bytes, t.arrived[step % 2], g.puts))
            return operation_failed(g, s);
    return SEA_OK;
}

// What is waited for: that all puts so far have been counted. Nobody else starts some meanwhile.
struct awaited_puts {
    sea_counter core::put_counts::*count;
    const char *function, *lacks;
};
constexpr awaited_puts let_go{&core::put_counts::local, "sea_neighbors_wait", "still need their buffers"};
constexpr awaited_puts over{&core::put_counts::ended, "sea_neighbors_free", "have not ended"};

std::uint64_t uncounted(const graph &g, const awaited_puts &what)
{
    return g.puts->started - std::min(g.puts->started, load((*g.puts).*what.count));
}

int await_puts(graph &g, const awaited_puts &what)
{
    struct condition {
        const graph &g;
        const awaited_puts &what;
    } wanted{g, what};
    auto ready = [](void *argument) {
        auto &w = *static_cast<condition *>(argument);
        return uncounted(w.g, w.what) == 0;
    };
    if (ready(&wanted) || core::wait_until(ready, &wanted, core::thread_deadline()) == SEA_OK) return SEA_OK;
    const std::uint64_t missing = uncounted(g, what);
    if (missing == 0) return SEA_OK;
    if (g.neighbours.size() == 1)
        return fail(SEA_ERR_TIMEOUT, "{}: {} of {} puts to rank {} {}: the time given has passed", what.function,
                    missing, g.puts->started, g.neighbours[0].rank, what.lacks);
    return fail(SEA_ERR_TIMEOUT, "{}: {} of {} puts to {} neighbours {}: the time given has passed", what.function,
                missing, g.puts->started, g.neighbours.size(), what.lacks);
}

int start(graph &g)
{
    if (g.under_way) return fail(SEA_ERR_STATE, "sea_neighbors_start: a step is under way");
    const std::uint64_t step = g.step + 1;
    if (!std::exchange(g.half_started, true))
        if (int s = give_up_buffers(g, step)) return s;
    if (g.releasing > 0 && step > 2)
        if (int s = await(g, releases(g, step - 1))) return s;
    g.step = step;
    g.under_way = true;
    g.half_started = false;
    return send_all(g, step);
}

int await_step(graph &g)
{
    if (!g.under_way) return fail(SEA_ERR_STATE, "sea_neighbors_wait: no step is under way");
    if (int s = await(g, arrivals(g))) return s;
    if (int s = await_puts(g, let_go)) return s;
    g.under_way = false;
    return SEA_OK;
}

// The neighbours may wait for what will not come.
void tell_if_failed(graph &g)
{
    if (g.broken == SEA_OK || std::exchange(g.failure_told, true)) return;
    const std::string text = last_error();
    tell_failure(g);
    set_error(g.broken, text);
}

// Runs a call on a graph, by one thread at a time.
template <class Call>
int on_graph(const char *function, sea_neighbors name, Call &&call)
{
    if (int s = core::check_started(function)) return s;
    const auto g = find_graph(function, name);
    if (!g) return SEA_ERR_HANDLE;
    if (g->busy.exchange(true)) return fail(SEA_ERR_STATE, "{}: another thread uses the graph", function);
    int status = call(*g);
    tell_if_failed(*g);
    g->busy.store(false);
    return status;
}

int unless_broken(graph &g, int (*call)(graph &))
{
    if (g.leaving) return fail(SEA_ERR_STATE, "the graph is being freed");
    return g.broken == SEA_OK ? call(g) : set_error(g.broken, g.reason);
}

// Nothing that this member sent is under way after it. SEA_OK or SEA_ERR_TIMEOUT.
int end_sending(graph &g)
{
    if (uncounted(g, over) > 0)
        for (const graph::neighbour &n : g.neighbours) core::hurry_to(n.rank);
    return await_puts(g, over);
}

// Nothing of it is on its way to the block, also not what another thread takes in of one that has just ended.
bool has_left(const graph::neighbour &n)
{
    return n.news.left || n.news.lost || (!core::alive(n.rank) && core::nothing_comes(n.rank));
}

bool others_have_left(const graph &g) { return std::all_of(g.neighbours.begin(), g.neighbours.end(), has_left); }

int others_stay(const graph &g)
{
    const auto stays = [](const graph::neighbour &n) { return !has_left(n); };
    const auto first = std::find_if(g.neighbours.begin(), g.neighbours.end(), stays);
    if (first == g.neighbours.end()) return fail(SEA_ERR_TIMEOUT, "sea_neighbors_free: the time given has passed");
    const auto more = std::count_if(first + 1, g.neighbours.end(), stays);
    if (more == 0)
        return fail(SEA_ERR_TIMEOUT, "sea_neighbors_free: rank {} has not freed the graph: the time given has passed",
                    first->rank);
    return fail(
        SEA_ERR_TIMEOUT,
        "sea_neighbors_free: rank {} and {} more neighbours have not freed the graph: the time given has passed",
        first->rank, more);
}

// After SEA_OK nobody writes to the block any more. Else, if *forever, somebody may always do so.
int leave(graph &g, bool *forever)
{
    if (int s = end_sending(g)) return s;
    check_members(g);
    tell_if_failed(g); // before the others see that this member has left
    if (!std::exchange(g.leaving, true)) tell_leaving(g);
    auto ready = [](void *argument) {
        auto &waiting = *static_cast<graph *>(argument);
        const bool well = waiting.broken == SEA_OK;
        check_members(waiting);
        return others_have_left(waiting) || (well && waiting.broken != SEA_OK);
    };
    const nanoseconds until = core::thread_deadline();
    while (true) {
        if (g.broken != SEA_OK && !g.give_up_at) g.give_up_at = now_ns() + patience;
        if (!ready(&g))
            if (core::wait_until(ready, &g, g.give_up_at ? std::min(until, g.give_up_at) : until)) {
                *forever = g.give_up_at && now_ns() >= g.give_up_at;
                return others_stay(g);
            }
        if (others_have_left(g)) return SEA_OK;
    }
}

const bool registered = [] {
    core::add_lifecycle([] {}, [] { graphs().clear(); });
    return true;
}();

} // namespace

sea_neighbors keep_graph(std::shared_ptr<graph> g)
{
    std::lock_guard lock(graphs_mutex);
    graphs().emplace(++graph_names, std::move(g));
    return graph_names;
}

} // namespace onesea::msg

using namespace onesea;
using namespace onesea::msg;

void *sea_neighbors_out(sea_neighbors name, int i)
{
    if (core::check_started("sea_neighbors_out")) return nullptr;
    const auto g = find_graph("sea_neighbors_out", name);
    if (!g) return nullptr;
    if (i >= 0 && std::size_t(i) < g->places.out.size()) return g->memory + g->places.out[std::size_t(i)].buffer;
    fail(SEA_ERR_INVALID, "sea_neighbors_out: target {} is not in 0..{}", i, int(g->places.out.size()) - 1);
    return nullptr;
}

const void *sea_neighbors_in(sea_neighbors name, int i)
{
    if (core::check_started("sea_neighbors_in")) return nullptr;
    const auto g = find_graph("sea_neighbors_in", name);
    if (!g) return nullptr;
    if (i < 0 || std::size_t(i) >= g->places.in.size()) {
        fail(SEA_ERR_INVALID, "sea_neighbors_in: source {} is not in 0..{}", i, int(g->places.in.size()) - 1);
        return nullptr;
    }
    if (g->step == 0 || g->under_way || g->half_started) {
        fail(SEA_ERR_STATE, "sea_neighbors_in: no step is complete here, or the next one has been started");
        return nullptr;
    }
    const graph_edge &e = g->places.in[std::size_t(i)];
    return g->memory + e.buffer + g->step % 2 * round_up(e.bytes);
}

int sea_neighbors_start(sea_neighbors name)
{
    return on_graph("sea_neighbors_start", name, [](graph &g) { return unless_broken(g, start); });
}

int sea_neighbors_wait(sea_neighbors name)
{
    return on_graph("sea_neighbors_wait", name, [](graph &g) { return unless_broken(g, await_step); });
}

int sea_neighbors_test(sea_neighbors name, int *done)
{
    if (!done) return fail(SEA_ERR_INVALID, "sea_neighbors_test: done is null");
    return on_graph("sea_neighbors_test", name, [done](graph &g) {
        if (g.broken != SEA_OK) return set_error(g.broken, g.reason);
        if (!g.under_way) return fail(SEA_ERR_STATE, "sea_neighbors_test: no step is under way");
        const awaited what = arrivals(g);
        if (!has_come(what)) sea_poll();
        *done = come_or_broken(g, what) && has_come(what);
        if (!*done) return g.broken == SEA_OK ? int(SEA_OK) : set_error(g.broken, g.reason);
        *done = uncounted(g, let_go) == 0;
        if (*done) g.under_way = false;
        return int(SEA_OK);
    });
}

int sea_neighbors_free(sea_neighbors name)
{
    return on_graph("sea_neighbors_free", name, [name](graph &g) {
        if (g.under_way && g.broken == SEA_OK) return fail(SEA_ERR_STATE, "sea_neighbors_free: a step is under way");
        bool forever = false;
        const int status = leave(g, &forever);
        if (status != SEA_OK && !forever) return status;
        stop_listening(g);
        if (status == SEA_OK) sea_heap_free(g.block); // else somebody may write there yet
        std::lock_guard lock(graphs_mutex);
        graphs().erase(name);
        return g.broken == SEA_OK ? SEA_OK : set_error(g.broken, g.reason);
    });
}
