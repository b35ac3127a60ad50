/* bind_sync.c: how warps of a kernel synchronise, besides sync_threads: mbarriers, the state of a
   pipeline over them, named barriers; roles of warp groups: setmaxnreg, elect_one. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/value.h"
#include "interp/openers.h"
#include "access.h"

#define MBARRIER_TYPE "mbarrier"
#define STATE_TYPE "pipeline state"
#define NAMED_TYPE "named barrier"

enum { MAX_BARRIERS = 1024, MAX_COUNT = (1 << 20) - 1, MAX_NAMED = 15, MAX_SLOTS = 1 << 16 };
enum { MIN_REGISTERS = 24, MAX_REGISTERS = 256 };

/* All n barriers, or one of them. */
typedef struct Mbarrier {
  uint32_t buf, serial;
  int64_t n;
  CtVal slot; /* of one barrier; 0: all of them */
} Mbarrier;

typedef struct State {
  uint32_t serial;
  int64_t n;
  CtVal slot, parity; /* VARs, i32 */
} State;

typedef struct Named {
  uint32_t serial;
  CtVal id;
  int64_t threads;
} Named;

static void check_memory(lua_State *L, const CtIr *ir) {
  if (ir->failed) {
    luaL_error(L, "not enough memory");
  }
}

/* --- mbarriers ------------------------------------------------------------------------------------------ */

static Mbarrier *push_mbarrier(lua_State *L, Mbarrier m) {
  Mbarrier *p = lua_newuserdatauv(L, sizeof *p, 0);
  *p = m;
  luaL_setmetatable(L, MBARRIER_TYPE);
  return p;
}

static void check_shared_room(lua_State *L, const CtIr *ir, int64_t n) {
  int64_t bytes = ct_ir_shared_bytes(ir) + n * 8, max = (int64_t)ir->target.shared_max;
  if (bytes > max) {
    diag_error(L,
               "mbarrier: with these barriers the kernel's shared memory is %I bytes, but a "
               "block on %s has %I; make a tile smaller",
               (LUAI_UACINT)bytes, ir->target.name, (LUAI_UACINT)max);
  }
}

static int lang_mbarrier(lua_State *L) { /* n, count */
  CtIr *ir = front_here(L, "mbarrier");
  int n = bind_to_index(L, 1, 1, MAX_BARRIERS, "mbarrier", "number of barriers");
  int count = bind_to_index(L, 2, 1, MAX_COUNT, "mbarrier", "number of arrivals");
  call_need_sm(L, ir, "mbarrier", 80);
  if (ir->cur != 1) {
    return diag_error(L, "mbarrier: every thread must reach its declaration; put it at the top "
                         "level of the kernel, outside run-time ifs and loops");
  }
  check_shared_room(L, ir, n);
  uint32_t buf = ct_ir_mbarrier(ir, n, (uint32_t)count);
  check_memory(L, ir);
  push_mbarrier(L, (Mbarrier){.buf = buf, .serial = front_serial(L), .n = n});
  return 1;
}

/* The name that messages use for it. */
static const char *title(lua_State *L, const Mbarrier *m) {
  const CtIr *ir = front_ir(L);
  const char *name = ir == NULL ? NULL : ir->bufs[m->buf].name;
  return name == NULL ? "the mbarrier" : name;
}

static CtVal to_slot(lua_State *L, CtIr *ir, int idx, const Mbarrier *m) {
  lua_Integer i;
  int is_int;
  (void)value_settle(L, idx);
  i = lua_tointegerx(L, idx, &is_int);
  if (is_int && (i < 0 || i >= m->n)) {
    diag_error(L, "%s[%I]: it has %I barriers, counted from 0", title(L, m), (LUAI_UACINT)i,
               (LUAI_UACINT)m->n);
  }
  return is_int ? ct_ir_const_int(ir, CT_i32, i) : value_to(L, idx, CT_i32, title(L, m));
}

