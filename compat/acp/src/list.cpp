// SPDX-License-Identifier: Apache-2.0
// Lists. Sorting and merging compare here: all elements are fetched, and the new order is given to the list if nobody
// has changed it meanwhile. Merging is sorting what has been put together: two sorted runs are merged once, and
// whatever others do meanwhile ends up in order.
#include "acp/sequences.h"

#include "structure.hpp"

#include <onesea/data.h>

#include <algorithm>

namespace acp {
namespace {

using comparison = int (*)(const acp_element_t, const acp_element_t);

sea_list the(acp_list_t list) { return {address_of(list.ga)}; }
sea_list_it the(acp_list_it_t it) { return {the(it.list), it.elem, 0}; }
acp_list_it_t nowhere(acp_list_t list) { return {list, ACP_GA_NULL}; }

acp_list_it_t told(const char *function, acp_list_t list, int status, const sea_list_it &it)
{
    return good(function, status) ? acp_list_it_t{list, it.entry} : nowhere(list);
}

struct contents {
    std::vector<sea_list_entry> entries;
    std::uint64_t version = 0;
};

// All elements from the first on.
int fetch(const sea_list_it &first, contents *all)
{
    std::size_t expected = 0;
    if (int s = sea_list_size(first.list, &expected)) return s;
    for (;;) {
        all->entries.resize(expected + 16);
        std::size_t count = 0;
        if (int s = sea_list_fetch(first, all->entries.data(), all->entries.size(), &count, &all->version)) return s;
        const bool whole = count < all->entries.size();
        all->entries.resize(count);
        if (whole) return SEA_OK;
        expected = 2 * count;
    }
}

constexpr int most_attempts = 1000; // of what fails only while others change the same places

// What was found is gone because somebody has removed it meanwhile.
bool taken_away(int status) { return status == SEA_ERR_HANDLE || status == SEA_ERR_ADDRESS; }

// what(first, end) of `from`, again while others take its first element away; the error of a list that is gone.
template <class What>
int with_all_of(sea_list from, sea_list to, What what)
{
    int s = SEA_ERR_HANDLE;
    for (int i = 0; i < most_attempts && taken_away(s); ++i) {
        std::size_t elements;
        if (int gone = sea_list_size(to, &elements)) return gone;
        sea_list_it first;
        if (int gone = sea_list_begin(from, &first)) return gone;
        s = what(first, sea_list_end(from));
    }
    return s;
}

int assign(sea_list to, sea_list from)
{
    return with_all_of(from, to, [to](sea_list_it first, sea_list_it end) { return sea_list_assign(to, first, end); });
}

// One by one, so that the place of the first is known whatever others insert. False: told.
bool insert_range(const char *function, const sea_list_it &before, const sea_list_it &start, const sea_list_it &end,
                  sea_list_it *first)
{
    contents all;
    std::size_t between = 0;
    if (!good(function, sea_list_distance(start, end, &between))) return false; // and are places of one list
    if (between > 0 && !good(function, fetch(start, &all))) return false;
    *first = before;
    const std::size_t most = std::min(between, all.entries.size()); // the end may have been erased meanwhile
    for (std::size_t i = 0; i < most && all.entries[i].it.entry != end.entry; ++i) {
        const sea_list_entry &e = all.entries[i];
        const int rank = sea_addr_rank(e.data != SEA_NULL ? e.data : before.list.at);
        sea_list_it made;
        if (!good(function, sea_list_insert_from(before, rank, e.data, e.bytes, &made))) return false;
        if (i == 0) *first = made;
    }
    return true;
}

bool in_order(const sea_list_entry &a, const sea_list_entry &b, comparison comp)
{
    return comp({b.data, b.bytes}, {a.data, a.bytes}) >= 0;
}

// Two sorted runs as one; of equal elements those of the first run come first. Any comparison is survived.
void merge_runs(std::vector<sea_list_entry> &entries, std::size_t first, std::size_t middle, std::size_t last,
                comparison comp)
{
    std::vector<sea_list_entry> merged;
    merged.reserve(last - first);
    std::size_t a = first, b = middle;
    while (a < middle && b < last) {
        merged.push_back(entries[in_order(entries[a], entries[b], comp) ? a++ : b++]);
    }
    while (a < middle) merged.push_back(entries[a++]);
    while (b < last) merged.push_back(entries[b++]);
    std::copy(merged.begin(), merged.end(), entries.begin() + std::ptrdiff_t(first));
}

void sort_entries(std::vector<sea_list_entry> &entries, comparison comp)
{
    std::vector<std::size_t> runs{0}; // where those begin that are sorted already, and the end
    for (std::size_t i = 1; i < entries.size(); ++i)
        if (!in_order(entries[i - 1], entries[i], comp)) runs.push_back(i);
    runs.push_back(entries.size());
    while (runs.size() > 2) {
        std::vector<std::size_t> longer;
        for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
            longer.push_back(runs[i]);
            if (i + 2 < runs.size()) merge_runs(entries, runs[i], runs[i + 1], runs[i + 2], comp);
        }
        longer.push_back(entries.size());
        runs = std::move(longer);
    }
}

int give_order(sea_list list, const contents &all)
{
    std::vector<sea_addr> order;
    for (const sea_list_entry &e : all.entries) order.push_back(e.it.entry);
    return order.empty() ? SEA_OK : sea_list_reorder(list, all.version, order.data(), order.size());
}

// Again while others change the list.
int sort(sea_list list, comparison comp)
{
    for (;;) {
        contents all;
        sea_list_it first;
        if (int s = sea_list_begin(list, &first)) return s;
        const int fetched = fetch(first, &all);
        if (taken_away(fetched)) continue; // the first; or the list, as will be seen
        if (fetched != SEA_OK) return fetched;
        sort_entries(all.entries, comp);
        const int s = give_order(list, all);
        if (s != SEA_ERR_STATE && s != SEA_ERR_INVALID) return s; // INVALID: some came before the first meanwhile
    }
}

int merge(sea_list to, sea_list from, comparison comp)
{
    if (to.at == from.at) return SEA_OK;
    const int s = with_all_of(
        from, to, [to](sea_list_it first, sea_list_it end) { return sea_list_splice(sea_list_end(to), first, end); });
    const int sorted = sort(to, comp); // also what has moved before an error
    return s != SEA_OK ? s : sorted;
}

bool has_comparison(const char *function, comparison comp)
{
    if (!ready(function)) return false;
    if (!comp) report(function, "there is no comparison");
    return comp != nullptr;
}

} // namespace
} // namespace acp

