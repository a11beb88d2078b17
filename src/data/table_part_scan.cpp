// SPDX-License-Identifier: Apache-2.0
// A part: iterators, items that travel in batches, and calls on the whole of it.
#include "data/table_guard.hpp"
#include "data/table_items.hpp"

#include <algorithm>
#include <cstring>
#include <pthread.h>

namespace onesea::data {

bool read_item(byte_span &left, sea_table_item *item, byte_span *key, byte_span *value)
{
    if (left.size() < sizeof *item) return false;
    std::memcpy(item, left.data(), sizeof *item);
    if (item->key_bytes == 0 || item->key_bytes > SEA_TABLE_BYTES_MAX || item->value_bytes > SEA_TABLE_BYTES_MAX)
        return false;
    if (item->bytes != item_bytes(item->key_bytes, item->value_bytes) || item->bytes > left.size()) return false;
    *key = left.subspan(sizeof *item, item->key_bytes);
    *value = left.subspan(sizeof *item + pad8(item->key_bytes), item->value_bytes);
    left = left.subspan(item->bytes);
    return true;
}

part_answer table_part::entry(std::uint64_t slot, std::uint64_t elem)
{
    if (slot >= part_->slots) return failure(SEA_ERR_HANDLE);
    guard g(*this, stripe_of(slot));
    if (g.status()) return failure(g.status());
    chain_link found;
    if (int s = search(slot, elem, &found)) return failure(s);
    if (!found.e) return failure(SEA_ERR_HANDLE);
    part_answer a;
    describe(*found.e, slot, a);
    return a;
}

part_answer table_part::first_from(std::uint64_t slot)
{
    const std::uint64_t end = std::min(part_->slots, slot + some_slots);
    for (; slot < end; ++slot) {
        if (word_at(head(slot)).load(std::memory_order_acquire) == 0) continue;
        guard g(*this, stripe_of(slot));
        if (g.status()) return failure(g.status());
        entry_head *e;
        if (!follow(*head(slot), slot, &e)) return failure(SEA_ERR_ADDRESS);
        if (!e) continue;
        part_answer a;
        describe(*e, slot, a);
        return a;
    }
    part_answer a;
    a.slot = std::int32_t(slot);
    return a;
}

part_answer table_part::next(std::uint64_t slot, std::uint64_t elem)
{
    if (!elem) return first_from(slot);
    if (slot >= part_->slots) return failure(SEA_ERR_HANDLE);
    {
        guard g(*this, stripe_of(slot));
        if (g.status()) return failure(g.status());
        chain_link found;
        if (int s = search(slot, elem, &found)) return failure(s);
        if (!found.e) return failure(SEA_ERR_HANDLE);
        entry_head *e;
        if (!follow(found.e->next, slot, &e)) return failure(SEA_ERR_ADDRESS);
        if (e) {
            part_answer a;
            describe(*e, slot, a);
            return a;
        }
    }
    return first_from(slot + 1);
}

// Adds what is in the slot behind number a.passed. a.value_bytes: the size of the item that had no room.
int table_part::add_items(std::uint64_t slot, std::uint64_t room, part_answer &a, std::vector<std::byte> &items)
{
    guard g(*this, stripe_of(slot));
    if (g.status()) return g.status();
    entry_head *e;
    std::uint64_t o = *head(slot);
    for (; o; o = e->next) {
        if (!follow(o, slot, &e)) return SEA_ERR_ADDRESS;
        if (e->number <= a.passed) continue;
        sea_table_item item{};
        item.bytes = item_bytes(e->key_bytes, e->value_bytes);
        a.value_bytes = item.bytes;
        if (item.bytes > room - items.size()) return SEA_OK;
        item.key_bytes = e->key_bytes;
        item.value_bytes = e->value_bytes;
        item.part = int(part_->index);
        item.slot = int(slot);
        item.elem = std::uint64_t(memory_.rank) << SEA_OFFSET_BITS | o;
        item.number = e->number;
        const std::size_t begin = items.size();
        items.resize(begin + item.bytes);
        std::memcpy(&items[begin], &item, sizeof item);
        std::memcpy(&items[begin + sizeof item], key_at(*e), item.bytes - sizeof item);
        a.value_bytes = 0;
        a.passed = e->number;
        ++a.result;
    }
    return SEA_OK;
}

part_answer table_part::scan(std::uint64_t slot, std::uint64_t passed, std::uint64_t room,
                             std::vector<std::byte> &items)
{
    part_answer a;
    a.passed = passed;
    const std::uint64_t end = std::min(part_->slots, slot + some_slots);
    for (; slot < end; ++slot) {
        if (word_at(head(slot)).load(std::memory_order_acquire)) a.status = add_items(slot, room, a, items);
        if (a.status == part_busy && a.result)
            a.status = SEA_OK; // so far
        else if (a.status == SEA_OK && !a.value_bytes) {
            a.passed = 0;
            continue;
        }
        break;
    }
    a.slot = std::int32_t(slot);
    if (a.status == SEA_OK && a.value_bytes && a.result == 0) a.status = SEA_ERR_MEMORY;
    return a;
}

// What has been dealt with must not be asked for again.
part_answer partly_done(part_answer a)
{
    if (a.status == part_busy && a.result) a.status = SEA_OK;
    return a;
}

part_answer table_part::insert_items(byte_span items)
{
    part_answer a;
    sea_table_item item;
    byte_span key, value;
    const insert_mode mode = kind() == SEA_TABLE_MULTISET ? insert_mode::add : insert_mode::keep;
    while (!items.empty() && a.status == SEA_OK) {
        if (!read_item(items, &item, &key, &value) ||
            (kind() == SEA_TABLE_MULTISET && value.size() != sizeof(std::uint64_t)))
            return failure(SEA_ERR_INVALID);
        a.status = insert(key, value, mode).status;
        a.result += a.status == SEA_OK;
    }
    return partly_done(a);
}

// The entry of an item, if it is still the same: all of it, or of a multiset the count that the item has.
int table_part::take_away(const sea_table_item &item, byte_span value)
{
    const auto slot = std::uint64_t(item.slot);
    if (item.slot < 0 || slot >= part_->slots) return SEA_ERR_INVALID;
    part_stripe &s = stripe_of(slot);
    guard g(*this, s);
    if (g.status()) return g.status();
    chain_link found;
    if (int status = search(slot, item.elem & SEA_OFFSET_MASK, &found)) return status;
    if (!found.e || found.e->number != item.number) return SEA_OK;
    const byte_span now = value_of(*found.e);
    if (std::ranges::equal(now, value)) {
        unlink(found);
    } else if (kind() == SEA_TABLE_MULTISET && value.size() == sizeof(std::uint64_t)) {
        std::uint64_t had, has;
        std::memcpy(&had, value.data(), sizeof had);
        std::memcpy(&has, now.data(), sizeof has);
        if (has <= had) {
            unlink(found);
        } else {
            word_at(value_at(*found.e)).store(has - had);
            s.total -= had;
        }
    }
    return SEA_OK;
}

part_answer table_part::remove_items(byte_span items)
{
    part_answer a;
    sea_table_item item;
    byte_span key, value;
    while (!items.empty() && a.status == SEA_OK) {
        if (!read_item(items, &item, &key, &value)) return failure(SEA_ERR_INVALID);
        a.status = take_away(item, value);
        a.result += a.status == SEA_OK;
    }
    return partly_done(a);
}

part_answer table_part::sum(std::uint64_t part_stripe::*what)
{
    part_answer a;
    for (part_stripe &s : part_->stripes) {
        guard g(*this, s);
        if (g.status()) return failure(g.status());
        a.result += s.*what;
    }
    return a;
}

part_answer table_part::size() { return sum(&part_stripe::keys); }
part_answer table_part::total() { return sum(kind() == SEA_TABLE_MULTISET ? &part_stripe::total : &part_stripe::keys); }

// Frees entries from the front of a chain that is locked, or that nobody finds any more; how many.
std::uint64_t table_part::free_chain(std::uint64_t slot, std::uint64_t most, int *status)
{
    std::uint64_t n = 0;
    chain_link first{head(slot), nullptr};
    for (; n < most && follow(*first.word, slot, &first.e) && first.e; ++n) unlink(first);
    if (*first.word && n < most) {
        *first.word = 0; // what has been written over is lost
        *status = SEA_ERR_ADDRESS;
    }
    return n;
}

part_answer table_part::clear(std::uint64_t slot)
{
    part_answer a;
    const std::uint64_t end = std::min(part_->slots, slot + some_slots);
    for (; slot < end && a.result < some_entries; ++slot) {
        if (word_at(head(slot)).load(std::memory_order_acquire) == 0) continue;
        guard g(*this, stripe_of(slot));
        if (g.status()) return failure(g.status());
        a.result += free_chain(slot, some_entries - a.result, &a.status);
        if (*head(slot)) break;
    }
    a.slot = std::int32_t(slot);
    return a;
}

part_answer table_part::destroy()
{
    {
        guard first(*this, part_->stripes[0]);
        if (first.status()) return failure(first.status());
        for (unsigned i = 1; i < table_stripes; ++i) // whoever is inside goes out
            if (int s = guard(*this, part_->stripes[i]).status()) return failure(s);
        word_at(&part_->magic).store(0, std::memory_order_release);
    }
    for (unsigned i = 1; i < table_stripes; ++i) { // and who came in since
        pthread_mutex_lock(&part_->stripes[i].mutex);
        pthread_mutex_unlock(&part_->stripes[i].mutex);
    }
    int damaged = SEA_OK; // then there is no more to do about it
    for (std::uint64_t slot = 0; slot < part_->slots; ++slot) free_chain(slot, ~std::uint64_t(0), &damaged);
    for (part_stripe &s : part_->stripes) pthread_mutex_destroy(&s.mutex);
    memory_.release(offset_);
    part_ = nullptr;
    status_ = SEA_ERR_HANDLE;
    return {};
}

} // namespace onesea::data
