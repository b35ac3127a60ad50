/* bind_export.c: what the module cuttle.export is made of. The names begin with `_`: they are not the language's.
     _export.begin(choose, take) -> session, to be closed: before each launch on the CPU engine choose(id) gets
                     the number of its specialisation, and returns targets, {sm =, arch =, ptx =} each (with the field `ir`: the record
                     has the IR, too, and whether it sums_as_threads_come), or nil.
                     Then take(record) is called after the launch, unless that failed
     _export.for_target(sm)  operators choose their kernels for that capability; nil: for their device
     _export.skip(yes)  launches that the innermost session is told of do not run, or do again
     _export.target(text)  "90a" -> 90, "sm_90a"; or nil and why not
     _export.tensor(t, most)  the host's tensor t as an argument: dtype, address, first, last, align, reach, most and leaves, which
                     are constants, and the bytes that it spans if they are not more than `most`
     _export.restore(t, bytes)  gives those bytes back
     _export.dtypes()  the element types in the order of cuttle_DType: name, bytes, the driver's number in
                     tensor maps, the C type of a number, and whether that holds the bits of a float */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "interp/launch/launch_key.h"
#include "interp/launch/watcher.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/fields.h"
#include "runtime/device/nvrtc.h"
#include "runtime/ir/ir_tma.h"

enum { MOST_BYTES = 1 << 20 };

/* User values of a session: functions, and the record of the launch under way. */
enum { CHOOSE = 1, TAKE, RECORD };

/* The tool of a session is the LaunchArgs of the launch under way, which it does not own. */
static const WatcherKind kind = {
    "export session",
    "export: launches are already being watched, by check, profile or trace; call it in a run without them",
    NULL};

/* --- launches ----------------------------------------------------------------------------------------- */

static const Field kernel_fields[] = {FIELD(Kernel, name), FIELD_AS("file", Kernel, chunk),
                                      FIELD(Kernel, line)};
static const Field config_fields[] = {
    FIELD(LaunchConfig, grid),        FIELD(LaunchConfig, block),
    FIELD(LaunchConfig, cluster),     FIELD(LaunchConfig, pdl),
    FIELD(LaunchConfig, cooperative), FIELD(LaunchConfig, deterministic)};

static ExportTarget read_target(lua_State *L, int idx) {
  ExportTarget t = {.sm = 0};
  lua_getfield(L, idx, "sm");
  lua_getfield(L, idx, "arch");
  lua_getfield(L, idx, "ptx");
  t.sm = (int)lua_tointeger(L, -3);
  snprintf(t.arch, sizeof t.arch, "%s", luaL_checkstring(L, -2));
  t.wants_ptx = lua_toboolean(L, -1) != 0;
  lua_pop(L, 3);
  return t;
}

/* Pushes the code for each target of the list at idx. */
static void push_codes(lua_State *L, int targets, int kernel, const LaunchConfig *config,
                       LaunchArgs *args) {
  int n = (int)luaL_len(L, targets);
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, targets, i);
    ExportTarget target = read_target(L, lua_gettop(L));
    lua_pop(L, 1);
    export_push_code(L, kernel, config, args, &target);
    lua_rawseti(L, -2, i);
  }
}

/* Does it add floats to memory in the order in which threads come? Then no bits are those of every run. */
static bool adds_floats(const CtIr *ir, const CtInst *inst) {
  if (inst->op == CT_OP_TMA_STORE) {
    return inst->u.tma->reduce == CT_TMA_ADD && ct_is_float(ir->bufs[inst->u.tma->buf].dtype);
  }
  return inst->op == CT_OP_ATOMIC_ADD2 ||
         (inst->op == CT_OP_ATOMIC_ADD && ct_is_float((CtDtype)inst->type));
}

static bool sums_as_threads_come(const CtIr *ir) {
  bool sums = false;
  for (CtVal v = 1; v < ir->n_insts; v++) {
    sums = sums || adds_floats(ir, ct_inst(ir, v));
  }
  return sums;
}

static void push_record(lua_State *L, int targets, int kernel, const LaunchConfig *config,
                        LaunchArgs *args, const Spec *spec) {
  lua_createtable(L, 0, 12);
  FIELDS_SET(L, kernel_fields, lua_touserdata(L, kernel));
  FIELDS_SET(L, config_fields, config);
  field_bool(L, "overlap", args->overlap);
  lua_pushvalue(L, kernel);
  lua_setfield(L, -2, "kernel");
  export_push_arguments(L, kernel, args, &spec->ir);
  export_set_bytes(L, lua_gettop(L), args, "before", MOST_BYTES);
  lua_setfield(L, -2, "arguments");
  push_codes(L, targets, kernel, config, args);
  lua_setfield(L, -2, "codes");
  bool wants_ir = lua_getfield(L, targets, "ir") != LUA_TNIL;
  lua_pop(L, 1);
  if (wants_ir) {
    launch_set_ir(L, &spec->ir);
    field_bool(L, "sums_as_threads_come",
               !config->deterministic && sums_as_threads_come(&spec->ir));
  }
}

