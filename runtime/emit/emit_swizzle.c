/* emit_swizzle.c: offsets in swizzled buffers as C. We take what the loops add to a swizzled offset
   out of the swizzle if the result is known to be the same. Whole periods, and terms below its
   lowest bit, are added after the swizzle. A part that shares no bit with the rest gets a swizzle
   of its own. Once the loops are unrolled, that swizzle is a constant, and each thread's own part
   is swizzled once.

     s[swizzle<3, 3, 3>(i + j)]                            in general
     s[(swizzle<3, 3, 3>(i) ^ swizzle<3, 3, 3>(j * 8)) + k * 512] */
#include <inttypes.h>

#include "emit_tile.h"

/* An offset in parts: sw(own + turns + in) + after, or (sw(own) ^ sw(turns) ^ sw(in)) + after. */
typedef struct Split {
  /* the rest: differs by thread, or by iteration of a loop that is not unrolled */
  CtEmitOperand own;
  CtEmitOperand turns;           /* what unrolled loops of the script add; shares no bit with own */
  CtEmitOperand in;              /* terms of loops and a constant, inside the swizzle */
  CtEmitOperand after;           /* terms of loops and a constant, added after the swizzle */
  uint64_t own_bits, turns_bits; /* the bits that may be set in own and in turns */
} Split;

static bool is_loop_term(const CtEmitTerm *t) {
  return t->n > 0 && ct_is_static(t->stride.d) && t->stride.d.v >= 0;
}

/* The bits that may be set in a sum of loop terms and a constant. */
static uint64_t bits_of(const CtEmitOperand *op) {
  uint64_t bits = (uint64_t)op->plus;
  for (int i = 0; i < op->n; i++) {
    const CtEmitTerm *t = &op->term[i];
    int64_t most;
    if (ct_mul_overflow(t->n - 1, t->stride.d.v, &most)) {
      return UINT64_MAX;
    }
    uint64_t mine = ct_facts_bits((CtFacts){0, most, t->stride.d.v});
    if ((bits & mine) != 0) { /* they may carry */
      return UINT64_MAX;
    }
    bits |= mine;
  }
  return bits;
}

static void take_own(Split *s, const CtEmitTerm *t) {
  s->own_bits = UINT64_MAX;
  ct_emit_add_term(&s->own, *t);
}

/* Moves terms below the lowest swizzled bit to `after` if they share no bit with the rest. */
static void take_low(Split *s, int64_t unit) {
  CtEmitOperand low = {.plus = s->in.plus % unit}, rest = s->in;
  rest.n = 0;
  rest.plus -= low.plus;
  for (int i = 0; i < s->in.n; i++) {
    const CtEmitTerm *t = &s->in.term[i];
    ct_emit_add_term(t->stride.d.v < unit ? &low : &rest, *t);
  }
  uint64_t bits = bits_of(&low);
  if (bits >= (uint64_t)unit || (bits & (s->own_bits | s->turns_bits | bits_of(&rest))) != 0 ||
      s->after.n + low.n > 2 * CT_EMIT_MAX_MODES) {
    return;
  }
  for (int i = 0; i < low.n; i++) {
    ct_emit_add_term(&s->after, low.term[i]);
  }
  s->after.plus += low.plus;
  s->in = rest;
}

/* Adds a value as a term, by its text. */
static void take_value(CtEmit *e, CtEmitOperand *to, CtVal v) {
  size_t mark = e->body.len;
  ct_emit_expr(e, v, CT_PREC_ADD);
  ct_emit_add_term(to, (CtEmitTerm){ct_emit_cut(e, mark), 1, 0, 0, {ct_int(1), 1}});
}

