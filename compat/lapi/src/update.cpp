// SPDX-License-Identifier: Apache-2.0
// Read-modify-write. Three of the four operations are atomics of onesea, which bring the old value. COMPARE_AND_SWAP
// must bring whether it stored, so where the word is not near, a message asks the target to do it and to answer that;
// who waits for it itself finds that out here.
#include "local.hpp"
#include "message.hpp"
#include "reach.hpp"
#include "through.hpp"
#include "transfer.hpp"

#include <atomic>

namespace lapi {
namespace {

std::uint64_t word_at(const void *p, int width)
{
    std::uint64_t value = 0;
    std::memcpy(&value, p, std::size_t(width)); // little endian
    return value;
}

void store(void *p, int width, std::uint64_t value)
{
    if (p) std::memcpy(p, &value, std::size_t(width));
}

// What the program sees as the previous value.
template <class Word>
std::uint64_t apply(char *memory, RMW_ops_t op, std::uint64_t operand, std::uint64_t compare)
{
    std::atomic_ref<Word> word(*reinterpret_cast<Word *>(memory));
    Word expected = Word(compare);
    switch (op) {
    case FETCH_AND_ADD:
        return word.fetch_add(Word(operand));
    case FETCH_AND_OR:
        return word.fetch_or(Word(operand));
    case SWAP:
        return word.exchange(Word(operand));
    default:
        return word.compare_exchange_strong(expected, Word(operand));
    }
}

sea_atomic_kind kind_of(RMW_ops_t op)
{
    switch (op) {
    case FETCH_AND_ADD:
        return SEA_ATOMIC_ADD;
    case FETCH_AND_OR:
        return SEA_ATOMIC_OR;
    case SWAP:
        return SEA_ATOMIC_SWAP;
    default:
        return SEA_ATOMIC_CAS;
    }
}

struct operands {
    std::uint64_t value, compare;
};

// Of a compare-and-swap there are two.
operands operands_of(RMW_ops_t op, int width, const void *in)
{
    const std::uint64_t first = word_at(in, width);
    if (op != COMPARE_AND_SWAP) return {first, 0};
    return {word_at(static_cast<const char *>(in) + width, width), first};
}

bool updated_near(context &c, uint tgt, RMW_ops_t op, int width, lapi_long_t word, const operands &with, void *old)
{
    char *memory = near_memory(c, tgt, word, ulong(width));
    if (!memory) return false;
    store(old, width,
          width == 4 ? apply<std::uint32_t>(memory, op, with.value, with.compare)
                     : apply<std::uint64_t>(memory, op, with.value, with.compare));
    return true;
}

int issue(context &c, uint tgt, RMW_ops_t op, int width, lapi_long_t word, const operands &with, void *old,
          const sea_opts *opts)
{
    const sea_addr shared = shared_address(c, tgt, word, ulong(width));
    return shared ? sea_atomic(kind_of(op), shared, width, with.value, with.compare, old, opts)
                  : sea_raw_atomic(kind_of(op), int(tgt), word, width, with.value, with.compare, old, opts);
}

int ask_for_swap(context &c, uint tgt, int width, lapi_long_t word, const operands &with, void *old, const ending &e)
{
    auto answered = [&c, tgt, width, old, e](int code, const std::uint64_t *words) {
        if (code == LAPI_SUCCESS) store(old, width, words[0]);
        add_here(e.org_cntr);
        if (code != LAPI_SUCCESS) report_later(c, code, RMW_ERR, int(tgt));
        call_sender(c, tgt, e, code);
    };
    const std::uint64_t words[4] = {word, std::uint64_t(width), with.value, with.compare};
    return ask(c, tgt, service_kind::swap, words, answered);
}

} // namespace

int update(context &c, uint tgt, RMW_ops_t op, int width, lapi_long_t word, const void *in, void *old, const ending &e)
{
    const operands with = operands_of(op, width, in);
    if (word % lapi_long_t(width)) return LAPI_ERR_ONESEA_ADDRESS;
    if (updated_near(c, tgt, op, width, word, with, old)) {
        end_now(c, tgt, e);
        return LAPI_SUCCESS;
    }
    if (op == COMPARE_AND_SWAP) return ask_for_swap(c, tgt, width, word, with, old, e);
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    tracker::operation o;
    const bool by_call = e.shdlr != nullptr;
    if (by_call) {
        opts.op = &o.op;
        opts.remote_counter = c.tracked.events(); // the other one counts before the end if nobody wants the old value
    } else if (e.org_cntr) {                      // it adds when the operation is done
        (old ? opts.origin_counter : opts.remote_counter) = as_sea(e.org_cntr);
    }
    const int status = issue(c, tgt, op, width, word, with, old, &opts);
    c.has_sent();
    if (status != SEA_OK || !by_call) return from_sea(status);
    o.at_end = [&c, tgt, e](int ended) {
        add_here(e.org_cntr);
        if (ended == SEA_ERR_LINK) unreachable(tgt);
        if (ended != SEA_OK) report_later(c, from_sea(ended), RMW_ERR, int(tgt));
        call_sender(c, tgt, e, from_sea(ended));
    };
    c.tracked.follow(std::move(o));
    return LAPI_SUCCESS;
}

int update_through(context &c, uint tgt, RMW_ops_t op, int width, lapi_long_t word, const void *in, void *old)
{
    const operands with = operands_of(op, width, in);
    if (word % lapi_long_t(width)) return LAPI_ERR_ONESEA_ADDRESS;
    if (updated_near(c, tgt, op, width, word, with, old)) return LAPI_SUCCESS;
    std::uint64_t before = 0; // little endian, as all of it
    const int code =
        through(c, tgt, 0, [&](const sea_opts *opts) { return issue(c, tgt, op, width, word, with, &before, opts); });
    if (code == LAPI_SUCCESS) store(old, width, op == COMPARE_AND_SWAP ? before == with.compare : before);
    return code;
}

void compare_and_swap_for(context &c, int source, std::uint64_t id, const std::uint64_t *words)
{
    const int width = words[1] == 4 ? 4 : 8;
    std::uint64_t old = 0;
    int status = sea_raw_atomic(SEA_ATOMIC_CAS, c.me, words[0], width, words[2], words[3], &old, nullptr);
    const std::uint64_t compare = width == 4 ? std::uint32_t(words[3]) : words[3];
    const std::uint64_t result[4] = {old == compare ? 1u : 0u, 0, 0, 0};
    answer(c.handle, source, id, from_sea(status), result);
}

} // namespace lapi

