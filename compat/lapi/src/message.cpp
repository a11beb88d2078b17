// SPDX-License-Identifier: Apache-2.0
// Sending, and what is said between the libraries.
//
//   header of a message:  | head, 40 bytes | user header, padded to 8 | data, if both together are at most max_packet |
//
// A message whose data is longer carries it as the data of onesea's active message. With a completion counter the head
// has the number of a request; the target answers it after the completion handler.
#include "message.hpp"

#include "arrival.hpp"
#include "local.hpp"

#include <cstring>
#include <memory>

namespace lapi {
namespace {

struct service {
    lapi_handle_t context;
    service_kind kind;
    std::int32_t code;
    std::uint32_t zero;
    std::uint64_t id;
    std::uint64_t words[4];
};
static_assert(sizeof(service) == 56);

int send_service(int to, const service &s)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    return sea_am_send(to, service_id, &s, sizeof s, nullptr, 0, &opts);
}

// Ends when everything before it in the inbox has been handled: the inbox keeps the order.
void flush_for(context &c, int source, std::uint64_t id)
{
    if (c.waiting.empty()) return answer(c.handle, source, id, LAPI_SUCCESS, nullptr);
    c.waiting.push(c.handlers, [&c, source, id](bool in_turn) {
        answer(c.handle, source, id, in_turn ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID, nullptr);
    });
}

void *on_service(const sea_am *message, sea_am_complete_fn *, void **)
{
    service s;
    if (message->header_bytes != sizeof s) return nullptr;
    std::memcpy(&s, message->header, sizeof s);
    context *c = find_partner(s.context);
    if (!c) {
        if (s.kind != service_kind::answer) answer(s.context, message->source, s.id, LAPI_ERR_HNDL_INVALID, nullptr);
        return nullptr;
    }
    switch (s.kind) {
    case service_kind::answer:
        if (auto answered = c->asked.take(s.id, uint(message->source))) answered(s.code, s.words);
        break;
    case service_kind::swap:
        compare_and_swap_for(*c, message->source, s.id, s.words);
        break;
    case service_kind::flush:
        flush_for(*c, message->source, s.id);
        break;
    }
    return nullptr;
}

void on_death(int rank, int, void *)
{
    for_each_context([rank](context &c) {
        if (!c.valid(uint(rank))) return false;
        c.tasks[rank].near = false;
        c.counters.purged(uint(rank));
        c.asked.fail_all_of(uint(rank), LAPI_ERR_TGT_PURGED);
        return false;
    });
}

// Errors of operations that nobody else hears of. onesea does not know contexts: the first one is told.
void on_error(int rank, int status, int kind, void *)
{
    constexpr lapi_err_t types[] = {PUT_ERR, GET_ERR, RMW_ERR, AM_ERR, PUT_ERR};
    lapi_err_t type = status == SEA_ERR_LINK ? TMR_ERR : types[kind];
    if (status == SEA_ERR_LINK) unreachable(uint(rank));
    for_each_context([&](context &c) {
        report_later(c, from_sea(status), type, rank);
        return true;
    });
}

// The request that a message with a completion counter is.
std::uint64_t expect_completion(context &c, uint tgt, lapi_cntr_t *counter)
{
    return c.asked.add(tgt, [&c, tgt, counter](int code, const std::uint64_t *) {
        if (code == LAPI_SUCCESS) return tell_arrival(c, tgt, counter);
        add_here(counter);
        report_later(c, code, AM_ERR, int(tgt));
    });
}

int send_packet(context &c, uint tgt, std::byte *buffer, std::size_t used, const sending &s, const ending &e)
{
    if (s.bytes) std::memcpy(buffer + used, s.data, s.bytes);
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    if (int status = sea_am_send(int(tgt), message_id, buffer, used + s.bytes, nullptr, 0, &opts))
        return from_sea(status);
    add_here(e.org_cntr); // the header has been copied
    call_sender(c, tgt, e, LAPI_SUCCESS);
    return LAPI_SUCCESS;
}

// A message without a send handler whose way or target is lost is told by on_error() or on_death().
int send_long(context &c, uint tgt, const std::byte *buffer, std::size_t used, const sending &s, const ending &e,
              std::uint64_t request)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    if (!e.shdlr) {
        opts.origin_counter = e.org_cntr ? as_sea(e.org_cntr) : nullptr;
        return from_sea(sea_am_send(int(tgt), message_id, buffer, used, s.data, s.bytes, &opts));
    }
    tracker::operation o;
    opts.op = &o.op;
    opts.origin_counter = opts.remote_counter = c.tracked.events();
    if (int status = sea_am_send(int(tgt), message_id, buffer, used, s.data, s.bytes, &opts)) return from_sea(status);
    o.locally = [&c, tgt, e] {
        add_here(e.org_cntr);
        call_sender(c, tgt, e, LAPI_SUCCESS);
    };
    o.at_end = [&c, tgt, request](int status) {
        if (status == SEA_ERR_LINK) unreachable(tgt);
        if (status == SEA_OK) return;
        if (auto answered = request ? c.asked.take(request, tgt) : requests::answered())
            answered(from_sea(status), nullptr); // nobody else will
        else
            report_later(c, from_sea(status), AM_ERR, int(tgt));
    };
    c.tracked.follow(std::move(o));
    return LAPI_SUCCESS;
}

} // namespace

