// SPDX-License-Identifier: Apache-2.0
// Put and get: every size that takes another path, odd alignments, every kind of memory at both ends.
#include "places.hpp"

#include <atomic>
#include <cstring>

using namespace proof;

namespace {

constexpr std::size_t sizes[] = {0,  1,  2,   3,   7,   8,    9,    15,   16,   17,   31,   32,   33,   63,    64,
                                 65, 99, 127, 255, 256, 1000, 1024, 1280, 1400, 1472, 4096, 4097, 9000, 16384, 32768};

// The address of a place of each rank.
std::vector<sea_addr> everybodys(run &t, const place &p) { return t.exchange(p.address()); }

// Puts, looks at it, gets it back, and sees that the byte before and after are as they were.
void there_and_back(int peer, sea_addr a, std::size_t bytes, std::uint64_t seed, std::size_t skew = 0)
{
    std::vector<unsigned char> out(bytes + 16, 0x11), in(bytes + 16, 0x22);
    fill(out.data() + skew, bytes, seed);
    CHECK_OK(sea_put(a, out.data() + skew, bytes, nullptr));
    std::memset(out.data(), 0x33, out.size()); // the buffer is ours again
    CHECK_OK(sea_fence(peer));
    CHECK_OK(sea_get(in.data() + skew, a, bytes, nullptr));
    CHECK_DATA(in.data() + skew, bytes, seed);
    const std::size_t behind = in.size() - skew - bytes;
    CHECK_EQ(skew, not_all(in.data(), skew, 0x22));
    CHECK_EQ(behind, not_all(in.data() + skew + bytes, behind, 0x22));
}

} // namespace

LIGHT_STEP(200, eight_bytes_arrive_at_every_rank)
{
    place p(kind::heap, std::size_t(t.size) * 8);
    std::vector<sea_addr> all = everybodys(t, p);
    for (int peer = 0; peer < t.size; ++peer) {
        std::uint64_t word = std::uint64_t(t.rank) << 32 | std::uint64_t(peer);
        CHECK_OK(sea_put(all[std::size_t(peer)] + std::uint64_t(t.rank) * 8, &word, 8, nullptr));
    }
    CHECK_OK(sea_fence_all());
    t.sync();
    for (int from = 0; from < t.size; ++from)
        CHECK_EQ(std::uint64_t(from) << 32 | std::uint64_t(t.rank), peek8(p.memory() + from * 8));
    for (int peer : t.peers()) {
        std::uint64_t word = 0;
        CHECK_OK(sea_get(&word, all[std::size_t(peer)] + std::uint64_t(t.rank) * 8, 8, nullptr));
        CHECK_EQ(std::uint64_t(t.rank) << 32 | std::uint64_t(peer), word);
    }
    t.sync();
}

STEP(201, every_size_arrives)
{
    constexpr std::size_t most = 33000;
    place p(kind::heap, std::size_t(t.size) * most);
    std::vector<sea_addr> all = everybodys(t, p);
    for (int peer : t.peers()) {
        sea_addr mine = all[std::size_t(peer)] + std::uint64_t(t.rank) * most;
        for (std::size_t bytes : sizes) there_and_back(peer, mine, bytes, bytes * 1000 + std::uint64_t(t.rank));
    }
    t.sync();
    for (int from = 0; from < t.size; ++from) {
        std::vector<int> others = t.peers();
        if (t.size > 4) continue; // who wrote here depends on their peers
        CHECK_DATA(p.memory() + std::size_t(from) * most, 32768, 32768000 + std::uint64_t(from));
        CHECK_EQ(most - 32768, not_all(p.memory() + std::size_t(from) * most + 32768, most - 32768, blank));
    }
}

STEP(202, sizes_around_a_full_packet_arrive)
{
    place p(kind::heap, 70000);
    std::vector<sea_addr> all = everybodys(t, p);
    int right = (t.rank + 1) % t.size;
    std::size_t stride = t.light || sanitized ? 1237 : 97;
    for (std::size_t bytes = 60000; bytes <= 70000; bytes += stride)
        there_and_back(right, all[std::size_t(right)], bytes, bytes);
    for (std::size_t bytes = 65490; bytes <= 65540; bytes += sanitized ? 7 : 1)
        there_and_back(right, all[std::size_t(right)], bytes, bytes);
    for (std::size_t bytes = 1200; bytes <= 1500; bytes += sanitized ? 13 : 1)
        there_and_back(right, all[std::size_t(right)], bytes, bytes);
    t.sync();
}

STEP(203, megabytes_arrive)
{
    constexpr std::size_t most = 5 << 20;
    place p(kind::heap, most);
    std::vector<sea_addr> all = everybodys(t, p);
    std::vector<int> distances = t.size > 4 ? std::vector<int>{1, t.size / 2} : std::vector<int>{0, 1, 2, 3};
    for (int distance : distances) {
        if (distance >= t.size && distance > 0) continue;
        int peer = (t.rank + distance) % t.size;
        for (std::size_t bytes : {std::size_t(1) << 20, most - 3}) {
            if (t.size > 4 && bytes > 1 << 20) continue;
            there_and_back(peer, all[std::size_t(peer)] + 1, bytes, bytes + std::uint64_t(t.rank), 3);
            t.sync();
        }
    }
}

