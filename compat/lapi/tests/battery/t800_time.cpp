// SPDX-License-Identifier: Apache-2.0
// A task that does not answer for longer than TIMEOUT is reported; when it comes back, everything goes on. What is not
// done is not told.
#include "battery.hpp"
#include "fair_clock.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <onesea.h>
#include <string>
#include <thread>
#include <unistd.h>

using namespace battery;

STEP(the_time_limit_that_a_program_gave_onesea_stays)
{
    static char target[4000];
    auto where = everywhere(target);
    fence_all();
    const std::vector<char> mine(sizeof target, 'x');
    lapi_msg_info_t info;
    EQUAL(sea_set_timeout(77), SEA_OK);
    OK(LAPI_Put(self.h, self.right(), mine.size(), reinterpret_cast<void *>(where[self.right()]),
                const_cast<char *>(mine.data()), nullptr, nullptr, nullptr));
    OK(LAPI_Msgpoll(self.h, 100, &info));
    EQUAL(sea_timeout(), 77);
    OK(LAPI_Fence(self.h));
    EQUAL(sea_timeout(), 77);
    EQUAL(sea_set_timeout(SEA_FOREVER), SEA_OK);
}

STEP(a_silent_task_is_reported)
{
    static char target[100000];
    auto where = everywhere(target);
    int tasks_here = 0;
    OK(LAPI_Qenv(self.h, QUERY_SHM_NUM_TASKS, &tasks_here));
    if (self.n != 2 || tasks_here != 1) return; // inside a node the kernel copies, whoever sleeps
    fence_all();
    if (self.me == 1) {
        std::string wake = "(sleep 3; kill -CONT " + std::to_string(getpid()) + ") >/dev/null 2>&1 &";
        CHECK(std::system(wake.c_str()) == 0);
        raise(SIGSTOP);
        return;
    }
    OK(LAPI_Senv(self.h, TIMEOUT, 1));
    usleep(300000); // it sleeps by now
    std::vector<char> mine(sizeof target, 'x');
    lapi_cntr_t complete = {};
    OK(LAPI_Put(self.h, 1, mine.size(), reinterpret_cast<void *>(where[1]), mine.data(), nullptr, nullptr, &complete));
    EQUAL(LAPI_Fence(self.h), LAPI_ERR_TIMEOUT);
    auto errors = errors_heard(1);
    CHECK(!errors.empty());
    for (const heard &e : errors) {
        EQUAL(e.code, LAPI_ERR_TIMEOUT);
        EQUAL(e.type, TMR_ERR);
        EQUAL(e.other, 1);
    }
    OK(LAPI_Senv(self.h, TIMEOUT, 900));
    OK(LAPI_Waitcntr(self.h, &complete, 1, nullptr));
    OK(LAPI_Fence(self.h));
}

namespace {

void wait_until_stopped(pid_t pid)
{
    for (char state = ' '; state != 'T'; usleep(1000)) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string line;
        std::getline(stat, line);
        const std::size_t name_end = line.rfind(')');
        if (name_end == std::string::npos) return;
        state = line[name_end + 2];
    }
}

// One that a call of this task waits for in vain while task 1 sleeps: it ends soon after the counter has its value, and
// not when TIMEOUT has passed once more.
void wait_beyond_the_limit(char *there)
{
    static const std::vector<char> data(100000, 'x');
    lapi_cntr_t put = {}, own = {};
    OK(LAPI_Senv(self.h, TIMEOUT, 1));
    OK(LAPI_Put(self.h, 1, data.size(), there, const_cast<char *>(data.data()), nullptr, nullptr, &put));
    const proof::fair_clock clock;
    double set = 0;
    std::thread setter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1100));
        set = clock.now();
        OK(LAPI_Setcntr(self.h, &own, 1));
    });
    OK(LAPI_Waitcntr(self.h, &own, 1, nullptr));
    const double returned = clock.now();
    setter.join();
    CHECK(returned - set < 0.5);
    OK(LAPI_Senv(self.h, TIMEOUT, 900));
    errors_heard(); // a slow machine may have come to the end of the second limit
}

} // namespace

STEP(what_is_not_done_at_a_task_that_sleeps)
{
    static char target[100000];
    static long long word;
    auto where = everywhere(target), words = everywhere(&word), pids = everywhere(reinterpret_cast<void *>(getpid()));
    int tasks_here = 0;
    OK(LAPI_Qenv(self.h, QUERY_SHM_NUM_TASKS, &tasks_here));
    if (self.n != 2 || tasks_here != 1) return;
    word = 0;
    fence_all();
    if (self.me == 1) raise(SIGSTOP);
    if (self.me == 1) return;
    wait_until_stopped(pid_t(pids[1]));
    lapi_cntr_t updated = {};
    long long one = 1;
    int now = -1;
    OK(LAPI_Rmw64(self.h, FETCH_AND_ADD, 1, reinterpret_cast<long long *>(words[1]), &one, nullptr, &updated));
    wait_beyond_the_limit(reinterpret_cast<char *>(where[1]));
    OK(LAPI_Getcntr(self.h, &updated, &now));
    EQUAL(now, 0); // also if nobody wants the old value
    kill(pid_t(pids[1]), SIGCONT);
    OK(LAPI_Waitcntr(self.h, &updated, 1, nullptr));
    OK(LAPI_Onesea_get(self.h, 1, sizeof one, reinterpret_cast<void *>(words[1]), &one));
    EQUAL(one, 1);
}
