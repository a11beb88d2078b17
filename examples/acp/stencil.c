/* SPDX-License-Identifier: Apache-2.0 */
/* Heat in a plate: a five-point stencil on a grid of processes, whose edges travel over neighbourhood channels. The
 * graph is made once; a step costs one put with a signal for each side that has a neighbour, and goes on while the
 * inner cells are computed. At the end each process compares its part with the same computed alone, bit by bit, and
 * adds what is wrong to a word of process 0. usage: stencil [cells of a side [steps]] */
#include <acp.h>
#include <onesea/neighbors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum side { north, south, west, east, sides };

struct part { /* of the plate: own cells are rows 1..height, columns 1..width; around them the edges of others */
    int top, left, height, width;
    double *now, *next;
};

static int rank, procs, rows, columns; /* of the grid of processes */

static void fail(const char *what)
{
    fprintf(stderr, "%d: %s: %s\n", rank, what, sea_last_error());
    exit(1);
}

static double *cell(const struct part *p, double *field, int y, int x) { return field + y * (p->width + 2) + x; }

/* What a plate of n x n cells begins with; outside of it is 0. */
static double first(int n, int y, int x)
{
    if (y < 0 || x < 0 || y >= n || x >= n) return 0;
    return y < n / 4 && x < n / 3 ? 100 : (double)(y * 7 + x * 3) / n;
}

static void make_part(struct part *p, int n, int row, int column, int in_rows, int in_columns)
{
    p->top = n * row / in_rows;
    p->left = n * column / in_columns;
    p->height = n * (row + 1) / in_rows - p->top;
    p->width = n * (column + 1) / in_columns - p->left;
    p->now = calloc((size_t)(p->height + 2) * (size_t)(p->width + 2), sizeof(double));
    p->next = calloc((size_t)(p->height + 2) * (size_t)(p->width + 2), sizeof(double));
    if (p->now == NULL || p->next == NULL) exit(1);
    for (int y = 1; y <= p->height; ++y)
        for (int x = 1; x <= p->width; ++x) *cell(p, p->now, y, x) = first(n, p->top + y - 1, p->left + x - 1);
}

static void compute(struct part *p, int from_y, int until_y, int from_x, int until_x)
{
    for (int y = from_y; y < until_y; ++y)
        for (int x = from_x; x < until_x; ++x) {
            double around = *cell(p, p->now, y - 1, x) + *cell(p, p->now, y + 1, x) + *cell(p, p->now, y, x - 1) +
                            *cell(p, p->now, y, x + 1);
            *cell(p, p->next, y, x) = 0.5 * *cell(p, p->now, y, x) + 0.125 * around;
        }
}

static void swap(struct part *p)
{
    double *t = p->now;
    p->now = p->next;
    p->next = t;
}

/* Copies the line of cells at a side, own or of the neighbour, between the part and a buffer. */
static void line(struct part *p, enum side s, int outside, double *buffer, int into_part)
{
    const int length = s == north || s == south ? p->width : p->height;
    for (int i = 1; i <= length; ++i) {
        double *at = s == north   ? cell(p, p->now, outside ? 0 : 1, i)
                     : s == south ? cell(p, p->now, outside ? p->height + 1 : p->height, i)
                     : s == west  ? cell(p, p->now, i, outside ? 0 : 1)
                                  : cell(p, p->now, i, outside ? p->width + 1 : p->width);
        if (into_part)
            *at = buffer[i - 1];
        else
            buffer[i - 1] = *at;
    }
}

/* The neighbours of a process, in the order of the sides; what leads to one leads back. */
static int neighbours(const struct part *p, int row, int column, enum side *which, sea_neighbor *edges)
{
    const int dy[sides] = {-1, 1, 0, 0}, dx[sides] = {0, 0, -1, 1};
    int n = 0;
    for (int s = 0; s < sides; ++s) {
        const int y = row + dy[s], x = column + dx[s];
        if (y < 0 || y >= rows || x < 0 || x >= columns) continue;
        which[n] = (enum side)s;
        edges[n].member = y * columns + x;
        edges[n++].bytes = (size_t)(dy[s] ? p->width : p->height) * sizeof(double);
    }
    return n;
}

