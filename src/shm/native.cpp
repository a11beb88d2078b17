// SPDX-License-Identifier: Apache-2.0
#include "shm/native.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/pages.hpp"
#include "base/wide_copy.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <sys/uio.h>
#include <unistd.h>

namespace onesea::shm {
namespace {

template <class Word>
bool copy_word(void *to, const void *from)
{
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof(Word) || reinterpret_cast<std::uintptr_t>(from) % sizeof(Word))
        return false;
    Word w = __atomic_load_n(static_cast<const Word *>(from), __ATOMIC_RELAXED);
    __atomic_store_n(static_cast<Word *>(to), w, __ATOMIC_RELAXED);
    return true;
}

template <class Word>
Word update(void *address, sea_atomic_kind kind, Word operand, Word compare)
{
    std::atomic_ref<Word> word(*static_cast<Word *>(address));
    switch (kind) {
    case SEA_ATOMIC_SWAP:
        return word.exchange(operand);
    case SEA_ATOMIC_ADD:
        return word.fetch_add(operand);
    case SEA_ATOMIC_AND:
        return word.fetch_and(operand);
    case SEA_ATOMIC_OR:
        return word.fetch_or(operand);
    case SEA_ATOMIC_XOR:
        return word.fetch_xor(operand);
    case SEA_ATOMIC_CAS:
        word.compare_exchange_strong(compare, operand);
        return compare;
    }
    return 0;
}

ssize_t system_copy(int pid, void *remote, void *local, std::size_t bytes, bool write)
{
    const iovec here{local, bytes}, there{remote, bytes};
    return write ? process_vm_writev(pid, &here, 1, &there, 1, 0) : process_vm_readv(pid, &here, 1, &there, 1, 0);
}

// From so many bytes on it pays: measured, 8 KB took 4.5 us instead of 5, 64 KB 14 instead of 28, 1 MB 215 instead of
// 425.
constexpr std::size_t least_around = 8 * 1024;

// Does the slow case of base/copy.hpp meet the kernel's copies on this machine? Measured within this process, once.
bool kernel_has_slow_case()
{
    constexpr std::size_t bytes = 16 * 1024, ahead = 16;
    constexpr int tries = 5;
    std::unique_ptr<char[]> memory(new (std::nothrow) char[2 * bytes + page_bytes]());
    if (!memory) return false;
    static_assert(bytes % page_bytes == 0 && ahead < page_bytes);
    char *const from = memory.get(), *const level = from + bytes;
    nanoseconds best[2] = {never, never};
    for (int i = 0; i < tries; ++i)
        for (bool slow : {false, true}) {
            const nanoseconds begin = now_ns();
            if (system_copy(getpid(), from, level + (slow ? ahead : 0), bytes, false) < 0) return false;
            best[slow] = std::min(best[slow], now_ns() - begin);
        }
    return best[true] > 2 * best[false];
}

bool better_around(const void *remote, const void *local, std::size_t bytes, bool write)
{
    if (bytes < least_around || !(write ? copies_slowly(remote, local) : copies_slowly(local, remote))) return false;
    static const bool has_slow_case = kernel_has_slow_case();
    return has_slow_case;
}

// Where the kernel's copy is slow, it copies twice, over memory that lies well to both. It does both, so that a bad
// address is found as it is without, and what was copied before it is known.
class detour {
  public:
    detour(const void *remote, const void *local, std::size_t bytes, bool write)
    {
        if (!better_around(remote, local, bytes, write)) return;
        constexpr std::size_t most = 120 * 1024; // they stay in the cache, and malloc() keeps that much at hand
        bytes_ = std::min(bytes, most);
        memory_.reset(new (std::nothrow) char[bytes_ + page_bytes]);
        if (!memory_) return; // there is no memory: slowly
        constexpr std::size_t apart = 64;
        const auto source = reinterpret_cast<std::uintptr_t>(write ? local : remote);
        place_ = memory_.get() + (source - apart - reinterpret_cast<std::uintptr_t>(memory_.get())) % page_bytes;
    }
    bool taken() const { return place_; }

