// SPDX-License-Identifier: Apache-2.0
#include "shm/rank_table.hpp"

#include <algorithm>
#include <cstring>

namespace onesea::shm {
namespace {

bool link_local(const std::uint8_t *address) { return address[0] == 0xfe && (address[1] & 0xc0) == 0x80; }

} // namespace

node_place node_table::operator[](std::uint32_t node) const
{
    const std::uint8_t *entry = memory_ + node * entry_bytes;
    node_place place;
    std::memcpy(place.address, entry, sizeof place.address);
    place.mtu = kinds_.mtu[entry[16]];
    place.scope = link_local(entry) ? kinds_.scope : 0;
    return place;
}

std::uint8_t node_table::kind_of(std::uint32_t mtu) const
{
    auto *end = kinds_.mtu + kinds_.count, *found = std::find(kinds_.mtu, end, mtu);
    if (found == end && kinds_.count < node_kinds::capacity) {
        kinds_.mtu[kinds_.count++] = mtu;
    } else if (found == end) {
        found = kinds_.mtu;
        for (auto *m = kinds_.mtu; m != end; ++m)
            if (*m <= mtu && (*m > *found || *found > mtu)) found = m;
    }
    return std::uint8_t(found - kinds_.mtu);
}

void node_table::set(std::uint32_t node, const std::uint8_t *address, std::uint32_t mtu) const
{
    std::uint8_t *entry = memory_ + node * entry_bytes;
    std::memcpy(entry, address, 16);
    entry[16] = kind_of(mtu);
}

void rank_table::place(int rank, std::uint32_t node, std::uint16_t port) const
{
    port_[rank] = port;
    word_[rank].store(node << node_shift | std::uint32_t(rank_state::alive), std::memory_order_release);
}

// The entry, the word, the number of entries: who finds a rank in the log finds it ended, and who finds it ended finds
// it in the log or one entry behind.
bool rank_table::end(int rank, rank_state state, std::uint8_t status) const
{
    if (!alive(rank)) return false;
    std::uint32_t n = ended_.load(std::memory_order_relaxed);
    log_[n].store(std::uint32_t(rank) + 1, std::memory_order_relaxed);
    word_[rank].store(node(rank) << node_shift | std::uint32_t(status) << status_shift | std::uint32_t(state),
                      std::memory_order_release);
    ended_.store(n + 1, std::memory_order_release);
    return true;
}

bool rank_table::end_was_told(int rank, std::uint32_t told) const
{
    if (alive(rank)) return false;
    const std::uint32_t behind = std::min(ended() + 1, capacity_);
    for (std::uint32_t i = told; i < behind; ++i)
        if (ended_rank(i) == rank) return false;
    return true;
}

} // namespace onesea::shm
