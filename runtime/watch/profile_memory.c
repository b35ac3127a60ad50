/* profile_memory.c: the memory that `profile` counts in: rows, marks of sectors and caches of each worker. */
#include "profile_rows.h"

#include <string.h>

enum { MAX_SECTORS = 1 << 24 }; /* the largest tensor whose sectors are marked has 512 MiB */
enum { MAX_BITS = INT32_MAX };  /* of the marks of a tensor, with a bit for each block and sector */

/* Makes an array of n zeros in place of the old one. */
static CtStatus fresh(CtAlloc alloc, void *items_ptr, size_t *cap, size_t n, size_t size,
                      CtErr *err) {
  CtStatus status = ct_grow(alloc, items_ptr, cap, n, size, err);
  if (status == CT_OK && n > 0) {
    void *items;
    memcpy(&items, items_ptr, sizeof items);
    memset(items, 0, n * size);
  }
  return status;
}

static void free_marks(CtAlloc alloc, CtProfileMarks *m) {
  for (size_t i = 0; i < m->cap; i++) {
    ct_free(alloc, m->pages[i], CT_PROFILE_PAGE * sizeof *m->pages[i]);
  }
  ct_free(alloc, m->pages, m->cap * sizeof *m->pages);
}

static void free_worker(CtAlloc alloc, CtProfileWorker *k) {
  for (size_t i = 0; i < k->cap_marks; i++) {
    free_marks(alloc, &k->marks[i]);
  }
  ct_free(alloc, k->counts, k->cap_counts * sizeof *k->counts);
  ct_free(alloc, k->mems, k->cap_mems * sizeof *k->mems);
  ct_free(alloc, k->came, k->cap_came * sizeof *k->came);
  ct_free(alloc, k->seen, k->cap_seen * sizeof *k->seen);
  ct_free(alloc, k->marks, k->cap_marks * sizeof *k->marks);
  ct_free(alloc, k->patterns, k->cap_patterns * sizeof *k->patterns);
  ct_free(alloc, k->steps, k->cap_steps * sizeof *k->steps);
  ct_free(alloc, k->boxes, k->cap_boxes * sizeof *k->boxes);
  ct_free(alloc, k->merged, k->cap_merged * sizeof *k->merged);
  ct_free(alloc, k->window, k->cap_window * sizeof *k->window);
}

static void free_cache(CtAlloc alloc, CtProfileCache *c) {
  ct_free(alloc, c->memos, c->cap_memos * sizeof *c->memos);
  ct_free(alloc, c->pool, c->cap_pool * sizeof *c->pool);
}

/* Nothing is touched; pages of the launch before stay. */
static CtStatus clear_marks(CtAlloc alloc, CtProfileMarks *m, size_t n_pages, CtErr *err) {
  size_t old = m->cap;
  CtStatus status = CT_GROW(alloc, m->pages, m->cap, n_pages, err);
  for (size_t i = old; i < m->cap; i++) {
    m->pages[i] = NULL;
  }
  for (size_t i = 0; i < old; i++) {
    if (m->pages[i] != NULL) {
      memset(m->pages[i], 0, CT_PROFILE_PAGE * sizeof *m->pages[i]);
    }
  }
  m->n_blocks = 0;
  return status;
}

/* Makes the marks for the sectors of each parameter: one set for reads, one for writes. */
static CtStatus prepare_marks(CtProfile *p, CtProfileWorker *k, size_t n_params, CtErr *err) {
  CtStatus status = CT_OK;
  if (k->cap_marks < 2 * n_params) {
    size_t old = k->cap_marks;
    status = CT_GROW(p->alloc, k->marks, k->cap_marks, 2 * n_params, err);
    if (status == CT_OK) {
      memset(k->marks + old, 0, (k->cap_marks - old) * sizeof *k->marks);
    }
  }
  for (size_t i = 0; i < 2 * n_params && status == CT_OK; i++) {
    status = clear_marks(p->alloc, &k->marks[i], ct_profile_pages(p, p->n_sectors[i / 2]), err);
  }
  return status;
}

static CtStatus prepare_cache(CtAlloc a, CtProfileCache *c, CtErr *err) {
  CtStatus status = CT_GROW(a, c->pool, c->cap_pool, CT_PROFILE_POOL, err);
  if (status == CT_OK && c->cap_memos == 0) {
    status = fresh(a, &c->memos, &c->cap_memos, CT_PROFILE_MEMOS, sizeof *c->memos, err);
  }
  c->age++;
  c->n_pool = 0;
  return status;
}

