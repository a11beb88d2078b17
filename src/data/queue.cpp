// SPDX-License-Identifier: Apache-2.0
#include "data/queue.hpp"

#include "base/copy.hpp"

#include <algorithm>

namespace onesea::data {
namespace {

constexpr std::uint64_t head_bytes = 8;
constexpr std::uint64_t space_of(std::uint64_t element) { return head_bytes + (element + 7) / 8 * 8; }

template <class Use>
int with(execution &x, Use &&use)
{
    locked_structure<queue_control> c(x, x.at, kind::queue);
    if (int s = c.status()) return s;
    sequence q(x, *c);
    if (int s = q.check()) return s;
    return use(*c, q);
}

std::array<std::uint32_t, queue_control::places> &waiting(queue_control &c, waiting_for what)
{
    return c.waiting[unsigned(what)];
}

void note(queue_control &c, waiting_for what, const queue_arguments &a)
{
    if (!a.wait) return;
    auto &ranks = waiting(c, what);
    const std::uint32_t mine = std::uint32_t(a.rank) + 1;
    if (std::find(ranks.begin(), ranks.end(), mine) != ranks.end()) return;
    if (auto free = std::find(ranks.begin(), ranks.end(), 0u); free != ranks.end()) *free = mine;
}

// The one that has waited longest, of those that live: out of the list.
std::uint32_t next_to_wake(execution &x, queue_control &c, waiting_for what)
{
    auto &ranks = waiting(c, what);
    while (ranks[0]) {
        const std::uint32_t rank = ranks[0];
        std::move(ranks.begin() + 1, ranks.end(), ranks.begin());
        ranks.back() = 0;
        if (x.who.alive(int(rank - 1))) return rank;
    }
    return 0;
}

} // namespace

int queue_create(execution &x, const queue_arguments &a)
{
    queue_answer r;
    auto *c = new_control<queue_control>(x, kind::none, &r.handle);
    if (!c) return SEA_ERR_MEMORY;
    c->limit = a.room;
    c->magic.store(kind::queue, std::memory_order_release);
    return x.give(r);
}

int queue_destroy(execution &x, const queue_arguments &)
{
    locked_structure<queue_control> c(x, x.at, kind::queue);
    if (!c.locked()) return c.status();
    std::vector<std::uint32_t> ranks;
    for (auto what : {waiting_for::element, waiting_for::room})
        while (std::uint32_t rank = next_to_wake(x, *c, what)) ranks.push_back(rank);
    sequence q(x, *c);
    if (q.check() == SEA_OK) q.drop();
    end_control(x, c);
    if (!ranks.empty()) std::memcpy(x.put_out(ranks.size() * 4), ranks.data(), ranks.size() * 4);
    return SEA_OK;
}

int queue_size(execution &x, const queue_arguments &)
{
    return with(x, [&](queue_control &, sequence &q) -> int {
        queue_answer r;
        r.elements = q.elements();
        r.bytes = q.size();
        return x.give(r);
    });
}

int queue_push(execution &x, const queue_arguments &a)
{
    return with(x, [&](queue_control &c, sequence &q) -> int {
        const std::uint64_t bytes = x.data.size(), space = space_of(bytes);
        queue_answer r;
        if (c.limit && space > c.limit) return x.refuse(SEA_ERR_INVALID, why::limit, bytes, c.limit);
        if (c.limit && q.size() + space > c.limit) {
            note(c, waiting_for::room, a);
            return x.give(r);
        }
        std::byte *to;
        if (int s = q.room_behind(space, &to)) return s;
        std::memcpy(to, &bytes, sizeof bytes);
        if (bytes) copy_bytes(to + head_bytes, x.data.data(), bytes);
        q.add(space, 1);
        r.done = 1;
        x.wake = next_to_wake(x, c, waiting_for::element);
        return x.give(r);
    });
}

int queue_pop(execution &x, const queue_arguments &a)
{
    return with(x, [&](queue_control &c, sequence &q) -> int {
        queue_answer r;
        if (q.size() == 0) {
            note(c, waiting_for::element, a);
            return x.give(r);
        }
        std::uint64_t bytes;
        if (q.size() < head_bytes) return x.refuse(SEA_ERR_ADDRESS, why::damaged);
        std::memcpy(&bytes, q.bytes(), sizeof bytes);
        if (bytes > q.size() || space_of(bytes) > q.size()) return x.refuse(SEA_ERR_ADDRESS, why::damaged);
        if (bytes > a.room) return x.refuse(SEA_ERR_INVALID, why::too_large, bytes, a.room);
        if (bytes) copy_bytes(x.put_out(bytes), q.bytes() + head_bytes, bytes);
        q.take_front(space_of(bytes), 1);
        r.done = 1;
        r.bytes = bytes;
        x.wake = next_to_wake(x, c, q.size() > 0 ? waiting_for::element : waiting_for::room);
        if (!x.wake) x.wake = next_to_wake(x, c, waiting_for::room);
        return x.give(r);
    });
}

} // namespace onesea::data
