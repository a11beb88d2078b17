// SPDX-License-Identifier: Apache-2.0
// Active messages.
#include "packets.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

using namespace proof;

namespace {

// Every message says in its header what it is; the handlers check it and count.
struct label {
    std::uint64_t source, number, header_bytes, data_bytes, where; // where: 0 buffer, 1 thrown away
};

struct inbox {
    std::atomic<std::uint64_t> headers{0}, completed{0}, wrong{0}, inside{0};
    std::vector<std::vector<unsigned char>> buffers;
    std::vector<std::uint64_t> next_of; // ordered: the number that comes next, by source
};
inbox *box;

void body_came(int source, void *data, std::size_t bytes, void *argument)
{
    box->inside += 1;
    if (box->inside != 1) box->wrong += 1; // one at a time
    auto number = reinterpret_cast<std::uintptr_t>(argument);
    if (data != nullptr && differs(data, bytes, number * 1000 + std::uint64_t(source)) != bytes) box->wrong += 1;
    box->inside -= 1;
    box->completed += 1;
}

void *header_came(const sea_am *m, sea_am_complete_fn *on_complete, void **argument)
{
    label l{};
    std::memcpy(&l, m->header, sizeof l);
    auto *rest = static_cast<const unsigned char *>(m->header) + sizeof l;
    bool right = m->header_bytes == l.header_bytes && m->data_bytes == l.data_bytes &&
                 std::uint64_t(m->source) == l.source && m->context == box &&
                 reinterpret_cast<std::uintptr_t>(m->header) % 8 == 0 && *on_complete == nullptr &&
                 differs(rest, m->header_bytes - sizeof l, l.number) == m->header_bytes - sizeof l;
    if (!right) box->wrong += 1;
    box->headers += 1;
    *on_complete = body_came;
    *argument = reinterpret_cast<void *>(std::uintptr_t(l.number));
    if (l.where == 1 || m->data_bytes == 0) return nullptr;
    auto &buffer = box->buffers[l.source];
    if (buffer.size() < m->data_bytes) buffer.resize(m->data_bytes);
    return buffer.data();
}

int send_labelled(run &t, int to, std::uint64_t number, std::size_t header, const std::vector<unsigned char> &data,
                  std::size_t bytes, bool keep, const sea_opts *o)
{
    unsigned char head[SEA_AM_HEADER_MAX];
    label l{std::uint64_t(t.rank), number, header, bytes, keep ? 0u : 1u};
    std::memcpy(head, &l, sizeof l);
    fill(head + sizeof l, header - sizeof l, number);
    return sea_am_send(to, 5, head, header, data.data(), bytes, o);
}

std::atomic<std::uint64_t> counted{0};
void *count_one(const sea_am *, sea_am_complete_fn *, void **)
{
    counted += 1;
    return nullptr;
}

} // namespace

LIGHT_STEP(700, a_message_runs_its_handler_everywhere)
{
    counted = 0;
    CHECK_OK(sea_am_register(0, count_one, nullptr));
    t.sync();
    for (int peer : t.peers()) CHECK_OK(sea_am_send(peer, 0, nullptr, 0, nullptr, 0, nullptr));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(t.peers().size(), counted.load());
    CHECK_OK(sea_am_register(0, nullptr, nullptr));
}

STEP(701, headers_and_data_of_every_size_arrive)
{
    inbox mine;
    mine.buffers.resize(std::size_t(t.size));
    box = &mine;
    CHECK_OK(sea_am_register(5, header_came, &mine));
    t.sync();
    std::uint64_t sent = 0;
    std::vector<unsigned char> data(sanitized || t.size > 4 ? 1 << 20 : 16 << 20);
    for (int peer : t.peers())
        for (std::size_t header : {40, 41, 63, 200, 1000, SEA_AM_HEADER_MAX})
            for (std::size_t bytes : {0, 1, 8, 100, 1400, 5000, 65536, 200000})
                for (bool keep : {true, false}) {
                    if (bytes > 5000 && (header % 8 != 0 || t.size > 4)) continue;
                    fill(data.data(), bytes, ++sent * 1000 + std::uint64_t(t.rank));
                    CHECK_OK(send_labelled(t, peer, sent, header, data, bytes, keep, nullptr));
                    CHECK_OK(sea_fence(peer)); // one buffer per source
                }
    int right = (t.rank + 1) % t.size;
    fill(data.data(), data.size(), ++sent * 1000 + std::uint64_t(t.rank));
    CHECK_OK(send_labelled(t, right, sent, 100, data, data.size(), true, nullptr));
    CHECK_OK(sea_fence(right));
    std::uint64_t all_sent = 0, all_came = 0;
    for (std::uint64_t n : t.exchange(sent)) all_sent += n;
    for (std::uint64_t n : t.exchange(mine.completed)) all_came += n;
    CHECK_EQ(all_sent, all_came);
    CHECK_EQ(0, mine.wrong.load());
    CHECK_EQ(mine.headers.load(), mine.completed.load());
    CHECK_OK(sea_am_register(5, nullptr, nullptr));
    t.sync();
}

