// SPDX-License-Identifier: Apache-2.0
// How operations begin, end, and start each other. Nothing here recurses: an end only queues the operations that it
// lets start, and run_startable() starts them from a loop, so that chains may be as long as memory allows.
#include "core/engine.hpp"
#include "core/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace onesea::core {
namespace {

void settled(delivery *d, int status) { message_ended(static_cast<operation *>(d), status); }

void start_dependents(operation *op)
{
    for (std::uint32_t index : op->dependents) engine().startable.push_back(index);
    op->dependents.clear();
    start_who_waits_for_all();
}

std::string name_of(const operation *op)
{
    if (op->target < 0) return "the operation";
    if (op->external) return fmt::format("an operation on rank {}", op->target);
    switch (op->kind) {
    case SEA_ERROR_PUT:
        return fmt::format("a put to rank {}", op->target);
    case SEA_ERROR_GET:
        return fmt::format("a get from rank {}", op->target);
    case SEA_ERROR_ATOMIC:
        return fmt::format("an atomic operation on rank {}", op->target);
    case heap_call:
        return fmt::format("a call for the heap of rank {}", op->target);
    case SEA_ERROR_COPY:
        return fmt::format("a copy from rank {} to rank {}", op->also, op->target);
    default:
        return fmt::format("a message to rank {}", op->target);
    }
}

std::string describe(const operation *op)
{
    return fmt::format("{} failed: {}", name_of(op), sea_strerror(op->status));
}

} // namespace

int waited_for(const operation *op, int status)
{
    return op->external ? status : told_by_name(status, [op] { return name_of(op); });
}

void maybe_release(operation *op)
{
    if (op->state == operation::phase::done && !op->held && !op->starting && op->deliveries == 0)
        engine().operations.release(op);
}

void message_ended(operation *op, int status)
{
    --op->deliveries;
    if (op->state == operation::phase::done) return maybe_release(op);
    if (status != SEA_OK && op->awaits_reply) return complete(op, status);
    if (status != SEA_OK && op->status == SEA_OK) op->status = status;
    if (op->deliveries > 0 || !op->ack_part) return;
    op->ack_part = false;
    part_done(op, SEA_OK);
}

void bump(sea_counter *counter)
{
    std::atomic_ref(counter->value).fetch_add(1, std::memory_order_seq_cst);
    engine().shm->wake_owner(counter);
}

namespace {

// Whether nothing can wait for the end of an operation with these options but a fence, or what starts after all; and
// none of these is likely to come soon.
bool nobody_waits(const sea_opts *opts, bool announced)
{
    if (engine().waiting_for_all > 0) return false;
    if (!opts) return announced;
    return (announced || (opts->flags & SEA_NOWAIT)) && !(opts->flags & SEA_ORDERED) && !opts->op &&
           !opts->remote_counter && opts->after == SEA_OP_NONE;
}

operation *prepare(operation *op, int target, const sea_opts *opts)
{
    op->delivery::settled = core::settled;
    op->target = target;
    op->call_waits = blocking(opts);
    op->held = true; // by the call; conclude() lets go or makes it a handle, and sees to the counters
    if (opts && opts->after != SEA_OP_NONE) op->failed_start = condition_of(opts->after, &op->after);
    return op;
}

} // namespace

operation *begin_external(int target, const sea_opts *opts)
{
    const bool behind_all = opts && opts->after == SEA_OP_ALL;
    operation *op = prepare(engine().operations.take(behind_all), target, opts);
    op->external = true;
    op->kind = SEA_ERROR_MESSAGE;
    return op;
}

operation *begin(int target, const sea_opts *opts, bool announced)
{
    auto &e = engine();
    peer &p = e.peer_of(target); // what can fail comes first: nothing has begun then
    operation *op = prepare(e.operations.take(), target, opts);
    op->epoch = p.epoch;
    ++p.unfinished[op->epoch];
    op->at_leisure = nobody_waits(opts, announced) && p.habit.next_may_be_at_leisure();
    e.at_leisure += op->at_leisure;
    if (opts && (opts->flags & SEA_ORDERED)) {
        op->order = ordering::write;
        ++p.ordered;
    }
    return op;
}

int check_after(const sea_opts *opts)
{
    if (!opts || opts->after == SEA_OP_NONE || opts->after == SEA_OP_ALL) return SEA_OK;
    if (condition_is_known(opts->after)) return SEA_OK;
    return fail(SEA_ERR_HANDLE, "the start condition {:#x} is not a handle", opts->after);
}

start_time when_to_start(operation *op)
{
    auto &e = engine();
    if (op->after == SEA_OP_ALL) {
        if (e.operations.oldest() != op || e.quick_unfinished > 0) {
            const bool first = ++e.waiting_for_all == 1; // none of the two kinds is added while one waits
            if (first && e.quick_unfinished + e.at_leisure > 0) hurry_all();
            wait_in_line(op);
            return start_time::later;
        }
    } else if (op->failed_start != SEA_OK) {
        complete(op, op->failed_start);
        return start_time::never;
    } else if (op->after != SEA_OP_NONE) {
        operation *before = e.operations.find(op->after);
        if (before && before->state != operation::phase::done) {
            before->dependents.push_back(op->index);
            wait_in_line(op);
            if (before->at_leisure) ask_for_end(before);
            return start_time::later;
        }
        if (before && before->status != SEA_OK) {
            complete(op, before->status);
            return start_time::never;
        }
    }
    op->after = SEA_OP_NONE;
    return held_by_order(op) ? start_time::later : start_time::now;
}

