// SPDX-License-Identifier: Apache-2.0
// Operations in flight. An operation counts its parts (messages, requests); when the last one ends it has completed
// remotely. Operations that wait for a start condition keep a closure that starts them. All under the engine lock.
#pragma once

#include "base/transport.hpp"
#include "onesea.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace onesea::shm {
struct segment;
}

namespace onesea::core {

// Memory of a rank: an offset in its window, or raw_space and an address of its process.
struct place {
    int rank = -1;
    std::uint64_t position = 0; // 0: none
    explicit operator bool() const { return position != 0; }
    bool raw() const { return position & raw_space; }
};
inline place place_of(sea_addr a) { return {sea_addr_rank(a), sea_addr_offset(a)}; }

// What SEA_ORDERED makes of it; see order.cpp. apart: other ranks carry it out.
enum class ordering : std::uint8_t { none, write, read, apart };

// The kind of an operation that asks a rank about its heap: no sea_error_kind, since only its call tells of it.
inline constexpr std::uint8_t heap_call = 0xff;

// What is set back when an operation's place is used again.
struct operation_state {
    enum class phase : std::uint8_t { free, deferred, active, done };

    phase state = phase::free;
    bool held = false;           // a handle, or a thread inside a blocking call, still refers to it
    bool local_done = false;     // the origin's buffer may be reused
    bool starting = false;       // its parts are being made
    bool messaged = false;       // a part went as a message, so its signals must follow as messages
    bool local_at_end = false;   // the origin's buffer is in use until the end
    bool result_is_ours = false; // memory belongs to the blocking call, not to the program
    bool call_waits = false;     // its call returns when it is locally complete, not before
    bool at_leisure = false;     // nothing waits for its end but a fence, or what starts after all
    bool awaits_reply = false;   // its messages being executed is not its end: an answer comes
    bool lazy_answer = false;    // and takes its time: its peer counts it
    bool looked_after = false;   // it has waited for that for some time; see silence.cpp
    ordering order = ordering::none;
    bool in_line = false;      // in its peer's in_order
    bool may_start = false;    // it was the first there, and is in the engine's startable
    bool counted_read = false; // in its peer's ordered_reads
    bool lands = false;        // where its answer belongs may hold anything until it has come
    bool external = false;     // a layer above makes and completes it; no fence counts it
    bool in_order = false;     // SEA_OP_ALL waits for it
    bool open = false;         // further puts may join it
    std::uint8_t epoch = 0;    // of its peer's fence
    std::uint8_t kind = SEA_ERROR_PUT;
    std::int32_t target = -1;
    std::int32_t also = -1; // copy: the rank of its source
    std::int32_t status = SEA_OK;
    std::int32_t failed_start = SEA_OK; // what became of its start condition
    std::uint32_t parts = 0;
    bool ack_part = false;                    // one of the parts ends when all messages have been executed
    std::uint32_t joined = 0;                 // puts beside the first; its peer counts them, too
    std::uint32_t deliveries = 0;             // messages of transports that still point here
    std::uint32_t answers = 0;                // parts that end when the last of reply_bytes has come
    std::uint64_t reply_bytes = 0;            // get: still to come
    std::uint64_t without_gap = 0;            // get of one part: what has come from its start on
    std::vector<std::byte> *answer = nullptr; // call: where the answer goes; reply_bytes: what has come of it
    place counter_after;                      // get: the target counter, told at the end

    // put, atomic: extents of the target that are being asked for
    std::uint32_t checks = 0;

    // get: the bounds of where answers go; value: where it goes; am: the data that the target may pull
    void *memory = nullptr;
    std::size_t bytes = 0;
    shm::segment *holds = nullptr; // copy: own registration that must not end meanwhile
    sea_counter *origin_counter = nullptr;
    sea_counter *remote_counter = nullptr;
    void (*finished)(struct operation *) = nullptr; // internal users; called once, at the end
    void *context = nullptr;
    void (*layer_ended)(void *context) = nullptr; // external: the same
    std::uint64_t context_id = 0;
    sea_op after = SEA_OP_NONE; // what it waits for
};

struct operation : delivery, operation_state {
    std::uint32_t index = 0;
    std::uint32_t generation = 1;
    struct signal {
        place word;
        std::uint64_t value;
        int kind;
    };
    std::vector<signal> signals;       // that follow the data of a put or atomic
    std::shared_ptr<const void> owner; // of the origin's buffer: lives until nothing points there any more
    std::vector<std::unique_ptr<std::byte[]>> copies; // of what long messages of it carry
    std::string error_text;
    std::function<void(operation *)> start; // deferred only
    std::vector<std::uint32_t> dependents;
    operation *older = nullptr, *newer = nullptr; // of its chain: unfinished ones, in the order of their calls
};

class operation_table {
  public:
    operation *take(bool in_order = true); // state active, at the young end of the order, or only in the other chain
    void finish_order(operation *op);      // out of its chain: it has completed
    void leave_order(operation *op);       // into the other chain
    void release(operation *op);           // its number may be used again, by another generation
    operation *at(std::uint32_t index) { return all_[index].get(); }
    operation *oldest() const { return in_order_.oldest; }

    static std::uint64_t id_of(const operation *op) { return std::uint64_t(op->generation) << 32 | (op->index + 1); }
    // nullptr: used up. *known false: never given out, as far as can be told: who uses one place again and again has
    // used all its numbers after an hour or more.
    operation *find(std::uint64_t id, bool *known = nullptr);

    template <class Use>
    void for_each_unfinished(Use &&use)
    {
        for (chain *c : {&in_order_, &others_})
            for (operation *op = c->oldest; op;) {
                operation *next = op->newer;
                use(op);
                op = next;
            }
    }

  private:
    std::vector<std::unique_ptr<operation>> all_; // they never move, and are found by two loads
    std::vector<std::uint32_t> unused_;
    bool wrapped_ = false; // some place has had all its generations
    struct chain {
        operation *oldest = nullptr, *newest = nullptr;
    } in_order_, others_; // what SEA_OP_ALL waits for, and external operations

    void append(operation *op, bool in_order);
};

} // namespace onesea::core
