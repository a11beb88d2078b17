// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include "net/crypto.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace onesea::sim {
namespace {

constexpr unsigned most_serves = 20'000;               // at one moment: then a timer is due and does nothing
constexpr nanoseconds longest_run = 4000 * second;     // of virtual time: then something hangs
constexpr nanoseconds longest_fault = 3 * second;      // a rank that is stopped
constexpr nanoseconds longest_cut = 400 * millisecond; // a partition that is no reason to give up
constexpr nanoseconds longest_jump = 400 * second;     // of a clock

} // namespace

void sightings::add(const sightings &o)
{
    for (auto member : {&tally::sent, &tally::lost, &tally::changed, &tally::replayed, &tally::strayed, &tally::refused,
                        &tally::overflown, &tally::in_trains, &tally::bare_trains, &tally::parts})
        wire.*member += o.wire.*member;
    for (auto [status, n] : o.ends) ends[status] += n;
    for (auto member : {&sightings::packets_lost, &sightings::landed, &sightings::partitions, &sightings::stops,
                        &sightings::jumps, &sightings::deaths})
        this->*member += o.*member;
}

world::world(family f, std::uint64_t seed) : random_(seed), plan_(make_plan(f, random_))
{
    net::crypto_ready();
    network_ = std::make_unique<network>(random_, plan_.wrong, plan_.ranks);
    for (unsigned r = 0; r < plan_.ranks; ++r) make_rank(r);
}

world::~world()
{
    for (auto &r : ranks_) r->net.reset(); // before the network that they stand on
}

// Every rank has one of its own: the usual one, or anything that is legal, often as far out as that goes.
profile world::any_tuning()
{
    profile p;
    for (path_kind path : all_paths)
        for (const parameter &knob : parameters_of(path)) {
            if (path == path_kind::shm || up_to(1)) continue;
            const std::uint32_t values[] = {knob.least, knob.most,
                                            knob.least + std::uint32_t(up_to(knob.most - knob.least))};
            p.of(path).*knob.value = values[up_to(2)];
        }
    return p;
}

void world::make_rank(unsigned r)
{
    std::vector<std::uint64_t> sizes;
    for (unsigned i = 0; i < 10; ++i) sizes.push_back(9 + up_to(i < 5 ? 300 : i < 8 ? 5000 : plan_.longest));
    ranks_.push_back(std::make_unique<rank>(*this, r, std::move(sizes)));
    net::net_config c;
    c.rank = int(r);
    c.port = &network_->port(r);
    c.job_key[0] = 42;
    c.secure = plan_.mode;
    c.own_mtu = plan_.mtu;
    c.tuning = any_tuning();
    c.give_up = plan_.give_up;
    c.trust = plan_.trust;
    c.counts = &ranks_[r]->counts;
    c.lookup = [this, r](int peer, net::peer_address *where) {
        if (peer < 0 || unsigned(peer) >= plan_.ranks || ranks_[r]->gone[std::size_t(peer)]) return false;
        *where = address_of(unsigned(peer), plan_.mtu);
        return true;
    };
    ranks_[r]->net = net::make_net_transport(c, *ranks_[r]);
}

void world::wrong(std::string text)
{
    if (problem_.empty()) problem_ = fmt::format("at {} us: {}", network_->now() / 1000, text);
}

// ---- time ----

void world::look_at_timers(unsigned r)
{
    transport &t = *ranks_[r]->net;
    network_->served(r, t.arm(false) ? t.deadline() : 0);
}

void world::serve(unsigned r)
{
    ranks_[r]->net->poll(network_->local_time(r));
    look_at_timers(r);
    if (std::exchange(now_of_serves_, network_->now()) != network_->now()) serves_now_ = 0;
    if (++serves_now_ > most_serves) wrong(fmt::format("rank {} wants to be served again and again", r));
}

void world::step(nanoseconds to)
{
    network_->advance(to);
    for (unsigned r = 0; r < plan_.ranks; ++r)
        if (network_->serve_at(r) <= network_->now()) serve(r);
    while (!events_.empty() && events_.top().at <= network_->now()) {
        auto what = events_.top().what;
        events_.pop();
        what();
    }
}

