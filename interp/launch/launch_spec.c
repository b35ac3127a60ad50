/* launch_spec.c: makes specialisations: traces the kernel for a key, compiles it for the CPU engine or,
   through CUDA C and NVRTC, for a device. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "launch.h"
#include "launch_key.h"
#include "runtime/emit/emit_cuda.h"
#include "runtime/device/nvrtc.h"
#include "interp/trace/value.h"
#include "interp/front/front_trace.h"

enum { STATIC_SHARED_BYTES = 48 * 1024, SHARED_MAX_SM90 = 227 * 1024 };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

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
  int function; /* stack place of the kernel's Lua function, for its parameters' names */
  char names[LAUNCH_MAX_ARGS][64];
} PushArgs;

static CtFacts leaf_facts(bool is_extent, int64_t v, const Arg *arg) {
  bool narrow = launch_index_type(arg) == CT_i32;
  int64_t max = narrow ? INT32_MAX - 1 : INT64_MAX >> 16;
  int64_t div = launch_leaf_div(is_extent, v, arg->dtype);
  if (is_extent) {
    return (CtFacts){0, max, div};
  }
  return v < 0 ? (CtFacts){-max, -1, div} : (CtFacts){2, max, div};
}

/* A tree whose leaves are dynamic where the key made them slots; their facts are appended. */
static CtTuple symbolic(lua_State *L, CtIr *ir, bool is_extent, CtTuple t, const Arg *arg,
                        bool static_shapes, CtFacts *facts, int *n) {
  CtNode *nodes = ct_arena_alloc(&ir->arena, t->len * sizeof *nodes);
  if (nodes == NULL) {
    luaL_error(L, "not enough memory");
    return NULL;
  }
  memcpy(nodes, t, t->len * sizeof *nodes);
  for (uint32_t i = 0; i < t->len; i++) {
    if (nodes[i].rank == CT_LEAF && launch_is_slot(is_extent, nodes[i].i.v, static_shapes)) {
      facts[(*n)++] = leaf_facts(is_extent, nodes[i].i.v, arg);
      nodes[i].i = (CtInt){.kind = CT_DYNAMIC};
    }
  }
  return nodes;
}

static void push_tensor(lua_State *L, CtIr *ir, const Kernel *k, const Arg *arg, const char *name) {
  CtFacts facts[LAUNCH_MAX_SLOTS];
  int n = 0;
  CtLayout layout = arg->tensor->layout;
  CtTensorSpec spec = {.name = name,
                       .dtype = arg->dtype,
                       .index = launch_index_type(arg),
                       .align = (uint32_t)launch_align(arg),
                       .facts = facts};
  spec.shape = symbolic(L, ir, true, layout.shape, arg, k->static_shapes, facts, &n);
  spec.stride = symbolic(L, ir, false, layout.stride, arg, k->static_shapes, facts, &n);
  CtView view = ct_ir_tensor(ir, &spec);
  if (ir->failed) {
    luaL_error(L, "not enough memory");
  }
  tensor_push_kernel(L, arg->dtype, CT_GLOBAL, view, front_serial(L));
}

static int push_args(lua_State *L, CtIr *ir, void *ud) {
  const PushArgs *p = ud;
  luaL_checkstack(L, p->args->n + 4, "too many arguments");
  for (int i = 0; i < p->args->n; i++) {
    const Arg *arg = &p->args->args[i];
    const char *name = p->names[i];
    if (arg->kind == ARG_TENSOR) {
      push_tensor(L, ir, p->kernel, arg, name);
    } else if (arg->kind == ARG_NUMBER) {
      value_push(L, ct_ir_number(ir, name, arg->dtype, ct_type_facts(arg->dtype)));
    } else if (arg->dtype == CT_i64) {
      lua_pushinteger(L, arg->number.i);
    } else if (arg->dtype == CT_bool) {
      lua_pushboolean(L, arg->number.i != 0);
    } else {
      lua_pushnumber(L, arg->number.f64);
    }
  }
  return p->args->n;
}

/* The parameters' names; "...[1]" of the first behind them, and a number behind a name that is there
   already. */
