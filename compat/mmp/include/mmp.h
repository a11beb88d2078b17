/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MMP on Onesea: message passing between the ranks of a job.
 *
 * What is from where. The paper that MMP comes from (S. Yamagiwa, P. Kulkasem, K. Wada: the message passing library MMP
 * of the PC cluster Maestro) names four functions and what they do: MP_send() and MP_receive() do not block, MP_wait()
 * completes them, MP_barrier() brings all together; messages are cut in fragments of a measured length, and an arriving
 * one is received without the program. It prints no header: the arguments of the four are ours, and so are all other
 * functions here.
 *
 * A message goes from one rank to another one (or to itself), carries a tag and is taken by a receive that names rank
 * and tag, or leaves one of them or both open. Two messages from one rank to another are matched in the order in which
 * they were sent, whatever their sizes: a receive takes the earliest message that fits, a message meets the earliest
 * receive that fits. Data is not converted.
 *
 * The receiver's program need not call the library for messages to arrive. Small ones are received into memory that the
 * library finds, up to a bound (MP_memory()); beyond it, and above some kilobytes, a message stays in the sender's
 * memory until its receive is posted and then goes straight to its place, in fragments (MP_fragment()). So a send can
 * complete before its receive is posted, but a program must not rely on it.
 *
 * Status. Functions return MP_OK (0) or a negative status unless they say otherwise; outputs are written only on
 * success, except where a function says otherwise. MP_last_error() tells what happened in words. Errors that any
 * function may give beside those listed with it: MP_ERR_STATE before MP_init() or after MP_finalize(), MP_ERR_INVALID
 * for a null pointer.
 *
 * Threads. Any thread may call any function after MP_init() returned. A request is completed by one thread.
 *
 * Start programs with `onesea run`; without it a program is a job of one rank.
 */
#ifndef MMP_H
#define MMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ----------------------------------------------------------------------------------------------------- */

/* Name, value, meaning. */
#define MP_STATUS_MAP(X)                                                          \
    X(MP_OK, 0, "success")                                                        \
    X(MP_ERR_INVALID, -1, "an argument is not valid")                             \
    X(MP_ERR_RANK, -2, "there is no such rank")                                   \
    X(MP_ERR_TAG, -3, "this is no tag of a message")                              \
    X(MP_ERR_REQUEST, -4, "there is no such request: finished, or never started") \
    X(MP_ERR_STATE, -5, "MP_init() was not called, or MP_finalize() was")         \
    X(MP_ERR_TRUNCATED, -6, "the message is longer than the memory for it")       \
    X(MP_ERR_CANCELLED, -7, "the receive was withdrawn")                          \
    X(MP_ERR_TIMEOUT, -8, "the time given has passed")                            \
    X(MP_ERR_DEAD, -9, "the rank has ended")                                      \
    X(MP_ERR_LINK, -10, "the rank cannot be reached")                             \
    X(MP_ERR_ADDRESS, -11, "the memory is not mapped")                            \
    X(MP_ERR_MEMORY, -12, "not enough memory")                                    \
    X(MP_ERR_LAUNCH, -13, "the launcher's environment is damaged")                \
    X(MP_ERR_SYSTEM, -14, "the operating system refused")                         \
    X(MP_ERR_INTERNAL, -15, "a defect of the library; please report it")

enum {
#define MP_STATUS_ENUM_(name, value, text) name = value,
    MP_STATUS_MAP(MP_STATUS_ENUM_)
#undef MP_STATUS_ENUM_
};

/* The meaning of a status in words; never NULL, also for numbers that are no status. Any time, any thread. */
const char *MP_strerror(int status);

/* What the last failing call of this thread ran into, with rank, tag and size; "" if none failed. Stays until the next
 * failing call of this thread. Any time, any thread. */
const char *MP_last_error(void);

/* ---- Start and end ---------------------------------------------------------------------------------------------- */

/* Joins the job; once in a process. A program that has called sea_init() itself may call it too; MMP's messages are
 * then those of onesea/message.h in SEA_TEAM_WORLD, from which it keeps its own apart by other tags or teams. Errors:
 * MP_ERR_STATE (called already), MP_ERR_LAUNCH, MP_ERR_MEMORY, MP_ERR_SYSTEM; MP_ERR_RANK: sea_spawn() started this
 * process, which is then no rank of MMP but of Onesea, and leaves the job by sea_finalize(). */
