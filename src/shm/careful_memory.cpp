// SPDX-License-Identifier: Apache-2.0
#include "shm/careful_memory.hpp"

#include "base/transport.hpp"
#include "shm/native.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace onesea::shm {
namespace {

constexpr std::size_t long_copy = 16 * 1024; // bytes; from there on without the bounce buffer
constexpr std::uint64_t page = 4096;

void *pointer(std::uint64_t address) { return reinterpret_cast<void *>(address); }

// Is the aligned word mapped and writable? Adds no bit to it, as one atomic access of the kernel.
bool word_writable(std::uint64_t address)
{
    static std::uint32_t nobody_waits = 0;
    constexpr int or_nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);
    return syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, pointer(address), or_nothing) >=
           0;
}

bool all_mapped(std::uint64_t address, std::uint64_t bytes)
{
    const std::uint64_t first = address & ~(page - 1);
    return msync(pointer(first), address + bytes - first, MS_ASYNC) == 0; // looks at the map, and writes nothing
}

} // namespace

std::unique_ptr<careful_memory> careful_memory::create(int *error)
{
    const int fd = memfd_create("onesea bounce", MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, 2 * bounce_bytes) == 0)
        memory = mmap(nullptr, 2 * bounce_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        return std::unique_ptr<careful_memory>(new careful_memory(fd, static_cast<std::byte *>(memory)));
    *error = errno;
    if (fd >= 0) ::close(fd);
    return nullptr;
}

careful_memory::~careful_memory()
{
    munmap(memory_, 2 * bounce_bytes);
    ::close(fd_);
}

// Why a copy stopped at this address.
int careful_memory::refusal(std::uint64_t address)
{
    return pwrite(fd_, pointer(address), 1, 0) == 1 ? SEA_ERR_ACCESS : SEA_ERR_ADDRESS;
}

int careful_memory::from_file(std::size_t at, std::uint64_t to, std::size_t bytes)
{
    for (std::size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd_, pointer(to + done), bytes - done, off_t(at + done));
        if (n <= 0) return refusal(to + done);
        done += std::size_t(n);
    }
    return SEA_OK;
}

int careful_memory::write(std::uint64_t to, const void *from, std::size_t bytes)
{
    if (bytes >= long_copy)
        if (int s = copy_anywhere(getpid(), to, const_cast<void *>(from), bytes, true); s != not_native) return s;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t n = std::min(bounce_bytes, bytes - done);
        std::memcpy(memory_, static_cast<const std::byte *>(from) + done, n);
        if (int s = from_file(0, to + done, n)) return s;
        done += n;
    }
    return SEA_OK;
}

int careful_memory::write_gathered(std::uint64_t to, std::size_t bytes) { return from_file(bounce_bytes, to, bytes); }

int careful_memory::read(void *to, std::uint64_t from, std::size_t bytes)
{
    if (bytes >= long_copy)
        if (int s = copy_anywhere(getpid(), from, to, bytes, false); s != not_native) return s;
    // the kernel copies 8 bytes at once, but 4 one by one
    const std::uint64_t word = from & ~std::uint64_t(7);
    if (bytes == 4 && from % 4 == 0 && pwrite(fd_, pointer(word), 8, 0) == 8) {
        std::memcpy(to, memory_ + (from - word), 4);
        return SEA_OK;
    }
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t n = pwrite(fd_, pointer(from + done), std::min(bounce_bytes, bytes - done), 0);
        if (n <= 0) return SEA_ERR_ADDRESS;
        std::memcpy(static_cast<std::byte *>(to) + done, memory_, std::size_t(n));
        done += std::size_t(n);
    }
    return SEA_OK;
}

int careful_memory::update(std::uint64_t address, sea_atomic_kind kind, int width, std::uint64_t operand,
                           std::uint64_t compare, std::uint64_t *old)
{
    if (!word_writable(address)) return refusal(address);
    *old = cpu_atomic(pointer(address), kind, width, operand, compare);
    return SEA_OK;
}

int careful_memory::writable(std::uint64_t address, std::uint64_t bytes)
{
    if (bytes == 0) return SEA_OK;
    if (!all_mapped(address, bytes)) return SEA_ERR_ADDRESS;
    for (std::uint64_t at : {address, address + bytes - 1})
        if (!word_writable(at & ~std::uint64_t(3))) return refusal(at);
    return SEA_OK;
}

} // namespace onesea::shm
