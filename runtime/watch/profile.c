/* profile.c: the watcher that counts; see profile.h. Each worker counts for itself. After the
   launch the counts of all workers are added up. */
#include "profile.h"

#include <string.h>

#include "profile_box.h"
#include "profile_rows.h"

enum { MAX_SECTORS = 1 << 24 }; /* the largest tensor whose sectors are marked has 512 MiB */
enum { FEW = 64 };              /* blocks for each one that runs, where they are spread */
#define GOLDEN 0.6180339887498949
enum { MAX_BITS = INT32_MAX }; /* of the marks of a tensor, with a bit for each block and sector */

struct CtProfile {
  CtSimtWatch watch; /* first */
  CtAlloc alloc;
  uint64_t tag;
  int64_t n_blocks; /* how many blocks run; 0: all */
  bool is_spread;   /* over the grid */
  bool merges;
  uint32_t n_patterns;
  CtProfileRows **programs;
  size_t n, cap;
  CtProfileWorker *workers;
  size_t n_workers, cap_workers;
  CtProfileCache *caches; /* by thread */
  size_t cap_caches;
  bool no_memory; /* for lack of memory something was not recorded */
  CtProfile *of;  /* of a part: whose programs it counts for; NULL: its own */
  CtProfile **parts;
  size_t n_parts, n_made, cap_parts; /* in use, made */
  /* From here on: the current launch. */
  CtProfileRows *now;
  int64_t *n_sectors; /* by param */
  size_t cap_sectors;
  CtProfileJob job;
};

/* --- a launch ------------------------------------------------------------------------------------------- */

static CtProfile *whole(CtProfile *p) { return p->of == NULL ? p : p->of; }

static CtStatus find_program(CtProfile *p, const CtSimtProgram *from, uint64_t tag,
                             CtProfileRows **out, CtErr *err) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->programs[i]->pub.tag == tag) {
      *out = p->programs[i];
      return CT_OK;
    }
  }
  CtProfileRows *pr = NULL;
  CtStatus status = ct_grow(p->alloc, &p->programs, &p->cap, p->n + 1, sizeof *p->programs, err);
  status = status == CT_OK ? ct_profile_rows_new(p->alloc, from, tag, &pr, err) : status;
  if (status != CT_OK) {
    return status;
  }
  p->programs[p->n++] = *out = pr;
  return CT_OK;
}

/* The lanes that take a branch; for a loop by lanes, the lanes that stay in it. */
static uint32_t taken(const CtIn *code, const CtWarp *w) {
  uint32_t lanes = 0;
  if (code->u.op == CT_SIMT_SPLIT || code->u.op == CT_SIMT_SPLIT_ELSE) {
    return w->mask & *CT_CAT(uint32_t, w, code->a);
  }
  if (code->u.op == CT_SIMT_ONLY) {
    return w->mask & *CT_CAT(uint32_t, w, code->d);
  }
  bool starts = code->u.op == CT_SIMT_LANES_START;
  for (int i = 0; i < CT_LANES; i++) {
    /* what a LANES_NEXT counts down is not above 1 in the last turn */
    lanes |= (uint32_t)(CT_CAT(int64_t, w, starts ? code->d : code->a)[i] > (starts ? 0 : 1)) << i;
  }
  return w->mask & lanes;
}

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

static size_t count_pages(const CtProfile *p, int64_t n_sectors) {
  int64_t n_words = p->job.has_bits ? ct_ceildiv(n_sectors, 32) : n_sectors;
  return (size_t)ct_ceildiv(n_words, CT_PROFILE_PAGE);
}

/* Nothing is touched; pages of the launch before stay. */
static CtStatus clear_marks(CtAlloc alloc, CtProfileMarks *m, size_t n_pages, CtErr *err) {
  size_t old = m->cap;
  CtStatus status = ct_grow(alloc, &m->pages, &m->cap, n_pages, sizeof *m->pages, err);
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
    status = ct_grow(p->alloc, &k->marks, &k->cap_marks, 2 * n_params, sizeof *k->marks, err);
    if (status == CT_OK) {
      memset(k->marks + old, 0, (k->cap_marks - old) * sizeof *k->marks);
    }
  }
  for (size_t i = 0; i < 2 * n_params && status == CT_OK; i++) {
    status = clear_marks(p->alloc, &k->marks[i], count_pages(p, p->n_sectors[i / 2]), err);
  }
  return status;
}

