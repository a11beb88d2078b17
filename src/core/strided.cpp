// SPDX-License-Identifier: Apache-2.0
// Strided and vector transfers: one operation of many pieces.
#include "core/transfer.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

namespace onesea::core {
namespace {

struct box {
    std::array<std::int64_t, SEA_STRIDE_LEVELS> remote_strides{}, local_strides{};
    std::array<std::size_t, SEA_STRIDE_LEVELS + 1> counts{};
    int levels = 0;

    bool empty() const
    {
        for (int i = 0; i <= levels; ++i)
            if (counts[std::size_t(i)] == 0) return true;
        return false;
    }

    // use(remote offset, local offset) for every run, first level fastest.
    template <class Use>
    void for_each_run(Use &&use) const
    {
        std::array<std::size_t, SEA_STRIDE_LEVELS> at{};
        std::int64_t remote = 0, local = 0;
        while (true) {
            use(remote, local);
            int l = 0;
            for (; l < levels; ++l) {
                auto i = std::size_t(l);
                remote += remote_strides[i];
                local += local_strides[i];
                if (++at[i] < counts[i + 1]) break;
                remote -= std::int64_t(at[i]) * remote_strides[i];
                local -= std::int64_t(at[i]) * local_strides[i];
                at[i] = 0;
            }
            if (l == levels) return;
        }
    }

    // The lowest and highest byte that it touches, from its base; false if that does not fit 64 bits.
    bool bounds(std::int64_t *low, std::int64_t *high) const
    {
        constexpr __int128 limit = __int128(1) << 62;
        __int128 lo = 0, hi = __int128(counts[0]);
        if (hi > limit) return false;
        for (int l = 0; l < levels; ++l) {
            __int128 reach = __int128(remote_strides[std::size_t(l)]) * __int128(counts[std::size_t(l) + 1] - 1);
            (reach < 0 ? lo : hi) += reach;
            if (lo < -limit || hi > limit) return false;
        }
        *low = std::int64_t(lo);
        *high = std::int64_t(hi);
        return true;
    }

    // Of all runs; false if that is more than anybody lives to see: strides of 0 repeat what lies in little memory.
    bool total(std::uint64_t *bytes) const
    {
        *bytes = 1;
        for (int i = 0; i <= levels; ++i)
            if (__builtin_mul_overflow(*bytes, counts[std::size_t(i)], bytes)) return false;
        return *bytes <= most_bytes;
    }

