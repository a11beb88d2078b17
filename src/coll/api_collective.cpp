// SPDX-License-Identifier: Apache-2.0
// sea_barrier() to sea_alltoall(), sea_scan(), sea_exscan(), sea_reduce_scatter().
#include "coll/check.hpp"
#include "coll/run.hpp"

using namespace onesea;
using namespace onesea::coll;

namespace {

signature sign(kind what, int root, std::size_t size)
{
    return {.what = what, .root = root, .size = std::uint64_t(size)};
}

signature sign(kind what, int root, std::size_t size, sea_type type, sea_reduce_op op)
{
    signature s = sign(what, root, size);
    s.type = std::uint8_t(type);
    s.op = std::uint8_t(op);
    return s;
}

// What allreduce, scan and exscan have in common: as many elements come out as go in.
template <class Body>
int reduce_alike(const char *name, kind what, sea_team handle, const void *input, void *output, std::size_t count,
                 sea_type type, sea_reduce_op op, Body &&body)
{
    std::shared_ptr<team> t;
    elements e;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_elements(name, count, type, op, &e)) return status;
    if (int status = check_buffers(name, {input, e.bytes(), output, e.bytes()}, true)) return status;
    return run(name, *t, sign(what, 0, count, type, op), [&](call &c) {
        if (count > 0) body(c, e);
    });
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
    return run(name, *t, sign(kind::reduce, root, count, type, op), [&](call &c) {
        if (count > 0) reduce(c, root, input, output, e);
    });
}

int sea_allreduce(sea_team handle, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op)
{
    return reduce_alike("sea_allreduce", kind::allreduce, handle, input, output, count, type, op,
                        [&](call &c, const elements &e) { allreduce(c, input, output, e); });
}

int sea_scan(sea_team handle, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op)
{
    return reduce_alike("sea_scan", kind::scan, handle, input, output, count, type, op,
                        [&](call &c, const elements &e) { scan(c, input, output, e); });
}

int sea_exscan(sea_team handle, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op)
{
    return reduce_alike("sea_exscan", kind::exscan, handle, input, output, count, type, op,
                        [&](call &c, const elements &e) { exscan(c, input, output, e); });
}

int sea_reduce_scatter(sea_team handle, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op)
{
    const char *name = "sea_reduce_scatter";
    std::shared_ptr<team> t;
    elements e;
    std::size_t total = 0;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_elements(name, count, type, op, &e)) return status;
    if (int status = check_total(name, *t, e.bytes(), &total)) return status;
    if (int status = check_buffers(name, {input, total, output, e.bytes()}, false)) return status;
    return run(name, *t, sign(kind::reduce_scatter, 0, count, type, op), [&](call &c) {
        if (count > 0) reduce_scatter_block(c, input, output, {count * std::size_t(c.size()), e.width, e.combine});
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
