// SPDX-License-Identifier: Apache-2.0
// Messages as they should be.
#include "battery.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <unistd.h>

namespace battery {
namespace {

int me() { return MP_rank(); }
int size() { return MP_size(); }

bool is(const MP_status &status, int source, int tag, std::size_t bytes)
{
    return status.source == source && status.tag == tag && status.bytes == bytes;
}

void every_size_arrives_whole()
{
    int tag = 0;
    for (std::size_t bytes : {0, 1, 3, 4, 8, 63, 64, 1000, 4048, 8192, 8193, 65000, 70001, 300000, 1 << 20, 5000003}) {
        const auto mine = pattern(bytes, me(), ++tag), theirs = pattern(bytes, left(), tag);
        std::vector<char> buffer(bytes + 8, 'x');
        MP_request receive, send;
        MP_status got{}, sent{};
        EXPECT_DONE(MP_receive(left(), tag, buffer.data(), buffer.size(), &receive));
        EXPECT_DONE(MP_send(right(), tag, mine.data(), bytes, &send));
        EXPECT_DONE(MP_wait(&receive, &got));
        EXPECT_DONE(MP_wait(&send, &sent));
        EXPECT(receive == MP_REQUEST_NULL && send == MP_REQUEST_NULL);
        EXPECT(is(got, left(), tag, bytes));
        EXPECT(is(sent, me(), tag, bytes));
        EXPECT(std::equal(theirs.begin(), theirs.end(), buffer.begin()));
        EXPECT(std::all_of(buffer.begin() + static_cast<std::ptrdiff_t>(bytes), buffer.end(),
                           [](char c) { return c == 'x'; }));
    }
}

void without_a_request_calls_return_when_done()
{
    const auto mine = pattern(200, me(), 1), theirs = pattern(200, left(), 1);
    const auto mine_big = pattern(400000, me(), 2), theirs_big = pattern(400000, left(), 2);
    std::vector<char> small(200), big(400000);
    MP_request receive;
    EXPECT_DONE(MP_receive(left(), 2, big.data(), big.size(), &receive));
    EXPECT_DONE(MP_send(right(), 1, mine.data(), mine.size(), nullptr));
    EXPECT_DONE(MP_send(right(), 2, mine_big.data(), mine_big.size(), nullptr));
    EXPECT_DONE(MP_receive(left(), 1, small.data(), small.size(), nullptr));
    EXPECT_DONE(MP_wait(&receive, nullptr));
    EXPECT(small == theirs);
    EXPECT(big == theirs_big);
}

// Sizes that go different ways, one tag.
void messages_of_a_pair_keep_their_order()
{
    constexpr int count = 60;
    const std::size_t sizes[] = {4, 20000, 100, 300000, 0, 9000};
    std::vector<MP_request> sends(count);
    std::vector<std::vector<char>> data;
    for (int i = 0; i < count; ++i) data.push_back(pattern(sizes[i % 6], me(), 7, i));
    for (int i = 0; i < count; ++i)
        EXPECT_DONE(MP_send(right(), 7, data[static_cast<std::size_t>(i)].data(), sizes[i % 6],
                            &sends[static_cast<std::size_t>(i)]));
    std::vector<char> buffer(300000);
    for (int i = 0; i < count; ++i) {
        MP_status status{};
        MP_request receive;
        EXPECT_DONE(MP_receive(left(), i % 2 == 0 ? 7 : MP_ANY_TAG, buffer.data(), buffer.size(), &receive));
        EXPECT_DONE(MP_wait(&receive, &status));
        const auto expected = pattern(sizes[i % 6], left(), 7, i);
        EXPECT(status.bytes == sizes[i % 6]);
        EXPECT(std::equal(expected.begin(), expected.end(), buffer.begin()));
    }
    EXPECT_DONE(MP_wait_all(sends.data(), count, nullptr));
}

void tags_choose_among_messages()
{
    constexpr int count = 8;
    MP_request sends[count];
    int values[count];
    for (int i = 0; i < count; ++i) {
        values[i] = me() * 100 + i;
        EXPECT_DONE(MP_send(right(), i == count - 1 ? MP_TAG_MAX : i, &values[i], sizeof(int), &sends[i]));
    }
    for (int i = count - 1; i >= 0; --i) {
        int value = -1;
        EXPECT_DONE(MP_receive(left(), i == count - 1 ? MP_TAG_MAX : i, &value, sizeof value, nullptr));
        EXPECT(value == left() * 100 + i);
    }
    EXPECT_DONE(MP_wait_all(sends, count, nullptr));
}

void any_source_gives_each_message_once()
{
    constexpr int each = 5;
    const int count = each * size();
    std::vector<MP_request> sends(static_cast<std::size_t>(count));
    std::vector<int> values(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        const auto n = static_cast<std::size_t>(i);
        values[n] = me() * each + i / size();
        EXPECT_DONE(MP_send(i % size(), values[n], &values[n], sizeof(int), &sends[n])); // also to myself
    }
    std::set<int> seen;
    for (int i = 0; i < count; ++i) {
        int value = -1;
        MP_status status{};
        MP_request receive;
        EXPECT_DONE(MP_receive(MP_ANY_SOURCE, MP_ANY_TAG, &value, sizeof value, &receive));
        EXPECT_DONE(MP_wait(&receive, &status));
        EXPECT(status.source == value / each && status.tag == value && status.bytes == sizeof value);
        seen.insert(value);
    }
    EXPECT(static_cast<int>(seen.size()) == count);
    EXPECT_DONE(MP_wait_all(sends.data(), count, nullptr));
}

void wait_any_takes_what_is_complete()
{
    constexpr int count = 4;
    MP_request receives[count + 1], none[2] = {MP_REQUEST_NULL, MP_REQUEST_NULL};
    int values[count];
    for (int i = 0; i < count; ++i) EXPECT_DONE(MP_receive(left(), 20 + i, &values[i], sizeof(int), &receives[i]));
    receives[count] = MP_REQUEST_NULL;
    EXPECT_DONE(MP_barrier());
    for (int i = count - 1; i >= 0; --i) {
        EXPECT_DONE(MP_send(right(), 20 + i, &i, sizeof i, nullptr));
        int index = -2;
        MP_status status{};
        EXPECT_DONE(MP_wait_any(receives, count + 1, &index, &status));
        EXPECT(index == i && values[i] == i && receives[i] == MP_REQUEST_NULL);
        EXPECT(is(status, left(), 20 + i, sizeof(int)));
        EXPECT_DONE(MP_barrier());
    }
    int index = -2;
    EXPECT_DONE(MP_wait_any(receives, count + 1, &index, nullptr));
    EXPECT(index == -1);
    EXPECT_DONE(MP_wait_any(none, 0, &index, nullptr));
    EXPECT(index == -1);
    EXPECT_DONE(MP_wait_all(none, 2, nullptr));
}

void wait_all_tells_of_each()
{
    constexpr int count = 100; // more than find room on a stack
    std::vector<MP_request> receives(count, MP_REQUEST_NULL);
    std::vector<MP_status> statuses(count, MP_status{-7, -7, 7});
    std::vector<int> values(count);
    for (std::size_t i = 0; i < count; i += 2)
        EXPECT_DONE(MP_receive(left(), static_cast<int>(i), &values[i], sizeof(int), &receives[i]));
    for (int i = 0; i < count; i += 2) EXPECT_DONE(MP_send(right(), i, &i, sizeof i, nullptr));
    int index = -1;
    EXPECT_DONE(MP_wait_any(receives.data(), count, &index, nullptr));
    EXPECT(index >= 0 && receives[static_cast<std::size_t>(std::max(index, 0))] == MP_REQUEST_NULL);
    EXPECT_DONE(MP_wait_all(receives.data(), count, statuses.data()));
    for (int i = 0; i < count; ++i) {
        const auto n = static_cast<std::size_t>(i);
        const bool waited = i % 2 == 0 && i != index;
        EXPECT(waited ? is(statuses[n], left(), i, sizeof(int)) : is(statuses[n], -7, -7, 7));
        EXPECT(receives[n] == MP_REQUEST_NULL);
        EXPECT(values[n] == (i % 2 == 0 ? i : 0));
    }
}

void test_does_not_wait()
{
    int value = 0, done = -1;
    MP_request receive;
    MP_status status{};
    EXPECT_DONE(MP_receive(left(), 3, &value, sizeof value, &receive));
    EXPECT_DONE(MP_test(&receive, &done, &status));
    EXPECT(done == 0 && receive != MP_REQUEST_NULL);
    EXPECT_DONE(MP_barrier());
    const int mine = me() + 1;
    EXPECT_DONE(MP_send(right(), 3, &mine, sizeof mine, nullptr));
    for (const double end = MP_time() + 20; done == 0 && MP_time() < end;)
        EXPECT_DONE(MP_test(&receive, &done, &status));
    EXPECT(done == 1 && receive == MP_REQUEST_NULL && value == left() + 1);
    EXPECT(is(status, left(), 3, sizeof value));
}

void a_probed_message_stays()
{
    int found = -1;
    MP_status status{};
    EXPECT_DONE(MP_look(left(), 11, &found, &status));
    EXPECT(found == 0);
    EXPECT_DONE(MP_barrier());
    const auto mine = pattern(1000, me(), 11), theirs = pattern(1000, left(), 11);
    EXPECT_DONE(MP_send(right(), 11, mine.data(), mine.size(), nullptr));
    EXPECT_DONE(MP_probe(MP_ANY_SOURCE, 11, &status));
    EXPECT(is(status, left(), 11, 1000));
    status = {};
    EXPECT_DONE(MP_look(left(), MP_ANY_TAG, &found, &status));
    EXPECT(found == 1 && is(status, left(), 11, 1000));
    std::vector<char> buffer(status.bytes);
    EXPECT_DONE(MP_receive(status.source, status.tag, buffer.data(), buffer.size(), nullptr));
    EXPECT(buffer == theirs);
    EXPECT_DONE(MP_look(left(), MP_ANY_TAG, &found, nullptr));
    EXPECT(found == 0);
}

// It computes (or sleeps) without calling in, and finds the messages there.
void a_receiver_that_calls_nothing_gets_its_messages()
{
    const auto mine = pattern(2000, me(), 30);
    MP_request sends[10];
    for (auto &send : sends) EXPECT_DONE(MP_send(right(), 30, mine.data(), mine.size(), &send));
    usleep(300000);
    EXPECT_DONE(MP_barrier());
    int came = 0; // takes in what lies between the processes
    EXPECT_DONE(MP_look(left(), 30, &came, nullptr));
    EXPECT(came == 1);
    std::size_t used = 0, bound = 0;
    EXPECT_DONE(MP_memory(&used, &bound));
    EXPECT(used > 0 && used <= bound);
    for (int i = 0; i < 10; ++i) {
        int found = 0;
        EXPECT_DONE(MP_look(left(), 30, &found, nullptr));
        EXPECT(found == 1);
        std::vector<char> buffer(2000);
        EXPECT_DONE(MP_receive(left(), 30, buffer.data(), buffer.size(), nullptr));
        EXPECT(buffer == pattern(2000, left(), 30));
    }
    EXPECT_DONE(MP_wait_all(sends, 10, nullptr));
}

// From each kind of memory into each kind, of every way of receiving; also more than the receiver has room for.
void memory_of_the_node_carries_messages_as_any_other()
{
    constexpr std::size_t most = 2'500'001;
    void *out = nullptr, *in = nullptr;
    EXPECT_DONE(MP_alloc(most, &out));
    EXPECT_DONE(MP_alloc(most, &in));
    std::vector<char> private_out(most), private_in(most);
    int tag = 40;
    for (std::size_t bytes : {0ul, 5ul, 8193ul, 300'000ul, most})
        for (int way = 0; way < 8; ++way, ++tag) {
            char *from = way & 1 ? static_cast<char *>(out) : private_out.data();
            char *to = way & 2 ? static_cast<char *>(in) : private_in.data();
            const std::size_t capacity = bytes - bytes / 3 * (tag % 3 == 0);
            const auto mine = pattern(bytes, me(), tag), theirs = pattern(bytes, left(), tag);
            std::copy(mine.begin(), mine.end(), from);
            std::fill(to, to + bytes, 'x');
            MP_request send, receive = MP_REQUEST_NULL;
            MP_status status{};
            EXPECT_DONE(MP_send(right(), tag, from, bytes, &send));
            const int late = way & 4 ? MP_receive(left(), tag, to, capacity, nullptr)
                                     : MP_receive(left(), tag, to, capacity, &receive);
            const int end = way & 4 ? late : MP_wait(&receive, &status);
            EXPECT_STATUS(capacity < bytes ? MP_ERR_TRUNCATED : MP_OK, end);
            EXPECT(way & 4 || is(status, left(), tag, bytes));
            EXPECT(std::equal(to, to + capacity, theirs.begin()));
            EXPECT(std::all_of(to + capacity, to + bytes, [](char c) { return c == 'x'; }));
            EXPECT_DONE(MP_wait(&send, nullptr));
        }
    EXPECT_DONE(MP_free(in));
    EXPECT_DONE(MP_free(out));
}

void fragments_have_a_length()
{
    for (int rank = 0; rank < size(); ++rank) {
        std::size_t bytes = 0;
        EXPECT_DONE(MP_fragment(rank, &bytes));
        EXPECT(bytes >= 1280 && bytes <= 262112);
        if (me() == 0) std::printf("fragments to rank %d: %zu bytes\n", rank, bytes);
    }
}

} // namespace

std::vector<step> message_steps()
{
    return {{"every_size_arrives_whole", every_size_arrives_whole},
            {"without_a_request_calls_return_when_done", without_a_request_calls_return_when_done},
            {"messages_of_a_pair_keep_their_order", messages_of_a_pair_keep_their_order},
            {"tags_choose_among_messages", tags_choose_among_messages},
            {"any_source_gives_each_message_once", any_source_gives_each_message_once},
            {"wait_any_takes_what_is_complete", wait_any_takes_what_is_complete},
            {"wait_all_tells_of_each", wait_all_tells_of_each},
            {"test_does_not_wait", test_does_not_wait},
            {"a_probed_message_stays", a_probed_message_stays},
            {"a_receiver_that_calls_nothing_gets_its_messages", a_receiver_that_calls_nothing_gets_its_messages},
            {"memory_of_the_node_carries_messages_as_any_other", memory_of_the_node_carries_messages_as_any_other},
            {"fragments_have_a_length", fragments_have_a_length}};
}

} // namespace battery