static void name_args(lua_State *L, PushArgs *p) {
  int n_named = 0;
  lua_pushvalue(L, p->function);
  for (int i = 0; i < p->args->n; i++) {
    const char *name = lua_getlocal(L, NULL, i + 1); /* leaves the function where it is */
    bool taken = false;
    for (int j = 0; j < i && name != NULL && !taken; j++) {
      taken = strncmp(p->names[j], name, sizeof p->names[j] - 1) == 0;
    }
    n_named += name != NULL;
    if (name == NULL) {
      snprintf(p->names[i], sizeof p->names[i], CT_VARARG_NAME "%d]", i + 1 - n_named);
    } else {
      snprintf(p->names[i], sizeof p->names[i], taken ? "%s%d" : "%s", name, i + 1);
    }
  }
  lua_pop(L, 1);
}

/* --- tracing and compiling ------------------------------------------------------------------------ */

void spec_free(CuttleState *s, Spec *spec) {
  if (spec == NULL) {
    return;
  }
  ct_simt_free(spec->simt);
  ct_fault_free(spec->fault);
  launch_maps_free(spec->maps);
  if (spec->prints != NULL) {
    ct_print_forget(spec->device, spec->prints);
  }
  if (spec->module != NULL) {
    ct_module_free(spec->module);
  }
  launch_free_reads(s, spec);
  ct_ir_clear(&spec->ir);
  ct_free(s->alloc, spec->key, spec->key_len);
  ct_free(s->alloc, spec, sizeof *spec);
}

void kernel_forget(Kernel *k) {
  while (k->specs != NULL) {
    Spec *next = k->specs->next;
    spec_free(k->state, k->specs);
    k->specs = next;
  }
  k->n_specs = 0;
}

static Spec *spec_new(CuttleState *s, const LaunchConfig *config, const LaunchArgs *args,
                      CtTarget target) {
  const int64_t block[3] = {config->block.x, config->block.y, config->block.z};
  Spec *spec = ct_alloc(s->alloc, sizeof *spec);
  if (spec == NULL) {
    return NULL;
  }
  memset(spec, 0, sizeof *spec);
  spec->key = ct_alloc(s->alloc, args->key_len);
  ct_ir_init(&spec->ir, s->alloc, target, block);
  spec->ir.smem = config->shared_bytes;
  spec->ir.cluster[0] = config->cluster.x;
  spec->ir.cluster[1] = config->cluster.y;
  spec->ir.cluster[2] = config->cluster.z;
  spec->id = ++s->n_specs;
  if (spec->key == NULL || spec->ir.failed) {
    ct_ir_clear(&spec->ir);
    ct_free(s->alloc, spec->key, args->key_len);
    ct_free(s->alloc, spec, sizeof *spec);
    return NULL;
  }
  memcpy(spec->key, args->key, args->key_len);
  spec->key_len = args->key_len;
  return spec;
}

Spec *spec_trace(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                 CtTarget target, bool wants_notes, CtErr *err) {
  Kernel *k = lua_touserdata(L, kernel);
  Spec *spec = spec_new(k->state, config, args, target);
  double start = now_ms();
  if (spec == NULL) {
    (void)ct_fail_nomem(err);
    return NULL;
  }
  CtIr *ir = &spec->ir;
  ir->name = k->name;
  ir->contract = k->contract;
  ir->min_blocks = k->min_blocks;
  ir->wants_notes = wants_notes;
  ir->is_checked = args->is_checked && !target.is_cuda && !wants_notes;
  ir->may_overlap = args->overlap;
  ir->samples = args->slots;
  ct_ir_at(ir, k->chunk, k->line);
  ir->loc = ir->cur_loc;
  lua_getiuservalue(L, kernel, 1);
  PushArgs p = {.kernel = k, .args = args, .function = lua_gettop(L)};
  name_args(L, &p);
  CtStatus status = front_trace(L, p.function, push_args, &p, ir, err);
  lua_pop(L, 1);
  ir->samples = NULL;
  if (status != CT_OK) {
    spec_free(k->state, spec);
    return NULL;
  }
  spec->trace_ms = now_ms() - start;
  return spec;
}

