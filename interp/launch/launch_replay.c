/* launch_replay.c: kernels whose IR comes from a file. They are launched as others are, with tensors that are
   made anew; what else differs is that spec_trace reads where it would trace. */
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/fields.h"
#include "interp/state/source_load.h"
#include "interp/trace/front.h"
#include "interp/trace/number.h"
#include "launch_capture.h"
#include "runtime/capture/capture.h"
#include "runtime/ir/ir_make.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
enum { IR = 5 }; /* user value of a kernel of a file: the IR's bytes */

/* {====== Specialisations ====== */

/* Do the arguments fit what the IR takes? */
static CtStatus check_fit(const CtIr *ir, int min_blocks, const LaunchConfig *config,
                          const LaunchArgs *args, CtErr *err) {
  const int64_t block[3] = {config->block.x, config->block.y, config->block.z};
  const int64_t cluster[3] = {config->cluster.x, config->cluster.y, config->cluster.z};
  bool fits = (int)ir->n_params == args->n_ir_params && (int)ir->n_slots == args->n_slots &&
              memcmp(ir->block, block, sizeof block) == 0 &&
              memcmp(ir->cluster, cluster, sizeof cluster) == 0 &&
              ir->smem == config->shared_bytes && ir->min_blocks == min_blocks;
  size_t p = 0;
  for (int i = 0; fits && i < args->n; i++) {
    const Arg *a = &args->args[i];
    const CtParam *param = &ir->params[p++];
    CtDtype type = a->kind == ARG_LIST ? CT_i64 : a->dtype;
    fits = param->is_tensor == (a->kind != ARG_NUMBER) && param->dtype == type &&
           (int)param->first_slot == a->first_slot;
  }
  return fits ? CT_OK
              : ct_fail(err, CT_EINVAL,
                        "replay: %s is launched with arguments or a block that its "
                        "file does not have",
                        ir->name);
}

/* What a file says reaches NVRTC as numbers and as names of this library's making; a text of CUDA C or PTX would
   reach it as it is, and could name the user's files. */
static CtStatus check_trust(const Kernel *k, const CtIr *ir, CtErr *err) {
  for (CtVal v = 1; ir->target.is_cuda && !k->is_trusted && v < ir->n_insts; v++) {
    if (ct_inst(ir, v)->op == CT_OP_ESCAPE) {
      return ct_fail(err, CT_EUNSUPPORTED,
                     "replay: the file of %s contains CUDA C or PTX, which "
                     "the compiler would get unchanged; if you trust who made the file, replay it "
                     "with --trust, or replay(file, {trust = true})",
                     ir->name);
    }
  }
  return CT_OK;
}

/* Messages show no lines of a script that the file names and does not hold: the name may be that of any file. */
static void show_chunks(lua_State *L, const CtIr *ir) {
  for (size_t i = 1; i < ir->n_chunks; i++) {
    if (src_push_shown(L, ir->chunks[i])) {
      lua_pop(L, 1);
    } else {
      src_show(L, ir->chunks[i], "", 0);
    }
  }
}

Spec *launch_file_spec(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                       CtTarget target, CtErr *err) {
  const Kernel *k = lua_touserdata(L, kernel);
  Spec *spec = spec_new(k->state, config, args, target);
  size_t n;
  lua_getiuservalue(L, kernel, IR);
  const char *bytes = lua_tolstring(L, -1, &n);
  lua_pop(L, 1);
  if (spec == NULL) {
    (void)ct_fail_nomem(err);
    return NULL;
  }
  CtIr made;
  CtStatus status = k->is_trusted ? ct_ir_read(k->state->alloc, bytes, n, &made, err)
                                  : ct_ir_read_shown(k->state->alloc, bytes, n, &made, err);
  if (status == CT_OK) {
    ct_ir_clear(&spec->ir);
    spec->ir = made;
    spec->ir.dyn.ud = &spec->ir;
    spec->ir.target = target;
    status = check_fit(&spec->ir, k->min_blocks, config, args, err);
    status = status == CT_OK ? check_trust(k, &spec->ir, err) : status;
  }
  if (status == CT_OK) {
    show_chunks(L, &spec->ir);
  }
  if (status != CT_OK) {
    spec_free(k->state, spec);
    return NULL;
  }
  return spec;
}

