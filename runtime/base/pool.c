/* pool.c: small blocks of one thread. Under AddressSanitizer, which watches each block, all are malloc's. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
enum { LARGEST = 0 };
#else
enum { LARGEST = CT_POOL_LARGEST };
#endif
enum { CHUNK_BYTES = 64 * 1024 };

static bool is_small(size_t bytes) { return bytes <= LARGEST; }

/* Which list has the blocks for so many bytes, which are not 0. */
static size_t list_of(size_t bytes) { return (bytes - 1) / CT_POOL_STEP; }

static void give_back(CtPool *pool, void *ptr, size_t bytes) {
  CtPoolBlock *block = ptr;
  block->next = pool->free[list_of(bytes)];
  pool->free[list_of(bytes)] = block;
}

/* The first STEP bytes of a chunk link it to the one before. What is left of that one goes to a list. */
static bool new_chunk(CtPool *pool) {
  CtPoolBlock *chunk = malloc(CHUNK_BYTES);
  if (chunk == NULL) {
    return false;
  }
  if (pool->left > 0) {
    give_back(pool, pool->next, pool->left);
  }
  chunk->next = pool->chunks;
  pool->chunks = chunk;
  pool->next = (char *)chunk + CT_POOL_STEP;
  pool->left = CHUNK_BYTES - CT_POOL_STEP;
  return true;
}

static void *take(CtPool *pool, size_t bytes) {
  size_t list = list_of(bytes), whole = (list + 1) * CT_POOL_STEP;
  CtPoolBlock *block = pool->free[list];
  if (block != NULL) {
    pool->free[list] = block->next;
    /* What is free lies anywhere: the next request need not wait for it. */
    __builtin_prefetch(block->next, 1);
    return block;
  }
  if (pool->left < whole && !new_chunk(pool)) {
    return NULL;
  }
  void *p = pool->next;
  pool->next += whole;
  pool->left -= whole;
  return p;
}

static void drop(CtPool *pool, void *ptr, size_t bytes) {
  if (is_small(bytes)) {
    give_back(pool, ptr, bytes);
  } else {
    free(ptr);
  }
}

/* To a block of another list, or to one of malloc, or from it. */
static void *move(CtPool *pool, void *ptr, size_t old_bytes, size_t new_bytes) {
  void *p = is_small(new_bytes) ? take(pool, new_bytes) : malloc(new_bytes);
  if (p != NULL) {
    memcpy(p, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
    drop(pool, ptr, old_bytes);
  }
  return p;
}

void *ct_pool_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  CtPool *pool = ud;
  if (ptr == NULL) {
    if (new_bytes == 0) {
      return NULL;
    }
    return is_small(new_bytes) ? take(pool, new_bytes) : malloc(new_bytes);
  }
  if (new_bytes == 0) {
    drop(pool, ptr, old_bytes);
    return NULL;
  }
  if (!is_small(old_bytes) && !is_small(new_bytes)) {
    return realloc(ptr, new_bytes);
  }
  bool is_same =
      is_small(old_bytes) && is_small(new_bytes) && list_of(old_bytes) == list_of(new_bytes);
  return is_same ? ptr : move(pool, ptr, old_bytes, new_bytes);
}

void ct_pool_clear(CtPool *pool) {
  while (pool->chunks != NULL) {
    CtPoolBlock *chunk = pool->chunks;
    pool->chunks = chunk->next;
    free(chunk);
  }
  *pool = (CtPool){.next = NULL};
}
