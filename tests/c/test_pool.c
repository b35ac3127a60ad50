/* test_pool.c: small blocks of a Lua state: each keeps what is in it while others come, go, grow and shrink. */
#include "runtime/base/pool.h"

#include "runtime/base/rand.h"
#include "tap.h"

enum { N_BLOCKS = 300, N_STEPS = 100000, MOST_BYTES = 2 * CT_POOL_LARGEST };

typedef struct Block {
  unsigned char *at; /* NULL: none */
  size_t bytes;
  unsigned char mark; /* in each byte */
} Block;

static bool keeps(const Block *b, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (b->at[i] != b->mark) {
      return false;
    }
  }
  return (uintptr_t)b->at % 16 == 0;
}

/* The block with so many bytes from now on; what it had before is still there. */
static bool resize(CtPool *pool, Block *b, size_t bytes, unsigned char mark) {
  b->at = ct_pool_alloc(pool, b->at, b->bytes, bytes);
  bool ok = (b->at == NULL) == (bytes == 0) && keeps(b, b->bytes < bytes ? b->bytes : bytes);
  *b = (Block){b->at, bytes, mark};
  if (b->at != NULL) {
    memset(b->at, mark, bytes);
  }
  return ok;
}

static void test_random(void) {
  static Block blocks[N_BLOCKS];
  CtPool pool = {.next = NULL};
  CtRand r;
  int n_bad = 0;
  ct_rand_seed(&r, 1);
  for (int i = 0; i < SOME_OF(N_STEPS); i++) {
    Block *b = &blocks[ct_rand_int(&r, 0, N_BLOCKS - 1)];
    size_t bytes = ct_rand_int(&r, 0, 3) == 0 ? 0 : (size_t)ct_rand_int(&r, 1, MOST_BYTES);
    n_bad += b->at != NULL && !keeps(b, b->bytes);
    n_bad += !resize(&pool, b, bytes, (unsigned char)i);
  }
  for (int i = 0; i < N_BLOCKS; i++) {
    n_bad += blocks[i].at != NULL && !keeps(&blocks[i], blocks[i].bytes);
    n_bad += !resize(&pool, &blocks[i], 0, 0);
  }
  IS_INT(n_bad, 0, "blocks keep what is in them, at multiples of 16 bytes");
  ct_pool_clear(&pool);
  OK(pool.chunks == NULL && ct_pool_alloc(&pool, NULL, 0, 8) != NULL, "a cleared one begins again");
  ct_pool_clear(&pool);
}

/* What is given back serves the next request of its size, so that a state that runs for long does not grow. */
static void test_again(void) {
  CtPool pool = {.next = NULL};
  for (int i = 0; i < 100000; i++) {
    void *p = ct_pool_alloc(&pool, NULL, 0, 100);
    (void)ct_pool_alloc(&pool, p, 100, 0);
  }
  OK(pool.chunks == NULL || pool.chunks->next == NULL, "freed blocks are used again");
  ct_pool_clear(&pool);
}

int main(void) {
  test_random();
  test_again();
  return done_testing();
}
