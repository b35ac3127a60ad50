/* diag_guess.h: what an unknown global may have meant, or text that is C++. */
#ifndef CUTTLE_DIAG_GUESS_H
#define CUTTLE_DIAG_GUESS_H

#include <lua.h>
#include <stdbool.h>

/* The message at the top of the stack; where it says that something is nil that is written almost as a
   name of the language, or that other languages have, with what to write [-1, +1, m]. */
void diag_guess_global(lua_State *L);

/* The message at the top, of a text that does not parse; where that is what C++ or Python has, with what
   Lua has [-1, +1, m]. is_whole: nothing can follow it. */
void diag_guess_syntax(lua_State *L, const char *text, size_t len, bool is_whole);

#endif
