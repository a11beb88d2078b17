// SPDX-License-Identifier: Apache-2.0
// Vectors: lists, strides, streams; put, get, messages.
#include "battery.hpp"

#include <cstring>

using namespace battery;

namespace {

void *address(lapi_long_t base, std::size_t offset) { return reinterpret_cast<void *>(base + offset); }

lapi_vec_t vec(lapi_vectype_t type, uint n, void **info, ulong *len) { return {type, n, info, len}; }

int mine[100], theirs[400];

void prepare()
{
    for (int i = 0; i < 100; ++i) mine[i] = self.me * 1000 + i;
    std::memset(theirs, 0, sizeof theirs);
    fence_all();
}

} // namespace

STEP(lists_of_pieces_go_both_ways)
{
    auto where = everywhere(theirs);
    counter arrived, reusable, complete;
    const uint t = self.right();
    prepare();
    void *from[3] = {mine, mine + 50, mine + 90},
         *to[3] = {address(where[t], 40), address(where[t], 0), address(where[t], 400)};
    ulong len[3] = {4, 20, 0};
    lapi_vec_t org = vec(LAPI_GEN_IOVECTOR, 3, from, len), tgt = vec(LAPI_GEN_IOVECTOR, 3, to, len);
    OK(LAPI_Putv(self.h, t, &tgt, &org, arrived.of(t), reusable.here(), complete.here()));
    reusable.wait(1);
    complete.wait(1);
    arrived.wait(1);
    EQUAL(theirs[10], int(self.left()) * 1000);
    EQUAL(theirs[4], int(self.left()) * 1000 + 54);
    EQUAL(theirs[5], 0);
    fence_all();
    std::memset(mine, 0, sizeof mine);
    OK(LAPI_Getv(self.h, t, &tgt, &org, arrived.of(t), reusable.here()));
    reusable.wait(1);
    arrived.wait(1);
    EQUAL(mine[0], self.me * 1000);
    EQUAL(mine[54], self.me * 1000 + 54);
    EQUAL(mine[55], 0);
}

STEP(strides_differ_on_both_sides)
{
    auto where = everywhere(theirs);
    counter complete;
    const uint t = self.right();
    prepare();
    void *from[3] = {mine, reinterpret_cast<void *>(8), reinterpret_cast<void *>(12)};
    void *to[3] = {address(where[t], 0), reinterpret_cast<void *>(8), reinterpret_cast<void *>(80)};
    lapi_vec_t org = vec(LAPI_GEN_STRIDED_XFER, 20, from, nullptr), tgt = vec(LAPI_GEN_STRIDED_XFER, 20, to, nullptr);
    OK(LAPI_Putv(self.h, t, &tgt, &org, nullptr, nullptr, complete.here()));
    complete.wait(1);
    fence_all();
    int bad = 0;
    for (int i = 0; i < 400; ++i) {
        int block = i / 20, in = i % 20;
        bad += theirs[i] != (in < 2 ? int(self.left()) * 1000 + block * 3 + in : 0);
    }
    EQUAL(bad, 0);
    std::memset(mine, 0, sizeof mine);
    OK(LAPI_Getv(self.h, t, &tgt, &org, nullptr, complete.here()));
    complete.wait(1);
    for (int i = 0; i < 60; ++i) EQUAL(mine[i], i % 3 < 2 ? self.me * 1000 + i : 0);
}

STEP(vectors_reach_shared_memory)
{
    void *memory = nullptr;
    OK(LAPI_Onesea_shared_alloc(self.h, 4000, &memory));
    auto *ints = static_cast<int *>(memory);
    std::memset(ints, 0, 4000);
    auto where = everywhere(ints);
    counter arrived, reusable, complete;
    const uint t = self.right();
    prepare();
    void *from[3] = {mine, reinterpret_cast<void *>(8), reinterpret_cast<void *>(12)};
    void *to[3] = {address(where[t], 0), reinterpret_cast<void *>(8), reinterpret_cast<void *>(80)};
    lapi_vec_t org = vec(LAPI_GEN_STRIDED_XFER, 20, from, nullptr), tgt = vec(LAPI_GEN_STRIDED_XFER, 20, to, nullptr);
    OK(LAPI_Putv(self.h, t, &tgt, &org, arrived.of(t), reusable.here(), complete.here()));
    reusable.wait(1);
    complete.wait(1);
    arrived.wait(1);
    int bad = 0;
    for (int i = 0; i < 400; ++i) bad += ints[i] != (i % 20 < 2 ? int(self.left()) * 1000 + i / 20 * 3 + i % 20 : 0);
    EQUAL(bad, 0);
    fence_all();
    std::memset(mine, 0, sizeof mine);
    OK(LAPI_Getv(self.h, t, &tgt, &org, arrived.of(t), reusable.here()));
    reusable.wait(1);
    arrived.wait(1);
    for (int i = 0; i < 60; ++i) EQUAL(mine[i], i % 3 < 2 ? self.me * 1000 + i : 0);
    fence_all();
    OK(LAPI_Onesea_shared_free(self.h, memory));
}

