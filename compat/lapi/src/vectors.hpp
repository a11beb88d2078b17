// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transfer.hpp"

namespace lapi {

int put_vector(context &c, uint tgt, const lapi_vec_t *tgt_vec, const lapi_vec_t *org_vec, const ending &e);
int get_vector(context &c, uint tgt, const lapi_vec_t *tgt_vec, const lapi_vec_t *org_vec, const ending &e);
int send_vector(context &c, uint tgt, lapi_long_t handler, const void *uhdr, uint uhdr_len, const lapi_vec_t *org_vec,
                const ending &e);

} // namespace lapi
