/* diag_guess.h: what an unknown global may have meant. Only diag.c uses it. */
#ifndef CUTTLE_DIAG_GUESS_H
#define CUTTLE_DIAG_GUESS_H

#include <lua.h>

/* The message at the top of the stack; where it says that a global is nil that is written almost as a
   name of the language, or is CuTe's or MoYe's name for one, with that name [-1, +1, m]. */
void diag_guess_global(lua_State *L);

#endif