    static constexpr std::uint64_t most_bytes = std::uint64_t(1) << 62;
};

int read_box(const char *function, const int64_t *remote, const int64_t *local, const size_t *counts, int levels,
             box *result)
{
    if (levels < 0 || levels > SEA_STRIDE_LEVELS)
        return fail(SEA_ERR_INVALID, "{}: {} levels; there are 0 to {}", function, levels, SEA_STRIDE_LEVELS);
    if (!counts || (levels > 0 && (!remote || !local)))
        return fail(SEA_ERR_INVALID, "{}: counts or strides are null", function);
    result->levels = levels;
    for (std::size_t i = 0; i <= std::size_t(levels); ++i) result->counts[i] = counts[i];
    for (std::size_t i = 0; i < std::size_t(levels); ++i) {
        result->remote_strides[i] = remote[i];
        result->local_strides[i] = local[i];
    }
    return SEA_OK;
}

// The whole box lies in its rank's window.
int check_box(const char *function, const box &b, sea_addr base, const void *local, const sea_opts *opts,
              std::uint64_t *bytes)
{
    *bytes = 0;
    if (b.empty()) return check_transfer(function, place_for(base, 0, opts), local, 0, opts);
    if (int s = check_transfer(function, place_of(base), local, b.counts[0], opts)) return s;
    std::int64_t low = 0, high = 0;
    bool fits = b.bounds(&low, &high);
    auto offset = std::int64_t(sea_addr_offset(base));
    if (!fits || offset + low < 0 || offset + high > std::int64_t(SEA_OFFSET_MASK) + 1)
        return fail(SEA_ERR_ADDRESS, "{}: the box around {:#x} leaves the window of rank {}", function, base,
                    rank_of(base));
    if (!b.total(bytes))
        return fail(SEA_ERR_INVALID, "{}: the runs of the box have more than {} bytes", function, box::most_bytes);
    return check_range(function, place_of(base + std::uint64_t(low)), std::uint64_t(high - low));
}

// Runs an operation of pieces: start(op, ordered) makes them. `bytes` of all of them counts in the statistics.
int run_pieces(int rank, bool is_get, std::uint64_t bytes, const sea_opts *opts,
               std::function<void(operation *, bool)> start)
{
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    bound_unfinished(lock, rank, opts);
    if (is_get)
        count(rank, &pair_counts::gets, 0, bytes);
    else
        count(rank, &pair_counts::puts, bytes, 0);
    operation *op = begin(rank, opts);
    op->kind = is_get ? SEA_ERROR_GET : SEA_ERROR_PUT;
    bool ordered = opts && (opts->flags & SEA_ORDERED);
    if (is_get && ordered) op->order = ordering::read;
    if (is_get)
        op->counter_after = counter_place(opts, rank);
    else
        signal_counter(op, opts);
    run_or_defer(op, [start = std::move(start), ordered](operation *o) {
        start(o, ordered);
        start_signals(o);
    });
    return conclude(lock, op, opts, is_get);
}

// Also the rank that they are on; without bytes, that of the target counter.
int check_pieces(const char *function, const sea_piece *pieces, size_t n, const sea_opts *opts, int *rank,
                 std::uint64_t *bytes)
{
    if (int s = check_started(function)) return s;
    if (n > 0 && !pieces) return fail(SEA_ERR_INVALID, "{}: {} pieces at {}", function, n, fmt::ptr(pieces));
    if (n == 0 && opts && known_size(opts) && raw_counter(opts))
        return fail(SEA_ERR_INVALID, "{}: no piece tells on which rank the raw target counter is", function);
    size_t first = n; // with bytes: the others are not looked at
    for (size_t i = 0; i < n; ++i) {
        if (pieces[i].bytes == 0) continue;
        first = std::min(first, i);
        const place p = place_of(pieces[i].remote);
        if (p.rank != rank_of(pieces[first].remote))
            return fail(SEA_ERR_INVALID, "{}: piece {} is on rank {}, piece {} on rank {}", function, i, p.rank, first,
                        rank_of(pieces[first].remote));
        if (int s = check_transfer(function, p, pieces[i].local, pieces[i].bytes, nullptr)) return s;
        *bytes += pieces[i].bytes;
    }
    *rank = place_for(n ? pieces[first < n ? first : 0].remote : SEA_NULL, *bytes, opts).rank;
    return check_opts(opts, *rank);
}

std::vector<piece> listed(const sea_piece *pieces, size_t n)
{
    std::vector<piece> list;
    list.reserve(n);
    for (size_t i = 0; i < n; ++i)
        if (pieces[i].bytes) list.push_back({sea_addr_offset(pieces[i].remote), pieces[i].local, pieces[i].bytes});
    return list;
}

} // namespace

namespace {

// True: all pieces were moved together, or one was bad.
bool moved_together(operation *op, const std::vector<piece> &pieces, bool write, bool ordered)
{
    transport *t = engine().route(op->target);
    if (!t || pieces.size() < 2 || !keeps_order_natively(op, ordered)) return false;
    std::size_t bad = 0;
    const int s = t->copy_pieces(op->target, pieces, write, &bad);
    if (s == not_native) return false;
    if (s != SEA_OK) note_error(op, s, access_text(s, {op->target, pieces[bad].position}, pieces[bad].bytes));
    return true;
}

} // namespace

int put_pieces(int rank, std::vector<piece> pieces, std::uint64_t bytes, const sea_opts *opts)
{
    return run_pieces(rank, false, bytes, opts, [list = std::move(pieces)](operation *op, bool ordered) {
        if (moved_together(op, list, true, ordered)) return;
        for (const piece &p : list) start_put(op, {op->target, p.position}, p.local, p.bytes, ordered);
    });
}

int get_pieces(int rank, std::vector<piece> pieces, std::uint64_t bytes, const sea_opts *opts)
{
    return run_pieces(rank, true, bytes, opts, [list = std::move(pieces)](operation *op, bool ordered) {
        op->local_at_end = true;
        if (moved_together(op, list, false, ordered)) return;
        for (const piece &p : list) start_get(op, p.local, {op->target, p.position}, p.bytes, ordered);
    });
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_put_strided(sea_addr target, const int64_t *target_strides, const void *source, const int64_t *source_strides,
                    const size_t *counts, int levels, const sea_opts *opts)
try {
    if (int s = check_started("sea_put_strided")) return s;
    box b;
    if (int s = read_box("sea_put_strided", target_strides, source_strides, counts, levels, &b)) return s;
    std::uint64_t bytes = 0;
    if (int s = check_box("sea_put_strided", b, target, source, opts, &bytes)) return s;
    return run_pieces(place_for(target, bytes, opts).rank, false, bytes, opts, [=](operation *op, bool ordered) {
        if (b.empty()) return;
        b.for_each_run([&](std::int64_t remote, std::int64_t local) {
            start_put(op, place_of(target + std::uint64_t(remote)), static_cast<const char *>(source) + local,
                      b.counts[0], ordered);
        });
    });
} catch (const std::bad_alloc &) {
    return no_memory("sea_put_strided");
}

int sea_get_strided(void *target, const int64_t *target_strides, sea_addr source, const int64_t *source_strides,
                    const size_t *counts, int levels, const sea_opts *opts)
try {
    if (int s = check_started("sea_get_strided")) return s;
    box b;
    if (int s = read_box("sea_get_strided", source_strides, target_strides, counts, levels, &b)) return s;
    std::uint64_t bytes = 0;
    if (int s = check_box("sea_get_strided", b, source, target, opts, &bytes)) return s;
    return run_pieces(place_for(source, bytes, opts).rank, true, bytes, opts, [=](operation *op, bool ordered) {
        op->local_at_end = true;
        if (b.empty()) return;
        b.for_each_run([&](std::int64_t remote, std::int64_t local) {
            start_get(op, static_cast<char *>(target) + local, place_of(source + std::uint64_t(remote)), b.counts[0],
                      ordered);
        });
    });
} catch (const std::bad_alloc &) {
    return no_memory("sea_get_strided");
}

int sea_put_vector(const sea_piece *pieces, size_t n, const sea_opts *opts)
try {
    std::uint64_t bytes = 0;
    int rank = -1;
    if (int s = check_pieces("sea_put_vector", pieces, n, opts, &rank, &bytes)) return s;
    return put_pieces(rank, listed(pieces, n), bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_put_vector");
}

int sea_get_vector(const sea_piece *pieces, size_t n, const sea_opts *opts)
try {
    std::uint64_t bytes = 0;
    int rank = -1;
    if (int s = check_pieces("sea_get_vector", pieces, n, opts, &rank, &bytes)) return s;
    return get_pieces(rank, listed(pieces, n), bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_get_vector");
}
