// SPDX-License-Identifier: Apache-2.0
// One-sided operations under LAPI's rules. A target address is a pointer of the target; if it lies in the memory that
// the target shares with its node and this task is of that node, the operation is a copy or an atomic here and now. All
// else goes to the target's raw space.
#pragma once

#include "context.hpp"

#include <vector>

namespace lapi {

// Who is told what of an operation.
struct ending {
    lapi_long_t tgt_cntr = 0; // pointer of the target
    lapi_cntr_t *org_cntr = nullptr, *cmpl_cntr = nullptr;
    scompl_hndlr_t *shdlr = nullptr; // here, when the origin's buffer may be reused
    void *sinfo = nullptr;
    compl_hndlr_t *chndlr = nullptr; // here, on a thread for completion handlers, at the end
    void *cinfo = nullptr;
};

// An open context that may speak to `tgt`; LAPI_SUCCESS or the error.
int open_to(lapi_handle_t handle, uint tgt, context **c);

int put(context &c, uint tgt, lapi_long_t to, const void *from, ulong bytes, const ending &e);
int get(context &c, uint tgt, lapi_long_t from, void *to, ulong bytes, const ending &e);
int update(context &c, uint tgt, RMW_ops_t op, int width, lapi_long_t word, const void *in, void *old, const ending &e);
// Takes the answer of a compare-and-swap that another task made here.
void compare_and_swap_for(context &c, int source, std::uint64_t id, const std::uint64_t *words);

// The same, but the call waits for the end of the operation, and what has become of that is the result.
int put_through(context &c, uint tgt, lapi_long_t to, const void *from, ulong bytes, lapi_long_t tgt_cntr);
int get_through(context &c, uint tgt, lapi_long_t from, void *to, ulong bytes);
int update_through(context &c, uint tgt, RMW_ops_t op, int width, lapi_long_t word, const void *in, void *old);

struct piece {
    lapi_long_t remote;
    void *local;
    ulong bytes;
};
int put_pieces(context &c, uint tgt, const std::vector<piece> &pieces, const ending &e);
int get_pieces(context &c, uint tgt, const std::vector<piece> &pieces, const ending &e);

// Tells all whom `e` names that an operation towards `tgt` has ended well here and there.
void end_now(context &c, uint tgt, const ending &e);
// What was sent to `tgt` with a completion counter of this task has arrived.
void tell_arrival(context &c, uint tgt, lapi_cntr_t *counter);
// Adds to a counter of `tgt`, whose pointer may be wrong; of this task itself the result tells.
int add_there(uint tgt, lapi_long_t counter);
// Runs a send completion handler when handlers may run.
void call_sender(context &c, uint tgt, const ending &e, int code);

} // namespace lapi
