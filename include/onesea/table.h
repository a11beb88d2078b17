/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Onesea: hash tables that are spread over ranks.
 *
 * A table is a set (keys), a multiset (keys, each with a count) or a map (keys, each with a value). Keys and values are
 * strings of bytes. A table has one *part* on each of the ranks it was created with, in that rank's global heap; the
 * key says the part and the *slot* in it: with h = CRC-64(key) >> 16 (polynomial 0xC96C5795D7870F42 reflected, start
 * and end all ones) it is the part (h / slots) % parts and the slot h % slots. A slot is a chain in the order of
 * insertion, so a table should have about as many slots in all as it will have keys.
 *
 * A handle is a plain value and means the same on every rank; give it on in any way. A process remembers where the
 * parts of some tables lie, in a store of fixed size, so that it owns nothing that grows with the tables or their use.
 *
 * Cost. A call on a key, and one on an iterator, is executed at the part: directly if its rank is of the caller's node,
 * else by one active message there and one back (one round trip). The first call on a part from another node reads the
 * directory before (another round trip, 8 parts at once), as do calls with SEA_TABLE_LOCAL that go through the parts,
 * and those on two tables. Other costs stand at the calls. Keys and values named by a global address (sea_remote())
 * that this process cannot load cost a get each.
 *
 * Atomic. Each call on a key takes effect at once and alone: among all ranks and threads, calls on the same key follow
 * each other in some order. Calls on whole tables (size, clear, assign, merge, move, swap) and scans are not atomic
 * among calls on keys that run meanwhile; each entry is.
 *
 * Death (--on-death continue). A part whose rank has ended gives SEA_ERR_DEAD for its keys; the other parts go on. A
 * rank that is killed inside a call leaves each entry as it was before or after that call; what it had allocated may be
 * lost to the heap. A table whose directory's rank has ended can be used by those alone who know its parts already.
 *
 * Errors that any call may give: SEA_ERR_HANDLE (there is no such table, or it has been destroyed), SEA_ERR_INVALID (a
 * key of 0 bytes, a key or value of more than SEA_TABLE_BYTES_MAX bytes, a call that the kind of table does not have),
 * SEA_ERR_DEAD, SEA_ERR_LINK, SEA_ERR_MEMORY (no room in the heap of the part's rank, the text says what is left),
 * SEA_ERR_TIMEOUT (sea_set_timeout()). After SEA_ERR_TIMEOUT and SEA_ERR_LINK the call may have taken effect or may
 * still do so, and a key or value of more than a packet that was given as memory must stay as it is up to the caller's
 * next sea_fence_all(). Outputs are not written any more. The calls may be made inside handlers of active messages.
 */
#ifndef ONESEA_TABLE_H
#define ONESEA_TABLE_H

#include <onesea.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sea_table {
    sea_addr address;      /* of the directory */
    uint64_t parts, slots; /* how many parts; slots of each */
} sea_table;

typedef enum sea_table_kind { SEA_TABLE_SET = 0, SEA_TABLE_MULTISET, SEA_TABLE_MAP } sea_table_kind;

#define SEA_TABLE_BYTES_MAX (UINT64_C(1) << 29) /* of a key, and of a value */

/* A string of bytes in memory of this process, or at a global address of any rank. */
typedef struct sea_bytes {
    const void *memory; /* NULL: at `address` */
    sea_addr address;
    size_t bytes;
} sea_bytes;

static inline sea_bytes sea_memory(const void *memory, size_t bytes)
{
    sea_bytes b;
    b.memory = memory;
    b.address = SEA_NULL;
    b.bytes = bytes;
    return b;
}

