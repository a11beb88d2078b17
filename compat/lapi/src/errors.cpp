// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include "context.hpp"

#include <onesea.h>

#include <cstdio>

namespace lapi {
namespace {

struct meaning {
    int code;
    const char *name, *text;
};

#define ROW(name, text)   \
    {                     \
        name, #name, text \
    }
constexpr meaning meanings[] = {
    ROW(LAPI_SUCCESS, "success"),
    ROW(LAPI_ERR_UNKNOWN, "an error without a number of its own"),
    ROW(LAPI_ERR_ALL_HNDL_IN_USE, "this task has as many contexts as it can"),
    ROW(LAPI_ERR_BOTH_NETSTR_SET, "both network strings are set"),
    ROW(LAPI_ERR_CSS_LOAD_FAILED, "the job could not be joined, or sea_spawn() started this process: LAPI has the "
                                  "tasks that the job started with"),
    ROW(LAPI_ERR_HNDL_INVALID, "the handle names no context that is in use"),
    ROW(LAPI_ERR_INFO_NONZERO, "a field of lapi_info that must be zero is not"),
    ROW(LAPI_ERR_INFO_NULL, "lapi_info is null"),
    ROW(LAPI_ERR_MEMORY_EXHAUSTED, "not enough memory"),
    ROW(LAPI_ERR_MSG_API, "MP_MSG_API does not name lapi"),
    ROW(LAPI_ERR_NO_ENV_VAR, "the launcher's environment is damaged"),
    ROW(LAPI_ERR_NO_NETSTR_SET, "no network string is set"),
    ROW(LAPI_ERR_NO_UDP_HNDLR, "no UDP handler is given"),
    ROW(LAPI_ERR_PSS_NON_ROOT, "only root may do this"),
    ROW(LAPI_ERR_RET_PTR_NULL, "the pointer to the result is null"),
    ROW(LAPI_ERR_SHM_KE_NOT_LOADED, "the shared memory extension is not there"),
    ROW(LAPI_ERR_TIMEOUT, "a task did not answer in time"),
    ROW(LAPI_ERR_REG_TIMER, "the timer could not be started"),
    ROW(LAPI_ERR_UDP_PKT_SZ, "the size of a UDP packet is out of range"),
    ROW(LAPI_ERR_USER_UDP_HNDLR_FAIL, "the UDP handler failed"),
    ROW(LAPI_ERR_HDR_HNDLR_NULL, "the header handler is null, or the target has none of that number or address"),
    ROW(LAPI_ERR_ADDR_HNDL_RANGE, "the number of an address is not in 1 .. LOC_ADDRTBL_SZ-1"),
    ROW(LAPI_ERR_ADDR_TBL_NULL, "the table of addresses is null"),
    ROW(LAPI_ERR_TGT_PURGED, "the target has ended or is purged"),
    ROW(LAPI_ERR_MULTIPLE_WAITERS, "another thread waits for this counter"),
    ROW(LAPI_ERR_ORG_ADDR_NULL, "the address of the origin's data is null"),
    ROW(LAPI_ERR_TGT_ADDR_NULL, "the address of the target's data is null"),
    ROW(LAPI_ERR_DATA_LEN, "the length of the data is out of range"),
    ROW(LAPI_ERR_TGT, "there is no such task"),
    ROW(LAPI_ERR_UHDR_NULL, "the user header is null but has a length"),
    ROW(LAPI_ERR_UHDR_LEN, "the user header is longer than MAX_UHDR_SZ"),
    ROW(LAPI_ERR_HDR_LEN, "the length of the user header is no multiple of a word"),
    ROW(LAPI_ERR_CNTR_NULL, "the counter is null"),
    ROW(LAPI_ERR_CNTR_VAL, "the value for a counter is out of range"),
    ROW(LAPI_ERR_QUERY_TYPE, "there is no such query, or it cannot be set"),
    ROW(LAPI_ERR_IN_VAL_NULL, "the pointer to the operand is null"),
    ROW(LAPI_ERR_RMW_OP, "there is no such read-modify-write operation"),
    ROW(LAPI_ERR_TGT_VAR_NULL, "the address of the target's variable is null"),
    ROW(LAPI_ERR_SET_VAL, "the value is out of range"),
    ROW(LAPI_ERR_OP_SZ, "the size of the variable is neither 32 nor 64 bits"),
    ROW(LAPI_ERR_XFER_CMD, "there is no such transfer, or this library does not have it"),
    ROW(LAPI_ERR_UTIL_CMD, "there is no such utility, or this library does not have it"),
    ROW(LAPI_ERR_MSG_INFO_NULL, "the pointer to the message information is null"),
    ROW(LAPI_ERR_POLLING_NET, "another thread polls"),
    ROW(LAPI_ERR_CODE_UNKNOWN, "there is no such error number"),
    ROW(LAPI_ERR_ORG_EXTENT, "the origin's vector is longer than memory"),
    ROW(LAPI_ERR_ORG_STRIDE, "the origin's stride is shorter than its block"),
    ROW(LAPI_ERR_ORG_VEC_ADDR, "the origin's vector has a null address for a length that is not 0"),
    ROW(LAPI_ERR_ORG_VEC_LEN, "the lengths of the origin's vector are out of range"),
    ROW(LAPI_ERR_ORG_VEC_NULL, "the origin's vector is null"),
    ROW(LAPI_ERR_ORG_VEC_TYPE, "the origin's vector has no known type"),
    ROW(LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, "the origin's strided vector has a null address"),
    ROW(LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL, "the target's strided vector has a null address"),
    ROW(LAPI_ERR_TGT_EXTENT, "the target's vector is longer than memory"),
    ROW(LAPI_ERR_TGT_STRIDE, "the target's stride is shorter than its block"),
    ROW(LAPI_ERR_TGT_VEC_ADDR, "the target's vector has a null address for a length that is not 0"),
    ROW(LAPI_ERR_TGT_VEC_LEN, "the lengths of the target's vector are out of range"),
    ROW(LAPI_ERR_TGT_VEC_NULL, "the target's vector is null"),
    ROW(LAPI_ERR_TGT_VEC_TYPE, "the target's vector has no known type"),
    ROW(LAPI_ERR_VEC_NUM_DIFF, "the two vectors differ in their number of pieces"),
    ROW(LAPI_ERR_VEC_TYPE_DIFF, "the two vectors differ in type"),
    ROW(LAPI_ERR_VEC_LEN_DIFF, "the two vectors differ in the length of a piece"),
    ROW(LAPI_WARN_PARM_NULL, "a parameter is null"),
    ROW(LAPI_ERR_ONESEA_ADDRESS, "the target's memory does not allow this access"),
};
#undef ROW

const meaning *find_meaning(int code)
{
    for (const meaning &m : meanings)
        if (m.code == code) return &m;
    return nullptr;
}

constexpr const char *kinds[] = {"a get",       "a put",  "a read-modify-write", "an active message",
                                 "the library", "a timer"};

[[noreturn]] void end_job(int code, lapi_err_t type, int other)
{
    char text[400];
    const meaning *m = find_meaning(code);
    std::snprintf(text, sizeof text, "LAPI: %s (%d: %s) in %s, task %d; lapi_info has no err_hndlr", m->name, code,
                  m->text, kinds[type], other);
    sea_abort(1, text);
}

bool to_be_told(context &c, int code, lapi_err_t type, int other)
{
    if (code == LAPI_ERR_TGT_PURGED && c.valid(uint(other)) && c.tasks[other].purged) return false; // as was asked for
    if (!c.err_hndlr) end_job(code, type, other);
    return true;
}

} // namespace

int from_sea(int status)
{
    switch (status) {
    case SEA_OK:
        return LAPI_SUCCESS;
    case SEA_ERR_ADDRESS:
    case SEA_ERR_ACCESS:
    case SEA_ERR_ALIGN:
        return LAPI_ERR_ONESEA_ADDRESS;
    case SEA_ERR_RANK:
        return LAPI_ERR_TGT;
    case SEA_ERR_STATE:
        return LAPI_ERR_HNDL_INVALID;
    case SEA_ERR_TIMEOUT:
    case SEA_ERR_LINK:
        return LAPI_ERR_TIMEOUT;
    case SEA_ERR_HANDLER:
        return LAPI_ERR_HDR_HNDLR_NULL;
    case SEA_ERR_DEAD:
        return LAPI_ERR_TGT_PURGED;
    case SEA_ERR_MEMORY:
        return LAPI_ERR_MEMORY_EXHAUSTED;
    case SEA_ERR_LAUNCH:
        return LAPI_ERR_NO_ENV_VAR;
    default:
        return LAPI_ERR_UNKNOWN;
    }
}

void report(context &c, int code, lapi_err_t type, int other)
{
    if (!to_be_told(c, code, type, other)) return;
    lapi_handle_t handle = c.handle;
    int me = c.me;
    call_program([&] { c.err_hndlr(&handle, &code, &type, &me, &other); });
}

void report_later(context &c, int code, lapi_err_t type, int other)
{
    if (to_be_told(c, code, type, other)) c.errors.push([&c, code, type, other] { report(c, code, type, other); });
}

} // namespace lapi

extern "C" int PLAPI_Msg_string(int error_code, void *buf)
{
    if (!buf) return LAPI_ERR_RET_PTR_NULL;
    const lapi::meaning *m = lapi::find_meaning(error_code);
    if (!m) {
        std::snprintf(static_cast<char *>(buf), LAPI_MAX_ERR_STRING, "%d is no error number of LAPI", error_code);
        return LAPI_ERR_CODE_UNKNOWN;
    }
    std::snprintf(static_cast<char *>(buf), LAPI_MAX_ERR_STRING, "%s: %s", m->name, m->text);
    return LAPI_SUCCESS;
}

LAPI_TWIN(Msg_string);
