/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-mmp --ms M --cores A,B CASE:BYTES...
 *
 * Two ranks over mmp.h; rank 0 measures on processor A, rank 1 answers on processor B.
 *
 *   pingpong   a message there and one of the same size back (latency of both)
 *   stream     16 MB of messages (2 to 512) into receives that are posted, then an answer of 4 bytes (bandwidth);
 *              stream_shared: all buffers of both ranks are of MP_alloc()
 *   computing  rank 1 computes for a while and calls nothing: alone, while messages arrive every 50 us, while as many
 *              puts of the same size do, and, inside a node, while such puts fill memory of which rank 1 then copies
 *              every byte (result lines computing_alone, _messages, _puts, _bytes: the time that the computation took,
 *              with the copying; computing_pickup: until a message that has arrived meanwhile is received;
 *              computing_send, _put: what rank 0 spends on each message and put)
 *
 * Rank 0 ends a stream with messages of no bytes, and pingpong with one that begins with OVER.
 */
#define _GNU_SOURCE
#include <mmp.h>
#include <onesea.h>

#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { DATA = 1, ANSWER = 2, WINDOW_MAX = 512, SMALL = 8192, BATCH = 16, PACE_NS = 50000, COMPUTE_NS = 30000000 };
enum { ARRIVALS = COMPUTE_NS / PACE_NS };
enum { OVER = 0 }; /* first byte of the message that ends pingpong; the others begin with 1 */

struct bench {
    char *own, *shared; /* private memory, and memory of MP_alloc() */
    char *buffer;       /* one of them */
    size_t bytes, window, batch;
    MP_request requests[2][WINDOW_MAX];
    MP_status statuses[WINDOW_MAX];
};

static void check(int status, const char *what)
{
    if (status == MP_OK) return;
    fprintf(stderr, "onesea-bench-worker-mmp: %s: %s: %s\n", what, MP_strerror(status), MP_last_error());
    MP_abort(1, NULL);
}

static void send_now(int rank, int tag, const void *data, size_t bytes)
{
    MP_request r;
    check(MP_send(rank, tag, data, bytes, &r), "send");
    check(MP_wait(&r, NULL), "wait for a send");
}

static size_t receive_now(int rank, int tag, void *buffer, size_t capacity)
{
    MP_request r;
    MP_status s;
    check(MP_receive(rank, tag, buffer, capacity, &r), "receive");
    check(MP_wait(&r, &s), "wait for a receive");
    return s.bytes;
}

/* ---- there and back --------------------------------------------------------------------------------------------- */

/* By the calls that block, as the MPIs beside it. */
static void round_trips(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) {
        check(MP_send(1, DATA, b->buffer, b->bytes, NULL), "send");
        check(MP_receive(1, DATA, b->buffer, b->bytes, NULL), "receive");
    }
}

