/* profile_site.c: counts requests of one operand of one instruction; see profile_site.h. */
#include "profile_site.h"

#include <string.h>

enum { SECTOR_SHIFT = 5, LINE_SHIFT = 7, WORD_MASK = CT_BANK_BYTES - 1 };

/* --- where it is ----------------------------------------------------------------------------------------- */

/* Is the slot of a table or pattern filled by the prologue? */
static bool is_fixed(const CtSimtProgram *p, uint32_t slot) {
  for (uint32_t i = 0; i < p->body; i++) {
    uint32_t op = p->code[i].u.op;
    if (p->code[i].d == slot &&
        (op == CT_SIMT_TABLE || op == CT_SIMT_PATTERN_i32 || op == CT_SIMT_PATTERN_i64)) {
      return true;
    }
  }
  return false;
}

static bool is_fixed_mode(const CtSimtProgram *p, uint32_t mode) {
  const CtTileMode *m = &p->modes[mode];
  return m->fixed != NULL || (m->table != 0 && is_fixed(p, m->table));
}

static void set_tile(CtProfileAt *at, const CtSimtProgram *p, const CtTileOp *t,
                     const CtTileArg *arg) {
  bool is_if = t->op == CT_OP_COPY && t->b.buf != 0;
  if (is_if || arg->lanes.kind != CT_REF_STATIC ||
      (arg->pattern != 0 && !is_fixed(p, arg->pattern)) || !is_fixed_mode(p, arg->mode[0]) ||
      !is_fixed_mode(p, arg->mode[1])) {
    return;
  }
  at->is_fast = true;
  at->is_guarded = arg->n_guards > 0;
  at->is_swizzled = arg->swizzle.bits != 0;
  at->base = arg->base;
  at->imm = arg->imm;
}

/* Finds the address of a load or store: a scalar, perhaps with a pattern, or lanes. */
static void set_scalar(CtProfileAt *at, const CtSimtProgram *p, const CtIn *code) {
  const char *roles = ct_in_roles(code);
  at->is_fast = roles[1] == 's' && (roles[2] != 'p' || is_fixed(p, code->b));
  at->base = code->a;
  at->imm = code->imm;
  at->wraps = ct_in_wraps(code);
}

CtProfileAt ct_profile_at(const CtSimtProgram *p, const CtIn *code, int operand, uint32_t buf) {
  CtProfileAt at = {.operand = (uint8_t)operand,
                    .buf = buf,
                    .space = p->bufs[buf].space,
                    .param = p->bufs[buf].param,
                    .dtype = p->bufs[buf].dtype};
  CtOperand operands[CT_MAX_OPERANDS];
  (void)ct_simt_operands(p, code, operands);
  if (operands[operand].arg != NULL) {
    set_tile(&at, p, &p->tiles[code->imm], operands[operand].arg);
  } else if (operands[operand].code != NULL) {
    set_scalar(&at, p, operands[operand].code);
    at.is_scalar = true;
  }
  return at;
}

/* --- requests --------------------------------------------------------------------------------------------- */

/* Gathers elements first .. first + vec - 1 of the operand, in the lanes that access the first
   of them. */
static void gather(const CtAccess *a, int64_t first, CtProfileRequest *r) {
  int64_t start = a->buf->space == CT_SHARED ? a->buf->at : (int64_t)(uintptr_t)a->mem->ptr;
  int64_t off;
  r->mask = 0;
  memset(r->off, 0, sizeof r->off);
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (ct_access_at(a, first, lane, &off) && off >= 0 && off < a->mem->n) {
      r->mask |= 1u << lane;
      r->off[lane] = off;
      r->at[lane] = start + ct_dtype_byte(a->buf->dtype, off);
    }
  }
}

/* How many different bytes the request asks for. */
static uint64_t distinct_bytes(const CtProfileRequest *r) {
  int64_t seen[CT_LANES];
  int n = 0;
  for (uint32_t rest = r->mask; rest != 0; rest &= rest - 1) {
    int64_t at = r->at[ct_first_lane(rest)];
    int i = n == 0 || at > seen[n - 1] ? n : 0; /* mostly they rise */
    for (; i < n && seen[i] != at; i++) {}
    if (i == n) {
      seen[n++] = at;
    }
  }
  return (uint64_t)n * (uint64_t)r->bytes;
}

