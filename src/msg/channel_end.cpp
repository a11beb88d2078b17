// SPDX-License-Identifier: Apache-2.0
#include "msg/channel_end.hpp"
#include "base/copy.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <new>

namespace onesea::msg {
namespace {

constexpr std::size_t few_requests = 4; // their memory is kept

} // namespace

channel_end::channel_end(channel_courier &outside, sea_channel name, int peer, bool sends, std::uint64_t index)
    : outside_(outside), name_(name), index_(index), peer_(peer), sends_(sends)
{
}

std::string channel_end::describe() const
{
    return fmt::format("channel {} {} rank {}", index_, sends_ ? "to" : "from", peer_);
}

void channel_end::tell(channel_note what, std::uint64_t id, std::span<const std::byte> payload)
{
    if (gone_ == SEA_OK) outside_.tell(peer_, what, index_, id, payload);
}

void channel_end::opened()
{
    if (!sends_) tell(channel_note::open);
}

// ---- Requests of this rank ----

void channel_end::add(const channel_request &r)
{
    requests_.push_back(r);
    most_requests_ = std::max(most_requests_, requests_.size());
    if (r.closes) open_ = false;
}

channel_request *channel_end::find(std::uint64_t token)
{
    for (std::size_t i = requests_.size(); i-- > 0;) // mostly the last one
        if (requests_[i].token == token) return &requests_[i];
    return nullptr;
}

void channel_end::started(std::uint64_t token, std::uint64_t operation)
{
    channel_request *r = find(token);
    if (!r || r->state == channel_request::phase::dropped) return outside_.end(operation, SEA_OK, {}); // withdrawn
    r->operation = operation;
    r->state = channel_request::phase::ready;
    advance();
}

void channel_end::cancelled(std::uint64_t token)
{
    channel_request *r = find(token);
    if (!r) return;
    if (r->closes) open_ = true;
    r->state = channel_request::phase::dropped;
    advance();
}

void channel_end::withdraw(std::uint64_t token)
{
    channel_request *r = find(token);
    if (!r || r->closes) return;
    const bool ready = r->state == channel_request::phase::ready;
    r->state = channel_request::phase::dropped;
    if (ready) outside_.end(r->operation, SEA_OK, {}); // its call has told that the time has passed
    advance();
}

channel_request *channel_end::next()
{
    while (!requests_.empty() && requests_.front().state == channel_request::phase::dropped) requests_.pop_front();
    if (requests_.empty()) {
        if (most_requests_ > few_requests) requests_.release(), most_requests_ = 0;
        return nullptr;
    }
    return requests_.front().state == channel_request::phase::ready ? &requests_.front() : nullptr;
}

void channel_end::end(std::uint64_t operation, const std::shared_ptr<int> &outcome, int status, const char *text)
{
    if (outcome) *outcome = status;
    outside_.end(operation, status, status == SEA_OK ? std::string() : fmt::format("{}: {}", describe(), text));
}

void channel_end::finish(int status, const char *text)
{
    const channel_request r = std::move(requests_.front());
    requests_.pop_front();
    end(r.operation, r.outcome, status, text);
}

// ---- What can happen now happens ----

void channel_end::advance()
{
    if (busy_) return; // what runs looks again
    busy_ = true;
    sends_ ? advance_sender() : advance_receiver();
    busy_ = false;
}

void channel_end::close_now()
{
    if (fetching_ > 0) return;
    if (!self_closed_ && gone_ == SEA_OK) {
        self_closed_ = true;
        refuse_arrivals();
        tell(sends_ ? channel_note::sender_closed : channel_note::receiver_closed);
    }
    if (!peer_closed_ && gone_ == SEA_OK) return;
    arrived_.release();
    finish(peer_closed_ ? SEA_OK : gone_, "the other end's rank has ended");
    over_ = true;
}

void channel_end::advance_sender()
{
    while (channel_request *r = next()) {
        if (gone_ != SEA_OK && !r->closes) {
            finish(gone_, "the receiver has ended or cannot be reached");
        } else if (peer_closed_ && !r->closes) {
            finish(SEA_ERR_STATE, "the receiver has closed its end without receiving the message");
        } else if (!connected_ && gone_ == SEA_OK) {
            return;
        } else if (r->closes) {
            return close_now();
        } else if (!send(*r)) {
            return;
        }
    }
}

bool channel_end::send(const channel_request &r)
{
    if (messages_ - other_messages_ >= room_messages) return false;
    if (r.bytes <= outside_.room(peer_)) {
        if (bytes_ - other_bytes_ + r.bytes > room_bytes) return false;
        tell(channel_note::data, 0, {static_cast<const std::byte *>(r.memory), r.bytes});
        ++messages_;
        bytes_ += r.bytes;
        finish(SEA_OK, "");
        return true;
    }
    const std::uint64_t bytes = r.bytes;
    const std::uint64_t operation = r.operation;
    requests_.pop_front(); // it ends by the receiver's answer
    ++messages_;
    tell(channel_note::offer, operation, std::as_bytes(std::span(&bytes, 1)));
    return true;
}

void channel_end::advance_receiver()
{
    while (channel_request *r = next()) {
        if (r->closes) {
            close_now();
            break;
        }
        if (!arrived_.empty()) {
            const channel_request taken = *r;
            requests_.pop_front();
            take(taken);
        } else if (gone_ != SEA_OK) {
            finish(gone_, "the sender has ended or cannot be reached, and no message of it is left");
        } else if (peer_closed_) {
            finish(SEA_ERR_STATE, "the sender has closed its end, and no message is left");
        } else {
            break;
        }
    }
    tell_room();
}

void channel_end::tell_room()
{
    const bool half = messages_ - other_messages_ >= room_messages / 2 || bytes_ - other_bytes_ >= room_bytes / 2;
    if (!half || self_closed_ || peer_closed_) return;
    other_messages_ = messages_;
    other_bytes_ = bytes_;
    const std::array<std::uint64_t, 2> taken{messages_, bytes_};
    tell(channel_note::room, 0, std::as_bytes(std::span(taken)));
}

// The first of the messages that have arrived goes to this receive.
void channel_end::take(const channel_request &r)
{
    arrival a = std::move(arrived_.front());
    arrived_.pop_front();
    if (arrived_.empty()) arrived_.release();
    ++messages_;
    if (a.send == 0) {
        bytes_ += a.bytes;
        return store(r, a.data.get(), a.bytes);
    }
    const std::size_t bytes = std::min<std::uint64_t>(r.bytes, a.bytes);
    auto *f = new channel_fetch{this, r.operation, a.send, r.told, {bytes, std::size_t(a.bytes - bytes)}, r.outcome};
    ++fetching_;
    if (bytes == 0) return fetched(f, SEA_OK);
    outside_.fetch(peer_, a.send, r.memory, bytes, f);
}

void channel_end::store(const channel_request &r, const std::byte *data, std::size_t bytes)
{
    const std::size_t fits = std::min(bytes, r.bytes);
    if (fits) copy_bytes(r.memory, data, fits);
    if (r.told) *r.told = {fits, bytes - fits};
    end(r.operation, r.outcome, SEA_OK, "");
}

void channel_end::fetched(channel_fetch *f, int status)
{
    const std::unique_ptr<channel_fetch> owned(f);
    --fetching_;
    if (gone_ == SEA_OK) outside_.answer(peer_, f->send, status);
    if (status == SEA_OK && f->told) *f->told = f->result;
    end(f->receive, f->outcome, status, "the data could not be fetched");
    if (channel_request *r = fetching_ == 0 ? next() : nullptr; r && r->closes) advance();
}

// ---- What the peer says ----

void channel_end::on_data(std::span<const std::byte> payload)
{
    if (sends_ || self_closed_) return;
    if (channel_request *r = arrived_.empty() ? next() : nullptr; r && !r->closes) {
        const channel_request taken = *r;
        requests_.pop_front();
        ++messages_;
        bytes_ += payload.size();
        store(taken, payload.data(), payload.size());
        return advance(); // a close may have waited behind it
    }
    arrival a;
    a.bytes = payload.size();
    a.data = std::make_unique<std::byte[]>(payload.size());
    if (!payload.empty()) copy_bytes(a.data.get(), payload.data(), payload.size());
    arrived_.push_back(std::move(a));
}

void channel_end::on_offer(std::uint64_t send, std::uint64_t bytes)
{
    if (sends_ || send == 0) return;
    if (self_closed_) return outside_.answer(peer_, send, SEA_ERR_STATE);
    arrival a;
    a.send = send;
    a.bytes = bytes;
    arrived_.push_back(std::move(a));
    advance();
}

void channel_end::refuse_arrivals()
{
    for (; !arrived_.empty(); arrived_.pop_front())
        if (arrived_.front().send) outside_.answer(peer_, arrived_.front().send, SEA_ERR_STATE);
}

void channel_end::on_room(std::uint64_t messages, std::uint64_t bytes)
{
    if (!sends_ || messages > messages_ || bytes > bytes_) return;
    other_messages_ = messages;
    other_bytes_ = bytes;
    advance();
}

void channel_end::on_open()
{
    connected_ = true;
    advance();
}

void channel_end::on_closed()
{
    peer_closed_ = true;
    advance();
}

// What has arrived whole can still be received, but nothing behind a message that has not.
void channel_end::on_gone(int status)
{
    if (gone_ != SEA_OK) return;
    gone_ = status;
    std::size_t whole = 0;
    while (whole < arrived_.size() && arrived_[whole].send == 0) ++whole;
    while (arrived_.size() > whole) arrived_.pop_back();
    advance();
}

} // namespace onesea::msg
