/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank does to itself. `careless leaves_first`: rank 1 gives up waiting for rank 0 in sea_finalize() and uses
 * the memory that it had registered for something else; `leaves_raw_first`: that of its raw space. `closes_all`: it
 * closes every descriptor, as a daemon does, and cannot go on. `receives_into_constants`: rank 0 does, and the sender
 * is not to blame. `without_files`: the ranks start without stdin, stdout and stderr and open these for themselves
 * later. `without_memory`: nothing can be allocated any more, and then it can again. `small_stack`: a thread has
 * little. `exits_at_once`: rank 1 ends with 0 without sea_finalize(), and rank 0 tells what it hears of that.
 */
#include <onesea.h>
#include <onesea/message.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { room = 8192 };
static char memory[room];

static void must(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %s: %s: %s\n", getenv("ONESEA_RANK"), what, sea_last_error());
    exit(1);
}

static void leave_first(int raw)
{
    char data[100];
    struct {
        sea_addr registered;
        uint64_t raw;
    } mine = {SEA_NULL, (uintptr_t)memory}, all[2];
    must(sea_register(memory, room, 0, &mine.registered) == SEA_OK, "sea_register");
    if (raw) must(sea_raw_open() == SEA_OK, "sea_raw_open");
    must(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine) == SEA_OK, "sea_allgather");
    if (sea_rank() == 1) {
        must(sea_set_timeout(0.2) == SEA_OK, "sea_set_timeout");
        must(sea_finalize() == SEA_ERR_TIMEOUT, "sea_finalize");
        sleep(1);
        for (int i = 0; i < room; ++i) must(memory[i] == 0, "its memory was written");
        exit(0);
    }
    usleep(500000);
    memset(data, 7, sizeof data);
    const int status =
        raw ? sea_raw_put(1, all[1].raw, data, sizeof data, NULL) : sea_put(all[1].registered, data, sizeof data, NULL);
    must(status == SEA_OK || status == (raw ? SEA_ERR_ACCESS : SEA_ERR_ADDRESS), "a put to who has left");
    sea_fence_all();
    must(sea_finalize() == SEA_OK, "sea_finalize");
    exit(0);
}

/* The sender computes meanwhile: where it helps, the receiver copies by itself, and faults. */
static void send_and_compute(const char *data, size_t bytes)
{
    sea_op op;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    must(sea_message_send(SEA_TEAM_WORLD, 0, 1, data, bytes, &opts) == SEA_OK, "sea_message_send");
    usleep(40000);
    must(sea_wait(op, SEA_FOREVER) == SEA_OK, "the end of a send");
}

static void receive_into_constants(void)
{
    enum { bytes = 100000 };
    char *data = malloc(bytes), *constants = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(data && constants != MAP_FAILED, "memory");
    memset(data, sea_rank() + 1, bytes);
    for (int i = 0; i < 6; ++i) {
        if (sea_rank() == i % 2) usleep(20000);
        if (sea_rank() == 1)
            send_and_compute(data, bytes);
        else
            must(sea_message_receive(SEA_TEAM_WORLD, 1, 1, constants, bytes, NULL, NULL) == SEA_ERR_INVALID,
                 "a receive into constants");
        must(sea_barrier(SEA_TEAM_WORLD) == SEA_OK, "sea_barrier");
    }
    if (sea_rank() == 1)
        must(sea_message_send(SEA_TEAM_WORLD, 0, 1, data, bytes, NULL) == SEA_OK, "sea_message_send");
    else
        must(sea_message_receive(SEA_TEAM_WORLD, 1, 1, data, bytes, NULL, NULL) == SEA_OK && data[bytes - 1] == 2,
             "a good receive");
    munmap(constants, bytes);
    free(data);
}

static void close_all(void)
{
    if (sea_rank() == 1)
        for (int fd = 3; fd < 1024; ++fd) close(fd);
    for (int i = 0; i < 2; ++i) {
        if (sea_rank() != i) usleep(500000);
        sea_barrier(SEA_TEAM_WORLD);
    }
}

/* Before sea_init(), which must leave their numbers free. */
static void close_standard_files(void)
{
    for (int fd = 0; fd < 3; ++fd) close(fd);
}

/* All that it opens later: pipes for pages that are lent, and for memory that may not be there. */
static void move_much(void)
{
    enum { bytes = 1 << 20 };
    static uint64_t data[bytes / 8];
    const int to = (sea_rank() + 1) % sea_size();
    sea_addr mine, all[64];
    uint64_t here = (uint64_t)(uintptr_t)data, there[64];
    int good = sea_heap_alloc(sea_rank(), bytes, &mine) == SEA_OK && sea_raw_open() == SEA_OK;
    good &= sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine) == SEA_OK;
    good &= sea_allgather(SEA_TEAM_WORLD, &here, there, sizeof here) == SEA_OK;
    for (int i = 0; i < 10; ++i) {
        good &= sea_put(all[to], data, bytes, NULL) == SEA_OK && sea_fence(to) == SEA_OK;
        good &= sea_raw_get(data, to, there[to], bytes, NULL) == SEA_OK;
        good &= sea_raw_get(data, to, 4096, bytes, NULL) == SEA_ERR_ADDRESS;
    }
    if (!good || sea_barrier(SEA_TEAM_WORLD) != SEA_OK) _exit(5);
}

