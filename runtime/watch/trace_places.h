/* trace_places.h: what a walk over the record of a cluster keeps: places that are still wanted, and rows. */
#ifndef CT_TRACE_PLACES_H
#define CT_TRACE_PLACES_H

#include "record.h"

/* A set of numbers above 1; open addressing, a power of two slots. */
typedef struct CtPlaces {
  CtAlloc alloc;
  uint64_t *key;
  size_t cap, n_used, n;
  bool failed;
} CtPlaces;

void ct_places_want(CtPlaces *s, uint64_t key);
/* Takes a place out of the set; true if it was in it. */
bool ct_places_take(CtPlaces *s, uint64_t key);

/* Adds a row, or to an equal one: its count, and the first place in the order. */
void ct_trace_add(CtTraceRows *rows, const CtTraceRow *row);

#endif
