// SPDX-License-Identifier: Apache-2.0
// Sending, receiving, waiting: every message is one of Onesea, every request one of its operations. What can be known
// here is checked here, so that texts name MMP's words; what only the operation can know comes back with it.
#include "errors.hpp"
#include "job.hpp"
#include "requests.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace mmp {
namespace {

enum class side { send, receive };

int check_rank(const char *call, int rank, side which)
{
    if (rank == MP_ANY_SOURCE && which == side::receive) return MP_OK;
    if (rank >= 0 && rank < here().size) return MP_OK;
    return fail(MP_ERR_RANK, "%s: rank %d: the job has the ranks 0 to %d", call, rank, here().size - 1);
}

int check_tag(const char *call, int tag, side which)
{
    if (tag >= 0 || (tag == MP_ANY_TAG && which == side::receive)) return MP_OK;
    return fail(MP_ERR_TAG, "%s: tag %d: tags are 0 to %d%s", call, tag, MP_TAG_MAX,
                which == side::send && tag == MP_ANY_TAG ? "; MP_ANY_TAG is for receiving" : "");
}

int check(const char *call, int rank, int tag, side which)
{
    if (int status = running(call); status != MP_OK) return status;
    if (int status = check_rank(call, rank, which); status != MP_OK) return status;
    return check_tag(call, tag, which);
}

int check_memory(const char *call, const void *memory, std::size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return fail(MP_ERR_INVALID, "%s: %zu bytes are more than any memory has; as a signed number it is %td", call,
                    bytes, static_cast<std::ptrdiff_t>(bytes));
    if (memory != nullptr || bytes == 0) return MP_OK;
    return fail(MP_ERR_INVALID, "%s: %zu bytes at a null pointer", call, bytes);
}

const char *name_of(int rank, char (&text)[16])
{
    if (rank == MP_ANY_SOURCE) return "any rank";
    std::snprintf(text, sizeof text, "rank %d", rank);
    return text;
}

const char *tag_of(int tag, char (&text)[24])
{
    if (tag == MP_ANY_TAG) return "any tag";
    std::snprintf(text, sizeof text, "tag %d", tag);
    return text;
}

MP_status public_of(const sea_message_info &info) { return {info.source, info.tag, info.bytes}; }

// What became of a send or receive, in words. `words`: those of Onesea, if they were said earlier.
[[gnu::cold]] int tell(int status, const char *call, bool sends, int rank, int tag, std::size_t bytes,
                       const sea_message_info *info, const char *words = nullptr)
{
    char who[16], which[24];
    if (status == SEA_ERR_TRUNCATED && info != nullptr)
        return fail(MP_ERR_TRUNCATED, "%s: the message of rank %d with tag %d has %zu bytes, the memory for it %zu",
                    call, info->source, info->tag, info->bytes, bytes);
    if (status == SEA_ERR_CANCELLED)
        return fail(MP_ERR_CANCELLED, "%s: the receive from %s, %s was withdrawn", call, name_of(rank, who),
                    tag_of(tag, which));
    return fail_as_before(status, words != nullptr ? words : sea_last_error(), "%s: %zu bytes %s %s, %s", call, bytes,
                          sends ? "to" : "from", name_of(rank, who), tag_of(tag, which));
}

// The same of one that is only looked for.
int tell_of_search(int status, const char *call, int rank, int tag)
{
    char who[16], which[24];
    return fail_below(status, "%s: %s, %s", call, name_of(rank, who), tag_of(tag, which));
}

[[gnu::cold]] int no_request(const char *call, MP_request number)
{
    if (number == MP_REQUEST_NULL)
        return fail(MP_ERR_REQUEST, "%s: MP_REQUEST_NULL: the request is finished, or was never started", call);
    return fail(MP_ERR_REQUEST, "%s: the request %#llx is finished, or was never started", call,
                static_cast<unsigned long long>(number));
}

// Errors of the call, not of the message.
bool of_the_call(int status)
{
    return status == SEA_ERR_INVALID || status == SEA_ERR_RANK || status == SEA_ERR_STATE || status == SEA_ERR_MEMORY;
}

// The request is complete, with an error: reads it, uses it up and tells its status.
[[gnu::cold]] int finish_badly(const char *call, request &r, int status, MP_request *number, MP_status *about)
{
    const bool sends = r.sends.load(std::memory_order_relaxed);
    const int rank = r.rank, tag = r.tag;
    const std::size_t bytes = r.bytes;
    const sea_message_info info = sends ? sea_message_info{here().rank, tag, bytes} : r.info;
    char *const words = r.words;
    if (!requests().retire(r, *number)) return no_request(call, *number);
    const std::unique_ptr<char, decltype(&std::free)> ours(words, std::free);
    *number = MP_REQUEST_NULL;
    if (about != nullptr && status == SEA_ERR_TRUNCATED) *about = public_of(info);
    return tell(status, call, sends, rank, tag, bytes, &info, words);
}

int finish(const char *call, request &r, int status, MP_request *number, MP_status *about)
{
    if (status != SEA_OK) return finish_badly(call, r, status, number, about);
    const bool sends = r.sends.load(std::memory_order_relaxed);
    const MP_status done = sends ? MP_status{here().rank, r.tag, r.bytes} : public_of(r.info);
    if (!requests().retire(r, *number)) return no_request(call, *number);
    *number = MP_REQUEST_NULL;
    if (about != nullptr) *about = done;
    return MP_OK;
}

// A request and its operation; NULL if it is not in use.
request *find(MP_request number, sea_op *op)
{
    request *r = requests().find(number);
    return r != nullptr && request_table::operation_of(*r, number, op) ? r : nullptr;
}

// Of one that has ended at once. Onesea hears of the look, too, by the call that does nothing else: what is sent in a
// row without one goes another way.
int status_at_once(const request &r)
{
    int done;
    sea_test(SEA_OP_NONE, &done);
    return r.status;
}

int wait(const char *call, MP_request *number, double seconds, MP_status *about)
{
    if (int status = running(call); status != MP_OK) return status;
    if (number == nullptr) return fail(MP_ERR_INVALID, "%s: the request is a null pointer", call);
    sea_op op = SEA_OP_NONE;
    request *r = find(*number, &op);
    if (r == nullptr) return no_request(call, *number);
    const int status = op == SEA_OP_NONE ? status_at_once(*r) : sea_wait(op, seconds);
    if (status == SEA_ERR_HANDLE) return no_request(call, *number); // another thread was faster
    if (status == SEA_ERR_TIMEOUT)
        return fail(MP_ERR_TIMEOUT, "%s: the request is not complete in the time given", call);
    return finish(call, *r, status, number, about);
}

// Room for n handles, on the stack for the usual few.
class handles {
  public:
    explicit handles(int n)
    {
        if (n > few) more_.reset(new (std::nothrow) sea_op[static_cast<std::size_t>(n)]);
        at_ = n > few ? more_.get() : on_stack_;
    }
    sea_op *get() { return at_; } // NULL: no memory

