// SPDX-License-Identifier: Apache-2.0
#include "board.hpp"

#include <climits>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace proof {
namespace {

std::uint32_t *generation_word(board &b) { return reinterpret_cast<std::uint32_t *>(&b.gate) + 1; }

std::uint64_t generation(std::uint64_t gate) { return gate >> 32; }
std::uint64_t arrived(std::uint64_t gate) { return gate >> 16 & 0xffff; }
std::uint64_t participants(std::uint64_t gate) { return gate & 0xffff; }

// The last one has come: the next generation begins.
std::uint64_t opened(std::uint64_t gate) { return ((generation(gate) + 1) << 32) | participants(gate); }

void wake_all(board &b) { syscall(SYS_futex, generation_word(b), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

void sleep_in(board &b, std::uint64_t seen)
{
    timespec slice{0, 200'000'000};
    syscall(SYS_futex, generation_word(b), FUTEX_WAIT, std::uint32_t(generation(seen)), &slice, nullptr, 0);
}

} // namespace

board *open_board(const char *path)
{
    void *memory;
    if (path == nullptr) {
        memory = mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    } else {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0) return nullptr;
        memory = mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    return memory == MAP_FAILED ? nullptr : static_cast<board *>(memory);
}

void set_participants(board &b, unsigned n)
{
    std::uint64_t gate = b.gate.load();
    while (participants(gate) == 0 && !b.gate.compare_exchange_weak(gate, gate | n)) {
    }
}

bool barrier(board &b)
{
    std::uint64_t gate = b.gate.load(), next;
    do {
        next = arrived(gate) + 1 == participants(gate) ? opened(gate) : gate + (1 << 16);
    } while (!b.gate.compare_exchange_weak(gate, next));
    if (generation(next) != generation(gate)) {
        wake_all(b);
        return b.abandoned == 0;
    }
    while (generation(b.gate.load()) == generation(gate)) {
        if (b.abandoned != 0) return false;
        sleep_in(b, gate);
    }
    return b.abandoned == 0;
}

void leave(board &b)
{
    std::uint64_t gate = b.gate.load(), next;
    do {
        next = gate - 1;
        if (arrived(next) == participants(next) && participants(next) > 0) next = opened(next);
    } while (!b.gate.compare_exchange_weak(gate, next));
    wake_all(b);
}

} // namespace proof
