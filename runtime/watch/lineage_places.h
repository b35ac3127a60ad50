/* lineage_places.h: what a walk over the history of a cluster keeps: places that are still wanted, and rows. */
#ifndef CT_LINEAGE_PLACES_H
#define CT_LINEAGE_PLACES_H

#include "history.h"

/* A byte of memory by its address, whichever buffer reaches it; a lane of a slot. */
enum { CT_PLACE_SLOT_BIT = 62, CT_PLACE_WARP = 46, CT_PLACE_RANK_BITS = 8 };
static inline uint64_t memory_place(const void *at) { return (uint64_t)(uintptr_t)at; }
static inline uint64_t slot_place(const CtStep *s, uint32_t at, int lane) {
  uint64_t warp = (uint64_t)s->rank << CT_PLACE_RANK_BITS | (uint64_t)s->warp;
  return (uint64_t)1 << CT_PLACE_SLOT_BIT | warp << CT_PLACE_WARP | (uint64_t)at * CT_LANES |
         (uint64_t)lane;
}

/* A set of numbers above 1; open addressing, a power of two slots. near: how many of the set are in
   the lines whose hash this is, as most questions are for lines that have none. */
typedef struct CtPlaces {
  CtAlloc alloc;
  uint64_t *key;
  uint32_t *near; /* as many, after the keys */
  size_t cap, n_used, n;
  bool failed;
} CtPlaces;

void ct_places_want(CtPlaces *s, uint64_t key);
void ct_places_clear(CtPlaces *s);
/* Takes a place out of the set; true if it was in it. */
bool ct_places_take(CtPlaces *s, uint64_t key);

enum { CT_PLACES_LINE = 64 };
static inline size_t ct_places_line(const CtPlaces *s, uint64_t key) {
  return (size_t)(key / CT_PLACES_LINE * 0x9E3779B97F4A7C15u >> 24) & (s->cap - 1);
}
/* False: none of the n places from `key` on, which are no more than a line has, is in the set. */
static inline bool ct_places_may_have(const CtPlaces *s, uint64_t key, uint64_t n) {
  return s->n > 0 && (s->near[ct_places_line(s, key)] | s->near[ct_places_line(s, key + n - 1)]);
}

/* Is anything in the set that the access, of the memory at ptr, may write? */
bool ct_places_may_take(const CtPlaces *s, const CtAccess *a, const char *ptr);
/* Registers, of which all lanes have the same ones: then the same of one element of all lanes. */
bool ct_places_by_element(const CtAccess *a);
bool ct_places_may_take_of(const CtPlaces *s, const CtAccess *a, const char *ptr, int64_t e);

/* Adds a row, or to an equal one: its count, and the first place in the order. */
void ct_lineage_add(CtLineageRows *rows, const CtLineageRow *row);

#endif