static int mbarrier_index(lua_State *L) { /* upvalue 1: methods */
  const Mbarrier *m = luaL_checkudata(L, 1, MBARRIER_TYPE);
  front_check_own(L, m->serial, "an mbarrier");
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
      return diag_error(
          L, "%s has no method '%s'; it has arrive, arrive_expect_tx, expect_tx, wait and test",
          title(L, m), lua_tostring(L, 2));
    }
    return 1;
  }
  CtIr *ir = front_here(L, "mbarrier");
  if (m->slot != 0) {
    return diag_error(L, "%s[i] is one barrier, and cannot be indexed again", title(L, m));
  }
  Mbarrier one = *m;
  one.slot = to_slot(L, ir, 2, m);
  push_mbarrier(L, one);
  return 1;
}

bool bind_is_mbarrier(lua_State *L, int idx) {
  return luaL_testudata(L, idx, MBARRIER_TYPE) != NULL;
}

void bind_to_mbarrier(lua_State *L, int idx, const char *op, uint32_t *buf, CtVal *slot) {
  const Mbarrier *m = luaL_testudata(L, idx, MBARRIER_TYPE);
  if (m == NULL) {
    diag_type_error(L, idx, op, "an mbarrier, as full[i],");
    return;
  }
  front_check_own(L, m->serial, "an mbarrier");
  CtIr *ir = front_here(L, op);
  if (m->slot == 0 && m->n > 1) {
    diag_error(L, "%s: %s is %I barriers; say which, as in %s[i]", op, title(L, m),
               (LUAI_UACINT)m->n, title(L, m));
  }
  *buf = m->buf;
  *slot = m->slot != 0 ? m->slot : ct_ir_const_int(ir, CT_i32, 0);
}

/* Checks the object of a method, which a call with a dot instead of the colon leaves out, and the
   feature that the method needs. */
static void check_call(lua_State *L, const char *type, const char *object, const char *method,
                       const char *wanted) {
  if (luaL_testudata(L, 1, type) == NULL) {
    diag_error(L, "%s: the %s is missing; write %s:%s(...), with a colon", method, type, object,
               method);
  }
  if (wanted != NULL && lua_isnoneornil(L, 2)) {
    diag_error(L, "%s: its argument is %s; %s was expected", method,
               lua_isnone(L, 2) ? "missing" : "nil", wanted);
  }
}

/* CallArg.what: the feature that the method needs, or NULL. */
static CtVal read_mbarrier(Call *c, int idx, const CallArg *as) {
  check_call(c->L, MBARRIER_TYPE, "full[i]", c->row->name, as->what);
  const Mbarrier *m = lua_touserdata(c->L, idx);
  front_check_own(c->L, m->serial, "an mbarrier");
  return 0;
}

/* The bytes that boxes bring to shared tensors: the arguments from 2 on. */
static CtVal bytes_of_tensors(lua_State *L, const char *op) {
  const CtCx cx = bind_enter(L);
  int64_t bytes = 0;
  for (int i = 2; i <= lua_gettop(L); i++) {
    CtInt n;
    CtErr err;
    if (tensor_test(L, i) == NULL) {
      diag_error(L, "%s: argument %d is %s; a tensor was expected, as the first one is", op, i - 1,
                 diag_push_kind(L, i));
    }
    const Tensor *t = tensor_check_live(L, i, op);
    if (t->space != CT_SHARED || t->at != NULL) {
      diag_error(L,
                 "%s: %s is not in shared memory; pass the tensor that tma_load fills, or the "
                 "number of bytes",
                 op, tensor_push_title(L, i));
    }
    diag_check(L, ct_size(&cx, t->layout, &n, &err), &err);
    if (!ct_is_static(n)) {
      diag_error(L, "%s: the size of %s is known only at run time; give the number of bytes", op,
                 tensor_push_title(L, i));
    }
    bytes += ct_dtype_span(t->dtype, n.v);
  }
  if (bytes > MAX_COUNT) {
    diag_error(L, "%s: the tensors have %I bytes; a phase expects at most %d", op,
               (LUAI_UACINT)bytes, MAX_COUNT);
  }
  return ct_ir_const_int(front_here(L, op), CT_i32, bytes);
}

