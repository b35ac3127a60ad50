/* profile.c: the watcher that counts; see profile.h. Each worker counts for itself. After the
   launch the counts of all workers are added up. */
#include "profile.h"

#include <string.h>

#include "profile_rows.h"

enum { FEW = 64 }; /* blocks for each one that runs, where they are spread */
#define GOLDEN 0.6180339887498949

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
  CtStatus status = CT_GROW(p->alloc, p->programs, p->cap, p->n + 1, err);
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
  p->job.has_bits = job->launch->is_cooperative;
  job->gives_none =
      true; /* so each block that is counted has its own work, also if only a few run */
  CtStatus status = find_program(whole(p), job->program, p->tag, &p->now, err);
  status = status == CT_OK ? ct_profile_prepare(p, job, err) : status;
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
  for (size_t i = 0; i < ct_profile_pages(p, n); i++) {
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
  to->n_failed += job->fail_block != INT64_MAX;
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
  CtStatus status = CT_GROW(p->alloc, p->parts, p->cap_parts, p->n_made + 1, err);
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
  ct_profile_free_workers(p);
  ct_free(alloc, p->programs, p->cap * sizeof *p->programs);
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
