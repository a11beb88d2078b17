// SPDX-License-Identifier: Apache-2.0
// A call on a structure from the caller's side: executed here if the owner is of this node, else by its owner for one
// message and one answer.
#pragma once

#include "data/execution.hpp"

#include <memory>
#include <vector>

namespace onesea::data {

// Bytes of the library's own, for calls: where one is given up (SEA_ERR_TIMEOUT) while its data is on its way, that
// owns them as well.
using kept_bytes = std::shared_ptr<std::vector<std::byte>>;
// None yet; room for so many, each 0; SEA_ERR_MEMORY if this process has not enough.
int new_bytes(const char *function, kept_bytes *bytes, std::size_t n = 0);

struct asking {
    const char *function; // of the public interface, for the texts of errors
    verb what;
    kind of; // structure, for the texts of errors
    sea_addr at = SEA_NULL;
    int owner = -1;
    std::span<const std::byte> arguments = {};
    std::span<const std::byte> data = {};
    std::shared_ptr<const void> owner_of_data = {}; // none: the data is the program's
    sea_addr source = SEA_NULL;                     // not null: the data lies there, in the owner's heap
    std::size_t source_bytes = 0;
    std::span<std::byte> result = {};
    void *room = nullptr; // for output
    std::size_t room_bytes = 0;
    std::size_t *output_bytes = nullptr;      // how much of it came
    std::vector<std::byte> *output = nullptr; // for output of unknown size, instead of room
    nanoseconds deadline = never;
    nanoseconds answer_deadline = 0;  // not 0: later than that, for answers that must not be missed
    int unanswered = SEA_ERR_TIMEOUT; // the error then; the owner may still execute it
    // Where it is given up and answered then: called with that answer, under core's lock.
    void (*late)(sea_addr about, int status, std::span<const std::byte> result,
                 std::span<const std::byte> output) = nullptr;
    sea_addr about = SEA_NULL;
    bool *undecided = nullptr; // set with an error after which it may have been executed, or may still be
};

// SEA_OK or an error with its text.
int ask(const asking &call);

// SEA_OK if the library runs, the handle is not null and its rank lives; with text otherwise.
int check_handle(const char *function, kind of, sea_addr at);

template <class T>
std::span<const std::byte> bytes_of(const T &value)
{
    return {reinterpret_cast<const std::byte *>(&value), sizeof value};
}
template <class T>
std::span<std::byte> room_of(T &value)
{
    return {reinterpret_cast<std::byte *>(&value), sizeof value};
}

// What a call stores: memory of this process, where the bytes can be read or were fetched, or left to the owner.
class source_bytes {
  public:
    source_bytes() = default;
    // The program's; and the library's.
    source_bytes(const void *data, std::size_t bytes) : here_(static_cast<const std::byte *>(data), bytes) {}
    explicit source_bytes(kept_bytes kept) : here_(*kept), kept_(std::move(kept)) {}
    // What lies at a global address, for a call on that owner.
    // 0 bytes: nothing is looked at
    int find(const char *function, sea_addr address, std::size_t bytes, int owner);
    void apply(asking &call) const;
    std::span<const std::byte> here() const { return here_; }
    std::shared_ptr<const void> owner() const { return kept_; }

  private:
    std::span<const std::byte> here_;
    kept_bytes kept_;
    sea_addr at_owner_ = SEA_NULL;
    std::size_t bytes_ = 0;
};

// Memory of the caller as data; SEA_ERR_INVALID if it is null and has bytes, or is larger than any heap.
int check_data(const char *function, const void *data, std::size_t bytes);

// The heap of a rank of this node; false otherwise.
owner_heap heap_in_node(int rank);

// Tells a rank to look again at what it waits for.
void wake(int rank);

// How many wakes this process has had.
std::uint64_t wakes();

} // namespace onesea::data