  private:
    static constexpr int few = 64;
    sea_op on_stack_[few];
    std::unique_ptr<sea_op[]> more_;
    sea_op *at_;
};

int check_list(const char *call, const MP_request *list, int n)
{
    if (int status = running(call); status != MP_OK) return status;
    if (n < 0) return fail(MP_ERR_INVALID, "%s: %d requests", call, n);
    if (list == nullptr && n > 0) return fail(MP_ERR_INVALID, "%s: the requests are a null pointer", call);
    for (int i = 0; i < n; ++i)
        if (list[i] != MP_REQUEST_NULL && requests().find(list[i]) == nullptr) return no_request(call, list[i]);
    return MP_OK;
}

request *prepare(side which, int rank, int tag, std::size_t bytes)
{
    request *r = requests().take();
    if (r == nullptr) return nullptr;
    r->sends.store(which == side::send, std::memory_order_relaxed);
    r->rank = rank;
    r->tag = tag;
    r->bytes = bytes;
    r->info = {};
    r->words = nullptr;
    return r;
}

[[gnu::cold]] int not_started(const char *call, request &r, int status)
{
    const bool sends = r.sends.load(std::memory_order_relaxed);
    const int rank = r.rank, tag = r.tag;
    const std::size_t bytes = r.bytes;
    requests().retire(r, request_table::number_of(r));
    return tell(status, call, sends, rank, tag, bytes, nullptr);
}

// What became of the message, also if it is known already, is the request's matter; the call fails only by itself.
int started(const char *call, request &r, int status, sea_op op, MP_request *number)
{
    if (status != SEA_OK) {
        if (of_the_call(status)) return not_started(call, r, status);
        r.words = strdup(sea_last_error()); // other calls fail before this is waited for
        op = SEA_OP_NONE;
    }
    r.status = status;
    r.op.store(op, std::memory_order_release);
    *number = request_table::number_of(r);
    return MP_OK;
}

int no_room(const char *call) { return fail(MP_ERR_MEMORY, "%s: there is no room for one more request", call); }

} // namespace
} // namespace mmp

