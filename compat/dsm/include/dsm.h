/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A distributed shared memory over the nodes of a job, on LAPI. After Shimono, Apduhan, Asazu and Arita, "Implementing
 * a Distributed Shared Memory on LAPI for IBM SP2" (1999): every node gives a part of its memory, of any size; the
 * space is the sum of the parts; an address is a node and a number of bytes from the beginning of that node's part.
 *
 *     node 0            node 1                   node 2
 *     0 ...... a-1      0 .............. b-1     0 .. c-1         space: a + b + c bytes
 *
 * Words. A *node* is what LAPI calls a task and Onesea a rank: one process. READ, WRITE and WRITE_B of the paper are
 * dsm_read(), dsm_write() and dsm_write_b(). Addresses and lengths are in bytes. The target's program does nothing for
 * an access to its part.
 *
 * Checks. Every access is checked at the node that asks, before anything is sent: the node must exist, the range must
 * lie inside that node's part, and what writes must not touch a range that its node has made read-only. Otherwise the
 * call returns an error, nothing has been read or written, and dsm_last_error() names node, address and length.
 *
 * Order. WRITEs are not ordered among each other, nor before a later READ, until dsm_write_b(), dsm_fence(),
 * dsm_barrier() or dsm_unlock() says that they are complete. Accesses of several nodes to the same bytes at the same
 * time, without a lock or barrier between them, give any mix of them; aligned words of 8 bytes are not torn inside a
 * machine. Data is not converted.
 *
 * Status. Every int-returning call gives DSM_OK (0) or a negative status unless it says otherwise; outputs are written
 * only on success. A call before dsm_init() or after dsm_term() gives DSM_ERR_STATE.
 *
 * Threads. Any thread may call any function, except that dsm_init(), dsm_term(), dsm_protect() and dsm_barrier() are
 * called by one thread of a node at a time, and that no other call may be under way during the first three.
 *
 * Fortran. Each function but dsm_local() and dsm_status_name() is there as a subroutine of the same name, for the
 * convention that appends an underscore, with the status as an additional last argument; see dsmf.inc.
 */
#ifndef ONESEA_DSM_H
#define ONESEA_DSM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name, value, meaning. */
#define DSM_STATUS_MAP(X)                                                                                      \
    X(DSM_OK, 0, "success")                                                                                    \
    X(DSM_ERR_INVALID, -1, "an argument is not valid")                                                         \
    X(DSM_ERR_NODE, -2, "there is no such node")                                                               \
    X(DSM_ERR_RANGE, -3, "the range is not inside the node's part of the space")                               \
    X(DSM_ERR_READ_ONLY, -4, "the range is read-only")                                                         \
    X(DSM_ERR_ALIGN, -5, "the address is not a multiple of 8")                                                 \
    X(DSM_ERR_STATE, -6, "the space is not open, or is open already")                                          \
    X(DSM_ERR_LOCK, -7, "there is no such lock, or it is held by the caller, or it is not held by the caller") \
    X(DSM_ERR_MEMORY, -8, "not enough memory")                                                                 \
    X(DSM_ERR_BELOW, -9, "what carries the accesses failed")

typedef enum dsm_status {
#define DSM_STATUS_ENUM_(name, value, text) name = value,
    DSM_STATUS_MAP(DSM_STATUS_ENUM_)
#undef DSM_STATUS_ENUM_
} dsm_status;

/* The meaning of a status in words, and its name ("DSM_ERR_RANGE"); never NULL, "unknown status" and "DSM_ERR_UNKNOWN"
 * for numbers that are none. Any time, any thread. */
const char *dsm_strerror(int status);
const char *dsm_status_name(int status);

/* What the last failing call of this thread ran into, with node, address and length where there are such; "" if none
 * failed. The text stays until the next failing call of this thread. Any time, any thread. */
const char *dsm_last_error(void);

/* ---- The space ------------------------------------------------------------------------------------------------------
 */

/* Opens the space; this node gives `bytes` of memory to it (0: nothing), set to zero. Collective over all nodes of the
 * job, which may give different amounts. On return every node knows all parts and may access them. After dsm_term(), or
 * an error, the space may be opened again, with other amounts; that a space was there costs some KiB. Errors, the first
 * two at all nodes alike: DSM_ERR_MEMORY (some node could not give its part; the text says which), DSM_ERR_BELOW (LAPI
 * cannot be started), DSM_ERR_STATE (open already). */
int dsm_init(uint64_t bytes);

/* Closes the space: gives back locks that this node still holds, completes its WRITEs, waits for all nodes, frees the
 * memory. Collective. Errors: DSM_ERR_BELOW, also if a WRITE has failed that nobody has been told of; the space is
 * closed all the same. */
