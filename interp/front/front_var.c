/* front_var.c: locals that change under run-time conditions (contracts in rewrite.h). Such a local
   holds a Box: a variable of the kernel, a frozen Lua value, or a cell that inner functions share. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "front_reads.h"
#include "interp/trace/front_state.h"
#include "interp/tensor/tensor.h"
#include "front_parts.h"

/* --- promotion ------------------------------------------------------------------------------------ */

/* From the oldest condition on that is still in force, q or one before. */
static void freeze(lua_State *L, Front *f, Box *box, const Frame *q) {
  if (box->kind != BOX_FROZEN || front_since(f, L, box->born - 1).at >= q->runtime_at) {
    box->kind = BOX_FROZEN;
    box->born = q->runtime_at;
  }
}

/* A loop reads what the turn before has stored. */
static void load_turn(lua_State *L, Front *f, int idx, const Frame *q) {
  if (q->kind == FRAME_LOOP) {
    record_load(L, f, idx);
  }
}

void box_promote(lua_State *L, Front *f, const Frame *q) {
  Box *box = lua_touserdata(L, 2);
  if (box->kind == BOX_VAR || box->kind == BOX_RECORD) {
    return;
  }
  lua_getiuservalue(L, 2, BOX_VALUE);
  bool is_record = front_learnt_kind(L, box_number(L, box, 2)) == LEARNT_RECORD &&
                   (lua_isnil(L, -1) || record_is(L, f, -1));
  if (box->kind == BOX_CELL && is_record) {
    box_begin_record(L, f, 2, lua_gettop(L), q->op);
    box->born = q->runtime_at - 1;
    load_turn(L, f, 2, q);
  } else if (box->kind == BOX_CELL && (lua_isnil(L, -1) || front_is_scalar(L, -1))) {
    box_begin(L, f, 2, -1, q->op);
  } else if (box->kind == BOX_CELL && front_is_carried(L, f, box_number(L, box, 2), -1)) {
    box_begin_tensor(L, f, 2, lua_gettop(L), q->op);
  } else {
    freeze(L, f, box, q);
  }
  lua_pop(L, 1);
}

/* --- cells under conditions ------------------------------------------------------------------------- */

/* An inner function assigns the cell at idx under a condition that is newer than the cell. */
static void assign_cell(lua_State *L, Front *f, int idx, int value, Since since) {
  const Box *box = lua_touserdata(L, idx);
  bool is_own = box->serial == f->serial; /* else a function of static_fn runs */
  bool is_record = is_own && record_is(L, f, value);
  bool begins = front_may_begin(&since, NULL, is_record);
  if (is_own && since.op != 0 && !begins) {
    lua_pushnil(L);
    front_learn(L, f, since.place, idx, -1, "", false, is_record ? LEARNT_RECORD : LEARNT_VALUE);
    lua_pop(L, 1);
  }
  f->touched = box->born < f->touched ? box->born : f->touched;
  if (is_record || !is_own || !box_make_cell(L, f, idx, since.op)) {
    front_refuse(L,
                 "'%s' is assigned by an inner function under a run-time condition; return the new "
                 "value",
                 box_name(L, idx));
  }
  box_store(L, f, idx, value);
}

static int rt_p(lua_State *L) { /* q, x, name, line */
  Front *f = front_up(L);
  const Frame *q = luaL_testudata(L, 1, FRAME_TYPE);
  int line = (int)lua_tointeger(L, 4);
  lua_settop(L, 3);
  if (q == NULL || f->ir == NULL || !q->runtime) {
    lua_settop(L, 2);
    return 1;
  }
  if (box_test(L, 2) != NULL) {
    box_promote(L, f, q);
    lua_settop(L, 2);
    return 1;
  }
  if (half_test(L, 2) != NULL) {
    return front_refuse(L, "'%s' holds 'c and x', which needs an 'or'; write 'c and x or y'",
                        lua_tostring(L, 3));
  }
  bool scalar = lua_isnil(L, 2) || front_is_scalar(L, 2);
  bool is_record =
      front_learnt_kind(L, front_local(L, lua_tostring(L, 3), line)) == LEARNT_RECORD &&
      (lua_isnil(L, 2) || record_is(L, f, 2));
  Box *box = box_push(L, f, scalar ? BOX_VAR : BOX_FROZEN, lua_tostring(L, 3));
  box->line = line > 0 ? line : box->line;
  box->declared = line;
  if (is_record) {
    box->born = q->runtime_at - 1;
    box_begin_record(L, f, 4, 2, q->op);
    load_turn(L, f, 4, q);
  } else if (scalar) {
    box_begin(L, f, 4, 2, q->op);
  } else if (front_is_carried(L, f, box_number(L, box, 4), 2)) {
    box_begin_tensor(L, f, 4, 2, q->op);
  } else {
    box->born = q->runtime_at;
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, 4, BOX_VALUE);
  }
  return 1;
}

