/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Onesea: one global memory over the processes of a job.
 *
 * Words. A *rank* is one process of the job, numbered from 0. A *global address* (sea_addr) names a byte of some
 * rank's memory: the rank in the upper 24 bits, an offset in that rank's window in the lower 40; 0 is null, and plain
 * integer arithmetic works inside a segment. The *origin* is the rank that asks, the *target* the one whose memory it
 * is. The target's program does nothing for an operation to complete: it may compute, sleep or block elsewhere.
 *
 * Completion. *Local* completion: the origin's buffer may be reused (put) or holds the data (get). *Remote*
 * completion: the effect is visible in the target's memory; for an active message its handlers have returned.
 *
 * Blocking and not. A call without options (opts NULL), or whose options have neither `op` nor SEA_NOWAIT, returns
 * after local completion. With `op` or SEA_NOWAIT it only starts the operation.
 *
 * Status. Every int-returning call gives SEA_OK (0) or a negative status unless it says otherwise; outputs are written
 * only on success. sea_last_error() tells what happened in words. An operation that fails after its call returned
 * reports through its handle; without a handle, through the next fence that covers it. SEA_ERR_MEMORY tells of what the
 * call itself needs; a process that has no memory for what is under way, or is sent to it, ends.
 *
 * Threads. Any thread may call any function at any time after sea_init() returned, except where a function says
 * otherwise. Handlers of active messages run one at a time, on whichever thread makes progress. Handlers of signals
 * call nothing here; a call is not left by longjmp() or pthread_cancel(): that breaks the process for all its threads.
 *
 * Errors of any call, besides: SEA_ERR_INVALID (null, flags), SEA_ERR_STATE outside init..finalize, if not "any time".
 */
#ifndef ONESEA_H
#define ONESEA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEA_VERSION_MAJOR 0
#define SEA_VERSION_MINOR 1
#define SEA_VERSION_PATCH 0

/* ---- Status ----------------------------------------------------------------------------------------------------- */

/* Name, value, meaning. The group tells what is broken: -1.. the call, -20.. the operation, -40.. a rank or its link,
 * -60.. the job or the system. Values never change meaning; unknown ones must be survived. */
#define SEA_STATUS_MAP(X)                                                                   \
    X(SEA_OK, 0, "success")                                                                 \
    X(SEA_ERR_INVALID, -1, "an argument is not valid")                                      \
    X(SEA_ERR_ADDRESS, -2, "the address range is not inside one live segment or mapped")       \
    X(SEA_ERR_ALIGN, -3, "the address is not aligned to the size of the access")            \
    X(SEA_ERR_RANK, -4, "there is no such rank")                                            \
    X(SEA_ERR_HANDLE, -5, "this is not a handle that was given out")                        \
    X(SEA_ERR_STATE, -6, "the library is not in a state that allows this call")             \
    X(SEA_ERR_TIMEOUT, -20, "the time given has passed")                                    \
    X(SEA_ERR_ACCESS, -21, "the target's memory does not allow this access")                \
    X(SEA_ERR_HANDLER, -22, "the target has no handler of that number")                     \
    X(SEA_ERR_TRUNCATED, -23, "the message is longer than the memory for it")               \
    X(SEA_ERR_CANCELLED, -24, "the operation was withdrawn")                                \
    X(SEA_ERR_DEAD, -40, "the rank has ended")                                              \
    X(SEA_ERR_LINK, -41, "the rank cannot be reached")                                      \
    X(SEA_ERR_MEMORY, -60, "not enough memory")                                             \
    X(SEA_ERR_LAUNCH, -61, "the launcher's environment is damaged")                         \
    X(SEA_ERR_SYSTEM, -62, "the operating system refused")                                  \
    X(SEA_ERR_INTERNAL, -63, "a defect of the library; please report it")

typedef enum sea_status {
#define SEA_STATUS_ENUM_(name, value, text) name = value,
    SEA_STATUS_MAP(SEA_STATUS_ENUM_)
#undef SEA_STATUS_ENUM_
} sea_status;

/* The meaning of a status in words; never NULL, also for numbers that are no status. Any time, any thread. */
const char *sea_strerror(int status);

/* The name of a status ("SEA_ERR_RANK"); "SEA_ERR_UNKNOWN" for numbers that are none. Any time, any thread. */
const char *sea_status_name(int status);

/* What the last failing call of this thread ran into, with rank, address and size; "" if none failed. The text stays
 * until the next failing call of this thread. Any time, any thread. */
const char *sea_last_error(void);

/* ---- Start and end ---------------------------------------------------------------------------------------------- */

typedef struct sea_config {
    size_t size;       /* sizeof(sea_config): lets the structure grow */
    size_t heap_bytes; /* capacity of this rank's global heap in a job of one, 0: default; launched: --heap decides */
} sea_config;

