// SPDX-License-Identifier: Apache-2.0
// Raw space: any memory of a process by its own addresses. What goes right; n680 has what goes wrong.
#include "places.hpp"

#include <atomic>
#include <cstddef>
#include <sys/mman.h>

using namespace proof;

namespace {

unsigned char fixed_memory[20000];

// Open during a step; everybody's is.
struct opened {
    run &t;
    explicit opened(run &with) : t(with)
    {
        REQUIRE_OK(sea_raw_open());
        t.sync();
    }
    ~opened()
    {
        t.sync();
        CHECK_OK(sea_raw_close());
        t.sync();
    }
};

void put_and_get(int peer, std::uint64_t there, std::size_t bytes, std::uint64_t seed)
{
    std::vector<unsigned char> data(bytes + 1), back(bytes + 1, blank);
    fill(data.data(), bytes, seed);
    CHECK_OK(sea_raw_put(peer, there, data.data(), bytes, nullptr));
    CHECK_OK(sea_fence(peer));
    CHECK_OK(sea_raw_get(back.data(), peer, there, bytes, nullptr));
    CHECK_DATA(back.data(), bytes, seed);
    CHECK_EQ(blank, back[bytes]);
}

} // namespace

LIGHT_STEP(650, raw_space_reaches_memory_of_every_kind)
{
    unsigned char frame[20000];
    std::vector<unsigned char> grown(20000);
    void *pages = mmap(nullptr, 20480, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    sea_addr heap = SEA_NULL;
    REQUIRE_OK(sea_heap_alloc(t.rank, 20000, &heap));
    void *const places[] = {frame, grown.data(), pages, fixed_memory, sea_local(heap)};
    opened open(t);
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    for (void *p : places) {
        set_bytes(p, 20000, blank);
        std::vector<std::uint64_t> all = t.exchange(address_of(p));
        for (std::size_t bytes : {1, 3, 4, 8, 100, 1500, 4096, 19000})
            put_and_get(right, all[std::size_t(right)] + 5, bytes, bytes + std::uint64_t(t.rank));
        t.sync();
        CHECK_DATA(static_cast<unsigned char *>(p) + 5, 19000, 19000 + std::uint64_t(left));
        CHECK_EQ(19005, 5 + 19000 + not_all(static_cast<unsigned char *>(p) + 19005, 995, blank) - 995);
        CHECK_EQ(5, not_all(p, 5, blank));
        t.sync();
    }
    munmap(pages, 20480);
    CHECK_OK(sea_heap_free(heap));
}

STEP(651, raw_transfers_of_every_size_arrive)
{
    const std::size_t most = t.size > 2 || sanitized ? std::size_t(3) << 20 : std::size_t(64) << 20;
    std::vector<unsigned char> memory(most + 64), data(most);
    opened open(t);
    std::vector<std::uint64_t> all = t.exchange(address_of(memory.data()));
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    fill(data.data(), most, std::uint64_t(t.rank));
    for (std::size_t bytes :
         {std::size_t(0), std::size_t(1), std::size_t(7), std::size_t(8), std::size_t(1023), std::size_t(1024),
          std::size_t(1025), std::size_t(1400), std::size_t(8191), std::size_t(16384), std::size_t(65536),
          std::size_t(65537), std::size_t(262144), std::size_t(262145), std::size_t(1) << 20, most}) {
        for (std::size_t skew : {0, 3}) {
            set_bytes(memory.data(), bytes + 8, blank);
            t.sync();
            CHECK_OK(sea_raw_put(right, all[std::size_t(right)] + skew, data.data(), bytes, nullptr));
            CHECK_OK(sea_fence(right));
            t.sync();
            CHECK_DATA(memory.data() + skew, bytes, std::uint64_t(left));
            CHECK_EQ(blank, memory[skew + bytes]);
            std::vector<unsigned char> back(bytes + 1, blank);
            CHECK_OK(sea_raw_get(back.data(), right, all[std::size_t(right)] + skew, bytes, nullptr));
            CHECK_DATA(back.data(), bytes, std::uint64_t(t.rank));
            CHECK_EQ(blank, back[bytes]);
            t.sync();
        }
    }
}

STEP(652, many_raw_operations_are_under_way_at_once)
{
    constexpr std::size_t each = 3000, count = 200, large = 300000;
    std::vector<unsigned char> memory(each * count * 2), data(each * count), back(each * count), in(large * 6);
    opened open(t);
    std::vector<std::uint64_t> all = t.exchange(address_of(memory.data()));
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    const std::uint64_t there = all[std::size_t(right)];
    fill(data.data(), data.size(), std::uint64_t(t.rank));
    std::vector<sea_op> ops(count);
    sea_opts o = SEA_OPTS_INIT;
    for (std::size_t i = 0; i < count; ++i) {
        o.op = &ops[i];
        CHECK_OK(sea_raw_put(right, there + i * each, data.data() + i * each, each, &o));
    }
    CHECK_OK(sea_wait_all(ops.data(), int(count), 60));
    for (std::size_t i = 0; i < count; ++i) {
        o.op = &ops[i];
        CHECK_OK(sea_raw_get(back.data() + i * each, right, there + i * each, each, &o));
    }
    CHECK_OK(sea_wait_all(ops.data(), int(count), 60));
    CHECK_DATA(back.data(), back.size(), std::uint64_t(t.rank));
    for (std::size_t i = 0; i < 6; ++i) {
        o.op = &ops[i];
        CHECK_OK(sea_raw_get(in.data() + i * large, right, there + i * 100, large, &o));
    }
    CHECK_OK(sea_wait_all(ops.data(), 6, 60));
    for (std::size_t i = 0; i < 6; ++i) CHECK_DATA(in.data() + i * large, large, std::uint64_t(t.rank), i * 100);
    t.sync();
    CHECK_DATA(memory.data(), data.size(), std::uint64_t(left));
}

STEP(653, raw_atomics_count_with_those_of_the_owner)
{
    alignas(8) static std::atomic<std::uint64_t> wide;
    alignas(8) static std::atomic<std::uint32_t> narrow[2];
    wide = 0;
    narrow[0] = narrow[1] = 0;
    opened open(t);
    const int times = t.times(300);
    std::vector<std::uint64_t> wides = t.exchange(address_of(&wide)), narrows = t.exchange(address_of(&narrow[1]));
    std::uint64_t last = 0;
    for (int i = 0; i < times; ++i) {
        std::uint64_t old = ~std::uint64_t(0);
        CHECK_OK(sea_raw_atomic(SEA_ATOMIC_ADD, 0, wides[0], 8, 3, 0, &old, nullptr));
        CHECK(i == 0 || old > last);
        last = old;
        CHECK_OK(sea_raw_atomic(SEA_ATOMIC_ADD, 0, narrows[0], 4, 1, 0, nullptr, nullptr));
        if (t.rank == 0) wide += 5;
    }
    CHECK_OK(sea_fence(0));
    t.sync();
    if (t.rank == 0) {
        CHECK_EQ(std::uint64_t(times) * 3 * std::uint64_t(t.size) + 5 * std::uint64_t(times), wide.load());
        CHECK_EQ(std::uint64_t(times) * std::uint64_t(t.size), narrow[1].load());
        CHECK_EQ(0, narrow[0].load());
    }
}

STEP(654, every_raw_atomic_does_what_it_says)
{
    alignas(8) static std::uint64_t words[64][2];
    opened open(t);
    std::vector<std::uint64_t> all = t.exchange(address_of(&words[0][0]));
    struct {
        sea_atomic_kind kind;
        std::uint64_t operand, compare, before, after;
    } const cases[] = {
        {SEA_ATOMIC_SWAP, 7, 0, 0x123456789, 7},
        {SEA_ATOMIC_CAS, 9, 5, 5, 9},
        {SEA_ATOMIC_CAS, 9, 4, 5, 5},
        {SEA_ATOMIC_ADD, ~std::uint64_t(0), 0, 10, 9},
        {SEA_ATOMIC_AND, 0xff0, 0, 0x123456789, 0x780},
        {SEA_ATOMIC_OR, 1, 0, 0x123456780, 0x123456781},
        {SEA_ATOMIC_XOR, 0xf, 0, 0x123456789, 0x123456786},
    };
    for (int peer : t.peers())
        for (auto &c : cases)
            for (int width : {4, 8})
                for (bool fetch : {true, false}) {
                    const std::uint64_t there = all[std::size_t(peer)] + std::uint64_t(t.rank % 64) * 16;
                    const std::uint64_t mask = width == 4 ? 0xffffffff : ~std::uint64_t(0);
                    std::uint64_t old = 0x5c5c5c5c5c5c5c5c, now[2] = {c.before, 77};
                    if (t.rank >= 64) continue;
                    CHECK_OK(sea_raw_put(peer, there, now, 16, nullptr));
                    CHECK_OK(sea_fence(peer));
                    CHECK_OK(sea_raw_atomic(c.kind, peer, there, width, c.operand, c.compare, fetch ? &old : nullptr,
                                            nullptr));
                    CHECK_OK(sea_fence(peer));
                    CHECK_OK(sea_raw_get(now, peer, there, 16, nullptr));
                    CHECK_EQ((c.before & ~mask) | (c.after & mask), now[0]);
                    CHECK_EQ(77, now[1]);
                    CHECK_EQ(fetch ? (0x5c5c5c5c5c5c5c5c & ~mask) | (c.before & mask) : 0x5c5c5c5c5c5c5c5c, old);
                }
}

STEP(655, raw_vectors_move_every_piece)
{
    constexpr std::size_t n = 500, room = 100000;
    std::vector<unsigned char> memory(room), data(room), back(room);
    set_bytes(memory.data(), room, blank);
    opened open(t);
    std::vector<std::uint64_t> all = t.exchange(address_of(memory.data()));
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    fill(data.data(), room, std::uint64_t(t.rank));
    std::vector<sea_raw_piece> pieces(n);
    for (std::size_t i = 0; i < n; ++i)
        pieces[i] = {all[std::size_t(right)] + i * 200, data.data() + i * 200, i == 77 ? 0 : 1 + i % 150};
    pieces[77].remote = 3; // no bytes: not looked at
    pieces[77].local = nullptr;
    CHECK_OK(sea_raw_put_vector(right, pieces.data(), n, nullptr));
    CHECK_OK(sea_fence(right));
    t.sync();
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t bytes = i == 77 ? 0 : 1 + i % 150;
        CHECK_EQ(bytes, differs(memory.data() + i * 200, bytes, std::uint64_t(left), i * 200));
        CHECK_EQ(200 - bytes, not_all(memory.data() + i * 200 + bytes, 200 - bytes, blank));
    }
    for (std::size_t i = 0; i < n; ++i) pieces[i].local = back.data() + i * 200;
    CHECK_OK(sea_raw_get_vector(right, pieces.data(), n, nullptr));
    for (std::size_t i = 0; i < n; ++i)
        CHECK_EQ(pieces[i].bytes, differs(back.data() + i * 200, pieces[i].bytes, std::uint64_t(t.rank), i * 200));
    CHECK_OK(sea_raw_put_vector(right, nullptr, 0, nullptr));
    CHECK_OK(sea_raw_get_vector(right, nullptr, 0, nullptr));
}

