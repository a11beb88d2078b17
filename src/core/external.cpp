// SPDX-License-Identifier: Apache-2.0
// What core offers layers above it that speak with other ranks themselves: operations that they complete, frames of
// their own, a part in every round of progress. An external operation has one part of its own, which ends with
// end_external(), with an answer of its target, or with the target's end; pulls of the target are further parts.
#include "core/engine.hpp"
#include "core/transfer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace onesea::core {
namespace {

std::array<void (*)(const upper_frame &), uppers> &frame_functions()
{
    static std::array<void (*)(const upper_frame &), uppers> all{}; // static initialisers fill it
    return all;
}

std::vector<progress_source> &sources()
{
    static auto &all = *new std::vector<progress_source>; // never destroyed: programs may finalize at their exit
    return all;
}

int check_options(const char *function, const sea_opts *opts)
{
    if (int s = check_opts(opts, engine().rank)) return s;
    if (!opts) return SEA_OK;
    if (opts->flags & SEA_ORDERED) return fail(SEA_ERR_INVALID, "{}: SEA_ORDERED has no meaning here", function);
    if (opts->target_counter != SEA_NULL || raw_counter(opts))
        return fail(SEA_ERR_INVALID, "{}: this operation has no target counter", function);
    return SEA_OK;
}

operation *find_external(std::uint64_t id)
{
    operation *op = engine().operations.find(id);
    return op && op->external && op->state == operation::phase::active ? op : nullptr;
}

struct pulling {
    void (*done)(void *argument, int status);
    void *argument;
};

void pulled(operation *op)
{
    auto *what = static_cast<pulling *>(op->context);
    what->done(what->argument, op->status);
    delete what;
}

void ask_for_data(operation *op, std::uint64_t id, void *to, std::size_t bytes)
{
    op->local_at_end = true;
    op->memory = to;
    op->bytes = op->reply_bytes = bytes;
    op->answers = 1;
    const std::uint64_t wanted[2] = {bytes, reinterpret_cast<std::uint64_t>(to)};
    outgoing m;
    m.head.type = frame_type::pull;
    m.head.position = id;
    m.payload = wanted;
    m.bytes = sizeof wanted;
    engine().answer_follows(op);
    send_message(op, op->target, m, ends_by::answer);
}

using external_start = std::function<void(std::uint64_t)>;

void start_part(operation *op, const external_plan &plan, const external_start &start)
{
    op->local_at_end = true;
    op->memory = const_cast<void *>(plan.memory);
    op->bytes = plan.bytes;
    op->awaits_reply = plan.target >= 0;
    ++op->parts;
    start(operation_table::id_of(op));
}

// What has no start condition: its only part is that of its layer, whose end is its own.
void start_now(operation *op, const external_plan &plan, const external_start &start) noexcept
{
    op->parts = 0;
    start_part(op, plan, start);
}

} // namespace

int run_external(const char *function, const external_plan &plan, const sea_opts *opts,
                 std::function<void(std::uint64_t)> start)
{
    const bool simple = uncounted(opts);
    int status = simple ? SEA_OK : check_options(function, opts);
    locked lock = enter();
    if (!simple && status == SEA_OK) status = check_after(opts);
    if (status != SEA_OK) {
        if (plan.ended) plan.ended(plan.context);
        return status;
    }
    operation *op;
    try {
        op = begin_external(plan.target, opts);
    } catch (const std::bad_alloc &) {
        if (plan.ended) plan.ended(plan.context);
        throw;
    }
    op->layer_ended = plan.ended;
    op->context = plan.context;
    if (simple)
        start_now(op, plan, start);
    else
        run_or_defer(op, [=, begin = std::move(start)](operation *o) { start_part(o, plan, begin); });
    return conclude(lock, op, opts, true);
}

// Behind the end of an operation; the call in which it ended may not wait.
static void start_others()
{
    const bool any = !engine().startable.empty();
    if (any) run_startable();
    notify_progress();
    if (any && !engine().starting_others) wake_if_late(engine_held);
}

void end_external(engine_held_t, std::uint64_t id)
{
    operation *op = find_external(id);
    if (!op) return;
    part_done(op, SEA_OK);
    start_others();
}

void end_external(engine_held_t, std::uint64_t id, int status, std::string text)
{
    operation *op = find_external(id);
    if (!op) return;
    if (status != SEA_OK && !text.empty()) note_error(op, status, std::move(text));
    part_done(op, status);
    start_others();
}

void end_external(std::uint64_t id, int status, std::string text)
{
    locked lock = enter();
    end_external(engine_held, id, status, std::move(text));
}

std::uint64_t begin_follower(engine_held_t)
{
    operation *op = begin_external(-1, nullptr);
    op->finished = told_by_its_layer;
    op->held = op->call_waits = false;
    op->parts = 1;
    return operation_table::id_of(op);
}

