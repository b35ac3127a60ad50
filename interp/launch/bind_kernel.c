/* bind_kernel.c: kernels as Lua sees them: `kernel(name, fn)`, `k{grid =, block =}(args...)` and prepared
   launches. launch_config.c reads their options; launch_inspect.c says what a launch would run. */
#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "launch.h"
#include "interp/openers.h"

enum { MAX_PREPARED = 250 }; /* upvalues of a function of C, less some */

Kernel *kernel_test(lua_State *L, int idx) { return luaL_testudata(L, idx, KERNEL_TYPE); }

static Kernel *kernel_check(lua_State *L, int idx) {
  Kernel *k = kernel_test(L, idx);
  if (k == NULL) {
    diag_error(L, "a kernel was expected, got %s", diag_push_kind(L, idx));
  }
  return k;
}

/* --- kernels ---------------------------------------------------------------------------------------- */

static bool is_identifier(const char *s) {
  bool ok = isalpha((unsigned char)*s) || *s == '_';
  for (const char *p = s; *p != '\0'; p++) {
    ok = ok && (isalnum((unsigned char)*p) || *p == '_');
  }
  return ok;
}

/* "matmul_12" for a function at line 12 of dir/matmul.lua; "string_return_1_1" for one of the chunk
   `[string "return 1"]`. */
static void push_default_name(lua_State *L, const Kernel *k) {
  char name[sizeof k->chunk + 1];
  const char *base = strrchr(k->chunk, '/');
  base = base == NULL ? k->chunk : base + 1;
  size_t n = 0;
  for (const char *p = base; *p != '\0' && *p != '.'; p++) {
    if (isalnum((unsigned char)*p)) {
      name[n++] = *p;
    } else if (n > 0 && name[n - 1] != '_') {
      name[n++] = '_';
    }
  }
  n -= n > 0 && name[n - 1] == '_';
  name[n] = '\0';
  lua_pushfstring(L, "%s%s_%d", isalpha((unsigned char)name[0]) ? "" : "k", name, k->line);
}

static void locate(lua_State *L, Kernel *k, int fn) {
  lua_Debug ar;
  lua_pushvalue(L, fn);
  lua_getinfo(L, ">Su", &ar);
  k->n_params = ar.nparams;
  k->is_vararg = ar.isvararg != 0;
  snprintf(k->chunk, sizeof k->chunk, "%s", ar.short_src);
  k->line = ar.linedefined;
}

/* kernel([name,] fn[, options]) */
static int lang_kernel(lua_State *L) {
  int fn = lua_isfunction(L, 1) ? 1 : 2;
  if (lua_isnoneornil(L, fn)) {
    return diag_error(L,
                      "kernel: the function is missing; write kernel(\"name\", function(...) end)");
  }
  if (!lua_isfunction(L, fn) || lua_iscfunction(L, fn)) {
    return diag_error(L, "kernel: argument %d is %s; a Lua function was expected", fn,
                      lua_iscfunction(L, fn) ? "a function written in C" : diag_push_kind(L, fn));
  }
  if (fn == 2 && (lua_type(L, 1) != LUA_TSTRING ||
                  !is_identifier(diag_check_name(L, 1, "kernel", "the name")))) {
    return diag_error(L, "kernel: the name is '%s'; letters, digits and '_' were expected",
                      luaL_tolstring(L, 1, NULL));
  }
  lua_settop(L, fn + 1);
  Kernel *k = lua_newuserdatauv(L, sizeof *k, KERNEL_ARGS);
  memset(k, 0, sizeof *k);
  k->contract = true;
  luaL_setmetatable(L, KERNEL_TYPE);
  int self = lua_gettop(L);
  k->state = state_of(L);
  k->front = front_find(L);
  locate(L, k, fn);
  kernel_read_options(L, k, fn + 1);
  if (fn == 2) {
    lua_pushvalue(L, 1);
  } else {
    push_default_name(L, k);
  }
  k->name = lua_tostring(L, -1);
  lua_setiuservalue(L, self, 3);
  lua_pushvalue(L, fn);
  lua_setiuservalue(L, self, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STATE_KERNELS);
  lua_pushvalue(L, self);
  lua_setfield(L, -2, k->name);
  lua_settop(L, self);
  return 1;
}

static int kernel_gc(lua_State *L) {
  Kernel *k = kernel_check(L, 1);
  if (k->state != NULL) {
    kernel_forget(k);
  }
  return 0;
}

static int kernel_tostring(lua_State *L) {
  const Kernel *k = kernel_check(L, 1);
  lua_pushfstring(L, "kernel %s (%s:%d)", k->name, k->chunk, k->line);
  return 1;
}

static int kernel_reset(lua_State *L) {
  kernel_forget(kernel_check(L, 1));
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 2);
  return 0;
}

/* --- configurations ------------------------------------------------------------------------------------ */

/* A configuration that is called more than once keeps what it last read, for arguments like those. For the first
   calls of configurations, as in k{...}(...), the kernel keeps what the last one read. */
