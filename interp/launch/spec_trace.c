/* spec_trace.c: traces the kernel for a key: targets, symbolic arguments, and the IR that comes out. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/front/front_trace.h"
#include "interp/ops/bind_function.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"
#include "launch.h"
#include "launch_capture.h"
#include "launch_key.h"
#include "launch_list.h"
#include "interp/ops/list.h"
#include "runtime/base/clock.h"

enum { MAX_FUNCTIONS = 256 };
enum { STATIC_SHARED_BYTES = 48 * 1024, SHARED_MAX_SM90 = 227 * 1024 };

/* --- targets -------------------------------------------------------------------------------------- */

static size_t shared_of_sm(int sm) { /* opt-in bytes per block: CUDA C programming guide, table of
                                        technical specifications */
  static const struct {
    int sm, kib;
  } rows[] = {{75, 64}, {80, 163}, {86, 99}, {87, 163}, {89, 99}, {90, 227}, {100, 227}, {120, 99}};
  size_t bytes = STATIC_SHARED_BYTES;
  for (size_t i = 0; i < CT_ARRAY_LEN(rows) && rows[i].sm <= sm; i++) {
    bytes = (size_t)rows[i].kib * 1024;
  }
  return bytes;
}

CtTarget launch_cuda_target(int sm) {
  return (CtTarget){
      .is_cuda = true, .sm = sm, .shared_max = shared_of_sm(sm), .name = "the target"};
}

CtTarget launch_emit_target(const CuttleState *s) {
  CtTarget target = launch_cuda_target(s->emit.sm);
  size_t n = strlen(s->emit.arch);
  target.is_common = n > 0 && s->emit.arch[n - 1] == 'f';
  return target;
}

CtTarget launch_target(CtDevice *device) {
  if (device == NULL) {
    return (CtTarget){.shared_max = SHARED_MAX_SM90, .name = "the CPU engine"};
  }
  const CtDeviceInfo *info = ct_device_info(device);
  return (CtTarget){.is_cuda = true,
                    .sm = info->sm,
                    .shared_max = info->shared_block_optin_bytes,
                    .name = info->name};
}

/* --- symbolic arguments --------------------------------------------------------------------------- */

typedef struct PushArgs {
  const Kernel *kernel;
  const LaunchArgs *args;
  int function;      /* stack place of the kernel's Lua function, for its parameters' names */
  char (*names)[64]; /* of each of LaunchArgs.args */
} PushArgs;

/* A tree whose leaves are dynamic where the key made them slots; their facts are appended. */
static CtTuple symbolic(lua_State *L, CtIr *ir, bool is_extent, const Kernel *k, const Arg *arg,
                        CtFacts *facts, int *n) {
  const CtLayout *l = &arg->tensor->layout;
  CtTuple t = is_extent ? l->shape : l->stride;
  int leaf = 0;
  CtNode *nodes = ct_arena_alloc(&ir->arena, t->len * sizeof *nodes);
  if (nodes == NULL) {
    luaL_error(L, "not enough memory");
    return NULL;
  }
  memcpy(nodes, t, t->len * sizeof *nodes);
  for (uint32_t i = 0; i < t->len; i++) {
    if (nodes[i].rank == CT_LEAF &&
        launch_is_slot(k, arg->tensor, is_extent, leaf++, nodes[i].i.v)) {
      CtTerm g = ct_term_of(is_extent, nodes[i].i.v, arg->dtype, arg->tensor->is_wide);
      facts[(*n)++] = (CtFacts){g.low, g.high, ct_term_divisor(&g)};
      nodes[i].i = (CtInt){.kind = CT_DYNAMIC};
    }
  }
  return nodes;
}

static void push_tensor(lua_State *L, CtIr *ir, const Kernel *k, const Arg *arg, const char *name) {
  int n = 0;
  CtLayout layout = arg->tensor->layout;
  size_t n_nodes = (size_t)layout.shape->len + layout.stride->len;
  CtFacts *facts = ct_arena_alloc(&ir->arena, n_nodes * sizeof *facts);
  if (facts == NULL) {
    luaL_error(L, "not enough memory");
    return;
  }
  CtTensorSpec spec = {.name = name,
                       .dtype = arg->dtype,
                       .index = launch_index_type(arg),
                       .align = (uint32_t)ct_call_align(arg->address),
                       .facts = facts};
  spec.shape = symbolic(L, ir, true, k, arg, facts, &n);
  spec.stride = symbolic(L, ir, false, k, arg, facts, &n);
  CtView view = ct_ir_tensor(ir, &spec);
  if (ir->failed) {
    luaL_error(L, "not enough memory");
  }
  tensor_push_kernel(L, arg->dtype, CT_GLOBAL, view, front_serial(L));
}

