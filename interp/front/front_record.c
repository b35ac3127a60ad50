/* front_record.c: locals, results and fields that hold one table or another, by path of the kernel.

   Their Box has a *node*: a Lua table that mirrors the record, key by key. A number or boolean of the record is a
   variable of the kernel there, a table is a node again, and everything else is static: the same on every path.
   Binding a table stores its fields into the variables. Where paths meet, a *merged* table is made of the variables.
   It stands for one of the tables that were bound on these paths, but is none of them. So a change of it makes the
   field of those stale, and a change of one of those makes it stale: to use a stale field raises an error. Of two
   tables that were bound neither is the other. The *family* of a node has the tables of both kinds. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

char record_meta_key, record_order_key, record_family_key, record_current_key, record_box_key,
    record_stale_key, record_changed_key;
char record_nodes_key;

/* --- keys ------------------------------------------------------------------------- */

static bool comes_first(lua_State *L, int a, int b) {
  bool is_number = lua_type(L, a) == LUA_TNUMBER;
  if (is_number != (lua_type(L, b) == LUA_TNUMBER)) {
    return is_number;
  }
  return lua_compare(L, a, b, LUA_OPLT) != 0;
}

/* Puts the key at the top, popped, into its place in the list at `list`. */
static void insert_key(lua_State *L, int list) {
  int key = lua_gettop(L);
  lua_Integer i = (lua_Integer)lua_rawlen(L, list);
  for (; i > 0; i--) {
    lua_rawgeti(L, list, i);
    if (!comes_first(L, key, key + 1)) {
      break;
    }
    lua_rawseti(L, list, i + 1);
  }
  lua_settop(L, key);
  lua_rawseti(L, list, i + 1);
}

/* Pushes the list of the record's keys, in order: the text of a kernel depends on it. */
static void push_keys(lua_State *L, int record, const char *name) {
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, record) != 0) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING && lua_type(L, -1) != LUA_TNUMBER) {
      front_refuse(L, "'%s' has %s as a key under a run-time condition; use names or numbers", name,
                   diag_push_kind(L, -1));
    }
    lua_pushvalue(L, -1);
    insert_key(L, list);
  }
}

/* --- nodes ------------------------------------------------------------------------------------------------ */

/* Pushes a part of the node. */
int record_get_part(lua_State *L, int node, char *part) { return lua_rawgetp(L, node, part); }

/* Pops the part's value. */
void record_put_part(lua_State *L, int node, char *part) {
  node = lua_absindex(L, node);
  lua_rawsetp(L, node, part);
}

const char *record_push_name(lua_State *L, const char *name, int key) {
  bool is_word = lua_type(L, key) == LUA_TSTRING;
  lua_pushvalue(L, key);
  luaL_tolstring(L, -1, NULL);
  lua_pushfstring(L, is_word ? "%s.%s" : "%s[%s]", name, lua_tostring(L, -1));
  lua_replace(L, -3);
  lua_pop(L, 1);
  return lua_tostring(L, -1);
}