namespace {

struct counted_raw {
    run &t;
    sea_counter origin{}, remote{};
    std::uint64_t expected = 0;
    int right;
    std::uint64_t there; // the counter of the right neighbour
    sea_counter *mine;

    counted_raw(run &with, sea_counter *own) : t(with), right((with.rank + 1) % with.size), mine(own)
    {
        poke8(mine, 0);
        there = t.exchange(address_of(mine))[std::size_t(right)];
    }
    template <class Start>
    void one(const char *what, Start start)
    {
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT;
        o.origin_counter = &origin;
        o.remote_counter = &remote;
        o.target_raw_counter = there;
        bool good = CHECK_OK(start(&o));
        good = CHECK_OK(sea_counter_take(&origin, 1, 20)) && CHECK_OK(sea_counter_take(&remote, 1, 20)) && good;
        good = CHECK_OK(sea_counter_wait(mine, ++expected, 20)) && good;
        if (!good) failed(__FILE__, __LINE__, "counters of", what, "");
    }
};

void *into_buffer(const sea_am *, sea_am_complete_fn *, void **)
{
    static std::vector<unsigned char> buffer(400000);
    return buffer.data();
}

} // namespace

STEP(656, raw_target_counters_count_every_kind_of_operation)
{
    sea_counter on_stack;
    place heap(kind::heap, 400000);
    std::vector<unsigned char> own(400000), memory(400000);
    CHECK_OK(sea_am_register(65, into_buffer, nullptr));
    opened open(t);
    counted_raw c(t, &on_stack);
    const std::uint64_t raw = t.exchange(address_of(memory.data()))[std::size_t(c.right)];
    const std::vector<sea_addr> heaps = t.exchange(heap.address());
    const sea_addr a = heaps[std::size_t(c.right)], third = heaps[std::size_t((t.rank + 2) % t.size)];
    std::uint64_t old;
    for (std::size_t bytes : {0, 1, 8, 100, 3000, 70000, 300000}) {
        c.one("raw put", [&](sea_opts *o) { return sea_raw_put(c.right, raw, own.data(), bytes, o); });
        c.one("raw get", [&](sea_opts *o) { return sea_raw_get(own.data(), c.right, raw, bytes, o); });
        c.one("put", [&](sea_opts *o) { return sea_put(a, own.data(), bytes, o); });
        c.one("get", [&](sea_opts *o) { return sea_get(own.data(), a, bytes, o); });
        c.one("copy", [&](sea_opts *o) { return sea_copy(a, third, t.size > 1 ? bytes : 0, o); });
        c.one("am", [&](sea_opts *o) { return sea_am_send(c.right, 65, "x", 1, own.data(), bytes, o); });
        c.one("signal",
              [&](sea_opts *o) { return sea_put_signal(a, own.data(), bytes, a + 300032, 1, SEA_SIGNAL_SET, o); });
        c.one("raw vector", [&](sea_opts *o) {
            sea_raw_piece pieces[] = {{raw, own.data(), bytes}, {raw + 300000, own.data() + 50, 20}};
            return sea_raw_put_vector(c.right, pieces, 2, o);
        });
        c.one("raw vector", [&](sea_opts *o) {
            sea_raw_piece pieces[] = {{raw, own.data(), bytes}, {raw + 300000, own.data() + 300000, 20}};
            return sea_raw_get_vector(c.right, pieces, 2, o);
        });
        c.one("vector", [&](sea_opts *o) {
            sea_piece pieces[] = {{a, own.data(), bytes}, {a + 300000, own.data() + 50, 20}};
            return sea_put_vector(pieces, 2, o);
        });
    }
    c.one("no pieces", [&](sea_opts *o) { return sea_raw_put_vector(c.right, nullptr, 0, o); });
    c.one("fetch", [&](sea_opts *o) { return sea_raw_atomic(SEA_ATOMIC_ADD, c.right, raw, 8, 1, 0, &old, o); });
    c.one("add", [&](sea_opts *o) { return sea_raw_atomic(SEA_ATOMIC_ADD, c.right, raw, 4, 1, 0, nullptr, o); });
    c.one("fetch", [&](sea_opts *o) { return sea_fetch_add8(a, 1, &old, o); });
    std::int64_t stride[] = {64};
    std::size_t counts[] = {10, 20};
    c.one("box", [&](sea_opts *o) { return sea_put_strided(a, stride, own.data(), stride, counts, 1, o); });
    c.one("box", [&](sea_opts *o) { return sea_get_strided(own.data(), stride, a, stride, counts, 1, o); });
    t.sync();
    CHECK_EQ(c.expected, peek8(&on_stack));
    CHECK_OK(sea_am_register(65, nullptr, nullptr));
}

