/* check_overflow.c: `check` of signed integers that wrap around, if the user asks for it. The trace says which
   operations of the script may do so (runtime/ir/ir_wraps.c): this part looks at their operands. Of operations
   that add in memory, in registers or across lanes it compares the sum with the exact one. A sum counts as a
   whole: parts of it may wrap around as long as the sum is right. */
#include "check_parts.h"

#include <string.h>

#include "runtime/base/convert.h"

__extension__ typedef __int128 Wide;

static bool fits(CtDtype t, Wide v) { return v >= ct_dtype_min(t) && v <= ct_dtype_max(t); }

/* --- operations of the script ------------------------------------------------------------------------- */

/* a * 2^n; false: it does not fit in 64 bits. A negative count shifts the other way. */
static bool shifted(int64_t a, int64_t n, int64_t *r) {
  *r = 0;
  if (n <= 0 || a == 0) {
    return true;
  }
  if (n > 62) {
    *r = INT64_MIN;
    return a == -1 && n == 63;
  }
  return !ct_mul_overflow(a, (int64_t)1 << n, r);
}

/* The exact result; false: it does not fit in 64 bits. */
static bool exact(CtOp op, int64_t a, int64_t b, int64_t *r) {
  bool divides = op == CT_OP_FLOORDIV && b == -1, turns = op == CT_OP_NEG || divides;
  *r = 0; /* other divisions fit */
  if (turns || (op == CT_OP_ABS && a < 0)) {
    return !ct_sub_overflow(0, a, r);
  }
  return op == CT_OP_ADD   ? !ct_add_overflow(a, b, r)
         : op == CT_OP_SUB ? !ct_sub_overflow(a, b, r)
         : op == CT_OP_MUL ? !ct_mul_overflow(a, b, r)
         : op == CT_OP_SHL ? shifted(a, b, r)
                           : true;
}

/* What the engines make of it: the low bits. */
static int64_t wrapped(CtOp op, CtDtype t, int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b, r = 0 - x;
  switch ((int)op) {
    case CT_OP_ADD: r = x + y; break;
    case CT_OP_SUB: r = x - y; break;
    case CT_OP_MUL: r = x * y; break;
    case CT_OP_SHL: r = b < ct_dtypes[t].bits ? x << b : 0; break;
    default: break; /* the opposite */
  }
  return ct_int_of_bits(t, r & (UINT64_MAX >> (64 - ct_dtypes[t].bits)));
}

void ct_overflow_operation(const CtSimtProgram *p, uint32_t in, CtOp *op, CtDtype *type) {
  const CtIn *code = &p->code[in];
  const CtAtomicImm atomic = {.imm = code->imm};
  *op = CT_OP_ADD;
  *type = CT_i32; /* of lanes */
  if (code->u.op == CT_SIMT_WRAPS) {
    *op = (CtOp)(code->imm & 0xffff);
    *type = (CtDtype)(code->imm >> 16);
  } else if (ct_in_is(code, CT_INS_ATOMIC)) {
    *type = (CtDtype)atomic.u.dtype;
  } else if (ct_in_is(code, CT_INS_TILE)) {
    *type = (CtDtype)p->tiles[code->imm].dst.dtype;
  }
}

static int64_t lane_of(const CtWarp *w, CtDtype t, uint32_t slot, int lane) {
  return t == CT_i64 ? CT_CAT(int64_t, w, slot)[lane] : CT_CAT(int32_t, w, slot)[lane];
}

static void note_operands(CtCheckWorker *k, CtFound f, CtOp op, CtDtype t, int64_t a, int64_t b) {
  f.operands[0] = a;
  f.operands[1] = b;
  f.extra = wrapped(op, t, a, b);
  ct_finding_note(k, &f);
}

