// SPDX-License-Identifier: Apache-2.0
#include "rank.hpp"

#include "pattern.hpp"
#include "world.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace onesea::sim {

std::string operation::text() const
{
    static constexpr const char *names[] = {"put",       "put_signal", "bad_put", "get",     "bad_get",        "add",
                                            "fetch_add", "contest",    "swap",    "message", "ordered message"};
    static_assert(std::size(names) == std::size_t(action::kinds));
    return fmt::format("operation {} ({} of {} bytes, rank {} to {})", id, names[std::size_t(what)], bytes, origin,
                       target);
}

rank::rank(world &w, unsigned self, std::vector<std::uint64_t> cell_sizes)
    : gone(w.ranks_planned()), world_(w), self_(self), sent_(w.ranks_planned()), received_(w.ranks_planned())
{
    std::uint64_t offset = cells_from;
    for (std::uint64_t bytes : cell_sizes) {
        cells.emplace_back();
        cells.back().offset = offset;
        cells.back().bytes = bytes;
        offset += bytes;
    }
    memory.resize(offset);
}

std::uint64_t rank::word(std::uint64_t offset) const
{
    std::uint64_t value;
    std::memcpy(&value, memory.data() + offset, sizeof value);
    return value;
}

bool rank::fits(std::uint64_t offset, std::uint64_t bytes) const
{
    return offset <= memory.size() && bytes <= memory.size() - offset;
}

// ---- as an origin ----

void rank::send(operation &op, outgoing m)
{
    m.head.id = op.id;
    m.done = &op;
    m.at_leisure = op.id % 3 == 0;
    net->send(int(op.target), m);
}

void rank::begin(operation &op)
{
    op.owner = this;
    op.settled = [](delivery *d, int status) {
        auto &o = *static_cast<operation *>(d);
        o.owner->settled(o, status);
    };
    ++unfinished;
    op.messages = op.what == action::put_signal ? 2 : 1;
    op.awaits_answer =
        op.what != action::put && op.what != action::put_signal && op.what != action::bad_put && op.what != action::add;
    outgoing m;
    switch (op.what) {
    case action::put:
    case action::put_signal:
    case action::bad_put:
        return begin_put(op);
    case action::get:
    case action::bad_get:
        op.data.resize(op.bytes);
        m.head.type = frame_type::get;
        m.head.position = op.offset;
        m.payload = &op.bytes;
        m.bytes = sizeof op.bytes;
        if (op.id % 2 && being_answered_ == 0) being_answered_ = op.id; // as for a message, from the first byte on
        return send(op, m);
    case action::message:
    case action::ordered:
        op.data.resize(op.bytes);
        set_pattern(op.data.data(), op.id, 0, op.bytes);
        m.head.type = frame_type::am;
        m.ordered = op.what == action::ordered;
        m.head.position = op.sequence = m.ordered ? sent_[op.target]++ : 0;
        m.payload = op.data.data();
        m.bytes = op.bytes;
        return send(op, m);
    default:
        return begin_atomic(op);
    }
}

void rank::begin_put(operation &op)
{
    op.data.resize(op.bytes);
    set_pattern(op.data.data(), op.id, 0, op.bytes);
    outgoing m;
    m.head.type = frame_type::put;
    m.head.position = op.offset;
    m.payload = op.data.data();
    m.bytes = op.bytes;
    m.borrow = op.bytes > net->max_copied_frame(int(op.target)) || op.id % 2;
    send(op, m);
    if (op.what != action::put_signal) return;
    outgoing s;
    s.head.type = frame_type::signal;
    s.head.position = op.place->offset + op.place->bytes - 8;
    s.payload = &op.id;
    s.bytes = sizeof op.id;
    s.ordered = true;
    send(op, s);
}

void rank::begin_atomic(operation &op)
{
    const std::uint64_t words[2] = {op.operand, op.compare};
    outgoing m;
    m.head.type = frame_type::atomic;
    m.head.position = op.offset;
    m.payload = words;
    m.bytes = sizeof words;
    send(op, m);
}

