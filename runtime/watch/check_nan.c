/* check_nan.c: `check` of float results, if the user asks for it. It reports NaN from operands
   that are not NaN (0 / 0, inf - inf, 0 * inf), and infinities from finite operands. It looks at
   the operands before an instruction and at the results after it. */
#include "check_parts.h"

#include <math.h>
#include <string.h>

#include "runtime/base/convert.h"

/* The type that a conversion converts from, by instruction. */
static const uint8_t cast_from[CT_SIMT_OP_COUNT] = {
#define X(...)
#define BIN(op, t)
#define CMP(op, t)
#define CMP_P(op, t)
#define UN(op, t)
#define COUNT(op, t)
#define BOOLCAST(t)
#define FMA(t)
#define THREE(op, t)
#define DIV_INT(op, t)
#define CAST(t, f) [CT_SIMT_CAST_##t##_##f##_s] = CT_##f, [CT_SIMT_CAST_##t##_##f##_v] = CT_##f,
#include "runtime/simt/code/simt_arith.def"
#undef X
};

static bool is_narrower(CtDtype to, CtDtype from) {
  return ct_is_float(to) && ct_is_float(from) && ct_dtypes[to].bits < ct_dtypes[from].bits;
}

/* Is it an atomic operation that adds floats? Others of floats pass on one of their operands. */
static bool adds_floats(const CtIn *code) {
  const CtAtomicImm imm = {.imm = code->imm};
  return ct_in_is(code, CT_INS_ATOMIC) && ct_is_float((CtDtype)imm.u.dtype) &&
         (imm.u.op == CT_OP_ATOMIC_ADD || imm.u.op == CT_OP_ATOMIC_ADD2);
}

/* Of an instruction that may make a NaN. Moves, widening conversions and selections only pass on
   what they get. */
static void plan_types(CtPlan *plan, const CtIn *code) {
  const CtSimtRow *row = ct_in_row(code);
  CtDtype type = (CtDtype)row->type, from = (CtDtype)cast_from[code->u.op];
  unsigned traits = ct_ops[row->does].traits;
  if (row->does == CT_OP_CAST) {
    plan->from = (uint8_t)(is_narrower(type, from) ? from : CT_VOID);
    plan->to = (uint8_t)(is_narrower(type, from) ? type : CT_VOID);
  } else if ((traits & CT_TRAIT_NANS) != 0 && ct_is_float(type)) {
    plan->from = plan->to = row->type;
  } else if ((traits & CT_TRAIT_PAIRS) != 0 && (traits & (CT_TRAIT_FLOP | CT_TRAIT_FMA)) != 0) {
    plan->from = plan->to = strncmp(ct_ops[row->does].text, "bf16", 4) == 0 ? CT_bf16 : CT_f16;
    plan->is_pair = true;
  } else if (adds_floats(code)) {
    const CtAtomicImm imm = {.imm = code->imm};
    plan->from = imm.u.dtype;
    plan->is_pair = imm.u.op == CT_OP_ATOMIC_ADD2;
  }
}

/* Does it copy to a narrower type of floats? */
static bool narrows(const CtSimtProgram *p, const CtTileOp *t) {
  return t->op == CT_OP_COPY && t->a.buf != 0 &&
         is_narrower(p->bufs[t->dst.buf].dtype, p->bufs[t->a.buf].dtype);
}

/* Operands of a product of two blocks are in both: from this block's memory to the other one's; 0: of one block. */
static ptrdiff_t to_other_block(const CtSimtProgram *p, const CtIn *code, const CtWarp *w) {
  const CtWorker *k = w->worker;
  bool is_pair = code->u.op == CT_SIMT_TCGEN05_MMA && p->tiles[code->imm].blocks == 2;
  return is_pair ? k->team[k->rank ^ 1].shared - k->shared : 0;
}

