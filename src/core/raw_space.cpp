// SPDX-License-Identifier: Apache-2.0
// sea_raw_open, sea_raw_close, and what own_raw_space does for others.
#include "core/raw_space.hpp"

#include "base/copy.hpp"
#include "base/pages.hpp"
#include "core/engine.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace onesea::core {
namespace {

constexpr std::size_t chunk_bytes = 128 * 1024;
constexpr unsigned most_chunks = 8;         // in flight to a rank; 1 MiB keeps a link busy
constexpr std::size_t most_in_flight = 256; // altogether; when there are more, each rank has one
constexpr std::size_t most_spare = 8;
constexpr std::size_t long_payload = 2048; // bytes: worth a call of the kernel where its copy would be slow

} // namespace

struct own_raw_space::chunk : delivery {
    own_raw_space *owner;
    int rank;
    std::array<std::byte, chunk_bytes> data;
};

own_raw_space::own_raw_space(std::unique_ptr<shm::careful_memory> memory) : memory_(std::move(memory)) {}

own_raw_space::~own_raw_space() = default;

int own_raw_space::create(std::unique_ptr<own_raw_space> *result)
{
    int error = 0;
    auto memory = shm::careful_memory::create(&error);
    if (!memory)
        return fail(error == ENOMEM ? SEA_ERR_MEMORY : SEA_ERR_SYSTEM, "sea_raw_open: no memory for copies: {}",
                    std::strerror(error));
    result->reset(new own_raw_space(std::move(memory)));
    return SEA_OK;
}

// Is it the rest of the last piece?
bool own_raw_space::continues(int source, const frame &head) const
{
    if (pieces_.empty()) return false;
    const origin &last = origins_.back();
    const bool same_flags = ((head.flags ^ last.head.flags) & ~frame_flags::last) == 0;
    return source == last.source && head.id == last.head.id && same_flags &&
           (head.position & ~raw_space) == pieces_.back().to + pieces_.back().bytes;
}

void own_raw_space::gather(int source, const frame &head, std::span<const std::byte> payload)
{
    using shm::careful_memory;
    if (!open) return refuse_once(source, head, SEA_ERR_ACCESS);
    if (payload.size() > careful_memory::bounce_bytes) { // a record of a node whose profile lets them be so long
        finish_gathered();
        const int s = memory_->write(head.position & ~raw_space, payload.data(), payload.size());
        if (s != SEA_OK) refuse_once(source, head, s);
        return;
    }
    const std::uint64_t to = head.position & ~raw_space;
    if (payload.size() > careful_memory::bounce_bytes - gathered_ || pieces_.size() == careful_memory::most_pieces ||
        (payload.size() >= long_payload && copies_slowly(reinterpret_cast<const void *>(to), gather_at())))
        finish_gathered();
    if (gathered_ == 0) begin_ = to % page_bytes;
    if (continues(source, head)) {
        pieces_.back().bytes += payload.size();
    } else if (!payload.empty()) {
        pieces_.push_back({to, payload.size(), SEA_OK});
        origins_.push_back({source, head});
    }
    if (!payload.empty()) copy_bytes(gather_at(), payload.data(), payload.size());
    gathered_ += payload.size();
}

void own_raw_space::write_gathered()
{
    gathered_ = 0;
    memory_->write_gathered(pieces_, begin_);
    for (std::size_t i = 0; i < pieces_.size(); ++i)
        if (pieces_[i].status != SEA_OK) refuse_once(origins_[i].source, origins_[i].head, pieces_[i].status);
    pieces_.clear();
    origins_.clear();
}

void own_raw_space::refuse_once(int source, const frame &head, int status)
{
    const bool told = source == refused_.source && head.id == refused_.head.id && head.id != quick_id;
    if (told) return;
    refused_ = {source, head};
    refuse(source, head, status);
}

void own_raw_space::answer(int rank, std::uint64_t id, std::uint64_t cookie, std::uint64_t position,
                           std::uint64_t bytes)
{
    askers_[rank].queue.push_back({id, cookie, position, bytes});
    work(rank);
}

