// SPDX-License-Identifier: Apache-2.0
// Strided boxes and vectors of pieces, against a model that moves them byte by byte.
#include "places.hpp"

#include <cstring>

using namespace proof;

namespace {

constexpr std::size_t room = 8192;

// A box with its strides at both ends, all inside `room` bytes from a base in the middle or elsewhere.
struct box {
    int levels;
    std::size_t counts[SEA_STRIDE_LEVELS + 1];
    std::int64_t there[SEA_STRIDE_LEVELS], here[SEA_STRIDE_LEVELS];
    std::size_t there_base, here_base;
};

// Strides that keep the runs apart: each level spans more than the whole of the level below; signs are random.
std::size_t lay_out(dice &d, const box &b, std::int64_t *strides)
{
    std::size_t span = b.counts[0], base = 0;
    for (int i = 0; i < b.levels; ++i) {
        std::size_t stride = span + d.below(5);
        bool back = d.below(2) == 0;
        strides[i] = back ? -std::int64_t(stride) : std::int64_t(stride);
        std::size_t reach = stride * (b.counts[i + 1] - 1);
        if (back) base += reach;
        span += reach;
    }
    return base;
}

box throw_box(dice &d, int levels)
{
    box b{};
    b.levels = levels;
    b.counts[0] = 1 + d.below(levels > 3 ? 9 : 40); // the span stays below `room`
    for (int i = 1; i <= levels; ++i) b.counts[i] = 1 + d.below(levels > 4 ? 2 : 4);
    b.there_base = lay_out(d, b, b.there);
    b.here_base = lay_out(d, b, b.here);
    return b;
}

template <class Visit>
void each_run(const box &b, Visit visit)
{
    std::size_t index[SEA_STRIDE_LEVELS] = {};
    while (true) {
        std::int64_t there = std::int64_t(b.there_base), here = std::int64_t(b.here_base);
        for (int i = 0; i < b.levels; ++i) {
            there += std::int64_t(index[i]) * b.there[i];
            here += std::int64_t(index[i]) * b.here[i];
        }
        visit(std::size_t(there), std::size_t(here));
        int level = 0;
        while (level < b.levels && ++index[level] == b.counts[level + 1]) index[level++] = 0;
        if (level == b.levels) return;
    }
}

void put_and_get_box(int peer, sea_addr a, const box &b, std::uint64_t seed)
{
    std::vector<unsigned char> zero(room, 0), source(room), model(room, 0), back(room), expected(room, 0), in(room, 0);
    fill(source.data(), room, seed);
    CHECK_OK(sea_put(a, zero.data(), room, nullptr));
    CHECK_OK(sea_fence(peer));
    sea_op op;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    sea_counter remote{};
    o.remote_counter = &remote;
    CHECK_OK(sea_put_strided(a + b.there_base, b.there, source.data() + b.here_base, b.here, b.counts, b.levels, &o));
    CHECK_OK(sea_wait(op, 30));
    CHECK_EQ(1, remote.value);
    each_run(b, [&](std::size_t there, std::size_t here) { std::memcpy(&model[there], &source[here], b.counts[0]); });
    CHECK_OK(sea_get(back.data(), a, room, nullptr));
    CHECK(back == model);
    CHECK_OK(sea_get_strided(in.data() + b.here_base, b.here, a + b.there_base, b.there, b.counts, b.levels, nullptr));
    each_run(b, [&](std::size_t, std::size_t here) { std::memcpy(&expected[here], &source[here], b.counts[0]); });
    CHECK(in == expected);
}

} // namespace

STEP(300, boxes_of_every_depth_arrive)
{
    place p(kind::heap, std::size_t(t.size) * room), own(kind::malloced, std::size_t(t.size) * room);
    std::vector<sea_addr> heaps = t.exchange(p.address()), owns = t.exchange(own.address());
    dice d{t.seed + std::uint64_t(t.rank)};
    for (int peer : t.peers())
        for (int levels = 0; levels <= SEA_STRIDE_LEVELS; ++levels)
            for (int i = 0; i < t.times(10); ++i) {
                auto &all = i % 3 == 2 ? owns : heaps;
                put_and_get_box(peer, all[std::size_t(peer)] + std::uint64_t(t.rank) * room, throw_box(d, levels),
                                d.next());
            }
    t.sync();
}

