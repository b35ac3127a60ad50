/* profile_rows.c: the rows and sites of a program. */
#include "profile_rows.h"

#include <string.h>

/* --- what instructions do ------------------------------------------------------------------------------- */

static bool has_pairs(const CtSimtRow *row) {
  return ct_op_has((CtOp)row->does, CT_TRAIT_PAIRS) || ct_ops[row->does].types == CT_TYPES_U64;
}

/* Arithmetic on floats outside tile operations. */
static CtProfileWork work_of(const CtIn *code) {
  const CtSimtRow *row = ct_in_row(code);
  bool is_float = ct_is_float((CtDtype)row->type) || has_pairs(row);
  unsigned traits = is_float ? ct_ops[row->does].traits : 0;
  return (traits & CT_TRAIT_FMA) != 0       ? CT_WORK_FMA
         : (traits & CT_TRAIT_FLOP) != 0    ? CT_WORK_FLOP
         : (traits & CT_TRAIT_SPECIAL) != 0 ? CT_WORK_SPECIAL
                                            : CT_WORK_NONE;
}

static const bool counts_class[CT_INS_CLASS_COUNT] = {[CT_INS_MEMORY] = true,
                                                      [CT_INS_DOT] = true,
                                                      [CT_INS_ATOMIC] = true,
                                                      [CT_INS_TMA] = true,
                                                      [CT_INS_TILE] = true};

static bool is_barrier(uint32_t op) { return op == CT_SIMT_BARRIER || op == CT_SIMT_GRID_BARRIER; }

/* The others that it wants only say that nothing is moved over them. */
static bool has_row(const CtIn *code) {
  const CtSimtRow *row = ct_in_row(code);
  uint32_t op = code->u.op;
  return counts_class[row->cls] || row->splits || work_of(code) != CT_WORK_NONE || is_barrier(op) ||
         op == CT_SIMT_SHFL || op == CT_SIMT_VOTE || op == CT_SIMT_MASKED;
}

bool ct_profile_wants(const CtIn *code) { return has_row(code) || ct_in_is(code, CT_INS_SYNC); }

/* --- rows and sites --------------------------------------------------------------------------------------- */

static uint64_t mode_n(const CtSimtProgram *p, uint32_t mode) {
  return p->modes[mode].n < 0 ? 0 : (uint64_t)p->modes[mode].n;
}

/* Atoms of a warp, or multiply-adds of single threads. */
static void set_mma_work(const CtMma *m, CtProfileIn *row, uint64_t *each) {
  uint64_t atoms = (uint64_t)(m->rest[0] * m->rest[1] * m->rest[2]);
  row->work = m->threads > 1 ? CT_WORK_MMA : CT_WORK_INT;
  row->macs = (uint32_t)(m->m * m->groups * m->n * m->k);
  *each = m->threads > 1 ? atoms : atoms * (uint64_t)m->k;
}

static void set_wgmma_work(const CtMma *m, CtProfileIn *row, uint64_t *each) {
  set_mma_work(m, row, each);
  row->wgmma_n = (uint16_t)(m->groups * m->n);
  row->wgmma_k = (uint16_t)m->k;
}

/* One thread issues the product of a whole block, or of two; atoms are counted as if all lanes took part. */
static void set_tcgen05_work(const CtMma *m, CtProfileIn *row, uint64_t *each) {
  row->work = CT_WORK_MMA;
  row->macs = (uint32_t)(m->blocks * m->rows * m->groups * m->n * m->k);
  *each = (uint64_t)(m->rest[0] * m->rest[1] * m->rest[2]) * CT_LANES;
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
  } else if (t->op == CT_OP_TCGEN05_MMA) {
    set_tcgen05_work(t->mma, row, each);
  }
  row->mac_bits = row->macs > 0 ? (uint8_t)ct_dtypes[p->bufs[t->a.buf].dtype].bits : 0;
}

/* A word for each 4 bytes; SHFL has the fields of a MASKED. */
static void set_exchange(const CtIn *code, CtProfileIn *row) {
  const CtMaskedImm imm = {.imm = code->imm};
  bool is_shuffle = imm.u.kind < CT_SHFL_COUNT;
  row->n_shuffles = is_shuffle ? imm.u.bytes / 4 : 0;
  row->n_votes = is_shuffle ? 0 : imm.u.bytes / 4;
}

static void set_row(const CtSimtProgram *p, uint32_t i, CtProfileIn *row, uint64_t *each) {
  const CtIn *code = &p->code[i];
  uint32_t op = code->u.op;
  *row = (CtProfileIn){.loc = p->locs[i],
                       .op = (uint16_t)op,
                       .work = (uint8_t)work_of(code),
                       .is_branch = ct_in_row(code)->splits,
                       .is_barrier = is_barrier(op),
                       .n_votes = op == CT_SIMT_VOTE};
  if (op == CT_SIMT_SHFL || op == CT_SIMT_MASKED) {
    set_exchange(code, row);
  }
  row->is_f64 = row->work != CT_WORK_NONE && ct_in_row(code)->type == CT_f64;
  uint64_t operations = has_pairs(ct_in_row(code)) ? 2 : 1;
  *each =
      ct_in_is(code, CT_INS_DOT) ? (uint64_t)code->imm : operations * (row->work != CT_WORK_NONE);
  if (ct_in_is(code, CT_INS_TILE)) {
    set_tile_work(p, &p->tiles[code->imm], row, each);
  }
}

/* What a fragment is in the products of the program. */
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
    if (p->bufs[t->a.buf].memory == memory || p->bufs[t->b.buf].memory == memory ||
        (t->sf[0].buf != 0 &&
         (p->bufs[t->sf[0].buf].memory == memory || p->bufs[t->sf[1].buf].memory == memory))) {
      return CT_PROFILE_MMA_OPERAND;
    }
  }
  return CT_PROFILE_MMA_NONE;
}