static CtVal read_bytes(Call *c, int idx, const CallArg *as) {
  return tensor_test(c->L, idx) != NULL ? bytes_of_tensors(c->L, c->row->name)
                                        : call_i32(c, idx, as);
}

static CtVal read_rank(Call *c, int idx, const CallArg *as) {
  (void)as;
  return lua_isnoneornil(c->L, idx) ? 0 : value_to(c->L, idx, CT_i32, c->row->name);
}

static void use_mbarrier(Call *c) {
  uint32_t buf;
  CtVal slot;
  bind_to_mbarrier(c->L, 1, c->row->name, &buf, &slot);
  CtVal v = ct_ir_mbar(c->ir, (CtOp)c->row->op, buf, slot, c->arg[1]);
  c->result[0] = c->row->op == CT_OP_MBAR_TEST ? v : 0;
}

static void arrive(Call *c) { /* [rank] */
  uint32_t buf;
  CtVal slot, rank = c->arg[1];
  call_need_sm(c->L, c->ir, c->row->name, rank == 0 ? 80 : 90);
  bind_to_mbarrier(c->L, 1, c->row->name, &buf, &slot);
  ct_ir_mbar(c->ir, rank == 0 ? CT_OP_MBAR_ARRIVE : CT_OP_MBAR_ARRIVE_AT, buf, slot, rank);
}

static const CallArg bytes_args[] = {
    {.read = read_mbarrier, .what = "a number of bytes, or the tensor that tma_load fills,"},
    {read_bytes, 0, MAX_COUNT, "number of bytes"}};
static const CallArg parity_args[] = {
    {.read = read_mbarrier, .what = "the parity of a phase, 0 or 1,"}, {call_i32, 0, 1, "parity"}};
static const CallArg rank_args[] = {{.read = read_mbarrier}, {.read = read_rank}};

static const CallRow mbarrier_methods[] = {
    {"arrive", arrive, 0, 0, CALL_ARGS(rank_args)},
    {"arrive_expect_tx", use_mbarrier, CT_OP_MBAR_ARRIVE_EXPECT, 90, CALL_ARGS(bytes_args)},
    {"expect_tx", use_mbarrier, CT_OP_MBAR_EXPECT, 90, CALL_ARGS(bytes_args)},
    {"wait", use_mbarrier, CT_OP_MBAR_WAIT, 90, CALL_ARGS(parity_args)},
    {"test", use_mbarrier, CT_OP_MBAR_TEST, 80, CALL_ARGS(parity_args)}};

static int mbarrier_tostring(lua_State *L) {
  const Mbarrier *m = luaL_checkudata(L, 1, MBARRIER_TYPE);
  front_check_own(L, m->serial, "an mbarrier");
  if (m->slot != 0) {
    lua_pushfstring(L, "one of %I mbarriers", (LUAI_UACINT)m->n);
  } else {
    lua_pushfstring(L, "%I mbarriers", (LUAI_UACINT)m->n);
  }
  return 1;
}

/* --- the state of a pipeline ---------------------------------------------------------------------------- */

/* An option of the table at idx; 0 if it has no such option. */
static CtVal state_option(lua_State *L, CtIr *ir, int idx, const char *name, int hi) {
  CtVal v;
  if (lua_isnoneornil(L, idx) || lua_getfield(L, idx, name) == LUA_TNIL) {
    v = ct_ir_const_int(ir, CT_i32, 0);
  } else if (value_settle(L, -1) || lua_type(L, -1) == LUA_TNUMBER) {
    v = ct_ir_const_int(ir, CT_i32, bind_to_option(L, -1, 0, hi, "pipeline_state", name));
  } else {
    v = value_to(L, -1, CT_i32, "pipeline_state");
  }
  lua_settop(L, 2);
  return v;
}