STEP(301, a_large_tile_arrives)
{
    constexpr std::size_t rows = 200, width = 1000, pitch = 1500;
    place p(kind::heap, rows * pitch);
    std::vector<sea_addr> all = t.exchange(p.address());
    int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    std::vector<unsigned char> tile(rows * width), back(rows * width);
    fill(tile.data(), tile.size(), std::uint64_t(t.rank));
    std::int64_t there[] = {pitch}, here[] = {width};
    std::size_t counts[] = {width, rows};
    CHECK_OK(sea_put_strided(all[std::size_t(right)], there, tile.data(), here, counts, 1, nullptr));
    CHECK_OK(sea_fence(right));
    t.sync();
    for (std::size_t row = 0; row < rows; ++row) {
        CHECK_DATA(p.memory() + row * pitch, width, std::uint64_t(left), row * width);
        CHECK_EQ(pitch - width, not_all(p.memory() + row * pitch + width, pitch - width, blank));
    }
    CHECK_OK(sea_get_strided(back.data(), here, all[std::size_t(right)], there, counts, 1, nullptr));
    CHECK_DATA(back.data(), back.size(), std::uint64_t(t.rank));
    std::vector<unsigned char> turned(rows * 8); // a column, upwards
    std::int64_t up[] = {-std::int64_t(pitch)}, eight[] = {8};
    std::size_t column[] = {8, rows};
    CHECK_OK(
        sea_get_strided(turned.data(), eight, all[std::size_t(right)] + (rows - 1) * pitch, up, column, 1, nullptr));
    for (std::size_t row = 0; row < rows; ++row)
        CHECK_DATA(&turned[(rows - 1 - row) * 8], 8, std::uint64_t(t.rank), row * width);
    t.sync();
}

STEP(302, boxes_that_do_not_fit_are_refused)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = t.exchange(p.address());
    sea_addr a = all[std::size_t((t.rank + 1) % t.size)];
    std::vector<unsigned char> data(8192, 1);
    std::int64_t sixty_four[SEA_STRIDE_LEVELS + 1] = {64, 64, 64, 64, 64, 64, 64, 64}, zero[SEA_STRIDE_LEVELS + 1] = {};
    std::size_t counts[SEA_STRIDE_LEVELS + 2] = {8, 4, 1, 1, 1, 1, 1, 1, 1};
    auto put = [&](sea_addr to, const std::int64_t *there, const std::size_t *n, int levels) {
        return outcome([&](sea_opts *o) { return sea_put_strided(to, there, data.data(), zero, n, levels, o); });
    };
    CHECK_STATUS(SEA_ERR_INVALID, put(a, sixty_four, counts, -1));
    CHECK_STATUS(SEA_ERR_INVALID, put(a, sixty_four, counts, SEA_STRIDE_LEVELS + 1));
    CHECK_STATUS(SEA_ERR_INVALID, put(a, sixty_four, nullptr, 1));
    CHECK_STATUS(SEA_ERR_INVALID, put(a, nullptr, counts, 1));
    CHECK_STATUS(SEA_ERR_INVALID, sea_put_strided(a, sixty_four, nullptr, zero, counts, 1, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_get_strided(nullptr, zero, a, sixty_four, counts, 1, nullptr));
    std::int64_t far[] = {INT64_C(1) << 38}, back[] = {-(INT64_C(1) << 38)}, wrap[] = {INT64_MAX};
    std::size_t many[] = {8, 3}, endless[] = {8, SIZE_MAX};
    CHECK_STATUS(SEA_ERR_ADDRESS, put(a, far, many, 1));
    CHECK_STATUS(SEA_ERR_ADDRESS, put(a, back, many, 1));
    CHECK(put(a, wrap, many, 1) != SEA_OK);
    CHECK(put(a, sixty_four, endless, 1) != SEA_OK);
    const std::size_t ever[] = {8, SIZE_MAX}, too_often[] = {8, SIZE_MAX / 8, 1, 3},
                      wraps[] = {16, 1, SIZE_MAX / 16 + 1};
    CHECK_STATUS(SEA_ERR_INVALID, put(a, zero, ever, 1)); // the same eight bytes
    CHECK_STATUS(SEA_ERR_INVALID, put(a, zero, too_often, 3));
    CHECK_STATUS(SEA_ERR_INVALID, put(a, zero, wraps, 2));
    CHECK_STATUS(SEA_ERR_INVALID, sea_get_strided(data.data(), zero, a, zero, ever, 1, nullptr));
    CHECK_STATUS(SEA_ERR_ADDRESS, put(SEA_NULL, sixty_four, counts, 1));
    CHECK_STATUS(SEA_ERR_RANK, put((sea_addr(t.size) << SEA_OFFSET_BITS) + 64, sixty_four, counts, 1));
    t.sync();
    CHECK_EQ(4096, not_all(p.memory(), 4096, blank));
    std::size_t none[] = {8, 0, 3}, no_bytes[] = {0, 3, 3};
    CHECK_OK(put(a, sixty_four, none, 2));
    CHECK_OK(put(SEA_NULL, sixty_four, no_bytes, 2));
    t.sync();
    CHECK_EQ(4096, not_all(p.memory(), 4096, blank));
    t.sync();
}