// More than any machine keeps in its caches: written past them. One rank does it, for all take as long.
STEP(212, what_no_cache_holds_arrives)
{
    constexpr std::size_t bytes = (std::size_t(49) << 20) + 11;
    const int last = t.size - 1;
    if (t.size > 4) return;
    place p(kind::heap, t.rank == last ? bytes + 1 : 8);
    std::vector<sea_addr> all = everybodys(t, p);
    if (t.rank == 0) there_and_back(last, all[std::size_t(last)] + 1, bytes, bytes, 3);
    t.sync();
}

STEP(204, odd_alignments_arrive)
{
    place p(kind::heap, std::size_t(t.size) * 256);
    std::vector<sea_addr> all = everybodys(t, p);
    for (int peer : t.peers()) {
        sea_addr mine = all[std::size_t(peer)] + std::uint64_t(t.rank) * 256;
        for (std::size_t skew = 0; skew < 8; ++skew)
            for (std::size_t shift = 0; shift < 8; ++shift)
                for (std::size_t bytes : {1, 3, 8, 17, 100})
                    if (!sanitized || (skew + shift + bytes) % 3 == 0)
                        there_and_back(peer, mine + shift, bytes, skew * 8 + shift + bytes * 64, skew);
    }
    t.sync();
}

STEP(205, every_kind_of_memory_is_source_and_target)
{
    constexpr std::size_t most = 70000;
    unsigned char target_frame[most + 2 * guard_bytes], source_frame[most + 2 * guard_bytes];
    int right = (t.rank + 1) % t.size, other = (t.rank + t.size / 2) % t.size;
    for (kind there : all_kinds) {
        place target(there, most, target_frame);
        std::vector<sea_addr> all = everybodys(t, target);
        for (kind here : all_kinds) {
            if (here == kind::fixed && there == kind::fixed) continue; // there is one static place
            place source(here, most, source_frame);
            for (int peer : {right, other}) {
                for (std::size_t bytes : {std::size_t(8), std::size_t(100), std::size_t(5000), most}) {
                    std::uint64_t seed = bytes + std::uint64_t(int(here) * 8 + int(there));
                    fill(source.memory(), bytes, seed);
                    CHECK_OK(sea_put(all[std::size_t(peer)], source.memory(), bytes, nullptr));
                    CHECK_OK(sea_fence(peer));
                    source.clear();
                    t.sync();
                    CHECK_DATA(target.memory(), bytes, seed);
                    CHECK_OK(sea_get(source.memory(), all[std::size_t(peer)], bytes, nullptr));
                    if (!CHECK_DATA(source.memory(), bytes, seed))
                        failed(__FILE__, __LINE__, "kinds", kind_name(here), kind_name(there));
                    t.sync();
                }
            }
        }
        t.sync();
    }
}

LIGHT_STEP(206, nothing_is_moved_at_once_with_its_counters)
{
    place p(kind::heap, 64);
    std::vector<sea_addr> all = everybodys(t, p);
    for (sea_addr a : {SEA_NULL, p.address(), ~sea_addr(0), (sea_addr(t.size) << SEA_OFFSET_BITS) + 8}) {
        sea_counter origin{}, remote{};
        sea_op op = 77;
        sea_opts o = SEA_OPTS_INIT;
        o.origin_counter = &origin;
        o.remote_counter = &remote;
        CHECK_OK(sea_put(a, nullptr, 0, nullptr));
        CHECK_OK(sea_get(nullptr, a, 0, nullptr));
        CHECK_OK(sea_copy(a, a, 0, nullptr));
        CHECK_OK(sea_put(a, nullptr, 0, &o));
        CHECK_OK(sea_get(nullptr, a, 0, &o));
        CHECK_OK(sea_copy(a, SEA_NULL, 0, &o));
        CHECK_OK(sea_counter_wait(&origin, 3, 5));
        CHECK_OK(sea_counter_wait(&remote, 3, 5));
        o.op = &op;
        CHECK_OK(sea_put(a, nullptr, 0, &o));
        CHECK_OK(sea_wait(op, 5));
        CHECK_EQ(4, origin.value);
        CHECK_EQ(4, remote.value);
    }
    sea_opts o = SEA_OPTS_INIT;
    std::vector<sea_addr> counters = t.exchange(p.address());
    poke8(p.memory(), 0);
    t.sync();
    o.target_counter = counters[std::size_t((t.rank + 1) % t.size)];
    CHECK_OK(sea_put(o.target_counter, nullptr, 0, &o));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(1, peek8(p.memory()));
}