/* Joins the job that the launcher made, or makes a job of one. `config` may be NULL. Not collective; call once, before
 * every other function but those marked "any time". On return the memory of all ranks can be used, also of ranks that
 * have not called it yet. A process that is forked from a rank is no rank: there every call but those gives
 * SEA_ERR_STATE. One that is forked in a handler ends, as by _exit(0), when it returns from that. A job of one may be
 * tried again after an error. Errors: SEA_ERR_STATE (called already, or a call that failed has used up this rank's way
 * into its job), SEA_ERR_INVALID (also heap_bytes above 2^37), SEA_ERR_LAUNCH, SEA_ERR_MEMORY, SEA_ERR_SYSTEM. */
int sea_init(const sea_config *config);

/* Ends this rank's part: completes its operations, waits for all ranks of the job that live, releases everything. Those
 * whose links were given up (SEA_ERR_LINK) are not waited for. Collective over the living ranks; no other thread may be
 * inside the library. Open handles and teams become invalid. Errors: SEA_ERR_STATE (also in a handler of active
 * messages); this rank has left, too, after SEA_ERR_TIMEOUT (with sea_set_timeout) and the first error of an operation
 * that no fence has told. */
int sea_finalize(void);

/* 1 between a successful sea_init() and sea_finalize(), else 0. Any time, any thread. */
int sea_initialized(void);

/* Ends the job as if this rank had failed: writes `text` (may be NULL) to stderr and exits with `code` (1..125; 1 instead
 * of another one). Does not return. Any time. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void sea_abort(int code, const char *text);

/* Limits every blocking call of this thread that has no time-out argument to `seconds`; SEA_FOREVER (the default)
 * removes the limit. A call that runs into it returns SEA_ERR_TIMEOUT; what it had started goes on, but a collective's
 * team has ended then, for all its members (see there). Any time. */
#define SEA_FOREVER (-1.0)
/* Elsewhere a time below 0 that is not SEA_FOREVER has passed, like 0; here it is SEA_ERR_INVALID. */
int sea_set_timeout(double seconds);

/* What this thread has given to sea_set_timeout() last, or SEA_FOREVER. Any time. */
double sea_timeout(void);

/* ---- Who and where ---------------------------------------------------------------------------------------------- */

/* This rank, 0 .. sea_size()-1; SEA_ERR_STATE outside init..finalize. */
int sea_rank(void);

/* How many ranks the job has had so far, those of sea_spawn() among them. */
int sea_size(void);

/* This rank's node, the number of nodes, and the node of a rank (SEA_ERR_RANK if there is no such rank). Ranks of one
 * node share memory. */
int sea_node(void);
int sea_nodes(void);
int sea_node_of(int rank);

/* 1 if the rank lives, 0 if it has ended; SEA_ERR_RANK. */
int sea_alive(int rank);

/* Calls fn(rank, status, context) once for every rank that fails: with a status other than 0, by a signal, or after
 * sea_init() without sea_finalize(). `status`: its exit code, 1 instead of 0, or 128 + signal. Runs like handlers of
 * active messages. NULL removes it, another replaces it. Without `--on-death continue` the job ends first. */
typedef void (*sea_death_fn)(int rank, int status, void *context);
int sea_on_death(sea_death_fn fn, void *context);

/* ---- More ranks ------------------------------------------------------------------------------------------------- */

typedef struct sea_spawn_opts {
    size_t size;                    /* sizeof(sea_spawn_opts) */
    const char *const *arguments;   /* the program, found as a shell would on that node, and its arguments, ended by
                                       NULL. NULL: those that this rank was started with */
    const char *const *environment; /* "NAME=value", on top of the job's variables, ended by NULL; NULL: none */
    const char *directory;          /* where it starts; NULL: where the ranks of the job start */
    int node;                       /* 0 .. sea_nodes()-1; -1: the one with the fewest living ranks that has room */
} sea_spawn_opts;
#define SEA_SPAWN_INIT {sizeof(sea_spawn_opts), NULL, NULL, NULL, -1}

/* Starts a process that joins this job as a new rank, with the next number: sea_size() grows, a dead rank's number is
 * not given again. `opts` may be NULL. Not collective; several may be under way. On return the program runs (it need
 * not have called sea_init() yet), every living rank can name it, and its memory can be used. It is no member of
 * SEA_TEAM_WORLD; sea_team_create() makes teams with it. Its end counts as that of any rank: sea_finalize() waits for
 * it, its failure fails the job. Needs `onesea run`, whose --spawn N says how many may come to a node, 16 if not given.
 * With sea_set_timeout() SEA_ERR_TIMEOUT: the rank may still come. Errors: SEA_ERR_STATE (not launched, or the job is
 * ending), SEA_ERR_INVALID (no such node; a variable without '='; more than 96 KiB in all), SEA_ERR_SYSTEM (the program
 * is not there or does not start: the text says why), SEA_ERR_MEMORY (no room), SEA_ERR_DEAD (that node's agent has
 * ended), SEA_ERR_TIMEOUT. */