static CtStatus prepare_cache(CtAlloc a, CtProfileCache *c, CtErr *err) {
  CtStatus status = ct_grow(a, &c->pool, &c->cap_pool, CT_PROFILE_POOL, sizeof *c->pool, err);
  if (status == CT_OK && c->cap_memos == 0) {
    status = fresh(a, &c->memos, &c->cap_memos, CT_PROFILE_MEMOS, sizeof *c->memos, err);
  }
  c->age++;
  c->n_pool = 0;
  return status;
}

static CtStatus prepare_caches(CtProfile *p, size_t n, CtErr *err) {
  size_t old = p->cap_caches;
  CtStatus status = ct_grow(p->alloc, &p->caches, &p->cap_caches, n, sizeof *p->caches, err);
  if (status == CT_OK) {
    memset(p->caches + old, 0, (p->cap_caches - old) * sizeof *p->caches);
  }
  for (size_t i = 0; i < n && status == CT_OK; i++) {
    status = prepare_cache(p->alloc, &p->caches[i], err);
  }
  return status;
}

static CtStatus prepare_merging(CtProfile *p, CtProfileWorker *k, CtErr *err) {
  size_t n = p->now->pub.n_sites;
  CtStatus status = fresh(p->alloc, &k->merged, &k->cap_merged, n, sizeof *k->merged, err);
  return status == CT_OK ? fresh(p->alloc, &k->window, &k->cap_window, 1, sizeof *k->window, err)
                         : status;
}

