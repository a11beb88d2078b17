// SPDX-License-Identifier: Apache-2.0
// What the steps of dsm_job share. All nodes run the same steps at the same time; a check that fails is printed and
// counted, and the step goes on.
#pragma once

#include "../include/dsm.h"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace job {

// Parts of different sizes: node 0 has 1 MiB, the last of three or more nodes nothing.
std::uint64_t part_of(int node, int nodes);

// The nodes that have memory.
std::vector<int> givers();

// The `index`-th of `dsm_nodes()` equal pieces of a node's part, in whole words.
struct place {
    std::uint64_t address, bytes;
};
place slot(int node, int index);

std::vector<char> pattern(std::size_t bytes, unsigned seed);

void expect(bool good, const char *file, int line, const std::string &what);
void expect_status(int expected, int got, const char *file, int line, const char *what);
void expect_words(const std::string &part, const char *file, int line); // of dsm_last_error()
int failures();

pid_t know_node_1(); // its process; collective, in an open space
void wait_until_stopped(pid_t process);

void before_init();
void after_term();
void space_steps(); // sizes, READ, WRITE, WRITE_B, fence, barrier
void error_steps(); // every error, and that it changes nothing
void agree_steps(); // fetch-add, locks, threads
void fortran_steps();
void last_steps(); // just before dsm_term()
// What is under way to a node that is lost, a WRITE to it that a lock tells of, locks of whose queue a node dies.
[[noreturn]] void lost(bool by_death);
[[noreturn]] void lost_write();
[[noreturn]] void lost_lock();
void stopped(); // WRITEs while node 1 has stopped
void again();   // the space is opened again
void again_often();
[[noreturn]] void again_dead();
extern bool lossy; // WRITEs may be lost: the UDP wire of the benchmark

} // namespace job

#define EXPECT(condition) job::expect(condition, __FILE__, __LINE__, #condition)
#define EXPECT_STATUS(expected, call) job::expect_status(expected, call, __FILE__, __LINE__, #call)
#define EXPECT_DONE(call) EXPECT_STATUS(DSM_OK, call)
#define EXPECT_WORDS(part) job::expect_words(part, __FILE__, __LINE__)