int sea_spawn(const sea_spawn_opts *opts, int *rank);

/* The rank whose sea_spawn() started this one; -1: the launcher did. SEA_ERR_STATE outside init..finalize, which is
 * less than -1. */
int sea_spawner(void);

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

typedef uint64_t sea_addr;
#define SEA_NULL ((sea_addr)0)
#define SEA_OFFSET_BITS 40
#define SEA_OFFSET_MASK ((UINT64_C(1) << SEA_OFFSET_BITS) - 1)

/* The rank and the offset that an address names; plain arithmetic, no check. */
static inline int sea_addr_rank(sea_addr a) { return (int)(a >> SEA_OFFSET_BITS); }
static inline uint64_t sea_addr_offset(sea_addr a) { return a & SEA_OFFSET_MASK; }

/* Allocates `bytes` (> 0) of global heap on any rank, by any rank; 64-byte aligned, contents unspecified. One round
 * trip to other nodes. Errors: SEA_ERR_RANK, SEA_ERR_DEAD, SEA_ERR_LINK, SEA_ERR_MEMORY (its text: what is left). */
int sea_heap_alloc(int rank, size_t bytes, sea_addr *address);

/* Frees what sea_heap_alloc() gave, from any rank. SEA_NULL is allowed and does nothing. Operations on it must be
 * complete. Later accesses give SEA_ERR_ADDRESS until it is allocated again. Errors: SEA_ERR_ADDRESS (not the start of
 * a live allocation), SEA_ERR_RANK, SEA_ERR_DEAD, SEA_ERR_LINK. */
int sea_heap_free(sea_addr address);

/* Capacity of a heap and bytes now allocated in it (rounded to 64 each), of any rank. Either output may be NULL.
 * Errors: as sea_heap_alloc(). */
int sea_heap_usage(int rank, size_t *capacity, size_t *used);

/* The first live allocation of this rank's own heap that starts at `from` (SEA_NULL: the beginning) or behind; SEA_NULL
 * if there is none. So a program finds what it has not freed. Errors: SEA_ERR_ADDRESS (not in this rank's heap). */
int sea_heap_next(sea_addr from, sea_addr *allocation);

/* Lets others reach `bytes` (> 0) of this process's own memory at `memory`: heap, stack, static, mapped file. The range
 * must stay mapped, and writable, until sea_unregister(). SEA_READ_ONLY: it need not be writable; puts and atomics give
 * SEA_ERR_ACCESS. Ranges may overlap; each registration has its own address. Errors: SEA_ERR_ACCESS (not mapped, or its
 * first or last byte may not be written), SEA_ERR_MEMORY (also: each takes whole MiB, of which a rank has 2^19). */
#define SEA_READ_ONLY 1u
int sea_register(void *memory, size_t bytes, unsigned flags, sea_addr *address);

/* Ends a registration of this rank; waits until no transfer uses it any more. Errors: SEA_ERR_ADDRESS (not the start
 * of a registration of this rank); SEA_ERR_TIMEOUT (with sea_set_timeout()): from now on nobody finds it, but what had
 * begun may still read and write the memory. It must stay mapped until another sea_unregister() of the same address,
 * which waits on, gives SEA_OK; no other registration is given that address before. */
int sea_unregister(sea_addr address);

/* The memory behind a global address if this process can load and store it directly (own memory, or the global heap of
 * a rank of its node), else NULL. Valid as long as the segment is. */
void *sea_local(sea_addr address);

/* The same for `bytes` bytes from there (0: as 1): NULL unless all of them are in one registration, or in one
 * allocation, which goes on to the next multiple of 64 bytes. Both are any thread's, and tell why there is none by
 * sea_last_error() (SEA_ERR_ADDRESS, SEA_ERR_STATE before sea_init()). A call beside the sea_unregister() or
 * sea_heap_free() of the same memory may still find it. */
void *sea_local_range(sea_addr address, size_t bytes);

/* The global address of a byte in this rank's heap or in a registration of this rank (the newest that holds it).
 * Errors: SEA_ERR_ADDRESS. */
int sea_global(const void *memory, sea_addr *address);

/* ---- Operations: options and handles ---------------------------------------------------------------------------- */

/* A handle of an operation in flight. It is used up by the wait or test that tells its completion. */
typedef uint64_t sea_op;
#define SEA_OP_NONE ((sea_op)0)          /* waits at once; as a start condition: start now */
#define SEA_OP_ALL (~(sea_op)0)          /* start condition: all operations that this rank started earlier */

/* A word that operations add to. Zero-initialised is a valid counter of 0. May lie in any memory; one that ranks of
 * other processes add to lies in a segment (target_counter) or in open raw space (target_raw_counter). 8-byte
 * aligned. */
