/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACP on Onesea: set, multiset and map. Included by acp.h.
 *
 * Hash tables, spread over processes. Keys and values are strings of bytes (a key has 1 byte or more; at most 512 MiB
 * each), named by their global addresses on any process; the table keeps copies. A call on a key is one message to the
 * process that has its part, and takes effect at once. A handle may be copied and given to any process, and all may use
 * it at any time. Entries come part by part, slot by slot, in the order of insertion; the part and the slot follow from
 * the CRC-64 of the key. Names with _local_ are about the parts on the calling process. Failures are told as acp.h
 * says.
 */
#ifndef ACP_TABLES_H
#define ACP_TABLES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Set --------------------------------------------------------------------------------------------------------- */
/* Keys, each once. */

typedef struct {
    acp_ga_t ga; /* ACP_GA_NULL: none */
    uint64_t num_ranks, num_slots;
} acp_set_t;

/* A place: part number `rank`, slot, and the entry. elem ACP_GA_NULL: the end. */
typedef struct {
    acp_set_t set;
    int rank, slot;
    acp_ga_t elem;
} acp_set_it_t;

/* Makes an empty one with a part of `num_slots` slots on each of these processes, and its directory on `rank`. .ga is
 * ACP_GA_NULL if that failed. Frees one with its entries. */
