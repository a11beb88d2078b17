// SPDX-License-Identifier: Apache-2.0
#include "msg/matcher.hpp"

#include <utility>

namespace onesea::msg {
namespace {

pattern seen_as(const pattern &message, std::size_t way)
{
    return {message.team, way & 1u ? anything : message.source, way & 2u ? anything : message.tag};
}

std::size_t way_of(const pattern &want)
{
    return (want.source == anything ? 1u : 0u) | (want.tag == anything ? 2u : 0u);
}

// Appends to a doubly linked list, and takes out of it.
template <class Node, class Links>
void append(Node *&first, Node *&last, Node *node, Links link)
{
    link(node) = {last, nullptr};
    (last ? link(last).after : first) = node;
    last = node;
}

template <class Node, class Links>
void remove(Node *&first, Node *&last, Node *node, Links link)
{
    auto [before, after] = link(node);
    (before ? link(before).after : first) = after;
    (after ? link(after).before : last) = before;
    link(node) = {};
}

auto by_queue = [](posted *p) -> links<posted> & { return p->queue; };
auto by_all = [](auto *node) -> auto & { return node->all; };
auto by_way = [](std::size_t way) { return [way](arrival *a) -> links<arrival> & { return a->queue[way]; }; };

} // namespace

std::size_t matcher::hash::operator()(const pattern &p) const
{
    std::uint64_t word = p.team ^ (std::uint64_t(std::uint32_t(p.source)) << 32 | std::uint32_t(p.tag));
    word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93u;
    word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93u;
    return word ^ (word >> 32);
}

matcher::matcher() : waiting_(&pool_), messages_(&pool_) {}

// The queue of those that want this; nullptr: there is none.
matcher::waiting_queue *matcher::waiting_for(const pattern &want)
{
    if (recent_ && recent_->first == want) return recent_;
    auto at = waiting_.find(want);
    return at == waiting_.end() ? nullptr : &*at;
}

void matcher::enqueue(posted *p)
{
    if (!recent_ || !(recent_->first == p->want)) {
        if (recent_ && !recent_->second.first) waiting_.erase(pattern(recent_->first));
        recent_ = &*waiting_.try_emplace(p->want).first;
    }
    append(recent_->second.first, recent_->second.last, p, by_queue);
    ++waiting_ways_[way_of(p->want)];
}

void matcher::dequeue(posted *p, waiting_queue *queue)
{
    remove(queue->second.first, queue->second.last, p, by_queue);
    if (!queue->second.first && queue != recent_) waiting_.erase(p->want);
    --waiting_ways_[way_of(p->want)];
}

void matcher::unlist(posted *p)
{
    remove(first_posted_, last_posted_, p, by_all);
    p->waiting = false;
    --posted_;
}

void matcher::post(posted *p)
{
    p->waiting = true;
    p->number = next_number_++;
    append(first_posted_, last_posted_, p, by_all);
    if (posted_++ == 0) {
        lone_ = p;
        return;
    }
    if (lone_) enqueue(std::exchange(lone_, nullptr));
    enqueue(p);
}

void matcher::withdraw(posted *p)
{
    if (p == lone_)
        lone_ = nullptr;
    else
        dequeue(p, waiting_for(p->want));
    unlist(p);
}

posted *matcher::meet(const pattern &message)
{
    if (posted *p = lone_) {
        if (!p->want.wants(message)) return nullptr;
        withdraw(p);
        return p;
    }
    if (posted_ == 0) return nullptr;
    if (waiting_.size() == 1) { // all want the same
        posted *p = recent_->first.wants(message) ? recent_->second.first : nullptr;
        if (!p) return nullptr;
        dequeue(p, recent_);
        unlist(p);
        return p;
    }
    posted *earliest = nullptr;
    waiting_queue *its_queue = nullptr;
    for (std::size_t way = 0; way < ways; ++way) {
        if (waiting_ways_[way] == 0) continue;
        waiting_queue *queue = waiting_for(seen_as(message, way));
        posted *first = queue ? queue->second.first : nullptr;
        if (!first || (earliest && earliest->number < first->number)) continue;
        earliest = first;
        its_queue = queue;
    }
    if (!earliest) return nullptr;
    dequeue(earliest, its_queue);
    unlist(earliest);
    return earliest;
}

arrival *matcher::find(const pattern &want) const
{
    if (kept_ == 0) return nullptr;
    auto at = messages_.find(want);
    return at == messages_.end() ? nullptr : at->second.first;
}

void matcher::keep(arrival *a)
{
    for (std::size_t way = 0; way < ways; ++way) {
        auto &queue = messages_[seen_as(a->what, way)];
        append(queue.first, queue.last, a, by_way(way));
    }
    append(first_kept_, last_kept_, a, by_all);
    ++kept_;
}

void matcher::take(arrival *a)
{
    for (std::size_t way = 0; way < ways; ++way) {
        auto at = messages_.find(seen_as(a->what, way));
        remove(at->second.first, at->second.last, a, by_way(way));
        if (!at->second.first) messages_.erase(at);
    }
    remove(first_kept_, last_kept_, a, by_all);
    --kept_;
}

} // namespace onesea::msg
