/* launch_config.c: the options of kernel(name, fn, {...}), and configurations k{grid = ..., block = ...}. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "launch.h"
#include "launch_check.h"

/* {====== Names ====== */

typedef struct Options {
  const char *names[11]; /* ends with NULL */
  const char *what,
      *whose; /* NULL: what is a field, and no option that may be in the wrong place */
} Options;

enum { MAX_TURNS = 20000 }; /* as many as a loop that is unrolled has at most */

static const Options of_kernels = {
    {"static_shapes", "contract", "min_blocks", "max_unroll", "emission", "nvrtc_options"},
    "option",
    "one of kernel(name, fn, {...})"};
static const Options of_launches = {{
#define X(id, name, ...) #name,
#include "launch_options.def"
#undef X
                                    },
                                    "launch option",
                                    "one of a launch, k{...}(...)"};
static const Options of_checks = {{"nan", "overflow", "global"}, "launch option check:", NULL};

/* The places of options of launches in that list. */
enum {
#define X(id, ...) OPT_##id,
#include "launch_options.def"
#undef X
};

static bool is_given(unsigned options, int option) { return (options >> option & 1) != 0; }

/* What other languages call an option of a launch, or sizes by their positions in the list: what to write. */
static const char *option_of_others(lua_State *L, int key) {
  static const struct {
    const char *theirs, *ours;
  } rows[] = {{"threads", "block"},   {"num_threads", "block"}, {"block_size", "block"},
              {"blockDim", "block"},  {"num_warps", "block"},   {"num_blocks", "grid"},
              {"grid_size", "grid"},  {"gridDim", "grid"},      {"shared", "smem"},
              {"shared_mem", "smem"}, {"shared_memory", "smem"}};
  if (lua_isinteger(L, key)) {
    return "grid = ..., block = ...";
  }
  for (size_t i = 0; lua_type(L, key) == LUA_TSTRING && i < CT_ARRAY_LEN(rows); i++) {
    if (strcmp(rows[i].theirs, lua_tostring(L, key)) == 0) {
      return rows[i].ours;
    }
  }
  return NULL;
}

/* The place of the key at idx among them; -1: it is none. */
static int find_option(lua_State *L, int idx, const Options *o) {
  const char *key = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : "";
  for (int i = 0; o->names[i] != NULL; i++) {
    if (o->names[i][0] == key[0] && strcmp(o->names[i], key) == 0) {
      return i;
    }
  }
  return -1;
}

/* The key at idx is none of `own`. Messages begin with "kernel: option" or "NAME: launch option". */
static void fail_key(lua_State *L, int idx, const Options *own, const char *name) {
  const Options *others = own == &of_kernels ? &of_launches : &of_kernels;
  const char *instead = own == &of_launches ? option_of_others(L, idx) : NULL;
  bool is_of_others = own->whose != NULL && find_option(L, idx, others) >= 0;
  const char *key = luaL_tolstring(L, idx, NULL);
  if (instead != NULL) {
    diag_error(L, "%s: %s '%s' is unknown; write %s", name, own->what, key, instead);
  }
  diag_error(L, "%s: %s '%s' is %s; expected %s", name, own->what, key,
             is_of_others ? others->whose : "unknown", bind_push_names(L, own->names));
}

/* Which of `own` the table may have, a bit for each: it may inherit any. Raises for a key that is none of them. */
static unsigned check_keys(lua_State *L, int table, const Options *own, const char *name) {
  unsigned options = 0;
  if (lua_getmetatable(L, table) != 0) {
    options = ~0u;
    lua_pop(L, 1);
  }
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    int option = find_option(L, -2, own);
    if (option < 0) {
      fail_key(L, -2, own, name);
    }
    options |= 1u << option;
  }
  return options;
}

/* A field that is true or false, or `missing` if it is nil. Messages begin with "NAME: launch option". */
static bool read_flag(lua_State *L, int table, const char *field, bool missing, const char *name,
                      const char *what) {
  int type = lua_getfield(L, table, field);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN) {
    diag_error(L, "%s: %s %s is %s; true or false was expected", name, what, field,
               diag_push_kind(L, -1));
  }
  bool is_on = type == LUA_TNIL ? missing : lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return is_on;
}

