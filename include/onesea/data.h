/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Onesea: data structures in global memory.
 *
 * A structure lies in the global heap of one rank, its *owner*, and is named by a handle: a small structure that may be
 * copied, stored and sent to other ranks by value. Every rank may use it, from any thread, at any time.
 *
 * Cost. On the owner's node (the owner included) a call works on the shared memory itself. From another node a call is
 * ONE message to the owner and its answer (one round trip), whatever the call does, unless it says otherwise. "one
 * call" below means this. Data beyond what fits a packet takes one round trip more.
 *
 * Atomicity. Every function that is one call takes effect in one step: no other call on the same structure sees it half
 * done, and calls of several ranks act as if one came after the other. Those that take several say so.
 *
 * Sources. Bytes to store are given as memory of this process; the forms that end in `_from` name them by a global
 * address instead: at the owner they are copied there, in this node they are read directly, from elsewhere they are
 * fetched first (one get).
 *
 * Death and time. If the owner has ended a call gives SEA_ERR_DEAD. A rank that ends in the middle of a call (kill -9)
 * leaves the structure as it was before that call or after it. Only where the call moves bytes inside a structure
 * (insert and erase in the middle of a vector or deque, write; reverse, reorder, swap and splice of lists; a push to a
 * deque or queue that has its room at the other end, while the owner's heap has none for a longer block) may it be
 * cut in half: then all later calls give SEA_ERR_DEAD and a text that names the rank, and _destroy still works. A block
 * that it was about to exchange may stay allocated. Calls obey sea_set_timeout(), without which they wait for an owner
 * that is stopped; after 120 seconds of silence its link is given up, SEA_ERR_LINK. Where a call over the network ends
 * with SEA_ERR_LINK or SEA_ERR_TIMEOUT (but not that of queues) it may have taken effect or may still do so. Memory of
 * the caller stays in use then up to his next sea_fence_all(): data of more than a packet must stay as it is, and where
 * the bytes of an element of a list lie on a rank that is not the owner the output may still be written. Such bytes of
 * elements that are in no list then are freed when the owner answers after all; after SEA_ERR_LINK they may stay
 * allocated.
 *
 * Errors of all calls beside those listed: SEA_ERR_HANDLE (no live structure of that kind has this handle: it was
 * destroyed, or never created), SEA_ERR_RANK, SEA_ERR_DEAD, SEA_ERR_LINK, SEA_ERR_TIMEOUT, SEA_ERR_MEMORY (the owner's
 * heap, or the memory of a process, has no room, or 4 GiB or more were to come back from another node by one call),
 * SEA_ERR_INVALID (a null pointer), SEA_ERR_STATE (not initialised). SEA_ERR_ADDRESS: a position or range that is not
 * inside the structure, or a source address that cannot be read. A call that returns an error has changed nothing,
 * unless it says otherwise. The calls must not be made while another call destroys the structure: a handle is told from
 * those of destroyed structures, but not in the same instant, nor after 63 more structures have been made on its owner:
 * then a new one may have it. Whoever destroys one lets the others know before.
 *
 * All calls may be made inside handlers of active messages.
 */
#ifndef ONESEA_DATA_H
#define ONESEA_DATA_H

#include <onesea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As a size, where a function says so: all from the position on. */
#define SEA_REST ((size_t)-1)

/* ---- Vector ----------------------------------------------------------------------------------------------------- */
/* Contiguous bytes that grow at the end. Positions and sizes are in bytes; what an element is the program knows. */

typedef struct sea_vector {
    sea_addr at; /* SEA_NULL: none */
} sea_vector;

/* Makes an empty vector on a rank with room for `capacity` bytes (0 is allowed). One call. */
int sea_vector_create(int owner, size_t capacity, sea_vector *vector);

/* Frees the vector and its contents. One call. */
int sea_vector_destroy(sea_vector vector);

/* Bytes in it, and bytes that it can hold before its contents move. One call each. */
int sea_vector_size(sea_vector vector, size_t *bytes);
int sea_vector_capacity(sea_vector vector, size_t *bytes);

/* Makes room for `bytes` in all; never shrinks. One call. */
int sea_vector_reserve(sea_vector vector, size_t bytes);

/* Removes the contents; the room stays. One call. */
int sea_vector_clear(sea_vector vector);

/* Appends bytes; *position (may be NULL) is where they begin. Grows by doubling. Zero bytes are allowed. One call. */
int sea_vector_push_back(sea_vector vector, const void *data, size_t bytes, size_t *position);
int sea_vector_push_back_from(sea_vector vector, sea_addr source, size_t bytes, size_t *position);

/* Removes the last bytes and copies them to `out` (may be NULL). SEA_ERR_ADDRESS if there are fewer. One call. */
int sea_vector_pop_back(sea_vector vector, void *out, size_t bytes);

/* Puts bytes before the one at `position` (0 .. size). One call. */
int sea_vector_insert(sea_vector vector, size_t position, const void *data, size_t bytes);
int sea_vector_insert_from(sea_vector vector, size_t position, sea_addr source, size_t bytes);

/* Inserts `bytes` of another vector (or of the same) from its position `first`; SEA_REST: all from there. Two calls, a
 * read and an insert. */
int sea_vector_insert_range(sea_vector vector, size_t position, sea_vector source, size_t first, size_t bytes);

/* Removes bytes; those behind move down. bytes may be SEA_REST. One call. */
int sea_vector_erase(sea_vector vector, size_t position, size_t bytes);

/* Copies bytes out of it or over those in it, as one step. One call each. */
int sea_vector_read(sea_vector vector, size_t position, void *out, size_t bytes);
int sea_vector_write(sea_vector vector, size_t position, const void *data, size_t bytes);

/* Replaces the contents by these bytes. One call. */
int sea_vector_assign(sea_vector vector, const void *data, size_t bytes);
int sea_vector_assign_from(sea_vector vector, sea_addr source, size_t bytes);

/* Replaces the contents by bytes of another vector (or of the same); SEA_REST: all from there. Two calls, a read and an
 * assignment. */
int sea_vector_assign_range(sea_vector vector, sea_vector source, size_t first, size_t bytes);

/* The global address of the byte at `position` (0 .. size), for sea_get() and sea_put(); what is behind it up to the
 * size is contiguous. Valid until the contents move: a growth, assignment, swap or destruction. Accesses to it do not
 * wait for calls on the vector. One call. */
int sea_vector_at(sea_vector vector, size_t position, sea_addr *address);

/* Exchanges the contents of two vectors. One call if they have the same owner; else two reads and two assignments, each
 * a step of its own, and an error in between leaves the second one as it was. */
int sea_vector_swap(sea_vector a, sea_vector b);

/* ---- Deque ------------------------------------------------------------------------------------------------------ */
/* As a vector, but it also grows and shrinks at the front in constant time (amortised). Its contents are contiguous,
 * too; position 0 is the front, wherever that has moved. */

typedef struct sea_deque {
    sea_addr at;
} sea_deque;

/* All as for the vector, but that the contents may also move before the capacity is used up: when the end that grows
 * has no room left beside them. _at is valid until the next call that changes the deque other than by pop_front or
 * pop_back. push_front puts the bytes before the first (in their order); pop_front removes the first bytes. */
int sea_deque_create(int owner, size_t capacity, sea_deque *deque);
int sea_deque_destroy(sea_deque deque);
int sea_deque_size(sea_deque deque, size_t *bytes);
int sea_deque_capacity(sea_deque deque, size_t *bytes);
int sea_deque_reserve(sea_deque deque, size_t bytes);
int sea_deque_clear(sea_deque deque);
int sea_deque_push_back(sea_deque deque, const void *data, size_t bytes);
int sea_deque_push_back_from(sea_deque deque, sea_addr source, size_t bytes);
int sea_deque_push_front(sea_deque deque, const void *data, size_t bytes);
int sea_deque_push_front_from(sea_deque deque, sea_addr source, size_t bytes);
int sea_deque_pop_back(sea_deque deque, void *out, size_t bytes);
int sea_deque_pop_front(sea_deque deque, void *out, size_t bytes);
int sea_deque_insert(sea_deque deque, size_t position, const void *data, size_t bytes);
int sea_deque_insert_from(sea_deque deque, size_t position, sea_addr source, size_t bytes);
int sea_deque_insert_range(sea_deque deque, size_t position, sea_deque source, size_t first, size_t bytes);
int sea_deque_erase(sea_deque deque, size_t position, size_t bytes);
int sea_deque_read(sea_deque deque, size_t position, void *out, size_t bytes);
int sea_deque_write(sea_deque deque, size_t position, const void *data, size_t bytes);
int sea_deque_assign(sea_deque deque, const void *data, size_t bytes);
int sea_deque_assign_from(sea_deque deque, sea_addr source, size_t bytes);
int sea_deque_assign_range(sea_deque deque, sea_deque source, size_t first, size_t bytes);
int sea_deque_at(sea_deque deque, size_t position, sea_addr *address);
int sea_deque_swap(sea_deque a, sea_deque b);

/* ---- List ------------------------------------------------------------------------------------------------------- */
/* Elements of any size (0 is allowed), in an order that is kept at the list's owner. The bytes of an element lie on the
 * rank that its creator chose, and stay at their address until the element is erased. An element whose bytes lie on the
 * owner, or in the node of the caller who makes it, costs one call; on another rank it costs one message more. */

typedef struct sea_list {
    sea_addr at;
} sea_list;

/* A place in a list: an element, or the end (`entry` is list.at then). One whose element is gone gives SEA_ERR_HANDLE
 * wherever it is used, not another element. `stamp` may be set to 0 by programs that have no room for it: then only 6
 * bits of it, which are also in `entry`, are compared. Iterators into other places stay valid when an element is
 * inserted or erased. */
typedef struct sea_list_it {
    sea_list list;
    sea_addr entry;
    uint64_t stamp;
} sea_list_it;

typedef struct sea_list_entry {
    sea_list_it it;
    sea_addr data; /* the bytes, for sea_get() and sea_put(); 64-byte aligned on another rank than the owner, else 8 */
    size_t bytes;
} sea_list_entry;

/* Makes an empty list. Frees a list with its elements (one call, and one message per element on a third rank). */
int sea_list_create(int owner, sea_list *list);
int sea_list_destroy(sea_list list);

/* How many elements it has. Removes them all (cost as destroy). */
int sea_list_size(sea_list list, size_t *elements);
int sea_list_clear(sea_list list);

/* Adds an element, with its bytes on `rank`, at the end, at the front, or before an iterator. *it (may be NULL) is the
 * new element. */
int sea_list_push_back(sea_list list, int rank, const void *data, size_t bytes, sea_list_it *it);
int sea_list_push_back_from(sea_list list, int rank, sea_addr source, size_t bytes, sea_list_it *it);
int sea_list_push_front(sea_list list, int rank, const void *data, size_t bytes, sea_list_it *it);
int sea_list_push_front_from(sea_list list, int rank, sea_addr source, size_t bytes, sea_list_it *it);
int sea_list_insert(sea_list_it before, int rank, const void *data, size_t bytes, sea_list_it *it);
int sea_list_insert_from(sea_list_it before, int rank, sea_addr source, size_t bytes, sea_list_it *it);

/* Removes an element, or those from `first` to before `last`, and tells the one behind (next may be NULL). One call,
 * and one message per element on a third rank. The end cannot be erased: SEA_ERR_ADDRESS. SEA_ERR_ADDRESS also if
 * `last` does not come behind `first`. */
int sea_list_erase(sea_list_it it, sea_list_it *next);
int sea_list_erase_range(sea_list_it first, sea_list_it last, sea_list_it *next);

/* Removes the first or last element; its bytes go to `out` (room for `room`; NULL: they are dropped), their number to
 * *bytes (may be NULL). SEA_ERR_ADDRESS: the list is empty. SEA_ERR_INVALID: the element is larger than `room`, and
 * stays. Of concurrent calls each gets another element. Cost as erase; bytes on a third rank cost one get more, and the
 * element is removed before that: if it gives SEA_ERR_DEAD or SEA_ERR_LINK for that rank, the element is gone and its
 * bytes are lost. */
int sea_list_pop_front(sea_list list, void *out, size_t room, size_t *bytes);
int sea_list_pop_back(sea_list list, void *out, size_t room, size_t *bytes);

/* Removes the elements equal to these bytes; those equal to the one before them. *removed (may be NULL): how many. The
 * bytes may lie in an element of the list. One call if all bytes lie on the owner; else all are fetched, and each
 * removal is a call of its own. */
int sea_list_remove(sea_list list, const void *data, size_t bytes, size_t *removed);
int sea_list_unique(sea_list list, size_t *removed);

/* Turns the order around. One call. */
int sea_list_reverse(sea_list list);

/* Exchanges the elements of two lists. One call if they have the same owner: iterators then go with the elements, into
 * the other list (set their `list`). Else as splices of all elements, one by one. */
int sea_list_swap(sea_list a, sea_list b);

/* Moves the elements from `first` to before `last` of another list, or of the same, before `before`, which must not be
 * one of them (SEA_ERR_INVALID) but the first: then nothing changes. One call if the lists have the same owner: the
 * elements stay where they are, iterators go with them. Else a copy of each element is inserted there, its bytes where
 * the old ones lie, but on that list's owner if they lie on this one's, and the element is erased here: two to four
 * calls each. After an error those before it have moved and those behind it have not; the one at which it ended is in
 * one of the lists (unless others have removed it) or, after SEA_ERR_TIMEOUT, SEA_ERR_LINK and SEA_ERR_DEAD, it may be
 * in both. */
int sea_list_splice(sea_list_it before, sea_list_it first, sea_list_it last);

/* Replaces the elements by copies of those of another list from `first` to before `last`; inserts such copies. The
 * copies' bytes lie on the ranks of the originals. Fetches the originals, then a call for each element. */
int sea_list_assign(sea_list list, sea_list_it first, sea_list_it last);
int sea_list_insert_range(sea_list_it before, sea_list_it first, sea_list_it last);

/* The first element (the end if there is none), and the end. The second asks nobody, checks nothing. */
int sea_list_begin(sea_list list, sea_list_it *it);
static inline sea_list_it sea_list_end(sea_list list)
{
    sea_list_it it;
    it.list = list;
    it.entry = list.at;
    it.stamp = 0;
    return it;
}

/* The place `n` elements behind (n < 0: before) an iterator. SEA_ERR_ADDRESS: beyond the end or the first. One call. */
int sea_list_advance(sea_list_it it, int64_t n, sea_list_it *result);

/* How many elements lie between two places; SEA_ERR_ADDRESS if `last` does not come behind `first`. One call. */
int sea_list_distance(sea_list_it first, sea_list_it last, size_t *elements);

/* Where an element's bytes are. SEA_ERR_ADDRESS for the end. One call. */
int sea_list_get(sea_list_it it, sea_list_entry *entry);

/* Copies an element's bytes; SEA_ERR_INVALID if they are more than `room`. One call, and a get if they are more than 8
 * KB at an owner on another node, or are on a third rank: if others erase the element before that get, what it brings
 * may be of what lies there since. */
int sea_list_read(sea_list_it it, void *out, size_t room, size_t *bytes);

/* The next `n` elements from `from` on: *count of them (fewer: the end has come), and the list's version. One call. The
 * version changes with the order of the elements: insertions, removals, reorderings. */
int sea_list_fetch(sea_list_it from, sea_list_entry *entries, size_t n, size_t *count, uint64_t *version);

/* Gives the elements a new order: `order` has the `entry` of all n of them, each once (SEA_ERR_INVALID if not).
 * SEA_ERR_STATE: the version is not that of the list any more, nothing was done. So a caller sorts with a comparison of
 * its own: fetch all, sort, reorder; again if it came too late. One call. */
int sea_list_reorder(sea_list list, uint64_t version, const sea_addr *order, size_t n);

/* ---- Queue ------------------------------------------------------------------------------------------------------ */
/* First in, first out, for many producers and many consumers on any ranks. Elements are 0 bytes and more. Each is
 * popped once. Whoever waits sleeps, and is woken by a message of who makes its wait end. */

typedef struct sea_queue {
    sea_addr at;
} sea_queue;

/* Makes an empty queue that holds at most `limit` bytes of elements (each counts its size rounded up to 8, and 8); 0:
 * as many as the owner's heap has room for. One call. */
int sea_queue_create(int owner, size_t limit, sea_queue *queue);

/* Frees the queue and what is in it. Who waits at it gets SEA_ERR_HANDLE. */
int sea_queue_destroy(sea_queue queue);

/* How many elements are in it, and how many bytes they take, as the limit counts them (either may be NULL). One call.
 */
int sea_queue_size(sea_queue queue, size_t *elements, size_t *bytes);

/* Adds an element; waits up to `seconds` (SEA_FOREVER: without limit; 0: try once) for room if the queue has a limit.
 * One call if there is room.
 * SEA_ERR_TIMEOUT: there was none, or a process that is stopped has had the queue locked for a second or more. The
 * element is not in the queue and will not be: push it again, or not.
 * SEA_ERR_LINK: the owner was asked and has not answered, for 120 seconds or, with sea_set_timeout(), for that time (at
 * least 10 seconds, and at least `seconds`). The element may be in the queue, or come into it later.
 * SEA_ERR_INVALID: it exceeds the limit alone.
 * The elements of a thread come into the queue in the order of its calls, but for one that comes late after an
 * SEA_ERR_LINK. Of several that wait for room none has a claim to be the first. */
int sea_queue_push(sea_queue queue, const void *data, size_t bytes, double seconds);
int sea_queue_push_from(sea_queue queue, sea_addr source, size_t bytes, double seconds);

/* Takes the oldest element: *bytes of it go to `out`. Waits up to `seconds` for one. One call if there is one.
 * SEA_ERR_TIMEOUT: none came, or the queue is locked as above; nothing was taken and nothing will be.
 * SEA_ERR_LINK: as for push; an element may be taken out for nobody.
 * SEA_ERR_INVALID: it is larger than `room`, and stays the first. */
int sea_queue_pop(sea_queue queue, void *out, size_t room, size_t *bytes, double seconds);

#ifdef __cplusplus
}
#endif

#endif
