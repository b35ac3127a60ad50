/* front_missing.c: the boxes of tables' fields, and the values of fields that have none. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

/* Tables in the registry, of the running trace:
     fields    table -> {key -> box}
     boxes     list of the boxes that are loaded again
     reads     table -> clock of the last read of a field */
static char fields_key, boxes_key, reads_key;

/* --- missing values --------------------------------------------------------------------------------- */

#define MISSING_TYPE "cuttle.missing"

void front_push_missing(lua_State *L) { /* the message at the top becomes one */
  lua_newuserdatauv(L, 0, 1);
  lua_insert(L, -2);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, MISSING_TYPE);
}

void front_check_missing(lua_State *L, int idx) {
  if (lua_type(L, idx) == LUA_TUSERDATA && luaL_testudata(L, idx, MISSING_TYPE) != NULL) {
    lua_getiuservalue(L, idx, 1);
    front_refuse(L, "%s", lua_tostring(L, -1));
  }
}

static int missing_used(lua_State *L) {
  front_check_missing(L, 1);
  front_check_missing(L, 2);
  return 0;
}

void front_refuse_uses(lua_State *L, const char *type, lua_CFunction used) {
  static const char *const events[] = {"__add",  "__sub", "__mul",  "__div",   "__mod",
                                       "__pow",  "__unm", "__idiv", "__band",  "__bor",
                                       "__bxor", "__shl", "__shr",  "__bnot",  "__concat",
                                       "__len",  "__lt",  "__le",   "__index", "__call"};
  luaL_newmetatable(L, type);
  for (size_t i = 0; i < CT_ARRAY_LEN(events); i++) {
    lua_pushcfunction(L, used);
    lua_setfield(L, -2, events[i]);
  }
}

void front_open_fields(lua_State *L) {
  static const luaL_Reg more[] = {
      {"__newindex", missing_used}, {"__eq", missing_used}, {NULL, NULL}};
  front_refuse_uses(L, MISSING_TYPE, missing_used);
  luaL_setfuncs(L, more, 0);
  lua_pop(L, 1);
}

/* --- the boxes of fields ------------------------------------------------------------------------------ */

/* Pushes the box of the table's field, or nil. */
Box *field_push_box(lua_State *L, int t, int key) {
  if (front_push_entry(L, &fields_key, t) == LUA_TTABLE) {
    lua_pushvalue(L, key);
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  return box_test(L, -1);
}

/* The table keeps the box at the top, or nil, which is popped. */
void field_keep_box(lua_State *L, int t, int key) {
  front_push_table(L, &fields_key, t);
  lua_pushvalue(L, key);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

void front_list_box(lua_State *L, int box) {
  box = lua_absindex(L, box);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &boxes_key);
  lua_pushvalue(L, box);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
}

void front_each_box(lua_State *L, Front *f, void (*each)(lua_State *L, Front *f)) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &boxes_key);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    each(L, f);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
}

void front_forget_field(lua_State *L, int t, int key) {
  Box *box = field_push_box(L, t, key);
  if (box != NULL) {
    box->is_gone = true;
    lua_pushnil(L);
    field_keep_box(L, t, key);
  }
  lua_pop(L, 1);
}

void front_forget_fields(lua_State *L, int t) {
  t = lua_absindex(L, t);
  if (front_push_entry(L, &fields_key, t) == LUA_TTABLE) {
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
      ((Box *)lua_touserdata(L, -1))->is_gone = true;
      lua_pop(L, 1);
    }
    lua_pushnil(L);
    front_set_entry(L, &fields_key, t);
  }
  lua_pop(L, 1);
}

bool front_changed_since(lua_State *L, int t, uint64_t at) {
  bool changed = false;
  if (front_push_entry(L, &fields_key, t) == LUA_TTABLE) {
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
      changed = changed || ((const Box *)lua_touserdata(L, -1))->stored_at > at;
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return changed;
}

/* --- reads ------------------------------------------------------------------------------------------------ */

void front_note_table_read(lua_State *L, Front *f, int t) {
  if (front_in_loop(f, L)) {
    front_set_number(L, &reads_key, t, ++f->clock);
  }
}

uint64_t front_last_read(lua_State *L, int t) { return front_get_number(L, &reads_key, t); }

void front_begin_fields(lua_State *L, Front *f) {
  f->n_boxes = 0;
  front_new_table(L, &fields_key, NULL);
  front_new_table(L, &boxes_key, NULL);
  front_new_table(L, &reads_key, NULL);
}
