// SPDX-License-Identifier: Apache-2.0
// The calls on raw space. They differ from those on global addresses only in how a place is named.
#include "core/transfer.hpp"

#include <new>

using namespace onesea;
using namespace onesea::core;

namespace {

// An address out of raw space must not look like one inside, without its highest bit.
int check_place(const char *function, int rank, std::uint64_t address, place *where)
{
    if (int s = check_started(function)) return s;
    if (int s = engine().check_rank(rank)) return s;
    if (address >= raw_end) return fail(SEA_ERR_ADDRESS, "{}: {:#x} is no address of a process", function, address);
    *where = {rank, raw_space | address};
    return SEA_OK;
}

int check_pieces(const char *function, int rank, const sea_raw_piece *pieces, size_t n, const sea_opts *opts,
                 std::vector<piece> *list, std::uint64_t *bytes)
{
    place at;
    if (int s = check_place(function, rank, 0, &at)) return s;
    if (int s = check_opts(opts, rank)) return s;
    if (n > 0 && !pieces) return fail(SEA_ERR_INVALID, "{}: {} pieces at {}", function, n, fmt::ptr(pieces));
    list->reserve(n);
    for (size_t i = 0; i < n; ++i) {
        if (pieces[i].bytes == 0) continue;
        if (int s = check_place(function, rank, pieces[i].remote, &at)) return s;
        if (int s = check_transfer(function, at, pieces[i].local, pieces[i].bytes, nullptr)) return s;
        list->push_back({at.position, pieces[i].local, pieces[i].bytes});
        *bytes += pieces[i].bytes;
    }
    return SEA_OK;
}

} // namespace

int sea_raw_put(int rank, uint64_t target, const void *source, size_t bytes, const sea_opts *opts)
try {
    if (target < raw_end && plain(opts) && quick_put({rank, raw_space | target}, source, bytes, opts) == SEA_OK)
        return SEA_OK;
    place at;
    if (int s = check_place("sea_raw_put", rank, bytes ? target : 0, &at)) return s;
    return core::put("sea_raw_put", at, source, bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_raw_put");
}

int sea_raw_get(void *target, int rank, uint64_t source, size_t bytes, const sea_opts *opts)
try {
    place at;
    if (int s = check_place("sea_raw_get", rank, bytes ? source : 0, &at)) return s;
    return core::get("sea_raw_get", target, at, bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_raw_get");
}

int sea_raw_atomic(sea_atomic_kind kind, int rank, uint64_t target, int width, uint64_t operand, uint64_t compare,
                   void *old, const sea_opts *opts)
try {
    place at;
    if (int s = check_place("sea_raw_atomic", rank, target, &at)) return s;
    return update("sea_raw_atomic", kind, at, width, operand, compare, old, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_raw_atomic");
}

int sea_raw_put_vector(int rank, const sea_raw_piece *pieces, size_t n, const sea_opts *opts)
try {
    std::uint64_t bytes = 0;
    std::vector<piece> list;
    if (int s = check_pieces("sea_raw_put_vector", rank, pieces, n, opts, &list, &bytes)) return s;
    return put_pieces(rank, std::move(list), bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_raw_put_vector");
}

int sea_raw_get_vector(int rank, const sea_raw_piece *pieces, size_t n, const sea_opts *opts)
try {
    std::uint64_t bytes = 0;
    std::vector<piece> list;
    if (int s = check_pieces("sea_raw_get_vector", rank, pieces, n, opts, &list, &bytes)) return s;
    return get_pieces(rank, std::move(list), bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_raw_get_vector");
}
