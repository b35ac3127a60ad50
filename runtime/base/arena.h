/* arena.h: memory that is freed together. An arena belongs to one kernel build or one operation;
   nothing in it is freed singly. All memory of the core comes through a CtAlloc, so that a host can
   supply its own and tests can fail the n-th request. */
#ifndef CT_ARENA_H
#define CT_ARENA_H

#include "err.h"

/* Like lua_Alloc: frees when new_bytes is 0, else allocates or grows; NULL when it cannot. */
typedef struct CtAlloc {
  void *(*fn)(void *ud, void *ptr, size_t old_bytes, size_t new_bytes);
  void *ud;
} CtAlloc;

extern const CtAlloc ct_alloc_std; /* realloc and free */

static inline void *ct_alloc(CtAlloc a, size_t bytes) { return a.fn(a.ud, NULL, 0, bytes); }
static inline void ct_free(CtAlloc a, void *p, size_t bytes) {
  if (p != NULL) {
    a.fn(a.ud, p, bytes, 0);
  }
}

/* ct_grow, where there is less room than is needed. */
CtStatus ct_grow_more(CtAlloc a, void *items_ptr, size_t *cap, size_t need, size_t size,
                      CtErr *err) CT_NODISCARD;
/* Grows *items (of *cap elements of `size` bytes) so that it holds at least `need`; keeps contents.
   The only way an array of the core grows. */
static inline CT_NODISCARD CtStatus ct_grow(CtAlloc a, void *items_ptr, size_t *cap, size_t need,
                                            size_t size, CtErr *err) {
  return need <= *cap ? CT_OK : ct_grow_more(a, items_ptr, cap, need, size, err);
}
/* The same of a list and its capacity, by their names. */
#define CT_GROW(alloc, items, cap, need, err)                                                      \
  ct_grow(alloc, &(items), &(cap), need, sizeof *(items), err)

typedef struct CtArenaBlock CtArenaBlock;
typedef struct CtArena {
  CtAlloc alloc;
  CtArenaBlock *blocks; /* newest first */
} CtArena;

void ct_arena_init(CtArena *a, CtAlloc alloc);
void ct_arena_clear(CtArena *a); /* frees everything; the arena can be used again */
void ct_arena_reset(CtArena *a); /* likewise, but keeps one block for the next use */

/* 16-byte aligned, zeroed memory that lives until ct_arena_clear; NULL when out of memory. */
void *ct_arena_alloc(CtArena *a, size_t bytes) CT_NODISCARD;
char *ct_arena_strdup(CtArena *a, const char *s, size_t len) CT_NODISCARD;

#endif
