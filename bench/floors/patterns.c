/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-patterns-floor PATTERN BYTES MS [ROOM|udp]
 *
 * The streams of patterns/worker.c without any library: a process for each rank, a connection over the loopback
 * between rank 0 and each other one, and in every process one loop around poll() that sends and receives whatever the
 * kernel takes or has at that moment. A stream goes from one buffer of BYTES into another, again and again.
 *
 * A first transfer makes pages and windows and is not counted. Then all start together, and who receives counts for MS
 * milliseconds: what has arrived by then, divided by the time, is a stream's bandwidth.
 *
 * TCP: each socket has room for ROOM bytes, or for as many as the kernel chooses, and it lets it grow to some
 * megabytes. None is the best for all patterns and sizes: `onesea bench patterns` measures both and takes the better
 * one.
 *
 * udp: datagrams as long as the loopback takes, as many under way to a target as an origin of Onesea's may have and the
 * socket has room for. An empty one tells that a quarter of them has been taken in.
 */
#define _GNU_SOURCE
#include "measure/measure.h"
#include "measure/pattern.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_barrier_t together;
    double speeds[PATTERN_RANKS][PATTERN_RANKS]; /* from, to */
};

struct wire { /* to one other rank */
    int other, sends, receives;
    char *in;
    size_t out_at, in_at;
    size_t under_way, untold; /* udp: bytes sent that nobody has told of, and taken in without telling */
    double sent, got;
};

struct process {
    struct pattern pattern;
    int rank, ranks, room;
    int udp;
    size_t window, datagram; /* udp: bytes under way to each target, in one send */
    struct shared *shared;
    char *out;
    struct wire wires[PATTERN_RANKS];
    struct pollfd sockets[PATTERN_RANKS]; /* of the wires */
    int count;
};

static void die(const char *what)
{
    fprintf(stderr, "onesea-bench-worker-patterns-floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static char *filled(size_t bytes, int value)
{
    char *p = malloc(bytes);
    if (!p) die("malloc");
    return memset(p, value, bytes);
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

static void send_some(struct process *p, int i)
{
    struct wire *w = &p->wires[i];
    const size_t left = p->pattern.bytes - w->out_at, most = p->udp && p->datagram < left ? p->datagram : left;
    ssize_t n = send(p->sockets[i].fd, p->out + w->out_at, most, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) die("send");
    if (n <= 0) return;
    w->sent += (double)n;
    w->under_way += (size_t)n;
    w->out_at = (w->out_at + (size_t)n) % p->pattern.bytes;
}

static void tell_what_came(struct process *p, int i, size_t bytes)
{
    struct wire *w = &p->wires[i];
    for (w->untold += bytes; w->untold >= p->window / 4; w->untold -= p->window / 4)
        if (send(p->sockets[i].fd, "", 0, MSG_NOSIGNAL) != 0) die("send");
}

static void receive_some(struct process *p, int i)
{
    struct wire *w = &p->wires[i];
    const size_t bytes = p->pattern.bytes;
    ssize_t n = recv(p->sockets[i].fd, w->in + w->in_at, bytes - w->in_at, MSG_DONTWAIT);
    if (n == 0 && p->udp) {
        w->under_way -= p->window / 4;
        return;
    }
    if (n == 0) errno = ECONNRESET;
    if (n == 0 || (n < 0 && errno != EAGAIN)) die("recv");
    if (n < 0) return;
    w->got += (double)n;
    if (p->udp) tell_what_came(p, i, (size_t)n);
    w->in_at = (w->in_at + (size_t)n) % bytes;
}

/* Whether anything is left to wait for. */
static int choose_events(struct process *p, double most)
{
    int any = 0;
    for (int i = 0; i < p->count; i++) {
        const struct wire *w = &p->wires[i];
        const int sends = w->sends && w->sent < most, receives = w->receives && w->got < most;
        const int may_send = sends && (!p->udp || w->under_way + p->datagram <= p->window);
        const int hears = sends && p->udp && w->under_way > 0;
        p->sockets[i].events = (short)((may_send ? POLLOUT : 0) | (receives || hears ? POLLIN : 0));
        any |= p->sockets[i].events;
    }
    return any;
}

/* Until the time is over, or each stream has moved so many bytes. Gives the seconds. */
static double move(struct process *p, double seconds, double most)
{
    for (int i = 0; i < p->count; i++) p->wires[i].sent = p->wires[i].got = 0;
    const uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9);
    uint64_t now = begin;
    while (now < end && choose_events(p, most)) {
        const uint64_t left = end - now;
        const struct timespec limit = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
        if (ppoll(p->sockets, (nfds_t)p->count, &limit, NULL) < 0 && errno != EINTR) die("poll");
        for (int i = 0; i < p->count; i++) {
            if (p->sockets[i].revents & (POLLERR | POLLHUP)) die("a connection was lost");
            if (p->sockets[i].revents & POLLIN) receive_some(p, i);
            if (p->sockets[i].revents & POLLOUT) send_some(p, i);
        }
        now = now_ns();
    }
    return (double)(now - begin) * 1e-9;
}

static void keep_figures(const struct process *p, double seconds)
{
    for (int i = 0; i < p->count; i++) {
        const struct wire *w = &p->wires[i];
        const char sent = (char)(w->other + 1);
        if (!w->receives) continue;
        if (w->in[0] != sent || w->in[p->pattern.bytes - 1] != sent) {
            fprintf(stderr, "onesea-bench-worker-patterns-floor: what rank %d sent is not there\n", w->other);
            exit(1);
        }
        p->shared->speeds[w->other][p->rank] = (w->got > 0 ? w->got : 1) / seconds * 1e-9; /* 0 would be no stream */
    }
}

static void run(struct process *p)
{
    move(p, MEASURE_PATIENCE_S, (double)p->pattern.bytes);
    pthread_barrier_wait(&p->shared->together);
    const double seconds = move(p, p->pattern.seconds, 1e18);
    keep_figures(p, seconds);
    pthread_barrier_wait(&p->shared->together); /* nobody closes a connection on which another still counts */
}

/* ---- processes -------------------------------------------------------------------------------------------------- */

static void add_wire(struct process *p, int other, int socket)
{
    struct wire *w = &p->wires[p->count];
    *w = (struct wire){.other = other,
                       .sends = pattern_has_stream(&p->pattern, p->rank, other),
                       .receives = pattern_has_stream(&p->pattern, other, p->rank)};
    if (w->receives) w->in = filled(p->pattern.bytes, 0);
    p->sockets[p->count++].fd = socket;
}

static void prepare_socket(int s, int room)
{
    const int on = 1;
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!room) return;
    setsockopt(s, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
}

static void connect_tcp(int ends[2], int room)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &length) != 0)
        die("listen");
    ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ends[1] < 0 || connect(ends[1], (struct sockaddr *)&at, sizeof at) != 0) die("connect");
    if ((ends[0] = accept(listener, NULL, NULL)) < 0) die("accept");
    close(listener);
    prepare_socket(ends[0], room);
    prepare_socket(ends[1], room);
}