/* The common case: sums and products of i32 that fit in every lane. */
#define ALL_FIT(name, sign)                                                                        \
  static bool all_##name##_fit(const int32_t *a, const int32_t *b) {                               \
    int64_t wrong = 0;                                                                             \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      int64_t r = (int64_t)a[i] sign b[i];                                                         \
      wrong |= r ^ (int32_t)(uint32_t)r;                                                           \
    }                                                                                              \
    return wrong == 0;                                                                             \
  }
ALL_FIT(sums, +)
ALL_FIT(differences, -)
ALL_FIT(products, *)
#undef ALL_FIT

static bool all_fit(CtOp op, CtDtype t, const CtIn *code, const CtWarp *w) {
  static bool (*const rows[CT_OP_COUNT])(const int32_t *a,
                                         const int32_t *b) = {[CT_OP_ADD] = all_sums_fit,
                                                              [CT_OP_SUB] = all_differences_fit,
                                                              [CT_OP_MUL] = all_products_fit};
  return t == CT_i32 && rows[op] != NULL &&
         rows[op](CT_CAT(int32_t, w, code->a), CT_CAT(int32_t, w, code->b));
}

/* The lanes whose result does not fit. */
static uint32_t lanes_that_wrap(CtOp op, CtDtype t, const CtIn *code, const CtWarp *w) {
  uint32_t lanes = 0;
  for (int i = 0; i < CT_LANES; i++) {
    int64_t r;
    bool is_right = exact(op, lane_of(w, t, code->a, i), lane_of(w, t, code->b, i), &r) &&
                    (t == CT_i64 || r == (int32_t)r);
    lanes |= is_right ? 0 : 1u << i;
  }
  return lanes;
}

bool ct_overflow_look(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w) {
  CtOp op = (CtOp)(code->imm & 0xffff);
  CtDtype t = (CtDtype)(code->imm >> 16);
  if (all_fit(op, t, code, w)) {
    return false;
  }
  uint32_t counts = w->mask & *CT_CAT(uint32_t, w, code->c);
  uint32_t lanes = lanes_that_wrap(op, t, code, w) & counts;
  if (lanes == 0) {
    return false;
  }
  int first = ct_first_lane(lanes);
  CtFound f = ct_finding_in(k, CT_CHECK_ARITHMETIC, in, w->index, first);
  f.count = (uint64_t)__builtin_popcount(lanes);
  note_operands(k, f, op, t, lane_of(w, t, code->a, first), lane_of(w, t, code->b, first));
  return true;
}

/* --- sums --------------------------------------------------------------------------------------------- */

/* Notes a sum, in an element of a buffer or of lanes, that does not fit. */
static void note_sum(CtCheckWorker *k, CtFound f, CtDtype t, Wide sum) {
  f.how = CT_OVERFLOW_SUM;
  f.extra = ct_int_of_bits(t, (uint64_t)sum & (UINT64_MAX >> (64 - ct_dtypes[t].bits)));
  if (fits(CT_i64, sum)) {
    f.how = CT_OVERFLOW_KNOWN_SUM;
    f.operands[0] = (int64_t)sum;
  }
  ct_finding_note(k, &f);
}

void ct_overflow_look_at_lanes(CtCheckWorker *k, const CtIn *code, const CtIn *in,
                               const CtWarp *w) {
  const CtMaskedImm imm = {.imm = code->imm};
  if (imm.u.kind != CT_MASKED_ADD || imm.u.is_unsigned) {
    return;
  }
  for (uint32_t rest = w->mask, group; rest != 0; rest &= ~group) {
    bool is_outside;
    int first = ct_first_lane(rest);
    Wide sum = 0;
    group = ct_simt_lanes_read(code, w, first, &is_outside) | 1u << first;
    for (uint32_t lanes = group; lanes != 0; lanes &= lanes - 1) {
      sum += CT_CAT(int32_t, w, code->a)[ct_first_lane(lanes)];
    }
    if (!fits(CT_i32, sum)) {
      note_sum(k, ct_finding_in(k, CT_CHECK_ARITHMETIC, in, w->index, first), CT_i32, sum);
    }
  }
}