void rank::settled(operation &op, int status)
{
    if (++op.settled_messages > op.messages) return world_.wrong(op.text() + " settled too often");
    if (op.status == SEA_OK) op.status = status;
    if (op.settled_messages == op.messages && !op.awaits_answer) { // nobody may read it any more: tell on who does
        std::fill(op.data.begin(), op.data.end(), std::byte(0xee));
        op.data = {};
    }
    if (status != SEA_OK && op.awaits_answer) op.answered = true;
    finish_if_over(op);
}

void rank::answered(operation &op, int status)
{
    if (op.answered) return world_.wrong(op.text() + " answered twice");
    op.answered = true;
    if (op.status == SEA_OK) op.status = status;
    finish_if_over(op);
}

void rank::fail_towards(unsigned target, int status)
{
    for (std::size_t i = 0; i < world_.operations().size(); ++i) {
        operation &op = world_.operations()[i];
        if (op.origin == self_ && op.target == target && !op.done && op.awaits_answer && !op.answered)
            answered(op, status);
    }
}

void rank::unreachable(int source) { fail_towards(unsigned(source), SEA_ERR_LINK); }

void rank::finish_if_over(operation &op)
{
    if (op.done || op.settled_messages < op.messages || (op.awaits_answer && !op.answered)) return;
    op.done = true;
    --unfinished;
    finish(op);
}

void rank::finish(operation &op)
{
    if (std::string text = check(op); !text.empty()) world_.wrong(op.text() + ": " + text);
    world_.count_end(op);
    if (!op.place) return;
    if (op.status != SEA_OK) return leave_unsure(op);
    cell &c = *op.place;
    if (op.what == action::put || op.what == action::put_signal) c.key = op.id;
    if (op.what == action::put_signal) c.word = op.id;
    if (op.what == action::swap) c.word = op.operand;
    c.taken = false;
}

// What it wanted to write may be there or not. Its cell stays taken: late packets may still write, or read.
void rank::leave_unsure(const operation &op)
{
    const bool writes = op.what == action::put || op.what == action::put_signal;
    cell &c = *op.place;
    c.unsure = writes || op.what == action::swap;
    c.other_key = op.id;
    c.other_bytes = writes ? op.bytes : 0;
    c.other_word = op.what == action::swap ? op.operand : op.what == action::put_signal ? op.id : c.word;
}

// Empty, or what is wrong with how it ended.
std::string rank::check(const operation &op) const
{
    const rank &target = world_.at(op.target);
    if (op.executions > 1) return fmt::format("executed {} times", op.executions);
    if (op.status == SEA_ERR_DEAD) return target.dead ? "" : "its target is said to be dead, and lives";
    if (op.status == SEA_ERR_LINK) return world_.links_may_fail() ? "" : "its link was given up without a reason";
    if (op.is_bad()) return op.status == SEA_ERR_ADDRESS ? "" : fmt::format("ended with {}", op.status);
    if (op.status != SEA_OK) return fmt::format("ended with {}", op.status);
    const cell *c = op.place;
    switch (op.what) {
    case action::put:
    case action::put_signal:
        if (op.executed_bytes != op.bytes) return fmt::format("{} bytes were executed", op.executed_bytes);
        if (!holds_pattern(target.memory.data() + op.offset, op.id, 0, op.bytes)) return "is not in memory";
        if (op.what == action::put_signal && target.word(c->offset + c->bytes - 8) != op.id) return "has not signalled";
        return "";
    case action::get:
        return holds_pattern(op.data.data(), c->key, op.offset - c->offset, op.bytes) ? "" : "got wrong bytes";
    case action::swap:
        if (op.result != c->word) return fmt::format("found {} where {} was", op.result, c->word);
        [[fallthrough]];
    case action::fetch_add:
    case action::contest:
        if (op.result != op.replaced) return "its answer is not what was there";
        [[fallthrough]];
    default:
        return op.executions == 1 ? "" : "was not executed";
    }
}

// ---- as a target ----

