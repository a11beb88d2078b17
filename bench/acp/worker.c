/* SPDX-License-Identifier: Apache-2.0 */
/* What `onesea bench acp` starts: two processes of ACP, of which process 0 measures and process 1 waits in acp_sync().
 *
 * usage: onesea-bench-worker-acp --ms M --cores A,B CASE...
 *
 * copy:BYTES - acp_copy() to process 1, a window of them (16 MB, 2..512) and one acp_complete().
 *
 * calls - rounds of 100 acp_malloc(), 100 acp_free() in random order, 100 acp_push_back_list(), 100 reads of 8 bytes,
 * on process 1 and (NAME_local) on process 0; a sample is the mean of the 100 of a round.
 *
 * libacp - what acp_init() adds to what sea_init() took: the own memory of the library, of its messages of a
 * collective, and the first pages of the starter memory.
 *
 * registered:N - what each of N registrations costs the process.
 *
 * churn:N - what the process owns before and after N channels, lists and vectors have been made, used and freed. */
#define _GNU_SOURCE
#include "measure/measure.h"

#include <acp.h>
#include <fcntl.h>
#include <onesea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { calls = 100, most_bytes = 32768, other = 1, warm_rounds = 5, rounds_least = 25, batch = 1000 };

static double milliseconds;
static int me;

static void fail(const char *what)
{
    fprintf(stderr, "onesea-bench-worker-acp: %s failed\n", what);
    exit(1);
}

/* ---- copy ------------------------------------------------------------------------------------------------------- */

struct stream {
    acp_ga_t from, to;
    size_t bytes, window;
};

