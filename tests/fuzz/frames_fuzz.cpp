// SPDX-License-Identifier: Apache-2.0
// Any frames as a rank of the job could send them, at core's responder: a job of one, with operations under way that
// answers may be about. Wrong lengths, offsets, types and numbers must end in an error, write nothing beyond the memory
// that was opened, and leave every operation able to end.
//
// Input: frames as on the wire. So that they hit something, a position whose top byte is ff means a place in the open
// heap block, and an odd id one of the operations under way.
#include "coll/core_courier.hpp"
#include "core/engine.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace onesea;
using namespace onesea::core;

namespace {

constexpr std::size_t heap_bytes = 1 << 20, block_bytes = 8192, buffer_bytes = 256;
constexpr int handler_id = 3;

std::uint64_t block; // offset of the open heap block
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
    if (head.id & 1) head.id = ids[head.id >> 1 & 3];
    if (head.type == frame_type::pull && (head.position & 1)) head.position = ids[head.position >> 1 & 3];
    if (head.type == frame_type::data && (head.position & 1))
        head.position =
            reinterpret_cast<std::uint64_t>(buffers[0] + sizeof(std::uint64_t)) + (head.position >> 1 & 0x1ff);
    return head;
}

// Collectives store what comes early, and tell when there is no memory for it; the sanitizer calls such sizes an error.
void bound_early_data(const frame &head, std::byte *payload)
{
    std::uint64_t claimed = 0;
    if (head.type != frame_type::am_long || head.aux < SEA_AM_IDS || head.length < sizeof claimed) return;
    std::byte *at = payload + head.length - sizeof claimed;
    std::memcpy(&claimed, at, sizeof claimed);
    claimed &= 0xfffff;
    std::memcpy(at, &claimed, sizeof claimed);
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
        std::vector<std::uint64_t> payload(head.length / 8 + 1); // its end is watched
        std::memcpy(payload.data(), data, head.length);
        bound_early_data(head, reinterpret_cast<std::byte *>(payload.data()));
        const int source = head.flags & 0x40 ? 5 : 0; // one that has never existed, or this one
        engine().receive(source, head, {reinterpret_cast<std::byte *>(payload.data()), head.length});
        data += head.length;
        size -= head.length;
        poll_round(lock);
    }
    fail_operations_on(0, SEA_ERR_LINK);
    for (int i = 0; i < 50 || !engine().handlers.empty(); ++i) poll_round(lock);
    check_operations();
    coll::the_mailbox().clear();
    engine().refused.clear(); // the signals that would be refused do not come any more
    clear_heap();
    return 0;
}