// nullptr: such a frame cannot be for this rank.
operation *rank::request(int source, const frame &head)
{
    operation *op = world_.find(head.id);
    if (op && op->origin == unsigned(source) && op->target == self_) return op;
    world_.wrong(fmt::format("rank {} got a request {} that rank {} has not sent to it", self_, head.id, source));
    return nullptr;
}

operation *rank::mine(int source, const frame &head)
{
    operation *op = world_.find(head.id);
    if (op && op->origin == self_ && op->target == unsigned(source)) return op;
    world_.wrong(fmt::format("rank {} got an answer {} that rank {} cannot give", self_, head.id, source));
    return nullptr;
}

void rank::send_done(const operation &op, int status)
{
    outgoing m;
    m.head.type = frame_type::done;
    m.head.aux = std::uint16_t(std::int16_t(status));
    m.head.id = op.id;
    m.notice = status != SEA_OK;
    m.lazy = !m.notice && op.id % 2;
    net->send(int(op.origin), m);
}

void rank::on_put(operation &op, const frame &head, std::span<const std::byte> payload)
{
    if (!fits(head.position, payload.size())) return send_done(op, SEA_ERR_ADDRESS);
    if (op.is_bad()) return world_.wrong(op.text() + " fits");
    if (!holds_pattern(payload.data(), op.id, head.position - op.offset, payload.size()))
        return world_.wrong(op.text() + " brings wrong bytes");
    if (std::find(op.pieces.begin(), op.pieces.end(), head.position) != op.pieces.end())
        return world_.wrong(op.text() + ": a piece was executed twice");
    op.pieces.push_back(head.position);
    op.executed_bytes += payload.size();
    std::memcpy(memory.data() + head.position, payload.data(), payload.size());
}

void rank::on_signal(operation &op, const frame &head, std::span<const std::byte> payload)
{
    if (op.signalled) world_.wrong(op.text() + " signals twice");
    op.signalled = true;
    if (!holds_pattern(memory.data() + op.offset, op.id, 0, op.bytes)) world_.wrong(op.text() + " signals too early");
    std::memcpy(memory.data() + head.position, payload.data(), 8);
}

void rank::on_get(operation &op, const frame &head)
{
    ++op.executions;
    if (!fits(head.position, op.bytes)) return send_done(op, SEA_ERR_ADDRESS);
    outgoing m;
    m.head.type = frame_type::data;
    m.head.id = op.id;
    m.payload = memory.data() + head.position;
    m.bytes = op.bytes;
    m.borrow = op.bytes > std::min<std::size_t>(8192, net->max_frame(int(op.origin)));
    net->send(int(op.origin), m);
}

void rank::on_atomic(operation &op, const frame &head, std::span<const std::byte> payload)
{
    std::uint64_t words[2], now = word(head.position);
    std::memcpy(words, payload.data(), sizeof words);
    ++op.executions;
    op.replaced = now;
    const bool adds = op.what == action::add || op.what == action::fetch_add;
    if (adds || now == words[1]) {
        std::uint64_t next = adds ? now + words[0] : words[0];
        std::memcpy(memory.data() + head.position, &next, sizeof next);
    }
    if (op.what == action::add) return;
    outgoing m;
    m.head.type = frame_type::value;
    m.head.id = op.id;
    m.payload = &now;
    m.bytes = sizeof now;
    net->send(int(op.origin), m);
}

void rank::on_message(operation &op, const frame &head, std::span<const std::byte> payload)
{
    ++op.executions;
    if (payload.size() != op.bytes || !holds_pattern(payload.data(), op.id, 0, op.bytes))
        world_.wrong(op.text() + " brings wrong bytes");
    if (op.what == action::ordered && head.position != received_[op.origin]++)
        world_.wrong(op.text() + fmt::format(" is number {}, not {}", head.position, received_[op.origin] - 1));
    send_done(op, SEA_OK);
}

