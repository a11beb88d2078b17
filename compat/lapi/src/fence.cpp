// SPDX-License-Identifier: Apache-2.0
// A fence of onesea says that all data has reached its targets. Messages may wait there for the right to run their
// header handler (inbox.hpp), so each task that was sent one is asked to answer when those have been handled. A task
// needs no question if it has answered since the last message. Fences of several threads each ask their own: while one
// waits for an answer, or when it has given up waiting, the next one cannot know that the messages were handled.
#include "fence.hpp"

#include "local.hpp"
#include "message.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace lapi {
namespace {

// The time limit of this thread's calls of onesea, for a while.
class limited {
  public:
    explicit limited(double seconds) { sea_set_timeout(seconds); }
    ~limited() { sea_set_timeout(before_); }
    limited(const limited &) = delete;
    limited &operator=(const limited &) = delete;

  private:
    const double before_ = sea_timeout(); // the program may have set one
};

// What a fence of onesea has met was told to it alone: every other thread's must know that there was something. A fence
// that is under way may be about to take it.
std::atomic<int> under_way = 0;
std::atomic<std::uint64_t> errors_met = 0, errors_heard = 0; // heard: by the error handlers

class fencing_now {
  public:
    fencing_now() { ++under_way; }
    ~fencing_now() { --under_way; }
    fencing_now(const fencing_now &) = delete;
    fencing_now &operator=(const fencing_now &) = delete;
};

// False: not within `seconds`.
bool fenced(int status)
{
    if (status != SEA_OK && status != SEA_ERR_TIMEOUT) ++errors_met; // told by sea_on_error()
    return status != SEA_ERR_TIMEOUT;
}

bool fenced(int t, double seconds)
{
    limited here(seconds);
    return fenced(sea_fence(t));
}

int data_fence(context &c, double seconds)
{
    int result = LAPI_SUCCESS;
    for (int t = 0; t < c.n; ++t) {
        if (c.tasks[t].purged.load(std::memory_order_relaxed) || fenced(t, seconds)) continue;
        result = LAPI_ERR_TIMEOUT;
        report(c, result, TMR_ERR, t);
    }
    return result;
}

template <class Matches>
context *context_that(Matches &&matches)
{
    context *found = nullptr;
    for_each_context([&](context &c) {
        if (matches(c)) found = &c;
        return found != nullptr;
    });
    return found;
}

// The error handler may wait for whatever the caller of the fence has, so there is a limit: LAPI_ERR_TIMEOUT. If it
// ends the context whose completion handler the caller is, it waits for the caller, which then does not wait for it.
int let_errors_be_heard(context &c)
{
    const std::uint64_t met = errors_met;
    if (met == errors_heard && under_way == 1) return LAPI_SUCCESS;
    if (context_that([](context &one) { return one.errors.runs_here(); })) return LAPI_SUCCESS;
    const context *const ours = context_that([](context &one) { return one.completions.runs_here(); });
    const double until = sea_time() + c.timeout;
    const auto ended = [&] { return ours && ours->ending; };
    const auto enough = [&] { return ended() || sea_time() >= until; };
    bool heard = wait_for_news_of_errors(c, enough);
    if (c.handlers.locked_here()) return LAPI_SUCCESS;
    context *const told = context_that([](context &) { return true; }); // the first one
    while (heard && told && !told->errors.finish(0.1)) heard = !enough();
    if (!heard) return ended() ? LAPI_SUCCESS : LAPI_ERR_TIMEOUT;
    for (std::uint64_t old = errors_heard; old < met && !errors_heard.compare_exchange_weak(old, met);) continue;
    return LAPI_SUCCESS;
}

struct flushes {
    sea_counter answered = {0};
    std::vector<std::atomic<bool>> done;
    explicit flushes(std::size_t n) : done(n) {}
};

int wait_for_flushes(context &c, flushes &f, const std::vector<uint> &asked)
{
    constexpr double slice = 0.5; // seconds
    sleeping here;
    for (double left = c.timeout; left > 0; left -= slice) {
        if (sea_counter_wait(&f.answered, asked.size(), std::min(slice, left)) != SEA_ERR_TIMEOUT) return LAPI_SUCCESS;
        if (!c.open) return LAPI_ERR_HNDL_INVALID; // the answers come no more
        look_after_answers(c);
    }
    for (std::size_t i = 0; i < asked.size(); ++i)
        if (!f.done[i].load()) report(c, LAPI_ERR_TIMEOUT, TMR_ERR, int(asked[i]));
    return LAPI_ERR_TIMEOUT;
}

// The tasks that a fence has to ask; give_back() when they have answered, or not.
std::vector<uint> tasks_to_ask(context &c)
{
    std::vector<uint> asked;
    std::lock_guard lock(c.fencing);
    for (int i = 0; i < c.n; ++i) {
        task &t = c.tasks[i];
        if (t.purged.load(std::memory_order_relaxed)) continue;
        const bool messaged = t.messaged.load(std::memory_order_relaxed) && t.messaged.exchange(false);
        if (!messaged && t.fences == 0) continue;
        asked.push_back(uint(i));
        ++t.fences;
    }
    return asked;
}

void give_back(context &c, const flushes &f, const std::vector<uint> &asked)
{
    std::lock_guard lock(c.fencing);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        task &t = c.tasks[asked[i]];
        --t.fences;
        if (!f.done[i].load()) t.messaged = true;
    }
}