static void push_list(lua_State *L, CtIr *ir, const Arg *arg, const char *name) {
  CtTensorSpec spec = launch_list_spec(arg->list, name);
  CtView table = ct_ir_list(ir, &spec);
  if (ir->failed) {
    luaL_error(L, "not enough memory");
  }
  list_push_kernel(L, table);
}

static void push_constant(lua_State *L, const Arg *arg) {
  if (arg->dtype == CT_i64) {
    lua_pushinteger(L, arg->value.i);
  } else if (arg->dtype == CT_bool) {
    lua_pushboolean(L, arg->value.i != 0);
  } else {
    lua_pushnumber(L, arg->value.f64);
  }
}

static void push_number(lua_State *L, CtIr *ir, const Arg *arg, const char *name) {
  CtDtype type = arg->is_untyped ? front_parameter_type(L, arg->first_slot) : arg->dtype;
  CtVal v = ct_ir_number(ir, name, type, ct_type_facts(type));
  if (v != 0 && arg->is_untyped) {
    ir->insts[v].untyped = CT_UNTYPED_KEPT;
  }
  value_push(L, v);
}

/* Pushes the argument at *i, and sets *i to the next. */
static void push_arg(lua_State *L, CtIr *ir, const PushArgs *p, int given, int *i) {
  const char *name = p->names[*i];
  const Arg *arg = &p->args->args[(*i)++];
  luaL_checkstack(L, 8, "tables in tables");
  switch (arg->kind) {
    case ARG_TENSOR: push_tensor(L, ir, p->kernel, arg, name); return;
    case ARG_LIST: push_list(L, ir, arg, name); return;
    case ARG_NUMBER: push_number(L, ir, arg, name); return;
    case ARG_STATIC: push_constant(L, arg); return;
    case ARG_OBJECT: launch_push_object(L, given, *i - 1); return;
    case ARG_RECORD: break;
  }
  lua_createtable(L, 0, arg->n_fields);
  for (int n = arg->n_fields; n > 0; n--) {
    const Arg *field = &p->args->args[*i];
    if (field->field != NULL) {
      lua_pushstring(L, field->field);
    } else {
      lua_pushinteger(L, field->number);
    }
    push_arg(L, ir, p, given, i);
    lua_rawset(L, -3);
  }
}

static int push_args(lua_State *L, CtIr *ir, void *ud, int given) {
  const PushArgs *p = ud;
  int n = 0;
  luaL_checkstack(L, p->args->n + 4, "too many arguments");
  for (int i = 0; i < p->args->n; n++) {
    push_arg(L, ir, p, given, &i);
  }
  return n;
}

/* "o.params", "o[2]"; "params" of a parameter `o_`: the library's name would mean nothing to a reader. */
static void name_field(const PushArgs *p, int i) {
  const Arg *arg = &p->args->args[i];
  char of[sizeof p->names[i]];
  memcpy(of, p->names[arg->parent], sizeof of);
  if (arg->field != NULL && of[strlen(of) - 1] == '_') {
    snprintf(p->names[i], sizeof p->names[i], "%.60s", arg->field);
  } else if (arg->field != NULL) {
    snprintf(p->names[i], sizeof p->names[i], "%.30s.%.30s", of, arg->field);
  } else {
    snprintf(p->names[i], sizeof p->names[i], "%.30s[%d]", of, (int)arg->number);
  }
}

/* The parameters' names. Arguments after the named ones are "...[1]" and so on; a name that is there
   already gets a number. */
static void name_args(lua_State *L, PushArgs *p) {
  int n_named = 0;
  lua_pushvalue(L, p->function);
  for (int i = 0; i < p->args->n; i++) {
    const Arg *arg = &p->args->args[i];
    if (arg->parent >= 0) {
      name_field(p, i);
      continue;
    }
    const char *name = lua_getlocal(L, NULL, arg->place); /* leaves the function where it is */
    bool taken = false;
    for (int j = 0; j < i && name != NULL && !taken; j++) {
      taken = strncmp(p->names[j], name, sizeof p->names[j] - 1) == 0;
    }
    n_named += name != NULL;
    if (name == NULL) {
      snprintf(p->names[i], sizeof p->names[i], CT_VARARG_NAME "%d]", arg->place - n_named);
    } else {
      snprintf(p->names[i], sizeof p->names[i], taken ? "%s%d" : "%s", name, arg->place);
    }
  }
  lua_pop(L, 1);
}

