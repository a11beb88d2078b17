// SPDX-License-Identifier: Apache-2.0
// A message that waits, and a receive that waits.
#pragma once

#include "coll/call.hpp"
#include "msg/matcher.hpp"
#include "msg/way_choice.hpp"
#include "onesea/message.h"
#include "shm/shares.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

namespace onesea::msg {

// What an offer carries: where the data is, and the sender's operation.
struct offer_words {
    std::uint64_t bytes = 0, id = 0, address = 0;
};
static_assert(sizeof(offer_words) == 24);

struct request;

struct letter final : arrival {
    std::size_t bytes = 0;
    bool stays = false;       // an offer: its data is with the sender
    bool whole = true;        // all its data is here
    int lost = SEA_OK;        // why the rest of it did not come
    request *taker = nullptr; // of one that is not whole
    offer_words offer;

    const std::size_t room; // bytes of data, behind it: letter_box.hpp

    explicit letter(std::size_t bytes_of_data) : room(bytes_of_data) {}
    std::byte *data() { return reinterpret_cast<std::byte *>(this + 1); }
};

static_assert(sizeof(letter) <= 160); // as message.h says of envelopes

// What an eager message is charged: its bytes, and about what its letter and its queues take.
inline constexpr std::size_t letter_overhead = 512;
inline std::size_t charge(std::size_t bytes) { return bytes + letter_overhead; }

struct request final : posted {
    // waiting: posted. fetching: the library is bringing the data. own_fetch: the thread behind it is to bring it.
    enum class phase : std::uint8_t { waiting, fetching, own_fetch, done };
    std::atomic<phase> state{phase::waiting};
    bool may_sleep = false; // its thread may have to be woken
    void *buffer = nullptr;
    std::size_t capacity = 0;
    sea_message_info *info = nullptr;
    std::shared_ptr<coll::team> team; // nullptr: SEA_TEAM_WORLD
    std::uint64_t operation = 0;      // of core; 0: none
    bool kept = false;                // it is in the receive table
    std::uint64_t follower = 0;       // an operation that ends as this does; 0: none

    // What it has met.
    int status = SEA_OK;
    int source = -1, tag = -1;
    std::size_t bytes = 0, fetched = 0;
    offer_words offer;
    const std::byte *mapped = nullptr; // where the sender's memory is in this process; nullptr: nowhere
    std::uint32_t order = 0;           // its number, while its data is to come over the sender's stage
    bool ordered = false;
    std::size_t piece = 0;     // bytes, of that order
    shm::reader_shares shares; // open: its data comes in shares
    bool alone = false;        // the sender could not help
    bool by_kernel = false;    // has copied some of it from process to process
    std::optional<way> comes;  // once it was chosen
    nanoseconds began = 0;     // to come by both; 0: it did not, or not all of it

    // Every receive with a handle takes one, more at a time than malloc has at hand: a thread keeps some that it
    // has deleted (letter.cpp).
    static constexpr std::size_t most_spare = 512;
    static void *operator new(std::size_t bytes);
    static void operator delete(void *memory);
    static std::size_t spare(); // of this thread

    // Else a thread waits, and it lies on its stack.
    bool has_handle() const { return kept || operation; }
    std::size_t wanted() const { return bytes < capacity ? bytes : capacity; }
    int good_status() const { return bytes > capacity ? SEA_ERR_TRUNCATED : SEA_OK; }
};

} // namespace onesea::msg
