/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank does to itself. `careless leaves_first`: rank 1 gives up waiting for rank 0 in sea_finalize() and uses
 * the memory that it had registered for something else; `leaves_raw_first`: that of its raw space. `closes_all`: it
 * closes every descriptor, as a daemon does, and cannot go on. `receives_into_constants`: rank 0 does, and the sender
 * is not to blame.
 */
#include <onesea.h>
#include <onesea/message.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void receive_into_constants(void)
{
    enum { bytes = 100000 };
    char *data = malloc(bytes), *constants = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(data && constants != MAP_FAILED, "memory");
    memset(data, sea_rank() + 1, bytes);
    for (int i = 0; i < 6; ++i) {
        if (sea_rank() == i % 2) usleep(20000);
        if (sea_rank() == 1)
            must(sea_message_send(SEA_TEAM_WORLD, 0, 1, data, bytes, NULL) == SEA_OK, "sea_message_send");
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

int main(int argc, char **argv)
{
    must(sea_init(NULL) == SEA_OK, "sea_init");
    must(argc == 2, "leaves_first, leaves_raw_first, closes_all or receives_into_constants");
    if (strcmp(argv[1], "leaves_first") == 0) leave_first(0);
    if (strcmp(argv[1], "leaves_raw_first") == 0) leave_first(1);
    if (strcmp(argv[1], "closes_all") == 0) close_all();
    if (strcmp(argv[1], "receives_into_constants") == 0) receive_into_constants();
    return sea_finalize() == SEA_OK ? 0 : 1;
}