int MP_init(void);

/* Ends this rank's part. Collective over the living ranks; no other thread may be inside the library. Requests that are
 * not complete are given up, and messages that nobody has received are lost. Calls sea_finalize() if MP_init() called
 * sea_init(). If the program did, receives are withdrawn, those that a message has met are waited for, and the data of
 * sends that are not complete must stay until sea_finalize(). Errors: MP_ERR_TIMEOUT (with MP_set_timeout()). */
int MP_finalize(void);

/* This rank, 0 .. MP_size()-1, and the number of ranks that the job started with; or MP_ERR_STATE. */
int MP_rank(void);
int MP_size(void);

/* Ends the job as if this rank had failed: writes `text` (may be NULL) to stderr and exits with `code` (1..125). Does
 * not return. Any time. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void MP_abort(int code, const char *text);

/* ---- Messages --------------------------------------------------------------------------------------------------- */

#define MP_ANY_SOURCE (-1)
#define MP_ANY_TAG (-1)
#define MP_TAG_MAX INT32_MAX /* tags are 0 .. MP_TAG_MAX */

/* A send or receive in flight. Used up by the wait or test that tells its completion. */
typedef uint64_t MP_request;
#define MP_REQUEST_NULL ((MP_request)0)

/* About a message: who sent it, its tag, its length (also when the memory given for it was less). Of a completed send:
 * this rank, the tag and the length that were given. */
typedef struct MP_status {
    int source;
    int tag;
    size_t bytes;
} MP_status;

/* Starts to send `bytes` at `data` (may be NULL if there are none) to a rank, and puts a request into *request. The
 * data must not be changed until that is complete. `request` NULL: returns when the data may be changed again. (The
 * paper: does not block.) Errors: MP_ERR_RANK, MP_ERR_TAG, MP_ERR_MEMORY (also with more than four million requests).
 * Errors of the request: MP_ERR_DEAD, MP_ERR_LINK (the rank ended, or cannot be reached, before the message was taken),
 * MP_ERR_ADDRESS (the data is not mapped; told only of more than 8 KiB to another rank of the node: elsewhere the
 * process faults, as at any other access). A small message to a rank that dies later is lost without an error. */
int MP_send(int rank, int tag, const void *data, size_t bytes, MP_request *request);

/* Starts to receive a message of a rank (or MP_ANY_SOURCE) with that tag (or MP_ANY_TAG) into `buffer`, and puts a
 * request into *request. The buffer must stay and not be looked at until that is complete. A longer message than
 * `capacity` bytes fills the buffer and gives MP_ERR_TRUNCATED; the rest is lost. `request` NULL: returns when the
 * message is there. (The paper: does not block.) Errors: MP_ERR_RANK, MP_ERR_TAG, MP_ERR_MEMORY. Errors of the request:
 * MP_ERR_TRUNCATED, MP_ERR_DEAD (the rank has ended and nothing that fits is left of it; with MP_ANY_SOURCE: all others
 * have), MP_ERR_LINK, MP_ERR_ADDRESS, MP_ERR_INVALID (the buffer cannot be written; told only where another rank of the
 * node sends more than 8 KiB). */
int MP_receive(int rank, int tag, void *buffer, size_t capacity, MP_request *request);

/* Waits until the request is complete, uses it up, sets it to MP_REQUEST_NULL and returns its own status. `status` may
 * be NULL; it is also written for MP_ERR_TRUNCATED. (The paper's function.) Errors: MP_ERR_REQUEST (MP_REQUEST_NULL, or
 * one that was used up), MP_ERR_TIMEOUT (the request stays). */
int MP_wait(MP_request *request, MP_status *status);

/* The same, at most so many seconds; MP_FOREVER: without limit; 0: looks once. */
#define MP_FOREVER (-1.0)
int MP_wait_for(MP_request *request, double seconds, MP_status *status);

/* *done = 1, and all else as MP_wait(), if the request is complete; otherwise *done = 0. Does not wait. */
int MP_test(MP_request *request, int *done, MP_status *status);

