/* inttuple.h: integers that are static or dynamic, and nested tuples of them.

   A CtInt is a number known now (static), a run-time value that a kernel's IR names (dynamic), or
   the wildcard `_`. This file does static arithmetic, with overflow checks. For dynamic arithmetic
   it calls the context's CtDyn, which the IR builder provides: the algebra itself knows no IR.

   An IntTuple is an integer or a tuple of IntTuples: (4,(2,3)). It is stored as a flat preorder
   array of CtNode, so a subtree is a slice of the array and is copied by memcpy. A tuple of one
   element, (4), is not the integer 4; () is the empty tuple. Values are immutable and live in an
   arena. No tuple nests deeper than CT_MAX_DEPTH or has more than CT_MAX_NODES nodes.

   The nodes of a shape may have names; coordinates and strides have no names. A node without a name
   of its own inherits the name of its nearest named ancestor, and every node stores the name it
   has: so all nodes below a named node are named, and a part that is copied out of its mode still
   says where it comes from. A node with its parent's name counts as unnamed there: it is neither
   printed nor found. */
#ifndef CT_INTTUPLE_H
#define CT_INTTUPLE_H

#include "runtime/base/arena.h"
#include "mode_name.h"
#include "runtime/base/text.h"

enum { CT_MAX_DEPTH = 32, CT_MAX_NODES = 4096, CT_BASIS_MAX = 4 };

typedef enum CtIntKind { CT_STATIC, CT_DYNAMIC, CT_ANY } CtIntKind;

typedef struct CtInt {
  union {
    int64_t v;   /* CT_STATIC: the number */
    uint32_t id; /* CT_DYNAMIC: the IR value; only the CtDyn understands it */
  };
  uint8_t kind;                /* CtIntKind */
  uint8_t basis_depth;         /* > 0: this times the basis element E(basis[0], basis[1], ...) */
  uint8_t basis[CT_BASIS_MAX]; /* the path of mode numbers, outermost first */
} CtInt;

static_assert(sizeof(CtInt) == 16, "a CtInt is passed in two registers");

/* Facts about an integer: lo <= value <= hi, and div (>= 1) divides it. For 0: div 0, because all
   numbers divide it. */
typedef struct CtFacts {
  int64_t lo, hi, div;
} CtFacts;

typedef enum CtIntOp {
  CT_INT_ADD,
  CT_INT_SUB,
  CT_INT_MUL,
  CT_INT_DIV,     /* floor; both operands are known to be >= 0, the right one > 0 */
  CT_INT_MOD,     /* operands as for DIV */
  CT_INT_CEILDIV, /* operands as for DIV */
  CT_INT_MIN,
  CT_INT_MAX,
  CT_INT_XOR /* bitwise; both operands are known to be >= 0 */
} CtIntOp;

/* The answer to a statement about integers while tracing. */
typedef enum CtKnown { CT_KNOWN_NO, CT_KNOWN_YES, CT_KNOWN_MAYBE } CtKnown;

/* Arithmetic on dynamic integers. Never called when both operands are static. */
typedef struct CtDyn {
  void *ud;
  CtStatus (*binary)(void *ud, CtIntOp op, CtInt a, CtInt b, CtInt *out, CtErr *err);
  CtFacts (*facts)(void *ud, CtInt a);
  void (*print)(void *ud, CtInt a, CtText *out); /* in shapes and strides */
  /* Alone in a message, which is about the traced launch: its value there. NULL: as in shapes. */
  void (*print_value)(void *ud, CtInt a, CtText *out);
} CtDyn;

/* What an operation needs from its caller. dyn is NULL if every integer is static. */
typedef struct CtCx {
  CtArena *arena; /* results live here */
  const CtDyn *dyn;
} CtCx;

typedef struct CtNode {
  int32_t rank;    /* CT_LEAF, or the number of children */
  uint32_t len;    /* nodes of this subtree, itself included */
  CtModeName name; /* of this mode of a shape, or of the nearest enclosing mode that has a name */
  CtInt i;         /* of a leaf */
} CtNode;

enum { CT_LEAF = -1 };

typedef const CtNode *CtTuple; /* the root of a flat tree in an arena */

static inline CtInt ct_int(int64_t v) {
  CtInt i = {{v}, CT_STATIC, 0, {0}};
  return i;
}
static inline CtInt ct_any(void) {
  CtInt i = {{0}, CT_ANY, 0, {0}};
  return i;
}
static inline bool ct_is_static(CtInt a) { return a.kind == CT_STATIC; }
static inline bool ct_is_const(CtInt a, int64_t v) {
  return a.kind == CT_STATIC && a.basis_depth == 0 && a.v == v;
}
static inline bool ct_is_leaf(CtTuple t) { return t->rank == CT_LEAF; }

