// SPDX-License-Identifier: Apache-2.0
// Long data of collectives: it stays with its sender until whoever is to have it takes it, or somebody does so for him.
#include "coll_reference.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace proof;

namespace {

constexpr std::size_t sizes[] = {100, 5000, 6000, 8192, 70'000, 1'000'000}; // of each way that a message may go

bool is_root(const run &t) { return t.rank == 0; }

// In the rank's heap, which all of its node have mapped, or where only the process is.
class buffer {
  public:
    buffer(const run &t, bool in_heap, std::size_t bytes)
    {
        if (in_heap)
            REQUIRE_OK(sea_heap_alloc(t.rank, bytes, &address_));
        else
            own_.resize(bytes);
        memory = in_heap ? sea_local(address_) : own_.data();
    }
    ~buffer()
    {
        if (address_ != SEA_NULL) CHECK_OK(sea_heap_free(address_));
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;

  private:
    sea_addr address_ = SEA_NULL;
    std::vector<unsigned char> own_;

  public:
    void *memory;
};

// The inputs of members one behind the other, each of its own length.
bytes joined(std::uint64_t seed, const std::vector<std::size_t> &parts)
{
    bytes all;
    for (std::size_t m = 0; m < parts.size(); ++m) {
        const bytes theirs = input_of(seed, int(m), parts[m]);
        all.insert(all.end(), theirs.begin(), theirs.end());
    }
    return all;
}

} // namespace

LIGHT_STEP(150, a_root_does_not_wait_for_members_that_compute)
{
    auto &returned = t.shared->seats[0].words[0];
    for (bool in_heap : {true, false})
        for (std::size_t n : sizes) {
            buffer b(t, in_heap, n);
            sea_team team = SEA_TEAM_NULL; // in whose first call nobody waits lest he get too far ahead
            CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team));
            fill(b.memory, n, is_root(t) ? n : 1);
            if (is_root(t)) returned = 0;
            t.sync();
            while (!is_root(t) && !returned) pause_for(0.001);
            CHECK_OK(sea_broadcast(team, 0, b.memory, n));
            CHECK_DATA(b.memory, n, n);
            if (is_root(t)) set_bytes(b.memory, n, 7); // it is his again
            if (is_root(t)) returned = 1;
            t.sync();
            CHECK_OK(sea_team_free(team));
        }
}

STEP(151, threads_use_a_team_each_for_long_data)
{
    sea_team team[2];
    for (sea_team &one : team) CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &one));
    auto work = [&](std::size_t i) {
        dice d{t.seed * 31 + i};
        for (int k = 0; k < t.times(40); ++k) {
            const std::size_t part = 1 + d.below(40'000);
            const bytes mine = input_of(d.state, t.rank, part);
            bytes all(part * std::size_t(t.size));
            CHECK_OK(sea_allgather(team[i], mine.data(), all.data(), part));
            EXPECT_SAME("allgather", joined(d.state, std::vector(std::size_t(t.size), part)), all);
        }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    for (sea_team one : team) CHECK_OK(sea_team_free(one));
}

// By the rank that takes it: the one whose data it is does not touch it.
STEP(152, data_that_cannot_be_read_is_told_to_all)
{
    if (t.size == 1 || t.nodes > 1) return; // to another node its own rank sends it, and crashes
    constexpr std::size_t bytes = 100'000;
    void *closed = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(closed != MAP_FAILED);
    for (int root : {t.size - 1, 0}) { // who expects it, and who does not yet
        sea_team team = SEA_TEAM_NULL;
        CHECK_OK(sea_team_split(SEA_TEAM_WORLD, 0, 0, &team));
        const int source = t.size - 1 - root;
        std::vector<unsigned char> in(bytes), out(bytes * std::size_t(t.size));
        const std::vector<std::size_t> parts(std::size_t(t.size), bytes);
        if (t.rank == root && root == 0) pause_for(0.02);
        int status =
            sea_gatherv(team, root, t.rank == source ? closed : in.data(), bytes, out.data(), parts.data(), nullptr);
        if (t.rank == root) CHECK_STATUS(SEA_ERR_ADDRESS, status);
        if (status == SEA_OK) status = sea_barrier(team);
        CHECK_STATUS(SEA_ERR_ADDRESS, status);
        CHECK(std::strstr(sea_last_error(), t.rank == root ? "cannot be read" : "given up this team"));
        CHECK_OK(sea_team_free(team));
        t.sync();
    }
    munmap(closed, bytes);
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
}

STEP(153, parts_of_any_length_come_to_one_and_from_one)
{
    const std::size_t room = 2'400'000 / std::size_t(t.size);
    for (std::size_t most : {1000, 100'000, 800'000}) // that nobody answers, that one who gets all does, that each does
        for (int round = 0; round < t.times(20); ++round) {
            const std::uint64_t seed = t.seed + std::uint64_t(round);
            const int root = round % t.size;
            std::vector<std::size_t> parts;
            for (int m = 0; m < t.size; ++m) parts.push_back(std::min(most, room) / std::size_t(1 + (m + round) % 3));
            const bytes expected = joined(seed, parts), mine = input_of(seed, t.rank, parts[std::size_t(t.rank)]);
            bytes out(expected.size()), back(mine.size());
            CHECK_OK(sea_gatherv(SEA_TEAM_WORLD, root, mine.data(), mine.size(), out.data(), parts.data(), nullptr));
            if (t.rank == root) EXPECT_SAME("gatherv", expected, out);
            CHECK_OK(sea_scatterv(SEA_TEAM_WORLD, root, out.data(), parts.data(), nullptr, back.data(), back.size()));
            EXPECT_SAME("scatterv", mine, back);
        }
}
