/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floors of messages by size: the same bytes there and back, both sides polling.
 *
 *   udp_pingpong     one datagram through connected sockets, from and to a buffer of each side
 *   memory_pingpong  one copy into memory that both map, then a flag; what fits goes in the flag's cache line, and
 * needs one line there and one back
 *
 * Short ones are timed in batches, as the messages that they stand beside.
 */
#define _GNU_SOURCE
#include "floors/floor.h"
#include "measure/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { SMALL = 8192, BATCH = 16, BESIDE_FLAG = 56, PAGE = 4096 };
#define LOST_AFTER_NS 200000000u /* a datagram dropped by a full machine is sent again */

struct player {
    int socket;
    struct floor_flags *flags;
    char *own, *shared; /* a buffer of this side; where messages lie */
    size_t bytes, batch;
    uint32_t turn;
};

/* From the start of a page: the kernel's copies to and from some other places are slow (src/base/copy.hpp). */
static char *buffer_of(size_t bytes)
{
    char *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (!memory) floor_die("aligned_alloc");
    memset(memory, 1, bytes);
    return memory;
}

/* The number of the turn travels in the message. */
static void must_hold_turn(size_t bytes)
{
    errno = EINVAL;
    if (bytes < sizeof(uint32_t)) floor_die("udp_pingpong of less than 4 bytes");
}

static size_t batch_of(size_t bytes) { return bytes <= SMALL ? BATCH : 1; }

static void send_turn(const struct player *p)
{
    memcpy(p->own, &p->turn, sizeof p->turn);
    if (send(p->socket, p->own, p->bytes, 0) != (ssize_t)p->bytes && errno != ECONNREFUSED && errno != ENOBUFS)
        floor_die("send");
}

static void udp_round_trips(void *context)
{
    struct player *p = context;
    for (size_t i = 0; i < p->batch; i++) {
        uint32_t got = p->turn++;
        uint64_t deadline = 0, spins = 0;
        send_turn(p);
        while (got != p->turn) {
            if (recv(p->socket, p->own, p->bytes, MSG_DONTWAIT) == (ssize_t)p->bytes)
                memcpy(&got, p->own, sizeof got);
            else if (++spins % 4096 == 0) {
                const uint64_t now = now_ns();
                if (!deadline) deadline = now + LOST_AFTER_NS;
                if (now > deadline) send_turn(p);
                if (now > deadline) deadline = now + LOST_AFTER_NS;
            }
        }
    }
}

static void udp_origin(const struct floor_run *run, const char *name)
{
    must_hold_turn(run->bytes);
    struct player p = {
        .socket = run->origin_socket, .own = buffer_of(run->bytes), .bytes = run->bytes, .batch = batch_of(run->bytes)};
    measure(
        &(struct measurement){name, METRIC_LATENCY, run->bytes, p.batch, run->milliseconds, 0, udp_round_trips, &p});
    free(p.own);
}

static void udp_target(const struct floor_run *run, const char *name)
{
    (void)name;
    must_hold_turn(run->bytes);
    char *buffer = buffer_of(run->bytes);
    const ssize_t bytes = (ssize_t)run->bytes;
    for (unsigned spins = 1; spins % 256 || !flag_read(&flags_of(run)->stop); spins++)
        if (recv(run->target_socket, buffer, run->bytes, MSG_DONTWAIT) == bytes &&
            send(run->target_socket, buffer, run->bytes, 0) != bytes && errno != ECONNREFUSED && errno != ENOBUFS)
            floor_die("send");
    free(buffer);
}

static char *message_of(const struct floor_run *run, uint64_t *flag)
{
    return run->bytes <= BESIDE_FLAG ? (char *)(flag + 1) : (char *)run->shared + FLOOR_PAGE;
}

static void memory_round_trips(void *context)
{
    struct player *p = context;
    for (size_t i = 0; i < p->batch; i++) {
        const uint64_t next = p->flags->ping + 1;
        memcpy(p->shared, p->own, p->bytes);
        flag_write(&p->flags->ping, next);
        while (flag_read(&p->flags->pong) != next) {
        }
    }
}

static void memory_origin(const struct floor_run *run, const char *name)
{
    struct player p = {.flags = flags_of(run),
                       .own = buffer_of(run->bytes),
                       .bytes = run->bytes,
                       .shared = message_of(run, &flags_of(run)->ping),
                       .batch = batch_of(run->bytes)};
    measure(
        &(struct measurement){name, METRIC_LATENCY, run->bytes, p.batch, run->milliseconds, 0, memory_round_trips, &p});
    free(p.own);
}

static void memory_target(const struct floor_run *run, const char *name)
{
    (void)name;
    struct floor_flags *f = flags_of(run);
    char *own = buffer_of(run->bytes), *back = message_of(run, &f->pong);
    for (uint64_t seen = 0; !flag_read(&f->stop);) {
        const uint64_t now = flag_read(&f->ping);
        if (now == seen) continue;
        memcpy(back, own, run->bytes);
        flag_write(&f->pong, seen = now);
    }
    free(own);
}

const struct floor pingpong_floors[] = {
    {"udp_pingpong", 4, 1, WIRE_UDP, udp_origin, udp_target},
    {"memory_pingpong", 4, 1, WIRE_NONE, memory_origin, memory_target},
    {NULL, 0, 0, WIRE_NONE, NULL, NULL},
};