STEP(303, pieces_arrive)
{
    place p(kind::heap, std::size_t(t.size) * room), own(kind::anonymous, std::size_t(t.size) * room);
    std::vector<sea_addr> heaps = t.exchange(p.address()), owns = t.exchange(own.address());
    dice d{t.seed * 7 + std::uint64_t(t.rank)};
    for (int peer : t.peers()) {
        for (int i = 0; i < t.times(20); ++i) {
            sea_addr heap = heaps[std::size_t(peer)] + std::uint64_t(t.rank) * room;
            sea_addr mine = owns[std::size_t(peer)] + std::uint64_t(t.rank) * room;
            std::vector<unsigned char> data(2 * room), back(2 * room, 0), model(2 * room, 0);
            fill(data.data(), data.size(), d.next());
            std::vector<sea_piece> pieces, returning;
            for (std::size_t at = 0, most = i % 2 ? 50 : 900; at + most < 2 * room;) {
                std::size_t bytes = d.below(most);
                bool fits = at / room == (at + bytes) / room;
                sea_addr to = at < room ? heap + at : mine + (at - room);
                if (fits) pieces.push_back({to, data.data() + at, bytes});
                if (fits) returning.push_back({to, back.data() + at, bytes});
                if (fits) std::memcpy(model.data() + at, data.data() + at, bytes);
                at += bytes + d.below(30);
            }
            CHECK_OK(outcome([&](sea_opts *o) { return sea_put_vector(pieces.data(), pieces.size(), o); }));
            CHECK_OK(sea_get_vector(returning.data(), returning.size(), nullptr));
            CHECK(back == model);
        }
    }
    t.sync();
}

STEP(304, pieces_that_do_not_belong_together_are_refused)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = t.exchange(p.address());
    sea_addr a = all[std::size_t((t.rank + 1) % t.size)], b = all[std::size_t((t.rank + 2) % t.size)];
    unsigned char data[256] = {};
    auto put = [&](std::vector<sea_piece> pieces) {
        return outcome([&](sea_opts *o) { return sea_put_vector(pieces.data(), pieces.size(), o); });
    };
    CHECK_OK(put({}));
    CHECK_OK(sea_put_vector(nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_put_vector(nullptr, 1, nullptr));
    if (sea_addr_rank(a) != sea_addr_rank(b)) CHECK_STATUS(SEA_ERR_INVALID, put({{a, data, 8}, {b, data, 8}}));
    CHECK_STATUS(SEA_ERR_INVALID, put({{a, nullptr, 8}}));
    CHECK_STATUS(SEA_ERR_ADDRESS, put({{a + (UINT64_C(1) << 39), data, 8}}));
    CHECK_STATUS(SEA_ERR_ADDRESS, put({{SEA_NULL, data, 8}}));
    t.sync();
    CHECK_EQ(4096, not_all(p.memory(), 4096, blank));
    t.sync();
}