static void on_launch(Launch *l) {
  lua_State *L = l->L;
  int top = lua_gettop(L);
  luaL_checkstack(L, 16, NULL);
  Watcher *w = watcher_push_told(L, &kind);
  w->tool = NULL;
  lua_getiuservalue(L, -1, CHOOSE);
  lua_pushinteger(L, (lua_Integer)l->spec->id);
  lua_call(L, 1, 1);
  if (lua_istable(L, -1)) {
    push_record(L, lua_gettop(L), l->kernel, l->config, l->args, l->spec);
    lua_setiuservalue(L, top + 1, RECORD);
    w->tool = l->args;
  }
  lua_settop(L, top);
}

static void on_launched(lua_State *L, bool ok) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 8, NULL);
  Watcher *w = watcher_push_told(L, &kind);
  if (w->tool != NULL && ok) {
    lua_getiuservalue(L, top + 1, TAKE);
    lua_getiuservalue(L, top + 1, RECORD);
    lua_getfield(L, -1, "arguments");
    export_set_bytes(L, lua_gettop(L), w->tool, "after", MOST_BYTES);
    lua_pop(L, 1);
    w->tool = NULL;
    lua_call(L, 1, 0);
  }
  w->tool = NULL;
  lua_settop(L, top);
}

static const WatcherCalls calls = {.before = on_launch, .after = on_launched};

static int export_begin(lua_State *L) {
  watcher_tell(L, watcher_push_session(L, &kind, TAKE, RECORD), &calls);
  return 1;
}

/* --- targets ------------------------------------------------------------------------------------------ */

static int export_for(lua_State *L) {
  CuttleState *s = state_of(L);
  s->mode = lua_isnoneornil(L, 1) ? STATE_RUN : STATE_EXPORT;
  if (s->mode == STATE_EXPORT) {
    s->emit.sm = (int)lua_tointeger(L, 1);
  }
  return 0;
}

static int export_skip(lua_State *L) {
  Watcher *session = state_of(L)->taps.session;
  if (session != NULL) {
    session->skips = lua_toboolean(L, 1) != 0;
  }
  return 0;
}

static int export_target(lua_State *L) {
  const char *text = luaL_checkstring(L, 1);
  char arch[16];
  CtErr err;
  int sm;
  const char *suffix = ct_nvrtc_read_arch(text, &sm, arch);
  if (suffix == NULL) {
    lua_pushnil(L);
    lua_pushfstring(L, "'%s' is not a compute capability; 90 and 90a stand for 9.0", text);
  } else if (ct_nvrtc_check_arch(sm, *suffix, &err) != CT_OK) {
    lua_pushnil(L);
    lua_pushstring(L, err.msg);
  } else {
    lua_pushinteger(L, sm);
    lua_pushstring(L, arch);
  }
  return 2;
}

/* --- tensors ------------------------------------------------------------------------------------------ */

static int export_tensor(lua_State *L) {
  Tensor *t = tensor_check_host(L, 1, "export");
  size_t most = (size_t)luaL_optinteger(L, 2, 0);
  if (t->storage->device != NULL || !launch_check_measure(L, t)) {
    return diag_error(L, "export: an example is not in the host's memory, or has a stride below 0");
  }
  ct_blank_settle(t->storage->blank); /* the compiled example writes it */
  lua_createtable(L, 0, 8);
  field_text(L, "dtype", ct_dtypes[t->dtype].name);
  field_integer(L, "align", ct_call_align(launch_address(t)));
  const CtCallSpan span = export_set_constants(L, t);
  if (span.end - span.begin <= most) {
    lua_pushlstring(L, (const char *)(uintptr_t)span.begin, (size_t)(span.end - span.begin));
    lua_setfield(L, -2, "data");
  }
  return 1;
}

static int export_restore(lua_State *L) {
  Tensor *t = tensor_check_host(L, 1, "export");
  size_t n;
  const char *data = luaL_checklstring(L, 2, &n);
  Arg arg = {.kind = ARG_TENSOR, .tensor = t};
  bool is_known = t->storage->device == NULL && launch_check_measure(L, t);
  launch_place(t, &arg);
  if (!is_known || n != arg.span.end - arg.span.begin) {
    return diag_error(L, "export: a tensor of the example has changed");
  }
  diag_try(L, ct_storage_may_write(t->storage, diag_err(L)));
  ct_blank_settle(t->storage->blank);
  memcpy((void *)(uintptr_t)arg.span.begin, data, n);
  return 0;
}

static int export_dtypes(lua_State *L) {
  lua_createtable(L, CT_DTYPE_COUNT, 0);
  for (CtDtype t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    const CtDtypeInfo *info = &ct_dtypes[t];
    lua_newtable(L);
    field_text(L, "name", info->name);
    field_text(L, "c", ct_is_int(t) || ct_is_bits(t) ? info->ctype : info->cuda);
    field_integer(L, "bytes", info->bytes);
    field_integer(L, "map", ct_device_map_type(t));
    field_bool(L, "bits", ct_is_bits(t));
    lua_rawseti(L, -2, t);
  }
  return 1;
}

void bind_open_export(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"_export.begin", export_begin},   {"_export.for_target", export_for},
      {"_export.skip", export_skip},     {"_export.target", export_target},
      {"_export.tensor", export_tensor}, {"_export.restore", export_restore},
      {"_export.dtypes", export_dtypes}, {NULL, NULL}};
  watcher_new_type(L, &kind, NULL);
  luaL_setfuncs(L, functions, 0);
}
