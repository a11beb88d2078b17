/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-tcp FROM TO ADDRESS MS: a TCP stream from network namespace FROM to TO, which has ADDRESS. Sends
 * of 1 MB; the receiver counts what arrives for MS milliseconds after a tenth of that, and prints a line of measure.h.
 */
#define _GNU_SOURCE
#include "measure/namespace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, PATIENCE_S = 60 };

static void die(const char *what)
{
    fprintf(stderr, "onesea-bench-worker-tcp: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void enter(const char *name)
{
    if (enter_namespace(name) != 0) die(name);
}

static void send_all(const struct sockaddr_in *to, char *block)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0 || connect(s, (const struct sockaddr *)to, sizeof *to) != 0) die("connect");
    while (send(s, block, BLOCK, MSG_NOSIGNAL) > 0) {
    }
    exit(0);
}

static void receive(int s, char *block, double seconds)
{
    double begin = now() + seconds * 0.1, counted = 0, t;
    int counting = 0;
    do {
        ssize_t n = recv(s, block, BLOCK, 0);
        if (n <= 0) die("recv");
        t = now();
        if (counting) counted += (double)n;
        if (!counting && t >= begin) counting = 1, begin = t;
    } while (!counting || t - begin < seconds);
    double speed = counted / (t - begin) * 1e-9;
    printf("result tcp_stream bandwidth_gbs %d %.6g %.6g 1\n", BLOCK, speed, speed);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: onesea-bench-worker-tcp FROM TO ADDRESS MS\n", stderr);
        return 2;
    }
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    char *block = malloc(BLOCK);
    if (block) memset(block, 1, BLOCK); /* a page that nobody wrote is always in the cache */
    if (!block || inet_pton(AF_INET, argv[3], &at.sin_addr) != 1) die(argv[3]);
    alarm(PATIENCE_S);
    enter(argv[2]);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &length) != 0)
        die("listen");
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(PATIENCE_S);
        close(listener);
        enter(argv[1]);
        send_all(&at, block);
    }
    int s = accept(listener, NULL, NULL);
    if (s < 0) die("accept");
    receive(s, block, atof(argv[4]) * 1e-3);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(block);
    return 0;
}