typedef struct sea_counter {
    uint64_t value;
} sea_counter;

#define SEA_NOWAIT 1u  /* start only; completion is told by counters and fences */
#define SEA_ORDERED 2u /* takes effect after all earlier operations of this rank on that target that have the flag,
                          also where one of them has a start condition; handlers of messages: see sea_am_send() */
#define SEA_JOIN 4u    /* sea_put() only: small puts with one handle, see there */

typedef struct sea_opts {
    size_t size;                  /* sizeof(sea_opts) */
    unsigned flags;               /* SEA_NOWAIT | SEA_ORDERED | SEA_JOIN */
    sea_op *op;                   /* not NULL: start only; the handle goes here, SEA_OP_NONE if it ended in the call */
    sea_op after;                 /* start when this has completed remotely: a handle, SEA_OP_ALL or SEA_OP_NONE */
    sea_counter *origin_counter;  /* not NULL: += 1 at local completion */
    sea_counter *remote_counter;  /* not NULL: += 1 at this rank on remote completion */
    sea_addr target_counter;      /* not SEA_NULL: a counter at the target, += 1 once the effect is visible there;
                                     a get adds when the target's memory has been read. On the target's rank */
    uint64_t target_raw_counter;  /* not 0: the same, but at this address of the target's process, in its raw space
                                     (see there). Not together with target_counter */
} sea_opts;
#define SEA_OPTS_INIT {sizeof(sea_opts), 0u, NULL, SEA_OP_NONE, NULL, NULL, SEA_NULL, UINT64_C(0)}

/* Programs built with the structure as it was before target_raw_counter give their smaller size and go on working. A
 * target_raw_counter of an operation of no bytes lies on the rank that its address names (sea_copy: that of the
 * target); sea_put_vector() and sea_get_vector() of no pieces name none and give SEA_ERR_INVALID. */

/* Counters also add when an operation ends with an error after its call, so that who waits for them goes on; the handle
 * or the fence tells the error. A call that itself returns an error adds to none of its counters, then or later; only
 * after SEA_ERR_TIMEOUT the operation goes on and its counters add. A target counter never adds for what failed: it is
 * not announced there. A start condition whose operation failed lets the later one fail with the same status. A handle
 * stays valid as a start condition until it is used up; a used-up one counts as complete. */

/* *done = 1 and the handle is used up if the operation has completed remotely, else *done = 0; makes progress. Returns
 * the operation's own status when done. Errors: SEA_ERR_HANDLE, here and below also if another thread used it up. */
int sea_test(sea_op op, int *done);

/* Waits up to `seconds` (SEA_FOREVER: without limit; 0: look once) for remote completion and uses the handle up.
 * Returns the operation's status, or SEA_ERR_TIMEOUT (the handle stays). */
int sea_wait(sea_op op, double seconds);

/* Waits for local completion only; the handle stays and is still to be waited for or tested. */
int sea_wait_local(sea_op op, double seconds);

/* Wait for one, all, or at least one of `n` handles. Completed ones are used up and set to SEA_OP_NONE in `ops`;
 * entries that are SEA_OP_NONE are passed over. What ended within its call is such a one: look for it after the start.
 * _any: *index says which; -1 if all are SEA_OP_NONE. _some: `indices` (room for n) has all that completed, *count says
 * how many; 0 as above. All return SEA_ERR_TIMEOUT, else the first error among those used up, else SEA_OK. */
int sea_wait_any(sea_op *ops, int n, int *index, double seconds);
int sea_wait_all(sea_op *ops, int n, double seconds);
int sea_wait_some(sea_op *ops, int n, int *indices, int *count, double seconds);

/* Remote completion of all that this rank has started towards `rank` (all ranks): on return the effects are visible.
 * Returns the first error of an operation without a handle since the last fence that covered it. SEA_ERR_TIMEOUT (with
 * sea_set_timeout()) leaves such errors to the next fence. */
int sea_fence(int rank);
int sea_fence_all(void);

/* Calls fn(rank, status, kind, context) for every operation on `rank` that fails after its call has returned and that has
 * no handle: each one whose error the next fence is to tell. `kind` is a sea_error_kind. The fence tells the first all
 * the same. Runs like a handler of an active message. NULL removes it. Replaces an earlier callback. */
typedef enum sea_error_kind { SEA_ERROR_PUT = 0, SEA_ERROR_GET, SEA_ERROR_ATOMIC, SEA_ERROR_MESSAGE, SEA_ERROR_COPY } sea_error_kind;
typedef void (*sea_error_fn)(int rank, int status, int kind, void *context);
int sea_on_error(sea_error_fn fn, void *context);

/* Makes progress once, without waiting; returns SEA_OK. Never needed for progress as such. */
int sea_poll(void);