// Runs until `over`; false if that does not come, or something is wrong.
bool world::steps(const std::function<bool()> &over, nanoseconds limit)
{
    const nanoseconds until = network_->now() + limit;
    while (problem_.empty() && !over()) {
        nanoseconds next = network_->next_arrival();
        if (!events_.empty()) next = std::min(next, events_.top().at);
        for (unsigned r = 0; r < plan_.ranks; ++r) next = std::min(next, network_->serve_at(r));
        if (next == never || next > until) return false;
        step(std::max(next, network_->now()));
    }
    return problem_.empty();
}

// ---- operations ----

void world::keep_beginning(unsigned r)
{
    rank &self = *ranks_[r];
    if (self.dead) return;
    if (network_->stopped_until(r) > network_->now())
        return at_time(network_->stopped_until(r), [this, r] { keep_beginning(r); });
    for (bool more = true; more && self.to_begin > 0 && problem_.empty(); more = plan_.gap == 0 || up_to(1)) {
        begin_one(r);
        if (chance(plan_.faults)) random_fault();
        if (self.dead) return;
    }
    if (up_to(3) == 0) self.net->flush();
    look_at_timers(r);
    if (self.to_begin) at_time(network_->now() + microsecond + up_to(plan_.gap), [this, r] { keep_beginning(r); });
}

void world::begin_one(unsigned r)
{
    operation &op = operations_.emplace_back();
    op.id = operations_.size();
    op.origin = r;
    op.target = unsigned(up_to(plan_.ranks - 2));
    if (op.target >= r) ++op.target;
    while (!choose(op)) {
    }
    --ranks_[r]->to_begin;
    ranks_[r]->begin(op);
}

bool world::choose_cell(operation &op)
{
    auto &cells = ranks_[op.target]->cells;
    cell &c = cells[up_to(cells.size() - 1)];
    if (c.taken) return false;
    c.taken = true;
    op.place = &c;
    return true;
}

// False: not this one now.
bool world::choose(operation &op)
{
    op.what = action(up_to(std::uint64_t(action::kinds) - 1));
    switch (op.what) {
    case action::bad_put:
    case action::bad_get:
        op.offset = ranks_[op.target]->memory.size() + up_to(1000);
        op.bytes = 1 + up_to(op.what == action::bad_put && up_to(3) == 0 ? 5000 : 100);
        return true;
    case action::add:
    case action::fetch_add:
        op.offset = 8 * up_to(rank::shared_words - 1);
        op.operand = 1 + up_to(1'000'000);
        return true;
    case action::contest:
        op.offset = 8 * (rank::shared_words + up_to(rank::shared_words - 1));
        op.operand = op.id;
        op.compare = op.id > 1 && up_to(1) ? operations_[up_to(op.id - 2)].operand : 0;
        return true;
    case action::message:
    case action::ordered:
        op.bytes = up_to(1200);
        return true;
    default:
        break;
    }
    if (!choose_cell(op)) return false;
    op.offset = op.place->offset;
    op.bytes = op.place->bytes - 8;
    if (op.what == action::swap) {
        op.offset += op.bytes;
        op.operand = op.id;
        op.compare = up_to(3) ? op.place->word : 0;
        if (op.compare != op.place->word) op.operand = op.place->word; // changes nothing
    } else if (op.what == action::get && op.bytes > 100) {
        op.offset += up_to(50);
        op.bytes -= 50;
    }
    return true;
}

// ---- faults ----

void world::random_fault()
{
    enum { cut, stop, jump, death };
    std::vector<int> kinds;
    if (plan_.partitions) kinds.push_back(cut);
    if (plan_.stops) kinds.push_back(stop);
    if (plan_.jumps) kinds.push_back(jump);
    if (plan_.deaths && up_to(3) == 0) kinds.push_back(death);
    if (kinds.empty()) return;
    auto r = unsigned(up_to(plan_.ranks - 1));
    switch (kinds[up_to(kinds.size() - 1)]) {
    case cut:
        return partition();
    case stop:
        ++seen_.stops;
        return network_->stop(r, network_->now() + up_to(longest_fault));
    case jump:
        ++seen_.jumps;
        return network_->jump(r, up_to(1) ? up_to(longest_jump) : up_to(20 * millisecond));
    default: // while something is under way
        return at_time(network_->now() + up_to(4 * millisecond), [this, r] { kill(r); });
    }
}