static void check_state_options(lua_State *L, int idx) {
  if (lua_isnoneornil(L, idx)) {
    return;
  }
  if (!lua_istable(L, idx)) {
    diag_type_error(L, idx, "pipeline_state", "a table of options, as {parity = 1},");
  }
  for (lua_pushnil(L); lua_next(L, idx) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    if (strcmp(key, "slot") != 0 && strcmp(key, "parity") != 0) {
      diag_error(L, "pipeline_state: no option '%s'; it has slot and parity", key);
    }
  }
}

static int lang_pipeline_state(lua_State *L) { /* n[, {slot =, parity =}] */
  CtIr *ir = front_here(L, "pipeline_state");
  diag_take_args(L, "pipeline_state", 2);
  int n = bind_to_index(L, 1, 1, MAX_SLOTS, "pipeline_state", "number of slots");
  check_state_options(L, 2);
  CtVal slot = state_option(L, ir, 2, "slot", n - 1);
  CtVal parity = state_option(L, ir, 2, "parity", 1);
  State *s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (State){.serial = front_serial(L), .n = n};
  luaL_setmetatable(L, STATE_TYPE);
  s->slot = ct_ir_var(ir, CT_i32, NULL);
  s->parity = ct_ir_var(ir, CT_i32, NULL);
  ct_ir_set(ir, s->slot, slot);
  ct_ir_set(ir, s->parity, parity);
  check_memory(L, ir);
  return 1;
}

/* The value of a variable that stays within 0 .. hi. */
static CtVal get(CtIr *ir, CtVal var, int64_t hi) {
  CtVal v = ct_ir_get(ir, var);
  ir->insts[v].facts = (CtFacts){.lo = 0, .hi = hi, .div = 1};
  return v;
}

static int state_index(lua_State *L) { /* upvalue 1: methods */
  const State *s = luaL_checkudata(L, 1, STATE_TYPE);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
  front_check_own(L, s->serial, "a pipeline state");
  CtIr *ir = front_here(L, "pipeline_state");
  if (strcmp(key, "slot") == 0) {
    value_push(L, get(ir, s->slot, s->n - 1));
    return 1;
  }
  if (strcmp(key, "parity") == 0) {
    value_push(L, get(ir, s->parity, 1));
    return 1;
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
    return diag_error(L, "a pipeline state has slot, parity and advance, not %s", key);
  }
  return 1;
}

static int state_tostring(lua_State *L) {
  const State *s = luaL_checkudata(L, 1, STATE_TYPE);
  front_check_own(L, s->serial, "a pipeline state");
  lua_pushfstring(L, "the state of a pipeline of %I slots", (LUAI_UACINT)s->n);
  return 1;
}

static int state_newindex(lua_State *L) {
  return diag_error(
      L, "a pipeline state changes only with advance; make another one to begin elsewhere");
}

static CtVal read_state(Call *c, int idx, const CallArg *as) {
  (void)as;
  check_call(c->L, STATE_TYPE, "state", c->row->name, NULL);
  const State *s = lua_touserdata(c->L, idx);
  front_check_own(c->L, s->serial, "a pipeline state");
  return 0;
}

static CtVal read_steps(Call *c, int idx, const CallArg *as) {
  return lua_isnoneornil(c->L, idx) ? ct_ir_const_int(c->ir, CT_i32, 1) : call_i32(c, idx, as);
}

