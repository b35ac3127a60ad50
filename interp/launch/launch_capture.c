/* launch_capture.c: writes launches to files. The IR is traced anew for the CPU engine and for `check`, so that
   a replay tells as much as a launch that is checked from the start. */
#include "launch_capture.h"
#include "launch_key.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/algebra/bind.h"
#include "interp/state/source_load.h"
#include "launch_list.h"
#include "runtime/base/clock.h"
#include "runtime/base/newfile.h"
#include "runtime/capture/capture.h"

enum { TEXT_BYTES = 1 << 18 /* of a script, that a file takes */ };

/* {====== What the trace gives ====== */

/* A tensor of the launch, and what its file says of it. */
typedef struct Piece {
  size_t place;        /* in the order of arguments */
  uint64_t begin, end; /* addresses */
  CtCaptureTensor *out;
} Piece;

typedef struct Capturing {
  CtArena *arena;
  const Kernel *k;
  const LaunchConfig *config;
  const LaunchArgs *args;
  CtCapture c;
  Piece *pieces;
  size_t n_pieces;
  uint64_t *begins; /* of the spans */
  bool failed;
} Capturing;

static Spec *trace_for(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                       CtErr *err) {
  LaunchArgs own = *args;
  own.notes = LAUNCH_NOTES_OF_OVERFLOW;
  Spec *spec = spec_trace(L, kernel, config, &own, launch_target(NULL), false, err);
  if (spec == NULL && args->device != NULL) { /* its text has no twin for the CPU engine */
    spec = spec_trace(L, kernel, config, &own, launch_target(args->device), false, err);
  }
  return spec;
}

/* Lines: what the arguments are called, a blank, the scripts. */
static void put_names(const CtIr *ir, CtText *out) {
  for (size_t i = 0; i < ir->n_params; i++) {
    ct_text_printf(out, "%s\n", ir->params[i].name);
  }
  ct_text_putc(out, '\n');
  for (size_t i = 1; i < ir->n_chunks; i++) {
    ct_text_printf(out, "%s\n", ir->chunks[i]);
  }
}

/* Sets the field of a script, which is at the top of the stack, to its text, if that is kept and short. */
static void set_script(lua_State *L, int table) {
  if (src_push_shown(L, lua_tostring(L, -1)) && lua_rawlen(L, -1) <= TEXT_BYTES) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, table);
  }
  lua_settop(L, table);
}

/* Pushes a table: by number the names of the arguments, by name the texts of scripts. */
static void push_names(lua_State *L, const char *lines, const char *end) {
  bool is_script = false;
  lua_newtable(L);
  int table = lua_gettop(L);
  for (int n = 1; lines < end; n++) {
    const char *eol = memchr(lines, '\n', (size_t)(end - lines));
    if (eol == lines) {
      is_script = true;
    } else {
      lua_pushlstring(L, lines, (size_t)(eol - lines));
      if (is_script) {
        set_script(L, table);
      } else {
        lua_rawseti(L, table, n);
      }
    }
    lua_settop(L, table);
    lines = eol + 1;
  }
}

/* The names and the IR's bytes, which begin at *at. */
static CtStatus put_trace(const CtIr *ir, CtText *out, size_t *at, CtErr *err) {
  if (ir->has_addresses) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "capture: the kernel uses tensor_at, and no file can "
                   "hold all that an address may reach; pass the tensors themselves, or in a list");
  }
  put_names(ir, out);
  *at = out->len;
  return ct_ir_write(ir, out, err);
}

/* Pushes the IR's bytes, and the table of push_names. Raises. */
static void push_trace(lua_State *L, int kernel, const LaunchConfig *config,
                       const LaunchArgs *args) {
  CuttleState *s = ((const Kernel *)lua_touserdata(L, kernel))->state;
  CtErr err;
  CtText text;
  size_t at = 0;
  Spec *spec = trace_for(L, kernel, config, args, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
    return;
  }
  ct_text_init(&text, s->alloc);
  CtStatus status = put_trace(&spec->ir, &text, &at, &err);
  spec_free(s, spec); /* before anything raises */
  if (status != CT_OK) {
    ct_text_clear(&text);
    diag_raise(L, &err);
  }
  size_t n = text.len;
  bind_push_text(L, &text);
  const char *all = lua_tostring(L, -1);
  lua_pushlstring(L, all + at, n - at);
  push_names(L, all, all + at);
  lua_remove(L, -3);
}

/* {====== Arguments ====== */

static void *get(Capturing *g, size_t n, size_t bytes) {
  void *p = ct_arena_alloc(g->arena, (n + 1) * bytes);
  g->failed = g->failed || p == NULL;
  return p;
}