/* {====== Reading ====== */

/* Pushes the file's bytes. */
static const void *push_file(lua_State *L, const char *path, size_t *n) {
  errno = 0;
  if (!src_push_bytes(L, path)) {
    diag_error(L, "replay: cannot read %s: %s", path, strerror(errno));
  }
  return lua_tolstring(L, -1, n);
}

static int nothing(lua_State *L) {
  (void)L;
  return 0;
}

/* Pushes a function whose parameters have the names of the arguments, which is all that is asked of it. */
static void push_function(lua_State *L, const CtCapture *c) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "local function f(");
  for (uint32_t i = 0; i < c->n_args; i++) {
    const char *name = c->args[i].name;
    const char *comma = i == 0 ? "" : ",";
    if (name[strspn(name, LETTERS)] == '\0' && name[0] > '9') {
      lua_pushfstring(L, "%s%s", comma, name);
    } else {
      lua_pushfstring(L, "%s_%d", comma, (int)i + 1);
    }
    luaL_addvalue(&b);
  }
  luaL_addstring(&b, ") end return f");
  luaL_pushresult(&b);
  if (luaL_loadstring(L, lua_tostring(L, -1)) == LUA_OK) {
    lua_call(L, 0, 1);
  } else { /* more than Lua's functions have */
    lua_pop(L, 1);
    lua_pushcfunction(L, nothing);
  }
  lua_remove(L, -2);
}

static void read_options(Kernel *k, const CtCapture *c) {
  size_t at = 0;
  for (uint32_t i = 0; i < c->n_options; i++) {
    size_t n = strlen(c->options[i]) + 1;
    if (n > 1 && i < LAUNCH_MAX_OPTIONS && at + n + 1 <= sizeof k->options) {
      memcpy(k->options + at, c->options[i], n);
      at += n;
    }
  }
}

static void push_kernel(lua_State *L, const CtCapture *c, bool trusts) {
  Kernel *k = lua_newuserdatauv(L, sizeof *k, IR);
  memset(k, 0, sizeof *k);
  luaL_setmetatable(L, KERNEL_TYPE);
  k->state = state_of(L);
  k->front = front_find(L);
  k->is_replayed = true;
  k->is_trusted = trusts;
  k->n_params = (int)c->n_args;
  k->line = c->line;
  k->static_shapes = c->static_shapes;
  k->contract = c->contract;
  k->min_blocks = c->min_blocks;
  snprintf(k->chunk, sizeof k->chunk, "%s", c->chunk);
  if (trusts) {
    read_options(k, c);
  }
  lua_pushstring(L, c->kernel);
  k->name = lua_tostring(L, -1);
  lua_setiuservalue(L, -2, 3);
  push_function(L, c);
  lua_setiuservalue(L, -2, 1);
  lua_pushlstring(L, c->ir, c->ir_bytes);
  lua_setiuservalue(L, -2, IR);
}

