// SPDX-License-Identifier: Apache-2.0
// Matched messages: sizes, order, wildcards, looking, taking, withdrawing, options, and what is wrong.
#include "neighbours.hpp"
#include "places.hpp"

#include "onesea/message.h"

#include <cstring>
#include <thread>
#include <vector>

using namespace proof;

namespace {

void check_info(const sea_message_info &info, int source, int tag, std::size_t bytes)
{
    CHECK_EQ(source, info.source);
    CHECK_EQ(tag, info.tag);
    CHECK_EQ(bytes, info.bytes);
}

// Behind all that its receiver has given back, which may still be on its way when the ranks have met elsewhere.
void tell_what_is_given_back(const run &t)
{
    CHECK_OK(sea_message_send(world, left_of(t), 6, nullptr, 0, nullptr));
    CHECK_OK(sea_message_receive(world, right_of(t), 6, nullptr, 0, nullptr, nullptr));
}

// All that may wait in the end, a little at a time: none of the sends waits for a receive.
void use_up_again(run &t, std::size_t bound)
{
    constexpr std::size_t bytes = 500, at_once = 100; // so short that no profile lets it wait, and few of a share
    const std::vector<unsigned char> out(bytes, 7);
    std::vector<unsigned char> in(bytes);
    const std::size_t rounds = bound / std::size_t(t.size) / bytes / at_once + 1;
    for (int round = t.times(int(rounds)); round > 0; --round) {
        for (std::size_t i = 0; i < at_once; ++i)
            CHECK_OK(sea_message_send(world, right_of(t), 5, out.data(), bytes, nullptr));
        t.sync();
        for (std::size_t i = 0; i < at_once; ++i)
            CHECK_OK(sea_message_receive(world, left_of(t), 5, in.data(), bytes, nullptr, nullptr));
        tell_what_is_given_back(t);
    }
    t.sync();
}

} // namespace

LIGHT_STEP(760, message_of_every_size_arrives_whether_awaited_or_not)
{
    for (std::size_t bytes :
         {0, 1, 4, 8, 40, 41, 63, 64, 100, 1000, 1400, 1500, 8192, 8193, 20000, 65536, 65537, 300000, 2500001}) {
        if (t.light && bytes > 100000) break;
        for (bool awaited : {false, true}) {
            auto out = filled(bytes, bytes + unsigned(t.rank)), in = filled(bytes, 99);
            sea_op sent = SEA_OP_NONE, received = SEA_OP_NONE;
            sea_opts so = with_handle(&sent), ro = with_handle(&received);
            sea_message_info info{};
            if (awaited) CHECK_OK(sea_message_receive(world, left_of(t), 5, in.data(), bytes, &info, &ro));
            if (awaited) t.sync();
            CHECK_OK(sea_message_send(world, right_of(t), 5, out.data(), bytes, &so));
            if (!awaited) {
                t.sync();
                CHECK_OK(sea_message_receive(world, left_of(t), 5, in.data(), bytes, &info, nullptr));
            }
            CHECK_OK(sea_wait(received, 60));
            CHECK_OK(sea_wait(sent, 60));
            check_info(info, left_of(t), 5, bytes);
            CHECK_DATA(in.data(), bytes, bytes + unsigned(left_of(t)));
        }
    }
}

