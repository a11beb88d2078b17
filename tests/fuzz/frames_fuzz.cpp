// SPDX-License-Identifier: Apache-2.0
// Any frames as a rank of the job could send them, at core's responder: a job of one, with operations under way that
// answers may be about. Wrong lengths, offsets, types and numbers must end in an error, write nothing beyond the memory
// that was opened, and leave every operation able to end.
//
// Input: frames as on the wire. So that they hit something, a position whose top byte is ff means a place in the open
// heap block, and an odd id one of the operations under way. Raw space is open but for frames with flag
// 16; positions in it are brought into pages of which some are not there and one may not be written, since any other
// address is the fuzzer's own memory.
#include "coll/core_courier.hpp"
#include "core/engine.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace onesea;
using namespace onesea::core;

namespace {

constexpr std::size_t heap_bytes = 1 << 20, block_bytes = 8192, buffer_bytes = 256;
constexpr int handler_id = 3;

constexpr std::size_t page = 4096, pages = 6, behind = 8 << 20;
constexpr std::uint8_t closed_flag = 0x10, finish_flag = 0x20, stranger_flag = 0x40;

std::uint64_t block; // offset of the open heap block
std::byte *yard;     // where raw positions lead: page 2 and what is behind are not there, page 4 is read only
std::byte buffers[4][buffer_bytes + 2 * sizeof(std::uint64_t)];
std::uint64_t ids[4];

[[noreturn]] void fail_with(const char *text)
{
    std::fprintf(stderr, "%s\n", text);
    std::abort();
}

void handled(int, void *, std::size_t, void *) {}

// Keeps what fits, refuses the rest.
void *on_message(const sea_am *message, sea_am_complete_fn *complete, void **)
{
    static std::byte kept[4096];
    *complete = handled;
    return message->data_bytes <= sizeof kept ? kept : nullptr;
}

void set_up()
{
    setenv("ONESEA_LOG", "error", 1); // a line for each unknown frame would drown the rest
    sea_config config{};
    config.size = sizeof config;
    config.heap_bytes = heap_bytes;
    sea_addr address = SEA_NULL;
    if (sea_init(&config) != SEA_OK || sea_heap_alloc(0, block_bytes, &address) != SEA_OK ||
        sea_am_register(handler_id, on_message, nullptr) != SEA_OK)
        fail_with("the job of one does not start");
    block = sea_addr_offset(address);
    void *m = mmap(nullptr, pages * page + behind, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) fail_with("there is no memory");
    yard = static_cast<std::byte *>(m);
    for (std::size_t i : {0, 1, 3, 4, 5}) mprotect(yard + i * page, page, i == 4 ? PROT_READ : PROT_READ | PROT_WRITE);
    if (sea_raw_open() != SEA_OK) fail_with("raw space does not open");
}

std::uint64_t into_yard(std::uint64_t position)
{
    return raw_space | (reinterpret_cast<std::uint64_t>(yard) + position % ((pages - 1) * page));
}

void check_yard()
{
    for (std::size_t i = 4 * page; i < 5 * page; ++i)
        if (yard[i] != std::byte{0}) fail_with("memory was written that is read only");
}

// A get, a fetching atomic, a message whose data may be pulled, a message that waits for its handler.
void begin_operations()
{
    for (unsigned i = 0; i < 4; ++i) {
        std::memset(buffers[i], 0x5a, sizeof buffers[i]);
        operation *op = begin(0, nullptr);
        run_or_defer(op, [i](operation *o) {
            o->local_at_end = o->awaits_reply = true;
            ++o->parts;
            if (i == 3) return;
            o->memory = buffers[i] + sizeof(std::uint64_t);
            o->bytes = i == 1 ? 8 : buffer_bytes;
            if (i == 0) o->reply_bytes = o->bytes;
            if (i == 0) o->answers = 1;
        });
        ids[i] = operation_table::id_of(op);
        let_go(op);
    }
}

void check_operations()
{
    std::byte edge[sizeof(std::uint64_t)];
    std::memset(edge, 0x5a, sizeof edge);
    for (auto &buffer : buffers)
        if (std::memcmp(buffer, edge, sizeof edge) != 0 ||
            std::memcmp(buffer + sizeof buffer - sizeof edge, edge, sizeof edge) != 0)
            fail_with("an answer was written beyond its buffer");
    engine().operations.for_each_unfinished([](operation *op) {
        for (std::uint64_t id : ids)
            if (operation_table::id_of(op) == id) fail_with("an operation cannot end");
    });
}

// What alloc frames took is given back.
void clear_heap()
{
    shm::heap *heap = engine().shm->heap_of(0);
    for (std::uint64_t at = 0, first = 0, end = 0; heap->used() > block_bytes && at < heap_bytes; at += 64)
        if (heap->extent(at, &first, &end) && first != block) heap->release(first);
    void *memory = nullptr;
    shm::segment *segment = nullptr;
    if (engine().resolve(block, block_bytes, true, &memory, &segment) == SEA_OK) return;
    block = heap->allocate(block_bytes); // a frame may have freed it
    if (!block || !heap->consistent()) fail_with("the heap is damaged");
}

frame read_frame(const std::uint8_t *data)
{
    frame head;
    std::memcpy(&head, data, sizeof head);
    if (head.position >> 56 == 0xff) head.position = block + (head.position & 0x3fff);
    if (head.position & raw_space && head.type != frame_type::data) head.position = into_yard(head.position);
    if (head.id & 1) head.id = ids[head.id >> 1 & 3];
    if (head.type == frame_type::pull && (head.position & 1)) head.position = ids[head.position >> 1 & 3];
    if (head.type == frame_type::data && (head.position & 1))
        head.position =
            reinterpret_cast<std::uint64_t>(buffers[0] + sizeof(std::uint64_t)) + (head.position >> 1 & 0x1ff);
    return head;
}

// A message is whole unless its flag says the contrary; later pieces of one come behind the counter that the first one
// has, so that none replaces it.
void bound_pieces(frame &head)
{
    if (head.type != frame_type::am) return;
    head.flags ^= frame_flags::last;
    if (head.position > 0) head.position = 16 + (head.position & 0x3fff8);
}

// Counters of messages and copies may be in raw space as well.
void bound_counter(const frame &head, std::byte *payload)
{
    const bool message = head.type == frame_type::am || head.type == frame_type::am_long;
    const std::size_t at = message ? 8 : 16;
    std::uint64_t counter = 0;
    if ((!message && head.type != frame_type::copy) || head.length < at + sizeof counter) return;
    std::memcpy(&counter, payload + at, sizeof counter);
    if (counter & raw_space) counter = into_yard(counter);
    std::memcpy(payload + at, &counter, sizeof counter);
}

// Collectives store what comes early, and tell when there is no memory for it; the sanitizer calls such sizes an error.
void bound_early_data(const frame &head, std::byte *payload)
{
    if (head.type != frame_type::am_long || head.aux < SEA_AM_IDS) return;
    for (const std::size_t from_end : {8, 16}) { // behind it is an address, inside a node
        std::uint64_t claimed = 0;
        if (head.length < from_end) return;
        std::memcpy(&claimed, payload + head.length - from_end, sizeof claimed);
        claimed &= 0xfffff;
        std::memcpy(payload + head.length - from_end, &claimed, sizeof claimed);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    [[maybe_unused]] static const bool ready = (set_up(), true);
    locked lock = enter();
    begin_operations();
    while (size >= sizeof(frame)) {
        frame head = read_frame(data);
        data += sizeof head;
        size -= sizeof head;
        head.length = std::uint32_t(std::min<std::size_t>(head.length, size));
        bound_pieces(head);
        std::vector<std::uint64_t> payload(head.length / 8 + 1); // its end is watched
        std::memcpy(payload.data(), data, head.length);
        bound_early_data(head, reinterpret_cast<std::byte *>(payload.data()));
        bound_counter(head, reinterpret_cast<std::byte *>(payload.data()));
        const int source = head.flags & stranger_flag ? 5 : 0; // one that has never existed, or this one
        engine().raw->open = !(head.flags & closed_flag);
        engine().receive(source, head, {reinterpret_cast<std::byte *>(payload.data()), head.length});
        data += head.length;
        size -= head.length;
        if (head.flags & finish_flag) engine().about_to_acknowledge();
        poll_round(lock);
    }
    engine().about_to_acknowledge();
    fail_operations_on(0, SEA_ERR_LINK);
    engine().in_frames.clear();
    for (int i = 0; i < 50 || !engine().handlers.empty(); ++i) poll_round(lock);
    check_operations();
    check_yard();
    coll::the_mailbox().clear();
    engine().refused.clear(); // the signals that would be refused do not come any more
    clear_heap();
    return 0;
}