/* How many lines of 128 bytes these sectors are in. */
static uint64_t distinct_lines(const int64_t *sectors, int n) {
  int64_t seen[CT_MAX_SECTORS];
  int n_seen = 0;
  for (int i = 0; i < n; i++) {
    int64_t line = sectors[i] >> (LINE_SHIFT - SECTOR_SHIFT);
    int k = n_seen - 1;
    for (; k >= 0 && seen[k] != line; k--) {}
    if (k < 0) {
      seen[n_seen++] = line;
    }
  }
  return (uint64_t)n_seen;
}

static uint32_t *new_page(CtAlloc alloc) {
  uint32_t *page = ct_alloc(alloc, CT_PROFILE_PAGE * sizeof *page);
  if (page != NULL) {
    memset(page, 0, CT_PROFILE_PAGE * sizeof *page);
  }
  return page;
}

/* The word of its mark. NULL: there is no memory. */
static uint32_t *find_mark(const CtProfileJob *job, CtProfileMarks *m, int64_t sector) {
  int64_t at = job->has_bits ? sector / 32 : sector;
  uint32_t **page = &m->pages[at / CT_PROFILE_PAGE];
  if (*page == NULL) {
    *page = new_page(job->alloc);
  }
  return *page == NULL ? NULL : &(*page)[at % CT_PROFILE_PAGE];
}

/* False: the block has touched the sector before. */
static bool mark(uint32_t *at, int64_t sector, uint32_t block, bool has_bits) {
  uint32_t value = has_bits ? *at | 1u << sector % 32 : block + 1;
  bool is_new = *at != value;
  *at = value;
  return is_new;
}

void ct_profile_touch(const CtProfileJob *job, CtProfileWorker *k, uint32_t site, uint32_t block,
                      int64_t sector) {
  const CtProfileSite *s = &job->sites[site];
  uint32_t param = job->ats[site].param;
  for (int dir = 0; dir < 2; dir++) {
    bool is_touched = dir == 0 ? s->reads : s->writes;
    if (is_touched && sector >= 0 && sector < job->n_sectors[param]) {
      CtProfileMarks *marks = &k->marks[2 * param + (uint32_t)dir];
      uint32_t *at = find_mark(job, marks, sector);
      k->no_memory = k->no_memory || at == NULL;
      marks->n_blocks += at != NULL && mark(at, sector, block, job->has_bits);
    }
  }
}

/* What is counted too: where the sectors go. */
typedef struct Sink {
  const CtProfileJob *job;
  CtProfileWorker *k;
  uint32_t site;
  uint32_t block;
  int64_t first; /* sector of the tensor's first element */
  bool keeps;    /* sectors, in the pool, relative to `base` */
  int64_t base;
  uint32_t n_kept;
  bool records;
  int32_t warp;
} Sink;

static void take_sector(Sink *s, int64_t sector) {
  ct_profile_touch(s->job, s->k, s->site, s->block, sector - s->first);
  CtProfileCache *cache = s->k->cache;
  if (!s->keeps || cache->n_pool + s->n_kept == CT_PROFILE_POOL ||
      (int32_t)(sector - s->base) != sector - s->base) {
    s->keeps = false;
    return;
  }
  cache->pool[cache->n_pool + s->n_kept++] = (int32_t)(sector - s->base);
}

static void record(Sink *s, const CtProfileRequest *r, int cost, int ideal) {
  CtProfileWorker *k = s->k;
  uint32_t here = 0;
  for (uint32_t i = 0; i < k->n_patterns; i++) {
    CtProfilePattern *p = &k->patterns[i];
    if (p->site == s->site) {
      here++;
      if (p->mask == r->mask && memcmp(p->off, r->off, sizeof p->off) == 0) {
        p->n++;
        return;
      }
    }
  }
  if (here == s->job->n_patterns) {
    return;
  }
  if (CT_GROW(s->job->alloc, k->patterns, k->cap_patterns, k->n_patterns + 1, NULL) != CT_OK) {
    k->no_memory = true;
    return;
  }
  CtProfilePattern *p = &k->patterns[k->n_patterns++];
  *p = (CtProfilePattern){
      .site = s->site, .mask = r->mask, .warp = s->warp, .n = 1, .cost = cost, .ideal = ideal};
  memcpy(p->off, r->off, sizeof p->off);
}