STEP(761, messages_of_a_pair_keep_their_order_whatever_their_sizes)
{
    const int n = t.times(400);
    dice d{t.seed + 7};
    std::vector<std::vector<unsigned char>> out;
    std::vector<sea_op> sent(std::size_t(n), SEA_OP_NONE);
    std::vector<std::size_t> sizes;
    for (int i = 0; i < n; ++i) sizes.push_back(i % 11 == 0 ? d.below(200000) : d.below(3000));
    for (int i = 0; i < n; ++i) {
        out.push_back(filled(sizes[std::size_t(i)], unsigned(i)));
        sea_opts o = with_handle(&sent[std::size_t(i)]);
        CHECK_OK(sea_message_send(world, right_of(t), i % 3, out.back().data(), sizes[std::size_t(i)], &o));
    }
    std::vector<unsigned char> in(200000);
    for (int tag : {2, 0, 1}) // in another order than sent
        for (int i = tag; i < n; i += 3) {
            sea_message_info info{};
            CHECK_OK(sea_message_receive(world, left_of(t), tag, in.data(), in.size(), &info, nullptr));
            check_info(info, left_of(t), tag, sizes[std::size_t(i)]);
            CHECK_DATA(in.data(), info.bytes, unsigned(i));
        }
    CHECK_OK(sea_wait_all(sent.data(), n, 60));
}

STEP(762, open_receives_take_from_everybody_each_in_order)
{
    const int n = t.times(200);
    std::vector<std::uint32_t> next(std::size_t(t.size), 0);
    for (int i = 0; i < n; ++i)
        for (int to = 0; to < t.size; ++to) {
            std::uint32_t word = std::uint32_t(i);
            CHECK_OK(sea_message_send(world, to, int(word % 5), &word, sizeof word, nullptr));
        }
    for (int i = 0; i < n * t.size; ++i) {
        std::uint32_t word = ~0u;
        sea_message_info info{};
        CHECK_OK(sea_message_receive(world, SEA_ANY_SOURCE, SEA_ANY_TAG, &word, sizeof word, &info, nullptr));
        if (!CHECK(info.source >= 0 && info.source < t.size)) return;
        check_info(info, info.source, int(word % 5), sizeof word);
        CHECK_EQ(next[std::size_t(info.source)]++, word);
    }
    int found = 1;
    CHECK_OK(sea_message_look(world, SEA_ANY_SOURCE, SEA_ANY_TAG, &found, nullptr));
    CHECK_EQ(0, found);
    t.sync();
}

STEP(763, message_is_seen_before_it_is_received_and_taken_only_once)
{
    sea_message_info info{};
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_message_probe(world, SEA_ANY_SOURCE, 3, nullptr, 0.01));
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_message_probe(world, SEA_ANY_SOURCE, 3, nullptr, -1e-6));
    t.sync();
    for (std::size_t bytes : {std::size_t(12), std::size_t(50000), std::size_t(400000)}) {
        auto out = filled(bytes, 3), in = filled(bytes, 4);
        sea_op sent[2];
        for (int i : {0, 1}) {
            sea_opts o = with_handle(&sent[i]);
            CHECK_OK(sea_message_send(world, right_of(t), 3 + i, out.data(), bytes, &o));
        }
        CHECK_OK(sea_message_probe(world, SEA_ANY_SOURCE, SEA_ANY_TAG, &info, 30));
        check_info(info, left_of(t), 3, bytes);
        sea_message message = SEA_MESSAGE_NONE;
        CHECK_OK(sea_message_take(world, left_of(t), SEA_ANY_TAG, &message, &info, 30));
        check_info(info, left_of(t), 3, bytes);
        CHECK_OK(sea_message_receive(world, left_of(t), SEA_ANY_TAG, in.data(), bytes, &info, nullptr));
        check_info(info, left_of(t), 4, bytes);
        std::memset(in.data(), 0, bytes);
        CHECK_OK(sea_message_receive_taken(message, in.data(), bytes, &info, nullptr));
        check_info(info, left_of(t), 3, bytes);
        CHECK_DATA(in.data(), bytes, 3);
        CHECK_STATUS(SEA_ERR_HANDLE, sea_message_receive_taken(message, in.data(), bytes, &info, nullptr));
        CHECK_OK(sea_wait_all(sent, 2, 60));
    }
    t.sync();
}

