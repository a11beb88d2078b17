// SPDX-License-Identifier: Apache-2.0
// Global memory access. What this process can do by loads and stores on heaps of its node is done in the call; the rest
// is an operation of onesea.h with a handle.
#include "errors.hpp"
#include "flight.hpp"
#include "job.hpp"

namespace acp {
namespace {

constexpr std::size_t small_copy = 1024;     // bytes; those that may join others
constexpr std::size_t short_copy = 64 << 10; // bytes; longer ones need no short cut

sea_opts start_options(sea_op *op, sea_op after)
{
    sea_opts o = SEA_OPTS_INIT;
    o.op = op;
    o.after = after;
    return o;
}

// This process's starter memory, which needs no look at any table.
std::byte *in_starter(sea_addr a, std::size_t bytes)
{
    const job_state &j = job();
    const std::uint64_t into = a - j.starter;
    return into < j.starter_bytes && bytes <= j.starter_bytes - into ? j.starter_memory + into : nullptr;
}

// True: done and complete.
bool copy_at_once(sea_addr to, sea_addr from, std::size_t bytes)
{
    if (bytes - 1 >= short_copy) return false;
    if (void *source = in_starter(from, bytes)) {
        if (!in_near_heap(to)) return false;
        return (bytes == 8 ? sea_put(to, source, 8, nullptr) : sea_put(to, source, bytes, nullptr)) == SEA_OK;
    }
    void *target = in_starter(to, bytes);
    if (!target || !in_near_heap(from)) return false;
    return (bytes == 8 ? sea_get(target, from, 8, nullptr) : sea_get(target, from, bytes, nullptr)) == SEA_OK;
}

// A small one to another node: 0, and nothing was done or told, if it is to be made in the usual way.
acp_handle_t copy_small(sea_addr to, sea_addr from, std::size_t bytes)
{
    const job_state &j = job();
    const int rank = sea_addr_rank(to);
    if (bytes - 1 >= small_copy || (rank >= j.first_near && rank <= j.last_near)) return 0;
    const void *source = own_memory(from, bytes);
    if (!source) return 0;
    if (acp_handle_t handle = in_flight().join(to, source, bytes)) return handle;
    sea_op op = SEA_OP_NONE;
    sea_opts opts = start_options(&op, SEA_OP_NONE);
    opts.flags = SEA_JOIN;
    return sea_put(to, source, bytes, &opts) == SEA_OK ? in_flight().started(op, true) : 0;
}

acp_handle_t copy(sea_addr to, sea_addr from, std::size_t bytes, acp_handle_t order)
{
    start_condition after;
    if (!ready("acp_copy") || !after.take("acp_copy", order)) return 0;
    if (after.op() == SEA_OP_NONE) {
        if (copy_at_once(to, from, bytes)) return in_flight().done();
        if (acp_handle_t handle = copy_small(to, from, bytes)) return handle;
    }
    sea_op op = SEA_OP_NONE;
    const sea_opts opts = start_options(&op, after.op());
    if (sea_copy(to, from, bytes, &opts) == SEA_OK) return in_flight().started(op, after);
    report_sea("acp_copy");
    return 0;
}

acp_handle_t update(const char *function, sea_atomic_kind kind, int width, acp_ga_t dst, acp_ga_t src,
                    std::uint64_t operand, std::uint64_t compare, acp_handle_t order)
{
    start_condition after;
    if (!ready(function) || !after.take(function, order)) return 0;
    void *old = own_memory(address_of(dst), std::size_t(width));
    if (!old) {
        report(function, "the old value cannot go to %#llx, which is no memory of this process",
               static_cast<unsigned long long>(dst));
        return 0;
    }
    const sea_addr word = address_of(src);
    if (after.op() == SEA_OP_NONE && in_near_heap(word) &&
        sea_atomic(kind, word, width, operand, compare, old, nullptr) == SEA_OK)
        return in_flight().done();
    sea_op op = SEA_OP_NONE;
    const sea_opts opts = start_options(&op, after.op());
    if (sea_atomic(kind, word, width, operand, compare, old, &opts) == SEA_OK) return in_flight().started(op, after);
    report_sea(function);
    return 0;
}

} // namespace
} // namespace acp

using namespace acp;

acp_handle_t acp_copy(acp_ga_t dst, acp_ga_t src, size_t size, acp_handle_t order)
{
    return copy(address_of(dst), address_of(src), size, order);
}

#define ACP_UPDATE(name, width, kind)                                                                        \
    acp_handle_t acp_##name##width(acp_ga_t dst, acp_ga_t src, uint##width##_bits value, acp_handle_t order) \
    {                                                                                                        \
        return update("acp_" #name #width, kind, width, dst, src, value, 0, order);                          \
    }

using uint4_bits = std::uint32_t;
using uint8_bits = std::uint64_t;

ACP_UPDATE(swap, 4, SEA_ATOMIC_SWAP)
ACP_UPDATE(swap, 8, SEA_ATOMIC_SWAP)
ACP_UPDATE(add, 4, SEA_ATOMIC_ADD)
ACP_UPDATE(add, 8, SEA_ATOMIC_ADD)
ACP_UPDATE(xor, 4, SEA_ATOMIC_XOR)
ACP_UPDATE(xor, 8, SEA_ATOMIC_XOR)
ACP_UPDATE(or, 4, SEA_ATOMIC_OR)
ACP_UPDATE(or, 8, SEA_ATOMIC_OR)
ACP_UPDATE(and, 4, SEA_ATOMIC_AND)
ACP_UPDATE(and, 8, SEA_ATOMIC_AND)

acp_handle_t acp_cas4(acp_ga_t dst, acp_ga_t src, uint32_t oldval, uint32_t newval, acp_handle_t order)
{
    return update("acp_cas4", SEA_ATOMIC_CAS, 4, dst, src, newval, oldval, order);
}

acp_handle_t acp_cas8(acp_ga_t dst, acp_ga_t src, uint64_t oldval, uint64_t newval, acp_handle_t order)
{
    return update("acp_cas8", SEA_ATOMIC_CAS, 8, dst, src, newval, oldval, order);
}

void acp_complete(acp_handle_t handle)
{
    if (ready("acp_complete")) in_flight().complete(handle);
}

int acp_inquire(acp_handle_t handle) { return ready("acp_inquire") && in_flight().pending(handle) ? 1 : 0; }