using namespace lapi;

namespace {

int check(lapi_handle_t hndl, RMW_ops_t op, uint tgt, const void *word, const void *in, context **c)
{
    if (int code = open_to(hndl, tgt, c)) return code;
    if (op < FETCH_AND_ADD || op > COMPARE_AND_SWAP) return LAPI_ERR_RMW_OP;
    if (!word) return LAPI_ERR_TGT_VAR_NULL;
    return in ? LAPI_SUCCESS : LAPI_ERR_IN_VAL_NULL;
}

int rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int width, void *word, const void *in, void *old, lapi_cntr_t *cntr)
{
    context *c;
    if (int code = check(hndl, op, tgt, word, in, &c)) return code;
    ending e;
    e.org_cntr = cntr;
    return guarded([&] { return update(*c, tgt, op, width, lapi_long_t(word), in, old, e); });
}

} // namespace

extern "C" int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val, int *prev_tgt_val,
                         lapi_cntr_t *org_cntr)
{
    return rmw(hndl, op, tgt, 4, tgt_var, in_val, prev_tgt_val, org_cntr);
}

extern "C" int PLAPI_Rmw64(lapi_handle_t hndl, RMW_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                           long long *prev_tgt_val, lapi_cntr_t *org_cntr)
{
    return rmw(hndl, op, tgt, 8, tgt_var, in_val, prev_tgt_val, org_cntr);
}

extern "C" int LAPI_Onesea_rmw64(lapi_handle_t hndl, RMW_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                                 long long *prev_tgt_val)
{
    context *c;
    if (int code = check(hndl, op, tgt, tgt_var, in_val, &c)) return code;
    return guarded([&] { return update_through(*c, tgt, op, 8, lapi_long_t(tgt_var), in_val, prev_tgt_val); });
}

LAPI_TWIN(Rmw);
LAPI_TWIN(Rmw64);