STEP(657, a_raw_target_counter_tells_that_the_data_is_there)
{
    std::vector<unsigned char> memory(50000), data(50000);
    sea_counter arrived{};
    opened open(t);
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(memory.data()))[std::size_t(right)];
    const std::uint64_t counter = t.exchange(address_of(&arrived))[std::size_t(right)];
    for (int i = 0; i < t.times(60); ++i) {
        const std::size_t bytes = std::size_t(i % 3 == 0 ? 8 : i % 3 == 1 ? 1400 : 50000);
        fill(data.data(), bytes, std::uint64_t(t.rank * 1000 + i));
        sea_opts o = SEA_OPTS_INIT;
        o.target_raw_counter = counter;
        CHECK_OK(sea_raw_put(right, there, data.data(), bytes, &o));
        CHECK_OK(sea_counter_take(&arrived, 1, 20));
        if (!CHECK_DATA(memory.data(), bytes, std::uint64_t(left * 1000 + i))) break;
        CHECK_OK(sea_fence(right));
        t.sync();
    }
}

STEP(658, ordered_raw_operations_and_start_conditions_keep_their_order)
{
    std::vector<std::uint64_t> memory(20000), ones(20000, 1), twos(20000, 2), back(20000);
    opened open(t);
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(memory.data()))[std::size_t(right)];
    for (int i = 0; i < t.times(20); ++i) {
        const std::size_t bytes = i % 2 ? 8000 : 160000;
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT | SEA_ORDERED;
        CHECK_OK(sea_raw_put(right, there, ones.data(), bytes, &o));
        CHECK_OK(sea_raw_put(right, there, twos.data(), 8, &o));
        std::uint64_t old = 0;
        o.flags = SEA_ORDERED;
        CHECK_OK(sea_raw_atomic(SEA_ATOMIC_ADD, right, there, 8, 5, 0, &old, &o));
        CHECK_EQ(2, old);
        CHECK_OK(sea_fence(right));
        CHECK_OK(sea_raw_get(back.data(), right, there, bytes, nullptr));
        CHECK_EQ(7, back[0]);
        CHECK_EQ(1, back[bytes / 8 - 1]);
        sea_op first = SEA_OP_NONE, second = SEA_OP_NONE;
        sea_opts then = SEA_OPTS_INIT;
        then.op = &first;
        CHECK_OK(sea_raw_put(right, there, twos.data(), bytes, &then));
        then.op = &second;
        then.after = first;
        std::fill(back.begin(), back.end(), 0);
        CHECK_OK(sea_raw_get(back.data(), right, there, bytes, &then));
        CHECK_OK(sea_wait(second, 30));
        CHECK_OK(sea_wait(first, 30));
        CHECK_EQ(2, back[0]);
        CHECK_EQ(2, back[bytes / 8 - 1]);
        t.sync();
    }
}

