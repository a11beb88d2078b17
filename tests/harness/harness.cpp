// SPDX-License-Identifier: Apache-2.0
// Steps are sorted by number and run in that order: before sea_init, between, after sea_finalize. A rank that cannot go
// on marks the board and exits with 1; the others see the mark at the next barrier, or are ended by the launcher.
#include "harness.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unistd.h>

namespace proof {
namespace {

struct settings {
    std::vector<std::string> only, skip;
    int from = 0, to = 1 << 30;
    bool list = false, light = false, death = false;
    std::uint64_t seed = 1;
    std::string board_path;
    int limit = 60;
    std::vector<std::string> via;
    std::vector<std::string> own; // the arguments before --via
};

std::vector<step> &all_steps()
{
    static std::vector<step> steps;
    return steps;
}

void split(const char *text, std::vector<std::string> &words)
{
    std::string rest = text;
    for (std::size_t comma; (comma = rest.find(',')) != std::string::npos; rest.erase(0, comma + 1))
        words.push_back(rest.substr(0, comma));
    words.push_back(rest);
}

bool read_settings(int argc, char **argv, settings &s)
{
    s.own.push_back(argv[0]);
    for (int i = 1; i < argc; ++i) {
        std::string_view option = argv[i];
        if (option == "--via") {
            s.via.assign(argv + i + 1, argv + argc);
            return !s.via.empty();
        }
        s.own.emplace_back(option);
        if (option == "--list")
            s.list = true;
        else if (option == "--light")
            s.light = true;
        else if (option == "--death")
            s.death = true;
        else if (i + 1 == argc)
            return false;
        else {
            const char *value = argv[++i];
            s.own.emplace_back(value);
            if (option == "--only")
                split(value, s.only);
            else if (option == "--skip")
                split(value, s.skip);
            else if (option == "--from")
                s.from = std::atoi(value);
            else if (option == "--to")
                s.to = std::atoi(value);
            else if (option == "--seed")
                s.seed = std::strtoull(value, nullptr, 10);
            else if (option == "--board")
                s.board_path = value;
            else if (option == "--limit")
                s.limit = std::atoi(value);
            else
                return false;
        }
    }
    return true;
}

bool listed(const std::vector<std::string> &list, const step &one)
{
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string &name) { return name == one.name || name == std::to_string(one.number); });
}

bool chosen(const settings &s, const step &one)
{
    if (!s.only.empty()) return listed(s.only, one);
    if (listed(s.skip, one)) return false;
    if (one.when == phase::death) return s.death;
    if (one.when == phase::alone) return false;
    if (s.death && one.when == phase::ordinary) return false;
    return one.number >= s.from && one.number <= s.to && (!s.light || one.light);
}

run current;
thread_local int printed; // failures of this thread in this step

void begin_step(const step &one)
{
    seat &mine = current.shared->seats[current.rank];
    std::snprintf(mine.step, sizeof mine.step, "%d %s", one.number, one.name);
    printed = 0;
    restart_watchdog();
}

// PROOF_FENCE=1: what a step leaves under way, which may come when its memory has gone, fails at its end and not at the
// fence of another step.
void find_leftovers()
{
    static const bool wanted = std::getenv("PROOF_FENCE") != nullptr;
    if (wanted) CHECK_OK(sea_fence_all());
}

void run_phase(const settings &s, phase when)
{
    for (const step &one : all_steps()) {
        if (one.when != when || !chosen(s, one)) continue;
        begin_step(one);
        double began = now();
        one.body(current);
        if (when != phase::before_init && when != phase::after_finalize) {
            current.sync();
            find_leftovers();
        }
        if (current.rank == 0 && std::getenv("PROOF_TIMES") != nullptr)
            std::printf("%8.3f s  %d %s\n", now() - began, one.number, one.name), std::fflush(stdout);
    }
}

void start(const settings &s)
{
    current.shared = open_board(s.board_path.empty() ? nullptr : s.board_path.c_str());
    if (current.shared == nullptr) {
        std::fprintf(stderr, "cannot open the board %s\n", s.board_path.c_str());
        std::exit(2);
    }
    current.seed = s.seed;
    current.light = s.light;
}

// Each would wait at a board of its own for the others.
[[noreturn]] void refuse_to_meet_nobody()
{
    std::fprintf(
        stderr,
        "rank %d: the %d ranks of this job have no board to meet at: let the battery start the job itself, with "
        "--via behind its options: %s ... --via onesea run ...\n",
        current.rank, current.size, program_invocation_short_name);
    std::exit(2);
}

void join(const settings &s)
{
    if (int status = sea_init(nullptr); status != SEA_OK) {
        std::fprintf(stderr, "sea_init: %s: %s\n", show_status(status).c_str(), sea_last_error());
        current.shared->abandoned = 1;
        std::exit(1);
    }
    current.rank = sea_rank();
    current.size = sea_size();
    current.node = sea_node();
    current.nodes = sea_nodes();
    if (s.board_path.empty() && current.size > 1) refuse_to_meet_nobody();
    current.shared->seats[current.rank].pid = getpid();
    set_participants(*current.shared, unsigned(current.size));
    start_watchdog(*current.shared, current.rank, s.limit);
}