    // Up to bytes_ of them: how many, or -1 and errno.
    ssize_t copy(int pid, void *remote, void *local, std::size_t bytes, bool write) const
    {
        const std::size_t n = std::min(bytes_, bytes);
        const ssize_t first =
            write ? system_copy(getpid(), place_, local, n, true) : system_copy(pid, remote, place_, n, false);
        if (first <= 0) return first;
        return write ? system_copy(pid, remote, place_, std::size_t(first), true)
                     : system_copy(getpid(), place_, local, std::size_t(first), false);
    }

  private:
    std::size_t bytes_ = 0;
    std::unique_ptr<char[]> memory_;
    char *place_ = nullptr;
};

} // namespace

void copy_plain(void *to, const void *from, std::size_t bytes)
{
    if (bytes == 8 && copy_word<std::uint64_t>(to, from)) return;
    if (bytes == 4 && copy_word<std::uint32_t>(to, from)) return;
    copy_of(bytes, to, from, bytes);
}

std::uint64_t cpu_atomic(void *address, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare)
{
    if (width == 4) return update(address, kind, std::uint32_t(operand), std::uint32_t(compare));
    return update(address, kind, operand, compare);
}

int copy_other_process(int pid, void *remote, void *local, std::size_t bytes, bool write, std::size_t *copied)
{
    if (pid <= 0) return not_native;
    constexpr std::size_t at_once = std::size_t(1) << 30; // the system call moves at most 2 GiB - 4 KiB
    const detour around(remote, local, bytes, write);
    std::size_t done = 0;
    int status = SEA_OK;
    while (done < bytes && status == SEA_OK) {
        auto *here = static_cast<char *>(local) + done, *there = static_cast<char *>(remote) + done;
        const std::size_t left = bytes - done;
        const ssize_t n = around.taken() ? around.copy(pid, there, here, left, write)
                                         : system_copy(pid, there, here, std::min(at_once, left), write);
        if (n > 0)
            done += std::size_t(n);
        else if (n < 0 && errno == ESRCH)
            status = SEA_ERR_DEAD;
        else if (n < 0 && (errno == EPERM || errno == ENOSYS))
            status = not_native;
        else
            status = SEA_ERR_ACCESS;
    }
    if (copied) *copied = done;
    return status;
}

int copy_anywhere(int pid, std::uint64_t remote, void *local, std::size_t bytes, bool write)
{
    std::size_t done = 0;
    int status = copy_other_process(pid, reinterpret_cast<void *>(remote), local, bytes, write, &done);
    if (status != SEA_ERR_ACCESS) return status;
    char byte;
    void *bad = reinterpret_cast<void *>(remote + done);
    return write && copy_other_process(pid, bad, &byte, 1, false) == SEA_OK ? SEA_ERR_ACCESS : SEA_ERR_ADDRESS;
}

int copy_anywhere(int pid, std::span<const piece> pieces, bool write, std::size_t *bad)
{
    constexpr std::size_t at_once = 256;                     // pieces; the system takes 1024
    constexpr std::size_t most_bytes = std::size_t(1) << 30; // and 2 GiB - 4 KiB
    std::array<iovec, at_once> here, there;
    for (std::size_t i = 0; i < pieces.size();) {
        std::size_t n = 0, total = 0;
        for (; n < at_once && i + n < pieces.size() && total < most_bytes; ++n) {
            const piece &p = pieces[i + n];
            here[n] = {p.local, p.bytes};
            there[n] = {reinterpret_cast<void *>(p.position & ~raw_space), p.bytes};
            if (better_around(there[n].iov_base, p.local, p.bytes, write)) break; // by itself
            total += p.bytes;
        }
        const bool any = n > 0;
        const ssize_t moved = !any    ? 0
                              : write ? process_vm_writev(pid, here.data(), n, there.data(), n, 0)
                                      : process_vm_readv(pid, here.data(), n, there.data(), n, 0);
        auto done = std::size_t(std::max<ssize_t>(moved, 0));
        for (; n > 0 && pieces[i].bytes <= done; --n, ++i) done -= pieces[i].bytes;
        if (any && n == 0) continue;
        const piece &stopped = pieces[i]; // here, at one that is longer than the system takes, or before a slow one
        const std::uint64_t at = (stopped.position & ~raw_space) + done;
        if (int s = copy_anywhere(pid, at, static_cast<char *>(stopped.local) + done, stopped.bytes - done, write)) {
            *bad = i;
            return s;
        }
        ++i;
    }
    return SEA_OK;
}

} // namespace onesea::shm
