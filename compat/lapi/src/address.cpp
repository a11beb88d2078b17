// SPDX-License-Identifier: Apache-2.0
// Addresses: of variables for Fortran, of all tasks, and numbers in the place of handlers' addresses.
#include "context.hpp"

using namespace lapi;

namespace {

int exchange(lapi_handle_t hndl, lapi_long_t mine, void *table)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!table) return LAPI_ERR_ADDR_TBL_NULL;
    return guarded([&] {
        in_progress here(c->handlers);
        c->waiting.drain(c->handlers);
        return from_sea(sea_allgather(c->team, &mine, table, sizeof mine));
    });
}

} // namespace

extern "C" int PLAPI_Address(void *my_addr, ulong *ret_addr)
{
    if (!ret_addr) return LAPI_ERR_RET_PTR_NULL;
    *ret_addr = ulong(my_addr);
    return LAPI_SUCCESS;
}

extern "C" int PLAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[])
{
    static_assert(sizeof(void *) == sizeof(lapi_long_t));
    return exchange(hndl, lapi_long_t(my_addr), add_tab);
}

extern "C" int PLAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab)
{
    return exchange(hndl, my_addr, add_tab);
}

extern "C" int PLAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (addr_hndl < 1 || addr_hndl >= address_table) return LAPI_ERR_ADDR_HNDL_RANGE;
    c->addresses[addr_hndl].store(addr, std::memory_order_release);
    return LAPI_SUCCESS;
}

extern "C" int PLAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!addr) return LAPI_ERR_RET_PTR_NULL;
    if (addr_hndl < 1 || addr_hndl >= address_table) return LAPI_ERR_ADDR_HNDL_RANGE;
    *addr = c->addresses[addr_hndl].load(std::memory_order_acquire);
    return LAPI_SUCCESS;
}

LAPI_TWIN(Address);
LAPI_TWIN(Address_init);
LAPI_TWIN(Address_init64);
LAPI_TWIN(Addr_set);
LAPI_TWIN(Addr_get);