int ask_all(context &c, const std::shared_ptr<flushes> &f, const std::vector<uint> &asked)
{
    int result = LAPI_SUCCESS;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        int code = ask(c, asked[i], service_kind::flush, nullptr, [f, i](int, const std::uint64_t *) {
            f->done[i] = true;
            add_here(&f->answered);
        });
        if (code == LAPI_SUCCESS) continue;
        if (code != LAPI_ERR_TGT_PURGED) result = code; // who has ended has nothing that waits
        f->done[i] = true;
        add_here(&f->answered);
    }
    return result;
}

int message_fence(context &c)
{
    const std::vector<uint> asked = tasks_to_ask(c);
    if (asked.empty()) return LAPI_SUCCESS;
    auto f = std::make_shared<flushes>(asked.size());
    const int sent = ask_all(c, f, asked);
    const int waited = wait_for_flushes(c, *f, asked);
    give_back(c, *f, asked);
    return sent == LAPI_SUCCESS ? waited : sent;
}

} // namespace

int fence(context &c)
{
    in_progress here(c.handlers);
    const fencing_now now;
    c.waiting.drain(c.handlers);
    int data = data_fence(c, c.timeout);
    int messages = message_fence(c);
    int heard = let_errors_be_heard(c);
    if (data != LAPI_SUCCESS) return data;
    return messages == LAPI_SUCCESS ? heard : messages;
}

bool all_sent_has_arrived(context &c)
{
    c.unconfirmed.exchange(false); // what is sent from here on is confirmed later
    const fencing_now now;
    limited here(0);
    if (fenced(sea_fence_all())) return true;
    c.unconfirmed.store(true, std::memory_order_relaxed);
    return false;
}

void report_silent_tasks(context &c, const std::function<bool()> &done)
{
    constexpr double slice = 0.1; // seconds
    const fencing_now now;
    const double until = sea_time() + c.timeout;
    for (int t = 0; t < c.n; ++t) {
        if (c.tasks[t].purged.load(std::memory_order_relaxed)) continue;
        bool behind = true;
        for (double left = slice; behind && left > 0;) {
            left = std::max(0.0, until - sea_time());
            behind = !fenced(t, std::min(slice, left));
            if (done()) return;
        }
        if (behind) report(c, LAPI_ERR_TIMEOUT, TMR_ERR, t);
    }
}

} // namespace lapi

using namespace lapi;

extern "C" int PLAPI_Fence(lapi_handle_t hndl)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    return guarded([&] { return fence(*c); });
}

extern "C" int PLAPI_Gfence(lapi_handle_t hndl)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    return guarded([&] {
        int code = fence(*c);
        in_progress here(c->handlers);
        c->waiting.drain(c->handlers);
        int met = from_sea(sea_barrier(c->team));
        return code == LAPI_SUCCESS ? met : code;
    });
}

LAPI_TWIN(Fence);
LAPI_TWIN(Gfence);
