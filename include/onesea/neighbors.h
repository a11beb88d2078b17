/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbourhood channels: members of a team joined in a directed graph, over which they exchange step by step. The
 * graph is made once, with all its buffers; then a step costs one put with a signal per edge.
 *
 *     fill sea_neighbors_out(g, i) for every target
 *     sea_neighbors_start(g)             sends; does not wait for the data of others
 *     ... compute ...
 *     sea_neighbors_wait(g)              the data of all sources is here, the out-buffers may be filled again
 *     use sea_neighbors_in(g, i) for every source, until the next sea_neighbors_start(g)
 *
 * Every in-buffer exists twice, so that a neighbour that is a step ahead overwrites nothing; one that would be two
 * ahead is held back. Where an edge leads back, its data says that the buffer is free; else an 8-byte signal per step
 * does.
 *
 * Calls on one graph are made by one thread at a time (a second one gets SEA_ERR_STATE). A member of the team that ends
 * lets all calls on the graph that need others' data return SEA_ERR_DEAD, also at members that are not its neighbours.
 * Where the link to a neighbour ends, they return SEA_ERR_LINK; a member at which the graph has failed tells its
 * neighbours when it next calls something on the graph, so that who waits for it gets the same error, and so do those
 * who wait for these. If a neighbour has freed the graph before a step that needs it, or has given it up for another
 * reason, they return SEA_ERR_STATE. The texts name the rank. After each of these errors the graph can only be freed.
 */
#ifndef ONESEA_NEIGHBORS_H
#define ONESEA_NEIGHBORS_H

#include <onesea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A graph, in one process. A freed one is never given out again. */
typedef uint64_t sea_neighbors;
#define SEA_NEIGHBORS_NULL ((sea_neighbors)0)

/* An edge as one of its ends sees it: the other end, a member's number in the team (the caller itself is allowed), and
 * how many bytes travel each step (0 is allowed: a signal). */
typedef struct sea_neighbor {
    int member;
    size_t bytes;
} sea_neighbor;

/* Makes a graph; collective over the team. `sources` are the edges that lead to the caller, `targets` those that lead
 * away; either may be NULL if there are none. Several edges between the same two members are told apart by their order.
 * Both ends must name an edge with the same size. The buffers lie in the global heap: 2 x bytes for each source, bytes
 * for each target, rounded up to 64, and some tens of bytes for the graph and each edge. Fails at all members or at
 * none, unless a member ends, or is given up, or its time passes, meanwhile: then some may have the graph and find that
 * it has failed, and the buffers of those that have not stay allocated. Errors: SEA_ERR_INVALID (no team of the caller,
 * no such member, a negative number, ends that disagree: the text names the edge), SEA_ERR_MEMORY, SEA_ERR_DEAD,
 * SEA_ERR_LINK, SEA_ERR_TIMEOUT. */
int sea_neighbors_create(sea_team team, const sea_neighbor *sources, int n_sources, const sea_neighbor *targets,
                         int n_targets, sea_neighbors *graph);

/* The buffer whose contents the next step sends to target i; always the same memory, 64-byte aligned, zero at first.
 * Not to be written between start and wait. NULL (with sea_last_error()): no such graph or target. */
void *sea_neighbors_out(sea_neighbors graph, int i);

/* What source i has sent in the step that was waited for last; 64-byte aligned. Other memory after each step. NULL
 * (with sea_last_error()): no such graph or source, or no step was waited for, or the next one has been started. */
const void *sea_neighbors_in(sea_neighbors graph, int i);

/* Starts a step: gives the in-buffers of the last one up and sends the out-buffers. Waits only while a target is two
 * steps behind. Errors: SEA_ERR_HANDLE, SEA_ERR_STATE (a step is under way; a neighbour has left), SEA_ERR_DEAD,
 * SEA_ERR_LINK, SEA_ERR_TIMEOUT (with sea_set_timeout(); call it again). */
int sea_neighbors_start(sea_neighbors graph);

/* Waits for the data of all sources and until the out-buffers may be changed. Errors: SEA_ERR_HANDLE, SEA_ERR_STATE (no
 * step is under way; a neighbour has left), SEA_ERR_DEAD, SEA_ERR_LINK, SEA_ERR_TIMEOUT (with sea_set_timeout(); call
 * it again). */
int sea_neighbors_wait(sea_neighbors graph);

/* *done = 1 if the step is complete, as after sea_neighbors_wait(); else 0. Makes progress, does not wait. */
int sea_neighbors_test(sea_neighbors graph, int *done);

/* Frees the graph and its buffers; collective over the team, with no step under way unless the graph has failed. Waits
 * until all neighbours that live free it, too, so that nothing of theirs arrives in memory that has another use. Of a
 * graph that has failed the error is told again, and it is freed all the same; where a neighbour does not free it
 * within ten seconds the buffers stay allocated. Errors: SEA_ERR_HANDLE, SEA_ERR_STATE (a step is under way; a
 * neighbour has left before its time), SEA_ERR_DEAD, SEA_ERR_LINK, SEA_ERR_TIMEOUT (with sea_set_timeout(); the graph
 * is not freed yet, call it again). */
int sea_neighbors_free(sea_neighbors graph);

#ifdef __cplusplus
}
#endif

#endif