void *external_context(engine_held_t, sea_op handle, void (*ended)(void *), bool *ours)
{
    operation *op = engine().operations.find(handle);
    *ours = op && op->external && op->held && op->layer_ended == ended;
    return *ours && op->state != operation::phase::done ? op->context : nullptr;
}

bool end_unstarted(engine_held_t, sea_op handle, int status, std::string text)
{
    operation *op = engine().operations.find(handle);
    if (!op || !op->external || op->state != operation::phase::deferred) return false;
    const auto start = std::move(op->start); // what it holds may outlive the operation's place
    stop_waiting(op);
    note_error(op, status, std::move(text));
    complete(op, status);
    start_others();
    return true;
}

bool others_wait(engine_held_t) { return engine().sleep.entering.load(std::memory_order_relaxed) > 0; }

const void *external_memory(engine_held_t, std::uint64_t id, int target, std::size_t *bytes)
{
    const operation *op = find_external(id);
    if (!op || op->target != target) return nullptr;
    *bytes = op->bytes;
    return op->memory;
}

nanoseconds last_look(engine_held_t) { return engine().sleep.last_look; }

void count_message(int rank, std::uint64_t bytes) { count(rank, &pair_counts::messages, bytes, 0); }

void pull_external(engine_held_t, int source, std::uint64_t id, void *to, std::size_t bytes, void (*done)(void *, int),
                   void *argument)
{
    if (!engine().route(source)) return done(argument, SEA_ERR_DEAD);
    if (bytes == 0) return done(argument, SEA_OK);
    operation *op = begin(source, nullptr);
    op->finished = pulled;
    op->context = new pulling{done, argument};
    run_or_defer(op, [=](operation *o) { ask_for_data(o, id, to, bytes); });
    let_go(op);
}

namespace {

outgoing frame_of(upper layer, std::uint8_t kind)
{
    outgoing m;
    m.head.type = frame_type::upper;
    m.head.aux = std::uint16_t(unsigned(layer) | unsigned(kind) << 8);
    m.ordered = true;
    return m;
}

} // namespace

void send_external(engine_held_t, std::uint64_t id, upper layer, std::uint8_t kind)
{
    operation *op = find_external(id);
    if (!op) return;
    op->awaits_reply = false;
    outgoing m = frame_of(layer, kind);
    m.payload = op->memory;
    m.bytes = op->bytes;
    m.borrow = true;
    m.at_leisure = op->at_leisure = true;
    ++engine().at_leisure;
    send_message(op, op->target, m, ends_by::execution);
    part_done(op, SEA_OK);
}

void ask_for_end(operation *op)
{
    op->at_leisure = false;
    --engine().at_leisure;
    if (transport *t = engine().route(op->target)) t->hurry(op->target, false);
}

void answer_external(engine_held_t, int source, std::uint64_t id, int status) { send_done(source, id, status); }

void set_frame_function(upper layer, void (*fn)(const upper_frame &)) { frame_functions()[std::size_t(layer)] = fn; }

int send_frame(engine_held_t, upper layer, int rank, std::uint8_t kind, std::uint64_t position, std::uint64_t id,
               const void *payload, std::size_t bytes, bool more)
{
    transport *t = engine().route(rank);
    if (!t) return SEA_ERR_DEAD;
    outgoing m = frame_of(layer, kind);
    m.head.position = position;
    m.head.id = id;
    m.payload = payload;
    m.bytes = bytes;
    m.more = more;
    t->send(rank, m);
    return SEA_OK;
}

std::size_t frame_room(engine_held_t, int rank)
{
    transport *t = engine().route(rank);
    return t ? t->max_copied_frame(rank) : 0;
}

void receive_upper(int source, const frame &head, std::span<const std::byte> payload)
{
    const unsigned layer = head.aux & 0xffu;
    if (layer >= uppers || !frame_functions()[layer]) return;
    frame_functions()[layer]({source, std::uint8_t(head.aux >> 8), head.position, head.id, payload});
}

void add_progress_source(const progress_source &source) { sources().push_back(source); }

bool poll_sources()
{
    bool any = false;
    for (const progress_source &s : sources()) any |= s.poll && s.poll();
    return any;
}

nanoseconds sources_rest()
{
    nanoseconds least = never;
    for (const progress_source &s : sources())
        if (s.rest) least = std::min(least, s.rest());
    return least;
}

void tell_sources(int rank, int status)
{
    for (const progress_source &s : sources())
        if (s.gone) s.gone(rank, status);
}

void ask_sources_for_awaited(std::set<int> &ranks)
{
    for (const progress_source &s : sources())
        if (s.awaited) s.awaited(ranks);
}

void ask_sources_for_waits(std::vector<std::string> &what)
{
    for (const progress_source &s : sources())
        if (s.waits) s.waits(what);
}

} // namespace onesea::core
