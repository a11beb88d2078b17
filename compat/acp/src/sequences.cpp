// SPDX-License-Identifier: Apache-2.0
// Vector and deque: each call is one of onesea/data.h. What both have is written once, as a macro.
#include "acp/sequences.h"

#include "structure.hpp"

#include <onesea/data.h>

namespace acp {
namespace {

// Bytes from `start` to before `end`, which are places of one structure.
bool range(const char *function, acp_ga_t first, int start, acp_ga_t last, int end, std::size_t *at, std::size_t *bytes)
{
    if (!ready(function) || !position(function, start, at)) return false;
    if (first == last && start <= end) {
        *bytes = std::size_t(end - start);
        return true;
    }
    report(function, "the places %d and %d are not the start and end of a range", start, end);
    return false;
}

} // namespace
} // namespace acp

using namespace acp;

#define ACP_SEQUENCE(kind)                                                                                             \
    namespace {                                                                                                        \
    sea_##kind the(acp_##kind##_t v) { return {address_of(v.ga)}; }                                                    \
    }                                                                                                                  \
    acp_##kind##_t acp_create_##kind(size_t size, int rank)                                                            \
    {                                                                                                                  \
        const char *const function = "acp_create_" #kind;                                                              \
        if (!ready(function)) return {ACP_GA_NULL};                                                                    \
        const int owner = checked_rank(function, rank);                                                                \
        sea_##kind made;                                                                                               \
        if (owner < 0 || !good(function, sea_##kind##_create(owner, 0, &made))) return {ACP_GA_NULL};                  \
        if (size == 0) return {made.at};                                                                               \
        std::vector<char> zeros;                                                                                       \
        if (make_room(function, &zeros, size) && good(function, sea_##kind##_assign(made, zeros.data(), size)))        \
            return {made.at};                                                                                          \
        sea_##kind##_destroy(made);                                                                                    \
        return {ACP_GA_NULL};                                                                                          \
    }                                                                                                                  \
    void acp_destroy_##kind(acp_##kind##_t v)                                                                          \
    {                                                                                                                  \
        if (ready("acp_destroy_" #kind)) good("acp_destroy_" #kind, sea_##kind##_destroy(the(v)));                     \
    }                                                                                                                  \
    void acp_assign_##kind(acp_##kind##_t to, acp_##kind##_t from)                                                     \
    {                                                                                                                  \
        const char *const function = "acp_assign_" #kind;                                                              \
        if (ready(function)) good(function, sea_##kind##_assign_range(the(to), the(from), 0, SEA_REST));               \
    }                                                                                                                  \
    void acp_assign_range_##kind(acp_##kind##_t to, acp_##kind##_it_t start, acp_##kind##_it_t end)                    \
    {                                                                                                                  \
        const char *const function = "acp_assign_range_" #kind;                                                        \
        std::size_t at, bytes;                                                                                         \
        if (range(function, start.kind.ga, start.index, end.kind.ga, end.index, &at, &bytes))                          \
            good(function, sea_##kind##_assign_range(the(to), the(start.kind), at, bytes));                            \
    }                                                                                                                  \
    acp_ga_t acp_at_##kind(acp_##kind##_t v, int index)                                                                \
    {                                                                                                                  \
        const char *const function = "acp_at_" #kind;                                                                  \
        std::size_t at;                                                                                                \
        sea_addr address = SEA_NULL;                                                                                   \
        if (!ready(function) || !position(function, index, &at)) return ACP_GA_NULL;                                   \
        /* the place behind the byte is there only if the byte is */                                                   \
        if (sea_##kind##_at(the(v), at + 1, &address) == SEA_OK) return address - 1;                                   \
        std::size_t bytes = 0;                                                                                         \
        if (good(function, sea_##kind##_size(the(v), &bytes)))                                                         \
            report(function, "there is no byte %zu: the " #kind " has %zu", at, bytes);                                \
        return ACP_GA_NULL;                                                                                            \
    }                                                                                                                  \
    size_t acp_size_##kind(acp_##kind##_t v)                                                                           \
    {                                                                                                                  \
        std::size_t bytes = 0;                                                                                         \
        if (ready("acp_size_" #kind)) good("acp_size_" #kind, sea_##kind##_size(the(v), &bytes));                      \
        return bytes;                                                                                                  \
    }                                                                                                                  \
    size_t acp_capacity_##kind(acp_##kind##_t v)                                                                       \
    {                                                                                                                  \
        std::size_t bytes = 0;                                                                                         \
        if (ready("acp_capacity_" #kind)) good("acp_capacity_" #kind, sea_##kind##_capacity(the(v), &bytes));          \
        return bytes;                                                                                                  \
    }                                                                                                                  \
    int acp_empty_##kind(acp_##kind##_t v) { return acp_size_##kind(v) == 0; }                                         \
    void acp_reserve_##kind(acp_##kind##_t v, size_t size)                                                             \
    {                                                                                                                  \
        if (ready("acp_reserve_" #kind)) good("acp_reserve_" #kind, sea_##kind##_reserve(the(v), size));               \
    }                                                                                                                  \
    void acp_clear_##kind(acp_##kind##_t v)                                                                            \
    {                                                                                                                  \
        if (ready("acp_clear_" #kind)) good("acp_clear_" #kind, sea_##kind##_clear(the(v)));                           \
    }                                                                                                                  \
    void acp_pop_back_##kind(acp_##kind##_t v, size_t size)                                                            \
    {                                                                                                                  \
        if (ready("acp_pop_back_" #kind)) good("acp_pop_back_" #kind, sea_##kind##_pop_back(the(v), nullptr, size));   \
    }                                                                                                                  \
    acp_##kind##_it_t acp_insert_##kind(acp_##kind##_it_t it, const acp_ga_t ga, size_t size)                          \
    {                                                                                                                  \
        const char *const function = "acp_insert_" #kind;                                                              \
        std::size_t at;                                                                                                \
        if (ready(function) && position(function, it.index, &at) && has_place(function, ga, size))                     \
            good(function, sea_##kind##_insert_from(the(it.kind), at, address_of(ga), size));                          \
        return it;                                                                                                     \
    }                                                                                                                  \
    acp_##kind##_it_t acp_insert_range_##kind(acp_##kind##_it_t it, acp_##kind##_it_t start, acp_##kind##_it_t end)    \
    {                                                                                                                  \
        const char *const function = "acp_insert_range_" #kind;                                                        \
        std::size_t at, from, bytes;                                                                                   \
        if (range(function, start.kind.ga, start.index, end.kind.ga, end.index, &from, &bytes) &&                      \
            position(function, it.index, &at))                                                                         \
            good(function, sea_##kind##_insert_range(the(it.kind), at, the(start.kind), from, bytes));                 \
        return it;                                                                                                     \
    }                                                                                                                  \
    acp_##kind##_it_t acp_erase_##kind(acp_##kind##_it_t it, size_t size)                                              \
    {                                                                                                                  \
        const char *const function = "acp_erase_" #kind;                                                               \
        std::size_t at;                                                                                                \
        if (ready(function) && position(function, it.index, &at))                                                      \
            good(function, sea_##kind##_erase(the(it.kind), at, size));                                                \
        return it;                                                                                                     \
    }                                                                                                                  \
    acp_##kind##_it_t acp_erase_range_##kind(acp_##kind##_it_t start, acp_##kind##_it_t end)                           \
    {                                                                                                                  \
        const char *const function = "acp_erase_range_" #kind;                                                         \
        std::size_t at, bytes;                                                                                         \
        if (range(function, start.kind.ga, start.index, end.kind.ga, end.index, &at, &bytes))                          \
            good(function, sea_##kind##_erase(the(start.kind), at, bytes));                                            \
        return start;                                                                                                  \
    }                                                                                                                  \
    void acp_swap_##kind(acp_##kind##_t a, acp_##kind##_t b)                                                           \
    {                                                                                                                  \
        if (ready("acp_swap_" #kind)) good("acp_swap_" #kind, sea_##kind##_swap(the(a), the(b)));                      \
    }                                                                                                                  \
    acp_##kind##_it_t acp_begin_##kind(acp_##kind##_t v) { return {v, 0}; }                                            \
    acp_##kind##_it_t acp_end_##kind(acp_##kind##_t v) { return {v, index_of("acp_end_" #kind, acp_size_##kind(v))}; } \
    acp_##kind##_it_t acp_advance_##kind##_it(acp_##kind##_it_t it, int n) { return {it.kind, it.index + n}; }         \
    int acp_distance_##kind##_it(acp_##kind##_it_t first, acp_##kind##_it_t last) { return last.index - first.index; }

ACP_SEQUENCE(vector)
ACP_SEQUENCE(deque)

void acp_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size)
{
    const char *const function = "acp_push_back_vector";
    if (ready(function) && has_place(function, ga, size))
        good(function, sea_vector_push_back_from(the(vector), address_of(ga), size, nullptr));
}

acp_ga_t acp_dereference_vector_it(acp_vector_it_t it) { return acp_at_vector(it.vector, it.index); }

void acp_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size)
{
    const char *const function = "acp_push_back_deque";
    if (ready(function) && has_place(function, ga, size))
        good(function, sea_deque_push_back_from(the(deque), address_of(ga), size));
}

void acp_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size)
{
    const char *const function = "acp_push_front_deque";
    if (ready(function) && has_place(function, ga, size))
        good(function, sea_deque_push_front_from(the(deque), address_of(ga), size));
}

void acp_pop_front_deque(acp_deque_t deque, size_t size)
{
    if (ready("acp_pop_front_deque")) good("acp_pop_front_deque", sea_deque_pop_front(the(deque), nullptr, size));
}

acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size)
{
    const char *const function = "acp_dereference_deque_it";
    std::size_t at;
    sea_addr behind = SEA_NULL; // its place is there only if all before it is
    if (!ready(function) || !position(function, it.index, &at) ||
        !good(function, sea_deque_at(the(it.deque), size > SIZE_MAX - at ? SIZE_MAX : at + size, &behind)))
        return {{ACP_GA_NULL, 0}, {ACP_GA_NULL, 0}};
    return {{behind - size, size}, {ACP_GA_NULL, 0}};
}
