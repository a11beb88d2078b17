// SPDX-License-Identifier: Apache-2.0
// How a part of a hash table lies in memory; the pictures are in table_part.hpp.
#pragma once

#include "data/table_part.hpp"

#include <atomic>
#include <pthread.h>

namespace onesea::data {

inline constexpr unsigned table_stripes = 8; // so many threads work on one part at once
inline constexpr std::uint64_t part_magic = 0x6f6e65736561a101u, entry_magic = 0x6f6e65736561a202u;

struct part_stripe {
    pthread_mutex_t mutex;
    std::uint64_t keys;   // entries in its slots
    std::uint64_t total;  // multiset: the sum of their counts
    std::uint64_t number; // of the next entry
};
static_assert(sizeof(part_stripe) == 64);

struct part_head {
    std::uint64_t magic; // 0: destroyed
    std::uint64_t id;
    std::uint64_t kind;
    std::uint64_t parts, index, slots;
    std::uint64_t zero[2];
    part_stripe stripes[table_stripes];
};
static_assert(sizeof(part_head) == 576);

struct entry_head {
    std::uint64_t next;
    std::uint64_t mark; // entry_magic ^ own offset
    std::uint64_t hash;
    std::uint64_t number;
    std::uint32_t key_bytes, value_bytes;
};
static_assert(sizeof(entry_head) == 40);

// Where an entry hangs: the word that leads to it; or would, were it there.
struct chain_link {
    std::uint64_t *word = nullptr;
    entry_head *e = nullptr;
};

// Of a part without its entries.
constexpr std::uint64_t part_bytes(std::uint64_t slots) { return sizeof(part_head) + slots * sizeof(std::uint64_t); }

constexpr std::uint64_t pad8(std::uint64_t n) { return (n + 7) / 8 * 8; }

inline std::byte *key_at(entry_head &e) { return reinterpret_cast<std::byte *>(&e + 1); }
inline std::byte *value_at(entry_head &e) { return key_at(e) + pad8(e.key_bytes); }
inline byte_span key_of(entry_head &e) { return {key_at(e), e.key_bytes}; }
inline byte_span value_of(entry_head &e) { return {value_at(e), e.value_bytes}; }

// A word that others read meanwhile: a link, or a value of 8 bytes.
inline std::atomic_ref<std::uint64_t> word_at(void *p) { return std::atomic_ref(*static_cast<std::uint64_t *>(p)); }

} // namespace onesea::data