/* ---- Transfers -------------------------------------------------------------------------------------------------- */
/* All: zero bytes are allowed, check their addresses not at all, and complete at once with their counters. Errors of
 * all: SEA_ERR_ADDRESS, SEA_ERR_ALIGN (a counter), SEA_ERR_RANK, SEA_ERR_DEAD, SEA_ERR_LINK, SEA_ERR_ACCESS,
 * SEA_ERR_HANDLE (bad `after`); on an error found by the call nothing has been written, unless other parts of the same
 * operation were good: pieces, rows of a box, the data before a signal or a target counter. A range lies in one
 * allocation or registration. A long put to another node that leaves one may end with SEA_ERR_ADDRESS and have written
 * what is allocated behind it. Data is not converted. Concurrent access to the same bytes without synchronisation gives
 * any mix of them; aligned 8-byte puts and gets inside a node are not torn. */

/* Writes `bytes` from this process's memory to a global address.
 *
 * Many small puts to another node cost least with SEA_JOIN, which gives them one handle. `op` is needed; `after`,
 * counters and SEA_ORDERED are not allowed (SEA_ERR_INVALID). Where *op is SEA_OP_NONE the put begins an operation, which
 * later ones may join. Else the put becomes part of the operation that *op names, which then completes when all its puts
 * have, with the first error among them; the call does not wait, and `source` may be reused when it returns.
 * SEA_ERR_STATE: the operation takes no more puts, and nothing was written. It takes up to 1024 of up to 1024 bytes to
 * one rank, until it has completed, a fence covers it, or something is to start after it; it may end this at any time. */
int sea_put(sea_addr target, const void *source, size_t bytes, const sea_opts *opts);

/* Reads `bytes` from a global address into this process's memory. From another node, `target` may hold anything until
 * that is complete, and after SEA_ERR_DEAD or SEA_ERR_LINK. */
int sea_get(void *target, sea_addr source, size_t bytes, const sea_opts *opts);

/* Copies between any two global addresses; the owner of the source sends straight to the owner of the target. Local
 * completion is remote completion. target_counter lies on the rank of `target`, whose fence covers the copy, no other. */
int sea_copy(sea_addr target, sea_addr source, size_t bytes, const sea_opts *opts);

/* A put after which `signal` (8 bytes, aligned, on the same rank) is set to `value`, or has it added: whoever sees the
 * signal there sees the data. `kind`: SEA_SIGNAL_SET or SEA_SIGNAL_ADD. Also SEA_ERR_ALIGN. */
#define SEA_SIGNAL_SET 0
#define SEA_SIGNAL_ADD 1
int sea_put_signal(sea_addr target, const void *source, size_t bytes, sea_addr signal, uint64_t value, int kind,
                   const sea_opts *opts);

/* Moves a box of counts[1] x .. x counts[levels] runs of counts[0] contiguous bytes. Run (i1, .. in) lies at
 * base + i1 * strides[0] + .. + in * strides[n-1] bytes; strides may be negative. levels 0..SEA_STRIDE_LEVELS; counts
 * has levels + 1 entries, the strides `levels`; at most 2^62 bytes (SEA_ERR_INVALID). One operation: counters add 1. */
#define SEA_STRIDE_LEVELS 7
int sea_put_strided(sea_addr target, const int64_t *target_strides, const void *source, const int64_t *source_strides,
                    const size_t *counts, int levels, const sea_opts *opts);
int sea_get_strided(void *target, const int64_t *target_strides, sea_addr source, const int64_t *source_strides,
                    const size_t *counts, int levels, const sea_opts *opts);

/* Moves n pieces (0 is allowed) as one operation. All are on one rank (SEA_ERR_INVALID otherwise). */
typedef struct sea_piece {
    sea_addr remote;
    void *local;
    size_t bytes;
} sea_piece;
int sea_put_vector(const sea_piece *pieces, size_t n, const sea_opts *opts);
int sea_get_vector(const sea_piece *pieces, size_t n, const sea_opts *opts);

/* ---- Atomics ---------------------------------------------------------------------------------------------------- */

typedef enum sea_atomic_kind {
    SEA_ATOMIC_SWAP = 0,
    SEA_ATOMIC_CAS = 1, /* stores `operand` if the word equals `compare` */
    SEA_ATOMIC_ADD = 2, /* wraps around */
    SEA_ATOMIC_AND = 3,
    SEA_ATOMIC_OR = 4,
    SEA_ATOMIC_XOR = 5
} sea_atomic_kind;

/* Updates an aligned word of `width` 4 or 8 bytes; acts as a CPU atomic (sequentially consistent) of the owner's node,
 * whoever asks, also against CPU atomics of the owner's own threads. `old` (width bytes, may be NULL) receives the
 * value before; with it, local completion is its arrival. Also SEA_ERR_ALIGN. */
