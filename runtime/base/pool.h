/* pool.h: small blocks of one thread, as a Lua state takes and gives back by the million: a list of free blocks for
   each size, in chunks that go all together. For whoever knows a block's size when it frees it. */
#ifndef CT_POOL_H
#define CT_POOL_H

#include "arena.h"

enum { CT_POOL_STEP = 16, CT_POOL_LARGEST = 512 }; /* bytes */

typedef struct CtPoolBlock {
  struct CtPoolBlock *next;
} CtPoolBlock;

/* Empty: all zero. */
typedef struct CtPool {
  CtPoolBlock *free[CT_POOL_LARGEST / CT_POOL_STEP];
  CtPoolBlock *chunks;
  char *next; /* what is left of the newest one */
  size_t left;
} CtPool;

/* The fn of a CtAlloc whose ud is the pool. Blocks of more than CT_POOL_LARGEST bytes are those of ct_alloc_std. They are
   16-byte aligned; a block that shrinks may move, and stays where it is when there is no memory for that: then the
   result is NULL. */
void *ct_pool_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes);

/* Frees the chunks, and with them all small blocks; larger ones are freed by whoever has them. */
void ct_pool_clear(CtPool *pool);

#endif
