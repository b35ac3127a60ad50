/* emit_convert.c: casts between element types as C.

   The kernel holds a narrow float as its bits. Functions of the prelude convert it: with one
   instruction if the target has one, else with integer arithmetic that gives the same bits. A
   number that f32 cannot hold is first made an odd f32: cut, with its last bit set if the cut lost
   anything. An odd f32 rounds as the whole number would. */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/convert.h"
#include "emit.h"

/* Casts from f32 and to it: the columns of dtypes.def. Targets before `sm` take the second function. */
typedef struct Caster {
  CtHelper hard, soft;
  int sm;
} Caster;

#define CAST_SAME(name)                                                                            \
  { CT_HELP_##name, CT_HELP_##name, 0 }
#define CAST_SINCE(sm, name, before)                                                               \
  { CT_HELP_##name, CT_HELP_##before, sm }
#define CAST_NONE                                                                                  \
  { CT_HELP_COUNT, CT_HELP_COUNT, 0 }

static const Caster narrowings[CT_DTYPE_COUNT] = {
#define FLOAT(name, bits, compute, cuda, ctype, npy, e, f, ends, narrow, ...)                      \
  [CT_##name] = CAST_##narrow,
#include "runtime/base/dtypes.def"
};

static const Caster widenings[CT_DTYPE_COUNT] = {
#define FLOAT(name, bits, compute, cuda, ctype, npy, e, f, ends, narrow, widen, ...)               \
  [CT_##name] = CAST_##widen,
#include "runtime/base/dtypes.def"
};

static const CtHelper odd_helpers[CT_DTYPE_COUNT] = {
    [CT_f64] = CT_HELP_ODD_f64, [CT_i64] = CT_HELP_ODD_i64, [CT_i32] = CT_HELP_ODD_i32,
    [CT_u64] = CT_HELP_ODD_u64, [CT_u32] = CT_HELP_ODD_u32,
};

static CtEmitWrap call(const char *name) {
  CtEmitWrap w = {.close = ")", .inner = CT_PREC_COND};
  snprintf(w.open, sizeof w.open, "%s(", name);
  return w;
}

static CtEmitWrap c_cast(CtDtype to) {
  CtEmitWrap w = {.close = "", .inner = CT_PREC_UNARY};
  snprintf(w.open, sizeof w.open, "(%s)", ct_dtypes[to].cuda);
  return w;
}

static CtEmitWrap narrow(CtEmit *e, CtDtype to, CtDtype from) {
  const Caster *n = &narrowings[to];
  const char *name = ct_emit_help(e, e->ir->target.sm >= n->sm ? n->hard : n->soft);
  if (from == CT_f32) {
    return call(name);
  }
  CtEmitWrap w = {.close = "))", .inner = CT_PREC_COND};
  snprintf(w.open, sizeof w.open, "%s(%s(", name, ct_emit_help(e, odd_helpers[from]));
  return w;
}

/* Types of 8 bits with fractions go by way of f16. A tf32 is a float. */
static CtEmitWrap widen_float(CtEmit *e, CtDtype from) {
  const Caster *w = &widenings[from];
  bool is_hard = e->ir->target.sm >= w->sm;
  if (!ct_is_bits(from)) {
    return (CtEmitWrap){.close = ""};
  }
  if (is_hard && ct_dtypes[from].bits == 8 && ct_dtypes[from].fraction > 0) {
    (void)ct_emit_help(e, CT_HELP_F16_TO_F32);
  }
  return call(ct_emit_help(e, is_hard ? w->hard : w->soft));
}

/* Casts to integers, towards zero. CUDA itself converts f32 to i32 and u32 as we do. */
static CtEmitWrap truncate(CtEmit *e, CtDtype to, CtDtype from) {
  static const CtHelper helpers[CT_DTYPE_COUNT][2] = {
      [CT_i32] = {CT_HELP_COUNT, CT_HELP_TO_i32_f64},
      [CT_u32] = {CT_HELP_COUNT, CT_HELP_TO_u32_f64},
      [CT_i64] = {CT_HELP_TO_i64_f32, CT_HELP_TO_i64_f64},
      [CT_u64] = {CT_HELP_TO_u64_f32, CT_HELP_TO_u64_f64}};
  CtHelper help = helpers[to][from == CT_f64];
  const char *own = to == CT_i32 ? "__float2int_rz" : "__float2uint_rz";
  return call(help == CT_HELP_COUNT ? own : ct_emit_help(e, help));
}

CtEmitWrap ct_emit_wrap(CtEmit *e, CtDtype to, CtDtype from) {
  if (to == from) {
    return (CtEmitWrap){.close = ""};
  }
  if (ct_is_float(from) && ct_is_narrow(from)) {
    return widen_float(e, from);
  }
  if (ct_is_float(to) && ct_is_narrow(to)) {
    return narrow(e, to, from);
  }
  return ct_is_float(from) && ct_is_int(to) ? truncate(e, to, from) : c_cast(to);
}

static void put_wrapped(CtEmit *e, CtVal v, const CtEmitWrap *w, CtPrec min) {
  ct_text_puts(&e->body, w->open);
  ct_emit_expr(e, v, w->open[0] == '\0' ? min : w->inner);
  ct_text_puts(&e->body, w->close);
}

static const char *not_zero(CtDtype t) {
  return t == CT_f32 ? " != 0.0f" : t == CT_f64 ? " != 0.0" : " != 0";
}

/* Is it an i32 that may have wrapped around in C's unsigned arithmetic? See WIDENED in the prelude. */
static bool may_have_wrapped(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  bool is_sum = inst->op == CT_OP_ADD || inst->op == CT_OP_SUB || inst->op == CT_OP_MUL ||
                inst->op == CT_OP_NEG;
  return inst->type == CT_i32 && is_sum && !ct_emit_is_exact(ir, v);
}

void ct_emit_cast(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtDtype from = (CtDtype)ct_inst(e->ir, inst->args[0])->type;
  CtDtype to = (CtDtype)inst->type;
  if (to == CT_bool) {
    ct_text_puts(&e->body, min > CT_PREC_EQ ? "(" : "");
    ct_emit_expr(e, inst->args[0], CT_PREC_SHIFT);
    ct_text_puts(&e->body, not_zero(from));
    ct_text_puts(&e->body, min > CT_PREC_EQ ? ")" : "");
    return;
  }
  bool is_wrapped = (to == CT_i64 || to == CT_u64) && may_have_wrapped(e->ir, inst->args[0]);
  CtEmitWrap w = is_wrapped ? call(ct_emit_help(e, CT_HELP_WIDENED)) : ct_emit_wrap(e, to, from);
  ct_text_puts(&e->body, is_wrapped && to == CT_u64 ? "(unsigned long long)" : "");
  put_wrapped(e, inst->args[0], &w, min);
}

/* CUDA's functions between the bits of a C float and an integer; for doubles the integer is long
   long. */
static CtEmitWrap rebit(CtDtype to, CtDtype from) {
  bool from_float = ct_is_float(from) && !ct_is_bits(from);
  bool to_float = ct_is_float(to) && !ct_is_bits(to);
  if (from_float == to_float) {
    return from_float ? (CtEmitWrap){.close = ""} : c_cast(to);
  }
  if (ct_dtypes[to].bits == 32) {
    return call(to_float ? (from == CT_u32 ? "__uint_as_float" : "__int_as_float")
                         : (to == CT_u32 ? "__float_as_uint" : "__float_as_int"));
  }
  if (to == CT_u64) {
    return (CtEmitWrap){"(unsigned long long)__double_as_longlong(", ")", CT_PREC_COND};
  }
  return call(to_float ? "__longlong_as_double" : "__double_as_longlong");
}

void ct_emit_bitcast(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtEmitWrap w = rebit((CtDtype)inst->type, (CtDtype)ct_inst(e->ir, inst->args[0])->type);
  put_wrapped(e, inst->args[0], &w, min);
}
