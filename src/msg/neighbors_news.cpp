// SPDX-License-Identifier: Apache-2.0
// What members of a graph tell each other beside data: that one has left it, that it has failed. A frame `upper` of the
// layer neighbors to each neighbour:
//
//     kind        position             id
//     1 left      receiver's name      steps that the sender had started
//     2 failed    receiver's name      rank because of which << 8 | -status
//
// Told by frames and not by puts: a member that has not made the graph after all, or has freed it, passes over what
// comes for its name, where a put would write to memory that may have another use. Failures spread from neighbour to
// neighbour, so that whoever waits behind one that has given up learns of it; each member tells once.
//
// The end of a link is known to its two ranks only, and only by the end of their operations; who just waits for data of
// the other has none. Hence the progress source.
//
// The lock is taken inside the engine lock or alone, and nothing is called with it held.
#include "core/internal.hpp"
#include "msg/neighbors_job.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace onesea::msg {
namespace {

enum notice : std::uint8_t { notice_left = 1, notice_failed = 2 };
constexpr unsigned whom_shift = 8;
constexpr std::uint64_t status_mask = (1u << whom_shift) - 1;

struct listeners {
    std::mutex mutex;
    std::vector<graph *> graphs;
};

listeners &all_listeners()
{
    static auto &all = *new listeners;
    return all;
}

// Runs change(news) for a rank that is a neighbour in g, with the lock held.
template <class Change>
bool note(graph &g, int rank, Change &&change)
{
    for (graph::neighbour &n : g.neighbours)
        if (n.rank == rank) {
            change(n.told);
            g.news.fetch_add(1, std::memory_order_release);
            return true;
        }
    return false;
}

void take_in(neighbour_news &news, const core::upper_frame &frame)
{
    if (frame.kind == notice_left) {
        news.left = true;
        news.steps = frame.id;
    } else if (frame.kind == notice_failed) {
        const int status = -int(frame.id & status_mask);
        // The neighbour's other troubles are not this member's: no call here has met them.
        news.failed = status == SEA_ERR_LINK || status == SEA_ERR_DEAD ? status : SEA_ERR_STATE;
        news.whom = int(frame.id >> whom_shift & 0x7fffffffu);
    }
}

void on_frame(const core::upper_frame &frame)
{
    bool any = false;
    {
        listeners &l = all_listeners();
        std::lock_guard lock(l.mutex);
        for (graph *g : l.graphs)
            if (g->name == frame.position)
                any |= note(*g, frame.source, [&](neighbour_news &news) { take_in(news, frame); });
    }
    if (any) core::nudge(core::engine_held);
}

void link_ended(int rank)
{
    bool any = false;
    {
        listeners &l = all_listeners();
        std::lock_guard lock(l.mutex);
        for (graph *g : l.graphs) any |= note(*g, rank, [](neighbour_news &news) { news.lost = true; });
    }
    if (any) core::nudge(core::engine_held);
}

// A step that is under way may need something of any of them.
void awaited(std::set<int> &ranks)
{
    listeners &l = all_listeners();
    std::lock_guard lock(l.mutex);
    for (const graph *g : l.graphs)
        for (const graph::neighbour &n : g->neighbours)
            if ((g->busy || g->under_way) && !n.told.left && !n.told.lost) ranks.insert(n.rank);
}

void tell_all(const graph &g, notice what, std::uint64_t id)
{
    const core::locked lock = core::enter();
    for (const graph::neighbour &n : g.neighbours) // who cannot be told has ended, or will not hear of us any more
        if (n.name)
            (void)core::send_frame(core::engine_held, core::upper::neighbors, n.rank, what, n.name, id, nullptr, 0);
    core::wake_for_deadlines(core::engine_held);
}

const bool registered = [] {
    core::set_frame_function(core::upper::neighbors, on_frame);
    core::add_progress_source({nullptr, nullptr,
                               [](int rank, int status) {
                                   if (status == SEA_ERR_LINK) link_ended(rank);
                               },
                               awaited});
    return true;
}();

} // namespace

void listen(graph &g)
{
    listeners &l = all_listeners();
    std::lock_guard lock(l.mutex);
    l.graphs.push_back(&g);
}

void stop_listening(graph &g)
{
    listeners &l = all_listeners();
    std::lock_guard lock(l.mutex);
    std::erase(l.graphs, &g);
}

void tell_leaving(const graph &g) { tell_all(g, notice_left, g.step); }

void tell_failure(const graph &g)
{
    tell_all(g, notice_failed, std::uint64_t(std::uint32_t(g.whom)) << whom_shift | std::uint64_t(-g.broken));
}

bool take_news(graph &g)
{
    const std::uint32_t now = g.news.load(std::memory_order_acquire);
    if (now == g.seen_news) return false;
    g.seen_news = now;
    std::lock_guard lock(all_listeners().mutex);
    for (graph::neighbour &n : g.neighbours) n.news = n.told;
    return true;
}

graph::~graph() { stop_listening(*this); }

} // namespace onesea::msg
