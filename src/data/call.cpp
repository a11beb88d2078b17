// SPDX-License-Identifier: Apache-2.0
// The request:  | u16 verb | u16 0 | u32 0 | u64 handle | u64 source | u64 source bytes | arguments |   and the data.
// The answer:   | i32 status | u32 reason | u64 a | u64 b | u32 result bytes | u32 0 | result |   and the output.
//
// The owner executes in its dispatcher, which serves all: there a lock is tried for some microseconds only, then the
// answer is `busy` and the caller asks again, after pauses that grow, until its own deadline. So a process that was
// stopped while it held a lock holds up those who want that structure, and nobody else.
#include "data/call.hpp"

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/internal.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>
#include <time.h>

namespace onesea::data {
namespace {

struct request_head {
    std::uint16_t what;
    std::uint16_t zero16;
    std::uint32_t zero32;
    std::uint64_t at;
    std::uint64_t source, source_bytes;
};
static_assert(sizeof(request_head) == 32);

struct answer_head {
    std::int32_t status;
    std::uint32_t reason;
    std::uint64_t a, b;
    std::uint32_t result_bytes;
    std::uint32_t zero;
};
static_assert(sizeof(answer_head) == 32);
static_assert(sizeof(answer_head) + execution::most_result <= core::call_reply::most_head);
static_assert(execution::most_head >= core::call_reply::most_head);

constexpr nanoseconds first_pause = 20'000, longest_pause = 2'000'000;

// ---- Wakes: frames `upper` of the layer data, of this kind and without content ----

constexpr std::uint8_t frame_wake = 1;
std::atomic<std::uint64_t> woken{0};

void wake_here(core::engine_held_t)
{
    woken.fetch_add(1, std::memory_order_release);
    core::nudge(core::engine_held);
}

void send_wake(core::engine_held_t, int rank)
{
    if (rank == core::own_rank()) return wake_here(core::engine_held);
    (void)core::send_frame(core::engine_held, core::upper::data, rank, frame_wake, 0, 0, nullptr, 0); // it has ended
}

void on_frame(const core::upper_frame &frame)
{
    if (frame.kind == frame_wake) wake_here(core::engine_held);
}

// ---- at the owner ----

// The data of the call, which lies in the owner's heap.
bool find_data(execution &x, const request_head &head)
{
    if (head.source == SEA_NULL) return true;
    const std::uint64_t offset = sea_addr_offset(head.source);
    if (sea_addr_rank(head.source) != x.heap.rank || !x.heap.heap->contains(offset, head.source_bytes)) return false;
    x.data = {x.heap.at(offset), head.source_bytes};
    return true;
}

int run(execution &x, const request_head &head)
{
    verb_fn fn = function_of(verb(head.what));
    if (!fn) return x.refuse(SEA_ERR_INTERNAL, why::not_known, head.what);
    if (!find_data(x, head)) return x.refuse(SEA_ERR_ADDRESS, why::no_source, head.source, head.source_bytes);
    try {
        return fn(x);
    } catch (const std::bad_alloc &) {
        return x.refuse(SEA_ERR_MEMORY, why::nothing);
    } catch (const std::length_error &) {
        return x.refuse(SEA_ERR_MEMORY, why::nothing);
    } catch (const output_too_long &e) {
        return x.refuse(SEA_ERR_MEMORY, why::long_output, e.bytes, x.most_output);
    }
}

void on_call(int, std::span<const std::byte> header, std::span<const std::byte> data, core::call_reply &reply)
{
    request_head head{};
    execution x;
    int status = SEA_ERR_INTERNAL;
    if (header.size() >= sizeof head) {
        std::memcpy(&head, header.data(), sizeof head);
        x.heap = heap_in_node(core::own_rank());
        x.at = head.at;
        x.who = {core::own_rank(), core::alive, 0};
        x.heap_in_node = heap_in_node;
        x.most_output = core::call_reply::most_bytes - core::call_reply::most_head;
        x.arguments = header.subspan(sizeof head);
        x.data = data;
        status = run(x, head);
        if (x.wake) send_wake(core::engine_held, int(x.wake - 1));
    }
    const answer_head answer{status, std::uint32_t(x.reason), x.a, x.b, std::uint32_t(x.result_bytes), 0};
    std::memcpy(reply.head, &answer, sizeof answer);
    std::memcpy(reply.head + sizeof answer, x.result, x.result_bytes);
    reply.head_bytes = sizeof answer + x.result_bytes;
    reply.tail = std::move(x.output);
}

[[maybe_unused]] const bool registered = [] {
    core::set_frame_function(core::upper::data, on_frame);
    return core::register_call(core::am_data, on_call) == SEA_OK;
}();

// ---- at the caller ----

std::string told(const asking &c, const execution &x, int status)
{
    const char *what = name_of(c.of);
    switch (x.reason) {
    case why::no_structure:
        return fmt::format("{:#x} is no {} that lives", c.at, what);
    case why::damaged:
        return fmt::format("the {} {:#x} has been written over", what, c.at);
    case why::cut:
        return fmt::format("rank {} ended while it changed this {}", x.a, what);
    case why::no_room:
        return fmt::format("rank {} has no {} bytes of global heap; --heap sets the capacity", c.owner, x.a);
    case why::beyond:
        return fmt::format("position {} is beyond the {} bytes of the {}", x.a, x.b, what);
    case why::too_large:
        return fmt::format("the element has {} bytes, the room for it {}", x.a, x.b);
    case why::too_few:
        return fmt::format("{} bytes of the {} were asked for, {} are there", x.a, what, x.b);
    case why::empty:
        return fmt::format("the {} is empty", what);
    case why::no_source:
        return fmt::format("the source {:#x} is not {} bytes of live memory", x.a, x.b);
    case why::no_element:
        return fmt::format("{:#x} is no element of this {}", x.a, what);
    case why::at_end:
        return fmt::format("the end of a {} is no element, and nothing is behind it", what);
    case why::not_behind:
        return "the second iterator does not come behind the first";
    case why::inside:
        return "the place to splice to is among the elements to splice";
    case why::version:
        return fmt::format("the {} has version {} now, not {}", what, x.a, x.b);
    case why::not_order:
        return fmt::format("the order given is not all elements of the {}, each once", what);
    case why::limit:
        return fmt::format("an element of {} bytes does not fit the limit of {} bytes", x.a, x.b);
    case why::long_output:
        return fmt::format("{} bytes were to come back; a call to another node gives {} at most", x.a, x.b);
    case why::not_known:
        return fmt::format("the library of rank {} does not know this call", c.owner);
    case why::nothing:
        break;
    }
    return sea_strerror(status);
}

// Who holds the lock is not known of a part of a table, nor where he has just let go.
std::string told_busy(const asking &c, const execution &x)
{
    const char *what = name_of(c.of);
    if (x.a > 0) return fmt::format("rank {} has the {} locked and does not go on", x.a - 1, what);
    return fmt::format("a process of the node of rank {} has the {} locked there and does not go on", c.owner, what);
}

// Executes here, in the owner's node.
int execute_here(const asking &c, const request_head &head, const owner_heap &heap, execution &x)
{
    x.heap = heap;
    x.at = c.at;
    x.who = {core::own_rank(), core::alive, c.deadline};
    x.heap_in_node = heap_in_node;
    x.arguments = c.arguments;
    x.data = c.data;
    x.room = static_cast<std::byte *>(c.room);
    x.room_bytes = c.room_bytes;
    const int status = run(x, head);
    if (x.wake) wake(int(x.wake - 1));
    if (x.result_bytes == c.result.size() && x.result_bytes > 0) std::memcpy(c.result.data(), x.result, x.result_bytes);
    if (c.output) *c.output = std::move(x.output);
    if (c.output_bytes) *c.output_bytes = x.output_bytes;
    return status;
}

// What the answer says; what makes no sense is an error and not believed.
int take_answer(const asking &c, std::span<const std::byte> answer, execution &x)
{
    answer_head head;
    if (answer.size() < sizeof head) return x.refuse(SEA_ERR_INTERNAL, why::not_known);
    std::memcpy(&head, answer.data(), sizeof head);
    answer = answer.subspan(sizeof head);
    x.reason = why(head.reason);
    x.a = head.a;
    x.b = head.b;
    if (head.result_bytes > answer.size()) return x.refuse(SEA_ERR_INTERNAL, why::not_known);
    if (head.result_bytes == c.result.size() && head.result_bytes > 0)
        std::memcpy(c.result.data(), answer.data(), head.result_bytes);
    else if (head.status == SEA_OK && !c.result.empty())
        return x.refuse(SEA_ERR_INTERNAL, why::not_known);
    answer = answer.subspan(head.result_bytes);
    if (c.output) c.output->assign(answer.begin(), answer.end());
    if (c.room && answer.size() > c.room_bytes) return x.refuse(SEA_ERR_INTERNAL, why::not_known);
    if (c.room && !answer.empty()) copy_bytes(c.room, answer.data(), answer.size());
    if (c.output_bytes) *c.output_bytes = answer.size();
    return head.status;
}

// Of a call that was given up.
struct late_answer final : core::late_end {
    decltype(asking::late) use;
    sea_addr about;

