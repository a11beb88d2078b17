// SPDX-License-Identifier: Apache-2.0
// How often which time was seen, in little memory: each doubling of the time has eight buckets, so a percentile is off
// by at most a sixteenth. Times below 256 ns fall into the first bucket, above 34 s into the last one.
//
//   nanoseconds   256 288 320 ... 480 | 512 576 640 ... 960 | 1024 1152 ...      27 doublings of 8 buckets
//
// One writer at a time; others may read meanwhile. Buckets stop at their largest number.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>

namespace onesea {

namespace histogram_scale {

inline constexpr unsigned lowest_bit = 8, fine_bits = 3, doublings = 27;
inline constexpr unsigned buckets = doublings << fine_bits;

constexpr unsigned bucket_of(std::uint64_t ns)
{
    if (ns < std::uint64_t(1) << lowest_bit) return 0;
    const unsigned top = unsigned(std::bit_width(ns)) - 1;
    const unsigned fine = unsigned(ns >> (top - fine_bits)) & ((1u << fine_bits) - 1);
    return std::min(((top - lowest_bit) << fine_bits) + fine, buckets - 1);
}
constexpr std::uint64_t low_of(unsigned bucket)
{
    return ((std::uint64_t(1) << fine_bits) + (bucket & ((1u << fine_bits) - 1)))
           << (lowest_bit - fine_bits + (bucket >> fine_bits));
}
constexpr std::uint64_t middle_of(unsigned bucket) { return (low_of(bucket) + low_of(bucket + 1)) / 2; }

} // namespace histogram_scale

// A copy, to ask questions of.
struct histogram_copy {
    std::array<std::uint32_t, histogram_scale::buckets> counts{};
    std::uint64_t longest = 0; // exact, ns

    std::uint64_t samples() const
    {
        std::uint64_t n = 0;
        for (std::uint32_t c : counts) n += c;
        return n;
    }
    // The time that a share `q` (0..1) of the samples does not exceed, in ns; 0 if there are none.
    std::uint64_t quantile(double q) const
    {
        const auto wanted = std::max<std::uint64_t>(1, std::uint64_t(std::ceil(q * double(samples()))));
        std::uint64_t seen = 0;
        for (unsigned i = 0; i < counts.size(); ++i)
            if ((seen += counts[i]) >= wanted) return std::min(histogram_scale::middle_of(i), longest);
        return longest;
    }
};

class histogram {
  public:
    void add(std::uint64_t ns)
    {
        auto &bucket = counts_[histogram_scale::bucket_of(ns)];
        const std::uint32_t n = bucket.load(std::memory_order_relaxed);
        if (n != UINT32_MAX) bucket.store(n + 1, std::memory_order_relaxed);
        if (ns > longest_.load(std::memory_order_relaxed)) longest_.store(ns, std::memory_order_relaxed);
    }
    histogram_copy copy() const
    {
        histogram_copy c;
        for (std::size_t i = 0; i < counts_.size(); ++i) c.counts[i] = counts_[i].load(std::memory_order_relaxed);
        c.longest = longest_.load(std::memory_order_relaxed);
        return c;
    }

  private:
    std::atomic<std::uint64_t> longest_{0};
    std::array<std::atomic<std::uint32_t>, histogram_scale::buckets> counts_{};
};

} // namespace onesea
