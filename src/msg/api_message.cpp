// SPDX-License-Identifier: Apache-2.0
// sea_message_*: check arguments, find the team, take the short way where options allow it.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/run.hpp"
#include "msg/office.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

using namespace onesea;
using namespace onesea::msg;

namespace {

const bool registered = [] {
    core::add_lifecycle(
        [] {
            core::locked lock = core::enter();
            the_office().open(core::engine_held);
        },
        [] { the_office().close(); });
    core::add_progress_source({[] { return the_office().poll(); }, [] { return the_office().rest(); },
                               [](int rank, int status) { the_office().gone(rank, status); },
                               [](std::set<int> &ranks) { the_office().awaited(ranks); },
                               [](std::vector<std::string> &what) { the_office().waits(what); }});
    core::set_handle_keeper({[](sea_op h) { return the_office().state(h); },
                             [](sea_op h) { return the_office().look_for(h); },
                             [](sea_op h, bool look, int *status) { return the_office().take(h, look, status); },
                             [](core::engine_held_t held, sea_op h, sea_op *operation) {
                                 return the_office().follow(held, h, operation);
                             }});
    core::set_frame_function(core::upper::message, [](const core::upper_frame &f) { the_office().on_frame(f); });
    return true;
}();

// Whom a call is about.
struct counterpart {
    std::shared_ptr<coll::team> team; // nullptr: SEA_TEAM_WORLD
    std::uint64_t name = 0;           // of the team, on the wire
    int rank = anything;
};

std::uint64_t name_of(const coll::context_id &id) { return id.high * 0x9e3779b97f4a7c15u ^ id.low; }

int bad_member(const char *function, int member, int size)
{
    return fail(SEA_ERR_RANK, "{}: there is no member {}; the team has {}", function, member, size);
}

int find(const char *function, sea_team team, int member, bool may_be_open, counterpart *who)
{
    if (int s = core::check_started(function)) return s;
    const bool open = may_be_open && member == SEA_ANY_SOURCE;
    if (team == SEA_TEAM_WORLD) {
        const int size = core::world_size();
        if (core::own_rank() >= size)
            return fail(SEA_ERR_INVALID, "{}: rank {} is not a member of the team", function, core::own_rank());
        if (!open && (member < 0 || member >= size)) return bad_member(function, member, size);
        who->name = name_of(coll::world_context);
        who->rank = member;
        return SEA_OK;
    }
    if (int s = coll::member_of(function, team, &who->team)) return s;
    const coll::members &all = who->team->who;
    if (!open && (member < 0 || member >= all.size())) return bad_member(function, member, all.size());
    who->name = name_of(who->team->context);
    who->rank = open ? anything : all.rank(member);
    return SEA_OK;
}

int check_tag(const char *function, int tag, bool may_be_open)
{
    if (tag >= 0 || (may_be_open && tag == SEA_ANY_TAG)) return SEA_OK;
    return fail(SEA_ERR_INVALID, "{}: the tag {} is not in 0..{}", function, tag, SEA_TAG_MAX);
}

int check_memory(const char *function, const void *memory, std::size_t bytes)
{
    if (memory || bytes == 0) return SEA_OK;
    return fail(SEA_ERR_INVALID, "{}: the memory is null but has {} bytes", function, bytes);
}

int send(sea_team team, int member, int tag, const void *data, std::size_t bytes, const sea_opts *opts)
{
    constexpr const char *function = "sea_message_send";
    counterpart to;
    if (int s = find(function, team, member, false, &to)) return s;
    if (int s = check_tag(function, tag, false)) return s;
    if (int s = check_memory(function, data, bytes)) return s;
    if (bytes > PTRDIFF_MAX) return fail(SEA_ERR_INVALID, "{}: {} bytes are more than any memory has", function, bytes);
    parcel p{to.name, to.rank, tag, data, bytes};
    const bool uncounted = core::uncounted(opts); // who waits for a counter asks for no end, so that would come late
    p.in_place = uncounted && opts && opts->op && the_office().goes_in_place(p);
    if (!p.in_place && uncounted) {
        const int s = the_office().send_eager(p);
        if (s != office::must_offer) {
            if (s == SEA_OK && opts && opts->op) *opts->op = SEA_OP_NONE;
            return s;
        }
    }
    core::external_plan plan;
    plan.target = to.rank;
    plan.memory = data;
    plan.bytes = bytes;
    return core::run_external(function, plan, opts,
                              [p](std::uint64_t id) { the_office().send(core::engine_held, p, id); });
}

void drop_request(void *r) { delete static_cast<request *>(r); }

// Without an operation.
int start_kept_receive(std::unique_ptr<request> r, sea_op *handle)
{
    const sea_op made = the_office().receive_kept(r);
    if (made == SEA_OP_NONE && r->status != SEA_OK) return fail(r->status, "{}", office::end_text(*r));
    *handle = made;
    return SEA_OK;
}

// `number`: of a message that was taken, 0: none.
int start_receive(const char *function, std::unique_ptr<request> made, const sea_opts *opts, std::uint64_t number)
{
    if (number == 0 && opts->op && core::uncounted(opts)) return start_kept_receive(std::move(made), opts->op);
    core::external_plan plan;
    plan.ended = drop_request;
    plan.context = made.get();
    request *r = made.release();
    return core::run_external(function, plan, opts, [r, number](std::uint64_t id) {
        r->operation = id;
        if (number == 0)
            the_office().receive(*r);
        else if (the_office().receive_taken(number, *r) != SEA_OK)
            core::end_external(core::engine_held, id, SEA_ERR_HANDLE);
        the_office().settle(core::engine_held);
    });
}

// Until the time is up: then it is withdrawn.
int wait_or_withdraw(const char *function, sea_op op, nanoseconds deadline)
{
    const double seconds = deadline == never ? SEA_FOREVER : double(deadline - std::min(deadline, now_ns())) * 1e-9;
    int s = sea_wait(op, seconds);
    if (s != SEA_ERR_TIMEOUT) return s;
    sea_message_cancel(op);
    s = sea_wait(op, SEA_FOREVER);
    return s == SEA_ERR_CANCELLED ? fail(SEA_ERR_TIMEOUT, "{}: the time given has passed", function) : s;
}

bool aligned(const sea_counter *c) { return reinterpret_cast<std::uintptr_t>(c) % sizeof(sea_counter) == 0; }

void add_to_counters(const sea_opts &opts)
{
    if (!opts.origin_counter && !opts.remote_counter) return;
    for (sea_counter *c : {opts.origin_counter, opts.remote_counter})
        if (c) core::bump(c);
    core::nudge();
}

// A call that blocks although it has counters or a start condition. Its operation has no counters: they would also add
// when it fails, which the call itself tells.
int wait_for_receive(const char *function, std::unique_ptr<request> made, const sea_opts &opts, std::uint64_t number)
{
    sea_op op = SEA_OP_NONE;
    sea_opts mine = SEA_OPTS_INIT;
    std::memcpy(&mine, &opts, std::min(opts.size, sizeof mine)); // an older program has no more of it
    if (!aligned(mine.origin_counter) || !aligned(mine.remote_counter))
        return start_receive(function, std::move(made), &opts, number); // tells what is wrong, and starts nothing
    mine.op = &op;
    mine.origin_counter = mine.remote_counter = nullptr;
    const nanoseconds deadline = core::thread_deadline();
    if (int s = start_receive(function, std::move(made), &mine, number)) return s;
    if (int s = wait_or_withdraw(function, op, deadline)) return s;
    add_to_counters(opts);
    return SEA_OK;
}

void prepare(request &r, void *buffer, std::size_t capacity, sea_message_info *info)
{
    r.buffer = buffer;
    r.capacity = capacity;
    r.info = info;
}

int receive(sea_team team, int member, int tag, void *buffer, std::size_t capacity, sea_message_info *info,
            const sea_opts *opts)
{
    constexpr const char *function = "sea_message_receive";
    counterpart from;
    if (int s = find(function, team, member, true, &from)) return s;
    if (int s = check_tag(function, tag, true)) return s;
    if (int s = check_memory(function, buffer, capacity)) return s;
    const pattern want{from.name, from.rank, tag};
    if (core::blocking(opts) && core::uncounted(opts)) {
        request r;
        r.want = want;
        r.team = std::move(from.team);
        prepare(r, buffer, capacity, info);
        the_office().receive_here(r);
        return the_office().wait(r, core::thread_deadline());
    }
    auto r = std::make_unique_for_overwrite<request>(); // it has its own first values
    r->want = want;
    r->team = std::move(from.team);
    prepare(*r, buffer, capacity, info);
    if (core::blocking(opts)) return wait_for_receive(function, std::move(r), *opts, 0);
    return start_receive(function, std::move(r), opts, 0);
}

struct looking {
    pattern want;
    counterpart from;
    sea_message_info *info;
    std::uint64_t *number;
    int status;
};

// Waits until there is a message, or an error.
int wait_to_see(const char *function, sea_team team, int member, int tag, sea_message_info *info, std::uint64_t *number,
                double seconds)
{
    looking l{};
    if (int s = find(function, team, member, true, &l.from)) return s;
    if (int s = check_tag(function, tag, true)) return s;
    if (std::isnan(seconds)) return fail(SEA_ERR_INVALID, "{}: the time is not a number", function);
    if (seconds < 0 && seconds != SEA_FOREVER) seconds = 0; // that has just passed
    l.want = {l.from.name, l.from.rank, tag};
    l.info = info;
    l.number = number;
    auto look = [](void *argument) {
        auto &it = *static_cast<looking *>(argument);
        it.status = the_office().look(it.want, it.from.team, it.info, it.number);
        return it.status != SEA_ERR_TIMEOUT;
    };
    if (!look(&l) && seconds == 0) { // what came over the network may not have been taken in
        sea_poll();
        look(&l);
    }
    if (l.status == SEA_ERR_TIMEOUT && seconds != 0) {
        const office::sight sight{l.want, l.from.team.get()};
        the_office().wait_for_arrival(sight, look, &l, seconds);
    }
    switch (l.status) {
    case SEA_OK:
        return SEA_OK;
    case SEA_ERR_TIMEOUT:
        return set_error(SEA_ERR_TIMEOUT, fmt::format("{}: there is no such message", function));
    default:
        return fail(l.status, "{}: nothing more can come: {}", function, sea_strerror(l.status));
    }
}

} // namespace

