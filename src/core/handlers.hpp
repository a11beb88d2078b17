// SPDX-License-Identifier: Apache-2.0
// What waits to be run by the program's handlers: active messages that arrived, completions of those whose data had to
// be fetched, news of deaths and of errors. One at a time, in order of arrival. An ordered message whose data is still
// being fetched holds back the ordered ones of its origin that came after it.
//
// Messages of the library may run beside: they have a queue of their own, and need not wait for a handler of the
// program that takes long, or that waits for them itself.
#pragma once

#include "core/internal.hpp"
#include "onesea.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace onesea::core {

struct handler_task {
    enum class kind : std::uint8_t { message, completion, death, error };
    kind what = kind::message;
    bool ordered = false;
    bool untold = false;      // the origin does not want to hear of its end
    bool at_leisure = false;  // it does not wait for it,
    std::uint8_t asked = 0;   // unless it has asked more often since it came
    bool pulls = false;       // its data stays at the origin until a place for it is known
    std::uint16_t number = 0; // of its handler; error: the operation's kind
    int source = -1;
    std::uint64_t id = 0;         // the origin's operation
    std::vector<std::byte> bytes; // message: header (padded to 8), then data
    std::size_t header_bytes = 0;
    std::size_t data_bytes = 0;
    std::uint64_t data_at = 0;             // of a rank of the node: where in its process
    sea_am_complete_fn complete = nullptr; // completion
    void *buffer = nullptr;
    void *argument = nullptr;
    int status = 0; // death: exit status; completion: how the fetching went; error: the operation's
};

class handler_queue {
  public:
    struct entry {
        sea_am_header_fn fn = nullptr;
        void *context = nullptr;
        call_fn call = nullptr; // of a number of calls, instead of the others
        bool beside = false;    // short, waits for nobody, and several may run at once
    };
    std::array<entry, am_id_end> table{};
    std::array<arrival_fn, am_id_end - SEA_AM_IDS> at_arrival{}; // of internal numbers
    bool running = false;
    int running_beside = 0;

    void push(handler_task &&task);
    bool empty() const { return queue_.empty(); }
    bool any_beside() const { return !beside_.empty(); }
    bool idle() const { return queue_.empty() && !running && beside_.empty() && running_beside == 0; }
    // The next task that nothing holds back; false if there is none.
    bool pop(handler_task *task);
    bool pop_beside(handler_task *task);
    // The ordered messages of this source wait / go on.
    void stall(int source) { stalled_[source]; }
    void resume(int source);

  private:
    std::deque<handler_task> queue_, beside_;
    std::unordered_map<int, std::deque<handler_task>> stalled_;

    bool hold_back(handler_task &task);
};

} // namespace onesea::core
