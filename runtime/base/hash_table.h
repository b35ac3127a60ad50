/* hash_table.h: a hash table that finds the numbers of things. The caller keeps the things, mostly in an array, and says
   which hash a thing has and whether it is the one that is looked for:

     CtHashSlot *at = ct_hash_table_first(&t, hash);
     while (at->number != 0 && !is_it(things[at->number - 1])) {
       at = ct_hash_table_next(&t, at);
     }

   at->number is then that of the thing; or it is 0, and ct_hash_table_put gives the thing a number. Things stay: none is taken
   out alone. */
#ifndef CT_HASH_TABLE_H
#define CT_HASH_TABLE_H

#include "arena.h"

typedef struct CtHashSlot {
  uint32_t hash, number; /* 0: free */
} CtHashSlot;

typedef struct CtHashTable {
  CtHashSlot *slots; /* by open addressing, at most half full */
  size_t n, cap;     /* cap: 0, or a power of 2 */
} CtHashTable;

/* Room for one more; first of all, since there is nothing to look at in a table without room. False: no memory. */
bool ct_hash_table_reserve(CtHashTable *t, CtAlloc alloc);
void ct_hash_table_empty(CtHashTable *t); /* it keeps its room */
void ct_hash_table_clear(CtHashTable *t, CtAlloc alloc);

/* The first slot from this one on that is free or has the hash. */
static inline CtHashSlot *ct_hash_table_seek(const CtHashTable *t, size_t i, uint32_t hash) {
  size_t mask = t->cap - 1;
  while (t->slots[i &= mask].number != 0 && t->slots[i].hash != hash) {
    i++;
  }
  return &t->slots[i];
}

static inline CtHashSlot *ct_hash_table_first(const CtHashTable *t, uint32_t hash) {
  return ct_hash_table_seek(t, hash, hash);
}

static inline CtHashSlot *ct_hash_table_next(const CtHashTable *t, const CtHashSlot *at) {
  return ct_hash_table_seek(t, (size_t)(at - t->slots) + 1, at->hash);
}

/* Into a free slot that was found for the hash. */
static inline void ct_hash_table_put(CtHashTable *t, CtHashSlot *at, uint32_t hash,
                                     uint32_t number) {
  at->hash = hash;
  at->number = number;
  t->n++;
}

/* A hash of a number, and of a number that comes after others. */
static inline uint64_t ct_hash_table_mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0xFF51AFD7ED558CCDu;
  return h ^ h >> 29;
}

#endif