static int rt_cell(lua_State *L) { /* x, name */
  Front *f = front_up(L);
  lua_settop(L, 2);
  Box *box = box_push(L, f, BOX_CELL, lua_tostring(L, 2));
  box->is_cell = true;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, BOX_VALUE);
  if (f->ir != NULL) {
    front_number(L);
  }
  return 1;
}

static int rt_r(lua_State *L) {
  if (box_test(L, 1) != NULL) {
    box_load(L, front_up(L), 1);
  } else {
    lua_settop(L, 1);
  }
  return 1;
}

static int fail_frozen(lua_State *L, Front *f, int x, int old, int value) {
  const Box *box = lua_touserdata(L, x);
  const Tensor *t = tensor_test(L, old), *given = tensor_test(L, value);
  if (t != NULL && given != NULL && t->in_kernel && given->in_kernel) {
    front_refuse_tensor(L, f, x, old, value);
  }
  if (lua_istable(L, old) && lua_istable(L, value)) {
    if (record_is(L, f, old) && record_is(L, f, value)) {
      front_learn_kind(L, f, box_number(L, box, x), LEARNT_RECORD);
    }
    return front_refuse(L,
                        "'%s' is given another table under a run-time condition, but one of "
                        "the two is not made by the kernel; copy it inside the kernel first",
                        box_name(L, x));
  }
  return front_refuse(L,
                      "'%s' holds %s and is assigned under a run-time condition; a run-time branch "
                      "can only choose between numbers, booleans, and tables that the kernel made",
                      box_name(L, x), diag_push_kind(L, old));
}

/* Under no condition that is newer than the record, the name just gets another value. */
static void drop_record(lua_State *L, Front *f, int x, int value) {
  Box *box = lua_touserdata(L, x);
  box->is_gone = true;
  if (box->is_cell) {
    record_leave(L, f, x); /* the box may become another record */
    box->kind = BOX_CELL;
    box->born = ++f->clock;
    lua_pushvalue(L, value);
    lua_setiuservalue(L, x, BOX_VALUE);
  }
  lua_pushvalue(L, box->is_cell ? x : value);
}

static void assign_record(lua_State *L, Front *f, int x, int value) {
  const Box *box = lua_touserdata(L, x);
  if (!front_since(f, L, box->born).any) {
    drop_record(L, f, x, value);
    return;
  }
  lua_getiuservalue(L, x, BOX_VALUE);
  if (!record_is(L, f, value)) {
    front_refuse(L,
                 "'%s' holds a table on one path and is given %s here; give it a table with "
                 "the same keys on every path",
                 box_name(L, x), diag_push_kind(L, value));
  }
  if (!lua_rawequal(L, -1, value)) {
    record_bind(L, f, x, value);
  }
  lua_pop(L, 1);
  lua_pushvalue(L, x);
}

/* Pushes what the name holds after `name = value`: x is what it held before. */
static void assign(lua_State *L, Front *f, int x, int value) {
  Box *box = box_test(L, x);
  if (box == NULL) {
    lua_pushvalue(L, value);
    return;
  }
  uint64_t condition = front_condition(f, L);
  Since since = front_since(f, L, box->born);
  switch (box->kind) {
    case BOX_VAR:
      box_store(L, f, x, value);
      lua_pushvalue(L, x);
      break;
    case BOX_CELL:
      if (since.any) {
        assign_cell(L, f, x, value, since);
      } else {
        front_touch_state(f, box->born);
        lua_pushvalue(L, value);
        lua_setiuservalue(L, x, BOX_VALUE);
      }
      lua_pushvalue(L, x);
      break;
    case BOX_RECORD: assign_record(L, f, x, value); break;
    case BOX_FROZEN:
      lua_getiuservalue(L, x, BOX_VALUE);
      if (condition >= box->born && !lua_rawequal(L, -1, value)) {
        fail_frozen(L, f, x, lua_gettop(L), value);
      }
      lua_pop(L, 1);
      if (box->is_cell) {
        lua_pushvalue(L, value);
        lua_setiuservalue(L, x, BOX_VALUE);
      }
      lua_pushvalue(L, condition >= box->born || box->is_cell ? x : value);
      break;
  }
}