CtStatus spec_emit(const Spec *spec, bool for_launch, CtText *out, CtErr *err) {
  const CtEmitOpts opts = {.line_directives = for_launch, .print_records = for_launch};
  CtStatus status = ct_emit_cuda(&spec->ir, &opts, out, err);
  return status == CT_OK ? ct_text_status(out, err) : status;
}

static size_t slot_bytes(const CtSlot *slot) {
  return slot->kind == CT_SLOT_POINTER ? sizeof(void *) : ct_dtype_bytes(slot->dtype);
}

/* Place of a parameter that begins with an address. */
static size_t align_pointer(size_t at) {
  return (at + sizeof(CtDevPtr) - 1) / sizeof(CtDevPtr) * sizeof(CtDevPtr);
}

/* The parameter block as the compiler lays out the used slots. */
static void plan_packs(Spec *spec) {
  size_t at = 0;
  for (size_t i = 0; i < spec->ir.n_slots; i++) {
    const CtSlot *slot = &spec->ir.slots[i];
    size_t bytes = slot_bytes(slot);
    if (slot->used) {
      at = (at + bytes - 1) / bytes * bytes;
      spec->packs[spec->n_packs++] = (Pack){(uint16_t)i, (uint16_t)at, (uint16_t)bytes};
      at += bytes;
    }
  }
  if (spec->ir.n_maps > 0) {
    at = spec->maps_at = (at + CT_MAP_ALIGN - 1) / CT_MAP_ALIGN * CT_MAP_ALIGN;
    at += spec->ir.n_maps * CT_MAP_BYTES;
  }
  if (ct_emit_has_asserts(&spec->ir)) {
    spec->fault_at = align_pointer(at);
    at = spec->fault_at + sizeof(CtDevPtr);
  }
  if (ct_emit_has_prints(&spec->ir)) {
    spec->print_at = align_pointer(at);
    at = spec->print_at + LAUNCH_PRINT_BYTES;
  }
  spec->params_bytes = at;
}

/* The record that failed assertions are noted in, with their texts and lines from the IR. */
static CtStatus make_fault(Spec *spec, CtErr *err) {
  CtIr *ir = &spec->ir;
  if (!ct_emit_has_asserts(ir)) {
    return CT_OK;
  }
  CtFaultSite *sites = ct_arena_alloc(&ir->arena, ir->n_asserts * sizeof *sites);
  if (sites == NULL) {
    return ct_fail_nomem(err);
  }
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_ASSERT) {
      sites[inst->imm.i] =
          (CtFaultSite){inst->u.escape->text, ct_ir_chunk(ir, inst->loc), inst->loc.line};
    }
  }
  return ct_fault_new(spec->device, sites, (int)ir->n_asserts, &spec->fault, err);
}

static bool fill_print(CtIr *ir, const CtInst *inst, CtPrintSite *site) {
  const CtEscape *message = inst->u.escape;
  uint8_t *types = ct_arena_alloc(&ir->arena, (size_t)message->n + 1);
  for (int i = 0; i < message->n && types != NULL; i++) {
    types[i] = (uint8_t)ct_inst(ir, message->vals[i])->type;
  }
  *site = (CtPrintSite){message->text, types, message->n};
  return types != NULL;
}

/* What the host needs to know of records of printf; by the numbers that the IR gave. */
static CtStatus make_prints(Spec *spec, CtErr *err) {
  CtIr *ir = &spec->ir;
  if (!ct_emit_has_prints(ir)) {
    return CT_OK;
  }
  CtPrintSite *sites = ct_arena_alloc(&ir->arena, ir->n_prints * sizeof *sites);
  bool has_room = sites != NULL;
  for (CtVal v = 1; v < ir->n_insts && has_room; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_PRINT) {
      has_room = fill_print(ir, inst, &sites[inst->imm.i]);
    }
  }
  spec->prints = has_room ? sites : NULL;
  return has_room ? CT_OK : ct_fail_nomem(err);
}

int kernel_options(const Kernel *k, const char *out[LAUNCH_MAX_OPTIONS]) {
  int n = 0;
  for (const char *p = k->options; *p != '\0' && n < LAUNCH_MAX_OPTIONS; p += strlen(p) + 1) {
    out[n++] = p;
  }
  return n;
}

