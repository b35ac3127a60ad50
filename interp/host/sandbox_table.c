/* sandbox_table.c: the sandbox's functions of `table`. A metatable makes a table as long as a script likes,
   in no memory at all, and C functions as metamethods meet no hook: so each element is charged. Tables
   without one go to Lua's own, whose loops memory limits. */
#include <lauxlib.h>
#include <limits.h>

#include "interp/state/diag.h"
#include "sandbox.h"

/* Every call polls, as one may take milliseconds. Goes to Lua's own, upvalue 1, unless the value at idx
   is something with a metatable. */
static bool is_plain(lua_State *L, int idx) {
  state_charge(L, state_of(L), 1);
  if (lua_getmetatable(L, idx) == 0) {
    return true;
  }
  lua_pop(L, 1);
  return false;
}

/* t[to] = f[from], a step. */
static void move_one(lua_State *L, CuttleState *s, int f, lua_Integer from, int t, lua_Integer to) {
  state_charge(L, s, 1);
  lua_geti(L, f, from);
  lua_seti(L, t, to);
}

/* table.insert(t, [pos,] value) */
static int insert(lua_State *L) {
  if (lua_gettop(L) != 3 || is_plain(L, 1)) {
    return standard_call_original(L);
  }
  CuttleState *s = state_of(L);
  lua_Unsigned last = (lua_Unsigned)luaL_len(L, 1) + 1;
  lua_Integer pos = luaL_checkinteger(L, 2);
  luaL_argcheck(L, (lua_Unsigned)pos - 1 < last, 2, "position out of bounds");
  for (lua_Integer i = (lua_Integer)last; i > pos; i--) {
    move_one(L, s, 1, i - 1, 1, i);
  }
  lua_seti(L, 1, pos);
  return 0;
}

/* table.remove(t[, pos]) */
static int remove_at(lua_State *L) {
  if (is_plain(L, 1)) {
    return standard_call_original(L);
  }
  CuttleState *s = state_of(L);
  lua_Integer size = luaL_len(L, 1), pos = luaL_optinteger(L, 2, size);
  luaL_argcheck(L, pos == size || (lua_Unsigned)pos - 1 <= (lua_Unsigned)size, 2,
                "position out of bounds");
  lua_geti(L, 1, pos);
  for (; pos < size; pos++) {
    move_one(L, s, 1, pos + 1, 1, pos);
  }
  lua_pushnil(L);
  lua_seti(L, 1, pos);
  return 1;
}

/* Raises unless the value at idx is a table, or may act as one. */
static void check_table(lua_State *L, int idx) {
  if (lua_type(L, idx) != LUA_TTABLE) {
    luaL_argexpected(L, lua_getmetatable(L, idx) != 0, idx, "table");
    lua_pop(L, 1);
  }
}

/* table.move(from, first, last, at[, to]): in the order that Lua's own takes. Of a plain table, too, as many
   elements as one likes, all nil. */
static int move(lua_State *L) {
  int to = lua_isnoneornil(L, 5) ? 1 : 5;
  CuttleState *s = state_of(L);
  check_table(L, 1);
  check_table(L, to);
  lua_Integer f = luaL_checkinteger(L, 2), e = luaL_checkinteger(L, 3);
  lua_Integer t = luaL_checkinteger(L, 4);
  if (e >= f) {
    luaL_argcheck(L, f > 0 || e < LUA_MAXINTEGER + f, 3, "too many elements to move");
    luaL_argcheck(L, t <= LUA_MAXINTEGER - (e - f), 4, "destination wrap around");
    bool upwards = t > e || t <= f || (to != 1 && !lua_compare(L, 1, to, LUA_OPEQ));
    for (lua_Integer i = 0; i <= e - f; i++) {
      lua_Integer at = upwards ? i : e - f - i;
      move_one(L, s, 1, f + at, to, t + at);
    }
  }
  lua_pushvalue(L, to);
  return 1;
}

static void add_element(lua_State *L, luaL_Buffer *b, lua_Integer i) {
  lua_geti(L, 1, i);
  if (!lua_isstring(L, -1)) {
    luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1),
               (LUAI_UACINT)i);
  }
  luaL_addvalue(b);
}

/* table.concat(t[, sep[, i[, j]]]) */
static int concat(lua_State *L) {
  if (is_plain(L, 1)) {
    return standard_call_original(L);
  }
  CuttleState *s = state_of(L);
  luaL_Buffer b;
  size_t len;
  lua_Integer size = luaL_len(L, 1);
  const char *sep = luaL_optlstring(L, 2, "", &len);
  lua_Integer i = luaL_optinteger(L, 3, 1), last = luaL_optinteger(L, 4, size);
  luaL_buffinit(L, &b);
  for (; i < last; i++) {
    state_charge(L, s, 1);
    add_element(L, &b, i);
    luaL_addlstring(&b, sep, len);
  }
  if (i == last) {
    add_element(L, &b, i);
  }
  luaL_pushresult(&b);
  return 1;
}

/* table.unpack(t[, i[, j]]) */
static int unpack(lua_State *L) {
  if (is_plain(L, 1)) {
    return standard_call_original(L);
  }
  CuttleState *s = state_of(L);
  lua_Integer i = luaL_optinteger(L, 2, 1);
  lua_Integer last = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
  if (i > last) {
    return 0;
  }
  lua_Unsigned n = (lua_Unsigned)last - (lua_Unsigned)i;
  if (n >= (lua_Unsigned)INT_MAX || !lua_checkstack(L, (int)(n + 1))) {
    return luaL_error(L, "too many results to unpack");
  }
  for (; i < last; i++) {
    state_charge(L, s, 1);
    lua_geti(L, 1, i);
  }
  lua_geti(L, 1, last);
  return (int)n + 1;
}

/* The order of a sort. Upvalue 1: the script's, or nil. */
static int compare(lua_State *L) {
  state_charge(L, state_of(L), 1);
  if (lua_isnil(L, lua_upvalueindex(1))) {
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* table.sort(t[, less]): Lua's own, which asks between any two elements that it touches. */
static int sort(lua_State *L) {
  if (!lua_isnoneornil(L, 2)) {
    luaL_checktype(L, 2, LUA_TFUNCTION);
  }
  lua_settop(L, 2);
  lua_pushcclosure(L, compare, 1);
  return standard_call_original(L);
}

void sandbox_open_table(lua_State *L) {
  lua_getglobal(L, "table");
  standard_replace(L, "insert", insert);
  standard_replace(L, "remove", remove_at);
  standard_replace(L, "move", move);
  standard_replace(L, "concat", concat);
  standard_replace(L, "unpack", unpack);
  standard_replace(L, "sort", sort);
  lua_pop(L, 1);
}
