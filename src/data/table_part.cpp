// SPDX-License-Identifier: Apache-2.0
// A part: locks, chains, and the calls on a key. The calls on iterators and on the whole are in table_part_scan.cpp.
#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/robust_mutex.hpp"
#include "data/crc64.hpp"
#include "data/table_guard.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <pthread.h>
#include <thread>

namespace onesea::data {
namespace {

constexpr nanoseconds lock_slice = 100'000'000; // a waiter looks so often whether the part is still there
constexpr nanoseconds short_while = 20'000;     // of who may not wait

std::uint64_t integer(byte_span value)
{
    std::uint64_t n = 0;
    std::memcpy(&n, value.data(), sizeof n);
    return n;
}

} // namespace

key_place place_of_key(byte_span key, std::uint64_t parts, std::uint64_t slots)
{
    const std::uint64_t hash = crc64(key) >> 16;
    return {hash, hash / slots % parts, hash % slots};
}

std::uint64_t table_part::make(part_memory &memory, const part_shape &shape)
{
    const std::uint64_t bytes = part_bytes(shape.slots);
    const std::uint64_t offset = memory.allocate(bytes);
    if (!offset) return 0;
    std::memset(memory.base + offset, 0, bytes);
    auto *part = new (memory.base + offset) part_head{};
    part->id = shape.id;
    part->kind = shape.kind;
    part->parts = shape.parts;
    part->index = shape.index;
    part->slots = shape.slots;
    for (part_stripe &s : part->stripes) {
        make_robust(&s.mutex);
        s.number = 1;
    }
    word_at(&part->magic).store(part_magic, std::memory_order_release);
    return offset;
}

table_part::table_part(part_memory &memory, std::uint64_t offset, std::uint64_t id, nanoseconds deadline)
    : memory_(memory), offset_(offset), id_(id), deadline_(deadline)
{
    const bool inside = offset && offset % 64 == 0 && offset < memory.end;
    if (inside && memory.live(offset, sizeof(part_head))) {
        part_ = reinterpret_cast<part_head *>(memory.base + offset);
        // who names another's part by chance or malice has the size checked as well
        if (is_here() && memory.live(offset, part_bytes(part_->slots))) return;
    }
    part_ = nullptr;
    status_ = SEA_ERR_HANDLE;
}

bool table_part::is_here() const
{
    return word_at(&part_->magic).load(std::memory_order_acquire) == part_magic &&
           word_at(&part_->id).load(std::memory_order_relaxed) == id_ &&
           part_->slots <= memory_.end / sizeof(std::uint64_t) && part_->slots > 0;
}

sea_table_kind table_part::kind() const { return sea_table_kind(part_->kind); }
std::uint64_t table_part::slots() const { return part_->slots; }

std::uint64_t *table_part::head(std::uint64_t slot) const
{
    return reinterpret_cast<std::uint64_t *>(part_ + 1) + slot;
}

part_stripe &table_part::stripe_of(std::uint64_t slot) const { return part_->stripes[slot % table_stripes]; }

int table_part::lock(part_stripe &s)
{
    int problem = pthread_mutex_trylock(&s.mutex);
    for (nanoseconds began = 0; problem == EBUSY || problem == ETIMEDOUT;) {
        const nanoseconds now = now_ns();
        if (!began) began = now;
        if (now >= std::max(deadline_, began + short_while)) return part_busy;
        problem = deadline_ > now ? lock_until(&s.mutex, now + std::min(lock_slice, deadline_ - now))
                                  : pthread_mutex_trylock(&s.mutex);
        if (problem == ETIMEDOUT && !is_here()) return SEA_ERR_HANDLE;
    }
    const bool died = problem == EOWNERDEAD;
    if (problem && !died) return SEA_ERR_HANDLE; // no mutex: the memory is another's by now
    if (died) pthread_mutex_consistent(&s.mutex);
    if (!is_here()) {
        pthread_mutex_unlock(&s.mutex);
        return SEA_ERR_HANDLE;
    }
    if (died) recount(s);
    return SEA_OK;
}

table_part::guard::guard(table_part &part, part_stripe &s) : stripe_(s), status_(part.lock(s)) {}
table_part::guard::~guard()
{
    if (status_ == SEA_OK) pthread_mutex_unlock(&stripe_.mutex);
}

void table_part::recount(part_stripe &s)
{
    s.keys = s.total = 0;
    for (std::uint64_t slot = std::uint64_t(&s - part_->stripes); slot < part_->slots; slot += table_stripes) {
        entry_head *e;
        for (std::uint64_t o = *head(slot); follow(o, slot, &e) && e; o = e->next) {
            ++s.keys;
            if (kind() == SEA_TABLE_MULTISET) s.total += integer(value_of(*e));
            s.number = std::max(s.number, e->number + 1);
        }
    }
}

entry_head *table_part::at(std::uint64_t offset) const { return reinterpret_cast<entry_head *>(memory_.base + offset); }

bool table_part::follow(std::uint64_t offset, std::uint64_t slot, entry_head **e) const
{
    *e = nullptr;
    if (!offset) return true;
    if (offset % 64 || offset > memory_.end - sizeof(entry_head)) return false;
    entry_head *there = at(offset);
    if (there->mark != (entry_magic ^ offset) || there->hash % part_->slots != slot) return false;
    if (sizeof(entry_head) + pad8(there->key_bytes) + pad8(there->value_bytes) > memory_.end - offset) return false;
    *e = there;
    return true;
}

int table_part::search(byte_span key, const key_place &place, chain_link *found) const
{
    found->word = head(place.slot);
    while (follow(*found->word, place.slot, &found->e)) {
        entry_head *e = found->e;
        if (!e) return SEA_OK;
        if (e->hash == place.hash && e->key_bytes == key.size() && !std::memcmp(key_at(*e), key.data(), key.size()))
            return SEA_OK;
        found->word = &e->next;
    }
    return SEA_ERR_ADDRESS;
}

int table_part::search(std::uint64_t slot, std::uint64_t elem, chain_link *found) const
{
    found->word = head(slot);
    while (follow(*found->word, slot, &found->e)) {
        if (!found->e || *found->word == elem) return SEA_OK;
        found->word = &found->e->next;
    }
    return SEA_ERR_ADDRESS;
}

std::uint64_t table_part::make_entry(byte_span key, byte_span value, const key_place &place, std::uint64_t number)
{
    const std::uint64_t offset = memory_.allocate(sizeof(entry_head) + pad8(key.size()) + pad8(value.size()));
    if (!offset) return 0;
    auto *e = new (memory_.base + offset) entry_head{};
    e->mark = entry_magic ^ offset;
    e->hash = place.hash;
    e->number = number;
    e->key_bytes = std::uint32_t(key.size());
    e->value_bytes = std::uint32_t(value.size());
    const std::uint64_t zero = 0; // padding travels as well
    std::memcpy(key_at(*e) + pad8(key.size()) - 8, &zero, 8);
    if (!value.empty()) std::memcpy(value_at(*e) + pad8(value.size()) - 8, &zero, 8);
    std::memcpy(key_at(*e), key.data(), key.size());
    if (!value.empty()) copy_bytes(value_at(*e), value.data(), value.size());
    return offset;
}

int table_part::append(const chain_link &found, byte_span key, byte_span value, const key_place &place)
{
    part_stripe &s = stripe_of(place.slot);
    const std::uint64_t fresh = make_entry(key, value, place, s.number);
    if (!fresh) return SEA_ERR_MEMORY;
    ++s.number;
    word_at(found.word).store(fresh, std::memory_order_release);
    ++s.keys;
    if (kind() == SEA_TABLE_MULTISET) s.total += integer(value);
    return SEA_OK;
}

void table_part::unlink(const chain_link &found)
{
    part_stripe &s = stripe_of(found.e->hash % part_->slots);
    const std::uint64_t gone = *found.word;
    if (kind() == SEA_TABLE_MULTISET) s.total -= integer(value_of(*found.e));
    word_at(found.word).store(found.e->next, std::memory_order_release);
    --s.keys;
    found.e->mark = 0;
    memory_.release(gone);
}

// What is there has a new value, or more.
int table_part::change(const chain_link &found, byte_span key, byte_span value, const key_place &place,
                       insert_mode mode)
{
    entry_head &e = *found.e;
    if (mode == insert_mode::add) {
        if (e.value_bytes != sizeof(std::uint64_t)) return SEA_ERR_ALIGN;
        const std::uint64_t more = integer(value);
        const std::uint64_t before = word_at(value_at(e)).fetch_add(more);
        if (kind() != SEA_TABLE_MULTISET) return SEA_OK;
        stripe_of(place.slot).total += more;
        if (before + more == 0) unlink(found);
        return SEA_OK;
    }
    if (mode == insert_mode::keep) return SEA_OK;
    if (e.value_bytes == value.size() && value.size() == sizeof(std::uint64_t)) {
        word_at(value_at(e)).store(integer(value));
        return SEA_OK;
    }
    const std::uint64_t fresh = make_entry(key, value, place, e.number);
    if (!fresh) return SEA_ERR_MEMORY;
    at(fresh)->next = e.next;
    const std::uint64_t old = *found.word;
    word_at(found.word).store(fresh, std::memory_order_release);
    e.mark = 0;
    memory_.release(old);
    return SEA_OK;
}

part_answer table_part::failure(int status) const
{
    part_answer a;
    a.status = status;
    return a;
}

void table_part::describe(const entry_head &e, std::uint64_t slot, part_answer &a) const
{
    a.slot = std::int32_t(slot);
    a.elem = std::uint64_t(reinterpret_cast<const std::byte *>(&e) - memory_.base);
    a.key_bytes = e.key_bytes;
    a.value_bytes = e.value_bytes;
}

// result: 1 if the key was not there; of an addition the value before.
part_answer table_part::insert(byte_span key, byte_span value, insert_mode mode)
{
    const key_place place = place_of_key(key, part_->parts, part_->slots);
    guard g(*this, stripe_of(place.slot));
    if (g.status()) return failure(g.status());
    chain_link found;
    if (int s = search(key, place, &found)) return failure(s);
    part_answer a;
    if (!found.e) {
        const bool nothing = mode == insert_mode::add && kind() == SEA_TABLE_MULTISET && integer(value) == 0;
        if (!nothing) a.status = append(found, key, value, place);
        a.result = mode != insert_mode::add;
        return a;
    }
    describe(*found.e, place.slot, a);
    if (mode == insert_mode::add && a.value_bytes == sizeof(std::uint64_t)) a.result = integer(value_of(*found.e));
    a.status = change(found, key, value, place, mode);
    return a;
}

// result: 1 if the key is there.
part_answer table_part::get(byte_span key, value_sink &to)
{
    const key_place place = place_of_key(key, part_->parts, part_->slots);
    guard g(*this, stripe_of(place.slot));
    if (g.status()) return failure(g.status());
    chain_link found;
    if (int s = search(key, place, &found)) return failure(s);
    part_answer a;
    if (!found.e) return a;
    a.result = 1;
    describe(*found.e, place.slot, a);
    if (!to.put(value_of(*found.e))) a.status = SEA_ERR_MEMORY;
    return a;
}

part_answer table_part::count(byte_span key)
{
    part_answer a = find(key);
    if (a.status == SEA_OK && a.elem && kind() != SEA_TABLE_MULTISET) a.result = 1;
    return a;
}

// result: in a multiset the count.
part_answer table_part::find(byte_span key)
{
    const key_place place = place_of_key(key, part_->parts, part_->slots);
    guard g(*this, stripe_of(place.slot));
    if (g.status()) return failure(g.status());
    chain_link found;
    if (int s = search(key, place, &found)) return failure(s);
    part_answer a;
    if (!found.e) return a;
    describe(*found.e, place.slot, a);
    if (kind() == SEA_TABLE_MULTISET) a.result = integer(value_of(*found.e));
    return a;
}

// result: the count before.
part_answer table_part::remove(byte_span key, bool all)
{
    const key_place place = place_of_key(key, part_->parts, part_->slots);
    part_stripe &s = stripe_of(place.slot);
    guard g(*this, s);
    if (g.status()) return failure(g.status());
    chain_link found;
    if (int status = search(key, place, &found)) return failure(status);
    part_answer a;
    if (!found.e) return a;
    a.result = kind() == SEA_TABLE_MULTISET ? integer(value_of(*found.e)) : 1;
    if (all || a.result <= 1) {
        unlink(found);
    } else {
        word_at(value_at(*found.e)).store(a.result - 1);
        --s.total;
    }
    return a;
}

bool table_part::consistent()
{
    for (part_stripe &s : part_->stripes) {
        guard g(*this, s);
        if (g.status()) return false;
        const std::uint64_t keys = s.keys, total = s.total;
        std::uint64_t last = 0;
        for (std::uint64_t slot = std::uint64_t(&s - part_->stripes); slot < part_->slots; slot += table_stripes) {
            std::uint64_t o = *head(slot);
            entry_head *e = nullptr;
            for (last = 0; follow(o, slot, &e) && e; last = e->number, o = e->next)
                if (e->number <= last || e->number >= s.number || crc64(key_of(*e)) >> 16 != e->hash) return false;
            if (o) return false;
        }
        recount(s);
        if (s.keys != keys || s.total != total) return false;
    }
    return true;
}

void table_part::die_holding(byte_span key)
{
    part_stripe &s = stripe_of(place_of_key(key, part_->parts, part_->slots).slot);
    std::thread([&] {
        if (lock(s) == SEA_OK) s.keys = s.total = 12345;
    }).join();
}

} // namespace onesea::data