static inline sea_bytes sea_remote(sea_addr address, size_t bytes)
{
    sea_bytes b;
    b.memory = NULL;
    b.address = address;
    b.bytes = bytes;
    return b;
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

/* Makes an empty table with a part of `slots` (1 .. 2^31-1) slots on each of `parts` (> 0) ranks, and its directory on
 * the rank `directory`. A rank may be listed more than once. Not collective: one rank creates, and tells the handle.
 * One call at each part, then one at the directory. */
int sea_table_create(sea_table_kind kind, const int *ranks, int parts, size_t slots, int directory, sea_table *table);

/* Frees a table with all its entries. No other call on it may be under way; later ones give SEA_ERR_HANDLE, as long as
 * no other table has been made at that address. Parts on ranks that have ended are passed over. Two calls at the
 * directory (one more for each 8 parts), then one at each part for each 2000 entries or 32768 slots that it has. */
int sea_table_destroy(sea_table table);

/* ---- One key ---------------------------------------------------------------------------------------------------- */

/* set, map: stores the key (and a copy of the value) unless it is there; *inserted = 1 if it did, 0 if the key was
 * there (the value there stays). multiset: counts the key up by 1; *inserted = 1. `inserted` may be NULL; `value`
 * matters in a map alone and may have 0 bytes. Of racing inserts of one key in a set or map exactly one inserts. */
int sea_table_insert(sea_table table, sea_bytes key, sea_bytes value, int *inserted);

/* map: stores the value under the key, whether it is there or not; *inserted = 1 if it was not. May be NULL. */
int sea_table_store(sea_table table, sea_bytes key, sea_bytes value, int *inserted);

/* Adds `delta` to the count of the key (multiset) or to its value, an integer of 8 bytes (map; SEA_ERR_ALIGN if the
 * value there has another size); wraps around. An absent key counts as 0 and is inserted. *before (may be NULL)
 * receives what was there. A multiset whose count becomes 0 loses the key. */
int sea_table_add(sea_table table, sea_bytes key, uint64_t delta, uint64_t *before);

/* map: copies the value under the key, at most `room` bytes of it, to `buffer`; *bytes is the length of the value,
 * which may be more than `room`. *found (may be NULL) = 0 and *bytes = 0 if the key is not there. set, multiset: the
 * value is empty, or the count in 8 bytes. */
int sea_table_get(sea_table table, sea_bytes key, void *buffer, size_t room, size_t *bytes, int *found);

/* *count: the count of the key in a multiset; in a set or map 1 if it is there. 0 if not. */
int sea_table_count(sea_table table, sea_bytes key, uint64_t *count);

/* Removes the key with its value; in a multiset counts it down by 1 and removes it at 0. *before (may be NULL): what
 * sea_table_count() would have told before. An absent key is no error. The second form removes it also from a multiset
 * whatever its count. */
int sea_table_remove(sea_table table, sea_bytes key, uint64_t *before);
int sea_table_remove_all(sea_table table, sea_bytes key, uint64_t *before);

/* ---- Iterators -------------------------------------------------------------------------------------------------- */
/* Order: parts, slots in them, insertion. An iterator is a plain value, valid on every rank; it names an entry by its
 * address. When the entry has been removed, calls on the iterator give SEA_ERR_HANDLE, or it names another entry of the
 * same slot that came to lie there. The end is elem SEA_NULL. */

typedef struct sea_table_it {
    sea_table table;
    int part, slot;
    sea_addr elem;
} sea_table_it;

/* Which parts a call is about. */
typedef enum sea_table_scope { SEA_TABLE_ALL = 0, SEA_TABLE_LOCAL /* on the calling rank */ } sea_table_scope;

/* The entry of a key, or the end. */
int sea_table_find(sea_table table, sea_bytes key, sea_table_it *it);

/* The first entry, and the one after *it; the end if there is none. Parts of ranks that have ended are passed over. One
 * call at each part that is looked at (one for each 32768 empty slots). The end has no next: SEA_ERR_HANDLE. */
int sea_table_begin(sea_table table, sea_table_scope scope, sea_table_it *it);
int sea_table_next(sea_table_it *it, sea_table_scope scope);

/* Where key and value of the entry lie and how long they are, for sea_get(). The value of a multiset is its count, 8
 * bytes; that of a set has none and the address SEA_NULL. They stay valid until the entry is removed or its value
 * stored anew. Write to neither, except 8-byte values in a map by sea_put() or sea_atomic(). Outputs may be NULL. */
int sea_table_entry(sea_table_it it, sea_addr *key, size_t *key_bytes, sea_addr *value, size_t *value_bytes);

/* ---- Scans ------------------------------------------------------------------------------------------------------ */
/* Many entries by one call. Entries that are there during the whole scan come exactly once; those that come or go
 * meanwhile at most once. */

typedef struct sea_table_scan {
    sea_table table;
    sea_table_scope scope;
    int part, slot;  /* where it goes on */
    uint64_t passed; /* entries of that slot up to this number have been told */
} sea_table_scan;

/* One entry in a buffer. The key follows at once, then, at the next multiple of 8, the value. */
typedef struct sea_table_item {
    size_t bytes; /* of all of it: the next one is there */
    size_t key_bytes, value_bytes;
    int part, slot;
    sea_addr elem;
    uint64_t number; /* grows along the chain of a slot */
} sea_table_item;

static inline const void *sea_table_item_key(const sea_table_item *item) { return item + 1; }
static inline const void *sea_table_item_value(const sea_table_item *item)
{
    return (const char *)(item + 1) + (item->key_bytes + 7) / 8 * 8;
}
static inline const sea_table_item *sea_table_item_next(const sea_table_item *item)
{
    return (const sea_table_item *)(const void *)((const char *)item + item->bytes);
}

/* Starts a scan; no message. */
int sea_table_scan_start(sea_table table, sea_table_scope scope, sea_table_scan *scan);

/* Fills `buffer` (8-byte aligned, `room` bytes) with entries, one behind the other; *items says how many, 0: that was
 * all. One call at each part that is looked at. Parts of ranks that have ended are passed over. SEA_ERR_MEMORY: the
 * next entry alone is longer than `room`; the text and *items say how long it is, and the scan stands before it. */
int sea_table_scan_next(sea_table_scan *scan, void *buffer, size_t room, size_t *items);

/* ---- Whole tables ----------------------------------------------------------------------------------------------- */

/* How many keys; the sum of their counts (multiset; else the same). One call per part. SEA_ERR_DEAD if a part's rank
 * has ended. */
int sea_table_size(sea_table table, sea_table_scope scope, uint64_t *keys);
int sea_table_total(sea_table table, sea_table_scope scope, uint64_t *total);

/* Removes all entries. One call at each part for each 2000 entries or 32768 slots that it has. Where a part's rank has
 * ended the others are cleared, and SEA_ERR_DEAD is told. */
int sea_table_clear(sea_table table, sea_table_scope scope);

/* assign: clears `to`, then as merge. merge: inserts all entries of `from` in `to`; keys that are there keep their
 * value (map) or have the count added (multiset). move: as merge, and each entry is removed from `from` when it is in
 * `to`. SEA_TABLE_LOCAL: the parts of `from` on the calling rank (and for assign, clears those of `to`). Both are of
 * one kind, their parts and slots may differ. Entries travel in batches: one call at a part of `from`, then one at each
 * part of `to` that has some of them, and for move one more at the part of `from`. Cut short by an error, some entries
 * have been dealt with and others not; in a move none is in neither table. An entry whose value or count changes while
 * it moves stays in `from` (a multiset: what was added does). One that is removed from `from` while it moves may come
 * to `to` all the same, of a multiset as many as there were: whoever needs each removal to count must not remove from a
 * table that moves. SEA_ERR_INVALID if both are the same table, except assign, which does nothing then. */
int sea_table_assign(sea_table to, sea_table from, sea_table_scope scope);
int sea_table_merge(sea_table to, sea_table from, sea_table_scope scope);
int sea_table_move(sea_table to, sea_table from, sea_table_scope scope);

/* Exchanges the entries of two tables of one kind, by three moves through a table of its own. On an error they are
 * moved back; where that fails, and in multisets, entries may be left in that table: the text names it then. */
int sea_table_swap(sea_table a, sea_table b);

#ifdef __cplusplus
}
#endif

#endif
