/* note.h: remarks on what an input at the prompt meant, such as which of two readings was taken. The
   prompt prints them after the input's results. Only what the input itself calls is remarked on:
   a function of a file knows what it means. */
#ifndef CUTTLE_NOTE_H
#define CUTTLE_NOTE_H

#include <lua.h>

#include "state.h"

/* Chunks of inputs are called this and their number. */
#define NOTE_INPUT_PREFIX "=input "

/* Whether a note would be printed: the running function was called by an input at the prompt of a
   terminal. Ask before doing work for a note. */
bool note_is_wanted(lua_State *L);

/* Adds a note of one line, by lua_pushfstring's format; the same one only once an input [-0, +0, m]. */
void note_add(lua_State *L, const char *fmt, ...);

/* Prints the notes of the input that has run, and forgets them [-0, +0, e]. */
void note_print(lua_State *L);

#endif