/* The table at idx is a member of the node's family, and the one that it holds now. */
static void join_family(lua_State *L, int node, int idx, bool is_merged) {
  record_get_part(L, node, &record_family_key);
  lua_pushvalue(L, idx);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
  lua_pushvalue(L, idx);
  record_put_part(L, node, &record_current_key);
  front_push_table(L, &record_nodes_key, idx);
  lua_pushvalue(L, node);
  lua_pushboolean(L, is_merged);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

static void push_node(lua_State *L, int box) {
  lua_newtable(L);
  lua_pushvalue(L, box);
  record_put_part(L, -2, &record_box_key);
  lua_newtable(L);
  record_put_part(L, -2, &record_family_key);
}

/* Pushes the nodes of the table at idx; false, and pushes nothing: it has none. */
bool record_push_nodes(lua_State *L, const Front *f, int idx) {
  if (f->n_records == 0) {
    return false;
  }
  if (front_push_entry(L, &record_nodes_key, idx) == LUA_TTABLE) {
    return true;
  }
  lua_pop(L, 1);
  return false;
}

/* The variable that t[key] is, of a table that some node holds; or 0. */
static CtVal variable_of(lua_State *L, const Front *f, int t, int key) {
  int top = lua_gettop(L);
  CtVal var = 0;
  if (record_push_nodes(L, f, t)) {
    lua_pushnil(L);
    while (var == 0 && lua_next(L, top + 1) != 0) {
      lua_pop(L, 1);
      record_get_part(L, top + 2, &record_current_key);
      bool is_current = lua_rawequal(L, -1, t);
      lua_pushvalue(L, key);
      lua_rawget(L, top + 2);
      const Box *leaf = box_test(L, -1);
      record_get_part(L, top + 2, &record_box_key);
      const Box *box = lua_touserdata(L, -1);
      bool holds = !box->is_gone && !box->is_result && box_is_assigned(f, box); /* on this path */
      var = is_current && leaf != NULL && holds ? leaf->var : 0;
      lua_settop(L, top + 2);
    }
  }
  lua_settop(L, top);
  return var;
}

/* The value that the table's field had before the operation. */
static void push_before(lua_State *L, Front *f, int t, int key, CtVal op) {
  const Box *box = field_push_box(L, t, key);
  bool is_box = box != NULL && box->kind == BOX_VAR && box_is_assigned(f, box);
  CtVal var = is_box ? box->var : variable_of(L, f, t, key);
  lua_pop(L, 1);
  if (var != 0) {
    value_push(L, ct_ir_get_before(f->ir, var, op));
  } else {
    lua_pushvalue(L, key);
    lua_rawget(L, t);
  }
}

/* Else a table in a node is static: one of the host. */
static bool is_node(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  bool is = lua_istable(L, idx) && record_get_part(L, idx, &record_box_key) != LUA_TNIL;
  lua_settop(L, lua_gettop(L) - (lua_istable(L, idx) ? 1 : 0));
  return is;
}

typedef struct Shape { /* of a node that begins */
  int box;             /* whose it is */
  const char *name;
  CtVal op;        /* the variables are stored before it */
  bool has_values; /* else they have none yet */
  int depth;
} Shape;

static void begin_node(lua_State *L, Front *f, const Shape *shape, int record);

/* Pushes what the node has for the field whose value is at the top, popped. */
static void push_part(lua_State *L, Front *f, const Shape *shape, int key) {
  int value = lua_gettop(L);
  const Box *root = lua_touserdata(L, shape->box);
  if (front_is_scalar(L, value)) {
    Box *leaf = box_push(L, f, BOX_VAR, record_push_name(L, shape->name, key));
    leaf->line = root->line;
    leaf->is_result = root->is_result;
    lua_replace(L, value + 1);
    if (shape->has_values) {
      box_begin(L, f, value + 1, value, shape->op);
    }
    lua_replace(L, value);
  } else if (record_is(L, f, value)) {
    Shape part = *shape;
    part.name = record_push_name(L, shape->name, key);
    part.depth++;
    begin_node(L, f, &part, value);
    lua_replace(L, value);
    lua_settop(L, value);
  }
}

/* Pushes a node of the shape of the record. */
static void begin_node(lua_State *L, Front *f, const Shape *shape, int record) {
  luaL_checkstack(L, 16, NULL);
  if (shape->depth > RECORD_MAX_NESTED) {
    front_refuse(L, "'%s' holds tables deeper than %d levels", shape->name, RECORD_MAX_NESTED);
  }
  push_node(L, shape->box);
  int node = lua_gettop(L);
  if (lua_getmetatable(L, record)) {
    record_put_part(L, node, &record_meta_key);
  }
  push_keys(L, record, shape->name);
  for (lua_Integer i = 1; lua_rawgeti(L, node + 1, i) != LUA_TNIL; i++) {
    if (shape->has_values) {
      push_before(L, f, record, node + 2, shape->op);
    } else {
      lua_pushvalue(L, node + 2);
      lua_rawget(L, record);
    }
    front_check_missing(L, -1);
    push_part(L, f, shape, node + 2);
    lua_rawset(L, node);
  }
  lua_settop(L, node + 1);
  record_put_part(L, node, &record_order_key);
  if (shape->has_values) {
    join_family(L, node, record, false);
  }
}

void record_begin(lua_State *L, Front *f, int box, int record, CtVal op) {
  box = lua_absindex(L, box);
  record = lua_absindex(L, record);
  Box *root = lua_touserdata(L, box);
  root->kind = BOX_RECORD;
  front_touch_state(f, root->born);
  Shape shape = {.box = box, .name = box_name(L, box), .op = op, .has_values = true};
  begin_node(L, f, &shape, record);
  lua_setiuservalue(L, box, BOX_NODE);
  lua_pushvalue(L, record);
  lua_setiuservalue(L, box, BOX_VALUE);
  f->n_records++;
}

/* The box at idx becomes a record that holds the table at value, or none yet if it is nil. */
void box_begin_record(lua_State *L, Front *f, int idx, int value, CtVal op) {
  Box *box = lua_touserdata(L, idx);
  box->kind = BOX_RECORD;
  box->is_gone = false;
  if (lua_isnil(L, value)) {
    box_take_nil_bit(L, f, box, idx);
  } else {
    record_begin(L, f, idx, value, op);
  }
  box->loaded_at = ++f->clock;
  front_list_box(L, idx);
  f->n_boxes++;
}

/* --- binding ------------------------------------------------------------------------------------------------ */

int record_fail_shape(lua_State *L, const char *name, const char *what) {
  return front_refuse(L,
                      "'%s' %s on one path but not on the other; give tables the same keys on "
                      "every path",
                      name, what);
}

static void check_keys(lua_State *L, int node, int record, const char *name) {
  lua_pushnil(L);
  while (lua_next(L, record) != 0) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, node) == LUA_TNIL) {
      record_fail_shape(L, record_push_name(L, name, lua_gettop(L) - 1), "has a value");
    }
    lua_pop(L, 1);
  }
  bool has_meta = lua_getmetatable(L, record) != 0;
  if (!has_meta) {
    lua_pushnil(L);
  }
  record_get_part(L, node, &record_meta_key);
  if (!lua_rawequal(L, -1, -2)) {
    front_refuse(L, "'%s' has one metatable on one path and another on the other", name);
  }
  lua_pop(L, 2);
}

