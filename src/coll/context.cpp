// SPDX-License-Identifier: Apache-2.0
#include "coll/context.hpp"

#include <bit>

namespace onesea::coll {
namespace {

// Two lanes that see the same words and differ in their constants. Every step is invertible, so that a lane loses
// nothing of what it has taken in.
class mixer {
  public:
    explicit mixer(std::uint64_t purpose) : high_(0x9ddfea08eb382d69u ^ purpose), low_(0xc2b2ae3d27d4eb4fu + purpose) {}

    void add(std::uint64_t word)
    {
        high_ = scramble(std::rotl(high_, 25) ^ word, 0xd6e8feb86659fd93u);
        low_ = scramble(std::rotl(low_, 39) + word, 0xa0761d6478bd642fu);
    }

    context_id result() const
    {
        return {scramble(high_ + std::rotl(low_, 17), 0xd6e8feb86659fd93u),
                scramble(low_ ^ std::rotl(high_, 41), 0xa0761d6478bd642fu)};
    }

  private:
    std::uint64_t high_, low_;

    static std::uint64_t scramble(std::uint64_t word, std::uint64_t odd)
    {
        for (int round = 0; round < 2; ++round) word = (word ^ (word >> 32)) * odd;
        return word ^ (word >> 29);
    }
};

enum purpose : std::uint64_t { of_list = 1, of_use, of_split };

} // namespace

context_id context_of_list(std::span<const int> ranks, int tag)
{
    mixer m(of_list);
    m.add(std::uint64_t(ranks.size()) << 32 | std::uint32_t(tag));
    for (int rank : ranks) m.add(std::uint32_t(rank));
    return m.result();
}

context_id context_of_use(const context_id &list, std::uint64_t use)
{
    mixer m(of_use);
    m.add(list.high);
    m.add(list.low);
    m.add(use);
    return m.result();
}

context_id context_of_split(const context_id &parent, std::uint32_t sequence, int color)
{
    mixer m(of_split);
    m.add(parent.high);
    m.add(parent.low);
    m.add(std::uint64_t(sequence) << 32 | std::uint32_t(color));
    return m.result();
}

} // namespace onesea::coll
