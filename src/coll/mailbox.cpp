// SPDX-License-Identifier: Apache-2.0
#include "coll/mailbox.hpp"
#include "base/copy.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

namespace onesea::coll {
namespace {

void copy(void *to, const void *from, std::size_t bytes)
{
    if (bytes > 0) copy_bytes(to, from, bytes);
}

std::string named(const signature &call)
{
    const std::string words = describe(call);
    return (std::string_view("aeiou").find(words[0]) == std::string_view::npos ? "a " : "an ") + words;
}

std::string wrong_size(int source, std::size_t bytes, std::size_t expected)
{
    return fmt::format("rank {} sent {} bytes where {} were expected: the members do not agree on the call", source,
                       bytes, expected);
}

std::string other_call(int source, const signature &theirs, const signature &ours)
{
    const std::string its = named(theirs), own = named(ours);
    return fmt::format("the members do not agree on the call: rank {} does {}, this rank {}", source, its,
                       its == own ? "one with parts of other sizes" : own); // those are not told
}

bool arrives(const receive &r)
{
    const auto state = r.state.load(std::memory_order_relaxed);
    return state == receive::phase::arriving || state == receive::phase::copying;
}

std::string sent_too_late(int source, const signature &theirs)
{
    return fmt::format("the members do not agree on the call: rank {} is in {}, which did without it here", source,
                       named(theirs));
}

} // namespace

box *mailbox::box_of(const context_id &id)
{
    if (auto found = boxes_.find(id); found != boxes_.end()) return found->second.get();
    if (gone_.find(id)) return nullptr;
    auto &place = boxes_[id];
    place = std::make_unique<box>();
    place->id = id;
    return place.get();
}

box *mailbox::adopt(const context_id &id, std::vector<int> neighbours, bool passes_on)
{
    std::lock_guard lock(mutex_);
    box *b = box_of(id);
    if (!b || std::exchange(b->owned, true)) return nullptr;
    b->neighbours = std::move(neighbours);
    b->passes_on = passes_on;
    if (passes_on) b->told = false; // a notice that came before nobody could pass on
    return b;
}

void mailbox::release(box *b)
{
    std::lock_guard lock(mutex_);
    // No data comes for a healthy team: each message belongs to a call, and calls end when they have theirs. But
    // notices do, of members that ran out of time.
    b->freed = true;
    look_at_leaving();
    if (forget(*b)) return;
    try {
        leaving_.push_back(b->id);
    } catch (const std::bad_alloc &) { // then it stays until its transfers tell
    }
}

// Nobody tells when the long data of this side has been read. Two at a time, so that they get fewer.
void mailbox::look_at_leaving()
{
    for (int looks = 0; looks < 2 && !leaving_.empty(); ++looks) {
        const context_id id = leaving_.front();
        leaving_.pop_front();
        auto found = boxes_.find(id);
        if (found != boxes_.end() && !forget(*found->second)) leaving_.push_back(id);
    }
}

// Of a freed team, when nothing is under way to or from there: all but its name. What is lost stays where a handler
// would look for it, without its data. False: the box is still there.
bool mailbox::forget(box &b)
{
    auto is_lost = [](const receive &r) { return r.state.load(std::memory_order_relaxed) == receive::phase::lost; };
    auto comes = [](const auto &entry) { return !entry.second.whole && !entry.second.lost; };
    if (!b.freed || std::any_of(b.receives.begin(), b.receives.end(), arrives)) return false;
    if (std::any_of(b.early.begin(), b.early.end(), comes)) return false;
    if (std::atomic_ref(b.sent.value).load(std::memory_order_acquire) < b.started) return false;
    if (std::none_of(b.receives.begin(), b.receives.end(), is_lost)) b.receives.clear();
    std::erase_if(b.early, [](const auto &entry) { return entry.second.whole; });
    b.scratch.clear();
    if (!b.receives.empty() || !b.early.empty()) return false;
    const context_id id = b.id;
    const bool passes_on = b.passes_on && !b.told && b.status != SEA_ERR_DEAD; // a death is seen by all
    try {
        gone_.add(id, passes_on ? b.neighbours : std::vector<int>());
    } catch (const std::bad_alloc &) {
        return false;
    }
    boxes_.erase(id);
    return true;
}

void mailbox::begin(box *b, const signature &sign)
{
    std::lock_guard lock(mutex_);
    ++b->sequence;
    b->sign = sign;
    b->open = true;
    for (auto &[key, m] : b->early)
        if (key.sequence == b->sequence && m.sign != sign)
            return set_broken(*b, SEA_ERR_INVALID, other_call(key.source, m.sign, sign));
}

void mailbox::end(box *b)
{
    std::lock_guard lock(mutex_);
    b->open = false;
    b->receives.clear();
    b->scratch.clear();
    b->first_waiting = 0;
}

receive *mailbox::post(box *b, int source, std::uint32_t step, void *to, std::size_t bytes)
{
    std::unique_lock lock(mutex_);
    receive &r = b->receives.emplace_back(step, source, to, bytes, b);
    b->outstanding.fetch_add(1, std::memory_order_relaxed);
    if (b->early.empty()) return &r;
    auto found = b->early.find({b->sequence, step, source});
    if (found == b->early.end()) return &r;
    early_message &m = found->second;
    if (m.bytes != bytes) {
        set_broken(*b, SEA_ERR_INVALID, wrong_size(source, m.bytes, bytes));
        return &r;
    }
    r.state.store(receive::phase::arriving, std::memory_order_relaxed);
    if (!m.whole) {
        m.taker = &r;
        return &r;
    }
    auto node = b->early.extract(found);
    lock.unlock();
    copy(to, node.mapped().data.get(), bytes);
    set_here(r);
    return &r;
}

std::byte *mailbox::scratch(box *b, std::size_t bytes)
{
    auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes > 0 ? bytes : 1);
    std::byte *result = memory.get();
    std::lock_guard lock(mutex_);
    b->scratch.push_back(std::move(memory));
    return result;
}

