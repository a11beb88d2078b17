// SPDX-License-Identifier: Apache-2.0
// Any thread may call any function: four threads of every rank do everything at once, each on memory of its own.
#include "gate.hpp"
#include "places.hpp"

#include "onesea/message.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/time.h>
#include <thread>

using namespace proof;

namespace {

constexpr std::size_t room = 40000;
constexpr int threads = 4;

struct shared_by_threads {
    run &t;
    std::vector<sea_addr> all, sums;
    std::atomic<std::uint64_t> added{0};
};

std::atomic<std::uint64_t> received{0};
void *receive(const sea_am *, sea_am_complete_fn *, void **)
{
    received += 1;
    return nullptr;
}

void move_data(sea_addr a, dice &d)
{
    std::vector<unsigned char> out(room / 2), in(room / 2);
    std::size_t bytes = d.below(8) == 0 ? d.below(room / 2) : d.below(200);
    fill(out.data(), bytes, d.state);
    sea_op ops[2];
    sea_opts put = SEA_OPTS_INIT, get = SEA_OPTS_INIT;
    put.op = &ops[0];
    CHECK_OK(sea_put(a, out.data(), bytes, &put));
    get.op = &ops[1];
    get.after = ops[0];
    CHECK_OK(sea_get(in.data(), a, bytes, &get));
    CHECK_OK(sea_wait_all(ops, 2, 50));
    CHECK_DATA(in.data(), bytes, d.state);
    CHECK_OK(sea_copy(a + room / 2, a, bytes, nullptr));
    CHECK_OK(sea_get(in.data(), a + room / 2, bytes, nullptr));
    CHECK_DATA(in.data(), bytes, d.state);
}

void allocate(int peer, dice &d)
{
    sea_addr block = SEA_NULL;
    std::uint64_t word = d.next(), back = 0;
    CHECK_OK(sea_heap_alloc(peer, 64 + d.below(2000), &block));
    CHECK_OK(sea_put(block + 8, &word, 8, nullptr));
    CHECK_OK(sea_fence(peer));
    CHECK_OK(sea_get(&back, block + 8, 8, nullptr));
    CHECK_EQ(word, back);
    CHECK_OK(sea_heap_free(block));
    sea_addr own = SEA_NULL;
    CHECK_OK(sea_register(&word, 8, 0, &own));
    CHECK_OK(sea_get(&back, own, 8, nullptr));
    CHECK_OK(sea_unregister(own));
}

void count(shared_by_threads &s, int peer)
{
    sea_counter done{};
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    o.remote_counter = &done;
    for (int i = 0; i < 10; ++i) CHECK_OK(sea_atomic(SEA_ATOMIC_ADD, s.sums[std::size_t(peer)], 8, 1, 0, nullptr, &o));
    CHECK_OK(sea_am_send(peer, 8, "hello", 5, nullptr, 0, &o));
    CHECK_OK(sea_counter_take(&done, 11, 50));
    s.added += 10;
}

void work(shared_by_threads &s, int number)
{
    dice d{s.t.seed * 777 + std::uint64_t(s.t.rank * threads + number)};
    std::size_t mine = std::size_t(s.t.rank * threads + number) * room;
    for (int i = 0; i < s.t.times(1500); ++i) {
        int peer = int(d.below(std::uint64_t(s.t.size)));
        switch (d.below(5)) {
        case 0:
        case 1:
            move_data(s.all[std::size_t(peer)] + mine, d);
            break;
        case 2:
            allocate(peer, d);
            break;
        case 3:
            count(s, peer);
            break;
        case 4:
            CHECK_OK(d.below(2) ? sea_fence(peer) : sea_fence_all());
            break;
        }
    }
}

} // namespace

STEP(800, four_threads_do_everything_at_once)
{
    place p(kind::heap, room * threads * std::size_t(t.size)), sum(kind::heap, 64);
    poke8(sum.memory(), 0);
    received = 0;
    CHECK_OK(sea_am_register(8, receive, nullptr));
    shared_by_threads s{t, t.exchange(p.address()), t.exchange(sum.address()), 0};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back([&s, i] { work(s, i); });
    for (std::thread &one : all) one.join();
    CHECK_OK(sea_fence_all());
    t.sync();
    std::uint64_t added = 0, there = 0, messages = 0;
    for (std::uint64_t v : t.exchange(s.added)) added += v;
    for (std::uint64_t v : t.exchange(peek8(sum.memory()))) there += v;
    for (std::uint64_t v : t.exchange(received)) messages += v;
    CHECK_EQ(added, there);
    CHECK_EQ(added / 10, messages);
    CHECK_OK(sea_am_register(8, nullptr, nullptr));
    t.sync();
}

