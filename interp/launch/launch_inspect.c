/* launch_inspect.c: what a launch would run, by methods of a configuration: k{...}:source(args...), :ptx,
   :cubin, :sass, :ir, :info. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/state/fields.h"
#include "interp/state/state_language.h"
#include "launch.h"
#include "runtime/device/nvrtc.h"
#include "runtime/ir/ir_file.h"

void launch_set_options(lua_State *L, const Kernel *k) {
  const char *options[LAUNCH_MAX_OPTIONS];
  int n = kernel_options(k, options);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, options[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "options");
}

void launch_set_ir(lua_State *L, const CtIr *ir) {
  CtText bytes;
  ct_text_init(&bytes, state_of(L)->alloc);
  CtStatus status = ct_ir_write(ir, &bytes, diag_err(L));
  if (status != CT_OK) {
    ct_text_clear(&bytes);
  }
  diag_try(L, status);
  bind_push_text(L, &bytes);
  lua_setfield(L, -2, "ir");
}

/* Traced anew, so that it can say which branches and loops were static. */
int launch_ir(lua_State *L) {
  LaunchArgs args;
  CtErr err;
  CtText text;
  CuttleState *s = state_of(L);
  int kernel;
  const LaunchConfig *c = launch_enter(L, &args, &kernel);
  Spec *spec = spec_trace(L, kernel, c, &args, launch_target(args.device), true, &err);
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
   `cuttle emit` writes for. Pushes the kernel. */
static CtTarget write_source(lua_State *L, bool for_launch, CtText *out) {
  LaunchArgs args;
  CtErr err;
  CuttleState *s = state_of(L);
  int kernel;
  const LaunchConfig *c = launch_enter(L, &args, &kernel);
  CtTarget target = args.device == NULL ? launch_emit_target(s) : launch_target(args.device);
  Spec *spec = spec_trace(L, kernel, c, &args, target, false, &err);
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
  lua_pushvalue(L, kernel);
  return target;
}

int launch_source(lua_State *L) {
  CtText text;
  write_source(L, false, &text);
  bind_push_text(L, &text);
  return 1;
}

/* A compilation of the text that launches compile. `options` and `arch` are what the job points to. */
typedef struct ImageJob {
  CtText text;
  char arch[16];
  const char *options[LAUNCH_MAX_OPTIONS];
  CtNvrtcJob job;
} ImageJob;

/* Pushes the kernel; the caller clears the text. */
static const Kernel *open_job(lua_State *L, bool is_ptx, ImageJob *image) {
  CtTarget target = write_source(L, true, &image->text);
  const Kernel *k = lua_touserdata(L, -1);
  ct_nvrtc_arch(target.sm, image->arch);
  image->job = kernel_job(k, ct_text_str(&image->text), image->arch, image->options);
  image->job.ptx = is_ptx;
  return k;
}

/* Pushes what NVRTC says, and the code. Machine code comes from the cache if it is there. */
static int push_image(lua_State *L, bool is_ptx) {
  CtErr err;
  ImageJob image;
  CtNvrtcOutput output;
  const Kernel *k = open_job(L, is_ptx, &image);
  CtStatus status = state_compile(k->state, &image.job, !is_ptx, &output, &err);
  ct_text_clear(&image.text);
  diag_check(L, status, &err);
  bind_push_text(L, &output.log);
  bind_push_text(L, &output.image);
  return 1;
}

/* _launch.cubin_key(launch, args...) -> ct_nvrtc_code_key of what launch:cubin(args...) compiles. */
int launch_cubin_key(lua_State *L) {
  CtErr err;
  ImageJob image;
  char key[CT_NVRTC_KEY_BYTES];
  (void)open_job(L, false, &image);
  CtStatus status = ct_nvrtc_code_key(&image.job, key, &err);
  ct_text_clear(&image.text);
  diag_check(L, status, &err);
  lua_pushstring(L, key);
  return 1;
}

int launch_ptx(lua_State *L) { return push_image(L, true); }
int launch_cubin(lua_State *L) { return push_image(L, false); }

/* _launch.compile_log(launch, args...) -> what NVRTC says of what launch:cubin(args...) compiles. */
int launch_compile_log(lua_State *L) {
  lua_pop(L, push_image(L, false));
  return 1;
}

/* The machine code as text, with the kernel's script lines: stdlib/microscope/sass.lua. */
int launch_sass(lua_State *L) {
  (void)push_image(L, false); /* it raises unless a launch is at 1 */
  int image = lua_gettop(L);
  const Kernel *k = launch_push_kernel(L, lua_touserdata(L, 1));
  state_push_function(L, "cuttle.sass", "text");
  lua_pushvalue(L, image);
  lua_pushnil(L); /* the only kernel */
  lua_newtable(L);
  lua_pushboolean(L, true);
  lua_setfield(L, -2, k->chunk);
  lua_call(L, 3, 1);
  return 1;
}

static const Field spec_fields[] = {FIELD(Spec, trace_ms), FIELD(Spec, emit_ms),
                                    FIELD(Spec, compile_ms), FIELD(Spec, from_cache)};
static const Field function_fields[] = {FIELD(CtFunctionInfo, registers),
                                        FIELD(CtFunctionInfo, local_bytes)};

/* A table: registers per thread, bytes, occupancy, and what making the specialisation cost. */
int launch_info(lua_State *L) {
  LaunchArgs args;
  int kernel;
  const LaunchConfig *c = launch_enter(L, &args, &kernel);
  Spec *spec = launch_spec(L, kernel, c, &args);
  FIELDS_PUSH(L, spec_fields, spec);
  field_integer(L, "shared_bytes", ct_ir_shared_bytes(&spec->ir));
  if (spec->fn != NULL) {
    int n_blocks = 0;
    CtErr err;
    int threads = (int)(c->block.x * c->block.y * c->block.z);
    FIELDS_SET(L, function_fields, ct_function_info(spec->fn));
    unsigned smem = spec->shared_bytes + c->shared_bytes;
    const CtLaunch launch = {.block = c->block, .cluster = launch_cluster(c), .shared_bytes = smem};
    if (ct_function_occupancy(spec->fn, threads, smem, &n_blocks, &err) == CT_OK) {
      field_integer(L, "blocks_per_sm", n_blocks);
    }
    if (launch.cluster.x != 0 &&
        ct_function_clusters(spec->fn, &launch, &n_blocks, &err) == CT_OK) {
      field_integer(L, "active_clusters", n_blocks);
    }
  }
  return 1;
}
