/* language.c: what scripts see: Lua's libraries, the names of the language in one table, and those
   names as globals. Each binding adds its own names; this file knows only their order. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "interp/openers.h"
#include "interp/trace/front.h"
#include "interp/front/front_trace.h"
#include "interp/launch/launch.h"
#include "language.h"
#include "library.h"
#include "sandbox.h"
#include "interp/front/source.h"
#include "interp/state/source_load.h"
#include "interp/state/diag.h"
#include "interp/state/standard.h"
#include "interp/state/state.h"
#include "interp/state/state_language.h"
#include "std_modules.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/value.h"

static void (*const openers[])(lua_State *L) = {
#define CUTTLE_OPENER(name) bind_open_##name,
#include "interp/openers.def"
#undef CUTTLE_OPENER
};

/* {====== The standard library: modules that the program carries ====== */

/* Upvalue 1: the StdModule; 2: the library's own functions by door, which its chunk gets as its argument. */
static int load_std_module(lua_State *L) {
  const StdModule *m = lua_touserdata(L, lua_upvalueindex(1));
  lua_settop(L, 0);
  lua_pushfstring(L, DIAG_STDLIB_PREFIX "%s.lua", m->name + sizeof "cuttle." - 1);
  /* A host's allocator gets all that a parser asks for. */
  bool keeps = state_of(L)->options.alloc == NULL;
  if (std_chunk_load(L, m, lua_tostring(L, 1), keeps) != LUA_OK) {
    return lua_error(L);
  }
  module_env_give(L);
  own_modules_begin(L, m->name);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_call(L, 1, 1);
  counted_add_module(L, m->name + sizeof "cuttle." - 1);
  own_modules_keep(L, m->name);
  return 1;
}

/* Stack: the library's own functions. */
static void add_std_modules(lua_State *L) {
  int internals = lua_gettop(L);
  own_modules_push_loaders(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE); /* stack: internals, own, preload */
  for (const StdModule *m = std_modules; m->name != NULL; m++) {
    lua_pushstring(L, m->name);
    lua_pushlightuserdata(L, (void *)(uintptr_t)m); /* read only */
    lua_pushvalue(L, internals);
    lua_pushcclosure(L, load_std_module, 2);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, internals + 1);
    lua_rawset(L, internals + 2);
  }
  lua_pushcfunction(L, packed_text_open);
  lua_setfield(L, -2, "cuttle.inflate");
  lua_settop(L, internals);
}

/* Names of the language that are written in Lua; the module is loaded at the first call. In a kernel
   a helper is converted, as the script's own are; the others work on what the trace has made so far. */
