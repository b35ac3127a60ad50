/* simt_access.c: what an instruction of the CPU engine accesses; see simt_access.h. */
#include "simt_access.h"

#include "simt_scalar.h"

static const int64_t no_pos[CT_LANES] = {0};

/* Sets all fields but own_pos, which is large. One by one is faster than it looks. */
static void set_operand(CtAccess *a, const CtOperand *operand, const CtIn *in, CtWarp *w) {
  a->in = in;
  a->w = w;
  a->buf_index = operand->buf;
  a->buf = &w->worker->job->program->bufs[operand->buf];
  a->mem = &w->mem[operand->buf];
  a->role = operand->role;
  a->reads = operand->reads;
  a->writes = operand->writes;
  a->mask = w->mask;
  a->vec = 1;
  a->is_atomic = a->is_async = a->is_regular = a->is_swizzled = a->is_inside = false;
  a->agent = CT_AGENT_NONE;
  a->bar_rank = -1;
  a->ends = NULL;
  a->n = a->n_rows = 1;
  a->base = a->lo = a->hi = a->step = 0;
  a->pos = a->rows = a->cols = NULL;
  a->pattern = NULL;
  a->arg = a->pred = NULL;
}

static bool is_in(int64_t off, int64_t n) { return (uint64_t)off < (uint64_t)n; }

/* --- loads, stores, atomic operations --------------------------------------------------------------- */

/* own_pos has the first offset of each lane; each lane has n elements `step` apart. */
static void settle_own(CtAccess *a) {
  int64_t reach = (a->n - 1) * a->step, span_lo = ct_min(reach, 0), span_hi = ct_max(reach, 0);
  int first = ct_first_lane(a->mask);
  a->pos = a->own_pos;
  a->lo = a->hi = a->own_pos[first];
  for (int i = 0; i < CT_LANES; i++) {
    a->own_pos[i] = (a->mask >> i & 1) != 0 ? a->own_pos[i] : a->own_pos[first];
    a->lo = ct_min(a->lo, a->own_pos[i]);
    a->hi = ct_max(a->hi, a->own_pos[i]);
  }
  a->is_regular = is_in(a->lo, a->mem->n) && is_in(a->hi, a->mem->n) &&
                  is_in(a->lo + span_lo, a->mem->n) && is_in(a->hi + span_hi, a->mem->n);
  a->is_inside = a->is_regular;
  a->lo += span_lo;
  a->hi += span_hi;
}

/* Uses the pattern as it is, if all lanes are inside, active or not. */
static bool settle_pattern(CtAccess *a, int64_t base, const CtPattern *p) {
  int64_t reach = (a->n - 1) * a->step;
  int64_t lo = p == NULL ? 0 : p->lo, hi = p == NULL ? 0 : p->hi;
  if (lo > hi || ct_add_overflow(base, lo + ct_min(reach, 0), &a->lo) ||
      ct_add_overflow(base, hi + ct_max(reach, 0), &a->hi) || !is_in(a->lo, a->mem->n) ||
      !is_in(a->hi, a->mem->n)) {
    return false;
  }
  a->base = base;
  a->pos = p == NULL ? no_pos : p->pos;
  a->pattern = p;
  return a->is_regular = a->is_inside = true;
}

static void set_pattern(CtAccess *a, int64_t base, const CtPattern *p, bool wraps) {
  if (settle_pattern(a, base, p)) {
    return;
  }
  for (int i = 0; i < CT_LANES; i++) {
    int64_t off = ADD_i64(base, p == NULL ? 0 : p->pos[i]);
    a->own_pos[i] = wraps ? CAST_i32_i64(off) : off;
  }
  settle_own(a);
}

/* The lanes have their offsets in a slot. */
static void settle_lanes(CtAccess *a, uint32_t slot, bool is_i32) {
  for (int i = 0; i < CT_LANES; i++) {
    a->own_pos[i] = is_i32 ? CT_CAT(int32_t, a->w, slot)[i] : CT_CAT(int64_t, a->w, slot)[i];
  }
  settle_own(a);
}

