/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat in a plate, by Jacobi's method: the plate is cut into tiles, one a rank. A tile has a frame of halo cells around
 * it, into which the neighbours write their edges: rows by a plain put, columns by a strided one.
 *
 *        halo of the upper neighbour's last row
 *      +----------------------------------------+
 *    h |  tile: height x width, row-major       | h      Two copies: step s reads copy s % 2 and writes the other.
 *      +----------------------------------------+
 *        halo of the lower neighbour's first row
 *
 * Each side has a counter of its own. One for all four would not do: a fast neighbour may already have sent the edge of
 * the next step, and would be counted for a slow one. It cannot be two steps ahead: for that it needs this rank's edge,
 * which is sent after the step is computed; so two copies are enough.
 */
#include "../check.h"

#include <math.h>
#include <string.h>

enum { rows = 120, columns = 100, steps = 150 };
enum side { up, down, left, right, sides };
static const enum side opposite[sides] = {down, up, right, left};

struct tile {
    int grid_rows, grid_columns, row, column; /* the grid of ranks and my place in it */
    int first_row, first_column, height, width;
    int neighbour[sides]; /* -1: edge of the plate */
    struct {
        int height, width;
    } size_of[sides]; /* of the neighbours' tiles */
    sea_addr base_of[sides];
    sea_addr base;
    sea_counter *arrived; /* the segment: a counter for each side, then the two copies */
    double *cells[2];
};

static int cut(int length, int part, int parts) { return length * part / parts; }

static size_t copy_cells(int height, int width) { return (size_t)(height + 2) * (size_t)(width + 2); }

static sea_addr address(sea_addr base, int copy, int height, int width, int i, int j)
{
    size_t cell = (size_t)copy * copy_cells(height, width) + (size_t)i * (size_t)(width + 2) + (size_t)j;
    return base + 64 + cell * sizeof(double);
}

static double at_start(int i, int j) { return i == 0 ? 1.0 : (j == 0 ? 0.5 : 0.0); } /* hot top, warm left side */

static void find_place(struct tile *t, int me, int n)
{
    t->grid_rows = 1;
    for (int i = 2; i * i <= n; ++i)
        if (n % i == 0) t->grid_rows = i;
    t->grid_columns = n / t->grid_rows;
    if (t->grid_rows > rows || t->grid_columns > columns)
        sea_abort(2, "heat: more ranks than the plate can be cut for");
    t->row = me / t->grid_columns;
    t->column = me % t->grid_columns;
    t->first_row = cut(rows, t->row, t->grid_rows);
    t->first_column = cut(columns, t->column, t->grid_columns);
    t->height = cut(rows, t->row + 1, t->grid_rows) - t->first_row;
    t->width = cut(columns, t->column + 1, t->grid_columns) - t->first_column;
}

static void find_neighbours(struct tile *t, const sea_addr *all)
{
    const int di[sides] = {-1, 1, 0, 0}, dj[sides] = {0, 0, -1, 1};
    for (int s = 0; s < sides; ++s) {
        int i = t->row + di[s], j = t->column + dj[s];
        t->neighbour[s] = -1;
        if (i < 0 || j < 0 || i >= t->grid_rows || j >= t->grid_columns) continue;
        t->neighbour[s] = i * t->grid_columns + j;
        t->size_of[s].height = cut(rows, i + 1, t->grid_rows) - cut(rows, i, t->grid_rows);
        t->size_of[s].width = cut(columns, j + 1, t->grid_columns) - cut(columns, j, t->grid_columns);
        t->base_of[s] = all[t->neighbour[s]];
    }
}

static void create(struct tile *t)
{
    int me = sea_rank(), n = sea_size();
    sea_addr *all = must_allocate((size_t)n * sizeof *all);
    find_place(t, me, n);
    size_t cells = copy_cells(t->height, t->width), bytes = 64 + 2 * cells * sizeof(double);
    must(sea_heap_alloc(me, bytes, &t->base));
    t->arrived = sea_local(t->base);
    memset(t->arrived, 0, bytes);
    t->cells[0] = (double *)((char *)t->arrived + 64);
    t->cells[1] = t->cells[0] + cells;
    for (int i = 0; i < t->height + 2; ++i)
        for (int j = 0; j < t->width + 2; ++j)
            t->cells[0][i * (t->width + 2) + j] = t->cells[1][i * (t->width + 2) + j] =
                at_start(t->first_row + i, t->first_column + j);
    must(sea_allgather(SEA_TEAM_WORLD, &t->base, all, sizeof t->base));
    find_neighbours(t, all);
    free(all);
}

