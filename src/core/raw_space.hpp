// SPDX-License-Identifier: Apache-2.0
// This process's raw space, as others access it through messages. All under the engine lock.
//
// Puts: frames that come one after the other are gathered and written with one call of the kernel, at the latest before
// anything else is executed or acknowledged.
//
// Gets: what the link sends must stay as it is until it is acknowledged, and user memory may go away at any moment. So
// an answer is copied, chunk by chunk; a chunk that was acknowledged makes room for the next. Each rank has its own
// queue of answers and its own chunks, so that one that does not answer holds up nobody.
#pragma once

#include "base/transport.hpp"
#include "shm/careful_memory.hpp"

#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace onesea::core {

class own_raw_space {
  public:
    // SEA_OK or an error with its text.
    static int create(std::unique_ptr<own_raw_space> *result);
    ~own_raw_space();

    bool open = false;
    shm::careful_memory &memory() { return *memory_; }

    void gather(int source, const frame &head, std::span<const std::byte> payload);
    void finish_gathered()
    {
        if (gathered_ > 0) write_gathered(); // what has no bytes need not be written
    }

    // Sends `bytes` from `position` on to the operation `id` of that rank, as answers to be put at `cookie`.
    void answer(int rank, std::uint64_t id, std::uint64_t cookie, std::uint64_t position, std::uint64_t bytes);

  private:
    explicit own_raw_space(std::unique_ptr<shm::careful_memory> memory);

    struct chunk;
    struct pending {
        std::uint64_t id, cookie, position, bytes;
    };
    struct asker {
        std::deque<pending> queue;
        unsigned in_flight = 0; // chunks
        bool busy = false;      // its queue is being worked on further up the stack
    };
    std::unique_ptr<shm::careful_memory> memory_;
    std::vector<shm::careful_memory::piece> pieces_; // gathered
    struct origin {
        int source;
        frame head;
    };
    std::vector<origin> origins_; // of each piece: its first frame
    std::size_t gathered_ = 0;    // bytes
    std::size_t begin_ = 0;       // where they begin, in a page
    origin refused_{-1, {}};      // told last: an operation is told of once
    std::unordered_map<int, asker> askers_;
    std::unordered_map<chunk *, std::unique_ptr<chunk>> flying_;
    std::vector<std::unique_ptr<chunk>> spare_;

    bool continues(int source, const frame &head) const;
    std::byte *gather_at() const { return memory_->gathered() + begin_ + gathered_; }
    void write_gathered();
    void refuse_once(int source, const frame &head, int status);
    void work(int rank);
    std::unique_ptr<chunk> take_chunk(int rank);
    void send_next(int rank, asker &a);
    static void chunk_settled(delivery *d, int status);
};

} // namespace onesea::core
