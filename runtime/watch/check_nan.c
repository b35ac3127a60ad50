/* check_nan.c: `check` of floating results, where that is asked for: NaN and infinities that come
   of finite operands. Looks at operands before and at results after an instruction. */
#include "check_state.h"

#include <math.h>
#include <string.h>

#include "runtime/base/convert.h"

/* Operations that may make one. Moves, conversions and selections hand on what they get. */
static const char *const makers[] = {"ADD",  "SUB",  "MUL",  "DIV", "FLOORDIV", "FLOORMOD", "POW",
                                     "SQRT", "EXP",  "EXP2", "LOG", "LOG2",     "SIN",      "RSQRT",
                                     "COS",  "TANH", "FMA",  "DOT", "EX2"};

/* The type of the results of a maker; CT_VOID for other instructions. */
static CtDtype type_of(uint32_t op) {
  const char *name = ct_simt_names[op];
  size_t len = strcspn(name, "_");
  for (size_t i = 0; i < CT_ARRAY_LEN(makers); i++) {
    if (strlen(makers[i]) == len && strncmp(makers[i], name, len) == 0) {
      return strncmp(name + len, "_f32", 4) == 0   ? CT_f32
             : strncmp(name + len, "_f64", 4) == 0 ? CT_f64
                                                   : CT_VOID;
    }
  }
  return CT_VOID;
}

static bool is_tile(uint32_t op) { return op >= CT_SIMT_COPY_4 && op != CT_SIMT_GUARD; }

/* GEMM, AXPBY and MMA. */
static bool computes(const CtSimtProgram *p, const CtIn *code) {
  return is_tile(code->u.op) &&
         (p->tiles[code->imm].op == CT_OP_GEMM || p->tiles[code->imm].op == CT_OP_AXPBY ||
          p->tiles[code->imm].op == CT_OP_MMA || p->tiles[code->imm].op == CT_OP_WGMMA) &&
         ct_is_float(p->tiles[code->imm].dtype);
}

void ct_nan_plan(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; c->options.nan && i < p->n_code; i++) {
    if (c->plans[i].kind == CT_PLAN_NONE && type_of(p->code[i].u.op) != CT_VOID) {
      c->plans[i].kind = CT_PLAN_FLOAT;
    }
  }
}

static bool is_finite(CtDtype t, const char *p) {
  uint64_t bits = 0;
  double v;
  memcpy(&bits, p, ct_dtype_bytes(t));
  bits = ct_convert(CT_f64, t, bits);
  memcpy(&v, &bits, sizeof v);
  return isfinite(v);
}

/* Lanes whose value is not finite. A scalar is every lane's. */
static uint32_t odd_lanes(const CtWarp *w, uint32_t slot, char role, CtDtype t) {
  uint32_t odd = 0;
  if (role == 's' || role == 'S') {
    return is_finite(t, CT_CAT(char, w, slot)) ? 0 : CT_ALL_LANES;
  }
  for (int i = 0; i < CT_LANES; i++) {
    odd |= is_finite(t, CT_CAT(char, w, slot) + (size_t)i * ct_dtype_bytes(t)) ? 0 : 1u << i;
  }
  return odd;
}

/* Lanes with an element that is not finite; *off: of the first of the lowest lane. */
static uint32_t odd_elements(const CtAccess *a, uint32_t lanes, int64_t *off) {
  uint32_t odd = 0;
  if (!ct_is_float(a->buf->dtype)) {
    return 0;
  }
  for (uint32_t rest = a->mask & lanes; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    for (int64_t e = 0; e < a->n && (odd >> lane & 1) == 0; e++) {
      int64_t at;
      if (!ct_access_at(a, e, lane, &at) || (uint64_t)at >= (uint64_t)a->mem->n) {
        continue;
      }
      const char *p = a->mem->ptr + at * (int64_t)a->mem->elem_bytes +
                      (int64_t)lane * (int64_t)a->mem->lane_bytes;
      if (!is_finite(a->buf->dtype, p)) {
        *off = odd == 0 ? at : *off;
        odd |= 1u << lane;
      }
    }
  }
  return odd;
}

static uint32_t odd_memory(const CtIn *code, const CtIn *in, CtWarp *w, uint32_t lanes) {
  CtAccess a[CT_MAX_ACCESSES];
  int n = ct_simt_accesses(code, in, w, a);
  uint32_t odd = 0;
  int64_t off;
  for (int i = 0; i < n; i++) {
    odd |= a[i].reads ? odd_elements(&a[i], lanes, &off) : 0;
  }
  return odd;
}

void ct_nan_before(CtCheckWorker *k, const CtIn *code, CtWarp *w, uint32_t lanes) {
  const CtSimtProgram *p = k->k->job->program;
  const char *roles = ct_simt_roles[code->u.op];
  const uint32_t slots[] = {code->a, code->b, code->c};
  CtDtype t = type_of(code->u.op);
  k->looked_at = lanes;
  k->spoilt = 0;
  if (computes(p, code) || code->u.op == CT_SIMT_DOT_f32 || code->u.op == CT_SIMT_DOT_f64) {
    k->spoilt = odd_memory(code, &k->k->job->code[code - p->code], w, lanes);
    if (k->spoilt != 0 && (code->u.op == CT_SIMT_MMA || code->u.op == CT_SIMT_WGMMA) &&
        p->tiles[code->imm].mma->threads > 1) {
      k->spoilt = CT_ALL_LANES; /* a lane's sums have operands of others */
    }
  }
  for (int i = 0; i < 3 && t != CT_VOID; i++) {
    if (roles[1 + i] == 's' || roles[1 + i] == 'v') {
      k->spoilt |= odd_lanes(w, slots[i], roles[1 + i], t);
    }
  }
}

void ct_nan_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w) {
  const CtSimtProgram *p = k->k->job->program;
  CtDtype t = type_of(code->u.op);
  uint32_t odd = 0;
  CtFound f = {
      .kind = CT_CHECK_NAN, .in = ct_check_index(k, in), .other = UINT32_MAX, .block = k->k->block};
  if (computes(p, code)) {
    CtAccess a[CT_MAX_ACCESSES];
    int n = ct_simt_accesses(code, in, w, a);
    odd = n > 0 ? odd_elements(&a[n - 1], k->looked_at & ~k->spoilt, &f.off) : 0;
    f.buf = n > 0 ? a[n - 1].buf_index : 0;
  } else if (t != CT_VOID) {
    odd = odd_lanes(w, code->d, ct_simt_roles[code->u.op][0], t) & k->looked_at & ~k->spoilt;
  }
  if (odd != 0) {
    f.count = (uint64_t)__builtin_popcount(odd);
    f.thread = ct_check_thread(w->index, ct_first_lane(odd));
    ct_finding_note(k, &f);
  }
}
