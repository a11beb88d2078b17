// SPDX-License-Identifier: Apache-2.0
// The calls of lists from the caller's side: what the owner cannot do alone, since bytes lie on a third rank, is here.
#pragma once

#include "data/call.hpp"
#include "data/list.hpp"

namespace onesea::data {

// An element read out, with its bytes, if they were wanted.
struct list_copy {
    sea_list_entry entry;
    kept_bytes bytes;
};

struct list_call {
    const char *function;
    sea_addr at;

    int check() const { return check_handle(function, kind::list, at); }
    // `it` must name a place of this list.
    int check(const sea_list_it &it) const;
    asking call(verb v, const list_arguments &a) const;
    int simple(verb v, const list_arguments &a, list_answer *r = nullptr) const;
    // The same for verbs that remove: frees what they leave to the caller.
    int removing(verb v, const list_arguments &a, list_answer *r = nullptr) const;

    // New element with these bytes on that rank; `a` says where.
    int add(list_arguments a, int rank, const void *data, std::size_t bytes, sea_list_it *it) const;
    int add_from(list_arguments a, int rank, sea_addr source, std::size_t bytes, sea_list_it *it) const;
    // *undecided (may be null): asking::undecided
    int erase(const sea_list_it &it, sea_list_it *next, bool *undecided = nullptr) const;
    int read(const sea_list_it &it, void *out, std::size_t room, std::size_t *bytes) const;
    int pop(std::uint32_t end, void *out, std::size_t room, std::size_t *bytes) const;
    int remove(const void *data, std::size_t bytes, bool unique, std::size_t *removed) const;

    // Up to n entries from a place on; *version may be null.
    int fetch(const sea_list_it &from, std::size_t n, std::vector<sea_list_entry> *entries,
              std::uint64_t *version) const;
    // Entries between two places; with_bytes: and their bytes.
    int collect(const sea_list_it &first, const sea_list_it &last, bool with_bytes, std::vector<list_copy> *all) const;
    int insert_copies(const sea_list_it &before, const std::vector<list_copy> &all) const;
    // From a list of another owner, one element after the other.
    int take(const sea_list_it &before, const list_call &from, const std::vector<list_copy> &all) const;
    int splice_far(const sea_list_it &before, const sea_list_it &first, const sea_list_it &last) const;

  private:
    int link(const list_arguments &a, const source_bytes &from, sea_list_it *it, bool *undecided = nullptr) const;
    int add_bytes(list_arguments a, int rank, const source_bytes &from, std::size_t size, sea_list_it *it) const;
    int place_at(int rank, const source_bytes &from, std::size_t size, sea_addr *data) const;
    int read_bytes(const sea_list_entry &e, kept_bytes *bytes) const;
    int take_bytes(const list_answer &r, void *out) const;
    int remove_slowly(const void *data, std::size_t bytes, bool unique, std::size_t *removed) const;
    int copy_one(const sea_list_it &before, const list_call &from, const sea_list_entry &e, sea_list_it *made) const;
    int move_one(const sea_list_it &before, const list_call &from, const list_copy &element) const;
};

inline list_place place_of(const sea_list_it &it) { return {it.entry, it.stamp}; }

} // namespace onesea::data