using namespace acp;

acp_list_t acp_create_list(int rank)
{
    if (!ready("acp_create_list")) return {ACP_GA_NULL};
    const int owner = checked_rank("acp_create_list", rank);
    sea_list made;
    if (owner < 0 || !good("acp_create_list", sea_list_create(owner, &made))) return {ACP_GA_NULL};
    return {made.at};
}

void acp_destroy_list(acp_list_t list)
{
    if (ready("acp_destroy_list")) good("acp_destroy_list", sea_list_destroy(the(list)));
}

void acp_assign_list(acp_list_t list1, acp_list_t list2)
{
    if (ready("acp_assign_list")) good("acp_assign_list", acp::assign(the(list1), the(list2)));
}

void acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end)
{
    if (ready("acp_assign_range_list")) good("acp_assign_range_list", sea_list_assign(the(list), the(start), the(end)));
}

size_t acp_size_list(acp_list_t list)
{
    std::size_t elements = 0;
    if (ready("acp_size_list")) good("acp_size_list", sea_list_size(the(list), &elements));
    return elements;
}

int acp_empty_list(acp_list_t list) { return acp_size_list(list) == 0; }

void acp_clear_list(acp_list_t list)
{
    if (ready("acp_clear_list")) good("acp_clear_list", sea_list_clear(the(list)));
}

void acp_push_back_list(acp_list_t list, const acp_element_t elem, int rank)
{
    const char *const function = "acp_push_back_list";
    if (!ready(function) || !has_place(function, elem.ga, elem.size)) return;
    if (const int r = checked_rank(function, rank); r >= 0)
        good(function, sea_list_push_back_from(the(list), r, address_of(elem.ga), elem.size, nullptr));
}

void acp_push_front_list(acp_list_t list, const acp_element_t elem, int rank)
{
    const char *const function = "acp_push_front_list";
    if (!ready(function) || !has_place(function, elem.ga, elem.size)) return;
    if (const int r = checked_rank(function, rank); r >= 0)
        good(function, sea_list_push_front_from(the(list), r, address_of(elem.ga), elem.size, nullptr));
}

void acp_pop_back_list(acp_list_t list)
{
    if (ready("acp_pop_back_list")) good("acp_pop_back_list", sea_list_pop_back(the(list), nullptr, 0, nullptr));
}

void acp_pop_front_list(acp_list_t list)
{
    if (ready("acp_pop_front_list")) good("acp_pop_front_list", sea_list_pop_front(the(list), nullptr, 0, nullptr));
}