/* Where element (i, j) of an operand of a tile is; NULL: a guard leaves it out, or it is outside. */
static const char *element_of(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j,
                              int64_t *off) {
  const CtMem *mem = &w->mem[arg->buf];
  *off = ct_simt_arg_offset(w, arg, lane, i, j);
  if (!ct_simt_arg_is_inside(w, arg, lane, i, j) || (uint64_t)*off >= (uint64_t)mem->n) {
    return NULL;
  }
  return mem->ptr + *off * (int64_t)mem->elem_bytes + (int64_t)lane * (int64_t)mem->lane_bytes;
}

static int64_t value_at(const CtSimtProgram *p, const CtTileArg *arg, const char *at) {
  CtDtype t = p->bufs[arg->buf].dtype;
  uint64_t bits = 0;
  memcpy(&bits, at, ct_value_bytes(t));
  return ct_int_of_bits(t, bits);
}

static int64_t read_element(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j) {
  int64_t off;
  const char *at = element_of(w, arg, lane, i, j, &off);
  return at == NULL ? 0 : value_at(w->worker->job->program, arg, at);
}

/* What a lane of a GEMM or AXPBY adds up. */
typedef struct Sum {
  CtCheckWorker *k;
  const CtIn *code, *in;
  const CtTileOp *t;
  CtWarp *w;
  int lane;
  int64_t n_k; /* of a GEMM: products in a sum */
} Sum;

/* The sum that element (i, j) gets; it has `old`. False: not even 128 bits have it. */
static bool sum_of(const Sum *s, int64_t i, int64_t j, int64_t old, Wide *sum) {
  const CtTileOp *t = s->t;
  bool is_exact = true;
  if (t->op == CT_OP_AXPBY) {
    Wide x = read_element(s->w, &t->a, s->lane, i, j), y = old;
    x *= lane_of(s->w, t->dtype, s->code->d, s->lane);
    y *= t->reads_dst ? lane_of(s->w, t->dtype, s->code->a, s->lane) : 0;
    return !__builtin_add_overflow(x, y, sum);
  }
  *sum = old;
  if (t->elementwise) {
    Wide x = read_element(s->w, &t->a, s->lane, i, 0);
    return !__builtin_add_overflow(*sum, x * read_element(s->w, &t->b, s->lane, i, 0), sum);
  }
  for (int64_t l = 0; l < s->n_k; l++) {
    Wide x = read_element(s->w, &t->a, s->lane, i, l);
    x *= read_element(s->w, &t->b, s->lane, j, l);
    is_exact = is_exact && !__builtin_add_overflow(*sum, x, sum);
  }
  return is_exact;
}

static void look_at_sum(const Sum *s, int64_t i, int64_t j) {
  const CtSimtProgram *p = s->w->worker->job->program;
  const CtTileArg *dst = &s->t->dst;
  CtDtype type = p->bufs[dst->buf].dtype;
  int64_t off;
  Wide sum;
  const char *at = element_of(s->w, dst, s->lane, i, j, &off);
  if (at == NULL || (sum_of(s, i, j, value_at(p, dst, at), &sum) && fits(type, sum))) {
    return;
  }
  CtFound f = ct_finding_in(s->k, CT_CHECK_ARITHMETIC, s->in, s->w->index, s->lane);
  f.buf = dst->buf;
  f.begin = s->w->mem[dst->buf].ptr;
  f.off = off;
  note_sum(s->k, f, type, sum);
}

static void look_at_sums(Sum s, uint32_t lanes) {
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    int64_t m, n;
    s.lane = ct_first_lane(rest);
    if (!ct_simt_mode_size(s.w, s.t->dst.mode[0], s.lane, &m) ||
        !ct_simt_mode_size(s.w, s.t->dst.mode[1], s.lane, &n) ||
        !ct_simt_mode_size(s.w, s.t->a.mode[1], s.lane, &s.n_k)) {
      continue;
    }
    for (int64_t e = 0; e < m * n; e++) {
      look_at_sum(&s, e % m, e / m);
    }
  }
}

