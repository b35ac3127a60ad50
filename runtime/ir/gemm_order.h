/* gemm_order.h: the order of a GEMM's multiply-adds within one k, a tuned parameter.

   Nested loops over rows (m) and columns (n), the outermost first. A loop of step s goes on by s rows or
   columns, which a later loop of the same mode goes through; the last of each mode has step 1. A loop that
   turns runs backwards at every second turn of the loop around it, so that consecutive multiply-adds share
   an operand there too. As text: "n2 ~m ~n" are pairs of columns, every second pair backwards over the
   rows, and in each row the pair from the side where the row before ended. */
#ifndef CT_GEMM_ORDER_H
#define CT_GEMM_ORDER_H

#include "runtime/base/err.h"

enum { CT_GEMM_MAX_LOOPS = 4, CT_GEMM_MAX_STEP = 64 };

typedef struct CtGemmLoop {
  uint8_t mode; /* 0: m, 1: n */
  uint8_t step;
  bool turns;
} CtGemmLoop;

/* n 0: not said; the builders take what suits the operation, so no operation has that. */
typedef struct CtGemmOrder {
  int n;
  CtGemmLoop loop[CT_GEMM_MAX_LOOPS];
} CtGemmOrder;

/* May operations have it? */
bool ct_gemm_order_is(const CtGemmOrder *order);
/* A text as above, or one of the names columns, rows, serpentine and column_pairs. */
CtStatus ct_gemm_order_parse(const char *text, CtGemmOrder *out, CtErr *err) CT_NODISCARD;

#endif
