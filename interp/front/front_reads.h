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
/* The field `key` of the value at t is read. Tables that the trace itself made are not noted. */
void front_note_field(lua_State *L, Front *f, int t, int key);
void front_note_length(lua_State *L, int t);
/* The trace itself changes the table at t: any of its fields, or that one. */
void front_note_change(lua_State *L, int t);
void front_note_write(lua_State *L, int t, int key);
void front_note_upvalue_write(lua_State *L, const char *name); /* of the function that called C */
/* For the hook on calls: the function at fn is called, which looks into tables by itself. */
void front_note_call(lua_State *L, const lua_Debug *ar, int fn);
bool front_is_runtime(lua_State *L, const Front *f,
                      int fn); /* a runtime function of the rewriter */
/* As src_convert; notes what the function reads of its own: its upvalues, and globals. */
int front_convert_function(lua_State *L, int idx, RwKind kind);

/* A function that the trace runs as it is: notes its upvalues, and tables among them whole. */
void front_note_host_function(lua_State *L, int fn);

/* --- afterwards --- */

/* Pushes the places of the latest trace, {object = {key = true, or false: leave it out}}, or nil. An object is a function, whose keys are
   numbers of upvalues, or a table; of_library: those of names of the language and Lua's libraries only. */
void front_push_places(lua_State *L, bool of_library);
bool front_is_written(lua_State *L, int fn, int i); /* by the trace: the function's upvalue i */
void front_forget_reads(lua_State *L);
/* Keys, as light userdata, for all fields of a table, and for its length. */
extern char front_whole_mark, front_length_mark;

void front_open_reads(lua_State *L); /* with the globals of Lua's libraries in place */

#endif