/* The address of a load or store: a scalar, perhaps with a pattern, or lanes. */
static void settle_address(CtAccess *a, const CtIn *code) {
  const CtSimtRow *row = ct_in_row(code);
  if (row->offsets != CT_VOID) {
    settle_lanes(a, code->b, row->offsets == CT_i32);
    return;
  }
  int64_t base = ADD_i64(CT_CAT(CtScalar, a->w, code->a)->i, code->imm);
  set_pattern(a, base, row->roles[2] == 'p' ? CT_CAT(CtPattern, a->w, code->b) : NULL,
              ct_in_wraps(code));
}

/* The store of an ST_ASYNC. The MBAR after it has the mbarrier of each lane; that of the first one is the access's. */
static void settle_async(CtAccess *a, const CtIn *code) {
  a->agent = CT_AGENT_BAR;
  a->is_of_pair = false;
  a->bar = a->buf->bar;
  a->bar_slot = ct_simt_slots_of(a->w, code)[ct_first_lane(a->mask)];
}

static void settle_atomic(CtAccess *a, const CtIn *code) {
  const CtAtomicImm imm = {.imm = code->imm};
  a->is_atomic = true;
  if (imm.u.op == CT_OP_ATOMIC_ADD2) { /* the element and the next */
    a->n = a->n_rows = 2;
    a->step = 1;
  }
  settle_lanes(a, code->a, imm.u.is_i32 != 0);
}

/* Fields a and b of a DOT are the distances to the next elements of its operands. */
static void settle_row(CtAccess *a, const CtIn *dot, const CtIn *load) {
  a->n = a->n_rows = dot->imm;
  a->step = (int32_t)(a->role == CT_ACCESS_A ? dot->a : dot->b);
  settle_address(a, load);
}

/* The box of each lane, whose operands were gathered. A swizzle does not change which bytes it
   covers. False: one is outside. */
static bool settle_box(CtAccess *a, const CtSimtTma *t) {
  const CtWarp *w = a->w;
  const int32_t(*lanes)[CT_LANES] = (const int32_t(*)[CT_LANES])ct_simt_tma_of(w)->lanes;
  a->agent = t->is_store ? CT_AGENT_BULK : CT_AGENT_BAR;
  a->bar = t->bar;
  a->is_of_pair = t->is_of_pair;
  a->bar_slot = lanes[CT_TMA_BAR][ct_first_lane(w->mask)];
  for (int i = 0; i < t->n; i++) {
    a->n *= t->box[i];
  }
  a->n_rows = a->n;
  a->step = 1;
  for (int i = 0; i < CT_LANES; i++) {
    a->own_pos[i] = lanes[CT_TMA_BOX_AT][i];
  }
  settle_own(a);
  return a->is_regular && (t->is_store || is_in(a->bar_slot, w->mem[t->bar].n));
}

/* --- tile operations ---------------------------------------------------------------------------------- */

/* The largest number of elements that a mode has in any lane; false: one number is not valid. */
static bool mode_size(const CtAccess *a, int mode, int64_t *n) {
  *n = 0;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int64_t here;
    if (!ct_simt_mode_size(a->w, a->arg->mode[mode], ct_first_lane(rest), &here)) {
      return false;
    }
    *n = ct_max(*n, here);
    if (a->w->worker->job->program->modes[a->arg->mode[mode]].n >= 0) {
      break; /* the same in all lanes */
    }
  }
  return true;
}

/* Adds the ends of a range to lo and hi; false: the sum does not fit. */
static bool add_ends(int64_t *lo, int64_t *hi, int64_t add_lo, int64_t add_hi) {
  return add_lo <= add_hi && !ct_add_overflow(*lo, add_lo, lo) && !ct_add_overflow(*hi, add_hi, hi);
}

