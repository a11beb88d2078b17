// SPDX-License-Identifier: Apache-2.0
// What the inlined path does, done by the calls of the library: both must agree on every word and on every error.
#include "places.hpp"

#undef sea_put // from here on the library's functions
#undef sea_get

using namespace proof;

LIGHT_STEP(220, calls_and_the_inlined_path_see_one_memory)
{
    place p(kind::heap, std::size_t(t.size) * 64);
    std::vector<sea_addr> all = t.exchange(p.address());
    for (int peer : t.peers()) {
        sea_addr a = all[std::size_t(peer)] + std::uint64_t(t.rank) * 64;
        for (std::uint64_t i = 1; i < 50; ++i) {
            std::uint64_t word = i * 77, back = 0;
            CHECK_OK(sea_put(a + i % 8 * 8, &word, 8, nullptr));
            CHECK_OK(sea_fence(peer));
            CHECK_OK(sea_get_inline_(&back, a + i % 8 * 8, 8, nullptr));
            CHECK_EQ(word, back);
            word = ~word;
            CHECK_OK(sea_put_inline_(a + i % 8 * 8, &word, 8, nullptr));
            CHECK_OK(sea_fence(peer));
            CHECK_OK(sea_get(&back, a + i % 8 * 8, 8, nullptr));
            CHECK_EQ(word, back);
        }
    }
    t.sync();
}

LIGHT_STEP(221, calls_and_the_inlined_path_refuse_the_same)
{
    std::uint64_t word = 5;
    sea_addr rank = sea_addr(t.rank) << SEA_OFFSET_BITS, nobody = sea_addr(t.size) << SEA_OFFSET_BITS;
    for (sea_addr a : {SEA_NULL, rank + (UINT64_C(1) << 39), rank + SEA_OFFSET_MASK - 7, nobody + 64, ~sea_addr(0) - 7,
                       (sea_addr(1) << 52) + 64, rank + SEA_OFFSET_MASK}) {
        int put = sea_put(a, &word, 8, nullptr), get = sea_get(&word, a, 8, nullptr);
        CHECK(put < 0 && get < 0);
        CHECK_EQ(put, sea_put_inline_(a, &word, 8, nullptr));
        CHECK_EQ(get, sea_get_inline_(&word, a, 8, nullptr));
    }
    CHECK_EQ(5, word);
    place p(kind::heap, 64);
    CHECK_STATUS(SEA_ERR_INVALID, sea_put_inline_(p.address(), nullptr, 8, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_get_inline_(nullptr, p.address(), 8, nullptr));
    std::uint64_t odd = 0x1122334455667788, back = 0;
    CHECK_OK(sea_put_inline_(p.address() + 3, &odd, 8, nullptr));
    CHECK_OK(sea_get_inline_(&back, p.address() + 3, 8, nullptr));
    CHECK_EQ(odd, back);
    t.sync();
}
