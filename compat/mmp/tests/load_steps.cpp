// SPDX-License-Identifier: Apache-2.0
// Much at once.
#include "battery.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <thread>
#include <unistd.h>

namespace battery {
namespace {

void thousands_of_requests_are_open_at_once()
{
    constexpr int count = 3000;
    std::vector<MP_request> receives(count), sends(count);
    std::vector<int> in(count, -1), out(count);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_DONE(MP_receive(left(), static_cast<int>(i), &in[i], sizeof(int), &receives[i]));
    for (std::size_t i = count; i-- > 0;) {
        out[i] = MP_rank() * count + static_cast<int>(i);
        EXPECT_DONE(MP_send(right(), static_cast<int>(i), &out[i], sizeof(int), &sends[i]));
    }
    EXPECT_DONE(MP_wait_all(receives.data(), count, nullptr));
    EXPECT_DONE(MP_wait_all(sends.data(), count, nullptr));
    for (int i = 0; i < count; ++i) EXPECT(in[static_cast<std::size_t>(i)] == left() * count + i);
}

// More than the receiver's bound, in small messages, while it does not look.
void a_flood_does_not_pass_the_bound()
{
    std::size_t bound = 0, used = 0;
    EXPECT_DONE(MP_memory(nullptr, &bound));
    const std::size_t bytes = 4000, count = std::min<std::size_t>(bound * 3 / bytes, 3000);
    std::vector<MP_request> sends(count);
    const auto mine = pattern(bytes, MP_rank(), 40), theirs = pattern(bytes, left(), 40);
    for (auto &send : sends) EXPECT_DONE(MP_send(right(), 40, mine.data(), bytes, &send));
    usleep(100000);
    EXPECT_DONE(MP_memory(&used, nullptr));
    EXPECT(used <= bound);
    std::vector<char> buffer(bytes);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_DONE(MP_receive(left(), 40, buffer.data(), bytes, nullptr));
        EXPECT(buffer == theirs);
    }
    EXPECT_DONE(MP_wait_all(sends.data(), static_cast<int>(count), nullptr));
    EXPECT_DONE(MP_memory(&used, nullptr));
    EXPECT(used <= bound);
}

void threads_talk_at_the_same_time()
{
    constexpr int threads = 4, rounds = 50;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([t] {
            for (int i = 0; i < rounds; ++i) {
                const std::size_t bytes = i % 10 == 0 ? 50000 : 100;
                const auto mine = pattern(bytes, MP_rank(), t, i), theirs = pattern(bytes, left(), t, i);
                std::vector<char> buffer(bytes);
                MP_request receive, send;
                MP_status status{};
                EXPECT_DONE(MP_receive(MP_ANY_SOURCE, t, buffer.data(), bytes, &receive));
                EXPECT_DONE(MP_send(right(), t, mine.data(), bytes, &send));
                EXPECT_DONE(MP_wait(&receive, &status));
                EXPECT_DONE(MP_wait(&send, nullptr));
                EXPECT(status.tag == t && status.source == left());
                EXPECT(buffer == theirs);
            }
        });
    for (auto &each : all) each.join();
}

// One waits for what another thread has taken: each of two threads gets a completion or an error, never both one.
void two_threads_that_wait_for_one_request_get_one_completion()
{
    for (int round = 0; round < 50; ++round) {
        int value = -1, complete[2] = {0, 0};
        MP_request receive;
        EXPECT_DONE(MP_receive(left(), 50, &value, sizeof value, &receive));
        const auto wait = [&](int which) {
            MP_request copy = receive;
            const int status = MP_wait(&copy, nullptr);
            EXPECT(status == MP_OK || status == MP_ERR_REQUEST);
            complete[which] = status == MP_OK ? 1 : 0;
        };
        std::thread other(wait, 0);
        const int mine = MP_rank();
        EXPECT_DONE(MP_send(right(), 50, &mine, sizeof mine, nullptr));
        wait(1);
        other.join();
        EXPECT(complete[0] + complete[1] == 1);
        EXPECT(value == left());
    }
}

// The same where both wait for any.
void two_threads_that_wait_for_any_get_one_completion()
{
    std::atomic<int> round{0}, ready{0}, complete{0};
    constexpr int rounds = 3000;
    MP_request receive = MP_REQUEST_NULL;
    int value = -1;
    const auto wait = [&] {
        MP_request copy = receive;
        int index = -1;
        const int status = MP_wait_any(&copy, 1, &index, nullptr);
        EXPECT(status == MP_OK || status == MP_ERR_REQUEST);
        complete += status == MP_OK ? 1 : 0;
        ++ready;
    };
    std::thread other([&] {
        for (int mine = 1; mine <= rounds; ++mine) {
            while (round < mine) std::this_thread::yield();
            wait();
        }
    });
    for (int i = 1; i <= rounds; ++i) {
        EXPECT_DONE(MP_receive(MP_rank(), 51, &value, sizeof value, &receive));
        EXPECT_DONE(MP_send(MP_rank(), 51, &i, sizeof i, nullptr));
        ready = 0;
        round = i;
        wait();
        while (ready < 2) std::this_thread::yield();
    }
    other.join();
    EXPECT(complete == rounds && value == rounds);
}

// What goes from every rank to every other one is known to all: the model. Receives are posted in random order, half of
// them before anything is sent, and name what they want or leave the tag open; a message says which it is.
struct letter {
    int source, tag, number;
    std::size_t bytes;
};

std::vector<letter> letters_from_to(int source, int target, int round)
{
    std::mt19937 random(static_cast<unsigned>((round * 64 + source) * 64 + target));
    std::vector<letter> result;
    for (int i = 0; i < 40; ++i) {
        const std::size_t range = random() % 8 == 0 ? 200000 : random() % 3 == 0 ? 10000 : 200;
        result.push_back({source, static_cast<int>(random() % 3), i, 16 + random() % range});
    }
    return result;
}

void check_letter(const letter &expected, const std::vector<char> &got, const MP_status &status)
{
    const auto bytes = pattern(expected.bytes, expected.source, expected.tag, expected.number);
    EXPECT(status.source == expected.source && status.tag == expected.tag && status.bytes == expected.bytes);
    EXPECT(std::equal(bytes.begin(), bytes.end(), got.begin()));
}

void one_round_of_letters(int round)
{
    std::mt19937 random(static_cast<unsigned>(round * 1000 + MP_rank()));
    std::deque<std::vector<char>> outgoing;
    std::vector<MP_request> sends;
    for (int target = 0; target < MP_size(); ++target)
        for (const letter &l : letters_from_to(MP_rank(), target, round)) {
            outgoing.push_back(pattern(l.bytes, l.source, l.tag, l.number));
            EXPECT_DONE(MP_send(target, l.tag, outgoing.back().data(), l.bytes, &sends.emplace_back()));
        }
    // Per source and tag in the order sent.
    std::map<std::pair<int, int>, std::deque<letter>> expected;
    std::vector<std::pair<int, int>> order;
    for (int source = 0; source < MP_size(); ++source)
        for (const letter &l : letters_from_to(source, MP_rank(), round)) {
            expected[{source, l.tag}].push_back(l);
            order.emplace_back(source, l.tag);
        }
    std::shuffle(order.begin(), order.end(), random);
    std::vector<char> buffer(300000);
    for (const auto &[source, tag] : order) {
        MP_status status{};
        MP_request receive;
        EXPECT_DONE(MP_receive(random() % 4 == 0 ? MP_ANY_SOURCE : source, random() % 4 == 0 ? MP_ANY_TAG : tag,
                               buffer.data(), buffer.size(), &receive));
        if (MP_wait_for(&receive, 0.0, &status) == MP_ERR_TIMEOUT) EXPECT_DONE(MP_cancel(&receive));
        if (receive != MP_REQUEST_NULL) {
            const int end = MP_wait(&receive, &status);
            EXPECT(end == MP_OK || end == MP_ERR_CANCELLED);
            if (end == MP_ERR_CANCELLED) {
                // What was wanted may have been taken by an open receive: take whatever comes.
                EXPECT_DONE(MP_receive(MP_ANY_SOURCE, MP_ANY_TAG, buffer.data(), buffer.size(), &receive));
                EXPECT_DONE(MP_wait(&receive, &status));
            }
        }
        auto &queue = expected[{status.source, status.tag}];
        EXPECT(!queue.empty());
        if (queue.empty()) return;
        check_letter(queue.front(), buffer, status);
        queue.pop_front();
    }
    EXPECT_DONE(MP_wait_all(sends.data(), static_cast<int>(sends.size()), nullptr));
    for (const auto &[key, queue] : expected) EXPECT(queue.empty());
}

void random_messages_agree_with_a_model()
{
    for (int round = 0; round < 3; ++round) {
        one_round_of_letters(round);
        EXPECT_DONE(MP_barrier());
    }
}

} // namespace

std::vector<step> load_steps()
{
    return {{"thousands_of_requests_are_open_at_once", thousands_of_requests_are_open_at_once},
            {"a_flood_does_not_pass_the_bound", a_flood_does_not_pass_the_bound},
            {"threads_talk_at_the_same_time", threads_talk_at_the_same_time},
            {"two_threads_that_wait_for_one_request", two_threads_that_wait_for_one_request_get_one_completion},
            {"two_threads_that_wait_for_any", two_threads_that_wait_for_any_get_one_completion},
            {"random_messages_agree_with_a_model", random_messages_agree_with_a_model}};
}

} // namespace battery
