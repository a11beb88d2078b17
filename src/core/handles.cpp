// SPDX-License-Identifier: Apache-2.0
// Handles as the program has them: looked at, waited for, used up. One that another thread has used up meanwhile is an
// error, with its own text.
#include "core/engine.hpp"

#include <new>

using namespace onesea;
using namespace onesea::core;

namespace {

// Uses up a completed handle: its status, with the text.
int use_up(operation *op)
{
    int status = op->status;
    if (status != SEA_OK) fail(status, "{}", op->error_text);
    let_go(op);
    return status;
}

bool is_done(const operation *op) { return !op || op->state == operation::phase::done; }

int find_handle(sea_op id, operation **op)
{
    bool known = false;
    *op = engine().operations.find(id, &known);
    if (!known || !*op || !(*op)->held)
        return fail(SEA_ERR_HANDLE, "{:#x} is not a handle in use: it was never given out, or is used up", id);
    return SEA_OK;
}

// What was in use when the call began, and is complete: another thread may have used it up since, and has its status.
int use_up(sea_op id)
{
    operation *op;
    const int s = find_handle(id, &op);
    return s == SEA_OK ? use_up(op) : s;
}

int check_handles(const char *function, const sea_op *ops, int n, double seconds)
{
    if (int s = check_started(function)) return s;
    if (n < 0 || (n > 0 && !ops)) return fail(SEA_ERR_INVALID, "{}: {} handles at {}", function, n, fmt::ptr(ops));
    if (seconds != seconds) return fail(SEA_ERR_INVALID, "{}: the time is not a number", function);
    return SEA_OK;
}

int check_all(const sea_op *ops, int n)
{
    operation *op;
    for (int i = 0; i < n; ++i)
        if (ops[i] != SEA_OP_NONE)
            if (int s = find_handle(ops[i], &op)) return s;
    return SEA_OK;
}

bool done_at(const sea_op *ops, int i) { return is_done(engine().operations.find(ops[i])); }

// One that is not complete: the layer that made it may find its end quicker than a round of progress does.
void look_for_end(const operation *op)
{
    if (op->state == operation::phase::active && op->layer_look) op->layer_look(op->context);
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
    operation *op;
    locked lock = enter();
    if (int s = find_handle(id, &op)) return s;
    if (!is_done(op)) {
        poll_round(lock);
        op = engine().operations.find(id); // handlers have run, which may have used it up
    }
    if (!is_done(op)) return *done = 0, SEA_OK;
    if (int s = find_handle(id, &op)) return s;
    *done = 1;
    return use_up(op);
} catch (const std::bad_alloc &) {
    return no_memory("sea_test");
}

int sea_wait(sea_op id, double seconds)
try {
    if (int s = check_handles("sea_wait", nullptr, 0, seconds)) return s;
    if (id == SEA_OP_NONE) {
        if (held_is_due()) send_held(enter());
        return SEA_OK;
    }
    operation *op;
    locked lock = enter();
    if (int s = find_handle(id, &op)) return s;
    const auto ready = [id] { return is_done(engine().operations.find(id)); };
    if (!is_done(op)) look_for_end(op);
    if (is_done(op)) {
        if (held_is_due()) send_held(lock);
        return use_up(op);
    }
    if (int s = wait_watched(lock, ready, deadline_after(seconds))) return waited_for(engine().operations.find(id), s);
    return use_up(id);
} catch (const std::bad_alloc &) {
    return no_memory("sea_wait");
}

int sea_wait_local(sea_op id, double seconds)
try {
    if (int s = check_handles("sea_wait_local", nullptr, 0, seconds)) return s;
    if (id == SEA_OP_NONE) return SEA_OK;
    operation *op;
    locked lock = enter();
    if (int s = find_handle(id, &op)) return s;
    auto ready = [id] { // another thread may use it up meanwhile
        const operation *now = engine().operations.find(id);
        return !now || now->local_done;
    };
    const int s = wait(lock, ready, deadline_after(seconds));
    return s == SEA_OK ? s : waited_for(engine().operations.find(id), s);
} catch (const std::bad_alloc &) {
    return no_memory("sea_wait_local");
}

int sea_wait_all(sea_op *ops, int n, double seconds)
try {
    if (int s = check_handles("sea_wait_all", ops, n, seconds)) return s;
    locked lock = enter();
    if (int s = check_all(ops, n)) return s;
    int next = 0; // all before it are complete
    auto ready = [&] {
        while (next < n && (ops[next] == SEA_OP_NONE || done_at(ops, next))) ++next;
        return next == n;
    };
    for (int looked = -1; !ready() && looked != next;) look_for_end(engine().operations.find(ops[looked = next]));
    if (int s = wait(lock, ready, deadline_after(seconds))) return waited_for(engine().operations.find(ops[next]), s);
    int first = SEA_OK;
    for (int i = 0; i < n; ++i) {
        if (ops[i] == SEA_OP_NONE) continue;
        const int s = use_up(ops[i]);
        if (first == SEA_OK) first = s;
        ops[i] = SEA_OP_NONE;
    }
    return first;
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
    bool any_open = false;
    auto ready = [&] {
        any_open = false;
        for (int i = 0; i < n; ++i) {
            if (ops[i] == SEA_OP_NONE) continue;
            if (done_at(ops, i)) return true;
            any_open = true;
        }
        return !any_open;
    };
    if (int s = wait(lock, ready, deadline_after(seconds)))
        return told_by_name(s, [=] { return fmt::format("{}: {} handles", function, n); });
    int first = SEA_OK, found = 0;
    for (int i = 0; i < n && found < most; ++i) {
        if (ops[i] == SEA_OP_NONE || !done_at(ops, i)) continue;
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