/* Sets where element (0, 0) of each lane is; false: it does not fit. */
static bool settle_lanes_of_arg(CtAccess *a, int64_t *lo, int64_t *hi) {
  const CtTileArg *arg = a->arg;
  if (arg->lanes.kind == CT_REF_STATIC) {
    const CtPattern *p = arg->pattern == 0 ? NULL : CT_CAT(CtPattern, a->w, arg->pattern);
    a->pos = p == NULL ? no_pos : p->pos;
    a->pattern = p;
    *lo = p == NULL ? 0 : p->lo;
    *hi = p == NULL ? 0 : p->hi;
    return !ct_add_overflow(CT_CAT(CtScalar, a->w, arg->base)->i, arg->imm, &a->base);
  }
  *lo = INT64_MAX;
  *hi = INT64_MIN;
  a->pos = a->own_pos;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    a->own_pos[lane] = ct_ref_value(a->w, arg->lanes, lane);
    *lo = ct_min(*lo, a->own_pos[lane]);
    *hi = ct_max(*hi, a->own_pos[lane]);
  }
  for (uint32_t rest = ~a->mask; rest != 0; rest &= rest - 1) {
    a->own_pos[ct_first_lane(rest)] = *lo;
  }
  return true;
}

/* Finds whether the tables have all offsets, perhaps before the swizzle, and sets them. */
static void settle_tables(CtAccess *a, bool is_whole) {
  const CtTable *rows = ct_simt_table(a->w, a->arg->mode[0]),
                *cols = ct_simt_table(a->w, a->arg->mode[1]);
  int64_t lo, hi;
  if (rows == NULL || cols == NULL || a->pred != NULL || (a->arg->n_guards > 0 && !is_whole) ||
      !settle_lanes_of_arg(a, &lo, &hi)) {
    return;
  }
  a->rows = rows->off;
  a->cols = cols->off;
  a->lo = a->hi = a->base;
  bool fits = add_ends(&a->lo, &a->hi, lo, hi) && add_ends(&a->lo, &a->hi, rows->lo, rows->hi) &&
              add_ends(&a->lo, &a->hi, cols->lo, cols->hi);
  if (a->arg->swizzle.bits != 0 && fits && a->lo >= 0 && a->hi <= INT32_MAX) {
    int64_t block = ct_swizzle_block(a->arg->swizzle);
    a->is_swizzled = true;
    a->lo &= -block;
    a->hi |= block - 1;
  }
  a->is_inside = fits && is_in(a->lo, a->mem->n) && is_in(a->hi, a->mem->n);
  a->is_regular = a->is_inside && a->arg->swizzle.bits == 0;
}

/* Tiles of shared memory are read for all lanes. Sums are read only if the product adds to them. */
static void set_wgmma(CtAccess *a, const CtIn *code) {
  if (a->buf->space == CT_SHARED) {
    a->mask &= 0 - a->mask;
    a->agent = CT_AGENT_WGMMA;
  } else if (a->writes) {
    a->reads = (*CT_CAT(uint32_t, a->w, code->a) & a->w->mask) != 0;
  }
}

/* The same of products by tcgen05, one thread's; and of copies. */
static void set_tcgen05(CtAccess *a, const CtTileOp *t, const CtIn *code) {
  if (t->op == CT_OP_TCGEN05_COPY) {
    a->agent = a->buf->space == CT_TENSOR ? CT_AGENT_TMEM : CT_AGENT_NONE;
    return;
  }
  a->mask &= 0 - a->mask;
  a->agent = CT_AGENT_UMMA;
  if (a->writes && t->op == CT_OP_TCGEN05_MMA) {
    a->reads = (*CT_CAT(uint32_t, a->w, code->a) & a->w->mask) != 0;
  }
}

/* Sets what a tile operation says about the access of an operand. */
static void set_tile(CtAccess *a, const CtTileOp *t, const CtIn *code) {
  if (t->move != NULL) {
    a->mask &= a->writes ? t->move->writers : t->move->readers;
    a->vec = a->buf->space == CT_REGISTER ? 1 : t->width[0].vec;
  }
  if (t->op == CT_OP_WGMMA) {
    set_wgmma(a, code);
  }
  if (t->op == CT_OP_TCGEN05_MMA || t->op == CT_OP_TCGEN05_COPY || t->op == CT_OP_TCGEN05_CP) {
    set_tcgen05(a, t, code);
  }
  if (t->op == CT_OP_COPY && a->role != CT_ACCESS_B) {
    bool is_if = t->b.buf != 0;
    a->vec = t->vec;
    a->is_async = t->async;
    a->pred = is_if && !(t->zero_fill && a->writes) ? &t->b : NULL;
  }
}

