/* simt_profile.c: the watcher that counts; see simt_profile.h. Each worker counts for itself; what it has
   is added up after the launch. */
#include "simt_profile.h"

#include <string.h>

#include "simt_profile_box.h"

enum { NO_ROW = -1, MAX_SECTORS = 1 << 24 }; /* of a tensor whose sectors are marked: 512 MiB */

typedef struct Program {
  CtProfileProgram pub;
  CtArena arena;
  CtProfileAt *ats; /* by site */
  int32_t *row_of;  /* by instruction of the body */
  uint32_t *first;  /* by row: its sites are first[row] .. first[row + 1] - 1 */
  uint64_t *each;   /* by row: arithmetic of one thread */
} Program;

struct CtProfile {
  CtSimtWatch watch; /* first */
  CtAlloc alloc;
  uint64_t tag;
  int64_t n_blocks; /* that run; 0: all */
  uint32_t n_patterns;
  Program **programs;
  size_t n, cap;
  CtProfileWorker *workers;
  size_t n_workers, cap_workers;
  /* Of the launch under way. */
  Program *now;
  int64_t *n_sectors; /* by param */
  size_t cap_sectors;
  CtProfileJob job;
};

/* --- what instructions do ------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  CtProfileWork work;
} works[] = {{"FMA_", CT_WORK_FMA},      {"DOT_", CT_WORK_FMA},      {"ADD_", CT_WORK_FLOP},
             {"SUB_", CT_WORK_FLOP},     {"MUL_", CT_WORK_FLOP},     {"DIV_", CT_WORK_SPECIAL},
             {"POW_", CT_WORK_SPECIAL},  {"SQRT_", CT_WORK_SPECIAL}, {"RSQRT_", CT_WORK_SPECIAL},
             {"EXP_", CT_WORK_SPECIAL},  {"EXP2_", CT_WORK_SPECIAL}, {"LOG_", CT_WORK_SPECIAL},
             {"LOG2_", CT_WORK_SPECIAL}, {"SIN_", CT_WORK_SPECIAL},  {"COS_", CT_WORK_SPECIAL},
             {"TANH_", CT_WORK_SPECIAL}, {"EX2_", CT_WORK_SPECIAL}};

/* Arithmetic on floats that is no tile operation. */
static CtProfileWork work_of(uint32_t op) {
  const char *name = ct_simt_names[op];
  for (size_t i = 0; i < CT_ARRAY_LEN(works); i++) {
    size_t n = strlen(works[i].name);
    if (strncmp(name, works[i].name, n) == 0 && name[n] == 'f') {
      return works[i].work;
    }
  }
  return CT_WORK_NONE;
}

static bool is_tile(uint32_t op) { return op >= CT_SIMT_COPY_4 && op != CT_SIMT_GUARD; }

static bool is_branch(uint32_t op) {
  return op == CT_SIMT_SPLIT || op == CT_SIMT_SPLIT_ELSE || op == CT_SIMT_ONLY ||
         op == CT_SIMT_LANES_START || op == CT_SIMT_LANES_NEXT_i64 || op == CT_SIMT_LANES_NEXT_i32;
}

static bool wants(const CtIn *code) {
  uint32_t op = code->u.op;
  return is_tile(op) || is_branch(op) || op == CT_SIMT_BARRIER || op == CT_SIMT_ATOMIC ||
         op == CT_SIMT_TMA || ct_simt_roles[op][3] == 'b' || work_of(op) != CT_WORK_NONE;
}

/* The lanes that a branch sends on; of a loop by lanes, those that stay in it. */
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

/* --- a program ------------------------------------------------------------------------------------------ */

static uint64_t mode_n(const CtSimtProgram *p, uint32_t mode) {
  return p->modes[mode].n < 0 ? 0 : (uint64_t)p->modes[mode].n;
}

/* Atoms of a warp, or multiply-adds of single threads. */
static void set_mma_work(const CtMma *m, CtProfileIn *row, uint64_t *each) {
  uint64_t atoms = (uint64_t)(m->rest[0] * m->rest[1] * m->rest[2]);
  row->work = m->threads > 1 ? CT_WORK_MMA : CT_WORK_INT;
  *each = m->threads > 1 ? atoms : atoms * (uint64_t)m->k;
}

