// SPDX-License-Identifier: Apache-2.0
// The calls that vectors and deques have in common, from the caller's side. `function` is the public name.
#pragma once

#include "data/call.hpp"
#include "data/sequence.hpp"

namespace onesea::data {

struct sequence_call {
    const char *function;
    kind of;
    sea_addr at;

    int create(int owner, std::size_t capacity, sea_addr *handle) const;
    int destroy() const;
    int size(std::size_t *bytes) const;
    int capacity(std::size_t *bytes) const;
    int reserve(std::size_t bytes) const;
    int clear() const;
    // flags: from_end or 0
    int insert(std::size_t position, std::uint32_t flags, const void *data, std::size_t bytes,
               std::size_t *where = nullptr) const;
    int insert_from(std::size_t position, std::uint32_t flags, sea_addr source, std::size_t bytes,
                    std::size_t *where = nullptr) const;
    int insert_range(std::size_t position, sea_addr source, std::size_t first, std::size_t bytes) const;
    int erase(std::size_t position, std::uint32_t flags, std::size_t bytes, void *out = nullptr) const;
    int read(std::size_t position, void *out, std::size_t bytes) const;
    int write(std::size_t position, const void *data, std::size_t bytes) const;
    int assign(const void *data, std::size_t bytes) const;
    int assign_from(sea_addr source, std::size_t bytes) const;
    int assign_range(sea_addr source, std::size_t first, std::size_t bytes) const;
    int place(std::size_t position, sea_addr *address) const;
    int swap(sea_addr other) const;

  private:
    asking call(verb v, const sequence_arguments &a) const;
    int insert_bytes(std::size_t position, std::uint32_t flags, const source_bytes &from, std::size_t bytes,
                     std::size_t *where) const;
    int assign_bytes(const source_bytes &from, std::size_t bytes) const;
    int fetch(sea_addr source, std::size_t first, std::size_t bytes, kept_bytes *data) const;
    int swap_far(sea_addr other) const;
};

} // namespace onesea::data
