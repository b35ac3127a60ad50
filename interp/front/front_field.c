/* front_field.c: fields of tables that change under run-time conditions.

   Such a field gets a Box, as a local does: a variable of the kernel, or a record (front_record.c). The table itself
   always holds the field's value at this point, so that whoever reads it needs to know nothing: the value is loaded
   again where conditions and loops end, and where loops begin. A field that has no value on some path holds a
   "missing" meanwhile, which raises its message when it is used. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

/* --- loading ----------------------------------------------------------------------------------------- */

/* Stack: box. What its owner holds is loaded here. */
static void load(lua_State *L, Front *f) {
  int at = lua_gettop(L);
  Box *box = lua_touserdata(L, at);
  bool has_owner = lua_getiuservalue(L, at, BOX_OWNER) == LUA_TTABLE;
  if (box->kind == BOX_RECORD) {
    record_load(L, f, at);
    lua_getiuservalue(L, at, BOX_VALUE);
  } else if (box_is_assigned(f, box)) {
    box_load(L, f, at);
  } else {
    lua_pushfstring(L,
                    "'%s' has no value on some path to here; give it one where the table is made",
                    box_name(L, at));
    front_push_missing(L);
  }
  if (has_owner) {
    lua_getiuservalue(L, at, BOX_KEY);
    lua_insert(L, -2);
    lua_rawset(L, at + 1);
  }
  box->loaded_at = ++f->clock;
  lua_settop(L, at);
}

static void load_if_newer(lua_State *L, Front *f) {
  const Box *box = lua_touserdata(L, -1);
  if (box->loaded_at > f->loads_since && !box->is_gone) {
    load(L, f);
  }
}

void front_reload(lua_State *L, Front *f, uint64_t since) {
  if (f->n_boxes == 0 || f->dead) {
    return;
  }
  luaL_checkstack(L, 24, NULL);
  front_at(L, f);
  f->loads_since = since;
  front_each_box(L, f, load_if_newer);
}

/* --- a field becomes a variable ------------------------------------------------------------------------ */

/* Pushes "best.value" for the table that messages call "local 'best'", or "best[1]". */
static const char *push_name(lua_State *L, int desc, int key) {
  const char *what = lua_tostring(L, desc);
  const char *quote = what == NULL ? NULL : strchr(what, '\'');
  size_t len = quote == NULL ? 0 : strcspn(quote + 1, "'");
  lua_pushlstring(L, quote == NULL ? "table" : quote + 1, quote == NULL ? 5 : len);
  bool is_word = lua_type(L, key) == LUA_TSTRING;
  lua_pushvalue(L, key);
  luaL_tolstring(L, -1, NULL);
  lua_pushfstring(L, is_word ? "%s.%s" : "%s[%s]", lua_tostring(L, -3), lua_tostring(L, -1));
  lua_replace(L, -4);
  lua_pop(L, 2);
  return lua_tostring(L, -1);
}

static bool may_vary(lua_State *L, int idx) { return lua_isnil(L, idx) || front_is_scalar(L, idx); }

/* Makes a box for the field, whose value is at the top, popped; pushes the box. */
static Box *begin_field(lua_State *L, Front *f, int t, int key, const char *name, CtVal op) {
  int value = lua_gettop(L);
  bool is_record = lua_istable(L, value);
  Box *box = box_push(L, f, is_record ? BOX_RECORD : BOX_VAR, name);
  box->line = front_birth_line(L, t);
  box->born = front_birth(L, t);
  lua_pushvalue(L, t);
  lua_setiuservalue(L, value + 1, BOX_OWNER);
  lua_pushvalue(L, key);
  lua_setiuservalue(L, value + 1, BOX_KEY);
  if (is_record) {
    record_begin(L, f, value + 1, value, op);
  } else {
    box_begin(L, f, value + 1, value, op);
  }
  lua_pushvalue(L, value + 1);
  field_keep_box(L, t, key);
  front_list_box(L, value + 1);
  f->n_boxes++;
  lua_remove(L, value);
  return box;
}