// One direction, both, or a rank from all others.
void world::partition()
{
    ++seen_.partitions;
    const bool is_long = plan_.long_partitions && up_to(1);
    nanoseconds until = network_->now() + up_to(is_long ? 3 * plan_.give_up : longest_cut);
    auto a = unsigned(up_to(plan_.ranks - 1)), b = unsigned(up_to(plan_.ranks - 1));
    const auto kind = up_to(2);
    for (unsigned other = 0; other < plan_.ranks; ++other) {
        if (kind < 2 && other != b) continue;
        network_->block(a, other, until);
        if (kind > 0) network_->block(other, a, until);
    }
}

void world::kill(unsigned r)
{
    if (ranks_[r]->dead || seen_.deaths + 2 >= plan_.ranks) return;
    ++seen_.deaths;
    ranks_[r]->dead = true;
    ranks_[r]->to_begin = 0;
    network_->remove(r);
    for (const operation &op : operations_)
        if (op.origin == r && !op.done && op.place) rank::leave_unsure(op);
    for (unsigned other = 0; other < plan_.ranks; ++other)
        at_time(network_->now() + up_to(second), [this, other, r] { tell_death(other, r); });
}

// The agents tell the ranks that live.
void world::tell_death(unsigned r, unsigned dead)
{
    if (ranks_[r]->dead) return;
    if (network_->stopped_until(r) > network_->now())
        return at_time(network_->stopped_until(r), [this, r, dead] { tell_death(r, dead); });
    ranks_[r]->gone[dead] = true;
    ranks_[r]->net->peer_gone(int(dead), false);
    ranks_[r]->fail_towards(dead, SEA_ERR_DEAD);
    look_at_timers(r);
}

// ---- a run ----

bool world::all_over() const
{
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](auto &r) { return r->dead || (r->to_begin == 0 && r->unfinished == 0); });
}

// Nothing is on its way, nothing is to be told, no timer runs.
bool world::at_rest() const
{
    if (!events_.empty() || network_->next_arrival() != never) return false;
    for (unsigned r = 0; r < plan_.ranks; ++r)
        if (network_->serve_at(r) != never || (!ranks_[r]->dead && !ranks_[r]->net->idle())) return false;
    return true;
}

std::string world::unfinished_text() const
{
    unsigned n = 0;
    const operation *first = nullptr;
    for (const operation &op : operations_) {
        if (op.done || ranks_[op.origin]->dead) continue;
        ++n;
        if (!first) first = &op;
    }
    if (!first) return "no operation is unfinished";
    return fmt::format("{} operations are unfinished, the first is {}: {} of {} messages settled, answer {}", n,
                       first->text(), first->settled_messages, first->messages,
                       first->awaits_answer ? first->answered ? "came" : "missing" : "not needed");
}

void world::tell_leave(unsigned r, unsigned left)
{
    if (ranks_[r]->dead) return;
    ranks_[r]->gone[left] = true;
    ranks_[r]->net->peer_gone(int(left), true);
}

// As in sea_finalize(): each closes; the agents tell the others later that it has left.
void world::leave_one_by_one()
{
    for (unsigned r = 0; r < plan_.ranks; ++r) {
        if (ranks_[r]->dead) continue;
        ranks_[r]->net->close();
        ranks_[r]->dead = true;
        network_->remove(r);
        for (unsigned other = 0; other < plan_.ranks; ++other)
            if (up_to(1))
                at_time(network_->now() + up_to(10 * millisecond), [this, other, r] { tell_leave(other, r); });
        if (up_to(1)) steps([] { return false; }, up_to(20 * millisecond));
    }
}

bool world::run()
{
    for (unsigned i = 0; i < plan_.operations; ++i) ++ranks_[up_to(plan_.ranks - 1)]->to_begin;
    for (unsigned r = 0; r < plan_.ranks; ++r)
        if (ranks_[r]->to_begin) at_time(network_->now() + up_to(plan_.gap), [this, r] { keep_beginning(r); });
    if (!steps([this] { return all_over(); }, longest_run)) wrong("it hangs; " + unfinished_text());
    if (!steps([this] { return at_rest(); }, longest_run)) wrong("it does not come to rest");
    for (auto &r : ranks_)
        if (std::string text = r->check_memory(); !text.empty()) wrong(text);
    for (auto &r : ranks_)
        for (unsigned peer = 0; peer < plan_.ranks; ++peer) {
            if (const pair_row *row = r->counts.find(int(peer))) seen_.packets_lost += row->counts.packets_lost;
        }
    leave_one_by_one();
    seen_.wire = network_->counts();
    return problem_.empty();
}

} // namespace onesea::sim
