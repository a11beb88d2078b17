// SPDX-License-Identifier: Apache-2.0
// Channels over core: all of it happens under the engine lock, in calls, in frames that come, in the news of an end. A
// request takes its place among those of its end first and becomes an operation then; the operation's start condition
// lets it be ready. When that condition fails, core only throws the function away that it would have called: its
// `ticket` notices, and the request is taken out in the next round of progress.
#include "base/error.hpp"
#include "core/internal.hpp"
#include "msg/channel_table.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

namespace onesea::msg {
namespace {

constexpr std::size_t most_at_once = 8192; // of a message that does not wait for its receive

class core_courier final : public channel_courier {
  public:
    std::size_t room(int rank) override { return std::min(core::frame_room(core::engine_held, rank), most_at_once); }
    void tell(int rank, channel_note what, std::uint64_t index, std::uint64_t id,
              std::span<const std::byte> payload) override
    {
        core::send_frame(core::engine_held, core::upper::channel, rank, std::uint8_t(what), index, id, payload.data(),
                         payload.size());
    }
    void fetch(int rank, std::uint64_t send, void *to, std::size_t bytes, channel_fetch *f) override
    {
        core::pull_external(core::engine_held, rank, send, to, bytes, fetched, f);
    }
    void answer(int rank, std::uint64_t send, int status) override
    {
        core::answer_external(core::engine_held, rank, send, status);
    }
    void end(std::uint64_t operation, int status, const std::string &text) override
    {
        core::end_external(core::engine_held, operation, status, text);
    }
    bool is_cut_off(int rank) override { return core::is_cut_off(rank); }

  private:
    static void fetched(void *fetch, int status);
};

channel_table &table()
{
    static core_courier outside;
    static auto &all = *new channel_table(outside); // never destroyed: programs may finalize at their exit
    return all;
}

void core_courier::fetched(void *fetch, int status) { table().fetched(static_cast<channel_fetch *>(fetch), status); }

// Requests whose start condition has failed.
class cancellations {
  public:
    void add(sea_channel name, std::uint64_t token)
    {
        std::lock_guard lock(mutex_);
        all_.emplace_back(name, token);
        any_.store(true, std::memory_order_release);
    }
    bool any() const { return any_.load(std::memory_order_acquire); }
    bool carry_out() // under the engine lock
    {
        if (!any()) return false;
        std::vector<std::pair<sea_channel, std::uint64_t>> now;
        {
            std::lock_guard lock(mutex_);
            now.swap(all_);
            any_.store(false, std::memory_order_release);
        }
        for (auto [name, token] : now) table().cancelled(name, token);
        return !now.empty();
    }

  private:
    std::mutex mutex_;
    std::atomic<bool> any_{false};
    std::vector<std::pair<sea_channel, std::uint64_t>> all_;
};

cancellations &cancelled()
{
    static auto &all = *new cancellations;
    return all;
}

struct ticket {
    sea_channel name;
    std::uint64_t token;
    bool used = false;

