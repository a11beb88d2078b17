// SPDX-License-Identifier: Apache-2.0
#include "shm/careful_memory.hpp"

#include "base/copy.hpp"
#include "base/descriptor.hpp"
#include "base/pages.hpp"
#include "base/resize.hpp"
#include "shm/native.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace onesea::shm {
namespace {

constexpr std::size_t long_read = 16 * 1024; // bytes; from there on through the pipe
constexpr int pipe_bytes = 256 * 1024;
constexpr std::size_t area_bytes = careful_memory::bounce_bytes + page_bytes; // each of the two; from any offset on
constexpr std::size_t memory_bytes = 2 * area_bytes;

void *pointer(std::uint64_t address) { return reinterpret_cast<void *>(address); }

// Is the aligned word mapped and writable? The kernel ORs 0 to it, atomically. Who waits for the word as a futex is
// woken, without need, if it is just 1365.
bool word_writable(std::uint64_t address)
{
    static std::uint32_t nobody_waits = 0;
    constexpr int or_nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 1365);
    return syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, pointer(address), or_nothing) >=
           0;
}

} // namespace

bool all_mapped(std::uint64_t address, std::uint64_t bytes)
{
    const std::uint64_t first = address & ~(page_bytes - 1);
    return msync(pointer(first), address + bytes - first, MS_ASYNC) == 0; // looks at the map, and writes nothing
}

bool ends_writable(std::uint64_t address, std::uint64_t bytes)
{
    for (std::uint64_t at : {address, address + bytes - 1})
        if (!word_writable(at & ~std::uint64_t(3)) && errno == EFAULT) return false;
    return true;
}

std::unique_ptr<careful_memory> careful_memory::create(int *error)
{
    const int fd = above_standard(memfd_create("onesea bounce", MFD_CLOEXEC));
    void *memory = MAP_FAILED;
    if (fd >= 0 && resize(fd, memory_bytes) == 0)
        memory = mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        return std::unique_ptr<careful_memory>(new careful_memory(fd, static_cast<std::byte *>(memory)));
    *error = errno;
    if (fd >= 0) ::close(fd);
    return nullptr;
}

careful_memory::~careful_memory()
{
    munmap(memory_, memory_bytes);
    for (int fd : {fd_, pipe_[0], pipe_[1]})
        if (fd >= 0) ::close(fd);
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
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t n = std::min(bounce_bytes, bytes - done), at = (to + done) % page_bytes;
        copy_bytes(memory_ + at, static_cast<const std::byte *>(from) + done, n);
        if (int s = from_file(at, to + done, n)) return s;
        done += n;
    }
    return SEA_OK;
}

std::byte *careful_memory::gathered() const { return memory_ + area_bytes; }

void careful_memory::write_gathered(std::span<piece> pieces, std::size_t begin)
{
    std::array<iovec, most_pieces> places;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        places[i] = {pointer(pieces[i].to), pieces[i].bytes};
        pieces[i].status = SEA_OK;
    }
    std::size_t at = area_bytes + begin;
    for (std::size_t i = 0; i < pieces.size();) {
        ssize_t n = preadv(fd_, &places[i], int(pieces.size() - i), off_t(at));
        auto written = std::size_t(std::max<ssize_t>(n, 0));
        for (; i < pieces.size() && pieces[i].bytes <= written; ++i) {
            written -= pieces[i].bytes;
            at += pieces[i].bytes;
        }
        if (i == pieces.size()) break;
        piece &stopped = pieces[i++]; // at it, or at another that the kernel looked at in advance
        stopped.status = from_file(at + written, stopped.to + written, stopped.bytes - written);
        at += stopped.bytes;
    }
}

bool careful_memory::pipe_ready()
{
    if (pipe_[0] >= 0 || !pipe_works_) return pipe_works_;
    // a pipe of another size works as well; one for which there is no descriptor does not
    pipe_works_ = pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) == 0;
    if (!pipe_works_) return false;
    for (int &end : pipe_) {
        end = above_standard(end);
        pipe_works_ &= end >= 0;
    }
    if (pipe_works_) fcntl(pipe_[1], F_SETPIPE_SZ, pipe_bytes);
    return pipe_works_;
}

// How many of the bytes it could read.
std::size_t careful_memory::read_by_pipe(void *to, std::uint64_t from, std::size_t bytes)
{
    std::size_t done = 0;
    while (done < bytes && pipe_ready()) {
        const iovec there{pointer(from + done), bytes - done};
        const ssize_t n = vmsplice(pipe_[1], &there, 1, SPLICE_F_NONBLOCK);
        if (n <= 0) break;
        for (std::size_t left = std::size_t(n); left > 0;) {
            const ssize_t got = ::read(pipe_[0], static_cast<std::byte *>(to) + done, left);
            if (got <= 0) { // `to` is bad; nothing may stay behind in the pipe
                for (int &fd : pipe_) ::close(std::exchange(fd, -1));
                return done;
            }
            done += std::size_t(got);
            left -= std::size_t(got);
        }
    }
    return done;
}

int careful_memory::read(void *to, std::uint64_t from, std::size_t bytes)
{
    // the kernel copies 8 bytes at once, but 4 one by one; pwrite() itself would be an overflow to the address
    // sanitizer
    const std::uint64_t word = from & ~std::uint64_t(7);
    if (bytes == 4 && from % 4 == 0 && syscall(SYS_pwrite64, fd_, pointer(word), std::size_t(8), off_t(0)) == 8) {
        std::memcpy(to, memory_ + (from - word), 4);
        return SEA_OK;
    }
    const bool by_pipe = bytes >= long_read && !copies_slowly(to, pointer(from));
    for (std::size_t done = by_pipe ? read_by_pipe(to, from, bytes) : 0; done < bytes;) {
        const std::size_t at = (from + done) % page_bytes;
        const ssize_t n = pwrite(fd_, pointer(from + done), std::min(bounce_bytes, bytes - done), off_t(at));
        if (n <= 0) return SEA_ERR_ADDRESS;
        copy_bytes(static_cast<std::byte *>(to) + done, memory_ + at, std::size_t(n));
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