static void set_wgmma_work(const CtMma *m, CtProfileIn *row, uint64_t *each) {
  set_mma_work(m, row, each);
  row->wgmma_n = (uint16_t)(m->groups * m->n);
  row->wgmma_k = (uint16_t)m->k;
}

static void set_tile_work(const CtSimtProgram *p, const CtTileOp *t, CtProfileIn *row,
                          uint64_t *each) {
  bool is_float = ct_is_float(t->dtype);
  if (t->op == CT_OP_GEMM || t->op == CT_OP_AXPBY) {
    bool is_matrix = t->op == CT_OP_GEMM && !t->elementwise;
    row->work = is_float ? CT_WORK_FMA : CT_WORK_INT;
    row->is_f64 = t->dtype == CT_f64;
    *each = mode_n(p, t->dst.mode[0]) * mode_n(p, t->dst.mode[1]) *
            (is_matrix ? mode_n(p, t->a.mode[1]) : 1);
  } else if (t->op == CT_OP_MMA) {
    set_mma_work(t->mma, row, each);
  } else if (t->op == CT_OP_WGMMA) {
    set_wgmma_work(t->mma, row, each);
  }
}

static void set_row(const CtSimtProgram *p, uint32_t i, CtProfileIn *row, uint64_t *each) {
  const CtIn *code = &p->code[i];
  uint32_t op = code->u.op;
  *row = (CtProfileIn){.loc = p->locs[i],
                       .op = (uint16_t)op,
                       .work = (uint8_t)work_of(op),
                       .is_branch = is_branch(op),
                       .is_barrier = op == CT_SIMT_BARRIER};
  row->is_f64 = row->work != CT_WORK_NONE && strstr(ct_simt_names[op], "_f64") != NULL;
  *each = op == CT_SIMT_DOT_f32 || op == CT_SIMT_DOT_f64 ? (uint64_t)code->imm
                                                         : row->work != CT_WORK_NONE;
  if (is_tile(op)) {
    set_tile_work(p, &p->tiles[code->imm], row, each);
  }
}

/* Operands as ct_simt_accesses gives them, those in registers included: `out` has room for 3. What wgmma
   reads from shared memory is no request of threads. */
static int list_operands(const CtSimtProgram *p, const CtIn *code, CtProfileSite out[]) {
  enum { BUF_BITS = 31 };
  static const CtWidth one = {1, CT_WIDTH_SCALAR, 0};
  uint32_t op = code->u.op;
  int n = 0;
  if (op == CT_SIMT_WGMMA) {
    return 0;
  }
  if (is_tile(op)) {
    const CtTileOp *t = &p->tiles[code->imm];
    const CtTileArg *args[] = {&t->a, &t->b, &t->dst};
    static const CtAccessRole roles[] = {CT_ACCESS_A, CT_ACCESS_B, CT_ACCESS_DST};
    for (int i = 0; i < CT_MAX_ACCESSES; i++) {
      if (args[i]->buf == 0) {
        continue;
      }
      CtProfileSite *s = &out[n++];
      *s = (CtProfileSite){.buf = args[i]->buf, .role = roles[i], .width = one};
      s->writes = roles[i] == CT_ACCESS_DST;
      s->reads = !s->writes || t->reads_dst;
      s->is_matrix = t->op == CT_OP_WARP_COPY;
      if ((t->op == CT_OP_COPY || t->op == CT_OP_WARP_COPY) && roles[i] != CT_ACCESS_B) {
        s->width = t->width[0];
        s->is_async = t->async;
      } else if ((t->op == CT_OP_GEMM || t->op == CT_OP_MMA) && roles[i] != CT_ACCESS_DST) {
        s->width = t->width[roles[i] == CT_ACCESS_A ? 0 : 1];
      }
    }
    return n;
  }
  if (op == CT_SIMT_DOT_f32 || op == CT_SIMT_DOT_f64) {
    for (; n < 2; n++) {
      out[n] =
          (CtProfileSite){.buf = code[1 + n].c & ~(1u << BUF_BITS), .reads = true, .width = one};
      out[n].role = n == 0 ? CT_ACCESS_A : CT_ACCESS_B;
    }
    return n;
  }
  if (op == CT_SIMT_TMA) {
    const CtSimtTma *t = &p->tmas[code->imm];
    CtProfileSite site = {.width = {0, CT_WIDTH_WIDEST, 0}};
    ct_profile_set_map(&site, t);
    site.width.vec = (uint8_t)(16 / ct_dtype_bytes(t->dtype));
    for (; n < 2; n++) {
      out[n] = site;
      out[n].buf = n == 0 ? t->global : t->shared;
      out[n].writes = t->is_store == (n == 0);
      out[n].reads = !out[n].writes;
      out[n].role = out[n].writes ? CT_ACCESS_DST : CT_ACCESS_A;
    }
    return n;
  }
  if (op == CT_SIMT_ATOMIC) {
    CtAtomicImm imm = {.imm = code->imm};
    out[0] = (CtProfileSite){.buf = imm.u.buf, .is_atomic = true, .width = one};
    out[0].reads = imm.u.op != CT_OP_ATOMIC_STORE;
    out[0].writes = imm.u.op != CT_OP_ATOMIC_LOAD;
    return 1;
  }
  if (ct_simt_roles[op][3] != 'b') {
    return 0;
  }
  out[0] = (CtProfileSite){.buf = code->c & ~(1u << BUF_BITS), .width = one};
  out[0].writes = ct_simt_roles[op][0] >= 'a';
  out[0].reads = !out[0].writes;
  out[0].role = out[0].writes ? CT_ACCESS_DST : CT_ACCESS_A;
  return 1;
}