int sea_atomic(sea_atomic_kind kind, sea_addr target, int width, uint64_t operand, uint64_t compare, void *old,
               const sea_opts *opts);

static inline int sea_swap4(sea_addr a, uint32_t v, uint32_t *old, const sea_opts *o)
{ return sea_atomic(SEA_ATOMIC_SWAP, a, 4, v, 0, old, o); }
static inline int sea_swap8(sea_addr a, uint64_t v, uint64_t *old, const sea_opts *o)
{ return sea_atomic(SEA_ATOMIC_SWAP, a, 8, v, 0, old, o); }
static inline int sea_cas4(sea_addr a, uint32_t expect, uint32_t v, uint32_t *old, const sea_opts *o)
{ return sea_atomic(SEA_ATOMIC_CAS, a, 4, v, expect, old, o); }
static inline int sea_cas8(sea_addr a, uint64_t expect, uint64_t v, uint64_t *old, const sea_opts *o)
{ return sea_atomic(SEA_ATOMIC_CAS, a, 8, v, expect, old, o); }
static inline int sea_fetch_add4(sea_addr a, uint32_t v, uint32_t *old, const sea_opts *o)
{ return sea_atomic(SEA_ATOMIC_ADD, a, 4, v, 0, old, o); }
static inline int sea_fetch_add8(sea_addr a, uint64_t v, uint64_t *old, const sea_opts *o)
{ return sea_atomic(SEA_ATOMIC_ADD, a, 8, v, 0, old, o); }

/* ---- Raw space -------------------------------------------------------------------------------------------------- */
/* For programs in which a remote address is any pointer of the target's process: its *raw space* is all its memory,
 * named by the process's own addresses as numbers. It is closed until the process opens it. Whoever opens it lets
 * every rank of the job read and write everything in the process.
 *
 * A bad pointer is an error at the origin and never harms the target: SEA_ERR_ADDRESS for memory that is not mapped,
 * SEA_ERR_ACCESS for memory that may not be written, and for a closed space. The kernel checks each access, so memory
 * may be unmapped at any moment, also under a transfer; only an update (sea_raw_atomic, a target_raw_counter) that the
 * target's CPU executes in the same nanoseconds in which another thread there unmaps the word faults like any access to
 * memory that is gone. Where a transfer meets a bad page, pages before it may have been written (a get: arrived), in
 * any order; what lies in one page is written whole or not at all, if it is at most 1 KiB.
 *
 * Memory of the target's global heap (sea_local() of an address there) is reached as quickly as by its global address,
 * also where it is not allocated. Other memory of a rank of this node costs a system call.
 *
 * Otherwise these calls are as sea_put(), sea_get(), sea_atomic(), sea_put_vector() and sea_get_vector(), also in
 * options, completion, order, errors and statistics. The rank is always checked, also with zero bytes. Only
 * sea_raw_atomic() makes sure that nobody sees half of a word. A range that reaches beyond 2^62 gives SEA_ERR_ADDRESS. */

/* Opens this process's raw space to the other ranks and to itself, and closes it. Local; opening what is open and
 * closing what is closed does nothing. sea_raw_close() returns when no rank reads or writes there any more; a get that
 * is under way ends with SEA_ERR_ACCESS. Errors: SEA_ERR_SYSTEM, SEA_ERR_MEMORY (open), SEA_ERR_TIMEOUT (close; the
 * space is closed). */
int sea_raw_open(void);
int sea_raw_close(void);

/* Writes `bytes` from this process's memory to the address `target` of a rank's process, or reads them from its
 * address `source`. */
int sea_raw_put(int rank, uint64_t target, const void *source, size_t bytes, const sea_opts *opts);
int sea_raw_get(void *target, int rank, uint64_t source, size_t bytes, const sea_opts *opts);

/* sea_atomic() on the word at the address `target` of a rank's process. Also inside a node the target's library
 * executes it, so that it is dearer there than sea_atomic(), unless the word lies in the target's global heap. */
int sea_raw_atomic(sea_atomic_kind kind, int rank, uint64_t target, int width, uint64_t operand, uint64_t compare,
                   void *old, const sea_opts *opts);

/* Moves n pieces (0 is allowed) from or to one rank as one operation. */
typedef struct sea_raw_piece {
    uint64_t remote;
    void *local;
    size_t bytes;
} sea_raw_piece;
int sea_raw_put_vector(int rank, const sea_raw_piece *pieces, size_t n, const sea_opts *opts);
int sea_raw_get_vector(int rank, const sea_raw_piece *pieces, size_t n, const sea_opts *opts);

/* ---- Counters --------------------------------------------------------------------------------------------------- */

/* Set and read a counter of this process (or its node: sea_local). Atomic; any thread. All four: SEA_ERR_ALIGN. */
int sea_counter_set(sea_counter *counter, uint64_t value);
int sea_counter_get(const sea_counter *counter, uint64_t *value);