STEP(764, withdrawn_receive_takes_nothing)
{
    std::uint64_t word = 0, second = 0;
    sea_op first, other;
    sea_opts o1 = with_handle(&first), o2 = with_handle(&other);
    CHECK_OK(sea_message_receive(world, left_of(t), 9, &word, 8, nullptr, &o1));
    CHECK_OK(sea_message_receive(world, left_of(t), 9, &second, 8, nullptr, &o2));
    CHECK_OK(sea_message_cancel(first));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(first, 30));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_message_cancel(first));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_wait(first, 30));
    t.sync();
    std::uint64_t mine = 77;
    CHECK_OK(sea_message_send(world, right_of(t), 9, &mine, 8, nullptr));
    CHECK_OK(sea_wait_local(other, 30));
    CHECK_OK(sea_message_cancel(other)); // too late: it goes on to its own end
    CHECK_OK(sea_wait(other, 30));
    CHECK_EQ(0, word);
    CHECK_EQ(77, second);
    t.sync();
}

STEP(765, message_that_is_too_long_is_cut_and_told)
{
    for (std::size_t bytes : {std::size_t(100), std::size_t(30000), std::size_t(500000)})
        for (std::size_t room : {std::size_t(0), std::size_t(10), bytes - 1}) {
            auto out = filled(bytes, 5);
            std::vector<unsigned char> in(bytes, 0xee);
            sea_op sent;
            sea_opts o = with_handle(&sent);
            CHECK_OK(sea_message_send(world, right_of(t), 1, out.data(), bytes, &o));
            sea_message_info info{};
            CHECK_STATUS(SEA_ERR_TRUNCATED, sea_message_receive(world, left_of(t), 1, in.data(), room, &info, nullptr));
            check_info(info, left_of(t), 1, bytes);
            CHECK_DATA(in.data(), room, 5);
            CHECK_EQ(bytes - room, not_all(in.data() + room, bytes - room, 0xee));
            CHECK_OK(sea_wait(sent, 60)); // the sender did nothing wrong
        }
}

LIGHT_STEP(766, what_is_wrong_is_told)
{
    char byte = 0;
    sea_op op = SEA_OP_NONE;
    sea_opts o = with_handle(&op);
    CHECK_STATUS(SEA_ERR_RANK, sea_message_send(world, t.size, 0, &byte, 1, nullptr));
    CHECK_STATUS(SEA_ERR_RANK, sea_message_send(world, SEA_ANY_SOURCE, 0, &byte, 1, nullptr));
    CHECK_STATUS(SEA_ERR_RANK, sea_message_receive(world, -2, 0, &byte, 1, nullptr, &o));
    CHECK_STATUS(SEA_ERR_RANK, sea_message_probe(world, t.size, 0, nullptr, 0));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_send(world, 0, -1, &byte, 1, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_receive(world, 0, -2, &byte, 1, nullptr, &o));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_send(world, 0, 0, nullptr, 1, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_send(world, 0, 0, &byte, SIZE_MAX, &o));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_receive(world, 0, 0, nullptr, 1, nullptr, &o));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_send(SEA_TEAM_NULL, 0, 0, &byte, 1, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_receive(12345, 0, 0, &byte, 1, nullptr, &o));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_look(world, 0, 0, nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_take(world, 0, 0, nullptr, nullptr, 0));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_message_receive_taken(4711, &byte, 1, nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_message_cancel(4711));
    CHECK_OK(sea_message_cancel(SEA_OP_NONE));
    o.flags = SEA_ORDERED;
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_receive(world, 0, 0, &byte, 1, nullptr, &o));
    CHECK_EQ(SEA_OP_NONE, op);
}