static void store_node(lua_State *L, Front *f, int node, int record, const char *name);

/* The value at the top, popped, is stored into the part of the node that is below it, popped too. */
void record_store_part(lua_State *L, Front *f, const char *name) {
  int value = lua_gettop(L);
  int part = value - 1;
  if (box_test(L, part) != NULL) {
    if (!front_is_scalar(L, value)) {
      front_refuse(L, "'%s' is a number or boolean on one path but %s on another", name,
                   diag_push_kind(L, value));
    }
    box_store(L, f, part, value);
  } else if (is_node(L, part) && record_is(L, f, value)) {
    store_node(L, f, part, value, name);
  } else if (!lua_rawequal(L, part, value)) {
    front_refuse(L,
                 "'%s' is %s on one path but %s on another; a run-time branch can only choose "
                 "between numbers, booleans, and tables of these that the kernel made",
                 name, diag_push_kind(L, part), diag_push_kind(L, value));
  }
  lua_settop(L, part - 1);
}

static void store_node(lua_State *L, Front *f, int node, int record, const char *name) {
  luaL_checkstack(L, 16, NULL);
  int top = lua_gettop(L);
  front_note_table_read(L, f, record);
  check_keys(L, node, record, name);
  record_check_turns(L, f, node, record);
  record_get_part(L, node, &record_order_key);
  for (lua_Integer i = 1; lua_rawgeti(L, top + 1, i) != LUA_TNIL; i++) {
    int key = top + 2;
    const char *field = record_push_name(L, name, key);
    lua_pushvalue(L, key);
    lua_rawget(L, node);
    lua_pushvalue(L, key);
    if (lua_rawget(L, record) == LUA_TNIL) {
      record_fail_shape(L, field, "has a value");
    }
    front_check_missing(L, -1);
    record_store_part(L, f, field);
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  join_family(L, node, record, false);
}

/* Pushes the node of the box; one of the record's shape if it has none yet. */
static void need_node(lua_State *L, Front *f, int box, int record) {
  if (lua_getiuservalue(L, box, BOX_NODE) == LUA_TNIL) {
    lua_pop(L, 1);
    Shape shape = {.box = box, .name = box_name(L, box)};
    begin_node(L, f, &shape, record);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, box, BOX_NODE);
    f->n_records++;
  }
}

void record_bind(lua_State *L, Front *f, int box, int record) {
  box = lua_absindex(L, box);
  record = lua_absindex(L, record);
  int top = lua_gettop(L);
  front_at(L, f);
  need_node(L, f, box, record);
  store_node(L, f, top + 1, record, box_name(L, box));
  Box *b = lua_touserdata(L, box);
  lua_pushvalue(L, record);
  lua_setiuservalue(L, box, BOX_VALUE);
  box_set_assigned(f, b);
  b->loaded_at = b->stored_at = ++f->clock;
  lua_settop(L, top);
}

