/* SPDX-License-Identifier: Apache-2.0 */
/* A histogram whose bins are spread over the ranks. Who draws numbers sends them, in batches, as active messages to the
 * rank that keeps their bins; a handler there counts them. Handlers run one at a time, so the bins need no lock. */
#include "../check.h"

#include <string.h>

enum { bins = 1024, numbers = 40000, batch = 256, message_id = 1 };

struct histogram {
    uint64_t count[bins]; /* only those of this rank are used */
    uint64_t batches;
};

/* Runs when the numbers of a batch are in place. */
static void count_batch(int source, void *data, size_t bytes, void *argument)
{
    struct histogram *histogram = argument;
    const uint32_t *bin = data;
    (void)source;
    for (size_t i = 0; i < bytes / sizeof *bin; ++i) ++histogram->count[bin[i] % bins];
    ++histogram->batches;
    free(data);
}

/* Runs when a batch is announced: says where its numbers go and what runs when they are there. */
static void *receive_batch(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    void *room = malloc(message->data_bytes);
    if (room == NULL) sea_abort(1, "no memory for a batch");
    *on_complete = count_batch;
    *argument = message->context;
    return room;
}

/* Number i of a rank: the same whenever asked, so that the result can be checked without communication. */
static uint32_t draw(int rank, int i)
{
    uint64_t x = (uint64_t)rank * numbers + (uint64_t)i + 1;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    uint32_t a = (uint32_t)(x >> 40) % bins, b = (uint32_t)(x >> 20) % bins;
    return (a + b) / 2; /* more in the middle */
}

static int owner(uint32_t bin, int n) { return (int)(bin % (uint32_t)n); }

static void send_batch(int to, uint32_t *values, size_t *used)
{
    if (*used > 0) must(sea_am_send(to, message_id, NULL, 0, values, *used * sizeof *values, NULL));
    *used = 0;
}

static void send_all(int me, int n)
{
    uint32_t(*values)[batch] = must_allocate((size_t)n * sizeof *values);
    size_t *used = must_allocate((size_t)n * sizeof *used);
    for (int i = 0; i < numbers; ++i) {
        uint32_t bin = draw(me, i);
        int to = owner(bin, n);
        values[to][used[to]++] = bin;
        if (used[to] == batch) send_batch(to, values[to], &used[to]);
    }
    for (int to = 0; to < n; ++to) send_batch(to, values[to], &used[to]);
    must(sea_fence_all()); /* the handlers of all my messages have returned */
    free(used);
    free(values);
}

static long long wrong_bins(const struct histogram *histogram, int me, int n)
{
    uint64_t *expected = must_allocate(bins * sizeof *expected);
    long long wrong = 0;
    for (int rank = 0; rank < n; ++rank)
        for (int i = 0; i < numbers; ++i) ++expected[draw(rank, i)];
    for (uint32_t bin = 0; bin < bins; ++bin)
        if (owner(bin, n) == me) wrong += histogram->count[bin] != expected[bin];
    free(expected);
    return wrong;
}

int main(void)
{
    must(sea_init(NULL));
    int me = sea_rank(), n = sea_size();
    struct histogram *histogram = must_allocate(sizeof *histogram);
    must(sea_am_register(message_id, receive_batch, histogram));
    must(sea_barrier(SEA_TEAM_WORLD)); /* now everybody has the handler */

    double start = sea_time();
    send_all(me, n);
    must(sea_barrier(SEA_TEAM_WORLD)); /* everybody's messages have been handled */
    if (me == 0)
        printf("%d numbers of %d ranks in %.3f s; rank 0 handled %llu batches\n", numbers * n, n, sea_time() - start,
               (unsigned long long)histogram->batches);
    int status = finish("messages", wrong_bins(histogram, me, n));
    free(histogram);
    return status;
}
