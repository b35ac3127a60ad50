/* bind_function.c: device_fn(f[, options]): a function that is one function in CUDA C, for each list of
   types that it is called with. The CPU engine traces it where it is called. Records go as their fields
   (device_fn.lua): of arguments a function of scalars is made, for results the trace keeps their shapes. */
#include "bind_function.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/front/front_parts.h"
#include "interp/front/front_reads.h"
#include "interp/front/front_trace.h"
#include "interp/openers.h"
#include "interp/state/state_language.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/front_state.h"
#include "runtime/ir/ir_tma.h"

enum { MAX_ARGS = 32, MAX_RESULTS = 16 };
enum { F = 1, OPTIONS = 2 }; /* upvalues of what device_fn returns */

/* {====== What a function may use ====== */

/* What a function of CUDA C cannot have of its own. */
typedef struct Uses {
  int64_t shared_bytes;
  bool dynamic_shared;
  size_t asserts, prints;
} Uses;

static Uses uses_of(const CtIr *ir) {
  return (Uses){.shared_bytes = (int64_t)ct_ir_shared_bytes(ir),
                .dynamic_shared = ir->smem_buf != 0,
                .asserts = (size_t)ir->n_asserts,
                .prints = (size_t)ir->n_prints};
}

static const char *find_refused(Uses before, Uses after) {
  if (after.shared_bytes > before.shared_bytes || after.dynamic_shared != before.dynamic_shared) {
    return "shared memory; declare it in the kernel, and give the function elements of it";
  }
  return after.asserts > before.asserts ? "assert or error; call it in the kernel"
         : after.prints > before.prints ? "printf; call it in the kernel"
                                        : NULL;
}

const char *function_refuse(const CtIr *ir) { return find_refused((Uses){0}, uses_of(ir)); }

/* {====== Calls ====== */

typedef struct Call {
  lua_State *L;
  int n;
  CtVal vals[MAX_ARGS]; /* 0: known while tracing */
} Call;

/* Adds an argument that is known to the key: numbers and strings by value, all else by identity. */
static void add_known(lua_State *L, int i, luaL_Buffer *b) {
  char text[64];
  if (lua_type(L, i) == LUA_TNUMBER || lua_type(L, i) == LUA_TSTRING) {
    lua_pushvalue(L, i);
    const char *s = lua_tostring(L, -1);
    snprintf(text, sizeof text, "|%c%zu ",
             lua_type(L, i) == LUA_TSTRING ? 's'
             : lua_isinteger(L, i)         ? 'i'
                                           : 'n',
             strlen(s)); /* so that no text looks like two */
    luaL_addstring(b, text);
    luaL_addstring(b, s);
    lua_remove(L, -1);
    return;
  }
  snprintf(text, sizeof text, "|%d %d %p", lua_type(L, i), lua_toboolean(L, i),
           lua_topointer(L, i));
  luaL_addstring(b, text);
}

static void check_whole(lua_State *L, int i) {
  front_check_missing(L, i);
  if (half_test(L, i) != NULL) {
    diag_error(L, "'c and x' needs an 'or' to be a value; write 'c and x or y'");
  }
}

/* Objects may be others in each trace, so they say nothing of which function it is. */
static void check_argument(lua_State *L, int i) {
  CtDtype ignored;
  bool is_known = lua_isnoneornil(L, i) || front_is_scalar(L, i) || lua_type(L, i) == LUA_TSTRING;
  check_whole(L, i);
  if (!is_known && !bind_test_dtype(L, i, &ignored)) {
    diag_error(L,
               "device_fn: argument %d is %s; a function accepts numbers, booleans, strings, "
               "types and records: pass elements, capture what is known, or call a plain helper "
               "function",
               i, diag_push_kind(L, i));
  }
}

static int count_arguments(lua_State *L) {
  int n = lua_gettop(L);
  if (n > MAX_ARGS) {
    diag_error(L, "device_fn: %d arguments; at most %d were expected", n, MAX_ARGS);
  }
  return n;
}

/* Raises the message at the line where the function begins. */
static void fail_at(lua_State *L, const char *chunk, int line, CtErr *err) {
  ct_err_at(err, chunk, line);
  diag_raise(L, err);
}

