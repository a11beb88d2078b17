/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACP on Onesea: the Advanced Communication Primitives, version 3.0. 64-bit global addresses, copies and atomics
 * between any two of them with start conditions, channels, and data structures that every process makes, changes and
 * frees on every process. Programs written for ACP compile unchanged.
 *
 * Processes are the ranks that the job began with (acprun, or onesea run), numbered from 0. Any thread may call
 * anything between acp_init() and acp_finalize(). docs/acp.md of Onesea says what differs from the original, and how
 * the calls of onesea.h are used beside these: a global address of colour 0 is a sea_addr.
 *
 * Errors. What a call returns when it fails stands with it. Each failure, also of calls that return nothing and of
 * global memory accesses that fail after their call, is one line on stderr (the first 16 of a process) and is counted:
 * acp_onesea_errors(), acp_onesea_last_error(). Nothing here ends the program but acp_abort().
 */
#ifndef ACP_H
#define ACP_H

#include "acp/types.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Infrastructure --------------------------------------------------------------------------------------------- */

/* Joins the job; collective. Removes the options of ACP from the arguments: --acp-startermemsize=BYTES (or the number
 * as the next argument; K, M, G may follow it) sets the size of this process's starter memory, else the variable
 * ACP_STARTERMEMSIZE does, else it is 1 MiB. --acp-startermemsize-cl, --acp-startermemsize-dl, --acp-envnet and
 * --acp-ethspeed, each with a value, mean nothing here. Both arguments may be NULL. Before other calls, also of
 * onesea.h, but sea_init(), which may have been called. Returns 0, or -1: an unknown --acp- option, no memory, a
 * damaged environment, a second call. */
int acp_init(int *argc, char ***argv);

/* Completes this process's global memory accesses, waits for all processes, frees everything. Collective. 0 or -1. */
int acp_finalize(void);

/* Starts anew with another rank: collective, all give different ranks of 0 .. acp_procs()-1. Completes all accesses;
 * registrations, channels, segmented buffers, and all that lies in the heaps end; the starter memory is zero again. 0,
 * or -1: the ranks are not a permutation (at all processes; nothing has changed). */
int acp_reset(int rank);

/* Prints the text (may be NULL) to stderr and ends the job with status 1. Does not return. */
void acp_abort(const char *str);

/* Nobody leaves before all have come. Collective. Does not complete accesses. 0 or -1. */
int acp_sync(void);

/* This process's rank, and how many there are; -1 outside init..finalize. */
int acp_rank(void);
int acp_procs(void);

/* ---- Global memory management ----------------------------------------------------------------------------------- */

/* Names a registration of this process. */
typedef uint64_t acp_atkey_t;
#define ACP_ATKEY_NULL 0LLU

/* The start of a process's starter memory, which every process has from acp_init() on, zeroed. No communication.
 * ACP_GA_NULL: no such rank, or outside init..finalize. */
acp_ga_t acp_query_starter_ga(int rank);

/* Lets all processes access `size` (> 0) bytes at `addr`, which must stay mapped until acp_unregister_memory(). `color`
 * is 0 .. acp_colors()-1. ACP_ATKEY_NULL: not mapped, no such colour, more than 2^19 registrations or 2^39 bytes in
 * all. */
acp_atkey_t acp_register_memory(void *addr, size_t size, int color);

/* Ends a registration of this process; waits until nobody reads it any more. Its addresses are invalid then. 0, or -1:
 * no registration of this process. */
int acp_unregister_memory(acp_atkey_t atkey);

/* The global address, with the registration's colour, of memory inside a registration of this process; ACP_GA_NULL: it
 * is not inside, as the byte just behind it. */
acp_ga_t acp_query_ga(acp_atkey_t atkey, void *addr);

/* The memory behind a global address of this process; NULL: it is another's, or nothing is there. */
void *acp_query_address(acp_ga_t ga);

/* The process that the address belongs to, and its colour; -1: ACP_GA_NULL, or no address of this job. */
int acp_query_rank(acp_ga_t ga);
int acp_query_color(acp_ga_t ga);

/* How many colours there are. They choose nothing: every path is the best one already. */
int acp_colors(void);

/* ---- Global memory access --------------------------------------------------------------------------------------- */

/* An access that was started; each is greater than all before of this process. */
typedef int64_t acp_handle_t;
#define ACP_HANDLE_ALL 0xffffffffffffffffLLU
#define ACP_HANDLE_CONT 0xfffffffffffffffeLLU
#define ACP_HANDLE_NULL 0x0000000000000000LLU

/* All of these only start the access and return its handle, or ACP_HANDLE_NULL: failed, nothing was done. How many are
 * under way is not limited. `order` is the start condition: ACP_HANDLE_NULL: none. A handle: after that access.
 * ACP_HANDLE_ALL, ACP_HANDLE_CONT: after all earlier accesses of this process. One that waits for its condition holds
 * up no other. If the access that its handle names fails or has failed, it fails too, now or later; so does one that
 * names an access before the last 65536 failures that did not follow each other. After ACP_HANDLE_ALL and
 * ACP_HANDLE_CONT it starts whatever became of the others. An access that fails after its call counts as complete; the
 * failure is told when it is found to be complete. Small copies (up to 1 KB) without a start condition to one process
 * of another node, made one after the other, may count as one access in this: if one of them fails, what waits for
 * another of them fails too. */