int dsm_term(void);

/* This node, 0 .. dsm_nodes()-1, and how many there are; DSM_ERR_STATE if the space is not open. */
int dsm_node(void);
int dsm_nodes(void);

/* *bytes = the size of a node's part, or of the space: all parts together. Errors: DSM_ERR_NODE, DSM_ERR_INVALID (bytes
 * is NULL). */
int dsm_part(int node, uint64_t *bytes);
int dsm_space(uint64_t *bytes);

/* The byte at `address` of this node's own part, to load and store directly; the part lies there in one piece. NULL if
 * the space is not open or the address is not below the part's size. Such loads and stores are not checked against
 * read-only ranges. */
void *dsm_local(uint64_t address);

/* Makes `length` bytes from `address` of this node's own part read-only for everybody, or writable again (the
 * state after dsm_init()). Collective: every node calls it, each for a range of its own part; length 0: none. Completes
 * all WRITEs of all nodes first; holds on all nodes on return. Ranges may overlap earlier ones; what was said last
 * holds. Errors: DSM_ERR_RANGE, DSM_ERR_INVALID (unknown mode) at the node whose range is wrong, where nothing changes;
 * the others' ranges take effect. DSM_ERR_BELOW. */
#define DSM_READ_WRITE 0
#define DSM_READ_ONLY 1
int dsm_protect(uint64_t address, uint64_t length, int mode);

/* ---- READ, WRITE, WRITE_B -------------------------------------------------------------------------------------------
 */
/* `length` 0 is allowed, is checked like any other and moves nothing; `data` may then be NULL. The own node is allowed.
 * Errors of all three: DSM_ERR_NODE, DSM_ERR_RANGE, DSM_ERR_INVALID (data is NULL), DSM_ERR_BELOW; of the last two also
 * DSM_ERR_READ_ONLY. */

/* READ: copies `length` bytes from `address` of the node's part to `data`, where they are on return. */
int dsm_read(int node, uint64_t address, void *data, uint64_t length);

/* WRITE: copies `length` bytes from `data` to `address` of the node's part. On return `data` may be reused; the bytes
 * may still be on their way. A WRITE that fails after its return is told by this node's next dsm_fence(),
 * dsm_barrier(), dsm_lock(), dsm_unlock() or dsm_term(), or before that by a dsm_read() or dsm_write_b() to the same
 * target. */
int dsm_write(int node, uint64_t address, const void *data, uint64_t length);

/* WRITE_B: as WRITE; on return the bytes are in the node's memory, where every later READ finds them. */
int dsm_write_b(int node, uint64_t address, const void *data, uint64_t length);

/* Waits until all WRITEs that this node has started are in the memories that they go to. Errors: DSM_ERR_BELOW. */
int dsm_fence(void);

/* ---- What nodes agree by
 * --------------------------------------------------------------------------------------------- */

/* Adds `add` to the signed word of 8 bytes at `address` of the node's part, wrapping around, and gives the value before
 * in *old (may be NULL). Atomic against all other dsm_fetch_add() of all nodes, and against the owner's own atomics.
 * Complete on return, with `old` or without. Errors: as for WRITE, and DSM_ERR_ALIGN. */
int dsm_fetch_add(int node, uint64_t address, int64_t add, int64_t *old);

/* Takes and gives back one of DSM_LOCKS locks of the job, numbered from 0. A lock is held by one thread of one node at
 * a time; who waits sleeps, and gets it in the order of arrival of the nodes. dsm_unlock() completes the WRITEs of its
 * node before it lets go, so that the next holder reads what was written under the lock. Errors: DSM_ERR_LOCK (no such
 * number; this thread holds it already; this thread does not hold it), DSM_ERR_BELOW.
 *
 * When a node that holds a lock or waits for it has died, or the way to it is given up, nobody can tell any more who is
 * to have it. Those behind that node hear DSM_ERR_BELOW about a second later, at the latest, and so do all later calls
 * of theirs on that lock; its holder, if it lives, may hear it from dsm_unlock(). A lock whose home (its number modulo
 * the nodes) is lost goes through those that wait already, but to nobody else. A thread that dsm_lock() has told an
 * error does not hold the lock; after dsm_unlock(), whatever it returns, it holds it no more. */
#define DSM_LOCKS 256
int dsm_lock(int lock);
int dsm_unlock(int lock);

/* Nobody leaves before all nodes have come; all WRITEs of all nodes from before are then complete. Collective. Errors:
 * DSM_ERR_BELOW. */
int dsm_barrier(void);

#ifdef __cplusplus
}
#endif
#endif
