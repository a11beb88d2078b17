// SPDX-License-Identifier: Apache-2.0
// mmp_battery: every function and every error of mmp.h, as a job of any number of ranks. Modes: nothing (all steps),
// the name of a step (that one), `death` (needs --on-death continue and three ranks: the last one kills itself),
// `unreachable` (unreachable.cpp), `beside` (two ranks that call sea_init() themselves), `grow` (a rank that is no rank
// of MMP joins as `newcomer`), `abort` (before MP_init()).
#include "battery.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <onesea/message.h>
#include <unistd.h>

namespace battery {
namespace {

std::atomic<int> failed{0};
constexpr int shown = 20;

} // namespace

void expect(bool good, const char *file, int line, const std::string &what)
{
    if (good || ++failed > shown) return;
    const char *base = std::strrchr(file, '/');
    std::fprintf(stderr, "FAILED at rank %d, %s:%d: %s\n", MP_rank(), base != nullptr ? base + 1 : file, line,
                 what.c_str());
}

void expect_status(int expected, int got, const char *file, int line, const char *what)
{
    const std::string words = MP_last_error();
    expect(expected == got, file, line,
           std::string(what) + ": expected " + std::to_string(expected) + " (" + MP_strerror(expected) + "), got " +
               std::to_string(got) + " (" + words + ")");
}

void expect_words(const std::string &part, const char *file, int line)
{
    const std::string words = MP_last_error();
    expect(words.find(part) != std::string::npos, file, line, "'" + part + "' is not in '" + words + "'");
}

int failures() { return failed; }

std::vector<char> pattern(std::size_t bytes, int rank, int tag, int number)
{
    std::vector<char> data(bytes);
    std::uint64_t state = (static_cast<std::uint64_t>(rank) << 40) ^ (static_cast<std::uint64_t>(tag) << 20) ^
                          static_cast<std::uint64_t>(number);
    for (char &c : data) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        c = static_cast<char>(state >> 56);
    }
    return data;
}