STEP(streams_need_only_the_same_length)
{
    auto where = everywhere(theirs);
    counter complete;
    const uint t = self.right();
    prepare();
    void *from[1] = {mine}, *to[3] = {address(where[t], 0), address(where[t], 100), address(where[t], 200)};
    ulong from_len[1] = {60}, to_len[3] = {4, 40, 16};
    lapi_vec_t org = vec(LAPI_GEN_GENERIC, 1, from, from_len), tgt = vec(LAPI_GEN_GENERIC, 3, to, to_len);
    OK(LAPI_Putv(self.h, t, &tgt, &org, nullptr, nullptr, complete.here()));
    complete.wait(1);
    fence_all();
    EQUAL(theirs[0], int(self.left()) * 1000);
    EQUAL(theirs[25], int(self.left()) * 1000 + 1);
    EQUAL(theirs[53], int(self.left()) * 1000 + 14);
}

STEP(empty_vectors_still_count)
{
    counter arrived, reusable, complete;
    const uint t = self.right();
    lapi_vec_t none = vec(LAPI_GEN_IOVECTOR, 0, nullptr, nullptr);
    fence_all();
    OK(LAPI_Putv(self.h, t, &none, &none, arrived.of(t), reusable.here(), complete.here()));
    OK(LAPI_Getv(self.h, t, &none, &none, arrived.of(t), reusable.here()));
    reusable.wait(2);
    complete.wait(1);
    arrived.wait(2);
}

STEP(vectors_refuse_bad_arguments)
{
    int x[4] = {};
    void *good[3] = {x, reinterpret_cast<void *>(4), reinterpret_cast<void *>(8)}, *null[3] = {};
    void *overlap[3] = {x, reinterpret_cast<void *>(8), reinterpret_cast<void *>(4)};
    void *endless[3] = {x, reinterpret_cast<void *>(4), reinterpret_cast<void *>(std::uintptr_t(1) << 62)};
    void *wide[3] = {x, reinterpret_cast<void *>(8), reinterpret_cast<void *>(8)};
    ulong len[2] = {4, 4}, other[2] = {4, 3}, huge[2] = {LAPI_MAX_MSG_SZ + 1, 4}, much[2] = {LAPI_MAX_MSG_SZ, 4};
    void *two[2] = {x, x + 1};
    auto list = [&](uint n, void **info, ulong *l) { return vec(LAPI_GEN_IOVECTOR, n, info, l); };
    auto stride = [&](void **info) { return vec(LAPI_GEN_STRIDED_XFER, 2, info, nullptr); };
    lapi_vec_t ok = list(2, two, len), strided = stride(good);
    auto both = [&](lapi_vec_t bad, int as_org, int as_tgt) {
        lapi_vec_t *fits = bad.vec_type == LAPI_GEN_STRIDED_XFER ? &strided : &ok;
        EQUAL(LAPI_Putv(self.h, 0, fits, &bad, nullptr, nullptr, nullptr), as_org);
        EQUAL(LAPI_Putv(self.h, 0, &bad, fits, nullptr, nullptr, nullptr), as_tgt);
        EQUAL(LAPI_Getv(self.h, 0, fits, &bad, nullptr, nullptr), as_org);
        EQUAL(LAPI_Getv(self.h, 0, &bad, fits, nullptr, nullptr), as_tgt);
    };
    both(list(2, nullptr, len), LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_TGT_VEC_ADDR);
    both(list(2, null, len), LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_TGT_VEC_ADDR);
    both(list(2, two, nullptr), LAPI_ERR_ORG_VEC_LEN, LAPI_ERR_TGT_VEC_LEN);
    both(list(2, two, huge), LAPI_ERR_ORG_VEC_LEN, LAPI_ERR_TGT_VEC_LEN);
    both(list(2, two, much), LAPI_ERR_ORG_EXTENT, LAPI_ERR_TGT_EXTENT);
    both(vec(lapi_vectype_t(3), 2, two, len), LAPI_ERR_ORG_VEC_TYPE, LAPI_ERR_TGT_VEC_TYPE);
    both(stride(nullptr), LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL);
    both(stride(null), LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL);
    both(stride(overlap), LAPI_ERR_ORG_STRIDE, LAPI_ERR_TGT_STRIDE);
    both(stride(endless), LAPI_ERR_ORG_EXTENT, LAPI_ERR_TGT_EXTENT);
    both(stride(wide), LAPI_ERR_VEC_LEN_DIFF, LAPI_ERR_VEC_LEN_DIFF);
    both(list(2, two, other), LAPI_ERR_VEC_LEN_DIFF, LAPI_ERR_VEC_LEN_DIFF);
    both(list(1, two, len), LAPI_ERR_VEC_NUM_DIFF, LAPI_ERR_VEC_NUM_DIFF);
    both(vec(LAPI_GEN_GENERIC, 2, two, len), LAPI_ERR_VEC_TYPE_DIFF, LAPI_ERR_VEC_TYPE_DIFF);
    EQUAL(LAPI_Putv(self.h, 0, nullptr, &ok, nullptr, nullptr, nullptr), LAPI_ERR_TGT_VEC_NULL);
    EQUAL(LAPI_Putv(self.h, 0, &ok, nullptr, nullptr, nullptr, nullptr), LAPI_ERR_ORG_VEC_NULL);
    EQUAL(LAPI_Putv(self.h, uint(self.n), &ok, &ok, nullptr, nullptr, nullptr), LAPI_ERR_TGT);
    EQUAL(LAPI_Getv(self.h, uint(self.n), &ok, &ok, nullptr, nullptr), LAPI_ERR_TGT);
    auto *handler = reinterpret_cast<void *>(&prepare);
    EQUAL(LAPI_Amsendv(self.h, 0, handler, nullptr, 0, nullptr, nullptr, nullptr, nullptr), LAPI_ERR_ORG_VEC_NULL);
    EQUAL(LAPI_Amsendv(self.h, 0, nullptr, nullptr, 0, &ok, nullptr, nullptr, nullptr), LAPI_ERR_HDR_HNDLR_NULL);
    EQUAL(LAPI_Amsendv(self.h, uint(self.n), handler, nullptr, 0, &ok, nullptr, nullptr, nullptr), LAPI_ERR_TGT);
}

