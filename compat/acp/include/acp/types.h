/* SPDX-License-Identifier: Apache-2.0 */
/* ACP on Onesea: what all its headers share. Included by acp.h. */
#ifndef ACP_TYPES_H
#define ACP_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* A global address: a byte of registered, starter or allocated memory of some process. Sums with numbers are valid
 * inside the memory that it lies in. An address of 8-byte aligned memory is a multiple of 8. */
typedef uint64_t acp_ga_t;
#define ACP_GA_NULL 0LLU

/* Bytes in global memory; two of them. */
typedef struct {
    acp_ga_t ga;
    size_t size;
} acp_element_t;

typedef struct {
    acp_element_t first, second;
} acp_pair_t;

#endif
