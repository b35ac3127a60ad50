/* front_box.c: boxes: what a local or a field holds that changes under run-time conditions. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "interp/tensor/tensor.h"
#include "front_parts.h"

/* --- boxes ---------------------------------------------------------------------------------------- */

Box *box_test(lua_State *L, int idx) { return luaL_testudata(L, idx, BOX_TYPE); }

static int current_line(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, 1, &ar) && lua_getinfo(L, "l", &ar) ? ar.currentline : 0;
}

Box *box_push(lua_State *L, Front *f, BoxKind kind, const char *name) {
  Box *box = lua_newuserdatauv(L, sizeof *box, BOX_NODE);
  *box = (Box){.kind = kind,
               .line = current_line(L),
               .nil_var = -1,
               .weak = true,
               .born = ++f->clock,
               .serial = f->serial};
  luaL_setmetatable(L, BOX_TYPE);
  lua_pushstring(L, name);
  lua_setiuservalue(L, -2, BOX_NAME);
  return box;
}

const char *box_name(lua_State *L, int idx) {
  lua_getiuservalue(L, idx, BOX_NAME);
  const char *name = lua_tostring(L, -1);
  lua_pop(L, 1); /* the box keeps it */
  return name == NULL ? "?" : name;
}

void box_set_assigned(Front *f, const Box *box) {
  if (box->nil_var >= 0) {
    f->assigned.w[box->nil_var / 64] |= (uint64_t)1 << (box->nil_var % 64);
  }
}

static void check_own(lua_State *L, const Box *box, int idx) {
  if (box->serial != front_serial(L)) {
    front_check_own(L, box->serial, lua_pushfstring(L, "variable '%s'", box_name(L, idx)));
  }
}

bool box_is_assigned(const Front *f, const Box *box) {
  return box->nil_var < 0 || (f->assigned.w[box->nil_var / 64] >> (box->nil_var % 64) & 1) != 0;
}

/* The type of a Lua value as the first one of a variable; constants may become wider later. */
static CtDtype first_type(lua_State *L, Front *f, int value, bool *weak) {
  CtVal v;
  *weak = false;
  if (value_test(L, value, &v)) {
    return (CtDtype)ct_inst(f->ir, v)->type;
  }
  if (lua_isboolean(L, value)) {
    return CT_bool;
  }
  *weak = true;
  if (!lua_isinteger(L, value)) {
    return value_float_type(L);
  }
  int64_t i = lua_tointeger(L, value);
  return i == (int32_t)i ? CT_i32 : CT_i64;
}

bool front_is_scalar(lua_State *L, int idx) {
  return value_test(L, idx, NULL) || lua_type(L, idx) == LUA_TNUMBER || lua_isboolean(L, idx);
}

/* A float of Lua, or made of such ones only: what stores it has no type from it. */
static bool is_open(lua_State *L, const Front *f, int value) {
  CtVal v;
  if (value_test(L, value, &v)) {
    return value_is_untyped(f->ir, v);
  }
  return lua_type(L, value) == LUA_TNUMBER && !lua_isinteger(L, value);
}

/* --- variables ------------------------------------------------------------------------------------ */

void box_take_nil_bit(lua_State *L, Front *f, Box *box, int idx) {
  if (f->n_nil_vars == FRONT_MAX_NIL_VARS) {
    front_refuse(L, "more than %d locals without a first value; give '%s' one", FRONT_MAX_NIL_VARS,
                 box_name(L, idx));
  }
  box->nil_var = f->n_nil_vars++;
  f->assigned.w[box->nil_var / 64] &= ~((uint64_t)1 << (box->nil_var % 64));
}

/* Makes the variable, of a type that holds its first value. */
static void begin_var(lua_State *L, Front *f, Box *box, int idx, int value) {
  CtDtype type = first_type(L, f, value, &box->weak);
  const char *name = box_name(L, idx);
  if (is_open(L, f, value)) {
    box->var = front_untyped_variable(L, f, name, box->line, value_untyped(L, value));
  } else {
    box->var = ct_ir_var(f->ir, type, name);
  }
}

void box_begin(lua_State *L, Front *f, int idx, int value, CtVal op) {
  idx = lua_absindex(L, idx);
  value = lua_absindex(L, value);
  Box *box = lua_touserdata(L, idx);
  box->kind = BOX_VAR;
  if (lua_isnil(L, value)) {
    box_take_nil_bit(L, f, box, idx);
    return;
  }
  front_touch_state(f, box->born);
  begin_var(L, f, box, idx, value);
  CtDtype type = (CtDtype)ct_inst(f->ir, box->var)->type;
  CtVal first;
  if (value_test(L, value, &first) && value_is_untyped(f->ir, first)) {
    value_meet(L, first, type);
    first = ct_ir_cast_before(f->ir, first, type, op);
  } else {
    first = value_to(L, value, type, box_name(L, idx));
  }
  ct_ir_set_before(f->ir, box->var, first, op);
}

static void load_record(lua_State *L, Front *f, Box *box, int idx) {
  check_own(L, box, idx);
  lua_getiuservalue(L, idx, BOX_VALUE);
  front_check_missing(L, -1);
  box->read_at = ++f->clock;
}

