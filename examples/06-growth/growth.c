/* SPDX-License-Identifier: Apache-2.0 */
/* A farm of tasks that takes on workers while it runs, and replaces those that die. Rank 0 keeps the tasks and looks
 * after the workers; everybody else takes tasks out of rank 0's memory. */
#define _DEFAULT_SOURCE 1 /* usleep(), also in strict C */
#include "../check.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { tasks = 200, intervals = 20000, hired_at_start = 2, most_replaced = 8 };
#define TASK_DONE UINT64_MAX

/* In rank 0's heap. A task's state is 0, the number of the rank that has taken it plus 1, or TASK_DONE. */
struct farm {
    uint64_t over;
    uint64_t state[tasks];
    double result[tasks];
};
#define PLACE(farm, member) ((farm) + offsetof(struct farm, member))

/* Its part of the integral of 4 / (1 + x * x) from 0 to 1. */
static double do_task(int t)
{
    double sum = 0, h = 1.0 / ((double)tasks * intervals);
    for (int i = 0; i < intervals; ++i) {
        double x = ((double)t * intervals + i + 0.5) * h;
        sum += 4 * h / (1 + x * x);
    }
    return sum;
}

static int take_and_do(sea_addr farm, int t)
{
    uint64_t before, me = (uint64_t)sea_rank() + 1;
    sea_addr state = PLACE(farm, state) + (sea_addr)t * 8;
    must(sea_cas8(state, 0, me, &before, NULL));
    if (before != 0) return 0;
    double result = do_task(t);
    must(sea_put_signal(PLACE(farm, result) + (sea_addr)t * 8, &result, 8, state, TASK_DONE, SEA_SIGNAL_SET, NULL));
    return 1;
}

static void work(sea_addr farm)
{
    int done = 0;
    for (uint64_t over = 0; !over;) {
        int found = 0;
        for (int i = 0; i < tasks; ++i) found += take_and_do(farm, (i + 17 * sea_rank()) % tasks);
        done += found;
        if (!found) usleep(1000); /* others still work on the last ones, and may die over them */
        must(sea_get(&over, PLACE(farm, over), 8, NULL));
    }
    if (sea_spawner() >= 0) printf("rank %d, hired by rank %d, did %d tasks\n", sea_rank(), sea_spawner(), done);
}

static void hire(const char *program, sea_addr farm)
{
    char address[32];
    const char *arguments[] = {program, address, NULL};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    int rank;
    snprintf(address, sizeof address, "%llu", (unsigned long long)farm);
    opts.arguments = arguments;
    must(sea_spawn(&opts, &rank));
}

/* What a dead worker has left undone is free again; 1 if it was alive when we looked last. */
static int bury(struct farm *f, int rank, char *known_dead)
{
    if (sea_alive(rank) == 1 || known_dead[rank]) return 0;
    known_dead[rank] = 1;
    for (int t = 0; t < tasks; ++t) {
        uint64_t theirs = (uint64_t)rank + 1;
        __atomic_compare_exchange_n(&f->state[t], &theirs, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    return 1;
}

static int look_after(const char *program, sea_addr farm)
{
    struct farm *f = sea_local(farm);
    char known_dead[1024] = {0};
    int done, replaced = 0;
    double pi = 0;
    for (int i = 0; i < hired_at_start; ++i) hire(program, farm);
    do {
        for (int r = 1; r < sea_size() && r < (int)sizeof known_dead; ++r)
            if (bury(f, r, known_dead) && replaced < most_replaced) {
                hire(program, farm);
                ++replaced;
            }
        usleep(1000);
        done = 0;
        for (int t = 0; t < tasks; ++t) done += __atomic_load_n(&f->state[t], __ATOMIC_ACQUIRE) == TASK_DONE;
    } while (done < tasks);
    __atomic_store_n(&f->over, 1, __ATOMIC_RELEASE);
    for (int t = 0; t < tasks; ++t) pi += f->result[t];
    int wrong = fabs(pi - 3.14159265358979323846) > 1e-9;
    printf("growth: %s, pi is %.12f, %d ranks, %d of them replaced\n", wrong ? "WRONG" : "correct", pi, sea_size(),
           replaced);
    return wrong || lost_output();
}

int main(int argc, char **argv)
{
    sea_addr farm = SEA_NULL;
    int wrong = 0;
    must(sea_init(NULL));
    if (argc > 1 && sea_spawner() < 0) {
        fputs("usage: growth\n", stderr);
        return 2;
    }
    if (argc > 1) { /* hired: the address of the farm came with the arguments */
        work(strtoull(argv[1], NULL, 10));
        must(sea_finalize());
        return lost_output();
    }
    if (sea_rank() == 0) {
        must(sea_heap_alloc(0, sizeof(struct farm), &farm));
        memset(sea_local(farm), 0, sizeof(struct farm));
    }
    must(sea_broadcast(SEA_TEAM_WORLD, 0, &farm, sizeof farm));
    if (sea_rank() == 0)
        wrong = look_after(argv[0], farm);
    else
        work(farm);
    must(sea_finalize());
    return wrong;
}