/* Waits for one of `n` requests and treats it as MP_wait() does; *index says which, also when its own status is an
 * error. Entries that are MP_REQUEST_NULL are passed over; *index is -1 if all are. */
int MP_wait_any(MP_request *requests, int n, int *index, MP_status *status);

/* Waits for all of `n` requests and treats each as MP_wait() does. Entries that are MP_REQUEST_NULL are passed over,
 * and their status is left as it is. `statuses` has n entries or is NULL. Returns the first error; MP_ERR_TIMEOUT
 * leaves those that are not complete. */
int MP_wait_all(MP_request *requests, int n, MP_status *statuses);

/* Withdraws a receive that no message has met; it completes with MP_ERR_CANCELLED. One that a message has met goes on
 * to its own end. Either way it is still to be waited for. Errors: MP_ERR_REQUEST (also a send's). */
int MP_cancel(MP_request *request);

/* Waits for a message that a receive with these arguments would take now, and leaves it there. Errors: MP_ERR_RANK,
 * MP_ERR_TAG, MP_ERR_TIMEOUT (with MP_set_timeout()), MP_ERR_DEAD and MP_ERR_LINK as for MP_receive(). */
int MP_probe(int rank, int tag, MP_status *status);

/* The same without waiting: *found says whether there is one. `status` may be NULL. */
int MP_look(int rank, int tag, int *found, MP_status *status);

/* Nobody leaves before all ranks that the job started with have come. (The paper's function.) Says nothing about
 * messages. Errors: MP_ERR_DEAD (a rank has ended), MP_ERR_LINK (two ranks cannot reach each other), MP_ERR_TIMEOUT
 * (with MP_set_timeout()). Each ends the barrier for all ranks: the call they are in, or the next one, returns the
 * same, and all later ones. Messages go on; who still needs a barrier makes a team by sea_team_create() of onesea.h and
 * calls sea_barrier(). */
int MP_barrier(void);

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/* An extension; nothing needs it. Memory of this rank that all ranks of its node can reach: `bytes` (> 0), aligned to
 * 64, contents unspecified. A large message out of it is copied once, by the receiver, as fast as the processor copies;
 * from other memory inside a node, which only its own process can reach, it takes two copies or the kernel's. The whole
 * heap of a rank is as large as its share of the machine's memory (`onesea run --heap`), and what is not used costs
 * nothing. Errors: MP_ERR_MEMORY, MP_ERR_INVALID (no bytes). */
int MP_alloc(size_t bytes, void **memory);

/* Gives it back; NULL is allowed. Sends and receives with it must be complete. MP_finalize() takes all of it away;
 * in a job that sea_init() began, sea_finalize() does. Errors: MP_ERR_ADDRESS (not in this rank's heap). */
int MP_free(void *memory);

/* ---- Settings, and what there is -------------------------------------------------------------------------------- */

/* Limits every call of this thread that waits and has no limit of its own to so many seconds; MP_FOREVER (the default)
 * removes the limit. Such a call returns MP_ERR_TIMEOUT; a receive without a request is then withdrawn; the data of a
 * send without a request must stay as it is; an MP_barrier() is then over for all ranks (see there). Errors:
 * MP_ERR_INVALID. */
int MP_set_timeout(double seconds);

/* How many bytes this rank uses now for messages that nobody has received, and the bound of it (64 MiB, or the
 * environment variable ONESEA_MESSAGE_MEMORY). Each rank that the job may have has a share of it, one that may come
 * (`onesea run --spawn`: 16 a node) a quarter of that of one from the start, and sends no more than that ahead of
 * receives. The envelopes of messages that stay with their senders count in *used, but are not bounded by it: 160 bytes
 * at most for each send that is not complete. What they took is kept for the next ones up to an eighth of the bound,
 * beside *used. Either output may be NULL. */
int MP_memory(size_t *used, size_t *bound);

/* In fragments of how many bytes large messages from here travel to a rank. It is measured by `onesea tune` and loaded
 * by jobs (`onesea run --profile FILE` sets it by hand); inside a node large messages are copied without them.
 * Errors: MP_ERR_RANK. */
int MP_fragment(int rank, size_t *bytes);

/* Seconds on the monotonic clock of this machine. Any time, any thread. */
double MP_time(void);

#ifdef __cplusplus
}
#endif

#endif
