/* range.h: what range(), axes() and raster{} return: a loop of the kernel, waiting for its 'for'. */
#ifndef CUTTLE_RANGE_H
#define CUTTLE_RANGE_H

#include <lauxlib.h>
#include <lua.h>

#include "interp/state/types.h"
#include "runtime/layout/inttuple.h"

typedef struct Range { /* index runs from start while it is < stop (> for a negative step) */
  CtInt start, stop, step;
  int64_t unroll;   /* as CT_OP_FOR's hint */
  uint32_t serial;  /* of the trace that made it: its bounds may be run-time values */
  int n_values;     /* names that its loop has: 1, or what the function in user value 1 returns */
  const char *what; /* "range", "raster" */
  bool is_i64;      /* a bound is an i64, though its value may be known */
} Range;

/* NULL: the value is not a range. */
static inline Range *range_test(lua_State *L, int idx) {
  return luaL_testudata(L, idx, RANGE_TYPE);
}

#endif
