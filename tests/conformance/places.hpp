// SPDX-License-Identifier: Apache-2.0
// Memory of every kind that the library must reach, with guards around it that show a stray write.
#pragma once

#include "harness.hpp"

#include <memory>
#include <vector>

namespace proof {

enum class kind { heap, malloced, stack, fixed, file, anonymous };
inline constexpr kind all_kinds[] = {kind::heap, kind::malloced, kind::stack, kind::fixed, kind::file, kind::anonymous};
const char *kind_name(kind k);

inline constexpr std::size_t guard_bytes = 128;
inline constexpr unsigned char guard_value = 0xa7;
inline constexpr unsigned char blank = 0x5c; // what a fresh place holds

// Largest place on the stack and in static memory.
inline constexpr std::size_t small_place = 128 * 1024;

class place {
  public:
    // `stack_memory`: for kind::stack, at least bytes + 2 * guard_bytes of the caller's frame. Registered unless heap.
    place(kind k, std::size_t bytes, void *stack_memory = nullptr, unsigned flags = 0);
    ~place();
    place(const place &) = delete;
    place &operator=(const place &) = delete;

    unsigned char *memory() const { return memory_; }
    sea_addr address() const { return address_; }
    std::size_t bytes() const { return bytes_; }
    void clear() { set_bytes(memory_, bytes_, blank); }
    bool guards_whole() const;

  private:
    kind kind_;
    std::size_t bytes_;
    unsigned char *base_ = nullptr;   // where the first guard begins
    unsigned char *memory_ = nullptr; // the place itself
    sea_addr address_ = SEA_NULL;
    sea_addr owned_ = SEA_NULL; // what is freed or unregistered
};

// Where it is, as a number: its address in raw space.
inline std::uint64_t address_of(const void *memory) { return reinterpret_cast<std::uint64_t>(memory); }

// One byte more: no size is without memory.
inline std::vector<unsigned char> filled(std::size_t bytes, std::uint64_t seed)
{
    std::vector<unsigned char> data(bytes + 1);
    fill(data.data(), bytes, seed);
    return data;
}

inline sea_opts with_handle(sea_op *op, sea_op after = SEA_OP_NONE)
{
    sea_opts o = SEA_OPTS_INIT;
    o.op = op;
    o.after = after;
    return o;
}

// Starts an operation with a handle and gives its status, whether the call or the operation tells it.
template <class Start>
int outcome(Start start, sea_opts opts = SEA_OPTS_INIT)
{
    sea_op op = SEA_OP_NONE;
    opts.op = &op;
    int status = start(&opts);
    return status != SEA_OK ? status : sea_wait(op, 30);
}

// The same for a blocking call followed by a fence; the first error counts.
template <class Call>
int blocking_outcome(int rank, Call call)
{
    int status = call();
    int told = rank >= 0 && rank < sea_size() ? sea_fence(rank) : SEA_OK;
    return status != SEA_OK ? status : told;
}

} // namespace proof