STEP(767, teams_do_not_see_each_others_messages)
{
    sea_team mirror = SEA_TEAM_NULL;
    CHECK_OK(sea_team_split(world, 0, -t.rank, &mirror));
    const int me = sea_team_rank(mirror), to = (me + 1) % t.size, from = (me + t.size - 1) % t.size;
    int outside = 1, inside = 2, got = 0;
    sea_message_info info{};
    CHECK_OK(sea_message_send(world, sea_team_member(mirror, to), 4, &outside, sizeof outside, nullptr));
    CHECK_OK(sea_message_send(mirror, to, 4, &inside, sizeof inside, nullptr));
    CHECK_OK(sea_message_receive(mirror, SEA_ANY_SOURCE, 4, &got, sizeof got, &info, nullptr));
    CHECK_EQ(2, got);
    check_info(info, from, 4, sizeof got);
    CHECK_OK(sea_message_receive(world, sea_team_member(mirror, from), 4, &got, sizeof got, &info, nullptr));
    CHECK_EQ(1, got);
    CHECK_OK(sea_message_send(mirror, me, 6, &me, sizeof me, nullptr));
    CHECK_OK(sea_message_receive(mirror, me, 6, &got, sizeof got, &info, nullptr));
    CHECK_EQ(me, got);
    t.sync();
    CHECK_OK(sea_team_free(mirror));
    CHECK_STATUS(SEA_ERR_INVALID, sea_message_send(mirror, 0, 0, &got, sizeof got, nullptr));
}

STEP(768, rank_sends_to_itself_in_every_size)
{
    for (std::size_t bytes :
         {std::size_t(0), std::size_t(8), std::size_t(8192), std::size_t(8193), std::size_t(3000000)}) {
        auto out = filled(bytes, bytes), in = filled(bytes, 1);
        sea_op sent;
        sea_opts o = with_handle(&sent);
        CHECK_OK(sea_message_send(world, t.rank, 2, out.data(), bytes, &o));
        CHECK_OK(sea_message_receive(world, t.rank, 2, in.data(), bytes, nullptr, nullptr));
        CHECK_OK(sea_wait(sent, 60));
        CHECK_DATA(in.data(), bytes, bytes);
    }
}

STEP(769, receive_that_runs_out_of_time_writes_nothing_later)
{
    std::uint64_t word = 1;
    sea_set_timeout(0.02);
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_message_receive(world, left_of(t), 8, &word, 8, nullptr, nullptr));
    const std::string wanted = "from rank " + std::to_string(left_of(t)) + " with tag 8: the time given has passed";
    CHECK(std::string(sea_last_error()).find(wanted) != std::string::npos);
    sea_counter counter{};
    sea_opts o = SEA_OPTS_INIT;
    o.origin_counter = &counter;
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_message_receive(world, left_of(t), 8, &word, 8, nullptr, &o));
    sea_set_timeout(SEA_FOREVER);
    t.sync();
    std::uint64_t mine = 5, got = 0;
    CHECK_OK(sea_message_send(world, right_of(t), 8, &mine, 8, nullptr));
    CHECK_OK(sea_message_receive(world, left_of(t), 8, &got, 8, nullptr, nullptr));
    CHECK_EQ(5, got);
    CHECK_EQ(1, word);
    t.sync();
}

STEP(770, handles_counters_and_start_conditions_work_as_for_puts)
{
    constexpr int n = 6;
    std::uint64_t in[n] = {}, out = 100 + unsigned(t.rank);
    sea_op ops[n];
    sea_counter done{};
    for (int i = 0; i < n; ++i) {
        sea_opts o = with_handle(&ops[i]);
        o.remote_counter = &done;
        CHECK_OK(sea_message_receive(world, left_of(t), 20 + i, &in[i], 8, nullptr, &o));
    }
    // What goes on to the right waits for what comes from the left.
    sea_op forward;
    sea_opts f = with_handle(&forward);
    f.after = ops[n - 1];
    CHECK_OK(sea_message_send(world, right_of(t), 30, &in[n - 1], 8, &f));
    int flag = 1;
    CHECK_OK(sea_test(ops[0], &flag));
    CHECK_EQ(0, flag);
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(ops[0], 0.01));
    t.sync();
    for (int i = n - 1; i >= 0; --i) CHECK_OK(sea_message_send(world, right_of(t), 20 + i, &out, 8, nullptr));
    std::uint64_t forwarded = 0;
    CHECK_OK(sea_message_receive(world, left_of(t), 30, &forwarded, 8, nullptr, nullptr));
    const int before_left = (left_of(t) + t.size - 1) % t.size;
    CHECK_EQ(100 + before_left, forwarded);
    CHECK_OK(sea_counter_wait(&done, n, 30));
    CHECK_OK(sea_wait(forward, 30));
    int left = n, index = -1;
    CHECK_OK(sea_wait_any(ops, n, &index, 30));
    left -= index >= 0;
    int indices[n], count = 0;
    CHECK_OK(sea_wait_some(ops, n, indices, &count, 30));
    CHECK_EQ(left, count);
    for (std::uint64_t word : in) CHECK_EQ(100 + left_of(t), word);
    CHECK_OK(sea_fence_all()); // and there is nothing that it would wait for or tell
    t.sync();
}