/* Counts, and where there is room lists, the rows and sites of the body. */
static void list_rows(Program *pr, const CtSimtProgram *p) {
  CtProfileProgram *pub = &pr->pub;
  uint32_t n_rows = 0, n_sites = 0;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    CtProfileSite sites[CT_MAX_ACCESSES];
    if (!wants(&p->code[i])) {
      continue;
    }
    if (pub->rows != NULL) {
      pr->row_of[i - p->body] = (int32_t)n_rows;
      pr->first[n_rows] = n_sites;
      set_row(p, i, &pub->rows[n_rows], &pr->each[n_rows]);
    }
    int n = list_operands(p, &p->code[i], sites);
    for (int j = 0; j < n; j++) {
      if (p->bufs[sites[j].buf].space == CT_REGISTER) {
        continue;
      }
      if (pub->rows != NULL) {
        sites[j].in = n_rows;
        pub->sites[n_sites] = sites[j];
        pub->sites[n_sites].map = sites[j].is_box ? ct_profile_map_of(pub->sites, n_sites) : 0;
        pr->ats[n_sites] = ct_profile_at(p, &p->code[i], j, sites[j].buf);
      }
      n_sites++;
    }
    n_rows++;
    if (p->code[i].u.op == CT_SIMT_DOT_f32 || p->code[i].u.op == CT_SIMT_DOT_f64) {
      i += 2; /* its loads */
    }
  }
  pub->n_rows = n_rows;
  pub->n_sites = n_sites;
  if (pub->rows != NULL) {
    pr->first[n_rows] = n_sites;
  }
}

static bool copy_texts(Program *pr, const CtSimtProgram *p) {
  CtProfileProgram *pub = &pr->pub;
  CtArena *a = &pr->arena;
  bool ok = (pub->name = ct_arena_strdup(a, p->name, strlen(p->name))) != NULL;
  for (uint32_t i = 0; i < p->n_chunks && ok; i++) {
    ok = (pub->chunks[i] = ct_arena_strdup(a, p->chunks[i], strlen(p->chunks[i]))) != NULL;
  }
  for (uint32_t i = 1; i < p->n_bufs && ok; i++) {
    const CtSimtBuf *b = &p->bufs[i];
    pub->bufs[i] = (CtProfileBuf){.space = b->space, .dtype = b->dtype, .n_elems = b->n};
    ok = (pub->bufs[i].name = ct_arena_strdup(a, b->name, strlen(b->name))) != NULL;
  }
  return ok;
}