using namespace mmp;

int MP_send(int rank, int tag, const void *data, size_t bytes, MP_request *number)
{
    if (int status = check("MP_send", rank, tag, side::send); status != MP_OK) return status;
    if (int status = check_memory("MP_send", data, bytes); status != MP_OK) return status;
    if (number == nullptr) {
        const int status = sea_message_send(SEA_TEAM_WORLD, rank, tag, data, bytes, nullptr);
        return status == SEA_OK ? MP_OK : tell(status, "MP_send", true, rank, tag, bytes, nullptr);
    }
    request *r = prepare(side::send, rank, tag, bytes);
    if (r == nullptr) return no_room("MP_send");
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    const int status = sea_message_send(SEA_TEAM_WORLD, rank, tag, data, bytes, &opts);
    return started("MP_send", *r, status, op, number);
}

int MP_receive(int rank, int tag, void *buffer, size_t capacity, MP_request *number)
{
    if (int status = check("MP_receive", rank, tag, side::receive); status != MP_OK) return status;
    if (int status = check_memory("MP_receive", buffer, capacity); status != MP_OK) return status;
    if (number == nullptr) {
        sea_message_info info{};
        const int status = sea_message_receive(SEA_TEAM_WORLD, rank, tag, buffer, capacity, &info, nullptr);
        return status == SEA_OK ? MP_OK : tell(status, "MP_receive", false, rank, tag, capacity, &info);
    }
    request *r = prepare(side::receive, rank, tag, capacity);
    if (r == nullptr) return no_room("MP_receive");
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    const int status = sea_message_receive(SEA_TEAM_WORLD, rank, tag, buffer, capacity, &r->info, &opts);
    return started("MP_receive", *r, status, op, number);
}

int MP_wait(MP_request *number, MP_status *about) { return wait("MP_wait", number, timeout(), about); }

int MP_wait_for(MP_request *number, double seconds, MP_status *about)
{
    if (!(seconds >= 0) && seconds != MP_FOREVER)
        return fail(MP_ERR_INVALID, "MP_wait_for: %g seconds are no time", seconds);
    return wait("MP_wait_for", number, seconds, about);
}

int MP_test(MP_request *number, int *done, MP_status *about)
{
    if (int status = running("MP_test"); status != MP_OK) return status;
    if (number == nullptr || done == nullptr)
        return fail(MP_ERR_INVALID, "MP_test: %s is a null pointer", number == nullptr ? "the request" : "done");
    sea_op op = SEA_OP_NONE;
    request *r = find(*number, &op);
    if (r == nullptr) return no_request("MP_test", *number);
    int complete = 1;
    const int status = op == SEA_OP_NONE ? status_at_once(*r) : sea_test(op, &complete);
    if (status == SEA_ERR_HANDLE) return no_request("MP_test", *number);
    *done = complete;
    return complete != 0 ? finish("MP_test", *r, status, number, about) : MP_OK;
}

