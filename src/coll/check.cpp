// SPDX-License-Identifier: Apache-2.0
#include "coll/check.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cstdint>

namespace onesea::coll {

int check_size(const char *function, std::size_t bytes)
{
    if (bytes <= most_bytes) return SEA_OK;
    return fail(SEA_ERR_INVALID, "{}: {} bytes are more than any memory holds", function, bytes);
}

int check_buffers(const char *function, const buffers &b, bool in_place)
{
    if (int s = check_size(function, std::max(b.input_bytes, b.output_bytes))) return s;
    if (b.input_bytes > 0 && !b.input)
        return fail(SEA_ERR_INVALID, "{}: the input is null but has {} bytes", function, b.input_bytes);
    if (b.output_bytes > 0 && !b.output)
        return fail(SEA_ERR_INVALID, "{}: the output is null but has {} bytes", function, b.output_bytes);
    if (b.input_bytes == 0 || b.output_bytes == 0) return SEA_OK;
    auto in = reinterpret_cast<std::uintptr_t>(b.input), out = reinterpret_cast<std::uintptr_t>(b.output);
    if (in_place && in == out && b.input_bytes == b.output_bytes) return SEA_OK;
    if (in + b.input_bytes <= out || out + b.output_bytes <= in) return SEA_OK;
    return fail(SEA_ERR_INVALID, "{}: the input ({} bytes at {}) and the output ({} bytes at {}) overlap", function,
                b.input_bytes, fmt::ptr(b.input), b.output_bytes, fmt::ptr(b.output));
}

int check_root(const char *function, const team &t, int root)
{
    if (root >= 0 && root < t.who.size()) return SEA_OK;
    return fail(SEA_ERR_INVALID, "{}: the root {} is not a member; the team has {}", function, root, t.who.size());
}

int check_total(const char *function, const team &t, std::size_t bytes, std::size_t *total)
{
    const auto n = std::size_t(t.who.size());
    if (bytes > most_bytes / n)
        return fail(SEA_ERR_INVALID, "{}: {} bytes of each of {} members are more than any memory holds", function,
                    bytes, n);
    *total = bytes * n;
    return SEA_OK;
}

int check_elements(const char *function, std::size_t count, sea_type type, sea_reduce_op op, elements *e)
{
    const std::size_t width = type_width(type);
    if (width == 0) return fail(SEA_ERR_INVALID, "{}: there is no type {}", function, int(type));
    combine_fn combine = combiner(type, op);
    if (!combine && is_bitwise(op))
        return fail(SEA_ERR_INVALID, "{}: SEA_BAND, SEA_BOR and SEA_BXOR are for integers only", function);
    if (!combine) return fail(SEA_ERR_INVALID, "{}: there is no operation {}", function, int(op));
    if (count > most_bytes / width)
        return fail(SEA_ERR_INVALID, "{}: {} elements are more than any memory holds", function, count);
    *e = {count, width, combine};
    return SEA_OK;
}

} // namespace onesea::coll