STEP(801, errors_and_time_outs_belong_to_a_thread)
{
    std::uint64_t word = 0;
    CHECK_STATUS(SEA_ERR_RANK, sea_fence(t.size));
    std::string mine = sea_last_error();
    std::thread([&] {
        CHECK_EQ(0, std::string(sea_last_error()).size());
        CHECK_OK(sea_set_timeout(0.001));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_get(&word, SEA_NULL, 8, nullptr));
    }).join();
    CHECK(mine == sea_last_error());
    CHECK_OK(sea_fence_all());
}

STEP(802, a_handle_may_be_waited_for_by_another_thread)
{
    place p(kind::heap, 100000);
    std::vector<sea_addr> all = t.exchange(p.address());
    std::size_t right = std::size_t((t.rank + 1) % t.size);
    std::vector<unsigned char> out(100000);
    for (int i = 0; i < t.times(50); ++i) {
        fill(out.data(), out.size(), std::uint64_t(i));
        sea_op op = SEA_OP_NONE;
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op;
        CHECK_OK(sea_put(all[right], out.data(), out.size(), &o));
        std::thread([&] { CHECK_OK(sea_wait(op, 30)); }).join();
    }
    t.sync();
}

namespace {

int wait_for_any(sea_op op)
{
    int index = 7;
    return sea_wait_any(&op, 1, &index, 30);
}

int wait_for_all(sea_op op) { return sea_wait_all(&op, 1, 30); }

} // namespace

STEP(805, of_two_threads_that_wait_for_a_handle_one_is_told_its_status)
{
    int (*const ways[])(sea_op) = {[](sea_op op) { return sea_wait(op, 30); }, wait_for_any, wait_for_all};
    for (int i = 0; i < t.times(30); ++i) {
        std::uint64_t word = 0;
        sea_op op = SEA_OP_NONE;
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op;
        CHECK_OK(sea_message_receive(SEA_TEAM_WORLD, t.rank, 805, &word, 8, nullptr, &o));
        int status[2] = {};
        std::thread other([&] { status[0] = ways[i % 3](op); }), another([&] { status[1] = ways[i / 3 % 3](op); });
        pause_for(0.002);
        CHECK_OK(sea_message_cancel(op));
        other.join();
        another.join();
        CHECK_EQ(SEA_ERR_CANCELLED, std::min(status[0], status[1]));
        CHECK_EQ(SEA_ERR_HANDLE, std::max(status[0], status[1]));
    }
    t.sync();
}

namespace {

std::atomic<std::uint64_t> alarms{0};
void on_alarm(int) { alarms += 1; }

} // namespace

STEP(803, signals_of_the_program_disturb_nothing)
{
    place p(kind::malloced, std::size_t(t.size) * room);
    std::vector<sea_addr> all = t.exchange(p.address());
    struct sigaction action {
    }, before{};
    action.sa_handler = on_alarm; // without SA_RESTART: system calls are interrupted
    sigaction(SIGALRM, &action, &before);
    itimerval often{{0, 1000}, {0, 1000}}, never{};
    setitimer(ITIMER_REAL, &often, nullptr);
    std::vector<unsigned char> out(room), in(room);
    for (double until = now() + (t.light ? 0.1 : 0.3); now() < until || alarms <= 10;)
        for (int peer : t.peers()) {
            sea_addr a = all[std::size_t(peer)] + std::size_t(t.rank) * room;
            fill(out.data(), room, alarms);
            CHECK_OK(outcome([&](sea_opts *o) { return sea_put(a, out.data(), room, o); }));
            CHECK_OK(sea_get(in.data(), a, room, nullptr));
            CHECK(in == out);
        }
    sea_counter never_added{};
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_counter_wait(&never_added, 1, 0.05));
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before, nullptr);
    t.sync();
}

