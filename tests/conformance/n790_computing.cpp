// SPDX-License-Identifier: Apache-2.0
// What a program has started goes on while it computes: it makes no other call, and looks at its own memory only.
#include "gate.hpp"
#include "neighbours.hpp"
#include "places.hpp"

#include "onesea/channel.h"

#include <atomic>
#include <vector>

using namespace proof;

namespace {

constexpr int computing_tag = 79;

// Ranks in twos: the even one computes, the odd one works with it. The last of an odd number has nothing to do.
struct couple {
    int other;
    bool whole, computes;

    explicit couple(const run &t) : other(t.rank ^ 1), whole(other < t.size), computes(t.rank % 2 == 0) {}
};

bool comes(const std::uint64_t *word, std::uint64_t value)
{
    return proof::comes([&] { return peek8(word) == value; });
}

// A word of each rank that the other of its couple writes.
class flag {
  public:
    flag(run &t, const couple &c)
    {
        REQUIRE_OK(sea_heap_alloc(t.rank, sizeof(std::uint64_t), &mine_));
        word_ = static_cast<std::uint64_t *>(sea_local(mine_));
        poke8(word_, 0);
        const auto all = t.exchange(mine_);
        if (c.whole) others_ = all[std::size_t(c.other)];
    }
    ~flag() { CHECK_OK(sea_heap_free(mine_)); }
    flag(const flag &) = delete;
    flag &operator=(const flag &) = delete;

    void raise_there(std::uint64_t value) const
    {
        CHECK_OK(sea_put(others_, &value, sizeof value, nullptr));
        CHECK_OK(sea_fence_all());
    }
    bool comes(std::uint64_t value) const { return ::comes(word_, value); }
    std::uint64_t there() const // what the other's is
    {
        std::uint64_t value = 0;
        CHECK_OK(sea_get(&value, others_, sizeof value, nullptr));
        return value;
    }
    std::atomic<std::uint64_t> *own_word() const { return reinterpret_cast<std::atomic<std::uint64_t> *>(word_); }

  private:
    sea_addr mine_ = SEA_NULL, others_ = SEA_NULL;
    std::uint64_t *word_ = nullptr;
};

// One sends without waiting until nothing has room, and computes; the other begins late and receives everything.
template <class Send, class Receive>
void send_and_compute(run &t, const couple &c, const Send &send, const Receive &receive)
{
    const int n = t.times(20000);
    const flag done(t, c);
    std::vector<std::uint64_t> words(std::size_t(n) * 8);
    for (int i = 0; i < n; ++i) words[std::size_t(i) * 8] = unsigned(i);
    t.sync();
    pause_for(0.05); // so that the library sleeps when it begins
    if (c.whole && c.computes) {
        for (int i = 0; i < n; ++i) CHECK_OK(send(&words[std::size_t(i) * 8], 64));
        REQUIRE(done.comes(1));
    } else if (c.whole) {
        pause_for(0.1);
        for (int i = 0; i < n; ++i) {
            std::uint64_t in[8] = {};
            CHECK_OK(receive(in, sizeof in));
            CHECK_EQ(i, in[0]);
        }
        done.raise_there(1);
    }
    t.sync();
}

} // namespace

LIGHT_STEP(790, messages_that_found_no_room_go_while_the_program_computes)
{
    const couple c(t);
    const sea_opts o = without_waiting();
    send_and_compute(
        t, c,
        [&](const void *data, std::size_t n) { return sea_message_send(world, c.other, computing_tag, data, n, &o); },
        [&](void *data, std::size_t n) {
            return sea_message_receive(world, c.other, computing_tag, data, n, nullptr, nullptr);
        });
}

LIGHT_STEP(791, channels_that_found_no_room_go_while_the_program_computes)
{
    const couple c(t);
    const sea_opts o = without_waiting();
    sea_channel channel{};
    if (c.whole) REQUIRE_OK(sea_channel_open(t.rank & ~1, t.rank | 1, &channel));
    send_and_compute(
        t, c, [&](const void *data, std::size_t n) { return sea_channel_send(channel, data, n, &o); },
        [&](void *data, std::size_t n) { return sea_channel_receive(channel, data, n, nullptr, nullptr); });
    if (c.whole) CHECK_OK(sea_channel_close(channel, nullptr));
}

