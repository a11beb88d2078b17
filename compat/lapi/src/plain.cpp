// SPDX-License-Identifier: Apache-2.0
// LAPI_Put() and LAPI_Get(), and the two of ours that wait.
#include "transfer.hpp"

using namespace lapi;

namespace {

int check(lapi_handle_t hndl, uint tgt, ulong len, const void *there, const void *here, context **c)
{
    if (int code = open_to(hndl, tgt, c)) return code;
    if (len > LAPI_MAX_MSG_SZ) return LAPI_ERR_DATA_LEN;
    if (len == 0) return LAPI_SUCCESS;
    if (!there) return LAPI_ERR_TGT_ADDR_NULL;
    return here ? LAPI_SUCCESS : LAPI_ERR_ORG_ADDR_NULL;
}

} // namespace

extern "C" int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
                         lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
    context *c;
    if (int code = check(hndl, tgt, len, tgt_addr, org_addr, &c)) return code;
    ending e;
    e.tgt_cntr = lapi_long_t(tgt_cntr);
    e.org_cntr = org_cntr;
    e.cmpl_cntr = cmpl_cntr;
    return guarded([&] { return put(*c, tgt, lapi_long_t(tgt_addr), org_addr, len, e); });
}

extern "C" int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
                         lapi_cntr_t *org_cntr)
{
    context *c;
    if (int code = check(hndl, tgt, len, tgt_addr, org_addr, &c)) return code;
    ending e;
    e.tgt_cntr = lapi_long_t(tgt_cntr);
    e.org_cntr = org_cntr;
    return guarded([&] { return get(*c, tgt, lapi_long_t(tgt_addr), org_addr, len, e); });
}

extern "C" int LAPI_Onesea_put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
                               lapi_cntr_t *tgt_cntr)
{
    context *c;
    if (int code = check(hndl, tgt, len, tgt_addr, org_addr, &c)) return code;
    return guarded([&] { return put_through(*c, tgt, lapi_long_t(tgt_addr), org_addr, len, lapi_long_t(tgt_cntr)); });
}

extern "C" int LAPI_Onesea_get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr)
{
    context *c;
    if (int code = check(hndl, tgt, len, tgt_addr, org_addr, &c)) return code;
    return guarded([&] { return get_through(*c, tgt, lapi_long_t(tgt_addr), org_addr, len); });
}

LAPI_TWIN(Put);
LAPI_TWIN(Get);
