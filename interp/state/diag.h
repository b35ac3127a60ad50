/* diag.h: how a failure of the core becomes an error of a script. Nothing else raises Lua errors
   from a CtErr. The message is `script.lua:27: tile: tiler (128,8,4) has rank 3 but ...`. */
#ifndef CUTTLE_DIAG_H
#define CUTTLE_DIAG_H

#include <lua.h>

#include "runtime/base/err.h"
#include <stdbool.h>

#ifdef __clang_analyzer__
#define DIAG_RAISES __attribute__((analyzer_noreturn))
#else
#define DIAG_RAISES
#endif

/* Chunks of the standard library are called "=cuttle/<file>": never the place to blame. */
#define DIAG_STDLIB_PREFIX "=cuttle/"
bool diag_is_stdlib(const char *source); /* of a lua_Debug */

/* The innermost level of the stack that is the user's script: *ar has "S" and "l" (short_src,
   currentline). False when there is none. */
bool diag_find_script(lua_State *L, lua_Debug *ar);

/* Pushes "script.lua:27: " for that level, or "" [-0, +1, m]. */
void diag_push_where(lua_State *L);

/* Raises err's message at err's own location, else at the script's line. The caller has released
   what it holds. */
_Noreturn void diag_raise(lua_State *L, const CtErr *err);

/* Raises unless status is CT_OK. */
static inline void diag_check(lua_State *L, CtStatus status, const CtErr *err) {
  if (status != CT_OK) {
    diag_raise(L, err);
  }
}

/* The same of a failure that was written to the state's own record: of a call in the same expression, as that
   record belongs to whoever fails next.
     diag_try(L, ct_size(cx, layout, &n, diag_err(L))); */
CtErr *diag_err(lua_State *L);
void diag_try(lua_State *L, CtStatus status);

/* Raises a message made here, by lua_pushfstring's format, at the script's line. Returns nothing;
   the type lets a binding write `return diag_error(...)`. */
int diag_error(lua_State *L, const char *fmt, ...) DIAG_RAISES;

/* Raises if a function of the language, which takes n arguments, was given more: one that it would ignore is a
   mistake, unless it is nil. diag_take_args also sets the stack's height to n. */
void diag_check_count(lua_State *L, const char *op, int given, int n);
void diag_take_args(lua_State *L, const char *op, int n);
/* Pops what is nil at the end of the arguments, down to `least` of them; returns how many are left. */
int diag_drop_nils(lua_State *L, int least);

/* Raises `<op>: argument N is a string; a layout was expected` at the script's line: for the
   arguments of the language's functions, which count as the user writes them. */
int diag_type_error(lua_State *L, int arg, const char *op, const char *expected) DIAG_RAISES;
/* The text at idx, which C can take whole: it has no 0 in it. Raises. */
const char *diag_check_name(lua_State *L, int idx, const char *op, const char *what);

/* The same of the value at idx, which is there and which the user counts as argument `arg`. */
int diag_kind_error(lua_State *L, int idx, int arg, const char *op,
                    const char *expected) DIAG_RAISES;
/* The number in an argument of `op`, a Lua number; raises. */
lua_Number diag_to_number(lua_State *L, int arg, const char *op);

/* "a string", "nil", "a tensor": what messages call the value at idx. Pushes the text [-0, +1, m]. */
const char *diag_push_kind(lua_State *L, int idx);

/* Pushes the message of an error value: a text as it is, of others their __tostring, or the script's line
   and what kind of value it is [-0, +1, e]. */
void diag_push_message(lua_State *L, int idx);

/* Message handler for lua_pcall: turns any error value into text, with a traceback when
   diag_set_traceback asked for it. */
int diag_handler(lua_State *L);
void diag_set_traceback(lua_State *L, bool on);

/* diag_guess.c: what an unknown global may have meant, or text that is C++. */

/* The message at the top of the stack; where it says that something is nil that is written almost as a
   name of the language, or that other languages have, with what to write [-1, +1, m]. */
void diag_guess_global(lua_State *L);

/* The message at the top, of a text that does not parse; where that is what C++ or Python has, with what
   Lua has [-1, +1, m]. is_whole: nothing can follow it. */
void diag_guess_syntax(lua_State *L, const char *text, size_t len, bool is_whole);

/* diag_op.c: whose name an error carries. Only diag.c uses it. */

/* The message at the top of the stack, where it begins with the name of a part that the running
   operation is made of ("integer: ", "layout: "), begins with that of the operation that the script
   called instead ("size: ") [-1, +1, m]. */
void diag_name_operation(lua_State *L);

#endif
