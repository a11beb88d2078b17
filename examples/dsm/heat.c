/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat in a plate, by Jacobi's method, in the distributed shared memory: the plate is cut into bands of rows, one a
 * node, which lies in the node's part. A node computes on its own rows directly and READs the two rows beside them from
 * its neighbours' parts; nobody sends anything. Node 0 READs the whole plate at the end and writes it as a picture.
 *
 *     part of a node:  | its rows, copy 0 | its rows, copy 1 |      step s reads copy s % 2 and writes the other
 *
 * One barrier a step is enough: a row that a neighbour still reads is in the copy that nobody writes in this step.
 *
 * usage: heat [FILE.png]
 */
#include "check.h"

#include <math.h>
#include <png.h>
#include <string.h>

enum { ROWS = 200, COLUMNS = 240, STEPS = 400 };
#define LINE (COLUMNS * sizeof(double))

struct band {
    int first, rows;
};

static struct band band_of(int node, int nodes)
{
    int first = ROWS * node / nodes;
    return (struct band){first, ROWS * (node + 1) / nodes - first};
}

static uint64_t address(struct band b, int copy, int row) /* in the part of the node whose band it is */
{
    return ((uint64_t)copy * (uint64_t)b.rows + (uint64_t)(row - b.first)) * LINE;
}

static double at_start(int row, int column)
{
    if (row == 0)
        return column > COLUMNS / 4 && column < COLUMNS * 3 / 4 ? 1.0 : 0.0; /* a hot piece of the upper edge */
    return column == 0 && row > ROWS / 2 ? 0.7 : 0.0;
}

/* One row of the next copy from three of this; the plate's edge keeps its heat. */
static void relax(const double *above, const double *here, const double *below, double *next, int row)
{
    memcpy(next, here, LINE);
    if (row == 0 || row == ROWS - 1) return;
    for (int c = 1; c < COLUMNS - 1; c++) next[c] = 0.25 * (above[c] + below[c] + here[c - 1] + here[c + 1]);
}

static void step(struct band mine, int me, int nodes, int copy)
{
    static double above[COLUMNS], below[COLUMNS];
    const double *rows = dsm_local(address(mine, copy, mine.first));
    double *next = dsm_local(address(mine, 1 - copy, mine.first));
    if (me > 0) must(dsm_read(me - 1, address(band_of(me - 1, nodes), copy, mine.first - 1), above, LINE));
    if (me < nodes - 1)
        must(dsm_read(me + 1, address(band_of(me + 1, nodes), copy, mine.first + mine.rows), below, LINE));
    for (int i = 0; i < mine.rows; i++) {
        const double *up = i > 0 ? rows + (i - 1) * COLUMNS : above;
        const double *down = i < mine.rows - 1 ? rows + (i + 1) * COLUMNS : below;
        relax(up, rows + i * COLUMNS, down, next + i * COLUMNS, mine.first + i);
    }
    must(dsm_barrier());
}

static void read_plate(double *plate, int nodes)
{
    for (int node = 0; node < nodes; node++) {
        struct band b = band_of(node, nodes);
        must(dsm_read(node, address(b, STEPS % 2, b.first), plate + b.first * COLUMNS, (uint64_t)b.rows * LINE));
    }
}

/* The same, computed here alone: cells that differ. */
static int differences(const double *plate)
{
    double *copies[2] = {must_allocate(ROWS * LINE), must_allocate(ROWS * LINE)};
    int wrong = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) copies[0][r * COLUMNS + c] = at_start(r, c);
    for (int s = 0; s < STEPS; s++) {
        const double *from = copies[s % 2];
        for (int r = 0; r < ROWS; r++) {
            const double *here = from + r * COLUMNS;
            relax(r > 0 ? here - COLUMNS : here, here, r < ROWS - 1 ? here + COLUMNS : here,
                  copies[1 - s % 2] + r * COLUMNS, r);
        }
    }
    for (int i = 0; i < ROWS * COLUMNS; i++) wrong += !(fabs(plate[i] - copies[STEPS % 2][i]) <= 1e-14);
    free(copies[0]);
    free(copies[1]);
    return wrong;
}

/* Black over red and yellow to white. */
static void colour(double heat, png_byte *pixel)
{
    double x = sqrt(heat < 0 ? 0 : heat > 1 ? 1 : heat) * 3;
    for (int i = 0; i < 3; i++) {
        double part = x - i < 0 ? 0 : x - i > 1 ? 1 : x - i;
        pixel[i] = (png_byte)(part * 255 + 0.5);
    }
}

static int write_picture(const char *name, const double *plate)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = COLUMNS, .height = ROWS, .format = PNG_FORMAT_RGB};
    png_byte *pixels = must_allocate(PNG_IMAGE_SIZE(image));
    for (int i = 0; i < ROWS * COLUMNS; i++) colour(plate[i], pixels + 3 * i);
    int good = png_image_write_to_file(&image, name, 0, pixels, 0, NULL);
    if (!good) fprintf(stderr, "heat: %s: %s\n", name, image.message);
    free(pixels);
    return good;
}

static int finish(const char *name, int nodes)
{
    double *plate = must_allocate(ROWS * LINE);
    read_plate(plate, nodes);
    int wrong = differences(plate);
    printf("heat: %d x %d cells, %d steps, %d nodes: %s\n", ROWS, COLUMNS, STEPS, nodes, wrong ? "WRONG" : "correct");
    wrong += lost_output();
    if (name && !write_picture(name, plate)) wrong = 1;
    free(plate);
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fputs("usage: heat [FILE.png]\n", stderr);
        return 2;
    }
    /* A band has at most ROWS / nodes + 1 rows; the number of nodes is known only in the space, so all give as much. */
    must(dsm_init(2 * ROWS * LINE));
    int me = dsm_node(), nodes = dsm_nodes(), status = 0;
    if (nodes > ROWS) {
        fprintf(stderr, "heat: more nodes than rows\n");
        return 2;
    }
    struct band mine = band_of(me, nodes);
    for (int r = mine.first; r < mine.first + mine.rows; r++) {
        double *row = dsm_local(address(mine, 0, r));
        for (int c = 0; c < COLUMNS; c++) row[c] = at_start(r, c);
    }
    must(dsm_barrier());
    for (int s = 0; s < STEPS; s++) step(mine, me, nodes, s % 2);
    if (me == 0) status = finish(argc > 1 ? argv[1] : NULL, nodes);
    must(dsm_term());
    return status;
}