namespace {

// Its place among those that follow keeps the order of the others: so they start.
template <class List>
void take_out(List &list, std::uint32_t index)
{
    if (auto found = std::find(list.rbegin(), list.rend(), index); found != list.rend())
        list.erase(std::next(found).base());
}

} // namespace

void stop_waiting(operation *op)
{
    auto &e = engine();
    if (op->after == SEA_OP_ALL)
        --e.waiting_for_all;
    else if (operation *before = e.operations.find(op->after))
        take_out(before->dependents, op->index);
    take_out(e.startable, op->index); // its number may be used again before that list is looked at
    op->after = SEA_OP_NONE;
}

void begin_start(operation *op)
{
    op->state = operation::phase::active;
    if (op->external && op->in_order) { // from now on others that wait for all do not wait for it
        engine().operations.leave_order(op);
        start_who_waits_for_all();
    }
    op->starting = true;
    op->parts = 1;
}

void end_start(operation *op)
{
    if (!op->local_at_end) local_completion(op);
    order_started(op);
    part_done(op, SEA_OK);
    op->starting = false;
    maybe_release(op);
}

void start_who_waits_for_all()
{
    auto &e = engine();
    operation *oldest = e.operations.oldest();
    if (e.quick_unfinished == 0 && oldest && oldest->state == operation::phase::deferred && oldest->after == SEA_OP_ALL)
        e.startable.push_back(oldest->index);
}

namespace {

// Where its peer counts one that has not begun, by what it waits for.
std::uint32_t &count_of_deferred(const operation *op)
{
    peer &p = engine().peer_of(op->target);
    return op->after != SEA_OP_NONE ? p.unmet : p.held_back;
}

// run_startable() is under way.
class starting_others {
  public:
    starting_others() { engine().starting_others = true; }
    ~starting_others() { engine().starting_others = false; }
    starting_others(const starting_others &) = delete;
    starting_others &operator=(const starting_others &) = delete;
};

} // namespace

void defer(operation *op)
{
    op->state = operation::phase::deferred;
    if (!op->external) ++count_of_deferred(op);
}

void run_startable()
{
    auto &e = engine();
    if (e.starting_others) return; // what the start of one has ended lets start is seen by the loop below
    const starting_others now;
    while (!e.startable.empty()) {
        operation *op = e.operations.at(e.startable.front());
        e.startable.pop_front();
        if (op->state != operation::phase::deferred) continue;
        if (!op->external) --count_of_deferred(op);
        operation *before = op->after == SEA_OP_ALL ? nullptr : e.operations.find(op->after);
        if (op->after == SEA_OP_ALL) --e.waiting_for_all;
        op->after = SEA_OP_NONE;
        if (before && before->status != SEA_OK) op->failed_start = before->status;
        if (op->failed_start == SEA_OK && held_by_order(op)) {
            ++count_of_deferred(op);
            continue;
        }
        auto start = std::move(op->start);
        if (op->failed_start != SEA_OK) {
            complete(op, op->failed_start);
            continue;
        }
        begin_start(op);
        start(op);
        end_start(op);
    }
}

void local_completion(operation *op)
{
    if (op->local_done) return;
    op->local_done = true;
    if (op->origin_counter) bump(op->origin_counter);
}

void part_done(operation *op, int status)
{
    if (op->state == operation::phase::done) return;
    if (op->status == SEA_OK) op->status = status;
    if (--op->parts == 0) complete(op, op->status);
}

void complete(operation *op, int status)
{
    auto &e = engine();
    op->status = status;
    e.at_leisure -= std::exchange(op->at_leisure, false);
    local_completion(op);
    if (op->remote_counter) bump(op->remote_counter);
    if (!op->external) {
        peer &p = e.peer_of(op->target);
        p.unfinished[op->epoch] -= 1 + op->joined;
        p.lazy_answers -= op->lazy_answer;
        order_ended(op);
    }
    if (op->holds) --std::exchange(op->holds, nullptr)->users;
    op->state = operation::phase::done;
    e.operations.finish_order(op);
    if (status != SEA_OK && op->error_text.empty()) op->error_text = describe(op);
    if (status != SEA_OK && !op->held && !op->finished && op->kind != heap_call)
        leave_to_fence(op->target < 0 ? e.rank : op->target, status, op->kind, op->error_text);
    if (status != SEA_OK)
        for (std::uint32_t d : op->dependents) e.operations.at(d)->failed_start = status;
    start_dependents(op);
    if (op->finished) op->finished(op);
    if (op->layer_ended) op->layer_ended(op->context);
    if (op->counter_after && status == SEA_OK) internal_signal(op);
    maybe_release(op);
}

