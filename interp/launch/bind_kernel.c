/* bind_kernel.c: kernels as Lua sees them: `kernel(name, fn)`, `k{grid =, block =}(args...)`, what a
   launch would run (:source, :ptx, :ir, :info), and prepared launches. */
#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "launch.h"
#include "launch_check.h"
#include "runtime/device/nvrtc.h"
#include "interp/openers.h"
#include "interp/state/record.h"

#define CONFIG_TYPE "launch configuration"
#define LAUNCHER_TYPE "launcher"

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

static bool bool_option(lua_State *L, int table, const char *name, bool default_value) {
  bool v = default_value;
  if (lua_getfield(L, table, name) != LUA_TNIL) {
    v = lua_toboolean(L, -1);
  }
  lua_pop(L, 1);
  return v;
}

/* Blocks that a multiprocessor must have room for; 0: not said. */
static int read_min_blocks(lua_State *L, int table) {
  int n = 0;
  if (lua_getfield(L, table, "min_blocks") != LUA_TNIL) {
    n = bind_to_option(L, -1, 1, 32, "kernel", "min_blocks");
  }
  lua_pop(L, 1);
  return n;
}

static void read_nvrtc_options(lua_State *L, Kernel *k, int table) {
  size_t at = 0;
  int type = lua_getfield(L, table, "nvrtc_options");
  if (type != LUA_TNIL && type != LUA_TTABLE) {
    diag_error(L, "kernel: nvrtc_options is %s; a table of texts was expected",
               diag_push_kind(L, -1));
  }
  if (type != LUA_TNIL && k->state->options.sandbox != 0) {
    diag_error(L, "kernel: nvrtc_options may name files, so a sandboxed script gives none");
  }
  lua_Integer n = type == LUA_TNIL ? 0 : luaL_len(L, -1);
  if (n > LAUNCH_MAX_OPTIONS) {
    diag_error(L, "kernel: nvrtc_options has %I texts; at most %d were expected", (LUAI_UACINT)n,
               LAUNCH_MAX_OPTIONS);
  }
  for (lua_Integer i = 1; i <= n; i++) {
    size_t len = 0;
    lua_geti(L, -1, i);
    const char *option = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &len) : "";
    if (len == 0 || strlen(option) != len) {
      diag_error(L, "kernel: nvrtc_options has %s in it; texts like \"-DN=4\" were expected",
                 diag_push_kind(L, -1));
    }
    if (at + len + 2 > sizeof k->options) {
      diag_error(L, "kernel: nvrtc_options are longer than %d bytes", (int)sizeof k->options);
    }
    memcpy(k->options + at, option, len + 1);
    at += len + 1;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static const char *const kernel_names[] = {"static_shapes", "contract", "min_blocks",
                                           "nvrtc_options"};
static const char *const launch_names[] = {"grid",   "block", "cluster", "smem",
                                           "stream", "pdl",   "check"};

/* Is the key at idx one of the names? */
static bool is_among(lua_State *L, int idx, const char *const *names, size_t n) {
  bool found = false;
  for (size_t i = 0; i < n && lua_type(L, idx) == LUA_TSTRING; i++) {
    found = found || strcmp(names[i], lua_tostring(L, idx)) == 0;
  }
  return found;
}

static void read_options(lua_State *L, Kernel *k, int table) {
  if (lua_isnoneornil(L, table)) {
    return;
  }
  if (!lua_istable(L, table)) {
    diag_type_error(L, table, "kernel", "a table of options");
  }
  lua_pushnil(L);
  while (lua_next(L, table) != 0) {
    if (!is_among(L, -2, kernel_names, CT_ARRAY_LEN(kernel_names))) {
      bool is_launch = is_among(L, -2, launch_names, CT_ARRAY_LEN(launch_names));
      diag_error(L,
                 "kernel: option '%s' is %s; expected static_shapes, contract, min_blocks or "
                 "nvrtc_options",
                 luaL_tolstring(L, -2, NULL),
                 is_launch ? "one of a launch, k{...}(...)" : "unknown");
    }
    lua_pop(L, 1);
  }
  k->static_shapes = bool_option(L, table, "static_shapes", false);
  k->contract = bool_option(L, table, "contract", true);
  k->min_blocks = read_min_blocks(L, table);
  read_nvrtc_options(L, k, table);
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
  if (fn == 2 && (lua_type(L, 1) != LUA_TSTRING || !is_identifier(lua_tostring(L, 1)))) {
    return diag_error(L, "kernel: the name is '%s'; letters, digits and '_' were expected",
                      luaL_tolstring(L, 1, NULL));
  }
  lua_settop(L, fn + 1);
  Kernel *k = lua_newuserdatauv(L, sizeof *k, 3);
  memset(k, 0, sizeof *k);
  k->contract = true;
  luaL_setmetatable(L, KERNEL_TYPE);
  int self = lua_gettop(L);
  k->state = state_of(L);
  locate(L, k, fn);
  read_options(L, k, fn + 1);
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

/* One size of grid or block, at the top of the stack. */
static unsigned read_size(lua_State *L, const char *field, const Kernel *k) {
  int is_int = 0;
  bool is_number = lua_type(L, -1) == LUA_TNUMBER;
  lua_Integer size = is_number ? lua_tointegerx(L, -1, &is_int) : 0;
  if (!is_int || size < 0 || size > INT32_MAX) {
    diag_error(L, "%s: a size of %s is %s; an integer from 0 to 2^31 - 1 was expected", k->name,
               field, is_number ? luaL_tolstring(L, -1, NULL) : diag_push_kind(L, -1));
  }
  return (unsigned)size;
}

/* A size of 1 to 3 numbers: an integer, or a table of them; missing ones are 1. */
static CtDim3 read_dim(lua_State *L, int table, const char *field, const Kernel *k) {
  unsigned v[3] = {1, 1, 1};
  int type = lua_getfield(L, table, field);
  lua_Integer n = type == LUA_TTABLE ? luaL_len(L, -1) : 1;
  if (type == LUA_TNIL) {
    diag_error(L, "%s: the launch has no %s; write %s{grid = ..., block = ...}(...)", k->name,
               field, k->name);
  }
  if (n < 1 || n > 3) {
    diag_error(L, "%s: %s has %I sizes; 1 to 3 were expected, as in %s = {x, y}", k->name, field,
               (LUAI_UACINT)n, field);
  }
  for (int i = 0; i < n; i++) {
    if (type == LUA_TTABLE) {
      lua_geti(L, -1, i + 1);
    } else {
      lua_pushvalue(L, -1);
    }
    v[i] = read_size(L, field, k);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return (CtDim3){v[0], v[1], v[2]};
}

static void check_fields(lua_State *L, int table, const Kernel *k) {
  lua_pushnil(L);
  while (lua_next(L, table) != 0) {
    if (!is_among(L, -2, launch_names, CT_ARRAY_LEN(launch_names))) {
      bool is_kernel = is_among(L, -2, kernel_names, CT_ARRAY_LEN(kernel_names));
      const char *ours = launch_option_of(L, -2);
      if (ours != NULL) {
        diag_error(L, "%s: launch option '%s' is unknown; write %s", k->name,
                   luaL_tolstring(L, -2, NULL), ours);
      }
      diag_error(
          L,
          "%s: launch option '%s' is %s; expected grid, block, cluster, smem, stream, pdl or "
          "check",
          k->name, luaL_tolstring(L, -2, NULL),
          is_kernel ? "one of kernel(name, fn, {...})" : "unknown");
    }
    lua_pop(L, 1);
  }
}

/* Stack: ..., the table at `table`, and after it the configuration, which keeps the stream alive. */
/* check = true, or a table of options. */
static void read_check(lua_State *L, int table, const Kernel *k, LaunchConfig *c) {
  int type = lua_getfield(L, table, "check");
  if (type == LUA_TTABLE) {
    launch_check_read(L, -1, c);
  } else if (type != LUA_TNIL && type != LUA_TBOOLEAN) {
    diag_error(L, "%s: launch option check is %s; true or {nan = true} was expected", k->name,
               diag_push_kind(L, -1));
  }
  c->check = type == LUA_TTABLE || lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
}

static bool read_pdl(lua_State *L, int table, const Kernel *k) {
  int type = lua_getfield(L, table, "pdl");
  if (type != LUA_TNIL && type != LUA_TBOOLEAN) {
    diag_error(L, "%s: launch option pdl is %s; true or false was expected", k->name,
               diag_push_kind(L, -1));
  }
  bool pdl = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return pdl;
}

static CtDim3 read_cluster(lua_State *L, int table, const Kernel *k) {
  bool is_given = lua_getfield(L, table, "cluster") != LUA_TNIL;
  lua_pop(L, 1);
  return is_given ? read_dim(L, table, "cluster", k) : (CtDim3){1, 1, 1};
}

static void read_config(lua_State *L, int table, const Kernel *k, LaunchConfig *c) {
  check_fields(L, table, k);
  c->grid = read_dim(L, table, "grid", k);
  c->block = read_dim(L, table, "block", k);
  c->cluster = read_cluster(L, table, k);
  c->pdl = read_pdl(L, table, k);
  if (lua_getfield(L, table, "smem") != LUA_TNIL) {
    c->shared_bytes = (unsigned)bind_to_option(L, -1, 0, 1 << 20, k->name, "smem");
  }
  lua_pop(L, 1);
  if (lua_getfield(L, table, "stream") != LUA_TNIL) {
    c->stream = bind_to_stream(L, -1, &c->stream_device);
  }
  lua_setiuservalue(L, table + 1, 2);
  read_check(L, table, k, c);
  launch_check_config(L, k, c);
}

static void check_outside(lua_State *L) {
  if (front_is_tracing(L)) {
    diag_error(L, "a kernel cannot launch a kernel; call a helper function");
  }
}

/* A configuration that is called more than once keeps what it last read, for arguments like those. */
typedef struct Config {
  LaunchConfig launch;      /* first: a Config is used as one */
  LaunchArgs *args;         /* the userdata that is a user value; NULL until the second call */
  bool was_called, is_read; /* is_read: *args holds the arguments of a call */
} Config;

enum { CONFIG_KERNEL = 1, CONFIG_STREAM, CONFIG_ARGS }; /* user values of a configuration */

/* k{grid =, block =}: a configuration; it may be kept and called again and again. */
static int kernel_call(lua_State *L) {
  Kernel *k = kernel_check(L, 1);
  check_outside(L);
  if (!lua_istable(L, 2)) {
    return diag_error(L,
                      "%s: %s instead of a launch configuration; write "
                      "%s{grid = ..., block = ...}(...)",
                      k->name, diag_push_kind(L, 2), k->name);
  }
  lua_settop(L, 2);
  Config *c = lua_newuserdatauv(L, sizeof *c, CONFIG_ARGS);
  memset(c, 0, sizeof *c);
  luaL_setmetatable(L, CONFIG_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, CONFIG_KERNEL);
  read_config(L, 2, k, &c->launch);
  return 1;
}

/* Pushes the kernel of the configuration at 1. */
static void push_kernel(lua_State *L, const LaunchConfig *c) {
  check_outside(L);
  if (c->stream_device != NULL) { /* it may have been closed meanwhile */
    CtDevice *device;
    lua_getiuservalue(L, 1, CONFIG_STREAM);
    bind_to_stream(L, -1, &device);
    lua_pop(L, 1);
  }
  lua_getiuservalue(L, 1, CONFIG_KERNEL);
}

/* Reads the configuration at 1 and the arguments after it; pushes the kernel. */
static const LaunchConfig *enter_config(lua_State *L, LaunchArgs *args) {
  int n = lua_gettop(L) - 1;
  const LaunchConfig *c = luaL_checkudata(L, 1, CONFIG_TYPE);
  push_kernel(L, c);
  launch_read(L, lua_gettop(L), 2, n, c, args);
  return c;
}

static int call_first(lua_State *L) {
  LaunchArgs args;
  const LaunchConfig *c = enter_config(L, &args);
  launch_repeat(L, lua_gettop(L), c, &args, 1);
  return 0;
}

static int config_call(lua_State *L) {
  Config *c = luaL_checkudata(L, 1, CONFIG_TYPE);
  int n = lua_gettop(L) - 1;
  if (!c->was_called) {
    c->was_called = true;
    return call_first(L);
  }
  push_kernel(L, &c->launch);
  int kernel = lua_gettop(L);
  bool is_known = c->is_read && launch_read_again(L, kernel, 2, n, c->args);
  if (c->args == NULL) {
    c->args = lua_newuserdatauv(L, sizeof *c->args, 0);
    lua_setiuservalue(L, 1, CONFIG_ARGS);
  }
  if (!is_known) {
    c->is_read = false; /* launch_read may raise half-way */
    launch_read(L, kernel, 2, n, &c->launch, c->args);
    c->is_read = true;
  }
  launch_repeat(L, kernel, &c->launch, c->args, 1);
  return 0;
}

/* :enqueue(n, args...): n launches in a row from C: what launches cost without Lua. */
static int config_enqueue(lua_State *L) {
  LaunchArgs args;
  int64_t n = bind_to_static(L, 2, "enqueue");
  lua_remove(L, 2);
  const LaunchConfig *c = enter_config(L, &args);
  launch_repeat(L, lua_gettop(L), c, &args, n);
  return 0;
}

static Spec *look(lua_State *L, CtIr **ir, LaunchArgs *args) {
  const LaunchConfig *c = enter_config(L, args);
  Spec *spec = launch_spec(L, lua_gettop(L), c, args);
  *ir = &spec->ir;
  return spec;
}

/* Traced anew, so that it can say which branches and loops were static. */
static int config_ir(lua_State *L) {
  LaunchArgs args;
  CtErr err;
  CtText text;
  CuttleState *s = state_of(L);
  const LaunchConfig *c = enter_config(L, &args);
  Spec *spec = spec_trace(L, lua_gettop(L), c, &args, launch_target(args.device), true, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  ct_text_init(&text, s->alloc);
  ct_ir_print(&spec->ir, &text);
  spec_free(s, spec);
  bind_push_text(L, &text);
  return 1;
}

/* Appends the CUDA C for the arguments; on the CPU engine, what it would be for the capability that
   `cuttle emit` writes for. */
static CtTarget write_source(lua_State *L, bool for_launch, CtText *out) {
  LaunchArgs args;
  CtErr err;
  CuttleState *s = state_of(L);
  const LaunchConfig *c = enter_config(L, &args);
  CtTarget target =
      args.device == NULL ? launch_cuda_target(s->emit_sm) : launch_target(args.device);
  Spec *spec = spec_trace(L, lua_gettop(L), c, &args, target, false, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  ct_text_init(out, s->alloc);
  CtStatus status = spec_emit(spec, for_launch, out, &err);
  spec_free(s, spec);
  if (status != CT_OK) {
    ct_text_clear(out);
    diag_raise(L, &err);
  }
  return target;
}

static int config_source(lua_State *L) {
  CtText text;
  write_source(L, false, &text);
  bind_push_text(L, &text);
  return 1;
}

static int config_ptx(lua_State *L) {
  CtText text;
  CtErr err;
  CtNvrtcOutput output;
  char arch[16];
  const char *options[LAUNCH_MAX_OPTIONS];
  CtTarget target = write_source(L, true, &text);
  const Kernel *k = lua_touserdata(L, -1);
  ct_nvrtc_arch(target.sm, arch);
  CtNvrtcJob job = {.alloc = text.alloc,
                    .source = ct_text_str(&text),
                    .name = k->name,
                    .arch = arch,
                    .options = options,
                    .n_options = kernel_options(k, options),
                    .ptx = true};
  CtStatus status = state_compile(k->state, &job, false, &output, &err);
  ct_text_clear(&text);
  diag_check(L, status, &err);
  ct_text_clear(&output.log);
  bind_push_text(L, &output.image);
  return 1;
}

static const Field spec_fields[] = {FIELD(Spec, trace_ms), FIELD(Spec, emit_ms),
                                    FIELD(Spec, compile_ms), FIELD(Spec, from_cache)};
static const Field function_fields[] = {FIELD(CtFunctionInfo, registers),
                                        FIELD(CtFunctionInfo, local_bytes)};

/* A table: registers per thread, bytes, occupancy, and what making the specialisation cost. */
static int config_info(lua_State *L) {
  LaunchArgs args;
  CtIr *ir;
  const LaunchConfig *c = luaL_checkudata(L, 1, CONFIG_TYPE);
  const Spec *spec = look(L, &ir, &args);
  RECORD_PUSH(L, spec_fields, spec);
  record_integer(L, "shared_bytes", ct_ir_shared_bytes(ir));
  if (spec->fn != NULL) {
    int n_blocks = 0;
    CtErr err;
    int threads = (int)(c->block.x * c->block.y * c->block.z);
    RECORD_SET(L, function_fields, ct_function_info(spec->fn));
    unsigned smem = spec->shared_bytes + c->shared_bytes;
    const CtLaunch launch = {.block = c->block, .cluster = launch_cluster(c), .shared_bytes = smem};
    if (ct_function_occupancy(spec->fn, threads, smem, &n_blocks, &err) == CT_OK) {
      record_integer(L, "blocks_per_sm", n_blocks);
    }
    if (launch.cluster.x != 0 &&
        ct_function_clusters(spec->fn, &launch, &n_blocks, &err) == CT_OK) {
      record_integer(L, "active_clusters", n_blocks);
    }
  }
  return 1;
}

/* --- prepared launches ------------------------------------------------------------------------------------ */

/* k:prepare{...}(args...): a launcher that holds its arguments; calling it launches. The configuration and
   the arguments are kept as upvalues of one function. */
static int launcher_call(lua_State *L) {
  int n = (int)lua_tointeger(L, lua_upvalueindex(1));
  lua_settop(L, 0);
  luaL_checkstack(L, n + 4, "too many arguments");
  for (int i = 0; i <= n; i++) {
    lua_pushvalue(L, lua_upvalueindex(2 + i));
  }
  return config_call(L);
}

static int prepare_args(lua_State *L) { /* upvalue 1: configuration */
  int n = lua_gettop(L);
  if (n > LAUNCH_MAX_ARGS) {
    return diag_error(L, "prepare: %d arguments; a kernel takes at most %d", n, LAUNCH_MAX_ARGS);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushinteger(L, n);
  lua_insert(L, 1);
  lua_pushcclosure(L, launcher_call, n + 2);
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
    lua_getupvalue(L, idx, 1);
    n = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    luaL_checkstack(L, n + 4, "too many arguments");
    for (int i = 0; i <= n; i++) {
      lua_getupvalue(L, idx, 2 + i);
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
    return diag_error(L, "%s: a kernel is launched by %s{grid = ..., block = ...}(...)", k->name,
                      k->name);
  }
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  return 1;
}

static const luaL_Reg kernel_meta[] = {
    {"__call", kernel_call}, {"__gc", kernel_gc}, {"__tostring", kernel_tostring}, {NULL, NULL}};
static const luaL_Reg kernel_methods[] = {
    {"prepare", kernel_prepare}, {"reset", kernel_reset}, {NULL, NULL}};
static const luaL_Reg config_meta[] = {{"__call", config_call}, {NULL, NULL}};
static const luaL_Reg config_methods[] = {{"source", config_source},   {"ptx", config_ptx},
                                          {"ir", config_ir},           {"info", config_info},
                                          {"enqueue", config_enqueue}, {NULL, NULL}};

void bind_open_kernel(lua_State *L) {
  bind_new_type(L, KERNEL_TYPE, kernel_meta, kernel_methods);
  luaL_getmetatable(L, KERNEL_TYPE);
  lua_getfield(L, -1, "__index");
  bind_set_index(L, kernel_index); /* stack: language, metatable */
  lua_pop(L, 1);
  bind_new_type(L, CONFIG_TYPE, config_meta, config_methods);
  lua_pushcfunction(L, lang_kernel);
  lua_setfield(L, -2, "kernel");
}