LIGHT_STEP(792, receives_that_wait_are_met_while_the_program_computes)
{
    const couple c(t);
    for (std::size_t bytes : {std::size_t(8), std::size_t(8000), std::size_t(200000)}) {
        for (const bool counted : {true, false}) { // by an operation, or by a handle without one
            std::vector<unsigned char> data(bytes);
            sea_counter got{};
            sea_message_info info{};
            sea_op op = SEA_OP_NONE;
            t.sync();
            pause_for(0.05);
            if (c.whole && c.computes) {
                sea_opts o = counted ? without_waiting() : with_handle(&op);
                if (counted) o.remote_counter = &got;
                CHECK_OK(sea_message_receive(world, c.other, computing_tag, data.data(), bytes, &info, &o));
                if (counted)
                    REQUIRE(comes(reinterpret_cast<const std::uint64_t *>(&got), 1));
                else
                    REQUIRE(comes(reinterpret_cast<const std::uint64_t *>(&info.bytes), bytes));
                CHECK_OK(sea_wait(op, 30));
                CHECK_DATA(data.data(), bytes, bytes);
            } else if (c.whole) {
                pause_for(0.05);
                fill(data.data(), bytes, bytes);
                CHECK_OK(sea_message_send(world, c.other, computing_tag, data.data(), bytes, nullptr));
            }
            t.sync();
        }
    }
}

namespace {

constexpr std::size_t most = 1'000'000;
constexpr int message_id = 79;

// What of each rank the others reach: they write to `heap` or `own`, read `source`, and count in `words`.
struct reach {
    place heap{kind::heap, most}, own{kind::malloced, most}, source{kind::heap, most}, words{kind::heap, 64};
    std::vector<sea_addr> heaps, owns, sources, all_words;

    explicit reach(run &t)
        : heaps(t.exchange(heap.address())), owns(t.exchange(own.address())), sources(t.exchange(source.address())),
          all_words(t.exchange(words.address()))
    {
        fill(source.memory(), most, source_seed(t.rank));
    }
    static std::uint64_t source_seed(int rank) { return 5000 + unsigned(rank); }
};

struct transfer {
    sea_addr there, theirs, signal, thirds; // where it writes; what it reads, also of another rank
    std::size_t bytes;
    int rank;
};

using buffer = std::vector<unsigned char>;
using start = int (*)(const transfer &x, buffer &data, const sea_opts *o);

sea_piece piece(sea_addr base, buffer &data, std::size_t from, std::size_t bytes)
{
    return {base + from, data.data() + from, bytes};
}

int put_pieces(const transfer &x, buffer &data, const sea_opts *o)
{
    const sea_piece pieces[] = {piece(x.there, data, 0, x.bytes / 3),
                                piece(x.there, data, x.bytes / 3, x.bytes - x.bytes / 3)};
    return sea_put_vector(pieces, 2, o);
}

int get_pieces(const transfer &x, buffer &data, const sea_opts *o)
{
    const sea_piece pieces[] = {piece(x.theirs, data, 0, x.bytes / 3),
                                piece(x.theirs, data, x.bytes / 3, x.bytes - x.bytes / 3)};
    return sea_get_vector(pieces, 2, o);
}

constexpr start kinds_of_put[] = {
    [](const transfer &x, buffer &d, const sea_opts *o) { return sea_put(x.there, d.data(), x.bytes, o); },
    [](const transfer &x, buffer &d, const sea_opts *o) {
        return sea_put_signal(x.there, d.data(), x.bytes, x.signal, 1, SEA_SIGNAL_ADD, o);
    },
    [](const transfer &x, buffer &d, const sea_opts *o) {
        const std::size_t counts[] = {x.bytes / 2, 2};
        const std::int64_t step = std::int64_t(x.bytes / 2);
        return sea_put_strided(x.there, &step, d.data(), &step, counts, 1, o);
    },
    put_pieces,
    [](const transfer &x, buffer &d, const sea_opts *o) {
        return sea_am_send(x.rank, message_id, &x.there, sizeof x.there, d.data(), x.bytes, o);
    },
};
constexpr start kinds_of_get[] = {
    [](const transfer &x, buffer &d, const sea_opts *o) { return sea_get(d.data(), x.theirs, x.bytes, o); },
    [](const transfer &x, buffer &d, const sea_opts *o) {
        const std::size_t counts[] = {x.bytes / 2, 2};
        const std::int64_t step = std::int64_t(x.bytes / 2);
        return sea_get_strided(d.data(), &step, x.theirs, &step, counts, 1, o);
    },
    get_pieces,
};
constexpr start kinds_of_copy[] = {
    [](const transfer &x, buffer &, const sea_opts *o) { return sea_copy(x.there, x.thirds, x.bytes, o); },
};

void *where_it_says(const sea_am *message, sea_am_complete_fn *, void **)
{
    return sea_local(*static_cast<const sea_addr *>(message->header));
}

const std::uint64_t *word_of(const sea_counter &c) { return reinterpret_cast<const std::uint64_t *>(&c); }

// Starts one operation, and sees it end here and there.
void start_and_compute(run &t, const reach &r, start begin, transfer x, buffer &data, unsigned flags)
{
    std::uint64_t *const arrived = reinterpret_cast<std::uint64_t *>(r.words.memory());
    poke8(arrived, 0);
    sea_counter here{}, left{};
    sea_opts o = without_waiting();
    o.flags |= flags;
    o.remote_counter = &here;
    o.origin_counter = &left;
    o.target_counter = r.all_words[std::size_t(x.rank)];
    t.sync();
    pause_for(0.003); // so that the library sleeps
    CHECK_OK(begin(x, data, &o));
    REQUIRE(comes(word_of(left), 1));
    REQUIRE(comes(word_of(here), 1));
    REQUIRE(comes(arrived, 1));
    t.sync();
}

} // namespace

