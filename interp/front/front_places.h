/* front_places.h: what front_reads.c and front_whole.c share: the places of the host that a trace reads. */
#ifndef CUTTLE_FRONT_PLACES_H
#define CUTTLE_FRONT_PLACES_H

#include "front_reads.h"

bool reads_is_globals(lua_State *L, int idx);
bool reads_is_library_function(lua_State *L, int idx); /* of C, or of the standard library */
bool reads_is_host(lua_State *L, int idx);             /* a table whose reads are noted */
/* All fields of the table, which is of the host, are read. */
void reads_mark_whole(lua_State *L, Front *f, int t);
/* Pushes the metatable of the value, or nil; which one a table of the host has is a place. */
void reads_push_metatable(lua_State *L, Front *f, int t);
/* Of a function of the script: its upvalues and, where they are known, globals. */
void reads_note_function(lua_State *L, Front *f, int fn, bool is_kernel);
void reads_note_written(lua_State *L, int fn, int i); /* its upvalue i, by the trace itself */

#endif
