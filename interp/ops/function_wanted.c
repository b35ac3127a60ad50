/* function_wanted.c: the calls of device_fn that a trace for a GPU has found, and of which each is to be traced by
   itself. */
#include "bind_function.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/front/front_trace.h"
#include "interp/state/state_language.h"
#include "interp/trace/value.h"

/* In the registry: a list of calls that are wanted, {f, argument, ..., key =, n =, types = {}}, and in its field
   `shapes`, by key, how records lie in the results of functions that have some. An argument
   that only the launch knows is false there, and its type in `types` by number; of a float that has none yet, which
   the function gives one, it is the CtUntyped, negated. */
static char wanted_key;

void function_begin(lua_State *L) {
  lua_newtable(L);
  lua_newtable(L);
  lua_setfield(L, -2, "shapes");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &wanted_key);
}

void function_end(lua_State *L) {
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &wanted_key);
}

int function_push_wanted(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &wanted_key);
  return (int)lua_rawlen(L, -1);
}

int function_count_wanted(lua_State *L) {
  int n = function_push_wanted(L);
  lua_pop(L, 1);
  return n;
}

void function_push_call(lua_State *L) {
  int n = function_push_wanted(L);
  lua_rawgeti(L, -1, n);
  lua_remove(L, -2);
}

const char *function_wanted_key(lua_State *L) {
  function_push_call(L);
  lua_getfield(L, -1, "key");
  const char *key = lua_tostring(L, -1); /* the table keeps it */
  lua_pop(L, 2);
  return key;
}

bool function_wanted_noinline(lua_State *L) {
  function_push_call(L);
  lua_getfield(L, -1, "noinline");
  bool is = lua_toboolean(L, -1) != 0;
  lua_pop(L, 2);
  return is;
}

void function_is_made(lua_State *L) {
  int n = function_push_wanted(L);
  lua_pushnil(L);
  lua_rawseti(L, -2, n);
  lua_pop(L, 1);
}

void function_push_body(lua_State *L) { state_push_function(L, "cuttle.device_fn", "body"); }

static CtDtype type_at(lua_State *L, int types, int i, uint8_t *untyped) {
  lua_rawgeti(L, types, i);
  lua_Integer type = lua_tointeger(L, -1);
  lua_pop(L, 1);
  *untyped = type < 0 ? (uint8_t)-type : CT_TYPED;
  return type < 0 ? CT_f32 : (CtDtype)type;
}

static void push_parameter(lua_State *L, CtIr *ir, int i, CtDtype type, uint8_t untyped) {
  char name[16];
  snprintf(name, sizeof name, "a%d", i);
  type = untyped != CT_TYPED ? front_parameter_type(L, (int)ir->n_slots) : type;
  CtVal v = ct_ir_number(ir, name, type, ct_type_facts(type));
  if (v != 0) {
    ir->insts[v].untyped = untyped;
  }
  value_push(L, v);
}

int function_push_arguments(lua_State *L, CtIr *ir, void *unused, int given) {
  (void)given;
  (void)unused;
  function_push_call(L);
  int call = lua_gettop(L), types = call + 1;
  lua_getfield(L, call, "types");
  lua_getfield(L, call, "n");
  int n = (int)lua_tointeger(L, -1);
  luaL_checkstack(L, n + 8, NULL);
  lua_rawgeti(L, call, 1);
  for (int i = 1; i <= n; i++) {
    uint8_t untyped;
    CtDtype type = type_at(L, types, i, &untyped);
    if (type == CT_VOID) {
      lua_rawgeti(L, call, i + 1);
    } else {
      push_parameter(L, ir, i, type, untyped);
    }
  }
  for (int i = 0; i < 3; i++) {
    lua_remove(L, call); /* the call, its types, their number */
  }
  return n + 1;
}

/* "wave_f32_i32": the function's name or line, and the types. */
static void add_types(lua_State *L, char *name, size_t size) {
  function_push_call(L);
  lua_getfield(L, -1, "types");
  lua_getfield(L, -2, "n");
  int n = (int)lua_tointeger(L, -1), types = lua_gettop(L) - 1;
  for (int i = 1; i <= n; i++) {
    uint8_t ignored;
    CtDtype type = type_at(L, types, i, &ignored);
    size_t len = strlen(name);
    if (type != CT_VOID) {
      snprintf(name + len, size - len, "_%s", ct_dtypes[type].name);
    }
  }
  lua_pop(L, 3);
}

static bool is_taken(const CtIr *ir, const char *name) {
  const CtIrFunction *f = ir->functions;
  while (f != NULL && strcmp(f->ir.name, name) != 0) {
    f = f->next;
  }
  return f != NULL;
}

void function_name(lua_State *L, CtIr *ir) {
  lua_Debug ar;
  char name[100], unique[120];
  function_push_call(L);
  lua_getfield(L, -1, "name");
  lua_getfield(L, -2, "origin");
  lua_getinfo(L, ">S", &ar);
  if (lua_isstring(L, -1)) {
    snprintf(name, sizeof name, "%.60s", lua_tostring(L, -1));
  } else {
    snprintf(name, sizeof name, "function_%d", ar.linedefined);
  }
  lua_pop(L, 2);
  add_types(L, name, sizeof name);
  snprintf(unique, sizeof unique, "%s", name);
  for (int i = 2; is_taken(ir, unique); i++) {
    snprintf(unique, sizeof unique, "%s_%d", name, i);
  }
  ir->name = ct_arena_strdup(&ir->arena, unique, strlen(unique));
  ct_ir_at(ir, ar.short_src, ar.linedefined);
  ir->loc = ir->cur_loc;
}