/* Writes my edge on that side into the neighbour's halo, and counts it there. */
static void send_edge(const struct tile *t, int copy, enum side s)
{
    int height = t->size_of[s].height, width = t->size_of[s].width;
    int64_t my_stride = (int64_t)(t->width + 2) * 8, its_stride = (int64_t)(width + 2) * 8;
    const double *first = t->cells[copy] + t->width + 3, *last_row = first + (t->height - 1) * (t->width + 2);
    size_t column[2] = {sizeof(double), (size_t)t->height};
    sea_opts opts = SEA_OPTS_INIT;
    opts.target_counter = t->base_of[s] + (uint64_t)opposite[s] * sizeof(sea_counter);
    if (s == up || s == down) {
        sea_addr halo = address(t->base_of[s], copy, height, width, s == up ? height + 1 : 0, 1);
        must(sea_put(halo, s == up ? first : last_row, (size_t)t->width * sizeof(double), &opts));
    } else {
        sea_addr halo = address(t->base_of[s], copy, height, width, 1, s == left ? width + 1 : 0);
        const double *edge = s == left ? first : first + t->width - 1;
        must(sea_put_strided(halo, &its_stride, edge, &my_stride, column, 1, &opts));
    }
}

static void relax(const double *from, double *to, int height, int width)
{
    int line = width + 2;
    for (int i = 1; i <= height; ++i)
        for (int j = 1; j <= width; ++j) {
            const double *c = from + i * line + j;
            to[i * line + j] = 0.25 * (c[-line] + c[line] + c[-1] + c[1]);
        }
}

static void step(struct tile *t, int number)
{
    int copy = number % 2;
    for (int s = 0; s < sides; ++s)
        if (t->neighbour[s] >= 0) send_edge(t, copy, (enum side)s);
    for (int s = 0; s < sides; ++s)
        if (t->neighbour[s] >= 0) must(sea_counter_wait(&t->arrived[s], (uint64_t)number + 1, SEA_FOREVER));
    relax(t->cells[copy], t->cells[1 - copy], t->height, t->width);
}

/* The whole plate, computed here alone: cells of my tile that differ. */
static long long differences(const struct tile *t)
{
    double *plate[2];
    long long wrong = 0;
    for (int copy = 0; copy < 2; ++copy) {
        plate[copy] = must_allocate(copy_cells(rows, columns) * sizeof(double));
        for (int i = 0; i < rows + 2; ++i)
            for (int j = 0; j < columns + 2; ++j) plate[copy][i * (columns + 2) + j] = at_start(i, j);
    }
    for (int number = 0; number < steps; ++number) relax(plate[number % 2], plate[1 - number % 2], rows, columns);
    for (int i = 1; i <= t->height; ++i)
        for (int j = 1; j <= t->width; ++j) {
            double expected = plate[steps % 2][(t->first_row + i) * (columns + 2) + t->first_column + j];
            wrong += !(fabs(t->cells[steps % 2][i * (t->width + 2) + j] - expected) <= 1e-14);
        }
    free(plate[0]);
    free(plate[1]);
    return wrong;
}

int main(void)
{
    struct tile tile;
    must(sea_init(NULL));
    create(&tile);
    must(sea_barrier(SEA_TEAM_WORLD));
    double start = sea_time();
    for (int number = 0; number < steps; ++number) step(&tile, number);
    if (sea_rank() == 0)
        printf("%d x %d cells, %d steps on %d x %d ranks: %.3f s\n", rows, columns, steps, tile.grid_rows,
               tile.grid_columns, sea_time() - start);
    return finish("heat", differences(&tile));
}
