/* arena.c: bump allocation in blocks that double up to 256 KiB. */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096, MAX_BYTES = 256 * 1024, ALIGN = 16 };

struct CtArenaBlock {
  CtArenaBlock *next;
  size_t cap, used; /* bytes after the header */
};

#define HEADER_BYTES ((sizeof(CtArenaBlock) + ALIGN - 1) / ALIGN * ALIGN)

static void *std_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  (void)ud;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, new_bytes);
}

const CtAlloc ct_alloc_std = {std_alloc, NULL};

CtStatus ct_grow_more(CtAlloc a, void *items_ptr, size_t *cap, size_t need, size_t size,
                      CtErr *err) {
  void *items;
  size_t new_cap = *cap < 8 ? 8 : *cap;
  while (new_cap < need) {
    if (new_cap > SIZE_MAX / 2) {
      return ct_fail_nomem(err);
    }
    new_cap *= 2;
  }
  size_t bytes;
  if (ct_size_mul_overflow(new_cap, size, &bytes)) {
    return ct_fail_nomem(err);
  }
  memcpy(&items, items_ptr, sizeof items);
  items = a.fn(a.ud, items, *cap * size, bytes);
  if (items == NULL) {
    return ct_fail_nomem(err);
  }
  memcpy(items_ptr, &items, sizeof items);
  *cap = new_cap;
  return CT_OK;
}

void ct_arena_init(CtArena *a, CtAlloc alloc) {
  a->alloc = alloc;
  a->blocks = NULL;
}

void ct_arena_clear(CtArena *a) {
  while (a->blocks != NULL) {
    CtArenaBlock *b = a->blocks;
    a->blocks = b->next;
    ct_free(a->alloc, b, HEADER_BYTES + b->cap);
  }
}

void ct_arena_reset(CtArena *a) {
  CtArenaBlock *kept = a->blocks;
  if (kept != NULL) {
    a->blocks = kept->next;
    ct_arena_clear(a);
    kept->next = NULL;
    kept->used = 0;
    a->blocks = kept;
  }
}

static CtArenaBlock *new_block(CtArena *a, size_t bytes) {
  size_t cap = a->blocks == NULL ? FIRST_BYTES : a->blocks->cap * 2;
  cap = cap > MAX_BYTES ? MAX_BYTES : cap;
  cap = cap < bytes ? bytes : cap;
  CtArenaBlock *b = ct_alloc(a->alloc, HEADER_BYTES + cap);
  if (b == NULL) {
    return NULL;
  }
  b->next = a->blocks;
  b->cap = cap;
  b->used = 0;
  a->blocks = b;
  return b;
}

void *ct_arena_alloc(CtArena *a, size_t bytes) {
  if (bytes > SIZE_MAX / 2) {
    return NULL;
  }
  bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  CtArenaBlock *b = a->blocks;
  if (b == NULL || b->cap - b->used < bytes) {
    b = new_block(a, bytes);
    if (b == NULL) {
      return NULL;
    }
  }
  void *p = (char *)b + HEADER_BYTES + b->used;
  b->used += bytes;
  return memset(p, 0, bytes);
}

char *ct_arena_strdup(CtArena *a, const char *s, size_t len) {
  char *p = ct_arena_alloc(a, len + 1);
  if (p != NULL) {
    memcpy(p, s, len);
  }
  return p;
}