typedef struct Config {
  LaunchConfig launch;      /* first: a Config is used as one */
  LaunchArgs *args;         /* the userdata that is a user value; NULL until the second call */
  bool was_called, is_read; /* is_read: *args holds the arguments of a call */
} Config;

/* k{grid =, block =}: a configuration; it may be kept and called again and again. */
static int kernel_call(lua_State *L) {
  Kernel *k = kernel_check(L, 1);
  launch_check_outside(L, k);
  if (!lua_istable(L, 2)) {
    return diag_error(L,
                      "%s: %s instead of a launch configuration; write "
                      "%s{grid = ..., block = ...}(...)",
                      k->name, diag_push_kind(L, 2), k->name);
  }
  diag_check_count(L, k->name, diag_drop_nils(L, 2) - 1, 1);
  lua_settop(L, 2);
  Config *c = lua_newuserdatauv(L, sizeof *c, CONFIG_ARGS);
  memset(c, 0, sizeof *c);
  luaL_setmetatable(L, CONFIG_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, CONFIG_KERNEL);
  launch_read_config(L, 2, k, &c->launch);
  return 1;
}

/* The configuration at 1. An address at `type` tells its metatable at less cost than a name. */
static Config *check_config(lua_State *L, int type) {
  bool is_config = lua_getmetatable(L, 1) != 0 && lua_topointer(L, -1) == lua_touserdata(L, type);
  if (!is_config) {
    luaL_checkudata(L, 1, CONFIG_TYPE); /* raises */
  }
  lua_pop(L, 1);
  return lua_touserdata(L, 1);
}

/* Of what launch_read left at the top, the userdata at `args` keeps the arrays, but no tensors. */
static void keep_arrays(lua_State *L, int args) {
  if (lua_istable(L, -1)) {
    lua_rawgeti(L, -1, 1);
  } else {
    lua_pushnil(L);
  }
  lua_setiuservalue(L, args, 1);
}

static LaunchArgs *push_args(lua_State *L) { return lua_newuserdatauv(L, sizeof(LaunchArgs), 1); }

static void call_once(lua_State *L, const LaunchConfig *c, int kernel) {
  LaunchArgs args;
  launch_read(L, kernel, 2, kernel - 2, c, &args);
  launch_kernel(L, kernel, c, &args, 1);
}

/* The kernel's arguments belong to this call until it ends: what it runs may launch the kernel, too. */
void kernel_launch(lua_State *L, int kernel, int n, LaunchConfig *c, const CtStream *stream) {
  bool is_kept = lua_getiuservalue(L, kernel, KERNEL_ARGS) == LUA_TUSERDATA;
  LaunchArgs *args = is_kept ? lua_touserdata(L, -1) : push_args(L);
  int place = lua_gettop(L);
  lua_pushnil(L);
  lua_setiuservalue(L, kernel, KERNEL_ARGS);
  if (!is_kept || !launch_is_like(c, args) || !launch_read_again(L, kernel, 2, n, args)) {
    launch_read(L, kernel, 2, n, c, args);
    keep_arrays(L, place);
  }
  launch_take_stream(c, stream, args);
  launch_kernel(L, kernel, c, args, 1);
  lua_pushvalue(L, place);
  lua_setiuservalue(L, kernel, KERNEL_ARGS);
}

/* With arguments that differ from those of the call before. */
static void read_args(lua_State *L, Config *c, int kernel) {
  if (c->args == NULL) {
    c->args = push_args(L);
    lua_setiuservalue(L, 1, CONFIG_ARGS);
  }
  lua_getiuservalue(L, 1, CONFIG_ARGS);
  c->is_read = false; /* launch_read may raise half-way */
  launch_read(L, kernel, 2, kernel - 2, &c->launch, c->args);
  keep_arrays(L, kernel + 1);
  c->is_read = true;
}

/* Stack: configuration, arguments. `type`: see check_config. */
static int call_config(lua_State *L, int type) {
  Config *c = check_config(L, type);
  int kernel = lua_gettop(L) + 1;
  Kernel *k = launch_push_kernel(L, &c->launch);
  if (k->state->is_printing ||
      !k->was_called) { /* what prints may launch while arguments are in use */
    c->was_called = k->was_called = true;
    call_once(L, &c->launch, kernel);
    return 0;
  }
  if (!c->was_called) {
    c->was_called = true;
    kernel_launch(L, kernel, kernel - 2, &c->launch, NULL);
    return 0;
  }
  if (!c->is_read || !launch_read_again(L, kernel, 2, kernel - 2, c->args)) {
    read_args(L, c, kernel);
  }
  launch_kernel(L, kernel, &c->launch, c->args, 1);
  return 0;
}

static int config_call(lua_State *L) { return call_config(L, lua_upvalueindex(1)); }

/* :enqueue(n, args...): n launches in a row from C: what launches cost without Lua. */
static int config_enqueue(lua_State *L) {
  LaunchArgs args;
  int kernel;
  int64_t n = bind_to_static(L, 2, "enqueue");
  lua_remove(L, 2);
  const LaunchConfig *c = launch_enter(L, &args, &kernel);
  launch_kernel(L, kernel, c, &args, n);
  return 0;
}