static CtStatus prepare_caches(CtProfile *p, size_t n, CtErr *err) {
  size_t old = p->cap_caches;
  CtStatus status = CT_GROW(p->alloc, p->caches, p->cap_caches, n, err);
  if (status == CT_OK) {
    memset(p->caches + old, 0, (p->cap_caches - old) * sizeof *p->caches);
  }
  for (size_t i = 0; i < n && status == CT_OK; i++) {
    status = prepare_cache(p->alloc, &p->caches[i], err);
  }
  return status;
}

static CtStatus prepare_worker(CtProfile *p, CtProfileWorker *k, size_t n_params, CtErr *err) {
#define FRESH(list, n)                                                                             \
  (status = status == CT_OK ? fresh(p->alloc, &k->list, &k->cap_##list, (n), sizeof *k->list, err) \
                            : status)
  const CtProfileProgram *pub = &p->now->pub;
  CtStatus status = CT_OK;
  FRESH(counts, pub->n_rows);
  FRESH(mems, pub->n_sites);
  FRESH(came, pub->n_rows);
  FRESH(seen, pub->n_sites);
  FRESH(steps, pub->n_sites);
  if (p->merges) {
    FRESH(merged, pub->n_sites);
    FRESH(window, 1);
  }
#undef FRESH
  k->n_counted = k->n_most = 0;
  k->n_patterns = 0;
  k->n_boxes = 0;
  k->lacks_boxes = k->no_memory = false;
  return status == CT_OK ? prepare_marks(p, k, n_params, err) : status;
}

/* Counts the sectors of each tensor; 0 if the tensor is too large to mark them. */
static CtStatus size_tensors(CtProfile *p, const CtSimtJob *job, size_t *n_params, CtErr *err) {
  const CtSimtProgram *program = job->program;
  *n_params = 0;
  for (uint32_t i = 1; i < program->n_bufs; i++) {
    if (program->bufs[i].space == CT_GLOBAL) {
      size_t upto = (size_t)program->bufs[i].param + 1;
      *n_params = upto > *n_params ? upto : *n_params;
    }
  }
  CtStatus status =
      fresh(p->alloc, &p->n_sectors, &p->cap_sectors, *n_params, sizeof *p->n_sectors, err);
  for (uint32_t i = 1; status == CT_OK && i < program->n_bufs; i++) {
    const CtSimtBuf *b = &program->bufs[i];
    if (b->space == CT_GLOBAL && b->of == b->dtype && !b->is_chosen) {
      int64_t n = ct_max(job->launch->n_elems[b->param], 0);
      int64_t sectors = ct_dtype_span(b->dtype, n) / CT_SECTOR_BYTES + 2;
      p->now->pub.bufs[i].n_elems = n;
      int64_t most = p->job.has_bits ? MAX_BITS / job->n_workers : MAX_SECTORS;
      p->now->pub.bufs[i].is_known = sectors <= ct_min(most, MAX_SECTORS);
      p->n_sectors[b->param] = p->now->pub.bufs[i].is_known ? sectors : 0;
    }
  }
  return status;
}

static CtStatus prepare_workers(CtProfile *p, const CtSimtJob *job, size_t n_params, CtErr *err) {
  size_t n = (size_t)job->n_workers, old = p->cap_workers;
  size_t n_threads = (size_t)job->group->n_threads, team = (size_t)job->program->n_cluster;
  CtStatus status = CT_GROW(p->alloc, p->workers, p->cap_workers, n, err);
  if (status != CT_OK) {
    return status;
  }
  memset(p->workers + old, 0, (p->cap_workers - old) * sizeof *p->workers);
  status = prepare_caches(p, n_threads, err);
  for (size_t i = 0; i < n && status == CT_OK; i++) {
    p->workers[i].cache = &p->caches[i / team % n_threads];
    status = prepare_worker(p, &p->workers[i], n_params, err);
  }
  return status;
}

CtStatus ct_profile_prepare(CtProfile *p, const CtSimtJob *job, CtErr *err) {
  size_t n_params = 0;
  CtStatus status = size_tensors(p, job, &n_params, err);
  return status == CT_OK ? prepare_workers(p, job, n_params, err) : status;
}

void ct_profile_free_workers(CtProfile *p) {
  CtAlloc alloc = p->alloc;
  for (size_t i = 0; i < p->cap_workers; i++) {
    free_worker(alloc, &p->workers[i]);
  }
  for (size_t i = 0; i < p->cap_caches; i++) {
    free_cache(alloc, &p->caches[i]);
  }
  ct_free(alloc, p->caches, p->cap_caches * sizeof *p->caches);
  ct_free(alloc, p->workers, p->cap_workers * sizeof *p->workers);
  ct_free(alloc, p->n_sectors, p->cap_sectors * sizeof *p->n_sectors);
}