void rank::on_data(operation &op, const frame &head, std::span<const std::byte> payload)
{
    if (op.done || op.answered) return; // it has failed meanwhile
    if (head.position > op.bytes || payload.size() > op.bytes - head.position)
        return world_.wrong(op.text() + " is answered with too much");
    if (payload.data() == op.data.data() + head.position)
        world_.count_landed(payload.size());
    else
        std::memcpy(op.data.data() + head.position, payload.data(), payload.size());
    op.answer_bytes += payload.size();
    if (head.position == op.answer_from_start) op.answer_from_start += payload.size();
    if (op.answer_bytes < op.bytes) being_answered_ = op.id;
    if (op.answer_bytes == op.bytes) answered(op, SEA_OK);
}

bool rank::expects(expectation *next)
{
    operation *op = being_answered_ ? world_.find(being_answered_) : nullptr;
    if (!op || op->done || op->answered || op->answer_from_start != op->answer_bytes) {
        being_answered_ = 0;
        return false;
    }
    next->source = int(op->target);
    next->to = op->data.data() + op->answer_bytes;
    next->bytes = op->bytes - op->answer_bytes;
    next->head.type = frame_type::data;
    next->head.id = op->id;
    next->head.position = op->answer_bytes;
    return true;
}

void rank::receive(int source, const frame &head, std::span<const std::byte> payload)
{
    const bool is_answer =
        head.type == frame_type::data || head.type == frame_type::value || head.type == frame_type::done;
    operation *op = is_answer ? mine(source, head) : request(source, head);
    if (!op) return;
    switch (head.type) {
    case frame_type::put:
        return on_put(*op, head, payload);
    case frame_type::signal:
        return on_signal(*op, head, payload);
    case frame_type::get:
        return on_get(*op, head);
    case frame_type::atomic:
        return on_atomic(*op, head, payload);
    case frame_type::am:
        return on_message(*op, head, payload);
    case frame_type::data:
        return on_data(*op, head, payload);
    case frame_type::value:
        if (op->done || op->answered) return;
        std::memcpy(&op->result, payload.data(), sizeof op->result);
        return answered(*op, SEA_OK);
    case frame_type::done:
        if (op->done) // an error comes before, or with, the end of what it is about
            return op->status == SEA_OK ? world_.wrong(op->text() + " is refused after its end") : void();
        if (op->awaits_answer && !op->answered) return answered(*op, std::int16_t(head.aux));
        if (op->status == SEA_OK) op->status = std::int16_t(head.aux);
        return;
    default:
        world_.wrong(fmt::format("rank {} got a frame of type {}", self_, unsigned(head.type)));
    }
}

// ---- at the end ----

std::string rank::check_cell(const cell &c) const
{
    const std::byte *bytes = memory.data() + c.offset;
    const bool as_written = holds_pattern(bytes, c.key, 0, c.bytes - 8);
    for (std::uint64_t i = 0; !as_written && i < c.bytes - 8; ++i) {
        if (bytes[i] == pattern(c.key, i)) continue;
        if (c.unsure && i < c.other_bytes && bytes[i] == pattern(c.other_key, i)) continue;
        return fmt::format("byte {} of the cell at {} is {}", i, c.offset, unsigned(bytes[i]));
    }
    std::uint64_t w = word(c.offset + c.bytes - 8);
    if (w == c.word || (c.unsure && w == c.other_word)) return "";
    return fmt::format("the word of the cell at {} is {}, not {}", c.offset, w, c.word);
}

std::string rank::check_memory() const
{
    for (const cell &c : cells)
        if (std::string text = check_cell(c); !text.empty()) return fmt::format("rank {}: {}", self_, text);
    // What was added; and of the contests a chain: each winner replaces what the one before it has put there.
    std::uint64_t expected[2 * shared_words] = {};
    for (const operation &op : world_.operations()) {
        if (op.target != self_ || !op.executions) continue;
        if (op.what == action::add || op.what == action::fetch_add) expected[op.offset / 8] += op.operand;
        if (op.what == action::contest && op.replaced == op.compare)
            expected[op.offset / 8] ^= op.replaced ^ op.operand;
    }
    for (unsigned i = 0; i < 2 * shared_words; ++i)
        if (word(8 * i) != expected[i])
            return fmt::format("rank {}: word {} is {}, not {}", self_, i, word(8 * i), expected[i]);
    return "";
}

} // namespace onesea::sim