int MP_wait_any(MP_request *list, int n, int *index, MP_status *about)
{
    if (int status = check_list("MP_wait_any", list, n); status != MP_OK) return status;
    if (index == nullptr) return fail(MP_ERR_INVALID, "MP_wait_any: the index is a null pointer");
    handles room(n);
    sea_op *ops = room.get();
    if (ops == nullptr) return no_room("MP_wait_any");
    // One that ended at once has no handle below: it is the one.
    for (int i = 0; i < n; ++i) {
        ops[i] = SEA_OP_NONE;
        if (list[i] == MP_REQUEST_NULL) continue;
        request *r = find(list[i], &ops[i]);
        if (r == nullptr) return no_request("MP_wait_any", list[i]);
        if (ops[i] != SEA_OP_NONE) continue;
        *index = i;
        return finish("MP_wait_any", *r, status_at_once(*r), &list[i], about);
    }
    int which = -1;
    const int status = sea_wait_any(ops, n, &which, timeout());
    if (status == SEA_ERR_TIMEOUT)
        return fail(MP_ERR_TIMEOUT, "MP_wait_any: none of %d requests is complete in the time given", n);
    if (status == SEA_ERR_HANDLE) return fail(MP_ERR_REQUEST, "MP_wait_any: another thread has finished a request");
    if (which < 0 && status != SEA_OK) return fail_as_before(status, sea_last_error(), "MP_wait_any: %d requests", n);
    if (which < 0) return *index = which, MP_OK; // there is none to wait for
    request *r = requests().find(list[which]);
    if (r == nullptr) return no_request("MP_wait_any", list[which]); // another thread was faster
    *index = which;
    return finish("MP_wait_any", *r, status, &list[which], about);
}

int MP_wait_all(MP_request *list, int n, MP_status *about)
{
    if (int status = check_list("MP_wait_all", list, n); status != MP_OK) return status;
    const double limit = timeout(), end = sea_time() + limit;
    int first = MP_OK;
    char text[512] = "";
    for (int i = 0; i < n; ++i) {
        if (list[i] == MP_REQUEST_NULL) continue;
        const double left = limit == MP_FOREVER ? MP_FOREVER : std::max(0.0, end - sea_time());
        const int status = wait("MP_wait_all", &list[i], left, about != nullptr ? &about[i] : nullptr);
        if (status == MP_OK || first != MP_OK) continue;
        first = status;
        std::snprintf(text, sizeof text, "request %d of %d: %s", i, n, last_error());
    }
    return first == MP_OK ? MP_OK : fail(first, "%s", text);
}

int MP_cancel(MP_request *number)
{
    if (int status = running("MP_cancel"); status != MP_OK) return status;
    if (number == nullptr) return fail(MP_ERR_INVALID, "MP_cancel: the request is a null pointer");
    sea_op op = SEA_OP_NONE;
    request *r = find(*number, &op);
    if (r == nullptr) return no_request("MP_cancel", *number);
    if (r->sends.load(std::memory_order_relaxed))
        return fail(MP_ERR_REQUEST, "MP_cancel: the request is a send to rank %d; only receives can be withdrawn",
                    r->rank);
    if (op == SEA_OP_NONE) return MP_OK; // it was complete at once
    const int status = sea_message_cancel(op);
    return status == SEA_OK ? MP_OK : fail_below(status, "MP_cancel");
}

int MP_probe(int rank, int tag, MP_status *about)
{
    if (int status = check("MP_probe", rank, tag, side::receive); status != MP_OK) return status;
    sea_message_info info{};
    const int status = sea_message_probe(SEA_TEAM_WORLD, rank, tag, &info, timeout());
    if (status != SEA_OK) return tell_of_search(status, "MP_probe", rank, tag);
    if (about != nullptr) *about = public_of(info);
    return MP_OK;
}

int MP_look(int rank, int tag, int *found, MP_status *about)
{
    if (int status = check("MP_look", rank, tag, side::receive); status != MP_OK) return status;
    if (found == nullptr) return fail(MP_ERR_INVALID, "MP_look: found is a null pointer");
    sea_message_info info{};
    const int status = sea_message_look(SEA_TEAM_WORLD, rank, tag, found, &info);
    if (status != SEA_OK) return tell_of_search(status, "MP_look", rank, tag);
    if (*found != 0 && about != nullptr) *about = public_of(info);
    return MP_OK;
}