/* Constant memory serves one address at a time, to any number of lanes. */
static int distinct_addresses(const CtProfileRequest *r) {
  int n = 0;
  for (uint32_t rest = r->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    bool is_new = true;
    for (int i = 0; i < lane; i++) {
      is_new = is_new && ((r->mask >> i & 1) == 0 || r->at[i] != r->at[lane]);
    }
    n += is_new;
  }
  return n;
}

static CtProfileMem shared_cost(const CtProfileSite *site, const CtProfileRequest *r) {
  bool is_phased = site->is_matrix || (site->writes && !site->reads); /* eight rows of 16 bytes */
  CtWavefronts w = ct_wavefronts(r->at, r->mask, r->bytes, is_phased);
  return (CtProfileMem){.wavefronts = (uint64_t)w.n, .ideal = (uint64_t)w.ideal};
}

/* `n` gets how many sectors it lists, for the caller. */
static CtProfileMem global_cost(const CtProfileRequest *r, int64_t sectors[CT_MAX_SECTORS],
                                int *n) {
  *n = ct_sectors(r->at, r->mask, r->bytes, sectors);
  return (CtProfileMem){.sectors = (uint64_t)*n,
                        .cache_lines = distinct_lines(sectors, *n),
                        .used = distinct_bytes(r)};
}

/* Its cost; `n` sectors, if it is in global memory. */
static CtProfileMem cost_of(const CtProfileSite *site, const CtProfileAt *at,
                            const CtProfileRequest *r, int64_t sectors[CT_MAX_SECTORS], int *n) {
  CtProfileMem cost = {.wavefronts = 1, .ideal = 1};
  *n = 0;
  if (at->space == CT_SHARED) {
    cost = shared_cost(site, r);
  } else if (at->space == CT_CONSTANT) {
    cost.wavefronts = (uint64_t)distinct_addresses(r);
  } else {
    cost = global_cost(r, sectors, n);
  }
  cost.requests = 1;
  cost.lanes = (uint64_t)__builtin_popcount(r->mask);
  cost.bytes = cost.lanes * (uint64_t)r->bytes;
  return cost;
}

void ct_profile_cost(const CtProfileSite *site, const CtProfileAt *at, const CtProfileRequest *r,
                     CtProfileMem *add) {
  int64_t sectors[CT_MAX_SECTORS];
  int n;
  CtProfileMem cost = cost_of(site, at, r, sectors, &n);
  ct_profile_add_mem(add, &cost);
}

static void count_request(Sink *s, const CtProfileRequest *r, CtProfileMem *add) {
  int64_t sectors[CT_MAX_SECTORS];
  int n;
  const CtProfileAt *at = &s->job->ats[s->site];
  CtProfileMem cost = cost_of(&s->job->sites[s->site], at, r, sectors, &n);
  ct_profile_add_mem(add, &cost);
  for (int i = 0; i < n; i++) {
    take_sector(s, sectors[i]);
  }
  if (s->records) {
    bool is_global = at->space == CT_GLOBAL;
    uint64_t ideal = is_global ? (cost.used + CT_SECTOR_BYTES - 1) / CT_SECTOR_BYTES : cost.ideal;
    record(s, r, is_global ? n : (int)cost.wavefronts, (int)ideal);
  }
}

/* The requests of an access, one after the other: into the window, or, if `add` is not NULL, counted. */
static void count_access(Sink *s, const CtAccess *a, CtProfileMem *add, CtMergeWindow *window,
                         const CtMergeSink *to) {
  int64_t vec = s->job->sites[s->site].width.vec;
  CtProfileRequest r = {.bytes = (int)ct_dtype_span(s->job->ats[s->site].dtype, (int64_t)vec)};
  for (int64_t e = 0; e < a->n; e += vec) {
    gather(a, e, &r);
    if (add != NULL) {
      add->slots++;
    }
    if (r.mask != 0 && add != NULL) {
      count_request(s, &r, add);
    }
    if (r.mask != 0 && window != NULL) {
      ct_merge_add(window, to, s->site, &r);
    }
  }
}

/* --- executions ------------------------------------------------------------------------------------------- */

void ct_profile_add_mem(CtProfileMem *to, const CtProfileMem *m) {
  to->requests += m->requests;
  to->lanes += m->lanes;
  to->slots += m->slots;
  to->bytes += m->bytes;
  to->used += m->used;
  to->sectors += m->sectors;
  to->cache_lines += m->cache_lines;
  to->wavefronts += m->wavefronts;
  to->ideal += m->ideal;
  to->delivered += m->delivered;
}

