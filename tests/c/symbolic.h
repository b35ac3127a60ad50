/* symbolic.h: dynamic integers for tests. Each is a named variable with facts and a value, or an
   expression over them; equal expressions get one number. Prints as a formula, evaluates under the
   variables' values. */
#ifndef SYMBOLIC_H
#define SYMBOLIC_H

#include "runtime/layout/inttuple.h"

#include <stdlib.h>

enum { SYM_MAX = 1 << 16 };

typedef struct SymExpr {
  const char *name; /* of a variable; else NULL */
  CtIntOp op;
  CtInt a, b;
  CtFacts facts;
  int64_t value;
} SymExpr;

typedef struct Sym {
  SymExpr *expr;
  uint32_t n;
  bool no_sharing; /* a new number for every expression */
} Sym;

static inline CtInt sym_ref(uint32_t id) { return (CtInt){.id = id, .kind = CT_DYNAMIC}; }

static inline CtInt sym_var(Sym *s, const char *name, int64_t value, CtFacts facts) {
  CT_ASSERT(facts.lo <= value && value <= facts.hi && value % facts.div == 0);
  s->expr[s->n] = (SymExpr){.name = name, .facts = facts, .value = value};
  return sym_ref(s->n++);
}

static inline int64_t sym_value(const Sym *s, CtInt a) {
  return a.kind == CT_STATIC ? a.v : s->expr[a.id].value;
}

static inline CtFacts sym_facts_of(const Sym *s, CtInt a) {
  return a.kind == CT_STATIC ? (CtFacts){a.v, a.v, ct_gcd(a.v, 0)} : s->expr[a.id].facts;
}

static inline int64_t sym_apply(CtIntOp op, int64_t a, int64_t b) {
  switch (op) {
    case CT_INT_ADD: return a + b;
    case CT_INT_SUB: return a - b;
    case CT_INT_MUL: return a * b;
    case CT_INT_DIV: return a / b;
    case CT_INT_MOD: return a % b;
    case CT_INT_CEILDIV: return ct_ceildiv(a, b);
    case CT_INT_MIN: return ct_min(a, b);
    case CT_INT_MAX: return ct_max(a, b);
    case CT_INT_XOR: return a ^ b;
  }
  return 0;
}

/* Sound and simple: all operands of the tests are >= 0. */
static inline CtFacts sym_facts_of_op(CtIntOp op, CtFacts a, CtFacts b) {
  int64_t hi;
  CtFacts f = {0, INT64_MAX, 1};
  switch (op) {
    case CT_INT_ADD:
      f.lo = a.lo + b.lo;
      f.hi = ct_add_overflow(a.hi, b.hi, &hi) ? INT64_MAX : hi;
      f.div = ct_gcd(a.div, b.div);
      break;
    case CT_INT_SUB:
      f.lo = ct_sub_overflow(a.lo, b.hi, &hi) ? INT64_MIN : hi;
      f.hi = a.hi;
      f.div = ct_gcd(a.div, b.div);
      break;
    case CT_INT_MUL:
      f.lo = ct_mul_overflow(a.lo, b.lo, &hi) ? INT64_MAX : hi;
      f.hi = ct_mul_overflow(a.hi, b.hi, &hi) ? INT64_MAX : hi;
      f.div = ct_mul_overflow(a.div, b.div, &hi) ? 1 : hi;
      break;
    case CT_INT_DIV:
    case CT_INT_CEILDIV:
      f.lo = a.lo / ct_max(b.hi, 1);
      f.hi = op == CT_INT_DIV ? a.hi / ct_max(b.lo, 1) : ct_ceildiv(a.hi, ct_max(b.lo, 1));
      f.div = b.lo == b.hi && b.lo > 0 && a.div % b.lo == 0 ? a.div / b.lo : 1;
      break;
    case CT_INT_MOD: f.hi = ct_min(a.hi, b.hi - 1); break;
    case CT_INT_MIN: f.hi = ct_min(a.hi, b.hi); break;
    case CT_INT_MAX: f.lo = ct_max(a.lo, b.lo); break;
    case CT_INT_XOR: f.hi = ct_add_overflow(a.hi, b.hi, &hi) ? INT64_MAX : hi; break;
  }
  f.div = f.div == 0 ? 1 : f.div;
  return f;
}

static inline CtStatus sym_binary(void *ud, CtIntOp op, CtInt a, CtInt b, CtInt *out, CtErr *err) {
  Sym *s = ud;
  for (uint32_t i = 0; i < s->n && !s->no_sharing; i++) {
    const SymExpr *e = &s->expr[i];
    if (e->name == NULL && e->op == op && ct_int_equal(e->a, a) && ct_int_equal(e->b, b)) {
      *out = sym_ref(i);
      return CT_OK;
    }
  }
  if (s->n == SYM_MAX) {
    return ct_fail_nomem(err);
  }
  SymExpr *e = &s->expr[s->n];
  *e = (SymExpr){.op = op, .a = a, .b = b};
  e->facts = sym_facts_of_op(op, sym_facts_of(s, a), sym_facts_of(s, b));
  e->value = sym_apply(op, sym_value(s, a), sym_value(s, b));
  *out = sym_ref(s->n++);
  return CT_OK;
}

static inline CtFacts sym_facts(void *ud, CtInt a) { return sym_facts_of(ud, a); }

static inline void sym_print(void *ud, CtInt a, CtText *out) {
  static const char *const text[] = {"+", "-", "*", "/", "%", "/^", " min ", " max ", "^"};
  const Sym *s = ud;
  if (a.kind == CT_STATIC) {
    ct_text_printf(out, "%lld", (long long)a.v);
  } else if (s->expr[a.id].name != NULL) {
    ct_text_puts(out, s->expr[a.id].name);
  } else {
    sym_print(ud, s->expr[a.id].a, out);
    ct_text_puts(out, text[s->expr[a.id].op]);
    sym_print(ud, s->expr[a.id].b, out);
  }
}

static inline CtDyn sym_open(Sym *s) {
  *s = (Sym){.expr = calloc(SYM_MAX, sizeof *s->expr)};
  return (CtDyn){s, sym_binary, sym_facts, sym_print, NULL};
}

static inline void sym_close(Sym *s) { free(s->expr); }

#endif
