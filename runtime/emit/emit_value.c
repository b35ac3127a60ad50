/* emit_value.c: numbers as C, and the text of a value: a constant, an argument, a name, or its
   operation, which CtEmit.put_operation writes. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

void ct_emit_int(CtEmit *e, CtDtype type, int64_t v) {
  const char *suffix = type == CT_i64 || v != (int32_t)v ? "LL" : "";
  if (type == CT_bool) {
    ct_text_puts(&e->body, v != 0 ? "true" : "false");
  } else if (type == CT_u64 || type == CT_u32) {
    ct_text_printf(&e->body, "%" PRIu64 "%s", (uint64_t)v, type == CT_u64 ? "ull" : "u");
  } else if (v == INT64_MIN || (type == CT_i32 && v == INT32_MIN)) {
    ct_text_printf(&e->body, "(%" PRId64 "%s - 1)", v + 1, suffix);
  } else {
    ct_text_printf(&e->body, "%" PRId64 "%s", v, suffix);
  }
}

static void put_const(CtEmit *e, const CtInst *inst, CtPrec min) {
  CtDtype type = (CtDtype)inst->type;
  bool is_negative = ct_is_float(type) ? signbit(inst->imm.f) != 0 : inst->imm.i < 0;
  bool has_sign = is_negative && !ct_is_unsigned(type) && !ct_is_bits(type);
  bool paren = has_sign && min > CT_PREC_UNARY;
  ct_text_puts(&e->body, paren ? "(" : "");
  if (ct_is_float(type)) {
    ct_emit_float(&e->body, type, inst->imm.f);
  } else {
    ct_emit_int(e, type, inst->imm.i);
  }
  ct_text_puts(&e->body, paren ? ")" : "");
}

/* A value has no name yet while it is being declared, so its operation is written. */
void ct_emit_expr(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (inst->op == CT_OP_CONST) {
    put_const(e, inst, min);
  } else if (inst->op == CT_OP_PARAM) {
    ct_text_puts(&e->body, e->slot_names[inst->imm.i]);
  } else if (e->vals[v].name != NULL) {
    ct_text_puts(&e->body, e->vals[v].name);
  } else {
    e->put_operation(e, v, min);
  }
}

/* Writes the value of one directive; see emit.h. */
static void put_directive(CtEmit *e, char directive, va_list *args) {
  static const CtPrec precs[128] = {
      ['v'] = CT_PREC_ANY,   ['c'] = CT_PREC_COND, ['l'] = CT_PREC_LOR,
      ['h'] = CT_PREC_SHIFT, ['m'] = CT_PREC_MUL,  ['u'] = CT_PREC_UNARY};
  switch (directive) {
    case 's': ct_text_puts(&e->body, va_arg(*args, const char *)); break;
    case 'd': ct_text_printf(&e->body, "%d", va_arg(*args, int)); break;
    case 'D': ct_text_printf(&e->body, "%" PRId64, va_arg(*args, int64_t)); break;
    case 'x': ct_text_printf(&e->body, "0x%x", va_arg(*args, unsigned)); break;
    default: ct_emit_expr(e, va_arg(*args, CtVal), precs[directive & 127]); break;
  }
}

static void put_all(CtEmit *e, const char *format, va_list *args) {
  for (const char *s = format; *s != '\0'; s++) {
    if (*s != '%') {
      ct_text_putc(&e->body, *s);
    } else if (*++s == '%') {
      ct_text_putc(&e->body, '%');
    } else {
      put_directive(e, *s, args);
    }
  }
}

void ct_emit_put(CtEmit *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_all(e, format, &args);
  va_end(args);
}

void ct_emit_say(CtEmit *e, CtLoc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ct_emit_begin(e, loc);
  put_all(e, format, &args);
  ct_emit_end(e);
  va_end(args);
}

void ct_emit_place(CtEmit *e, uint32_t buf, CtVal index) {
  ct_emit_put(e, "%s[%v]", e->buf_names[buf], index);
}