void mailbox::break_down(box *b, int status, std::string reason)
{
    std::lock_guard lock(mutex_);
    set_broken(*b, status, std::move(reason));
}

std::vector<int> mailbox::give_up(box *b)
{
    std::lock_guard lock(mutex_);
    return std::exchange(b->told, true) ? std::vector<int>() : b->neighbours;
}

std::vector<int> mailbox::missing_from(box *b)
{
    std::vector<int> sources;
    std::lock_guard lock(mutex_);
    for (const receive &r : b->receives)
        if (r.state.load(std::memory_order_relaxed) != receive::phase::here) sources.push_back(r.source);
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    return sources;
}

std::vector<int> mailbox::arriving_from(box *b)
{
    std::vector<int> sources;
    std::lock_guard lock(mutex_);
    for (const receive &r : b->receives)
        if (arrives(r)) sources.push_back(r.source);
    return sources;
}

std::vector<int> mailbox::under_way_from(box *b)
{
    std::vector<int> sources = arriving_from(b);
    std::lock_guard lock(mutex_);
    for (const auto &[key, m] : b->early)
        if (!m.whole && !m.lost) sources.push_back(key.source);
    return sources;
}

// An early message is not copied to the caller's memory any more. If a handler does it just now, its end is near.
void mailbox::nothing_comes(box *b, int rank)
{
    std::lock_guard lock(mutex_);
    for (receive &r : b->receives)
        if (r.source == rank && r.state.load(std::memory_order_relaxed) == receive::phase::arriving)
            r.state.store(receive::phase::lost, std::memory_order_relaxed);
    for (auto &[key, m] : b->early) {
        if (key.source != rank || m.whole) continue;
        m.lost = true;
        m.taker = nullptr;
        m.data.reset();
    }
}

void mailbox::awaited(std::set<int> &ranks)
{
    std::lock_guard lock(mutex_);
    for (const auto &[id, b] : boxes_) {
        if (!b->open || b->broken) continue;
        for (const receive &r : b->receives)
            if (r.state.load(std::memory_order_relaxed) != receive::phase::here) ranks.insert(r.source);
    }
}

void mailbox::clear()
{
    std::lock_guard lock(mutex_);
    boxes_.clear();
    gone_.clear();
    leaving_.clear();
}

std::size_t mailbox::early_count(const context_id &id)
{
    std::lock_guard lock(mutex_);
    auto found = boxes_.find(id);
    return found == boxes_.end() ? 0 : found->second->early.size();
}

std::size_t mailbox::box_count()
{
    std::lock_guard lock(mutex_);
    return boxes_.size();
}

placement mailbox::take_in(int source, const envelope &e, const void *data, std::size_t bytes)
{
    std::lock_guard lock(mutex_);
    box *b = box_of(e.context);
    if (e.sign.what == kind::notice) return b ? take_notice(*b, source) : take_late_notice(e.context, source);
    if (!b || b->broken.load(std::memory_order_relaxed) || b->freed) return {};
    try {
        return place(*b, source, e, data, bytes);
    } catch (const std::bad_alloc &) {
        set_broken(*b, SEA_ERR_MEMORY, "no memory"); // a longer text would need some
        return {.somebody_waits = true};
    }
}

static void tell_all_but(int source, const std::vector<int> &neighbours, std::vector<int> *tell)
{
    std::copy_if(neighbours.begin(), neighbours.end(), std::back_inserter(*tell),
                 [&](int rank) { return rank != source; });
}

placement mailbox::take_notice(const box &b, int source)
{
    placement p;
    p.given_up = !b.told;
    if (p.given_up && b.passes_on) tell_all_but(source, b.neighbours, &p.tell);
    return p;
}

// Of a team that was freed here, perhaps after it had done well: others may wait for who gave up.
placement mailbox::take_late_notice(const context_id &id, int source)
{
    placement p;
    const std::vector<int> *neighbours = gone_.find(id);
    p.given_up = neighbours && !neighbours->empty();
    if (p.given_up) tell_all_but(source, *neighbours, &p.tell);
    return p;
}