/* --- loading ------------------------------------------------------------------------------------------------- */

static void push_record(lua_State *L, Front *f, int node);

/* Pushes what the node's field holds here. */
static void push_field(lua_State *L, Front *f, int node, int key) {
  int top = lua_gettop(L);
  if (record_get_part(L, node, &record_stale_key) == LUA_TTABLE) {
    lua_pushvalue(L, key);
    if (lua_rawget(L, top + 1) != LUA_TNIL) {
      front_push_missing(L);
      lua_replace(L, top + 1);
      return;
    }
  }
  lua_settop(L, top);
  lua_pushvalue(L, key);
  lua_rawget(L, node);
  if (box_test(L, top + 1) != NULL) {
    box_load(L, f, top + 1);
    lua_replace(L, top + 1);
  } else if (is_node(L, top + 1)) {
    push_record(L, f, top + 1);
    lua_replace(L, top + 1);
  }
}

/* Pushes a new table of what the node holds here. */
static void push_record(lua_State *L, Front *f, int node) {
  luaL_checkstack(L, 16, NULL);
  int top = lua_gettop(L);
  lua_newtable(L);
  record_get_part(L, node, &record_order_key);
  for (lua_Integer i = 1; lua_rawgeti(L, top + 2, i) != LUA_TNIL; i++) {
    push_field(L, f, node, top + 3);
    lua_rawset(L, top + 1);
  }
  lua_settop(L, top + 1);
  if (record_get_part(L, node, &record_meta_key) != LUA_TNIL) {
    lua_setmetatable(L, top + 1);
  }
  lua_settop(L, top + 1);
  front_set_birth(L, f);
  join_family(L, node, top + 1, true);
}

void record_load(lua_State *L, Front *f, int box) {
  Box *b = lua_touserdata(L, box);
  int top = lua_gettop(L);
  if (lua_getiuservalue(L, box, BOX_NODE) != LUA_TTABLE || !box_is_assigned(f, b)) {
    lua_pushfstring(L, "'%s' has no value on some path to here; give it one where it is declared",
                    box_name(L, box));
    front_push_missing(L);
  } else {
    push_record(L, f, top + 1);
  }
  lua_setiuservalue(L, box, BOX_VALUE);
  b->loaded_at = ++f->clock;
  lua_settop(L, top);
}

/* The node, and those in it, belong to the box at `box` from now on. */
static void give_to(lua_State *L, int node, int box) {
  luaL_checkstack(L, 8, NULL);
  lua_pushvalue(L, box);
  record_put_part(L, node, &record_box_key);
  lua_pushnil(L);
  while (lua_next(L, node) != 0) {
    bool is_field = lua_type(L, -2) != LUA_TLIGHTUSERDATA;
    if (is_field && is_node(L, -1)) {
      give_to(L, lua_gettop(L), box);
    }
    lua_pop(L, 1);
  }
}

void record_leave(lua_State *L, Front *f, int box) {
  int top = lua_gettop(L);
  if (lua_getiuservalue(L, box, BOX_NODE) == LUA_TTABLE) {
    box_push(L, f, BOX_RECORD, box_name(L, box))->is_gone = true;
    give_to(L, top + 1, top + 2);
  }
  lua_pushnil(L);
  lua_setiuservalue(L, box, BOX_NODE);
  lua_settop(L, top);
}

/* Pushes the only table that was ever bound to the box, or nil. */
void record_push_only(lua_State *L, int box) {
  int top = lua_gettop(L);
  lua_getiuservalue(L, box, BOX_NODE);
  record_get_part(L, top + 1, &record_family_key);
  lua_rawgeti(L, top + 2, 1);
  for (lua_Integer i = 2; lua_rawgeti(L, top + 2, i) != LUA_TNIL; i++) {
    if (!lua_rawequal(L, -1, top + 3)) {
      lua_pushnil(L);
      lua_replace(L, top + 3);
    }
    lua_settop(L, top + 3);
  }
  lua_settop(L, top + 3);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

void front_begin_records(lua_State *L, Front *f) {
  f->n_records = 0;
  front_new_table(L, &record_nodes_key, NULL);
}
