// SPDX-License-Identifier: Apache-2.0
#include "msg/channel_table.hpp"

#include <array>
#include <cstring>

namespace onesea::msg {
namespace {

template <std::size_t N>
bool read_words(std::span<const std::byte> payload, std::array<std::uint64_t, N> *words)
{
    if (payload.size() != sizeof *words) return false;
    std::memcpy(words->data(), payload.data(), sizeof *words);
    return true;
}

// Who says such a note?
bool said_by_receiver(channel_note note)
{
    return note == channel_note::open || note == channel_note::room || note == channel_note::receiver_closed;
}

} // namespace

channel_end *channel_table::end(sea_channel name)
{
    auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.get();
}

const channel_end *channel_table::find(sea_channel name) const
{
    auto found = by_name_.find(name);
    return found == by_name_.end() || !found->second->open() ? nullptr : found->second.get();
}

template <class Use>
void channel_table::visit(sea_channel name, Use &&use)
{
    if (channel_end *e = end(name)) visit(*e, use);
}

template <class Use>
void channel_table::visit(channel_end &e, Use &&use)
{
    e.enter();
    use(e);
    if (e.leave()) forget(e.name());
}

sea_channel channel_table::open(int peer, bool sends)
{
    const wire_name wire{peer, sends, next_[sends][peer]};
    const sea_channel name = ++names_;
    auto fresh = std::make_unique<channel_end>(outside_, name, peer, sends, wire.index);
    channel_end &e = *fresh;
    by_name_.emplace(name, std::move(fresh));
    by_wire_.emplace(wire, name);
    ++next_[sends][peer];
    e.opened();
    if (auto before = early_.find(wire); before != early_.end()) {
        const bool closed = before->second == early::opened_and_closed;
        early_.erase(before);
        e.on_open();
        if (closed) e.on_closed();
    }
    if (outside_.is_cut_off(peer)) visit(e, [](channel_end &end) { end.on_gone(SEA_ERR_LINK); });
    return name;
}

std::uint64_t channel_table::add(sea_channel name, channel_request r)
{
    r.token = ++tokens_;
    end(name)->add(r);
    return r.token;
}

void channel_table::started(sea_channel name, std::uint64_t token, std::uint64_t operation)
{
    if (!end(name)) return outside_.end(operation, SEA_OK, {}); // it was withdrawn, and the channel closed
    visit(name, [&](channel_end &e) { e.started(token, operation); });
}

void channel_table::cancelled(sea_channel name, std::uint64_t token)
{
    visit(name, [&](channel_end &e) { e.cancelled(token); });
}

void channel_table::withdraw(sea_channel name, std::uint64_t token)
{
    visit(name, [&](channel_end &e) { e.withdraw(token); });
}

// The end stays as long as one of its fetches is under way.
void channel_table::fetched(channel_fetch *f, int status)
{
    visit(*f->end, [&](channel_end &e) { e.fetched(f, status); });
}

void channel_table::forget(sea_channel name)
{
    const channel_end &e = *end(name);
    by_wire_.erase({e.peer(), e.sends(), e.index()});
    by_name_.erase(name);
    if (!by_name_.empty()) return;
    by_name_ = decltype(by_name_)(); // with the memory of those that were
    by_wire_ = decltype(by_wire_)();
}

void channel_table::receive(int source, std::uint8_t note_, std::uint64_t index, std::uint64_t id,
                            std::span<const std::byte> payload)
{
    const auto note = channel_note(note_);
    if (note < channel_note::open || note > channel_note::receiver_closed) return;
    const wire_name wire{source, said_by_receiver(note), index};
    auto found = by_wire_.find(wire);
    if (found == by_wire_.end()) return hear_early(wire, note, id);
    visit(found->second, [&](channel_end &e) { hear(e, note, id, payload); });
}

void channel_table::hear(channel_end &e, channel_note note, std::uint64_t id, std::span<const std::byte> payload)
{
    std::array<std::uint64_t, 2> room{};
    std::array<std::uint64_t, 1> bytes{};
    switch (note) {
    case channel_note::open:
        return e.on_open();
    case channel_note::data:
        return e.on_data(payload);
    case channel_note::offer:
        if (read_words(payload, &bytes)) e.on_offer(id, bytes[0]);
        return;
    case channel_note::room:
        if (read_words(payload, &room)) e.on_room(room[0], room[1]);
        return;
    case channel_note::sender_closed:
    case channel_note::receiver_closed:
        return e.on_closed();
    }
}

void channel_table::hear_early(const wire_name &wire, channel_note note, std::uint64_t id)
{
    if (note == channel_note::offer) return outside_.answer(wire.peer, id, SEA_ERR_STATE);
    auto opened = next_[wire.sends].find(wire.peer);
    if (wire.index < (opened == next_[wire.sends].end() ? 0 : opened->second)) return; // it is over here
    if (note == channel_note::open) early_[wire] = early::opened;
    auto known = early_.find(wire);
    if (note == channel_note::receiver_closed && known != early_.end()) known->second = early::opened_and_closed;
}

void channel_table::gone(int rank, int status)
{
    std::erase_if(early_, [&](const auto &e) { return e.first.peer == rank; });
    std::vector<sea_channel> hit;
    for (const auto &[name, e] : by_name_)
        if (e->peer() == rank) hit.push_back(name);
    for (sea_channel name : hit) visit(name, [&](channel_end &e) { e.on_gone(status); });
}

void channel_table::awaited(std::set<int> &ranks) const
{
    for (const auto &[name, e] : by_name_)
        if (e->waits()) ranks.insert(e->peer());
}

void channel_table::clear()
{
    by_name_.clear();
    by_wire_.clear();
    early_.clear();
    for (auto &numbers : next_) numbers.clear();
}

} // namespace onesea::msg