static void copy_window(void *context)
{
    const struct stream *s = context;
    for (size_t i = 0; i < s->window; ++i) acp_copy(s->to, s->from, s->bytes, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
}

static void run_copy(size_t bytes)
{
    struct stream s = {acp_malloc(bytes, me), acp_malloc(bytes, other), bytes, window_for(bytes)};
    if (s.from == ACP_GA_NULL || s.to == ACP_GA_NULL) fail("acp_malloc");
    memset(acp_query_address(s.from), 1, bytes);
    measure(&(struct measurement){"copy", METRIC_BANDWIDTH, bytes, s.window, milliseconds, 0, copy_window, &s});
    acp_free(s.from);
    acp_free(s.to);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static unsigned long long dice_state = 88172645463325252ull;

static unsigned dice(unsigned n)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return (unsigned)(dice_state % n);
}

struct call_samples {
    struct samples allocation, release, addition, reading;
};

static double per_call_us(uint64_t begin) { return (double)(now_ns() - begin) / 1000.0 / calls; }

static void shuffle(acp_ga_t *all)
{
    for (unsigned i = calls - 1; i > 0; --i) {
        const unsigned k = dice(i + 1);
        const acp_ga_t t = all[i];
        all[i] = all[k];
        all[k] = t;
    }
}

static double run_list(int where, acp_ga_t own)
{
    const acp_list_t list = acp_create_list(where);
    const acp_element_t element = {own, 8};
    if (list.ga == ACP_GA_NULL) fail("acp_create_list");
    const uint64_t begin = now_ns();
    for (int i = 0; i < calls; ++i) acp_push_back_list(list, element, where);
    const double addition = per_call_us(begin);
    if (acp_size_list(list) != calls) fail("acp_push_back_list");
    acp_destroy_list(list);
    return addition;
}

static void run_round(int where, acp_ga_t own, acp_ga_t word, struct call_samples *s, int counted)
{
    acp_ga_t all[calls];
    size_t sizes[calls];
    for (int i = 0; i < calls; ++i) sizes[i] = 1 + dice(most_bytes);
    uint64_t begin = now_ns();
    for (int i = 0; i < calls; ++i) all[i] = acp_malloc(sizes[i], where);
    const double allocation = per_call_us(begin);
    for (int i = 0; i < calls; ++i)
        if (all[i] == ACP_GA_NULL) fail("acp_malloc");
    shuffle(all);
    begin = now_ns();
    for (int i = 0; i < calls; ++i) acp_free(all[i]);
    const double release = per_call_us(begin);
    const double addition = run_list(where, own);
    begin = now_ns();
    for (int i = 0; i < calls; ++i) acp_complete(acp_copy(own, word, 8, ACP_HANDLE_NULL));
    const double reading = per_call_us(begin);
    if (!counted) return;
    samples_add(&s->allocation, allocation);
    samples_add(&s->release, release);
    samples_add(&s->addition, addition);
    samples_add(&s->reading, reading);
}

static void run_calls(int where, const char *suffix)
{
    struct call_samples s;
    char name[40];
    const acp_ga_t own = acp_malloc(8, me), word = acp_malloc(8, where);
    if (own == ACP_GA_NULL || word == ACP_GA_NULL) fail("acp_malloc");
    samples_open(&s.allocation);
    samples_open(&s.release);
    samples_open(&s.addition);
    samples_open(&s.reading);
    const uint64_t begin = now_ns(), end = (uint64_t)(milliseconds * 1250000);
    for (int round = 0; round < rounds_least || now_ns() - begin < end; ++round)
        run_round(where, own, word, &s, round >= warm_rounds);
#define PRINT(what, text)                            \
    snprintf(name, sizeof name, text "%s", suffix);  \
    samples_print(&s.what, name, METRIC_LATENCY, 0); \
    samples_close(&s.what)
    PRINT(allocation, "malloc");
    PRINT(release, "free");
    PRINT(addition, "push_back_list");
    PRINT(reading, "get8");
#undef PRINT
    acp_free(own);
    acp_free(word);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Private pages of this process: its own (Anonymous), and those of the node's shared memory that nobody else has
 * touched. Page tables are not counted: they follow the addresses, not the contents. */
static double owned_bytes(void)
{
    static char text[1 << 16];
    double kilobytes = 0;
    size_t have = 0;
    int in_shared = 0;
    const int fd = open("/proc/self/smaps", O_RDONLY);
    if (fd < 0) fail("/proc/self/smaps");
    for (ssize_t n; (n = read(fd, text + have, sizeof text - 1 - have)) > 0;) {
        char *line = text, *end;
        have += (size_t)n;
        text[have] = 0;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            const char *value = strchr(line, ':');
            if (line[0] < 'A' || line[0] > 'Z')
                in_shared = strstr(line, "/memfd:") != NULL;
            else if (value &&
                     (strncmp(line, "Anonymous:", 10) == 0 || (in_shared && strncmp(line, "Private_", 8) == 0)))
                kilobytes += atof(value + 1);
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
    }
    close(fd);
    return kilobytes * 1024;
}

static void say_memory(const char *name, size_t count, double value)
{
    printf("result %s memory_bytes %zu %.1f %.1f 1\n", name, count, value, value);
}

/* Before and after acp_init(), which starts the library only if that has not been done. */
static double libacp_bytes;

static int init_and_weigh(int *argc, char ***argv)
{
    if (sea_init(NULL) != SEA_OK) return 1;
    owned_bytes();
    const double before = owned_bytes();
    if (acp_init(argc, argv) != 0) return 1;
    libacp_bytes = owned_bytes() - before;
    return 0;
}

static void run_registered(size_t n)
{
    static char memory[4096];
    acp_atkey_t *keys = malloc(n * sizeof *keys);
    if (!keys) fail("malloc");
    memset(keys, 0, n * sizeof *keys);
    memset(memory, 1, sizeof memory);
    owned_bytes();
    const double before = owned_bytes();
    for (size_t i = 0; i < n; ++i)
        if ((keys[i] = acp_register_memory(memory, sizeof memory, 0)) == ACP_ATKEY_NULL) fail("acp_register_memory");
    say_memory("registration", n, (owned_bytes() - before) / (double)n);
    for (size_t i = 0; i < n; ++i)
        if (acp_unregister_memory(keys[i]) != 0) fail("acp_unregister_memory");
    free(keys);
}

static void some_channels(int sends)
{
    static acp_ch_t ends[batch];
    static acp_request_t requests[batch];
    char word[8] = "word";
    for (int i = 0; i < batch; ++i)
        if ((ends[i] = acp_create_ch(0, 1)) == ACP_CH_NULL) fail("acp_create_ch");
    for (int i = 0; i < batch; i += 10)
        if (acp_wait_ch(sends ? acp_nbsend_ch(ends[i], word, 8) : acp_nbrecv_ch(ends[i], word, 8)) != (sends ? 0 : 8))
            fail("acp_wait_ch");
    for (int i = 0; i < batch; ++i)
        if ((requests[i] = acp_nbfree_ch(ends[i])) == ACP_REQUEST_NULL) fail("acp_nbfree_ch");
    for (int i = 0; i < batch; ++i)
        if (acp_wait_ch(requests[i]) == (size_t)-1) fail("acp_wait_ch");
}

static void some_structures(acp_ga_t own)
{
    const acp_element_t element = {own, 8};
    for (int i = 0; i < batch; ++i) {
        const int where = i % 2 ? me : 1 - me;
        const acp_list_t list = acp_create_list(where);
        const acp_vector_t vector = acp_create_vector(0, where);
        if (list.ga == ACP_GA_NULL || vector.ga == ACP_GA_NULL) fail("acp_create_list or acp_create_vector");
        acp_push_back_list(list, element, where);
        acp_push_back_vector(vector, own, 8);
        if (acp_size_list(list) != 1 || acp_size_vector(vector) != 8)
            fail("acp_push_back_list or acp_push_back_vector");
        acp_destroy_list(list);
        acp_destroy_vector(vector);
    }
}

/* By both. The first tenth warms up. */
static void run_churn(size_t n)
{
    double before = 0;
    const acp_ga_t own = acp_malloc(8, me);
    if (own == ACP_GA_NULL) fail("acp_malloc");
    owned_bytes();
    for (size_t done = 0; done < n + n / 10; done += batch) {
        if (done >= n / 10 && before == 0) before = owned_bytes();
        some_channels(me == 0);
        some_structures(own);
    }
    if (me == 0) say_memory("churn_before", n, before);
    if (me == 0) say_memory("churn_after", n, owned_bytes());
    acp_free(own);
}

/* ---- main ------------------------------------------------------------------------------------------------------- */

static void run_case(const char *argument)
{
    size_t n = 0;
    if (sscanf(argument, "copy:%zu", &n) == 1 && n > 0) {
        if (me == 0) run_copy(n);
    } else if (strcmp(argument, "calls") == 0) {
        if (me == 0) run_calls(other, "");
        if (me == 0) run_calls(me, "_local");
    } else if (strcmp(argument, "libacp") == 0) {
        if (me == 0) say_memory("libacp", 0, libacp_bytes);
    } else if (sscanf(argument, "registered:%zu", &n) == 1 && n > 0) {
        if (me == 0) run_registered(n);
    } else if (sscanf(argument, "churn:%zu", &n) == 1 && n > 0) {
        run_churn(n);
    } else {
        fprintf(stderr, "onesea-bench-worker-acp: there is no case '%s'\n", argument);
        exit(2);
    }
    if (acp_sync() != 0) fail("acp_sync");
}

int main(int argc, char **argv)
{
    int cores[2];
    if (init_and_weigh(&argc, &argv) != 0) return 1;
    me = acp_rank();
    if (argc < 5 || strcmp(argv[1], "--ms") != 0 || sscanf(argv[4], "%d,%d", &cores[0], &cores[1]) != 2 ||
        acp_procs() != 2) {
        fprintf(stderr, "onesea-bench-worker-acp is started by `onesea bench acp`\n");
        return 2;
    }
    milliseconds = atof(argv[2]);
    pin_all_threads(cores[me]);
    if (acp_sync() != 0) fail("acp_sync");
    for (int i = 5; i < argc; ++i) run_case(argv[i]);
    return acp_finalize() != 0;
}