/* Does the cell at idx hold a record, or nothing yet and one later? */
static bool cell_is_record(lua_State *L, const Front *f, int idx) {
  lua_getiuservalue(L, idx, BOX_VALUE);
  bool is_nil = lua_isnil(L, -1);
  bool is_record = record_is(L, f, lua_gettop(L));
  lua_pop(L, 1);
  return is_record || (is_nil && front_learnt_kind(L, front_number_of(L, idx)) == LEARNT_RECORD);
}

/* Makes the cell at idx a variable from before the oldest condition on; false: it cannot be one. */
bool box_make_cell(lua_State *L, Front *f, int idx, CtVal op) {
  lua_getiuservalue(L, idx, BOX_VALUE);
  int value = lua_gettop(L);
  bool is_record = cell_is_record(L, f, idx);
  bool is_value = lua_isnil(L, value) || front_is_scalar(L, value);
  if (op != 0 && is_record) {
    box_begin_record(L, f, idx, value, op);
  } else if (op != 0 && is_value) {
    box_begin(L, f, idx, value, op);
  }
  lua_settop(L, value - 1);
  return op != 0 && (is_record || is_value);
}

static void begin_cell(lua_State *L, Front *f, int idx, const Frame *entered) {
  const Box *box = lua_touserdata(L, idx);
  Since since = front_since(f, L, box->born);
  if (box->kind == BOX_CELL && since.any &&
      front_may_begin(&since, entered, cell_is_record(L, f, idx))) {
    box_make_cell(L, f, lua_absindex(L, idx), since.op);
  }
}

/* Stack: {number, key, name, has_value}, table, key. */
static void begin_learnt_field(lua_State *L, Front *f, const Frame *entered) {
  int key = lua_gettop(L);
  int t = key - 1;
  Since since = front_since(f, L, front_birth(L, t));
  lua_rawgeti(L, t - 1, 3);
  lua_rawgeti(L, t - 1, 4);
  bool has_value = lua_toboolean(L, key + 2);
  bool has_box = field_push_box(L, t, key) != NULL;
  lua_pushvalue(L, key);
  lua_rawget(L, t);
  bool is_record = record_is(L, f, -1);
  bool fits = has_value != lua_isnil(L, -1) && (may_vary(L, -1) || is_record);
  if (!has_box && fits && since.any && front_may_begin(&since, entered, is_record)) {
    begin_field(L, f, t, key, lua_tostring(L, key + 1), since.op);
    load(L, f);
  }
  lua_settop(L, key);
}

/* Stack: {number, key, name, has_value}, the object that has the number. It is another object than the trace before
   has met there if a cell has a key, or a table none. */
static void apply(lua_State *L, Front *f, const Frame *entered) {
  int object = lua_gettop(L);
  bool is_cell = box_test(L, object) != NULL;
  lua_rawgeti(L, object - 1, 2);
  if (is_cell && lua_isnil(L, -1)) {
    begin_cell(L, f, object, entered);
  } else if (lua_istable(L, object) && !lua_isnil(L, -1)) {
    begin_learnt_field(L, f, entered);
  }
  lua_settop(L, object);
}

void front_enter(lua_State *L, Front *f, Frame *frame) {
  luaL_checkstack(L, 24, NULL);
  front_each_learnt(L, f, frame, apply);
  if (frame->kind == FRAME_LOOP) {
    front_reload(L, f, 0);
  }
}

/* --- a field is assigned ----------------------------------------------------------------------------------- */

/* Lua's own value, the same as before: 1 and 1.0 are two. */
static bool is_same(lua_State *L, int a, int b) {
  return lua_rawequal(L, a, b) && lua_isinteger(L, a) == lua_isinteger(L, b);
}

static int fail_host(lua_State *L, const char *name) {
  return front_refuse(L,
                      "'%s' belongs to a table that the kernel did not make, and is changed "
                      "under a run-time condition; copy the table inside the kernel first",
                      name);
}

