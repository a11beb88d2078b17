/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-floors [--ms M] [--cores A,B] [--cable FROM,TO,ADDRESS,ADDRESS] NAME[:BYTES]...: measures floors one
 * after the other, each in a fresh pair of processes with its own sockets and mapping; the sockets are on the loopback,
 * or at the ends of a cable between two network namespaces. Started by the benchmarks; prints lines of measure.h.
 */
#define _GNU_SOURCE
#include "floors/floor.h"
#include "measure/measure.h"
#include "measure/namespace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET_BUFFER (4 << 20)            /* bytes; the kernel's limit may be lower */
enum { DATAGRAM = 1400, ON_CABLE = 1472 }; /* what a packet of plain Ethernet surely holds, what one of mtu 1500 does */

static struct cable_ends cable;

void floor_die(const char *what)
{
    fprintf(stderr, "onesea-bench-floors: %s: %s\n", what, strerror(errno));
    exit(1);
}

static const struct floor *find_floor(const char *name, size_t length)
{
    const struct floor *const tables[] = {memory_floors, udp_floors, stream_floors, pingpong_floors};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct floor *f = tables[t]; f->name; f++)
            if (strlen(f->name) == length && strncmp(f->name, name, length) == 0) return f;
    return NULL;
}

/* ---- sockets ---------------------------------------------------------------------------------------------------- */

static int socket_at(const char *name_space, const char *address, int type, struct sockaddr_in *at)
{
    if (*name_space && enter_namespace(name_space) != 0) floor_die(name_space);
    int s = socket(AF_INET, type | SOCK_CLOEXEC, 0), size = SOCKET_BUFFER;
    socklen_t length = sizeof *at;
    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    if (inet_pton(AF_INET, *address ? address : "127.0.0.1", &at->sin_addr) != 1) floor_die(address);
    if (s < 0 || bind(s, (struct sockaddr *)at, sizeof *at) != 0) floor_die("bind");
    if (getsockname(s, (struct sockaddr *)at, &length) != 0) floor_die("getsockname");
    if (type == SOCK_DGRAM) {
        setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        setsockopt(s, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    return s;
}

static void connect_to(int s, const struct sockaddr_in *peer)
{
    if (connect(s, (const struct sockaddr *)peer, sizeof *peer) != 0) floor_die("connect");
}

static void open_wire(enum floor_wire wire, struct floor_run *run)
{
    struct sockaddr_in origin, target;
    run->origin_socket = run->target_socket = -1;
    if (wire == WIRE_NONE) return;
    int type = wire == WIRE_UDP ? SOCK_DGRAM : SOCK_STREAM, on = 1;
    run->origin_socket = socket_at(cable.from, cable.from_address, type, &origin);
    run->target_socket = socket_at(cable.to, cable.to_address, type, &target);
    if (wire == WIRE_UDP) {
        connect_to(run->origin_socket, &target);
        connect_to(run->target_socket, &origin);
        return;
    }
    int listener = run->target_socket;
    if (listen(listener, 1) != 0) floor_die("listen");
    connect_to(run->origin_socket, &target);
    run->target_socket = accept(listener, NULL, NULL);
    if (run->target_socket < 0) floor_die("accept");
    close(listener);
    setsockopt(run->origin_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(run->target_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- one floor -------------------------------------------------------------------------------------------------- */

static void run_target(const struct floor *floor, const struct floor_run *run, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    alarm(MEASURE_PATIENCE_S);
    if (run->origin_socket >= 0) close(run->origin_socket);
    pin_all_threads(run->target_core);
    floor->target(run, floor->name);
    _exit(0);
}

static int run_floor(const struct floor *floor, struct floor_run *run)
{
    run->shared_bytes = FLOOR_PAGE + (floor->wire == WIRE_NONE ? run->bytes : 0) + FLOOR_PAGE;
    run->shared = mmap(NULL, run->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run->shared == MAP_FAILED) floor_die("mmap");
    memset(run->shared, 0, run->shared_bytes);
    open_wire(floor->wire, run);
    pid_t self = getpid(), target = floor->target ? fork() : 0;
    if (target < 0) floor_die("fork");
    if (target == 0 && floor->target) run_target(floor, run, self);
    alarm(MEASURE_PATIENCE_S);
    if (run->target_socket >= 0) close(run->target_socket);
    pin_all_threads(run->origin_core);
    floor->origin(run, floor->name);
    flag_write(&flags_of(run)->stop, 1);
    int status = 0;
    if (target > 0 && waitpid(target, &status, 0) < 0) floor_die("waitpid");
    alarm(0);
    if (run->origin_socket >= 0) close(run->origin_socket);
    munmap(run->shared, run->shared_bytes);
    return status == 0 ? 0 : 1;
}

static int run_named(const char *argument, struct floor_run run)
{
    const char *colon = strchr(argument, ':');
    const struct floor *floor = find_floor(argument, colon ? (size_t)(colon - argument) : strlen(argument));
    if (!floor) {
        fprintf(stderr, "onesea-bench-floors: there is no floor '%s'\n", argument);
        return 2;
    }
    char *end = NULL;
    run.bytes = colon ? strtoull(colon + 1, &end, 10) : floor->bytes;
    if (run.bytes == 0 || (end && *end) || (!floor->sized && run.bytes != floor->bytes)) {
        fprintf(stderr, "onesea-bench-floors: '%s' has a wrong size\n", argument);
        return 2;
    }
    return run_floor(floor, &run);
}

int main(int argc, char **argv)
{
    struct floor_run run = {.origin_core = -1, .target_core = -1, .milliseconds = 50, .datagram = DATAGRAM};
    int worst = 0, i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "--ms") == 0)
            run.milliseconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--cable") == 0 && read_cable(argv[i + 1], &cable) == 0)
            run.datagram = ON_CABLE;
        else if (strcmp(argv[i], "--cores") != 0 ||
                 sscanf(argv[i + 1], "%d,%d", &run.origin_core, &run.target_core) != 2) {
            fprintf(stderr, "onesea-bench-floors: wrong option '%s %s'\n", argv[i], argv[i + 1]);
            return 2;
        }
    }
    if (i == argc || run.milliseconds <= 0) {
        fputs("usage: onesea-bench-floors [--ms M] [--cores A,B] [--cable FROM,TO,ADDRESS,ADDRESS] NAME[:BYTES]...\n",
              stderr);
        return 2;
    }
    for (; i < argc; i++) {
        int rc = run_named(argv[i], run);
        worst = rc > worst ? rc : worst;
    }
    return worst;
}