static CtStatus prepare_worker(CtProfile *p, CtProfileWorker *k, size_t n_params, CtErr *err) {
  const CtProfileProgram *pub = &p->now->pub;
  CtAlloc a = p->alloc;
  CtStatus status = fresh(a, &k->counts, &k->cap_counts, pub->n_rows, sizeof *k->counts, err);
  status = status == CT_OK ? fresh(a, &k->mems, &k->cap_mems, pub->n_sites, sizeof *k->mems, err)
                           : status;
  status = status == CT_OK ? fresh(a, &k->came, &k->cap_came, pub->n_rows, sizeof *k->came, err)
                           : status;
  status = status == CT_OK ? fresh(a, &k->seen, &k->cap_seen, pub->n_sites, sizeof *k->seen, err)
                           : status;
  status = status == CT_OK ? fresh(a, &k->steps, &k->cap_steps, pub->n_sites, sizeof *k->steps, err)
                           : status;
  if (status == CT_OK && p->merges) {
    status = prepare_merging(p, k, err);
  }
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
  CtStatus status = ct_grow(p->alloc, &p->workers, &p->cap_workers, n, sizeof *p->workers, err);
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

/* Few blocks are long ones: fewer of them are spread. A stride by the golden section comes to all parts of the grid,
   and to all columns and rows. */
static void limit_clusters(const CtProfile *p, CtSimtJob *job) {
  int64_t all = job->n_clusters, n = ct_ceildiv(p->n_blocks, job->program->n_cluster);
  if (p->is_spread) {
    n = ct_min(n, ct_max(all / FEW, 2));
    job->stride = ct_max((int64_t)((double)all * GOLDEN), 1);
  }
  job->n_clusters = ct_min(all, n);
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  CtProfile *p = (CtProfile *)(void *)watch;
  size_t n_params = 0;
  p->job.has_bits = job->launch->is_cooperative;
  CtStatus status = find_program(whole(p), job->program, p->tag, &p->now, err);
  status = status == CT_OK ? size_tensors(p, job, &n_params, err) : status;
  status = status == CT_OK ? prepare_workers(p, job, n_params, err) : status;
  if (status != CT_OK) {
    return status;
  }
  p->job = (CtProfileJob){.alloc = p->alloc,
                          .sites = p->now->pub.sites,
                          .ats = p->now->ats,
                          .n_sectors = p->n_sectors,
                          .n_patterns = p->n_patterns,
                          .notes_boxes = p->now->pub.n_launches == 0,
                          .n_recorded = ct_max(p->n_blocks, 1),
                          .n_counted = INT64_MAX,
                          .merges = p->merges,
                          .has_bits = p->job.has_bits};
  p->now->pub.has_merged = p->merges;
  bool waits = job->launch->is_cooperative || p->of != NULL; /* for later blocks, or for ranks */
  if (p->n_blocks > 0 && waits) {
    p->job.n_counted = p->n_blocks;
  } else if (p->n_blocks > 0) {
    limit_clusters(p, job);
  }
  p->now->pub.n_ran = waits && p->n_blocks > 0 ? ct_min(p->n_blocks, job->n_blocks)
                                               : job->n_clusters * job->program->n_cluster;
  return status;
}

static uint32_t lanes_of(const CtWarp *w) {
  int32_t n = w->worker->job->program->n_threads - w->index * CT_LANES;
  return n >= CT_LANES ? CT_LANES : (uint32_t)n;
}

/* True: the warp has not been there. */
static bool came(uint32_t *warps, const CtWarp *w) {
  uint32_t bit = 1u << w->index % CT_LANES; /* a block has no more warps */
  bool is_first = (*warps & bit) == 0;
  *warps |= bit;
  return is_first;
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  CtProfile *p = (CtProfile *)(void *)watch;
  const CtSimtJob *job = w->worker->job;
  CtProfileRows *pr = p->now;
  CtProfileWorker *k = &p->workers[w->worker - job->workers];
  int32_t row = pr->row_of[code - (job->program->code + job->program->body)];
  uint32_t lanes = (uint32_t)__builtin_popcount(w->mask);
  ct_profile_turn(&p->job, k, w);
  if (ct_in_is(code, CT_INS_SYNC)) {
    ct_profile_settle(&p->job, k);
  }
  if (row == CT_PROFILE_NO_ROW || lanes == 0 || w->worker->block >= p->job.n_counted) {
    return w->mask;
  }
  CtProfileCount *c = &k->counts[row];
  if (p->job.merges) {
    k->window->stretch += pr->pub.rows[row].is_behind;
  }
  k->n_of_block++;
  c->n++;
  c->came += came(&k->came[row], w);
  c->lanes += lanes;
  c->partial += lanes < lanes_of(w);
  c->work += lanes * pr->each[row];
  if (pr->pub.rows[row].is_branch) {
    uint32_t some = taken(code, w);
    c->splits += some != 0 && some != w->mask;
  }
  for (uint32_t i = pr->first[row]; i < pr->first[row + 1]; i++) {
    if (pr->pub.sites[i].is_box) {
      ct_profile_count_boxes(&p->job, k, i, code, w);
    } else {
      ct_profile_count(&p->job, k, i, code, in, w);
    }
  }
  return w->mask;
}

/* --- after it ------------------------------------------------------------------------------------------- */

static void add_counts(CtProfileProgram *to, const CtProfileWorker *k, bool merges) {
  for (uint32_t i = 0; i < to->n_rows; i++) {
    to->counts[i].n += k->counts[i].n;
    to->counts[i].came += k->counts[i].came;
    to->counts[i].lanes += k->counts[i].lanes;
    to->counts[i].partial += k->counts[i].partial;
    to->counts[i].splits += k->counts[i].splits;
    to->counts[i].work += k->counts[i].work;
  }
  for (uint32_t i = 0; i < to->n_sites; i++) {
    ct_profile_add_mem(&to->mems[i], &k->mems[i]);
    if (merges) {
      ct_merge_sum(&to->merged[i], &k->merged[i]);
    }
  }
}

static void add_blocks(CtProfileProgram *to, const CtProfileWorker *k) {
  to->n_counted += k->n_counted;
  to->n_most = k->n_most > to->n_most ? k->n_most : to->n_most;
}

/* Takes over the patterns of the first launch. */
static void take_patterns(CtProfile *p, CtProfileProgram *to, const CtProfileWorker *k) {
  size_t old = to->n_patterns * sizeof *k->patterns, more = k->n_patterns * sizeof *k->patterns;
  CtProfilePattern *all = to->n_launches > 1 || more == 0 ? NULL : ct_alloc(p->alloc, old + more);
  if (all == NULL) {
    p->no_memory = p->no_memory || (to->n_launches == 1 && more > 0);
    return;
  }
  if (old > 0) {
    memcpy(all, to->patterns, old);
  }
  memcpy(all + to->n_patterns, k->patterns, more);
  ct_free(p->alloc, to->patterns, old);
  to->patterns = all;
  to->n_patterns += k->n_patterns;
}

/* Takes over the boxes of the first launch. */
static void take_boxes(CtProfile *p, CtProfileProgram *to, int n_workers) {
  size_t n = 0;
  for (int i = 0; i < n_workers; i++) {
    n += p->workers[i].n_boxes;
    to->lacks_boxes = to->lacks_boxes || p->workers[i].lacks_boxes;
  }
  to->boxes = n == 0 || to->lacks_boxes ? NULL : ct_alloc(p->alloc, n * sizeof *to->boxes);
  p->no_memory = p->no_memory || (n > 0 && !to->lacks_boxes && to->boxes == NULL);
  to->lacks_boxes = to->lacks_boxes || (n > 0 && to->boxes == NULL);
  for (int i = 0; i < n_workers && to->boxes != NULL; i++) {
    const CtProfileWorker *k = &p->workers[i];
    if (k->n_boxes > 0) {
      memcpy(to->boxes + to->n_boxes, k->boxes, k->n_boxes * sizeof *k->boxes);
      to->n_boxes += k->n_boxes;
    }
  }
}

/* The sectors that are marked in a word: a bit of each, or the stamp of one. */
static uint32_t count_marked(const CtProfile *p, uint32_t word) {
  return p->job.has_bits ? (uint32_t)__builtin_popcount(word) : word != 0;
}

/* The sectors of page i that at least one worker touched. */
static uint64_t count_page(const CtProfile *p, int n_workers, size_t mark, size_t i) {
  uint32_t any[CT_PROFILE_PAGE] = {0};
  uint64_t sum = 0;
  for (int j = 0; j < n_workers; j++) {
    const uint32_t *page = p->workers[j].marks[mark].pages[i];
    for (int k = 0; page != NULL && k < CT_PROFILE_PAGE; k++) {
      any[k] |= page[k];
    }
  }
  for (int k = 0; k < CT_PROFILE_PAGE; k++) {
    sum += count_marked(p, any[k]);
  }
  return sum;
}

static bool is_touched(const CtProfile *p, int n_workers, size_t mark, size_t i) {
  bool any = false;
  for (int j = 0; j < n_workers; j++) {
    any = any || p->workers[j].marks[mark].pages[i] != NULL;
  }
  return any;
}

/* How many sectors at least one worker touched. */
static uint64_t count_once(const CtProfile *p, int n_workers, size_t mark, int64_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count_pages(p, n); i++) {
    sum += is_touched(p, n_workers, mark, i) ? count_page(p, n_workers, mark, i) : 0;
  }
  return sum;
}