static void answer_round_trips(struct bench *b)
{
    for (;;) {
        check(MP_receive(0, DATA, b->buffer, b->bytes, NULL), "receive");
        if (b->buffer[0] == OVER) break;
        check(MP_send(0, DATA, b->buffer, b->bytes, NULL), "send");
    }
    b->buffer[0] = 1;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

static void send_window(struct bench *b, size_t bytes)
{
    char answer[4];
    for (size_t i = 0; i < b->window; i++) check(MP_send(1, DATA, b->buffer, bytes, &b->requests[0][i]), "send");
    check(MP_wait_all(b->requests[0], (int)b->window, b->statuses), "wait for sends");
    receive_now(1, ANSWER, answer, sizeof answer);
}

static void stream(void *context)
{
    struct bench *b = context;
    send_window(b, b->bytes);
}

static void post(struct bench *b, int set)
{
    for (size_t i = 0; i < b->window; i++)
        check(MP_receive(0, DATA, b->buffer, b->bytes, &b->requests[set][i]), "receive");
}

/* The receives of the next window are posted before the answer to this one goes. */
static void take_streams(struct bench *b)
{
    post(b, 0);
    for (int set = 0;; set = !set) {
        check(MP_wait_all(b->requests[set], (int)b->window, b->statuses), "wait for receives");
        const int over = b->statuses[0].bytes == 0;
        if (!over) post(b, !set);
        send_now(0, ANSWER, b->buffer, 4);
        if (over) return;
    }
}

/* ---- a receiver that computes ----------------------------------------------------------------------------------- */

enum what { MESSAGES, PUTS, BYTES, NOTHING };

struct order { /* what rank 1 wants next */
    uint32_t count, what;
};

static uint64_t compute(uint64_t rounds)
{
    volatile uint64_t x = 1;
    const uint64_t begin = now_ns();
    for (uint64_t i = 0; i < rounds; i++) x = x * 2862933555777941757u + 3037000493u;
    return now_ns() - begin;
}

/* So many that it takes that long on a processor of its own. */
static uint64_t rounds_for(uint64_t ns)
{
    const uint64_t rounds = 500000;
    uint64_t least = compute(rounds);
    for (int i = 0; i < 9; i++) {
        const uint64_t now = compute(rounds);
        if (now < least) least = now;
    }
    return (uint64_t)((double)rounds * (double)ns / (double)least) + 1;
}

static void serve_orders(const struct bench *b, sea_addr memory)
{
    struct order o;
    struct samples spent[2];
    for (int i = 0; i < 2; i++) samples_open(&spent[i]);
    while (receive_now(1, ANSWER, &o, sizeof o) == sizeof o && o.count > 0) {
        uint64_t next = now_ns();
        for (uint32_t i = 0; i < o.count; i++, next += PACE_NS) {
            while (now_ns() < next) {
            }
            const uint64_t begin = now_ns();
            const sea_addr to = memory + (o.what == BYTES ? i * b->bytes : 0);
            if (o.what == MESSAGES)
                send_now(1, DATA, b->buffer, b->bytes);
            else
                check(sea_put(to, b->buffer, b->bytes, NULL) == SEA_OK ? MP_OK : MP_ERR_INTERNAL, "put");
            if (o.what < BYTES) samples_add(&spent[o.what], (double)(now_ns() - begin) * 1e-3);
        }
        if (o.what != MESSAGES) send_now(1, DATA, b->buffer, 4);
    }
    samples_print(&spent[MESSAGES], "computing_send", METRIC_LATENCY, b->bytes);
    samples_print(&spent[PUTS], "computing_put", METRIC_LATENCY, b->bytes);
    for (int i = 0; i < 2; i++) samples_close(&spent[i]);
}

static void take_all(struct bench *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) receive_now(0, DATA, b->buffer, b->bytes);
}

static double copy_arrivals(struct bench *b, const char *from)
{
    const uint64_t begin = now_ns();
    for (size_t i = 0; i < ARRIVALS; i++) memcpy(b->buffer, from + i * b->bytes, b->bytes);
    return (double)(now_ns() - begin) * 1e-3;
}

static void compute_while_things_arrive(struct bench *b, double milliseconds, sea_addr memory)
{
    static const char *const names[] = {"computing_messages", "computing_puts", "computing_bytes", "computing_alone",
                                        "computing_pickup"};
    enum { PICKUP = NOTHING + 1, ALL };
    struct samples s[ALL];
    for (int i = 0; i < ALL; i++) samples_open(&s[i]);
    const char *arrivals = sea_node_of(0) == sea_node_of(1) ? sea_local(memory) : NULL;
    const uint64_t rounds = rounds_for(COMPUTE_NS);
    const uint64_t end = now_ns() + (uint64_t)(milliseconds * 1e6);
    for (int turn = 0; turn < MEASURE_SAMPLES_MIN || now_ns() < end; turn++) {
        samples_add(&s[NOTHING], (double)compute(rounds) * 1e-3);
        for (uint32_t what = MESSAGES; what <= (arrivals ? BYTES : PUTS); what++) {
            const struct order o = {ARRIVALS, what};
            send_now(0, ANSWER, &o, sizeof o);
            double time = (double)compute(rounds) * 1e-3;
            const uint64_t begin = now_ns();
            take_all(b, 1);
            if (what == MESSAGES) samples_add(&s[PICKUP], (double)(now_ns() - begin) * 1e-3);
            take_all(b, what == MESSAGES ? o.count - 1 : 0);
            if (what == BYTES) time += copy_arrivals(b, arrivals);
            samples_add(&s[what], time);
        }
    }
    const struct order none = {0, 0};
    send_now(0, ANSWER, &none, sizeof none);
    for (int i = 0; i < ALL; i++) {
        if (s[i].count) samples_print(&s[i], names[i], METRIC_LATENCY, b->bytes);
        samples_close(&s[i]);
    }
}

