/* check_line.c: the shadow of global memory as lines and granules; see CtGlobalChunk. */
#include "check_global.h"

#include <string.h>

static void *alloc_cleared(CtCheck *c, size_t n, size_t each) {
  void *p = ct_alloc(c->alloc, n * each);
  if (p != NULL) {
    memset(p, 0, n * each);
  }
  return p;
}

static CtGlobalChunk *new_chunk(CtCheck *c, const CtGlobalRegion *r) {
  CtGlobalChunk *chunk = alloc_cleared(c, 1, sizeof *chunk);
  if (chunk == NULL) {
    return NULL;
  }
  atomic_flag_clear(&chunk->lock);
  for (int i = 0; i < CT_GLOBAL_KINDS; i++) {
    if (r->has[i]) {
      chunk->line_latest[i] = alloc_cleared(c, CT_LINES, sizeof *chunk->line_latest[i]);
      if (chunk->line_latest[i] == NULL) {
        ct_line_free(c->alloc, chunk);
        return NULL;
      }
    }
  }
  return chunk;
}

CtGlobalChunk *ct_line_chunk(CtCheckWorker *k, const CtGlobalRegion *r, size_t i) {
  CtGlobalChunk *chunk = atomic_load_explicit(&r->chunks[i], memory_order_acquire);
  if (chunk == NULL) {
    CtGlobalChunk *made = new_chunk(k->check, r);
    if (made == NULL) {
      k->no_memory = true;
      return NULL;
    }
    if (atomic_compare_exchange_strong(&r->chunks[i], &chunk, made)) {
      return made;
    }
    ct_line_free(k->check->alloc, made); /* another worker was first: `chunk` is that worker's */
  }
  return chunk;
}

void ct_line_free(CtAlloc alloc, CtGlobalChunk *chunk) {
  for (int i = 0; i < CT_GLOBAL_KINDS; i++) {
    ct_free(alloc, chunk->line_latest[i], CT_LINES * sizeof(CtLatest));
    ct_free(alloc, chunk->latest[i], CT_GLOBAL_CHUNK * sizeof(CtLatest));
  }
  ct_free(alloc, chunk->write, CT_GLOBAL_CHUNK * sizeof *chunk->write);
  ct_free(alloc, chunk, sizeof *chunk);
}

/* Makes room for words of granules; false: no memory. */
static bool make_granules(CtCheck *c, CtGlobalChunk *chunk) {
  if (chunk->write == NULL) {
    chunk->write = alloc_cleared(c, CT_GLOBAL_CHUNK, sizeof *chunk->write);
  }
  bool ok = chunk->write != NULL;
  for (int i = 0; i < CT_GLOBAL_KINDS && ok; i++) {
    if (chunk->line_latest[i] != NULL && chunk->latest[i] == NULL) {
      chunk->latest[i] = alloc_cleared(c, CT_GLOBAL_CHUNK, sizeof *chunk->latest[i]);
      ok = chunk->latest[i] != NULL;
    }
  }
  return ok;
}

/* The word of granule i, given that of the first. */
static uint32_t word_of(uint32_t first, uint32_t i, int shift) {
  return first == 0 ? 0 : first + (i >> shift);
}

bool ct_line_cut(CtCheckWorker *k, CtGlobalChunk *chunk, size_t line) {
  int shift = chunk->shape[line] - CT_LINE_WHOLE;
  if (!make_granules(k->check, chunk)) {
    k->no_memory = true;
    return false;
  }
  for (uint32_t i = 0; i < CT_LINE && shift >= 0; i++) {
    chunk->write[line * CT_LINE + i] = word_of(chunk->line_write[line], i, shift);
  }
  for (uint32_t i = 0; i < CT_LINE * CT_GLOBAL_KINDS && shift >= 0; i++) {
    uint32_t kind = i / CT_LINE, at = i % CT_LINE;
    for (int j = 0; chunk->latest[kind] != NULL && j < CT_DISTANCE_COUNT; j++) {
      chunk->latest[kind][line * CT_LINE + at].word[j] =
          word_of(chunk->line_latest[kind][line].word[j], at, shift);
    }
  }
  chunk->shape[line] = CT_LINE_CUT;
  return true;
}
