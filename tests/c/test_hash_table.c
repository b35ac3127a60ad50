/* test_hash_table.c: numbers of things by their hashes, of which many are equal. */
#include "runtime/base/hash_table.h"

#include "tap.h"

enum { N = 5000 };

static uint64_t things[N];

/* Few hashes, so that most things meet others. */
static uint32_t hash_of(uint64_t v) { return (uint32_t)(v % 97 * 64); }

static uint32_t number_of(CtHashTable *t, uint64_t v, uint32_t given) {
  CtHashSlot *at = ct_hash_table_first(t, hash_of(v));
  while (at->number != 0 && things[at->number - 1] != v) {
    at = ct_hash_table_next(t, at);
  }
  uint32_t found = at->number;
  if (found == 0 && given != 0) {
    ct_hash_table_put(t, at, hash_of(v), given);
  }
  return found;
}

static void *no_more(void *ud, void *p, size_t old, size_t bytes) {
  (void)ud, (void)p, (void)old, (void)bytes;
  return NULL;
}

static bool fill(CtHashTable *t, CtAlloc alloc) {
  bool ok = true;
  for (uint32_t i = 0; i < N; i++) {
    things[i] = (uint64_t)i * i + 3;
    ok = ok && ct_hash_table_reserve(t, alloc) && number_of(t, things[i], i + 1) == 0;
  }
  return ok;
}

static bool has_all(CtHashTable *t) {
  bool ok = true;
  for (uint32_t i = 0; i < N; i++) {
    ok = ok && number_of(t, things[i], 0) == i + 1;
  }
  return ok;
}

int main(void) {
  CtAlloc alloc = ct_alloc_std;
  CtHashTable t = {.slots = NULL};
  OK(fill(&t, alloc), "each thing is new once");
  OK(has_all(&t) && t.n == N, "and has its number afterwards");
  OK(number_of(&t, 1, 0) == 0, "what was never put is not found");
  size_t cap = t.cap;
  OK(cap >= 2 * N && (cap & (cap - 1)) == 0, "at most half of the slots are used");
  ct_hash_table_empty(&t);
  OK(t.n == 0 && t.cap == cap && number_of(&t, things[7], 0) == 0, "an emptied table has its room");
  OK(fill(&t, alloc) && has_all(&t), "and takes the same things again");
  CtAlloc none = {.fn = no_more};
  CtHashTable without = {.slots = NULL};
  OK(!ct_hash_table_reserve(&without, none) && without.cap == 0, "without memory there is no room");
  ct_hash_table_clear(&t, alloc);
  OK(t.cap == 0 && t.slots == NULL, "a cleared table has none");
  return done_testing();
}