STEP(659, raw_operations_are_counted_as_what_they_are)
{
    std::vector<unsigned char> memory(5000), own(5000);
    opened open(t);
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(memory.data()))[std::size_t(right)];
    sea_pair_stats before, after;
    REQUIRE_OK(sea_stats(right, &before));
    sea_raw_piece piece = {there, own.data(), 100};
    CHECK_OK(sea_raw_put(right, there, own.data(), 5000, nullptr));
    CHECK_OK(sea_raw_put(right, there, own.data(), 8, nullptr));
    CHECK_OK(sea_raw_put_vector(right, &piece, 1, nullptr));
    CHECK_OK(sea_raw_get(own.data(), right, there, 3000, nullptr));
    CHECK_OK(sea_raw_atomic(SEA_ATOMIC_ADD, right, there, 8, 1, 0, nullptr, nullptr));
    CHECK_OK(sea_fence(right));
    REQUIRE_OK(sea_stats(right, &after));
    CHECK_EQ(3, after.puts - before.puts);
    CHECK_EQ(1, after.gets - before.gets);
    CHECK_EQ(1, after.atomics - before.atomics);
    CHECK_EQ(5108, after.bytes_out - before.bytes_out);
    CHECK_EQ(3000, after.bytes_in - before.bytes_in);
}

