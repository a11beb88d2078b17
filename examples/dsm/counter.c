/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributed counters: every node has a histogram of 64 words in its part, all nodes throw dice and count what they
 * see, wherever the word lies. Words are counted with dsm_fetch_add(). The smallest and largest dice ever seen are a
 * pair that must be changed together: READ and WRITE under a lock.
 *
 *     part of each node:  | 64 counters |        node 0 besides:  | 64 counters | smallest, largest |
 */
#include "check.h"

enum { WORDS = 64, THROWS = 2000, PAIR = WORDS * 8, EXTREMES = 3 };

static uint64_t dice(uint64_t *state) /* splitmix64 */
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void keep_extremes(uint64_t smallest, uint64_t largest)
{
    uint64_t pair[2];
    must(dsm_lock(EXTREMES));
    must(dsm_read(0, PAIR, pair, sizeof pair));
    if (pair[1] == 0 || smallest < pair[0]) pair[0] = smallest;
    if (largest > pair[1]) pair[1] = largest;
    must(dsm_write(0, PAIR, pair, sizeof pair));
    must(dsm_unlock(EXTREMES)); /* whoever gets it next reads what was written */
}

/* The same without a shared memory: what must have come out. */
static int differences(int nodes)
{
    int64_t *expected = must_allocate((size_t)nodes * WORDS * 8), found[WORDS];
    uint64_t smallest = UINT64_MAX, largest = 0, pair[2];
    int wrong = 0;
    for (int node = 0; node < nodes; node++) {
        uint64_t state = (uint64_t)node;
        for (int i = 0; i < THROWS; i++) {
            uint64_t x = dice(&state);
            expected[x % (uint64_t)(nodes * WORDS)]++;
            if (x < smallest) smallest = x;
            if (x > largest) largest = x;
        }
    }
    for (int node = 0; node < nodes; node++) {
        must(dsm_read(node, 0, found, sizeof found));
        for (int w = 0; w < WORDS; w++) wrong += found[w] != expected[node * WORDS + w];
    }
    must(dsm_read(0, PAIR, pair, sizeof pair));
    wrong += pair[0] != smallest;
    wrong += pair[1] != largest;
    free(expected);
    return wrong;
}

int main(void)
{
    must(dsm_init(PAIR + 16));
    int me = dsm_node(), nodes = dsm_nodes();
    uint64_t state = (uint64_t)me, smallest = UINT64_MAX, largest = 0;
    for (int i = 0; i < THROWS; i++) {
        uint64_t x = dice(&state), word = x % (uint64_t)(nodes * WORDS);
        must(dsm_fetch_add((int)(word / WORDS), word % WORDS * 8, 1, NULL));
        if (x < smallest) smallest = x;
        if (x > largest) largest = x;
        if (i % 100 == 99) keep_extremes(smallest, largest);
    }
    must(dsm_barrier());
    int wrong = differences(nodes);
    if (me == 0) printf("counter: %d throws at %d nodes: %s\n", THROWS * nodes, nodes, wrong ? "WRONG" : "correct");
    wrong += lost_output();
    must(dsm_term());
    return wrong ? 1 : 0;
}
