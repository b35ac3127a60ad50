/* bind_cuda_kernel.c: kernels written in CUDA C by hand, as twins to measure against. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "launch.h"
#include "launch_graph.h"
#include "runtime/device/nvrtc.h"
#include "interp/openers.h"
#include "interp/state/fields.h"
#include "runtime/base/clock.h"

#define CUDA_KERNEL_TYPE "CUDA kernel"
#define CUDA_CONFIG_TYPE "CUDA launch configuration"

static CtDevice *need_cuda(lua_State *L, const char *op) {
  CtDevice *d;
  diag_try(L, state_device(state_of(L), &d, diag_err(L)));
  if (d == NULL) {
    diag_error(L, "%s: the current device is the CPU engine; it needs a CUDA device", op);
  }
  return d;
}

typedef struct CudaKernel {
  CuttleState *state;
  CtDevice *device;
  CtModule *module;
  CtFunction *fn;
  char name[128];
  double compile_ms;
} CudaKernel;

static int cuda_kernel_close(lua_State *L) {
  CudaKernel *k = luaL_checkudata(L, 1, CUDA_KERNEL_TYPE);
  if (k->module != NULL) {
    ct_module_free(k->module);
    k->module = NULL;
  }
  return 0;
}

/* cuda_kernel(name, source[, {option, ...}]): compiles CUDA C by hand for the current device, with the same
   options as traced kernels; never from the cache, so that compile_ms is NVRTC's own time. */
static int lang_cuda_kernel(lua_State *L) {
  const char *options[16];
  int n = 0;
  CtErr err;
  CtNvrtcOutput output;
  const char *name = luaL_checkstring(L, 1);
  const char *source = luaL_checkstring(L, 2);
  lua_settop(L, 3);
  CtDevice *d = need_cuda(L, "cuda_kernel");
  for (lua_Integer i = 1; lua_istable(L, 3) && i <= luaL_len(L, 3) && n < 16; i++) {
    lua_geti(L, 3, i);
    options[n++] = luaL_checkstring(L, -1); /* stays on the stack */
  }
  CudaKernel *k = lua_newuserdatauv(L, sizeof *k, 0);
  memset(k, 0, sizeof *k);
  k->state = state_of(L);
  k->device = d;
  luaL_setmetatable(L, CUDA_KERNEL_TYPE);
  strncpy(k->name, name, sizeof k->name - 1);
  CtNvrtcJob job = {.alloc = k->state->alloc,
                    .source = source,
                    .name = name,
                    .arch = ct_device_info(d)->arch,
                    .options = options,
                    .n_options = n};
  double start = ct_now_ms();
  diag_check(L, state_compile(k->state, &job, false, &output, &err), &err);
  k->compile_ms = ct_now_ms() - start;
  CtStatus status = ct_module_new(d, output.image.s, &k->module, &err);
  ct_nvrtc_output_clear(&output);
  diag_check(L, status, &err);
  diag_check(L, ct_module_function(k->module, name, k->name, NULL, 0, SIZE_MAX, &k->fn, &err),
             &err);
  return 1;
}

/* A field of 1 to 3 sizes: an integer, or a list. */
static CtDim3 read_dims(lua_State *L, const char *field) {
  lua_Integer v[3] = {1, 1, 1};
  int type = lua_getfield(L, 2, field);
  for (int i = 0; i < 3 && type == LUA_TTABLE; i++) {
    lua_geti(L, -1, i + 1);
    v[i] = luaL_optinteger(L, -1, 1);
    lua_pop(L, 1);
  }
  if (type != LUA_TNIL && type != LUA_TTABLE) {
    v[0] = luaL_checkinteger(L, -1);
  }
  lua_pop(L, 1);
  return (CtDim3){(unsigned)v[0], (unsigned)v[1], (unsigned)v[2]};
}

