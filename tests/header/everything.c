/* SPDX-License-Identifier: Apache-2.0 */
/* Every function, type and macro of onesea.h used once, by a C program as a user would write it; the headers of
 * include/onesea/ that it includes have tests of their own. Exit status 0 if all
 * did what the header says. */
#include <onesea.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int line, int good, const char *what)
{
    if (good) return;
    ++failures;
    fprintf(stderr, "rank %d, line %d: %s; last error: %s\n", sea_rank(), line, what, sea_last_error());
}
#define EXPECT(what) expect(__LINE__, (what) ? 1 : 0, #what)
#define OK(call) EXPECT((call) == SEA_OK)

static sea_counter handled;
static char arrived[64];

static void on_data(int source, void *data, size_t bytes, void *argument)
{
    uint64_t before = 0;
    EXPECT(source >= 0 && data == arrived && bytes == 6 && argument == &handled);
    OK(sea_counter_get(&handled, &before));
    OK(sea_counter_set(&handled, before + 1));
}

static void *on_header(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    EXPECT(message->header_bytes == 4 && message->data_bytes == 6 && message->context == &handled);
    EXPECT(memcmp(message->header, "head", 4) == 0 && message->source >= 0);
    *on_complete = on_data;
    *argument = &handled;
    return arrived;
}

static void on_death(int rank, int status, void *context)
{
    (void)rank;
    (void)status;
    (void)context;
}

static void on_error(int rank, int status, int kind, void *context)
{
    on_death(rank, status, context);
    EXPECT(kind >= SEA_ERROR_PUT && kind <= SEA_ERROR_COPY);
}

static void ranks_and_nodes(int me, int n)
{
    EXPECT(me >= 0 && me < n);
    EXPECT(sea_node() >= 0 && sea_node() < sea_nodes() && sea_node_of(me) == sea_node());
    EXPECT(sea_alive(me) == 1 && sea_initialized() == 1);
    EXPECT(strcmp(sea_transport(me), "self") == 0);
    EXPECT(sea_time() > 0);
    EXPECT(strcmp(sea_strerror(SEA_ERR_RANK), sea_strerror(SEA_OK)) != 0);
    EXPECT(strcmp(sea_status_name(SEA_ERR_RANK), "SEA_ERR_RANK") == 0);
    OK(sea_set_timeout(60.0));
    EXPECT(sea_timeout() == 60.0);
    OK(sea_on_death(on_death, NULL));
    OK(sea_on_error(on_error, NULL));
    OK(sea_on_error(NULL, NULL));
    OK(sea_poll());
}

static void transfers(sea_addr there, int rank)
{
    uint64_t out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    sea_addr own = SEA_NULL, found = SEA_NULL;
    sea_piece piece;
    size_t counts[2] = {8, 4};
    int64_t strides[1] = {16};
    const sea_opts fresh = SEA_OPTS_INIT;
    sea_opts opts = fresh;
    sea_op ops[2] = {SEA_OP_NONE, SEA_OP_NONE};
    sea_counter done = {0};
    int index = 0, count = 0, indices[2], finished = 0;

    OK(sea_put(there, out, 8, NULL));
    OK(sea_put(there, out, sizeof out, NULL));
    OK(sea_fence(rank));
    OK(sea_get(in, there, 8, NULL));
    OK(sea_get(in, there, sizeof in, NULL));
    EXPECT(memcmp(in, out, sizeof in) == 0);
    OK(sea_copy(there + 64, there, 64, NULL));
    OK(sea_put_signal(there + 128, out, 8, there + 192, 3, SEA_SIGNAL_SET, NULL));
    OK(sea_put_signal(there + 128, out, 8, there + 192, 4, SEA_SIGNAL_ADD, NULL));
    OK(sea_put_strided(there, strides, out, strides, counts, 1, NULL));
    OK(sea_get_strided(in, strides, there, strides, counts, 1, NULL));
    piece.remote = there;
    piece.local = in;
    piece.bytes = 24;
    OK(sea_put_vector(&piece, 1, NULL));
    OK(sea_get_vector(&piece, 1, NULL));
    OK(sea_register(in, sizeof in, SEA_READ_ONLY, &own));
    OK(sea_global(in, &found));
    EXPECT(found == own && sea_local(own) == in && sea_addr_rank(own) == sea_rank());
    EXPECT(sea_local_range(own, sizeof in) == in && sea_local_range(own, sizeof in + 1) == NULL);
    OK(sea_unregister(own));

    opts.flags = SEA_ORDERED;
    opts.op = &ops[0];
    opts.origin_counter = &done;
    OK(sea_put(there, out, 8, &opts));
    OK(sea_wait_local(ops[0], SEA_FOREVER));
    opts.op = &ops[1];
    opts.after = ops[0];
    opts.remote_counter = &done;
    OK(sea_get(in, there, 8, &opts));
    OK(sea_wait_any(ops, 2, &index, 10.0));
    OK(sea_wait_some(ops, 2, indices, &count, 10.0));
    OK(sea_wait_all(ops, 2, 10.0));
    OK(sea_wait(SEA_OP_NONE, 0.0));
    OK(sea_test(SEA_OP_NONE, &finished));
    opts = fresh;
    opts.flags = SEA_JOIN;
    opts.op = &ops[0];
    ops[0] = SEA_OP_NONE;
    OK(sea_put(there, out, 8, &opts));
    OK(sea_wait(ops[0], 10.0));
    OK(sea_counter_wait(&done, 3, 10.0));
    OK(sea_counter_take(&done, 3, 10.0));
    opts.flags = SEA_NOWAIT;
    opts.op = NULL;
    opts.after = SEA_OP_ALL;
    opts.target_counter = there + 200;
    OK(sea_put(there, out, 8, &opts));
    OK(sea_fence_all());
}

