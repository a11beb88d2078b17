// SPDX-License-Identifier: Apache-2.0
// dsm_job: every function and every error of dsm.h, as a job of any number of nodes. Modes: nothing (all steps),
// `lossy` (the same, but nothing depends on a WRITE that is not repeated), `memory` (one node asks for too much),
// `death` (needs --on-death continue and two nodes: the last one kills itself), `lost_node` and `lost_link` (the same;
// node 0 kills node 1 under accesses to it, or waits until its link is given up), `lost_write` (the same; under a WRITE
// that a lock tells of), `lost_lock` (with four nodes: node 1 dies in the queues of locks), `stopped` (three nodes:
// the others write on), `again` and `again_often` (the space is opened again), `again_dead` (with four nodes: after
// node 1 has died).
#include "job.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace job {
namespace {

std::atomic<int> failed{0};
constexpr int shown = 20;

} // namespace

bool lossy = false;

std::uint64_t part_of(int node, int nodes)
{
    if (node == 0) return 1 << 20;
    if (nodes > 2 && node == nodes - 1) return 0;
    return static_cast<std::uint64_t>(64000 + node * 1000);
}

std::vector<int> givers()
{
    std::vector<int> all;
    for (int node = 0; node < dsm_nodes(); node++)
        if (part_of(node, dsm_nodes()) > 0) all.push_back(node);
    return all;
}

place slot(int node, int index)
{
    const auto n = static_cast<std::uint64_t>(dsm_nodes());
    const std::uint64_t bytes = part_of(node, dsm_nodes()) / n / 8 * 8;
    return {bytes * static_cast<std::uint64_t>(index), bytes};
}

std::vector<char> pattern(std::size_t bytes, unsigned seed)
{
    std::vector<char> data(bytes);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (char &c : data) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        c = static_cast<char>(state >> 56);
    }
    return data;
}

void expect(bool good, const char *file, int line, const std::string &what)
{
    if (good || ++failed > shown) return;
    const char *base = std::strrchr(file, '/');
    std::fprintf(stderr, "FAILED at node %d, %s:%d: %s\n", dsm_node(), base ? base + 1 : file, line, what.c_str());
}

void expect_status(int expected, int got, const char *file, int line, const char *what)
{
    const std::string words = dsm_last_error();
    expect(expected == got, file, line,
           std::string(what) + ": expected " + dsm_status_name(expected) + ", got " + dsm_status_name(got) + " (" +
               words + ")");
}

void expect_words(const std::string &part, const char *file, int line)
{
    const std::string words = dsm_last_error();
    expect(words.find(part) != std::string::npos, file, line, "'" + part + "' is not in '" + words + "'");
}

int failures() { return failed; }

void wait_until_stopped(pid_t pid)
{
    for (char state = ' '; state != 'T';) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string line;
        std::getline(stat, line);
        const std::size_t name_end = line.rfind(')');
        if (name_end == std::string::npos) return;
        state = line.at(name_end + 2);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

pid_t know_node_1()
{
    const std::uint64_t own = static_cast<std::uint64_t>(getpid());
    EXPECT_DONE(dsm_write_b(0, static_cast<std::uint64_t>(dsm_node()) * 8, &own, sizeof own));
    EXPECT_DONE(dsm_barrier());
    std::uint64_t pid = 0;
    EXPECT_DONE(dsm_read(0, 8, &pid, sizeof pid));
    return static_cast<pid_t>(pid);
}

} // namespace job

namespace {

int all_steps()
{
    job::before_init();
    const int nodes = std::atoi(getenv("ONESEA_SIZE") ? getenv("ONESEA_SIZE") : "1");
    const int node = std::atoi(getenv("ONESEA_RANK") ? getenv("ONESEA_RANK") : "0");
    EXPECT_DONE(dsm_init(job::part_of(node, nodes)));
    if (job::failures() > 0) return 1;
    EXPECT(dsm_node() == node);
    EXPECT(dsm_nodes() == nodes);
    job::space_steps();
    job::error_steps();
    job::agree_steps();
    job::fortran_steps();
    job::last_steps();
    EXPECT_DONE(dsm_term());
    job::after_term();
    return job::failures() == 0 ? 0 : 1;
}

// One node asks for more than there is: nobody gets a space, and everybody is told.
int too_much()
{
    const int node = std::atoi(getenv("ONESEA_RANK") ? getenv("ONESEA_RANK") : "0");
    EXPECT_STATUS(DSM_ERR_MEMORY, dsm_init(node == 0 ? std::uint64_t{1} << 50 : 4096));
    EXPECT_WORDS("node 0");
    EXPECT_STATUS(DSM_ERR_STATE, dsm_node());
    return job::failures() == 0 ? 0 : 1;
}

// Accesses to a node that has died end with an error that names the access.
int death()
{
    EXPECT_DONE(dsm_init(4096));
    const int last = dsm_nodes() - 1;
    std::uint64_t word = 1;
    EXPECT_DONE(dsm_write_b(last, 0, &word, sizeof word));
    EXPECT_DONE(dsm_barrier());
    if (dsm_node() == last) raise(SIGKILL);
    int status = DSM_OK;
    for (int i = 0; i < 1000 && status == DSM_OK; i++) { // until the news is here
        status = dsm_write_b(last, 8, &word, sizeof word);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_STATUS(DSM_ERR_BELOW, status);
    EXPECT_WORDS("node " + std::to_string(last) + ", address 8, length 8");
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_read(last, 16, &word, sizeof word));
    EXPECT_DONE(dsm_read(dsm_node(), 0, &word, sizeof word)); // is nobody else's matter
    std::fprintf(stderr, "death: %d failures\n", job::failures());
    _exit(job::failures() == 0 ? 0 : 1); // the collective end is not possible any more
}

} // namespace

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    job::lossy = mode == "lossy";
    if (mode == "memory") return too_much();
    if (mode == "death") return death();
    if (mode == "lost_node" || mode == "lost_link") job::lost(mode == "lost_node");
    if (mode == "lost_write") job::lost_write();
    if (mode == "lost_lock") job::lost_lock();
    if (mode == "again_dead") job::again_dead();
    if (mode == "stopped") {
        job::stopped();
        return job::failures() == 0 ? 0 : 1;
    }
    if (mode == "again" || mode == "again_often") {
        mode == "again" ? job::again() : job::again_often();
        return job::failures() == 0 ? 0 : 1;
    }
    return all_steps();
}