int sea_message_send(sea_team team, int member, int tag, const void *data, size_t bytes, const sea_opts *opts)
{
    return guarded("sea_message_send", [&] { return send(team, member, tag, data, bytes, opts); });
}

int sea_message_receive(sea_team team, int member, int tag, void *buffer, size_t capacity, sea_message_info *info,
                        const sea_opts *opts)
{
    return guarded("sea_message_receive", [&] { return receive(team, member, tag, buffer, capacity, info, opts); });
}

int sea_message_cancel(sea_op op)
{
    constexpr const char *function = "sea_message_cancel";
    if (int s = core::check_started(function)) return s;
    if (op == SEA_OP_NONE) return SEA_OK;
    if (the_office().cancel(op)) {
        the_office().settle();
        return SEA_OK;
    }
    core::locked lock = core::enter();
    bool ours = false;
    auto *r = static_cast<request *>(core::external_context(core::engine_held, op, drop_request, &ours));
    if (!ours) return fail(SEA_ERR_HANDLE, "{}: {:#x} is not the handle of a receive in use", function, op);
    if (r && !core::end_unstarted(core::engine_held, op, SEA_ERR_CANCELLED, "the receive was withdrawn"))
        the_office().withdraw(*r, SEA_ERR_CANCELLED);
    the_office().settle(core::engine_held);
    return SEA_OK;
}