STEP(771, threads_send_and_receive_at_once)
{
    constexpr int threads = 4;
    const int n = t.times(300);
    auto work = [&](int who) {
        std::vector<unsigned char> out(20000), in(20000);
        dice d{unsigned(who) + 5u};
        for (int i = 0; i < n; ++i) {
            const std::size_t bytes = i % 20 ? d.below(500) : d.below(20000);
            fill(out.data(), bytes, unsigned(i));
            sea_op sent;
            sea_opts o = with_handle(&sent);
            CHECK_OK(sea_message_send(world, right_of(t), 50 + who, out.data(), bytes, &o));
            sea_message_info info{};
            CHECK_OK(sea_message_receive(world, left_of(t), 50 + who, in.data(), in.size(), &info, nullptr));
            CHECK_EQ(bytes, info.bytes);
            CHECK_DATA(in.data(), bytes, unsigned(i));
            CHECK_OK(sea_wait(sent, 60));
        }
    };
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
    for (auto &one : all) one.join();
    t.sync();
}

STEP(772, many_messages_wait_unreceived_and_their_memory_is_given_back)
{
    const int n = t.times(3000);
    std::size_t used = 0, bound = 0, before = 0;
    t.sync();
    CHECK_OK(sea_message_memory(&before, &bound));
    t.sync();
    std::vector<sea_op> sent(std::size_t(n), SEA_OP_NONE);
    std::vector<std::uint32_t> out(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
        out[std::size_t(i)] = std::uint32_t(i);
        sea_opts o = with_handle(&sent[std::size_t(i)]);
        CHECK_OK(sea_message_send(world, right_of(t), i, &out[std::size_t(i)], 4, &o));
    }
    for (int i = n - 1; i >= 0; --i) {
        std::uint32_t word = 0;
        CHECK_OK(sea_message_receive(world, SEA_ANY_SOURCE, i, &word, 4, nullptr, nullptr));
        CHECK_EQ(i, word);
    }
    CHECK_OK(sea_wait_all(sent.data(), n, 60));
    t.sync();
    CHECK_OK(sea_message_memory(&used, nullptr));
    CHECK_EQ(before, used);
    CHECK(bound > 0);
    t.sync();
    tell_what_is_given_back(t);
    use_up_again(t, bound);
}