/* Does the instruction leave in memory what it computes? GEMM, AXPBY and MMA do. */
static bool computes(const CtSimtProgram *p, const CtIn *code) {
  if (!ct_in_is(code, CT_INS_TILE)) {
    return adds_floats(code);
  }
  const CtTileOp *t = &p->tiles[code->imm];
  return narrows(p, t) || ((t->op == CT_OP_GEMM || t->op == CT_OP_AXPBY || t->op == CT_OP_MMA ||
                            t->op == CT_OP_WGMMA || t->op == CT_OP_TCGEN05_MMA) &&
                           ct_is_float(t->dtype));
}

void ct_nan_plan(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; c->options.nan && i < p->n_code; i++) {
    plan_types(&c->plans[i], &p->code[i]);
    if (c->plans[i].kind == CT_PLAN_NONE && c->plans[i].to != CT_VOID) {
      c->plans[i].kind = CT_PLAN_FLOAT;
    }
  }
}

/* The lanes with a value that is NaN; those with one that is infinite. */
typedef struct Odd {
  uint32_t nan, inf;
} Odd;

static void look_at_value(Odd *odd, uint32_t lanes, CtDtype t, const char *p) {
  uint64_t bits = 0;
  memcpy(&bits, p, ct_value_bytes(t));
  double v = ct_float_of_bits(t, bits);
  odd->nan |= isnan(v) ? lanes : 0;
  odd->inf |= isinf(v) ? lanes : 0;
}

/* A value of a slot, or the two of a pair. */
static void look_at_word(Odd *odd, uint32_t lanes, CtDtype t, bool is_pair, const char *p) {
  look_at_value(odd, lanes, t, p);
  if (is_pair) {
    look_at_value(odd, lanes, t, p + ct_value_bytes(t));
  }
}

/* A scalar is every lane's. */
static void look_at_slot(Odd *odd, const CtWarp *w, uint32_t slot, char role, CtDtype t,
                         bool is_pair) {
  const char *p = CT_CAT(char, w, slot);
  size_t step = ct_value_bytes(t) == 8 ? 8 : 4;
  if (role == 's' || role == 'S') {
    look_at_word(odd, CT_ALL_LANES, t, is_pair, p);
    return;
  }
  for (int i = 0; i < CT_LANES; i++) {
    look_at_word(odd, 1u << i, t, is_pair, p + (size_t)i * step);
  }
}

/* *off, if not NULL: the offset of the first such element of the lowest lane, not counting lanes
   in `before`. other: see to_other_block. */
static void look_at_elements(Odd *odd, const CtAccess *a, ptrdiff_t other, uint32_t lanes,
                             const Odd *before, int64_t *off) {
  if (!ct_is_float(a->buf->dtype)) {
    return;
  }
  bool is_found = false;
  for (uint32_t rest = a->mask & lanes; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    for (int64_t e = 0; e < a->n; e++) {
      int64_t at;
      if (!ct_access_at(a, e, lane, &at) || (uint64_t)at >= (uint64_t)a->mem->n) {
        continue;
      }
      Odd one = {0, 0};
      look_at_value(&one, 1u << lane, a->buf->dtype,
                    a->mem->ptr + other + at * (int64_t)a->mem->elem_bytes +
                        (int64_t)lane * (int64_t)a->mem->lane_bytes);
      odd->nan |= one.nan;
      odd->inf |= one.inf;
      if (off != NULL && !is_found &&
          ((one.nan & ~before->nan) | (one.inf & ~before->nan & ~before->inf)) != 0) {
        *off = at;
        is_found = true;
      }
    }
  }
}

static void look_at_memory(Odd *odd, const CtIn *code, const CtIn *in, CtWarp *w, uint32_t lanes) {
  CtAccess a[CT_MAX_OPERANDS];
  int n = ct_simt_accesses(code, in, w, a);
  ptrdiff_t other = to_other_block(w->worker->job->program, code, w);
  for (int i = 0; i < n; i++) {
    if (a[i].reads) {
      look_at_elements(odd, &a[i], 0, lanes, NULL, NULL);
    }
    if (a[i].reads && other != 0) {
      look_at_elements(odd, &a[i], other, lanes, NULL, NULL);
    }
  }
}

