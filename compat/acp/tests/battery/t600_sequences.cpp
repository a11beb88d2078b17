// SPDX-License-Identifier: Apache-2.0
// Vector, deque, list, workspaces; also by the names that all types share.
#include "battery.hpp"
#include "random.hpp"

#include <algorithm>
#include <deque>

using namespace battery;

namespace {

// A place in the starter memory for bytes on their way.
constexpr std::size_t desk = 4096; // in words

acp_ga_t put(const std::string &text)
{
    std::memcpy(&words()[desk], text.data(), text.size());
    return word_of(self.me, desk);
}

acp_element_t element(const std::string &text) { return {put(text), text.size()}; }

std::string get(acp_ga_t ga, std::size_t size)
{
    if (ga == ACP_GA_NULL) return "nothing";
    do_copy(word_of(self.me, desk + 1000), ga, size);
    return {reinterpret_cast<char *>(&words()[desk + 1000]), size};
}

std::string get(acp_element_t e) { return get(e.ga, e.size); }

std::string all_of(acp_vector_t v)
{
    return acp_empty(vector, v) ? "" : get(acp_at(vector, v, 0), acp_size(vector, v));
}
std::string all_of(acp_deque_t d) { return acp_empty(deque, d) ? "" : get(acp_at(deque, d, 0), acp_size(deque, d)); }

std::string all_of(acp_list_t l)
{
    std::string text;
    for (acp_list_it_t it = acp_begin(list, l); it.elem != acp_end(list, l).elem && it.elem;
         it = acp_increment(list_it, it))
        text += get(acp_dereference(list_it, it)) + " ";
    return text;
}

acp_list_t list_with(const std::vector<std::string> &texts, int rank)
{
    acp_list_t l = acp_create(list, rank);
    CHECK(l.ga != ACP_GA_NULL);
    for (std::size_t i = 0; i < texts.size(); ++i)
        acp_push_back(list, l, element(texts[i]), int((std::size_t(rank) + i) % std::size_t(self.n)));
    return l;
}

int by_text(const acp_element_t a, const acp_element_t b)
{
    const std::string left = get(a), right = get(b);
    return left < right ? -1 : left > right;
}

} // namespace

STEP(a_vector_on_another_process)
{
    acp_vector_t v = acp_create(vector, 0, self.right());
    EQUAL(acp_query_rank(v.ga), self.right());
    EQUAL(acp_empty(vector, v), 1);
    acp_push_back(vector, v, put("hello world"), 11);
    EQUAL(acp_size(vector, v), 11u);
    CHECK(acp_capacity(vector, v) >= 11);
    EQUAL(acp_empty(vector, v), 0);
    EQUAL(acp_query_rank(acp_at(vector, v, 6)), self.right());
    EQUAL(get(acp_at(vector, v, 6), 5), "world");
    acp_vector_it_t it = acp_advance(vector_it, acp_begin(vector, v), 5);
    it = acp_insert(vector, it, put(", dear"), 6);
    EQUAL(it.index, 5);
    EQUAL(all_of(v), "hello, dear world");
    it = acp_erase(vector, acp_advance(vector_it, it, 1), 5);
    EQUAL(all_of(v), "hello, world");
    EQUAL(get(acp_dereference(vector_it, it), 1), " ");
    EQUAL(acp_distance(vector_it, acp_begin(vector, v), acp_end(vector, v)), 12);
    acp_vector_t w = acp_create(vector, 3, self.me);
    EQUAL(all_of(w), std::string(3, '\0'));
    acp_assign(vector, w, v);
    EQUAL(all_of(w), "hello, world");
    acp_assign_range(vector, w, acp_advance(vector_it, acp_end(vector, v), -5), acp_end(vector, v));
    EQUAL(all_of(w), "world");
    acp_insert_range(vector, acp_begin(vector, w), acp_begin(vector, v),
                     acp_advance(vector_it, acp_begin(vector, v), 5));
    EQUAL(all_of(w), "helloworld");
    acp_swap(vector, v, w);
    EQUAL(all_of(v) + all_of(w), "helloworldhello, world");
    acp_erase_range(vector, acp_begin(vector, v), acp_advance(vector_it, acp_begin(vector, v), 5));
    acp_pop_back(vector, v, 2);
    EQUAL(all_of(v), "wor");
    acp_reserve(vector, v, 100000);
    CHECK(acp_capacity(vector, v) >= 100000);
    acp_clear(vector, v);
    EQUAL(acp_size(vector, v), 0u);
    acp_destroy(vector, v);
    acp_destroy(vector, w);
    acp_sync();
}

