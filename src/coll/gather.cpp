// SPDX-License-Identifier: Apache-2.0
// Gather, scatter, allgather, alltoall, of parts of one size and of different ones: data moves, nothing is computed.
//
// Trees count *places* from the root: place p is member (root + p) mod n. The subtree of a place is a run of places, so
// the parts of a subtree lie side by side in one buffer.
#include "coll/algorithms.hpp"
#include "coll/choose.hpp"

#include <algorithm>
#include <vector>

namespace onesea::coll {
namespace {

// A place of the binomial tree around a root, and the places below it.
struct seat {
    int root, n, at;
    seat(const call &c, int r) : root(r), n(c.size()), at((c.me() - r + n) % n) {}
    int member(int place) const { return (place + root) % n; }
    int parts(int place) const { return place == 0 ? n : std::min(place & -place, n - place); }
};

bool through_tree(const call &c, std::size_t bytes) { return c.size() > many && bytes <= small_part; }

void gather_tree(call &c, int root, const void *input, std::byte *output, std::size_t bytes)
{
    const seat s(c, root);
    std::byte *run = c.scratch(std::size_t(s.parts(s.at)) * bytes);
    if (c.broken()) return;
    copy_part(run, input, bytes);
    for (int child : binomial_children(s.at, s.n))
        c.expect(s.member(child), 0, run + std::size_t(child - s.at) * bytes, std::size_t(s.parts(child)) * bytes);
    c.finish();
    if (c.broken()) return;
    if (s.at != 0) {
        c.send(s.member(binomial_parent(s.at)), 0, run, std::size_t(s.parts(s.at)) * bytes);
        return c.finish();
    }
    const std::size_t before = std::size_t(s.n - root) * bytes; // the root's run begins with the root
    copy_part(output + std::size_t(root) * bytes, run, before);
    copy_part(output, run + before, std::size_t(root) * bytes);
}

void scatter_tree(call &c, int root, const std::byte *input, void *output, std::size_t bytes)
{
    const seat s(c, root);
    std::byte *run = c.scratch(std::size_t(s.parts(s.at)) * bytes);
    if (c.broken()) return;
    if (s.at == 0) {
        const std::size_t before = std::size_t(s.n - root) * bytes;
        copy_part(run, input + std::size_t(root) * bytes, before);
        copy_part(run + before, input, std::size_t(root) * bytes);
    } else {
        c.await(c.expect(s.member(binomial_parent(s.at)), 0, run, std::size_t(s.parts(s.at)) * bytes));
    }
    for (int child : binomial_children(s.at, s.n))
        c.send(s.member(child), 0, run + std::size_t(child - s.at) * bytes, std::size_t(s.parts(child)) * bytes);
    copy_part(output, run, bytes);
    c.finish();
}

// The places of a run that begins with the caller's part: where each of them begins, and at n where the last one ends.
class run_of_parts {
  public:
    run_of_parts(const call &c, const parts &p) : alike_(p.alike()), each_(p.alike() ? p.bytes(0) : 0)
    {
        if (alike_) return;
        begins_.reserve(std::size_t(c.size()) + 1);
        begins_.push_back(0);
        for (int place = 0; place < c.size(); ++place)
            begins_.push_back(begins_.back() + p.bytes((c.me() + place) % c.size()));
    }
    std::size_t begin(int place) const { return alike_ ? std::size_t(place) * each_ : begins_[std::size_t(place)]; }
    std::size_t bytes(int first, int behind) const { return begin(behind) - begin(first); }