STEP(793, operations_of_every_kind_end_while_both_sides_compute)
{
    reach r(t);
    REQUIRE_OK(sea_am_register(message_id, where_it_says, nullptr));
    std::uint64_t round = 0;
    for (const int d : {1 % t.size, t.size / 2})
        for (const std::size_t bytes : {std::size_t(8), std::size_t(2000), std::size_t(70000), most})
            for (const unsigned flags : {0u, SEA_ORDERED}) {
                if (t.size > 4 && (bytes == most || flags)) continue;
                const int to = (t.rank + d) % t.size, from = (t.rank + t.size - d) % t.size;
                const std::size_t there = std::size_t(to), third = std::size_t((t.rank + 1) % t.size);
                const bool heap = ++round % 2;
                const unsigned char *written = heap ? r.heap.memory() : r.own.memory();
                const transfer x{heap ? r.heaps[there] : r.owns[there],
                                 r.sources[there],
                                 r.all_words[there] + 8,
                                 r.sources[third],
                                 bytes,
                                 to};
                buffer data(bytes);
                fill(data.data(), bytes, round * 100 + unsigned(t.rank));
                for (start put : kinds_of_put) {
                    set_bytes(heap ? r.heap.memory() : r.own.memory(), bytes, blank);
                    start_and_compute(t, r, put, x, data, flags);
                    CHECK_DATA(written, bytes, round * 100 + unsigned(from));
                }
                for (start copy : kinds_of_copy) {
                    start_and_compute(t, r, copy, x, data, flags);
                    CHECK_DATA(written, bytes, reach::source_seed((from + 1) % t.size));
                }
                for (start get : kinds_of_get) {
                    set_bytes(data.data(), bytes, blank);
                    start_and_compute(t, r, get, x, data, flags);
                    CHECK_DATA(data.data(), bytes, reach::source_seed(to));
                }
            }
    REQUIRE_OK(sea_am_register(message_id, nullptr, nullptr));
}