/* Lines "sA = (4,8):(8,1)"; NULL: there are none. */
static const char *note_constants(lua_State *L, CtIr *ir, const PushArgs *p) {
  CtText text;
  const char *lines = NULL;
  ct_text_init(&text, ir->arena.alloc);
  for (int i = 0; i < p->args->n; i++) {
    if (p->args->args[i].kind == ARG_OBJECT) {
      const char *value = launch_object_text(L, p->args->objects, i);
      ct_text_printf(&text, "%s = %s\n", p->names[i], value);
    }
  }
  if (text.len > 0 && !text.failed) {
    lines = ct_arena_strdup(&ir->arena, ct_text_str(&text), text.len);
  }
  ct_text_clear(&text);
  return lines;
}

/* --- tracing ------------------------------------------------------------------------------------- */

/* Says which parameters the launch left out, where the message is about a nil. */
static void explain_nil(lua_State *L, const PushArgs *p, CtErr *err) {
  for (int i = 0; i < p->args->n && strstr(err->msg, "nil") != NULL; i++) {
    const Arg *arg = &p->args->args[i];
    if (arg->kind == ARG_OBJECT && lua_rawgeti(L, p->args->objects, i + 1) == LUA_TNIL) {
      size_t len = strlen(err->msg);
      snprintf(err->msg + len, sizeof err->msg - len,
               "; argument %d (%s) of the launch is nil, perhaps a misspelt name", arg->place,
               p->names[i]);
    }
    lua_pop(L, arg->kind == ARG_OBJECT ? 1 : 0);
  }
}

static Spec *trace_once(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                        CtTarget target, bool wants_notes, CtIrFunction *made, CtErr *err) {
  Kernel *k = lua_touserdata(L, kernel);
  Spec *spec = spec_new(k->state, config, args, target);
  double start = ct_now_ms();
  if (spec == NULL) {
    (void)ct_fail_nomem(err);
    return NULL;
  }
  CtIr *ir = &spec->ir;
  ir->contract = k->contract;
  ir->min_blocks = k->min_blocks;
  ir->max_unroll = k->max_unroll;
  ir->emission = k->emission;
  ir->wants_notes = wants_notes;
  bool is_checked = !target.is_cuda && !wants_notes;
  ir->is_checked = is_checked && args->notes != LAUNCH_NO_NOTES;
  ir->finds_overflow = is_checked && args->notes == LAUNCH_NOTES_OF_OVERFLOW;
  ir->may_overlap = args->overlap;
  ir->samples = args->slots;
  ct_ir_at(ir, k->chunk, k->line);
  ir->loc = ir->cur_loc;
  lua_getiuservalue(L, kernel, 1);
  PushArgs p = {.kernel = k, .args = args, .function = lua_gettop(L)};
  p.names = ct_arena_alloc(&ir->arena, ((size_t)args->n + 1) * sizeof *p.names);
  ir->name = ct_arena_strdup(&ir->arena, k->name, strlen(k->name));
  if (p.names == NULL || ir->name == NULL) {
    spec_free(k->state, spec);
    (void)ct_fail_nomem(err);
    return NULL;
  }
  name_args(L, &p);
  ir->constants = note_constants(L, ir, &p);
  ir->functions = made;
  CtStatus status = front_trace(L, p.function, args->objects, push_args, &p, ir, err);
  lua_pop(L, 1);
  ir->samples = NULL;
  if (status != CT_OK && args->n_objects > 0) {
    explain_nil(L, &p, err);
  }
  if (status != CT_OK || function_count_wanted(L) > 0) {
    ir->functions = NULL;
    spec_free(k->state, spec);
    return NULL;
  }
  spec->trace_ms = ct_now_ms() - start;
  return spec;
}

/* A trace may learn of variables that it should have begun earlier: then it is repeated. */
static Spec *trace_kernel(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                          CtTarget target, bool wants_notes, CtIrFunction *made, CtErr *err) {
  Spec *spec;
  front_begin_learning(L);
  do {
    spec = trace_once(L, kernel, config, args, target, wants_notes, made, err);
  } while (spec == NULL && front_goes_again(L, err));
  return spec;
}