    explicit late_answer(const asking &c) : use(c.late), about(c.about) {}
    void ended(int status) override
    {
        std::span<const std::byte> left(answer);
        answer_head head;
        if (status != SEA_OK || left.size() < sizeof head) return;
        std::memcpy(&head, left.data(), sizeof head);
        left = left.subspan(sizeof head);
        if (head.result_bytes > left.size()) return;
        use(about, head.status, left.first(head.result_bytes), left.subspan(head.result_bytes));
    }
};

std::shared_ptr<core::late_end> wait_for_answer(const asking &c)
{
    try {
        return c.late ? std::make_shared<late_answer>(c) : nullptr;
    } catch (const std::bad_alloc &) { // then it is dropped
        return nullptr;
    }
}

void pause_for(nanoseconds time)
{
    timespec t{time_t(time / 1'000'000'000), long(time % 1'000'000'000)};
    nanosleep(&t, nullptr);
}

// *told_already: the error has its text.
int execute_there(const asking &c, const request_head &head, execution &x, bool *told_already)
{
    std::byte header[SEA_AM_HEADER_MAX];
    if (c.arguments.size() > sizeof header - sizeof head) return x.refuse(SEA_ERR_INTERNAL, why::not_known);
    std::memcpy(header, &head, sizeof head);
    if (!c.arguments.empty()) std::memcpy(header + sizeof head, c.arguments.data(), c.arguments.size());
    const std::span<const std::byte> sent{header, sizeof head + c.arguments.size()};
    std::vector<std::byte> answer;
    for (nanoseconds pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        const nanoseconds limit = std::max(c.deadline, c.answer_deadline);
        if (int s = core::call(c.owner, core::am_data, sent, c.data, &answer, limit, c.owner_of_data,
                               [&c] { return wait_for_answer(c); })) {
            const bool was_busy = pause != first_pause; // when it was asked before
            if (c.undecided) *c.undecided = true;
            if (s == SEA_ERR_TIMEOUT && was_busy && c.unanswered == SEA_ERR_TIMEOUT) return busy;
            *told_already = true;
            if (s != SEA_ERR_TIMEOUT) return s;
            return fail(c.unanswered, "{}: rank {} has not answered in time and may still do it", c.function, c.owner);
        }
        const int status = take_answer(c, answer, x);
        const nanoseconds now = status == busy ? now_ns() : 0;
        if (status != busy || now >= c.deadline) return status;
        pause_for(std::min(pause, c.deadline - now));
        if (pause >= c.deadline - now) return status;
        answer.clear();
    }
}

} // namespace

int ask(const asking &c)
{
    const request_head head{std::uint16_t(c.what), 0, 0, c.at, c.source, c.source_bytes};
    execution x;
    bool told_already = false;
    int status;
    try {
        owner_heap heap = heap_in_node(c.owner);
        status = heap ? execute_here(c, head, heap, x) : execute_there(c, head, x, &told_already);
    } catch (const std::bad_alloc &) {
        return no_memory(c.function);
    }
    if (status == SEA_OK || told_already) return status;
    if (status == busy) return fail(SEA_ERR_TIMEOUT, "{}: {}", c.function, told_busy(c, x));
    return fail(status, "{}: {} (rank {})", c.function, told(c, x, status), c.owner);
}

int check_handle(const char *function, kind of, sea_addr at)
{
    if (int s = core::check_started(function)) return s;
    if (at == SEA_NULL) return fail(SEA_ERR_HANDLE, "{}: the handle of the {} is null", function, name_of(of));
    return core::check_rank(sea_addr_rank(at));
}

// The largest heap that there is; all are alike.
std::uint64_t largest_heap() { return core::heap_in_node(core::own_rank()).heap->capacity(); }

int check_data(const char *function, const void *data, std::size_t bytes)
{
    if (bytes && !data) return fail(SEA_ERR_INVALID, "{}: {} bytes at a null pointer", function, bytes);
    if (bytes > largest_heap()) return fail(SEA_ERR_MEMORY, "{}: {} bytes fit no heap", function, bytes);
    return SEA_OK;
}

owner_heap heap_in_node(int rank)
{
    const core::heap_view view = core::heap_in_node(rank);
    return {rank, view.heap, view.memory};
}

int new_bytes(const char *function, kept_bytes *bytes, std::size_t n)
{
    try {
        *bytes = std::make_shared<std::vector<std::byte>>(n);
        return SEA_OK;
    } catch (const std::exception &) {
        return fail(SEA_ERR_MEMORY, "{}: this process has no memory for {} bytes", function, n);
    }
}

int source_bytes::find(const char *function, sea_addr address, std::size_t bytes, int owner)
{
    bytes_ = bytes;
    if (bytes == 0) return SEA_OK;
    if (address == SEA_NULL) return fail(SEA_ERR_ADDRESS, "{}: {} bytes from the null address", function, bytes);
    if (bytes > largest_heap()) return fail(SEA_ERR_MEMORY, "{}: {} bytes fit no heap", function, bytes);
    const int rank = sea_addr_rank(address);
    if (int s = core::check_rank(rank)) return s;
    if (auto *memory = static_cast<const std::byte *>(core::readable_here(address, bytes))) {
        here_ = {memory, bytes};
        return SEA_OK;
    }
    const bool in_heap = sea_addr_offset(address) < (SEA_OFFSET_MASK + 1) / 2;
    if (in_heap && rank == owner && !core::heap_in_node(owner).heap) {
        at_owner_ = address;
        return SEA_OK;
    }
    if (in_heap && core::heap_in_node(rank).heap)
        return fail(SEA_ERR_ADDRESS, "{}: the source {:#x} is not {} bytes of live memory", function, address, bytes);
    if (int s = new_bytes(function, &kept_, bytes)) return s;
    if (int s = core::fetch(function, *kept_, address, kept_)) return s;
    here_ = *kept_;
    return SEA_OK;
}

void source_bytes::apply(asking &call) const
{
    call.data = here_;
    call.owner_of_data = kept_;
    call.source = at_owner_;
    call.source_bytes = at_owner_ != SEA_NULL ? bytes_ : 0;
}

void wake(int rank)
{
    const core::locked lock = core::enter();
    send_wake(core::engine_held, rank);
    core::wake_for_deadlines(core::engine_held);
}

std::uint64_t wakes() { return woken.load(std::memory_order_acquire); }

} // namespace onesea::data
