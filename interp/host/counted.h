/* counted.h: functions of the language refuse arguments that they would ignore. Those written in C get a check of
   how many their annotation in stdlib/meta names. */
#ifndef CUTTLE_COUNTED_H
#define CUTTLE_COUNTED_H

#include <lua.h>

/* For the functions and methods of the language, whose table is at the top [-0, +0, m]. */
void counted_add(lua_State *L);

#endif