static void add_sectors(CtProfile *p, const CtSimtJob *job) {
  for (uint32_t i = 1; i < job->program->n_bufs; i++) {
    const CtSimtBuf *b = &job->program->bufs[i];
    CtProfileBuf *to = &p->now->pub.bufs[i];
    if (b->space != CT_GLOBAL || b->is_chosen || !to->is_known) {
      continue;
    }
    size_t mark = 2 * (size_t)b->param;
    int64_t n = p->n_sectors[b->param];
    to->read_once += count_once(p, job->n_workers, mark, n);
    to->written_once += count_once(p, job->n_workers, mark + 1, n);
    for (int j = 0; j < job->n_workers; j++) {
      to->read_block += p->workers[j].marks[mark].n_blocks;
      to->written_block += p->workers[j].marks[mark + 1].n_blocks;
    }
  }
}

static void end(CtSimtWatch *watch, CtSimtJob *job) {
  CtProfile *p = (CtProfile *)(void *)watch;
  CtProfileProgram *to = &p->now->pub;
  to->n_launches++;
  to->n_warps += (uint64_t)to->n_ran * (uint64_t)job->program->n_warps;
  memcpy(to->grid, job->launch->grid, sizeof to->grid);
  for (int i = 0; i < job->n_workers; i++) {
    p->no_memory = p->no_memory || p->workers[i].no_memory;
    add_counts(to, &p->workers[i], p->merges);
    add_blocks(to, &p->workers[i]);
    take_patterns(p, to, &p->workers[i]);
  }
  if (p->job.notes_boxes && to->n_launches == 1) {
    take_boxes(p, to, job->n_workers);
  }
  add_sectors(p, job);
  whole(p)->no_memory = whole(p)->no_memory || p->no_memory;
}

/* Parts are kept for the next launches that run at the same time. */
static CtStatus make_part(CtProfile *p, CtErr *err) {
  CtStatus status =
      ct_grow(p->alloc, &p->parts, &p->cap_parts, p->n_made + 1, sizeof *p->parts, err);
  status = status == CT_OK ? ct_profile_open(p->alloc, &p->parts[p->n_made], err) : status;
  p->n_made += status == CT_OK;
  return status;
}

static CtStatus part(CtSimtWatch *watch, uint64_t tag, CtSimtWatch **out, CtErr *err) {
  CtProfile *p = (CtProfile *)(void *)watch;
  CtStatus status = p->n_parts == p->n_made ? make_part(p, err) : CT_OK;
  if (status == CT_OK) {
    CtProfile *made = p->parts[p->n_parts++];
    made->of = p;
    made->tag = tag;
    ct_profile_limit(made, p->n_blocks, p->n_patterns);
    made->merges = p->merges;
    made->is_spread = p->is_spread;
    *out = &made->watch;
  }
  return status;
}

