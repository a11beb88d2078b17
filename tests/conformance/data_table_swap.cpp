// SPDX-License-Identifier: Apache-2.0
// Tables that cannot be exchanged.
#include "table_place.hpp"

#include <cstring>

using namespace proof;

namespace {

// All of the heap of a rank, but for gaps of less than `least` bytes.
std::vector<sea_addr> fill_heap(int rank, std::size_t least)
{
    std::vector<sea_addr> all;
    std::size_t capacity = 0;
    REQUIRE_OK(sea_heap_usage(rank, &capacity, nullptr));
    for (std::size_t bytes = capacity; bytes >= least;) {
        sea_addr place = SEA_NULL;
        if (sea_heap_alloc(rank, bytes, &place) == SEA_OK)
            all.push_back(place);
        else
            bytes /= 2;
    }
    return all;
}

} // namespace

// Rank 0 has large values, the last rank small ones and no room for others.
STEP(537, tables_that_cannot_be_swapped_for_want_of_memory_stay_as_they_were)
{
    const int first = 0, last = t.size - 1;
    if (t.rank == first && first != last) {
        sea_table a, b;
        REQUIRE_OK(sea_table_create(SEA_TABLE_MAP, &first, 1, 5, first, &a));
        REQUIRE_OK(sea_table_create(SEA_TABLE_MAP, &last, 1, 5, last, &b));
        for (int i = 0; i < 50; ++i) {
            CHECK_OK(sea_table_insert(a, of(std::to_string(i)), of(std::string(20'000, 'a')), nullptr));
            CHECK_OK(sea_table_insert(b, of(std::to_string(i + 20)), of(std::string("b")), nullptr));
        }
        const auto one = contents(a, SEA_TABLE_ALL, 40'000), two = contents(b, SEA_TABLE_ALL);
        const auto filling = fill_heap(last, 8'192);
        std::size_t before = 0, after = 0;
        CHECK_OK(sea_heap_usage(first, nullptr, &before));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_table_swap(a, b));
        CHECK(!std::strstr(sea_last_error(), "on its way"));
        CHECK_OK(sea_heap_usage(first, nullptr, &after));
        CHECK_EQ(before, after);
        CHECK(contents(a, SEA_TABLE_ALL, 40'000) == one);
        CHECK(contents(b, SEA_TABLE_ALL) == two);
        for (sea_addr place : filling) CHECK_OK(sea_heap_free(place));
        CHECK_OK(sea_table_destroy(a));
        CHECK_OK(sea_table_destroy(b));
    }
    t.sync();
}
