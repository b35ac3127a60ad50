/* source_load.h: loading chunks so that their texts are at hand: for converting a function (source.h),
   and for messages that show a line. */
#ifndef CUTTLE_SOURCE_LOAD_H
#define CUTTLE_SOURCE_LOAD_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* luaL_loadbufferx and luaL_loadfilex that remember the text of what they load [-0, +1, m]. */
int src_load(lua_State *L, const char *text, size_t len, const char *chunkname, const char *mode);
/* src_load of a text that Lua has made this binary chunk of, by this name [-0, +1, m]. */
int src_load_known(lua_State *L, const char *text, size_t len, const char *chunkname,
                   const char *binary, size_t n);
int src_load_file(lua_State *L, const char *path, const char *mode); /* NULL: standard input */

/* The text of a chunk that errors call `chunk`, the latest of this name; false, and nothing is pushed,
   where it is not kept [-0, +0..1, m]. */
bool src_push_text(lua_State *L, const char *chunk);

/* A text that messages may show lines of, where none of this chunk was loaded. It is never a function's
   source: it may come from anybody [-0, +0, m]. */
void src_show(lua_State *L, const char *chunk, const char *text, size_t len);
/* src_push_text, or else the text that src_show was given last. For messages only [-0, +0..1, m]. */
bool src_push_shown(lua_State *L, const char *chunk);

/* Makes `load`, `loadfile`, `dofile` and `require` of this state remember. Once, with Lua's
   libraries open; those that are nil are left so [-0, +0, m]. */
void src_wrap_loaders(lua_State *L);

/* The texts of the chunks of that name, as lua_load takes it: a list, newest first; false, and nothing is
   pushed, where there are none [-0, +0..1, m]. */
bool src_push_texts(lua_State *L, const char *chunkname, size_t len);
/* The function that Lua made of the text at that index, if it is the first of these and src_load loaded it
   [-0, +0..1, m]. */
bool src_push_main(lua_State *L, const char *chunkname, size_t len, int text);

/* The same without what Lua skips in a file: the Lua text. */
bool src_push_file(lua_State *L, const char *path);

/* overwrite.c: the warning about a script that assigns to a name of the language. */

/* Looks through a chunk that is about to run, shown as `shown` in messages, for assignments to
   globals that are names of the language, and logs one line for each name, once in the life of the
   state, if the host takes a log. Notes in the state that a name of the language or of Lua's
   libraries is assigned [-0, +0, m]. */
void overwrite_check(lua_State *L, const char *shown, const char *text, size_t len);

#endif
