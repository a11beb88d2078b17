// SPDX-License-Identifier: Apache-2.0
// Gather, scatter, allgather, alltoall: data moves, nothing is computed.
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
    copy_bytes(run, input, bytes);
    for (int child : binomial_children(s.at, s.n))
        c.expect(s.member(child), 0, run + std::size_t(child - s.at) * bytes, std::size_t(s.parts(child)) * bytes);
    c.finish();
    if (c.broken()) return;
    if (s.at != 0) {
        c.send(s.member(binomial_parent(s.at)), 0, run, std::size_t(s.parts(s.at)) * bytes);
        return c.finish();
    }
    const std::size_t before = std::size_t(s.n - root) * bytes; // the root's run begins with the root
    copy_bytes(output + std::size_t(root) * bytes, run, before);
    copy_bytes(output, run + before, std::size_t(root) * bytes);
}

void scatter_tree(call &c, int root, const std::byte *input, void *output, std::size_t bytes)
{
    const seat s(c, root);
    std::byte *run = c.scratch(std::size_t(s.parts(s.at)) * bytes);
    if (c.broken()) return;
    if (s.at == 0) {
        const std::size_t before = std::size_t(s.n - root) * bytes;
        copy_bytes(run, input + std::size_t(root) * bytes, before);
        copy_bytes(run + before, input, std::size_t(root) * bytes);
    } else {
        c.await(c.expect(s.member(binomial_parent(s.at)), 0, run, std::size_t(s.parts(s.at)) * bytes));
    }
    for (int child : binomial_children(s.at, s.n))
        c.send(s.member(child), 0, run + std::size_t(child - s.at) * bytes, std::size_t(s.parts(child)) * bytes);
    copy_bytes(output, run, bytes);
    c.finish();
}

// In round k everybody passes the parts it has, 2^k of them, to the one 2^k before it.
void allgather_bruck(call &c, const void *input, std::byte *output, std::size_t bytes)
{
    const int n = c.size(), me = c.me();
    std::byte *run = c.scratch(std::size_t(n) * bytes); // begins with the caller's part
    if (c.broken()) return;
    copy_bytes(run, input, bytes);
    unsigned round = 0;
    for (int have = 1; have < n; have *= 2, ++round) {
        const std::size_t more = std::size_t(std::min(have, n - have)) * bytes;
        c.expect((me + have) % n, round, run + std::size_t(have) * bytes, more);
        c.send((me + n - have) % n, round, run, more);
        c.finish();
    }
    const std::size_t before = std::size_t(n - me) * bytes;
    copy_bytes(output + std::size_t(me) * bytes, run, before);
    copy_bytes(output, run + before, std::size_t(me) * bytes);
}

void allgather_ring(call &c, const void *input, std::byte *output, std::size_t bytes)
{
    const int n = c.size(), left = (c.me() + n - 1) % n, right = (c.me() + 1) % n;
    auto part = [&](int member) { return output + std::size_t(member) * bytes; };
    copy_bytes(part(c.me()), input, bytes);
    std::vector<receive *> expected;
    for (int step = 0; step < n - 1; ++step)
        expected.push_back(c.expect(left, unsigned(step), part((left + n - step) % n), bytes));
    for (int step = 0; step < n - 1; ++step) {
        c.send(right, unsigned(step), part((c.me() + n - step) % n), bytes);
        c.await(expected[std::size_t(step)]);
    }
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
    for (int p = 0; p < n; ++p) copy_bytes(part(run, p), input + std::size_t((me + p) % n) * bytes, bytes);
    unsigned round = 0;
    for (int bit = 1; bit < n; bit *= 2, ++round) {
        int moved = 0;
        for (int p = bit; p < n; ++p)
            if (p & bit) copy_bytes(part(out, moved++), part(run, p), bytes);
        c.expect((me + n - bit) % n, round, in, std::size_t(moved) * bytes);
        c.send((me + bit) % n, round, out, std::size_t(moved) * bytes);
        c.finish();
        if (c.broken()) return;
        moved = 0;
        for (int p = bit; p < n; ++p)
            if (p & bit) copy_bytes(part(run, p), part(in, moved++), bytes);
    }
    for (int p = 0; p < n; ++p) copy_bytes(part(output, (me + n - p) % n), part(run, p), bytes);
}

void alltoall_straight(call &c, const std::byte *input, std::byte *output, std::size_t bytes)
{
    const int n = c.size(), me = c.me();
    auto offset = [&](int member) { return std::size_t(member) * bytes; };
    for (int i = 1; i < n; ++i) c.expect((me + n - i) % n, 0, output + offset((me + n - i) % n), bytes);
    for (int i = 1; i < n; ++i) c.send((me + i) % n, 0, input + offset((me + i) % n), bytes);
    copy_bytes(output + offset(me), input + offset(me), bytes);
    c.finish();
}

} // namespace

void gather(call &c, int root, const void *input, void *output, std::size_t bytes)
{
    auto *out = static_cast<std::byte *>(output);
    if (through_tree(c, bytes)) return gather_tree(c, root, input, out, bytes);
    if (c.me() != root) {
        c.send(root, 0, input, bytes);
        return c.finish();
    }
    for (int member = 0; member < c.size(); ++member)
        if (member != root) c.expect(member, 0, out + std::size_t(member) * bytes, bytes);
    copy_bytes(out + std::size_t(root) * bytes, input, bytes);
    c.finish();
}

void scatter(call &c, int root, const void *input, void *output, std::size_t bytes)
{
    auto *in = static_cast<const std::byte *>(input);
    if (through_tree(c, bytes)) return scatter_tree(c, root, in, output, bytes);
    if (c.me() != root) return c.await(c.expect(root, 0, output, bytes));
    for (int i = 1; i < c.size(); ++i) {
        const int member = (root + i) % c.size();
        c.send(member, 0, in + std::size_t(member) * bytes, bytes);
    }
    copy_bytes(output, in + std::size_t(root) * bytes, bytes);
    c.finish();
}

void allgather(call &c, const void *input, void *output, std::size_t bytes)
{
    auto *out = static_cast<std::byte *>(output);
    if (bytes > small_allgather / std::size_t(c.size())) return allgather_ring(c, input, out, bytes);
    if (c.size() <= many || c.places().nodes() == c.size()) return allgather_bruck(c, input, out, bytes);
    gather(c, 0, input, output, bytes);
    c.next_phase();
    broadcast(c, 0, output, std::size_t(c.size()) * bytes);
}

void alltoall(call &c, const void *input, void *output, std::size_t bytes)
{
    auto *in = static_cast<const std::byte *>(input);
    auto *out = static_cast<std::byte *>(output);
    if (bytes <= small_exchange && c.size() > few) return alltoall_bruck(c, in, out, bytes);
    alltoall_straight(c, in, out, bytes);
}

} // namespace onesea::coll
