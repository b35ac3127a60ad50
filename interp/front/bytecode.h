/* bytecode.h: functions in what lua_dump writes. */
#ifndef CUTTLE_BYTECODE_H
#define CUTTLE_BYTECODE_H

#include <stddef.h>

/* How many functions of the dump `all`, its main function and those in it, are byte for byte the main function of
   the dump `part`. Bytes of constants are no function, whatever they hold. 0 where one is not as Lua 5.4 writes it. */
int bytecode_count(const char *all, size_t all_len, const char *part, size_t part_len);

#endif
