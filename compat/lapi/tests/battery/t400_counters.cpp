// SPDX-License-Identifier: Apache-2.0
// Counter arithmetic, waiting with and without polling, destinations, purging.
#include "battery.hpp"

#include <chrono>
#include <thread>

using namespace battery;

namespace {
lapi_cntr_t fresh(int value)
{
    lapi_cntr_t c;
    OK(LAPI_Setcntr(self.h, &c, value));
    return c;
}

int value_of(lapi_cntr_t *c)
{
    int value = -12345;
    OK(LAPI_Getcntr(self.h, c, &value));
    return value;
}
} // namespace

STEP(waiting_subtracts)
{
    lapi_cntr_t c = fresh(10);
    int now = -1;
    OK(LAPI_Waitcntr(self.h, &c, 3, &now));
    EQUAL(now, 7);
    OK(LAPI_Waitcntr(self.h, &c, 7, nullptr));
    EQUAL(value_of(&c), 0);
    OK(LAPI_Waitcntr(self.h, &c, 0, &now));
    EQUAL(now, 0);
    OK(LAPI_Setcntr(self.h, &c, 4));
    OK(LAPI_Setcntr(self.h, &c, 2)); // sets, does not add
    EQUAL(value_of(&c), 2);
    static lapi_cntr_t zero;
    EQUAL(value_of(&zero), 0);
    EQUAL(zero.cntr, 0);
}

STEP(counters_below_zero_count_up)
{
    counter c;
    int word = 0, now = 5;
    auto where = everywhere(&word);
    OK(LAPI_Setcntr(self.h, c.here(), -3));
    EQUAL(c.now(), -3);
    for (int i = 0; i < 4; ++i)
        OK(LAPI_Put(self.h, self.right(), 4, reinterpret_cast<void *>(where[self.right()]), &self.me, nullptr, nullptr,
                    c.here()));
    OK(LAPI_Waitcntr(self.h, c.here(), 1, &now));
    EQUAL(now, 0);
    fence_all();
}

STEP(another_thread_may_set_what_is_waited_for)
{
    lapi_cntr_t c = fresh(0);
    std::thread setter([&c] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        OK(LAPI_Setcntr(self.h, &c, 2));
    });
    OK(LAPI_Waitcntr(self.h, &c, 2, nullptr));
    setter.join();
}

STEP(counter_calls_refuse_bad_arguments)
{
    lapi_cntr_t c = fresh(0);
    int value = 0;
    uint dest = 0;
    EQUAL(LAPI_Setcntr(self.h, nullptr, 0), LAPI_ERR_CNTR_NULL);
    EQUAL(LAPI_Getcntr(self.h, nullptr, &value), LAPI_ERR_CNTR_NULL);
    EQUAL(LAPI_Getcntr(self.h, &c, nullptr), LAPI_ERR_RET_PTR_NULL);
    EQUAL(LAPI_Waitcntr(self.h, nullptr, 1, &value), LAPI_ERR_CNTR_NULL);
    EQUAL(LAPI_Waitcntr(self.h, &c, -1, &value), LAPI_ERR_CNTR_VAL);
    EQUAL(LAPI_Nopoll_wait(self.h, nullptr, 1, &value), LAPI_ERR_CNTR_NULL);
    EQUAL(LAPI_Nopoll_wait(self.h, &c, 0, &value), LAPI_ERR_CNTR_VAL);
    EQUAL(LAPI_Setcntr_wstatus(self.h, nullptr, 1, &dest, &value), LAPI_ERR_CNTR_NULL);
    EQUAL(LAPI_Setcntr_wstatus(self.h, &c, -1, &dest, &value), LAPI_ERR_SET_VAL);
    EQUAL(LAPI_Setcntr_wstatus(self.h, &c, 1, nullptr, &value), LAPI_ERR_RET_PTR_NULL);
    EQUAL(LAPI_Purge_totask(self.h, uint(self.n)), LAPI_ERR_TGT);
    EQUAL(LAPI_Resume_totask(self.h, uint(self.n)), LAPI_ERR_TGT);
    EQUAL(LAPI_Msgpoll(self.h, 1, nullptr), LAPI_ERR_MSG_INFO_NULL);
}

