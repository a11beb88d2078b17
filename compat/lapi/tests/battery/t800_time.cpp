// SPDX-License-Identifier: Apache-2.0
// A task that does not answer for longer than TIMEOUT is reported; when it comes back, everything goes on.
#include "battery.hpp"

#include <csignal>
#include <cstdlib>
#include <onesea.h>
#include <string>
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