/* Copies `size` bytes (0 is allowed, and then the addresses mean nothing) between any two global addresses; both may be
 * of other processes. Complete when the data is at `dst`. The source must not change before. The ranges must not
 * overlap. */
acp_handle_t acp_copy(acp_ga_t dst, acp_ga_t src, size_t size, acp_handle_t order);

/* Updates the word at `src`, of any process, aligned to its size, and stores its old value at `dst`, which is of this
 * process. Atomic against all accesses of this kind and against atomic instructions of the owner. cas: stores newval if
 * the word is oldval. add wraps around. */
acp_handle_t acp_cas4(acp_ga_t dst, acp_ga_t src, uint32_t oldval, uint32_t newval, acp_handle_t order);
acp_handle_t acp_cas8(acp_ga_t dst, acp_ga_t src, uint64_t oldval, uint64_t newval, acp_handle_t order);
acp_handle_t acp_swap4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_swap8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_add4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_add8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_xor4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_xor8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_or4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_or8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_and4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_and8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);

/* Waits until this access and all earlier ones are complete. ACP_HANDLE_ALL: all. A handle that is complete,
 * ACP_HANDLE_NULL, or was never given out: returns at once. */
void acp_complete(acp_handle_t handle);

/* 1 if acp_complete() would have to wait, else 0. Makes progress. */
int acp_inquire(acp_handle_t handle);

/* ---- Memory on any process -------------------------------------------------------------------------------------- */

/* Allocates memory in the global heap of any process, without its help; aligned to 64 bytes, contents unspecified.
 * One round trip for a process of another node. ACP_GA_NULL: no room, no such rank. */
acp_ga_t acp_malloc(size_t size, int rank);

/* Frees what acp_malloc() gave, from any process. ACP_GA_NULL is allowed. What is not the start of a live allocation
 * (one that was freed already) is an error, told as above, and changes nothing. */
void acp_free(acp_ga_t ga);

/* ---- Workspaces ----------------------------------------------------------------------------------------------------
 */
/* Memory that is spread over the processes and named by an offset. */

/* A workspace, the same at all processes; the fields are for reading. */
typedef struct {
    size_t size_ws, size_default,
        size_remainder;   /* bytes: in all, on each process, on the last one if it has fewer, else 0 */
    size_t ngas;          /* processes that have a part */
    acp_atkey_t key_data; /* of this process's part; ACP_ATKEY_NULL: none */
    acp_ga_t ga_data;
    acp_atkey_t *keys; /* not used */
    acp_ga_t *gas;     /* of each part: where it is, on which process, how long; ngas of them */
    int *procs, *sizes;
    void *data; /* this process's part */
} acp_wsditem;
typedef acp_wsditem *acp_wsd_t;
#define ACP_WSD_NULL (acp_wsd_t)(-1)

/* For the workspaces that are created from now on: the process that has the first part, and bytes on each process. All
 * processes give the same. 0, or -1: no such rank, 0 bytes or more than 2^31 - 1. At first: process 0, and 1 MiB. */
int acp_setparams_ws(size_t proc_start, size_t size_default);

/* Makes a workspace of `size` (> 0) bytes, zeroed; collective. Parts go to proc_start, the next process, and so on; if
 * they are more than processes, all parts become as long as needed. ACP_WSD_NULL, at all processes: no memory or a size
 * of 0 at some process, or the sizes or parameters differ. */
acp_wsd_t acp_create_ws(size_t size);

/* Frees a workspace; collective. */
void acp_destroy_ws(acp_wsd_t WSD);

/* Copy `size` bytes at `offset` of the workspace to or from a global address; complete on return. 0; 1: not inside the
 * workspace, no such workspace, a bad address. */
int acp_read_ws(acp_wsd_t WSD, acp_ga_t ga, size_t size, size_t offset);
int acp_write_ws(acp_wsd_t WSD, const acp_ga_t ga, size_t size, size_t offset);

/* ---- Beside the original ---------------------------------------------------------------------------------------- */

/* How many calls and accesses of this process have failed so far, and the text of this thread's last failure ("" if
 * none; valid until its next one). */
uint64_t acp_onesea_errors(void);
const char *acp_onesea_last_error(void);

/* For calls of onesea.h: the sea_addr of a global address of any colour, and the rank of Onesea that a rank of ACP is
 * (the same number, unless acp_reset() has given it another one; -1: no such rank). */
uint64_t acp_onesea_address(acp_ga_t ga);
int acp_onesea_rank(int rank);

#ifdef __cplusplus
}
#endif

#include "acp/channel.h"
#include "acp/names.h"
#include "acp/sequences.h"
#include "acp/tables.h"

#endif