static bool fill_program(Program *pr, const CtSimtProgram *p) {
  CtProfileProgram *pub = &pr->pub;
  CtArena *a = &pr->arena;
  uint32_t n_body = p->n_code - p->body;
  pub->shared_bytes = p->shared_bytes;
  pub->n_bufs = p->n_bufs;
  memcpy(pub->block, p->block, sizeof pub->block);
  list_rows(pr, p);
  pr->row_of = ct_arena_alloc(a, n_body * sizeof *pr->row_of);
  pr->first = ct_arena_alloc(a, (pub->n_rows + 1) * sizeof *pr->first);
  pr->each = ct_arena_alloc(a, (pub->n_rows + 1) * sizeof *pr->each);
  pr->ats = ct_arena_alloc(a, (pub->n_sites + 1) * sizeof *pr->ats);
  pub->counts = ct_arena_alloc(a, (pub->n_rows + 1) * sizeof *pub->counts);
  pub->sites = ct_arena_alloc(a, (pub->n_sites + 1) * sizeof *pub->sites);
  pub->mems = ct_arena_alloc(a, (pub->n_sites + 1) * sizeof *pub->mems);
  pub->bufs = ct_arena_alloc(a, p->n_bufs * sizeof *pub->bufs);
  pub->chunks = ct_arena_alloc(a, (p->n_chunks + 1) * sizeof *pub->chunks);
  if (pr->row_of == NULL || pr->first == NULL || pr->each == NULL || pr->ats == NULL ||
      pub->counts == NULL || pub->sites == NULL || pub->mems == NULL || pub->bufs == NULL ||
      pub->chunks == NULL) {
    return false;
  }
  pub->rows = ct_arena_alloc(a, (pub->n_rows + 1) * sizeof *pub->rows);
  if (pub->rows == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < n_body; i++) {
    pr->row_of[i] = NO_ROW;
  }
  list_rows(pr, p);
  return copy_texts(pr, p);
}

static void free_program(CtAlloc alloc, Program *pr) {
  ct_free(alloc, pr->pub.patterns, pr->pub.n_patterns * sizeof *pr->pub.patterns);
  ct_free(alloc, pr->pub.boxes, pr->pub.n_boxes * sizeof *pr->pub.boxes);
  ct_arena_clear(&pr->arena);
  ct_free(alloc, pr, sizeof *pr);
}

static CtStatus find_program(CtProfile *p, const CtSimtProgram *from, Program **out, CtErr *err) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->programs[i]->pub.tag == p->tag) {
      *out = p->programs[i];
      return CT_OK;
    }
  }
  CtStatus status = ct_grow(p->alloc, &p->programs, &p->cap, p->n + 1, sizeof *p->programs, err);
  Program *pr = status == CT_OK ? ct_alloc(p->alloc, sizeof *pr) : NULL;
  if (pr == NULL) {
    return ct_fail_nomem(err);
  }
  *pr = (Program){.pub = {.tag = p->tag}};
  ct_arena_init(&pr->arena, p->alloc);
  if (!fill_program(pr, from)) {
    free_program(p->alloc, pr);
    return ct_fail_nomem(err);
  }
  p->programs[p->n++] = *out = pr;
  return CT_OK;
}

/* --- a launch ------------------------------------------------------------------------------------------- */

/* An array of n zeros, in place of what it was. */
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

static void free_worker(CtAlloc alloc, CtProfileWorker *k) {
  for (size_t i = 0; i < k->cap_marks; i++) {
    ct_free(alloc, k->marks[i].stamp, k->marks[i].cap * sizeof *k->marks[i].stamp);
  }
  ct_free(alloc, k->counts, k->cap_counts * sizeof *k->counts);
  ct_free(alloc, k->mems, k->cap_mems * sizeof *k->mems);
  ct_free(alloc, k->seen, k->cap_seen * sizeof *k->seen);
  ct_free(alloc, k->memos, k->cap_memos * sizeof *k->memos);
  ct_free(alloc, k->pool, k->cap_pool * sizeof *k->pool);
  ct_free(alloc, k->marks, k->cap_marks * sizeof *k->marks);
  ct_free(alloc, k->patterns, k->cap_patterns * sizeof *k->patterns);
  ct_free(alloc, k->steps, k->cap_steps * sizeof *k->steps);
  ct_free(alloc, k->boxes, k->cap_boxes * sizeof *k->boxes);
}