/* is_whole: the guards exclude no element. False: an extent is not valid. */
static bool settle_tile(CtAccess *a, const CtTileArg *arg, bool is_whole) {
  int64_t n_cols;
  a->arg = arg;
  if (!mode_size(a, 0, &a->n_rows) || !mode_size(a, 1, &n_cols) ||
      ct_mul_overflow(a->n_rows, n_cols, &a->n)) {
    return false;
  }
  if (a->n > 0) {
    settle_tables(a, is_whole);
  }
  return true;
}

static int tile_accesses(const CtIn *code, const CtOperand *operands, int n,
                         CtAccess out[CT_MAX_OPERANDS]) {
  const CtWarp *w = out[0].w;
  const CtTileOp *t = &w->worker->job->program->tiles[code->imm];
  bool has_guards = t->dst.n_guards + t->a.n_guards + t->b.n_guards > 0;
  bool is_whole = has_guards && ct_simt_is_whole(code, w);
  for (int i = 0; i < n; i++) {
    set_tile(&out[i], t, code);
    if (!settle_tile(&out[i], operands[i].arg, is_whole)) {
      return 0;
    }
  }
  return n;
}

/* --- any instruction ---------------------------------------------------------------------------------- */

int ct_simt_accesses(const CtIn *code, const CtIn *in, CtWarp *w, CtAccess out[CT_MAX_OPERANDS]) {
  CtOperand operands[CT_MAX_OPERANDS];
  int n = ct_simt_operands(w->worker->job->program, code, operands);
  return ct_simt_accesses_of(operands, n, code, in, w, out);
}

int ct_simt_accesses_of(const CtOperand *operands, int n, const CtIn *code, const CtIn *in,
                        CtWarp *w, CtAccess out[CT_MAX_OPERANDS]) {
  const CtSimtProgram *p = w->worker->job->program;
  n = w->mask == 0 ? 0 : n;
  if (n > 0 &&
      ct_in_is(code, CT_INS_TMA)) { /* only for the box: the tensor's side is reported row by row */
    set_operand(&out[0], &operands[1], in, w);
    return settle_box(&out[0], &p->tmas[code->imm]);
  }
  for (int i = 0; i < n; i++) {
    set_operand(&out[i], &operands[i], in, w);
  }
  if (n > 0 && ct_in_is(code, CT_INS_TILE)) {
    return tile_accesses(code, operands, n, out);
  }
  for (int i = 0; i < n; i++) {
    if (ct_in_is(code, CT_INS_ATOMIC)) {
      settle_atomic(&out[i], code);
    } else if (ct_in_is(code, CT_INS_DOT)) {
      settle_row(&out[i], code, operands[i].code);
    } else {
      settle_address(&out[i], operands[i].code);
      if (out[i].writes && out[i].buf->bar != 0) {
        settle_async(&out[i], code);
      }
    }
  }
  return n;
}

static bool is_chosen(const CtAccess *a, int64_t e, int lane) {
  if (a->pred == NULL) {
    return true;
  }
  const CtMem *mem = &a->w->mem[a->pred->buf];
  int64_t off = ct_simt_arg_offset(a->w, a->pred, lane, e, 0);
  const char *p = mem->ptr + off * (int64_t)mem->elem_bytes + (int64_t)lane * mem->lane_bytes;
  return ct_simt_arg_is_inside(a->w, a->pred, lane, e, 0) && is_in(off, mem->n) && *p != 0;
}