/* Of a table that this trace made, under a condition. The value is at `value`, the old one at `old`. */
static void check_value(lua_State *L, Front *f, int t, int key, int value, int old,
                        const char *name) {
  int line = front_birth_line(L, t);
  if (lua_isnil(L, value)) {
    front_refuse(L,
                 "'%s' of the table of line %d is set to nil under a run-time condition; give it a "
                 "number that means nothing, such as -1",
                 name, line);
  }
  if (lua_isnil(L, old) && (lua_isinteger(L, key) || lua_istable(L, value))) {
    front_refuse(L,
                 "'%s' of the table of line %d gets its first value under a run-time "
                 "condition; give it one where the table is made",
                 name, line);
  }
  bool fits = (front_is_scalar(L, value) && may_vary(L, old)) ||
              (record_is(L, f, value) && record_is(L, f, old));
  if (!fits) {
    front_refuse(L,
                 "'%s' of the table of line %d holds %s and is given %s under a run-time "
                 "condition; a field can change between numbers, booleans, and tables that the "
                 "kernel made",
                 name, line, diag_push_kind(L, old), diag_push_kind(L, value));
  }
}

static int fail_place(lua_State *L, int t, const char *name) {
  return front_refuse(L,
                      "'%s' of the table of line %d is changed in the right side of 'and' or 'or'; "
                      "write an 'if'",
                      name, front_birth_line(L, t));
}

/* The box of the field, pushed, a variable from before the oldest condition on. */
static void need_box(lua_State *L, Front *f, int t, int key, int old, Since since,
                     const char *name) {
  if (field_push_box(L, t, key) != NULL) {
    return;
  }
  lua_pop(L, 1);
  bool is_record = lua_istable(L, old);
  if (since.op == 0) {
    fail_place(L, t, name);
  }
  if (!front_may_begin(&since, NULL, is_record)) { /* from here on this trace only learns */
    front_learn(L, f, since.place, t, key, name, !lua_isnil(L, old), LEARNT_VALUE);
  }
  lua_pushvalue(L, old);
  begin_field(L, f, t, key, name, since.op);
}

static void store(lua_State *L, Front *f, int t, int key, int value, int desc, Since since) {
  int top = lua_gettop(L);
  const char *name = push_name(L, desc, key);
  uint64_t born = front_birth(L, t);
  if (born <= f->began) {
    fail_host(L, name);
  }
  lua_pushvalue(L, key);
  lua_rawget(L, t);
  front_check_missing(L, top + 2);
  front_check_missing(L, value);
  check_value(L, f, t, key, value, top + 2, name);
  f->touched = born < f->touched ? born : f->touched;
  need_box(L, f, t, key, top + 2, since, name);
  Box *box = lua_touserdata(L, -1);
  if (box->kind == BOX_RECORD) {
    record_bind(L, f, top + 3, value);
    lua_pushvalue(L, key);
    lua_pushvalue(L, value);
    lua_rawset(L, t);
    box->loaded_at = ++f->clock;
  } else {
    box_store(L, f, top + 3, value);
    load(L, f);
  }
  box->stored_at = ++f->clock;
  lua_settop(L, top);
}

bool front_set_field(lua_State *L, Front *f, int t, int key, int value, int desc) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 24, NULL);
  lua_pushvalue(L, key);
  lua_rawget(L, t);
  bool is_new = lua_isnil(L, -1);
  if (is_new && luaL_getmetafield(L, t, "__newindex") != LUA_TNIL) {
    lua_settop(L, top);
    return false;
  }
  Since since = front_since(f, L, front_birth(L, t));
  bool same = since.any && is_same(L, -1, value) && field_push_box(L, t, key) == NULL;
  lua_settop(L, top);
  if (same) {
    return true;
  }
  if (since.any) {
    store(L, f, t, key, value, desc, since);
  } else {
    front_touch_state(f, front_birth(L, t));
    front_forget_field(L, t, key);
  }
  record_changed(L, f, t, key, value);
  return since.any;
}
