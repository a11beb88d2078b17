// SPDX-License-Identifier: Apache-2.0
// Every error that a caller can provoke, its words, and that nothing has changed.
#include "job.hpp"

#include <limits>
#include <string>

namespace job {
namespace {

std::string access(int node, std::uint64_t address, std::uint64_t length)
{
    return "node " + std::to_string(node) + ", address " + std::to_string(address) + ", length " +
           std::to_string(length);
}

void everything_is_refused()
{
    std::uint64_t word = 0;
    EXPECT_STATUS(DSM_ERR_STATE, dsm_node());
    EXPECT_WORDS("dsm_init()");
    EXPECT_STATUS(DSM_ERR_STATE, dsm_nodes());
    EXPECT_STATUS(DSM_ERR_STATE, dsm_part(0, &word));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_space(&word));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_protect(0, 0, DSM_READ_ONLY));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_read(0, 0, &word, 8));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_write(0, 0, &word, 8));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_write_b(0, 0, &word, 8));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_fence());
    EXPECT_STATUS(DSM_ERR_STATE, dsm_fetch_add(0, 0, 1, nullptr));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_lock(0));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_unlock(0));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_barrier());
    EXPECT(dsm_local(0) == nullptr);
}

// All four accesses to that range give `status` with words that name it.
void all_accesses_give(int status, int node, std::uint64_t address, std::uint64_t length)
{
    std::vector<char> data(4096, 'w');
    EXPECT_STATUS(status, dsm_read(node, address, data.data(), length));
    EXPECT_WORDS("READ at " + access(node, address, length));
    EXPECT(data == std::vector<char>(4096, 'w'));
    EXPECT_STATUS(status, dsm_write(node, address, data.data(), length));
    EXPECT_WORDS("WRITE at " + access(node, address, length));
    EXPECT_STATUS(status, dsm_write_b(node, address, data.data(), length));
    EXPECT_WORDS("WRITE_B at " + access(node, address, length));
    if (length != 8) return;
    std::int64_t old = 12345;
    EXPECT_STATUS(status, dsm_fetch_add(node, address, 1, &old));
    EXPECT_WORDS("FETCH_ADD at " + access(node, address, length));
    EXPECT(old == 12345);
}