// --only and --skip would take both, and their order would be anyone's.
bool some_number_is_taken_twice()
{
    const auto &steps = all_steps();
    const auto first = std::adjacent_find(steps.begin(), steps.end(),
                                          [](const step &a, const step &b) { return a.number == b.number; });
    if (first == steps.end()) return false;
    std::fprintf(stderr, "two steps have the number %d: %s and %s\n", first->number, first->name, first[1].name);
    return true;
}

} // namespace

int enroll(const step &s)
{
    all_steps().push_back(s);
    return s.number;
}

int run_steps(int argc, char **argv)
{
    settings s;
    if (!read_settings(argc, argv, s)) {
        std::fprintf(stderr,
                     "usage: %s [--list] [--only a,b] [--skip a,b] [--from N] [--to N] [--light] [--death] [--seed N] "
                     "[--limit S] [--via COMMAND...]\n",
                     argv[0]);
        return 2;
    }
    std::sort(all_steps().begin(), all_steps().end(), [](auto &a, auto &b) { return a.number < b.number; });
    if (some_number_is_taken_twice()) return 2;
    if (s.list) {
        for (const step &one : all_steps()) std::printf("%d %s\n", one.number, one.name);
        return 0;
    }
    if (!s.via.empty()) return launch(s.via, s.own);
    start(s);
    run_phase(s, phase::before_init);
    join(s);
    run_phase(s, phase::ordinary);
    run_phase(s, phase::death);
    run_phase(s, phase::alone);
    begin_step({0, "sea_finalize", nullptr, phase::ordinary, true});
    CHECK_STATUS(current.finalize_status, sea_finalize());
    run_phase(s, phase::after_finalize);
    return current.shared->failures == 0 ? 0 : 1;
}

namespace {

// PROOF_JITTER=MS: ranks go on from where they met up to so much later than others, as on a busy machine. Most do so
// at once; one that is late is late by far.
void be_late(int rank)
{
    static const char *most = std::getenv("PROOF_JITTER");
    if (most == nullptr) return;
    static std::mt19937 random(static_cast<unsigned>(getpid() + rank));
    if (random() % 4 == 0) usleep(unsigned(std::atoi(most)) * 1000u * (random() % 4 + 1) / 4);
}

} // namespace

void run::sync()
{
    if (!barrier(*shared)) abandon();
    be_late(rank);
    sea_poll(); // tells the thread sanitizer that what the dispatcher did has happened before
}

std::vector<std::uint64_t> run::exchange(std::uint64_t mine)
{
    shared->seats[rank].words[0] = mine;
    sync();
    std::vector<std::uint64_t> all;
    for (int r = 0; r < size; ++r) all.push_back(shared->seats[r].words[0]);
    sync();
    return all;
}

std::vector<int> run::peers() const
{
    std::vector<int> some;
    for (int distance : {0, 1, size / 2, size - size / 2, size - 1}) { // whoever has me is mine
        int other = (rank + distance) % size;
        if (std::find(some.begin(), some.end(), other) == some.end()) some.push_back(other);
    }
    if (size <= 4) {
        some.clear();
        for (int r = 0; r < size; ++r) some.push_back((rank + r) % size);
    }
    return some;
}

int run::times(int full) const
{
    int n = full;
    if (size > 4) n = n * 4 / size;
    if (sanitized) n /= 5;
    return std::max(n, 1);
}

bool run::local(int other) const { return std::strcmp(sea_transport(other), "net") != 0; }

void failed(const char *file, int line, std::string_view what, std::string_view expected, std::string_view got)
{
    ++current.shared->failures;
    if (++printed > 10) return;
    const char *base = std::strrchr(file, '/');
    std::fprintf(stderr, "FAILED rank %d, step %s, %s:%d: %.*s\n    expected: %.*s\n    got:      %.*s\n", current.rank,
                 current.shared->seats[current.rank].step, base ? base + 1 : file, line, int(what.size()), what.data(),
                 int(expected.size()), expected.data(), int(got.size()), got.data());
}

void abandon()
{
    current.shared->abandoned = 1;
    ++current.shared->failures;
    std::fprintf(stderr, "rank %d gives up in step %s\n", current.rank, current.shared->seats[current.rank].step);
    std::fflush(stderr);
    _exit(1);
}

void at(const char *file, int line)
{
    seat &mine = current.shared->seats[current.rank];
    mine.line.store(line, std::memory_order_relaxed);
    mine.at.store(file, std::memory_order_relaxed);
}

} // namespace proof

int main(int argc, char **argv) { return proof::run_steps(argc, argv); }
