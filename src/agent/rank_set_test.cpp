// SPDX-License-Identifier: Apache-2.0
// Starting ranks where something is lacking, and their ends.
#include "agent/rank_set.hpp"

#include "agent/descendants.hpp"
#include "agent/hosts.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

struct deaf : rank_set::listener {
    void wrote(unsigned, int, std::string_view) override {}
    void took_input(unsigned, std::size_t) override {}
    void ended(unsigned, const rank_end &) override {}

  protected:
    ~deaf() = default;
};

struct hears_nothing final : deaf {};

struct notes_ends final : deaf {
    void ended(unsigned, const rank_end &end) override { told.push_back(end.rank); }
    std::vector<int> told;
};

node_job job_of(std::vector<node_rank> ranks, std::vector<node_program> programs)
{
    node_job job;
    job.nodes = 1;
    job.total_ranks = unsigned(ranks.size());
    job.ranks = std::move(ranks);
    job.programs = std::move(programs);
    job.heap_bytes = 1 << 20;
    job.key = std::string(64, '1');
    job.job_id = std::string(16, '1');
    job.address = "127.0.0.1";
    return job;
}

sigset_t no_signals()
{
    sigset_t none;
    sigemptyset(&none);
    return none;
}

std::vector<int> open_descriptors()
{
    std::vector<int> open;
    for (int fd = 0; fd < 1000; ++fd)
        if (fcntl(fd, F_GETFD) >= 0) open.push_back(fd);
    return open;
}

// As long as it lives, so many descriptors can be opened.
class room_for {
  public:
    explicit room_for(unsigned more)
    {
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit now = before_;
        for (now.rlim_cur = 0; more > 0 || fcntl(int(now.rlim_cur), F_GETFD) >= 0; ++now.rlim_cur)
            more -= fcntl(int(now.rlim_cur), F_GETFD) < 0;
        setrlimit(RLIMIT_NOFILE, &now);
    }
    ~room_for() { setrlimit(RLIMIT_NOFILE, &before_); }
    room_for(const room_for &) = delete;
    room_for &operator=(const room_for &) = delete;

  private:
    rlimit before_{};
};

TEST(rank_set, a_rank_for_whose_pipes_descriptors_lack_is_named_and_leaves_none_open)
{
#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
    GTEST_SKIP() << "gcc's check of virtual calls takes descriptors itself, and calls every object bad without them";
#endif
    const node_job job = job_of({{7, 0, true}}, {{{"/bin/true"}, {}, "", false}});
    node_memory memory(job);
    event_loop loop;
    hears_nothing nobody;
    const char *const lacking[] = {"stdout", "stdout", "stdout", "stderr", "stderr", "stdin", "stdin"};
    for (unsigned room = 0; room < std::size(lacking); ++room) { // the first is for /dev/null
        rank_set ranks(loop, job, memory, nobody);
        ranks.prepare([](const std::string &) {});
        const std::vector<int> before = open_descriptors();
        std::string told;
        try {
            const room_for little(room);
            ranks.start(no_signals());
        } catch (const request_error &e) {
            told = e.what();
        }
        EXPECT_EQ(told.find(std::string("there is no pipe for the ") + lacking[room] + " of rank 7: Too many"), 0u)
            << room << ": " << told;
        EXPECT_EQ(open_descriptors(), before) << room;
    }
}

void wait_until_ended_but_not_taken_away(const std::vector<pid_t> &processes)
{
    siginfo_t told;
    for (pid_t p : processes) ASSERT_EQ(waitid(P_PID, id_t(p), &told, WEXITED | WNOWAIT), 0);
}

TEST(rank_set, of_ranks_that_are_found_ended_together_the_killed_one_is_told_first)
{
    const node_job job = job_of({{0, 0, false}, {1, 1, false}, {2, 2, false}, {3, 3, false}},
                                {{{"/bin/true"}, {}, "", false},
                                 {{"/bin/false"}, {}, "", false},
                                 {{"/bin/sh", "-c", "kill -ABRT $$"}, {}, "", false},
                                 {{"/bin/sh", "-c", "kill -KILL $$"}, {}, "", false}});
    node_memory memory(job);
    event_loop loop;
    notes_ends notes;
    rank_set ranks(loop, job, memory, notes);
    ranks.prepare([](const std::string &) {});
    const std::vector<pid_t> before = children_of(getpid());
    ranks.start(no_signals());
    std::vector<pid_t> started;
    for (pid_t p : children_of(getpid()))
        if (std::find(before.begin(), before.end(), p) == before.end()) started.push_back(p);
    ASSERT_EQ(started.size(), 4u);
    wait_until_ended_but_not_taken_away(started);
    ranks.reap();
    EXPECT_EQ(notes.told, (std::vector<int>{3, 1, 2, 0}));
    EXPECT_EQ(ranks.running(), 0u);
}

bool has_children_beside(const std::vector<pid_t> &known)
{
    for (pid_t p : children_of(getpid()))
        if (std::find(known.begin(), known.end(), p) == known.end()) return true;
    return false;
}

// What the kernel names for all children is one of them, and the same as long as that is there.
TEST(rank_set, orphans_and_ranks_are_taken_away_signal_by_signal)
{
    sigset_t child_ended, before_mask;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child_ended, &before_mask);
    become_reaper();
    const node_job job = job_of({{0, 0, false}, {1, 0, false}},
                                {{{"/bin/sh", "-c", "for i in 1 2 3 4 5; do sleep 0.1 & done"}, {}, "", false}});
    node_memory memory(job);
    event_loop loop;
    notes_ends notes;
    rank_set ranks(loop, job, memory, notes);
    ranks.prepare([](const std::string &) {});
    const std::vector<pid_t> before = children_of(getpid());
    ranks.start(before_mask);
    const timespec a_minute{60, 0};
    bool signalled = true;
    while (signalled && (ranks.running() > 0 || has_children_beside(before))) {
        signalled = sigtimedwait(&child_ended, nullptr, &a_minute) == SIGCHLD;
        ranks.reap();
    }
    EXPECT_TRUE(signalled) << "something waits to be taken away, and no signal tells of it";
    std::sort(notes.told.begin(), notes.told.end());
    EXPECT_EQ(notes.told, (std::vector<int>{0, 1}));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    pthread_sigmask(SIG_SETMASK, &before_mask, nullptr);
}

} // namespace
} // namespace onesea::agent
