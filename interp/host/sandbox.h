/* sandbox.h: what a sandboxed script gets in place of some of Lua's functions, so that it has no files,
   and nothing that it calls runs on after the state is told to stop. docs/sandbox.md says what is
   promised. Each file opens the functions of one kind. */
#ifndef CUTTLE_SANDBOX_H
#define CUTTLE_SANDBOX_H

#include <lua.h>

#include "interp/state/standard.h"
#include "interp/state/state.h"

/* Lua's libraries that a sandboxed script has, with `require` [-0, +0, e]. */
void sandbox_open_libs(lua_State *L);
/* Takes names out of the language's table at the top [-0, +0, e]. */
void sandbox_cut_language(lua_State *L);
/* Takes what reaches files, bytecode or the collector out of the globals [-0, +0, e]. */
void sandbox_close(lua_State *L);

/* Functions of the globals, of `table` and of `string` that poll. For sandbox_open_libs. */
void sandbox_open_guards(lua_State *L);
void sandbox_open_table(lua_State *L);
void sandbox_open_string(lua_State *L);

#endif
