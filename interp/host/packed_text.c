/* packed_text.c: see library.h. */
#include <lauxlib.h>

#include "library.h"
#include "runtime/base/inflate.h"

static void refuse(lua_State *L, size_t n) {
  luaL_error(L, "inflate: the %d bytes are no packed text", (int)n);
}

void packed_text_push(lua_State *L, const char *bytes, size_t n, size_t len) {
  luaL_Buffer buffer;
  char *text = luaL_buffinitsize(L, &buffer, len);
  if (ct_inflate((const unsigned char *)bytes, n, text, len) != len) {
    refuse(L, n);
  }
  luaL_pushresultsize(&buffer, len);
}

static int inflate(lua_State *L) {
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  size_t len = ct_inflate((const unsigned char *)bytes, n, NULL, 0);
  if (len == CT_INFLATE_BAD) {
    refuse(L, n);
  }
  packed_text_push(L, bytes, n, len);
  return 1;
}

int packed_text_open(lua_State *L) {
  lua_pushcfunction(L, inflate);
  return 1;
}
