/* front_alias.c: changes of tables that may be one another: what a node holds follows the change, or becomes stale. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

bool record_is_bound(lua_State *L, const Front *f, int t) {
  bool is = record_push_nodes(L, f, t);
  lua_pop(L, is);
  return is;
}

/* Notes the table at the top, and those in it. */
static void note_all(lua_State *L, Front *f, int depth) {
  luaL_checkstack(L, 8, NULL);
  if (!record_is(L, f, -1) || depth > RECORD_MAX_NESTED) {
    return;
  }
  front_note_table_read(L, f, -1);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    note_all(L, f, depth + 1);
    lua_pop(L, 1);
  }
}

void record_note_call(lua_State *L, Front *f, const lua_Debug *ar, bool is_flat) {
  for (int n = 1; lua_getlocal(L, ar, n) != NULL; n++) {
    if (!is_flat) {
      note_all(L, f, 0);
    } else if (record_is(L, f, -1)) {
      front_note_table_read(L, f, -1);
    }
    lua_pop(L, 1);
  }
}

/* Was what was born at `born` and read at `read` read in an earlier part of a loop that goes on? */
static bool is_read_in_loop(lua_State *L, Front *f, uint64_t born, uint64_t read) {
  Since since = front_since(f, L, born);
  return since.loop != NULL && read > since.loop->runtime_at;
}

