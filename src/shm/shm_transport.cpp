// SPDX-License-Identifier: Apache-2.0
// Sending: a message is cut into records. What finds no room in the ring waits in the peer's queue, in order, and is
// pushed by poll(). A message settles when the consumer has published that it executed its last record. The consumer
// publishes no more than it had executed when it queued the oldest record that still waits for room towards that
// producer, so that its notices are always in the other ring first; and the producer takes in that ring before it looks
// at what was executed.
//
// Attention: whose records came lately is looked at in every round, so that they are seen as soon as they are there;
// the others set a bit beside (slot::pending). Who looks no more says so, and looks once more; the producer looks at
// what is said behind its record. One of them sees the other, as below.
//
// Sleeping: a process that goes to sleep sets slot::sleeping and looks once more; whoever gives it work looks at the
// flag afterwards. Both sides have a full barrier in between, so that one of them sees the other.
#include "shm/shm_transport.hpp"

#include "shm/native.hpp"
#include "shm/ring.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <unistd.h>
#include <utility>

namespace onesea::shm {
namespace {

constexpr int records_per_poll = 64; // from one peer, so that a fast one does not keep others waiting
constexpr std::size_t most_attended = 8;
constexpr std::uint64_t attention_span = 1000; // rounds without anything, after which another may have the place
constexpr std::uint64_t a_moment_ago = 4;      // rounds
constexpr int looks_before_sleep = 32;         // some 2 us: half of what a sleep costs

std::uint64_t bit_of(unsigned slot) { return std::uint64_t(1) << (slot % 64); }

} // namespace

// A message, or the rest of one, that waits for room.
struct shm_transport::record {
    outgoing message;
    std::vector<std::byte> copied; // prefix, and payload that is not borrowed
    std::size_t sent = 0;
    std::uint64_t behind = 0; // peer::executed when it was queued
};

struct shm_transport::peer {
    int rank;
    unsigned slot;
    ring to, from;
    std::deque<record> queued;
    struct unsettled {
        std::uint64_t end;
        delivery *done;
    };
    std::deque<unsettled> in_ring;
    std::uint64_t executed = 0; // what came from it, up to there, with all notices of it queued
    bool listed = false;