/* --- functions of device_fn ----------------------------------------------------------------------- */

/* What may raise while C holds functions that nobody else would free. Returns what is to be traced. */
static int begin_function(lua_State *L) { /* CtIrFunction */
  CtIrFunction *f = lua_touserdata(L, 1);
  f->is_noinline = function_wanted_noinline(L);
  function_name(L, &f->ir);
  function_push_body(L);
  return 1;
}

static CtStatus trace_body(lua_State *L, CtIrFunction *f, CtErr *err) {
  lua_pushcfunction(L, begin_function);
  lua_pushlightuserdata(L, f);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK || f->ir.name == NULL) {
    lua_pop(L, 1);
    return ct_fail_nomem(err);
  }
  CtStatus status = front_trace(L, lua_gettop(L), 0, function_push_arguments, NULL, &f->ir, err);
  lua_pop(L, 1);
  return status;
}

static CtStatus trace_function_once(lua_State *L, const Kernel *k, CtIrFunction *f,
                                    const LaunchConfig *config, CtTarget target, CtIrFunction *made,
                                    CtErr *err) {
  const int64_t block[3] = {config->block.x, config->block.y, config->block.z};
  CtIr *ir = &f->ir;
  CtAlloc alloc = ir->arena.alloc;
  ct_ir_clear(ir);
  ct_ir_init(ir, alloc, target, block);
  ir->contract = k->contract;
  ir->max_unroll = k->max_unroll;
  ir->emission = k->emission;
  ir->functions = made;
  CtStatus status = trace_body(L, f, err);
  ir->functions = NULL;
  const char *refused = status == CT_OK ? function_refuse(ir) : NULL;
  if (refused != NULL) {
    status = ct_fail(err, CT_EINVAL, "device_fn: the function uses %s", refused);
    ct_err_at(err, ct_ir_chunk(ir, ir->loc), ir->loc.line);
  }
  return status;
}

/* Traces what is wanted last, and adds it to *made, unless it wants another one. */
static CtStatus trace_function(lua_State *L, const Kernel *k, const LaunchConfig *config,
                               CtTarget target, CtIrFunction **made, CtErr *err) {
  CtAlloc alloc = k->state->alloc;
  int n = function_count_wanted(L);
  CtIrFunction *f = ct_ir_function_new(alloc, function_wanted_key(L));
  CtStatus status;
  if (f == NULL) {
    return ct_fail_nomem(err);
  }
  front_begin_learning(L);
  do {
    status = trace_function_once(L, k, f, config, target, *made, err);
  } while (status != CT_OK && front_goes_again(L, err));
  if (status == CT_OK) {
    f->next = *made;
    *made = f;
    function_is_made(L);
    return CT_OK;
  }
  ct_ir_functions_free(alloc, f);
  return function_count_wanted(L) > n ? CT_OK : status;
}

Spec *spec_trace(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                 CtTarget target, bool wants_notes, CtErr *err) {
  const Kernel *k = lua_touserdata(L, kernel);
  if (k->is_replayed) {
    return launch_file_spec(L, kernel, config, args, target, err);
  }
  CtIrFunction *made = NULL;
  CtStatus status = CT_OK;
  Spec *spec = NULL;
  launch_push_objects(L, args); /* first: it may raise */
  function_begin(L);
  for (int n = 0; status == CT_OK; n++) {
    spec = trace_kernel(L, kernel, config, args, target, wants_notes, made, err);
    if (function_count_wanted(L) == 0) {
      break;
    }
    while (status == CT_OK && function_count_wanted(L) > 0) {
      status = trace_function(L, k, config, target, &made, err);
    }
    if (status == CT_OK && n == MAX_FUNCTIONS) {
      status = ct_fail(err, CT_EINVAL, "the kernel calls more than %d functions of device_fn",
                       MAX_FUNCTIONS);
    }
  }
  function_end(L);
  lua_pop(L, 1);
  args->objects = 0;
  if (spec == NULL) {
    ct_ir_functions_free(k->state->alloc, made);
  } else {
    spec->ir.functions = ct_ir_functions_called(k->state->alloc, made);
    launch_settle(args, &spec->ir);
  }
  return spec;
}
