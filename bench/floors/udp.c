/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floors of small messages: 8 bytes there and back through connected sockets. In udp_rtt and tcp_rtt
 * both sides poll without blocking, which is the best that plain sockets give. In udp_rtt_asleep the target blocks in
 * recv() and the origin keeps silent before each round, so the target really sleeps. In udp_rtt_computing a thread of
 * the target blocks in recv() while another computes on the same processor: what a one-sided access costs that must
 * interrupt a program. udp_send is the origin's cost of one datagram alone.
 */
#define _GNU_SOURCE
#include "floors/floor.h"
#include "measure/measure.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { SMALL = 8, SENDS = 16 };
#define LOST_AFTER_NS 200000000u /* a datagram dropped by a full machine is sent again */

struct pinger {
    int socket, datagrams;
    uint64_t value;
};

static void send_small(int s, uint64_t value)
{
    if (send(s, &value, SMALL, 0) != SMALL && errno != ECONNREFUSED && errno != ENOBUFS) floor_die("send");
}

static void round_trip(void *context)
{
    struct pinger *p = context;
    uint64_t got = 0, deadline = 0, spins = 0;
    send_small(p->socket, ++p->value);
    while (got != p->value) {
        if (recv(p->socket, &got, SMALL, MSG_DONTWAIT) == SMALL) continue;
        if (++spins % 4096) continue;
        uint64_t now = now_ns();
        if (!deadline) deadline = now + LOST_AFTER_NS;
        if (now > deadline && p->datagrams) {
            send_small(p->socket, p->value);
            deadline = now + LOST_AFTER_NS;
        }
    }
}

static void ping(const struct floor_run *run, const char *name, int datagrams, double pause_us)
{
    struct pinger p = {run->origin_socket, datagrams, 0};
    measure(&(struct measurement){name, METRIC_LATENCY, SMALL, 1, run->milliseconds, pause_us, round_trip, &p});
}

static void udp_origin(const struct floor_run *run, const char *name) { ping(run, name, 1, 0); }
static void asleep_origin(const struct floor_run *run, const char *name)
{
    ping(run, name, 1, MEASURE_ASLEEP_PAUSE_US);
}
static void tcp_origin(const struct floor_run *run, const char *name) { ping(run, name, 0, 0); }

/* ---- targets ---------------------------------------------------------------------------------------------------- */

static void polling_target(const struct floor_run *run, const char *name)
{
    (void)name;
    uint64_t value;
    for (unsigned spins = 1;; spins++) {
        if (recv(run->target_socket, &value, SMALL, MSG_DONTWAIT) == SMALL)
            send_small(run->target_socket, value);
        else if (spins % 256 == 0 && flag_read(&flags_of(run)->stop))
            return;
    }
}

static void blocking_target(const struct floor_run *run, const char *name)
{
    (void)name;
    struct timeval look = {0, 50000}; /* to see `stop` */
    setsockopt(run->target_socket, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
    for (uint64_t value; !flag_read(&flags_of(run)->stop);)
        if (recv(run->target_socket, &value, SMALL, 0) == SMALL) send_small(run->target_socket, value);
}

static void *answering_thread(void *run)
{
    blocking_target(run, NULL);
    return NULL;
}

static void computing_target(const struct floor_run *run, const char *name)
{
    (void)name;
    pthread_t thread;
    if (pthread_create(&thread, NULL, answering_thread, (void *)run) != 0) floor_die("pthread_create");
    compute_until_stop(run);
    pthread_join(thread, NULL);
}

/* ---- sending alone ---------------------------------------------------------------------------------------------- */

static void sends(void *context)
{
    struct pinger *p = context;
    for (int i = 0; i < SENDS; i++) send_small(p->socket, p->value++);
}

static void send_origin(const struct floor_run *run, const char *name)
{
    struct pinger p = {run->origin_socket, 1, 0};
    measure(&(struct measurement){name, METRIC_LATENCY, SMALL, SENDS, run->milliseconds, 0, sends, &p});
}

static void draining_target(const struct floor_run *run, const char *name)
{
    (void)name;
    uint64_t value;
    for (unsigned spins = 1; spins % 256 || !flag_read(&flags_of(run)->stop); spins++)
        if (recv(run->target_socket, &value, SMALL, MSG_DONTWAIT) == SMALL) continue;
}

const struct floor udp_floors[] = {
    {"udp_rtt", SMALL, 0, WIRE_UDP, udp_origin, polling_target},
    {"udp_rtt_asleep", SMALL, 0, WIRE_UDP, asleep_origin, blocking_target},
    {"udp_rtt_computing", SMALL, 0, WIRE_UDP, udp_origin, computing_target},
    {"udp_send", SMALL, 0, WIRE_UDP, send_origin, draining_target},
    {"tcp_rtt", SMALL, 0, WIRE_TCP, tcp_origin, polling_target},
    {NULL, 0, 0, WIRE_NONE, NULL, NULL},
};
