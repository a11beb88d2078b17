// SPDX-License-Identifier: Apache-2.0
// A range that two processes of a node copy together, each by the kernel: the reader out of the writer's memory, the
// writer into the reader's. Each takes the next share that nobody has, so the reader needs no writer, and a slow one
// does what it can. That is faster than one of them alone, also where their processors share no cache
// (docs/experiments/mmp.md).
//
//   reader:  open ─► take, copy, take, copy ... ─► none is left ─► finished() ─► whole: the range is there
//   writer:          take, copy, did, take, copy, did ...                         else: copy it otherwise
//
// A share that the writer has taken is waited for, since it may write into it at any time until it has told, or its
// process has ended. Both words carry the number of the opening, so one who comes late takes nothing of a later one.
#pragma once

#include "base/pages.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace onesea::shm {

inline constexpr std::uint64_t least_share = 32 * 1024, most_share = 512 * 1024; // bytes

struct share_words {
    alignas(64) std::atomic<std::uint64_t> taken; // by either: number of the opening, shares
    alignas(64) std::atomic<std::uint64_t> told;  // by the writer: number of the opening, shares; shares_failed
};

inline constexpr std::uint32_t shares_failed = 1u << 31; // the last one that it took: it takes no more

// How a range is cut; the last one may be shorter.
inline std::uint64_t share_of(std::uint64_t bytes) { return std::clamp(page_up(bytes / 2), least_share, most_share); }

struct share {
    std::uint64_t from = 0, bytes = 0; // of the range
};

// What is the same for both: one opening.
class shares {
  public:
    shares() = default;
    shares(share_words &words, std::uint32_t number, std::uint64_t bytes)
        : words_(&words), number_(number), bytes_(bytes), share_(share_of(bytes))
    {
    }

    std::uint32_t count() const { return std::uint32_t((bytes_ + share_ - 1) / share_); }

    // The next one, if any is left.
    std::optional<share> take()
    {
        std::uint64_t now = words_->taken.load(std::memory_order_acquire);
        do {
            if (now >> 32 != number_ || std::uint32_t(now) >= count()) return {};
        } while (!words_->taken.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel));
        const std::uint64_t from = std::uint32_t(now) * share_;
        return share{from, std::min(share_, bytes_ - from)};
    }

  protected:
    share_words *words_ = nullptr;
    std::uint32_t number_ = 0;
    std::uint64_t bytes_ = 0, share_ = 1;
    std::uint64_t word(std::uint32_t low) const { return std::uint64_t(number_) << 32 | low; }
};

class writer_shares : public shares {
  public:
    using shares::shares;
    // It has copied the one that it took, or cannot.
    void did(bool good)
    {
        const auto before = std::uint32_t(words_->told.load(std::memory_order_relaxed));
        words_->told.store(word(good ? before + 1 : before | shares_failed), std::memory_order_release);
    }
};

class reader_shares : public shares {
  public:
    reader_shares() = default;
    // Lets the writer take some, once it hears of the number.
    reader_shares(share_words &words, std::uint32_t number, std::uint64_t bytes) : shares(words, number, bytes)
    {
        words.told.store(word(0), std::memory_order_relaxed);
        words.taken.store(word(0), std::memory_order_release);
    }

    bool open() const { return words_; }
    std::optional<share> take()
    {
        const auto next = shares::take();
        own_ += next.has_value();
        return next;
    }
    // It could not copy one. Nobody takes any more, and the range will not be whole.
    void give_up()
    {
        left_ += count() - std::uint32_t(words_->taken.exchange(word(count()), std::memory_order_acq_rel));
        given_up_ = true;
    }

    // Is none left, and the writer at none? Then nobody touches the range any more.
    bool finished() const
    {
        const std::uint32_t told = this->told(), by_writer = (told & ~shares_failed) + (told & shares_failed ? 1 : 0);
        return by_writer + own_ + left_ == count();
    }
    // Once finished.
    bool whole() const { return !given_up_ && !(told() & shares_failed); }

  private:
    std::uint32_t own_ = 0, left_ = 0; // taken here; by nobody, when it was given up
    bool given_up_ = false;
    std::uint32_t told() const { return std::uint32_t(words_->told.load(std::memory_order_acquire)); }
};

} // namespace onesea::shm