static void raw_space(void)
{
    uint64_t word = 1, old = 0, value = 7;
    sea_counter written = {0};
    sea_raw_piece piece = {(uint64_t)(uintptr_t)&word, &value, sizeof value};
    sea_opts opts = SEA_OPTS_INIT;
    OK(sea_raw_open());
    opts.target_raw_counter = (uint64_t)(uintptr_t)&written;
    OK(sea_raw_put(sea_rank(), piece.remote, &value, sizeof value, &opts));
    OK(sea_raw_get(&old, sea_rank(), piece.remote, sizeof old, NULL));
    EXPECT(old == 7);
    OK(sea_raw_atomic(SEA_ATOMIC_ADD, sea_rank(), piece.remote, 8, 3, 0, &old, NULL));
    OK(sea_raw_get_vector(sea_rank(), &piece, 1, NULL));
    EXPECT(value == 10);
    OK(sea_raw_put_vector(sea_rank(), &piece, 1, NULL));
    OK(sea_fence(sea_rank()));
    OK(sea_counter_wait(&written, 1, 10.0));
    OK(sea_raw_close());
}

static void atomics(sea_addr a)
{
    uint64_t old8 = 0;
    uint32_t old4 = 0;
    OK(sea_swap8(a, 10, &old8, NULL));
    OK(sea_cas8(a, 10, 20, &old8, NULL));
    EXPECT(old8 == 10);
    OK(sea_fetch_add8(a, 5, &old8, NULL));
    EXPECT(old8 == 20);
    OK(sea_swap4(a, 7, &old4, NULL));
    OK(sea_cas4(a, 7, 8, &old4, NULL));
    OK(sea_fetch_add4(a, 1, &old4, NULL));
    EXPECT(old4 == 8);
    OK(sea_atomic(SEA_ATOMIC_AND, a, 8, 1, 0, &old8, NULL));
    OK(sea_atomic(SEA_ATOMIC_OR, a, 8, 2, 0, NULL, NULL));
    OK(sea_atomic(SEA_ATOMIC_XOR, a, 8, 3, 0, NULL, NULL));
    OK(sea_atomic(SEA_ATOMIC_ADD, a, 8, 3, 0, NULL, NULL));
    OK(sea_atomic(SEA_ATOMIC_SWAP, a, 8, 3, 0, NULL, NULL));
    OK(sea_atomic(SEA_ATOMIC_CAS, a, 8, 3, 3, NULL, NULL));
    OK(sea_fence_all());
}

/* Of `n` members; `all` holds 1 .. n, `turned` has room for as many. */
static void more_collectives(int me, int n, const int32_t *all, int32_t *turned)
{
    size_t *sizes = (size_t *)calloc((size_t)n, sizeof *sizes);
    int32_t mine = me + 1, other = 0;
    EXPECT(sizes != NULL);
    for (int m = 0; m < n; ++m) sizes[m] = sizeof mine;
    OK(sea_gatherv(SEA_TEAM_WORLD, 0, &mine, sizeof mine, turned, sizes, NULL));
    EXPECT(me != 0 || turned[n - 1] == n);
    OK(sea_scatterv(SEA_TEAM_WORLD, 0, all, sizes, NULL, &other, sizeof other));
    EXPECT(other == me + 1);
    OK(sea_allgatherv(SEA_TEAM_WORLD, &mine, turned, sizes, NULL));
    EXPECT(turned[n - 1] == n);
    OK(sea_alltoallv(SEA_TEAM_WORLD, all, sizes, NULL, turned, sizes, NULL));
    EXPECT(turned[n - 1] == me + 1);
    OK(sea_scan(SEA_TEAM_WORLD, &mine, &other, 1, SEA_INT32, SEA_SUM));
    EXPECT(other == mine * (mine + 1) / 2);
    OK(sea_exscan(SEA_TEAM_WORLD, &mine, &other, 1, SEA_INT32, SEA_SUM));
    EXPECT(me == 0 || other == mine * (mine - 1) / 2);
    OK(sea_reduce_scatter(SEA_TEAM_WORLD, all, &other, 1, SEA_INT32, SEA_SUM));
    EXPECT(other == n * (me + 1));
    free(sizes);
}

