/* launch_table.c: tables as arguments of a launch. A table of tensors is a list; any other table is a record,
   whose fields are arguments. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "launch_key.h"
#include "launch_list.h"

/* --- lists ------------------------------------------------------------------------------------------------ */

static void read_list(lua_State *L, int kernel, LaunchArgs *a, Arg *arg, int idx) {
  launch_push_title(L, kernel, a, arg);
  arg->kind = ARG_LIST;
  arg->list = launch_list_read(L, lua_touserdata(L, kernel), idx, lua_gettop(L));
  lua_pop(L, 1);
  arg->tensor_id = launch_list_id(arg->list);
  const LaunchKey *key = launch_list_key(arg->list);
  launch_put(&a->key, key->bytes, key->len);
  launch_add_slot(L, a, (CtSlotValue){.i = (int64_t)(uintptr_t)launch_list_rows(arg->list)});
  launch_add_slot(L, a, (CtSlotValue){.i = launch_list_size(arg->list)});
  launch_add_param(a, arg, launch_list_elems(arg->list));
  a->lists[arg->param] = launch_list_members(arg->list);
  a->n_lists++;
}

/* --- records ---------------------------------------------------------------------------------------------- */

static int depth_of(const LaunchArgs *a, const Arg *arg) {
  int n = 0;
  for (; arg->parent >= 0; arg = &a->args[arg->parent]) {
    n++;
  }
  return n;
}

/* Reads the value at the top as the next field of the record, and pops it. */
static void read_field(lua_State *L, int kernel, LaunchArgs *a, int record, const char *field,
                       int number, LaunchReader read) {
  Arg like = {.place = a->args[record].place,
              .parent = record,
              .field = field,
              .number = number,
              .anchored = 2 + a->n_anchored++};
  launch_put(&a->key, field == NULL ? "i" : "s", 1);
  if (field == NULL) {
    launch_put(&a->key, &number, sizeof number);
  } else {
    launch_put(&a->key, field, strlen(field) + 1);
  }
  a->args[record].n_fields++;
  lua_pushvalue(L, -1);
  launch_anchor(L, a, like.anchored);
  read(L, kernel, a, like, lua_gettop(L));
  lua_pop(L, 1);
}

/* A table with string keys, or with the keys 1 to n, whose values are arguments. */
static void read_record(lua_State *L, int kernel, LaunchArgs *a, Arg *arg, int idx,
                        LaunchReader read) {
  int record = (int)(arg - a->args), n = (int)lua_rawlen(L, idx);
  luaL_checkstack(L, 12, "tables in tables");
  arg->kind = ARG_RECORD;
  launch_put(&a->key, "R", 1);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);
    read_field(L, kernel, a, record, NULL, i, read);
  }
  lua_pushnil(L);
  int last = lua_gettop(L);
  while (launch_push_next_name(L, idx, last)) {
    lua_replace(L, last);
    lua_pushvalue(L, last);
    lua_rawget(L, idx);
    read_field(L, kernel, a, record, lua_tostring(L, last), 0, read);
  }
  lua_pop(L, 1);
  launch_put(&a->key, ".", 1);
}

/* Every key is a name or one of 1 to n; of numbers only, it is meant for a tensor. */
static void check_record(lua_State *L, int kernel, const LaunchArgs *a, const Arg *arg, int idx) {
  int64_t n = (int64_t)lua_rawlen(L, idx), n_names = 0, n_numbers = 0, n_keys = 0;
  lua_pushnil(L);
  for (; lua_next(L, idx) != 0; n_keys++) {
    n_names += lua_type(L, -2) == LUA_TSTRING;
    n_numbers += lua_type(L, -1) == LUA_TNUMBER;
    lua_pop(L, 1);
  }
  const char *title = launch_push_title(L, kernel, a, arg);
  if (n_keys == 0) {
    diag_error(L,
               "%s is an empty table; a list needs at least one tensor, whose type and rank the "
               "kernel is compiled for, so launch only if there is one",
               title);
  }
  if (n_names + n != n_keys) {
    diag_error(L, "%s is a table with keys other than names and 1 to n; write {a = x, b = y}",
               title);
  }
  if (n_names == 0 && n_numbers == n_keys) {
    diag_error(L,
               "%s is a table of numbers; from_table(f32, t) makes a tensor, and a tuple such as "
               "{4, 8} has integers only",
               title);
  }
  if (depth_of(a, arg) == LAUNCH_MAX_DEPTH) {
    diag_error(L, "%s is a table in %d others; at most that many nest", title, LAUNCH_MAX_DEPTH);
  }
  lua_pop(L, 1);
}

bool launch_read_table(lua_State *L, int kernel, LaunchArgs *a, Arg *arg, int idx,
                       LaunchReader read) {
  if (!lua_istable(L, idx)) {
    return false;
  }
  if (luaL_getmetafield(L, idx, "__no_argument") != LUA_TNIL) {
    const char *why = lua_tostring(L, -1);
    diag_error(L, "%s %s", launch_push_title(L, kernel, a, arg), why);
  }
  if (launch_is_list(L, lua_touserdata(L, kernel), idx)) {
    read_list(L, kernel, a, arg, idx);
  } else if (!launch_read_object(L, kernel, a, arg, idx)) {
    check_record(L, kernel, a, arg, idx);
    read_record(L, kernel, a, arg, idx, read);
  }
  return true;
}

/* --- what was read ----------------------------------------------------------------------------------------------- */

/* Is it still what was read? */
static bool holds(lua_State *L, const Kernel *k, const LaunchArgs *a, const Arg *arg) {
  if (arg->kind != ARG_LIST && arg->kind != ARG_OBJECT) {
    return true;
  }
  launch_push_given(L, a, arg);
  int idx = lua_gettop(L);
  bool same = arg->kind == ARG_LIST ? launch_list_is(L, k, idx, arg->list, arg->tensor_id)
                                    : launch_object_is(L, a, arg, idx);
  lua_pop(L, 1);
  return same;
}

CtStatus launch_check_tables(lua_State *L, const Kernel *k, const LaunchArgs *a, CtErr *err) {
  for (int i = 0; i < a->n; i++) {
    const Arg *arg = &a->args[i];
    if (!holds(L, k, a, arg)) {
      return ct_fail(err, CT_EINVAL,
                     "%s: the %s in argument %d was changed while the kernel was traced", k->name,
                     arg->kind == ARG_LIST ? "list" : "constant", arg->place);
    }
  }
  return CT_OK;
}