/* Fills in what a tile operation says about the accesses of an operand. */
static void set_tile_site(const CtSimtProgram *p, const CtTileOp *t, CtProfileSite *s) {
  s->is_matrix = t->op == CT_OP_WARP_COPY;
  bool is_copy = t->op == CT_OP_COPY || t->op == CT_OP_WARP_COPY || t->op == CT_OP_TCGEN05_COPY ||
                 t->op == CT_OP_TCGEN05_CP;
  if (is_copy && s->role != CT_ACCESS_B) {
    s->width = t->width[0];
    s->mma = (uint8_t)mma_of(p, s->writes ? t->a.buf : t->dst.buf);
    s->is_async = t->async;
  } else if ((t->op == CT_OP_GEMM || t->op == CT_OP_MMA) && s->role != CT_ACCESS_DST) {
    s->width = t->width[s->role == CT_ACCESS_A ? 0 : 1];
  }
}

static void set_box_site(const CtSimtTma *t, CtProfileSite *s) {
  s->width = (CtWidth){(uint8_t)ct_dtype_count(t->dtype, 16), CT_WIDTH_WIDEST, 0};
  s->reads = !s->writes;
  ct_profile_set_map(s, t);
}

/* Lists the operands as ct_simt_operands gives them, including those in registers. It leaves out
   what wgmma and tcgen05 reach in shared and tensor memory, because no thread requests that. */
static int list_operands(const CtSimtProgram *p, const CtIn *code,
                         CtProfileSite out[CT_MAX_OPERANDS]) {
  static const CtWidth one = {1, CT_WIDTH_SCALAR, 0};
  CtOperand operands[CT_MAX_OPERANDS];
  bool is_requested = code->u.op != CT_SIMT_WGMMA && code->u.op != CT_SIMT_TCGEN05_MMA &&
                      code->u.op != CT_SIMT_TCGEN05_CP;
  int n = is_requested ? ct_simt_operands(p, code, operands) : 0;
  for (int i = 0; i < n; i++) {
    out[i] = (CtProfileSite){.buf = operands[i].buf,
                             .role = operands[i].role,
                             .reads = operands[i].reads,
                             .writes = operands[i].writes,
                             .is_atomic = ct_in_is(code, CT_INS_ATOMIC),
                             .width = one};
    if (ct_in_is(code, CT_INS_TILE)) {
      set_tile_site(p, &p->tiles[code->imm], &out[i]);
    } else if (ct_in_is(code, CT_INS_TMA)) {
      set_box_site(&p->tmas[code->imm], &out[i]);
    }
  }
  return n;
}

static bool ends_stretch(const CtIn *code) {
  return ct_in_is(code, CT_INS_CONTROL) || ct_in_is(code, CT_INS_SYNC);
}

/* Counts the rows and sites of the body, and also lists them if there is room. */
static void list_rows(CtProfileRows *pr, const CtSimtProgram *p) {
  CtProfileProgram *pub = &pr->pub;
  uint32_t n_rows = 0, n_sites = 0;
  bool is_behind = true;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    CtProfileSite sites[CT_MAX_OPERANDS];
    is_behind = is_behind || ends_stretch(&p->code[i]);
    if (!has_row(&p->code[i])) {
      continue;
    }
    if (pub->rows != NULL) {
      pr->row_of[i - p->body] = (int32_t)n_rows;
      pr->first[n_rows] = n_sites;
      set_row(p, i, &pub->rows[n_rows], &pr->each[n_rows]);
      pub->rows[n_rows].is_behind = is_behind;
    }
    is_behind = false;
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
        pub->sites[n_sites].can_merge = ct_merge_wants(&sites[j], &pr->ats[n_sites]);
      }
      n_sites++;
    }
    n_rows++;
    i += (uint32_t)ct_in_size(&p->code[i]) - 1; /* the loads of a DOT are data */
  }
  pub->n_rows = n_rows;
  pub->n_sites = n_sites;
  if (pub->rows != NULL) {
    pr->first[n_rows] = n_sites;
  }
}

/* Elements that a script reads one by one may be read again. */
static bool note_repeats(CtProfileRows *pr, uint32_t n_bufs) {
  CtProfileProgram *pub = &pr->pub;
  uint32_t *n = ct_arena_alloc(&pr->arena, n_bufs * sizeof *n);
  for (uint32_t i = 0; i < pub->n_sites && n != NULL; i++) {
    CtProfileSite *s = &pub->sites[i];
    s->may_repeat = s->can_merge && s->reads && !s->writes && pr->ats[i].is_scalar;
    n[s->buf] += s->may_repeat;
  }
  for (uint32_t i = 0; i < pub->n_sites && n != NULL; i++) {
    pub->sites[i].may_repeat = pub->sites[i].may_repeat && n[pub->sites[i].buf] > 1;
  }
  return n != NULL;
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
    pub->bufs[i].is_local = b->is_local && b->memory == i;
    pub->bufs[i].line = b->line;
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
  pub->merged = ct_arena_alloc(a, (pub->n_sites + 1) * sizeof *pub->merged);
  pub->bufs = ct_arena_alloc(a, p->n_bufs * sizeof *pub->bufs);
  pub->chunks = ct_arena_alloc(a, (p->n_chunks + 1) * sizeof *pub->chunks);
  if (pr->row_of == NULL || pr->first == NULL || pr->each == NULL || pr->ats == NULL ||
      pub->counts == NULL || pub->sites == NULL || pub->mems == NULL || pub->merged == NULL ||
      pub->bufs == NULL || pub->chunks == NULL) {
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
  return note_repeats(pr, p->n_bufs) && copy_texts(pr, p);
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
