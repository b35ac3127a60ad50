/* front_replace.c: what a kernel calls instead of some C functions: those that change Lua state, run
   functions or ask what a value is; error and assert are in front_fail.c. Each has the original as upvalue 1. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"
#include "front_reads.h"

static char replacements_key; /* registry: C function -> what a kernel calls instead */

static int changes_table(lua_State *L) { /* insert, remove */
  front_check_change(L, 1);
  return standard_call_original(L);
}

static int sets_raw(lua_State *L) {
  front_check_key(L, 1, 2);
  return changes_table(L);
}

static int moves(lua_State *L) { /* table.move(from, first, last, at, to) */
  front_check_change(L, lua_isnoneornil(L, 5) ? 1 : 5);
  return standard_call_original(L);
}

/* print: the world outside knows how often. */
static int acts(lua_State *L) {
  Front *f = front_of(L);
  f->touched = 0;
  return standard_call_original(L);
}

static int yields(lua_State *L) {
  Front *f = front_of(L);
  for (const Frame *frame = front_co(f, L)->top; frame != NULL; frame = frame->parent) {
    if (frame->runtime || frame->pending) {
      return front_refuse(L, "coroutine.yield inside a run-time if or loop; yield outside of it, "
                             "and pass the value on");
    }
  }
  return lua_yield(L, lua_gettop(L));
}

/* Nothing but blocks, which functions and loops begin with, was recorded since there were n operations. */
static bool is_unchanged(const CtIr *ir, size_t n) {
  while (n < ir->n_insts && ct_inst(ir, (CtVal)n)->op == CT_OP_BLOCK) {
    n++;
  }
  return n == ir->n_insts;
}

/* pcall and xpcall: what was recorded cannot be taken back, so an error after it is raised again, and so is what no
   kernel can do. */
static int protects(lua_State *L) {
  Front *f = front_of(L);
  Co *co = front_co(f, L);
  const Front before = *f;
  Frame *top = co->top;
  size_t n_insts = f->ir->n_insts;
  CtRegion region = f->ir->cur;
  CtVal position = ct_ir_position(f->ir);
  f->protected_at = ++f->clock;
  for (int i = 1; i <= 2; i++) { /* xpcall has a handler */
    if (lua_isfunction(L, i)) {
      front_push_callee(L, f, i, 0);
      lua_replace(L, i);
    }
  }
  standard_call_original(L);
  f->protected_at = before.protected_at;
  if (!lua_toboolean(L, 1)) {
    if (f->has_refused) {
      front_push_refusal(L); /* xpcall's handler has made something else of it */
      return lua_error(L);
    }
    if (!is_unchanged(f->ir, n_insts)) {
      lua_settop(L, 2);
      return lua_error(L);
    }
    f->ir->cur = region;
    ct_ir_rollback(f->ir, position);
    f->dead = before.dead;
    f->assigned = before.assigned;
    f->n_trusted = before.n_trusted;
    co->top = top;
    f->cur = co;
  }
  return lua_gettop(L);
}

/* coroutine.create, and wrap: its function has the coroutine as its last upvalue. */
static int starts_coroutine(lua_State *L) {
  Front *f = front_of(L);
  if (lua_isfunction(L, 1)) {
    front_push_callee(L, f, 1, 0);
    lua_replace(L, 1);
  }
  int n = standard_call_original(L);
  for (int i = 2; i > 0 && !lua_isthread(L, -1); i--) {
    if (lua_getupvalue(L, n, i) != NULL && !lua_isthread(L, -1)) {
      lua_pop(L, 1);
    }
  }
  if (lua_isthread(L, -1)) {
    front_set_birth(L, f);
  }
  lua_settop(L, n);
  return n;
}

/* --- functions that ask what a value is: a run-time value is a number or a boolean ------------------ */

static int asks_type(lua_State *L) {
  CtVal v;
  if (value_test(L, 1, &v)) {
    bool is_bool = ct_inst(front_ir(L), v)->type == CT_bool;
    lua_pushstring(L, is_bool ? "boolean" : "number");
    return 1;
  }
  return standard_call_original(L);
}

static int asks_math_type(lua_State *L) {
  CtVal v;
  if (value_test(L, 1, &v) && ct_inst(front_ir(L), v)->type != CT_bool) {
    bool is_int = ct_is_int((CtDtype)ct_inst(front_ir(L), v)->type);
    lua_pushstring(L, is_int ? "integer" : "float");
    return 1;
  }
  return standard_call_original(L);
}

static int asks_number(lua_State *L) { /* tonumber */
  CtVal v;
  if (lua_gettop(L) == 1 && value_test(L, 1, &v) && ct_inst(front_ir(L), v)->type != CT_bool) {
    return 1;
  }
  return standard_call_original(L);
}

static int asks_integer(lua_State *L) { /* math.tointeger */
  CtVal v;
  if (value_test(L, 1, &v)) {
    CtDtype type = (CtDtype)ct_inst(front_ir(L), v)->type;
    if (!ct_is_int(type)) {
      return front_refuse(L, "math.tointeger of a run-time %s; use cast(x, i32)", value_kind(type));
    }
    lua_settop(L, 1);
    return 1;
  }
  return standard_call_original(L);
}

/* rawequal, and rawget by the key: a run-time value equals no other without Lua asking it. */
static int compares_raw(lua_State *L) {
  (void)value_settle(L, 1);
  (void)value_settle(L, 2);
  if (value_test(L, 1, NULL) || value_test(L, 2, NULL)) {
    return front_refuse(L, "a raw access cannot tell what a run-time value is; use == or a tensor");
  }
  return standard_call_original(L);
}

static int gets_raw(lua_State *L) {
  Front *f = front_of(L);
  if (f->ir != NULL && lua_gettop(L) >= 2) {
    (void)value_settle(L, 2);
    front_note_raw(L, f, 1, 2);
  }
  return compares_raw(L);
}

typedef struct Replacement {
  const char *lib, *name;
  lua_CFunction fn;
} Replacement;

static const Replacement replacements[] = {
    {"_G", "pcall", protects},
    {"_G", "xpcall", protects},
    {"_G", "rawset", sets_raw},
    {"_G", "rawget", gets_raw},
    {"_G", "rawequal", compares_raw},
    {"_G", "type", asks_type},
    {"_G", "tonumber", asks_number},
    {"_G", "assert", front_asserts},
    {"_G", "error", front_errs},
    {"math", "type", asks_math_type},
    {"math", "tointeger", asks_integer},
    {"table", "insert", changes_table},
    {"table", "remove", changes_table},
    {"table", "move", moves},
    {"_G", "print", acts},
    {"io", "write", acts},
    {"coroutine", "yield", yields},
    {"coroutine", "create", starts_coroutine},
    {"coroutine", "wrap", starts_coroutine},
};

void front_push_replacement(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  if (front_push_entry(L, &replacements_key, idx) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushvalue(L, idx);
  }
}

void front_replace(lua_State *L) {
  if (lua_iscfunction(L, -2)) {
    front_set_entry(L, &replacements_key, -2);
  } else {
    lua_pop(L, 1);
  }
}

void front_open_replace(lua_State *L) {
  front_new_table(L, &replacements_key, NULL);
  for (size_t i = 0; i < CT_ARRAY_LEN(replacements); i++) {
    const Replacement *r = &replacements[i];
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    if (lua_getfield(L, -1, r->lib) == LUA_TTABLE) {
      lua_getfield(L, -1, r->name);
      lua_pushvalue(L, -1);
      lua_pushcclosure(L, r->fn, 1);
      front_replace(L);
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
}
