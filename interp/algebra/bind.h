/* bind.h: what the bindings share: coercion of Lua values to those of the core, and back. Wherever
   the language takes a tuple, layout or tiler it takes a number, a table or text as well, and it
   does so here.

   A binding begins with bind_enter, which empties the scratch arena of the state: results of the
   core live there until the next binding begins, so they are pushed before anything is called that
   may run a script. No Lua value is converted by metamethods here.

   `op` in the functions below is the name of the running function, "tile": messages begin with it.
   All of them raise on bad values. */
#ifndef CUTTLE_BIND_H
#define CUTTLE_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "interp/state/diag.h"
#include "interp/state/types.h"
#include "interp/trace/number.h"
#include "runtime/ir/atom.h"
#include "runtime/base/dtype.h"
#include "runtime/layout/layout_algebra.h"
#include "runtime/ir/ir.h"

/* The scratch arena, and the integers of the running trace, if there is one. */
CtCx bind_cx(lua_State *L);
CtCx bind_enter(lua_State *L); /* empties the arena first */
/* The same as contexts of the algebra: what is made in one is looked at after bind_check, which raises
   its first failure. */
CtAlg bind_alg(lua_State *L);
CtAlg bind_begin(lua_State *L); /* empties the arena first */
void bind_check(lua_State *L, const CtAlg *g);

/* {====== From Lua ====== */

bool bind_is_any(lua_State *L, int idx); /* the wildcard `_` */

/* An integer: static, or a run-time value of the trace. */
CtInt bind_to_int(lua_State *L, int idx, const char *op);
/* Whether the value is an integer; raises of a number that is none. */
bool bind_test_int(lua_State *L, int idx, const char *op, CtInt *out);
/* An integer that is known now. */
int64_t bind_to_static(lua_State *L, int idx, const char *op);
/* A static integer within lo..hi; `what` names it: "mode". */
int bind_to_index(lua_State *L, int idx, int lo, int hi, const char *op, const char *what);

/* The same of the option `name` of a table of options. */
int bind_to_option(lua_State *L, int idx, int lo, int hi, const char *op, const char *name);

/* Pushes "a, b or c" of names that end with NULL [-0, +1, m]. */
const char *bind_push_names(lua_State *L, const char *const *names);
/* Raises an error if the table of options at idx, an index from the bottom, has another key than these names. After the
   last one comes NULL. */
void bind_check_names(lua_State *L, int idx, const char *op, const char *const *names);
#define BIND_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
/* Pushes the value of the only option that a table of options may hold, nil when it is absent or the
   table is [-0, +1, v]; its type. */
int bind_push_option(lua_State *L, int idx, const char *op, const char *name);
/* The option `name` at the top, which is true, false or nil; pops it. Raises. */
bool bind_pop_flag(lua_State *L, const char *op, const char *name);

/* A tuple: an integer (or a float with an integral value), a table of tuples, text "(4,(2,3))", `_`,
   a run-time value, a basis element. */
CtTuple bind_to_tuple(lua_State *L, int idx, const CtCx *cx, const char *op);
/* Likewise, of a shape: its texts may name modes, "(M=4,(2,3))". */
CtTuple bind_to_shape(lua_State *L, int idx, const CtCx *cx, const char *op);
/* As bind_to_tuple, but NULL when the argument is absent or nil. */
CtTuple bind_opt_tuple(lua_State *L, int idx, const CtCx *cx, const char *op);
/* The arguments from `first` on as one coordinate: a single one as it is, more as a tuple. */
CtTuple bind_to_coord(lua_State *L, int first, const CtCx *cx, const char *op);
/* Whether every static number of a coordinate lies inside, as far as the shape is static. Wrong
   nesting is left to the algebra, which shows both. */
bool bind_is_inside(CtTuple crd, CtTuple shape);

/* A layout: a layout, an integer or table (column-major), or text. It may be swizzled. */
CtComposed bind_to_composed(lua_State *L, int idx, const CtCx *cx, const char *op);
/* Likewise, where a swizzled one has no meaning: raises an error that says so. */
CtLayout bind_to_layout(lua_State *L, int idx, const CtCx *cx, const char *op);
/* Whether the value is a layout object; *out is a view of it, good while it is on the stack.
   bind_test_layout: a plain one. */
bool bind_test_composed(lua_State *L, int idx, CtComposed *out);
bool bind_test_layout(lua_State *L, int idx, CtLayout *out);
/* To be called when the metatable of layouts is there [-0, +0, e]. */
void bind_mark_layout_type(lua_State *L);

/* Raises where the layout is swizzled. */
void bind_check_plain(lua_State *L, const CtCx *cx, const CtComposed *c, const char *op);

/* A swizzle: a swizzle object or a text "Sw<2,0,3>". */
bool bind_is_swizzle(lua_State *L, int idx);
CtSwizzle bind_to_swizzle(lua_State *L, int idx, const CtCx *cx, const char *op);

