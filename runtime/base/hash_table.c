/* hash_table.c: see hash_table.h. */
#include "hash_table.h"

#include <string.h>

enum { FIRST_CAP = 256 };

bool ct_hash_table_reserve(CtHashTable *t, CtAlloc alloc) {
  if ((t->n + 1) * 2 <= t->cap) {
    return true;
  }
  CtHashTable next = {.n = t->n, .cap = t->cap == 0 ? FIRST_CAP : t->cap * 2};
  next.slots = ct_alloc(alloc, next.cap * sizeof *next.slots);
  if (next.slots == NULL) {
    return false;
  }
  memset(next.slots, 0, next.cap * sizeof *next.slots);
  for (size_t i = 0; i < t->cap; i++) {
    CtHashSlot slot = t->slots[i];
    if (slot.number != 0) {
      CtHashSlot *at = ct_hash_table_first(&next, slot.hash);
      while (at->number != 0) {
        at = ct_hash_table_next(&next, at);
      }
      *at = slot;
    }
  }
  ct_hash_table_clear(t, alloc);
  *t = next;
  return true;
}

void ct_hash_table_empty(CtHashTable *t) {
  if (t->cap > 0) {
    memset(t->slots, 0, t->cap * sizeof *t->slots);
  }
  t->n = 0;
}

void ct_hash_table_clear(CtHashTable *t, CtAlloc alloc) {
  ct_free(alloc, t->slots, t->cap * sizeof *t->slots);
  *t = (CtHashTable){.slots = NULL};
}