    ticket(sea_channel n, std::uint64_t t) : name(n), token(t) {}
    ticket(const ticket &) = delete;
    ticket &operator=(const ticket &) = delete;
    ~ticket()
    {
        if (!used) cancelled().add(name, token);
    }
};

int no_channel(const char *function, sea_channel name)
{
    return fail(SEA_ERR_HANDLE, "{}: {:#x} is not an open channel of this process", function, name);
}

// What a call asks for: checked, put in its place, run.
struct asking {
    const char *function;
    sea_channel name;
    const sea_opts *opts;
    bool sends = true; // the end that may ask so; a close may be asked of both
};

int place(const asking &a, channel_request &r, int *peer, std::uint64_t *token)
{
    const core::locked lock = core::enter();
    cancelled().carry_out();
    const channel_end *e = table().find(a.name);
    if (!e) return no_channel(a.function, a.name);
    if (!r.closes && e->sends() != a.sends)
        return fail(SEA_ERR_STATE, "{}: this end of the channel with rank {} only {}", a.function, e->peer(),
                    e->sends() ? "sends" : "receives");
    *peer = e->peer();
    *token = table().add(a.name, r);
    if (a.sends && !r.closes) core::count_message(*peer, r.bytes);
    return SEA_OK;
}

int run_request(const asking &a, channel_request r)
{
    if (int s = core::check_started(a.function)) return s;
    if (r.bytes > 0 && !r.memory)
        return fail(SEA_ERR_INVALID, "{}: the memory for {} bytes is null", a.function, r.bytes);
    if (a.sends && r.bytes > PTRDIFF_MAX)
        return fail(SEA_ERR_INVALID, "{}: {} bytes are more than any memory has", a.function, r.bytes);
    const bool limited = core::blocking(a.opts) && core::thread_deadline() != never;
    if (limited) r.outcome = std::make_shared<int>(SEA_ERR_TIMEOUT);
    const std::shared_ptr<int> outcome = r.outcome;
    int peer = -1;
    std::uint64_t token = 0;
    if (int s = place(a, r, &peer, &token)) return s;
    core::external_plan plan{-1, nullptr, 0};
    if (a.sends && !r.closes) plan = {peer, r.memory, r.bytes};
    auto paper = std::make_shared<ticket>(a.name, token);
    const int status = core::run_external(a.function, plan, a.opts, [paper = std::move(paper)](std::uint64_t id) {
        paper->used = true;
        table().started(paper->name, paper->token, id);
    });
    const core::locked lock = core::enter();
    if (cancelled().carry_out()) core::wake_for_deadlines(core::engine_held);
    if (status != SEA_ERR_TIMEOUT || !limited) return status;
    if (*outcome == SEA_ERR_TIMEOUT) table().withdraw(a.name, token);
    return *outcome;
}

int run(const asking &a, const channel_request &r)
{
    try {
        return run_request(a, r);
    } catch (const std::bad_alloc &) {
        return fail(SEA_ERR_MEMORY, "{}: no memory for the request", a.function);
    }
}

void on_frame(const core::upper_frame &frame)
{
    table().receive(frame.source, frame.kind, frame.position, frame.id, frame.payload);
}

const bool registered = [] {
    (void)cancelled(); // made now: the first look at them needs no memory
    core::set_frame_function(core::upper::channel, on_frame);
    core::add_progress_source(
        {[] { return cancelled().carry_out(); }, [] { return cancelled().any() ? nanoseconds(0) : never; },
         [](int rank, int status) { table().gone(rank, status); }, [](std::set<int> &ranks) { table().awaited(ranks); },
         [](std::vector<std::string> &what) {
             std::set<int> ranks;
             table().awaited(ranks);
             if (!ranks.empty()) what.push_back("channels with " + core::ranks_text(ranks));
         }});
    core::add_lifecycle([] {}, [] { table().clear(); });
    return true;
}();

} // namespace
} // namespace onesea::msg

using namespace onesea;
using namespace onesea::msg;

int sea_channel_open(int sender, int receiver, sea_channel *channel)
{
    if (int s = core::check_started("sea_channel_open")) return s;
    if (!channel) return fail(SEA_ERR_INVALID, "sea_channel_open: channel is null");
    const int me = sea_rank();
    if ((sender == me) == (receiver == me))
        return fail(SEA_ERR_INVALID, "sea_channel_open: rank {} is {} of the channel from rank {} to rank {}", me,
                    sender == me ? "both ends" : "no end", sender, receiver);
    const int peer = sender == me ? receiver : sender;
    const int there = sea_alive(peer);
    if (there < 0) return there;
    const core::locked lock = core::enter();
    if (!core::alive(peer)) return fail(SEA_ERR_DEAD, "sea_channel_open: rank {} has ended", peer);
    try {
        *channel = table().open(peer, sender == me);
    } catch (const std::bad_alloc &) {
        return fail(SEA_ERR_MEMORY, "sea_channel_open: no memory for a channel with rank {}", peer);
    }
    core::wake_dispatcher_soon();
    return SEA_OK;
}

int sea_channel_send(sea_channel channel, const void *data, size_t bytes, const sea_opts *opts)
{
    channel_request r;
    r.memory = const_cast<void *>(data);
    r.bytes = bytes;
    return run({"sea_channel_send", channel, opts, true}, r);
}

int sea_channel_receive(sea_channel channel, void *buffer, size_t bytes, sea_received *received, const sea_opts *opts)
{
    channel_request r;
    r.memory = buffer;
    r.bytes = bytes;
    r.told = received;
    return run({"sea_channel_receive", channel, opts, false}, r);
}

int sea_channel_close(sea_channel channel, const sea_opts *opts)
{
    channel_request r;
    r.closes = true;
    return run({"sea_channel_close", channel, opts}, r);
}

int sea_channel_ends(sea_channel channel, int *sender, int *receiver)
{
    if (int s = core::check_started("sea_channel_ends")) return s;
    const core::locked lock = core::enter();
    const channel_end *e = table().find(channel);
    if (!e) return no_channel("sea_channel_ends", channel);
    const int me = sea_rank();
    if (sender) *sender = e->sends() ? me : e->peer();
    if (receiver) *receiver = e->sends() ? e->peer() : me;
    return SEA_OK;
}