STEP(660, options_of_an_older_program_are_understood)
{
    std::uint64_t word = 0, value = 5;
    opened open(t);
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(&word))[std::size_t(right)];
    sea_opts old = SEA_OPTS_INIT;
    old.size = offsetof(sea_opts, target_raw_counter);
    old.target_raw_counter = 1; // behind the structure as that program knows it
    CHECK_OK(sea_raw_put(right, there, &value, 8, &old));
    CHECK_OK(sea_fence(right));
    CHECK_OK(outcome([&](sea_opts *o) { return sea_raw_get(&value, right, there, 8, o); }, old));
    CHECK_EQ(5, value);
}

STEP(661, heap_memory_has_two_names)
{
    place heap(kind::heap, 100000);
    poke8(heap.memory(), 0);
    opened open(t);
    const std::vector<std::uint64_t> raws = t.exchange(address_of(heap.memory()));
    const std::vector<sea_addr> globals = t.exchange(heap.address());
    const int times = t.times(300), right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    for (int i = 0; i < times; ++i) {
        std::uint64_t old = 0;
        CHECK_OK(sea_raw_atomic(SEA_ATOMIC_ADD, 0, raws[0], 8, 1, 0, i % 2 ? &old : nullptr, nullptr));
        CHECK_OK(sea_fetch_add8(globals[0], 1, &old, nullptr));
    }
    CHECK_OK(sea_fence(0));
    t.sync();
    if (t.rank == 0) CHECK_EQ(std::uint64_t(times) * 2 * std::uint64_t(t.size), peek8(heap.memory()));
    std::vector<unsigned char> data(90000), back(90000);
    fill(data.data(), data.size(), std::uint64_t(t.rank));
    sea_raw_piece pieces[] = {{raws[std::size_t(right)] + 8, data.data(), 100},
                              {raws[std::size_t(right)] + 108, data.data() + 100, 80000},
                              {raws[std::size_t(right)] + 80108, data.data() + 80100, 9900}};
    CHECK_OK(sea_raw_put_vector(right, pieces, 3, nullptr));
    CHECK_OK(sea_fence(right));
    t.sync();
    CHECK_DATA(heap.memory() + 8, 90000, std::uint64_t(left));
    CHECK_OK(sea_get(back.data(), globals[std::size_t(right)] + 8, 90000, nullptr));
    CHECK_DATA(back.data(), 90000, std::uint64_t(t.rank));
    CHECK_OK(sea_raw_get(back.data(), right, raws[std::size_t(right)] + 8, 90000, nullptr));
    CHECK_DATA(back.data(), 90000, std::uint64_t(t.rank));
    CHECK(heap.guards_whole());
}

