/* front_reads.h: what a trace read of the host: globals, upvalues of helpers, fields of tables. front_reads.c notes
   it, launch_reads.c keeps it with the specialisation and compares. */
#ifndef CUTTLE_FRONT_READS_H
#define CUTTLE_FRONT_READS_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "interp/text/rewrite.h"

typedef struct Front Front;

/* --- noting, while a trace runs --- */

void front_begin_reads(lua_State *L, Front *f);
/* The field `key` of the value at t is read, which it may inherit. Tables that the trace itself made are not noted,
   but those that they inherit from. */
void front_note_field(lua_State *L, Front *f, int t, int key);
void front_note_raw(lua_State *L, Front *f, int t, int key); /* of the table itself */
void front_note_event(lua_State *L, Front *f, int t,
                      const char *event); /* Lua looks for that metamethod of the value at t */
void front_note_length(lua_State *L, Front *f, int t);
/* The trace itself changes the table at t: any of its fields, or that one. */
void front_note_change(lua_State *L, int t);
void front_note_write(lua_State *L, int t, int key);
void front_note_upvalue_write(lua_State *L, const char *name); /* of the function that called C */
void front_note_upvalue(lua_State *L, int fn, int i);          /* of a function of the host */
/* The module at that index is what is loaded under the name. */
void front_note_loaded(lua_State *L, Front *f, int name, int module);
/* As src_convert; notes what the function reads of its own: its upvalues, and globals. */
int front_convert_function(lua_State *L, int idx, RwKind kind);
/* Pushes a function of a module of the library as a trace calls it; or else as it is. LUA_OK, or an error is at the
   top. */
int front_push_library(lua_State *L, const char *module, const char *name);

/* --- afterwards --- */

/* Pushes the places of the latest trace, {object = {key = true, or false: leave it out}}, or nil. An object is a function, whose keys are
   numbers of upvalues, or a table; of_library: those of names of the language and Lua's libraries only. */
void front_push_places(lua_State *L, bool of_library);
bool front_is_written(lua_State *L, int fn, int i); /* by the trace: the function's upvalue i */
void front_forget_reads(lua_State *L);
/* Keys, as light userdata, for all fields of a table, for its length and for its metatable. */
extern char front_whole_mark, front_length_mark, front_metatable_mark;

#endif
