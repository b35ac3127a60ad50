/* state_language.h: the language's names, the library's modules and the loading of scripts, as all rooms of
   interp/ reach them. host/language.c fills the table of names. */
#ifndef CUTTLE_STATE_LANGUAGE_H
#define CUTTLE_STATE_LANGUAGE_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* The language and Lua have no more names: tables of them are made for so many. */
enum { STATE_N_NAMES = 512 };

bool state_has_language(lua_State *L); /* [-0, +0, -] */
/* Pops the table of names, which state_push_language gives from now on. */
void state_set_language(lua_State *L);
/* The table of names [-0, +1, -]. */
void state_push_language(lua_State *L);
/* The name that the language has for the value at idx, the first in the alphabet [-0, +0..1, e]; false
   when it has none: nothing is pushed. */
bool state_push_name(lua_State *L, int idx);
/* A module that is loaded or preloaded ("cuttle.pretty"), as `require` would give it, whatever a script
   made of `require`; nil when there is none of this name [-0, +1, e]. */
void state_push_module(lua_State *L, const char *name);
/* A function of such a module, which there is [-0, +1, e]. */
void state_push_function(lua_State *L, const char *module, const char *name);

/* Loads the text of a chunk and remembers it for the kernel front end; leaves the function or a
   message on the stack, and returns Lua's status. `mode` as lua_load. */
int state_load(lua_State *L, const char *text, size_t len, const char *chunkname);
int state_load_file(lua_State *L, const char *path); /* NULL: standard input */

#endif