bool ct_access_at(const CtAccess *a, int64_t e, int lane, int64_t *off) {
  if (a->is_regular || a->is_swizzled || a->arg == NULL) {
    *off = ct_access_offset(a, e, lane);
    *off = a->is_swizzled ? ct_swizzle_at(a->arg->swizzle, *off) : *off;
    return true;
  }
  int64_t i = e % a->n_rows, j = e / a->n_rows, n_rows, n_cols;
  if (!ct_simt_mode_size(a->w, a->arg->mode[0], lane, &n_rows) ||
      !ct_simt_mode_size(a->w, a->arg->mode[1], lane, &n_cols) || i >= n_rows || j >= n_cols ||
      !ct_simt_arg_is_inside(a->w, a->arg, lane, i, j) || !is_chosen(a, e, lane)) {
    return false;
  }
  *off = ct_simt_arg_offset(a->w, a->arg, lane, i, j);
  return true;
}

/* ct_swizzle_at of all lanes. */
static void swizzle_row(CtSwizzle sw, int64_t off[CT_LANES]) {
  int64_t y = (int64_t)ct_swizzle_y(sw);
  int right = sw.shift > 0 ? sw.shift : 0, left = sw.shift < 0 ? -sw.shift : 0;
  for (int i = 0; i < CT_LANES; i++) {
    off[i] ^= (off[i] & y) >> right << left;
  }
}

/* As ct_access_row, of an access whose offsets are those of the tables, or of lanes. */
static uint32_t row_of_lanes(const CtAccess *a, int64_t e, int64_t off[CT_LANES]) {
  int64_t first = ct_access_offset(a, e, 0) - a->pos[0];
  for (int i = 0; i < CT_LANES; i++) {
    off[i] = first + a->pos[i];
  }
  if (a->is_swizzled) {
    swizzle_row(a->arg->swizzle, off);
  }
  if (a->is_inside) {
    return a->mask;
  }
  uint32_t inside = 0;
  for (int i = 0; i < CT_LANES; i++) {
    inside |= (uint32_t)is_in(off[i], a->mem->n) << i;
  }
  return a->mask & inside;
}

uint32_t ct_access_row(const CtAccess *a, int64_t e, int64_t off[CT_LANES]) {
  if (a->is_regular || a->is_swizzled || a->arg == NULL) {
    return row_of_lanes(a, e, off);
  }
  uint32_t lanes = 0;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    bool is = ct_access_at(a, e, lane, &off[lane]) && is_in(off[lane], a->mem->n);
    lanes |= (uint32_t)is << lane;
  }
  return lanes;
}

/* Finds the first element of a lane that is outside. */
static bool is_outside(const CtAccess *a, int lane, int64_t *e, int64_t *off) {
  for (*e = 0; *e < a->n; ++*e) {
    if (ct_access_at(a, *e, lane, off) && !is_in(*off, a->mem->n)) {
      return true;
    }
  }
  return false;
}

int64_t ct_access_run(const CtAccess *a, int64_t e, int lane, int64_t *off) {
  int64_t i = e % a->n_rows, n = 1;
  *off = ct_access_offset(a, e, lane);
  if (a->rows == NULL && a->step == 1 && !a->is_swizzled) {
    return a->n_rows - i;
  }
  CtSwizzle sw = a->is_swizzled ? a->arg->swizzle : (CtSwizzle){0};
  int64_t y = (int64_t)ct_swizzle_y(sw);
  int right = sw.shift > 0 ? sw.shift : 0, left = sw.shift < 0 ? -sw.shift : 0;
  int64_t first = *off - (a->rows != NULL ? a->rows[i] : i * a->step);
  *off ^= (*off & y) >> right << left;
  for (; i + n < a->n_rows; n++) {
    int64_t at = first + (a->rows != NULL ? a->rows[i + n] : (i + n) * a->step);
    if ((at ^ (at & y) >> right << left) != *off + n) {
      break;
    }
  }
  return n;
}

uint32_t ct_access_outside(const CtAccess *a, int64_t *e, int64_t *off) {
  uint32_t outside = 0;
  for (uint32_t rest = a->is_inside ? 0 : a->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int64_t e_here, off_here;
    if (is_outside(a, lane, &e_here, &off_here)) {
      if (outside == 0) {
        *e = e_here;
        *off = off_here;
      }
      outside |= 1u << lane;
    }
  }
  return outside;
}
