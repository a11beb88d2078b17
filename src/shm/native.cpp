// SPDX-License-Identifier: Apache-2.0
#include "shm/native.hpp"

#include "base/wide_copy.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>

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
    std::size_t done = 0;
    int status = SEA_OK;
    while (done < bytes && status == SEA_OK) {
        iovec here{static_cast<char *>(local) + done, std::min(at_once, bytes - done)};
        iovec there{static_cast<char *>(remote) + done, here.iov_len};
        ssize_t n =
            write ? process_vm_writev(pid, &here, 1, &there, 1, 0) : process_vm_readv(pid, &here, 1, &there, 1, 0);
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
            total += p.bytes;
        }
        const ssize_t moved = write ? process_vm_writev(pid, here.data(), n, there.data(), n, 0)
                                    : process_vm_readv(pid, here.data(), n, there.data(), n, 0);
        auto done = std::size_t(std::max<ssize_t>(moved, 0));
        for (; n > 0 && pieces[i].bytes <= done; --n, ++i) done -= pieces[i].bytes;
        if (n == 0) continue;
        const piece &stopped = pieces[i]; // here, or at one that is longer than the system takes
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
