/* fields.c: structs of the core as Lua tables. */
#include "fields.h"

#include <lauxlib.h>
#include <string.h>

void field_push_triple(lua_State *L, const int64_t v[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_dim3(lua_State *L, const CtDim3 *d) {
  field_push_triple(L, (const int64_t[]){d->x, d->y, d->z});
}

/* Little-endian: the bytes of a shorter integer are the low ones. */
static int64_t integer_at(const Field *f, const void *at) {
  int64_t v = 0;
  int unused = 64 - 8 * f->bytes;
  memcpy(&v, at, f->bytes);
  if (f->type == FIELD_INT) {
    return (int64_t)((uint64_t)v << unused) >> unused;
  }
  return v < 0 ? INT64_MAX : v;
}

static void push_field(lua_State *L, const Field *f, const void *at) {
  if (f->names != NULL) {
    lua_pushstring(L, f->names[integer_at(f, at)]);
    return;
  }
  switch (f->type) {
    case FIELD_TEXT: lua_pushstring(L, *(const char *const *)at); break;
    case FIELD_CHARS: lua_pushstring(L, at); break;
    case FIELD_TRIPLE: field_push_triple(L, at); break;
    case FIELD_DIM3: push_dim3(L, at); break;
    case FIELD_BOOL: lua_pushboolean(L, *(const bool *)at); break;
    case FIELD_F64: lua_pushnumber(L, *(const double *)at); break;
    case FIELD_INT:
    case FIELD_UINT: lua_pushinteger(L, integer_at(f, at)); break;
  }
}

void fields_set(lua_State *L, const Field *fields, size_t n, const void *of) {
  for (size_t i = 0; i < n; i++) {
    push_field(L, &fields[i], (const char *)of + fields[i].at);
    lua_setfield(L, -2, fields[i].name);
  }
}

void fields_push(lua_State *L, const Field *fields, size_t n, const void *of) {
  lua_createtable(L, 0, (int)n);
  fields_set(L, fields, n, of);
}

void field_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

void field_integer(lua_State *L, const char *name, int64_t v) {
  lua_pushinteger(L, v);
  lua_setfield(L, -2, name);
}

void field_bool(lua_State *L, const char *name, bool v) {
  lua_pushboolean(L, v);
  lua_setfield(L, -2, name);
}

void field_triple(lua_State *L, const char *name, const int64_t v[3]) {
  field_push_triple(L, v);
  lua_setfield(L, -2, name);
}

lua_Integer field_to_integer(lua_State *L, int idx, const char *name, lua_Integer absent) {
  lua_getfield(L, idx, name);
  lua_Integer v = luaL_optinteger(L, -1, absent);
  lua_pop(L, 1);
  return v;
}