int sea_message_probe(sea_team team, int member, int tag, sea_message_info *info, double seconds)
{
    constexpr const char *function = "sea_message_probe";
    return guarded(function, [&] { return wait_to_see(function, team, member, tag, info, nullptr, seconds); });
}

int sea_message_look(sea_team team, int member, int tag, int *found, sea_message_info *info)
{
    constexpr const char *function = "sea_message_look";
    if (!found) return fail(SEA_ERR_INVALID, "{}: found is null", function);
    const int s = guarded(function, [&] { return wait_to_see(function, team, member, tag, info, nullptr, 0); });
    if (s != SEA_OK && s != SEA_ERR_TIMEOUT) return s;
    *found = s == SEA_OK;
    return SEA_OK;
}

int sea_message_take(sea_team team, int member, int tag, sea_message *message, sea_message_info *info, double seconds)
{
    constexpr const char *function = "sea_message_take";
    if (!message) return fail(SEA_ERR_INVALID, "{}: message is null", function);
    return guarded(function, [&] { return wait_to_see(function, team, member, tag, info, message, seconds); });
}

int sea_message_receive_taken(sea_message message, void *buffer, size_t capacity, sea_message_info *info,
                              const sea_opts *opts)
{
    constexpr const char *function = "sea_message_receive_taken";
    if (int s = core::check_started(function)) return s;
    if (int s = check_memory(function, buffer, capacity)) return s;
    return guarded(function, [&] {
        auto r = std::make_unique_for_overwrite<request>(); // it has its own first values
        prepare(*r, buffer, capacity, info);
        if (!the_office().find_taken(message, &r->want, &r->team))
            return fail(SEA_ERR_HANDLE, "{}: {:#x} is no message that was taken, or it has been received", function,
                        message);
        if (!core::blocking(opts)) return start_receive(function, std::move(r), opts, message);
        if (!core::uncounted(opts)) return wait_for_receive(function, std::move(r), *opts, message);
        if (the_office().receive_taken(message, *r) != SEA_OK)
            return fail(SEA_ERR_HANDLE, "{}: {:#x} has been received", function, message);
        return the_office().wait(*r, core::thread_deadline());
    });
}

int sea_message_memory(size_t *used, size_t *bound)
{
    if (int s = core::check_started("sea_message_memory")) return s;
    the_office().usage(used, bound);
    return SEA_OK;
}

int sea_message_fragment(int rank, size_t *bytes)
{
    constexpr const char *function = "sea_message_fragment";
    if (int s = core::check_started(function)) return s;
    if (!bytes) return fail(SEA_ERR_INVALID, "{}: bytes is null", function);
    const std::size_t length = core::fragment_length(rank);
    if (length == 0) return fail(SEA_ERR_RANK, "{}: there is no rank {}", function, rank);
    *bytes = length;
    return SEA_OK;
}
