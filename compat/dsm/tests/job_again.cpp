// SPDX-License-Identifier: Apache-2.0
// The space is opened again after it has been closed: with other sizes, after an opening that failed, many times, and
// in vain when a node has died.
#include "job.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace job {
namespace {

int number_in(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text ? std::atoi(text) : otherwise;
}

const int me = number_in("ONESEA_RANK", 0), all = number_in("ONESEA_SIZE", 1);

// What the space of before could have left: bytes, read-only ranges, a lock that was held.
void every_step_works_again()
{
    for (int time = 0; time < 2; time++) {
        EXPECT_DONE(dsm_init(part_of(me, all)));
        space_steps();
        error_steps();
        agree_steps();
        EXPECT_DONE(dsm_protect(0, part_of(me, all), DSM_READ_ONLY));
        last_steps(); // node 0 holds a lock
        EXPECT_DONE(dsm_term());
        after_term();
    }
}

std::uint64_t other_part(int time, int node) { return static_cast<std::uint64_t>((time * 5 + node * 3) % 7) * 4096; }

// Every node writes its number behind each part's first word, which all add to; under locks whose homes are all nodes.
void sizes_may_be_others_each_time()
{
    for (int time = 0; time < 10; time++) {
        EXPECT_DONE(dsm_init(other_part(time, me)));
        for (int node = 0; node < all; node++) {
            std::uint64_t bytes = 1;
            EXPECT_DONE(dsm_part(node, &bytes));
            EXPECT(bytes == other_part(time, node));
            const std::uint64_t word = static_cast<std::uint64_t>(me) + 1, mine = 8 * word;
            if (bytes == 0) {
                EXPECT_STATUS(DSM_ERR_RANGE, dsm_write_b(node, mine, &word, sizeof word));
                continue;
            }
            EXPECT_DONE(dsm_lock(node));
            EXPECT_DONE(dsm_write(node, mine, &word, sizeof word));
            EXPECT_DONE(dsm_unlock(node));
            EXPECT_DONE(dsm_fetch_add(node, 0, 1, nullptr));
        }
        EXPECT_DONE(dsm_barrier());
        const auto *words = static_cast<const std::uint64_t *>(dsm_local(0));
        EXPECT((words != nullptr) == (other_part(time, me) > 0));
        for (std::uint64_t i = 0; words && i < 512; i++) {
            const auto n = static_cast<std::uint64_t>(all);
            EXPECT(words[i] == (i == 0 ? n : i <= n ? i : 0));
        }
        EXPECT_DONE(dsm_term());
    }
}

void an_opening_that_failed_is_no_hindrance()
{
    for (int time = 0; time < 3; time++) {
        EXPECT_STATUS(DSM_ERR_MEMORY, dsm_init(me == time % all ? std::uint64_t{1} << 50 : 4096));
        EXPECT_WORDS("node " + std::to_string(time % all));
        EXPECT_DONE(dsm_init(4096));
        std::uint64_t word = 7, back = 0;
        EXPECT_DONE(dsm_write_b((me + 1) % all, 0, &word, sizeof word));
        EXPECT_DONE(dsm_read((me + 1) % all, 0, &back, sizeof back));
        EXPECT(back == 7);
        EXPECT_DONE(dsm_term());
    }
}

struct owned {
    std::ptrdiff_t threads, files;
    std::size_t kilobytes;
};

owned what_is_owned()
{
    const auto count = [](const char *folder) {
        return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    };
    std::size_t size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return {count("/proc/self/task"), count("/proc/self/fd"), resident * 4};
}

void open_and_close(int times)
{
    for (int time = 0; time < times; time++) {
        EXPECT_DONE(dsm_init(1 << 16));
        std::vector<char> data(4096, 'x'); // through the outbox, which makes buffers
        EXPECT_DONE(dsm_write((me + 1) % all, 0, data.data(), data.size()));
        EXPECT_DONE(dsm_lock(time % DSM_LOCKS));
        EXPECT_DONE(dsm_unlock(time % DSM_LOCKS));
        EXPECT_DONE(dsm_term());
    }
}

} // namespace

// More often than LAPI has places for contexts; each leaves a context of some KiB, and nothing else.
void again_often()
{
    open_and_close(100);
    const owned before = what_is_owned();
    open_and_close(1100);
    const owned after = what_is_owned();
    constexpr int late = 16; // what the library opens when it is needed first
    EXPECT(after.threads < before.threads + late);
    EXPECT(after.files < before.files + late);
    const std::size_t grown = after.kilobytes - std::min(after.kilobytes, before.kilobytes);
    expect(grown < 1100 * 8, __FILE__, __LINE__, std::to_string(grown) + " KiB more after 1100 times");
}

void again()
{
    every_step_works_again();
    sizes_may_be_others_each_time();
    an_opening_that_failed_is_no_hindrance();
}

void again_dead()
{
    EXPECT_DONE(dsm_init(4096));
    const int met = dsm_barrier(); // node 1 may leave it first, and die
    EXPECT(met == DSM_OK || met == DSM_ERR_BELOW);
    if (dsm_node() == 1) raise(SIGKILL);
    std::uint64_t word = 1;
    int status = DSM_OK;
    for (int i = 0; i < 1000 && status == DSM_OK; i++) { // until the news is here
        status = dsm_write_b(1, 8, &word, sizeof word);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_term());
    for (int time = 0; time < 2; time++) EXPECT_STATUS(DSM_ERR_BELOW, dsm_init(4096));
    EXPECT_STATUS(DSM_ERR_STATE, dsm_barrier());
    std::fprintf(stderr, "again dead: node %d, %d failures\n", me, failures());
    _exit(failures() == 0 ? 0 : 1); // the collective end is not possible any more
}

} // namespace job