STEP(a_deque_on_another_process)
{
    acp_deque_t d = acp_create(deque, 0, self.right());
    acp_push_back(deque, d, put("cd"), 2);
    acp_push_front(deque, d, put("ab"), 2);
    acp_push_back(deque, d, put("ef"), 2);
    EQUAL(all_of(d), "abcdef");
    acp_pair_t p = acp_dereference(deque_it, acp_advance(deque_it, acp_begin(deque, d), 1), 3);
    EQUAL(get(p.first), "bcd");
    EQUAL(p.second.size, 0u);
    acp_pop_front(deque, d, 1);
    acp_pop_back(deque, d, 1);
    EQUAL(all_of(d), "bcde");
    acp_insert(deque, acp_advance(deque_it, acp_begin(deque, d), 2), put("--"), 2);
    EQUAL(all_of(d), "bc--de");
    acp_deque_t e = acp_create(deque, 0, self.left());
    acp_assign_range(deque, e, acp_advance(deque_it, acp_begin(deque, d), 2), acp_end(deque, d));
    EQUAL(all_of(e), "--de");
    acp_insert_range(deque, acp_end(deque, e), acp_begin(deque, d), acp_advance(deque_it, acp_begin(deque, d), 2));
    EQUAL(all_of(e), "--debc");
    acp_erase(deque, acp_begin(deque, e), 2);
    acp_erase_range(deque, acp_begin(deque, e), acp_advance(deque_it, acp_begin(deque, e), 1));
    EQUAL(all_of(e), "ebc");
    acp_swap(deque, d, e);
    EQUAL(all_of(d), "ebc");
    acp_assign(deque, d, e);
    EQUAL(all_of(d), "bc--de");
    EQUAL(acp_distance(deque_it, acp_begin(deque, d), acp_end(deque, d)), 6);
    EQUAL(acp_empty(deque, d), 0);
    acp_reserve(deque, d, 1000);
    CHECK(acp_capacity(deque, d) >= 1000);
    acp_clear(deque, d);
    EQUAL(acp_size(deque, d), 0u);
    ERROR_OF("", acp_pop_front(deque, d, 1));
    acp_destroy(deque, d);
    acp_destroy(deque, e);
    acp_sync();
}

// Run once more with a heap of 16 MiB, in which it does not fit twice.
STEP(what_is_made_with_a_size_takes_it_once)
{
    constexpr std::size_t size = 10 << 20;
    acp_vector_t v = acp_create(vector, size, self.right());
    EQUAL(acp_size(vector, v), size);
    acp_destroy(vector, v);
    acp_sync();
    acp_deque_t d = acp_create(deque, size, self.right());
    EQUAL(acp_size(deque, d), size);
    acp_destroy(deque, d);
    acp_sync();
}

