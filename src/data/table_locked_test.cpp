// SPDX-License-Identifier: Apache-2.0
// A call on a table whose lock somebody holds, in a process whose wall clock is set back by an hour meanwhile.
#include "base/birth.hpp"
#include "data/table_layout.hpp"

#include "onesea/table.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<bool> is_set_back{false}; // whoever asks for the time has it from before that

} // namespace

extern "C" int clock_gettime(clockid_t clock, timespec *time) noexcept
{
    const int problem = int(syscall(SYS_clock_gettime, clock, time));
    if (problem == 0 && clock == CLOCK_REALTIME && is_set_back) time->tv_sec += 3600;
    return problem;
}

using namespace onesea;

namespace {

bool found_part(data::part_head **part)
{
    sea_addr at = SEA_NULL;
    for (sea_addr from = SEA_NULL; sea_heap_next(from, &at) == SEA_OK && at != SEA_NULL; from = at + 64) {
        *part = static_cast<data::part_head *>(sea_local(at));
        if ((*part)->magic == data::part_magic) return true;
    }
    return false;
}

// The text of a call that finds all of the part locked and gives up. If it does not it ends when the test loses
// patience.
std::string text_of_a_call_that_gives_up(sea_table table, data::part_head &part)
{
    for (data::part_stripe &s : part.stripes) pthread_mutex_lock(&s.mutex);
    is_set_back = true;
    auto text = std::async(std::launch::async, [=] {
        std::uint64_t count = 0;
        sea_set_timeout(0.05);
        const int status = sea_table_count(table, sea_memory("key", 3), &count);
        return status == SEA_ERR_TIMEOUT ? std::string(sea_last_error()) : std::string(sea_status_name(status));
    });
    text.wait_for(std::chrono::seconds(20));
    is_set_back = false;
    for (data::part_stripe &s : part.stripes) pthread_mutex_unlock(&s.mutex);
    return text.get();
}

[[noreturn]] void give_up_on_a_locked_table()
{
    unsetenv(birth_variable);
    const int me = 0;
    sea_table table;
    data::part_head *part = nullptr;
    if (sea_init(nullptr) == SEA_OK && sea_table_create(SEA_TABLE_SET, &me, 1, 8, me, &table) == SEA_OK &&
        found_part(&part))
        std::fprintf(stderr, "<%s>\n", text_of_a_call_that_gives_up(table, *part).c_str());
    std::_Exit(sea_finalize() == SEA_OK ? 0 : 1);
}

} // namespace

TEST(TableLockedDeathTest, a_call_ends_with_its_time_though_the_clock_is_set_back_and_names_no_wrong_rank)
{
    EXPECT_EXIT(give_up_on_a_locked_table(), testing::ExitedWithCode(0),
                "<sea_table_count: a process of the node of rank 0 has the table locked there and does not go on>");
}
