/* SPDX-License-Identifier: Apache-2.0 */
/* The last process ends in the middle; the others hear of it where they need it, and go on with each other. */
#include <acp.h>
#include <onesea.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv) != 0) return 1;
    int me = acp_rank(), procs = acp_procs(), last = procs - 1, wrong = 0;
    acp_ga_t mine = acp_query_starter_ga(me);
    uint64_t *words = acp_query_address(mine), in = 0;
    acp_ch_t channel = ACP_CH_NULL;
    acp_list_t list = {ACP_GA_NULL};
    if (me == 0) channel = acp_create_ch(last, 0);
    if (me == last) channel = acp_create_ch(last, 0);
    if (me == 1) list = acp_create(list, 0);
    acp_sync();
    if (me == last) raise(SIGKILL);
    while (sea_alive(acp_onesea_rank(last)) == 1) usleep(1000);

    uint64_t before = acp_onesea_errors(); /* of the barrier, if it died before all had heard of each other */
    words[0] = 5;
    /* what it has left in the node's shared memory may be written to until this process has heard of its end, too */
    for (int tries = 0; acp_onesea_errors() == before && tries < 10000; ++tries) {
        acp_complete(acp_copy(acp_query_starter_ga(last), mine, 8, ACP_HANDLE_NULL));
        usleep(1000);
    }
    if (acp_onesea_errors() != before + 1) ++wrong;
    if (acp_malloc(8, last) != ACP_GA_NULL) ++wrong;
    if (me == 0) {
        acp_request_t r = acp_nbrecv_ch(channel, &in, sizeof in);
        if (r != ACP_REQUEST_NULL && acp_wait_ch(r) != (size_t)-1) ++wrong;
        acp_free_ch(channel);
    }
    if (me == 1) {
        acp_element_t element = {mine, 8};
        acp_push_back(list, list, element, 0);
        acp_push_back(list, list, element, last); /* fails */
        if (acp_size(list, list) != 1) ++wrong;
    }
    acp_complete(acp_add8(mine + 8, acp_query_starter_ga(1 - me) + 16, 1, ACP_HANDLE_NULL));
    if (words[1] != 0) ++wrong;
    printf("process %d goes on, %d wrong: %s\n", me, wrong, acp_onesea_last_error());
    fflush(stdout);
    acp_finalize();
    return wrong != 0;
}