static int rt_a(lua_State *L) { /* x, v */
  lua_settop(L, 2);
  assign(L, front_up(L), 1, 2);
  return 1;
}

static void check_host(lua_State *L, Front *f, int value, const char *name) {
  if (f->ir != NULL && (value_test(L, value, NULL) || front_condition(f, L) != 0)) {
    front_refuse(L, "'%s' belongs to the host; a kernel cannot assign it", name);
  }
  f->touched = 0;
  if (f->ir != NULL) {
    front_note_upvalue_write(L, name);
  }
}

static void check_global(lua_State *L, const Front *f, const char *name) {
  if (f->ir != NULL) {
    front_refuse(L, "'%s' is a global; write 'local %s = ...'", name, name);
  }
}

static int rt_up(lua_State *L) { /* name, v */
  lua_settop(L, 2);
  check_host(L, front_up(L), 2, lua_tostring(L, 1));
  return 1;
}

static int rt_gl(lua_State *L) { /* name, v */
  lua_settop(L, 2);
  check_global(L, front_up(L), lua_tostring(L, 1));
  return 1;
}

static int rt_close(lua_State *L) { /* v, name */
  Front *f = front_up(L);
  lua_settop(L, 2);
  if (f->ir == NULL || !lua_toboolean(L, 1)) { /* nil and false are not closed */
    return 0;
  }
  if (front_condition(f, L) != 0) {
    return front_refuse(
        L, "'%s' is a to-be-closed local under a run-time condition; declare it outside",
        lua_tostring(L, 2));
  }
  Frame *frame = frame_push(L, f, FRAME_CLOSE);
  frame->loop = lua_tostring(L, 2);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, 1);
  return 1;
}

/* --- multiple assignment --------------------------------------------------------------------------- */

static int n_arguments(char letter) { return letter == 'i' ? 3 : (letter == 'l' ? 0 : 1); }

/* One target of `an`, its arguments at `arg`, its value at `value`; pushes its result, if any. */
static int assign_target(lua_State *L, Front *f, char letter, int arg, int value) {
  switch (letter) {
    case 'i': /* object, key, desc */
      lua_getfield(L, lua_upvalueindex(2), "set");
      lua_pushvalue(L, arg + 2);
      lua_pushvalue(L, arg);
      lua_pushvalue(L, arg + 1);
      lua_pushvalue(L, value);
      lua_call(L, 4, 0);
      return 0;
    case 'v': assign(L, f, arg, value); return 1;
    case 'u': check_host(L, f, value, lua_tostring(L, arg)); break;
    case 'g': check_global(L, f, lua_tostring(L, arg)); break;
    default: break;
  }
  lua_pushvalue(L, value);
  return 1;
}

static int rt_an(lua_State *L) { /* spec, arguments of the targets, values */
  Front *f = front_up(L);
  const char *spec = luaL_checkstring(L, 1);
  int n = (int)strlen(spec);
  int first_value = 2;
  for (int i = 0; i < n; i++) {
    first_value += n_arguments(spec[i]);
  }
  lua_settop(L, first_value + n - 1);
  luaL_checkstack(L, 2 * n + 8, "too many targets");
  int arg = first_value;
  int n_results = 0;
  for (int i = n - 1; i >= 0; i--) { /* from the last to the first, as Lua does */
    arg -= n_arguments(spec[i]);
    n_results += assign_target(L, f, spec[i], arg, first_value + i);
  }
  for (int i = 0; i < n_results / 2; i++) { /* results in order of the targets */
    int low = lua_gettop(L) - n_results + 1 + i;
    int high = lua_gettop(L) - i;
    lua_pushvalue(L, low);
    lua_copy(L, high, low);
    lua_copy(L, -1, high);
    lua_pop(L, 1);
  }
  return n_results;
}

const luaL_Reg front_var_fns[] = {{"p", rt_p},   {"cell", rt_cell},   {"r", rt_r},
                                  {"a", rt_a},   {"an", rt_an},       {"up", rt_up},
                                  {"gl", rt_gl}, {"close", rt_close}, {NULL, NULL}};