/* --- prepared launches ------------------------------------------------------------------------------------ */

/* k:prepare{...}(args...): a launcher that holds its arguments; calling it launches. Upvalues of it: */
enum { UP_COUNT = 1, UP_TYPE, UP_CONFIG, UP_ARGS };

static int launcher_call(lua_State *L) {
  int n = (int)lua_tointeger(L, lua_upvalueindex(UP_COUNT)), n_given = diag_drop_nils(L, 0);
  if (n_given > 0) {
    return diag_error(L,
                      "a prepared launch was called with %d arguments; it has those that prepare "
                      "was given, so call it without any",
                      n_given);
  }
  luaL_checkstack(L, n + LUA_MINSTACK, "too many arguments");
  for (int i = 0; i <= n; i++) {
    lua_pushvalue(L, lua_upvalueindex(UP_CONFIG + i));
  }
  return call_config(L, lua_upvalueindex(UP_TYPE));
}

static int prepare_args(lua_State *L) { /* upvalue 1: configuration */
  int n = lua_gettop(L);
  if (n > MAX_PREPARED) {
    return diag_error(L,
                      "prepare: %d arguments; a prepared launch holds at most %d. Pass tensors "
                      "in a list, {a, b}, or call k{...}(...) again and again",
                      n, MAX_PREPARED);
  }
  lua_pushinteger(L, n);
  luaL_getmetatable(L, CONFIG_TYPE);
  lua_pushlightuserdata(L, (void *)lua_topointer(L, -1));
  lua_replace(L, -2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_rotate(L, 1, UP_ARGS - 1);
  lua_pushcclosure(L, launcher_call, n + UP_ARGS - 1);
  return 1;
}

static int kernel_prepare(lua_State *L) {
  kernel_call(L);
  lua_pushcclosure(L, prepare_args, 1);
  return 1;
}

int launch_unpack(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  int n = 0;
  if (lua_tocfunction(L, idx) == launcher_call) {
    lua_getupvalue(L, idx, UP_COUNT);
    n = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    luaL_checkstack(L, n + 4, "too many arguments");
    for (int i = 0; i <= n; i++) {
      lua_getupvalue(L, idx, UP_CONFIG + i);
    }
  } else if (luaL_testudata(L, idx, CONFIG_TYPE) != NULL) {
    lua_pushvalue(L, idx);
  } else {
    return -1;
  }
  lua_getiuservalue(L, -1 - n, 1);
  lua_insert(L, -2 - n);
  return n;
}

/* --- opening ------------------------------------------------------------------------------------------------- */

/* A method, from the table in upvalue 1. k[8](...) is how others launch. */
static int kernel_index(lua_State *L) {
  const Kernel *k = luaL_checkudata(L, 1, KERNEL_TYPE);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return diag_error(L, "%s: a kernel is launched with %s{grid = ..., block = ...}(...)", k->name,
                      k->name);
  }
  lua_pushvalue(L, 2);
  return lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL ? bind_refuse_name(L) : 1;
}

static const luaL_Reg kernel_meta[] = {
    {"__call", kernel_call}, {"__gc", kernel_gc}, {"__tostring", kernel_tostring}, {NULL, NULL}};
static const luaL_Reg kernel_methods[] = {
    {"prepare", kernel_prepare}, {"reset", kernel_reset}, {NULL, NULL}};
static const luaL_Reg config_meta[] = {{NULL, NULL}};
static const luaL_Reg config_methods[] = {{"source", launch_source},   {"ptx", launch_ptx},
                                          {"cubin", launch_cubin},     {"sass", launch_sass},
                                          {"ir", launch_ir},           {"info", launch_info},
                                          {"enqueue", config_enqueue}, {NULL, NULL}};

static const luaL_Reg kernel_functions[] = {{"kernel", lang_kernel},
                                            {"_launch.cubin_key", launch_cubin_key},
                                            {"_launch.compile_log", launch_compile_log},
                                            {NULL, NULL}};

static void add_config_call(lua_State *L) {
  luaL_getmetatable(L, CONFIG_TYPE);
  lua_pushlightuserdata(L, (void *)lua_topointer(L, -1));
  lua_pushcclosure(L, config_call, 1);
  lua_setfield(L, -2, "__call");
  lua_pop(L, 1);
}

void bind_open_kernel(lua_State *L) {
  bind_new_type(L, KERNEL_TYPE, kernel_meta, kernel_methods);
  luaL_getmetatable(L, KERNEL_TYPE);
  state_of(L)->types.kernel = lua_topointer(L, -1);
  lua_getfield(L, -1, "__index");
  bind_set_index(L, kernel_index); /* stack: language, metatable */
  lua_pop(L, 1);
  bind_new_type(L, CONFIG_TYPE, config_meta, config_methods);
  add_config_call(L);
  luaL_setfuncs(L, kernel_functions, 0);
}