void box_load(lua_State *L, Front *f, int idx) {
  idx = lua_absindex(L, idx);
  Box *box = lua_touserdata(L, idx);
  if (box->kind == BOX_RECORD) {
    load_record(L, f, box, idx);
    return;
  }
  if (box->kind != BOX_VAR) {
    lua_getiuservalue(L, idx, BOX_VALUE);
    return;
  }
  check_own(L, box, idx);
  if (box->var == 0 && front_condition(f, L) == 0) {
    lua_pushnil(L);
    return;
  }
  if (box->var == 0 || !box_is_assigned(f, box)) {
    front_refuse(L, "'%s' has no value on some path to here; give it one where it is declared",
                 box_name(L, idx));
  }
  front_at(L, f);
  if (box->is_tensor) {
    box_load_tensor(L, f, idx);
  } else {
    value_push(L, ct_ir_get(f->ir, box->var));
  }
}

static int fail_type(lua_State *L, const Box *box, int idx, CtDtype is, CtDtype given) {
  bool kinds_differ = ct_dtypes[is].cls != ct_dtypes[given].cls;
  const char *a = kinds_differ ? value_kind(is) : ct_dtypes[is].name;
  const char *b = kinds_differ ? value_kind(given) : ct_dtypes[given].name;
  if (box->is_result) {
    return front_refuse(L, "%s is returned here but %s in line %d; return one type on every path",
                        b, a, box->line);
  }
  const char *was = lua_pushfstring(L, "'%s' (line %d) is %s but is given %s here",
                                    box_name(L, idx), box->line, a, b);
  if (ct_is_int(is) && ct_is_float(given)) {
    return front_refuse(L, "%s; start it as 0.0", was);
  }
  if (!kinds_differ && ct_is_narrow(is)) {
    return front_refuse(L, "%s; start it as %s(v), or give it cast(v, %s)", was, b, a);
  }
  return kinds_differ ? front_refuse(L, "%s; use another name for it", was)
                      : front_refuse(L, "%s; start it as %s(0)", was, b);
}

/* Makes the variable's type fit a value of type `given`, or raises. */
static void fit_type(lua_State *L, Front *f, Box *box, int idx, CtDtype given, bool is_const) {
  CtDtype is = (CtDtype)ct_inst(f->ir, box->var)->type;
  if (ct_is_float(is) && (ct_is_int(given) || is_const)) {
    return; /* rounded, or refused where it is stored */
  }
  if (ct_dtypes[is].cls != ct_dtypes[given].cls) {
    fail_type(L, box, idx, is, given);
  }
  if (value_is_untyped(f->ir, box->var) && ct_is_float(given)) {
    front_give_type(L, f, box->var, given);
    return;
  }
  bool fits = value_converts(given, is) || (is_const && (ct_is_narrow(is) || ct_is_unsigned(is)));
  if (!fits && !(box->weak && ct_is_int(given) && ct_ir_retype(f->ir, box->var, given))) {
    fail_type(L, box, idx, is, given);
  }
}

static void fit_value(lua_State *L, Front *f, Box *box, int idx, int value) {
  bool weak, open = is_open(L, f, value);
  CtDtype type = first_type(L, f, value, &weak);
  fit_type(L, f, box, idx, type, weak || open);
  box->weak = box->weak && weak;
  if (value_is_untyped(f->ir, box->var) && open) {
    front_more_untyped(f, box->var, value_untyped(L, value));
  }
}

/* The value in the variable's type. A trace that is to be repeated goes on with what it has. */
static CtVal stored(lua_State *L, Front *f, const Box *box, int idx, int value) {
  CtDtype is = (CtDtype)ct_inst(f->ir, box->var)->type;
  CtVal v;
  bool is_late =
      f->again && value_test(L, value, &v) && is == CT_f32 && ct_inst(f->ir, v)->type == CT_f64;
  return is_late ? ct_ir_cast(f->ir, v, is) : value_to(L, value, is, box_name(L, idx));
}

uint64_t box_number(lua_State *L, const Box *box, int idx) {
  return box->is_cell ? front_number_of(L, idx) : front_local(L, box_name(L, idx), box->declared);
}

void box_store(lua_State *L, Front *f, int idx, int value) {
  idx = lua_absindex(L, idx);
  value = lua_absindex(L, value);
  Box *box = lua_touserdata(L, idx);
  check_own(L, box, idx);
  front_check_missing(L, value);
  if (half_test(L, value) != NULL) {
    front_refuse(L, "'c and x' needs an 'or' to be a value; write 'c and x or y'");
  }
  if (box->is_tensor) {
    box_store_tensor(L, f, idx, value);
    return;
  }
  if (!front_is_scalar(L, value)) {
    if (record_is(L, f, value) && box->var == 0) {
      front_learn_kind(L, f, box_number(L, box, idx), LEARNT_RECORD);
    }
    front_refuse(L,
                 "'%s' is given %s under a run-time condition; a run-time branch can only choose "
                 "between numbers, booleans, and tables that the kernel made%s",
                 box_name(L, idx), diag_push_kind(L, value),
                 tensor_test(L, value) == NULL
                     ? ""
                     : "; a local that begins with a tensor may be given one with another offset");
  }
  front_at(L, f);
  if (box->var == 0) {
    begin_var(L, f, box, idx, value);
  } else {
    fit_value(L, f, box, idx, value);
  }
  ct_ir_set(f->ir, box->var, stored(L, f, box, idx, value));
  box_set_assigned(f, box);
}