namespace {

void move_to(pid_t thread, const cpu_set_t &processors) { sched_setaffinity(thread, sizeof processors, &processors); }

void move_all_to(const cpu_set_t &processors)
{
    for (auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
        move_to(std::stoi(entry.path().filename().string()), processors);
}

// Changes words all the time, on a processor of its own: the library's threads on the others meet every moment of it.
// Not seen by the thread sanitizer, as the library reads them meanwhile.
class restless {
  public:
    explicit restless(std::vector<void *> words)
    {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t others, own; // of all that the machine allows: the launcher may have given this rank only one
        std::memset(&others, 0xff, sizeof others);
        move_to(0, others);
        sched_getaffinity(0, sizeof others, &others);
        CPU_ZERO(&own);
        for (int last = CPU_SETSIZE - 1; last >= 0 && CPU_COUNT(&own) == 0; --last)
            if (CPU_ISSET(last, &others)) CPU_SET(last, &own);
        if (CPU_COUNT(&others) > 1) CPU_XOR(&others, &others, &own);
        move_all_to(others);
        thread_ = std::thread([this, words, own] {
            move_to(0, own);
            for (std::uint64_t n = 0; !over_; ++n)
                for (void *word : words) poke8(word, n);
        });
    }
    ~restless()
    {
        over_ = true;
        thread_.join();
        move_all_to(before_);
    }

  private:
    cpu_set_t before_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

} // namespace

// A table in use is read by others, and sent. What a packet's tag was made of and what the kernel copies differ then.
STEP(804, memory_that_changes_all_the_time_is_read_and_sent)
{
    constexpr std::size_t most = 300000, word = 5000;
    place p(kind::heap, most), landing(kind::heap, most);
    std::vector<sea_addr> all = t.exchange(p.address()), to = t.exchange(landing.address());
    const std::size_t right = std::size_t((t.rank + 1) % t.size);
    std::vector<unsigned char> out(most), in(most);
    fill(p.memory(), most, 7);
    fill(out.data(), most, 8);
    t.sync();
    {
        std::optional<restless> words; // of one rank: another one's would interrupt it
        if (t.rank == 0)
            words.emplace(std::vector<void *>{static_cast<unsigned char *>(p.memory()) + word, &out[word]});
        for (int i = 0; i < t.times(40); ++i)
            for (std::size_t bytes : {std::size_t(9000), std::size_t(20000), std::size_t(60000), most}) {
                CHECK_OK(outcome([&](sea_opts *o) { return sea_get(in.data(), all[right], bytes, o); }));
                CHECK_EQ(word, std::min(word, differs(in.data(), bytes, 7)));
                CHECK_EQ(bytes, word + 8 + differs(in.data() + word + 8, bytes - word - 8, 7, word + 8));
                CHECK_OK(outcome([&](sea_opts *o) { return sea_put(to[right], out.data(), bytes, o); }));
            }
        t.sync();
    }
    auto *came = static_cast<unsigned char *>(landing.memory());
    CHECK_EQ(most, word + 8 + differs(came + word + 8, most - word - 8, 8, word + 8));
    t.sync();
}

// One sleeps at the socket for both: what comes for the other one wakes that.
STEP(806, of_threads_that_sleep_each_is_woken_by_its_message)
{
    constexpr int most = 3, tag = 806;
    const int other = t.rank ^ 1;
    const bool sends = t.rank % 2 == 0;
    for (const bool by_handle : {false, true}) {
        std::atomic<int> awake{0};
        std::vector<std::thread> sleepers;
        t.sync();
        for (int i = 0; i < most && !sends && other < t.size; ++i)
            sleepers.emplace_back([=, &awake] {
                int in = -1;
                sea_op op = SEA_OP_NONE;
                const sea_opts o = with_handle(&op);
                CHECK_OK(sea_message_receive(SEA_TEAM_WORLD, other, tag + i, &in, sizeof in, nullptr,
                                             by_handle ? &o : nullptr));
                CHECK_OK(sea_wait(op, 60));
                CHECK_EQ(i, in);
                ++awake;
            });
        for (int i = most; i-- > 0 && other < t.size;) { // nobody knows which of them sleeps at the socket
            pause_for(0.03);
            if (sends)
                CHECK_OK(sea_message_send(SEA_TEAM_WORLD, other, tag + i, &i, sizeof i, nullptr));
            else
                CHECK(comes([&] { return awake >= most - i; }));
        }
        for (std::thread &sleeper : sleepers) sleeper.join();
    }
    t.sync();
}
