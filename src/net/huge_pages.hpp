// SPDX-License-Identifier: Apache-2.0
// Gathers in huge pages what is lent to the kernel again and again (page_lender.hpp), since references to pages cost by
// the page: streams of messages of 4 MB and more out of the same memory become up to a fifth faster.
//
// An area is 2 MB of memory, aligned, as one huge page holds them. It is gathered when all of it was lent in order
// enough times to be worth the work, which is about a millisecond: then no page of it is allocated that was not used
// anyway. Before another pass, not within one, since the kernel gathers no pages that somebody refers to. What cannot
// be gathered, for whatever reason, stays as it is. Deliberately not done: what is in huge pages is not taken apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace onesea::net {

class huge_pages {
  public:
    static constexpr std::size_t area_bytes = std::size_t(2) << 20;
    static constexpr unsigned worth = 16; // passes: what 13 gain pays for it, so at most about twice that is lost
    static constexpr unsigned again = 64; // passes: the memory may have become another
    static constexpr int patience = 16;   // attempts in a row that failed; then there are no more
    static constexpr int slow_counts = 4; // as so many that failed: the caller holds a lock

    using gatherer = int (*)(void *area, std::size_t bytes); // 0, or errno
    static int gather_by_kernel(void *area, std::size_t bytes);

    explicit huge_pages(gatherer how = gather_by_kernel) : gather_(how) {}

    // That is lent next. May gather an area that it begins.
    void about_to_lend(const void *at, std::size_t bytes);

    bool given_up() const { return failures_ >= patience; }

  private:
    struct area {
        std::uintptr_t number = 0;
        std::uint32_t reached = 0; // bytes that this pass has lent, from the first one
        std::uint32_t passes = 0;  // since the last attempt
        std::uint32_t wanted = worth;
    };
    gatherer gather_;
    std::unique_ptr<area[]> areas_; // by number, as in a cache; made when a pass begins
    int failures_ = 0;

    void lend(std::uintptr_t number, std::uint32_t from, std::uint32_t to);
    void attempt(area &a);
};

} // namespace onesea::net
