// SPDX-License-Identifier: Apache-2.0
// Gathers in huge pages what the kernel refers to again and again, since references to pages cost by the page, on both
// sides: what is lent to it (net/page_lender.hpp), and what it copies between processes (msg/office_fetch.cpp). Streams
// out of the same memory become up to a fifth faster between nodes, up to a half inside one.
//
// An area is 2 MB of memory, aligned, as one huge page holds them. It is gathered when enough of it was used to be
// worth the work, which is about a millisecond, and all its pages are there, so that none is allocated for it (but for
// such as were only read). And when nobody seems to refer to them, since the kernel gathers no others. What cannot be
// gathered, for whatever reason, stays as it is. Deliberately not done: what is in huge pages is not taken apart.
//
// Copied memory is referred to while it is copied. Lent memory is until its receiver has it and the kernel lets go of
// it, so its time comes before another pass, where all of an area is lent in order; else where nothing that was lent is
// still out. Then one datagram is copied first: with it the kernel lets go of those before, which it has kept since
// they were received.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace onesea {

class huge_pages {
  public:
    static constexpr std::size_t area_bytes = std::size_t(2) << 20;
    static constexpr unsigned worth = 16; // times its length: what 13 gain pays for it, so about twice that may be lost
    static constexpr unsigned again = 64; // times: the memory may have become another. The next time twice as many
    static constexpr unsigned seldom = 512;
    static constexpr std::size_t most_left_out = 20 * 1024; // at the end of an area that is lent in order
    static constexpr int patience = 16;                     // attempts in a row that failed; then there are no more
    static constexpr int slow_counts = 4;                   // as so many that failed: the caller holds a lock

    using gatherer = int (*)(void *area, std::size_t bytes); // 0, or errno; ENODATA: pages of it are not there
    static int gather_by_kernel(void *area, std::size_t bytes);

    explicit huge_pages(gatherer how = gather_by_kernel) : gather_(how) {}

    // The kernel is about to copy that, or just has. May gather areas that it lies in.
    void copied(const void *at, std::size_t bytes);

    // That is lent next, unless it says no: then it had better be copied. May gather areas that it lies in. alone:
    // nothing that was lent to that peer before is still out.
    bool may_lend(const void *at, std::size_t bytes, bool alone);

    bool given_up() const { return failures_ >= patience; }

  private:
    struct area {
        std::uintptr_t number = 0;
        std::uint32_t reached = 0; // bytes that this pass has lent, from the first one
        std::uint32_t used = 0;    // bytes since the last attempt, up to what is wanted
        std::uint32_t wanted = worth * area_bytes;
        bool let_go = false; // the last datagram was copied
        bool due() const { return used >= wanted; }
        void use(std::uint32_t bytes) { used = std::min(used + bytes, wanted); }
    };
    gatherer gather_;
    std::unique_ptr<area[]> areas_; // by number, as in a cache
    int failures_ = 0;

    template <class Use> // area, from, to
    void each_area(const void *at, std::size_t bytes, Use &&use);
    bool lend(area &a, std::uint32_t from, std::uint32_t to, bool alone);
    void attempt(area &a);
};

} // namespace onesea