static void add_piece(Capturing *g, const Tensor *t, CtCaptureTensor *out) {
  Arg place = {.kind = ARG_TENSOR};
  ct_blank_settle(t->storage->blank);
  launch_place(t, &place);
  g->pieces[g->n_pieces] = (Piece){g->n_pieces, place.address, place.span.end, out};
  g->n_pieces++;
  *out = (CtCaptureTensor){.dtype = t->dtype,
                           .at = place.address,
                           .shape = t->layout.shape,
                           .stride = t->layout.stride,
                           .is_fixed = t->is_fixed,
                           .fixed = t->fixed};
}

/* What a file has of the argument, without its tensors; false: nothing, as of constants and records, which are in the
   IR. */
static bool begin_arg(const LaunchArgs *args, const Arg *a, CtCaptureArg *out) {
  switch (a->kind) {
    case ARG_TENSOR: *out = (CtCaptureArg){.kind = CT_CAPTURE_TENSOR, .n = 1}; return true;
    case ARG_LIST:
      *out = (CtCaptureArg){.kind = CT_CAPTURE_LIST, .n = (uint32_t)launch_list_size(a->list)};
      return true;
    case ARG_NUMBER:
      *out = (CtCaptureArg){
          .kind = CT_CAPTURE_NUMBER, .dtype = a->dtype, .number = args->slots[a->first_slot].i};
      return true;
    case ARG_STATIC:
    case ARG_OBJECT:
    case ARG_RECORD: return false;
  }
  CT_UNREACHABLE();
}

static void add_tensors(Capturing *g, const Arg *a, CtCaptureArg *out) {
  size_t n = out->n;
  CtCaptureTensor *tensors = get(g, n, sizeof *tensors);
  out->tensors = n == 0 ? NULL : tensors;
  for (size_t i = 0; i < n && !g->failed; i++) {
    add_piece(g, a->kind == ARG_LIST ? launch_list_tensor(a->list, (int64_t)i) : a->tensor,
              &tensors[i]);
  }
}

/* Their names are in the table. */
static void add_args(lua_State *L, int names, Capturing *g) {
  const LaunchArgs *args = g->args;
  CtCaptureArg arg, *out = get(g, (size_t)args->n, sizeof *out);
  size_t n_tensors = 0;
  for (int i = 0; i < args->n; i++) {
    n_tensors += begin_arg(args, &args->args[i], &arg) ? arg.n : 0;
  }
  g->pieces = get(g, n_tensors, sizeof *g->pieces);
  for (int i = 0; i < args->n && !g->failed; i++) {
    if (begin_arg(args, &args->args[i], &arg)) {
      lua_rawgeti(L, names, (lua_Integer)g->c.n_args + 1);
      arg.name = lua_tostring(L, -1);
      add_tensors(g, &args->args[i], &arg);
      out[g->c.n_args++] = arg;
      lua_pop(L, 1); /* the table keeps it */
    }
  }
  g->c.args = out;
}

/* {====== Memory ====== */

