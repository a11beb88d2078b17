// SPDX-License-Identifier: Apache-2.0
// LAPI_Putv(), LAPI_Getv(), LAPI_Amsendv().
#include "vectors.hpp"

#include "arrival.hpp"
#include "message.hpp"
#include "pieces.hpp"

namespace lapi {

int put_vector(context &c, uint tgt, const lapi_vec_t *tgt_vec, const lapi_vec_t *org_vec, const ending &e)
{
    std::vector<piece> pieces;
    if (int code = pieces_between(tgt_vec, org_vec, &pieces)) return code;
    return put_pieces(c, tgt, pieces, e);
}

int get_vector(context &c, uint tgt, const lapi_vec_t *tgt_vec, const lapi_vec_t *org_vec, const ending &e)
{
    std::vector<piece> pieces;
    if (int code = pieces_between(tgt_vec, org_vec, &pieces)) return code;
    return get_pieces(c, tgt, pieces, e);
}

int send_vector(context &c, uint tgt, lapi_long_t handler, const void *uhdr, uint uhdr_len, const lapi_vec_t *org_vec,
                const ending &e)
{
    std::unique_ptr<std::byte[]> own;
    sending s = {handler, uhdr, uhdr_len, nullptr, 0, true};
    if (int code = check_message(c, handler, uhdr, uhdr_len, nullptr, 0)) return code;
    if (int code = gathered(org_vec, &own, &s.data, &s.bytes)) return code;
    if (!own) return send(c, tgt, s, e);
    // The program's memory is free already; ours is when onesea says so.
    ending mine;
    mine.tgt_cntr = e.tgt_cntr;
    mine.cmpl_cntr = e.cmpl_cntr;
    mine.shdlr = [](lapi_handle_t *, void *memory, lapi_sh_info_t *) { delete[] static_cast<std::byte *>(memory); };
    mine.sinfo = own.get();
    if (int code = send(c, tgt, s, mine)) return code;
    own.release();
    ending theirs;
    theirs.org_cntr = e.org_cntr;
    theirs.shdlr = e.shdlr;
    theirs.sinfo = e.sinfo;
    end_now(c, tgt, theirs);
    return LAPI_SUCCESS;
}

} // namespace lapi

using namespace lapi;

namespace {

ending make_ending(lapi_cntr_t *tgt, lapi_cntr_t *org, lapi_cntr_t *cmpl)
{
    ending e;
    e.tgt_cntr = lapi_long_t(tgt);
    e.org_cntr = org;
    e.cmpl_cntr = cmpl;
    return e;
}

} // namespace

extern "C" int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
                          lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
    context *c;
    if (int code = open_to(hndl, tgt, &c)) return code;
    return guarded([&] { return put_vector(*c, tgt, tgt_vec, org_vec, make_ending(tgt_cntr, org_cntr, cmpl_cntr)); });
}

extern "C" int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
                          lapi_cntr_t *org_cntr)
{
    context *c;
    if (int code = open_to(hndl, tgt, &c)) return code;
    return guarded([&] { return get_vector(*c, tgt, tgt_vec, org_vec, make_ending(tgt_cntr, org_cntr, nullptr)); });
}

extern "C" int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                             lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
    context *c;
    if (int code = open_to(hndl, tgt, &c)) return code;
    return guarded([&] {
        return send_vector(*c, tgt, lapi_long_t(hdr_hdl), uhdr, uhdr_len, org_vec,
                           make_ending(tgt_cntr, org_cntr, cmpl_cntr));
    });
}

LAPI_TWIN(Putv);
LAPI_TWIN(Getv);
LAPI_TWIN(Amsendv);