namespace {
void *landing_info[3];
ulong landing_len[3];
lapi_vec_t landing;
char landing_room[60000];
std::atomic<ulong> announced = 0;
std::atomic<int> completions = 0;

lapi_vec_t *vector_header(lapi_handle_t *, void *, uint *, ulong *len, compl_hndlr_t **comp, void **)
{
    announced = *len;
    *comp = [](lapi_handle_t *, void *) { ++completions; };
    return &landing;
}
} // namespace

STEP(messages_from_vectors_land_in_vectors)
{
    auto handlers = everywhere(reinterpret_cast<void *>(vector_header));
    counter arrived, reusable, complete;
    const uint t = self.right();
    std::vector<char> a(20000, 'a'), b(30000, 'b');
    for (auto [first, second] :
         {std::pair{3ul, 5ul}, std::pair{20000ul, 30000ul}, std::pair{0ul, 0ul}, std::pair{7ul, 0ul}}) {
        std::memset(landing_room, 0, sizeof landing_room);
        landing_info[0] = landing_room + 100;
        landing_info[1] = landing_room;
        landing_len[0] = first + second > 8 ? first + second - 4 : 2;
        landing_len[1] = 10;
        landing = {LAPI_GEN_IOVECTOR, 2, landing_info, landing_len};
        completions = 0;
        fence_all();
        void *from[2] = {a.data(), b.data()};
        ulong len[2] = {first, second};
        lapi_vec_t org = {LAPI_GEN_IOVECTOR, 2, from, len};
        OK(LAPI_Amsendv(self.h, t, reinterpret_cast<void *>(handlers[t]), nullptr, 0, &org, arrived.of(t),
                        reusable.here(), complete.here()));
        reusable.wait(1);
        complete.wait(1);
        arrived.wait(1);
        fence_all();
        EQUAL(announced.load(), first + second);
        EQUAL(completions.load(), 1);
        ulong as = 0, bs = 0;
        for (char c : landing_room) as += c == 'a', bs += c == 'b';
        EQUAL(as, first);
        EQUAL(bs, second);
        fence_all();
    }
}