/* --- before and after ------------------------------------------------------------------------------------ */

static bool is_mma(const CtTileOp *t) {
  return t->op == CT_OP_MMA || t->op == CT_OP_WGMMA || t->op == CT_OP_TCGEN05_MMA;
}

/* The registers that an MMA adds to, or the tensor memory, of one thread; false: there are none. */
static bool sums_of_mma(const CtIn *code, const CtIn *in, CtWarp *w, CtAccess *a) {
  CtAccess all[CT_MAX_OPERANDS];
  int n = ct_simt_accesses(code, in, w, all);
  if (n > 0) {
    *a = all[n - 1];
    a->pos = a->pos == all[n - 1].own_pos ? a->own_pos : a->pos;
  }
  return n > 0;
}

/* other: from this block's memory to that of the block whose sums they are. */
static int32_t sum_at(const CtAccess *a, int64_t e, int lane, ptrdiff_t other, int64_t *off) {
  int32_t v = 0;
  if (ct_access_at(a, e, lane, off) && (uint64_t)*off < (uint64_t)a->mem->n) {
    memcpy(&v,
           a->mem->ptr + other + *off * (int64_t)a->mem->elem_bytes +
               (int64_t)lane * (int64_t)a->mem->lane_bytes,
           sizeof v);
  }
  return v;
}

/* The sums of an instruction, counted: those of each lane's elements, then those of the other block of a pair. */
typedef struct Sums {
  CtAccess a;
  ptrdiff_t other;
  size_t each, n; /* of a block; all */
  int lanes;      /* one thread has all sums of tcgen05 */
} Sums;

static bool find_sums(const CtIn *code, const CtIn *in, CtWarp *w, Sums *s) {
  const CtWorker *k = w->worker;
  const CtTileOp *t = &k->job->program->tiles[code->imm];
  *s = (Sums){.lanes = t->op == CT_OP_TCGEN05_MMA ? 1 : CT_LANES};
  if (!sums_of_mma(code, in, w, &s->a)) {
    return false;
  }
  s->each = s->n = (size_t)s->a.n * (size_t)s->lanes;
  if (t->op == CT_OP_TCGEN05_MMA && t->blocks == 2) {
    s->n *= 2;
    s->other = k->team[k->rank ^ 1].shared - k->shared;
  }
  return true;
}

static int lane_of_sum(const Sums *s, size_t i) {
  return s->lanes == 1 ? ct_first_lane(s->a.mask) : (int)(i % (size_t)s->lanes);
}

static int32_t sum_of_number(const Sums *s, size_t i, int64_t *off) {
  return sum_at(&s->a, (int64_t)(i % s->each) / s->lanes, lane_of_sum(s, i),
                i < s->each ? 0 : s->other, off);
}

static void keep_sums(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w) {
  Sums s;
  k->n_sums = 0;
  if (!find_sums(code, in, w, &s) || s.a.mask == 0) {
    return;
  }
  if (CT_GROW(k->check->alloc, k->sums, k->cap_sums, s.n, NULL) != CT_OK) {
    k->no_memory = true;
    return;
  }
  k->n_sums = s.n;
  for (size_t i = 0; i < s.n; i++) {
    int64_t off;
    k->sums[i] = s.a.reads ? sum_of_number(&s, i, &off) : 0;
  }
}

/* What an MMA adds at once is far smaller than 2^31: a larger step is one the other way round. */
static void compare_sums(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w) {
  Sums s;
  if (k->n_sums == 0 || !find_sums(code, in, w, &s)) {
    return;
  }
  for (size_t i = 0; i < k->n_sums; i++) {
    int lane = lane_of_sum(&s, i);
    int64_t off = 0, now = sum_of_number(&s, i, &off), step = now - k->sums[i];
    if ((k->looked_at >> lane & 1) == 0 || fits(CT_i32, step)) {
      continue;
    }
    CtFound f = ct_finding_in(k, CT_CHECK_ARITHMETIC, in, w->index, lane);
    f.buf = s.a.buf_index;
    f.begin = s.a.mem->ptr;
    f.off = off;
    note_sum(k, f, CT_i32, (Wide)now + (step > 0 ? -((Wide)1 << 32) : (Wide)1 << 32));
  }
}