static const char *push_stale(lua_State *L, int node, int changed) {
  record_get_part(L, node, &record_box_key);
  const char *name = box_name(L, -1);
  lua_Debug ar;
  int line = diag_find_script(L, &ar) ? ar.currentline : 0;
  lua_pushfstring(L,
                  "line %d changes the table of line %d, which may be this one: '%s' depends "
                  "on the path; assign a copy to it, {...}, or use one name only",
                  line, front_birth_line(L, changed), name);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

/* What one change of a field reaches. At `reached`: table -> whether also those that it is merged of. */
typedef struct Change {
  int t, key, value; /* the table that is changed */
  int reached;       /* and node -> whether all of its family */
  int taker;         /* else 0: nothing changes, but this node takes the table */
} Change;

/* The node does not know what its field holds: for the reason at the top, popped. */
static void put_stale(lua_State *L, int node, int key) {
  int why = lua_gettop(L);
  if (record_get_part(L, node, &record_stale_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    record_put_part(L, node, &record_stale_key);
  }
  lua_pushvalue(L, key);
  lua_pushvalue(L, why);
  lua_rawset(L, -3);
  lua_settop(L, why - 1);
}

static void put_changed(lua_State *L, Front *f, int node) {
  lua_pushinteger(L, (lua_Integer)++f->clock);
  record_put_part(L, node, &record_changed_key);
}

/* The node holds the table that is changed. */
static void follow(lua_State *L, Front *f, int node, const Change *c) {
  int top = lua_gettop(L);
  record_get_part(L, node, &record_box_key);
  Box *box = lua_touserdata(L, -1);
  const char *name = record_push_name(L, box_name(L, top + 1), c->key);
  lua_pushvalue(L, c->key);
  if (lua_rawget(L, node) == LUA_TNIL || lua_isnil(L, c->value)) {
    record_fail_shape(L, name, "has a value");
  }
  lua_pushvalue(L, c->value);
  record_store_part(L, f, name);
  box->stored_at = ++f->clock;
  put_changed(L, f, node);
  lua_settop(L, top);
}

/* Of the node's box by its name, or of a table that it ever held. */
static uint64_t last_read(lua_State *L, int node, const Box *box) {
  uint64_t at = box->read_at;
  record_get_part(L, node, &record_family_key);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    uint64_t read = front_last_read(L, lua_gettop(L));
    at = read > at ? read : at;
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return at;
}

/* The node holds a table that may be the one that is changed. */
static void become_stale(lua_State *L, Front *f, int node, const Change *c) {
  int top = lua_gettop(L);
  record_get_part(L, node, &record_box_key);
  const Box *box = lua_touserdata(L, -1);
  const char *why = push_stale(L, node, c->t);
  if (is_read_in_loop(L, f, box->born, last_read(L, node, box))) {
    front_refuse(L, "%s", why);
  }
  put_stale(L, node, c->key);
  put_changed(L, f, node);
  lua_settop(L, top);
}

static void reach(lua_State *L, Front *f, const Change *c, int t, bool goes_down);

/* Was the table merged into what the node holds? At `nodes`: the parts of all tables. */
static bool is_merged_at(lua_State *L, int nodes, int t, int node) {
  int top = lua_gettop(L);
  lua_pushvalue(L, t);
  lua_rawget(L, nodes);
  lua_pushvalue(L, node);
  lua_rawget(L, -2);
  bool is = lua_toboolean(L, -1) != 0;
  lua_settop(L, top);
  return is;
}

/* Marks what is at `at` as reached: a node's family, or a table. `all` of it: of a family not only what was merged, of
   a table what it holds, too. False: it was marked, and no less. */
static bool begin(lua_State *L, const Change *c, int at, bool all) {
  lua_pushvalue(L, at);
  bool is_new = lua_rawget(L, c->reached) == LUA_TNIL || (all && !lua_toboolean(L, -1));
  lua_pop(L, 1);
  if (is_new) {
    lua_pushvalue(L, at);
    lua_pushboolean(L, all);
    lua_rawset(L, c->reached);
  }
  return is_new;
}

/* The table at t of the family of the node is reached: so are those that may be the same. */
static void reach_family(lua_State *L, Front *f, const Change *c, int node, int t, bool goes_down) {
  int top = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &record_nodes_key);
  bool all = goes_down && is_merged_at(L, top + 1, t, node);
  if (!begin(L, c, node, all)) {
    lua_settop(L, top);
    return;
  }
  record_get_part(L, node, &record_family_key);
  for (lua_Integer i = 1; lua_rawgeti(L, top + 2, i) != LUA_TNIL; i++) {
    bool is_merged = is_merged_at(L, top + 1, top + 3, node);
    if (is_merged || all) {
      reach(L, f, c, top + 3, !is_merged);
    }
    lua_settop(L, top + 2);
  }
  lua_settop(L, top);
}

/* A table that may be the one that is changed no longer tells what its field holds. */
static void spoil(lua_State *L, Front *f, const Change *c, int node, int t) {
  int top = lua_gettop(L);
  const char *why = push_stale(L, node, c->t);
  if (is_read_in_loop(L, f, front_birth(L, t), front_last_read(L, t))) {
    front_refuse(L, "%s", why);
  }
  lua_pushvalue(L, c->key);
  lua_insert(L, -2);
  front_push_missing(L);
  lua_rawset(L, t);
  front_forget_field(L, t, c->key);
  lua_settop(L, top);
}

static uint64_t changed_at(lua_State *L, int node) {
  record_get_part(L, node, &record_changed_key);
  uint64_t at = (uint64_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return at;
}

static const Box *box_of(lua_State *L, int node) {
  record_get_part(L, node, &record_box_key);
  const Box *box = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return box;
}

static const char *taker_name(lua_State *L, const Change *c) {
  record_get_part(L, c->taker, &record_box_key);
  return box_name(L, -1);
}

/* The loop whose next turn sees both the taker and what was born at `born`; or NULL. */
static const Frame *loop_of(lua_State *L, Front *f, const Change *c, uint64_t born) {
  uint64_t taker_born = box_of(L, c->taker)->born;
  return front_since(f, L, taker_born > born ? taker_born : born).loop;
}

/* The table, which may be the one that is taken, is known by its own name, too. */
static void check_table(lua_State *L, Front *f, const Change *c, int t) {
  const Frame *loop = loop_of(L, f, c, front_birth(L, t));
  if (loop != NULL &&
      (changed_at(L, c->taker) > loop->runtime_at || front_changed_since(L, t, loop->runtime_at))) {
    front_refuse(L,
                 "the table of line %d is changed in this loop and then assigned to '%s', "
                 "which would change with it in the next iteration; assign a copy: {...}",
                 front_birth_line(L, c->t), taker_name(L, c));
  }
}

/* The node may hold the table that is taken. */
static void check_node(lua_State *L, Front *f, const Change *c, int node) {
  const Frame *loop = loop_of(L, f, c, box_of(L, node)->born);
  bool is_other = !lua_rawequal(L, node, c->taker);
  if (is_other && loop != NULL &&
      (changed_at(L, c->taker) > loop->runtime_at || changed_at(L, node) > loop->runtime_at)) {
    const char *taker = taker_name(L, c);
    record_get_part(L, node, &record_box_key);
    front_refuse(L,
                 "'%s' and '%s' share the table of line %d from here on, but one of them is "
                 "changed earlier in this loop: the other would change with it in the next "
                 "iteration; assign a copy: {...}",
                 taker, box_name(L, -1), front_birth_line(L, c->t));
  }
}

/* The node is one of the table's; `holds`: it holds the table now. */
static void meet(lua_State *L, Front *f, const Change *c, int node, int t, bool holds) {
  bool is_changed = lua_rawequal(L, t, c->t);
  if (c->taker != 0) {
    if (holds) {
      check_node(L, f, c, node);
    }
    return;
  }
  if (!is_changed) {
    spoil(L, f, c, node, t);
  }
  if (holds) {
    (is_changed ? follow : become_stale)(L, f, node, c);
  }
}

static void reach(lua_State *L, Front *f, const Change *c, int t, bool goes_down) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 24, "the records of this kernel are nested too deeply");
  if (!begin(L, c, t, goes_down)) {
    return;
  }
  if (c->taker != 0) {
    check_table(L, f, c, t);
  }
  if (!record_push_nodes(L, f, t)) {
    return;
  }
  lua_pushnil(L);
  while (lua_next(L, top + 1) != 0) {
    lua_pop(L, 1);
    int node = top + 2;
    record_get_part(L, node, &record_box_key);
    bool is_gone = ((const Box *)lua_touserdata(L, -1))->is_gone;
    record_get_part(L, node, &record_current_key);
    bool holds = !is_gone && lua_rawequal(L, -1, t);
    lua_settop(L, node);
    meet(L, f, c, node, t, holds);
    reach_family(L, f, c, node, t, goes_down);
  }
  lua_settop(L, top);
}

void record_changed(lua_State *L, Front *f, int t, int key, int value) {
  if (f->n_records == 0 || !record_is_bound(L, f, t)) {
    return;
  }
  front_at(L, f);
  lua_newtable(L);
  Change change = {.t = t, .key = key, .value = value, .reached = lua_gettop(L)};
  reach(L, f, &change, t, true);
  lua_pop(L, 1);
}

void record_check_turns(lua_State *L, Front *f, int node, int record) {
  if (!front_in_loop(f, L)) {
    return;
  }
  lua_newtable(L);
  Change change = {.t = record, .reached = lua_gettop(L), .taker = node};
  reach(L, f, &change, record, true);
  lua_pop(L, 1);
}