STEP(all_push_back_on_one_vector_and_nothing_is_lost)
{
    acp_vector_t v{ACP_GA_NULL};
    if (self.me == 0) v = acp_create(vector, 0, self.n - 1);
    v.ga = everywhere(v.ga)[0];
    constexpr std::size_t each = 200;
    for (std::size_t i = 0; i < each; ++i) {
        words()[desk] = std::uint64_t(self.me) << 32 | i;
        acp_push_back(vector, v, word_of(self.me, desk), 8);
    }
    acp_sync();
    EQUAL(acp_size(vector, v), 8 * each * std::size_t(self.n));
    if (self.me == 0) {
        std::vector<std::size_t> next(std::size_t(self.n));
        for (std::size_t i = 0; i < each * std::size_t(self.n); ++i) {
            do_copy(word_of(0, 8), acp_at(vector, v, int(8 * i)), 8);
            EQUAL(words()[8] & 0xffffffff, next[words()[8] >> 32]++); // each one's in its order
        }
    }
    acp_sync(); // all have asked for its size
    if (self.me == 0) acp_destroy(vector, v);
    acp_sync();
}

STEP(a_list_with_elements_on_all_processes)
{
    acp_list_t l = list_with({"d", "bb", "a", "ccc"}, self.right());
    EQUAL(acp_size(list, l), 4u);
    EQUAL(acp_empty(list, l), 0);
    EQUAL(all_of(l), "d bb a ccc ");
    acp_list_it_t it = acp_begin(list, l);
    EQUAL(acp_query_rank(acp_dereference(list_it, it).ga), self.right());
    it = acp_advance(list_it, it, 2);
    it = acp_insert(list, it, element("new"), self.left());
    EQUAL(get(acp_dereference(list_it, it)), "new");
    EQUAL(acp_query_rank(acp_dereference(list_it, it).ga), self.left());
    EQUAL(acp_distance(list_it, acp_begin(list, l), it), 2);
    it = acp_erase(list, it);
    EQUAL(get(acp_dereference(list_it, it)), "a");
    EQUAL(get(acp_dereference(list_it, acp_decrement(list_it, it))), "bb");
    acp_push_front(list, l, element("first"), self.me);
    acp_sort(list, l, by_text);
    EQUAL(all_of(l), "a bb ccc d first ");
    acp_reverse(list, l);
    EQUAL(all_of(l), "first d ccc bb a ");
    acp_pop_front(list, l);
    acp_pop_back(list, l);
    EQUAL(all_of(l), "d ccc bb ");
    acp_clear(list, l);
    EQUAL(acp_begin(list, l).elem, l.ga);
    EQUAL(acp_end(list, l).elem, l.ga);
    acp_destroy(list, l);
    acp_sync();
}

STEP(two_lists_give_each_other_elements)
{
    acp_list_t a = list_with({"a", "c", "e"}, self.me), b = list_with({"b", "c", "f"}, self.right());
    acp_merge(list, a, b, by_text);
    EQUAL(all_of(a), "a b c c e f ");
    EQUAL(acp_size(list, b), 0u);
    acp_unique(list, a);
    EQUAL(all_of(a), "a b c e f ");
    acp_remove(list, a, element("c"));
    EQUAL(all_of(a), "a b e f ");
    acp_splice(list, acp_end(list, b), acp_begin(list, a));
    acp_splice_range_list(acp_begin(list, b), acp_advance(list_it, acp_begin(list, a), 1), acp_end(list, a));
    EQUAL(all_of(a) + "| " + all_of(b), "b | e f a ");
    acp_splice(list, acp_begin(list, b), acp_advance(list_it, acp_begin(list, b), 2)); // within one list
    EQUAL(all_of(b), "a e f ");
    acp_swap(list, a, b);
    EQUAL(all_of(a) + "| " + all_of(b), "a e f | b ");
    acp_assign(list, b, a);
    EQUAL(all_of(b), "a e f ");
    acp_assign_range(list, b, acp_advance(list_it, acp_begin(list, a), 1), acp_end(list, a));
    EQUAL(all_of(b), "e f ");
    acp_list_it_t it =
        acp_insert_range(list, acp_end(list, b), acp_begin(list, a), acp_advance(list_it, acp_begin(list, a), 2));
    EQUAL(get(acp_dereference(list_it, it)), "a");
    EQUAL(all_of(b), "e f a e ");
    it = acp_erase_range(list, acp_begin(list, b), acp_advance(list_it, acp_begin(list, b), 3));
    EQUAL(get(acp_dereference(list_it, it)), "e");
    acp_destroy(list, a);
    acp_destroy(list, b);
    acp_sync();
}

