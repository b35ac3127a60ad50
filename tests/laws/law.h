/* law.h: a law is an equation that an operation of the algebra must satisfy on any input. It makes
   a random case, performs the operation and compares the result with the oracle's. */
#ifndef CT_TESTS_LAW_H
#define CT_TESTS_LAW_H

#include "oracle.h"
#include "random.h"
#include "runtime/layout/composed.h"

typedef enum Verdict {
  HOLDS,
  REFUSED,   /* with an error, and rightly so as far as it can be told */
  AVOIDABLE, /* refused, although a result of the promised form exists */
  VACUOUS,   /* the case says nothing about this law */
  BROKEN
} Verdict;

/* The arguments; what a law does not use stays empty. */
typedef struct Case {
  CtLayout a, b;
  CtTiler t;
  CtTuple s, c; /* a shape; a coordinate or an order */
  int64_t n, m;
  CtComposed x, y; /* layouts under a swizzle, or a swizzle alone */
} Case;

typedef struct Run {
  CtCx cx; /* the arena is reset before each case */
  CtErr err;
  char why[400]; /* of BROKEN: what was found and what was expected */
} Run;

typedef struct Law {
  const char *name;
  const char *call; /* as a user types it: $a $b $t $s $c $n $m $x $y stand for the arguments */
  void (*make)(Rng *r, CtArena *a, Case *c);
  Verdict (*check)(Run *run, const Case *c);
  bool with_empty; /* it speaks of layouts without elements too; else these are vacuous */
} Law;

/* One table for each file of laws, ended by an empty row. */
extern const Law laws_of_one[], laws_of_two[], laws_of_tiles[], laws_of_parts[], laws_of_coords[],
    laws_of_swizzles[];

Verdict broken(Run *run, const char *fmt, ...) CT_PRINTF(2, 3);
/* An error's verdict: its message must be one line, and what it says about the input true. */
Verdict refused(Run *run, const Case *c, CtStatus st);
bool is_small(const Case *c); /* no product of the case's numbers comes near 64 bits */

/* The coordinates at which two functions are compared: all, or 64 of many. */
enum { ALL_POINTS = 600, SOME_POINTS = 64 };
int n_points(Wide size);
Wide point(Wide size, int k);

/* HOLDS when f(i) == g(i) at all points below n. */
Verdict same_values(Run *run, const Fn *f, const Fn *g, Wide n);
Verdict same_layout(Run *run, CtLayout got, CtLayout want);
/* The value of a tuple of layouts at one linear coordinate for each mode. */
Wide sum_at(CtLayout l, const Wide *crd);

/* {a random layout}; {and a second one that steps through the first, or any} */
void make_one(Rng *r, CtArena *a, Case *c);
void make_two(Rng *r, CtArena *a, Case *c);

#endif
