/* profile_rows.c: the rows and sites of a program. */
#include "profile_rows.h"

#include <string.h>

#include "profile_box.h"

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

bool ct_profile_wants(const CtIn *code) {
  uint32_t op = code->u.op;
  return is_tile(op) || is_branch(op) || op == CT_SIMT_BARRIER || op == CT_SIMT_ATOMIC ||
         op == CT_SIMT_SHFL || op == CT_SIMT_VOTE || op == CT_SIMT_TMA ||
         ct_simt_roles[op][3] == 'b' || work_of(op) != CT_WORK_NONE;
}

/* --- rows and sites --------------------------------------------------------------------------------------- */

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
                       .is_barrier = op == CT_SIMT_BARRIER,
                       .n_votes = op == CT_SIMT_VOTE};
  if (op == CT_SIMT_SHFL) { /* see simt_ops.def */
    row->n_shuffles = (uint8_t)((code->imm >> 16 & 0xff) / 4);
  }
  row->is_f64 = row->work != CT_WORK_NONE && strstr(ct_simt_names[op], "_f64") != NULL;
  *each = op == CT_SIMT_DOT_f32 || op == CT_SIMT_DOT_f64 ? (uint64_t)code->imm
                                                         : row->work != CT_WORK_NONE;
  if (is_tile(op)) {
    set_tile_work(p, &p->tiles[code->imm], row, each);
  }
}

/* What a fragment is to the products of the program. */
static CtProfileMma mma_of(const CtSimtProgram *p, uint32_t buf) {
  uint32_t memory = p->bufs[buf].memory;
  for (uint32_t i = 0; p->bufs[buf].space == CT_REGISTER && i < p->n_tiles; i++) {
    const CtTileOp *t = &p->tiles[i];
    if (t->op != CT_OP_MMA && t->op != CT_OP_WGMMA) {
      continue;
    }
    if (p->bufs[t->dst.buf].memory == memory) {
      return CT_PROFILE_MMA_SUM;
    }
    if (p->bufs[t->a.buf].memory == memory || p->bufs[t->b.buf].memory == memory) {
      return CT_PROFILE_MMA_OPERAND;
    }
  }
  return CT_PROFILE_MMA_NONE;
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
        s->mma = (uint8_t)mma_of(p, s->writes ? t->a.buf : t->dst.buf);
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
static void list_rows(CtProfileRows *pr, const CtSimtProgram *p) {
  CtProfileProgram *pub = &pr->pub;
  uint32_t n_rows = 0, n_sites = 0;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    CtProfileSite sites[CT_MAX_ACCESSES];
    if (!ct_profile_wants(&p->code[i])) {
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

static bool copy_texts(CtProfileRows *pr, const CtSimtProgram *p) {
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

static bool fill_program(CtProfileRows *pr, const CtSimtProgram *p) {
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
    pr->row_of[i] = CT_PROFILE_NO_ROW;
  }
  list_rows(pr, p);
  return copy_texts(pr, p);
}

void ct_profile_rows_free(CtAlloc alloc, CtProfileRows *pr) {
  ct_free(alloc, pr->pub.patterns, pr->pub.n_patterns * sizeof *pr->pub.patterns);
  ct_free(alloc, pr->pub.boxes, pr->pub.n_boxes * sizeof *pr->pub.boxes);
  ct_arena_clear(&pr->arena);
  ct_free(alloc, pr, sizeof *pr);
}

CtStatus ct_profile_rows_new(CtAlloc alloc, const CtSimtProgram *p, uint64_t tag,
                             CtProfileRows **out, CtErr *err) {
  CtProfileRows *pr = ct_alloc(alloc, sizeof *pr);
  if (pr == NULL) {
    return ct_fail_nomem(err);
  }
  *pr = (CtProfileRows){.pub = {.tag = tag}};
  ct_arena_init(&pr->arena, alloc);
  if (!fill_program(pr, p)) {
    ct_profile_rows_free(alloc, pr);
    return ct_fail_nomem(err);
  }
  *out = pr;
  return CT_OK;
}