static void step(struct part *p, sea_neighbors graph, const enum side *which, int n)
{
    for (int i = 0; i < n; ++i) line(p, which[i], 0, sea_neighbors_out(graph, i), 0);
    if (sea_neighbors_start(graph) != SEA_OK) fail("sea_neighbors_start");
    compute(p, 2, p->height, 2, p->width); /* what needs no neighbour, meanwhile */
    if (sea_neighbors_wait(graph) != SEA_OK) fail("sea_neighbors_wait");
    for (int i = 0; i < n; ++i) line(p, which[i], 1, (double *)sea_neighbors_in(graph, i), 1);
    compute(p, 1, 2, 1, p->width + 1);
    if (p->height > 1) compute(p, p->height, p->height + 1, 1, p->width + 1);
    compute(p, 2, p->height, 1, 2);
    if (p->width > 1) compute(p, 2, p->height, p->width, p->width + 1);
    swap(p);
}

static uint64_t differences(struct part *mine, int n, int steps)
{
    struct part all;
    uint64_t wrong = 0;
    make_part(&all, n, 0, 0, 1, 1);
    for (int k = 0; k < steps; ++k) {
        compute(&all, 1, n + 1, 1, n + 1);
        swap(&all);
    }
    for (int y = 1; y <= mine->height; ++y)
        wrong += memcmp(cell(mine, mine->now, y, 1), cell(&all, all.now, mine->top + y, mine->left + 1),
                        (size_t)mine->width * sizeof(double)) != 0;
    free(all.now);
    free(all.next);
    return wrong;
}

static void wrong_usage(void)
{
    fputs("usage: stencil [cells of a side [steps]]\n", stderr);
    exit(2);
}

/* A whole number, `least` to 1000000000; anything else ends the program. */
static long number(const char *text, long least)
{
    char *end;
    const long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < least || n > 1000000000) wrong_usage();
    return n;
}

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv) != 0) return 1;
    if (argc > 3) wrong_usage();
    const int n = argc > 1 ? (int)number(argv[1], 1) : 96, steps = argc > 2 ? (int)number(argv[2], 0) : 200;
    rank = acp_rank();
    procs = acp_procs();
    for (rows = 1; rows * rows < procs; ++rows) {
    }
    while (procs % rows) ++rows;
    columns = procs / rows;
    if (n < rows || n < columns) {
        fprintf(stderr, "a plate of %d x %d cells is too small for %d x %d processes\n", n, n, rows, columns);
        return 1;
    }
    struct part mine;
    enum side which[sides];
    sea_neighbor edges[sides];
    sea_neighbors graph;
    make_part(&mine, n, rank / columns, rank % columns, rows, columns);
    const int around = neighbours(&mine, rank / columns, rank % columns, which, edges);
    if (sea_neighbors_create(SEA_TEAM_WORLD, edges, around, edges, around, &graph)) fail("sea_neighbors_create");
    for (int k = 0; k < steps; ++k) step(&mine, graph, which, around);
    if (sea_neighbors_free(graph)) fail("sea_neighbors_free");

    /* Wrong rows of all are added up in process 0. The old value goes to the own second word. */
    const acp_ga_t total = acp_query_starter_ga(0), old = acp_query_starter_ga(rank) + 8;
    acp_complete(acp_add8(old, total, differences(&mine, n, steps), ACP_HANDLE_NULL));
    acp_sync();
    uint64_t wrong = 0;
    if (rank == 0) {
        memcpy(&wrong, acp_query_address(total), sizeof wrong);
        printf("%d steps on %d x %d cells by %d x %d processes: %llu rows are wrong\n", steps, n, n, rows, columns,
               (unsigned long long)wrong);
        if (fflush(stdout) != 0) fail("stdout cannot be written");
    }
    free(mine.now);
    free(mine.next);
    acp_finalize();
    return wrong != 0;
}
