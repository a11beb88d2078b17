/* SPDX-License-Identifier: Apache-2.0 */
/* A word count in C, with the names that all types share: each process counts its words in one multiset and keeps who
 * was first in one map; a list collects what the first process then prints. */
#include <acp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const text[] = {"the", "sea", "has", "the", "sea"};

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv) != 0) return 1;
    int me = acp_rank(), procs = acp_procs(), wrong = 0;
    acp_ga_t mine = acp_query_starter_ga(me);
    struct {
        acp_multiset_t counts;
        acp_map_t first;
        acp_list_t names;
    } *shared = acp_query_address(mine);
    char *word = (char *)acp_query_address(mine + 1024);
    if (me == 0) {
        int *ranks = malloc((size_t)procs * sizeof *ranks);
        for (int i = 0; i < procs; ++i) ranks[i] = i;
        shared->counts = acp_create(multiset, procs, ranks, 16, 0);
        shared->first = acp_create(map, procs, ranks, 16, procs - 1);
        shared->names = acp_create(list, procs - 1);
        free(ranks);
    }
    acp_sync();
    acp_complete(acp_copy(mine, acp_query_starter_ga(0), sizeof *shared, ACP_HANDLE_NULL));
    acp_sync();
    for (int i = 0; i < 5; ++i) {
        acp_element_t key = {mine + 1024, strlen(text[i])};
        acp_pair_t pair = {key, {mine + 2048, sizeof me}};
        memcpy(word, text[i], key.size);
        memcpy(acp_query_address(mine + 2048), &me, sizeof me);
        if (acp_insert(multiset, shared->counts, key) != 1) ++wrong;
        if (acp_insert(map, shared->first, pair)) acp_push_back(list, shared->names, key, me);
    }
    acp_sync();
    if (me == 0) {
        acp_list_it_t it;
        if (acp_size(list, shared->names) != 3 || acp_size(multiset, shared->counts) != 3) ++wrong;
        for (it = acp_begin(list, shared->names); it.elem != acp_end(list, shared->names).elem;
             it = acp_increment(list_it, it)) {
            acp_element_t name = acp_dereference(list_it, it);
            int expected;
            acp_complete(acp_copy(mine + 1024, name.ga, name.size, ACP_HANDLE_NULL));
            name.ga = mine + 1024;
            expected = procs * (word[0] == 'h' ? 1 : 2);
            if (acp_retrieve_multiset(shared->counts, name) != (uint64_t)expected) ++wrong;
            printf("%.*s %d\n", (int)name.size, word, expected);
        }
        acp_destroy(multiset, shared->counts);
        acp_destroy(map, shared->first);
        acp_destroy(list, shared->names);
    }
    acp_sync();
    if (acp_onesea_errors() != 0) ++wrong;
    return acp_finalize() == 0 && wrong == 0 ? 0 : 1;
}