void mailbox::given_up(const envelope &notice)
{
    std::lock_guard lock(mutex_);
    box *b = box_of(notice.context);
    if (!b) {
        if (std::vector<int> *tell = gone_.find(notice.context)) tell->clear();
        return;
    }
    b->told = true;
    set_broken(*b, notice.sign.root,
               fmt::format("rank {} has given up this team: {}", int(notice.step), sea_strerror(notice.sign.root)));
    forget(*b);
}

placement mailbox::place(box &b, int source, const envelope &e, const void *data, std::size_t bytes)
{
    auto ahead = std::int32_t(e.sequence - b.sequence);
    if (ahead < 0 || (ahead == 0 && !b.open)) { // a call ends when it has all that is sent to it
        set_broken(b, SEA_ERR_INVALID, sent_too_late(source, e.sign));
        return {.somebody_waits = true};
    }
    if (ahead == 0) {
        if (e.sign != b.sign) {
            set_broken(b, SEA_ERR_INVALID, other_call(source, e.sign, b.sign));
            return {.somebody_waits = true};
        }
        if (receive *r = find_waiting(b, source, e.step)) return deliver(b, *r, data, bytes);
    }
    return store(b, {e.sequence, e.step, source}, e.sign, data, bytes);
}

placement mailbox::deliver(box &b, receive &r, const void *data, std::size_t bytes)
{
    if (bytes != r.bytes) {
        set_broken(b, SEA_ERR_INVALID, wrong_size(r.source, bytes, r.bytes));
        return {.somebody_waits = true};
    }
    if (!data && bytes > 0) {
        r.state.store(receive::phase::arriving, std::memory_order_relaxed);
        return {.to = r.to, .matched = &r};
    }
    copy(r.to, data, bytes);
    set_here(r);
    return {.somebody_waits = true};
}

placement mailbox::store(box &b, const early_key &key, const signature &sign, const void *data, std::size_t bytes)
{
    bool whole = data || bytes == 0;
    auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    if (whole) copy(memory.get(), data, bytes);
    auto [at, fresh] = b.early.try_emplace(key, early_message{key, sign, std::move(memory), bytes, whole, nullptr, &b});
    if (!fresh) {
        set_broken(b, SEA_ERR_INTERNAL, fmt::format("rank {} sent one message of a collective twice", key.source));
        return {.somebody_waits = true};
    }
    if (whole) return {};
    return {.to = at->second.data.get(), .stored = &at->second};
}

void mailbox::arrived(receive *r)
{
    std::lock_guard lock(mutex_);
    box &owner = *r->owner;
    set_here(*r);
    forget(owner);
}

void mailbox::arrived(early_message *m)
{
    std::unique_lock lock(mutex_);
    m->whole = true;
    receive *taker = m->taker;
    box &owner = *m->owner;
    if (!taker) {
        forget(owner);
        return;
    }
    auto node = owner.early.extract(m->key);
    taker->state.store(receive::phase::copying, std::memory_order_relaxed);
    lock.unlock();
    copy(taker->to, node.mapped().data.get(), taker->bytes);
    lock.lock(); // arriving_from() must not end, and with it the call, while this thread writes
    set_here(*taker);
    forget(owner);
}

void mailbox::unreadable(const placement &p, int source)
{
    std::lock_guard lock(mutex_);
    box &b = p.matched ? *p.matched->owner : *p.stored->owner;
    receive *r = p.matched ? p.matched : p.stored->taker;
    if (r) r->state.store(receive::phase::waiting, std::memory_order_relaxed);
    if (p.stored) b.early.erase(early_key(p.stored->key));
    set_broken(b, SEA_ERR_ADDRESS, fmt::format("the data of rank {} cannot be read", source));
    forget(b);
}

receive *mailbox::find_waiting(box &b, int source, std::uint32_t step)
{
    auto waits = [](const receive &r) { return r.state.load(std::memory_order_relaxed) == receive::phase::waiting; };
    while (b.first_waiting < b.receives.size() && !waits(b.receives[b.first_waiting])) ++b.first_waiting;
    for (std::size_t i = b.first_waiting; i < b.receives.size(); ++i) {
        receive &r = b.receives[i];
        if (r.step == step && r.source == source && waits(r)) return &r;
    }
    return nullptr;
}

void mailbox::set_broken(box &b, int status, std::string reason)
{
    if (b.broken.load(std::memory_order_relaxed)) return;
    b.status = status;
    b.reason = std::move(reason);
    b.broken.store(true, std::memory_order_release);
}

void mailbox::set_here(receive &r)
{
    box *owner = r.owner; // the waiter may end the call as soon as the last one is here
    r.state.store(receive::phase::here, std::memory_order_release);
    owner->outstanding.fetch_sub(1, std::memory_order_release);
}

} // namespace onesea::coll
