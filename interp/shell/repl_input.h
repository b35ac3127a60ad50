/* repl_input.h: from lines to a function to call. An input is an expression, a layout as CuTe writes
   it, or statements, over as many lines as it takes. */
#ifndef CUTTLE_REPL_INPUT_H
#define CUTTLE_REPL_INPUT_H

#include <lua.h>

#include "repl_edit.h"

enum { INPUT_CANCELLED = -1 }; /* Ctrl-C was pressed before it was complete */

/* Reads on, with `editor`, from the first line, which is at the top of the stack: it becomes the
   function, or the message of why there is none. Returns Lua's status, or INPUT_CANCELLED. `number`
   is that of the input, which its chunk is called after [-1, +1, m]. */
int input_load(lua_State *L, Editor *editor, int number);

/* The same of an input that the caller has whole, or as far as it goes: *more says that another line may
   complete it, and the message is then of no use [-1, +1, m]. */
int input_load_text(lua_State *L, int number, bool *more);

#endif