STEP(794, a_chain_of_start_conditions_runs_while_everybody_computes)
{
    reach r(t);
    const int links = t.times(60);
    std::vector<sea_op> ops(static_cast<std::size_t>(links), SEA_OP_NONE);
    std::uint64_t word = 0, old = 0;
    sea_counter end{};
    poke8(r.words.memory(), 0);
    t.sync();
    pause_for(0.003);
    for (int i = 0; i < links; ++i) {
        const sea_addr there = r.all_words[std::size_t((t.rank + i) % t.size)];
        sea_opts o = SEA_OPTS_INIT;
        o.op = &ops[std::size_t(i)];
        if (i > 0) o.after = ops[std::size_t(i) - 1];
        if (i == links - 1) o.remote_counter = &end;
        CHECK_OK(i % 2 ? sea_get(&word, there, 8, &o) : sea_fetch_add8(there, 1, &old, &o));
    }
    REQUIRE(comes(word_of(end), 1));
    CHECK_OK(sea_wait_all(ops.data(), links, 30));
    t.sync();
    std::uint64_t added = 0;
    for (const std::uint64_t n : t.exchange(peek8(r.words.memory()))) added += n;
    CHECK_EQ(unsigned((links + 1) / 2 * t.size), added);
    t.sync();
}

STEP(795, more_than_is_under_way_at_once_goes_while_everybody_computes)
{
    reach r(t);
    REQUIRE_OK(sea_am_register(message_id, where_it_says, nullptr));
    const std::size_t to = std::size_t((t.rank + 1) % t.size);
    buffer data(most);
    std::vector<start> all(std::begin(kinds_of_put), std::end(kinds_of_put));
    all.insert(all.end(), std::begin(kinds_of_get), std::end(kinds_of_get));
    all.insert(all.end(), std::begin(kinds_of_copy), std::end(kinds_of_copy));
    all.push_back(
        [](const transfer &x, buffer &, const sea_opts *o) { return sea_fetch_add8(x.signal, 1, nullptr, o); });
    for (start begin : all)
        for (const std::size_t bytes : {std::size_t(8), std::size_t(70000)}) {
            const int n = t.times(bytes == 8 ? 3000 : 100);
            const transfer x{r.heaps[to], r.sources[to], r.all_words[to] + 8, r.sources[(to + 1) % r.sources.size()],
                             bytes,       int(to)};
            sea_counter ended{};
            sea_opts o = without_waiting();
            o.remote_counter = &ended;
            t.sync();
            for (int i = 0; i < n; ++i) CHECK_OK(begin(x, data, &o));
            REQUIRE(comes(word_of(ended), unsigned(n)));
            t.sync();
        }
    REQUIRE_OK(sea_am_register(message_id, nullptr, nullptr));
}