acp_list_it_t acp_insert_list(acp_list_it_t it, const acp_element_t elem, int rank)
{
    const char *const function = "acp_insert_list";
    if (!ready(function) || !has_place(function, elem.ga, elem.size)) return nowhere(it.list);
    const int r = checked_rank(function, rank);
    if (r < 0) return nowhere(it.list);
    sea_list_it made;
    const int s = sea_list_insert_from(the(it), r, address_of(elem.ga), elem.size, &made);
    return told(function, it.list, s, made);
}

acp_list_it_t acp_insert_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end)
{
    const char *const function = "acp_insert_range_list";
    sea_list_it first;
    if (!ready(function) || !insert_range(function, the(it), the(start), the(end), &first)) return nowhere(it.list);
    return {it.list, first.entry};
}

acp_list_it_t acp_erase_list(acp_list_it_t it)
{
    if (!ready("acp_erase_list")) return nowhere(it.list);
    sea_list_it next;
    const int s = sea_list_erase(the(it), &next);
    return told("acp_erase_list", it.list, s, next);
}

acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end)
{
    if (!ready("acp_erase_range_list")) return nowhere(start.list);
    sea_list_it next;
    const int s = sea_list_erase_range(the(start), the(end), &next);
    return told("acp_erase_range_list", start.list, s, next);
}

void acp_remove_list(acp_list_t list, const acp_element_t elem)
{
    bytes_of bytes;
    if (ready("acp_remove_list") && bytes.take("acp_remove_list", elem.ga, elem.size))
        good("acp_remove_list", sea_list_remove(the(list), bytes.data(), elem.size, nullptr));
}

void acp_unique_list(acp_list_t list)
{
    if (ready("acp_unique_list")) good("acp_unique_list", sea_list_unique(the(list), nullptr));
}

void acp_reverse_list(acp_list_t list)
{
    if (ready("acp_reverse_list")) good("acp_reverse_list", sea_list_reverse(the(list)));
}

void acp_swap_list(acp_list_t list1, acp_list_t list2)
{
    if (ready("acp_swap_list")) good("acp_swap_list", sea_list_swap(the(list1), the(list2)));
}

void acp_sort_list(acp_list_t list, int (*comp)(const acp_element_t elem1, const acp_element_t elem2))
{
    if (has_comparison("acp_sort_list", comp)) good("acp_sort_list", acp::sort(the(list), comp));
}

void acp_merge_list(acp_list_t list1, acp_list_t list2,
                    int (*comp)(const acp_element_t elem1, const acp_element_t elem2))
{
    if (has_comparison("acp_merge_list", comp)) good("acp_merge_list", acp::merge(the(list1), the(list2), comp));
}

void acp_splice_list(acp_list_it_t it1, acp_list_it_t it2)
{
    const char *const function = "acp_splice_list";
    if (!ready(function) || it2.elem == it2.list.ga || it1.elem == it2.elem) return;
    sea_list_it next;
    if (good(function, sea_list_advance(the(it2), 1, &next))) good(function, sea_list_splice(the(it1), the(it2), next));
}

void acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end)
{
    if (ready("acp_splice_range_list")) good("acp_splice_range_list", sea_list_splice(the(it), the(start), the(end)));
}

acp_list_it_t acp_begin_list(acp_list_t list)
{
    if (!ready("acp_begin_list")) return nowhere(list);
    sea_list_it first;
    const int s = sea_list_begin(the(list), &first);
    return told("acp_begin_list", list, s, first);
}

acp_list_it_t acp_end_list(acp_list_t list) { return {list, list.ga}; }

acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n)
{
    if (!ready("acp_advance_list_it")) return nowhere(it.list);
    sea_list_it there;
    const int s = sea_list_advance(the(it), n, &there);
    return told("acp_advance_list_it", it.list, s, there);
}

acp_list_it_t acp_increment_list_it(acp_list_it_t it) { return acp_advance_list_it(it, 1); }

acp_list_it_t acp_decrement_list_it(acp_list_it_t it) { return acp_advance_list_it(it, -1); }

int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last)
{
    const char *const function = "acp_distance_list_it";
    std::size_t elements = 0;
    if (!ready(function) || !good(function, sea_list_distance(the(first), the(last), &elements))) return -1;
    return index_of(function, elements);
}

acp_element_t acp_dereference_list_it(acp_list_it_t it)
{
    const char *const function = "acp_dereference_list_it";
    sea_list_entry entry;
    if (!ready(function) || !good(function, sea_list_get(the(it), &entry))) return {ACP_GA_NULL, 0};
    return {entry.data, entry.bytes};
}