  private:
    bool alike_;
    std::size_t each_;
    std::vector<std::size_t> begins_;
};

void spread(const call &c, const parts &p, std::byte *output, const std::byte *run, const run_of_parts &places)
{
    const int n = c.size(), me = c.me();
    if (p.alike()) {
        const std::size_t before = places.begin(n - me);
        copy_part(output + p.offset(me), run, before);
        return copy_part(output, run + before, p.offset(me));
    }
    for (int place = 0; place < n; ++place) {
        const int member = (me + place) % n;
        copy_part(output + p.offset(member), run + places.begin(place), p.bytes(member));
    }
}

// In round k everybody passes the parts it has, 2^k of them, to the one 2^k before it.
void allgather_bruck(call &c, const void *input, std::byte *output, const parts &p)
{
    const int n = c.size(), me = c.me();
    const run_of_parts places(c, p);
    std::byte *run = c.scratch(places.begin(n));
    if (c.broken()) return;
    copy_part(run, input, p.bytes(me));
    unsigned round = 0;
    for (int have = 1; have < n; have *= 2, ++round) {
        const int more = std::min(have, n - have);
        c.expect((me + have) % n, round, run + places.begin(have), places.bytes(have, have + more));
        c.send((me + n - have) % n, round, run, places.begin(more));
        c.finish();
    }
    spread(c, p, output, run, places);
}

void allgather_ring(call &c, const void *input, std::byte *output, const parts &p)
{
    const int n = c.size(), left = (c.me() + n - 1) % n, right = (c.me() + 1) % n;
    copy_part(output + p.offset(c.me()), input, p.bytes(c.me()));
    std::vector<receive *> expected;
    for (int step = 0; step < n - 1; ++step) {
        const int member = (left + n - step) % n;
        expected.push_back(c.expect(left, unsigned(step), output + p.offset(member), p.bytes(member)));
    }
    for (int step = 0; step < n - 1; ++step) {
        const int member = (c.me() + n - step) % n;
        c.send(right, unsigned(step), output + p.offset(member), p.bytes(member));
        c.await(expected[std::size_t(step)]);
    }
    c.finish();
}

bool goes_straight(const call &c, std::size_t part)
{
    if (c.size() <= 2) return true;
    return c.places().nodes() == 1 &&
           (c.size() <= few || (c.size() <= many && part >= least_straight && part <= most_straight));
}

// Each part straight to all: nobody waits for what another has to get first.
void allgather_straight(call &c, const void *input, std::byte *output, const parts &p)
{
    const int n = c.size(), me = c.me();
    for (int i = 1; i < n; ++i) {
        const int source = (me + n - i) % n;
        c.expect(source, 0, output + p.offset(source), p.bytes(source));
    }
    for (int i = 1; i < n; ++i) c.send((me + i) % n, 0, input, p.bytes(me));
    copy_part(output + p.offset(me), input, p.bytes(me));
    c.finish();
}

// Part p of the run is for the member p after the caller. In round k all parts whose p has bit k go 2^k members on;
// where a part came from follows from its p.
void alltoall_bruck(call &c, const std::byte *input, std::byte *output, std::size_t bytes)
{
    const int n = c.size(), me = c.me();
    std::byte *run = c.scratch(std::size_t(n) * bytes), *out = c.scratch(std::size_t(n) * bytes),
              *in = c.scratch(std::size_t(n) * bytes);
    if (c.broken()) return;
    auto part = [&](std::byte *base, int p) { return base + std::size_t(p) * bytes; };
    for (int p = 0; p < n; ++p) copy_part(part(run, p), input + std::size_t((me + p) % n) * bytes, bytes);
    unsigned round = 0;
    for (int bit = 1; bit < n; bit *= 2, ++round) {
        int moved = 0;
        for (int p = bit; p < n; ++p)
            if (p & bit) copy_part(part(out, moved++), part(run, p), bytes);
        c.expect((me + n - bit) % n, round, in, std::size_t(moved) * bytes);
        c.send((me + bit) % n, round, out, std::size_t(moved) * bytes);
        c.finish();
        if (c.broken()) return;
        moved = 0;
        for (int p = bit; p < n; ++p)
            if (p & bit) copy_part(part(run, p), part(in, moved++), bytes);
    }
    for (int p = 0; p < n; ++p) copy_part(part(output, (me + n - p) % n), part(run, p), bytes);
}

void gather_straight(call &c, int root, const void *input, std::size_t bytes, void *output, const parts &p)
{
    auto *out = static_cast<std::byte *>(output);
    if (c.me() != root) {
        c.send(root, 0, input, bytes);
        return c.finish();
    }
    for (int member = 0; member < c.size(); ++member)
        if (member != root) c.expect(member, 0, out + p.offset(member), p.bytes(member));
    copy_part(out + p.offset(root), input, bytes);
    c.finish();
}

void scatter_straight(call &c, int root, const void *input, const parts &p, void *output, std::size_t bytes)
{
    auto *in = static_cast<const std::byte *>(input);
    if (c.me() != root) return c.await(c.expect(root, 0, output, bytes));
    for (int i = 1; i < c.size(); ++i) {
        const int member = (root + i) % c.size();
        c.send(member, 0, in + p.offset(member), p.bytes(member));
    }
    copy_part(output, in + p.offset(root), bytes);
    c.finish();
}

// Behind parts of which only their two ends know how long they are: who has sent a long one waits until it was
// received, so that not too much comes early to one that is late.
void answer_parts(call &c, int root, bool root_answers, std::size_t own, const parts &p, std::size_t most)
{
    constexpr unsigned answer = 1; // step
    auto between = [&](int other, std::size_t bytes) {
        if (bytes <= most) return;
        if ((c.me() == root) == root_answers)
            c.send(other, answer, nullptr, 0);
        else
            c.expect(other, answer, nullptr, 0);
    };
    if (c.me() != root) between(root, own);
    for (int member = 0; c.me() == root && member < c.size(); ++member)
        if (member != root) between(member, p.bytes(member));
    c.finish();
}

} // namespace

void gather(call &c, int root, const void *input, void *output, std::size_t bytes)
{
    auto *out = static_cast<std::byte *>(output);
    if (through_tree(c, bytes)) return gather_tree(c, root, input, out, bytes);
    gather_straight(c, root, input, bytes, output, parts(bytes));
}

void gatherv(call &c, int root, const void *input, std::size_t bytes, void *output, const parts &p)
{
    gather_straight(c, root, input, bytes, output, p);
    answer_parts(c, root, true, bytes, p, unanswered / std::size_t(c.size())); // those of all lie at the root
}

void scatter(call &c, int root, const void *input, void *output, std::size_t bytes)
{
    auto *in = static_cast<const std::byte *>(input);
    if (through_tree(c, bytes)) return scatter_tree(c, root, in, output, bytes);
    scatter_straight(c, root, input, parts(bytes), output, bytes);
}

void scatterv(call &c, int root, const void *input, const parts &p, void *output, std::size_t bytes)
{
    scatter_straight(c, root, input, p, output, bytes);
    answer_parts(c, root, false, bytes, p, unanswered);
}

void allgather(call &c, const void *input, void *output, std::size_t bytes)
{
    auto *out = static_cast<std::byte *>(output);
    if (goes_straight(c, bytes)) return allgather_straight(c, input, out, parts(bytes));
    if (bytes > small_allgather / std::size_t(c.size())) return allgather_ring(c, input, out, parts(bytes));
    if (c.size() <= many || c.places().nodes() == c.size()) return allgather_bruck(c, input, out, parts(bytes));
    gather(c, 0, input, output, bytes);
    c.next_phase();
    broadcast(c, 0, output, std::size_t(c.size()) * bytes);
}

void allgatherv(call &c, const void *input, void *output, const parts &p, std::size_t total)
{
    auto *out = static_cast<std::byte *>(output);
    if (goes_straight(c, total / std::size_t(c.size()))) return allgather_straight(c, input, out, p);
    return total > small_allgather ? allgather_ring(c, input, out, p) : allgather_bruck(c, input, out, p);
}

void alltoall(call &c, const void *input, void *output, std::size_t bytes)
{
    auto *in = static_cast<const std::byte *>(input);
    auto *out = static_cast<std::byte *>(output);
    if (bytes <= small_exchange && c.size() > few) return alltoall_bruck(c, in, out, bytes);
    alltoallv(c, input, parts(bytes), output, parts(bytes));
}

void alltoallv(call &c, const void *input, const parts &in, void *output, const parts &out)
{
    auto *from = static_cast<const std::byte *>(input);
    auto *to = static_cast<std::byte *>(output);
    const int n = c.size(), me = c.me();
    for (int i = 1; i < n; ++i) {
        const int source = (me + n - i) % n;
        c.expect(source, 0, to + out.offset(source), out.bytes(source));
    }
    for (int i = 1; i < n; ++i) {
        const int target = (me + i) % n;
        c.send(target, 0, from + in.offset(target), in.bytes(target));
    }
    copy_part(to + out.offset(me), from + in.offset(me), in.bytes(me));
    c.finish();
}

} // namespace onesea::coll
