// SPDX-License-Identifier: Apache-2.0
// Calls on lists that are several messages, while another thread changes the same list.
#include "battery.hpp"

#include <atomic>
#include <thread>

using namespace battery;

namespace {

constexpr std::size_t places = 100; // words of the starter memory, from which elements are made

void make_places()
{
    for (std::size_t i = 0; i < 40; ++i) words()[places + i] = i;
}

acp_element_t number(std::size_t value) { return {word_of(self.me, places + value), 8}; }

std::uint64_t value_at(acp_list_it_t it)
{
    const acp_element_t e = acp_dereference_list_it(it);
    return e.ga == ACP_GA_NULL ? 0 : *static_cast<std::uint64_t *>(acp_query_address(e.ga));
}

int by_value(const acp_element_t a, const acp_element_t b)
{
    const auto left = *static_cast<std::uint64_t *>(acp_query_address(a.ga));
    const auto right = *static_cast<std::uint64_t *>(acp_query_address(b.ga));
    return left < right ? -1 : left > right;
}

} // namespace

#if !defined(__SANITIZE_THREAD__) // the bytes of an element are read while it is removed
STEP(a_list_may_be_assigned_while_others_pop)
{
    make_places();
    acp_list_t from = acp_create_list(self.me), to = acp_create_list(self.me);
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!over)
            if (acp_size_list(from) > 0) acp_pop_front_list(from);
    });
    for (int i = 0; i < often(500); ++i) {
        for (std::size_t k = 0; k < 10; ++k) acp_push_back_list(from, number(k), self.me);
        acp_assign_list(to, from);
        CHECK(acp_size_list(to) <= 10 * std::size_t(i + 1));
    }
    over = true;
    other.join();
    acp_destroy_list(from);
    acp_destroy_list(to);
}
#endif

STEP(lists_are_in_order_when_they_were_merged_while_others_push)
{
    make_places();
    acp_list_t all = acp_create_list(self.me), more = acp_create_list(self.me);
    for (int round = 0; round < often(500); ++round) {
        for (std::size_t k = 10; k < 30; k += 2) {
            acp_push_back_list(all, number(k), self.me);
            acp_push_back_list(more, number(k + 1), self.me);
        }
        std::atomic<bool> begun{false};
        std::thread other([&] {
            begun = true;
            for (std::size_t k = 0; k < 10; ++k) acp_push_front_list(all, number(9 - k), self.me);
        });
        while (!begun) std::this_thread::yield();
        acp_merge_list(all, more, by_value);
        other.join();
        EQUAL(acp_size_list(all), 30u);
        std::uint64_t last = 0;
        for (acp_list_it_t it = acp_begin_list(all); it.elem && it.elem != all.ga; it = acp_increment_list_it(it)) {
            CHECK(last <= value_at(it));
            last = value_at(it);
        }
        EQUAL(acp_size_list(more), 0u);
        acp_clear_list(all);
    }
    acp_destroy_list(all);
    acp_destroy_list(more);
}

STEP(a_range_is_found_where_it_was_inserted_while_others_insert)
{
    make_places();
    acp_list_t from = acp_create_list(self.me), to = acp_create_list(self.me);
    for (std::size_t k = 10; k < 15; ++k) acp_push_back_list(from, number(k), self.me);
    std::atomic<bool> over{false};
    std::atomic<int> wanted{0};
    std::thread other([&] {
        for (int made = 0; !over;)
            if (made < wanted) {
                acp_push_back_list(to, number(1), self.me);
                ++made;
            }
    });
    for (int i = 0; i < often(1000); ++i) {
        wanted += 4;
        const acp_list_it_t it = acp_insert_range_list(acp_end_list(to), acp_begin_list(from), acp_end_list(from));
        EQUAL(value_at(it), 10u);
    }
    over = true;
    other.join();
    EQUAL(acp_insert_range_list(acp_begin_list(to), acp_begin_list(from), acp_begin_list(from)).elem,
          acp_begin_list(to).elem);
    ERROR_OF("not come behind", acp_insert_range_list(acp_end_list(to), acp_end_list(from), acp_begin_list(from)));
    acp_destroy_list(from);
    acp_destroy_list(to);
}

STEP(sorted_runs_empty_lists_and_empty_elements_are_merged)
{
    make_places();
    acp_list_t a = acp_create_list(self.me), b = acp_create_list(self.right());
    const auto nobody = [](const acp_element_t, const acp_element_t) { return -1; };
    acp_sort_list(a, nobody);
    acp_merge_list(a, b, nobody);
    EQUAL(acp_size_list(a), 0u);
    acp_push_back_list(b, {ACP_GA_NULL, 0}, self.right());
    acp_push_back_list(b, number(3), self.me);
    acp_list_it_t it = acp_insert_range_list(acp_end_list(a), acp_begin_list(b), acp_end_list(b));
    EQUAL(acp_dereference_list_it(it).size, 0u);
    EQUAL(acp_query_rank(acp_dereference_list_it(acp_increment_list_it(it)).ga), self.me);
    acp_insert_range_list(acp_begin_list(a), acp_begin_list(a), acp_end_list(a)); // its own
    EQUAL(acp_size_list(a), 4u);
    acp_sort_list(a, nobody); // contradicts itself
    EQUAL(acp_size_list(a), 4u);
    acp_destroy_list(a);
    acp_destroy_list(b);
    acp_sync();
}
