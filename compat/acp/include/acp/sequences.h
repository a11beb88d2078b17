/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACP on Onesea: vector, deque and list. Included by acp.h.
 *
 * A structure lies on one process and is named by a handle, which may be copied and given to any process. Every process
 * may use it at any time; what several do at once has an effect as if one came after the other, but for the calls on
 * lists that are several messages and say so: others may see and change what lies between. Bytes to be stored are
 * named by their global address, on any process. All sizes, indices and distances are in bytes. Calls that return
 * nothing tell their failures as acp.h says: a structure that was destroyed, an erased element, a place that is not
 * inside.
 */
#ifndef ACP_SEQUENCES_H
#define ACP_SEQUENCES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Vector ------------------------------------------------------------------------------------------------------ */
/* Bytes in a row that grow at the end. Each call is one message to its process, and takes effect in one step. */

typedef struct {
    acp_ga_t ga; /* ACP_GA_NULL: none */
} acp_vector_t;

/* A place in it: the byte number `index`. */
typedef struct {
    acp_vector_t vector;
    int index;
} acp_vector_it_t;

/* Makes one on a process with `size` bytes in it, all zero (0 is allowed). .ga is ACP_GA_NULL if that failed. */
acp_vector_t acp_create_vector(size_t size, int rank);

/* Frees it with its contents. */
void acp_destroy_vector(acp_vector_t vector);

/* Replaces the contents by those of another one, or by bytes of one from `start` to before `end`. */
void acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2);
void acp_assign_range_vector(acp_vector_t vector, acp_vector_it_t start, acp_vector_it_t end);

/* The global address of a byte, valid until the contents move: a growth, assignment, swap or destruction. ACP_GA_NULL:
 * it is not inside, as the place behind the last. */
acp_ga_t acp_at_vector(acp_vector_t vector, int index);

/* Bytes in it, bytes that it can hold before its contents move; 0 on a failure. 1 if it is empty, else 0. */
size_t acp_size_vector(acp_vector_t vector);
size_t acp_capacity_vector(acp_vector_t vector);
int acp_empty_vector(acp_vector_t vector);

/* Makes room for `size` bytes in all; removes the contents. */
void acp_reserve_vector(acp_vector_t vector, size_t size);
void acp_clear_vector(acp_vector_t vector);

/* Appends `size` bytes from a global address; removes the last `size` bytes, of which there must be so many. */
void acp_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size);
void acp_pop_back_vector(acp_vector_t vector, size_t size);

/* Put bytes from a global address, or of another one from `start` to before `end`, before a place. Return the place of
 * the first of them; `it` if that failed. */
acp_vector_it_t acp_insert_vector(acp_vector_it_t it, const acp_ga_t ga, size_t size);
acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it, acp_vector_it_t start, acp_vector_it_t end);

/* Remove bytes. Return the place behind them. */
acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size);
acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end);

/* Exchanges the contents of two. */
void acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2);

/* The first place, and the one behind the last byte. */
acp_vector_it_t acp_begin_vector(acp_vector_t vector);
acp_vector_it_t acp_end_vector(acp_vector_t vector);

/* The place n bytes on (n may be negative; not checked). How many bytes lie between two. */
acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int n);
int acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last);

/* The address of the byte there, as acp_at_vector(). */
acp_ga_t acp_dereference_vector_it(acp_vector_it_t it);

/* ---- Deque ------------------------------------------------------------------------------------------------------- */
/* As a vector, but it also grows and shrinks at the front. */

typedef struct {
    acp_ga_t ga; /* ACP_GA_NULL: none */
} acp_deque_t;

/* A place in it: the byte number `index`. */
typedef struct {
    acp_deque_t deque;
    int index;
} acp_deque_it_t;

/* Makes one on a process with `size` bytes in it, all zero (0 is allowed). .ga is ACP_GA_NULL if that failed. */
acp_deque_t acp_create_deque(size_t size, int rank);

/* Frees it with its contents. */
void acp_destroy_deque(acp_deque_t deque);

/* Replaces the contents by those of another one, or by bytes of one from `start` to before `end`. */
void acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2);
void acp_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end);

/* The global address of a byte, valid until the next call that changes the deque. ACP_GA_NULL: it is not inside, as the
 * place behind the last. */
acp_ga_t acp_at_deque(acp_deque_t deque, int index);

/* Bytes in it, bytes that it can hold before its contents move; 0 on a failure. 1 if it is empty, else 0. */
size_t acp_size_deque(acp_deque_t deque);
size_t acp_capacity_deque(acp_deque_t deque);
int acp_empty_deque(acp_deque_t deque);

/* Makes room for `size` bytes in all; removes the contents. */
void acp_reserve_deque(acp_deque_t deque, size_t size);
void acp_clear_deque(acp_deque_t deque);

/* Appends `size` bytes from a global address; removes the last `size` bytes, of which there must be so many. */
void acp_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
void acp_pop_back_deque(acp_deque_t deque, size_t size);

/* The same at the front. */
void acp_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
void acp_pop_front_deque(acp_deque_t deque, size_t size);

/* Put bytes from a global address, or of another one from `start` to before `end`, before a place. Return the place of
 * the first of them; `it` if that failed. */
acp_deque_it_t acp_insert_deque(acp_deque_it_t it, const acp_ga_t ga, size_t size);
acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it, acp_deque_it_t start, acp_deque_it_t end);