static void parts_over(CtSimtWatch *watch) { ((CtProfile *)(void *)watch)->n_parts = 0; }

static void begin_block(CtSimtWatch *watch, CtWorker *w) {
  CtProfile *p = (CtProfile *)(void *)watch;
  CtProfileWorker *k = &p->workers[w - w->job->workers];
  if (p->now->pub.n_sites > 0) {
    memset(k->steps, 0, p->now->pub.n_sites * sizeof *k->steps);
  }
  if (p->now->pub.n_rows > 0) {
    memset(k->came, 0, p->now->pub.n_rows * sizeof *k->came);
  }
  k->n_of_block = 0;
}

static void end_block(CtSimtWatch *watch, CtWorker *w) {
  CtProfile *p = (CtProfile *)(void *)watch;
  CtProfileWorker *k = &p->workers[w - w->job->workers];
  ct_profile_settle(&p->job, k);
  k->n_counted += k->n_of_block;
  k->n_most = k->n_of_block > k->n_most ? k->n_of_block : k->n_most;
}

static const CtWatchOps ops = {.wants = ct_profile_wants,
                               .begin = begin,
                               .end = end,
                               .begin_block = begin_block,
                               .end_block = end_block,
                               .step = step,
                               .part = part,
                               .parts_over = parts_over};

/* --- opening and reading -------------------------------------------------------------------------------- */

CtStatus ct_profile_open(CtAlloc alloc, CtProfile **out, CtErr *err) {
  CtProfile *p = ct_alloc(alloc, sizeof *p);
  if (p == NULL) {
    return ct_fail_nomem(err);
  }
  *p = (CtProfile){.watch = {.ops = &ops}, .alloc = alloc, .n_patterns = CT_PROFILE_PATTERNS};
  *out = p;
  return CT_OK;
}

void ct_profile_close(CtProfile *p) {
  if (p == NULL) {
    return;
  }
  CtAlloc alloc = p->alloc;
  for (size_t i = 0; i < p->n_made; i++) {
    ct_profile_close(p->parts[i]);
  }
  ct_free(alloc, p->parts, p->cap_parts * sizeof(CtProfile *));
  for (size_t i = 0; i < p->n; i++) {
    ct_profile_rows_free(alloc, p->programs[i]);
  }
  for (size_t i = 0; i < p->cap_workers; i++) {
    free_worker(alloc, &p->workers[i]);
  }
  for (size_t i = 0; i < p->cap_caches; i++) {
    free_cache(alloc, &p->caches[i]);
  }
  ct_free(alloc, p->caches, p->cap_caches * sizeof *p->caches);
  ct_free(alloc, p->programs, p->cap * sizeof *p->programs);
  ct_free(alloc, p->workers, p->cap_workers * sizeof *p->workers);
  ct_free(alloc, p->n_sectors, p->cap_sectors * sizeof *p->n_sectors);
  ct_free(alloc, p, sizeof *p);
}

CtSimtWatch *ct_profile_watch(CtProfile *p) { return &p->watch; }
void ct_profile_tag(CtProfile *p, uint64_t tag) { p->tag = tag; }

void ct_profile_limit(CtProfile *p, int64_t n_blocks, uint32_t n_patterns) {
  p->n_blocks = n_blocks;
  p->n_patterns = n_patterns > 0 ? n_patterns : CT_PROFILE_PATTERNS;
}

void ct_profile_spread(CtProfile *p) { p->is_spread = true; }
void ct_profile_merge(CtProfile *p) { p->merges = true; }

bool ct_profile_knows(const CtProfile *p, uint64_t tag) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->programs[i]->pub.tag == tag) {
      return true;
    }
  }
  return false;
}

void ct_profile_waves(CtProfile *p, uint32_t i, int64_t n_blocks, CtProfileWave *by_site) {
  CtProfileProgram *pub = &p->programs[i]->pub;
  if (pub->n_sites > 0) {
    memset(by_site, 0, pub->n_sites * sizeof *by_site);
  }
  ct_profile_add_waves(pub->boxes, pub->n_boxes, n_blocks, by_site);
}

bool ct_profile_is_partial(const CtProfile *p) { return p->no_memory; }
uint32_t ct_profile_size(const CtProfile *p) { return (uint32_t)p->n; }
const CtProfileProgram *ct_profile_program(const CtProfile *p, uint32_t i) {
  return &p->programs[i]->pub;
}
