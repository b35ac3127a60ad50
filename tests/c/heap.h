/* heap.h: an allocator that counts, and fails when it is told to; several threads may use it. */
#ifndef HEAP_H
#define HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct Heap {
  atomic_llong bytes, n_calls; /* those that are not free again; calls for memory */
  atomic_llong fail_at;        /* number of the call that fails; 0: none */
  bool fails_once;             /* later ones do not */
} Heap;

static inline bool heap_fails(Heap *h, long long n) {
  long long at = atomic_load(&h->fail_at);
  return at != 0 && (n == at || (!h->fails_once && n > at));
}

static inline void *heap_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Heap *h = ud;
  old_bytes = ptr == NULL ? 0 : old_bytes;
  if (new_bytes == 0) {
    atomic_fetch_sub(&h->bytes, (long long)old_bytes);
    free(ptr);
    return NULL;
  }
  if (heap_fails(h, atomic_fetch_add(&h->n_calls, 1) + 1) && new_bytes > old_bytes) {
    return NULL;
  }
  void *p = realloc(ptr, new_bytes);
  if (p != NULL) {
    atomic_fetch_add(&h->bytes, (long long)new_bytes - (long long)old_bytes);
  }
  return p;
}

#endif