/* Marks for the sectors of each param, of reads and of writes. */
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
    CtProfileMarks *m = &k->marks[i];
    m->n_blocks = 0;
    status =
        fresh(p->alloc, &m->stamp, &m->cap, (size_t)p->n_sectors[i / 2], sizeof *m->stamp, err);
  }
  return status;
}

static CtStatus prepare_worker(CtProfile *p, CtProfileWorker *k, size_t n_params, CtErr *err) {
  const CtProfileProgram *pub = &p->now->pub;
  CtAlloc a = p->alloc;
  size_t cap_memos = k->cap_memos;
  CtStatus status = fresh(a, &k->counts, &k->cap_counts, pub->n_rows, sizeof *k->counts, err);
  status = status == CT_OK ? fresh(a, &k->mems, &k->cap_mems, pub->n_sites, sizeof *k->mems, err)
                           : status;
  status = status == CT_OK ? fresh(a, &k->seen, &k->cap_seen, pub->n_sites, sizeof *k->seen, err)
                           : status;
  status = status == CT_OK
               ? ct_grow(a, &k->pool, &k->cap_pool, CT_PROFILE_POOL, sizeof *k->pool, err)
               : status;
  if (status == CT_OK && cap_memos == 0) {
    status = fresh(a, &k->memos, &k->cap_memos, CT_PROFILE_MEMOS, sizeof *k->memos, err);
  }
  status = status == CT_OK ? fresh(a, &k->steps, &k->cap_steps, pub->n_sites, sizeof *k->steps, err)
                           : status;
  k->age++;
  k->n_pool = k->n_patterns = 0;
  k->n_boxes = 0;
  k->lacks_boxes = false;
  return status == CT_OK ? prepare_marks(p, k, n_params, err) : status;
}

/* How many sectors each tensor has; none where it is too large to mark them. */
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
    if (b->space == CT_GLOBAL && b->of == b->dtype) {
      int64_t n = ct_max(job->launch->n_elems[b->param], 0);
      int64_t sectors = n * (int64_t)ct_dtype_bytes(b->dtype) / CT_SECTOR_BYTES + 2;
      p->now->pub.bufs[i].n_elems = n;
      p->now->pub.bufs[i].is_known = sectors <= MAX_SECTORS;
      p->n_sectors[b->param] = sectors <= MAX_SECTORS ? sectors : 0;
    }
  }
  return status;
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  CtProfile *p = (CtProfile *)(void *)watch;
  size_t n_params = 0, n = (size_t)job->n_workers, old = p->cap_workers;
  CtStatus status = find_program(p, job->program, &p->now, err);
  status = status == CT_OK ? size_tensors(p, job, &n_params, err) : status;
  status = status == CT_OK
               ? ct_grow(p->alloc, &p->workers, &p->cap_workers, n, sizeof *p->workers, err)
               : status;
  if (status != CT_OK) {
    return status;
  }
  memset(p->workers + old, 0, (p->cap_workers - old) * sizeof *p->workers);
  for (size_t i = 0; i < n && status == CT_OK; i++) {
    status = prepare_worker(p, &p->workers[i], n_params, err);
  }
  p->job = (CtProfileJob){.alloc = p->alloc,
                          .sites = p->now->pub.sites,
                          .ats = p->now->ats,
                          .n_sectors = p->n_sectors,
                          .n_patterns = p->n_patterns,
                          .notes_boxes = p->now->pub.n_launches == 0,
                          .n_recorded = ct_max(p->n_blocks, 1)};
  if (p->n_blocks > 0) {
    job->n_clusters = ct_min(job->n_clusters, ct_ceildiv(p->n_blocks, job->program->n_cluster));
  }
  return status;
}

