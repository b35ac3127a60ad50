/* number.h: a number for a launch, of a type or constant: a userdata. */
#ifndef CUTTLE_NUMBER_H
#define CUTTLE_NUMBER_H

#include <lua.h>

#include "runtime/base/dtype.h"

/* `f64(2)`, `i64(n)`, `static(16)` outside a kernel: a number for a launch, of a type or constant. */
typedef struct TypedNumber {
  CtDtype dtype; /* CT_VOID: static, as it is */
  bool is_float; /* which of the two below is meant */
  bool is_bool;  /* of a static one: i is 0 or 1 */
  int64_t i;
  double f;
} TypedNumber;

bool number_test(lua_State *L, int idx, TypedNumber *out); /* false: it is something else */
void number_push(lua_State *L, TypedNumber n);

#endif
