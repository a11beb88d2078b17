// SPDX-License-Identifier: Apache-2.0
// Reduce and allreduce, scan, and the reduction of which every member gets a part.
//
// Small arrays go whole. The binomial tree and the butterfly put the brackets in the same places, for any number n of
// members: ((0 1)(2 3))((4 5) 6). So allreduce may choose between them by the placement on nodes, and still gives the
// same bits. In round k of the butterfly two blocks of up to 2^k neighbours join; the second may be short (or missing),
// then its members serve several of the first:
//
//      0 1 2 3 | 4 5 6        4 answers 0 and 3, 5 answers 1, 6 answers 2;  0 answers 4, 1 answers 5, 2 answers 6
//
// Large arrays are scattered while they are reduced: every member ends with one part. For a power of two the two
// halves are exchanged with neighbours at distance 1, 2, 4, .. (the most bytes to the nearest); else round a ring.
#include "coll/algorithms.hpp"
#include "coll/choose.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace onesea::coll {
namespace {

bool halves(int members) { return std::has_single_bit(unsigned(members)); }

range block_of(int block, int members, std::size_t count)
{
    const std::size_t n = std::size_t(members), b = std::size_t(block), each = count / n, more = count % n;
    return {b * each + std::min(b, more), each + (b < more ? 1 : 0)};
}

// The half of a range that the member keeps in that round, or the other one.
range half_of(const range &r, bool upper)
{
    const std::size_t lower = r.count / 2;
    return upper ? range{r.at + lower, r.count - lower} : range{r.at, lower};
}

range halved(int member, int rounds, std::size_t count)
{
    range r{0, count};
    for (int k = 0; k < rounds; ++k) r = half_of(r, member >> k & 1);
    return r;
}

void combine_at(std::byte *all, const range &r, const std::byte *other, bool other_is_low, const elements &e)
{
    std::byte *mine = all + r.at * e.width;
    e.combine(mine, other_is_low ? other : mine, other_is_low ? mine : other, r.count);
}

void scatter_by_halves(call &c, std::byte *all, const elements &e)
{
    std::byte *other = c.scratch((e.count + 1) / 2 * e.width);
    range r{0, e.count};
    for (int k = 0; 1 << k < c.size(); ++k) {
        const bool upper = c.me() >> k & 1;
        const range keep = half_of(r, upper), give = half_of(r, !upper);
        c.expect(c.me() ^ 1 << k, unsigned(k), other, keep.count * e.width);
        c.send(c.me() ^ 1 << k, unsigned(k), all + give.at * e.width, give.count * e.width);
        c.finish();
        if (c.broken()) return;
        combine_at(all, keep, other, upper, e);
        r = keep;
    }
}

void collect_by_halves(call &c, std::byte *all, const elements &e)
{
    for (int k = std::bit_width(unsigned(c.size())) - 2; k >= 0; --k) {
        const int partner = c.me() ^ 1 << k;
        const range mine = halved(c.me(), k + 1, e.count), theirs = halved(partner, k + 1, e.count);
        c.expect(partner, unsigned(k), all + theirs.at * e.width, theirs.count * e.width);
        c.send(partner, unsigned(k), all + mine.at * e.width, mine.count * e.width);
        c.finish();
    }
}

// Block b starts at member b and goes up: its reduction ends at member b - 1.
void scatter_round_ring(call &c, std::byte *all, const elements &e)
{
    const int n = c.size(), left = (c.me() + n - 1) % n, right = (c.me() + 1) % n;
    std::byte *other = c.scratch(block_of(0, n, e.count).count * e.width);
    for (int step = 0; step < n - 1; ++step) {
        const range give = block_of((c.me() + n - step) % n, n, e.count);
        const range take = block_of((left + n - step) % n, n, e.count);
        c.expect(left, unsigned(step), other, take.count * e.width);
        c.send(right, unsigned(step), all + give.at * e.width, give.count * e.width);
        c.finish();
        if (c.broken()) return;
        combine_at(all, take, other, true, e);
    }
}

void collect_round_ring(call &c, std::byte *all, const elements &e)
{
    const int n = c.size(), left = (c.me() + n - 1) % n, right = (c.me() + 1) % n;
    for (int step = 0; step < n - 1; ++step) {
        const range give = part_of((c.me() + n - step) % n, n, e.count);
        const range take = part_of((left + n - step) % n, n, e.count);
        c.expect(left, unsigned(step), all + take.at * e.width, take.count * e.width);
        c.send(right, unsigned(step), all + give.at * e.width, give.count * e.width);
        c.finish();
    }
}

// Leaves the result in the root's `all`, which is the input at entry.
void binomial_reduce(call &c, int root, std::byte *all, const elements &e)
{
    const int n = c.size(), at = (c.me() - root + n) % n;
    auto member = [&](int place) { return (place + root) % n; };
    std::vector<int> children = binomial_children(at, n);
    std::vector<std::pair<receive *, std::byte *>> expected;
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
        std::byte *other = c.scratch(e.bytes());
        expected.emplace_back(c.expect(member(*child), 0, other, e.bytes()), other);
    }
    for (auto [r, other] : expected) {
        c.await(r);
        if (c.broken()) return;
        e.combine(all, all, other, e.count);
    }
    if (at != 0) c.send(member(binomial_parent(at)), 0, all, e.bytes());
    c.finish();
}

