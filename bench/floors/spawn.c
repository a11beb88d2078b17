/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "floors/spawn.h"
#include "measure/measure.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

double spawn_floor(const char *program, int n)
{
    char *const argv[] = {(char *)program, NULL};
    int good = 1, started = 0;
    pid_t pid;
    uint64_t begin = now_ns();
    for (; started < n && good; started += good) good = posix_spawn(&pid, program, NULL, NULL, argv, environ) == 0;
    for (int i = 0, status; i < started; i++) good &= wait(&status) > 0 && status == 0;
    return good ? (double)(now_ns() - begin) * 1e-9 : -1;
}
