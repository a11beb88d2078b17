// SPDX-License-Identifier: Apache-2.0
#include "coll_reference.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace proof {
namespace {

template <class T>
T apply(sea_reduce_op op, T a, T b)
{
    using wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    switch (op) {
    case SEA_SUM:
        return T(wide(a) + wide(b));
    case SEA_PROD:
        return T(wide(a) * wide(b));
    case SEA_MIN:
        return std::min(a, b);
    case SEA_MAX:
        return std::max(a, b);
    default:
        break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (op == SEA_BAND) return T(a & b);
        if (op == SEA_BOR) return T(a | b);
        if (op == SEA_BXOR) return T(a ^ b);
    }
    return T(0);
}

template <class T>
T number(std::uint64_t seed, int member, std::size_t i, sea_reduce_op op)
{
    dice d{seed * 1000003 + std::uint64_t(member) * 7919 + i};
    std::uint64_t r = d.next();
    if (std::is_integral_v<T>) return T(r); // wraps like the library says
    if (op == SEA_PROD) return r % 16 == 0 ? T(2) : r % 2 ? T(1) : T(-1);
    return T(int(r % 2001) - 1000);
}

template <class T>
bytes numbers(std::uint64_t seed, int member, std::size_t count, sea_reduce_op op)
{
    bytes out(count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
        T v = number<T>(seed, member, i, op);
        std::memcpy(out.data() + i * sizeof(T), &v, sizeof(T));
    }
    return out;
}

template <class T>
bytes reduce_all(std::uint64_t seed, int members, std::size_t count, sea_reduce_op op)
{
    bytes out(count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
        T v = number<T>(seed, 0, i, op);
        for (int m = 1; m < members; ++m) v = apply<T>(op, v, number<T>(seed, m, i, op));
        std::memcpy(out.data() + i * sizeof(T), &v, sizeof(T));
    }
    return out;
}

template <class Use>
bytes by_type(sea_type type, Use &&use)
{
    switch (type) {
    case SEA_INT8:
        return use(std::int8_t());
    case SEA_UINT8:
        return use(std::uint8_t());
    case SEA_INT16:
        return use(std::int16_t());
    case SEA_UINT16:
        return use(std::uint16_t());
    case SEA_INT32:
        return use(std::int32_t());
    case SEA_UINT32:
        return use(std::uint32_t());
    case SEA_INT64:
        return use(std::int64_t());
    case SEA_UINT64:
        return use(std::uint64_t());
    case SEA_FLOAT:
        return use(float());
    case SEA_DOUBLE:
        return use(double());
    }
    return {};
}

bytes joined(std::uint64_t seed, int members, std::size_t part)
{
    bytes all;
    for (int m = 0; m < members; ++m) {
        bytes one = input_of(seed, m, part);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

bytes slice(const bytes &all, std::size_t index, std::size_t part)
{
    auto from = all.begin() + std::ptrdiff_t(index * part);
    return bytes(from, from + std::ptrdiff_t(part));
}

// A buffer of parts in an order of its own, with gaps between them.
struct laid_out {
    std::vector<std::size_t> sizes, offsets;
    bytes buffer;

    laid_out(const std::vector<bytes> &parts, std::uint64_t seed, bool filled)
        : sizes(parts.size()), offsets(parts.size())
    {
        dice d{seed};
        const std::size_t n = parts.size(), turned = d.below(n);
        std::size_t end = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t m = (i + turned) % n;
            offsets[m] = end + d.below(9);
            sizes[m] = parts[m].size();
            end = offsets[m] + sizes[m];
        }
        buffer.assign(end + 1, 0xee);
        for (std::size_t m = 0; filled && m < n; ++m)
            std::copy(parts[m].begin(), parts[m].end(), buffer.begin() + std::ptrdiff_t(offsets[m]));
    }
};

// Everything of one team with one seed.
struct trial {
    sea_team team;
    std::uint64_t seed;
    int n, me, root;
    std::size_t part;

    void broadcast() const
    {
        bytes data = me == root ? input_of(seed, root, part) : bytes(part, 0xee);
        CHECK_OK(sea_broadcast(team, root, data.data(), part));
        EXPECT_SAME("broadcast", input_of(seed, root, part), data);
    }

    void gather_and_scatter() const
    {
        const bytes mine = input_of(seed, me, part), all = joined(seed, n, part);
        bytes out(me == root ? all.size() : 0, 0xee), back(part, 0xee);
        CHECK_OK(sea_gather(team, root, mine.data(), out.data(), part));
        if (me == root) EXPECT_SAME("gather", all, out);
        CHECK_OK(sea_scatter(team, root, out.data(), back.data(), part));
        EXPECT_SAME("scatter", mine, back);
        out.assign(all.size(), 0xee);
        CHECK_OK(sea_allgather(team, mine.data(), out.data(), part));
        EXPECT_SAME("allgather", all, out);
    }

    void alltoall() const
    {
        const std::size_t piece = part / std::size_t(n);
        bytes in = input_of(seed, me, piece * std::size_t(n)), out(in.size(), 0xee), expected;
        for (int m = 0; m < n; ++m) {
            bytes theirs = slice(input_of(seed, m, in.size()), std::size_t(me), piece);
            expected.insert(expected.end(), theirs.begin(), theirs.end());
        }
        CHECK_OK(sea_alltoall(team, in.data(), out.data(), piece));
        EXPECT_SAME("alltoall", expected, out);
    }

    // What member `from` has for member `to`.
    bytes letter(int from, int to) const
    {
        dice d{seed + std::uint64_t(from * n + to)};
        return input_of(d.next(), to, d.below(3) == 0 ? 0 : random_size(d, part / std::size_t(n)));
    }

    void alltoallv() const
    {
        std::vector<bytes> theirs, mine;
        for (int m = 0; m < n; ++m) {
            mine.push_back(letter(me, m));
            theirs.push_back(letter(m, me));
        }
        const laid_out from(mine, seed, true), expected(theirs, seed + std::uint64_t(me), true);
        laid_out to(theirs, seed + std::uint64_t(me), false);
        CHECK_OK(sea_alltoallv(team, from.buffer.data(), from.sizes.data(), from.offsets.data(), to.buffer.data(),
                               to.sizes.data(), to.offsets.data()));
        EXPECT_SAME("alltoallv", expected.buffer, to.buffer);
    }

    // In place where `in_place` says so.
    void gatherv_and_scatterv(bool in_place) const
    {
        std::vector<bytes> parts;
        bytes joined;
        for (int m = 0; m < n; ++m) {
            parts.push_back(letter(m, m));
            joined.insert(joined.end(), parts.back().begin(), parts.back().end());
        }
        bytes mine = parts[std::size_t(me)];
        const laid_out expected(parts, seed, true);
        laid_out all(parts, seed, false);
        unsigned char *own = all.buffer.data() + all.offsets[std::size_t(me)];
        const bool here = me == root, lies_there = in_place && here;
        if (lies_there) std::copy(mine.begin(), mine.end(), own);
        CHECK_OK(sea_gatherv(team, root, lies_there ? own : mine.data(), mine.size(),
                             here ? all.buffer.data() : nullptr, here ? all.sizes.data() : nullptr,
                             all.offsets.data()));
        if (here) EXPECT_SAME("gatherv", expected.buffer, all.buffer);
        bytes back(mine.size(), 0xee);
        CHECK_OK(sea_scatterv(team, root, here ? all.buffer.data() : nullptr, here ? all.sizes.data() : nullptr,
                              all.offsets.data(), lies_there ? own : back.data(), mine.size()));
        if (!lies_there) EXPECT_SAME("scatterv", mine, back);
        bytes side_by_side(joined.size(), 0xee);
        CHECK_OK(sea_allgatherv(team, mine.data(), side_by_side.data(), all.sizes.data(), nullptr));
        EXPECT_SAME("allgatherv", joined, side_by_side);
    }

    void scans(sea_type type, sea_reduce_op op, bool in_place) const
    {
        const std::size_t count = part / width_of(type);
        bytes in = numbers_of(seed, me, count, type, op), out(in.size(), 0xee);
        bytes &to = in_place ? in : out;
        CHECK_OK(sea_scan(team, in.data(), to.data(), count, type, op));
        EXPECT_SAME("scan", reduced(seed, me + 1, count, type, op), to);
        in = numbers_of(seed, me, count, type, op);
        const bytes expected = me == 0 ? to : reduced(seed, me, count, type, op);
        CHECK_OK(sea_exscan(team, in.data(), to.data(), count, type, op));
        if (me > 0 || !in_place) EXPECT_SAME("exscan", expected, to);
    }

    void reduce_scatter(sea_type type, sea_reduce_op op) const
    {
        const std::size_t count = part / width_of(type) / std::size_t(n), bytes_each = count * width_of(type);
        const bytes in = numbers_of(seed, me, count * std::size_t(n), type, op);
        bytes out(bytes_each, 0xee);
        CHECK_OK(sea_reduce_scatter(team, in.data(), out.data(), count, type, op));
        EXPECT_SAME("reduce_scatter",
                    slice(reduced(seed, n, count * std::size_t(n), type, op), std::size_t(me), bytes_each), out);
    }

    void reductions(sea_type type, sea_reduce_op op, bool in_place) const
    {
        const std::size_t count = part / width_of(type);
        bytes in = numbers_of(seed, me, count, type, op);
        const bytes expected = reduced(seed, n, count, type, op);
        bytes out(in.size(), 0xee);
        bytes &to = in_place ? in : out;
        CHECK_OK(sea_allreduce(team, in.data(), to.data(), count, type, op));
        EXPECT_SAME("allreduce", expected, to);
        in = numbers_of(seed, me, count, type, op);
        CHECK_OK(sea_reduce(team, root, in.data(), me == root ? to.data() : nullptr, count, type, op));
        if (me == root) EXPECT_SAME("reduce", expected, to);
    }
};

} // namespace

bytes input_of(std::uint64_t seed, int member, std::size_t size)
{
    bytes out(size);
    fill(out.data(), size, seed * 4099 + std::uint64_t(member));
    return out;
}

bytes numbers_of(std::uint64_t seed, int member, std::size_t count, sea_type type, sea_reduce_op op)
{
    return by_type(type, [&](auto t) { return numbers<decltype(t)>(seed, member, count, op); });
}

bytes reduced(std::uint64_t seed, int members, std::size_t count, sea_type type, sea_reduce_op op)
{
    return by_type(type, [&](auto t) { return reduce_all<decltype(t)>(seed, members, count, op); });
}

std::size_t width_of(sea_type type)
{
    static constexpr std::size_t widths[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return widths[type];
}

bool is_float(sea_type type) { return type == SEA_FLOAT || type == SEA_DOUBLE; }

void expect_same(const char *file, int line, const char *what, const bytes &expected, const bytes &got)
{
    at(file, line);
    if (expected == got) return;
    std::size_t i = 0;
    while (i < expected.size() && i < got.size() && expected[i] == got[i]) ++i;
    failed(file, line, what, std::to_string(expected.size()) + " bytes of the reference",
           "another byte at " + std::to_string(i) + " of " + std::to_string(got.size()));
}

std::size_t random_size(dice &d, std::size_t most)
{
    static constexpr std::size_t edges[] = {0,     1,      8,      983,    984,    985,    1023,   1024,   1025,
                                            4096,  7900,   8192,   32767,  32768,  32776,  61440,  61441,  65536,
                                            65537, 122880, 122881, 131072, 262144, 262145, 524288, 524289, 1048577};
    std::size_t size = 0;
    switch (d.below(4)) {
    case 0:
        size = edges[d.below(std::size(edges))];
        break;
    case 1:
        size = d.below(300);
        break;
    case 2:
        size = d.below(70000);
        break;
    default:
        size = d.below(most + 1);
        break;
    }
    return std::min(size, most);
}

std::size_t most_per_part(const run &t, int members)
{
    // Everybody holds some arrays of `members` parts at once.
    std::size_t memory = std::size_t(sanitized ? 32 : 128) << 20;
    return std::min(std::size_t(4) << 20, memory / std::size_t(t.size) / std::size_t(members));
}

void exercise(run &t, sea_team team, std::uint64_t seed, int rounds)
{
    dice d{seed};
    trial r{team, 0, sea_team_size(team), sea_team_rank(team), 0, 0};
    for (int i = 0; i < rounds; ++i) {
        r.seed = d.next();
        r.root = int(d.below(std::size_t(r.n)));
        r.part = random_size(d, std::size_t(4) << 20);
        if (r.n > 4) r.part = std::min(r.part, std::size_t(t.light ? 40000 : 1200000));
        switch (d.below(6)) {
        case 0:
            r.broadcast();
            break;
        case 1:
            r.part = std::min(r.part, most_per_part(t, r.n));
            r.gather_and_scatter();
            break;
        case 2:
            r.alltoall();
            break;
        case 3:
            r.part = std::min(r.part, most_per_part(t, r.n));
            r.alltoallv();
            r.gatherv_and_scatterv(d.below(2));
            break;
        default: {
            auto type = sea_type(d.below(10));
            auto op = sea_reduce_op(d.below(is_float(type) ? 4 : 7));
            const bool in_place = d.below(2);
            r.part = std::min(r.part, std::size_t(64) * 1024 * 64 / std::size_t(t.size));
            switch (d.below(4)) {
            case 0:
                r.scans(type, op, in_place);
                break;
            case 1:
                r.reduce_scatter(type, op);
                break;
            default:
                r.reductions(type, op, in_place);
            }
        }
        }
        if (d.below(4) == 0) CHECK_OK(sea_barrier(team));
    }
}

} // namespace proof
