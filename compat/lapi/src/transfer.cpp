// SPDX-License-Identifier: Apache-2.0
#include "transfer.hpp"

#include "local.hpp"
#include "message.hpp"
#include "reach.hpp"
#include "through.hpp"

namespace lapi {
namespace {

constexpr ulong copied_at_once = 1024; // bytes; shorter puts without other wishes are locally complete when they return
constexpr ulong short_copy = 8192;     // bytes; onesea copies longer ones faster

bool simple(context &c, const ending &e) { return !e.shdlr && !e.chndlr && !c.counters.has_destinations(e.cmpl_cntr); }

// Starts an operation of onesea so that its ends tell whom `e` names.
template <class Issue>
int start(context &c, uint tgt, lapi_err_t type, const ending &e, Issue &&issue)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.target_raw_counter = e.tgt_cntr;
    if (simple(c, e)) {
        opts.origin_counter = e.org_cntr ? as_sea(e.org_cntr) : nullptr;
        opts.remote_counter = e.cmpl_cntr ? as_sea(e.cmpl_cntr) : nullptr;
        const int status = issue(&opts);
        c.has_sent();
        return from_sea(status);
    }
    tracker::operation o;
    opts.op = &o.op;
    opts.origin_counter = opts.remote_counter = c.tracked.events();
    if (int status = issue(&opts)) return from_sea(status);
    c.has_sent();
    o.locally = [&c, tgt, e] {
        add_here(e.org_cntr);
        call_sender(c, tgt, e, LAPI_SUCCESS);
    };
    o.at_end = [&c, tgt, e, type](int status) {
        if (status == SEA_OK)
            tell_arrival(c, tgt, e.cmpl_cntr);
        else
            add_here(e.cmpl_cntr);
        if (status == SEA_ERR_LINK) unreachable(tgt);
        if (status != SEA_OK) report_later(c, from_sea(status), type, int(tgt));
        if (e.chndlr && status == SEA_OK)
            c.completions.push([handle = c.handle, e]() mutable { e.chndlr(&handle, e.cinfo); });
    };
    c.tracked.follow(std::move(o));
    return LAPI_SUCCESS;
}

void count_near(std::atomic<lapi_long_t> &counter, ulong bytes)
{
    counter.store(counter.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

bool copied_near(context &c, uint tgt, lapi_long_t remote, void *local, ulong bytes, bool out)
{
    char *memory = near_memory(c, tgt, remote, bytes);
    if (!memory) return false;
    if (out)
        copy_here(memory, local, bytes);
    else
        copy_here(local, memory, bytes);
    count_near(out ? c.tasks[tgt].near_out : c.tasks[tgt].near_in, bytes);
    return true;
}

// All of them, or none.
bool pieces_copied_near(context &c, uint tgt, const std::vector<piece> &pieces, bool out)
{
    for (const piece &p : pieces)
        if (p.bytes && !near_memory(c, tgt, p.remote, p.bytes)) return false;
    for (const piece &p : pieces)
        if (p.bytes) copied_near(c, tgt, p.remote, p.local, p.bytes, out);
    return true;
}

std::vector<sea_raw_piece> raw_pieces(const std::vector<piece> &pieces)
{
    std::vector<sea_raw_piece> raw;
    raw.reserve(pieces.size());
    for (const piece &p : pieces)
        if (p.bytes) raw.push_back({p.remote, p.local, p.bytes});
    return raw;
}

} // namespace

int open_to(lapi_handle_t handle, uint tgt, context **found)
{
    context *c = find(handle);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!c->valid(tgt)) return LAPI_ERR_TGT;
    if (c->tasks[tgt].purged.load(std::memory_order_relaxed)) return LAPI_ERR_TGT_PURGED;
    *found = c;
    return LAPI_SUCCESS;
}

int add_there(uint tgt, lapi_long_t counter)
{
    if (!counter) return LAPI_SUCCESS;
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.target_raw_counter = counter;
    return from_sea(sea_raw_put(int(tgt), 0, nullptr, 0, &opts));
}

void tell_arrival(context &c, uint tgt, lapi_cntr_t *counter)
{
    if (!counter) return;
    c.counters.arrived(counter, tgt);
    wake_sleepers();
}

void call_sender(context &c, uint tgt, const ending &e, int code)
{
    if (!e.shdlr) return;
    c.waiting.push(c.handlers, [handle = c.handle, tgt, e, code](bool in_turn) mutable {
        if (!in_turn) return; // the context has ended
        lapi_sh_info_t info = {tgt, uint(code), {}};
        call_program([&] { e.shdlr(&handle, e.sinfo, &info); });
    });
}

void end_now(context &c, uint tgt, const ending &e)
{
    c.has_sent();
    if (int code = add_there(tgt, e.tgt_cntr)) report(c, code, PUT_ERR, int(tgt));
    add_here(e.org_cntr);
    call_sender(c, tgt, e, LAPI_SUCCESS);
    tell_arrival(c, tgt, e.cmpl_cntr);
    if (e.chndlr) c.completions.push([handle = c.handle, e]() mutable { e.chndlr(&handle, e.cinfo); });
}

int put(context &c, uint tgt, lapi_long_t to, const void *from, ulong bytes, const ending &e)
{
    if (bytes <= short_copy && copied_near(c, tgt, to, const_cast<void *>(from), bytes, true)) {
        end_now(c, tgt, e);
        return LAPI_SUCCESS;
    }
    sea_addr shared = shared_address(c, tgt, to, bytes);
    auto issue = [&](const sea_opts *opts) {
        return shared ? sea_put(shared, from, bytes, opts) : sea_raw_put(int(tgt), to, from, bytes, opts);
    };
    if (bytes <= copied_at_once && bytes > 0 && !e.tgt_cntr && !e.cmpl_cntr && !e.shdlr) {
        if (int status = issue(nullptr)) return from_sea(status);
        c.has_sent();
        add_here(e.org_cntr);
        return LAPI_SUCCESS;
    }
    return start(c, tgt, PUT_ERR, e, issue);
}

int get(context &c, uint tgt, lapi_long_t from, void *to, ulong bytes, const ending &e)
{
    if (bytes <= short_copy && copied_near(c, tgt, from, to, bytes, false)) {
        end_now(c, tgt, e);
        return LAPI_SUCCESS;
    }
    sea_addr shared = shared_address(c, tgt, from, bytes);
    return start(c, tgt, GET_ERR, e, [&](const sea_opts *opts) {
        return shared ? sea_get(to, shared, bytes, opts) : sea_raw_get(to, int(tgt), from, bytes, opts);
    });
}

int put_through(context &c, uint tgt, lapi_long_t to, const void *from, ulong bytes, lapi_long_t tgt_cntr)
{
    if (bytes <= short_copy && copied_near(c, tgt, to, const_cast<void *>(from), bytes, true)) {
        c.has_sent();
        return add_there(tgt, tgt_cntr);
    }
    const sea_addr shared = shared_address(c, tgt, to, bytes);
    return through(c, tgt, tgt_cntr, [&](const sea_opts *opts) {
        return shared ? sea_put(shared, from, bytes, opts) : sea_raw_put(int(tgt), to, from, bytes, opts);
    });
}

int get_through(context &c, uint tgt, lapi_long_t from, void *to, ulong bytes)
{
    if (bytes <= short_copy && copied_near(c, tgt, from, to, bytes, false)) return LAPI_SUCCESS;
    const sea_addr shared = shared_address(c, tgt, from, bytes);
    return through(c, tgt, 0, [&](const sea_opts *opts) {
        return shared ? sea_get(to, shared, bytes, opts) : sea_raw_get(to, int(tgt), from, bytes, opts);
    });
}

int put_pieces(context &c, uint tgt, const std::vector<piece> &pieces, const ending &e)
{
    if (pieces_copied_near(c, tgt, pieces, true)) {
        end_now(c, tgt, e);
        return LAPI_SUCCESS;
    }
    const auto raw = raw_pieces(pieces);
    return start(c, tgt, PUT_ERR, e,
                 [&](const sea_opts *opts) { return sea_raw_put_vector(int(tgt), raw.data(), raw.size(), opts); });
}

int get_pieces(context &c, uint tgt, const std::vector<piece> &pieces, const ending &e)
{
    if (pieces_copied_near(c, tgt, pieces, false)) {
        end_now(c, tgt, e);
        return LAPI_SUCCESS;
    }
    const auto raw = raw_pieces(pieces);
    return start(c, tgt, GET_ERR, e,
                 [&](const sea_opts *opts) { return sea_raw_get_vector(int(tgt), raw.data(), raw.size(), opts); });
}

} // namespace lapi