/* Of n results, at 1 and up, of the function that begins there. */
static void check_results(lua_State *L, const char *chunk, int line, int n) {
  CtErr err;
  if (n > MAX_RESULTS) {
    (void)ct_fail(&err, CT_EINVAL,
                  "device_fn: the function returns %d values; at most %d were expected", n,
                  MAX_RESULTS);
    fail_at(L, chunk, line, &err);
  }
  for (int i = 1; i <= n && front_ir(L) != NULL; i++) {
    (void)value_settle(L, i);
    check_whole(L, i);
    if (!front_is_scalar(L, i) && !lua_istable(L, i)) {
      (void)ct_fail(&err, CT_EINVAL,
                    "device_fn: result %d is %s; a function returns numbers, "
                    "booleans and records of these",
                    i, diag_push_kind(L, i));
      fail_at(L, chunk, line, &err);
    }
  }
}

/* Reads the arguments 1 to n. */
static void read_arguments(Call *c, int n) {
  lua_State *L = c->L;
  c->n = n;
  for (int i = 1; i <= c->n; i++) {
    c->vals[i - 1] = 0;
    (void)value_settle(L, i);
    (void)value_test(L, i, &c->vals[i - 1]);
    check_argument(L, i);
  }
  if (front_ir(L)->failed) { /* a value that could not be made would count as known */
    luaL_error(L, "not enough memory");
  }
}

/* Pushes the text that tells calls apart: the function, types, and values that are known. */
static const char *push_key(const Call *c) {
  lua_State *L = c->L;
  luaL_Buffer b;
  char text[64];
  luaL_buffinit(L, &b);
  snprintf(text, sizeof text, "%p %p", lua_topointer(L, lua_upvalueindex(F)), (void *)0);
  luaL_addstring(&b, text);
  for (int i = 1; i <= c->n; i++) {
    if (c->vals[i - 1] != 0) {
      const CtInst *inst = ct_inst(front_ir(L), c->vals[i - 1]);
      if (inst->untyped == CT_TYPED) {
        snprintf(text, sizeof text, "|%s", ct_dtypes[inst->type].name);
      } else {
        snprintf(text, sizeof text, "|float%d", inst->untyped);
      }
      luaL_addstring(&b, text);
    } else {
      add_known(L, i, &b);
    }
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static int fail_recursion(lua_State *L) {
  return diag_error(
      L, "device_fn: the function calls itself, and GPUs handle recursion badly; write a loop, "
         "with a stack in a local_array");
}

/* On a GPU: is the call wanted already? */
static void check_recursion(lua_State *L, const char *key) {
  int n = function_push_wanted(L);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    lua_getfield(L, -1, "key");
    if (strcmp(lua_tostring(L, -1), key) == 0) {
      fail_recursion(L);
    }
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

/* Pushes the function of the script that is called. */
static void push_origin(lua_State *L) {
  if (lua_getfield(L, lua_upvalueindex(OPTIONS), "origin") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(F));
  }
}

/* Leaves the call as wanted, and ends the trace. */
static int want(const Call *c, const char *key) {
  lua_State *L = c->L;
  check_recursion(L, key);
  lua_createtable(L, c->n + 1, 5);
  lua_createtable(L, c->n, 0);
  for (int i = 1; i <= c->n; i++) {
    CtVal v = c->vals[i - 1];
    const CtInst *inst = ct_inst(front_ir(L), v);
    lua_pushinteger(L, v == 0                      ? CT_VOID
                       : inst->untyped != CT_TYPED ? -(lua_Integer)inst->untyped
                                                   : inst->type);
    lua_rawseti(L, -2, i);
    if (v == 0) {
      lua_pushvalue(L, i);
      lua_rawseti(L, -3, i + 1);
    }
  }
  lua_setfield(L, -2, "types");
  lua_pushvalue(L, lua_upvalueindex(F));
  lua_rawseti(L, -2, 1);
  lua_pushstring(L, key);
  lua_setfield(L, -2, "key");
  lua_pushinteger(L, c->n);
  lua_setfield(L, -2, "n");
  static const char *const fields[] = {"name", "noinline"};
  push_origin(L);
  lua_setfield(L, -2, "origin");
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    lua_getfield(L, lua_upvalueindex(OPTIONS), fields[i]);
    lua_setfield(L, -2, fields[i]);
  }
  int n = function_push_wanted(L);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, n + 1);
  return diag_error(L, "device_fn: the function is to be traced first");
}

