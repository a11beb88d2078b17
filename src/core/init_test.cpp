// SPDX-License-Identifier: Apache-2.0
// What a failing sea_init() leaves behind. In processes of their own, before any test of this one has begun: a job can
// be joined once.
#include "base/birth.hpp"
#include "base/counts_page.hpp"
#include "shm/arena.hpp"

#include "onesea.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

using namespace onesea;

namespace {

void set_stack_of_new_threads(std::size_t bytes)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

// As on a machine that gives no more threads: there is no room for their stacks.
int init_without_threads()
{
    set_stack_of_new_threads(std::size_t(1) << 60);
    const int status = sea_init(nullptr);
    set_stack_of_new_threads(std::size_t(1) << 20);
    return status;
}

int open_descriptors()
{
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return int(std::distance(begin(all), end(all)));
}

[[noreturn]] void end_with(bool good, const char *what)
{
    std::fprintf(stderr, "%s: %s\n", what, sea_last_error());
    _exit(good ? 0 : 1);
}

[[noreturn]] void try_a_job_of_one_again_and_again()
{
    unsetenv(birth_variable);
    int open = 0;
    for (int i = 0; i < 3; ++i) { // the page of counts stays, as after sea_finalize(), until there is another
        if (init_without_threads() != SEA_ERR_SYSTEM || sea_initialized()) end_with(false, "without threads");
        const int before = std::exchange(open, open_descriptors());
        if (before && open != before) end_with(false, "descriptors stay open");
    }
    if (sea_init(nullptr) != SEA_OK || sea_size() != 1) end_with(false, "with threads");
    end_with(sea_finalize() == SEA_OK, "end");
}

// A rank of a job of two, as the agent starts it.
void inherit()
{
    shm::arena node;
    shm::arena_plan plan;
    plan.slots = plan.rank_capacity = 2;
    plan.heap_bytes = 1 << 20;
    birth b;
    if (shm::arena::create(plan, &node, &b.arena_fd) != 0) end_with(false, "the arena");
    for (unsigned s : {0u, 1u}) {
        node.slot_at(s).doorbell = eventfd(0, EFD_CLOEXEC);
        node.occupy(s, int(s), -1);
        node.ranks().place(int(s), 0, 0);
    }
    node.header().ranks = node.header().world = 2;
    b.counts_fd = counts_page::create(0, 1);
    setenv(birth_variable, format(b).c_str(), 1);
}

[[noreturn]] void try_a_launched_job_twice()
{
    inherit();
    if (init_without_threads() != SEA_ERR_SYSTEM || sea_initialized()) end_with(false, "the first");
    const int second = sea_init(nullptr); // the job is not to be given up for one of one
    end_with(second == SEA_ERR_STATE && !sea_initialized(), sea_status_name(second));
}

} // namespace

TEST(InitDeathTest, a_job_of_one_that_failed_leaves_nothing_behind_and_may_be_made_again)
{
    EXPECT_EXIT(try_a_job_of_one_again_and_again(), testing::ExitedWithCode(0), "");
}

TEST(InitDeathTest, a_rank_that_failed_to_join_its_job_does_not_join_another)
{
    EXPECT_EXIT(try_a_launched_job_twice(), testing::ExitedWithCode(0), "");
}