STEP(waiting_without_polling_has_one_waiter)
{
    counter c;
    int now = -1;
    OK(LAPI_Setcntr(self.h, c.here(), 1));
    std::thread first([&] {
        int code;
        while ((code = LAPI_Nopoll_wait(self.h, c.here(), 2, &now)) ==
               LAPI_ERR_MULTIPLE_WAITERS) // it was not the first
            std::this_thread::yield();
        EQUAL(code, LAPI_SUCCESS);
    });
    int code;
    while ((code = LAPI_Nopoll_wait(self.h, c.here(), 1, nullptr)) == LAPI_SUCCESS) { // nobody waits yet
        OK(LAPI_Setcntr(self.h, c.here(), 1));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EQUAL(code, LAPI_ERR_MULTIPLE_WAITERS);
    OK(LAPI_Setcntr(self.h, c.here(), 7));
    first.join();
    EQUAL(now, 5);
}

STEP(destinations_are_told_one_by_one)
{
    static int words[64];
    auto where = everywhere(words);
    lapi_cntr_t c;
    std::vector<uint> list;
    for (int t = 0; t < self.n; ++t) list.push_back(uint(t));
    list.push_back(uint(self.n)); // no task
    std::vector<int> status(list.size(), -1);
    OK(LAPI_Setcntr_wstatus(self.h, &c, int(list.size()), list.data(), status.data()));
    for (int t = 0; t < self.n; ++t) EQUAL(status[std::size_t(t)], LAPI_MSG_INITIAL);
    EQUAL(status.back(), LAPI_MSG_INVALID);
    for (int t = 0; t < self.n; ++t)
        OK(LAPI_Put(self.h, uint(t), 4, reinterpret_cast<void *>(where[std::size_t(t)]), &self.me, nullptr, nullptr,
                    &c));
    int now = -1;
    OK(LAPI_Nopoll_wait(self.h, &c, self.n, &now));
    EQUAL(now, 0);
    for (int t = 0; t < self.n; ++t) EQUAL(status[std::size_t(t)], LAPI_MSG_RECVD);
}

STEP(purging_ends_the_wait_and_closes_the_way)
{
    static int word;
    auto where = everywhere(&word);
    lapi_cntr_t c;
    uint dest = self.right();
    int status = -1, now = -1;
    OK(LAPI_Setcntr_wstatus(self.h, &c, 1, &dest, &status));
    std::thread purger([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        OK(LAPI_Purge_totask(self.h, dest));
    });
    EQUAL(LAPI_Nopoll_wait(self.h, &c, 1, &now), LAPI_ERR_TGT_PURGED);
    purger.join();
    EQUAL(now, 0);
    EQUAL(status, LAPI_MSG_PURGED);
    auto *there = reinterpret_cast<void *>(where[dest]);
    EQUAL(LAPI_Put(self.h, dest, 4, there, &self.me, nullptr, nullptr, nullptr), LAPI_ERR_TGT_PURGED);
    EQUAL(LAPI_Get(self.h, dest, 4, there, &self.me, nullptr, nullptr), LAPI_ERR_TGT_PURGED);
    EQUAL(LAPI_Amsend(self.h, dest, there, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr), LAPI_ERR_TGT_PURGED);
    OK(LAPI_Resume_totask(self.h, dest));
    OK(LAPI_Setcntr_wstatus(self.h, &c, 1, &dest, &status));
    int value = self.me;
    OK(LAPI_Put(self.h, dest, 4, there, &value, nullptr, nullptr, &c));
    OK(LAPI_Nopoll_wait(self.h, &c, 1, &now));
    EQUAL(status, LAPI_MSG_RECVD);
    fence_all();
    EQUAL(word, int(self.left()));
}

STEP(purging_tells_what_had_arrived)
{
    static int word;
    auto where = everywhere(&word);
    lapi_cntr_t c;
    uint dest[2] = {self.right(), self.right()};
    int status[2] = {-1, -1}, now = -1;
    OK(LAPI_Setcntr_wstatus(self.h, &c, 2, dest, status));
    int value = self.me;
    OK(LAPI_Put(self.h, dest[0], 4, reinterpret_cast<void *>(where[dest[0]]), &value, nullptr, nullptr, &c));
    while (value_of(&c) < 1) std::this_thread::yield();
    EQUAL(status[0], LAPI_MSG_RECVD);
    EQUAL(status[1], LAPI_MSG_INITIAL);
    OK(LAPI_Purge_totask(self.h, dest[0]));
    EQUAL(status[0], LAPI_MSG_PURGED_RCVD);
    EQUAL(status[1], LAPI_MSG_PURGED);
    EQUAL(LAPI_Nopoll_wait(self.h, &c, 2, &now), LAPI_ERR_TGT_PURGED);
    EQUAL(now, 1);
    OK(LAPI_Resume_totask(self.h, dest[0]));
}

namespace {
// Nobody adds to a counter; *early: the wait for it has ended by itself.
int wait_for_nothing(lapi_cntr_t *c, int patience_ms, bool *early)
{
    std::atomic<bool> ended = false;
    std::thread rescue([&] {
        for (int i = 0; i < patience_ms && !ended; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        *early = ended;
        OK(LAPI_Setcntr(self.h, c, 1));
    });
    const int code = LAPI_Nopoll_wait(self.h, c, 1, nullptr);
    ended = true;
    rescue.join();
    return code;
}
} // namespace

STEP(destinations_that_are_purged_already_are_not_waited_for)
{
    lapi_cntr_t c;
    uint dest = self.right();
    int status = -1;
    bool early = false;
    OK(LAPI_Purge_totask(self.h, dest));
    OK(LAPI_Setcntr_wstatus(self.h, &c, 1, &dest, &status));
    EQUAL(status, LAPI_MSG_PURGED);
    EQUAL(wait_for_nothing(&c, 3000, &early), LAPI_ERR_TGT_PURGED);
    CHECK(early);
    OK(LAPI_Resume_totask(self.h, dest));
}

STEP(a_list_without_destinations_is_none)
{
    lapi_cntr_t c;
    bool early = true;
    OK(LAPI_Setcntr_wstatus(self.h, &c, 0, nullptr, nullptr));
    OK(wait_for_nothing(&c, 50, &early));
    CHECK(!early);
}

STEP(statuses_are_the_programs_again_after_the_wait)
{
    static int word;
    auto where = everywhere(&word);
    uint dest = self.right();
    int value = self.me;
    for (auto wait : {LAPI_Nopoll_wait, LAPI_Waitcntr}) {
        lapi_cntr_t c;
        int status = -1;
        OK(LAPI_Setcntr_wstatus(self.h, &c, 1, &dest, &status));
        OK(LAPI_Put(self.h, dest, 4, reinterpret_cast<void *>(where[dest]), &value, nullptr, nullptr, &c));
        OK(wait(self.h, &c, 1, nullptr));
        EQUAL(status, LAPI_MSG_RECVD);
        for (int own : {LAPI_MSG_INITIAL, LAPI_MSG_RECVD}) {
            status = own;
            OK(LAPI_Purge_totask(self.h, dest));
            EQUAL(status, own);
            OK(LAPI_Resume_totask(self.h, dest));
        }
    }
}

STEP(polling_for_messages_tells_what_it_found)
{
    lapi_msg_info_t info;
    for (int i = 0; i < 1000; ++i) { // what was sent earlier may be told now
        OK(LAPI_Msgpoll(self.h, 3, &info));
        if (info.status == LAPI_DISP_CNTR) break;
    }
    EQUAL(info.status, uint(LAPI_DISP_CNTR));
    static char word[4000];
    auto where = everywhere(word);
    fence_all();
    std::vector<char> mine(sizeof word, 'x');
    OK(LAPI_Put(self.h, self.right(), mine.size(), reinterpret_cast<void *>(where[self.right()]), mine.data(), nullptr,
                nullptr, nullptr));
    uint seen = 0;
    for (int i = 0; i < 100000 && !(seen & LAPI_SEND_COMPLETE); ++i) {
        OK(LAPI_Msgpoll(self.h, 100, &info));
        seen |= info.status;
    }
    CHECK(seen & LAPI_SEND_COMPLETE);
    OK(LAPI_Probe(self.h));
}

STEP(polling_for_messages_tells_of_puts_into_the_memory_of_the_node)
{
    void *memory = nullptr;
    OK(LAPI_Onesea_shared_alloc(self.h, 64, &memory));
    auto where = everywhere(memory);
    fence_all();
    lapi_msg_info_t info = {};
    do {
        OK(LAPI_Msgpoll(self.h, 3, &info));
    } while (info.status != LAPI_DISP_CNTR);
    int value = 5;
    OK(LAPI_Put(self.h, self.right(), sizeof value, reinterpret_cast<void *>(where[self.right()]), &value, nullptr,
                nullptr, nullptr));
    uint seen = 0;
    for (int i = 0; i < 1000 && !(seen & LAPI_SEND_COMPLETE); ++i) {
        OK(LAPI_Msgpoll(self.h, 100, &info));
        seen |= info.status;
    }
    CHECK(seen & LAPI_SEND_COMPLETE);
    fence_all();
    OK(LAPI_Onesea_shared_free(self.h, memory));
}

// A put of one thread while another one polls: told when it has arrived, not when it is about to leave.
STEP(polling_for_messages_tells_of_what_another_thread_sends)
{
    using clock = std::chrono::steady_clock;
    static std::atomic<long> word;
    const long puts = 3000 / self.n; // two threads of each task spin
    std::atomic<long> returned = 0, told = 0;
    word = 0;
    std::thread sender([&] {
        for (long i = 1; i <= puts; ++i) {
            lapi_cntr_t complete = {};
            OK(LAPI_Put(self.h, uint(self.me), sizeof i, &word, &i, nullptr, nullptr, &complete));
            OK(LAPI_Waitcntr(self.h, &complete, 1, nullptr));
            returned = i;
            while (told < i) std::this_thread::yield();
        }
    });
    bool missed = false;
    for (long i = 1; i <= puts; ++i) {
        auto until = clock::time_point::max(); // other tasks may take their time to answer what was sent before
        for (long covered = 0; covered < i && !missed; missed = covered < i && clock::now() > until) {
            lapi_msg_info_t info;
            OK(LAPI_Msgpoll(self.h, 1, &info));
            if (info.status & LAPI_SEND_COMPLETE) covered = word; // at most: it may have come just now
            if (covered < i && returned >= i && until == clock::time_point::max())
                until = clock::now() + std::chrono::seconds(20);
        }
        told = i;
    }
    sender.join();
    CHECK(!missed);
}
