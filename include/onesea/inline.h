/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inlined path of 8-byte puts and gets inside a node. Included by onesea.h; not for direct use.
 *
 * The library publishes, for the ranks of this node, where their heaps are mapped and which 64-byte granules of them
 * are allocated. A put or get of 8 aligned bytes to live heap memory of the node is then one load or store. All else
 * (other sizes, registered memory, other nodes, errors, before init, after death) takes the function of the library.
 * The layout below is part of the ABI. Define SEA_NO_INLINE before including onesea.h to always call the library.
 */
#ifndef ONESEA_INLINE_H
#define ONESEA_INLINE_H

#ifdef __cplusplus
extern "C" {
#endif

#define SEA_GRANULE_SHIFT_ 6

struct sea_window_ {
    uint64_t start;            /* global address of the window's first byte, or of none */
    uint64_t last;             /* highest offset at which 8 bytes fit */
    char *memory;              /* where the window's first byte is mapped */
    const unsigned char *live; /* one byte per granule: 0 if free */
    uint64_t puts, gets;       /* how often the inlined path was taken */
    uint64_t atomics;          /* how often the library took the short way of an atomic */
    const void *asleep;        /* the library's own */
};

struct sea_fast_ {
    struct sea_window_ *windows; /* indexed by rank & mask */
    uint64_t mask;
};
extern struct sea_fast_ sea_fast_;

#if defined(__GNUC__) && !defined(SEA_NO_INLINE)

/* 1 and the mapped place if these are 8 aligned bytes of live heap memory of the node. */
static inline __attribute__((always_inline)) int sea_fast_word_(sea_addr address, struct sea_window_ **window,
                                                                uint64_t **word)
{
    struct sea_window_ *w = &sea_fast_.windows[(address >> SEA_OFFSET_BITS) & sea_fast_.mask];
    uint64_t offset = address - __atomic_load_n(&w->start, __ATOMIC_ACQUIRE);
    if (__builtin_expect((address & 7) != 0 || offset > w->last, 0)) return 0;
    if (__builtin_expect(w->live[offset >> SEA_GRANULE_SHIFT_] == 0, 0)) return 0;
    *window = w;
    *word = (uint64_t *)(w->memory + offset);
    return 1;
}

static inline __attribute__((always_inline)) void sea_fast_count_(uint64_t *counter)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) int sea_put_inline_(sea_addr target, const void *source, size_t bytes,
                                                                 const sea_opts *opts)
{
    if (__builtin_constant_p(bytes) && bytes == 8 && opts == NULL) {
        struct sea_window_ *w;
        uint64_t *word, value;
        if (__builtin_expect(source != NULL && sea_fast_word_(target, &w, &word), 1)) {
            __builtin_memcpy(&value, source, 8);
            __atomic_store_n(word, value, __ATOMIC_RELAXED);
            sea_fast_count_(&w->puts);
            return SEA_OK;
        }
    }
    return sea_put(target, source, bytes, opts);
}

static inline __attribute__((always_inline)) int sea_get_inline_(void *target, sea_addr source, size_t bytes,
                                                                 const sea_opts *opts)
{
    if (__builtin_constant_p(bytes) && bytes == 8 && opts == NULL) {
        struct sea_window_ *w;
        uint64_t *word, value;
        if (__builtin_expect(target != NULL && sea_fast_word_(source, &w, &word), 1)) {
            value = __atomic_load_n(word, __ATOMIC_RELAXED);
            __builtin_memcpy(target, &value, 8);
            sea_fast_count_(&w->gets);
            return SEA_OK;
        }
    }
    return sea_get(target, source, bytes, opts);
}

#define sea_put sea_put_inline_
#define sea_get sea_get_inline_
#endif

#ifdef __cplusplus
}
#endif
#endif
