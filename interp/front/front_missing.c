/* front_missing.c: the boxes of tables' fields, and the values of fields that have none. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "runtime/base/text.h"
#include "front_parts.h"

/* Tables in the registry, of the running trace:
     fields    table -> {key -> box}
     boxes     list of the boxes that are loaded again
     reads     table -> clock of the last read of a field
   and two texts about the last field that was read and was nil: the line, and the field. */
static char fields_key, boxes_key, reads_key, nil_line_key, nil_field_key;

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

/* --- fields that are nil ------------------------------------------------------------------------------ */

void front_note_nil(lua_State *L, int key) {
  lua_Debug ar;
  if (lua_type(L, key) == LUA_TSTRING && lua_getstack(L, 1, &ar) != 0 &&
      lua_getinfo(L, "Sl", &ar) != 0 && !diag_is_stdlib(ar.source)) {
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &nil_line_key);
    lua_pushvalue(L, key);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &nil_field_key);
  }
}

/* Has it the word nil? Not as a part of another word, as in "vanilla". */
static bool has_nil(const char *msg) {
  bool has = false;
  for (const char *at = strstr(msg, "nil"); at != NULL && !has; at = strstr(at + 1, "nil")) {
    has = (at == msg || !ct_is_word(at[-1])) && !ct_is_word(at[3]);
  }
  return has;
}

/* Is it about a value of nil that it does not name, and which is not the error itself, as in error(nil)? */
static bool is_about_nil(const char *msg) {
  bool names_it = strstr(msg, "nil value (") != NULL || strstr(msg, "the error is nil") != NULL;
  return !names_it && (has_nil(msg) || strstr(msg, "must be a number") != NULL);
}

void front_explain_nil(lua_State *L) {
  const char *msg = lua_tostring(L, -1);
  bool is_noted = lua_rawgetp(L, LUA_REGISTRYINDEX, &nil_line_key) == LUA_TSTRING;
  const char *where = is_noted ? lua_tostring(L, -1) : "";
  if (is_noted && strncmp(msg, where, strlen(where)) == 0 && is_about_nil(msg)) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &nil_field_key);
    lua_pushfstring(L, "%s; '%s' is nil", msg, lua_tostring(L, -1));
    lua_replace(L, -4);
    lua_pop(L, 1);
  }
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
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nil_line_key);
  front_new_table(L, &fields_key, NULL);
  front_new_table(L, &boxes_key, NULL);
  front_new_table(L, &reads_key, NULL);
}