static int cuda_kernel_call(lua_State *L) { /* k{grid =, block =, smem =} */
  luaL_checktype(L, 2, LUA_TTABLE);
  bind_check_names(L, 2, "cuda_kernel", BIND_NAMES("grid", "block", "smem"));
  LaunchConfig *c = lua_newuserdatauv(L, sizeof *c, 1);
  *c = (LaunchConfig){.grid = read_dims(L, "grid"), .block = read_dims(L, "block")};
  lua_getfield(L, 2, "smem");
  c->shared_bytes = (unsigned)luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
  luaL_setmetatable(L, CUDA_CONFIG_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

/* A graph that is being recorded keeps the memory of the tensor, if it is one. */
static void hold_arg(lua_State *L, int idx) {
  const Tensor *t = tensor_test(L, idx);
  StateRecorder *r = state_of(L)->taps.recorder;
  if (t != NULL && t->storage != NULL && r != NULL) {
    diag_try(L, recorder_hold(r, t->storage, diag_err(L)));
  }
}

/* Appends one argument as C lays it out: a tensor's pointer, an int, a float, or a number of given type. */
static size_t pack_arg(lua_State *L, int idx, unsigned char *params, size_t at) {
  CtSlotValue v = {.i = 0};
  size_t bytes = 4;
  TypedNumber typed;
  const Tensor *t = tensor_test(L, idx);
  if (t != NULL) {
    uint64_t address = t->storage == NULL ? 0 : ct_storage_place(t->storage) + tensor_byte(t, 0);
    v.i = (int64_t)address;
    bytes = 8;
    if (t->storage != NULL) { /* nobody knows what the kernel writes */
      diag_try(L, ct_storage_may_write(t->storage, diag_err(L)));
    }
  } else if (number_test(L, idx, &typed) && typed.dtype != CT_VOID) {
    bytes = ct_value_bytes(typed.dtype);
    if (ct_is_float(typed.dtype)) {
      v = ct_slot_float(typed.dtype, typed.is_float ? typed.f : (double)typed.i);
    } else {
      v.i = typed.i;
    }
  } else if (lua_isinteger(L, idx)) {
    v.i = lua_tointeger(L, idx);
  } else {
    v.f32 = (float)luaL_checknumber(L, idx);
  }
  at = (at + bytes - 1) / bytes * bytes;
  memcpy(params + at, &v, bytes);
  return at + bytes;
}

static int cuda_config_call(lua_State *L) {
  const LaunchConfig *c = luaL_checkudata(L, 1, CUDA_CONFIG_TYPE);
  unsigned char params[LAUNCH_MAX_ARGS * 8];
  size_t at = 0;
  int n = lua_gettop(L) - 1;
  luaL_argcheck(L, n <= LAUNCH_MAX_ARGS, n, "too many arguments");
  for (int i = 0; i < n; i++) {
    hold_arg(L, i + 2);
    at = pack_arg(L, i + 2, params, at);
  }
  lua_getiuservalue(L, 1, 1);
  const CudaKernel *k = lua_touserdata(L, -1);
  StateRecorder *r = state_of(L)->taps.recorder, *part;
  if (r != NULL) {
    launch_record_anchor(L, -1);
    diag_try(L, recorder_part(r, k->device, &part, diag_err(L)));
    part->is_used = true;
    r->n_launches++;
  }
  state_await_device(L, k->device);
  CtLaunch launch = {.grid = c->grid,
                     .block = c->block,
                     .shared_bytes = c->shared_bytes,
                     .stream = ct_device_stream(k->device)};
  diag_try(L, ct_function_launch(k->fn, &launch, params, at, diag_err(L)));
  return 0;
}

static const Field function_fields[] = {FIELD(CtFunctionInfo, registers),
                                        FIELD(CtFunctionInfo, local_bytes)};
static const Field twin_fields[] = {FIELD(CudaKernel, compile_ms)};

static int cuda_kernel_info(lua_State *L) {
  const CudaKernel *k = luaL_checkudata(L, 1, CUDA_KERNEL_TYPE);
  FIELDS_PUSH(L, function_fields, ct_function_info(k->fn));
  FIELDS_SET(L, twin_fields, k);
  return 1;
}

/* --- opening --- */

static const luaL_Reg cuda_kernel_meta[] = {
    {"__call", cuda_kernel_call}, {"__gc", cuda_kernel_close}, {NULL, NULL}};
static const luaL_Reg cuda_kernel_methods[] = {{"info", cuda_kernel_info}, {NULL, NULL}};
static const luaL_Reg cuda_config_meta[] = {{"__call", cuda_config_call}, {NULL, NULL}};
static const luaL_Reg cuda_config_methods[] = {{NULL, NULL}};

void bind_open_cuda_kernel(lua_State *L) {
  bind_new_type(L, CUDA_KERNEL_TYPE, cuda_kernel_meta, cuda_kernel_methods);
  bind_new_type(L, CUDA_CONFIG_TYPE, cuda_config_meta, cuda_config_methods);
  lua_pushcfunction(L, lang_cuda_kernel);
  lua_setfield(L, -2, "cuda_kernel");
}