void let_go(operation *op)
{
    op->held = false;
    maybe_release(op);
}

namespace {

int check_raw_counter(const sea_opts *opts, int target_rank)
{
    const place counter = counter_place(opts, target_rank);
    if (opts->target_counter != SEA_NULL)
        return fail(SEA_ERR_INVALID, "there are two target counters, {:#x} and, in raw space, {:#x}; one is allowed",
                    opts->target_counter, opts->target_raw_counter);
    if (counter.position % 8)
        return fail(SEA_ERR_ALIGN, "the target counter at {:#x} in raw space is not aligned to 8 bytes",
                    opts->target_raw_counter);
    if (opts->target_raw_counter >= raw_end)
        return fail(SEA_ERR_ADDRESS, "the target counter at {:#x} is no address of a process",
                    opts->target_raw_counter);
    return engine().check_rank(target_rank);
}

} // namespace

int check_opts(const sea_opts *opts, int target_rank)
{
    if (!opts) return SEA_OK;
    if (!known_size(opts))
        return fail(SEA_ERR_INVALID, "sea_opts.size is {}, this library has {}; begin with SEA_OPTS_INIT", opts->size,
                    sizeof(sea_opts));
    if (opts->flags & SEA_JOIN)
        return fail(SEA_ERR_INVALID, "sea_opts.flags {:#x}: SEA_JOIN is for sea_put() alone", opts->flags);
    if (opts->flags & ~(SEA_NOWAIT | SEA_ORDERED))
        return fail(SEA_ERR_INVALID, "sea_opts.flags {:#x} has unknown bits", opts->flags);
    for (auto *c : {opts->origin_counter, opts->remote_counter})
        if (reinterpret_cast<std::uintptr_t>(c) % sizeof(sea_counter))
            return fail(SEA_ERR_ALIGN, "the counter at {} is not aligned to 8 bytes", fmt::ptr(c));
    if (raw_counter(opts)) return check_raw_counter(opts, target_rank);
    if (opts->target_counter == SEA_NULL) return SEA_OK;
    if (rank_of(opts->target_counter) != target_rank)
        return fail(SEA_ERR_INVALID, "the target counter is on rank {}, the operation on rank {}",
                    rank_of(opts->target_counter), target_rank);
    if (opts->target_counter % 8)
        return fail(SEA_ERR_ALIGN, "the target counter {:#x} is not aligned to 8 bytes", opts->target_counter);
    return engine().check_rank(target_rank); // of an operation without bytes nothing else tells the rank
}

namespace {

constexpr std::size_t long_transfer = 65536; // what is shorter is on its way, or waits at the other side

// From here on the counters hear of the operation, since the call does not fail: who gets an error from a call need not
// reckon with what it started.
void tell_counters(operation *op, const sea_opts *opts)
{
    if (!opts || (!opts->origin_counter && !opts->remote_counter)) return;
    if (!op->local_done)
        op->origin_counter = opts->origin_counter;
    else if (opts->origin_counter)
        bump(opts->origin_counter);
    if (op->state != operation::phase::done)
        op->remote_counter = opts->remote_counter;
    else if (opts->remote_counter)
        bump(opts->remote_counter);
    if (engine().sleep.waiters.load(std::memory_order_relaxed) > 0) notify_progress();
}

int leave_under_way(operation *op, const sea_opts *opts)
{
    started();
    const bool done = op->state == operation::phase::done;
    if (!done && op->bytes >= long_transfer) leave_long_transfer();
    const int status = done ? op->status : SEA_OK;
    if (status == SEA_OK)
        tell_counters(op, opts);
    else
        fail(status, "{}", op->error_text);
    if (status == SEA_OK && opts->op) *opts->op = done ? SEA_OP_NONE : operation_table::id_of(op);
    if (done || !opts->op) let_go(op);
    return status;
}

} // namespace

int conclude(locked &lock, operation *op, const sea_opts *opts, bool until_remote) noexcept
{
    if (!engine().startable.empty()) run_startable();
    if (engine().sleep.waiters.load(std::memory_order_relaxed) > 0) notify_progress(); // for counters that it bumped
    if (!blocking(opts)) return leave_under_way(op, opts);
    auto ready = [&] { return op->state == operation::phase::done || (!until_remote && op->local_done); };
    if (op->state == operation::phase::done)
        wake_if_late(engine_held); // for what it told others
    else if (ready())
        started(); // the rest of it goes on without this thread
    int status = wait_watched(lock, ready, thread_deadline());
    if (status == SEA_OK && op->state == operation::phase::done) {
        status = op->status;
        if (status != SEA_OK) fail(status, "{}", op->error_text);
    } else {
        status = waited_for(op, status);
    }
    if (status == SEA_OK || op->state != operation::phase::done) tell_counters(op, opts);
    if (status == SEA_ERR_TIMEOUT && op->result_is_ours) op->memory = nullptr;
    let_go(op);
    return status;
}

} // namespace onesea::core
