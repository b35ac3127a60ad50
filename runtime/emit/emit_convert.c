/* emit_convert.c: casts between element types as C.

   A narrow float is held as its bits and converted by functions of the prelude, which are one
   instruction where the target has it and integer arithmetic with the same bits where not. What an f32
   does not hold is first made an odd f32: cut, with a last bit that says so, which rounds as the whole
   number would. */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/convert.h"
#include "emit.h"

bool ct_emit_is_bits(CtDtype t) { return ct_is_float(t) && ct_is_narrow(t) && t != CT_tf32; }

/* From f32; before `sm` by the second function, of the same name. */
typedef struct Narrowing {
  const char *name;
  CtHelper hard, soft;
  int sm;
} Narrowing;

static const Narrowing narrowings[CT_DTYPE_COUNT] = {
    [CT_tf32] = {"f32_to_tf32", CT_HELP_F32_TO_TF32, CT_HELP_F32_TO_TF32_SOFT, 80},
    [CT_f16] = {"f32_to_f16", CT_HELP_F32_TO_F16, CT_HELP_F32_TO_F16, 0},
    [CT_bf16] = {"f32_to_bf16", CT_HELP_F32_TO_BF16, CT_HELP_F32_TO_BF16_SOFT, 80},
    [CT_f8e4m3] = {"f32_to_f8e4m3", CT_HELP_F32_TO_F8E4M3, CT_HELP_F32_TO_F8E4M3_SOFT, 89},
    [CT_f8e5m2] = {"f32_to_f8e5m2", CT_HELP_F32_TO_F8E5M2, CT_HELP_F32_TO_F8E5M2_SOFT, 89},
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
  const Narrowing *n = &narrowings[to];
  const char *name = ct_emit_help(e, e->ir->target.sm >= n->sm ? n->hard : n->soft, n->name);
  if (from == CT_f32) {
    return call(name);
  }
  CtEmitWrap w = {.close = "))", .inner = CT_PREC_COND};
  snprintf(w.open, sizeof w.open, "%s(%s(", name, ct_emit_help(e, odd_helpers[from], "odd_f32"));
  return w;
}

static CtEmitWrap widen_float(CtEmit *e, CtDtype from) {
  switch (from) {
    case CT_f16: return call(ct_emit_help(e, CT_HELP_F16_TO_F32, "f16_to_f32"));
    case CT_bf16: return call(ct_emit_help(e, CT_HELP_BF16_TO_F32, "bf16_to_f32"));
    case CT_f8e5m2:
      (void)ct_emit_help(e, CT_HELP_F16_TO_F32, "");
      return call(ct_emit_help(e, CT_HELP_F8E5M2_TO_F32, "f8e5m2_to_f32"));
    case CT_f8e4m3:
      if (e->ir->target.sm < 89) {
        return call(ct_emit_help(e, CT_HELP_F8E4M3_TO_F32_SOFT, "f8e4m3_to_f32"));
      }
      (void)ct_emit_help(e, CT_HELP_F16_TO_F32, "");
      return call(ct_emit_help(e, CT_HELP_F8E4M3_TO_F32, "f8e4m3_to_f32"));
    default: return (CtEmitWrap){.close = ""}; /* a tf32 is a float */
  }
}

static CtEmitWrap truncate(CtEmit *e, CtDtype to, CtDtype from) {
  bool f64 = from == CT_f64;
  switch (to) {
    case CT_i32:
      return call(f64 ? ct_emit_help(e, CT_HELP_TO_i32_f64, "to_int") : "__float2int_rz");
    case CT_u32:
      return call(f64 ? ct_emit_help(e, CT_HELP_TO_u32_f64, "to_unsigned") : "__float2uint_rz");
    case CT_u64:
      return call(
          ct_emit_help(e, f64 ? CT_HELP_TO_u64_f64 : CT_HELP_TO_u64_f32, "to_unsigned_long_long"));
    default:
      return call(ct_emit_help(e, f64 ? CT_HELP_TO_i64_f64 : CT_HELP_TO_i64_f32, "to_long_long"));
  }
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

void ct_emit_cast(CtEmit *e, const CtInst *inst, CtPrec min) {
  CtDtype from = (CtDtype)ct_inst(e->ir, inst->args[0])->type;
  CtDtype to = (CtDtype)inst->type;
  if (to == CT_bool) {
    ct_text_puts(&e->body, min > CT_PREC_EQ ? "(" : "");
    ct_emit_expr(e, inst->args[0], CT_PREC_SHIFT);
    ct_text_puts(&e->body, not_zero(from));
    ct_text_puts(&e->body, min > CT_PREC_EQ ? ")" : "");
    return;
  }
  CtEmitWrap w = ct_emit_wrap(e, to, from);
  put_wrapped(e, inst->args[0], &w, min);
}

/* What a C float becomes an integer by, and back; of doubles the integer is long long. */
static CtEmitWrap rebit(CtDtype to, CtDtype from) {
  bool from_float = ct_is_float(from) && !ct_emit_is_bits(from);
  bool to_float = ct_is_float(to) && !ct_emit_is_bits(to);
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

void ct_emit_bitcast(CtEmit *e, const CtInst *inst, CtPrec min) {
  CtEmitWrap w = rebit((CtDtype)inst->type, (CtDtype)ct_inst(e->ir, inst->args[0])->type);
  put_wrapped(e, inst->args[0], &w, min);
}

void ct_emit_bits(CtEmit *e, CtDtype type, double v) {
  ct_text_printf(&e->body, "0x%0*" PRIx64, ct_dtypes[type].bits / 4, ct_bits_of_float(type, v));
}
