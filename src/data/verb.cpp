// SPDX-License-Identifier: Apache-2.0
#include "data/verb.hpp"

#include "data/list.hpp"
#include "data/queue.hpp"
#include "data/sequence.hpp"
#include "data/table_verb.hpp"

#include <array>
#include <cstddef>

namespace onesea::data {
namespace {

struct table {
    std::array<verb_fn, std::size_t(verb::end)> functions{};
    constexpr void set(verb v, verb_fn fn) { functions[std::size_t(v)] = fn; }
};

template <verb_on<sequence_arguments> fn>
constexpr verb_fn on_sequence = with_arguments<sequence_arguments, fn>;

template <verb_on<list_arguments> fn>
constexpr verb_fn on_list = with_arguments<list_arguments, fn>;

template <verb_on<queue_arguments> fn>
constexpr verb_fn on_queue = with_arguments<queue_arguments, fn>;

constexpr table all_verbs = [] {
    table t;
    t.set(verb::sequence_create, on_sequence<sequence_create>);
    t.set(verb::sequence_destroy, on_sequence<sequence_destroy>);
    t.set(verb::sequence_extent, on_sequence<sequence_extent>);
    t.set(verb::sequence_reserve, on_sequence<sequence_reserve>);
    t.set(verb::sequence_clear, on_sequence<sequence_clear>);
    t.set(verb::sequence_insert, on_sequence<sequence_insert>);
    t.set(verb::sequence_erase, on_sequence<sequence_erase>);
    t.set(verb::sequence_read, on_sequence<sequence_read>);
    t.set(verb::sequence_write, on_sequence<sequence_write>);
    t.set(verb::sequence_assign, on_sequence<sequence_assign>);
    t.set(verb::sequence_at, on_sequence<sequence_at>);
    t.set(verb::sequence_swap, on_sequence<sequence_swap>);
    t.set(verb::table, table_verb);
    t.set(verb::list_create, on_list<list_create>);
    t.set(verb::list_destroy, on_list<list_destroy>);
    t.set(verb::list_clear, on_list<list_clear>);
    t.set(verb::list_size, on_list<list_size>);
    t.set(verb::list_insert, on_list<list_insert>);
    t.set(verb::list_erase, on_list<list_erase>);
    t.set(verb::list_advance, on_list<list_advance>);
    t.set(verb::list_distance, on_list<list_distance>);
    t.set(verb::list_fetch, on_list<list_fetch>);
    t.set(verb::list_remove, on_list<list_remove>);
    t.set(verb::list_reverse, on_list<list_reverse>);
    t.set(verb::list_swap, on_list<list_swap>);
    t.set(verb::list_splice, on_list<list_splice>);
    t.set(verb::list_reorder, on_list<list_reorder>);
    t.set(verb::data_place, on_list<data_place>);
    t.set(verb::queue_create, on_queue<queue_create>);
    t.set(verb::queue_destroy, on_queue<queue_destroy>);
    t.set(verb::queue_size, on_queue<queue_size>);
    t.set(verb::queue_push, on_queue<queue_push>);
    t.set(verb::queue_pop, on_queue<queue_pop>);
    return t;
}();

} // namespace

verb_fn function_of(verb v) { return v < verb::end ? all_verbs.functions[std::size_t(v)] : nullptr; }

} // namespace onesea::data
