/* SPDX-License-Identifier: Apache-2.0 */
/* What `onesea bench memory` starts. `serve`: joins, gives way to others' operations until its stdin ends. `measure N`:
 * says how much memory it owns before sea_init(), after it, after talking to ranks 1..N, and after all others have
 * ended; goes on to the next step with each line on stdin. Its own buffers are static and touched before the first
 * figure, and reading the figures allocates nothing. */
#include <fcntl.h>
#include <onesea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { large_bytes = 64 * 1024, am_number = 1 };

static char large[large_bytes];
static char text[16 * 1024];
static sea_addr blocks[1024];

static void fail(const char *what)
{
    fprintf(stderr, "onesea-bench-worker-memory: %s: %s\n", what, sea_last_error());
    exit(1);
}

static void must(int status, const char *what)
{
    if (status != SEA_OK) fail(what);
}

struct figures { /* kB */
    long anonymous, shared, page_tables;
};

/* One line of smaps or status. A mapping begins with a line that starts with its address, in small hexadecimal; all
 * other lines start with a capital. */
static void take(const char *line, int *in_shared_memory, struct figures *f)
{
    const char *value = strchr(line, ':');
    if (line[0] < 'A' || line[0] > 'Z') {
        *in_shared_memory = strstr(line, "/memfd:") != NULL;
        return;
    }
    if (!value) return;
    long n = strtol(value + 1, NULL, 10);
    if (strncmp(line, "Anonymous:", 10) == 0) f->anonymous += n;
    if (strncmp(line, "VmPTE:", 6) == 0) f->page_tables += n;
    if (*in_shared_memory && strncmp(line, "Private_", 8) == 0) f->shared += n;
}

static void read_figures(const char *file, struct figures *f)
{
    int fd = open(file, O_RDONLY), in_shared_memory = 0;
    size_t have = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, text + have, sizeof text - 1 - have)) > 0;) {
        char *line = text, *end;
        have += (size_t)n;
        text[have] = 0;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            take(line, &in_shared_memory, f);
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
    }
    if (fd >= 0) close(fd);
}

static void say(const char *step, double seconds)
{
    char line[160];
    struct figures f = {0, 0, 0};
    read_figures("/proc/self/smaps", &f);
    read_figures("/proc/self/status", &f);
    int n = snprintf(line, sizeof line, "memory %s %ld %ld %ld %.6f\n", step, f.anonymous, f.shared, f.page_tables,
                     seconds);
    if (write(STDOUT_FILENO, line, (size_t)n) != n) exit(1);
}

/* 0 at the end of stdin. */
static int next_line(void)
{
    char c = 0;
    while (read(STDIN_FILENO, &c, 1) == 1)
        if (c == '\n') return 1;
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *on_message(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    (void)message, (void)on_complete, (void)argument;
    return NULL;
}

static volatile int somebody_died;

static void on_death(int rank, int status, void *context)
{
    (void)rank, (void)status, (void)context;
    somebody_died = 1;
}

static int serve(void)
{
    must(sea_init(NULL), "sea_init");
    must(sea_am_register(am_number, on_message, NULL), "sea_am_register");
    if (write(STDOUT_FILENO, "serving\n", 8) != 8) return 1;
    while (next_line()) {
    }
    must(sea_finalize(), "sea_finalize");
    return 0;
}

static void talk_to(int rank)
{
    uint64_t word = 7, old = 0;
    if (blocks[rank] == SEA_NULL) must(sea_heap_alloc(rank, large_bytes, &blocks[rank]), "sea_heap_alloc");
    must(sea_put(blocks[rank], &word, sizeof word, NULL), "sea_put");
    must(sea_put(blocks[rank] + 8, large + 8, large_bytes - 8, NULL), "sea_put");
    must(sea_fence(rank), "sea_fence");
    must(sea_fetch_add8(blocks[rank], 1, &old, NULL), "sea_fetch_add8");
    must(sea_get(large, blocks[rank], large_bytes, NULL), "sea_get");
    must(sea_am_send(rank, am_number, large, 64, NULL, 0, NULL), "sea_am_send");
    must(sea_fence(rank), "sea_fence");
    if (old != 7 || large[0] != 8) fail("the figures that came back are wrong");
}

static int measure(int peers)
{
    if (peers >= (int)(sizeof blocks / sizeof blocks[0])) return 1;
    memset(large, 1, sizeof large);
    memset(blocks, 0, sizeof blocks);
    say("warm", 0); /* what reading itself needs */
    say("before", 0);
    if (!next_line()) return 1;
    double begin = now();
    must(sea_init(NULL), "sea_init");
    must(sea_on_death(on_death, NULL), "sea_on_death");
    say("init", now() - begin);
    if (!next_line()) return 1;
    begin = now();
    for (int round = 0; round < 3; round++)
        for (int rank = 1; rank <= peers; rank++) talk_to(rank);
    say("talked", now() - begin);
    if (!next_line()) return 1;
    begin = now();
    while (sea_size() > peers + 1 && !somebody_died) usleep(100); /* the last of them was killed, the others left */
    say("ended", now() - begin);
    must(sea_finalize(), "sea_finalize");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "measure") == 0) return measure(atoi(argv[2]));
    if (argc == 2 && strcmp(argv[1], "serve") == 0) return serve();
    fprintf(stderr, "onesea-bench-worker-memory is started by `onesea bench memory`\n");
    return 2;
}
