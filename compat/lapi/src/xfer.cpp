// SPDX-License-Identifier: Apache-2.0
// LAPI_Xfer(): every transfer by one call.
#include "arrival.hpp"
#include "message.hpp"
#include "vectors.hpp"

namespace lapi {
namespace {

// Works for every command that has these fields.
template <class Command>
ending ending_of(const Command &x)
{
    ending e;
    e.tgt_cntr = x.tgt_cntr;
    e.org_cntr = x.org_cntr;
    if constexpr (requires { x.cmpl_cntr; }) e.cmpl_cntr = x.cmpl_cntr;
    if constexpr (requires { x.shdlr; }) {
        e.shdlr = x.shdlr;
        e.sinfo = x.sinfo;
    }
    if constexpr (requires { x.chndlr; }) {
        e.chndlr = x.chndlr;
        e.cinfo = x.cinfo;
    }
    return e;
}

template <class Command>
int check_data(const Command &x)
{
    if (x.len > LAPI_MAX_MSG_SZ) return LAPI_ERR_DATA_LEN;
    if (x.len == 0) return LAPI_SUCCESS;
    if (!x.tgt_addr) return LAPI_ERR_TGT_ADDR_NULL;
    return x.org_addr ? LAPI_SUCCESS : LAPI_ERR_ORG_ADDR_NULL;
}

int run(context &c, const lapi_get_t &x)
{
    if (int code = check_data(x)) return code;
    return get(c, x.tgt, x.tgt_addr, x.org_addr, x.len, ending_of(x));
}

int run(context &c, const lapi_put_t &x)
{
    if (int code = check_data(x)) return code;
    return put(c, x.tgt, x.tgt_addr, x.org_addr, x.len, ending_of(x));
}

int run(context &c, const lapi_am_t &x)
{
    if (int code = check_message(c, x.hdr_hdl, x.uhdr, x.uhdr_len, x.udata, x.udata_len)) return code;
    return send(c, x.tgt, {x.hdr_hdl, x.uhdr, x.uhdr_len, x.udata, x.udata_len}, ending_of(x));
}

// The light one: the handler by its number, no counters, all of it in one packet.
int run_light(context &c, const lapi_am_t &x)
{
    if (int code = check_message(c, x.hdr_hdl, x.uhdr, x.uhdr_len, x.udata, x.udata_len)) return code;
    if (x.hdr_hdl >= address_table) return LAPI_ERR_ADDR_HNDL_RANGE;
    if (x.udata_len > max_packet || padded_to_word(x.uhdr_len) + x.udata_len > max_packet) return LAPI_ERR_DATA_LEN;
    ending e;
    e.shdlr = x.shdlr;
    e.sinfo = x.sinfo;
    return send(c, x.tgt, {x.hdr_hdl, x.uhdr, x.uhdr_len, x.udata, x.udata_len}, e);
}

int run(context &c, const lapi_rmw_t &x)
{
    if (x.op < FETCH_AND_ADD || x.op > COMPARE_AND_SWAP) return LAPI_ERR_RMW_OP;
    if (x.size != 32 && x.size != 64) return LAPI_ERR_OP_SZ;
    if (!x.tgt_var) return LAPI_ERR_TGT_VAR_NULL;
    if (!x.in_val) return LAPI_ERR_IN_VAL_NULL;
    ending e;
    e.org_cntr = x.org_cntr;
    e.shdlr = x.shdlr;
    e.sinfo = x.sinfo;
    return update(c, x.tgt, x.op, int(x.size) / 8, x.tgt_var, x.in_val, x.prev_tgt_val, e);
}

int run(context &c, const lapi_getv_t &x)
{
    return get_vector(c, x.tgt, static_cast<lapi_vec_t *>(x.tgt_vec), x.org_vec, ending_of(x));
}

int run(context &c, const lapi_putv_t &x)
{
    return put_vector(c, x.tgt, static_cast<lapi_vec_t *>(x.tgt_vec), x.org_vec, ending_of(x));
}

int run(context &c, const lapi_amv_t &x)
{
    return send_vector(c, x.tgt, x.hdr_hdl, x.uhdr, x.uhdr_len, x.org_vec, ending_of(x));
}

template <class Command>
int to_target(lapi_handle_t hndl, const Command &x)
{
    context *c;
    if (int code = open_to(hndl, x.tgt, &c)) return code;
    return run(*c, x);
}

int light(lapi_handle_t hndl, const lapi_am_t &x)
{
    context *c;
    if (int code = open_to(hndl, x.tgt, &c)) return code;
    return run_light(*c, x);
}

int dispatch(lapi_handle_t hndl, const lapi_xfer_t &x)
{
    switch (x.Xfer_type) {
    case LAPI_GET_XFER:
        return to_target(hndl, x.Get);
    case LAPI_AM_XFER:
        return to_target(hndl, x.Am);
    case LAPI_PUT_XFER:
        return to_target(hndl, x.Put);
    case LAPI_GETV_XFER:
        return to_target(hndl, x.Getv);
    case LAPI_PUTV_XFER:
        return to_target(hndl, x.Putv);
    case LAPI_AMV_XFER:
        return to_target(hndl, x.Amv);
    case LAPI_RMW_XFER:
        return to_target(hndl, x.Rmw);
    case LAPI_AM_LW_XFER:
        return light(hndl, x.Am);
    default:
        return LAPI_ERR_XFER_CMD;
    }
}

} // namespace
} // namespace lapi

extern "C" int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd)
{
    if (!lapi::find(hndl)) return LAPI_ERR_HNDL_INVALID;
    if (!xfer_cmd) return LAPI_ERR_XFER_CMD;
    return lapi::guarded([&] { return lapi::dispatch(hndl, *xfer_cmd); });
}

LAPI_TWIN(Xfer);
