// SPDX-License-Identifier: Apache-2.0
// The requests of this process. A request is a number: place in a table and how often that place was used before, so
// that one that was used up is told from the one that has its place now. Places never move and are never given back to
// the system, for a receive in flight writes to its place.
//
//     63            32 31             0
//     +---------------+---------------+
//     |     turn      |  place + 1    |      turn: odd while in use
//     +---------------+---------------+
//
// Looking a request up takes no lock. Two threads that wait for one request (a mistake of the program) get one
// completion and one error: only one retires the place. While one does, the other (or one that withdraws the request,
// which is no mistake) may have found the place and read from it what is the next user's: so it looks at the turn again
// after reading (operation_of), and the operation is written only when the turn is.
#pragma once

#include "mmp.h"
#include "short_lock.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <onesea/message.h>

namespace mmp {

struct request {
    std::atomic<std::uint32_t> turn = 0;
    std::atomic<sea_op> op = SEA_OP_NONE; // none: it ended at once, with the status
    int status = SEA_OK;
    char *words = nullptr; // of Onesea, about that status; who uses the request up frees them
    std::atomic<bool> sends = false;
    int rank = 0, tag = 0; // as given
    std::size_t bytes = 0;
    sea_message_info info{}; // of a receive, written by Onesea
    std::uint32_t place = 0;
    request *next_free = nullptr;
};

class request_table {
  public:
    request_table() = default;
    ~request_table();
    request_table(const request_table &) = delete;
    request_table &operator=(const request_table &) = delete;

    // A place in use; NULL if there is none left.
    request *take();
    // Takes back the place of a request whose operation did not start, or is complete and was read. False: another
    // thread did.
    bool retire(request &r, MP_request number);

    static MP_request number_of(const request &r);
    // NULL if it is not in use.
    request *find(MP_request number) const;
    // The operation of that request; false: it was used up meanwhile.
    static bool operation_of(const request &r, MP_request number, sea_op *op);
    // Calls use(const request &) for each that is in use; no other thread may use the table.
    template <class Use>
    void for_each(Use &&use) const
    {
        for (std::uint32_t i = 0; i < made_; ++i)
            for (const request &r : *chunks_[i].load(std::memory_order_relaxed))
                if (r.turn.load(std::memory_order_relaxed) % 2 != 0) use(r);
    }

  private:
    static constexpr std::uint32_t in_chunk = 1024, chunks = 4096;
    using chunk = std::array<request, in_chunk>;

    bool grow();

    short_lock lock_;
    request *free_ = nullptr;
    std::uint32_t made_ = 0; // chunks
    std::array<std::atomic<chunk *>, chunks> chunks_{};
};

// Those of this process; never destroyed, for threads may still wait while it exits.
request_table &requests();

} // namespace mmp