STEP(773, receive_that_has_not_started_is_withdrawn)
{
    std::uint64_t word = 0, other = 0;
    sea_op never, waiting, behind;
    sea_counter ended{};
    sea_opts first = with_handle(&never), second = with_handle(&waiting), third = with_handle(&behind);
    CHECK_OK(sea_message_receive(world, left_of(t), 31, &word, 8, nullptr, &first));
    second.after = never;
    second.remote_counter = &ended;
    CHECK_OK(sea_message_receive(world, left_of(t), 32, &word, 8, nullptr, &second));
    third.after = waiting;
    CHECK_OK(sea_message_receive(world, left_of(t), 33, &word, 8, nullptr, &third));
    CHECK_OK(sea_message_cancel(waiting));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(waiting, 30));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(behind, 30));
    CHECK_OK(sea_counter_wait(&ended, 1, 30));
    sea_opts blocking = SEA_OPTS_INIT;
    blocking.after = never;
    sea_set_timeout(0.02);
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_message_receive(world, left_of(t), 32, &word, 8, nullptr, &blocking));
    sea_set_timeout(SEA_FOREVER);
    // Those that take the places of the withdrawn ones do not start with what these waited for.
    sea_op last;
    sea_opts fourth = with_handle(&last), fifth = with_handle(&waiting);
    CHECK_OK(sea_message_receive(world, left_of(t), 34, &other, 8, nullptr, &fourth));
    fifth.after = last;
    CHECK_OK(sea_message_receive(world, left_of(t), 32, &other, 8, nullptr, &fifth));
    CHECK_OK(sea_message_cancel(never));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(never, 30));
    t.sync();
    std::uint64_t mine = 5;
    CHECK_OK(sea_message_send(world, right_of(t), 32, &mine, 8, nullptr));
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(waiting, 0.05));
    t.sync();
    mine = 6;
    CHECK_OK(sea_message_send(world, right_of(t), 34, &mine, 8, nullptr));
    CHECK_OK(sea_wait(last, 30));
    CHECK_OK(sea_wait(waiting, 30));
    CHECK_EQ(5, other);
    CHECK_EQ(0, word);
    t.sync();
}

STEP(774, receive_behind_all_operations_is_withdrawn_and_holds_up_nobody)
{
    std::uint64_t word = 0;
    sea_op never, first, second;
    sea_opts o = with_handle(&never);
    CHECK_OK(sea_message_receive(world, left_of(t), 41, &word, 8, nullptr, &o));
    place target(kind::heap, 8);
    sea_opts put = with_handle(&first), all = with_handle(&second);
    put.after = never;
    CHECK_OK(sea_put(target.address(), &word, 8, &put));
    all.after = SEA_OP_ALL;
    CHECK_OK(sea_message_receive(world, left_of(t), 42, &word, 8, nullptr, &all));
    CHECK_OK(sea_message_cancel(second));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(second, 30));
    CHECK_OK(sea_message_cancel(never));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(never, 30));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(first, 30));
    std::uint64_t value = 8;
    sea_opts behind = SEA_OPTS_INIT;
    behind.after = SEA_OP_ALL;
    CHECK_OK(sea_put(target.address(), &value, 8, &behind));
    CHECK_EQ(8, peek8(target.memory()));
    t.sync();
}

// The call ends what it can at once; the data of the long message is brought by who waits for it, or by nobody's
// thread.
STEP(775, a_call_does_not_stay_until_a_long_message_of_another_one_is_there)
{
    const std::vector<unsigned char> out(std::size_t(t.rank < 4 ? 32 : 0) << 20, 6);
    std::vector<unsigned char> in(out.size());
    bool left = out.empty();
    for (int i = 0; i < 20 && !left; ++i) {
        std::uint64_t word = 0, mine = 9;
        sea_op sent, received, other;
        sea_opts so = with_handle(&sent), ro = with_handle(&received), oo = with_handle(&other), quick = SEA_OPTS_INIT;
        quick.flags = SEA_NOWAIT;
        CHECK_OK(sea_message_receive(world, t.rank, 51, in.data(), in.size(), nullptr, &ro));
        CHECK_OK(sea_message_receive(world, t.rank, 52, &word, 8, nullptr, &oo));
        CHECK_OK(sea_message_send(world, t.rank, 51, out.data(), out.size(), &so));
        CHECK_OK(sea_message_send(world, t.rank, 52, &mine, 8, &quick));
        int done = 1;
        CHECK_OK(sea_test(received, &done));
        left = done == 0; // the dispatcher may have brought it meanwhile, but not every time
        if (left) CHECK_OK(sea_wait(received, 60));
        CHECK_OK(sea_wait(sent, 60));
        CHECK_OK(sea_wait(other, 60));
        CHECK_EQ(9, word);
        CHECK(in == out);
    }
    CHECK(left);
    t.sync();
}

