/* SPDX-License-Identifier: Apache-2.0 */
/* An allgather that nobody waits for: each process broadcasts its block over a binary tree of copies that it alone
 * directs. Copy i of the tree brings the block from process i/2 to process i (counted from the owner) and starts when
 * the copy that brought it to i/2 is complete; most copies are between two other processes. The program could compute
 * until acp_complete(). usage: allgather [bytes of a block [rounds]] */
#include <acp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, procs;

static unsigned char value(int owner, int round, size_t i) { return (unsigned char)(owner * 31 + round * 7 + (int)i); }

/* Every process's blocks lie in its starter memory, in the order of the owners. */
static void start(acp_handle_t *handle, size_t n)
{
    handle[rank] = ACP_HANDLE_NULL;
    for (int i = 1; i < procs; ++i) {
        const int dst = (rank + i) % procs, src = (rank + (i >> 1)) % procs;
        const size_t place = n * (size_t)rank;
        handle[dst] = acp_copy(acp_query_starter_ga(dst) + place, acp_query_starter_ga(src) + place, n, handle[src]);
        if (handle[dst] == (acp_handle_t)ACP_HANDLE_NULL) {
            fprintf(stderr, "%d: the copy to %d was refused\n", rank, dst);
            exit(1);
        }
    }
}

static size_t wrong_bytes(const unsigned char *blocks, size_t n, int round)
{
    size_t wrong = 0;
    for (int owner = 0; owner < procs; ++owner)
        for (size_t i = 0; i < n; ++i) wrong += blocks[(size_t)owner * n + i] != value(owner, round, i);
    return wrong;
}

static void wrong_usage(void)
{
    fputs("usage: allgather [bytes of a block [rounds]]\n", stderr);
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
    const size_t n = argc > 1 ? (size_t)number(argv[1], 1) : 4096;
    const long rounds = argc > 2 ? number(argv[2], 1) : 10;
    rank = acp_rank();
    procs = acp_procs();
    unsigned char *blocks = acp_query_address(acp_query_starter_ga(rank));
    acp_handle_t *handle = malloc((size_t)procs * sizeof *handle);
    size_t wrong = 0;
    if (blocks == NULL || handle == NULL) return 1;
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < n; ++i) blocks[n * (size_t)rank + i] = value(rank, round, i);
        acp_sync(); /* all are done with the last round */
        start(handle, n);
        acp_complete(ACP_HANDLE_ALL); /* my block is everywhere */
        acp_sync();                   /* everybody's is here */
        wrong += wrong_bytes(blocks, n, round);
        acp_sync();
    }
    if (rank == 0) printf("%ld rounds of %zu bytes from each of %d processes\n", rounds, n, procs);
    const int lost = fflush(stdout) != 0;
    if (lost) perror("stdout");
    if (wrong) fprintf(stderr, "%d: %zu bytes are wrong\n", rank, wrong);
    free(handle);
    acp_finalize();
    return wrong != 0 || lost;
}