static int by_begin(const void *a, const void *b) {
  const Piece *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int by_place(const void *a, const void *b) {
  const Piece *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Tensors that overlap share a span, which begins at *begins. In the order of addresses. */
static void join_pieces(const Capturing *g, CtCaptureSpan *spans, uint64_t *begins) {
  uint32_t n = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < g->n_pieces; i++) {
    const Piece *p = &g->pieces[i];
    if (i == 0 || p->begin >= end) {
      begins[n] = p->begin / CT_CAPTURE_ALIGN * CT_CAPTURE_ALIGN;
      spans[n++] = (CtCaptureSpan){.lead = p->begin % CT_CAPTURE_ALIGN};
      end = p->begin;
    }
    end = p->end > end ? p->end : end;
    spans[n - 1].bytes = end - begins[n - 1];
    p->out->span = n - 1;
    p->out->at = p->begin - begins[n - 1];
  }
}

/* Numbers the spans in the order of the arguments: addresses differ from run to run. */
static void number_spans(Capturing *g, const CtCaptureSpan *from, const uint64_t *begins,
                         bool with_data) {
  uint32_t *number = get(g, g->n_pieces, sizeof *number);
  CtCaptureSpan *spans = get(g, g->n_pieces, sizeof *spans);
  g->begins = get(g, g->n_pieces, sizeof *g->begins);
  for (size_t i = 0; i < g->n_pieces && !g->failed; i++) {
    uint32_t old = g->pieces[i].out->span;
    if (number[old] == 0) {
      spans[g->c.n_spans] = from[old];
      spans[g->c.n_spans].has_data = with_data;
      g->begins[g->c.n_spans] = begins[old];
      number[old] = ++g->c.n_spans;
    }
    g->pieces[i].out->span = number[old] - 1;
  }
  g->c.spans = spans;
}

static void add_spans(Capturing *g, bool with_data) {
  CtCaptureSpan *spans = get(g, g->n_pieces, sizeof *spans);
  uint64_t *begins = get(g, g->n_pieces, sizeof *begins);
  if (g->failed || g->n_pieces == 0) {
    return;
  }
  qsort(g->pieces, g->n_pieces, sizeof *g->pieces, by_begin);
  join_pieces(g, spans, begins);
  qsort(g->pieces, g->n_pieces, sizeof *g->pieces, by_place);
  number_spans(g, spans, begins, with_data);
}

/* Behind all that is on its way to a device, in whatever stream. */
static CtStatus add_data(const Capturing *g, CtText *out, CtErr *err) {
  CtDevice *d = g->args->device;
  CtStatus waited = d == NULL ? CT_OK : ct_device_synchronize(d, err);
  if (waited != CT_OK) {
    return waited;
  }
  for (uint32_t i = 0; i < g->c.n_spans; i++) {
    const CtCaptureSpan *s = &g->c.spans[i];
    size_t bytes = s->has_data ? (size_t)(s->bytes - s->lead) : 0;
    uint64_t at = g->begins[i] + s->lead;
    void *copy = d == NULL || bytes == 0 ? NULL : ct_alloc(out->alloc, bytes);
    if (bytes > 0 && d == NULL) {
      ct_text_add(out, (const char *)(uintptr_t)at, bytes); /* NOLINT(performance-no-int-to-ptr) */
    } else if (bytes > 0) {
      CtStatus status = copy == NULL ? ct_fail_nomem(err)
                                     : ct_device_read(d, copy, at, bytes, ct_device_stream(d), err);
      ct_text_add(out, copy, status == CT_OK ? bytes : 0);
      ct_free(out->alloc, copy, bytes);
      if (status != CT_OK) {
        return status;
      }
    }
  }
  return ct_text_status(out, err);
}

/* {====== The file ====== */

static void add_launch(Capturing *g, const char *why) {
  const LaunchConfig *c = g->config;
  const Kernel *k = g->k;
  const char *options[LAUNCH_MAX_OPTIONS];
  const CtDim3 *dims[] = {&c->grid, &c->block, &c->cluster};
  uint32_t *const outs[] = {g->c.grid, g->c.block, g->c.cluster};
  int n = kernel_options(k, options);
  const char **own = get(g, (size_t)n, sizeof *own);
  if (!g->failed) {
    memcpy(own, options, (size_t)n * sizeof *own);
  }
  g->c.options = own;
  g->c.n_options = (uint32_t)n;
  for (size_t i = 0; i < 3; i++) {
    outs[i][0] = dims[i]->x;
    outs[i][1] = dims[i]->y;
    outs[i][2] = dims[i]->z;
  }
  g->c.kernel = k->name;
  g->c.chunk = k->chunk;
  g->c.line = k->line;
  g->c.device = g->args->device == NULL ? "cpu" : ct_device_info(g->args->device)->name;
  g->c.why = why;
  g->c.shared_bytes = c->shared_bytes;
  g->c.pdl = c->pdl;
  g->c.cooperative = c->cooperative;
  g->c.deterministic = c->deterministic;
  g->c.prints_as_run = c->print_order == CT_PRINT_AS_RUN;
  g->c.static_shapes = k->static_shapes;
  g->c.contract = k->contract;
  g->c.min_blocks = k->min_blocks;
}

static int by_chunk(const void *a, const void *b) {
  return strcmp(((const CtCaptureText *)a)->chunk, ((const CtCaptureText *)b)->chunk);
}

/* The texts of the table at idx, in the order of their names. */
static void add_scripts(lua_State *L, int idx, Capturing *g) {
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, idx) != 0; lua_pop(L, 1)) {
    n++;
  }
  CtCaptureText *texts = get(g, n, sizeof *texts);
  for (lua_pushnil(L); !g->failed && lua_next(L, idx) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      texts[g->c.n_texts++] = (CtCaptureText){lua_tostring(L, -2), lua_tostring(L, -1)};
    }
  }
  if (g->c.n_texts > 1) {
    qsort(texts, g->c.n_texts, sizeof *texts, by_chunk);
  }
  g->c.texts = texts;
}