/* ---- cases ------------------------------------------------------------------------------------------------------ */

static void run_case(struct bench *b, const char *argument, double milliseconds, sea_addr memory)
{
    static const char shared[] = "stream_shared";
    char name[32];
    if (sscanf(argument, "%31[a-z_]:%zu", name, &b->bytes) != 2 || b->bytes == 0) {
        fprintf(stderr, "onesea-bench-worker-mmp: wrong case '%s'\n", argument);
        MP_abort(2, NULL);
    }
    const int first = MP_rank() == 0;
    b->buffer = strcmp(name, shared) == 0 ? b->shared : b->own;
    b->window = window_for(b->bytes);
    b->batch = b->bytes <= SMALL ? BATCH : 1;
    check(MP_barrier(), "barrier");
    if (strcmp(name, "computing") == 0) {
        if (first)
            serve_orders(b, memory);
        else
            compute_while_things_arrive(b, milliseconds, memory);
    } else if (strncmp(name, "stream", 6) == 0) {
        if (!first) return take_streams(b);
        measure(&(struct measurement){name, METRIC_BANDWIDTH, b->bytes, b->window, milliseconds, 0, stream, b});
        send_window(b, 0);
    } else {
        if (!first) return answer_round_trips(b);
        measure(&(struct measurement){name, METRIC_LATENCY, b->bytes, b->batch, milliseconds, 0, round_trips, b});
        const char over = OVER;
        send_now(1, DATA, &over, 1);
    }
}

static size_t largest(int argc, char **argv, int from)
{
    size_t most = 4096;
    for (int i = from; i < argc; i++) {
        const char *colon = strchr(argv[i], ':');
        size_t bytes = colon ? strtoull(colon + 1, NULL, 10) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

int main(int argc, char **argv)
{
    int cores[2];
    if (argc < 6 || strcmp(argv[1], "--ms") != 0 || strcmp(argv[3], "--cores") != 0 ||
        sscanf(argv[4], "%d,%d", &cores[0], &cores[1]) != 2) {
        fputs("usage: onesea-bench-worker-mmp --ms M --cores A,B pingpong|stream|stream_shared|computing:BYTES...\n",
              stderr);
        return 2;
    }
    check(MP_init(), "init");
    if (MP_size() != 2) {
        fputs("onesea-bench-worker-mmp: needs two ranks\n", stderr);
        MP_abort(2, NULL);
    }
    pin_all_threads(cores[MP_rank()]);
    static struct bench b;
    const size_t room = largest(argc, argv, 5);
    sea_addr memory = SEA_NULL; /* at rank 1, for puts: for one, or for all that arrive while it computes */
    void *shared = NULL;
    b.own = malloc(room);
    if (!b.own) MP_abort(1, "no memory");
    check(MP_alloc(room, &shared), "memory that is shared");
    b.shared = shared;
    memset(b.own, 1, room);
    memset(b.shared, 1, room);
    if (MP_rank() == 0 && sea_heap_alloc(1, room > SMALL ? room : ARRIVALS * room, &memory) != SEA_OK)
        MP_abort(1, sea_last_error());
    check(sea_broadcast(SEA_TEAM_WORLD, 0, &memory, sizeof memory) == SEA_OK ? MP_OK : MP_ERR_INTERNAL, "broadcast");
    for (int i = 5; i < argc; i++) run_case(&b, argv[i], atof(argv[2]), memory);
    check(MP_barrier(), "barrier");
    check(MP_finalize(), "finalize");
    free(b.own);
    return 0;
}
