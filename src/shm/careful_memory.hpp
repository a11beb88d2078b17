// SPDX-License-Identifier: Apache-2.0
// Access to any address of this process, good or bad, without a fault: the kernel copies, and says where it could not.
//
//   write:  data -> bounce buffer (memory of a file) -> preadv() of that file into the addresses
//   read:   short: pwrite() from the address into the file -> bounce buffer
//           long:  vmsplice() of the pages into a pipe -> read()
//
// What the kernel copies from or to the bounce buffer lies at the same offset in a page there, and what would be slow
// through the pipe does not go through it: the slow case of base/copy.hpp.
//
// Both cost about half of what process_vm_readv/writev cost on oneself. A word that is to be updated is first checked
// by a futex call that ORs 0 to it; then the CPU updates it. In between another thread could unmap it: nothing that a
// process can do without a signal handler closes that gap.
//
// Not thread safe.
#pragma once

#include "onesea.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace onesea::shm {

class careful_memory {
  public:
    static constexpr std::size_t bounce_bytes = 64 * 1024;
    static constexpr std::size_t most_pieces = 512; // of write_gathered()

    // nullptr: *error is the system's.
    static std::unique_ptr<careful_memory> create(int *error);
    ~careful_memory();
    careful_memory(const careful_memory &) = delete;
    careful_memory &operator=(const careful_memory &) = delete;

    // All: SEA_OK, SEA_ERR_ADDRESS (not mapped), SEA_ERR_ACCESS (may not be written). Copies may have been made in
    // part; what lies in one page, and is at most 4096 bytes, is written whole or not at all.
    int write(std::uint64_t to, const void *from, std::size_t bytes);
    int read(void *to, std::uint64_t from, std::size_t bytes);
    // `address` is aligned to `width`, 4 or 8.
    int update(std::uint64_t address, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare,
               std::uint64_t *old);
    // Whether write() would succeed, found out at the ends of the range and from the map, without touching the rest.
    int writable(std::uint64_t address, std::uint64_t bytes);

    // What the caller has put into `gathered`, up to bounce_bytes from `begin` on, which is less than a page, goes
    // piece by piece to their places, in their order. A bad place gives its piece a status and holds up no other.
    // Quickest where `begin` is the offset in a page of the first place.
    struct piece {
        std::uint64_t to;
        std::size_t bytes;
        int status;
    };
    std::byte *gathered() const;
    void write_gathered(std::span<piece> pieces, std::size_t begin = 0);

  private:
    careful_memory(int fd, std::byte *memory) : fd_(fd), memory_(memory) {}
    int fd_;
    std::byte *memory_;      // of the file: the bounce buffer, then `gathered`
    int pipe_[2] = {-1, -1}; // made at the first long read
    bool pipe_works_ = true;

    int from_file(std::size_t at, std::uint64_t to, std::size_t bytes);
    int refusal(std::uint64_t address);
    bool pipe_ready();
    std::size_t read_by_pipe(void *to, std::uint64_t from, std::size_t bytes);
};

// Is every page of this range mapped in this process, in whatever way? Any thread.
bool all_mapped(std::uint64_t address, std::uint64_t bytes);

// May the first and the last byte of a range (>= 1) that is mapped be written? Nothing changes. Any thread.
bool ends_writable(std::uint64_t address, std::uint64_t bytes);

} // namespace onesea::shm