/* The address of the base; for a shared tensor, its place in the block's memory. */
static int64_t base_of(const CtProfileAt *at, CtWarp *w) {
  int64_t off = CT_CAT(CtScalar, w, at->base)->i + at->imm;
  off = at->wraps ? (int32_t)off : off;
  int64_t start = at->space == CT_SHARED ? w->worker->job->program->bufs[at->buf].at
                                         : (int64_t)(uintptr_t)w->mem[at->buf].ptr;
  return start + ct_dtype_byte(at->dtype, off);
}

static CtProfileMemo *find_memo(CtProfileCache *k, uint32_t site, uint32_t mask, int32_t warp,
                                uint32_t key, bool *found) {
  uint32_t h = (site * 33 + (uint32_t)warp) * 0x9E3779B1u ^ mask * 0x85EBCA6Bu ^ key * 0xC2B2AE35u;
  CtProfileMemo *m = &k->memos[(h >> 12 ^ h) % CT_PROFILE_MEMOS];
  *found =
      m->age == k->age && m->site == site && m->mask == mask && m->warp == warp && m->key == key;
  return m;
}

/* The operand's access, one of `all`, which may point to itself; NULL: there is none. */
static const CtAccess *find_access(const Sink *s, const CtIn *code, const CtIn *in, CtWarp *w,
                                   CtAccess all[CT_MAX_OPERANDS]) {
  int operand = s->job->ats[s->site].operand;
  return ct_simt_accesses(code, in, w, all) > operand ? &all[operand] : NULL;
}

static CtMergeSink sink_of(const Sink *s, CtProfileMerged *only) {
  return (CtMergeSink){
      .sites = s->job->sites, .ats = s->job->ats, .merged = s->k->merged, .only = only};
}

/* What an execution costs, its requests one by one, and with neighbours. */
typedef struct Cost {
  CtProfileMem add;
  bool is_open;
  CtProfileMerged merged;
} Cost;

static bool merges(const Sink *s) {
  const CtProfileJob *job = s->job;
  return job->merges && job->sites[s->site].can_merge;
}

/* Counts the requests lane by lane. */
static bool count_slowly(Sink *s, const CtIn *code, const CtIn *in, CtWarp *w, Cost *cost) {
  CtAccess all[CT_MAX_OPERANDS];
  const CtAccess *access = find_access(s, code, in, w, all);
  CtMergeWindow *own = merges(s) ? &s->k->cache->own : NULL;
  CtMergeSink to = sink_of(s, &cost->merged);
  if (access == NULL) {
    return false;
  }
  s->first = (int64_t)((uint64_t)(uintptr_t)access->mem->ptr >> SECTOR_SHIFT);
  if (own != NULL) {
    own->n = own->oldest = 0;
    own->has_lost = false;
  }
  count_access(s, access, &cost->add, own, &to);
  if (own != NULL) {
    cost->is_open = s->job->sites[s->site].may_repeat || !ct_merge_is_closed(own);
    ct_merge_flush(own, &to);
  }
  return true;
}

/* Counts what an execution costs with neighbours, of those before and after it, too, where it is open. */
static void count_merged(Sink *s, const CtIn *code, const CtIn *in, CtWarp *w, bool is_open,
                         const CtProfileMerged *merged) {
  CtProfileWorker *k = s->k;
  CtMergeSink to = sink_of(s, NULL);
  if (!is_open) {
    ct_merge_over(k->window, &to, s->site);
    ct_merge_sum(&k->merged[s->site], merged);
    return;
  }
  CtAccess all[CT_MAX_OPERANDS];
  const CtAccess *access = find_access(s, code, in, w, all);
  if (access != NULL) {
    count_access(s, access, NULL, k->window, &to);
  }
}

static void remember(Sink *s, CtProfileMemo *m, const Cost *cost, uint32_t mask, uint32_t key) {
  *m = (CtProfileMemo){.age = s->k->cache->age,
                       .site = s->site,
                       .mask = mask,
                       .key = key,
                       .warp = s->warp,
                       .n_rel = s->keeps ? (int32_t)s->n_kept : -1,
                       .rel = s->k->cache->n_pool,
                       .add = cost->add,
                       .is_open = cost->is_open,
                       .merged = cost->merged};
  if (s->keeps) {
    s->k->cache->n_pool += s->n_kept;
  }
}

