// SPDX-License-Identifier: Apache-2.0
// Handles as the program has them: looked at, waited for, used up. One that another thread has used up meanwhile is an
// error, with its own text.
#include "core/engine.hpp"

#include <new>

using namespace onesea;
using namespace onesea::core;

namespace onesea::core {
namespace {

constexpr handle_keeper nobody{
    [](sea_op) { return handle_state::unknown; },
    [](sea_op) { return handle_state::unknown; },
    [](sea_op, bool, int *) { return handle_state::unknown; },
    [](engine_held_t, sea_op, sea_op *) { return int(SEA_OK); },
};
constinit handle_keeper keeper = nobody;

[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t looks = 0;

bool is_kept(sea_op id) { return id & kept_handle; }

} // namespace

std::uint32_t looks_for_ends() { return looks; }

void set_handle_keeper(const handle_keeper &of_layer) { keeper = of_layer; }

bool condition_is_known(sea_op after)
{
    if (is_kept(after)) {
        sea_op follower;
        keeper.follow(engine_held, after, &follower);
        return keeper.state(after) != handle_state::unknown;
    }
    bool known = false;
    engine().operations.find(after, &known);
    return known;
}

int condition_of(sea_op after, sea_op *operation)
{
    if (after != SEA_OP_ALL && is_kept(after)) return keeper.follow(engine_held, after, operation);
    *operation = after;
    return SEA_OK;
}

} // namespace onesea::core

namespace {

int not_in_use(sea_op id)
{
    return fail(SEA_ERR_HANDLE, "{:#x} is not a handle in use: it was never given out, or is used up", id);
}

bool in_use(handle_state s) { return s == handle_state::open || s == handle_state::done; }

// Uses up a completed handle: its status, with the text.
int use_up(operation *op)
{
    int status = op->status;
    if (status != SEA_OK) fail(status, "{}", op->error_text);
    let_go(op);
    return status;
}

bool is_done(const operation *op) { return !op || op->state == operation::phase::done; }

bool is_done(sea_op id)
{
    if (is_kept(id)) return keeper.state(id) != handle_state::open;
    return is_done(engine().operations.find(id));
}

int find_handle(sea_op id, operation **op)
{
    bool known = false;
    *op = engine().operations.find(id, &known);
    return known && *op && (*op)->held ? SEA_OK : not_in_use(id);
}

int check_handle(sea_op id)
{
    operation *op;
    if (is_kept(id)) return in_use(keeper.state(id)) ? SEA_OK : not_in_use(id);
    return find_handle(id, &op);
}

// What was in use when the call began, and is complete: another thread may have used it up since, and has its status.
int use_up(sea_op id)
{
    int status = SEA_OK;
    if (is_kept(id)) return keeper.take(id, false, &status) == handle_state::done ? status : not_in_use(id);
    operation *op;
    const int s = find_handle(id, &op);
    return s == SEA_OK ? use_up(op) : s;
}

int time_has_passed(sea_op id, int status)
{
    return is_kept(id) ? status : waited_for(engine().operations.find(id), status);
}

int check_handles(const char *function, const sea_op *ops, int n, double seconds)
{
    ++looks;
    if (int s = check_started(function)) return s;
    if (n < 0 || (n > 0 && !ops)) return fail(SEA_ERR_INVALID, "{}: {} handles at {}", function, n, fmt::ptr(ops));
    if (seconds != seconds) return fail(SEA_ERR_INVALID, "{}: the time is not a number", function);
    return SEA_OK;
}

int check_all(const sea_op *ops, int n)
{
    for (int i = 0; i < n; ++i)
        if (ops[i] != SEA_OP_NONE)
            if (int s = check_handle(ops[i])) return s;
    return SEA_OK;
}

// Whoever looks for their ends waits for them.
void ask_for_ends(const sea_op *ops, int n)
{
    for (int i = 0; i < n && engine().at_leisure > 0; ++i) {
        operation *op = is_kept(ops[i]) ? nullptr : engine().operations.find(ops[i]);
        if (op && op->at_leisure) ask_for_end(op);
    }
}

void let_out_what_is_held()
{
    if (held_is_due()) send_held(enter());
}

int wait_for_kept(sea_op id, double seconds)
{
    int status = SEA_OK;
    switch (keeper.take(id, true, &status)) {
    case handle_state::done:
        let_out_what_is_held();
        return status;
    case handle_state::open:
        break;
    default:
        return not_in_use(id);
    }
    locked lock = enter();
    if (int s = wait_watched(
            lock, [id] { return is_done(id); }, deadline_after(seconds)))
        return s;
    return use_up(id);
}

// All are the layer's, and complete, or found so while that is quicker than a round of progress.
bool kept_are_done(const sea_op *ops, int n)
{
    for (int i = 0; i < n; ++i) {
        if (ops[i] == SEA_OP_NONE) continue;
        if (!is_kept(ops[i]) || keeper.look_for(ops[i]) != handle_state::done) return false;
    }
    return true;
}

// The first error among those that were not good.
int use_up_all(sea_op *ops, int n)
{
    int first = SEA_OK;
    for (int i = 0; i < n; ++i) {
        if (ops[i] == SEA_OP_NONE) continue;
        const int s = use_up(ops[i]);
        if (first == SEA_OK) first = s;
        ops[i] = SEA_OP_NONE;
    }
    return first;
}

} // namespace

int sea_test(sea_op id, int *done)
try {
    if (int s = check_handles("sea_test", nullptr, 0, 0)) return s;
    if (!done) return fail(SEA_ERR_INVALID, "sea_test: done is null");
    if (id == SEA_OP_NONE) {
        *done = 1;
        return SEA_OK;
    }
    locked lock = enter();
    if (int s = check_handle(id)) return s;
    ask_for_ends(&id, 1);
    if (!is_done(id)) poll_round(lock); // runs handlers, which may use it up
    if (!is_done(id)) return *done = 0, SEA_OK;
    if (int s = check_handle(id)) return s;
    *done = 1;
    return use_up(id);
} catch (const std::bad_alloc &) {
    return no_memory("sea_test");
}

int sea_wait(sea_op id, double seconds)
try {
    if (int s = check_handles("sea_wait", nullptr, 0, seconds)) return s;
    if (id == SEA_OP_NONE) {
        let_out_what_is_held();
        return SEA_OK;
    }
    if (is_kept(id)) return wait_for_kept(id, seconds);
    operation *op;
    locked lock = enter();
    if (int s = find_handle(id, &op)) return s;
    if (is_done(op)) {
        if (held_is_due()) send_held(lock);
        return use_up(op);
    }
    ask_for_ends(&id, 1);
    const auto ready = [id] { return is_done(engine().operations.find(id)); };
    if (int s = wait_watched(lock, ready, deadline_after(seconds))) return time_has_passed(id, s);
    return use_up(id);
} catch (const std::bad_alloc &) {
    return no_memory("sea_wait");
}

int sea_wait_local(sea_op id, double seconds)
try {
    if (int s = check_handles("sea_wait_local", nullptr, 0, seconds)) return s;
    if (id == SEA_OP_NONE) return SEA_OK;
    locked lock = enter();
    if (int s = check_handle(id)) return s;
    ask_for_ends(&id, 1);
    auto ready = [id] { // another thread may use it up meanwhile
        if (is_kept(id)) return is_done(id);
        const operation *now = engine().operations.find(id);
        return !now || now->local_done;
    };
    const int s = wait(lock, ready, deadline_after(seconds));
    return s == SEA_OK ? s : time_has_passed(id, s);
} catch (const std::bad_alloc &) {
    return no_memory("sea_wait_local");
}

int sea_wait_all(sea_op *ops, int n, double seconds)
try {
    if (int s = check_handles("sea_wait_all", ops, n, seconds)) return s;
    if (kept_are_done(ops, n)) {
        let_out_what_is_held();
        return use_up_all(ops, n);
    }
    locked lock = enter();
    if (int s = check_all(ops, n)) return s;
    ask_for_ends(ops, n);
    int next = 0; // all before it are complete
    auto ready = [&] {
        while (next < n && (ops[next] == SEA_OP_NONE || is_done(ops[next]))) ++next;
        return next == n;
    };
    if (int s = wait(lock, ready, deadline_after(seconds))) return time_has_passed(ops[next], s);
    return use_up_all(ops, n);
} catch (const std::bad_alloc &) {
    return no_memory("sea_wait_all");
}

namespace {

int wait_some(const char *function, sea_op *ops, int n, int *indices, int *count, int most, double seconds)
{
    if (int s = check_handles(function, ops, n, seconds)) return s;
    if (!count || (n > 0 && !indices)) return fail(SEA_ERR_INVALID, "{}: an output is null", function);
    locked lock = enter();
    if (int s = check_all(ops, n)) return s;
    ask_for_ends(ops, n);
    bool any_open = false;
    auto ready = [&] {
        any_open = false;
        for (int i = 0; i < n; ++i) {
            if (ops[i] == SEA_OP_NONE) continue;
            if (is_done(ops[i])) return true;
            any_open = true;
        }
        return !any_open;
    };
    if (int s = wait(lock, ready, deadline_after(seconds)))
        return told_by_name(s, [=] { return fmt::format("{}: {} handles", function, n); });
    int first = SEA_OK, found = 0;
    for (int i = 0; i < n && found < most; ++i) {
        if (ops[i] == SEA_OP_NONE || !is_done(ops[i])) continue;
        const int s = use_up(ops[i]);
        if (first == SEA_OK) first = s;
        ops[i] = SEA_OP_NONE;
        indices[found++] = i;
    }
    *count = found;
    return first;
}

} // namespace

int sea_wait_any(sea_op *ops, int n, int *index, double seconds)
{
    if (!index) return fail(SEA_ERR_INVALID, "sea_wait_any: index is null");
    int found = -1, count = 0;
    int status = wait_some("sea_wait_any", ops, n, &found, &count, 1, seconds);
    if (status != SEA_ERR_TIMEOUT && (status == SEA_OK || count > 0)) *index = count ? found : -1;
    return status;
}

int sea_wait_some(sea_op *ops, int n, int *indices, int *count, double seconds)
{
    return wait_some("sea_wait_some", ops, n, indices, count, n, seconds);
}