static uint32_t lanes_of(const CtWarp *w) {
  int32_t n = w->worker->job->program->n_threads - w->index * CT_LANES;
  return n >= CT_LANES ? CT_LANES : (uint32_t)n;
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  CtProfile *p = (CtProfile *)(void *)watch;
  const CtSimtJob *job = w->worker->job;
  Program *pr = p->now;
  CtProfileWorker *k = &p->workers[w->worker - job->workers];
  int32_t row = pr->row_of[code - job->program->code - job->program->body];
  uint32_t lanes = (uint32_t)__builtin_popcount(w->mask);
  if (row == NO_ROW || lanes == 0) {
    return w->mask;
  }
  CtProfileCount *c = &k->counts[row];
  c->n++;
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

static void add_counts(CtProfileProgram *to, const CtProfileWorker *k) {
  for (uint32_t i = 0; i < to->n_rows; i++) {
    to->counts[i].n += k->counts[i].n;
    to->counts[i].lanes += k->counts[i].lanes;
    to->counts[i].partial += k->counts[i].partial;
    to->counts[i].splits += k->counts[i].splits;
    to->counts[i].work += k->counts[i].work;
  }
  for (uint32_t i = 0; i < to->n_sites; i++) {
    ct_profile_add_mem(&to->mems[i], &k->mems[i]);
  }
}

/* Of the first launch. */
static void take_patterns(CtProfile *p, CtProfileProgram *to, const CtProfileWorker *k) {
  size_t old = to->n_patterns * sizeof *k->patterns, more = k->n_patterns * sizeof *k->patterns;
  CtProfilePattern *all = to->n_launches > 1 || more == 0 ? NULL : ct_alloc(p->alloc, old + more);
  if (all == NULL) {
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

/* Likewise. */
static void take_boxes(CtProfile *p, CtProfileProgram *to, int n_workers) {
  size_t n = 0;
  for (int i = 0; i < n_workers; i++) {
    n += p->workers[i].n_boxes;
    to->lacks_boxes = to->lacks_boxes || p->workers[i].lacks_boxes;
  }
  to->boxes = n == 0 || to->lacks_boxes ? NULL : ct_alloc(p->alloc, n * sizeof *to->boxes);
  to->lacks_boxes = to->lacks_boxes || (n > 0 && to->boxes == NULL);
  for (int i = 0; i < n_workers && to->boxes != NULL; i++) {
    const CtProfileWorker *k = &p->workers[i];
    if (k->n_boxes > 0) {
      memcpy(to->boxes + to->n_boxes, k->boxes, k->n_boxes * sizeof *k->boxes);
      to->n_boxes += k->n_boxes;
    }
  }
}

/* Sectors that any worker touched. */
static uint64_t count_once(const CtProfile *p, int n_workers, size_t mark, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    bool any = false;
    for (int j = 0; j < n_workers; j++) {
      any = any || p->workers[j].marks[mark].stamp[i] != 0;
    }
    sum += any;
  }
  return sum;
}

static void add_sectors(CtProfile *p, const CtSimtJob *job) {
  for (uint32_t i = 1; i < job->program->n_bufs; i++) {
    const CtSimtBuf *b = &job->program->bufs[i];
    CtProfileBuf *to = &p->now->pub.bufs[i];
    if (b->space != CT_GLOBAL || !to->is_known) {
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
  memcpy(to->grid, job->launch->grid, sizeof to->grid);
  for (int i = 0; i < job->n_workers; i++) {
    add_counts(to, &p->workers[i]);
    take_patterns(p, to, &p->workers[i]);
  }
  if (p->job.notes_boxes) {
    take_boxes(p, to, job->n_workers);
  }
  add_sectors(p, job);
}

static void begin_block(CtSimtWatch *watch, CtWorker *w) {
  CtProfile *p = (CtProfile *)(void *)watch;
  CtProfileWorker *k = &p->workers[w - w->job->workers];
  if (p->now->pub.n_sites > 0) {
    memset(k->steps, 0, p->now->pub.n_sites * sizeof *k->steps);
  }
}

static const CtWatchOps ops = {
    .wants = wants, .begin = begin, .end = end, .begin_block = begin_block, .step = step};

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
  for (size_t i = 0; i < p->n; i++) {
    free_program(alloc, p->programs[i]);
  }
  for (size_t i = 0; i < p->cap_workers; i++) {
    free_worker(alloc, &p->workers[i]);
  }
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

uint32_t ct_profile_size(const CtProfile *p) { return (uint32_t)p->n; }
const CtProfileProgram *ct_profile_program(const CtProfile *p, uint32_t i) {
  return &p->programs[i]->pub;
}