/* The first executions of the first blocks are recorded request by request. */
static bool wants_record(const CtProfileJob *job, CtProfileWorker *k, uint32_t site,
                         const CtWarp *w) {
  if (w->worker->block >= job->n_recorded || k->seen[site] == job->n_patterns) {
    return false;
  }
  k->seen[site]++;
  return true;
}

/* Counts an execution lane by lane, and keeps its cost where there is a place. */
static void count_anew(Sink *s, const CtIn *code, const CtIn *in, CtWarp *w, CtProfileMemo *m,
                       uint32_t key) {
  Cost cost = {.is_open = false};
  bool found = count_slowly(s, code, in, w, &cost);
  if (found && m != NULL) {
    s->keeps = s->keeps || s->job->ats[s->site].space != CT_GLOBAL;
    remember(s, m, &cost, w->mask, key);
  }
  ct_profile_add_mem(&s->k->mems[s->site], &cost.add);
  if (found && merges(s)) {
    count_merged(s, code, in, w, cost.is_open, &cost.merged);
  }
}

static void count_again(Sink *s, const CtIn *code, const CtIn *in, CtWarp *w,
                        const CtProfileMemo *m) {
  const CtProfileAt *at = &s->job->ats[s->site];
  ct_profile_add_mem(&s->k->mems[s->site], &m->add);
  s->first = (int64_t)((uint64_t)(uintptr_t)w->mem[at->buf].ptr >> SECTOR_SHIFT);
  for (int32_t i = 0; i < m->n_rel; i++) {
    int32_t rel = s->k->cache->pool[m->rel + (uint32_t)i];
    ct_profile_touch(s->job, s->k, s->site, s->block, s->base + rel - s->first);
  }
  if (merges(s)) {
    count_merged(s, code, in, w, m->is_open, &m->merged);
  }
}

/* What of the base decides what a request costs: all of it if a swizzle uses it. */
static uint32_t key_of(const Sink *s, int64_t base) {
  const CtProfileAt *at = &s->job->ats[s->site];
  uint32_t mask = at->is_swizzled          ? UINT32_MAX
                  : at->space == CT_GLOBAL ? (1u << LINE_SHIFT) - 1
                  : merges(s)              ? CT_MERGE_BYTES - 1
                                           : WORD_MASK;
  return (uint32_t)base & mask;
}

void ct_profile_count(const CtProfileJob *job, CtProfileWorker *k, uint32_t site, const CtIn *code,
                      const CtIn *in, CtWarp *w) {
  const CtProfileAt *at = &job->ats[site];
  CtProfileCache *cache = k->cache;
  Sink s = {
      .job = job, .k = k, .site = site, .block = (uint32_t)w->worker->block, .warp = w->index};
  s.records = wants_record(job, k, site, w);
  bool is_fast = !s.records && at->is_fast && (!at->is_guarded || ct_simt_is_whole(in - 1, w));
  if (!is_fast) {
    count_anew(&s, code, in, w, NULL, 0);
    return;
  }
  int64_t base = base_of(at, w);
  bool found;
  uint32_t key = key_of(&s, base);
  CtProfileMemo *m = find_memo(cache, site, w->mask, w->index, key, &found);
  s.base = base >> SECTOR_SHIFT;
  if (found && (at->space != CT_GLOBAL || m->n_rel >= 0)) {
    count_again(&s, code, in, w, m);
    return;
  }
  if (cache->n_pool > CT_PROFILE_POOL / 2) { /* begin again */
    cache->age++;
    cache->n_pool = 0;
  }
  s.keeps = at->space == CT_GLOBAL;
  count_anew(&s, code, in, w, m, key);
}

void ct_profile_settle(const CtProfileJob *job, CtProfileWorker *k) {
  CtMergeSink to = {.sites = job->sites, .ats = job->ats, .merged = k->merged};
  if (job->merges) {
    ct_merge_flush(k->window, &to);
  }
}

void ct_profile_turn(const CtProfileJob *job, CtProfileWorker *k, const CtWarp *w) {
  if (job->merges && k->window->warp != w) {
    ct_profile_settle(job, k);
    k->window->warp = w;
  }
}