/* The operands in slots; an atomic operation has its value in the second one. */
static void look_at_slots(Odd *odd, const CtPlan *plan, const CtIn *code, const CtWarp *w) {
  const char *roles = ct_in_roles(code);
  const uint32_t slots[] = {code->a, code->b, code->c};
  bool is_atomic = ct_in_is(code, CT_INS_ATOMIC);
  for (int i = is_atomic; i < (is_atomic ? 2 : 3) && plan->from != CT_VOID; i++) {
    if (roles[1 + i] == 's' || roles[1 + i] == 'v') {
      look_at_slot(odd, w, slots[i], roles[1 + i], (CtDtype)plan->from, plan->is_pair);
    }
  }
}

static uint32_t all_if_any(uint32_t lanes) { return lanes != 0 ? CT_ALL_LANES : 0; }

void ct_nan_before(CtCheckWorker *k, const CtIn *code, CtWarp *w, uint32_t lanes) {
  const CtSimtProgram *p = k->k->job->program;
  Odd odd = {0, 0};
  k->looked_at = lanes;
  if (computes(p, code) || ct_in_is(code, CT_INS_DOT)) {
    look_at_memory(&odd, code, &k->k->job->code[code - p->code], w, lanes);
    if ((code->u.op == CT_SIMT_MMA || code->u.op == CT_SIMT_WGMMA) &&
        p->tiles[code->imm].mma->threads > 1) { /* the sums of a lane use operands of other lanes */
      odd = (Odd){all_if_any(odd.nan), all_if_any(odd.inf)};
    }
  }
  look_at_slots(&odd, &k->plans[code - k->code], code, w);
  k->nan_before = odd.nan;
  k->inf_before = odd.inf;
}

static bool is_narrowing(const CtSimtProgram *p, const CtIn *code) {
  return ct_in_is(code, CT_INS_TILE) ? narrows(p, &p->tiles[code->imm])
                                     : ct_in_row(code)->does == CT_OP_CAST;
}

void ct_nan_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w) {
  const CtSimtProgram *p = k->k->job->program;
  const CtPlan *plan = &k->plans[code - k->code];
  const Odd before = {k->nan_before, k->inf_before};
  Odd odd = {0, 0};
  CtFound f = {
      .kind = CT_CHECK_NAN, .in = ct_check_index(k, in), .other = UINT32_MAX, .block = k->k->block};
  if (computes(p, code)) {
    CtAccess a[CT_MAX_OPERANDS];
    int n = ct_simt_accesses(code, in, w, a);
    if (n > 0) {
      ptrdiff_t other = to_other_block(p, code, w);
      look_at_elements(&odd, &a[n - 1], 0, k->looked_at & ~before.nan, &before, &f.off);
      if (other != 0 && (odd.nan | odd.inf) == 0) {
        look_at_elements(&odd, &a[n - 1], other, k->looked_at & ~before.nan, &before, &f.off);
      }
      f.buf = a[n - 1].buf_index;
    }
  } else if (plan->to != CT_VOID) {
    look_at_slot(&odd, w, code->d, ct_in_roles(code)[0], (CtDtype)plan->to, plan->is_pair);
  }
  uint32_t made = (odd.nan | (odd.inf & ~before.inf)) & k->looked_at & ~before.nan;
  if (made != 0) {
    int first = ct_first_lane(made);
    f.count = (uint64_t)__builtin_popcount(made);
    f.thread = ct_check_thread(w->index, first);
    f.how = (before.inf >> first & 1) != 0 ? CT_NAN_OF_INFINITY
            : is_narrowing(p, code)        ? CT_NAN_NARROWED
                                           : CT_NAN_OF_FINITE;
    ct_finding_note(k, &f);
  }
}
