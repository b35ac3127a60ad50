/* packed_text.c: see packed_text.h. */
#include <lauxlib.h>

#include "packed_text.h"
#include "runtime/base/inflate.h"

enum {
  USUAL_RATIO = 5
}; /* of a text's bytes to those of the packed one; a text with more is unpacked twice */

void packed_text_push(lua_State *L, const char *bytes, size_t n) {
  const unsigned char *packed = (const unsigned char *)bytes;
  size_t room = USUAL_RATIO * n;
  luaL_Buffer buffer;
  size_t len = ct_inflate(packed, n, luaL_buffinitsize(L, &buffer, room), room);
  if (len == CT_INFLATE_BAD) {
    luaL_error(L, "inflate: the %d bytes are no packed text", (int)n);
  }
  if (len > room) {
    luaL_pushresultsize(&buffer, 0);
    lua_pop(L, 1);
    ct_inflate(packed, n, luaL_buffinitsize(L, &buffer, len), len);
  }
  luaL_pushresultsize(&buffer, len);
}

static int inflate(lua_State *L) {
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  packed_text_push(L, bytes, n);
  return 1;
}

int packed_text_open(lua_State *L) {
  lua_pushcfunction(L, inflate);
  return 1;
}
