/* SPDX-License-Identifier: Apache-2.0 */
/* The floor of starting: processes and nothing else. */
#ifndef ONESEA_BENCH_SPAWN_H
#define ONESEA_BENCH_SPAWN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Starts `n` processes of a program (full name), all at once, and waits for all. Seconds, or negative if that fails. */
double spawn_floor(const char *program, int n);

#ifdef __cplusplus
}
#endif
#endif