/* The children of a tuple, in order: for (c = ct_first(t); c != ct_end(t); c = ct_next(c)). */
static inline CtTuple ct_first(CtTuple t) { return t + 1; }
static inline CtTuple ct_next(CtTuple child) { return child + child->len; }
static inline CtTuple ct_end(CtTuple t) { return t + t->len; }
CtTuple ct_child(CtTuple t, int i); /* i-th child, 0 <= i < rank; a leaf is its own child 0 */

static inline int ct_rank(CtTuple t) { return ct_is_leaf(t) ? 1 : t->rank; }
int ct_depth(CtTuple t); /* 0 for an integer */
int ct_n_leaves(CtTuple t);
bool ct_all_static(CtTuple t); /* no leaf is dynamic or `_` */
bool ct_has_any(CtTuple t);    /* some leaf is `_` */
bool ct_has_names(CtTuple t);

/* Arithmetic: folds static operands, with overflow checks; simplifies operations with 0 and 1 and
   those that the facts decide (a CEILDIV that is known to be exact becomes a DIV); leaves the rest
   to cx->dyn. Static quotients of negative numbers are cut towards zero, as in C. Integers with a
   basis may be added only to the same basis, and scaled by plain integers. */
CtStatus ct_int_op(const CtCx *cx, CtIntOp op, CtInt a, CtInt b, CtInt *out,
                   CtErr *err) CT_NODISCARD;
CtFacts ct_int_facts(const CtCx *cx, CtInt a);
bool ct_int_equal(CtInt a, CtInt b); /* the same number, or the same IR value */
CtKnown ct_int_divides(const CtCx *cx, CtInt d, CtInt x); /* x % d == 0 */
CtKnown ct_int_le(const CtCx *cx, CtInt a, CtInt b);      /* a <= b */

/* Building. A new leaf; a tuple of the given subtrees (copied); a flat tuple of integers.
   NULL if out of memory, or beyond CT_MAX_DEPTH or CT_MAX_NODES. */
CtTuple ct_leaf(CtArena *a, CtInt i) CT_NODISCARD;
CtTuple ct_tuple(CtArena *a, int n, const CtTuple *items) CT_NODISCARD;
CtTuple ct_tuple_ints(CtArena *a, int n, const CtInt *items) CT_NODISCARD;
CtTuple ct_tuple_copy(CtArena *a, CtTuple t) CT_NODISCARD;

bool ct_tuple_equal(CtTuple a, CtTuple b);
bool ct_congruent(CtTuple a, CtTuple b); /* the same nesting */
CtStatus ct_product(const CtCx *cx, CtTuple t, CtInt *out, CtErr *err) CT_NODISCARD;

/* --- inttuple_compare.c: relations, of static tuples -------------------------------------------- */

bool ct_weakly_congruent(CtTuple a, CtTuple b); /* the nesting of b refines that of a */
/* The same, and sizes agree at each integer of a: a coordinate of a is one of b. */
CtStatus ct_compatible(const CtCx *cx, CtTuple a, CtTuple b, bool *out, CtErr *err) CT_NODISCARD;
/* Coordinates: in row-major order, in column-major order, each entry less. */
CtStatus ct_lex_less(CtTuple a, CtTuple b, bool *out, CtErr *err) CT_NODISCARD;
CtStatus ct_colex_less(CtTuple a, CtTuple b, bool *out, CtErr *err) CT_NODISCARD;
CtStatus ct_elem_less(CtTuple a, CtTuple b, bool *out, CtErr *err) CT_NODISCARD;

/* --- text, in inttuple.c ------------------------------------------------------------------------

   "(4,(2,3))", "_" for the wildcard, "2@1@0" for 2 * E(0,1), as CuTe prints it; a shape may have
   names, "(M=(8,4),K=64)", which ct_tuple_parse refuses and ct_shape_parse reads. Parsing reads
   `len` bytes, allows spaces, refuses trailing text, nesting deeper than CT_MAX_DEPTH and numbers
   beyond 64 bits; the message shows the text and the column (from 0). cx may be NULL when printing
   static tuples (dynamic leaves print as ?). */
CtStatus ct_tuple_parse(CtArena *a, const char *s, size_t len, CtTuple *out,
                        CtErr *err) CT_NODISCARD;
CtStatus ct_shape_parse(CtArena *a, const char *s, size_t len, CtTuple *out,
                        CtErr *err) CT_NODISCARD;
void ct_tuple_print(const CtCx *cx, CtTuple t, CtText *out);
void ct_int_print(const CtCx *cx, CtInt i, CtText *out);

#endif
