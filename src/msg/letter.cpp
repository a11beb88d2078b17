// SPDX-License-Identifier: Apache-2.0
// Memory of requests. Who waits for receives mostly posts them, too, so a thread takes what it has deleted itself, and
// needs no lock for it. What is more than it may keep, and all of a thread that ends, goes back to malloc.
#include "msg/letter.hpp"

#include <utility>

namespace onesea::msg {
namespace {

struct spare_memory {
    spare_memory *next;
};

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t most = 0; // it is to see who uses a request that was deleted
#else
constexpr std::size_t most = request::most_spare;
#endif

// Trivial, so that requests may be deleted while the thread's objects are destroyed.
struct spares {
    spare_memory *first;
    std::size_t count, most;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit spares mine{nullptr, 0, 0};

struct keeper {
    keeper() { mine.most = most; }
    ~keeper()
    {
        mine.most = mine.count = 0;
        for (spare_memory *s = std::exchange(mine.first, nullptr); s;) ::operator delete(std::exchange(s, s->next));
    }
};

// From the first request that the thread makes to its end it keeps some.
void begin_to_keep() { thread_local keeper one; }

} // namespace

void *request::operator new(std::size_t bytes)
{
    static_assert(alignof(request) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (spare_memory *s = mine.first) {
        mine.first = s->next;
        --mine.count;
        return s;
    }
    begin_to_keep();
    return ::operator new(bytes);
}

void request::operator delete(void *memory)
{
    if (mine.count >= mine.most) return ::operator delete(memory);
    mine.first = new (memory) spare_memory{mine.first};
    ++mine.count;
}

std::size_t request::spare() { return mine.count; }

} // namespace onesea::msg