static const struct {
  const char *name, *module;
  bool is_helper;
} lua_names[] = {
    {"apropos", "cuttle.help", false},
    {"attention", "cuttle.attention", false},
    {"attention_backward", "cuttle.attention_backward", false},
    {"attention_decode", "cuttle.attention_decode", false},
    {"contract", "cuttle.einsum", false},
    {"einsum", "cuttle.einsum", false},
    {"row_kernel", "cuttle.row_kernel", false},
    {"atom", "cuttle.atom", false},
    {"atoms", "cuttle.atom", false},
    {"smem_atom", "cuttle.atom", false},
    {"gmma_layout", "cuttle.atom", false},
    {"tiled_mma", "cuttle.tiled_mma", false},
    {"tiled_copy", "cuttle.tiled_copy", false},
    {"tiled_copy_A", "cuttle.tiled_copy", false},
    {"tiled_copy_B", "cuttle.tiled_copy", false},
    {"tiled_copy_C", "cuttle.tiled_copy", false},
    {"tiled_copy_S", "cuttle.tiled_copy", false},
    {"tiled_copy_D", "cuttle.tiled_copy", false},
    {"pair_tile", "cuttle.tensor_memory", false},
    {"tmem", "cuttle.tensor_memory", false},
    {"tmem_copy", "cuttle.tensor_memory", false},
    {"tmem_layout", "cuttle.tensor_memory", false},
    {"explain", "cuttle.explain", false},
    {"export", "cuttle.export", false},
    {"find_layout", "cuttle.find_layout", false},
    {"find_swizzle", "cuttle.find_swizzle", false},
    {"help", "cuttle.help", false},
    {"show", "cuttle.show", false},
    {"svg", "cuttle.drawn", false},
    {"trace", "cuttle.trace", false},
    {"sum_order", "cuttle.sum_order", false},
    {"same_order", "cuttle.sum_order", false},
    {"tune", "cuttle.tune", false},
    {"timeline", "cuttle.timeline", false},
    {"profile", "cuttle.profile", false},
    {"capture", "cuttle.replay", false},
    {"replay", "cuttle.replay", false},
    {"judge", "cuttle.judge", false},
    {"latex", "cuttle.latex", false},
    {"matmul", "cuttle.matmul", false},
    {"mesh", "cuttle.mesh", false},
    {"shard", "cuttle.sharded", false},
    {"reshard", "cuttle.sharded", false},
    {"peer_tensor", "cuttle.peers", false},
    {"html", "cuttle.drawn", false},
    {"reduce", "cuttle.collective", true},
    {"transform", "cuttle.collective", true},
    {"warp_reduce", "cuttle.collective", true},
    {"warp_scan", "cuttle.collective", true},
    {"block_reduce", "cuttle.collective", true},
    {"block_scan", "cuttle.collective", true},
    {"pipeline", "cuttle.pipeline", true},
    {"raster", "cuttle.raster", true},
    {"clc_scheduler", "cuttle.clc_scheduler", true},
    {"clamp", "cuttle.clamp", false},
    {"sort_network", "cuttle.sort_network", true},
    {"add_carry", "cuttle.word_ops", true},
    {"sub_borrow", "cuttle.word_ops", true},
    {"rotl", "cuttle.word_ops", true},
    {"rotr", "cuttle.word_ops", true},
    {"bfe", "cuttle.word_ops", true},
    {"bfi", "cuttle.word_ops", true},
    {"prefetch", "cuttle.prefetch", true},
    {"rand_u32x4", "cuttle.random", true},
    {"rand_f32x4", "cuttle.random", true},
    {"randn_f32x4", "cuttle.random", true},
    {"accumulator", "cuttle.accumulator", true},
    {"dot", "cuttle.dot", true},
    {"row_reduce", "cuttle.dot_rows", true},
    {"row_broadcast", "cuttle.dot_rows", true},
    {"shared_like", "cuttle.block_tiles", true},
    {"block_copy", "cuttle.block_tiles", true},
};

/* The most arguments of the Lua function at the top, as upvalue 4 keeps them. */
static int most_args(lua_State *L) {
  if (lua_isnil(L, lua_upvalueindex(4))) {
    lua_pushinteger(L, counted_most(L));
    lua_replace(L, lua_upvalueindex(4));
  }
  return (int)lua_tointeger(L, lua_upvalueindex(4));
}

/* Calls the name (upvalue 1) of the module (upvalue 2) with the same arguments; upvalue 3: is_helper. */
static int call_lua_name(lua_State *L) {
  state_push_module(L, lua_tostring(L, lua_upvalueindex(2)));
  lua_pushvalue(L, lua_upvalueindex(1)); /* stack: arguments, module, name */
  lua_gettable(L, -2);
  lua_remove(L, -2);
  return counted_call(L, lua_tostring(L, lua_upvalueindex(1)), most_args(L),
                      lua_toboolean(L, lua_upvalueindex(3)));
}

/* Stack: language. */
static void add_lua_names(lua_State *L) {
  for (size_t i = 0; i < CT_ARRAY_LEN(lua_names); i++) {
    lua_pushstring(L, lua_names[i].name);
    lua_pushstring(L, lua_names[i].module);
    lua_pushboolean(L, lua_names[i].is_helper);
    lua_pushnil(L);
    lua_pushcclosure(L, call_lua_name, 4);
    lua_setfield(L, -2, lua_names[i].name);
  }
}

/* {====== The table of names ====== */

/* `_` is a name of the language. `_VERSION` is the module's own; any other, `_door.name`, is the library's. */
static bool is_exported(lua_State *L, int key) {
  const char *name = lua_tostring(L, key);
  return name[0] != '_' || name[1] == '\0';
}

/* Moves the function at the top to its door: `_mesh.copy` becomes the field copy of the table mesh. Pops it.
   Stack: internals at idx. */
static void set_internal(lua_State *L, int idx, const char *name) {
  const char *dot = strchr(name, '.');
  CT_ASSERT(name[0] == '_' && dot != NULL);
  lua_pushlstring(L, name + 1, (size_t)(dot - name) - 1);
  luaL_getsubtable(L, idx, lua_tostring(L, -1)); /* stack: function, door, its table */
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, dot + 1);
  lua_pop(L, 3);
}

