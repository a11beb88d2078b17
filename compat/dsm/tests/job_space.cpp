// SPDX-License-Identifier: Apache-2.0
// Sizes, READ, WRITE, WRITE_B, fence, barrier.
#include "job.hpp"

#include <algorithm>
#include <cstring>

namespace job {
namespace {

void parts_are_known_everywhere_and_zero()
{
    std::uint64_t sum = 0, bytes = 0;
    for (int node = 0; node < dsm_nodes(); node++) {
        EXPECT_DONE(dsm_part(node, &bytes));
        EXPECT(bytes == part_of(node, dsm_nodes()));
        sum += bytes;
    }
    EXPECT_DONE(dsm_space(&bytes));
    EXPECT(bytes == sum);
    for (int node : givers()) {
        std::vector<char> all(part_of(node, dsm_nodes()), 'x');
        EXPECT_DONE(dsm_read(node, 0, all.data(), all.size()));
        EXPECT(std::all_of(all.begin(), all.end(), [](char c) { return c == 0; }));
    }
    EXPECT_DONE(dsm_barrier());
}

void own_part_lies_in_one_piece()
{
    const std::uint64_t bytes = part_of(dsm_node(), dsm_nodes());
    EXPECT(dsm_local(bytes) == nullptr);
    if (bytes == 0) return;
    char *first = static_cast<char *>(dsm_local(0));
    EXPECT(first != nullptr);
    EXPECT(reinterpret_cast<std::uintptr_t>(first) % 8 == 0);
    EXPECT(dsm_local(bytes - 1) == first + bytes - 1);
}

// Every node writes into its own slot of every part, in all sizes; the bytes around stay what they were.
void what_is_written_is_read(bool blocking)
{
    const int me = dsm_node();
    for (int node : givers()) {
        const place mine = slot(node, me);
        std::vector<char> back(mine.bytes), model = pattern(mine.bytes, static_cast<unsigned>(node));
        EXPECT_DONE(dsm_write_b(node, mine.address, model.data(), mine.bytes));
        for (std::uint64_t bytes : {0ull, 1ull, 3ull, 4ull, 8ull, 64ull, 1000ull, mine.bytes / 2ull}) {
            const std::uint64_t from = bytes % 7;
            std::vector<char> data = pattern(bytes, static_cast<unsigned>(bytes) + static_cast<unsigned>(me) * 100);
            std::copy(data.begin(), data.end(), model.begin() + static_cast<long>(from));
            if (blocking) {
                EXPECT_DONE(dsm_write_b(node, mine.address + from, data.data(), bytes));
            } else {
                EXPECT_DONE(dsm_write(node, mine.address + from, data.data(), bytes));
                std::fill(data.begin(), data.end(), '!'); // the buffer may be reused
                EXPECT_DONE(dsm_fence());
            }
            EXPECT_DONE(dsm_read(node, mine.address, back.data(), mine.bytes));
            EXPECT(back == model);
        }
    }
    EXPECT_DONE(dsm_barrier());
}

// Many WRITEs without a fence between them; the barrier completes them, and the owners see them in their own memory.
void barrier_completes_writes()
{
    const int me = dsm_node(), nodes = dsm_nodes();
    for (std::uint64_t round = 1; round <= 3; round++) {
        for (int node : givers()) {
            const place mine = slot(node, me);
            for (std::uint64_t i = 0; i + 8 <= std::min<std::uint64_t>(mine.bytes, 4096); i += 8) {
                const std::uint64_t word = round << 32 | static_cast<std::uint64_t>(me) << 16 | i;
                EXPECT_DONE(dsm_write(node, mine.address + i, &word, sizeof word));
            }
        }
        EXPECT_DONE(dsm_barrier());
        for (int from = 0; from < nodes && part_of(me, nodes) > 0; from++) {
            const place its = slot(me, from);
            for (std::uint64_t i = 0; i + 8 <= std::min<std::uint64_t>(its.bytes, 4096); i += 8) {
                std::uint64_t word;
                std::memcpy(&word, dsm_local(its.address + i), sizeof word);
                EXPECT(word == (round << 32 | static_cast<std::uint64_t>(from) << 16 | i));
            }
        }
        EXPECT_DONE(dsm_barrier());
    }
}

// WRITEs in a row, whose buffer is filled with something else as soon as each has returned.
void the_buffer_of_a_write_may_be_reused(std::uint64_t pieces)
{
    for (int node : givers()) {
        const place mine = slot(node, dsm_node());
        const std::uint64_t bytes = mine.bytes / pieces;
        const std::vector<char> model = pattern(bytes * pieces, static_cast<unsigned>(node) + 5);
        std::vector<char> buffer(bytes), back(bytes * pieces);
        for (std::uint64_t i = 0; i < pieces; i++) {
            std::copy_n(model.begin() + static_cast<long>(i * bytes), bytes, buffer.begin());
            EXPECT_DONE(dsm_write(node, mine.address + i * bytes, buffer.data(), bytes));
            std::fill(buffer.begin(), buffer.end(), '!');
        }
        EXPECT_DONE(dsm_fence());
        EXPECT_DONE(dsm_read(node, mine.address, back.data(), back.size()));
        EXPECT(back == model);
    }
    EXPECT_DONE(dsm_barrier());
}

// The whole part of node 0 by one access, from each node in turn.
void a_whole_part_in_one_access()
{
    const std::uint64_t bytes = part_of(0, dsm_nodes());
    for (int turn = 0; turn < dsm_nodes(); turn++) {
        const std::vector<char> data = pattern(bytes, static_cast<unsigned>(turn) + 77);
        if (turn == dsm_node()) EXPECT_DONE(dsm_write_b(0, 0, data.data(), bytes));
        EXPECT_DONE(dsm_barrier());
        std::vector<char> back(bytes);
        EXPECT_DONE(dsm_read(0, 0, back.data(), bytes));
        EXPECT(back == data);
        EXPECT_DONE(dsm_barrier());
    }
}

} // namespace

void space_steps()
{
    parts_are_known_everywhere_and_zero();
    own_part_lies_in_one_piece();
    what_is_written_is_read(true);
    if (!lossy) what_is_written_is_read(false);
    if (!lossy) barrier_completes_writes();
    for (std::uint64_t pieces : {3, 50, 200})
        if (!lossy) the_buffer_of_a_write_may_be_reused(pieces);
    a_whole_part_in_one_access();
}

} // namespace job