namespace {

// A receive's own counters: how often each has added so far, checked after every call.
struct counted_receive {
    sea_counter local{}, remote{};
    std::uint64_t added = 0;

    sea_opts opts()
    {
        sea_opts o = SEA_OPTS_INIT;
        o.origin_counter = &local;
        o.remote_counter = &remote;
        return o;
    }
    void check(std::uint64_t more)
    {
        added += more;
        for (const sea_counter *c : {&local, &remote}) {
            std::uint64_t value = 0;
            CHECK_OK(sea_counter_get(c, &value));
            CHECK_EQ(added, value);
        }
    }
};

} // namespace

STEP(776, blocking_receive_adds_to_its_counters_only_if_it_succeeds)
{
    counted_receive c;
    sea_opts o = c.opts();
    const auto out = filled(500000, 8);
    std::vector<unsigned char> in(out.size());
    sea_op sent;
    sea_opts so = with_handle(&sent);
    for (std::size_t bytes : {std::size_t(32), std::size_t(500000)})
        for (bool taken : {false, true})
            for (std::size_t room : {bytes, bytes / 2}) {
                t.sync();
                std::thread late([&] {
                    pause_for(0.01); // so that the receive is posted before its message comes
                    CHECK_OK(sea_message_send(world, right_of(t), 53, out.data(), bytes, &so));
                });
                sea_message m = SEA_MESSAGE_NONE;
                if (taken) CHECK_OK(sea_message_take(world, left_of(t), 53, &m, nullptr, 30));
                const int s = taken ? sea_message_receive_taken(m, in.data(), room, nullptr, &o)
                                    : sea_message_receive(world, left_of(t), 53, in.data(), room, nullptr, &o);
                CHECK_STATUS(room < bytes ? SEA_ERR_TRUNCATED : SEA_OK, s);
                c.check(room < bytes ? 0 : 1);
                late.join();
                CHECK_OK(sea_wait(sent, 60));
            }
    CHECK_OK(sea_set_timeout(0.02));
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_message_receive(world, left_of(t), 53, in.data(), 8, nullptr, &o));
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    c.check(0);
    o.remote_counter = reinterpret_cast<sea_counter *>(reinterpret_cast<char *>(&c.remote) + 4);
    CHECK_STATUS(SEA_ERR_ALIGN, sea_message_receive(world, t.rank, 53, in.data(), 8, nullptr, &o));
    c.check(0);
    t.sync();
}

STEP(777, messages_that_stay_with_their_senders_take_an_envelope_each_and_give_it_back)
{
    constexpr std::size_t n = 500, bytes = 20000, most = 160; // of an envelope, as message.h says
    const auto out = filled(bytes, 12);
    std::vector<unsigned char> in(bytes);
    std::vector<sea_op> sent(n, SEA_OP_NONE);
    std::size_t before = 0, used = 0;
    t.sync();
    CHECK_OK(sea_message_memory(&before, nullptr));
    for (sea_op &op : sent) {
        sea_opts o = with_handle(&op);
        CHECK_OK(sea_message_send(world, t.rank, 54, out.data(), bytes, &o));
    }
    CHECK_OK(sea_message_memory(&used, nullptr));
    CHECK(used >= before + n && used <= before + n * most);
    for (std::size_t i = 0; i < n; ++i)
        CHECK_OK(sea_message_receive(world, t.rank, 54, in.data(), bytes, nullptr, nullptr));
    CHECK_OK(sea_wait_all(sent.data(), int(n), 60));
    CHECK_OK(sea_message_memory(&used, nullptr));
    CHECK_EQ(before, used);
    t.sync();
}
