// SPDX-License-Identifier: Apache-2.0
// How much of a mapping lies in huge pages, by the kernel's word for it, and whether it makes any when it is asked.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace huge_pages_here {

inline constexpr std::size_t area_bytes = std::size_t(2) << 20;

// Of the mapping that `at` lies in, in KB: field is AnonHugePages, or ShmemPmdMapped.
inline std::size_t kilobytes(const char *field, const void *at)
{
    std::ifstream file("/proc/self/smaps");
    const auto where = reinterpret_cast<std::uintptr_t>(at);
    bool here = false;
    for (std::string line; std::getline(file, line);) {
        std::uintptr_t from = 0, to = 0;
        if (std::sscanf(line.c_str(), "%zx-%zx ", &from, &to) == 2) here = from <= where && where < to;
        if (here && line.starts_with(field)) return std::stoul(line.substr(line.find(':') + 1));
    }
    return 0;
}

// Private or shared memory, aligned, that is filled page by page. Around it none can be accessed, so that it is a
// mapping of its own.
struct memory {
    const std::size_t bytes, around;
    std::byte *room, *at;
    memory(bool shared, std::size_t areas)
        : bytes(areas * area_bytes), around(bytes + 2 * area_bytes),
          room(static_cast<std::byte *>(
              mmap(nullptr, around, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)))
    {
        const std::size_t into = area_bytes - reinterpret_cast<std::uintptr_t>(room) % area_bytes;
        const int file = shared ? memfd_create("pages", MFD_CLOEXEC) : -1;
        if (shared && ftruncate(file, off_t(bytes)) != 0) std::perror("ftruncate");
        at = static_cast<std::byte *>(mmap(room + into, bytes, PROT_READ | PROT_WRITE,
                                           MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), file, 0));
        if (shared) close(file);
        for (std::size_t i = 0; i < bytes; ++i) at[i] = std::byte(i / 4096 * 7 + i);
    }
    ~memory() { munmap(room, around); }
    memory(const memory &) = delete;
    memory &operator=(const memory &) = delete;
    bool unharmed() const
    {
        for (std::size_t i = 0; i < bytes; ++i)
            if (at[i] != std::byte(i / 4096 * 7 + i)) return false;
        return true;
    }
};

// The word in brackets.
inline std::string chosen_in(const char *file)
{
    std::string line;
    std::getline(std::ifstream(std::string("/sys/kernel/mm/transparent_hugepage/") + file), line);
    const std::size_t from = line.find('[');
    return from == std::string::npos ? "" : line.substr(from + 1, line.find(']') - from - 1);
}

inline bool kernel_before(int major, int minor)
{
    utsname u{};
    int is_major = 0, is_minor = 0;
    if (uname(&u) != 0 || std::sscanf(u.release, "%d.%d", &is_major, &is_minor) != 2) return true;
    return is_major < major || (is_major == major && is_minor < minor);
}

// Why the kernel need not gather anything; empty: it has to. Shared memory it may refuse where it is given none.
inline std::string excuse(bool shared)
{
    if (kernel_before(6, 1)) return "a kernel before 6.1";
    const std::string chosen = chosen_in(shared ? "shmem_enabled" : "enabled");
    if (chosen.empty()) return "a kernel without huge pages";
    return chosen == "never" || chosen == "deny" ? "huge pages are switched off: " + chosen : "";
}

// Tries it. Why it gathers nothing here, and may; empty: it does, or has to.
inline std::string why_none(bool shared)
{
    constexpr int collapse = 25; // MADV_COLLAPSE, Linux 6.1
    const memory one(shared, 1);
    if (madvise(one.at, one.bytes, collapse) == 0) return "";
    return errno == ENOMEM ? "no huge page is free" : excuse(shared);
}

} // namespace huge_pages_here
