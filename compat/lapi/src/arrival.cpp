// SPDX-License-Identifier: Apache-2.0
// How a message is taken in.
//
//   header arrives --(handlers may run)--> header handler --> data goes straight to its place ----------+
//        |                                                                                              v
//        +--(not now)--> data goes to memory of ours --> inbox: header handler, copy --> completion handler --> told
//
// Data for a vector also goes to memory of ours first. The completion handler runs on a thread for it, or, with
// LAPI_LOCAL_STATE, where the data came in. Then the target counter adds and the origin is answered if it asked.
//
// What finds no memory on its way is told like any other error of a message. No exception gets past an arrival, so the
// right to run handlers is always given back.
//
// A handler's address that comes with a message is called only if it lies in memory that this process executes: a wrong
// one is an error at the origin.
#include "arrival.hpp"

#include "message.hpp"
#include "pieces.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

namespace lapi {
namespace {

struct arrival {
    context *c;
    int source;
    message_head head;
    std::vector<std::byte> kept;      // deferred: user header, and the data if it was packed
    std::unique_ptr<std::byte[]> own; // memory of ours for the data
    std::vector<piece> pieces;        // where the data goes in the end, if not where it is
    compl_hndlr_t *complete = nullptr;
    void *info = nullptr;
    bool inline_completion = false;
    int code = LAPI_SUCCESS;
};

bool executable(std::uint64_t address)
{
    static std::mutex mutex;
    static auto *seen = new std::set<std::uint64_t>;
    std::lock_guard lock(mutex);
    if (seen->count(address)) return true;
    std::FILE *maps = std::fopen("/proc/self/maps", "re");
    if (!maps) return true;
    bool found = false;
    char line[600];
    while (!found && std::fgets(line, sizeof line, maps)) {
        unsigned long from = 0, to = 0;
        char mode[8] = "";
        if (std::sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3)
            found = address >= from && address < to && mode[2] == 'x';
    }
    std::fclose(maps);
    if (found) seen->insert(address);
    return found;
}

// The function that a message names, or null.
void *handler_of(context &c, std::uint64_t handler)
{
    if (handler < address_table) return c.addresses[handler].load(std::memory_order_acquire);
    return executable(handler) ? reinterpret_cast<void *>(handler) : nullptr;
}

// To the error handler of this task, from which only a lack of memory for it keeps it.
void tell_here(context &c, int code, lapi_err_t type, int other)
{
    if (c.ending) return;
    guarded([&] {
        report_later(c, code, type, other);
        return LAPI_SUCCESS;
    });
}

void told(arrival *a)
{
    context &c = *a->c;
    const int counted = a->code == LAPI_SUCCESS ? add_there(uint(c.me), a->head.tgt_cntr) : LAPI_SUCCESS;
    // Here, as when it is found out later: the message itself has come.
    if (counted != LAPI_SUCCESS) tell_here(c, counted, PUT_ERR, c.me);
    if (a->head.request) answer(c.handle, a->source, a->head.request, a->code, nullptr);
    if (a->code != LAPI_SUCCESS && !a->head.request) tell_here(c, a->code, AM_ERR, a->source);
    c.received.fetch_add(1, std::memory_order_relaxed);
    delete a;
}

// The context has ended before the message's turn came.
void refused(arrival *a)
{
    a->code = LAPI_ERR_HNDL_INVALID;
    told(a);
}

void run_completion(arrival *a)
{
    lapi_handle_t handle = a->c->handle;
    call_program([&] { a->complete(&handle, a->info); });
    told(a);
}

// Does what puts `a` into a queue.
template <class Push>
void queue_up(arrival *a, Push &&push)
{
    const int code = guarded([&] {
        push();
        return LAPI_SUCCESS;
    });
    if (code == LAPI_SUCCESS) return; // it may be gone already
    a->code = code;
    told(a);
}

// The data is in place. `entered`: this thread has the right to run handlers.
void arrived(arrival *a, bool entered)
{
    if (a->code != LAPI_SUCCESS || !a->complete) return told(a);
    if (!a->inline_completion)
        return queue_up(a, [a] {
            if (!a->c->completions.push([a] { run_completion(a); })) refused(a);
        });
    if (entered) return run_completion(a);
    queue_up(a, [a] {
        a->c->waiting.push(a->c->handlers, [a](bool in_turn) { in_turn ? run_completion(a) : refused(a); });
    });
}

// Calls the program's header handler. The place for the data if it is one piece; a->pieces if not; neither: thrown
// away.
void *call_header_handler(arrival *a, void *uhdr, void *packet)
{
    context &c = *a->c;
    void *function = handler_of(c, a->head.handler);
    if (!function) {
        a->code = LAPI_ERR_HDR_HNDLR_NULL;
        return nullptr;
    }
    lapi_handle_t handle = c.handle;
    uint uhdr_len = a->head.uhdr_len;
    lapi_return_info_t info = {};
    info.msg_len = a->head.bytes;
    info.MAGIC = LAPI_MAGIC;
    info.bytes = packet ? a->head.bytes : 0;
    info.src = a->source;
    info.udata_one_pkt_ptr = packet;
    void *place = nullptr;
    if (a->head.vector) {
        auto *fn = reinterpret_cast<vhdr_hndlr_t *>(function);
        lapi_vec_t *vec =
            call_program([&] { return fn(&handle, uhdr, &uhdr_len, &info.msg_len, &a->complete, &a->info); });
        if (vec && info.ctl_flags == LAPI_DELIVER_MSG && a->head.bytes)
            a->code = pieces_of_arrival(*vec, a->head.bytes, &a->pieces);
        if (!vec && a->head.bytes && info.ctl_flags == LAPI_DELIVER_MSG) a->code = LAPI_ERR_TGT_VEC_NULL;
    } else {
        auto *fn = reinterpret_cast<hdr_hndlr_t *>(function);
        place = call_program([&] { return fn(&handle, uhdr, &uhdr_len, &info.msg_len, &a->complete, &a->info); });
        if (info.ctl_flags != LAPI_DELIVER_MSG) place = nullptr;
        if (!place && a->head.bytes && info.ctl_flags == LAPI_DELIVER_MSG) a->code = LAPI_ERR_TGT_ADDR_NULL;
    }
    a->inline_completion = (info.ret_flags & (LAPI_LOCAL_STATE | LAPI_SEND_REPLY)) != 0;
    return a->head.bytes ? place : nullptr;
}

// The same; what it finds no memory for is an error of the message.
void *place_for_data(arrival *a, void *uhdr, void *packet)
{
    void *place = nullptr;
    const int code = guarded([&] {
        place = call_header_handler(a, uhdr, packet);
        return LAPI_SUCCESS;
    });
    if (code != LAPI_SUCCESS) a->code = code;
    return place;
}

void copy_to_place(arrival *a, void *place, const void *data)
{
    if (place) std::memcpy(place, data, a->head.bytes);
    scatter(a->pieces, data);
}

bool make_room(arrival *a)
{
    a->own.reset(new (std::nothrow) std::byte[a->head.bytes]);
    if (!a->own) a->code = LAPI_ERR_MEMORY_EXHAUSTED;
    return a->own != nullptr;
}

// The header handler of a deferred message, when it may run; all its data is in memory of ours.
void handle_late(arrival *a)
{
    const bool packed = a->head.packed != 0;
    std::byte *data = packed ? a->kept.data() + padded_to_word(a->head.uhdr_len) : a->own.get();
    void *place = place_for_data(a, a->kept.data(), packed && a->head.bytes ? data : nullptr);
    if (a->code == LAPI_SUCCESS) copy_to_place(a, place, data);
    arrived(a, true);
}

void data_is_there(int, void *, std::size_t, void *argument) { arrived(static_cast<arrival *>(argument), false); }

void vector_data_is_there(int, void *data, std::size_t, void *argument)
{
    auto *a = static_cast<arrival *>(argument);
    scatter(a->pieces, data);
    a->own.reset();
    arrived(a, false);
}

void deferred_data_is_there(int, void *, std::size_t, void *argument)
{
    auto *a = static_cast<arrival *>(argument);
    queue_up(a,
             [a] { a->c->waiting.push(a->c->handlers, [a](bool in_turn) { in_turn ? handle_late(a) : refused(a); }); });
}

bool keep_header(arrival *a, const std::byte *uhdr, const std::byte *end)
{
    a->code = guarded([&] {
        a->kept.assign(uhdr, end);
        a->kept.resize(std::max(a->kept.size(), std::size_t(8)));
        return LAPI_SUCCESS;
    });
    return a->code == LAPI_SUCCESS;
}

void *defer(arrival *a, const std::byte *uhdr, const std::byte *end, sea_am_complete_fn *on_complete, void **argument)
{
    const bool kept = keep_header(a, uhdr, end);
    if (kept && a->head.packed) {
        deferred_data_is_there(0, nullptr, 0, a);
        return nullptr;
    }
    if (!kept || !make_room(a)) {
        told(a);
        return nullptr;
    }
    *on_complete = deferred_data_is_there;
    *argument = a;
    return a->own.get();
}

// The header handler now, and the data straight to its place.
void *handle_now(arrival *a, std::byte *uhdr, sea_am_complete_fn *on_complete, void **argument)
{
    std::byte *packet = a->head.packed && a->head.bytes ? uhdr + padded_to_word(a->head.uhdr_len) : nullptr;
    void *place = place_for_data(a, uhdr, packet);
    if (packet && a->code == LAPI_SUCCESS) copy_to_place(a, place, packet);
    if (!packet && a->code == LAPI_SUCCESS && !a->pieces.empty() && make_room(a)) {
        *on_complete = vector_data_is_there;
        *argument = a;
        return a->own.get();
    }
    if (!packet && place) {
        *on_complete = data_is_there;
        *argument = a;
        return place;
    }
    arrived(a, true);
    return nullptr;
}

bool well_formed(const sea_am *message, const message_head &head)
{
    std::size_t used = sizeof head + padded_to_word(head.uhdr_len);
    if (head.packed) return head.bytes <= max_packet && message->header_bytes == used + head.bytes;
    return message->header_bytes == used && message->data_bytes == head.bytes;
}

void *take_in(context *c, const sea_am *message, const message_head &head, sea_am_complete_fn *on_complete,
              void **argument)
{
    auto *a = new arrival; // what follows throws nothing
    a->c = c;
    a->source = message->source;
    a->head = head;
    auto *uhdr = static_cast<const std::byte *>(message->header) + sizeof head;
    if (!c->handlers.try_enter())
        return defer(a, uhdr, static_cast<const std::byte *>(message->header) + message->header_bytes, on_complete,
                     argument);
    alignas(8) std::byte copy[max_uhdr + max_packet]; // the program may change its header
    std::memcpy(copy, uhdr, message->header_bytes - sizeof head);
    void *place = handle_now(a, copy, on_complete, argument);
    c->handlers.leave();
    return place;
}

// Why a message is not taken in, or LAPI_SUCCESS.
int refusal(const context *c, const sea_am *message, const message_head &head)
{
    if (!c || !c->valid(uint(message->source)) || !well_formed(message, head)) return LAPI_ERR_HNDL_INVALID;
    bool purged = c->tasks[message->source].purged.load(std::memory_order_relaxed);
    return purged ? LAPI_ERR_TGT_PURGED : LAPI_SUCCESS;
}

} // namespace

void *on_message(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    message_head head;
    if (message->header_bytes < sizeof head) return nullptr;
    std::memcpy(&head, message->header, sizeof head);
    context *c = find_partner(head.context);
    int code = refusal(c, message, head);
    if (code == LAPI_SUCCESS) {
        void *place = nullptr;
        code = guarded([&] {
            place = take_in(c, message, head, on_complete, argument);
            return LAPI_SUCCESS;
        });
        if (code == LAPI_SUCCESS) return place;
    }
    if (head.request)
        answer(head.context, message->source, head.request, code, nullptr);
    else if (code == LAPI_ERR_MEMORY_EXHAUSTED)
        tell_here(*c, code, AM_ERR, message->source);
    return nullptr;
}

int check_message(const context &c, lapi_long_t handler, const void *uhdr, uint uhdr_len, const void *data, ulong bytes)
{
    if (handler == 0) return LAPI_ERR_HDR_HNDLR_NULL;
    if (uhdr_len > max_uhdr) return LAPI_ERR_UHDR_LEN;
    if (uhdr_len && !uhdr) return LAPI_ERR_UHDR_NULL;
    if (bytes > LAPI_MAX_MSG_SZ) return LAPI_ERR_DATA_LEN;
    if (bytes && !data) return LAPI_ERR_ORG_ADDR_NULL;
    if (c.check && uhdr_len % sizeof(int)) return LAPI_ERR_HDR_LEN;
    return LAPI_SUCCESS;
}

} // namespace lapi
