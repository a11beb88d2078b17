// SPDX-License-Identifier: Apache-2.0
// The Fortran names: lower case with an underscore, every argument by reference, the result in a last one. A variable
// of the program stands for its own address, and LAPI_ADDR_NULL of lapif.h for the null pointer; addresses of other
// tasks and of handlers come as 64-bit values.
#include "lapi.h"

#include <algorithm>
#include <cstring>

extern "C" lapi_cntr_t lapinull_; // the common block of lapif.h; the program's own is the same object or none
__attribute__((weak)) lapi_cntr_t lapinull_ = {};

namespace {

template <class T>
T *here(T *variable)
{
    return static_cast<void *>(variable) == &lapinull_ ? nullptr : variable;
}
template <class T>
T *there(const lapi_long_t *address)
{
    return reinterpret_cast<T *>(*address);
}
lapi_cntr_t *counter_there(const lapi_long_t *address) { return there<lapi_cntr_t>(address); }
using handle = const lapi_handle_t *;
using integer = const int *;
using length = const ulong *;
using address = const lapi_long_t *;
using counter = lapi_cntr_t *;

} // namespace

extern "C" {

void lapi_init_(lapi_handle_t *hndl, lapi_info_t *info, int *ierror) { *ierror = LAPI_Init(hndl, info); }
void lapi_term_(handle hndl, int *ierror) { *ierror = LAPI_Term(*hndl); }
void lapi_qenv_(handle hndl, integer query, int *value, int *ierror)
{
    *ierror = LAPI_Qenv(*hndl, lapi_query_t(*query), value);
}
void lapi_senv_(handle hndl, integer query, integer value, int *ierror)
{
    *ierror = LAPI_Senv(*hndl, lapi_query_t(*query), *value);
}

// The text is filled up with blanks, as Fortran's are.
void lapi_msg_string_(integer code, char *text, int *ierror, std::size_t characters)
{
    char buffer[LAPI_MAX_ERR_STRING] = "";
    *ierror = LAPI_Msg_string(*code, buffer);
    std::size_t used = std::min(std::strlen(buffer), characters);
    std::memset(text, ' ', characters);
    std::memcpy(text, buffer, used);
}

void lapi_address_(void *variable, ulong *value, int *ierror) { *ierror = LAPI_Address(variable, value); }
void lapi_address_init_(handle hndl, address mine, lapi_long_t *table, int *ierror)
{
    *ierror = LAPI_Address_init64(*hndl, *mine, table);
}
void lapi_address_init64_(handle hndl, address mine, lapi_long_t *table, int *ierror)
{
    *ierror = LAPI_Address_init64(*hndl, *mine, table);
}
void lapi_addr_set_(handle hndl, address value, integer number, int *ierror)
{
    *ierror = LAPI_Addr_set(*hndl, there<void>(value), *number);
}
void lapi_addr_get_(handle hndl, lapi_long_t *value, integer number, int *ierror)
{
    void *found = nullptr;
    *ierror = LAPI_Addr_get(*hndl, &found, *number);
    if (*ierror == LAPI_SUCCESS) *value = lapi_long_t(found);
}

void lapi_put_(handle hndl, integer tgt, length len, address to, void *from, address tgt_cntr, counter org,
               counter cmpl, int *ierror)
{
    *ierror =
        LAPI_Put(*hndl, uint(*tgt), *len, there<void>(to), here(from), counter_there(tgt_cntr), here(org), here(cmpl));
}
void lapi_get_(handle hndl, integer tgt, length len, address from, void *to, address tgt_cntr, counter org, int *ierror)
{
    *ierror = LAPI_Get(*hndl, uint(*tgt), *len, there<void>(from), here(to), counter_there(tgt_cntr), here(org));
}
void lapi_amsend_(handle hndl, integer tgt, address handler, void *uhdr, integer uhdr_len, void *data, length len,
                  address tgt_cntr, counter org, counter cmpl, int *ierror)
{
    *ierror = LAPI_Amsend(*hndl, uint(*tgt), there<void>(handler), here(uhdr), uint(*uhdr_len), here(data), *len,
                          counter_there(tgt_cntr), here(org), here(cmpl));
}
void lapi_putv_(handle hndl, integer tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, address tgt_cntr, counter org,
                counter cmpl, int *ierror)
{
    *ierror =
        LAPI_Putv(*hndl, uint(*tgt), here(tgt_vec), here(org_vec), counter_there(tgt_cntr), here(org), here(cmpl));
}
void lapi_getv_(handle hndl, integer tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, address tgt_cntr, counter org,
                int *ierror)
{
    *ierror = LAPI_Getv(*hndl, uint(*tgt), here(tgt_vec), here(org_vec), counter_there(tgt_cntr), here(org));
}
void lapi_amsendv_(handle hndl, integer tgt, address handler, void *uhdr, integer uhdr_len, lapi_vec_t *org_vec,
                   address tgt_cntr, counter org, counter cmpl, int *ierror)
{
    *ierror = LAPI_Amsendv(*hndl, uint(*tgt), there<void>(handler), here(uhdr), uint(*uhdr_len), here(org_vec),
                           counter_there(tgt_cntr), here(org), here(cmpl));
}
void lapi_rmw_(handle hndl, integer op, integer tgt, address word, int *in, int *prev, counter org, int *ierror)
{
    *ierror = LAPI_Rmw(*hndl, RMW_ops_t(*op), uint(*tgt), there<int>(word), here(in), here(prev), here(org));
}
void lapi_rmw64_(handle hndl, integer op, integer tgt, address word, long long *in, long long *prev, counter org,
                 int *ierror)
{
    *ierror = LAPI_Rmw64(*hndl, RMW_ops_t(*op), uint(*tgt), there<long long>(word), here(in), here(prev), here(org));
}
void lapi_xfer_(handle hndl, lapi_xfer_t *command, int *ierror) { *ierror = LAPI_Xfer(*hndl, command); }
void lapi_util_(handle hndl, lapi_util_t *command, int *ierror) { *ierror = LAPI_Util(*hndl, command); }

void lapi_setcntr_(handle hndl, counter c, integer value, int *ierror)
{
    *ierror = LAPI_Setcntr(*hndl, here(c), *value);
}
void lapi_getcntr_(handle hndl, counter c, int *value, int *ierror) { *ierror = LAPI_Getcntr(*hndl, here(c), value); }
void lapi_waitcntr_(handle hndl, counter c, integer value, int *now, int *ierror)
{
    *ierror = LAPI_Waitcntr(*hndl, here(c), *value, here(now));
}
void lapi_nopoll_wait_(handle hndl, counter c, integer value, int *now, int *ierror)
{
    *ierror = LAPI_Nopoll_wait(*hndl, here(c), *value, here(now));
}
void lapi_setcntr_wstatus_(handle hndl, counter c, integer n, uint *list, int *status, int *ierror)
{
    *ierror = LAPI_Setcntr_wstatus(*hndl, here(c), *n, here(list), here(status));
}
void lapi_purge_totask_(handle hndl, integer dest, int *ierror) { *ierror = LAPI_Purge_totask(*hndl, uint(*dest)); }
void lapi_resume_totask_(handle hndl, integer dest, int *ierror) { *ierror = LAPI_Resume_totask(*hndl, uint(*dest)); }
void lapi_probe_(handle hndl, int *ierror) { *ierror = LAPI_Probe(*hndl); }
void lapi_msgpoll_(handle hndl, integer count, lapi_msg_info_t *info, int *ierror)
{
    *ierror = LAPI_Msgpoll(*hndl, uint(*count), here(info));
}
void lapi_fence_(handle hndl, int *ierror) { *ierror = LAPI_Fence(*hndl); }
void lapi_gfence_(handle hndl, int *ierror) { *ierror = LAPI_Gfence(*hndl); }

void lapi_onesea_shared_alloc_(handle hndl, length bytes, lapi_long_t *memory, int *ierror)
{
    void *found = nullptr;
    *ierror = LAPI_Onesea_shared_alloc(*hndl, *bytes, &found);
    if (*ierror == LAPI_SUCCESS) *memory = lapi_long_t(found);
}
void lapi_onesea_shared_free_(handle hndl, address memory, int *ierror)
{
    *ierror = LAPI_Onesea_shared_free(*hndl, there<void>(memory));
}
}
