// SPDX-License-Identifier: Apache-2.0
#include "data/verb.hpp"

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
    return t;
}();

} // namespace

verb_fn function_of(verb v) { return v < verb::end ? all_verbs.functions[std::size_t(v)] : nullptr; }

} // namespace onesea::data
