/* SPDX-License-Identifier: Apache-2.0 */
/* A job that does not end: each rank waits, or does not, in its own way. With an argument all leave but one. */
#include <onesea.h>
#include <onesea/message.h>

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void receive_from_anybody(void)
{
    static char data[8];
    sea_message_receive(SEA_TEAM_WORLD, SEA_ANY_SOURCE, 5, data, sizeof data, NULL, NULL);
}

static void receive_several(void)
{
    static char data[3][8];
    sea_op ops[3];
    for (int i = 0; i < 3; ++i) {
        sea_opts o = SEA_OPTS_INIT;
        o.op = &ops[i];
        sea_message_receive(SEA_TEAM_WORLD, 0, 7 + i, data[i], sizeof data[i], NULL, &o);
    }
    sea_wait_all(ops, 3, SEA_FOREVER);
}

static void send_what_nobody_receives(void)
{
    static char data[1 << 20];
    sea_message_send(SEA_TEAM_WORLD, 0, 9, data, sizeof data, NULL);
}

static void wait_for_a_counter(void)
{
    static sea_counter never;
    sea_counter_wait(&never, 1, SEA_FOREVER);
}

int main(int argc, char *argv[])
{
    if (getenv("ONESEA_RANK") && atoi(getenv("ONESEA_RANK")) == 7) return pause();
    if (sea_init(NULL) != SEA_OK) return 1;
    if (argc > 1 && strcmp(argv[1], "leave") == 0) return sea_rank() == 1 ? pause() : sea_finalize();
    switch (sea_rank()) {
    case 0:
        receive_from_anybody();
        break;
    case 1:
        receive_several();
        break;
    case 2:
        send_what_nobody_receives();
        break;
    case 3:
        sea_barrier(SEA_TEAM_WORLD);
        break;
    case 4:
        wait_for_a_counter();
        break;
    case 5:
        sleep(1000);
        break;
    default:
        raise(SIGSTOP);
    }
    return 0;
}
