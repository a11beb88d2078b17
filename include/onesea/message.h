/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Onesea: matched messages. A message goes from a member of a team to another one (or to itself), carries a tag, and is
 * taken by a receive that names team, source and tag, or leaves source or tag open.
 *
 * Order. Two messages from one member to another in one team are matched in the order in which they were sent, whatever
 * their sizes; a receive takes the earliest message that fits, a message the earliest receive that fits. Between
 * messages of different threads of one rank the order is that of their calls. Messages of different teams never meet.
 *
 * Completion. A send is complete when its data may be changed again, a receive when its data is there. Handles,
 * counters and start conditions of the options work as for transfers (onesea.h), where local and remote completion are
 * the same; a target counter and SEA_ORDERED are not allowed. Fences and sea_finalize() do not wait for messages, and
 * neither does the start condition SEA_OP_ALL: at sea_finalize() what has not been received is given up. What fails
 * without a handle is told by the next fence of the target, for a receive by that of the own rank.
 *
 * Small messages are sent without asking and are received into memory that the library finds, also while the target's
 * program computes. How much of it a rank uses for messages that nobody has received is bounded: sea_message_memory().
 * Beyond the bound, and above some kilobytes, a message stays in the sender's memory until its receive is posted and is
 * then fetched straight into place. So a send may return before its receive is posted, but must not rely on it. What
 * nobody has received when a team is freed is received no more, and takes its memory until sea_finalize().
 *
 * Data that is not mapped is told (SEA_ERR_ADDRESS) only where another rank of the node copies it out of the sender's
 * memory, of messages above 8 KiB. Elsewhere the sender's process reads it and faults, as at any other access. So does
 * the receiver's with a buffer that cannot be written, but where it is told of it (SEA_ERR_INVALID).
 *
 * Waiting. A rank that cannot be reached any more is found out by whoever waits for a message of it, though nothing of
 * its own is under way there; who waits for any source asks one of the others after the other, each until it is given
 * up, and hears SEA_ERR_LINK when that is so of all.
 *
 * Errors that any call here may give beside those listed with it: SEA_ERR_INVALID (the team is none, or this rank is no
 * member of it; a tag below 0 that is not SEA_ANY_TAG; a null pointer), SEA_ERR_RANK (the team has no such member),
 * SEA_ERR_STATE.
 */
#ifndef ONESEA_MESSAGE_H
#define ONESEA_MESSAGE_H

#include <onesea.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEA_ANY_SOURCE (-1)
#define SEA_ANY_TAG (-1)
#define SEA_TAG_MAX INT32_MAX /* tags are 0 .. SEA_TAG_MAX */

typedef struct sea_message_info {
    int source; /* member of the team */
    int tag;
    size_t bytes; /* of the message, also when the memory given for it was less */
} sea_message_info;

/* Sends `bytes` at `data` (any memory of the process; may be NULL if there are none) to a member of the team. Without
 * options, or with options that ask for neither a handle nor SEA_NOWAIT, it returns when the data may be changed again:
 * at once for a small message that has room at the target, else when it has been received. So does a handle end; but
 * where many from 3 to 64 KiB go to another node in a row, and the program looks for no end between, when the target
 * has taken the message in, which needs no receive.
 * Errors: SEA_ERR_DEAD, SEA_ERR_LINK (the target ended, or cannot be reached, before the message was taken),
 * SEA_ERR_ADDRESS (the data is not mapped; see above), SEA_ERR_HANDLE (bad `after`), SEA_ERR_TIMEOUT (with
 * sea_set_timeout(); the message may still be taken, so the data must stay as it is). A small message to a rank that
 * dies later is lost without an error. */
int sea_message_send(sea_team team, int member, int tag, const void *data, size_t bytes, const sea_opts *opts);

/* Receives a message of that member (or SEA_ANY_SOURCE) with that tag (or SEA_ANY_TAG) into `buffer`. A longer one than
 * `capacity` fills it: SEA_ERR_TRUNCATED, the rest is lost. `info` may be NULL; it is written if one was received, also
 * truncated. With a handle or SEA_NOWAIT, buffer and info must stay until completion. The buffer may hold anything
 * while a message that the receive has met is coming, and after that one's error. Errors: SEA_ERR_DEAD, SEA_ERR_LINK
 * (the source, or with SEA_ANY_SOURCE the last of all others, ended or cannot be reached, and nothing that fits is
 * left), SEA_ERR_ADDRESS (the sender's data is not mapped), SEA_ERR_HANDLE (`after`), SEA_ERR_TIMEOUT (with
 * sea_set_timeout(): it is withdrawn, nothing will be written and no counter adds; one that has met its message goes on
 * past the time, until the data is there or the sender has ended). */
int sea_message_receive(sea_team team, int member, int tag, void *buffer, size_t capacity, sea_message_info *info,
                        const sea_opts *opts);

/* Withdraws a receive that no message has met; it completes with SEA_ERR_CANCELLED. One that a message has met goes on
 * to its own end. Either way the handle is still to be waited for or tested. SEA_OP_NONE, as of a receive that ended
 * within its call, is no error. Errors: SEA_ERR_HANDLE (not the handle of a receive in use). */
int sea_message_cancel(sea_op receive);

/* Waits up to `seconds` (0: looks once) for a message that a receive with these arguments would take now, and leaves it
 * there. `info` may be NULL. Errors: SEA_ERR_TIMEOUT (there is none); SEA_ERR_DEAD,
 * SEA_ERR_LINK as sea_message_receive(). */
int sea_message_probe(sea_team team, int member, int tag, sea_message_info *info, double seconds);

/* As sea_message_probe() with 0 seconds, but having found none is no error: *found says it. */
int sea_message_look(sea_team team, int member, int tag, int *found, sea_message_info *info);

/* As sea_message_probe(), but takes the message out: no other receive or probe sees it any more. It is then to be
 * received with sea_message_receive_taken(). */
typedef uint64_t sea_message;
#define SEA_MESSAGE_NONE ((sea_message)0)
int sea_message_take(sea_team team, int member, int tag, sea_message *message, sea_message_info *info, double seconds);

/* Receives a message that was taken; uses it up. Otherwise as sea_message_receive(). Errors: also SEA_ERR_HANDLE (it
 * was never taken, or has been received). */
int sea_message_receive_taken(sea_message message, void *buffer, size_t capacity, sea_message_info *info,
                              const sea_opts *opts);

/* How many bytes this rank uses now for messages that nobody has received, and the bound of it: 64 MiB, or what the
 * variable ONESEA_MESSAGE_MEMORY says (bytes; suffixes K, M, G), the same for all ranks of a job. Each rank that the
 * job may have has a share of the bound, one that may come (`onesea run --spawn`: 16 a node) a quarter of that of one
 * from the start, and sends no more than that ahead of receives. The envelopes of messages that stay with their senders
 * count in *used, but are not bounded by it, since a receive may be for the last of them: 160 bytes at most for each
 * send that is not complete. What they took is kept for the next ones up to an eighth of the bound, beside *used.
 * Either output may be NULL. */
int sea_message_memory(size_t *used, size_t *bound);

/* In fragments of how many bytes large messages from here travel to a rank, by the profile that the job loaded (`onesea
 * tune`) or by default: between nodes one send of the network; inside a node they are copied at once, and come in such
 * fragments only where the system does not allow that. Errors: SEA_ERR_RANK (there is no such rank, or it ended). */
int sea_message_fragment(int rank, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