void butterfly(call &c, std::byte *all, const elements &e)
{
    const int n = c.size();
    std::byte *other = c.scratch(e.bytes());
    unsigned round = 0;
    for (int size = 1; size < n; size *= 2, ++round) {
        const int mine = c.me() / size * size, theirs = mine ^ size, offset = c.me() - mine;
        if (theirs >= n) continue;
        const int my_size = std::min(size, n - mine), their_size = std::min(size, n - theirs);
        c.expect(theirs + offset % their_size, round, other, e.bytes());
        for (int to = offset; to < their_size; to += my_size) c.send(theirs + to, round, all, e.bytes());
        c.finish();
        if (c.broken()) return;
        combine_at(all, {0, e.count}, other, theirs < mine, e);
    }
}

bool whole(const call &c, const elements &e)
{
    return e.bytes() <= small_reduce || c.size() <= 2 || e.count < std::size_t(c.size());
}

void gather_parts(call &c, int root, std::byte *all, std::byte *output, const elements &e)
{
    const range mine = part_of(c.me(), c.size(), e.count);
    if (c.me() != root) {
        c.send(root, 0, all + mine.at * e.width, mine.count * e.width);
        return c.finish();
    }
    for (int member = 0; member < c.size(); ++member) {
        const range theirs = part_of(member, c.size(), e.count);
        if (member != root) c.expect(member, 0, output + theirs.at * e.width, theirs.count * e.width);
    }
    c.finish();
}

// In round k member m has in `sum` the reduction of the 2^k members that end with it, and passes it to the one 2^k
// above. `below` (null if not wanted) becomes the same without the caller.
void sum_up(call &c, std::byte *sum, std::byte *below, const elements &e)
{
    std::byte *other = c.scratch(e.bytes());
    unsigned round = 0;
    for (int distance = 1; distance < c.size(); distance *= 2, ++round) {
        const bool some_below = c.me() >= distance;
        if (some_below) c.expect(c.me() - distance, round, other, e.bytes());
        if (c.me() + distance < c.size()) c.send(c.me() + distance, round, sum, e.bytes());
        c.finish();
        if (c.broken()) return;
        if (!some_below) continue;
        e.combine(sum, other, sum, e.count);
        if (below && distance > 1) e.combine(below, other, below, e.count);
        if (below && distance == 1) copy_part(below, other, e.bytes());
    }
}

} // namespace

range part_of(int member, int members, std::size_t count)
{
    if (halves(members)) return halved(member, std::bit_width(unsigned(members)) - 1, count);
    return block_of((member + 1) % members, members, count);
}

void reduce_scatter(call &c, std::byte *all, const elements &e)
{
    return halves(c.size()) ? scatter_by_halves(c, all, e) : scatter_round_ring(c, all, e);
}

void collect_parts(call &c, std::byte *all, const elements &e)
{
    return halves(c.size()) ? collect_by_halves(c, all, e) : collect_round_ring(c, all, e);
}

void reduce(call &c, int root, const void *input, void *output, const elements &e)
{
    auto *all = c.me() == root ? static_cast<std::byte *>(output) : c.scratch(e.bytes());
    if (c.broken()) return;
    copy_part(all, input, e.bytes());
    if (whole(c, e)) return binomial_reduce(c, root, all, e);
    reduce_scatter(c, all, e);
    c.next_phase();
    gather_parts(c, root, all, static_cast<std::byte *>(output), e);
}

void allreduce(call &c, const void *input, void *output, const elements &e)
{
    auto *all = static_cast<std::byte *>(output);
    copy_part(all, input, e.bytes());
    if (c.size() == 1) return;
    if (!whole(c, e)) {
        reduce_scatter(c, all, e);
        c.next_phase();
        return collect_parts(c, all, e);
    }
    if (c.size() <= many || c.places().nodes() == c.size()) return butterfly(c, all, e);
    binomial_reduce(c, 0, all, e);
    c.next_phase();
    broadcast(c, 0, all, e.bytes());
}

void scan(call &c, const void *input, void *output, const elements &e)
{
    copy_part(output, input, e.bytes());
    sum_up(c, static_cast<std::byte *>(output), nullptr, e);
}

void exscan(call &c, const void *input, void *output, const elements &e)
{
    std::byte *sum = c.scratch(e.bytes());
    if (c.broken()) return;
    copy_part(sum, input, e.bytes());
    sum_up(c, sum, static_cast<std::byte *>(output), e);
}

// Each block is put where the part lies that its member has at the end.
void reduce_scatter_block(call &c, const void *input, void *part, const elements &e)
{
    const std::size_t block = e.bytes() / std::size_t(c.size());
    std::byte *all = c.scratch(e.bytes());
    if (c.broken()) return;
    if (!halves(c.size()) && whole(c, e)) { // halves take as many rounds as the butterfly, with fewer bytes
        allreduce(c, input, all, e);
        return copy_part(part, all + std::size_t(c.me()) * block, block);
    }
    auto place = [&](int member) { return all + part_of(member, c.size(), e.count).at * e.width; };
    for (int member = 0; member < c.size(); ++member)
        copy_part(place(member), static_cast<const std::byte *>(input) + std::size_t(member) * block, block);
    reduce_scatter(c, all, e);
    copy_part(part, place(c.me()), block);
}

} // namespace onesea::coll