static void split(CtEmit *e, const CtEmitOperand *op, int64_t extra, Split *s) {
  int64_t period = ct_swizzle_period(op->swizzle);
  CtEmitPulled parts = {.turns = 0};
  if (op->index != 0) {
    ct_emit_pull(e->ir, op->swizzle, op->index, &parts);
  }
  s->own = (CtEmitOperand){.index = parts.own[0], .is_wide = op->is_wide};
  s->turns = (CtEmitOperand){.index = parts.turns, .is_wide = op->is_wide};
  s->in = s->after = (CtEmitOperand){.is_wide = op->is_wide};
  s->own_bits = parts.own_bits;
  s->turns_bits = parts.turns_bits;
  for (int i = 1; i < parts.n_own; i++) {
    take_value(e, &s->own, parts.own[i]);
  }
  for (int i = 0; i < parts.n_after; i++) {
    take_value(e, &s->after, parts.after[i]);
  }
  extra += parts.plus;
  s->in.plus = ct_floormod(op->plus + extra, period);
  s->after.plus = op->plus + extra - s->in.plus;
  for (int i = 0; i < op->n; i++) {
    const CtEmitTerm *t = &op->term[i];
    if (ct_is_static(t->stride.d) && t->stride.d.v % period == 0) {
      ct_emit_add_term(&s->after, *t);
    } else if (is_loop_term(t)) {
      ct_emit_add_term(&s->in, *t);
    } else {
      take_own(s, t);
    }
  }
  take_low(s, (int64_t)1 << op->swizzle.base);
}

/* swizzle<B, M, S>( */
static void open_swizzle(CtEmit *e, CtSwizzle sw) {
  ct_text_printf(&e->body, "%s<%d, %d, %d>(", ct_emit_help(e, CT_HELP_SWIZZLE), sw.bits, sw.base,
                 sw.shift);
}

static void put_swizzled(CtEmit *e, CtSwizzle sw, const CtEmitOperand *op) {
  if (op->index == 0 && op->n == 0) {
    ct_emit_int(e, op->is_wide ? CT_i64 : CT_i32, ct_swizzle_at(sw, op->plus));
    return;
  }
  open_swizzle(e, sw);
  (void)ct_emit_sum(e, op, 0, "");
  ct_text_putc(&e->body, ')');
}

static bool is_nothing(const CtEmitOperand *op) {
  return op->index == 0 && op->n == 0 && op->plus == 0;
}

/* The parts under the swizzle; false if they are 0. */
static bool put_inner(CtEmit *e, CtSwizzle sw, const Split *s, bool has_after, const char *lead) {
  const CtEmitOperand *parts[] = {&s->own, &s->turns, &s->in}, *in[CT_ARRAY_LEN(parts)];
  int n = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(parts); i++) {
    if (!is_nothing(parts[i])) {
      in[n++] = parts[i];
    }
  }
  bool apart =
      (bits_of(&s->in) & (s->own_bits | s->turns_bits)) == 0 && (s->own_bits & s->turns_bits) == 0;
  bool closes = n > 1 && apart && (has_after || lead[0] != '\0');
  ct_text_printf(&e->body, "%s%s", n > 0 ? lead : "", closes ? "(" : "");
  if (n > 1 && !apart) {
    open_swizzle(e, sw);
  }
  for (int i = 0; i < n; i++) {
    if (n > 1 && !apart) {
      (void)ct_emit_sum(e, in[i], 0, i > 0 ? " + " : "");
    } else {
      ct_text_puts(&e->body, i > 0 ? " ^ " : "");
      put_swizzled(e, sw, in[i]);
    }
  }
  ct_text_puts(&e->body, closes || (n > 1 && !apart) ? ")" : "");
  return n > 0;
}

bool ct_emit_swizzled(CtEmit *e, const CtEmitOperand *op, int64_t extra, const char *lead) {
  Split s;
  split(e, op, extra, &s);
  bool has_inner = put_inner(e, op->swizzle, &s, !is_nothing(&s.after), lead);
  bool has_after = ct_emit_sum(e, &s.after, 0, has_inner ? " + " : lead);
  return has_inner || has_after;
}