void what_is_outside_is_refused()
{
    const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    for (int node : {-1, dsm_nodes(), std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
        all_accesses_give(DSM_ERR_NODE, node, 0, 8);
        std::uint64_t bytes = 5;
        EXPECT_STATUS(DSM_ERR_NODE, dsm_part(node, &bytes));
        EXPECT_WORDS("node " + std::to_string(node));
        EXPECT(bytes == 5);
    }
    for (int node = 0; node < dsm_nodes(); node++) {
        const std::uint64_t bytes = part_of(node, dsm_nodes());
        all_accesses_give(DSM_ERR_RANGE, node, bytes, 8);
        all_accesses_give(DSM_ERR_RANGE, node, bytes + 1, 0);
        all_accesses_give(DSM_ERR_RANGE, node, 0, bytes + 1);
        all_accesses_give(DSM_ERR_RANGE, node, largest - 3, 8);
        all_accesses_give(DSM_ERR_RANGE, node, 8, largest - 7);
        if (bytes > 8) all_accesses_give(DSM_ERR_RANGE, node, bytes - 7, 8);
    }
}

void bad_arguments_are_refused()
{
    EXPECT_STATUS(DSM_ERR_STATE, dsm_init(1));
    EXPECT_WORDS("open already");
    EXPECT_STATUS(DSM_ERR_INVALID, dsm_part(0, nullptr));
    EXPECT_STATUS(DSM_ERR_INVALID, dsm_space(nullptr));
    EXPECT_STATUS(DSM_ERR_INVALID, dsm_read(0, 16, nullptr, 8));
    EXPECT_WORDS(access(0, 16, 8));
    EXPECT_STATUS(DSM_ERR_INVALID, dsm_write(0, 16, nullptr, 8));
    EXPECT_STATUS(DSM_ERR_INVALID, dsm_write_b(0, 16, nullptr, 8));
    EXPECT_DONE(dsm_write(0, 16, nullptr, 0));
    EXPECT_DONE(dsm_read(0, 16, nullptr, 0));
    EXPECT_STATUS(DSM_ERR_ALIGN, dsm_fetch_add(0, 12, 1, nullptr));
    EXPECT_WORDS(access(0, 12, 8));
    for (int lock : {-1, DSM_LOCKS}) {
        EXPECT_STATUS(DSM_ERR_LOCK, dsm_lock(lock));
        EXPECT_WORDS("lock " + std::to_string(lock));
        EXPECT_STATUS(DSM_ERR_LOCK, dsm_unlock(lock));
    }
    EXPECT_STATUS(DSM_ERR_LOCK, dsm_unlock(1));
    EXPECT_WORDS("lock 1: this thread does not hold it");
    EXPECT_DONE(dsm_lock(DSM_LOCKS - 1));
    EXPECT_STATUS(DSM_ERR_LOCK, dsm_lock(DSM_LOCKS - 1));
    EXPECT_WORDS("holds it already");
    EXPECT_DONE(dsm_unlock(DSM_LOCKS - 1));
}

std::vector<char> whole(int node)
{
    std::vector<char> all(part_of(node, dsm_nodes()));
    EXPECT_DONE(dsm_read(node, 0, all.data(), all.size()));
    return all;
}

// Every node makes bytes 64 to 127 of its part read-only.
void read_only_ranges_are_read_and_not_written()
{
    const bool gives = part_of(dsm_node(), dsm_nodes()) > 0;
    EXPECT_DONE(dsm_protect(gives ? 64 : 0, gives ? 64 : 0, DSM_READ_ONLY));
    std::vector<char> word(8, 'r'), large(256, 'r');
    for (int node : givers()) {
        const auto before = whole(node);
        EXPECT_DONE(dsm_barrier()); // all have seen it before anybody writes
        for (std::uint64_t address : {57, 64, 96, 127}) {
            EXPECT_STATUS(DSM_ERR_READ_ONLY, dsm_write(node, address, word.data(), word.size()));
            EXPECT_WORDS("WRITE at " + access(node, address, 8));
            EXPECT_STATUS(DSM_ERR_READ_ONLY, dsm_write_b(node, address, word.data(), word.size()));
            EXPECT_WORDS("bytes 64 to 127 of node " + std::to_string(node));
        }
        EXPECT_STATUS(DSM_ERR_READ_ONLY, dsm_write_b(node, 0, large.data(), large.size()));
        EXPECT_STATUS(DSM_ERR_READ_ONLY, dsm_fetch_add(node, 64, 1, nullptr));
        EXPECT_DONE(dsm_barrier());
        EXPECT(whole(node) == before);
        EXPECT_DONE(dsm_barrier());
        if (dsm_node() == node) { // what lies beside it is writable
            EXPECT_DONE(dsm_write_b(node, 56, before.data() + 56, 8));
            EXPECT_DONE(dsm_write_b(node, 128, before.data() + 128, 8));
        }
        EXPECT_DONE(dsm_barrier());
    }
}

// Node 0 asks for what cannot be; the others' ranges become writable all the same.
void a_wrong_range_holds_up_nobody()
{
    const std::uint64_t bytes = part_of(dsm_node(), dsm_nodes());
    if (dsm_node() == 0) {
        EXPECT_STATUS(DSM_ERR_RANGE, dsm_protect(64, bytes, DSM_READ_WRITE));
        EXPECT_WORDS(access(0, 64, bytes));
    } else {
        EXPECT_DONE(dsm_protect(0, bytes, DSM_READ_WRITE));
    }
    const std::vector<char> word(8, 'r');
    EXPECT_STATUS(DSM_ERR_READ_ONLY, dsm_write_b(0, 64, word.data(), 8));
    if (dsm_node() == 0)
        for (int node : givers())
            if (node != 0) EXPECT_DONE(dsm_write_b(node, 64, word.data(), 8));
    if (dsm_node() == 0)
        EXPECT_STATUS(DSM_ERR_INVALID, dsm_protect(64, 64, 7));
    else
        EXPECT_DONE(dsm_protect(0, 0, DSM_READ_ONLY));
    EXPECT_STATUS(DSM_ERR_READ_ONLY, dsm_write_b(0, 64, word.data(), 8));
    EXPECT_DONE(dsm_protect(0, bytes, DSM_READ_WRITE));
    if (dsm_node() == dsm_nodes() - 1) EXPECT_DONE(dsm_write_b(0, 64, word.data(), 8));
    EXPECT_DONE(dsm_barrier());
}

} // namespace

void before_init()
{
    EXPECT(std::string(dsm_last_error()).empty());
    everything_is_refused();
    EXPECT_STATUS(DSM_ERR_STATE, dsm_term());
}

void after_term()
{
    everything_is_refused();
    EXPECT_STATUS(DSM_ERR_STATE, dsm_term());
}

void error_steps()
{
    std::vector<std::vector<char>> before;
    for (int node : givers()) before.push_back(whole(node));
    EXPECT_DONE(dsm_barrier());
    what_is_outside_is_refused();
    bad_arguments_are_refused();
    EXPECT_DONE(dsm_barrier());
    for (std::size_t i = 0; i < before.size(); i++) EXPECT(whole(givers()[i]) == before[i]);
    EXPECT_DONE(dsm_barrier());
    read_only_ranges_are_read_and_not_written();
    a_wrong_range_holds_up_nobody();
}

} // namespace job
