/* test_lineage_places.c: the places that a lineage wants: which it has, and that it remembers what it could not keep. */
#include <stdlib.h>

#include "runtime/watch/lineage_places.h"
#include "tap.h"

enum { FIRST = 1000, MANY = 5000 };

typedef struct Heap {
  int n, fail_at; /* allocations so far; the one that fails, or 0 */
} Heap;

static void *heap_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Heap *h = ud;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(ptr);
    return NULL;
  }
  return ++h->n == h->fail_at ? NULL : realloc(ptr, new_bytes);
}

static CtPlaces places_of(Heap *h) { return (CtPlaces){.alloc = {heap_alloc, h}}; }

static void want_many(CtPlaces *s) {
  for (uint64_t i = 0; i < MANY; i++) {
    ct_places_want(s, FIRST + i);
  }
}

static void test_kept(void) {
  Heap h = {0};
  CtPlaces s = places_of(&h);
  uint64_t n = 0;
  want_many(&s);
  want_many(&s);
  OK(!s.failed && s.n == MANY, "%d places that are wanted twice are %zu", MANY, s.n);
  for (uint64_t i = 0; i < MANY; i++) {
    n += ct_places_take(&s, FIRST + i);
  }
  OK(n == MANY && s.n == 0, "each is taken");
  OK(!ct_places_take(&s, FIRST), "once");
  ct_places_clear(&s);
}

/* The table grows a few times; each time it may be the one that fails. */
static void test_lost(void) {
  Heap all = {0};
  CtPlaces whole = places_of(&all);
  want_many(&whole);
  ct_places_clear(&whole);
  OK(all.n > 2, "the table grows %d times", all.n);
  for (int i = 1; i <= all.n; i++) {
    Heap h = {.fail_at = i};
    CtPlaces s = places_of(&h);
    want_many(&s);
    OK(s.failed, "failure %d to grow is remembered", i);
    ct_places_clear(&s);
  }
}

int main(void) {
  test_kept();
  test_lost();
  return done_testing();
}