/* Waits up to `seconds` until the counter is at least `value`; the second form then subtracts `value` from it, in one
 * atomic step. SEA_ERR_TIMEOUT leaves it as it is. Only additions by operations, signals and sea_counter_set() wake a
 * sleeper at once; a plain store is found within 20 milliseconds. Whose additions are waited for is not known: that
 * they cannot come any more, because a rank has ended or cannot be reached, ends no wait. */
int sea_counter_wait(const sea_counter *counter, uint64_t value, double seconds);
int sea_counter_take(sea_counter *counter, uint64_t value, double seconds);

/* ---- Active messages -------------------------------------------------------------------------------------------- */

#define SEA_AM_HEADER_MAX 1024 /* bytes */
#define SEA_AM_IDS 1024        /* handler numbers 0 .. SEA_AM_IDS-1 */

typedef struct sea_am {
    int source;          /* the rank that sent it */
    const void *header;  /* valid until the header handler returns; 8-byte aligned */
    size_t header_bytes; /* 0 .. SEA_AM_HEADER_MAX */
    size_t data_bytes;
    void *context; /* as registered */
} sea_am;

/* Runs when all the data is in place. `data` is what the header handler returned. May start operations, send active
 * messages and wait for what needs no handler of any rank: not by a fence, and not for the end of an active message.
 * What one (also of sea_on_death(), sea_on_error()) throws in C++ and does not catch ends its process (terminate). */
typedef void (*sea_am_complete_fn)(int source, void *data, size_t data_bytes, void *argument);

/* Runs when the header arrives; says where the data goes (NULL: it is thrown away) and what runs then (*on_complete,
 * NULL at entry: nothing; *argument goes to it). Same rules as the completion handler, and should be short. The library
 * fills the place while other handlers may run: messages that can be under way together need places of their own; only
 * ordered ones of the same origin wait for each other. */
typedef void *(*sea_am_header_fn)(const sea_am *message, sea_am_complete_fn *on_complete, void **argument);

/* Registers (fn not NULL) or removes a handler of this rank. A message for a number without handler completes at its
 * origin with SEA_ERR_HANDLER; register before a barrier and send after it. */
int sea_am_register(int id, sea_am_header_fn fn, void *context);

/* Sends a header (copied at once) and data of any size to a rank, itself included. Local completion: the data buffer
 * may be reused. Remote completion: the handlers have returned. target_counter adds after the completion handler.
 * Messages of one origin run in the order sent if all have SEA_ORDERED; their handlers find what its earlier transfers
 * with SEA_ORDERED wrote, but later transfers do not wait for handlers. Errors: those of transfers, SEA_ERR_HANDLER,
 * SEA_ERR_INVALID (header too long, bad number). */
int sea_am_send(int rank, int id, const void *header, size_t header_bytes, const void *data, size_t data_bytes,
                const sea_opts *opts);

/* ---- Teams ------------------------------------------------------------------------------------------------------ */

/* An ordered subset of ranks; its members are numbered from 0 in the team. */
typedef int32_t sea_team;
#define SEA_TEAM_NULL ((sea_team)-1)
#define SEA_TEAM_WORLD ((sea_team)0) /* the ranks that the job started with */

/* Collective over `team`: members that give the same `color` (>= 0) form a new team, ordered by `key`, then by their
 * number in `team`; a member with a negative color gets SEA_TEAM_NULL. SEA_ERR_MEMORY: also if there are 65,000. */
int sea_team_split(sea_team team, int color, int key, sea_team *result);

/* Collective over the listed ranks only: a team of `n` different ranks in this order; all give the same list and the
 * same `tag`. Two creations with the same members and tag must not run at once. A new list or tag keeps 60 bytes.
 * Errors: also SEA_ERR_RANK, SEA_ERR_INVALID (the caller is not listed, or a rank twice). */
int sea_team_create(const int *ranks, int n, int tag, sea_team *result);

/* Forgets a team. Local; no collective of it may be running. Not SEA_TEAM_WORLD. Handles return 2^21 teams later. */
int sea_team_free(sea_team team);

/* This rank's number in the team (SEA_ERR_RANK if not a member), its size, and the rank of a member. */
int sea_team_rank(sea_team team);
int sea_team_size(sea_team team);
int sea_team_member(sea_team team, int member);

