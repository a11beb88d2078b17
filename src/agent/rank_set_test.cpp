// SPDX-License-Identifier: Apache-2.0
// Starting ranks where something is lacking.
#include "agent/rank_set.hpp"

#include "agent/hosts.hpp"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace onesea::agent {
namespace {

struct deaf final : rank_set::listener {
    void wrote(unsigned, int, std::string_view) override {}
    void took_input(unsigned, std::size_t) override {}
    void ended(unsigned, const rank_end &) override {}
};

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
    node_job job;
    job.nodes = job.total_ranks = 1;
    job.ranks = {{7, 0, true}};
    job.programs = {{{"/bin/true"}, {}, "", false}};
    job.heap_bytes = 1 << 20;
    job.key = std::string(64, '1');
    job.job_id = std::string(16, '1');
    job.address = "127.0.0.1";
    node_memory memory(job);
    event_loop loop;
    deaf nobody;
    const char *const lacking[] = {"stdout", "stdout", "stdout", "stderr", "stderr", "stdin", "stdin"};
    for (unsigned room = 0; room < std::size(lacking); ++room) { // the first is for /dev/null
        rank_set ranks(loop, job, memory, nobody);
        ranks.prepare([](const std::string &) {});
        const std::vector<int> before = open_descriptors();
        sigset_t none;
        sigemptyset(&none);
        std::string told;
        try {
            const room_for little(room);
            ranks.start(none);
        } catch (const request_error &e) {
            told = e.what();
        }
        EXPECT_EQ(told.find(std::string("there is no pipe for the ") + lacking[room] + " of rank 7: Too many"), 0u)
            << room << ": " << told;
        EXPECT_EQ(open_descriptors(), before) << room;
    }
}

} // namespace
} // namespace onesea::agent