STEP(large_lists_are_sorted_with_any_comparison)
{
    acp_list_t l = acp_create(list, self.right());
    random_numbers random(seed + std::uint64_t(self.me));
    std::vector<std::string> model;
    for (int i = 0; i < 150; ++i) {
        model.push_back(std::to_string(random.below(1000)));
        acp_push_back(list, l, element(model.back()), self.me);
    }
    acp_sort(list, l, by_text);
    std::stable_sort(model.begin(), model.end());
    std::string text;
    for (const std::string &m : model) text += m + " ";
    EQUAL(all_of(l), text);
    acp_sort(list, l, [](acp_element_t, acp_element_t) { return -1; }); // a comparison that contradicts itself
    EQUAL(acp_size(list, l), model.size());
    acp_destroy(list, l);
    acp_sync();
}

STEP(wrong_uses_of_sequences_are_told)
{
    acp_vector_t v = acp_create(vector, 8, self.right());
    for (int behind : {8, 9}) ERROR_OF("has 8", EQUAL(acp_at(vector, v, behind), ACP_GA_NULL));
    ERROR_OF("acp_at_vector", EQUAL(acp_dereference(vector_it, acp_end(vector, v)), ACP_GA_NULL));
    ERROR_OF("before the first", EQUAL(acp_at(vector, v, -1), ACP_GA_NULL));
    ERROR_OF("acp_pop_back_vector", acp_pop_back(vector, v, 9));
    ERROR_OF("acp_erase_vector", acp_erase(vector, acp_begin(vector, v), 9));
    ERROR_OF("start and end", acp_erase_range(vector, acp_end(vector, v), acp_begin(vector, v)));
    ERROR_OF("acp_push_back_vector", acp_push_back(vector, v, ACP_GA_NULL, 8));
    ERROR_OF("no rank", EQUAL(acp_create(vector, 0, self.n).ga, ACP_GA_NULL));
    acp_destroy(vector, v);
    ERROR_OF("acp_destroy_vector", acp_destroy(vector, v));
    ERROR_OF("acp_size_vector", EQUAL(acp_size(vector, v), 0u));
    ERROR_OF("acp_size_deque", EQUAL(acp_size(deque, acp_deque_t{ACP_GA_NULL}), 0u));
    acp_deque_t d = acp_create(deque, 100, self.right());
    for (int behind : {100, 101}) ERROR_OF("has 100", EQUAL(acp_at(deque, d, behind), ACP_GA_NULL));
    ERROR_OF("acp_dereference_deque_it", // the sum wraps around
             EQUAL(acp_dereference_deque_it({d, 10}, ~std::size_t(4)).first.ga, ACP_GA_NULL));
    acp_destroy(deque, d);
    acp_list_t l = list_with({"x", "y"}, self.right());
    ERROR_OF("no memory for", acp_remove(list, l, acp_element_t{word_of(self.right(), 0), std::size_t(1) << 62}));
    acp_list_it_t it = acp_begin(list, l);
    acp_erase(list, it);
    ERROR_OF("acp_dereference_list_it", EQUAL(acp_dereference(list_it, it).ga, ACP_GA_NULL)); // a stale iterator
    ERROR_OF("acp_erase_list", EQUAL(acp_erase(list, it).elem, ACP_GA_NULL));
    ERROR_OF("", EQUAL(acp_dereference(list_it, acp_end(list, l)).ga, ACP_GA_NULL));
    ERROR_OF("", EQUAL(acp_increment(list_it, acp_end(list, l)).elem, ACP_GA_NULL));
    ERROR_OF("no comparison", acp_sort(list, l, nullptr));
    acp_clear(list, l);
    ERROR_OF("acp_pop_back_list", acp_pop_back(list, l));
    acp_destroy(list, l);
    ERROR_OF("acp_destroy_list", acp_destroy(list, l));
    acp_sync();
}

