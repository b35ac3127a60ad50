/* check_nan.c: `check` of float results, if the user asks for it. It reports NaN from operands
   that are not NaN (0 / 0, inf - inf, 0 * inf), and infinities from finite operands. It looks at
   the operands before an instruction and at the results after it. */
#include "check_state.h"

#include <math.h>
#include <string.h>

#include "runtime/base/convert.h"

/* The type of the results of a float operation that may make a NaN; CT_VOID for other instructions.
   Moves, conversions and selections only pass on what they get. */
static CtDtype type_of(const CtIn *code) {
  const CtSimtRow *row = ct_in_row(code);
  bool may = (ct_ops[row->does].traits & CT_TRAIT_NANS) != 0 && ct_is_float((CtDtype)row->type);
  return may ? (CtDtype)row->type : CT_VOID;
}

/* Does the tile operation compute? GEMM, AXPBY and MMA do. */
static bool computes(const CtSimtProgram *p, const CtIn *code) {
  return ct_in_is(code, CT_INS_TILE) &&
         (p->tiles[code->imm].op == CT_OP_GEMM || p->tiles[code->imm].op == CT_OP_AXPBY ||
          p->tiles[code->imm].op == CT_OP_MMA || p->tiles[code->imm].op == CT_OP_WGMMA) &&
         ct_is_float(p->tiles[code->imm].dtype);
}

void ct_nan_plan(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; c->options.nan && i < p->n_code; i++) {
    if (c->plans[i].kind == CT_PLAN_NONE && type_of(&p->code[i]) != CT_VOID) {
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
  memcpy(&bits, p, ct_dtype_bytes(t));
  double v = ct_float_of_bits(t, bits);
  odd->nan |= isnan(v) ? lanes : 0;
  odd->inf |= isinf(v) ? lanes : 0;
}

/* A scalar is every lane's. */
static void look_at_slot(Odd *odd, const CtWarp *w, uint32_t slot, char role, CtDtype t) {
  const char *p = CT_CAT(char, w, slot);
  if (role == 's' || role == 'S') {
    look_at_value(odd, CT_ALL_LANES, t, p);
    return;
  }
  for (int i = 0; i < CT_LANES; i++) {
    look_at_value(odd, 1u << i, t, p + (size_t)i * ct_dtype_bytes(t));
  }
}

/* *off, if not NULL: the offset of the first such element of the lowest lane, not counting lanes
   in `before`. */
static void look_at_elements(Odd *odd, const CtAccess *a, uint32_t lanes, const Odd *before,
                             int64_t *off) {
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
                    a->mem->ptr + at * (int64_t)a->mem->elem_bytes +
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
  for (int i = 0; i < n; i++) {
    if (a[i].reads) {
      look_at_elements(odd, &a[i], lanes, NULL, NULL);
    }
  }
}

static uint32_t all_if_any(uint32_t lanes) { return lanes != 0 ? CT_ALL_LANES : 0; }

void ct_nan_before(CtCheckWorker *k, const CtIn *code, CtWarp *w, uint32_t lanes) {
  const CtSimtProgram *p = k->k->job->program;
  const char *roles = ct_in_roles(code);
  const uint32_t slots[] = {code->a, code->b, code->c};
  CtDtype t = type_of(code);
  Odd odd = {0, 0};
  k->looked_at = lanes;
  if (computes(p, code) || ct_in_is(code, CT_INS_DOT)) {
    look_at_memory(&odd, code, &k->k->job->code[code - p->code], w, lanes);
    if ((code->u.op == CT_SIMT_MMA || code->u.op == CT_SIMT_WGMMA) &&
        p->tiles[code->imm].mma->threads > 1) { /* the sums of a lane use operands of other lanes */
      odd = (Odd){all_if_any(odd.nan), all_if_any(odd.inf)};
    }
  }
  for (int i = 0; i < 3 && t != CT_VOID; i++) {
    if (roles[1 + i] == 's' || roles[1 + i] == 'v') {
      look_at_slot(&odd, w, slots[i], roles[1 + i], t);
    }
  }
  k->nan_before = odd.nan;
  k->inf_before = odd.inf;
}

void ct_nan_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w) {
  const CtSimtProgram *p = k->k->job->program;
  CtDtype t = type_of(code);
  const Odd before = {k->nan_before, k->inf_before};
  Odd odd = {0, 0};
  CtFound f = {
      .kind = CT_CHECK_NAN, .in = ct_check_index(k, in), .other = UINT32_MAX, .block = k->k->block};
  if (computes(p, code)) {
    CtAccess a[CT_MAX_OPERANDS];
    int n = ct_simt_accesses(code, in, w, a);
    if (n > 0) {
      look_at_elements(&odd, &a[n - 1], k->looked_at & ~before.nan, &before, &f.off);
      f.buf = a[n - 1].buf_index;
    }
  } else if (t != CT_VOID) {
    look_at_slot(&odd, w, code->d, ct_in_roles(code)[0], t);
  }
  uint32_t made = (odd.nan | (odd.inf & ~before.inf)) & k->looked_at & ~before.nan;
  if (made != 0) {
    int first = ct_first_lane(made);
    f.count = (uint64_t)__builtin_popcount(made);
    f.thread = ct_check_thread(w->index, first);
    f.how = (before.inf >> first & 1) != 0 ? CT_NAN_OF_INFINITY : CT_NAN_OF_FINITE;
    ct_finding_note(k, &f);
  }
}