static CtStatus load_module(const Kernel *k, Spec *spec, const char *image, CtErr *err) {
  char symbol[CT_EMIT_NAME_MAX]; /* C++ may have taken the kernel's own name */
  ct_emit_kernel_name(&spec->ir, symbol);
  CtStatus status = ct_module_new(spec->device, image, &spec->module, err);
  spec->generation = ct_device_generation(spec->device);
  return status == CT_OK ? ct_module_function(spec->module, symbol, k->name, k->chunk, k->line,
                                              spec->params_bytes, &spec->fn, err)
                         : status;
}

static CtStatus compile_cuda(const Kernel *k, Spec *spec, CtErr *err) {
  const char *options[LAUNCH_MAX_OPTIONS];
  CtText source;
  CtNvrtcOutput output;
  double start = now_ms();
  ct_text_init(&source, k->state->alloc);
  CtStatus status = spec_emit(spec, true, &source, err);
  spec->emit_ms = now_ms() - start;
  if (status == CT_OK) {
    CtNvrtcJob job = {.alloc = k->state->alloc,
                      .source = ct_text_str(&source),
                      .name = k->name,
                      .arch = ct_device_info(spec->device)->arch,
                      .options = options,
                      .n_options = kernel_options(k, options)};
    status = state_compile(k->state, &job, true, &output, err);
  }
  plan_packs(spec);
  status = status == CT_OK ? launch_maps_new(k->state->alloc, &spec->ir, &spec->maps, err) : status;
  status = status == CT_OK ? make_fault(spec, err) : status;
  status = status == CT_OK ? make_prints(spec, err) : status;
  if (status == CT_OK) {
    spec->from_cache = output.from_cache;
    status = load_module(k, spec, output.image.s, err);
    ct_nvrtc_output_clear(&output);
  }
  ct_text_clear(&source);
  spec->compile_ms = now_ms() - start - spec->emit_ms;
  spec->shared_bytes = (unsigned)ct_emit_dynamic_shared(&spec->ir);
  return status;
}

/* What tiles are aligned to is known at the end of the trace. */
static CtStatus check_shared(const Kernel *k, const Spec *spec, CtErr *err) {
  const CtTarget *target = &spec->ir.target;
  int64_t bytes = ct_emit_dynamic_shared(&spec->ir);
  if (bytes <= (int64_t)target->shared_max) {
    return CT_OK;
  }
  return ct_fail(
      err, CT_EINVAL,
      "%s: %lld bytes of shared tensors, and %lld more so that they begin at a multiple of "
      "%u, but a block on %s has %zu; use smaller tiles or fewer of them",
      k->name, (long long)ct_ir_shared_bytes(&spec->ir), (long long)ct_ir_shared_slack(&spec->ir),
      ct_ir_shared_align(&spec->ir), target->name, target->shared_max);
}

static CtStatus compile(const Kernel *k, Spec *spec, CtDevice *device, CtErr *err) {
  if (check_shared(k, spec, err) != CT_OK) {
    return CT_EINVAL;
  }
  if (device == NULL) {
    return ct_simt_lower(k->state->alloc, &spec->ir, &spec->simt, err);
  }
  spec->device = device;
  return compile_cuda(k, spec, err);
}

/* Compiles what `cuttle emit` wrote, for the capability it was written for, and drops the result. */
static CtStatus compile_text(const Kernel *k, const char *source, CtErr *err) {
  const char *options[LAUNCH_MAX_OPTIONS];
  CtNvrtcOutput output;
  CtNvrtcJob job = {.alloc = k->state->alloc,
                    .source = source,
                    .name = k->name,
                    .arch = k->state->emit_arch,
                    .options = options,
                    .n_options = kernel_options(k, options)};
  CtStatus status = state_compile(k->state, &job, true, &output, err);
  if (status == CT_OK) {
    ct_nvrtc_output_clear(&output);
  }
  return status;
}

