/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that travel while the program computes. Every rank has a strip of a ring of numbers and smooths it again and
 * again: each number becomes the mean of itself and its two neighbours. In each step the rank starts to receive its
 * neighbours' edges, sends its own, smooths the middle of its strip meanwhile, and only then waits. What a step must
 * leave alone: the sum of all numbers. usage: overlap [steps] */
#include <math.h>
#include <mmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { strip = 20000, to_right = 1, to_left = 2, of_sum = 3 };

static void must_succeed(int status, const char *call)
{
    char text[700];
    if (status == MP_OK) return;
    snprintf(text, sizeof text, "%s: %s: %s", call, MP_strerror(status), MP_last_error());
    MP_abort(1, text);
}
#define must(call) must_succeed((call), #call)

static double numbers[2][strip + 2]; /* old and new, each with a place for both neighbours' edges */

static void smooth(const double *from, double *to, int first, int last)
{
    for (int i = first; i <= last; ++i) to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
}

static void step(double *from, double *to, int left, int right)
{
    MP_request requests[4];
    must(MP_receive(left, to_right, &from[0], sizeof(double), &requests[0]));
    must(MP_receive(right, to_left, &from[strip + 1], sizeof(double), &requests[1]));
    must(MP_send(right, to_right, &from[strip], sizeof(double), &requests[2]));
    must(MP_send(left, to_left, &from[1], sizeof(double), &requests[3]));
    smooth(from, to, 2, strip - 1);
    must(MP_wait_all(requests, 4, NULL));
    smooth(from, to, 1, 1);
    smooth(from, to, strip, strip);
}

/* Rank 0 takes the others' sums in the order in which they come. */
static double sum_of_all(const double *mine)
{
    double sum = 0, theirs;
    for (int i = 1; i <= strip; ++i) sum += mine[i];
    if (MP_rank() > 0) {
        must(MP_send(0, of_sum, &sum, sizeof sum, NULL));
        return sum;
    }
    for (int i = 1; i < MP_size(); ++i) {
        must(MP_receive(MP_ANY_SOURCE, of_sum, &theirs, sizeof theirs, NULL));
        sum += theirs;
    }
    return sum;
}

int main(int argc, char **argv)
{
    char *end = "";
    const long steps = argc > 1 ? strtol(argv[1], &end, 10) : 200;
    if (argc > 2 || *end != '\0' || steps < 1) {
        fputs("usage: overlap [steps]; there must be steps, at least one\n", stderr);
        return 2;
    }
    must(MP_init());
    const int me = MP_rank(), ranks = MP_size(), left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
    for (int i = 1; i <= strip; ++i) numbers[0][i] = (me * 7919L + i) % 1000;
    const double before = sum_of_all(numbers[0]), start = MP_time();
    for (long i = 0; i < steps; ++i) step(numbers[i % 2], numbers[(i + 1) % 2], left, right);
    must(MP_barrier());
    const double seconds = MP_time() - start, after = sum_of_all(numbers[steps % 2]);
    const int right_sum = fabs(after - before) <= 1e-9 * before;
    if (me == 0)
        printf("overlap: %ld steps on %d ranks, %.1f us each, the sum %s\n", steps, ranks,
               seconds / (double)steps * 1e6, right_sum ? "is kept: correct" : "has changed: WRONG");
    if (fflush(stdout) != 0) MP_abort(1, "stdout cannot be written");
    must(MP_finalize());
    return me != 0 || right_sum ? 0 : 1;
}