static void open_standard_files(void)
{
    move_much();
    for (int fd = 0; fd < 3; ++fd)
        if (fcntl(fd, F_GETFD) >= 0) _exit(2); /* it is the library's */
    for (int fd = 0; fd < 3; ++fd)
        if (open("/dev/null", O_RDWR) != fd) _exit(3);
    for (int i = 0; i < 3; ++i) { /* the last one comes late: the others sleep */
        if (sea_rank() == i) usleep(100000);
        if (sea_barrier(SEA_TEAM_WORLD) != SEA_OK) _exit(4);
    }
}

static long address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    must(file && fscanf(file, "%ld", &pages) == 1, "/proc/self/statm");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void use_up_memory(void)
{
    struct block {
        struct block *next;
    } *first = NULL, *more;
    sea_addr here;
    uint64_t word = 5;
    must(sea_heap_alloc(sea_rank(), 8, &here) == SEA_OK, "sea_heap_alloc");
    struct rlimit before, none;
    usleep(20000); /* the library's own thread has looked at everything once */
    must(getrlimit(RLIMIT_AS, &before) == 0, "getrlimit");
    must(sea_last_error() != NULL, "sea_last_error"); /* has memory of its own to be freed when the thread ends */
    none = before;
    none.rlim_cur = (rlim_t)address_space();
    must(setrlimit(RLIMIT_AS, &none) == 0, "setrlimit");
    for (size_t bytes = 1 << 20; bytes >= sizeof *more; bytes /= 2)
        while ((more = malloc(bytes)) != NULL) {
            more->next = first;
            first = more;
        }
    const int bad_put = sea_put(here + (UINT64_C(1) << 38), &word, sizeof word, NULL); /* its text needs memory */
    const int raw = sea_raw_open();
    setrlimit(RLIMIT_AS, &before);
    for (; first; first = more) {
        more = first->next;
        free(first);
    }
    must(bad_put == SEA_ERR_ADDRESS || bad_put == SEA_ERR_MEMORY, "a put to nowhere without memory");
    must(raw == SEA_ERR_MEMORY, "sea_raw_open() without memory");
    must(sea_raw_open() == SEA_OK, "sea_raw_open() with memory again");
    must(sea_put(here, &word, sizeof word, NULL) == SEA_OK && sea_fence_all() == SEA_OK, "a put with memory again");
    must(sea_barrier(SEA_TEAM_WORLD) == SEA_OK, "sea_barrier");
}

static sea_addr places[64];

static void *put_long(void *data)
{
    enum { bytes = 1 << 20 };
    const int to = (sea_rank() + 1) % sea_size();
    must(sea_put(places[to], data, bytes, NULL) == SEA_OK && sea_fence(to) == SEA_OK, "a long put");
    must(sea_message_send(SEA_TEAM_WORLD, to, 1, data, bytes,
                          &(sea_opts){.size = sizeof(sea_opts), .flags = SEA_NOWAIT}) == SEA_OK,
         "sea_message_send");
    must(sea_message_receive(SEA_TEAM_WORLD, SEA_ANY_SOURCE, 1, data, bytes, NULL, NULL) == SEA_OK,
         "sea_message_receive");
    return NULL;
}

static void run_with_small_stack(void)
{
    char *data = calloc(2, 1 << 20);
    pthread_t thread;
    pthread_attr_t little;
    sea_addr mine;
    must(data && sea_heap_alloc(sea_rank(), 1 << 20, &mine) == SEA_OK, "memory");
    must(sea_allgather(SEA_TEAM_WORLD, &mine, places, sizeof mine) == SEA_OK, "sea_allgather");
    must(pthread_attr_init(&little) == 0 && pthread_attr_setstacksize(&little, 24576) == 0, "a small stack");
    must(pthread_create(&thread, &little, put_long, data) == 0 && pthread_join(thread, NULL) == 0, "a thread");
    must(sea_barrier(SEA_TEAM_WORLD) == SEA_OK, "sea_barrier");
    free(data);
}

static void hear_of_death(int rank, int status, void *heard)
{
    printf("rank %d has ended, status %d\n", rank, status);
    must(sea_counter_set(heard, 1) == SEA_OK, "sea_counter_set");
}

static void exit_at_once(void)
{
    sea_counter heard = {0};
    must(sea_on_death(hear_of_death, &heard) == SEA_OK, "sea_on_death");
    must(sea_barrier(SEA_TEAM_WORLD) == SEA_OK, "sea_barrier");
    if (sea_rank() == 1) _exit(0);
    must(sea_counter_wait(&heard, 1, 10) == SEA_OK, "sea_counter_wait");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "without_files") == 0) close_standard_files();
    must(sea_init(NULL) == SEA_OK, "sea_init");
    must(argc == 2, "what?");
    if (strcmp(argv[1], "without_files") == 0) open_standard_files();
    if (strcmp(argv[1], "without_memory") == 0) use_up_memory();
    if (strcmp(argv[1], "small_stack") == 0) run_with_small_stack();
    if (strcmp(argv[1], "leaves_first") == 0) leave_first(0);
    if (strcmp(argv[1], "leaves_raw_first") == 0) leave_first(1);
    if (strcmp(argv[1], "closes_all") == 0) close_all();
    if (strcmp(argv[1], "exits_at_once") == 0) exit_at_once();
    if (strcmp(argv[1], "receives_into_constants") == 0) receive_into_constants();
    return sea_finalize() == SEA_OK ? 0 : 1;
}