static void collectives(int me, int n)
{
    sea_team odd = SEA_TEAM_NULL, one = SEA_TEAM_NULL;
    int32_t *all = (int32_t *)calloc((size_t)n, sizeof *all), *turned = (int32_t *)calloc((size_t)n, sizeof *turned);
    int32_t mine = me + 1, sum = 0, last = 0;
    EXPECT(all != NULL && turned != NULL);
    OK(sea_broadcast(SEA_TEAM_WORLD, n - 1, &mine, sizeof mine));
    EXPECT(mine == n);
    mine = me + 1;
    OK(sea_reduce(SEA_TEAM_WORLD, 0, &mine, &sum, 1, SEA_INT32, SEA_SUM));
    EXPECT(me != 0 || sum == n * (n + 1) / 2);
    OK(sea_allreduce(SEA_TEAM_WORLD, &mine, &last, 1, SEA_INT32, SEA_MAX));
    EXPECT(last == n);
    OK(sea_gather(SEA_TEAM_WORLD, 0, &mine, all, sizeof mine));
    OK(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine));
    EXPECT(all[0] == 1 && all[n - 1] == n);
    OK(sea_scatter(SEA_TEAM_WORLD, 0, all, &last, sizeof last));
    EXPECT(last == me + 1);
    OK(sea_alltoall(SEA_TEAM_WORLD, all, turned, sizeof *all));
    EXPECT(turned[0] == me + 1);
    more_collectives(me, n, all, turned);
    OK(sea_team_split(SEA_TEAM_WORLD, me % 2, me, &odd));
    EXPECT(sea_team_member(odd, sea_team_rank(odd)) == me && sea_team_size(odd) >= 1);
    OK(sea_barrier(odd));
    OK(sea_team_free(odd));
    OK(sea_team_create(&me, 1, me, &one));
    OK(sea_team_free(one));
    free(all);
    free(turned);
}

int main(void)
{
    sea_config config;
    sea_addr there = SEA_NULL, own_first = SEA_NULL;
    sea_pair_stats stats;
    size_t capacity = 0, used = 0;
    int right;

    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.heap_bytes = (size_t)1 << 20;
    OK(sea_init(&config));
    right = (sea_rank() + 1) % sea_size();
    ranks_and_nodes(sea_rank(), sea_size());
    OK(sea_am_register(SEA_AM_IDS - 1, on_header, &handled));
    OK(sea_barrier(SEA_TEAM_WORLD));
    OK(sea_heap_alloc(right, 4096, &there));
    EXPECT(sea_addr_rank(there) == right && sea_addr_offset(there) == (there & SEA_OFFSET_MASK));
    transfers(there, right);
    atomics(there);
    raw_space();
    OK(sea_am_send(right, SEA_AM_IDS - 1, "head", 4, "hello", 6, NULL));
    OK(sea_counter_wait(&handled, 1, 30.0));
    OK(sea_heap_usage(right, &capacity, &used));
    EXPECT(capacity >= used && used >= 4096);
    EXPECT(sea_heap_next(SEA_NULL, &own_first) == SEA_OK);
    EXPECT(own_first == SEA_NULL || sea_addr_rank(own_first) == sea_rank());
    OK(sea_heap_free(there));
    sea_own_stats own;
    OK(sea_stats_own(&own));
    EXPECT(own.forged == 0 && own.malformed == 0);
    OK(sea_stats(right, &stats));
    EXPECT(stats.puts > 0 && stats.gets > 0 && stats.atomics > 0 && stats.messages > 0 && stats.copies > 0);
    collectives(sea_rank(), sea_size());
    if (SEA_VERSION_MAJOR > 1000) sea_abort(1, "no such version");
    OK(sea_finalize());
    return failures == 0 ? 0 : 1;
}