STEP(702, a_message_without_handler_says_so)
{
    std::vector<unsigned char> data(100000);
    for (int peer : t.peers())
        for (std::size_t bytes : {0, 100, 100000}) {
            auto send = [&](sea_opts *o) { return sea_am_send(peer, 900, "abc", 3, data.data(), bytes, o); };
            CHECK_STATUS(SEA_ERR_HANDLER, outcome(send));
            CHECK_STATUS(SEA_ERR_HANDLER, blocking_outcome(peer, [&] { return send(nullptr); }));
            CHECK_OK(sea_fence(peer)); // told once
        }
    t.sync();
}

STEP(703, wrong_messages_are_refused)
{
    char byte = 0;
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_register(-1, count_one, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_register(SEA_AM_IDS, count_one, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_send(t.rank, -1, nullptr, 0, nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_send(t.rank, SEA_AM_IDS, nullptr, 0, nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_send(t.rank, SEA_AM_IDS + 1, nullptr, 0, nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_send(t.rank, 5, nullptr, 8, nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_send(t.rank, 5, nullptr, 0, nullptr, 8, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_am_send(t.rank, 5, &byte, SEA_AM_HEADER_MAX + 1, nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_RANK, sea_am_send(-1, 5, nullptr, 0, nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_RANK, sea_am_send(t.size, 5, nullptr, 0, nullptr, 0, nullptr));
    CHECK(std::strstr(sea_last_error(), std::to_string(t.size).c_str()) != nullptr);
}

STEP(704, ten_thousand_messages_are_in_flight)
{
    counted = 0;
    CHECK_OK(sea_am_register(1, count_one, nullptr));
    t.sync();
    const std::uint64_t n = std::uint64_t(t.times(10000));
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    sea_counter done{};
    o.remote_counter = &done;
    unsigned char data[64] = {};
    for (std::uint64_t i = 0; i < n; ++i)
        CHECK_OK(sea_am_send(int((std::uint64_t(t.rank) + i) % std::uint64_t(t.size)), 1, &i, 8, data, i % 65, &o));
    CHECK_OK(sea_counter_wait(&done, n, 60));
    t.sync();
    std::uint64_t all = 0;
    for (std::uint64_t c : t.exchange(counted)) all += c;
    CHECK_EQ(n * std::uint64_t(t.size), all);
    CHECK_OK(sea_am_register(1, nullptr, nullptr));
}

namespace {

std::atomic<std::uint64_t> disorder{0};
std::vector<std::atomic<std::uint64_t>> *last_of;

void in_order(int source, void *, std::size_t, void *argument)
{
    auto number = reinterpret_cast<std::uintptr_t>(argument);
    if ((*last_of)[std::size_t(source)].exchange(number) + 1 != number) disorder += 1;
}

void *ordered_header(const sea_am *m, sea_am_complete_fn *on_complete, void **argument)
{
    static std::map<int, std::vector<unsigned char>> sinks; // by source: only messages of one wait for each other
    auto &sink = sinks[m->source];
    sink.resize(100000);
    std::uint64_t number = *static_cast<const std::uint64_t *>(m->header);
    *on_complete = in_order;
    *argument = reinterpret_cast<void *>(std::uintptr_t(number));
    return sink.data();
}

} // namespace

STEP(705, ordered_messages_run_in_order)
{
    std::vector<std::atomic<std::uint64_t>> last(std::size_t(t.size));
    last_of = &last;
    disorder = 0;
    CHECK_OK(sea_am_register(2, ordered_header, nullptr));
    t.sync();
    const std::uint64_t n = std::uint64_t(t.times(2000));
    std::vector<unsigned char> data(100000);
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT | SEA_ORDERED;
    for (std::uint64_t i = 1; i <= n; ++i)
        for (int distance : {0, 1}) {
            if (distance == 1 && t.size == 1) continue;
            std::size_t bytes = i % 100 == 0 ? 90000 : i % 10 == 0 ? 3000 : i % 40;
            CHECK_OK(sea_am_send((t.rank + distance) % t.size, 2, &i, 8, data.data(), bytes, &o));
        }
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_EQ(0, disorder.load());
    CHECK_EQ(n, last[std::size_t(t.rank)].load());
    CHECK_EQ(n, last[std::size_t((t.rank + t.size - 1) % t.size)].load());
    CHECK_OK(sea_am_register(2, nullptr, nullptr));
    t.sync();
}

namespace {

std::vector<sea_addr> *words;
std::atomic<std::uint64_t> hops{0};

// Each hop sends on until its count has gone down to 0, and waits for operations of its own on the way.
void hop(int source, void *, std::size_t, void *argument)
{
    auto left = reinterpret_cast<std::uintptr_t>(argument);
    std::uint64_t old = 0, one = 1;
    sea_op op = SEA_OP_NONE;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &op;
    CHECK_OK(sea_fetch_add8((*words)[std::size_t(source)], 1, &old, nullptr));
    CHECK_OK(sea_put((*words)[std::size_t(source)] + 64, &one, 8, &o));
    CHECK_OK(sea_wait(op, 20));
    std::uint64_t next = left - 1;
    if (next > 0) CHECK_OK(sea_am_send((sea_rank() + 1) % sea_size(), 3, &next, 8, nullptr, 0, nullptr));
    hops += 1;
}

void *hop_header(const sea_am *m, sea_am_complete_fn *on_complete, void **argument)
{
    *on_complete = hop;
    *argument = reinterpret_cast<void *>(std::uintptr_t(*static_cast<const std::uint64_t *>(m->header)));
    return nullptr;
}

} // namespace

STEP(706, handlers_send_and_wait)
{
    place p(kind::heap, 128);
    poke8(p.memory(), 0);
    std::vector<sea_addr> all = t.exchange(p.address());
    words = &all;
    hops = 0;
    CHECK_OK(sea_am_register(3, hop_header, nullptr));
    t.sync();
    const std::uint64_t length = std::uint64_t(t.times(50)) + 1;
    CHECK_OK(sea_am_send((t.rank + 1) % t.size, 3, &length, 8, nullptr, 0, nullptr));
    for (double until = now() + 40; now() < until; pause_for(0.002)) {
        std::uint64_t all_hops = 0;
        t.shared->seats[t.rank].words[1] = hops.load();
        for (int r = 0; r < t.size; ++r) all_hops += t.shared->seats[r].words[1];
        if (all_hops == length * std::uint64_t(t.size)) break;
    }
    CHECK_OK(sea_fence_all());
    t.sync();
    std::uint64_t all_hops = 0, added = 0;
    for (std::uint64_t h : t.exchange(hops)) all_hops += h;
    for (std::uint64_t h : t.exchange(peek8(p.memory()))) added += h;
    CHECK_EQ(length * std::uint64_t(t.size), all_hops);
    CHECK_EQ(all_hops, added);
    t.shared->seats[t.rank].words[1] = 0;
    CHECK_OK(sea_am_register(3, nullptr, nullptr));
    t.sync();
}

STEP(707, remote_completion_means_the_handlers_have_returned)
{
    static std::atomic<std::uint64_t> *finished;
    finished = &t.shared->seats[t.rank].words[2];
    *finished = 0;
    auto slow = [](int, void *, std::size_t, void *) {
        pause_for(0.02);
        *finished += 1;
    };
    static sea_am_complete_fn slow_fn;
    slow_fn = slow;
    CHECK_OK(sea_am_register(
        4,
        [](const sea_am *, sea_am_complete_fn *f, void **) -> void * {
            *f = slow_fn;
            return nullptr;
        },
        nullptr));
    t.sync();
    for (std::uint64_t i = 1; i <= 3 && t.rank == 0; ++i)
        for (int peer : t.peers()) {
            CHECK_OK(outcome([&](sea_opts *o) { return sea_am_send(peer, 4, nullptr, 0, nullptr, 0, o); }));
            CHECK_EQ(i, t.shared->seats[peer].words[2].load());
        }
    t.sync();
    CHECK_OK(sea_am_register(4, nullptr, nullptr));
}

namespace {

std::atomic<std::uint64_t> flood_came, flood_failed;
int flood_answer_id;

void *flood_counts(const sea_am *, sea_am_complete_fn *, void **)
{
    flood_came += 1;
    return nullptr;
}

// Sends more than may be unfinished outside handlers, to a rank whose handler does the same.
void *flood_begins(const sea_am *m, sea_am_complete_fn *, void **)
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    for (int i = 0; i < 10000; ++i)
        if (sea_am_send(m->source, flood_answer_id, nullptr, 0, nullptr, 0, &o) != SEA_OK) flood_failed += 1;
    return nullptr;
}

} // namespace

STEP(708, handlers_that_flood_each_other_do_not_wait_for_each_other)
{
    constexpr int begin_id = 20;
    flood_answer_id = 21;
    flood_came = flood_failed = 0;
    CHECK_OK(sea_am_register(begin_id, flood_begins, nullptr));
    CHECK_OK(sea_am_register(flood_answer_id, flood_counts, nullptr));
    t.sync();
    int partner = t.rank ^ 1;
    if (partner >= t.size) partner = t.rank;
    CHECK_OK(sea_am_send(partner, begin_id, nullptr, 0, nullptr, 0, nullptr));
    double limit = now() + 20;
    while (flood_came < 10000 && now() < limit) sea_poll();
    CHECK_EQ(flood_came.load(), 10000u);
    CHECK_EQ(flood_failed.load(), 0u);
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_OK(sea_am_register(begin_id, nullptr, nullptr));
    CHECK_OK(sea_am_register(flood_answer_id, nullptr, nullptr));
}

namespace {

void *linger(const sea_am *, sea_am_complete_fn *, void **)
{
    usleep(30'000);
    return nullptr;
}

} // namespace

// The target's program is outside the library, so its dispatcher runs the handler, and is held up by it.
STEP(709, a_handler_that_holds_up_the_dispatcher_is_counted_as_a_stall)
{
    sea_own_stats before, after;
    const int target = t.size - 1;
    CHECK_OK(sea_am_register(40, linger, nullptr));
    CHECK_OK(sea_stats_own(&before));
    t.sync();
    for (int i = 0; i < 3 && t.rank == 0 && target != 0; ++i) { // sync() polls: it may run the first one itself
        sea_op op;
        sea_opts opts = SEA_OPTS_INIT;
        opts.op = &op;
        CHECK_OK(sea_am_send(target, 40, nullptr, 0, nullptr, 0, &opts));
        CHECK_OK(sea_wait(op, SEA_FOREVER));
    }
    t.sync();
    if (t.rank == target && target != 0) {
        double limit = now() + 10; // the round ends after its handler
        do CHECK_OK(sea_stats_own(&after));
        while (after.stalls == before.stalls && now() < limit);
        CHECK(after.rounds > before.rounds);
        CHECK(after.stalls > before.stalls);
        CHECK(after.longest_stall_seconds >= 0.029);
    }
    CHECK_OK(sea_am_register(40, nullptr, nullptr));
    t.sync();
}

STEP(710, a_handler_cannot_leave_the_job)
{
    static std::atomic<int> status;
    status = SEA_OK;
    CHECK_OK(sea_am_register(
        6,
        [](const sea_am *, sea_am_complete_fn *, void **) -> void * {
            status = sea_finalize();
            return nullptr;
        },
        nullptr));
    t.sync();
    CHECK_OK(sea_am_send((t.rank + 1) % t.size, 6, nullptr, 0, nullptr, 0, nullptr));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_STATUS(SEA_ERR_STATE, status.load());
    CHECK_OK(sea_am_register(6, nullptr, nullptr));
}

namespace {

void *note_message(const sea_am *m, sea_am_complete_fn *, void **)
{
    sea_counter *count = static_cast<sea_counter *>(m->context);
    std::uint64_t before = 0;
    CHECK_OK(sea_counter_get(count, &before)); // one handler at a time
    CHECK_OK(sea_counter_set(count, before + 1));
    return nullptr;
}

} // namespace

// Their ends are told with what goes back, and when one asks.
STEP(711, who_exchanges_messages_sends_a_packet_each_time)
{
    constexpr int number = 11;
    static sea_counter count;
    count.value = 0;
    place word(kind::heap, 64);
    CHECK_OK(sea_am_register(number, note_message, &count));
    t.sync();
    const int right = (t.rank + 1) % t.size;
    const auto send = [&](const sea_opts *o) { CHECK_OK(sea_am_send(right, number, "message", 8, nullptr, 0, o)); };
    std::uint64_t round = 0;
    if (t.size == 2 && std::strcmp(sea_transport(right), "net") == 0) {
        sea_opts o = SEA_OPTS_INIT;
        o.flags = SEA_NOWAIT;
        for (const sea_opts *opts : {static_cast<const sea_opts *>(&o), static_cast<const sea_opts *>(nullptr)}) {
            const double packets = packets_of(t, right, [&] {
                send(opts);
                CHECK_OK(sea_counter_wait(&count, ++round, 30));
            });
            CHECK(packets < 1.5);
        }
    }
    t.sync();
    for (int i = 0; i < t.times(50); ++i) {
        for (int k = 0; k <= i % 7; ++k, ++round) send(nullptr);
        CHECK_OK(i % 2 ? sea_fence(right) : sea_fence_all());
        CHECK_OK(sea_counter_wait(&count, round, 30));
        t.sync();
    }
    CHECK_OK(sea_am_register(number, nullptr, nullptr));
}

namespace {

// A handler may run in a call of the step's own thread: it waits for rank 0 itself, not for what that thread does next.
using shared_flag = std::atomic<std::uint64_t>;

void wait_for(const shared_flag &flag)
{
    for (const double end = now() + 20; flag == 0 && now() < end;) pause_for(0.001);
}

void *hold_handlers(const sea_am *m, sea_am_complete_fn *, void **)
{
    wait_for(*static_cast<const shared_flag *>(m->context));
    return nullptr;
}

void *take_into(const sea_am *m, sea_am_complete_fn *, void **) { return m->context; }

} // namespace

// Of a job whose `eager` is no less and whose frames are far shorter.
LONE_STEP(713, eager_data_of_many_frames_is_copied_and_goes_though_no_handler_has_asked_for_it)
{
    constexpr int holds = 14, takes = 15;
    for (const std::size_t bytes : {std::size_t(1500), std::size_t(8000), std::size_t(65000)}) {
        std::vector<unsigned char> out(bytes), in(bytes);
        fill(out.data(), bytes, bytes);
        CHECK_OK(sea_am_register(holds, hold_handlers, &t.shared->flags[0]));
        CHECK_OK(sea_am_register(takes, take_into, in.data()));
        t.shared->flags[0] = 0;
        t.sync();
        if (t.rank == 0) {
            CHECK_OK(sea_am_send(1, holds, nullptr, 0, nullptr, 0, nullptr));
            CHECK_OK(sea_set_timeout(5));
            CHECK_OK(sea_am_send(1, takes, "header", 6, out.data(), bytes, nullptr)); // returns, and may be changed
            CHECK_OK(sea_set_timeout(SEA_FOREVER));
            set_bytes(out.data(), bytes, 0);
            t.shared->flags[0] = 1;
            CHECK_OK(sea_fence(1));
        } else if (t.rank == 1) {
            wait_for(t.shared->flags[0]);
        }
        t.sync();
        if (t.rank == 1) CHECK_DATA(in.data(), bytes, bytes);
        CHECK_OK(sea_am_register(holds, nullptr, nullptr));
        CHECK_OK(sea_am_register(takes, nullptr, nullptr));
        t.sync();
    }
}
