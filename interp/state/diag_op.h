/* diag_op.h: whose name an error carries. Only diag.c uses it. */
#ifndef CUTTLE_DIAG_OP_H
#define CUTTLE_DIAG_OP_H

#include <lua.h>

/* The message at the top of the stack, where it begins with the name of a part that the running
   operation is made of ("integer: ", "layout: "), begins with that of the operation that the script
   called instead ("size: ") [-1, +1, m]. */
void diag_name_operation(lua_State *L);

#endif