static void advance(Call *c) { /* [count] */
  CtIr *ir = c->ir;
  const State *s = lua_touserdata(c->L, 1);
  CtVal by = c->arg[1], one = ct_ir_const_int(ir, CT_i32, 1);
  CtVal n = ct_ir_const_int(ir, CT_i32, s->n), zero = ct_ir_const_int(ir, CT_i32, 0);
  CtVal parity = get(ir, s->parity, 1), slot = get(ir, s->slot, s->n - 1), next, turns;
  if (ct_inst(ir, by)->op == CT_OP_CONST && ct_inst(ir, by)->imm.i <= s->n) { /* next < 2n */
    next = ct_ir_binary(ir, CT_OP_ADD, slot, by);
    CtVal inside = ct_ir_binary(ir, CT_OP_LT, next, n);
    turns = ct_ir_select(ir, inside, zero, one);
    next = ct_ir_select(ir, inside, next, ct_ir_binary(ir, CT_OP_SUB, next, n));
  } else { /* unsigned, because nothing is below 0: plain divisions */
    next = ct_ir_binary(ir, CT_OP_ADD, ct_ir_cast(ir, slot, CT_u32), ct_ir_cast(ir, by, CT_u32));
    n = ct_ir_cast(ir, n, CT_u32);
    turns = ct_ir_cast(ir, ct_ir_binary(ir, CT_OP_FLOORDIV, next, n), CT_i32);
    turns = ct_ir_binary(ir, CT_OP_AND, turns, one);
    next = ct_ir_cast(ir, ct_ir_binary(ir, CT_OP_FLOORMOD, next, n), CT_i32);
  }
  ct_ir_set(ir, s->slot, next);
  ct_ir_set(ir, s->parity, ct_ir_binary(ir, CT_OP_XOR, parity, turns));
}

static const CallArg advance_args[] = {{.read = read_state},
                                       {read_steps, 0, 1 << 30, "number of slots"}};
static const CallRow state_methods[] = {{"advance", advance, 0, 0, CALL_ARGS(advance_args)}};

/* __named(v, name): the script's local `name` holds v. */
static int mbarrier_named(lua_State *L) {
  const Mbarrier *m = luaL_checkudata(L, 1, MBARRIER_TYPE);
  if (m->slot == 0 && m->serial == front_serial(L)) {
    ct_ir_name_buf(front_ir(L), m->buf, lua_tostring(L, 2));
  }
  return 0;
}

static int state_named(lua_State *L) {
  const State *s = luaL_checkudata(L, 1, STATE_TYPE);
  const char *name = lua_tostring(L, 2);
  char text[80];
  if (s->serial == front_serial(L)) {
    snprintf(text, sizeof text, "%.60s_slot", name);
    ct_ir_name(front_ir(L), s->slot, text);
    snprintf(text, sizeof text, "%.60s_parity", name);
    ct_ir_name(front_ir(L), s->parity, text);
  }
  return 0;
}

/* --- named barriers --------------------------------------------------------------------------------------- */

static int lang_named_barrier(lua_State *L) { /* id, threads */
  CtIr *ir = front_here(L, "named_barrier");
  int64_t threads = bind_to_static(L, 2, "named_barrier");
  int64_t block = ir->block[0] * ir->block[1] * ir->block[2];
  (void)value_settle(L, 1);
  if (lua_type(L, 1) == LUA_TNUMBER) {
    (void)bind_to_index(L, 1, 1, MAX_NAMED, "named_barrier", "number");
  }
  if (threads < 32 || threads % 32 != 0 || threads > ct_ceildiv(block, 32) * 32) {
    return diag_error(L,
                      "named_barrier: %I threads; whole warps of the block meet there, so a "
                      "multiple of 32 up to %I was expected",
                      (LUAI_UACINT)threads, (LUAI_UACINT)ct_ceildiv(block, 32) * 32);
  }
  Named *b = lua_newuserdatauv(L, sizeof *b, 0);
  *b = (Named){.serial = front_serial(L), .threads = threads};
  luaL_setmetatable(L, NAMED_TYPE);
  b->id = value_to(L, 1, CT_i32, "named_barrier");
  check_memory(L, ir);
  return 1;
}

static CtVal read_named(Call *c, int idx, const CallArg *as) {
  (void)as;
  check_call(c->L, NAMED_TYPE, "named_barrier(id, threads)", c->row->name, NULL);
  const Named *b = lua_touserdata(c->L, idx);
  front_check_own(c->L, b->serial, "a named barrier");
  return b->id;
}

