/* value.h: a run-time value as Lua sees it while a kernel is traced: a userdata that names an
   operation of the running trace's IR. */
#ifndef CUTTLE_VALUE_H
#define CUTTLE_VALUE_H

#include <lua.h>

#include "runtime/ir/ir_make.h"

#define VALUE_TYPE "run-time value" /* the metatable's name in the registry */

/* Pushes the value of an operation of the running trace. */
void value_push(lua_State *L, CtVal v);

/* Whether the Lua value at idx is a run-time value; *out (may be NULL) gets its operation. Raises for
   one that was kept from a trace that has ended. */
bool value_test(lua_State *L, int idx, CtVal *out);

/* An i32 or i64 that was folded, or that a cast made of a number, is known while tracing, but keeps its
   type: among operands it is a value as any other. Where a place asks for a static integer (the key of a
   Lua table, the bound of a loop, an argument of Lua's libraries) it serves as one. */
bool value_known(lua_State *L, int idx, int64_t *out);
/* Puts the Lua integer in the place of such a value; whether it was one. */
bool value_settle(lua_State *L, int idx);

/* Which type a number takes. A Lua number has none: beside a value with a type it takes that one, exactly. What a
   kernel makes of such numbers alone, arguments that are Lua floats among them, has no type either (CtUntyped). It
   is an f32 until it meets an f64, or is needed more exactly otherwise. Then value_take notes it, and the kernel is
   traced again with what it was made of as f64 (front_type.c). An f64 without a type beside an f32 becomes one. */
/* The type that a Lua float gets here, where no other decides. */
CtDtype value_float_type(lua_State *L);
/* Has the float no type yet? Not of integers. */
static inline bool value_is_untyped(const CtIr *ir, CtVal v) {
  return ct_inst(ir, v)->untyped != CT_TYPED;
}
/* CtUntyped of the Lua number or value at idx. */
uint8_t value_untyped(lua_State *L, int idx);
/* The value without a type is needed as one of that type; the same, and it becomes one. */
void value_meet(lua_State *L, CtVal v, CtDtype type);
CtVal value_take(lua_State *L, CtVal v, CtDtype type);
/* The number of the script at idx as a constant without a type, of type `type`. */
CtVal value_constant(lua_State *L, int idx, CtDtype type);
/* An integer value as a float operation takes it; a float as it is. */
CtVal value_as_float(lua_State *L, CtVal v);
/* v where its type shows, as in bitcast: an f64 without a type is an f32. */
CtVal value_shown(lua_State *L, CtVal v);

/* Operands of the running trace: the run-time value, Lua number or boolean at idx as a value of type
   `want` (CT_VOID: a run-time value as it is, an integer as i32 or i64, a float as value_float_type
   says). Raises, naming `what`, for anything else, for a float where an integer is wanted,
   and for a bool mixed with numbers. */
CtVal value_to(lua_State *L, int idx, CtDtype want, const char *what);

/* The same as value_to of any type, a narrow type widened to the one that arithmetic has. */
CtVal value_operand(lua_State *L, int idx, const char *what);
/* The run-time value, number or boolean at idx cast to the type. */
CtVal value_cast(lua_State *L, int idx, CtDtype type, const char *what);
bool value_is_int(const CtIr *ir, CtVal v);
/* Raises if the value is a bool. */
void value_check_number(lua_State *L, const CtIr *ir, CtVal v, const char *what);
/* May a run-time value of type `is` become one of type `want` without saying so? Never a narrower one. */
bool value_converts(CtDtype is, CtDtype want);

/* The type of a computation with values of both types; `op` as in value_pair. Raises if there is none. */
CtDtype value_common(lua_State *L, CtDtype a, CtDtype b, const char *op);

/* Both operands of a binary operation of the script, brought to one type by the rules of the language
   (docs/kernels_values.md, "Mixed types"); at least one is a run-time value. `op` as in messages: "+". */
void value_pair(lua_State *L, int a, int b, const char *op, CtVal *x, CtVal *y);
/* The same for the two sides of a choice: a narrow type stays if both have it or one is a Lua number. */
void value_choice(lua_State *L, int a, int b, const char *op, CtVal *x, CtVal *y);
/* A shift has the type of its left side if that is unsigned, whatever the type of the count. */
void value_shift(lua_State *L, int a, int b, const char *op, CtVal *x, CtVal *y);

/* "int", "float", "bool": how messages call a run-time value's type. */
const char *value_kind(CtDtype type);

#endif