/* Of the IR and the scripts at the top of the stack. */
static CtStatus put_launch(lua_State *L, Capturing *g, const char *why, bool with_data, CtText *out,
                           CtErr *err) {
  size_t n;
  g->c.ir = lua_tolstring(L, -2, &n);
  g->c.ir_bytes = n;
  add_launch(g, why);
  add_args(L, lua_gettop(L), g);
  add_spans(g, with_data);
  add_scripts(L, lua_gettop(L), g);
  CtStatus status = g->failed ? ct_fail_nomem(err) : ct_capture_write(&g->c, out, err);
  status = status == CT_OK ? add_data(g, out, err) : status;
  return status == CT_OK ? ct_capture_seal(out, err) : status;
}

static CtStatus write_launch(lua_State *L, int kernel, const LaunchConfig *config,
                             const LaunchArgs *args, const char *path, const char *why,
                             bool with_data, CtErr *err) {
  const Kernel *k = lua_touserdata(L, kernel);
  CtArena arena;
  CtText out;
  ct_arena_init(&arena, k->state->alloc);
  ct_text_init(&out, k->state->alloc);
  Capturing g = {.arena = &arena, .k = k, .config = config, .args = args};
  CtStatus status = put_launch(L, &g, why, with_data, &out, err);
  int code = status == CT_OK ? ct_newfile_write(path, out.s, out.len) : 0;
  if (code != 0) {
    status = ct_fail(err, CT_EIO, "capture: %s: %s", path, strerror(code));
  }
  ct_text_clear(&out);
  ct_arena_clear(&arena);
  return status;
}

void launch_capture_push(lua_State *L, int kernel, const LaunchConfig *config,
                         const LaunchArgs *args, const char *why, bool with_data) {
  const Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  CtArena arena;
  CtText out, spans;
  push_trace(L, kernel, config, args);
  ct_arena_init(&arena, k->state->alloc);
  ct_text_init(&out, k->state->alloc);
  ct_text_init(&spans, k->state->alloc);
  Capturing g = {.arena = &arena, .k = k, .config = config, .args = args};
  CtStatus status = put_launch(L, &g, why, with_data, &out, &err);
  for (uint32_t i = 0; status == CT_OK && i < g.c.n_spans; i++) {
    ct_text_printf(&spans, "%" PRIu64 " %" PRIu64 " ", g.begins[i], g.c.spans[i].bytes);
  }
  ct_arena_clear(&arena);
  if (status != CT_OK) {
    ct_text_clear(&out);
    ct_text_clear(&spans);
    diag_raise(L, &err);
  }
  bind_push_text(L, &spans);
  bind_push_text(L, &out);
  lua_insert(L, -2); /* stack: IR, scripts, file, spans */
}

void launch_capture(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                    const char *path, const char *why, bool with_data) {
  CtErr err;
  int top = lua_gettop(L);
  push_trace(L, kernel, config, args);
  diag_check(L, write_launch(L, kernel, config, args, path, why, with_data, &err), &err);
  lua_settop(L, top);
}

/* {====== Of each launch ====== */

static char traces_key; /* registry: {IR, scripts} by number of the specialisation */

/* Pushes the IR and the scripts, which are kept for the next launch like this one. */
static void push_known_trace(lua_State *L, int kernel, const LaunchConfig *config,
                             const LaunchArgs *args) {
  luaL_checkstack(L, 8, "capture");
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &traces_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &traces_key);
  }
  int known = lua_gettop(L);
  if (lua_rawgeti(L, known, (lua_Integer)args->spec) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, 2, 0);
    push_trace(L, kernel, config, args);
    lua_rawseti(L, -3, 2);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, known, (lua_Integer)args->spec);
  }
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
}

TapAnswer launch_file_before(Launch *l, CtErr *err) {
  StateCapture *c = &l->state->taps.capture;
  const Kernel *k = l->args->of;
  int top = lua_gettop(l->L);
  if (k->is_replayed) {
    return TAP_OUT;
  }
  if (c->why[0] != '\0') {
    diag_check(l->L, ct_fail(err, CT_EINVAL, "%s", c->why), err);
  }
  snprintf(l->path, sizeof l->path, "%.380s/%.80s-%ld-%" PRIu64 ".ctk", c->folder, k->name,
           (long)getpid(), ++c->n);
  push_known_trace(l->L, l->kernel, l->config, l->args);
  CtStatus status =
      write_launch(l->L, l->kernel, l->config, l->args, l->path, "CUTTLE_CAPTURE", true, err);
  lua_settop(l->L, top);
  l->begin_ms = ct_now_ms();
  return status == CT_OK ? TAP_IN : TAP_FAILED;
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
