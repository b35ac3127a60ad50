/* packed_text.h: texts that the binary carries as few bytes: see runtime/base/inflate.h. */
#ifndef CUTTLE_PACKED_TEXT_H
#define CUTTLE_PACKED_TEXT_H

#include <lua.h>
#include <stddef.h>

/* Pushes the text of `bytes`, which has `len` bytes; raises if they are no packed text of that length. */
void packed_text_push(lua_State *L, const char *bytes, size_t n, size_t len);

/* require "cuttle.inflate": pushes the function that makes a text of a string of bytes. */
int packed_text_open(lua_State *L);

#endif
