/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACP on Onesea: channels and segmented buffers. Included by acp.h.
 *
 * Both lead from one process to another and back again to nobody. Neither needs the help of the other process's program
 * to make progress. What a wrong call returns stands with it; the failure is told as acp.h says.
 */
#ifndef ACP_CHANNEL_H
#define ACP_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Channels --------------------------------------------------------------------------------------------------- */

/* One end of a channel, and something that was asked of it. */
typedef struct chitem *acp_ch_t;
typedef struct chreqitem *acp_request_t;
#define ACP_CH_NULL ((acp_ch_t)0)
#define ACP_REQUEST_NULL ((acp_request_t)0)

/* Makes this process's end of a channel from one process to another; it is one of them. Does not wait. The n-th that
 * the one makes meets the n-th that the other makes between the same two in that direction. ACP_CH_NULL: this process
 * is neither or both, no such rank, the other has ended. */
acp_ch_t acp_create_ch(int sender, int receiver);

/* Start to send or receive a message of any size; how many may be under way is not limited, and they keep their order.
 * The buffer belongs to the library until the request is waited for. A message that is longer than the receiver's
 * buffer loses its end, a shorter one leaves the rest of the buffer as it was. ACP_REQUEST_NULL: no such channel, or it
 * goes the other way. */
acp_request_t acp_nbsend_ch(acp_ch_t ch, void *buf, size_t size);
acp_request_t acp_nbrecv_ch(acp_ch_t ch, void *buf, size_t size);

/* Starts to free this end, after all its requests; the channel is no argument for other calls from now on.
 * ACP_REQUEST_NULL: no such channel. */
acp_request_t acp_nbfree_ch(acp_ch_t ch);

/* acp_nbfree_ch() and acp_wait_ch(): returns when all requests of this end are complete; the other end may be freed
 * later. 0 or -1. */
int acp_free_ch(acp_ch_t ch);

/* Waits until a request is complete, and forgets it. Returns the bytes now in the buffer of a receive, 0 for others;
 * (size_t)-1: failed (the other process has ended, or has freed its end), or no such request. */
size_t acp_wait_ch(acp_request_t request);

/* Waits for `count` requests; sizes (NULL, or `count` of them) gets what acp_wait_ch() would return for each.
 * ACP_REQUEST_NULL among them is passed over, with size 0. All are forgotten and set to ACP_REQUEST_NULL. 0, or -1 if
 * any failed. */
int acp_waitall_ch(acp_request_t *request, int count, size_t *sizes);

/* ---- Segmented buffers ------------------------------------------------------------------------------------------ */
/* A ring of `segnum` segments of `segsize` bytes at either end, of which the source sends one after the other. Three
 * counts say where it is: tail (segments sent), head (segments given back by the destination), sent (segments at the
 * source that may be written again). Segment number n of the stream lies at buf + n % segnum * segsize. */

typedef struct segbufitem *acp_segbuf_t;
#define ACP_SEGBUF_NULL ((acp_segbuf_t)0)

/* Make the source's end of a buffer to `dst_rank`, or the destination's end of one from `src_rank`. Do not wait. The
 * n-th that the source makes for the destination meets the n-th that the destination makes for it; their sizes must be
 * equal. `buf` has segsize * segnum bytes and belongs to both until the end is disconnected or freed. ACP_SEGBUF_NULL:
 * no such rank, this rank, no memory there, a size or number of 0. */
acp_segbuf_t acp_create_src_segbuf(int dst_rank, void *buf, size_t segsize, size_t segnum);
acp_segbuf_t acp_create_dst_segbuf(int src_rank, void *buf, size_t segsize, size_t segnum);

/* Waits until the other end has been made. 0, also if the other end has sent what it had and is gone; 1: no such
 * buffer, the sizes differ, the other process has ended, this end has been disconnected. */
int acp_connect_segbuf(acp_segbuf_t segbuf);

/* 0 if acp_connect_segbuf() has returned 0 and neither end has been disconnected, else 1. */
int acp_isconnected_segbuf(acp_segbuf_t segbuf);

/* Destination: gives the segment at the head back to the source; head counts up. 0; 1: not connected, not the
 * destination, or all segments are with the source already. */
int acp_ready_segbuf(acp_segbuf_t segbuf);

/* Source: sends the next segment; tail counts up. Does not wait. 0; 1: not connected, not the source, no segment is
 * free at the destination (acp_isready_segbuf()). */
int acp_ack_segbuf(acp_segbuf_t segbuf);

/* 0 if there is a segment that the source may send, else 1. */
int acp_isready_segbuf(acp_segbuf_t segbuf);

/* 0 if there is a segment that the destination has got and not given back, else 1. */
int acp_isacked_segbuf(acp_segbuf_t segbuf);

/* The counts as this end knows them; -1: no such buffer, not connected, sent at the destination. */
int64_t acp_query_segbuf_head(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf);

/* Ends the connection from this end for good; waits until what it has sent is there. The buffer is the program's again,
 * and this end can only be freed. 0; 1: no such buffer, not connected. */
int acp_disconnect_segbuf(acp_segbuf_t segbuf);

/* Frees this end, disconnecting it first if need be. The buffer is the program's again. 0; 1: no such buffer. */
int acp_free_segbuf(acp_segbuf_t segbuf);

#ifdef __cplusplus
}
#endif

#endif