acp_set_t acp_create_set(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_set(acp_set_t set);

/* 1: stored; 0: the key was there, or it failed. */
int acp_insert_set(acp_set_t set, acp_element_t key);

/* The place of a key; the end if it is not there. */
acp_set_it_t acp_find_set(acp_set_t set, acp_element_t key);

/* Removes a key; one that is not there is no error. */
void acp_remove_set(acp_set_t set, acp_element_t key);

/* Number of keys, 0 on a failure; 1 if there is none, else 0. Removes all. */
size_t acp_size_set(acp_set_t set);
size_t acp_size_local_set(acp_set_t set);
int acp_empty_set(acp_set_t set);
int acp_empty_local_set(acp_set_t set);
void acp_clear_set(acp_set_t set);

/* assign: removes all of the first, then merges. merge: inserts copies of all entries of the second in the first; keys
 * that are there stay. move: the same, and removes them from the second. Exchanges the entries of two. A message for
 * each batch of entries. */
void acp_assign_set(acp_set_t set1, acp_set_t set2);
void acp_assign_local_set(acp_set_t set1, acp_set_t set2);
void acp_merge_set(acp_set_t set1, acp_set_t set2);
void acp_merge_local_set(acp_set_t set1, acp_set_t set2);
void acp_move_set(acp_set_t set1, acp_set_t set2);
void acp_move_local_set(acp_set_t set1, acp_set_t set2);
void acp_swap_set(acp_set_t set1, acp_set_t set2);

/* The first place, and the end. From a local one acp_increment_set_it() stays on this process. */
acp_set_it_t acp_begin_set(acp_set_t set);
acp_set_it_t acp_begin_local_set(acp_set_t set);
acp_set_it_t acp_end_set(acp_set_t set);
acp_set_it_t acp_end_local_set(acp_set_t set);

/* The next place; the end after the last, and if that failed. */
acp_set_it_t acp_increment_set_it(acp_set_it_t it);

/* Where the key is; ga ACP_GA_NULL: the end, or it has been removed. Or then it names another entry of the same slot
 * that came to lie there. */
acp_element_t acp_dereference_set_it(acp_set_it_t it);

/* ---- Multiset ---------------------------------------------------------------------------------------------------- */
/* Keys, each with a count. Its iterators call it `set`. */

typedef struct {
    acp_ga_t ga; /* ACP_GA_NULL: none */
    uint64_t num_ranks, num_slots;
} acp_multiset_t;

/* A place: part number `rank`, slot, and the entry. elem ACP_GA_NULL: the end. */
typedef struct {
    acp_multiset_t set;
    int rank, slot;
    acp_ga_t elem;
} acp_multiset_it_t;

/* Makes an empty one with a part of `num_slots` slots on each of these processes, and its directory on `rank`. .ga is
 * ACP_GA_NULL if that failed. Frees one with its entries. */
acp_multiset_t acp_create_multiset(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_multiset(acp_multiset_t set);

/* Counts the key up by 1; one that is not there has 0. 1, or 0: failed. */
int acp_insert_multiset(acp_multiset_t set, acp_element_t key);

/* The count of a key; 0 if it is not there. */
uint64_t acp_retrieve_multiset(acp_multiset_t set, acp_element_t key);

/* The place of a key; the end if it is not there. */
acp_multiset_it_t acp_find_multiset(acp_multiset_t set, acp_element_t key);

/* Counts a key down by 1, and removes it at 0; removes it whatever its count. One that is not there is no error. */
void acp_remove_multiset(acp_multiset_t set, acp_element_t key);
void acp_remove_all_multiset(acp_multiset_t set, acp_element_t key);

/* Number of keys, 0 on a failure; 1 if there is none, else 0. Removes all. */
size_t acp_size_multiset(acp_multiset_t set);
size_t acp_size_local_multiset(acp_multiset_t set);
int acp_empty_multiset(acp_multiset_t set);
int acp_empty_local_multiset(acp_multiset_t set);
void acp_clear_multiset(acp_multiset_t set);

/* assign: removes all of the first, then merges. merge: inserts copies of all entries of the second in the first;
 * counts are added. move: the same, and removes them from the second. Exchanges the entries of two. A message for each
 * batch of entries. */
void acp_assign_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_assign_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_merge_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_merge_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_move_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_move_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
void acp_swap_multiset(acp_multiset_t set1, acp_multiset_t set2);

/* The first place, and the end. From a local one acp_increment_multiset_it() stays on this process. */
acp_multiset_it_t acp_begin_multiset(acp_multiset_t set);
acp_multiset_it_t acp_begin_local_multiset(acp_multiset_t set);
acp_multiset_it_t acp_end_multiset(acp_multiset_t set);
acp_multiset_it_t acp_end_local_multiset(acp_multiset_t set);

/* The next place; the end after the last, and if that failed. */
acp_multiset_it_t acp_increment_multiset_it(acp_multiset_it_t it);

/* Where the key is; ga ACP_GA_NULL: the end, or it has been removed. Or then it names another entry of the same slot
 * that came to lie there. */
acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it);

/* ---- Map --------------------------------------------------------------------------------------------------------- */
/* Keys, each with a value. */

typedef struct {
    acp_ga_t ga; /* ACP_GA_NULL: none */
    uint64_t num_ranks, num_slots;
} acp_map_t;

/* A place: part number `rank`, slot, and the entry. elem ACP_GA_NULL: the end. */
typedef struct {
    acp_map_t map;
    int rank, slot;
    acp_ga_t elem;
} acp_map_it_t;

typedef struct {
    acp_map_it_t it;
    int success;
} acp_map_ib_t;

/* Makes an empty one with a part of `num_slots` slots on each of these processes, and its directory on `rank`. .ga is
 * ACP_GA_NULL if that failed. Frees one with its entries. */
acp_map_t acp_create_map(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_map(acp_map_t map);

/* Stores copies of the key, first, and the value, second. 1: stored; 0: the key was there and keeps its value, or it
 * failed. */
int acp_insert_map(acp_map_t map, acp_pair_t pair);

/* Copies the value of the key, first, to second.ga, at most second.size bytes. Returns how long the value is; 0: not
 * there, or failed. */
size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair);

/* The place of a key; the end if it is not there. */
acp_map_it_t acp_find_map(acp_map_t map, acp_element_t key);

/* Removes a key with its value; one that is not there is no error. */
void acp_remove_map(acp_map_t map, acp_element_t key);

/* Number of keys, 0 on a failure; 1 if there is none, else 0. Removes all. */
size_t acp_size_map(acp_map_t map);
size_t acp_size_local_map(acp_map_t map);
int acp_empty_map(acp_map_t map);
int acp_empty_local_map(acp_map_t map);
void acp_clear_map(acp_map_t map);
void acp_clear_local_map(acp_map_t map);

/* assign: removes all of the first, then merges. merge: inserts copies of all entries of the second in the first; keys
 * that are there keep their value. move: the same, and removes them from the second. Exchanges the entries of two. A
 * message for each batch of entries. */
void acp_assign_map(acp_map_t map1, acp_map_t map2);
void acp_assign_local_map(acp_map_t map1, acp_map_t map2);
void acp_merge_map(acp_map_t map1, acp_map_t map2);
void acp_merge_local_map(acp_map_t map1, acp_map_t map2);
void acp_move_map(acp_map_t map1, acp_map_t map2);
void acp_move_local_map(acp_map_t map1, acp_map_t map2);
void acp_swap_map(acp_map_t map1, acp_map_t map2);

/* The first place, and the end. From a local one acp_increment_map_it() stays on this process. */
acp_map_it_t acp_begin_map(acp_map_t map);
acp_map_it_t acp_begin_local_map(acp_map_t map);
acp_map_it_t acp_end_map(acp_map_t map);
acp_map_it_t acp_end_local_map(acp_map_t map);

/* The next place; the end after the last, and if that failed. */
acp_map_it_t acp_increment_map_it(acp_map_it_t it);

/* Where key and value are; both ga ACP_GA_NULL: the end, or it has been removed. Or then it names another entry of the
 * same slot that came to lie there. */
acp_pair_t acp_dereference_map_it(acp_map_it_t it);

#ifdef __cplusplus
}
#endif

#endif