/* Remove bytes. Return the place behind them. */
acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size);
acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end);

/* Exchanges the contents of two. */
void acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2);

/* The first place, and the one behind the last byte. */
acp_deque_it_t acp_begin_deque(acp_deque_t deque);
acp_deque_it_t acp_end_deque(acp_deque_t deque);

/* The place n bytes on (n may be negative; not checked). How many bytes lie between two. */
acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int n);
int acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last);

/* Where `size` bytes from there on lie. They are contiguous here: .second is always empty. Both are ACP_GA_NULL with 0
 * bytes if there are not so many. */
acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size);

/* ---- List -------------------------------------------------------------------------------------------------------- */
/* Elements of any size in an order that is kept on the list's process; the bytes of each lie on a process of their own.
 * A call is one message to the list's process, and one more for bytes that lie on another. The others say so. */

typedef struct {
    acp_ga_t ga; /* ACP_GA_NULL: none */
} acp_list_t;

/* A place in a list: an element, or the end (elem is list.ga). elem ACP_GA_NULL: no place. It stays valid while others
 * are inserted and erased. That of an erased element is an error, but may be taken for that of another one that came to
 * lie there: `elem` has room for 6 bits of what tells them apart. */
typedef struct {
    acp_list_t list;
    acp_ga_t elem;
} acp_list_it_t;

/* Makes an empty list on a process (.ga is ACP_GA_NULL if that failed); frees a list with its elements. */
acp_list_t acp_create_list(int rank);
void acp_destroy_list(acp_list_t list);

/* Replace the elements by copies of those of another list, or of those from `start` to before `end`. A message for
 * each: the originals are looked at first, then the list is emptied, then others see it grow. If an original
 * is removed while it is looked at, the second form may fail and change nothing, and the first form looks again; its
 * copy may have any bytes. */
void acp_assign_list(acp_list_t list1, acp_list_t list2);
void acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end);

/* How many elements it has; 1 if it has none, else 0. Removes them all. */
size_t acp_size_list(acp_list_t list);
int acp_empty_list(acp_list_t list);
void acp_clear_list(acp_list_t list);

/* Add an element, a copy of these bytes on process `rank`. */
void acp_push_back_list(acp_list_t list, const acp_element_t elem, int rank);
void acp_push_front_list(acp_list_t list, const acp_element_t elem, int rank);

/* Remove the last or the first element; an error if there is none. */
void acp_pop_back_list(acp_list_t list);
void acp_pop_front_list(acp_list_t list);

/* Insert before a place: a copy of these bytes on process `rank`; copies of elements of another list (a message for
 * each: others see them one after the other, and what they insert there may come between). Return the place of the
 * first; of the second form, `it` if there are none. elem ACP_GA_NULL if that failed; those before the failure stay. */
acp_list_it_t acp_insert_list(acp_list_it_t it, const acp_element_t elem, int rank);
acp_list_it_t acp_insert_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);

/* Remove an element, or those from `start` to before `end`. Return the place behind; elem ACP_GA_NULL if that failed.
 */
acp_list_it_t acp_erase_list(acp_list_it_t it);
acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end);

/* Removes all elements equal to these bytes; all that are equal to the one before them. A message for each if bytes lie
 * on another process than the list. */
void acp_remove_list(acp_list_t list, const acp_element_t elem);
void acp_unique_list(acp_list_t list);

/* Turns the order around. Exchanges the elements of two lists; messages for each if the lists lie on two processes. */
void acp_reverse_list(acp_list_t list);
void acp_swap_list(acp_list_t list1, acp_list_t list2);

/* Sorts by comp(a, b): negative if a comes first, 0 if they are equal (then they keep their order), else positive. It
 * is called here, with the global addresses of the elements' bytes, which are gone if others remove the element. Two
 * messages, and again if others change the list meanwhile. */
void acp_sort_list(acp_list_t list, int (*comp)(const acp_element_t elem1, const acp_element_t elem2));

/* Moves the elements of a sorted list2 into a sorted list1, so that it stays sorted; equal ones of list1 come first.
 * Others see those of list2 at the end of list1 first (messages for each if the lists lie on two processes), then all
 * in order, also what was added meanwhile. */
void acp_merge_list(acp_list_t list1, acp_list_t list2,
                    int (*comp)(const acp_element_t elem1, const acp_element_t elem2));

/* Move the element at it2, or those from `start` to before `end`, before the first place. The end is not moved. One
 * message for the second form, or messages for each if the lists lie on two processes. The first form asks for the
 * place behind it2 before that: what others insert there in between is moved, too; if they remove that element the call
 * fails. */
void acp_splice_list(acp_list_it_t it1, acp_list_it_t it2);
void acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);

/* The first element (the end if there is none), and the end. */
acp_list_it_t acp_begin_list(acp_list_t list);
acp_list_it_t acp_end_list(acp_list_t list);

/* The place n elements on (n may be negative), the next, the one before. elem ACP_GA_NULL: there is no such place. */
acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n);
acp_list_it_t acp_increment_list_it(acp_list_it_t it);
acp_list_it_t acp_decrement_list_it(acp_list_it_t it);

/* How many elements lie between two places, the first before the second; -1 if that failed. */
int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last);

/* Where an element's bytes are; ga ACP_GA_NULL: it has been erased, or is the end. */
acp_element_t acp_dereference_list_it(acp_list_it_t it);

#ifdef __cplusplus
}
#endif

#endif