/* {====== Of a kernel ====== */

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
    diag_error(L, "kernel: nvrtc_options is %s; a table of strings was expected",
               diag_push_kind(L, -1));
  }
  if (type != LUA_TNIL && k->state->options.sandbox != 0) {
    diag_error(L, "kernel: nvrtc_options may name files, so a sandboxed script cannot use it");
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

void kernel_read_options(lua_State *L, Kernel *k, int table) {
  if (lua_isnoneornil(L, table)) {
    return;
  }
  if (!lua_istable(L, table)) {
    diag_type_error(L, table, "kernel", "a table of options");
  }
  check_keys(L, table, &of_kernels, "kernel");
  k->static_shapes = read_flag(L, table, "static_shapes", false, "kernel", "option");
  k->contract = read_flag(L, table, "contract", true, "kernel", "option");
  k->min_blocks = read_min_blocks(L, table);
  if (lua_getfield(L, table, "max_unroll") != LUA_TNIL) {
    k->max_unroll = bind_to_option(L, -1, 1, MAX_TURNS, "kernel", "max_unroll");
  }
  lua_pop(L, 1);
  read_nvrtc_options(L, k, table);
  kernel_read_emission(L, k, table);
}

/* {====== What a launch may ask for on any device ====== */

enum { MAX_BLOCK = 1024, MAX_BLOCK_Z = 64, MAX_GRID_YZ = 65535 };
/* 8 on every device that has clusters; more where the device allows it */
enum { MAX_CLUSTER = 16 };
enum { MAX_SHARED = 1 << 20 }; /* bytes; more than any device has */

static void check_cluster(lua_State *L, const Kernel *k, const LaunchConfig *c) {
  CtDim3 n = c->cluster, grid = c->grid;
  uint64_t blocks = n.x == 0 || n.y == 0 || n.z == 0 || n.x > MAX_CLUSTER || n.y > MAX_CLUSTER
                        ? 0
                        : (uint64_t)n.x * n.y * n.z;
  if (blocks == 0 || blocks > MAX_CLUSTER) {
    diag_error(L,
               "%s: cluster (%I,%I,%I); expected 1 to 8 blocks in all, which every device with "
               "clusters runs, or up to %d, which some do",
               k->name, (LUAI_UACINT)n.x, (LUAI_UACINT)n.y, (LUAI_UACINT)n.z, MAX_CLUSTER);
  }
  if (grid.x % n.x != 0 || grid.y % n.y != 0 || grid.z % n.z != 0) {
    diag_error(L,
               "%s: grid (%I,%I,%I) is not a multiple of cluster (%I,%I,%I); a grid is made of "
               "whole clusters, so round each of its extents up",
               k->name, (LUAI_UACINT)grid.x, (LUAI_UACINT)grid.y, (LUAI_UACINT)grid.z,
               (LUAI_UACINT)n.x, (LUAI_UACINT)n.y, (LUAI_UACINT)n.z);
  }
}

void launch_check_config(lua_State *L, const Kernel *k, const LaunchConfig *c) {
  uint64_t threads = (uint64_t)c->block.x * c->block.y * c->block.z;
  if (threads == 0 || threads > MAX_BLOCK || c->block.z > MAX_BLOCK_Z) {
    diag_error(L, "%s: block (%I,%I,%I) has %I threads; expected 1 to %d, at most %d in z", k->name,
               (LUAI_UACINT)c->block.x, (LUAI_UACINT)c->block.y, (LUAI_UACINT)c->block.z,
               (LUAI_UACINT)threads, MAX_BLOCK, MAX_BLOCK_Z);
  }
  if (c->grid.y > MAX_GRID_YZ || c->grid.z > MAX_GRID_YZ ||
      (uint64_t)c->grid.x * c->block.x > INT32_MAX) {
    diag_error(L,
               "%s: grid (%I,%I,%I); expected at most %d blocks in y and z, and less than 2^31 "
               "threads in x",
               k->name, (LUAI_UACINT)c->grid.x, (LUAI_UACINT)c->grid.y, (LUAI_UACINT)c->grid.z,
               MAX_GRID_YZ);
  }
  check_cluster(L, k, c);
  if (c->shared_bytes > MAX_SHARED) {
    diag_error(L, "%s: %I bytes of dynamic shared memory; expected 0 to %d", k->name,
               (LUAI_UACINT)c->shared_bytes, MAX_SHARED);
  }
  if (c->pdl && c->cooperative) {
    diag_error(L,
               "%s: with pdl = true two grids may run at once, so not all blocks of a cooperative "
               "one need fit; leave one of the two options out",
               k->name);
  }
}

/* {====== Of a launch ====== */

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

/* true, false or a table with fields. */
static void read_check(lua_State *L, int table, const Kernel *k, LaunchConfig *c) {
  int type = lua_getfield(L, table, "check"), fields = lua_gettop(L);
  if (type == LUA_TTABLE) {
    check_keys(L, fields, &of_checks, k->name);
    for (int i = 0; of_checks.names[i] != NULL; i++) {
      (void)read_flag(L, fields, of_checks.names[i], false, k->name, of_checks.what);
    }
    launch_check_read(L, fields, c);
  } else if (type != LUA_TNIL && type != LUA_TBOOLEAN) {
    diag_error(L, "%s: launch option check is %s; true or {nan = true} was expected", k->name,
               diag_push_kind(L, -1));
  }
  c->check = lua_toboolean(L, fields) != 0;
  lua_pop(L, 1);
}

static CtDim3 read_cluster(lua_State *L, int table, const Kernel *k, unsigned options) {
  CtDim3 one = {1, 1, 1};
  if (!is_given(options, OPT_CLUSTER)) {
    return one;
  }
  bool is_nil = lua_getfield(L, table, "cluster") == LUA_TNIL;
  lua_pop(L, 1);
  return is_nil ? one : read_dim(L, table, "cluster", k);
}

static CtPrintOrder read_print_order(lua_State *L, int table, const Kernel *k) {
  int type = lua_getfield(L, table, "print_order");
  const char *order = type == LUA_TSTRING ? lua_tostring(L, -1) : type == LUA_TNIL ? "thread" : "";
  bool is_run = strcmp(order, "run") == 0;
  if (!is_run && strcmp(order, "thread") != 0) {
    diag_error(L, "%s: launch option print_order is %s; \"thread\" or \"run\" was expected",
               k->name,
               type == LUA_TSTRING ? lua_pushfstring(L, "\"%s\"", order) : diag_push_kind(L, -1));
  }
  lua_pop(L, 1);
  return is_run ? CT_PRINT_AS_RUN : CT_PRINT_BY_THREAD;
}

void launch_read_config(lua_State *L, int table, const Kernel *k, LaunchConfig *c) {
  const struct {
    int option;
    bool *out;
  } flags[] = {{OPT_PDL, &c->pdl},
               {OPT_COOPERATIVE, &c->cooperative},
               {OPT_DETERMINISTIC, &c->deterministic}};
  unsigned options = check_keys(L, table, &of_launches, k->name);
  c->grid = read_dim(L, table, "grid", k);
  c->block = read_dim(L, table, "block", k);
  c->cluster = read_cluster(L, table, k, options);
  for (size_t i = 0; i < CT_ARRAY_LEN(flags); i++) {
    int option = flags[i].option;
    *flags[i].out = is_given(options, option) &&
                    read_flag(L, table, of_launches.names[option], false, k->name, "launch option");
  }
  if (is_given(options, OPT_SMEM) && lua_getfield(L, table, "smem") != LUA_TNIL) {
    c->shared_bytes = (unsigned)bind_to_option(L, -1, 0, MAX_SHARED, k->name, "smem");
  }
  if (is_given(options, OPT_STREAM) && lua_getfield(L, table, "stream") != LUA_TNIL) {
    c->stream = bind_to_stream(L, -1, &c->stream_device, &c->cpu_stream);
    c->has_cpu_stream = c->stream_device == NULL;
    lua_setiuservalue(L, table + 1, CONFIG_STREAM);
  }
  lua_settop(L, table + 1);
  if (is_given(options, OPT_PRINT_ORDER)) {
    c->print_order = read_print_order(L, table, k);
  }
  if (is_given(options, OPT_CHECK)) {
    read_check(L, table, k, c);
  }
  launch_check_config(L, k, c);
}

/* {====== A call of a configuration ====== */

void launch_check_outside(lua_State *L, const Kernel *k) {
  if (front_traces(k->front)) {
    diag_error(L, "a kernel cannot launch a kernel; call a helper function");
  }
}

Kernel *launch_push_kernel(lua_State *L, const LaunchConfig *c) {
  lua_getiuservalue(L, 1, CONFIG_KERNEL);
  Kernel *k = lua_touserdata(L, -1);
  launch_check_outside(L, k);
  if (c->stream_device != NULL || c->has_cpu_stream) { /* it may have been closed meanwhile */
    CtDevice *device;
    uint32_t number;
    lua_getiuservalue(L, 1, CONFIG_STREAM);
    bind_to_stream(L, -1, &device, &number);
    lua_pop(L, 1);
  }
  return k;
}

const LaunchConfig *launch_enter(lua_State *L, LaunchArgs *args, int *kernel) {
  int n = lua_gettop(L) - 1;
  const LaunchConfig *c = luaL_checkudata(L, 1, CONFIG_TYPE);
  launch_push_kernel(L, c);
  *kernel = lua_gettop(L);
  launch_read(L, *kernel, 2, n, c, args);
  return c;
}