/* An atomic operation's result may take the place of its operand. */
static void keep_operands(CtCheckWorker *k, const CtIn *code, const CtWarp *w) {
  const CtAtomicImm imm = {.imm = code->imm};
  for (int i = 0; i < CT_LANES; i++) {
    k->added[i] = lane_of(w, (CtDtype)imm.u.dtype, code->b, i);
    k->added_at[i] = lane_of(w, imm.u.is_i32 ? CT_i32 : CT_i64, code->a, i);
  }
}

static void compare_atomic(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w) {
  const CtAtomicImm imm = {.imm = code->imm};
  CtDtype t = (CtDtype)imm.u.dtype;
  for (uint32_t rest = k->looked_at; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int64_t old = lane_of(w, t, code->d, lane);
    if (!fits(t, (Wide)old + k->added[lane])) {
      CtFound f = ct_finding_in(k, CT_CHECK_ARITHMETIC, in, w->index, lane);
      f.buf = imm.u.buf;
      f.begin = w->mem[imm.u.buf].ptr;
      f.off = k->added_at[lane];
      f.how = CT_OVERFLOW_ATOMIC;
      note_operands(k, f, CT_OP_ADD, t, old, k->added[lane]);
    }
  }
}

void ct_overflow_before(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w,
                        uint32_t lanes) {
  const CtPlan *plan = &k->plans[code - k->code];
  if (!plan->is_sum) {
    return;
  }
  k->looked_at = lanes;
  if (ct_in_is(code, CT_INS_ATOMIC)) {
    keep_operands(k, code, w);
    return;
  }
  const CtTileOp *t = &k->k->job->program->tiles[code->imm];
  if (is_mma(t)) {
    keep_sums(k, code, in, w);
  } else {
    look_at_sums((Sum){.k = k, .code = code, .in = in, .t = t, .w = w}, lanes);
  }
}

void ct_overflow_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w) {
  if (!k->plans[code - k->code].is_sum) {
    return;
  }
  if (ct_in_is(code, CT_INS_ATOMIC)) {
    compare_atomic(k, code, in, w);
  } else if (is_mma(&k->k->job->program->tiles[code->imm])) {
    compare_sums(k, code, in, w);
  }
}

/* --- the plan --------------------------------------------------------------------------------------------- */

static bool is_signed(CtDtype t) { return t == CT_i32 || t == CT_i64; }

static bool adds_signed(const CtSimtProgram *p, const CtIn *code) {
  const CtAtomicImm imm = {.imm = code->imm};
  if (ct_in_is(code, CT_INS_ATOMIC)) {
    return imm.u.op == CT_OP_ATOMIC_ADD && is_signed((CtDtype)imm.u.dtype);
  }
  if (!ct_in_is(code, CT_INS_TILE)) {
    return false;
  }
  const CtTileOp *t = &p->tiles[code->imm];
  return is_mma(t)
             ? (t->mma->kind == CT_MMA_INT && !t->mma->saturates) || t->mma->kind == CT_MMA_BITS
             : (t->op == CT_OP_GEMM || t->op == CT_OP_AXPBY) &&
                   is_signed(p->bufs[t->dst.buf].dtype);
}

void ct_overflow_plan(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; c->options.overflow && i < p->n_code; i++) {
    c->plans[i].kind =
        p->code[i].u.op == CT_SIMT_WRAPS ? (uint8_t)CT_PLAN_OVERFLOW : c->plans[i].kind;
    c->plans[i].is_sum = adds_signed(p, &p->code[i]);
  }
}
