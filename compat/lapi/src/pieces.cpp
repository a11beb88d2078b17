// SPDX-License-Identifier: Apache-2.0
// All three kinds of vector are first made a list of runs. Two lists then meet: run by run where the kind demands equal
// shapes, as streams of bytes with LAPI_GEN_GENERIC.
#include "pieces.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace lapi {
namespace {

struct run {
    lapi_long_t at;
    ulong bytes;
};

// The error numbers of one side.
struct side {
    int vec_null, vec_type, vec_addr, vec_len, stride_addr_null, stride, extent;
};
constexpr side origin = {LAPI_ERR_ORG_VEC_NULL,
                         LAPI_ERR_ORG_VEC_TYPE,
                         LAPI_ERR_ORG_VEC_ADDR,
                         LAPI_ERR_ORG_VEC_LEN,
                         LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL,
                         LAPI_ERR_ORG_STRIDE,
                         LAPI_ERR_ORG_EXTENT};
constexpr side target = {LAPI_ERR_TGT_VEC_NULL,
                         LAPI_ERR_TGT_VEC_TYPE,
                         LAPI_ERR_TGT_VEC_ADDR,
                         LAPI_ERR_TGT_VEC_LEN,
                         LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL,
                         LAPI_ERR_TGT_STRIDE,
                         LAPI_ERR_TGT_EXTENT};

int strided_runs(const lapi_vec_t &v, const side &error, std::vector<run> *runs)
{
    if (!v.info || !v.info[0]) return error.stride_addr_null;
    const lapi_long_t base = lapi_long_t(v.info[0]), block = lapi_long_t(v.info[1]), stride = lapi_long_t(v.info[2]);
    if (stride < block) return error.stride;
    if (stride > LAPI_MAX_MSG_SZ / (v.num_vecs ? v.num_vecs : 1)) return error.extent;
    for (uint i = 0; i < v.num_vecs; ++i) runs->push_back({base + i * stride, block});
    return LAPI_SUCCESS;
}

int listed_runs(const lapi_vec_t &v, const side &error, std::vector<run> *runs)
{
    if (v.num_vecs && !v.info) return error.vec_addr;
    if (v.num_vecs && !v.len) return error.vec_len;
    ulong total = 0;
    for (uint i = 0; i < v.num_vecs; ++i) {
        if (v.len[i] > LAPI_MAX_MSG_SZ) return error.vec_len;
        if (v.len[i] && !v.info[i]) return error.vec_addr;
        total += v.len[i];
        if (total > LAPI_MAX_MSG_SZ) return error.extent;
        runs->push_back({lapi_long_t(v.info[i]), v.len[i]});
    }
    return LAPI_SUCCESS;
}

int runs_of(const lapi_vec_t *v, const side &error, std::vector<run> *runs)
{
    if (!v) return error.vec_null;
    switch (v->vec_type) {
    case LAPI_GEN_STRIDED_XFER:
        return strided_runs(*v, error, runs);
    case LAPI_GEN_IOVECTOR:
    case LAPI_GEN_GENERIC:
        return listed_runs(*v, error, runs);
    }
    return error.vec_type;
}

ulong total(const std::vector<run> &runs)
{
    ulong sum = 0;
    for (const run &r : runs) sum += r.bytes;
    return sum;
}

bool same_shape(const std::vector<run> &a, const std::vector<run> &b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const run &x, const run &y) { return x.bytes == y.bytes; });
}

// Both as streams, up to the shorter one's end.
void pair_up(const std::vector<run> &remote, const std::vector<run> &local, std::vector<piece> *pieces)
{
    std::size_t r = 0, l = 0;
    ulong into_r = 0, into_l = 0;
    while (r < remote.size() && l < local.size()) {
        ulong n = std::min(remote[r].bytes - into_r, local[l].bytes - into_l);
        if (n) pieces->push_back({remote[r].at + into_r, reinterpret_cast<void *>(local[l].at + into_l), n});
        into_r += n;
        into_l += n;
        if (into_r == remote[r].bytes) ++r, into_r = 0;
        if (into_l == local[l].bytes) ++l, into_l = 0;
    }
}

} // namespace

int pieces_between(const lapi_vec_t *tgt, const lapi_vec_t *org, std::vector<piece> *pieces)
{
    std::vector<run> remote, local;
    if (int code = runs_of(org, origin, &local)) return code;
    if (int code = runs_of(tgt, target, &remote)) return code;
    if (org->vec_type != tgt->vec_type) return LAPI_ERR_VEC_TYPE_DIFF;
    if (org->vec_type == LAPI_GEN_GENERIC) {
        if (total(remote) != total(local)) return LAPI_ERR_VEC_LEN_DIFF;
    } else {
        if (org->num_vecs != tgt->num_vecs) return LAPI_ERR_VEC_NUM_DIFF;
        if (!same_shape(remote, local)) return LAPI_ERR_VEC_LEN_DIFF;
    }
    pair_up(remote, local, pieces);
    return LAPI_SUCCESS;
}

int gathered(const lapi_vec_t *org, std::unique_ptr<std::byte[]> *own, const void **data, ulong *bytes)
{
    std::vector<run> runs;
    if (int code = runs_of(org, origin, &runs)) return code;
    *bytes = total(runs);
    if (*bytes > LAPI_MAX_MSG_SZ) return LAPI_ERR_ORG_EXTENT;
    runs.erase(std::remove_if(runs.begin(), runs.end(), [](const run &r) { return r.bytes == 0; }), runs.end());
    *data = runs.empty() ? nullptr : reinterpret_cast<const void *>(runs[0].at);
    if (runs.size() < 2) return LAPI_SUCCESS;
    own->reset(new (std::nothrow) std::byte[*bytes]);
    if (!*own) return LAPI_ERR_MEMORY_EXHAUSTED;
    std::byte *to = own->get();
    for (const run &r : runs) {
        std::memcpy(to, reinterpret_cast<const void *>(r.at), r.bytes);
        to += r.bytes;
    }
    *data = own->get();
    return LAPI_SUCCESS;
}

int pieces_of_arrival(const lapi_vec_t &vec, ulong bytes, std::vector<piece> *pieces)
{
    std::vector<run> runs;
    if (int code = runs_of(&vec, target, &runs)) return code;
    if (total(runs) < bytes) return LAPI_ERR_TGT_VEC_LEN;
    for (const run &r : runs) {
        ulong n = std::min(r.bytes, bytes);
        if (n) pieces->push_back({0, reinterpret_cast<void *>(r.at), n});
        bytes -= n;
    }
    return LAPI_SUCCESS;
}

void scatter(const std::vector<piece> &pieces, const void *data)
{
    auto *from = static_cast<const std::byte *>(data);
    for (const piece &p : pieces) {
        std::memcpy(p.local, from, p.bytes);
        from += p.bytes;
    }
}

} // namespace lapi
