/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of tasks that make more tasks: the area under a curve, adaptively. A task is an interval. Who takes one
 * estimates its area roughly and finely; where both agree it adds the area to its own sum, else it puts the two halves
 * into the queue. The queue is a list on process 0 that everybody works on; a word there counts the tasks that are not
 * done, and when it is 0 all are finished. At the end process 0 compares sum and number of tasks with the same computed
 * alone. usage: taskqueue [tolerance] */
#define _DEFAULT_SOURCE 1 /* nanosleep(), also in strict C */
#include <acp.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct task {
    double from, to;
};

/* In everybody's starter memory; of the first three words only those of process 0 are used. */
struct board {
    acp_list_t list;
    uint64_t lock;   /* 0, or who has it + 1: looking at the first task, reading and removing it must be one step */
    uint64_t undone; /* tasks in the list and in work */
    double sum;      /* of this process */
    uint64_t done;
    uint64_t old; /* what an atomic found */
    struct task task;
};

static int rank, procs;
static acp_ga_t here, there; /* this board, and that of process 0 */
static struct board *board;

#define AT(ga, field) ((ga) + offsetof(struct board, field))

static void fail(const char *what)
{
    fprintf(stderr, "%d: %s\n", rank, what);
    exit(1);
}

static double curve(double x) { return sin(x * x) / (0.1 + x) + 3; }

static double simpson(double a, double b) { return (b - a) / 6 * (curve(a) + 4 * curve((a + b) / 2) + curve(b)); }

/* 1 if the interval is done and *area is its area, 0 if it must be halved. */
static int try_interval(struct task t, double tolerance, double *area)
{
    const double middle = (t.from + t.to) / 2, rough = simpson(t.from, t.to);
    *area = simpson(t.from, middle) + simpson(middle, t.to);
    return fabs(*area - rough) <= tolerance * (t.to - t.from);
}

static void pause_shortly(void)
{
    const struct timespec time = {0, 50000};
    nanosleep(&time, NULL);
}

static uint64_t add(acp_ga_t word, uint64_t n)
{
    acp_add8(AT(here, old), word, n, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
    return board->old;
}

static void lock(void)
{
    while (1) {
        acp_cas8(AT(here, old), AT(there, lock), 0, (uint64_t)rank + 1, ACP_HANDLE_NULL);
        acp_complete(ACP_HANDLE_ALL);
        if (board->old == 0) return;
        pause_shortly();
    }
}

static void unlock(void)
{
    acp_swap8(AT(here, old), AT(there, lock), 0, ACP_HANDLE_ALL);
    acp_complete(ACP_HANDLE_ALL);
    if (board->old != (uint64_t)rank + 1) fail("somebody else had the lock");
}

static void put(acp_list_t list, struct task t)
{
    const acp_element_t element = {AT(here, task), sizeof t};
    board->task = t;
    acp_push_back_list(list, element, rank); /* the task itself lies with who made it */
}

/* Takes the first task into board->task; 0 if there is none now. */
static int take(acp_list_t list)
{
    int taken = 0;
    lock();
    if (!acp_empty_list(list)) {
        const acp_element_t element = acp_dereference_list_it(acp_begin_list(list));
        if (element.size != sizeof board->task) fail("what lies in the list is no task");
        acp_copy(AT(here, task), element.ga, sizeof board->task, ACP_HANDLE_NULL);
        acp_complete(ACP_HANDLE_ALL);
        acp_pop_front_list(list);
        taken = 1;
    }
    unlock();
    return taken;
}

static void halve(acp_list_t list, struct task t)
{
    const double middle = (t.from + t.to) / 2;
    const struct task left = {t.from, middle}, right = {middle, t.to};
    add(AT(there, undone), 2); /* before they can be taken */
    lock();
    put(list, left);
    put(list, right);
    unlock();
}

static void work(acp_list_t list, double tolerance)
{
    while (1) {
        double area;
        if (!take(list)) {
            if (add(AT(there, undone), 0) == 0) return;
            pause_shortly();
            continue;
        }
        const struct task t = board->task;
        if (try_interval(t, tolerance, &area))
            board->sum += area;
        else
            halve(list, t);
        ++board->done;
        add(AT(there, undone), (uint64_t)-1);
    }
}

static double alone(struct task t, double tolerance, uint64_t *tasks)
{
    const double middle = (t.from + t.to) / 2;
    double area;
    ++*tasks;
    if (try_interval(t, tolerance, &area)) return area;
    const struct task left = {t.from, middle}, right = {middle, t.to};
    return alone(left, tolerance, tasks) + alone(right, tolerance, tasks);
}

static void check(acp_list_t list, struct task all, double tolerance)
{
    double sum = board->sum;
    uint64_t done = board->done, tasks = 0;
    for (int r = 1; r < procs; ++r) {
        acp_copy(AT(here, sum), AT(acp_query_starter_ga(r), sum), 16, ACP_HANDLE_NULL);
        acp_complete(ACP_HANDLE_ALL);
        sum += board->sum;
        done += board->done;
    }
    const double area = alone(all, tolerance, &tasks);
    if (done != tasks) fail("a task was lost or done twice");
    if (fabs(sum - area) > 1e-9 * area) fail("the area is wrong");
    if (!acp_empty_list(list)) fail("tasks are left");
    printf("%llu tasks on %d processes: the area is %.9f\n", (unsigned long long)done, procs, sum);
    if (fflush(stdout) != 0) fail("stdout cannot be written");
}

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv) != 0) return 1;
    char *end = "";
    const double tolerance = argc > 1 ? strtod(argv[1], &end) : 1e-7;
    const struct task all = {0, 10};
    rank = acp_rank();
    procs = acp_procs();
    here = acp_query_starter_ga(rank);
    there = acp_query_starter_ga(0);
    if (argc > 2 || *end != '\0' || !(tolerance > 0)) {
        fputs("usage: taskqueue [tolerance]; the tolerance must be a number above 0\n", stderr);
        return 2;
    }
    board = acp_query_address(here);
    if (board == NULL) fail("no starter memory");
    if (rank == 0) {
        board->list = acp_create_list(0);
        if (board->list.ga == ACP_GA_NULL) fail("no list could be made");
        board->undone = 1;
        put(board->list, all);
    }
    acp_sync();
    acp_copy(AT(here, list), AT(there, list), sizeof board->list, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
    const acp_list_t list = board->list;
    work(list, tolerance);
    acp_sync();
    if (rank == 0) {
        check(list, all, tolerance);
        acp_destroy_list(list);
    }
    acp_finalize();
    return 0;
}
