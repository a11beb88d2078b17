/* SPDX-License-Identifier: Apache-2.0 */
/* How often does each word occur in a text of which every process has a part? The words are the keys of a map that is
 * spread over all processes; the value under a word is its count, an integer that everybody adds to where it lies. A
 * word that a process has met before costs it one atomic addition, which it does not wait for. At the end process 0
 * walks through the map, and compares it with the same counted alone. usage: wordcount [words of a process] */
#include <acp.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VOCABULARY 1000
#define WORD 24

/* What a process gives to calls of the library lies in its global memory. */
struct desk {
    char word[WORD];
    uint64_t zero, before, count;
};

static int rank, procs;
static acp_ga_t desk_ga;
static struct desk *desk;

#define ON_DESK(field) (desk_ga + offsetof(struct desk, field))

static void fail(const char *what)
{
    fprintf(stderr, "%d: %s\n", rank, what);
    exit(1);
}

/* The text: word `number` of the vocabulary occurs the less often the higher its number. */
static unsigned next_word(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t dice = *state >> 33;
    return (unsigned)(VOCABULARY / (1 + dice % VOCABULARY) + dice / VOCABULARY % 7) % VOCABULARY;
}

static uint64_t first_state(int process) { return (uint64_t)process * 977 + 13; }

static size_t spell(unsigned number, char *word) { return (size_t)snprintf(word, WORD, "word-%u", number * number); }

/* Where the count of a word lies: it is made if this is the first process that asks. */
static acp_ga_t counter_of(acp_map_t map, unsigned number)
{
    acp_pair_t pair;
    pair.first.ga = ON_DESK(word);
    pair.first.size = spell(number, desk->word);
    pair.second.ga = ON_DESK(zero);
    pair.second.size = sizeof desk->zero;
    acp_insert_map(map, pair); /* 0: another process was first, which is as good */
    const acp_map_it_t it = acp_find_map(map, pair.first);
    if (it.elem == ACP_GA_NULL) fail("a word that was inserted is not in the map");
    return acp_dereference_map_it(it).second.ga;
}

static void count_words(acp_map_t map, long words)
{
    acp_ga_t known[VOCABULARY] = {0};
    uint64_t state = first_state(rank);
    for (long i = 0; i < words; ++i) {
        const unsigned number = next_word(&state);
        if (known[number] == ACP_GA_NULL) known[number] = counter_of(map, number);
        acp_add8(ON_DESK(before), known[number], 1, ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
}

static void count_alone(uint64_t *counts, long words)
{
    for (int process = 0; process < procs; ++process) {
        uint64_t state = first_state(process);
        for (long i = 0; i < words; ++i) ++counts[next_word(&state)];
    }
}

/* The word, and its count, that an iterator is at. */
static uint64_t read_entry(acp_map_it_t it)
{
    const acp_pair_t pair = acp_dereference_map_it(it);
    if (pair.first.size >= WORD || pair.second.size != sizeof desk->count) fail("an entry is no word with its count");
    memset(desk->word, 0, WORD);
    acp_copy(ON_DESK(word), pair.first.ga, pair.first.size, ACP_HANDLE_NULL);
    acp_copy(ON_DESK(count), pair.second.ga, sizeof desk->count, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
    return desk->count;
}

static void check(acp_map_t map, long words)
{
    uint64_t alone[VOCABULARY] = {0}, together[VOCABULARY] = {0};
    size_t met = 0, most = 0;
    count_alone(alone, words);
    for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL; it = acp_increment_map_it(it), ++met) {
        const uint64_t count = read_entry(it);
        unsigned number = 0;
        char word[WORD];
        while (number < VOCABULARY && (spell(number, word), strcmp(word, desk->word) != 0)) ++number;
        if (number == VOCABULARY || together[number] != 0) fail("the map has a word that is not in the text, or twice");
        together[number] = count;
        if (count > together[most]) most = number;
    }
    if (memcmp(alone, together, sizeof alone) != 0) fail("a word was counted wrongly");
    if (met != acp_size_map(map)) fail("the map has another size than entries");
    spell((unsigned)most, desk->word);
    printf("%ld words in %d processes, %zu different; the commonest is %s, %" PRIu64 " times\n", words * procs, procs,
           met, desk->word, together[most]);
    if (fflush(stdout) != 0) fail("stdout cannot be written");
}

/* Process 0 makes the map; the others find it in their starter memory. */
static acp_map_t shared_map(void)
{
    acp_map_t *mine = acp_query_address(acp_query_starter_ga(rank));
    if (rank == 0) {
        int *all = malloc((size_t)procs * sizeof *all);
        if (all == NULL) fail("no memory");
        for (int r = 0; r < procs; ++r) all[r] = r;
        *mine = acp_create_map(procs, all, 256, 0);
        free(all);
        if (mine->ga == ACP_GA_NULL) fail("no map could be made");
        for (int r = 1; r < procs; ++r)
            acp_copy(acp_query_starter_ga(r), acp_query_starter_ga(0), sizeof *mine, ACP_HANDLE_NULL);
        acp_complete(ACP_HANDLE_ALL);
    }
    acp_sync();
    return *mine;
}

static void wrong_usage(void)
{
    fputs("usage: wordcount [words of a process]\n", stderr);
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
    if (argc > 2) wrong_usage();
    const long words = argc > 1 ? number(argv[1], 1) : 10000;
    rank = acp_rank();
    procs = acp_procs();
    desk_ga = acp_malloc(sizeof *desk, rank);
    desk = acp_query_address(desk_ga);
    if (desk == NULL) fail("no global memory");
    memset(desk, 0, sizeof *desk);
    const acp_map_t map = shared_map();
    count_words(map, words);
    acp_sync();
    if (rank == 0) {
        check(map, words);
        acp_destroy_map(map);
    }
    acp_free(desk_ga);
    acp_finalize();
    return 0;
}
