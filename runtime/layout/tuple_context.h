/* tuple_context.h: the context in which every operation of the algebra works, and the algebra of
   integers and tuples as the core itself calls it. inttuple.h has the same for C hosts.

   A CtAlg carries the arena of the results, the arithmetic of run-time integers, and the first
   failure. Operations return values. An operation that fails keeps its error in the context, unless
   an earlier one is there, and returns nothing: a NULL tuple, a layout of NULLs, the integer 1,
   false. In a context that has failed every operation returns nothing at once, whatever its
   operands are. So a caller nests operations, and asks once, at the end, whether all went well.
   Only code that follows a pointer of an operand itself has to ask al_ok first. */
#ifndef CT_TUPLE_CONTEXT_H
#define CT_TUPLE_CONTEXT_H

#include "tuple_leaves.h"

typedef struct CtAlg {
  CtCx cx;
  CtErr *err;      /* the first failure fills it; NULL: nobody reads the message */
  CtStatus status; /* of the first failure */
} CtAlg;

static inline CtAlg al_begin(const CtCx *cx, CtErr *err) { return (CtAlg){*cx, err, CT_OK}; }
/* For an operation that may fail without harm. */
static inline CtAlg al_trial(const CtAlg *g) { return (CtAlg){g->cx, NULL, CT_OK}; }
static inline bool al_ok(const CtAlg *g) { return g->status == CT_OK; }

void al_fail(CtAlg *g, CtStatus status, const char *fmt, ...) CT_PRINTF(3, 4);
/* n zeroed items in the arena; NULL if the context has failed, or fails here. */
void *al_alloc(CtAlg *g, size_t n, size_t size);

/* --- integers: as ct_int_op ------------------------------------------------------------------ */

CtInt al_op(CtAlg *g, CtIntOp op, CtInt a, CtInt b);

/* Are both numbers? That is the common case, which needs no call. */
static inline bool al_are_numbers(CtInt a, CtInt b) {
  return (a.kind | b.kind | a.basis_depth | b.basis_depth) == CT_STATIC;
}
static inline CtInt al_add(CtAlg *g, CtInt a, CtInt b) {
  int64_t r;
  bool done = al_are_numbers(a, b) && !ct_add_overflow(a.v, b.v, &r);
  return done ? ct_int(r) : al_op(g, CT_INT_ADD, a, b);
}
static inline CtInt al_mul(CtAlg *g, CtInt a, CtInt b) {
  int64_t r;
  bool done = al_are_numbers(a, b) && !ct_mul_overflow(a.v, b.v, &r);
  return done ? ct_int(r) : al_op(g, CT_INT_MUL, a, b);
}
static inline CtInt al_sub(CtAlg *g, CtInt a, CtInt b) { return al_op(g, CT_INT_SUB, a, b); }
static inline CtInt al_div(CtAlg *g, CtInt a, CtInt b) { return al_op(g, CT_INT_DIV, a, b); }
static inline CtInt al_mod(CtAlg *g, CtInt a, CtInt b) { return al_op(g, CT_INT_MOD, a, b); }
static inline CtInt al_ceildiv(CtAlg *g, CtInt a, CtInt b) {
  return al_op(g, CT_INT_CEILDIV, a, b);
}

/* False if it is not known to hold. */
static inline bool al_divides(const CtAlg *g, CtInt d, CtInt x) {
  return ct_int_divides(&g->cx, d, x) == CT_KNOWN_YES;
}
static inline bool al_le(const CtAlg *g, CtInt a, CtInt b) {
  return ct_int_le(&g->cx, a, b) == CT_KNOWN_YES;
}
bool ct_same_basis(CtInt a, CtInt b); /* both plain, or along the same basis element */

/* --- tuples ---------------------------------------------------------------------------------- */

CtInt al_product(CtAlg *g, CtTuple t);
CtTuple al_leaf(CtAlg *g, CtInt i);
CtTuple al_ints(CtAlg *g, int n, const CtInt *items);
CtTuple al_tuple_copy(CtAlg *g, CtTuple t);
CtNode *al_nodes(CtAlg *g, CtTuple t); /* a copy without names, to be changed */
bool al_compatible(CtAlg *g, CtTuple a, CtTuple b);

/* --- texts for messages, in the arena; long ones are cut --------------------------------------- */

const char *al_keep_text(const CtAlg *g, CtText *t); /* moves it to the arena */
const char *al_show_int(const CtAlg *g, CtInt i);
const char *al_show_tuple(const CtAlg *g, CtTuple t);

#endif