namespace {

void before_init()
{
    MP_request request = MP_REQUEST_NULL;
    int word = 0;
    EXPECT(std::string(MP_last_error()).empty());
    EXPECT_STATUS(MP_ERR_STATE, MP_rank());
    EXPECT_STATUS(MP_ERR_STATE, MP_size());
    EXPECT_STATUS(MP_ERR_STATE, MP_send(0, 0, &word, sizeof word, &request));
    EXPECT_WORDS("MP_send: MP_init() has not been called");
    EXPECT_STATUS(MP_ERR_STATE, MP_wait(&request, nullptr));
    EXPECT_STATUS(MP_ERR_STATE, MP_barrier());
    EXPECT_STATUS(MP_ERR_STATE, MP_finalize());
}

void after_finalize()
{
    int word = 0;
    EXPECT_STATUS(MP_ERR_STATE, MP_receive(0, 0, &word, sizeof word, nullptr));
    EXPECT_WORDS("MP_receive: MP_finalize() has been called");
    EXPECT_STATUS(MP_ERR_STATE, MP_init());
    EXPECT_STATUS(MP_ERR_STATE, MP_finalize());
}

int all_steps(const std::string &only)
{
    before_init();
    EXPECT_DONE(MP_init());
    if (failures() > 0) return 1;
    for (const auto &steps : {message_steps(), wrong_steps(), load_steps()})
        for (const step &each : steps) {
            if (!only.empty() && only != each.name) continue;
            const double start = MP_time();
            each.run();
            EXPECT_DONE(MP_barrier());
            if (MP_rank() == 0) std::printf("%-44s %6.3f s\n", each.name, MP_time() - start);
            std::fflush(stdout);
        }
    EXPECT_DONE(MP_finalize());
    after_finalize();
    return failures() == 0 ? 0 : 1;
}

// What concerns a rank that has died ends with an error that names it; the others talk on.
int death()
{
    EXPECT_DONE(MP_init());
    const int last = MP_size() - 1;
    std::vector<char> big(1 << 20);
    EXPECT_DONE(MP_barrier());
    if (MP_rank() == last) { // when all others are out of the barrier
        for (int i = 0; i < last; ++i) EXPECT_DONE(MP_receive(MP_ANY_SOURCE, 9, nullptr, 0, nullptr));
        raise(SIGKILL);
    }
    EXPECT_DONE(MP_send(last, 9, nullptr, 0, nullptr));
    MP_request receive = MP_REQUEST_NULL, send = MP_REQUEST_NULL;
    int word = 0;
    EXPECT_DONE(MP_receive(last, 5, &word, sizeof word, &receive));
    int status = MP_send(last, 5, big.data(), big.size(), &send);
    EXPECT_STATUS(MP_ERR_DEAD, status == MP_OK ? MP_wait(&send, nullptr) : status);
    EXPECT_WORDS("rank " + std::to_string(last) + ", tag 5");
    EXPECT_STATUS(MP_ERR_DEAD, MP_wait(&receive, nullptr));
    EXPECT_WORDS("rank " + std::to_string(last) + ", tag 5");
    EXPECT_STATUS(MP_ERR_DEAD, MP_probe(last, MP_ANY_TAG, nullptr));
    // What a request that failed at once ran into, whatever fails between its start and its wait.
    std::string words[2];
    for (std::string &each : words) {
        EXPECT_DONE(MP_send(last, 7, &word, sizeof word, &send));
        if (&each == &words[1]) EXPECT_STATUS(MP_ERR_ADDRESS, MP_free(&word));
        EXPECT_STATUS(MP_ERR_DEAD, MP_wait(&send, nullptr));
        each = MP_last_error();
    }
    EXPECT(words[0] == words[1]);
    if (words[0] != words[1]) std::fprintf(stderr, "'%s'\n'%s'\n", words[0].c_str(), words[1].c_str());
    EXPECT_STATUS(MP_ERR_DEAD, MP_barrier());
    const int other = 1 - MP_rank();
    EXPECT_DONE(MP_send(other, 6, &other, sizeof other, nullptr));
    EXPECT_DONE(MP_receive(MP_ANY_SOURCE, 6, &word, sizeof word, nullptr));
    EXPECT(word == MP_rank());
    std::printf("death: %d failures at rank %d\n", failures(), MP_rank());
    std::fflush(stdout);
    return MP_finalize() == MP_OK && failures() == 0 ? 0 : 1;
}

// A program that has called sea_init() itself goes on with Onesea after MP_finalize(): no receive of MMP may take its
// messages or write to its memory then.
int beside_onesea()
{
    EXPECT(sea_init(nullptr) == SEA_OK);
    EXPECT_DONE(MP_init());
    const int me = MP_rank();
    sea_set_timeout(30);
    int word = -1, any = -1, got = -1;
    std::vector<char> big(8 << 20, me == 0 ? 'a' : 'b');
    MP_request requests[3] = {};
    if (me == 0) {
        EXPECT_DONE(MP_receive(1, 5, &word, sizeof word, &requests[0]));
        EXPECT_DONE(MP_receive(MP_ANY_SOURCE, MP_ANY_TAG, big.data(), big.size(), &requests[1])); // may be met
        EXPECT_DONE(MP_receive(MP_ANY_SOURCE, MP_ANY_TAG, &any, sizeof any, &requests[2]));
    }
    EXPECT_DONE(MP_barrier());
    if (me == 1) EXPECT_DONE(MP_send(0, 6, big.data(), big.size(), &requests[0]));
    EXPECT_DONE(MP_finalize());
    const std::vector<char> then = big;
    EXPECT(me == 1 || then == std::vector<char>(big.size(), then[0]));
    EXPECT(sea_barrier(SEA_TEAM_WORLD) == SEA_OK);
    const int mine = 77;
    if (me == 1) EXPECT(sea_message_send(SEA_TEAM_WORLD, 0, 5, &mine, sizeof mine, nullptr) == SEA_OK);
    if (me == 0) EXPECT(sea_message_receive(SEA_TEAM_WORLD, 1, 5, &got, sizeof got, nullptr, nullptr) == SEA_OK);
    EXPECT(got == (me == 0 ? 77 : -1));
    EXPECT(word == -1 && any == -1);
    EXPECT(sea_barrier(SEA_TEAM_WORLD) == SEA_OK);
    EXPECT(big == then);
    EXPECT(sea_finalize() == SEA_OK);
    return failures() == 0 ? 0 : 1;
}

// A process that sea_spawn() has started is no rank of MMP: it is told so each time it asks, stays in Onesea, and
// leaves it by sea_finalize(). The ranks of the job talk on.
int newcomer()
{
    for (int i = 0; i < 2; ++i) {
        EXPECT_STATUS(MP_ERR_RANK, MP_init());
        EXPECT_WORDS("MP_init: sea_spawn() started this process; MMP has the ranks that the job started with");
        EXPECT_STATUS(MP_ERR_STATE, MP_rank());
        EXPECT_STATUS(MP_ERR_STATE, MP_finalize());
    }
    EXPECT(sea_initialized() == 1);
    EXPECT(sea_finalize() == SEA_OK);
    std::printf("newcomer: %d failures\n", failures());
    return failures() == 0 ? 0 : 1;
}

int job_that_grows(const char *program)
{
    EXPECT_DONE(MP_init());
    const char *arguments[] = {program, "newcomer", nullptr};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    opts.arguments = arguments;
    int rank = -1;
    if (MP_rank() == 0) EXPECT(sea_spawn(&opts, &rank) == SEA_OK);
    EXPECT_DONE(MP_barrier());
    EXPECT_DONE(MP_finalize());
    return failures() == 0 ? 0 : 1;
}

} // namespace
} // namespace battery

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "death") return battery::death();
    if (mode == "unreachable") return battery::unreachable();
    if (mode == "beside") return battery::beside_onesea();
    if (mode == "grow") return battery::job_that_grows(argv[0]);
    if (mode == "newcomer") return battery::newcomer();
    if (mode == "abort") MP_abort(7, "no input");
    return battery::all_steps(mode);
}
