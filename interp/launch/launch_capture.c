/* launch_capture.c: what a launch is, for its file. The IR is traced anew for the CPU engine and for `check`, so that
   a replay tells as much as a launch that is checked from the start. */
#include "launch_capture.h"
#include "launch_key.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interp/algebra/bind.h"
#include "interp/state/fields.h"
#include "interp/state/source_load.h"
#include "interp/state/state_language.h"
#include "launch_list.h"
#include "runtime/base/clock.h"
#include "runtime/base/newfile.h"

enum { TEXT_BYTES = 1 << 18 /* of a script, that a file takes */ };

/* {====== What the trace gives ====== */

static Spec *trace_for(lua_State *L, const LaunchCaptured *c, CtErr *err) {
  LaunchArgs own = *c->args;
  own.notes = LAUNCH_NOTES_OF_OVERFLOW;
  Spec *spec = spec_trace(L, c->kernel, c->config, &own, launch_target(NULL), false, err);
  CtDevice *d = c->args->device;
  if (spec == NULL && d != NULL) { /* its text has no twin for the CPU engine */
    spec = spec_trace(L, c->kernel, c->config, &own, launch_target(d), false, err);
  }
  return spec;
}

/* The texts of its scripts that are kept and short, by name. */
static void push_scripts(lua_State *L, const CtIr *ir) {
  lua_newtable(L);
  for (size_t i = 1; i < ir->n_chunks; i++) {
    if (src_push_shown(L, ir->chunks[i])) {
      if (lua_rawlen(L, -1) <= TEXT_BYTES) {
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, ir->chunks[i]);
      }
      lua_pop(L, 1);
    }
  }
}

/* Of the IR at 1: {ir = its bytes, names = those of the arguments, scripts =}. */
static int push_ir(lua_State *L) {
  const CtIr *ir = lua_touserdata(L, 1);
  if (ir->has_addresses) {
    return diag_error(
        L, "capture: the kernel uses tensor_at, and no file can hold all that an address may "
           "reach; pass the tensors themselves, or in a list");
  }
  lua_createtable(L, 0, 3);
  launch_set_ir(L, ir);
  lua_createtable(L, (int)ir->n_params, 0);
  for (size_t i = 0; i < ir->n_params; i++) {
    lua_pushstring(L, ir->params[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "names");
  push_scripts(L, ir);
  lua_setfield(L, -2, "scripts");
  return 1;
}

/* The specialisation goes before anything raises. */
static void push_trace(lua_State *L, const LaunchCaptured *c) {
  CtErr err;
  Spec *spec = trace_for(L, c, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
    return;
  }
  lua_pushcfunction(L, push_ir);
  lua_pushlightuserdata(L, &spec->ir);
  int status = lua_pcall(L, 1, 1, 0);
  spec_free(state_of(L), spec);
  if (status != LUA_OK) {
    lua_error(L);
  }
}

static char traces_key; /* registry: traces by number of the specialisation */

static void push_kept_trace(lua_State *L, const LaunchCaptured *c) {
  luaL_checkstack(L, 8, "capture");
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &traces_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &traces_key);
  }
  if (lua_rawgeti(L, -1, (lua_Integer)c->args->spec) != LUA_TTABLE) {
    lua_pop(L, 1);
    push_trace(L, c);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, (lua_Integer)c->args->spec);
  }
  lua_remove(L, -2);
}

/* {====== Arguments ====== */

static void push_tensor(lua_State *L, const Tensor *t) {
  CtCx cx = bind_enter(L);
  Arg place = {.kind = ARG_TENSOR};
  ct_blank_settle(t->storage->blank);
  launch_place(t, &place);
  lua_createtable(L, 0, 6);
  field_text(L, "dtype", ct_dtypes[t->dtype].name);
  field_text(L, "layout", bind_layout_text(&cx, t->layout));
  field_bool(L, "is_fixed", t->is_fixed);
  field_integer(L, "fixed", (int64_t)t->fixed);
  field_integer(L, "at", (int64_t)place.address);
  field_integer(L, "bytes", (int64_t)(place.span.end - place.address));
}

/* Sets `tensors`, those of the list or the one. */
static void set_tensors(lua_State *L, const Arg *a) {
  bool is_list = a->kind == ARG_LIST;
  int64_t n = is_list ? launch_list_size(a->list) : 1;
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    push_tensor(L, is_list ? launch_list_tensor(a->list, i) : a->tensor);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "tensors");
  field_bool(L, "is_list", is_list);
}

