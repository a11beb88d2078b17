/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmark asks of its own two wires beside dsm.h. */
#ifndef ONESEA_BENCH_DSM_LOST_H
#define ONESEA_BENCH_DSM_LOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many of this node's WRITEs never reached their targets as a whole; counted by the targets, and known here after
 * dsm_fence(). */
uint64_t bench_dsm_lost_writes(void);

#ifdef __cplusplus
}
#endif
#endif
