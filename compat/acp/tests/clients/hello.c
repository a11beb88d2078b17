/* SPDX-License-Identifier: Apache-2.0 */
/* usage: hello [BYTES]: every process tells its neighbour who it is, in the last word of that many bytes of starter
 * memory. */
#include <acp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv) != 0) return 1;
    size_t bytes = argc > 1 ? (size_t)atol(argv[1]) : 1024;
    int me = acp_rank(), procs = acp_procs(), right = (me + 1) % procs, left = (me + procs - 1) % procs;
    uint64_t *words = (uint64_t *)acp_query_address(acp_query_starter_ga(me)), *last = words + bytes / 8 - 1;
    acp_ga_t there = acp_query_starter_ga(right) + bytes - 8;
    words[0] = (uint64_t)me + 1000;
    acp_complete(acp_copy(there, acp_query_starter_ga(me), 8, ACP_HANDLE_NULL));
    acp_sync();
    if (*last != (uint64_t)left + 1000 && !(bytes == 8 && procs == 1)) acp_abort("the neighbour's word is wrong");
    if (bytes > 1024 && acp_copy(there + 8, acp_query_starter_ga(me), 8, ACP_HANDLE_NULL) != 0)
        acp_abort("there is more starter memory than was asked for");
    acp_sync();
    if (me == 0) printf("hello from %d processes, %zu bytes\n", procs, bytes);
    return acp_finalize() == 0 && acp_onesea_errors() == (bytes > 1024) ? 0 : 1;
}
