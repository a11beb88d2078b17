// SPDX-License-Identifier: Apache-2.0
// The queue: elements one behind the other in a sequence, each with its length before it, and the ranks that wait.
//
//   | u64 bytes | the element, up to a multiple of 8 | u64 bytes | ...
//
// Who finds nothing (or no room) leaves its rank in the control block and sleeps; what puts something in takes one rank
// out, and the process that executes it wakes that rank at once. The wake may be lost (the waiting rank has given up,
// the waking one has died before it sent): so a waiter looks again by itself after a pause, and whoever pops while more
// is there wakes the next.
#pragma once

#include "data/sequence.hpp"

#include <array>

namespace onesea::data {

enum class waiting_for : unsigned { element, room };

struct queue_control : sequence_control {
    static constexpr std::size_t places = 8;                  // whoever finds none is only slower to notice
    std::uint64_t limit;                                      // 0: none
    std::array<std::array<std::uint32_t, places>, 2> waiting; // rank + 1
};

struct queue_arguments {
    std::uint64_t room = 0; // create: limit
    std::int32_t rank = -1; // who asks
    std::uint32_t wait = 0; // it will wait: its rank is noted
};

struct queue_answer {
    sea_addr handle = SEA_NULL;
    std::uint64_t elements = 0, bytes = 0;
    std::uint64_t done = 0; // 0: there is no element, or no room
};

int queue_create(execution &x, const queue_arguments &a);
int queue_destroy(execution &x, const queue_arguments &a); // output: ranks to wake
int queue_size(execution &x, const queue_arguments &a);
int queue_push(execution &x, const queue_arguments &a);
int queue_pop(execution &x, const queue_arguments &a);

} // namespace onesea::data