/* ---- Collectives ------------------------------------------------------------------------------------------------ */
/* Called by all members of a team in the same order, by one thread per team at a time. Buffers are any memory of the
 * process. They synchronise no more than their data needs, but that those whose data flows one way wait for all others
 * now and then (after 32 calls or 16 MiB), and imply no fence. `bytes` is the size of one member's part. Input and
 * output may be the same buffer where their sizes are equal, but must not overlap otherwise.
 *
 * A member that dies ends the others' calls with SEA_ERR_DEAD. One that gives a call up (SEA_ERR_TIMEOUT,
 * sea_set_timeout(); SEA_ERR_LINK: a way given up; SEA_ERR_MEMORY; SEA_ERR_ADDRESS: unreadable data; SEA_ERR_INVALID
 * where their calls differ, but for roots) ends the team (SEA_TEAM_WORLD, too) for all: the calls that members are in
 * (with long data under way when that is done, or their own time is up), or their next ones, and all later ones, return
 * that status. Matched messages go on; sea_team_create() makes another of these ranks, asking nobody. */

typedef enum sea_type {
    SEA_INT8 = 0, SEA_UINT8, SEA_INT16, SEA_UINT16, SEA_INT32, SEA_UINT32, SEA_INT64, SEA_UINT64, SEA_FLOAT, SEA_DOUBLE
} sea_type;

typedef enum sea_reduce_op {
    SEA_SUM = 0, SEA_PROD, SEA_MIN, SEA_MAX, SEA_BAND, SEA_BOR, SEA_BXOR /* the last three: integers only */
} sea_reduce_op;

/* Nobody leaves before all have come. */
int sea_barrier(sea_team team);

/* root's `buffer` is copied to everybody's. */
int sea_broadcast(sea_team team, int root, void *buffer, size_t bytes);

/* Element-wise over all members; the result is the same bits on every run with the same team size, and at all members
 * of an allreduce. `output` matters at root only in the first form. */
int sea_reduce(sea_team team, int root, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op);
int sea_allreduce(sea_team team, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op);

/* Parts are placed in the order of the members; output (gather) and input (scatter) matter at root only. */
int sea_gather(sea_team team, int root, const void *input, void *output, size_t bytes);
int sea_allgather(sea_team team, const void *input, void *output, size_t bytes);
int sea_scatter(sea_team team, int root, const void *input, void *output, size_t bytes);

/* Part j of member i's input becomes part i of member j's output. In place is not allowed. */
int sea_alltoall(sea_team team, const void *input, void *output, size_t bytes);

/* ---- Seeing ----------------------------------------------------------------------------------------------------- */

/* What this rank has asked of another since sea_init(). Operations that the caller's own thread completes inside a node
 * are counted without a lock: threads that issue them at the same moment to the same rank may be counted once. A round
 * trip is the time from sending a packet to its acknowledgement, less what the peer held it back; percentiles are right
 * within 7 %. All of the link is 0 inside a node, its times if never measured. `onesea run --stats` shows it of all. */
typedef struct sea_pair_stats {
    uint64_t puts, gets, atomics, messages, copies; /* operations started */
    uint64_t bytes_out, bytes_in;                   /* user data written to, read from that rank */
    uint64_t packets_out, packets_in, packets_lost; /* of the link; lost: their content was sent again */
    double round_trip_us;                           /* smoothed, of the link */
    uint64_t probes, spurious; /* times that silence was probed; packets taken for lost that were only late */
    double round_trip_p50_us, round_trip_p99_us, round_trip_max_us;
} sea_pair_stats;

/* Fills *stats. Errors: SEA_ERR_RANK, SEA_ERR_INVALID (stats is NULL). */
int sea_stats(int rank, sea_pair_stats *stats);

/* What concerns this process as a whole, since sea_init(). */
typedef struct sea_own_stats {
    uint64_t not_ours, forged, malformed, replayed; /* datagrams dropped: of no known protocol, job or living rank; wrong
                                                       tag, or memory changed while it was sent; right tag, wrong
                                                       content; come before */
    uint64_t kept_out;                              /* datagrams that the kernel dropped at our socket: not ours by their
                                                       header, from elsewhere during a flood, or without room */
    uint64_t waits;                                 /* calls that had to wait */
    double wait_seconds;                            /* summed over threads */
    uint64_t sleeps;                                /* times that one of them, or the dispatcher, slept */
    uint64_t rounds, stalls;                        /* of the dispatcher; stalls: rounds longer than 10 ms */
    double longest_stall_seconds;
} sea_own_stats;

/* Fills *stats. Errors: SEA_ERR_INVALID (stats is NULL). */
int sea_stats_own(sea_own_stats *stats);

/* The transport that carries operations on that rank: "self", "shm" or "net"; NULL if there is no such rank. */
const char *sea_transport(int rank);

/* Seconds on the monotonic clock of this machine. Any time, any thread. */
double sea_time(void);

#ifdef __cplusplus
}
#endif

#include "onesea/inline.h"

/* More collectives, matched messages, channels, data structures: whole headers of their own, part of this one. */
#include "onesea/channel.h"
#include "onesea/collective.h"
#include "onesea/data.h"
#include "onesea/message.h"
#include "onesea/neighbors.h"
#include "onesea/table.h"

#endif