STEP(a_workspace_lies_on_all_processes)
{
    EQUAL(acp_setparams_ws(std::size_t(self.n) - 1, 1000), 0);
    for (std::size_t size : {std::size_t(10), std::size_t(1000) * std::size_t(self.n), std::size_t(50003)}) {
        acp_wsd_t w = acp_create_ws(size);
        CHECK(w != ACP_WSD_NULL);
        EQUAL(w->size_ws, size);
        EQUAL(w->procs[0], self.n - 1);
        CHECK(w->ngas <= std::size_t(self.n));
        CHECK(w->ngas * w->size_default >= size);
        registered<unsigned char> mine(size), back(size);
        EQUAL(acp_read_ws(w, back.at(0), size, 0), 0);
        CHECK(std::all_of(back.data(), back.data() + size, [](unsigned char c) { return c == 0; }));
        acp_sync();
        for (std::size_t i = 0; i < size; ++i) mine[i] = static_cast<unsigned char>(i * 13);
        const std::size_t from = size * std::size_t(self.me) / std::size_t(self.n);
        const std::size_t to = size * std::size_t(self.me + 1) / std::size_t(self.n);
        if (to > from) EQUAL(acp_write_ws(w, mine.at(from), to - from, from), 0);
        acp_sync();
        EQUAL(acp_read_ws(w, back.at(0), size, 0), 0);
        CHECK(std::equal(mine.data(), mine.data() + size, back.data()));
        ERROR_OF("of a workspace of", EQUAL(acp_read_ws(w, back.at(0), 2, size - 1), 1));
        acp_destroy_ws(w);
        ERROR_OF("no workspace", EQUAL(acp_read_ws(w, back.at(0), 1, 0), 1));
        acp_sync();
    }
    ERROR_OF("0 bytes", EQUAL(acp_setparams_ws(0, 0), -1));
    ERROR_OF("0 bytes", CHECK(acp_create_ws(0) == ACP_WSD_NULL));
    ERROR_OF("no workspace", acp_destroy_ws(ACP_WSD_NULL));
    if (self.n < 2) return;
    const bool other = self.me == self.n - 1; // who differs is waited for, and all hear of it
    ERROR_OF(other ? "a workspace of 0" : "different", CHECK(acp_create_ws(other ? 0 : 4096) == ACP_WSD_NULL));
    ERROR_OF(other ? "processes" : "different", CHECK(acp_create_ws(other ? SIZE_MAX : 4096) == ACP_WSD_NULL));
    ERROR_OF("different", CHECK(acp_create_ws(other ? 100 : 4096) == ACP_WSD_NULL));
    EQUAL(acp_setparams_ws(0, other ? 8 : 1000), 0);
    ERROR_OF("different", CHECK(acp_create_ws(4096) == ACP_WSD_NULL));
    EQUAL(acp_setparams_ws(0, 1000), 0);
    acp_wsd_t w = acp_create_ws(4096);
    CHECK(w != ACP_WSD_NULL);
    for (bool wrong : {other, !other}) { // each process once gives what is none
        if (wrong)
            ERROR_OF("no workspace", acp_destroy_ws(ACP_WSD_NULL));
        else
            acp_destroy_ws(w);
    }
}

STEP(ten_thousand_structures_leave_nothing_behind)
{
    const auto round = [](int times) {
        for (int i = 0; i < times; ++i) {
            acp_vector_t v = acp_create(vector, 8, self.right());
            acp_list_t l = acp_create(list, self.right());
            acp_push_back(list, l, acp_element_t{put("text"), 4}, self.right());
            acp_free(acp_malloc(100, self.right()));
            acp_destroy(vector, v);
            acp_destroy(list, l);
        }
        acp_sync();
    };
    round(500);
    const std::size_t before = allocated_bytes();
    round(often(self.n > 2 ? 500 : 5000));
    CHECK(allocated_falls_below(before + (64 << 10)));
}