static void set_dim(lua_State *L, const char *name, const uint32_t v[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

static void push_config(lua_State *L, const CtCapture *c) {
  lua_newtable(L);
  set_dim(L, "grid", c->grid);
  set_dim(L, "block", c->block);
  set_dim(L, "cluster", c->cluster);
  field_integer(L, "smem", c->shared_bytes);
  field_bool(L, "pdl", c->pdl);
  field_bool(L, "cooperative", c->cooperative);
  field_bool(L, "deterministic", c->deterministic);
  field_text(L, "print_order", c->prints_as_run ? "run" : NULL);
}

/* Memory that the file does not hold itself: a few bytes ask for any amount of it. */
static void check_memory(lua_State *L, const CtCapture *c) {
  const double gib = 1 << 30;
  double bytes = 0;
  for (uint32_t i = 0; i < c->n_spans; i++) {
    bytes += c->spans[i].has_data ? 0 : (double)c->spans[i].bytes;
  }
  if (bytes > gib) {
    char text[32];
    snprintf(text, sizeof text, "%.1f", bytes / gib);
    diag_error(L,
               "replay: the file asks for %s GiB of memory for tensors whose elements it does not "
               "hold; if you trust who made the file, replay it with --trust, or replay(file, "
               "{trust = true})",
               text);
  }
}

/* Pushes a tensor of bytes for each span, in a list: its memory is shared by the launch's tensors. */
static void push_spans(lua_State *L, const CtCapture *c, CtDevice *device) {
  const unsigned char *data = c->data;
  lua_createtable(L, (int)c->n_spans, 0);
  for (uint32_t i = 0; i < c->n_spans; i++) {
    const CtCaptureSpan *s = &c->spans[i];
    CtNode shape = {.rank = CT_LEAF, .len = 1}, stride = shape;
    CtErr err;
    shape.i = ct_int(s->bytes == 0 ? 1 : (int64_t)s->bytes);
    stride.i = ct_int(1);
    const Tensor *t = tensor_push_alloc(L, "replay", CT_u8, (CtLayout){&shape, &stride}, device);
    diag_check(L, ct_storage_set(t->storage, 0, 0, t->storage->bytes, &err), &err);
    if (s->has_data) {
      size_t n = (size_t)(s->bytes - s->lead);
      diag_check(L, ct_storage_write(t->storage, (size_t)s->lead, data, n, &err), &err);
      data += n;
    }
    lua_rawseti(L, -2, i + 1);
  }
}

/* Of a part: its spans lie in memory that there is. Pushes the list of push_spans; by negative number where the span
   begins in its memory. */
static void push_lent_spans(lua_State *L, const CtCapture *c, int memory) {
  const unsigned char *data = c->data;
  lua_createtable(L, (int)c->n_spans, 0);
  for (uint32_t i = 0; i < c->n_spans; i++) {
    const CtCaptureSpan *s = &c->spans[i];
    CtErr err;
    lua_rawgeti(L, memory, 2 * (lua_Integer)i + 1);
    lua_rawgeti(L, memory, 2 * (lua_Integer)i + 2);
    const Tensor *t = luaL_testudata(L, -2, TENSOR_TYPE);
    lua_Integer at = lua_tointeger(L, -1);
    bool fits = t != NULL && at >= 0 && at % CT_CAPTURE_ALIGN == 0 &&
                (uint64_t)at <= t->storage->bytes && s->bytes <= t->storage->bytes - (uint64_t)at;
    if (!fits) {
      diag_error(L, "replay: span %d of a launch is outside the memory of its graph", (int)i + 1);
    }
    if (s->has_data) {
      size_t n = (size_t)(s->bytes - s->lead);
      diag_check(L, ct_storage_write(t->storage, (size_t)at + (size_t)s->lead, data, n, &err),
                 &err);
      data += n;
    }
    lua_rawseti(L, -3, -(lua_Integer)i - 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_tensor(lua_State *L, int spans, const CtCaptureTensor *t) {
  lua_rawgeti(L, spans, -(lua_Integer)t->span - 1);
  uint64_t at = t->at + (uint64_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  lua_rawgeti(L, spans, t->span + 1);
  const Tensor *memory = lua_touserdata(L, -1);
  Tensor *made = tensor_push_host(L, t->dtype, (CtLayout){t->shape, t->stride},
                                  ct_int(ct_dtype_count(t->dtype, (int64_t)at)), memory->storage);
  made->is_fixed = t->is_fixed;
  made->fixed = t->fixed;
  lua_remove(L, -2);
}

static void push_number(lua_State *L, const CtCaptureArg *a) {
  CtSlotValue slot = {.i = a->number};
  bool is_float = ct_is_float(a->dtype);
  Elem e = elem_load(a->dtype, &slot); /* little-endian: the low bytes */
  number_push(L, (TypedNumber){.dtype = a->dtype,
                               .is_float = is_float,
                               .i = is_float ? 0 : e.i,
                               .f = is_float ? e.f : 0});
}

/* Pushes the arguments. */
static void push_args(lua_State *L, const CtCapture *c, int spans) {
  lua_createtable(L, (int)c->n_args, 1);
  field_integer(L, "n", c->n_args);
  for (uint32_t i = 0; i < c->n_args; i++) {
    const CtCaptureArg *a = &c->args[i];
    if (a->kind == CT_CAPTURE_NUMBER) {
      push_number(L, a);
    } else if (a->kind == CT_CAPTURE_TENSOR) {
      push_tensor(L, spans, &a->tensors[0]);
    } else {
      lua_createtable(L, (int)a->n, 0);
      for (uint32_t j = 0; j < a->n; j++) {
        push_tensor(L, spans, &a->tensors[j]);
        lua_rawseti(L, -2, j + 1);
      }
    }
    lua_rawseti(L, -2, i + 1);
  }
}

/* From now on reports know the lines of the scripts. */
static void show_scripts(lua_State *L, const CtCapture *c) {
  for (uint32_t i = 0; i < c->n_texts; i++) {
    src_show(L, c->texts[i].chunk, c->texts[i].text, strlen(c->texts[i].text));
  }
}

static void push_info(lua_State *L, const CtCapture *c, bool trusts) {
  lua_newtable(L);
  field_text(L, "kernel", c->kernel);
  field_text(L, "chunk", c->chunk);
  field_integer(L, "line", c->line);
  field_text(L, "device", c->device);
  field_text(L, "why", c->why);
  field_bool(L, "has_data", c->data_bytes > 0);
  bool leaves_out = c->n_options > 0 && !trusts;
  field_text(L, "left_out",
             leaves_out ? "options of NVRTC that the file names are left out; --trust uses them"
                        : "");
}

/* Pushes what keeps the file's bytes. */
static void push_launch(lua_State *L, CtArena *arena, const char *path, CtCapture *out) {
  CtErr err;
  size_t n;
  const void *bytes = push_file(L, path, &n);
  CtStatus status = ct_capture_read(arena, bytes, n, out, &err);
  if (status != CT_OK) {
    diag_error(L, "%s (%s)", err.msg, path);
  }
}

/* Of the list of spans at the top of the stack. */
static int push_all(lua_State *L, const CtCapture *c, bool trusts) {
  int spans = lua_gettop(L);
  push_kernel(L, c, trusts);
  push_config(L, c);
  push_args(L, c, spans);
  push_info(L, c, trusts);
  return 4;
}

int launch_file_load(lua_State *L, const char *path, bool trusts) {
  CuttleState *s = state_of(L);
  CtCx cx = bind_enter(L);
  CtCapture c;
  CtDevice *device;
  CtErr err;
  push_launch(L, cx.arena, path, &c);
  if (!trusts) {
    check_memory(L, &c);
  }
  diag_check(L, state_device(s, &device, &err), &err);
  show_scripts(L, &c);
  push_spans(L, &c, device);
  return push_all(L, &c, trusts);
}

int launch_file_load_part(lua_State *L, int idx, bool trusts, int memory) {
  CtCx cx = bind_enter(L);
  CtCapture c;
  CtErr err;
  size_t n;
  const char *bytes = luaL_checklstring(L, idx, &n);
  luaL_checktype(L, memory, LUA_TTABLE);
  diag_check(L, ct_capture_read(cx.arena, bytes, n, &c, &err), &err);
  show_scripts(L, &c);
  push_lent_spans(L, &c, memory);
  return push_all(L, &c, trusts);
}

/* Pushes "tensor f32 (4):(1)". */
static void push_description(lua_State *L, const CtCx *cx, const CtCaptureArg *a) {
  CtText text;
  if (a->kind == CT_CAPTURE_LIST) {
    lua_pushfstring(L, "%I tensors", (LUAI_UACINT)a->n);
    return;
  }
  if (a->kind == CT_CAPTURE_NUMBER) {
    push_number(L, a);
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    return;
  }
  ct_text_init(&text, cx->arena->alloc);
  ct_text_printf(&text, "tensor %s ", ct_dtypes[a->tensors->dtype].name);
  ct_layout_print(cx, (CtLayout){a->tensors->shape, a->tensors->stride}, &text);
  bind_push_text(L, &text);
}

int launch_file_describe(lua_State *L, const char *path) {
  CtCx cx = bind_enter(L);
  CtCapture c;
  push_launch(L, cx.arena, path, &c);
  push_info(L, &c, true);
  set_dim(L, "grid", c.grid);
  set_dim(L, "block", c.block);
  lua_newtable(L);
  for (uint32_t i = 0; i < c.n_args; i++) {
    push_description(L, &cx, &c.args[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "arguments");
  lua_newtable(L);
  for (uint32_t i = 0; i < c.n_options; i++) {
    lua_pushstring(L, c.options[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "options");
  return 1;
}
