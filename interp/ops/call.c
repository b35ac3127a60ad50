/* call.c: functions of a kernel as rows of a table. */
#include "call.h"

#include <stdlib.h>

#include "interp/algebra/bind.h"
#include "interp/front/front_reads.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"

/* {====== Kinds of arguments ====== */

CtVal call_value(Call *c, int idx, const CallArg *as) {
  (void)as;
  return value_to(c->L, idx, CT_VOID, c->row->name);
}

CtVal call_bool(Call *c, int idx, const CallArg *as) {
  (void)as;
  return value_to(c->L, idx, CT_bool, c->row->name);
}

CtVal call_i32(Call *c, int idx, const CallArg *as) {
  (void)value_settle(c->L, idx);
  if (lua_type(c->L, idx) == LUA_TNUMBER) {
    (void)bind_to_index(c->L, idx, as->lo, as->hi, c->row->name, as->what);
  }
  return value_to(c->L, idx, CT_i32, c->row->name);
}

CtVal call_count(Call *c, int idx, const CallArg *as) {
  if (lua_isnoneornil(c->L, idx)) {
    return (CtVal)as->lo;
  }
  return (CtVal)bind_to_index(c->L, idx, as->lo, as->hi, c->row->name, as->what);
}

/* {====== What rows run ====== */

void call_effect(Call *c) { ct_ir_effect(c->ir, (CtOp)c->row->op, c->arg[0]); }

/* {====== Rows ====== */

void call_need_sm(lua_State *L, const CtIr *ir, const char *op, int sm) {
  int have = ir->target.sm;
  if (sm == CALL_TCGEN05) {
    if (ir->target.is_cuda && !ct_sm_has_tcgen05(have)) {
      diag_error(L,
                 "%s: it needs sm_100a, sm_100f, sm_103a or sm_110a, but the kernel is "
                 "compiled for sm_%d; the CPU engine runs it",
                 op, have);
    }
    return;
  }
  if (ir->target.is_cuda && (sm < 0 ? have != -sm : have < sm)) {
    diag_error(L,
               "%s: it needs sm_%d%s, but the kernel is compiled for sm_%d; the CPU engine runs it",
               op, abs(sm), sm < 0 ? "a" : "", have);
  }
}

/* A function of the language. Upvalue 1: its row; 2: how many arguments it takes, nil: any number. */
static int call_row(lua_State *L) {
  const CallRow *row = lua_touserdata(L, lua_upvalueindex(1));
  int top = lua_gettop(L), n = 0;
  if (lua_isinteger(L, lua_upvalueindex(2))) {
    diag_check_count(L, row->name, top, (int)lua_tointeger(L, lua_upvalueindex(2)));
  }
  CtErr err;
  Call c = {.L = L, .ir = front_here(L, row->name), .row = row, .err = &err};
  call_need_sm(L, c.ir, row->name, row->sm);
  for (int i = 0; i < row->n_args; i++) {
    c.arg[i] = row->args[i].read(&c, i + 1, &row->args[i]);
  }
  row->run(&c);
  CT_ASSERT(lua_gettop(L) == top); /* readers and rows are balanced */
  diag_check(L, c.status, &err);
  if (c.ir->failed) {
    return luaL_error(L, "not enough memory");
  }
  for (; n < CALL_MAX_RESULTS && c.result[n] != 0; n++) {
    value_push(L, c.result[n]);
  }
  return n;
}

/* The same, of each field of a record at 1. */
static int call_fields(lua_State *L) {
  int n = lua_gettop(L);
  if (!lua_istable(L, 1)) {
    return call_row(L);
  }
  const CallRow *row = lua_touserdata(L, lua_upvalueindex(1));
  if (front_push_library(L, "cuttle.record", "each") != LUA_OK) {
    return lua_error(L);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushcclosure(L, call_row, 2);
  lua_pushstring(L, row->name);
  lua_rotate(L, 1, 3);
  lua_call(L, n + 2, 1);
  return 1;
}

static void add_rows(lua_State *L, const CallRow *rows, size_t n, lua_CFunction call) {
  for (size_t i = 0; i < n; i++) {
    lua_pushlightuserdata(L, (void *)(uintptr_t)&rows[i]); /* read only */
    lua_pushnil(L);
    lua_pushcclosure(L, call, 2);
    lua_setfield(L, -2, rows[i].name);
  }
}

void call_add_rows(lua_State *L, const CallRow *rows, size_t n) { add_rows(L, rows, n, call_row); }

bool call_set_count(lua_State *L, int n) {
  lua_CFunction f = lua_tocfunction(L, -1);
  if (f != call_row && f != call_fields) {
    return false;
  }
  lua_pushinteger(L, n);
  return lua_setupvalue(L, -2, 2) != NULL;
}

void call_add_field_rows(lua_State *L, const CallRow *rows, size_t n) {
  add_rows(L, rows, n, call_fields);
}