STEP(796, messages_and_channels_run_while_both_ends_compute)
{
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    if (t.size < 2) return;
    sea_channel to{}, from{};
    REQUIRE_OK(sea_channel_open(t.rank, right, &to));
    REQUIRE_OK(sea_channel_open(left, t.rank, &from));
    dice d{t.seed}; // the same at all ranks
    const std::size_t n = std::size_t(t.times(200));
    std::vector<buffer> out(n), in(n), sent(n), got(n);
    sea_counter ended{};
    sea_opts o = without_waiting();
    o.remote_counter = &ended;
    t.sync();
    pause_for(0.003);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t bytes = 1 + (d.below(4) ? d.below(3000) : d.below(150'000));
        for (buffer *b : {&out[i], &in[i], &sent[i], &got[i]}) b->resize(bytes);
        fill(out[i].data(), bytes, i * 100 + unsigned(t.rank));
        fill(sent[i].data(), bytes, i * 200 + unsigned(t.rank));
        CHECK_OK(sea_message_receive(world, left, computing_tag, in[i].data(), bytes, nullptr, &o));
        CHECK_OK(sea_message_send(world, right, computing_tag, out[i].data(), bytes, &o));
        CHECK_OK(sea_channel_receive(from, got[i].data(), bytes, nullptr, &o));
        CHECK_OK(sea_channel_send(to, sent[i].data(), bytes, &o));
    }
    REQUIRE(comes(word_of(ended), 4 * n));
    for (std::size_t i = 0; i < n; ++i) {
        CHECK_DATA(in[i].data(), in[i].size(), i * 100 + unsigned(left));
        CHECK_DATA(got[i].data(), got[i].size(), i * 200 + unsigned(left));
    }
    t.sync();
    sea_op closed[2] = {};
    for (int i : {0, 1}) {
        sea_opts c = SEA_OPTS_INIT;
        c.op = &closed[i];
        CHECK_OK(sea_channel_close(i ? to : from, &c));
    }
    CHECK_OK(sea_wait_all(closed, 2, 30));
}

STEP(797, what_starts_behind_an_operation_goes_though_the_call_that_ends_it_does_not_wait)
{
    const couple c(t);
    const flag done(t, c);
    const int n = t.times(4000);
    const std::vector<int> out(static_cast<std::size_t>(n), t.rank);
    gate before(t);
    const sea_opts o = without_waiting(before.op());
    if (c.whole && c.computes)
        for (const int &word : out) CHECK_OK(sea_message_send(world, c.other, computing_tag, &word, sizeof word, &o));
    t.sync();
    pause_for(0.2);
    before.open();
    if (c.whole && c.computes) {
        REQUIRE(done.comes(1));
    } else if (c.whole) {
        pause_for(0.3);
        for (int i = 0; i < n; ++i) {
            int in = -1;
            CHECK_OK(sea_message_receive(world, c.other, computing_tag, &in, sizeof in, nullptr, nullptr));
            CHECK_EQ(c.other, in);
        }
        done.raise_there(1);
    }
    t.sync();
}

STEP(798, an_error_is_told_though_the_call_that_finds_it_does_not_wait)
{
    std::atomic<int> told{0};
    auto count = [](int, int, int, void *counted) { ++*static_cast<std::atomic<int> *>(counted); };
    CHECK_OK(sea_on_error(count, &told));
    const int right = (t.rank + 1) % t.size;
    const std::uint64_t word = 1;
    {
        gate before(t);
        const sea_opts o = without_waiting(before.op());
        CHECK_OK(sea_put((sea_addr(unsigned(right)) << SEA_OFFSET_BITS) + SEA_OFFSET_MASK - 63, &word, 8, &o));
        pause_for(0.05);
        before.open();
        CHECK(comes([&] { return told == 1; }));
    }
    CHECK_EQ(SEA_ERR_ADDRESS, sea_fence(right));
    CHECK_OK(sea_on_error(nullptr, nullptr));
    t.sync();
}

namespace {

// What a completion handler that computes until it is let go does, and what it found.
struct long_handler {
    std::atomic<std::uint64_t> *entered, *let_go;
    std::atomic<int> ended{0};
};

void compute_until_let_go(int, void *, std::size_t, void *argument)
{
    long_handler &h = *static_cast<long_handler *>(argument);
    *h.entered = 1;
    CHECK(proof::comes([&] { return *h.let_go == 1; }));
    h.ended = 1;
}

void *take_and_compute(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    *on_complete = compute_until_let_go;
    *argument = message->context;
    return nullptr;
}

} // namespace

// The handler looks at its own memory only, as the program does beside it: others read and write there all the same.
STEP(799, memory_is_reached_while_a_handler_computes)
{
    const couple c(t);
    const flag entered(t, c), let_go(t, c);
    long_handler handler{entered.own_word(), let_go.own_word()};
    REQUIRE_OK(sea_am_register(message_id, take_and_compute, &handler));
    t.sync();
    pause_for(0.05); // so that the dispatcher is the one that runs it
    if (c.whole && c.computes) {
        REQUIRE(comes([&] { return handler.ended == 1; }));
    } else if (c.whole) {
        const sea_opts o = without_waiting();
        CHECK_OK(sea_am_send(c.other, message_id, nullptr, 0, nullptr, 0, &o));
        CHECK(comes([&] { return entered.there() == 1; }));
        let_go.raise_there(1);
    }
    t.sync();
    REQUIRE_OK(sea_am_register(message_id, nullptr, nullptr));
    t.sync();
}
