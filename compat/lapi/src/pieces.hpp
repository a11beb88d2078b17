// SPDX-License-Identifier: Apache-2.0
// LAPI's vectors as lists of pieces.
#pragma once

#include "transfer.hpp"

namespace lapi {

// The pieces of a transfer between two vectors of this task, the target's holding addresses of the target.
int pieces_between(const lapi_vec_t *tgt, const lapi_vec_t *org, std::vector<piece> *pieces);

// The origin's vector of a message as one run of bytes. *data is owned by *own, or by the program if it is one piece.
int gathered(const lapi_vec_t *org, std::unique_ptr<std::byte[]> *own, const void **data, ulong *bytes);

// Where the first `bytes` of a vector that a header handler returned lie; an error if it has fewer.
int pieces_of_arrival(const lapi_vec_t &vec, ulong bytes, std::vector<piece> *pieces);

// Copies a run of bytes to the local side of the pieces.
void scatter(const std::vector<piece> &pieces, const void *data);

} // namespace lapi