/* Numbers without a type become what the function takes them as. */
static void settle_arguments(Call *c, const CtIrFunction *f) {
  const CtIr *ir = front_ir(c->L);
  for (size_t i = 0; i < f->ir.n_slots; i++) {
    const CtSlot *slot = &f->ir.slots[i];
    CtVal *v = slot->kind == CT_SLOT_NUMBER ? &c->vals[strtol(slot->name + 1, NULL, 10) - 1] : NULL;
    if (v != NULL && value_is_untyped(ir, *v) && ct_inst(ir, *v)->type != slot->dtype) {
      *v = value_take(c->L, *v, slot->dtype);
    }
  }
}

/* A value of the call, or what is known of each call. */
static void push_result(lua_State *L, CtVal v, const CtReturn *r) {
  switch (r->kind) {
    case CT_RETURN_INT: lua_pushinteger(L, r->known.i); break;
    case CT_RETURN_FLOAT: lua_pushnumber(L, r->known.f); break;
    case CT_RETURN_BOOL: lua_pushboolean(L, r->known.i != 0); break;
    case CT_RETURN_VALUE:
    case CT_RETURN_EXACT:
      front_ir(L)->insts[v].untyped = r->kind == CT_RETURN_EXACT ? CT_UNTYPED_EXACT : CT_TYPED;
      value_push(L, v);
      break;
  }
}

/* Of n results at the top, the records again, where the function has some. Returns how many there are. */
static int rebuild_results(lua_State *L, const char *key, int n) {
  int first = lua_gettop(L) - n + 1;
  (void)function_push_wanted(L);
  lua_getfield(L, -1, "shapes");
  if (lua_getfield(L, -1, key) == LUA_TNIL) {
    lua_pop(L, 3);
    return n;
  }
  lua_replace(L, first + n);
  lua_settop(L, first + n);
  lua_insert(L, first);
  if (front_push_library(L, "cuttle.device_fn", "rebuild") != LUA_OK) {
    return lua_error(L);
  }
  lua_insert(L, first);
  lua_call(L, n + 1, LUA_MULTRET);
  return lua_gettop(L) - first + 1;
}

static int record_call(Call *c, const CtIrFunction *f) {
  lua_State *L = c->L;
  CtIr *ir = front_ir(L);
  settle_arguments(c, f);
  CtVal v = ct_ir_function_is_called(f) ? ct_ir_call(ir, f, c->vals) : 0;
  int n = ir->failed ? 0 : f->ir.n_returns;
  luaL_checkstack(L, n + 2, NULL);
  for (int i = 0; i < n; i++) {
    push_result(L, v == 0 ? 0 : ct_inst(ir, v)->u.escape->outs[i].val, &f->ir.returns[i]);
  }
  return rebuild_results(L, f->key, n);
}

/* Where the function was traced in place, its results are from 1 on: records are taken apart and put together as
   those of a call are. */
static void copy_records(lua_State *L) {
  int n = lua_gettop(L);
  bool has_record = false;
  for (int i = 1; i <= n; i++) {
    has_record = has_record || lua_istable(L, i);
  }
  if (has_record) {
    if (front_push_library(L, "cuttle.device_fn", "results") != LUA_OK) {
      lua_error(L);
    }
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
  }
}

/* On the CPU engine, where the function is traced in place: it does nothing that a GPU's could not. */
static void check_place(lua_State *L, const CtIr *ir, Uses before) {
  lua_Debug ar;
  CtErr err;
  push_origin(L);
  lua_getinfo(L, ">S", &ar);
  check_results(L, ar.short_src, ar.linedefined, lua_gettop(L));
  const char *refused = ir == NULL ? NULL : find_refused(before, uses_of(ir));
  if (refused != NULL) {
    (void)ct_fail(&err, CT_EINVAL, "device_fn: the function uses %s", refused);
    fail_at(L, ar.short_src, ar.linedefined, &err);
  }
}

/* Pushes the key of the call with the arguments 1 to n, which stay as they are. */
static const char *push_key_of(lua_State *L, int n) {
  Call c = {.L = L};
  luaL_checkstack(L, n + 8, "too many arguments");
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, i);
  }
  lua_rotate(L, 1, n); /* the copies come first: what is known of them becomes a number of Lua */
  read_arguments(&c, n);
  (void)push_key(&c);
  for (int i = 1; i <= n; i++) {
    lua_copy(L, n + i, i);
  }
  lua_replace(L, n + 1);
  lua_settop(L, n + 1);
  return lua_tostring(L, -1);
}

static int call_function(lua_State *L);

