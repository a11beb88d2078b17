// SPDX-License-Identifier: Apache-2.0
// What the layers above core (coll, data, msg) use beside onesea.h.
#pragma once

#include "base/transport.hpp"
#include "onesea.h"

namespace onesea::core {

// Handler numbers of the library itself follow those of programs.
enum internal_am : int {
    am_collective = SEA_AM_IDS, // coll: one message between two members of a team
    am_leave,                   // coll: the barrier of sea_finalize
    am_data,                    // data: a call on a structure, executed at its owner
    am_channel,                 // msg: channels
    am_message,                 // msg: matched messages
    am_id_end
};

// As sea_am_register and sea_am_send, for internal numbers. Registration is allowed before sea_init() (static
// initialisers), so that no message can come too early.
int register_internal_am(int id, sea_am_header_fn fn, void *context);
int send_internal_am(int rank, int id, const void *header, std::size_t header_bytes, const void *data,
                     std::size_t data_bytes, const sea_opts *opts);

// Makes progress, then sleeps, until ready(argument) is true, or `deadline` (SEA_ERR_TIMEOUT). `ready` is called
// without any lock of core held, often, by this thread only; whatever makes it true (a handler, another thread) calls
// nudge().
int wait_until(bool (*ready)(void *argument), void *argument, nanoseconds deadline);
void nudge();

// How many ranks have left or died so far, and which was the i-th of them; wait_until() calls `ready` after the number
// has grown. With them a waiter that watches many ranks looks only at those who have ended.
bool alive(int rank); // of a rank that the job has had
std::uint32_t ended();
int ended_rank(std::uint32_t i);

// Now plus this thread's sea_set_timeout(), or `never`.
nanoseconds thread_deadline();

// Runs in sea_finalize() after the fence, before the transports close: returns when all living ranks have called it.
void set_leave_barrier(int (*fn)(nanoseconds deadline));

// Runs in sea_finalize() last and at the end of sea_init(): drop or set up state of upper layers.
void add_lifecycle(void (*started)(), void (*ended)());

// How many ranks the job started with: members of SEA_TEAM_WORLD.
int world_size();

// SEA_OK, or SEA_ERR_STATE with the text set, if the library is not between init and finalize.
int check_started(const char *function);

} // namespace onesea::core
