/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose two sides lie in two network namespaces of this machine. */
#ifndef ONESEA_BENCH_NAMESPACE_H
#define ONESEA_BENCH_NAMESPACE_H

/* The calling thread makes its sockets in the network namespace of that name from now on. 0, or -1 and errno. */
int enter_namespace(const char *name);

/* What `--cable` says: the namespaces and addresses of the two ends. All empty: both sides are on the loopback. */
struct cable_ends {
    char from[64], to[64];
    char from_address[16], to_address[16];
};

/* Reads "FROM,TO,FROM_ADDRESS,TO_ADDRESS"; 0, or -1 if it is something else. */
int read_cable(const char *text, struct cable_ends *ends);

#endif