static struct sockaddr_in open_udp(int *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int room = 2 * PATTERN_IN_FLIGHT; /* the kernel's own memory for them counts, too */
    *s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*s < 0 || bind(*s, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(*s, (struct sockaddr *)&at, &length) != 0)
        die("bind");
    if (setsockopt(*s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
        setsockopt(*s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room); /* the kernel's limit may be lower */
    return at;
}

static void connect_udp(int ends[2])
{
    const struct sockaddr_in at[2] = {open_udp(&ends[0]), open_udp(&ends[1])};
    for (int i = 0; i < 2; i++)
        if (connect(ends[i], (const struct sockaddr *)&at[!i], sizeof at[!i]) != 0) die("connect");
}

/* Equal parts of a transfer, none as short as a datagram that tells. */
static void choose_datagrams(struct process *p)
{
    const size_t most = 65000, parts = (p->pattern.bytes + most - 1) / most;
    int s, room = 0;
    socklen_t length = sizeof room;
    open_udp(&s);
    if (getsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, &length) != 0) die("getsockopt");
    close(s);
    p->datagram = (p->pattern.bytes + parts - 1) / parts;
    p->window = (size_t)room / 4 < PATTERN_IN_FLIGHT ? (size_t)room / 4 : PATTERN_IN_FLIGHT;
    if (p->window < 4 * p->datagram) p->window = 4 * p->datagram;
}

static void run_other(struct process *p, int socket, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    alarm(2 * MEASURE_PATIENCE_S);
    p->out = filled(p->pattern.bytes, p->rank + 1);
    add_wire(p, 0, socket);
    run(p);
    _exit(0);
}

static struct shared *share(int ranks)
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t between_processes;
    if (s == MAP_FAILED) die("mmap");
    pthread_barrierattr_init(&between_processes);
    pthread_barrierattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->together, &between_processes, (unsigned)ranks);
    return s;
}

/* A process that fails would leave the others in the barrier; one that does well ends behind the last. */
static void end_with_child(int signal, siginfo_t *of, void *context)
{
    (void)signal;
    (void)context;
    if (of->si_code != CLD_EXITED || of->si_status != 0) _exit(1);
}

static void start_others(struct process *mine)
{
    struct sigaction watch = {.sa_sigaction = end_with_child, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGCHLD, &watch, NULL);
    const pid_t self = getpid();
    for (int r = 1, ends[2]; r < mine->ranks; r++) {
        if (mine->udp)
            connect_udp(ends);
        else
            connect_tcp(ends, mine->room);
        const pid_t child = fork();
        if (child < 0) die("fork");
        if (child == 0) {
            for (int i = 0; i < mine->count; i++) close(mine->sockets[i].fd);
            close(ends[0]);
            struct process other = {.pattern = mine->pattern,
                                    .rank = r,
                                    .ranks = mine->ranks,
                                    .udp = mine->udp,
                                    .window = mine->window,
                                    .datagram = mine->datagram,
                                    .shared = mine->shared};
            run_other(&other, ends[1], self);
        }
        close(ends[1]);
        add_wire(mine, r, ends[0]);
    }
}

static int read_way(int argc, char **argv, struct process *p)
{
    if (argc != 5) return 0;
    if ((p->udp = strcmp(argv[4], "udp") == 0)) return 0;
    char *end;
    const long bytes = strtol(argv[4], &end, 10);
    if (*end || bytes < 1 || bytes > 1 << 30) return -1;
    p->room = (int)bytes;
    return 0;
}

int main(int argc, char **argv)
{
    static struct process mine;
    if (pattern_read(argc == 5 ? 4 : argc, argv, &mine.pattern) != 0 || read_way(argc, argv, &mine) != 0) {
        fputs("usage: onesea-bench-worker-patterns-floor one|both|out|in BYTES MS [ROOM|udp]\n", stderr);
        return 2;
    }
    mine.ranks = pattern_ranks(&mine.pattern);
    if (mine.udp) choose_datagrams(&mine);
    mine.shared = share(mine.ranks);
    alarm(2 * MEASURE_PATIENCE_S);
    start_others(&mine);
    mine.out = filled(mine.pattern.bytes, 1);
    run(&mine);
    while (wait(NULL) > 0) {
    }
    pattern_print(&mine.pattern, &mine.shared->speeds[0][0], sizeof mine.shared->speeds / sizeof(double));
    return 0;
}