namespace {

std::atomic<std::uint64_t> *put_has_started; // of the board, by origin

void *wait_for_the_put(const sea_am *message, sea_am_complete_fn *, void **)
{
    for (double until = now() + 20; put_has_started[message->source % 64] == 0 && now() < until;) pause_for(0.001);
    return nullptr;
}

} // namespace

// Inside a node it goes in records then, as long as the profile lets them be.
LIGHT_STEP(662, long_ordered_puts_behind_a_message_arrive)
{
    std::vector<unsigned char> memory(300000), data(300000);
    put_has_started = t.shared->flags;
    CHECK_OK(sea_am_register(66, wait_for_the_put, nullptr));
    opened open(t);
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    const std::uint64_t there = t.exchange(address_of(memory.data()))[std::size_t(right)];
    t.shared->flags[t.rank % 64] = 0;
    t.sync();
    for (std::size_t bytes : {std::size_t(70000), data.size()}) {
        fill(data.data(), bytes, bytes + std::uint64_t(t.rank));
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT | SEA_ORDERED;
        CHECK_OK(sea_am_send(right, 66, nullptr, 0, nullptr, 0, &o));
        CHECK_OK(sea_raw_put(right, there, data.data(), bytes, &o));
        t.shared->flags[t.rank % 64] = 1;
        CHECK_OK(sea_fence(right));
        t.sync();
        CHECK_DATA(memory.data(), bytes, bytes + std::uint64_t(left));
        t.shared->flags[t.rank % 64] = 0;
        t.sync();
    }
    CHECK_OK(sea_am_register(66, nullptr, nullptr));
}