/* Where functions are traced in place, each call in progress has its key at 1. */
static void check_progress(lua_State *L, const char *key) {
  lua_Debug ar;
  luaL_checkstack(L, 4, NULL);
  for (int level = 1; lua_getstack(L, level, &ar) != 0; level++) {
    lua_getinfo(L, "f", &ar);
    bool is_call = lua_tocfunction(L, -1) == call_function;
    lua_pop(L, 1);
    if (is_call && lua_getlocal(L, &ar, 1) != NULL) {
      if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), key) == 0) {
        fail_recursion(L);
      }
      lua_pop(L, 1);
    }
  }
}

/* Stack: n arguments. The function is traced here. */
static int call_in_place(lua_State *L, Front *front, int n) {
  Uses before = uses_of(front->ir);
  check_progress(L, push_key_of(L, n));
  lua_insert(L, 1);
  lua_pushvalue(L, lua_upvalueindex(F));
  if (front_convert_function(L, n + 2, RW_HELPER) != LUA_OK) {
    return lua_error(L);
  }
  lua_insert(L, 2);
  lua_settop(L, n + 2);
  lua_call(L, n, LUA_MULTRET);
  lua_remove(L, 1);
  copy_records(L);
  check_place(L, front->ir, before);
  return lua_gettop(L);
}

/* On a GPU: one more call of a function that is made, or wanted. One whose results have no type yet has no one
   type in CUDA C: it is traced in place, and they take the types that they meet there. */
static int call_made(lua_State *L, Front *front) {
  Call c = {.L = L};
  int n = count_arguments(L);
  luaL_checkstack(L, n + 8, "too many arguments");
  front_at(L, front);
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, i); /* as they are, from n + 1 on */
  }
  read_arguments(&c, n);
  lua_pushvalue(L, lua_upvalueindex(F));
  front_note_host_function(L, -1);
  if (front_convert_function(L, lua_gettop(L), RW_HELPER) != LUA_OK) { /* notes what it reads */
    return lua_error(L);
  }
  lua_settop(L, 2 * n);
  const char *key = push_key(&c);
  const CtIrFunction *f = ct_ir_function_find(front->ir, key);
  if (f == NULL || f->ir.open_results == 0) {
    return f == NULL ? want(&c, key) : record_call(&c, f);
  }
  lua_settop(L, 2 * n);
  lua_rotate(L, 1, n);
  lua_settop(L, n);
  return call_in_place(L, front, n);
}

static bool has_records(lua_State *L) {
  bool has = false;
  for (int i = lua_gettop(L); i > 0 && !has; i--) {
    has = lua_istable(L, i);
  }
  return has;
}