/* A list of what a file has; constants and records are in the IR. */
static void push_args(lua_State *L, const LaunchArgs *args) {
  int n = 0;
  lua_createtable(L, args->n, 0);
  for (int i = 0; i < args->n; i++) {
    const Arg *a = &args->args[i];
    bool has_tensors = a->kind == ARG_TENSOR || a->kind == ARG_LIST;
    if (!has_tensors && a->kind != ARG_NUMBER) {
      continue;
    }
    lua_createtable(L, 0, 3);
    if (has_tensors) {
      set_tensors(L, a);
    } else {
      field_text(L, "dtype", ct_dtypes[a->dtype].name);
      field_integer(L, "number", args->slots[a->first_slot].i);
    }
    lua_rawseti(L, -2, ++n);
  }
}

/* {====== The launch ====== */

static const Field kernel_fields[] = {
    FIELD_AS("kernel", Kernel, name), FIELD(Kernel, chunk),    FIELD(Kernel, line),
    FIELD(Kernel, static_shapes),     FIELD(Kernel, contract), FIELD(Kernel, min_blocks)};
static const Field config_fields[] = {
    FIELD(LaunchConfig, grid),         FIELD(LaunchConfig, block),
    FIELD(LaunchConfig, cluster),      FIELD_AS("smem", LaunchConfig, shared_bytes),
    FIELD(LaunchConfig, pdl),          FIELD(LaunchConfig, cooperative),
    FIELD(LaunchConfig, deterministic)};

/* What launch_file.lua makes a file of. */
static void push_launch(lua_State *L, const LaunchCaptured *c) {
  const Kernel *k = lua_touserdata(L, c->kernel);
  CtDevice *d = c->args->device;
  FIELDS_PUSH(L, kernel_fields, k);
  FIELDS_SET(L, config_fields, c->config);
  field_bool(L, "prints_as_run", c->config->print_order == CT_PRINT_AS_RUN);
  field_text(L, "device", d == NULL ? "cpu" : ct_device_info(d)->name);
  field_text(L, "why", c->why);
  launch_set_options(L, k);
  push_args(L, c->args);
  lua_setfield(L, -2, "args");
  if (d != NULL) {
    lua_pushlightuserdata(L, d);
    lua_setfield(L, -2, "lies_on");
  }
}

void launch_capture_push(lua_State *L, const LaunchCaptured *c) {
  luaL_checkstack(L, 12, "capture");
  state_push_module(L, "cuttle.launch_file");
  lua_getfield(L, -1, "bytes");
  lua_remove(L, -2);
  push_launch(L, c);
  if (c->keeps_trace) {
    push_kept_trace(L, c);
  } else {
    push_trace(L, c);
  }
  lua_pushboolean(L, c->with_data);
  lua_call(L, 3, 2);
}

/* {====== Each launch ====== */

TapAnswer launch_file_before(Launch *l, CtErr *err) {
  StateCapture *c = &l->state->taps.capture;
  const Kernel *k = l->args->of;
  int top = lua_gettop(l->L);
  size_t n;
  if (k->is_replayed) {
    return TAP_OUT;
  }
  if (c->why[0] != '\0') {
    diag_check(l->L, ct_fail(err, CT_EINVAL, "%s", c->why), err);
  }
  snprintf(l->path, sizeof l->path, "%.380s/%.80s-%ld-%" PRIu64 ".ctk", c->folder, k->name,
           (long)getpid(), ++c->n);
  launch_capture_push(l->L, &(LaunchCaptured){.kernel = l->kernel,
                                              .config = l->config,
                                              .args = l->args,
                                              .why = "CUTTLE_CAPTURE",
                                              .with_data = true,
                                              .keeps_trace = true});
  const char *bytes = lua_tolstring(l->L, -2, &n);
  int code = ct_newfile_write(l->path, bytes, n);
  lua_settop(l->L, top);
  l->begin_ms = ct_now_ms();
  if (code != 0) {
    (void)ct_fail(err, CT_EIO, "capture: %s: %s", l->path, strerror(code));
    return TAP_FAILED;
  }
  return TAP_IN;
}

CtStatus launch_file_after(Launch *l, CtStatus status, CtErr *err) {
  char line[700];
  const CuttleState *s = l->state;
  const char *name = l->args->of->name;
  if (status == CT_OK && l->args->device != NULL) {
    status = ct_device_synchronize(l->args->device, err);
  }
  double seconds = (ct_now_ms() - l->begin_ms) / 1e3, most = s->taps.capture.seconds;
  if (status != CT_OK) {
    size_t n = strlen(err->msg);
    snprintf(err->msg + n, sizeof err->msg - n, "; the launch is in %s", l->path);
  } else if (most > 0 && seconds > most) {
    snprintf(line, sizeof line, "%s took %.3g s; the launch is in %s", name, seconds, l->path);
    state_log(l->state, line);
  } else {
    remove(l->path);
  }
  return status;
}
