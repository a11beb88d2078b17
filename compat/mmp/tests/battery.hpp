// SPDX-License-Identifier: Apache-2.0
// What the steps of the battery share. All ranks run the same steps at the same time; a check that fails is printed and
// counted, and the step goes on.
#pragma once

#include "../include/mmp.h"

#include <cstdint>
#include <string>
#include <vector>

namespace battery {

void expect(bool good, const char *file, int line, const std::string &what);
void expect_status(int expected, int got, const char *file, int line, const char *what);
void expect_words(const std::string &part, const char *file, int line); // of MP_last_error()
int failures();

// The ranks beside this one.
inline int right() { return (MP_rank() + 1) % MP_size(); }
inline int left() { return (MP_rank() + MP_size() - 1) % MP_size(); }

// Bytes that only this rank, tag and number give.
std::vector<char> pattern(std::size_t bytes, int rank, int tag, int number = 0);

struct step {
    const char *name;
    void (*run)();
};
std::vector<step> message_steps(); // sizes, order, wildcards, waiting, probing
std::vector<step> wrong_steps();   // every error that a program can make, and that it changes nothing
std::vector<step> load_steps();    // many requests, floods, threads, random messages against a model

int unreachable(); // the mode of that name

} // namespace battery

#define EXPECT(condition) battery::expect(condition, __FILE__, __LINE__, #condition)
#define EXPECT_STATUS(expected, call) battery::expect_status(expected, call, __FILE__, __LINE__, #call)
#define EXPECT_DONE(call) EXPECT_STATUS(MP_OK, call)
#define EXPECT_WORDS(part) battery::expect_words(part, __FILE__, __LINE__)