/* A tiler: an integer, a table of tilers, a layout, text, or `_`. */
CtTiler bind_to_tiler(lua_State *L, int idx, const CtCx *cx, const char *op);

/* Mode numbers: the arguments from `first` on, or one table of them. Returns how many; at most
   CT_MAX_DEPTH. None when there are no arguments. */
int bind_to_path(lua_State *L, int first, int path[CT_MAX_DEPTH], const char *op);

/* The same of l, whose modes may be given by their names, too. (bind_mode.c) */
int bind_to_mode_path(lua_State *L, int first, CtLayout l, int path[CT_MAX_DEPTH], const char *op);
/* One mode of the top level of l, by number or name; a number is not checked against the rank. */
int bind_to_mode(lua_State *L, int idx, const CtCx *cx, CtLayout l, const char *op);
/* L:named("M", "K") and L:names(). */
int bind_named(lua_State *L);
int bind_names(lua_State *L);

CtDtype bind_to_dtype(lua_State *L, int idx, const char *op); /* f32, or text "f32" */
bool bind_test_dtype(lua_State *L, int idx, CtDtype *out);    /* the object only */

/* {====== To Lua: each pushes one value [-0, +1, m] ====== */

void bind_push_any(lua_State *L);
void bind_push_int(lua_State *L, CtInt i); /* an integer, run-time value, basis element or `_` */
/* The same, if the algebra that made it has not failed; else raises. Returns 1. */
int bind_return_int(lua_State *L, const CtAlg *g, CtInt i);
/* an integer, or nested tables that print as tuples */
void bind_push_tuple(lua_State *L, CtTuple t);
/* The value of a layout at a coordinate: an integer, or a coordinate. Returns 1. */
int bind_push_value(lua_State *L, CtAlg *g, CtTuple crd, const CtComposed *l);
void bind_push_layout(lua_State *L, CtLayout l);            /* copied into the new userdata */
void bind_push_composed(lua_State *L, const CtComposed *c); /* copied, too */
/* The same for a layout that the operation `op` (a literal) made of the arguments 1 to n_operands
   (<= 4), for pictures and explanations. */
void bind_push_made_composed(lua_State *L, const CtComposed *c, const char *op, int n_operands);
/* Pushes the operation that made the layout at `idx` and its operands [-0, +0..5, e]; returns how
   many values: 0 if it was not made by one. A table among the operands is given as text. */
int bind_push_origin(lua_State *L, int idx);
void bind_push_swizzle(lua_State *L, CtSwizzle sw);
void bind_push_dtype(lua_State *L, CtDtype t);
void bind_push_text(lua_State *L, CtText *t); /* and clears it; raises when an append had failed */

/* A text in the scratch arena: nothing to free, and nothing lost when a Lua function raises. */
void bind_text_init(CtText *t, const CtCx *cx);

/* Does the layout, without run-time values, reach each place from 0 to its size once? */
bool bind_is_compact(const CtCx *cx, CtLayout layout, int64_t *size);

/* The size of a layout's mode. */
CtInt bind_mode_size(lua_State *L, const CtCx *cx, CtLayout l, int mode);

/* Text of a value for messages, in the scratch arena: never fails, "?" at worst. */
const char *bind_layout_text(const CtCx *cx, CtLayout l);
const char *bind_composed_text(const CtCx *cx, const CtComposed *c);
const char *bind_tuple_text(const CtCx *cx, CtTuple tuple);

/* A metatable called `name` with __name, the metamethods `meta`, and `methods` as __index (a table)
   when meta has none; both end with {NULL, NULL}; left out of the stack. */
void bind_new_type(lua_State *L, const char *name, const luaL_Reg *meta, const luaL_Reg *methods);
/* Of what is closed once: by its method `close`, if it has methods, by __close or by __gc. */
void bind_new_handle(lua_State *L, const char *name, lua_CFunction close, const luaL_Reg *methods);

/* Where __index is a function, completion reads what values have from the metatable (complete.lua):
   methods from the table __methods, fields from the list __fields, which this one adds to the
   metatable at the top. `names` ends with NULL. */
void bind_add_fields(lua_State *L, const char *const *names);
int bind_no_length(lua_State *L); /* __len of what has a size: raises */
#define METHODS "__methods"
#define FIELDS "__fields"
/* Of an __index that finds no such name: raises with what to write instead. nil would decide an `if`, and nobody
   would see it. bind_close_methods makes the table of methods at the top, an __index itself, do so where a script
   asks for a name that is no field. */
int bind_refuse_name(lua_State *L);
void bind_close_methods(lua_State *L, const char *name);
/* Takes a type's table of methods from the top; `index`, which becomes the __index of the metatable
   below, has it as its upvalue. */
void bind_set_index(lua_State *L, lua_CFunction index);
/* Adds functions of the language, which is at `language`, to the table of methods at the top. `names`
   ends with NULL. */
void bind_add_functions(lua_State *L, int language, const char *const *names);
/* Adds to the methods of a type that has them there. */
void bind_add_methods(lua_State *L, const char *type, const luaL_Reg *methods);

#endif