/* With records among its arguments: a function of their fields is called. */
static int call_flat(lua_State *L) {
  int n = lua_gettop(L);
  luaL_checkstack(L, 8, "too many arguments");
  if (front_push_library(L, "cuttle.device_fn", "flatten") != LUA_OK) {
    return lua_error(L);
  }
  lua_pushvalue(L, lua_upvalueindex(F));
  lua_rotate(L, 1, 2);
  lua_call(L, n + 1, LUA_MULTRET);
  lua_newtable(L); /* the options, and the function of the script */
  static const char *const fields[] = {"name", "noinline"};
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    lua_getfield(L, lua_upvalueindex(OPTIONS), fields[i]);
    lua_setfield(L, -2, fields[i]);
  }
  lua_pushvalue(L, lua_upvalueindex(F));
  lua_setfield(L, -2, "origin");
  lua_pushvalue(L, 1);
  lua_insert(L, -2);
  lua_pushcclosure(L, call_function, 2);
  lua_replace(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* What device_fn returns. */
static int call_function(lua_State *L) {
  Front *front = front_of(L);
  if (has_records(L)) {
    return call_flat(L);
  }
  if (front->ir != NULL && front->ir->target.is_cuda) {
    return call_made(L, front);
  }
  int n = count_arguments(L);
  if (front->ir != NULL) {
    return call_in_place(L, front, n);
  }
  for (int i = 1; i <= n; i++) {
    check_argument(L, i);
  }
  lua_pushvalue(L, lua_upvalueindex(F));
  lua_insert(L, 1);
  lua_call(L, n, LUA_MULTRET);
  copy_records(L);
  check_place(L, NULL, (Uses){0});
  return lua_gettop(L);
}

static CtReturn return_of(lua_State *L, int i) {
  if (lua_isinteger(L, i)) {
    return (CtReturn){CT_RETURN_INT, {.i = lua_tointeger(L, i)}};
  }
  if (lua_type(L, i) == LUA_TNUMBER) {
    return (CtReturn){CT_RETURN_FLOAT, {.f = lua_tonumber(L, i)}};
  }
  if (lua_isboolean(L, i)) {
    return (CtReturn){CT_RETURN_BOOL, {.i = lua_toboolean(L, i)}};
  }
  bool is_exact = value_untyped(L, i) == CT_UNTYPED_EXACT;
  return (CtReturn){is_exact ? CT_RETURN_EXACT : CT_RETURN_VALUE, {0}};
}

/* The shapes at 1, if they are no nil, are those of the function's results. */
static void keep_shapes(lua_State *L) {
  if (!lua_isnil(L, 1)) {
    (void)function_push_wanted(L);
    lua_getfield(L, -1, "shapes");
    function_push_call(L);
    lua_getfield(L, -1, "key");
    lua_pushvalue(L, 1);
    lua_rawset(L, -4);
    lua_pop(L, 3);
  }
  lua_remove(L, 1);
}

/* _kernel.function_results(shapes, ...): stores what the function returned. */
static int lang_results(lua_State *L) {
  CtIr *ir = front_here(L, "device_fn");
  keep_shapes(L);
  int n = lua_gettop(L);
  ir->cur_loc = ir->loc;
  check_results(L, ct_ir_chunk(ir, ir->loc), ir->loc.line, n);
  ir->returns = ct_arena_alloc(&ir->arena, MAX_RESULTS * sizeof *ir->returns);
  if (ir->returns == NULL) {
    return luaL_error(L, "not enough memory");
  }
  ir->n_returns = (uint8_t)n;
  for (int i = 1; i <= n; i++) {
    char name[16];
    ir->returns[i - 1] = return_of(L, i);
    CtVal v = value_to(L, i, CT_VOID, "device_fn: a result");
    bool is_open = ir->returns[i - 1].kind == CT_RETURN_VALUE && value_is_untyped(ir, v);
    ir->open_results |= (uint32_t)is_open << (i - 1);
    CtCx cx = ct_ir_cx(ir);
    CtTuple one = ct_leaf(cx.arena, ct_int(1));
    snprintf(name, sizeof name, "r%d", i);
    CtTensorSpec spec = {.name = name,
                         .dtype = (CtDtype)ct_inst(ir, v)->type,
                         .index = CT_i32,
                         .align = (uint32_t)ct_value_bytes((CtDtype)ct_inst(ir, v)->type),
                         .shape = one,
                         .stride = one};
    CtView view = ct_ir_tensor(ir, &spec);
    ct_ir_store(ir, view.buf, ct_ir_const_int(ir, CT_i32, 0), v);
  }
  return 0;
}

/* The name at the top: an identifier of C. */
static void check_name(lua_State *L) {
  const char *s = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  bool is_name = isalpha((unsigned char)*s) != 0;
  for (; *s != '\0' && is_name; s++) {
    is_name = isalnum((unsigned char)*s) != 0 || *s == '_';
  }
  if (!is_name) {
    diag_error(L, "device_fn: name '%s'; expected letters, digits and _, a letter first",
               luaL_tolstring(L, -1, NULL));
  }
}

static void check_options(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, 2) != 0) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(key, "name") != 0 && strcmp(key, "noinline") != 0) {
      diag_error(L, "device_fn: option '%s' is unknown; expected name and noinline", key);
    }
    if (strcmp(key, "name") == 0) {
      check_name(L);
    }
    lua_pop(L, 1);
  }
}

static int device_fn(lua_State *L) {
  diag_take_args(L, "device_fn", 2);
  if (!lua_isfunction(L, 1)) {
    return diag_type_error(L, 1, "device_fn", "a function");
  }
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    lua_replace(L, 2);
  }
  if (!lua_istable(L, 2)) {
    return diag_type_error(L, 2, "device_fn", "a table of options");
  }
  check_options(L);
  if (front_ir(L) != NULL) { /* each trace would make another one */
    return diag_error(
        L, "device_fn: the function is made in a kernel; make it outside, before the kernel");
  }
  lua_pushcclosure(L, call_function, 2);
  return 1;
}

void bind_open_function(lua_State *L) { /* language table on top */
  static const luaL_Reg functions[] = {
      {"device_fn", device_fn}, {"_kernel.function_results", lang_results}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  function_begin(L);
}
