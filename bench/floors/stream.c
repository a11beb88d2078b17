/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floors of bulk data. The origin sends without end; the target, which is timed, counts what arrives
 * (goodput: what was dropped on the way does not count) in portions of a few megabytes, and says stop.
 *
 *   udp_stream_gso  datagrams of 1400 bytes (cable: 1472), one send for as many as the kernel takes, coalesced again by
 * GRO udp_stream_60k  datagrams of 60000 bytes, plain udp_rate        datagrams of 8 bytes, each sent and received by
 * itself udp_rate_gso    the same, segmented and coalesced by the kernel; counted one by one tcp_stream      a byte
 * stream
 *
 * Source and destination roll through buffers of the transfer's size, so the caches see what a put of that size sees.
 */
#define _GNU_SOURCE
#include "floors/floor.h"
#include "measure/measure.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum { BIG_DATAGRAM = 60000, SEND_MAX = 65000, SEGMENTS_MAX = 64, PORTION = 4000000, ROOM = 65536 };

static int is(const char *name, const char *other) { return strcmp(name, other) == 0; }

static size_t segment_of(const struct floor_run *run, const char *name)
{
    if (is(name, "udp_stream_60k")) return BIG_DATAGRAM;
    if (is(name, "tcp_stream")) return run->bytes;
    return run->bytes < run->datagram ? run->bytes : run->datagram;
}

static size_t send_size_of(const struct floor_run *run, const char *name, size_t segment)
{
    if (is(name, "udp_stream_60k")) return BIG_DATAGRAM;
    if (is(name, "tcp_stream")) return run->bytes;
    if (is(name, "udp_rate")) return segment;
    size_t n = SEND_MAX / segment;
    return segment * (n > SEGMENTS_MAX ? SEGMENTS_MAX : n);
}

/* A buffer that a cursor rolls through, with room for one more send or receive behind its end. */
struct roll {
    char *memory;
    size_t bytes, at;
};

static struct roll roll_open(size_t bytes, size_t room)
{
    struct roll r = {malloc(bytes + room), bytes, 0};
    if (!r.memory) floor_die("malloc");
    memset(r.memory, 1, bytes + room);
    return r;
}

static char *roll_next(struct roll *r, size_t step)
{
    char *p = r->memory + r->at;
    r->at += step;
    if (r->at >= r->bytes) r->at = 0;
    return p;
}

static void stream_origin(const struct floor_run *run, const char *name)
{
    size_t segment = segment_of(run, name), size = send_size_of(run, name, segment);
    int s = run->origin_socket, gso = (int)segment, tcp = is(name, "tcp_stream");
    if (!tcp && size > segment && setsockopt(s, IPPROTO_UDP, UDP_SEGMENT, &gso, sizeof gso) != 0)
        floor_die("UDP_SEGMENT");
    struct roll source = roll_open(run->bytes, size);
    while (!flag_read(&flags_of(run)->ready)) {
    }
    while (!flag_read(&flags_of(run)->stop)) {
        ssize_t n = send(s, roll_next(&source, size), size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != ENOBUFS && errno != ECONNREFUSED && errno != EPIPE &&
            errno != ECONNRESET)
            floor_die("send");
    }
    free(source.memory);
}

struct receiver {
    int socket;
    struct roll to;
    size_t portion;
    uint64_t deadline;
};

/* Receives at least one portion; gives what it received. */
static size_t receive(struct receiver *r)
{
    size_t got = 0;
    for (unsigned spins = 1; got < r->portion; spins++) {
        ssize_t n = recv(r->socket, r->to.memory + r->to.at, ROOM, MSG_DONTWAIT);
        if (n > 0) {
            roll_next(&r->to, (size_t)n);
            got += (size_t)n;
        } else if (n == 0 || (spins % 1024 == 0 && now_ns() > r->deadline)) {
            floor_die("stream: nothing arrives");
        }
    }
    return got;
}

static void stream_target(const struct floor_run *run, const char *name)
{
    int on = 1, plain = is(name, "udp_rate") || is(name, "udp_stream_60k") || is(name, "tcp_stream");
    int rate = is(name, "udp_rate") || is(name, "udp_rate_gso");
    size_t segment = segment_of(run, name);
    if (!plain)
        if (setsockopt(run->target_socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0) floor_die("UDP_GRO");
    struct receiver r = {run->target_socket, roll_open(run->bytes, ROOM), PORTION, now_ns() + 10000000000u};
    if (segment < run->datagram) r.portion = segment * 4096;
    struct samples s;
    samples_open(&s);
    uint64_t count_from = now_ns() + (uint64_t)(run->milliseconds * 0.25e6);
    uint64_t end = count_from + (uint64_t)(run->milliseconds * 1e6), now = count_from;
    flag_write(&flags_of(run)->ready, 1);
    receive(&r);
    while (now < end || s.count < MEASURE_SAMPLES_MIN) {
        uint64_t begin = now_ns();
        double bytes = (double)receive(&r), seconds;
        now = now_ns();
        seconds = (double)(now - begin) * 1e-9;
        if (now > count_from) samples_add(&s, rate ? bytes / 8 / seconds * 1e-6 : bytes / seconds * 1e-9);
    }
    flag_write(&flags_of(run)->stop, 1);
    samples_print(&s, name, rate ? METRIC_RATE : METRIC_BANDWIDTH, run->bytes);
    samples_close(&s);
    free(r.to.memory);
}

const struct floor stream_floors[] = {
    {"udp_stream_gso", 1000000, 1, WIRE_UDP, stream_origin, stream_target},
    {"udp_stream_60k", 1000000, 1, WIRE_UDP, stream_origin, stream_target},
    {"udp_rate", 8, 0, WIRE_UDP, stream_origin, stream_target},
    {"udp_rate_gso", 8, 0, WIRE_UDP, stream_origin, stream_target},
    {"tcp_stream", 1000000, 1, WIRE_TCP, stream_origin, stream_target},
    {NULL, 0, 0, WIRE_NONE, NULL, NULL},
};