static void use_named(Call *c) {
  const Named *b = lua_touserdata(c->L, 1);
  ct_ir_named_barrier(c->ir, (CtOp)c->row->op, b->id, b->threads);
}

static const CallArg named_args[] = {{.read = read_named}};
static const CallRow named_methods[] = {
    {"sync", use_named, CT_OP_NAMED_SYNC, 0, CALL_ARGS(named_args)},
    {"arrive", use_named, CT_OP_NAMED_ARRIVE, 0, CALL_ARGS(named_args)}};

static int named_tostring(lua_State *L) {
  const Named *b = luaL_checkudata(L, 1, NAMED_TYPE);
  front_check_own(L, b->serial, "a named barrier");
  lua_pushfstring(L, "a named barrier of %I threads", (LUAI_UACINT)b->threads);
  return 1;
}

/* --- roles -------------------------------------------------------------------------------------------------- */

static void setmaxnreg(Call *c) { /* registers */
  int64_t n = bind_to_static(c->L, 1, "setmaxnreg");
  int64_t threads = c->ir->block[0] * c->ir->block[1] * c->ir->block[2];
  if (n < MIN_REGISTERS || n > MAX_REGISTERS || n % 8 != 0) {
    diag_error(c->L, "setmaxnreg: %I registers; a multiple of 8 from %d to %d was expected",
               (LUAI_UACINT)n, MIN_REGISTERS, MAX_REGISTERS);
  }
  if (threads % 128 != 0) {
    diag_error(c->L,
               "setmaxnreg: it is for whole warp groups of 128 threads, but the block has %I "
               "threads",
               (LUAI_UACINT)threads);
  }
  ct_ir_effect(c->ir, CT_OP_SETMAXNREG, n);
}

static void elect_one(Call *c) { c->result[0] = ct_ir_elect(c->ir); }

static const CallRow rows[] = {{"setmaxnreg", setmaxnreg, 0, CALL_SM90A, CALL_NO_ARGS},
                               {"elect_one", elect_one, 0, 90, CALL_NO_ARGS}};

/* --- opening -------------------------------------------------------------------------------------------------- */

static const luaL_Reg mbarrier_meta[] = {
    {"__tostring", mbarrier_tostring}, {"__named", mbarrier_named}, {NULL, NULL}};
static const luaL_Reg state_meta[] = {{"__newindex", state_newindex},
                                      {"__tostring", state_tostring},
                                      {"__named", state_named},
                                      {NULL, NULL}};
static const char *const state_fields[] = {"slot", "parity", NULL};
static const luaL_Reg named_meta[] = {{"__tostring", named_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"mbarrier", lang_mbarrier},
                                     {"pipeline_state", lang_pipeline_state},
                                     {"named_barrier", lang_named_barrier},
                                     {NULL, NULL}};

/* Pushes the metatable of a new type, and the table of its methods. */
static void push_type(lua_State *L, const char *name, const luaL_Reg *meta, const CallRow *methods,
                      size_t n) {
  bind_new_type(L, name, meta, NULL);
  luaL_getmetatable(L, name);
  lua_newtable(L);
  call_add_rows(L, methods, n);
}

void bind_open_sync(lua_State *L) { /* language table on top */
  push_type(L, MBARRIER_TYPE, mbarrier_meta, mbarrier_methods, CT_ARRAY_LEN(mbarrier_methods));
  bind_set_index(L, mbarrier_index);
  lua_pop(L, 1);
  push_type(L, STATE_TYPE, state_meta, state_methods, CT_ARRAY_LEN(state_methods));
  bind_set_index(L, state_index);
  bind_add_fields(L, state_fields);
  lua_pop(L, 1);
  push_type(L, NAMED_TYPE, named_meta, named_methods, CT_ARRAY_LEN(named_methods));
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  luaL_setfuncs(L, functions, 0);
}