/* No script can reach the table of doors: only the library's modules are handed it. Stack: language; pushes it. */
static void push_internals(lua_State *L) {
  int language = lua_gettop(L);
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, language) != 0) { /* stack: language, internals, key, value */
    if (is_exported(L, -2)) {
      lua_pop(L, 1);
      continue;
    }
    set_internal(L, language + 1, lua_tostring(L, -2));
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, language); /* a field that is there may be cleared on the way */
  }
}

/* import(env): every name of the language becomes a field of env, as `using` in Julia. */
static int import(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  state_push_language(L);
  lua_pushnil(L); /* stack: env, language, key */
  while (lua_next(L, 2) != 0) {
    if (is_exported(L, -2)) {
      lua_pushvalue(L, -2); /* stack: env, language, key, value, key */
      lua_pushvalue(L, -2);
      lua_rawset(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_settop(L, 1);
  return 1;
}

/* Lua makes the type of what a long text is put together in at its first use; where memory runs out
   half-way, a type without __close would stay. Here that is an error of opening. */
static void make_buffer_type(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinitsize(L, &b, 2 * LUAL_BUFFERSIZE);
  luaL_pushresultsize(&b, 0);
  lua_pop(L, 1);
}

static void fill_language(lua_State *L) {
  make_buffer_type(L);
  module_env_open(L);
  own_modules_open(L);
  add_lua_names(L); /* first, so that types can take them as methods */
  for (size_t i = 0; i < CT_ARRAY_LEN(openers); i++) {
    openers[i](L);
  }
  lua_pushcfunction(L, own_modules_set_hook);
  lua_setfield(L, -2, "_host.on_module");
  counted_add(L);
  push_internals(L);
  add_std_modules(L);
  lua_pop(L, 1);
  lua_pushcfunction(L, import);
  lua_setfield(L, -2, "import");
  lua_pushliteral(L, CUTTLE_VERSION);
  lua_setfield(L, -2, "_VERSION");
  standard_add(L);
  module_env_fill(L);
}

void language_open(lua_State *L) {
  luaL_checkstack(L, 4, NULL);
  if (state_has_language(L)) {
    return;
  }
  state_of(L)->types.refuse_name = counted_refuse_name;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STATE_KERNELS);
  lua_pop(L, 1);
  standard_open(L);
  front_open(L);
  lua_createtable(L, 0, STATE_N_NAMES); /* stack: language */
  lua_pushvalue(L, -1);
  state_set_language(L);
  fill_language(L);
  lua_pop(L, 1);
}

/* {====== Lua's libraries ====== */

/* print, to where the host wants it. Under `cuttle emit` the output is the source: what the script
   says goes aside. */
static int print(lua_State *L) {
  luaL_Buffer b;
  int n = lua_gettop(L);
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1) {
      luaL_addchar(&b, '\t');
    }
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&b);
  }
  luaL_addchar(&b, '\n');
  luaL_pushresult(&b);
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  CuttleState *s = state_of(L);
  if (s->mode == STATE_EMIT) {
    fwrite(text, 1, len, stderr);
  } else {
    state_print(s, text, len);
  }
  return 0;
}

/* os.exit of the program. A library does not end the process of its host. Upvalue 1: Lua's own. */
static int exit_process(lua_State *L) {
  if (!state_of(L)->owns_process) {
    return diag_error(L, "os.exit would end the host's process; return from the script, or call "
                         "error to end the host's call");
  }
  int n = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, n, 0);
  return 0;
}

static void wrap_exit(lua_State *L) {
  lua_getglobal(L, "os");
  lua_getfield(L, -1, "exit");
  lua_pushcclosure(L, exit_process, 1);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
}

/* The libraries of a new Lua state, and the language's names as globals [-0, +0, e]. */
static void open_libs(lua_State *L) {
  bool sandbox = state_of(L)->options.sandbox != 0;
  if (sandbox) {
    sandbox_open_libs(L);
  } else {
    luaL_openlibs(L);
    wrap_exit(L);
  }
  src_wrap_loaders(L);
  state_wrap_coroutines(L);
  lua_register(L, "print", print);
  language_open(L);
  state_push_language(L); /* stack: language */
  if (sandbox) {
    sandbox_cut_language(L);
  }
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "cuttle");
  lua_pop(L, 1);
  lua_pushcfunction(L, import);
  lua_pushglobaltable(L);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
  if (sandbox) {
    sandbox_close(L);
    module_env_fill(L);
  }
}

CuttleState *language_new_state(const cuttle_Options *options) {
  return state_new(options, open_libs);
}
