// SPDX-License-Identifier: Apache-2.0
// One thread tells another process something, without the engine lock; what comes of that is served by another thread,
// which holds it, and reads what the first has written: a race to a thread sanitizer that is not told of it
// (base/told_order.hpp).
#include "base/told_order.hpp"
#include "core/engine.hpp"
#include "core/job_of_one.hpp"

#include <atomic>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace onesea::core {
namespace {

struct words_of_both {
    std::atomic<bool> told{false}, answered{false};
};

void wait_for(const std::atomic<bool> &word)
{
    while (!word) std::this_thread::yield();
}

TEST_F(JobOfOne, what_another_process_sends_may_follow_from_what_another_thread_told_it)
{
    void *shared = mmap(nullptr, sizeof(words_of_both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, shared);
    auto *both = new (shared) words_of_both;
    const pid_t other = fork();
    ASSERT_GE(other, 0);
    if (other == 0) {
        alarm(60); // it does not outlive a test that is ended
        wait_for(both->told);
        both->answered = true;
        _exit(0);
    }
    int told = 0;
    std::thread server([&] {
        wait_for(both->answered);
        const locked lock = enter();
        frame unknown{};
        unknown.type = frame_type::done;
        unknown.id = ~std::uint64_t(0);
        engine().receive(0, unknown, {});
        EXPECT_EQ(told, 1);
    });
    told = 1;
    tells_another_process();
    both->told = true;
    server.join();
    int status = -1;
    EXPECT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    munmap(shared, sizeof(words_of_both));
}

} // namespace
} // namespace onesea::core
