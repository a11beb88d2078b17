// SPDX-License-Identifier: Apache-2.0
// sea_barrier() to sea_alltoall(): arguments are checked, each by the member that gave them, before anything is sent.
#include "coll/run.hpp"

#include <cstdint>
#include <limits>

using namespace onesea;
using namespace onesea::coll;

namespace {

struct buffers {
    const void *input;
    std::size_t input_bytes;
    const void *output;
    std::size_t output_bytes;
};

int check_buffers(const char *function, const buffers &b, bool in_place)
{
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

// The parts of all members together.
int check_total(const char *function, const team &t, std::size_t bytes, std::size_t *total)
{
    const auto n = std::size_t(t.who.size());
    if (bytes > std::size_t(std::numeric_limits<std::ptrdiff_t>::max()) / n)
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
    if (count > std::size_t(std::numeric_limits<std::ptrdiff_t>::max()) / width)
        return fail(SEA_ERR_INVALID, "{}: {} elements are more than any memory holds", function, count);
    *e = {count, width, combine};
    return SEA_OK;
}

signature sign(kind what, int root, std::size_t size)
{
    return {.what = what, .root = root, .size = std::uint64_t(size)};
}

} // namespace

int sea_barrier(sea_team handle)
{
    std::shared_ptr<team> t;
    if (int status = member_of("sea_barrier", handle, &t)) return status;
    return run("sea_barrier", *t, sign(kind::barrier, 0, 0), [](call &c) { barrier(c); });
}

int sea_broadcast(sea_team handle, int root, void *buffer, size_t bytes)
{
    const char *name = "sea_broadcast";
    std::shared_ptr<team> t;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_root(name, *t, root)) return status;
    if (int status = check_buffers(name, {nullptr, 0, buffer, bytes}, false)) return status;
    return run(name, *t, sign(kind::broadcast, root, bytes), [&](call &c) { broadcast(c, root, buffer, bytes); });
}

int sea_reduce(sea_team handle, int root, const void *input, void *output, size_t count, sea_type type,
               sea_reduce_op op)
{
    const char *name = "sea_reduce";
    std::shared_ptr<team> t;
    elements e;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_root(name, *t, root)) return status;
    if (int status = check_elements(name, count, type, op, &e)) return status;
    const bool here = t->me == root;
    if (int status = check_buffers(name, {input, e.bytes(), output, here ? e.bytes() : 0}, true)) return status;
    signature s = sign(kind::reduce, root, count);
    s.type = std::uint8_t(type);
    s.op = std::uint8_t(op);
    return run(name, *t, s, [&](call &c) {
        if (count > 0) reduce(c, root, input, output, e);
    });
}

int sea_allreduce(sea_team handle, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op)
{
    const char *name = "sea_allreduce";
    std::shared_ptr<team> t;
    elements e;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_elements(name, count, type, op, &e)) return status;
    if (int status = check_buffers(name, {input, e.bytes(), output, e.bytes()}, true)) return status;
    signature s = sign(kind::allreduce, 0, count);
    s.type = std::uint8_t(type);
    s.op = std::uint8_t(op);
    return run(name, *t, s, [&](call &c) {
        if (count > 0) allreduce(c, input, output, e);
    });
}

int sea_gather(sea_team handle, int root, const void *input, void *output, size_t bytes)
{
    const char *name = "sea_gather";
    std::shared_ptr<team> t;
    std::size_t total = 0;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_root(name, *t, root)) return status;
    if (int status = check_total(name, *t, bytes, &total)) return status;
    if (int status = check_buffers(name, {input, bytes, output, t->me == root ? total : 0}, true)) return status;
    return run(name, *t, sign(kind::gather, root, bytes), [&](call &c) {
        if (bytes > 0) gather(c, root, input, output, bytes);
    });
}

int sea_allgather(sea_team handle, const void *input, void *output, size_t bytes)
{
    const char *name = "sea_allgather";
    std::shared_ptr<team> t;
    std::size_t total = 0;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_total(name, *t, bytes, &total)) return status;
    if (int status = check_buffers(name, {input, bytes, output, total}, true)) return status;
    return run(name, *t, sign(kind::allgather, 0, bytes), [&](call &c) {
        if (bytes > 0) allgather(c, input, output, bytes);
    });
}

int sea_scatter(sea_team handle, int root, const void *input, void *output, size_t bytes)
{
    const char *name = "sea_scatter";
    std::shared_ptr<team> t;
    std::size_t total = 0;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_root(name, *t, root)) return status;
    if (int status = check_total(name, *t, bytes, &total)) return status;
    if (int status = check_buffers(name, {input, t->me == root ? total : 0, output, bytes}, true)) return status;
    return run(name, *t, sign(kind::scatter, root, bytes), [&](call &c) {
        if (bytes > 0) scatter(c, root, input, output, bytes);
    });
}

int sea_alltoall(sea_team handle, const void *input, void *output, size_t bytes)
{
    const char *name = "sea_alltoall";
    std::shared_ptr<team> t;
    std::size_t total = 0;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_total(name, *t, bytes, &total)) return status;
    if (int status = check_buffers(name, {input, total, output, total}, false)) return status;
    return run(name, *t, sign(kind::alltoall, 0, bytes), [&](call &c) {
        if (bytes > 0) alltoall(c, input, output, bytes);
    });
}
