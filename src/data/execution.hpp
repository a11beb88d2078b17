// SPDX-License-Identifier: Apache-2.0
// One call on a structure as it is executed, in whatever process of the owner's node. A *verb* is the function that
// does it. It sees the owner's heap, its arguments and data, gives a result of fixed size and, if it has more to tell,
// output; and says what is wrong in numbers, which the caller's process puts into words.
#pragma once

#include "data/control.hpp"
#include "data/verb.hpp"

#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace onesea::data {

// Not a status: the structure is locked by somebody who takes longer than this executor may wait; ask again.
inline constexpr int busy = 1;

// Why a call was refused; a and b go into the text (call.cpp).
enum class why : std::uint32_t {
    nothing,
    no_structure, // destroyed, or never there
    damaged,      // its control block makes no sense: something was written over it
    cut,          // a: the rank that ended while it changed the structure
    no_room,      // a: bytes that the heap has not
    beyond,       // a: position, b: size
    too_large,    // a: bytes of the element, b: the room for it
    too_few,      // a: bytes wanted, b: bytes there
    empty,
    no_source,   // a: address, b: bytes
    no_element,  // a: address of an iterator whose element is gone
    at_end,      // the end has no element
    not_behind,  // the second iterator does not come behind the first
    inside,      // the place to splice to is among the elements spliced
    version,     // a: the version now, b: that given
    not_order,   // what was given is not all elements, each once
    limit,       // a: bytes of the element, b: the limit of the queue
    long_output, // a: bytes that were to come back, b: the most
    not_known,   // a verb that this process does not know, or with other arguments
};

// Thrown by put_out(); nothing has been changed then.
struct output_too_long {
    std::uint64_t bytes;
};

struct execution {
    owner_heap heap; // of the structure's owner
    sea_addr at = SEA_NULL;
    who_locks who; // the executing process
    owner_heap (*heap_in_node)(int rank) = nullptr;
    std::span<const std::byte> arguments, data;

    static constexpr std::size_t most_result = 64, most_head = 128;
    alignas(8) std::byte result[most_result];
    std::size_t result_bytes = 0;
    std::byte *room = nullptr; // output that fits goes straight there
    std::size_t room_bytes = 0;
    std::size_t output_bytes = 0;           // in `room`
    std::uint64_t most_output = UINT64_MAX; // what can go back to the caller
    std::vector<std::byte> output;
    std::uint32_t wake = 0; // rank + 1 of who is to look again: whoever executes tells it
    why reason = why::nothing;
    std::uint64_t a = 0, b = 0;

    int refuse(int status, why w, std::uint64_t x = 0, std::uint64_t y = 0)
    {
        reason = w;
        a = x;
        b = y;
        return status;
    }
    // Where `bytes` of output are to be written; once per execution, and before anything is changed: throws
    // output_too_long or std::bad_alloc.
    std::byte *put_out(std::size_t bytes)
    {
        output_bytes = bytes;
        if (room && bytes <= room_bytes) return room;
        if (bytes > most_output) throw output_too_long{bytes};
        room = nullptr;
        output.reserve(bytes + most_head); // of the answer, which is put before it
        output.resize(bytes);
        return output.data();
    }
    template <class R>
    int give(const R &r)
    {
        static_assert(std::is_trivially_copyable_v<R> && sizeof(R) <= most_result);
        std::memcpy(result, &r, sizeof r);
        result_bytes = sizeof r;
        return SEA_OK;
    }
};

// The arguments of a verb, and the verb with its argument type known.
template <class A>
using verb_on = int (*)(execution &, const A &);

template <class A, verb_on<A> fn>
int with_arguments(execution &x)
{
    static_assert(std::is_trivially_copyable_v<A>);
    if (x.arguments.size() != sizeof(A)) return x.refuse(SEA_ERR_INTERNAL, why::not_known, x.arguments.size());
    A a;
    std::memcpy(&a, x.arguments.data(), sizeof a);
    return fn(x, a);
}

// A structure that is locked as long as this lives. `C` begins with a control block.
template <class C>
class locked_structure {
  public:
    locked_structure(execution &x, sea_addr at, kind k) { status_ = open(x, at, k); }
    ~locked_structure()
    {
        if (control_) give_lock(base());
    }
    locked_structure(const locked_structure &) = delete;
    locked_structure &operator=(const locked_structure &) = delete;

    // SEA_OK: it is locked and whole. SEA_ERR_DEAD: it is locked, but a change of it was cut.
    int status() const { return status_; }
    C *operator->() const { return control_; }
    C &operator*() const { return *control_; }
    bool locked() const { return control_; }
    // It has been destroyed; its memory is the caller's to free.
    void forget() { control_ = nullptr; }

  private:
    C *control_ = nullptr;
    int status_ = SEA_OK;

    control &base() { return *control_; }
    int open(execution &x, sea_addr at, kind k)
    {
        const std::uint64_t offset = sea_addr_offset(at) & ~tag_mask;
        if (at == SEA_NULL || !x.heap.live(offset, sizeof(C))) return x.refuse(SEA_ERR_HANDLE, why::no_structure);
        C *c = x.heap.as<C>(offset);
        switch (take_lock(*c, k, std::uint32_t(at & tag_mask), x.heap, x.who)) {
        case lock_result::busy:
            return x.refuse(busy, why::nothing, c->holder.load(std::memory_order_relaxed));
        case lock_result::gone:
            return x.refuse(SEA_ERR_HANDLE, why::no_structure);
        case lock_result::taken:
            break;
        }
        control_ = c;
        return c->broken ? x.refuse(SEA_ERR_DEAD, why::cut, c->broken - 1) : SEA_OK;
    }
};

} // namespace onesea::data