int ask(context &c, uint tgt, service_kind kind, const std::uint64_t *words, requests::answered answered)
{
    service s = {c.handle, kind, 0, 0, c.asked.add(tgt, std::move(answered)), {}};
    if (words) std::memcpy(s.words, words, sizeof s.words);
    int status = send_service(int(tgt), s);
    if (status != SEA_OK && !c.asked.take(s.id, tgt)) return LAPI_SUCCESS; // the target's end has answered
    return from_sea(status);
}

void answer(lapi_handle_t context_number, int source, std::uint64_t id, int code, const std::uint64_t *words)
{
    service s = {context_number, service_kind::answer, code, 0, id, {}};
    if (words) std::memcpy(s.words, words, sizeof s.words);
    send_service(source, s);
}

int send(context &c, uint tgt, const sending &s, const ending &e)
{
    alignas(8) std::byte buffer[SEA_AM_HEADER_MAX];
    message_head head = {};
    const std::size_t padded = padded_to_word(s.uhdr_len);
    const bool packed = s.bytes <= max_packet && padded + s.bytes <= max_packet;
    head.context = c.handle;
    head.uhdr_len = std::uint16_t(s.uhdr_len);
    head.vector = s.vector;
    head.packed = packed;
    head.handler = s.handler;
    head.bytes = s.bytes;
    head.tgt_cntr = e.tgt_cntr;
    head.request = e.cmpl_cntr ? expect_completion(c, tgt, e.cmpl_cntr) : 0;
    std::memset(buffer + sizeof head, 0, padded);
    std::memcpy(buffer, &head, sizeof head);
    if (s.uhdr_len) std::memcpy(buffer + sizeof head, s.uhdr, s.uhdr_len);
    const std::size_t used = sizeof head + padded;
    const int code =
        packed ? send_packet(c, tgt, buffer, used, s, e) : send_long(c, tgt, buffer, used, s, e, head.request);
    c.tasks[tgt].messaged.store(true, std::memory_order_relaxed); // after it: another thread's fence may be under way
    c.has_sent();
    if (code == LAPI_SUCCESS || !head.request || c.asked.take(head.request, tgt)) return code;
    add_here(e.org_cntr); // the target's end has told the completion: so the rest of a message that was sent follows
    call_sender(c, tgt, e, code);
    return LAPI_SUCCESS;
}

void unreachable(uint task)
{
    for_each_context([task](context &c) {
        if (c.valid(task)) c.asked.fail_all_of(task, LAPI_ERR_TIMEOUT);
        return false;
    });
}

void look_after_answers(context &c)
{
    constexpr double every = 5; // seconds
    if (c.asked.empty()) [[likely]]
        return;
    const double now = sea_time();
    double next = c.next_look.load(std::memory_order_relaxed);
    if (now < next || !c.next_look.compare_exchange_strong(next, now + every)) return;
    const service nothing = {c.handle, service_kind::answer, LAPI_SUCCESS, 0, 0, {}}; // no request has number 0
    for (uint t : c.asked.tasks())
        if (sea_node_of(int(t)) != sea_node() && send_service(int(t), nothing) == SEA_ERR_LINK) unreachable(t);
}

// onesea runs its handlers in the order in which there came to be something for them: a message of this task to itself
// comes behind.
bool wait_for_news_of_errors(context &c, const std::function<bool()> &enough)
{
    auto come = std::make_shared<sea_counter>();
    const std::uint64_t id = c.asked.add(uint(c.me), [come](int, const std::uint64_t *) { add_here(come.get()); });
    const service s = {c.handle, service_kind::answer, LAPI_SUCCESS, 0, id, {}};
    if (send_service(c.me, s) != SEA_OK) {
        c.asked.take(id, uint(c.me));
        return true;
    }
    sleeping here;
    while (c.open && sea_counter_wait(come.get(), 1, 0.1) == SEA_ERR_TIMEOUT)
        if (enough()) return false;
    return true;
}

int register_handlers()
{
    if (int status = sea_am_register(message_id, on_message, nullptr)) return status;
    if (int status = sea_am_register(service_id, on_service, nullptr)) return status;
    if (int status = sea_on_death(on_death, nullptr)) return status;
    return sea_on_error(on_error, nullptr);
}

} // namespace lapi

using namespace lapi;

extern "C" int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata,
                            ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
    context *c;
    if (int code = open_to(hndl, tgt, &c)) return code;
    if (int code = check_message(*c, lapi_long_t(hdr_hdl), uhdr, uhdr_len, udata, udata_len)) return code;
    ending e;
    e.tgt_cntr = lapi_long_t(tgt_cntr);
    e.org_cntr = org_cntr;
    e.cmpl_cntr = cmpl_cntr;
    return guarded([&] { return send(*c, tgt, {lapi_long_t(hdr_hdl), uhdr, uhdr_len, udata, udata_len}, e); });
}

LAPI_TWIN(Amsend);
