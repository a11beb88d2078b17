// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace proof {
namespace {

alignas(64) unsigned char static_memory[small_place + 2 * guard_bytes];

// A real file, already without a name.
unsigned char *map_file(std::size_t bytes)
{
    const char *folder = std::getenv("TMPDIR");
    std::string name = std::string(folder ? folder : "/tmp") + "/onesea-proof-XXXXXX";
    int fd = mkstemp(name.data());
    if (fd < 0) return nullptr;
    unlink(name.c_str());
    void *memory = MAP_FAILED;
    if (ftruncate(fd, off_t(bytes)) == 0) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? nullptr : static_cast<unsigned char *>(memory);
}

unsigned char *map_pages(std::size_t bytes)
{
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<unsigned char *>(memory);
}

unsigned char *find_memory(kind k, std::size_t bytes, void *stack_memory)
{
    switch (k) {
    case kind::malloced:
        return static_cast<unsigned char *>(std::malloc(bytes));
    case kind::stack:
        return static_cast<unsigned char *>(stack_memory);
    case kind::fixed:
        return bytes <= sizeof static_memory ? static_memory : nullptr;
    case kind::file:
        return map_file(bytes);
    case kind::anonymous:
        return map_pages(bytes);
    case kind::heap:
        break;
    }
    return nullptr;
}

} // namespace

const char *kind_name(kind k)
{
    static const char *const names[] = {"heap", "malloc", "stack", "static", "file", "anonymous"};
    return names[int(k)];
}

place::place(kind k, std::size_t bytes, void *stack_memory, unsigned flags) : kind_(k), bytes_(bytes)
{
    std::size_t whole = bytes + 2 * guard_bytes;
    if (k == kind::heap) {
        REQUIRE_OK(sea_heap_alloc(sea_rank(), whole, &owned_));
        base_ = static_cast<unsigned char *>(sea_local(owned_));
        address_ = owned_ + guard_bytes;
    } else {
        base_ = find_memory(k, whole, stack_memory);
    }
    REQUIRE(base_ != nullptr);
    set_bytes(base_, whole, guard_value);
    memory_ = base_ + guard_bytes;
    clear();
    if (k == kind::heap) return;
    REQUIRE_OK(sea_register(memory_, bytes, flags, &owned_));
    address_ = owned_;
}

place::~place()
{
    CHECK(guards_whole());
    if (kind_ == kind::heap) {
        CHECK_OK(sea_heap_free(owned_));
        return;
    }
    CHECK_OK(sea_unregister(owned_));
    if (kind_ == kind::malloced) std::free(base_);
    if (kind_ == kind::file || kind_ == kind::anonymous) munmap(base_, bytes_ + 2 * guard_bytes);
}

bool place::guards_whole() const
{
    return not_all(base_, guard_bytes, guard_value) == guard_bytes &&
           not_all(memory_ + bytes_, guard_bytes, guard_value) == guard_bytes;
}

} // namespace proof
