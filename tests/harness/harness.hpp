// SPDX-License-Identifier: Apache-2.0
// A small harness for programs that are jobs: every rank runs the same numbered steps at the same time. A step checks;
// a failed check is printed with rank, step, expected and got, and makes the program's exit status 1. Between steps all
// ranks meet at the board (board.hpp), outside the library.
//
//     STEP(310, put_arrives_in_every_size) { ... CHECK_OK(sea_put(...)); t.sync(); ... }
//
// Options of a program: --list, --only a,b and --skip a,b (names or numbers), --from N, --to N, --light, --seed N,
// --death, and --via COMMAND... (last): run the job by that command line; see launch.cpp.
#pragma once

#include "board.hpp"
#include "fair_clock.hpp"
#include "onesea.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace proof {

// Everything that a step sees.
struct run {
    int rank = 0, size = 1, node = 0, nodes = 1;
    std::uint64_t seed = 1;
    bool light = false; // many ranks: do little of everything
    board *shared = nullptr;
    int finalize_status = 0; // what sea_finalize() is expected to return

    // All ranks meet, outside the library.
    void sync();
    // Everybody's `mine`, by rank.
    std::vector<std::uint64_t> exchange(std::uint64_t mine);
    // Ranks to talk to: all if there are few, else some of each kind. Includes this rank.
    std::vector<int> peers() const;
    // How often to do something: less with many ranks or under a sanitizer.
    int times(int full) const;
    bool same_node(int other) const { return sea_node_of(other) == node; }
    // The rank is reached by the transport of its own kind of place.
    bool local(int other) const;
};

// When a step runs. ordinary, death, alone: between sea_init and sea_finalize; death: only with --death, instead of the
// ordinary ones; alone: only if named by --only.
enum class phase { before_init, ordinary, death, alone, after_finalize };

struct step {
    int number;
    const char *name;
    void (*body)(run &t);
    phase when;
    bool light; // part of --light
};

int enroll(const step &s);
int run_steps(int argc, char **argv);
int launch(const std::vector<std::string> &command, const std::vector<std::string> &own);

// A check that failed; the step goes on. abandon() ends the program: going on makes no sense.
void failed(const char *file, int line, std::string_view what, std::string_view expected, std::string_view got);
[[noreturn]] void abandon();
void at(const char *file, int line); // for the watchdog
void start_watchdog(board &b, int rank, int limit_seconds);
void restart_watchdog(); // a new step begins

std::string show_status(int status);
bool check_status(const char *file, int line, const char *what, int expected, int got);
bool check_equal(const char *file, int line, const char *what, std::uint64_t expected, std::uint64_t got);
bool check_true(const char *file, int line, const char *what, bool got);

// Data whose every byte depends on seed and position. Not seen by the thread sanitizer, since the library's own threads
// move the data between the processes' barriers, which the sanitizer does not know.
void fill(void *memory, std::size_t bytes, std::uint64_t seed, std::size_t from = 0);
// The position of the first byte that differs, or `bytes`.
std::size_t differs(const void *memory, std::size_t bytes, std::uint64_t seed, std::size_t from = 0);
void set_bytes(void *memory, std::size_t bytes, unsigned char value);
std::size_t not_all(const void *memory, std::size_t bytes, unsigned char value);
std::uint64_t peek8(const volatile void *memory);
void poke8(volatile void *memory, std::uint64_t value);
bool check_data(const char *file, int line, const void *memory, std::size_t bytes, std::uint64_t seed,
                std::size_t from = 0);

// A small generator of pseudo-random numbers (splitmix64); the same for a seed everywhere.
struct dice {
    std::uint64_t state;
    std::uint64_t next();
    std::uint64_t below(std::uint64_t n) { return next() % n; }
};

} // namespace proof

#define STEP_OF_(number, name, when, is_light)                                  \
    static void name(::proof::run &t);                                          \
    [[maybe_unused]] static const int name##_enrolled =                         \
        ::proof::enroll({number, #name, name, ::proof::phase::when, is_light}); \
    static void name([[maybe_unused]] ::proof::run &t)

#define STEP(number, name) STEP_OF_(number, name, ordinary, false)
#define LIGHT_STEP(number, name) STEP_OF_(number, name, ordinary, true)
#define STEP_BEFORE_INIT(number, name) STEP_OF_(number, name, before_init, true)
#define STEP_AFTER_FINALIZE(number, name) STEP_OF_(number, name, after_finalize, true)
#define DEATH_STEP(number, name) STEP_OF_(number, name, death, false)
#define LONE_STEP(number, name) STEP_OF_(number, name, alone, false)

#define CHECK_STATUS(expected, call) ::proof::check_status(__FILE__, __LINE__, #call, expected, call)
#define CHECK_OK(call) CHECK_STATUS(SEA_OK, call)
#define CHECK_EQ(expected, got) \
    ::proof::check_equal(__FILE__, __LINE__, #got, std::uint64_t(expected), std::uint64_t(got))
#define CHECK(condition) ::proof::check_true(__FILE__, __LINE__, #condition, bool(condition))
#define CHECK_DATA(...) ::proof::check_data(__FILE__, __LINE__, __VA_ARGS__)
#define REQUIRE_OK(call)                         \
    do {                                         \
        if (!CHECK_OK(call)) ::proof::abandon(); \
    } while (0)
#define REQUIRE(condition)                         \
    do {                                           \
        if (!CHECK(condition)) ::proof::abandon(); \
    } while (0)
