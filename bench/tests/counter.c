/* SPDX-License-Identifier: Apache-2.0 */
/* counter put|get N: rank 0 does N puts or gets of 8 bytes to the heap of rank 1 in one function, for callgrind. */
#include <onesea.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int count_put(sea_addr target, int n, const uint64_t *value)
{
    int status = 0;
    for (int i = 0; i < n; i++) status |= sea_put(target, value, 8, NULL);
    return status;
}

__attribute__((noinline)) int count_get(sea_addr source, int n, uint64_t *value)
{
    int status = 0;
    for (int i = 0; i < n; i++) status |= sea_get(value, source, 8, NULL);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3 || sea_init(NULL) != SEA_OK) return 2;
    const int n = atoi(argv[2]);
    sea_addr word = SEA_NULL;
    uint64_t value = 0;
    if (sea_rank() == 0) {
        if (sea_heap_alloc(1, 8, &word) != SEA_OK) return 1;
        value = 42;
        const uint64_t other = 43, expected = strcmp(argv[1], "put") == 0 ? other : value;
        if (sea_put(word, &value, sizeof value, NULL) != SEA_OK) return 1;
        value = 0;
        int status = expected == other ? count_put(word, n, &other) : count_get(word, n, &value);
        if (status == SEA_OK && expected == other) status = sea_get(&value, word, sizeof value, NULL);
        if (status != SEA_OK || value != expected) {
            fprintf(stderr, "counter: %llu, not %llu\n", (unsigned long long)value, (unsigned long long)expected);
            return 1;
        }
    }
    return sea_finalize() == SEA_OK ? 0 : 1;
}