// Sends as much as may be in flight. What settles meanwhile is seen by the loop that is running.
void own_raw_space::work(int rank)
{
    auto found = askers_.find(rank);
    if (found == askers_.end() || found->second.busy) return;
    asker &a = found->second;
    a.busy = true;
    while (!a.queue.empty() && (a.in_flight == 0 || (a.in_flight < most_chunks && flying_.size() < most_in_flight)))
        send_next(rank, a);
    a.busy = false;
    if (a.queue.empty() && a.in_flight == 0) askers_.erase(found);
}

std::unique_ptr<own_raw_space::chunk> own_raw_space::take_chunk(int rank)
{
    std::unique_ptr<chunk> c;
    if (spare_.empty()) {
        c.reset(new chunk);
    } else {
        c = std::move(spare_.back());
        spare_.pop_back();
    }
    c->delivery::settled = chunk_settled;
    c->owner = this;
    c->rank = rank;
    return c;
}

void own_raw_space::send_next(int rank, asker &a)
{
    pending &p = a.queue.front();
    const std::size_t bytes = std::min<std::uint64_t>(chunk_bytes, p.bytes);
    auto c = take_chunk(rank);
    int s = open ? memory_->read(c->data.data(), p.position & ~raw_space, bytes) : SEA_ERR_ACCESS;
    transport *t = engine().route(rank);
    if (s != SEA_OK || !t) {
        spare_.push_back(std::move(c));
        const pending ended = p;
        std::erase_if(a.queue,
                      [&](const pending &other) { return other.id == ended.id; }); // other pieces of its vector
        return send_done(rank, ended.id, s, ended.position);
    }
    outgoing m;
    m.head.type = frame_type::data;
    m.head.position = p.cookie;
    m.head.id = p.id;
    m.payload = c->data.data();
    m.bytes = bytes;
    m.borrow = true;
    m.done = c.get();
    p.cookie += bytes;
    p.position += bytes;
    p.bytes -= bytes;
    if (p.bytes == 0) a.queue.pop_front(); // before send(), which may tell that the rank has ended
    ++a.in_flight;
    flying_[c.get()] = std::move(c);
    t->send(rank, m);
}

void own_raw_space::chunk_settled(delivery *d, int status)
{
    auto *c = static_cast<chunk *>(d);
    own_raw_space &own = *c->owner;
    const int rank = c->rank;
    auto flown = own.flying_.extract(c);
    if (own.spare_.size() < most_spare) own.spare_.push_back(std::move(flown.mapped()));
    asker &a = own.askers_.at(rank);
    --a.in_flight;
    if (status != SEA_OK) a.queue.clear();
    own.work(rank);
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_raw_open(void)
try {
    if (int s = check_started("sea_raw_open")) return s;
    auto &e = engine();
    locked lock = enter();
    if (!e.raw)
        if (int s = own_raw_space::create(&e.raw)) return s;
    e.raw->open = true;
    e.arena.slot_at(e.slot).raw_open.store(1, std::memory_order_seq_cst);
    return SEA_OK;
} catch (const std::bad_alloc &) {
    return no_memory("sea_raw_open");
}

int sea_raw_close(void)
{
    if (int s = check_started("sea_raw_close")) return s;
    auto &e = engine();
    locked lock = enter();
    if (!e.raw || !e.raw->open) return SEA_OK;
    e.arena.slot_at(e.slot).raw_open.store(0, std::memory_order_seq_cst);
    e.raw->open = false;
    std::vector<bool> passed;
    const int s = wait(
        lock, [&] { return e.shm->nobody_copies(&passed); }, thread_deadline(), 1'000'000); // a copy rings no bell
    return told_by_name(s, [&] {
        const auto slot = unsigned(std::find(passed.begin(), passed.end(), false) - passed.begin());
        return fmt::format("sea_raw_close: rank {} still reads or writes there", int(e.arena.slot_at(slot).rank));
    });
}
