// SPDX-License-Identifier: Apache-2.0
#include "coll/call.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

#include <new>
#include <utility>

namespace onesea::coll {
namespace {

// Long messages of one member in flight. More would only fill the memory of those who are late.
constexpr std::uint64_t most_sends = 64;
constexpr int few_to_tell = 32; // members that are told directly
constexpr int notice_radix = 16;

layout layout_of(courier &world, const members &who, int me)
{
    if (who.is_world()) return {[&world](int member) { return world.node_of(member); }, who.size(), me};
    std::vector<int> nodes;
    for (int member = 0; member < who.size(); ++member) nodes.push_back(world.node_of(who.rank(member)));
    return {nodes, me};
}

// In a tree over the numbers of the members; of a small team all others.
std::vector<int> neighbours_of(const members &who, int me)
{
    std::vector<int> ranks;
    if (who.size() <= few_to_tell) {
        for (int member = 0; member < who.size(); ++member)
            if (member != me) ranks.push_back(who.rank(member));
        return ranks;
    }
    if (me > 0) ranks.push_back(who.rank((me - 1) / notice_radix));
    for (int below = me * notice_radix + 1; below <= me * notice_radix + notice_radix && below < who.size(); ++below)
        ranks.push_back(who.rank(below));
    return ranks;
}

} // namespace

team::team(mailbox &m, courier &c, const context_id &id, members all, int own_rank)
    : mail(m), world(c), context(id), who(std::move(all)), me(who.member(own_rank))
{
    if (me < 0) return;
    places = layout_of(c, who, me);
    messages = mail.adopt(context, neighbours_of(who, me), who.size() > few_to_tell);
}

call::call(team &t, const signature &sign, nanoseconds deadline) : team_(t), box_(*t.messages), deadline_(deadline)
{
    team_.near.clear();
    if (broken()) return;
    team_.mail.begin(&box_, sign);
    check_members();
}

std::uint64_t call::unfinished_sends() const
{
    std::atomic_ref sent(box_.sent.value);
    if (sent.load(std::memory_order_acquire) != box_.started) team_.world.count_taken(box_.sent);
    return box_.started - sent.load(std::memory_order_acquire);
}

void call::send(int member, unsigned step, const void *data, std::size_t bytes)
{
    if (broken()) return;
    envelope e{box_.id, box_.sequence, phase_ + step, box_.sign};
    sea_counter *counter = nullptr;
    if (bytes > short_bytes) {
        if (unfinished_sends() >= most_sends) wait_for(nullptr, most_sends - 1);
        if (broken()) return;
        counter = &box_.sent;
        ++box_.started;
    }
    const int rank = team_.who.rank(member);
    if (counter) all_near_ &= team_.world.comes_near(rank, bytes);
    if (int status = team_.world.send(rank, e, data, bytes, counter)) {
        if (counter) --box_.started;
        break_down(status, last_error());
    }
}

receive *call::expect(int member, unsigned step, void *to, std::size_t bytes)
{
    if (broken()) return nullptr;
    const int rank = team_.who.rank(member);
    const bool near = team_.world.comes_near(rank, bytes);
    all_near_ &= near;
    if (near && (team_.near.empty() || team_.near.back() != rank)) team_.near.push_back(rank);
    return team_.mail.post(&box_, rank, phase_ + step, to, bytes);
}

void call::await(receive *r)
{
    if (r && !broken()) wait_for(r, 0);
}

void call::finish()
{
    if (!broken()) wait_for(nullptr, 0);
}

bool call::is_settled(const receive *r, std::uint64_t sends_left) const
{
    if (r) return r->state.load(std::memory_order_acquire) == receive::phase::here;
    if (sends_left == 0 && box_.outstanding.load(std::memory_order_acquire) > 0) return false;
    return unfinished_sends() <= sends_left;
}

// The same, after what has come near has been taken in, as much of it as that needs.
bool call::settles_near(int source, const receive *r, std::uint64_t sends_left)
{
    while (team_.world.take_near(source, team_.context))
        if (is_settled(r, sends_left)) return true;
    return false;
}

// For one receive; or, without one, until at most so many sends are left, and if none may be left for all receives.
void call::wait_for(receive *r, std::uint64_t sends_left)
{
    struct condition {
        call *self;
        receive *r;
        std::uint64_t sends_left;
        bool all = false; // look at whatever has come
    } wanted{this, r, sends_left};
    auto ready = [](void *argument) {
        auto &c = *static_cast<condition *>(argument);
        if (c.self->is_settled(c.r, c.sends_left)) return true;
        for (int source : c.self->team_.near)
            if (c.self->settles_near(source, c.r, c.sends_left)) return true;
        if (c.all && c.self->settles_near(courier::anybody, c.r, c.sends_left)) return true;
        c.self->check_members();
        return c.self->broken();
    };
    if (is_settled(r, sends_left)) return;
    if (all_near_ && team_.world.look(ready, &wanted)) return;
    wanted.all = true;
    if (team_.world.wait(ready, &wanted, deadline_) != SEA_OK) break_down(SEA_ERR_TIMEOUT, what_is_missing());
}

// When the time given has passed; all may have come since.
std::string call::what_is_missing() const
{
    const std::string passed = "the time given has passed";
    const std::vector<int> ranks = team_.mail.missing_from(&box_);
    const std::uint64_t sends = unfinished_sends();
    if (ranks.size() > 1)
        return fmt::format("the parts of rank {} and {} more have not come: {}", ranks.front(), ranks.size() - 1,
                           passed);
    if (ranks.size() == 1) return fmt::format("the part of rank {} has not come: {}", ranks.front(), passed);
    return sends ? fmt::format("{} long parts have not been taken: {}", sends, passed) : passed;
}

void call::check_members()
{
    while (team_.seen_ended < team_.world.ended()) {
        const int rank = team_.world.ended_rank(team_.seen_ended++), member = team_.who.member(rank);
        if (member >= 0)
            return break_down(SEA_ERR_DEAD, fmt::format("rank {}, member {} of the team, has ended", rank, member));
    }
    while (team_.seen_cut_off < team_.world.cut_off()) {
        const int rank = team_.world.cut_off_rank(team_.seen_cut_off++), member = team_.who.member(rank);
        if (member >= 0)
            return break_down(SEA_ERR_LINK,
                              fmt::format("the way to rank {}, member {} of the team, was given up", rank, member));
    }
}

void call::break_down(int status, std::string reason) { team_.mail.break_down(&box_, status, std::move(reason)); }

std::byte *call::scratch(std::size_t bytes)
{
    try {
        return team_.mail.scratch(&box_, bytes);
    } catch (const std::bad_alloc &) {
        break_down(SEA_ERR_MEMORY, fmt::format("no memory for {} bytes of work space", bytes));
        return nullptr;
    }
}

int call::conclude()
{
    finish(); // each algorithm has done so; what it forgot must not be lost
    if (!broken()) {
        team_.mail.end(&box_);
        return SEA_OK;
    }
    tell_others(); // who throws away what comes for the call lets its transfers end
    if (box_.open && !std::exchange(box_.let_end, true)) let_transfers_end();
    return fail(box_.status, "{}: {}", describe(box_.sign), box_.reason);
}

void call::let_transfers_end()
{
    auto over = [](void *argument) {
        auto &self = *static_cast<call *>(argument);
        if (self.unfinished_sends() > 0) return false;
        mailbox &mail = self.team_.mail;
        for (int rank : mail.arriving_from(&self.box_))
            if (self.team_.world.nothing_comes(rank)) mail.nothing_comes(&self.box_, rank);
        return mail.arriving_from(&self.box_).empty();
    };
    team_.world.wait(over, this, deadline_);
}

void call::tell_others() const
{
    if (box_.status == SEA_ERR_DEAD) return; // they see it themselves
    const envelope notice{
        box_.id, box_.sequence, std::uint32_t(team_.who.rank(team_.me)), {.what = kind::notice, .root = box_.status}};
    for (int rank : team_.mail.give_up(&box_))
        if (team_.world.alive(rank)) team_.world.send(rank, notice, nullptr, 0, nullptr);
}

} // namespace onesea::coll