STEP(207, all_write_to_all_at_once)
{
    const std::size_t bytes = t.size > 16 ? 500 : 20000;
    place p(kind::heap, std::size_t(t.size) * bytes);
    std::vector<sea_addr> all = everybodys(t, p);
    std::vector<unsigned char> data(bytes);
    for (int round = 0; round < t.times(5); ++round) {
        std::uint64_t base = std::uint64_t(round) * 1000;
        fill(data.data(), bytes, base + std::uint64_t(t.rank));
        for (int i = 0; i < t.size; ++i) {
            int peer = (t.rank + i) % t.size;
            CHECK_OK(sea_put(all[std::size_t(peer)] + std::uint64_t(t.rank) * bytes, data.data(), bytes, nullptr));
        }
        CHECK_OK(sea_fence_all());
        t.sync();
        for (int from = 0; from < t.size; ++from)
            CHECK_DATA(p.memory() + std::size_t(from) * bytes, bytes, base + std::uint64_t(from));
        t.sync();
    }
}

STEP(208, aligned_words_are_not_torn_inside_a_node)
{
    place p(kind::heap, 64);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = everybodys(t, p);
    const bool writer = t.rank % 2 == 0;
    for (int i = 0; i < t.times(20000); ++i) {
        if (t.size > 1 && !t.local(0)) break;
        std::uint64_t word = i % 2 ? ~UINT64_C(0) : 0;
        if (writer)
            CHECK_OK(sea_put(all[0], &word, 8, nullptr));
        else
            CHECK_OK(sea_get(&word, all[0], 8, nullptr));
        if (word != 0 && word != ~UINT64_C(0)) CHECK_EQ(0, word);
    }
    t.sync();
}

STEP(209, operations_started_together_all_arrive)
{
    constexpr std::size_t n = 500;
    place p(kind::heap, n * 64);
    std::vector<sea_addr> all = everybodys(t, p);
    int right = (t.rank + 1) % t.size;
    std::vector<unsigned char> data(n * 64), back(n * 64);
    fill(data.data(), n * 64, std::uint64_t(right));
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    for (std::size_t i = 0; i < n; ++i)
        CHECK_OK(sea_put(all[std::size_t(right)] + i * 64, data.data() + i * 64, 64, &o));
    CHECK_OK(sea_fence(right));
    sea_counter came{};
    o.origin_counter = &came;
    for (std::size_t i = 0; i < n; ++i)
        CHECK_OK(sea_get(back.data() + i * 64, all[std::size_t(right)] + i * 64, 64, &o));
    CHECK_OK(sea_counter_wait(&came, n, 30));
    CHECK_DATA(back.data(), n * 64, std::uint64_t(right));
    t.sync();
    CHECK_DATA(p.memory(), n * 64, std::uint64_t(t.rank));
}

STEP(210, statistics_count_what_was_asked)
{
    place p(kind::heap, 4096);
    std::vector<sea_addr> all = everybodys(t, p);
    int right = (t.rank + 1) % t.size;
    sea_addr a = all[std::size_t(right)];
    unsigned char data[1000];
    std::uint64_t word = 0;
    sea_pair_stats before, after;
    CHECK_OK(sea_stats(right, &before));
    for (int i = 0; i < 10; ++i) {
        CHECK_OK(sea_put(a, data, 1000, nullptr));
        CHECK_OK(sea_put(a, &word, 8, nullptr));
        CHECK_OK(sea_get(data, a, 1000, nullptr));
        CHECK_OK(sea_get(&word, a, 8, nullptr));
        CHECK_OK(sea_fetch_add8(a, 1, &word, nullptr));
    }
    CHECK_OK(sea_fence(right));
    CHECK_OK(sea_stats(right, &after));
    CHECK_EQ(20, after.puts - before.puts);
    CHECK_EQ(20, after.gets - before.gets);
    CHECK_EQ(10, after.atomics - before.atomics);
    CHECK_EQ(10080, after.bytes_out - before.bytes_out);
    CHECK_EQ(10080, after.bytes_in - before.bytes_in);
    if (std::strcmp(sea_transport(right), "net") == 0) {
        CHECK(after.packets_out > before.packets_out && after.packets_in > before.packets_in);
        CHECK(after.round_trip_us > 0 && after.round_trip_us < 1e7);
        CHECK(after.round_trip_p50_us > 0 && after.round_trip_p50_us <= after.round_trip_p99_us);
        CHECK(after.round_trip_p99_us <= after.round_trip_max_us);
    } else {
        CHECK_EQ(0, after.packets_out + after.packets_in + after.packets_lost);
        CHECK(after.round_trip_us == 0 && after.round_trip_max_us == 0);
    }
    CHECK_STATUS(SEA_ERR_RANK, sea_stats(t.size, &after));
    CHECK_STATUS(SEA_ERR_RANK, sea_stats(-1, &after));
    CHECK_STATUS(SEA_ERR_INVALID, sea_stats(right, nullptr));
    t.sync();
}

STEP(211, statistics_of_the_process_count_waits)
{
    sea_own_stats before, after;
    sea_counter never{0};
    CHECK_OK(sea_stats_own(&before));
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_counter_wait(&never, 1, 0.03));
    CHECK_OK(sea_stats_own(&after));
    CHECK(after.waits > before.waits);
    CHECK(after.sleeps > before.sleeps);
    CHECK(after.wait_seconds - before.wait_seconds > 0.025);
    CHECK_STATUS(SEA_ERR_INVALID, sea_stats_own(nullptr));
    t.sync();
}
