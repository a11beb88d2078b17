/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives beside those of onesea.h, whose rules hold here, too (order, threads, deaths, what ends a team): parts of
 * different sizes, as MPI_Gatherv() and the like have them, sums over the members up to one's own (scan), and sums of
 * which every member gets a part.
 *
 * Parts are described by two arrays with one entry per member: `bytes[m]` is the size of member m's part, and it begins
 * `offsets[m]` bytes behind the start of the buffer. NULL instead of offsets: the parts follow each other without gaps.
 * Parts may be empty and lie in any order; those of an output must not overlap, and nothing is written between them.
 * Input and output must not overlap from the first to the last of their bytes, gaps included, unless a function says
 * otherwise.
 *
 * Who sends and who receives a part must give the same size; else the team ends for all with SEA_ERR_INVALID. What is
 * wrong in one member's arguments alone (SEA_ERR_INVALID: no such root, parts of an output that overlap, the own part
 * of another size than is sent to it, a null buffer that has bytes, more bytes than any memory holds) is found before
 * anything is sent, and the text says which.
 */
#ifndef ONESEA_COLLECTIVE_H
#define ONESEA_COLLECTIVE_H

#include <onesea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everybody's `own_bytes` bytes become its part of root's output. `output`, `bytes` and `offsets` matter at root only,
 * whose `input` may be its own part of `output`, in place. Who sends a part of more than 512 KiB, divided by the
 * members, waits until root has it; in sea_scatterv() root waits so for parts of more than 512 KiB. MPI_Gatherv(). */
int sea_gatherv(sea_team team, int root, const void *input, size_t own_bytes, void *output, const size_t *bytes,
                const size_t *offsets);

/* The parts of root's input become everybody's output. `input`, `bytes` and `offsets` matter at root only, where parts
 * may overlap, and whose `output` may be its own part of `input`. MPI_Scatterv(). */
int sea_scatterv(sea_team team, int root, const void *input, const size_t *bytes, const size_t *offsets, void *output,
                 size_t own_bytes);

/* Everybody's `input`, of bytes[m] for member m, becomes its part of everybody's output. All give the same `bytes`;
 * offsets may differ. `input` may be the own part of `output`. MPI_Allgatherv(). */
int sea_allgatherv(sea_team team, const void *input, void *output, const size_t *bytes, const size_t *offsets);

/* Part j of member i's input becomes part i of member j's output. Parts of the input may overlap. An empty part is a
 * message, too, so that a size on which two members do not agree is found out; where most parts are empty
 * sea_neighbors_create() costs less. MPI_Alltoallv(). */
int sea_alltoallv(sea_team team, const void *input, const size_t *input_bytes, const size_t *input_offsets,
                  void *output, const size_t *output_bytes, const size_t *output_offsets);

/* Element-wise over the members up to the caller, in their order: with the caller's own input in the first form, and
 * without it in the second, where nothing is written at member 0. The result is the same bits on every run with the
 * same team size. `input` and `output` may be the same. MPI_Scan(), MPI_Exscan(). */
int sea_scan(sea_team team, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op);
int sea_exscan(sea_team team, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op);

/* Element-wise over all members; member m gets the elements m * count to (m + 1) * count - 1 of the result. `input` has
 * count elements for each member, `output` count; they must not overlap. The same bits on every run with the same team
 * size. MPI_Reduce_scatter_block(). */
int sea_reduce_scatter(sea_team team, const void *input, void *output, size_t count, sea_type type, sea_reduce_op op);

#ifdef __cplusplus
}
#endif

#endif