    // False: it knew that all along.
    bool publish_executed() { return from.publish_executed(queued.empty() ? executed : queued.front().behind); }
};

shm_transport::shm_transport(const arena &a, unsigned own_slot, bool only_self, sink &to)
    : arena_(a), own_(own_slot), own_rank_(a.slot_at(own_slot).rank), tuning_(a.header().tuning.of(path_kind::shm)),
      sink_(to), own_segments_(a.segments(own_slot)), neighbours_(a, own_slot, only_self),
      own_heap_(neighbours_.heap_at(slot_of(own_rank_))), own_heap_memory_(a.heap_data(own_slot)),
      peers_(a.header().slots), gone_(a.header().slots)
{
}

shm_transport::~shm_transport() = default;

std::uint32_t shm_transport::capabilities() const
{
    return capability::native_put | capability::native_get | capability::native_atomic;
}

bool shm_transport::reach(int rank) const { return slot_of(rank) != no_slot; }

heap *shm_transport::heap_of(int rank) const
{
    const unsigned s = slot_of(rank);
    return s != no_slot ? &neighbours_.heap_at(s) : nullptr;
}

std::byte *shm_transport::heap_memory(int rank) const
{
    const unsigned s = slot_of(rank);
    return s != no_slot ? arena_.heap_data(s) : nullptr;
}

shm_transport::peer &shm_transport::peer_at(unsigned s)
{
    if (peers_[s]) return *peers_[s];
    const ring to(arena_.ring(s, own_), arena_.ring_data(s, own_), arena_.ring_bytes());
    const ring from(arena_.ring(own_, s), arena_.ring_data(own_, s), arena_.ring_bytes());
    peers_[s].reset(new peer{arena_.slot_at(s).rank, s, from, to, {}, {}, from.consumed()});
    return *peers_[s];
}

void shm_transport::announce(unsigned to)
{
    slot &there = arena_.slot_at(to);
    const std::uint64_t bit = bit_of(own_);
    if (!(there.attended[own_ / 64].load(std::memory_order_seq_cst) & bit)) {
        auto &word = there.pending[own_ / 64];
        if (!(word.load(std::memory_order_seq_cst) & bit)) word.fetch_or(bit, std::memory_order_seq_cst);
    }
    ring_if_asleep(to, asleep_for_messages);
}

bool shm_transport::is_pending(unsigned from) const
{
    return arena_.slot_at(own_).pending[from / 64].load(std::memory_order_seq_cst) & bit_of(from);
}

// Wakes the rank of a slot if it sleeps as deeply as that; see slot::sleeping.
void shm_transport::ring_if_asleep(unsigned s, std::uint32_t needs)
{
    slot &there = arena_.slot_at(s);
    if (there.sleeping.load(std::memory_order_seq_cst) < needs) return;
    if (there.sleeping.exchange(0) == 0) return;
    std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(there.doorbell, &one, sizeof one);
}

void shm_transport::wake(int rank)
{
    const unsigned s = slot_of(rank);
    if (s != no_slot && s != own_) ring_if_asleep(s, asleep_for_memory);
}

void shm_transport::wake_owner(const void *memory)
{
    const std::uintptr_t own = reinterpret_cast<std::uintptr_t>(own_heap_memory_);
    if (reinterpret_cast<std::uintptr_t>(memory) - own < own_heap_.capacity()) return; // the most usual
    const auto s = arena_.slot_of_memory(memory);
    if (s && *s != own_) ring_if_asleep(*s, asleep_for_memory);
}

void shm_transport::send(int rank, const outgoing &message)
{
    peer &p = peer_at(slot_of(rank));
    if (gone_[p.slot]) {
        if (message.done) message.done->settled(message.done, SEA_ERR_DEAD);
        return;
    }
    p.queued.push_back({message, {}, 0, p.executed});
    push_queued(p);
    if (!p.queued.empty() && p.queued.back().copied.empty()) { // what must be copied and found no room is copied now
        record &r = p.queued.back();
        auto keep = [&](const void *from, std::size_t n) {
            auto *bytes = static_cast<const std::byte *>(from);
            r.copied.insert(r.copied.end(), bytes, bytes + n);
        };
        std::size_t payload = r.message.borrow ? 0 : r.message.bytes;
        r.copied.reserve(r.message.prefix_bytes + payload + 1);
        keep(r.message.prefix, r.message.prefix_bytes);
        if (payload) keep(r.message.payload, payload);
        r.message.prefix = r.copied.data();
        if (payload) r.message.payload = r.copied.data() + r.message.prefix_bytes;
    }
    if (!p.listed && (!p.queued.empty() || !p.in_ring.empty())) {
        p.listed = true;
        sending_.push_back(p.slot);
    }
}

// Moves queued messages into the ring as far as there is room; true if anything moved, though it may be a part.
bool shm_transport::push_queued(peer &p)
{
    bool pushed = false;
    while (!p.queued.empty()) {
        record &r = p.queued.front();
        const outgoing &m = r.message;
        frame head = m.head;
        std::size_t room = tuning_.fragment - m.prefix_bytes;
        std::size_t piece = std::min(room, m.bytes - r.sent);
        bool last = r.sent + piece == m.bytes;
        head.position += r.sent;
        head.length = std::uint32_t(m.prefix_bytes + piece);
        if (last) head.flags |= frame_flags::last;
        auto *from = static_cast<const std::byte *>(m.payload);
        if (!p.to.push(head, {static_cast<const std::byte *>(m.prefix), m.prefix_bytes},
                       {piece ? from + r.sent : nullptr, piece}))
            break;
        pushed = true;
        r.sent += piece;
        if (!last) continue;
        if (m.done) p.in_ring.push_back({p.to.position(), m.done});
        p.queued.pop_front();
    }
    if (pushed) announce(p.slot);
    return pushed;
}

bool shm_transport::settle(peer &p, std::uint64_t executed)
{
    bool any = false;
    while (!p.in_ring.empty() && p.in_ring.front().end <= executed) {
        delivery *d = p.in_ring.front().done;
        p.in_ring.pop_front();
        d->settled(d, SEA_OK);
        any = true;
    }
    return any;
}

bool shm_transport::consume_from(unsigned from, int limit)
{
    peer &p = peer_at(from);
    auto use = [&](const frame &f, std::span<const std::byte> payload) { sink_.receive(p.rank, f, payload); };
    bool any = p.from.consume(limit, use) > 0;
    if (any) sink_.about_to_acknowledge();
    p.executed = p.from.consumed();
    if (p.publish_executed()) ring_if_asleep(from, asleep_for_messages);
    return any;
}

bool shm_transport::progress_sending()
{
    bool any = false;
    for (std::size_t i = 0; i < sending_.size();) {
        peer &p = *peers_[sending_[i]];
        std::uint64_t executed = p.to.executed();
        if (!p.in_ring.empty() && p.in_ring.front().end <= executed) {
            consume_from(p.slot, INT_MAX); // notices that belong to what was executed are in that ring already
            any |= settle(p, executed);
        }
        any |= push_queued(p);
        // Also where send() has found room for what was queued: consume_from() has left this then.
        if (p.publish_executed()) ring_if_asleep(p.slot, asleep_for_messages);
        if (p.queued.empty() && p.in_ring.empty()) {
            p.listed = false;
            sending_[i] = sending_.back();
            sending_.pop_back();
        } else {
            ++i;
        }
    }
    return any;
}

// From now on its ring is looked at in every round, if there is a place or one of whom nothing has come for long gives
// up its own. What that one put in its ring while it still saw itself attended is pending, then.
void shm_transport::attend(unsigned from)
{
    slot &mine = arena_.slot_at(own_);
    if (mine.attended[from / 64].load(std::memory_order_relaxed) & bit_of(from)) return;
    if (attended_.size() < most_attended) {
        attended_.push_back({});
    } else {
        const auto idlest = std::ranges::min_element(attended_, {}, &attention::heard);
        if (rounds_ - idlest->heard < attention_span) return;
        const unsigned other = idlest->slot;
        mine.attended[other / 64].fetch_and(~bit_of(other), std::memory_order_seq_cst);
        if (!peers_[other]->from.empty()) mine.pending[other / 64].fetch_or(bit_of(other), std::memory_order_seq_cst);
        std::swap(*idlest, attended_.back());
    }
    attended_.back() = {from, rounds_};
    mine.attended[from / 64].fetch_or(bit_of(from), std::memory_order_seq_cst);
}

bool shm_transport::consume_attended()
{
    bool any = false;
    ++rounds_;
    for (attention &a : attended_) {
        if (peers_[a.slot]->from.empty()) continue;
        a.heard = heard_ = rounds_;
        any |= consume_from(a.slot, records_per_poll);
    }
    return any;
}

bool shm_transport::comes_at_once() const
{
    if (rounds_ - heard_ > a_moment_ago) return false;
    for (int i = 0; i < looks_before_sleep; ++i) {
        for (const attention &a : attended_)
            if (!peers_[a.slot]->from.empty()) return true;
        __builtin_ia32_pause();
    }
    return false;
}

bool shm_transport::consume_pending()
{
    bool any = false;
    slot &mine = arena_.slot_at(own_);
    unsigned words = (arena_.header().slots + 63) / 64;
    for (unsigned w = 0; w < words; ++w) {
        if (mine.pending[w].load(std::memory_order_relaxed) == 0) continue;
        std::uint64_t bits = mine.pending[w].exchange(0, std::memory_order_seq_cst);
        for (; bits; bits &= bits - 1) {
            unsigned from = w * 64 + unsigned(std::countr_zero(bits));
            any |= consume_from(from, records_per_poll);
            if (!peers_[from]->from.empty()) mine.pending[w].fetch_or(bit_of(from), std::memory_order_seq_cst);
            attend(from);
        }
    }
    return any;
}

bool shm_transport::poll(nanoseconds)
{
    bool any = consume_attended();
    any |= consume_pending();
    if (!sending_.empty()) any |= progress_sending();
    return any;
}

transport::wake_set shm_transport::wake_fds() const { return {arena_.slot_at(own_).doorbell, -1}; }

bool shm_transport::arm(bool for_memory)
{
    slot &mine = arena_.slot_at(own_);
    mine.sleeping.store(for_memory ? asleep_for_memory : asleep_for_messages, std::memory_order_seq_cst);
    for (unsigned w = 0; w < (arena_.header().slots + 63) / 64; ++w)
        if (mine.pending[w].load(std::memory_order_seq_cst)) return false;
    for (const attention &a : attended_)
        if (!peers_[a.slot]->from.empty()) return false;
    for (unsigned s : sending_) {
        peer &p = *peers_[s];
        if (!p.in_ring.empty() && p.in_ring.front().end <= p.to.executed()) return false;
        if (p.queued.empty() ? p.from.unpublished() : p.to.position() == p.to.executed()) return false;
    }
    return true;
}

void shm_transport::was_woken()
{
    std::uint64_t count;
    [[maybe_unused]] auto n = ::read(arena_.slot_at(own_).doorbell, &count, sizeof count);
}

void shm_transport::disarm() { arena_.slot_at(own_).sleeping.exchange(0); }

void shm_transport::peer_gone(int rank, bool cleanly)
{
    const unsigned s = slot_of(rank);
    if (s == no_slot) return;
    gone_[s] = true;
    // Of one that was never heard its rings are looked at only if it has sent something last: each look at a page that
    // nobody has touched costs the node one, and a long-lived job loses many ranks.
    if (!peers_[s] && !is_pending(s)) return;
    peer &p = peer_at(s);
    std::uint64_t executed = p.to.executed();
    consume_from(s, INT_MAX);
    settle(p, executed);
    int status = cleanly ? SEA_OK : SEA_ERR_DEAD;
    auto in_ring = std::exchange(p.in_ring, {});
    auto queued = std::exchange(p.queued, {});
    for (auto &u : in_ring) u.done->settled(u.done, status);
    for (auto &r : queued)
        if (r.message.done) r.message.done->settled(r.message.done, status);
}

bool shm_transport::idle() const { return sending_.empty(); }

int shm_transport::put(int rank, std::uint64_t offset, const void *from, std::size_t bytes)
{
    unsigned s = slot_of(rank);
    if (offset >= segments_from) return copy_private(s, offset, const_cast<void *>(from), bytes, true);
    if (!neighbours_.heap_at(s).contains(offset, bytes)) return SEA_ERR_ADDRESS;
    copy_plain(arena_.heap_data(s) + offset, from, bytes);
    return SEA_OK;
}

int shm_transport::get(int rank, std::uint64_t offset, void *to, std::size_t bytes)
{
    unsigned s = slot_of(rank);
    if (offset >= segments_from) return copy_private(s, offset, to, bytes, false);
    if (!neighbours_.heap_at(s).contains(offset, bytes)) return SEA_ERR_ADDRESS;
    copy_plain(to, arena_.heap_data(s) + offset, bytes);
    return SEA_OK;
}

// Counts as a copy that is being made, in the sight of the owner: it takes a registration away, or closes its raw
// space, then waits until it has seen the pins of all others at 0 once. A process that was killed while it copied is
// passed over, so it holds up nobody.
class shm_transport::pin {
  public:
    pin(const shm_transport &t, unsigned owner) : pins_(t.arena_.ring(owner, t.own_).pins)
    {
        pins_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~pin() { pins_.fetch_sub(1, std::memory_order_seq_cst); }
    pin(const pin &) = delete;
    pin &operator=(const pin &) = delete;

  private:
    std::atomic<std::uint32_t> &pins_;
};

int shm_transport::copy_private(unsigned s, std::uint64_t offset, void *local, std::size_t bytes, bool write)
{
    const pin pinned(*this, s);
    if (!(offset & raw_space)) return s == own_ ? not_native : copy_registered(s, offset, local, bytes, write);
    if (!raw_open(s)) return SEA_ERR_ACCESS;
    const piece one{offset, local, bytes};
    if (copy_shared(s, one, write)) return SEA_OK;
    if (s == own_) return not_native; // under its lock, carefully
    return copy_anywhere(pid_of(s), offset & ~raw_space, local, bytes, write);
}

// Heaps and registered memory are reached as quickly piece by piece.
int shm_transport::copy_pieces(int rank, std::span<const piece> pieces, bool write, std::size_t *bad)
{
    const unsigned s = slot_of(rank);
    for (const piece &p : pieces)
        if (!(p.position & raw_space)) return not_native;
    if (s == own_) return not_native;
    *bad = 0;
    const pin pinned(*this, s);
    if (!raw_open(s)) return SEA_ERR_ACCESS;
    const int pid = pid_of(s);
    if (pid == 0) return not_native;
    for (std::size_t i = 0, next = 0; i < pieces.size(); i = next) {
        while (next < pieces.size() && !copy_shared(s, pieces[next], write)) ++next;
        if (int status = copy_anywhere(pid, pieces.subspan(i, next - i), write, bad)) {
            *bad += i;
            return status;
        }
        if (next < pieces.size()) ++next; // the shared one that ended the run
    }
    return SEA_OK;
}

int shm_transport::pid_of(unsigned s) const
{
    const bool in_its_space = arena_.slot_at(own_).pid.load(std::memory_order_relaxed) != 0;
    return in_its_space ? arena_.slot_at(s).pid.load(std::memory_order_acquire) : 0;
}

bool shm_transport::raw_open(unsigned s) const
{
    return arena_.slot_at(s).raw_open.load(std::memory_order_seq_cst) != 0;
}

std::byte *shm_transport::shared_place(unsigned s, std::uint64_t position, std::size_t bytes) const
{
    const std::uint64_t heap_bytes = arena_.header().heap_bytes;
    const std::uint64_t into = (position & ~raw_space) - arena_.slot_at(s).heap_at.load(std::memory_order_relaxed);
    return into < heap_bytes && bytes <= heap_bytes - into ? arena_.heap_data(s) + into : nullptr;
}

bool shm_transport::copy_shared(unsigned s, const piece &p, bool write) const
{
    std::byte *there = shared_place(s, p.position, p.bytes);
    if (there && write)
        copy_plain(there, p.local, p.bytes);
    else if (there)
        copy_plain(p.local, there, p.bytes);
    return there != nullptr;
}

int shm_transport::copy_registered(unsigned s, std::uint64_t offset, void *local, std::size_t bytes, bool write) const
{
    segment *g = segments(arena_.segments(s)).find(offset, bytes);
    if (!g) return SEA_ERR_ADDRESS;
    if (write && (g->flags & SEA_READ_ONLY)) return SEA_ERR_ACCESS;
    auto *remote = reinterpret_cast<char *>(g->memory + (offset - g->offset));
    return copy_other_process(pid_of(s), remote, local, bytes, write);
}

bool shm_transport::nobody_copies(std::vector<bool> *passed) const
{
    passed->resize(arena_.header().slots);
    bool all = true;
    for (unsigned s = 0; s < passed->size(); ++s) {
        if ((*passed)[s]) continue;
        int rank = arena_.slot_at(s).rank;
        bool lives = rank >= 0 && arena_.ranks().alive(rank);
        (*passed)[s] = !lives || arena_.ring(own_, s).pins.load(std::memory_order_seq_cst) == 0;
        all = all && (*passed)[s];
    }
    return all;
}

int shm_transport::atomic(int rank, std::uint64_t offset, sea_atomic_kind kind, int width, std::uint64_t operand,
                          std::uint64_t compare, std::uint64_t *old)
{
    unsigned s = slot_of(rank);
    std::byte *word = nullptr;
    std::optional<pin> pinned;
    if (offset & raw_space) {
        pinned.emplace(*this, s);
        if (!raw_open(s)) return SEA_ERR_ACCESS;
        word = shared_place(s, offset, std::size_t(width));
        if (!word) return not_native;
    } else if (offset >= segments_from) {
        return not_native;
    } else if (!neighbours_.heap_at(s).contains(offset, std::size_t(width))) {
        return SEA_ERR_ADDRESS;
    } else {
        word = arena_.heap_data(s) + offset;
    }
    *old = cpu_atomic(word, kind, width, operand, compare);
    if (s != own_) ring_if_asleep(s, asleep_for_memory);
    return SEA_OK;
}

} // namespace onesea::shm
