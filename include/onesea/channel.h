/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: messages in one direction between two ranks, in order, of any size.
 *
 * Both ranks open their end, each when it likes; neither waits for the other. Several channels may lead from one rank
 * to another: the first that the one opens meets the first that the other opens, and so on. Nothing is agreed
 * elsewhere: the ends find each other in the background, and requests made before simply wait.
 *
 * Requests. A send, a receive and a close are requests. They take effect in the order of their calls, however many
 * there are. Options are those of sea_opts: opts NULL, or with neither `op` nor SEA_NOWAIT, waits; with `op` or
 * SEA_NOWAIT the call never waits. The handle is waited for, tested, and used as a start condition like that of a put.
 * `after` holds the request back, and with it all later ones of this end. Counters of this rank count; there is no
 * target counter (SEA_ERR_INVALID), and no SEA_ORDERED: that is how they are. Local and remote completion of a request
 * are the same moment. Fences and SEA_OP_ALL do not cover requests: a fence does not wait for somebody else's receive.
 * sea_finalize() does not either: what is not complete then is given up; close the channel first. A handler of an
 * active message may make requests but must not wait for one.
 *
 * Room. A message of up to some KB (whatever the transport sends in one go) travels at once and waits at the receiver,
 * up to 64 messages and 64 KB per channel; beyond that, the sender's requests wait. A longer message stays in the
 * sender's buffer until it is received and then goes straight into the receiver's buffer. A channel that is not in use
 * owns a few hundred bytes at each end, and nothing when both ends are closed.
 *
 * Death. When the other rank has ended, what it sent in full can still be received; every other request ends at once
 * with SEA_ERR_DEAD. So it does with SEA_ERR_LINK when that rank cannot be reached any more, which a request finds out
 * that waits for it.
 */
#ifndef ONESEA_CHANNEL_H
#define ONESEA_CHANNEL_H

#include <onesea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a channel, in the process that opened it. A closed one is never given out again. */
typedef uint64_t sea_channel;
#define SEA_CHANNEL_NULL ((sea_channel)0)

/* Opens this rank's end of the next channel from `sender` to `receiver`; this rank is one of the two. Local, does not
 * wait. Errors: SEA_ERR_INVALID (this rank is neither, or both), SEA_ERR_RANK, SEA_ERR_DEAD, SEA_ERR_MEMORY. */
int sea_channel_open(int sender, int receiver, sea_channel *channel);

/* Sends `bytes` (0 is allowed) from `data`. Complete when `data` may be changed again; a long message then has been
 * received. A blocking call that runs into the limit of sea_set_timeout() takes the message back if nothing of it has
 * been told to the receiver; else it goes on, and `data` stays in use until the channel is closed. Errors:
 * SEA_ERR_HANDLE (no open channel), SEA_ERR_STATE (this end receives; or it is being closed), SEA_ERR_DEAD,
 * SEA_ERR_LINK, SEA_ERR_MEMORY; SEA_ERR_STATE of the operation: the receiver has closed its end without receiving it.
 */
int sea_channel_send(sea_channel channel, const void *data, size_t bytes, const sea_opts *opts);

/* What a receive has brought. */
typedef struct sea_received {
    size_t bytes;     /* now in the buffer; what lies behind them there is as before */
    size_t discarded; /* more than that the message had, because the buffer was shorter */
} sea_received;

/* Receives the next message into `buffer` of `bytes` (0 is allowed) and fills *received (may be NULL); both belong to
 * the library until the operation is complete, and are written only if that is SEA_OK. Time-outs of blocking calls as
 * with a send. Errors: SEA_ERR_HANDLE (no open channel), SEA_ERR_STATE (this end sends; or it is being closed),
 * SEA_ERR_DEAD, SEA_ERR_LINK, SEA_ERR_MEMORY; SEA_ERR_STATE of the operation: the sender has closed its end, and no
 * message is left. */
int sea_channel_receive(sea_channel channel, void *buffer, size_t bytes, sea_received *received, const sea_opts *opts);

/* Closes this end behind all its earlier requests; the name is invalid for further calls at once. Complete when these
 * have ended and the other end is closed, too; a sender's messages have then been received. Messages that nobody has
 * received when the receiving end is closed are thrown away. A blocking call that runs into the limit of
 * sea_set_timeout() returns SEA_ERR_TIMEOUT; the closing goes on. Errors: SEA_ERR_HANDLE (no open channel),
 * SEA_ERR_DEAD (nothing is left of the channel all the same). */
int sea_channel_close(sea_channel channel, const sea_opts *opts);

/* The two ranks of an open channel; each output may be NULL. Errors: SEA_ERR_HANDLE. */
int sea_channel_ends(sea_channel channel, int *sender, int *receiver);

#ifdef __cplusplus
}
#endif

#endif