/* `cuttle emit`: the CUDA C of what was launched, for people. */
static void show_source(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  CtText text;
  Spec *spec =
      spec_trace(L, kernel, config, args, launch_cuda_target(k->state->emit_sm), false, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  ct_text_init(&text, k->state->alloc);
  CtStatus status = spec_emit(spec, false, &text, &err);
  spec_free(k->state, spec);
  if (status != CT_OK) {
    ct_text_clear(&text);
    diag_raise(L, &err);
  }
  state_print(k->state, ct_text_str(&text), text.len);
  status = k->state->emit_compile ? compile_text(k, ct_text_str(&text), &err) : CT_OK;
  ct_text_clear(&text);
  k->state->emit_failed = k->state->emit_failed || status != CT_OK;
  diag_check(L, status, &err);
}

/* Values that the key knows by identity must stay alive as long as the specialisation. */
static void anchor_captures(lua_State *L, int kernel) {
  if (lua_getiuservalue(L, kernel, 2) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, kernel, 2);
  }
  lua_getiuservalue(L, kernel, 1);
  for (int i = 1; lua_getupvalue(L, -1, i) != NULL; i++) {
    bool is_known_by_value = lua_isnil(L, -1) || lua_isboolean(L, -1) ||
                             lua_type(L, -1) == LUA_TNUMBER || lua_type(L, -1) == LUA_TSTRING;
    if (is_known_by_value) {
      lua_pop(L, 1);
    } else {
      lua_pushboolean(L, 1);
      lua_rawset(L, -4);
    }
  }
  lua_pop(L, 2);
}

/* What varies without end, such as a captured number that counts, must not eat all memory: after so many
   specialisations the kernel begins anew, and lets go of what it captured. */
static void make_room(lua_State *L, int kernel, CtDevice *device) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  if (k->n_specs == LAUNCH_MAX_SPECS) {
    if (device != NULL) { /* launches of the old ones may be in flight */
      diag_check(L, ct_device_synchronize(device, &err), &err);
    }
    kernel_forget(k);
    lua_pushnil(L);
    lua_setiuservalue(L, kernel, 2);
  }
}

/* The trace ran the script, which may have closed what the launch was to work on. */
static CtStatus check_args(const Kernel *k, const LaunchArgs *args, CtErr *err) {
  for (int i = 0; i < args->n; i++) {
    if (args->args[i].tensor != NULL && tensor_live(args->args[i].tensor, err) != CT_OK) {
      return ct_fail(err, CT_EINVAL, "%s: argument %d was closed while the kernel was traced",
                     k->name, i + 1);
    }
  }
  return CT_OK;
}

static Spec *make_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  make_room(L, kernel, args->device);
  anchor_captures(L, kernel); /* first: it may raise, and then nothing is lost */
  Spec *spec = spec_trace(L, kernel, config, args, launch_target(args->device), false, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  if (check_args(k, args, &err) != CT_OK || compile(k, spec, args->device, &err) != CT_OK) {
    spec_free(k->state, spec);
    diag_raise(L, &err);
  }
  spec->next = k->specs;
  k->specs = spec;
  k->n_specs++;
  launch_keep_reads(L, kernel, spec); /* may raise: until then no launch takes it */
  spec->is_kept = true;
  if (k->state->mode == STATE_EMIT) {
    show_source(L, kernel, config, args);
  }
  return spec;
}

static bool is_current(const Spec *spec) {
  return spec->device == NULL || spec->generation == ct_device_generation(spec->device);
}

Spec *launch_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  Kernel *k = lua_touserdata(L, kernel);
  Spec **link = &k->specs;
  for (Spec *spec = *link; spec != NULL; link = &spec->next, spec = *link) {
    if (spec->is_kept && spec->key_len == args->key_len &&
        memcmp(spec->key, args->key, args->key_len) == 0 && launch_reads_hold(L, kernel, spec)) {
      *link = spec->next;
      if (!is_current(spec)) { /* its device was reset */
        launch_drop_reads(L, kernel, spec);
        spec_free(k->state, spec);
        k->n_specs--;
        break;
      }
      spec->next = k->specs;
      k->specs = spec;
      return spec;
    }
  }
  return make_spec(L, kernel, config, args);
}
