/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floors: what the machine gives to a program that does nothing else. Two processes, the origin and the target,
 * each on its own processor; the origin is timed unless a floor says otherwise.
 */
#ifndef ONESEA_BENCH_FLOOR_H
#define ONESEA_BENCH_FLOOR_H

#include <stddef.h>
#include <stdint.h>

struct floor_run {
    int origin_core, target_core; /* negative: not pinned */
    double milliseconds;          /* counted time of each measurement */
    size_t bytes;                 /* of one operation or one transfer */
    size_t datagram;              /* bytes of data in one packet of a UDP stream */
    void *shared;                 /* `shared_bytes` mapped by both processes, zero, the first page for flags */
    size_t shared_bytes;
    int origin_socket, target_socket; /* connected pair, -1 if the floor wants none */
};

enum floor_wire { WIRE_NONE, WIRE_UDP, WIRE_TCP };

struct floor {
    const char *name;
    size_t bytes; /* default, and the only size if `sized` is 0 */
    int sized;
    enum floor_wire wire;
    void (*origin)(const struct floor_run *run, const char *name);
    void (*target)(const struct floor_run *run, const char *name); /* returns when the origin says stop */
};

/* Each ends with a null name. */
extern const struct floor memory_floors[], udp_floors[], stream_floors[], pingpong_floors[];

/* The flag page: the origin says that it is done, the target that it is ready. */
#define FLOOR_PAGE 4096
struct floor_flags {
    _Alignas(64) uint64_t stop;
    _Alignas(64) uint64_t ready;
    _Alignas(64) uint64_t ping;
    _Alignas(64) uint64_t pong;
};
static inline struct floor_flags *flags_of(const struct floor_run *run) { return (struct floor_flags *)run->shared; }
static inline uint64_t flag_read(const uint64_t *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }
static inline void flag_write(uint64_t *flag, uint64_t value) { __atomic_store_n(flag, value, __ATOMIC_RELEASE); }

/* A pure loop of arithmetic. */
static inline void compute_until_stop(const struct floor_run *run)
{
    volatile uint64_t x = 1;
    while (!flag_read(&flags_of(run)->stop))
        for (int i = 0; i < 1000; i++) x = x * 2862933555777941757u + 3037000493u;
}

/* Ends the process with a message that names the failing call. */
void floor_die(const char *what) __attribute__((noreturn));

#endif
