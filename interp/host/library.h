/* library.h: the standard library in a state: its modules, what they see, and the checks of its functions. For
   language.c, file by file. */
#ifndef CUTTLE_LIBRARY_H
#define CUTTLE_LIBRARY_H

#include <lua.h>
#include <stdbool.h>
#include "std_modules.h"
#include <stddef.h>

/* own_modules.c: the library's modules as the library itself finds them. A script may put anything into
   package.loaded and package.preload, and reports must not be made by that. */

/* Before any other of these functions [-0, +0, m]. */
void own_modules_open(lua_State *L);
/* Pushes the table of loaders by the names of modules: these the library finds [-0, +1, -]. */
void own_modules_push_loaders(lua_State *L);
/* The module is about to be loaded [-0, +0, e]. */
void own_modules_begin(lua_State *L, const char *name);
/* The module at the top has been loaded, perhaps by a script [-0, +0, m]. */
void own_modules_keep(lua_State *L, const char *name);
/* require(name) of the library. Upvalue 1: that of scripts, for all other modules. */
int own_modules_require(lua_State *L);
/* on_module(f): f(name) is called before a module is loaded, from now on, and f(name, module) afterwards. */
int own_modules_set_hook(lua_State *L);

/* module_env.c: the globals of the library's modules: Lua's and the names of the language, in one table that no
   script reaches. A script may give its own globals other meanings; the library's keep theirs. */

void module_env_open(lua_State *L); /* makes the table, still empty [-0, +0, m] */
/* Fills it, again if need be, with the globals of now and the language's names but `cuda` and `ptx` [-0, +0, e]. */
void module_env_fill(lua_State *L);
/* Makes the table the _ENV of the chunk at the top, which was just loaded from text [-0, +0, -]. */
void module_env_give(lua_State *L);

/* std_chunks.c: the standard library's modules as chunks. A process with several states, as one with ranks or a host has,
   does not parse a module for each of them. */

/* src_load of the module's text, which is called so. `keeps`: what Lua made of it may serve later states [-0, +1, m]. */
int std_chunk_load(lua_State *L, const StdModule *m, const char *name, bool keeps);

/* packed_text.c: texts that the binary carries as few bytes: see runtime/base/inflate.h. */

/* Pushes what `bytes` unpack to, `len` bytes; raises if they are no packed text of that length. */
void packed_text_push(lua_State *L, const char *bytes, size_t n, size_t len);

/* require "cuttle.inflate": pushes the function that makes a text of a string of bytes. */
int packed_text_open(lua_State *L);

/* counted.c: functions of the language refuse arguments that they would ignore. They get a check of how many their
   annotation in stdlib/meta names; methods of types written in Lua (tiles.new_type), of how many they take. Names
   that an object does not have are refused, too. */

/* For the functions and methods of the language, whose table is at the top [-0, +0, m]. */
void counted_add(lua_State *L);
/* For the functions of that module of the library, whose table is at the top [-0, +0, m]. */
void counted_add_module(lua_State *L, const char *name);

/* Calls the function in Lua at the top with the arguments below it, n at the most. A helper is converted in a
   trace, as the script's own are; any other works on what the trace has made so far. Returns the results. */
int counted_call(lua_State *L, const char *name, int n, bool is_helper);
/* The most arguments of the function in Lua at the top; one that takes any number has a check of its own. */
int counted_most(lua_State *L);

/* What bind_refuse_name does: raises of the name at 2 that the value at 1 does not have. */
int counted_refuse_name(lua_State *L);

#endif
