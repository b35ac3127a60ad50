/* spec_compile.c: compiles a traced specialisation: for the CPU engine or, through CUDA C and NVRTC, for a
   device. */
#include <string.h>

#include "launch.h"
#include "launch_collect.h"
#include "spec_twin.h"
#include "runtime/device/nvrtc.h"
#include "runtime/emit/emit_cuda.h"
#include "runtime/base/clock.h"

/* --- the parameter block -------------------------------------------------------------------------- */

enum { N_OTHERS = 4 }; /* parameters that are neither arguments nor tensor maps */

static size_t slot_bytes(const CtSlot *slot) {
  return slot->kind == CT_SLOT_POINTER ? sizeof(void *) : ct_value_bytes(slot->dtype);
}

/* Place of a parameter that begins with an address. */
static size_t align_pointer(size_t at) {
  return (at + sizeof(CtDevPtr) - 1) / sizeof(CtDevPtr) * sizeof(CtDevPtr);
}

/* Lists where each parameter of the kernel lies in the block, in order. */
static void list_params(const Spec *spec) {
  void **out = spec->each;
  for (int i = 0; i < spec->n_packs; i++) {
    *out++ = spec->params + spec->packs[i].offset;
  }
  for (size_t i = 0; i < spec->ir.n_maps; i++) {
    *out++ = spec->params + spec->maps_at + i * CT_MAP_BYTES;
  }
  if (ct_emit_has_asserts(&spec->ir)) {
    *out++ = spec->params + spec->fault_at;
  }
  if (ct_ir_has_grid_barrier(&spec->ir)) {
    *out++ = spec->params + spec->grid_at;
  }
  if (ct_emit_has_prints(&spec->ir)) {
    *out++ = spec->params + spec->print_at;
    *out++ = spec->params + spec->print_at + sizeof(CtDevPtr);
  }
}

static CtStatus make_params(Spec *spec, CtErr *err) {
  CtArena *arena = &spec->ir.arena;
  bool has_maps = spec->ir.n_maps > 0;
  size_t n_each = has_maps ? (size_t)spec->n_packs + spec->ir.n_maps + N_OTHERS : 0;
  spec->params = ct_arena_alloc(arena, spec->params_bytes + 1);
  spec->each = has_maps ? ct_arena_alloc(arena, n_each * sizeof *spec->each) : NULL;
  if (spec->params == NULL || (has_maps && spec->each == NULL)) {
    return ct_fail_nomem(err);
  }
  memset(spec->params, 0, spec->params_bytes);
  if (has_maps) {
    list_params(spec);
  }
  return CT_OK;
}

CtStatus spec_plan(Spec *spec, bool has_records, CtErr *err) {
  size_t at = 0;
  spec->packs = ct_arena_alloc(&spec->ir.arena, (spec->ir.n_slots + 1) * sizeof *spec->packs);
  if (spec->packs == NULL) {
    return ct_fail_nomem(err);
  }
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
  if (ct_ir_has_grid_barrier(&spec->ir)) {
    spec->grid_at = align_pointer(at);
    at = spec->grid_at + sizeof(CtDevPtr);
  }
  if (has_records && ct_emit_has_prints(&spec->ir)) {
    spec->print_at = align_pointer(at);
    at = spec->print_at + LAUNCH_PRINT_BYTES;
  }
  spec->params_bytes = at;
  return at <= LAUNCH_PARAM_BYTES
             ? CT_OK
             : ct_fail(
                   err, CT_EINVAL,
                   "%s: its arguments take %zu bytes, and a CUDA launch passes at most %d; pass "
                   "tensors in a list, {a, b}, which takes 12",
                   spec->ir.name, at, LAUNCH_PARAM_BYTES);
}

/* --- what the kernel tells the host ---------------------------------------------------------------- */

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

/* --- compiling ------------------------------------------------------------------------------------- */

CtStatus spec_emit(const Spec *spec, bool for_launch, CtText *out, CtErr *err) {
  const CtEmitOpts opts = {.line_directives = for_launch,
                           .print_records = for_launch,
                           .marks = spec->has_marks ? &spec->marks : NULL};
  CtStatus status = ct_emit_cuda(&spec->ir, &opts, out, err);
  return status == CT_OK ? ct_text_status(out, err) : status;
}

int kernel_options(const Kernel *k, const char *out[LAUNCH_MAX_OPTIONS]) {
  int n = 0;
  for (const char *p = k->options; *p != '\0' && n < LAUNCH_MAX_OPTIONS; p += strlen(p) + 1) {
    out[n++] = p;
  }
  return n;
}

CtNvrtcJob kernel_job(const Kernel *k, const char *source, const char *arch,
                      const char *options[LAUNCH_MAX_OPTIONS]) {
  return (CtNvrtcJob){.alloc = k->state->alloc,
                      .source = source,
                      .name = k->name,
                      .arch = arch,
                      .options = options,
                      .n_options = kernel_options(k, options)};
}

/* A kernel with marks has an array of its own name. */
static CtStatus compile_job(const Kernel *k, const Spec *spec, const CtNvrtcJob *job,
                            char symbol[CT_EMIT_NAME_MAX], CtNvrtcOutput *out, CtErr *err) {
  CtHashKey key = spec_twin_key(job, symbol);
  if (!spec->has_marks && spec_twin_find(k->state, key, symbol, out)) {
    return CT_OK;
  }
  CtStatus status = state_compile(k->state, job, true, out, err);
  if (status == CT_OK && !spec->has_marks) {
    spec_twin_keep(k->state, key, symbol, out);
  }
  return status;
}

static CtStatus load_module(const Kernel *k, Spec *spec, const char *symbol, const char *image,
                            CtErr *err) {
  CtStatus status = ct_module_new(spec->device, image, &spec->module, err);
  return status == CT_OK ? ct_module_function(spec->module, symbol, k->name, k->chunk, k->line,
                                              spec->params_bytes, &spec->fn, err)
                         : status;
}

static CtStatus compile_cuda(const Kernel *k, Spec *spec, CtErr *err) {
  const char *options[LAUNCH_MAX_OPTIONS];
  CtText source;
  CtNvrtcOutput output;
  char symbol[CT_EMIT_NAME_MAX]; /* C++ may have taken the kernel's own name */
  double start = ct_now_ms();
  memset(symbol, 0, sizeof symbol);
  ct_emit_kernel_name(&spec->ir, symbol);
  ct_text_init(&source, k->state->alloc);
  CtStatus status = spec_emit(spec, true, &source, err);
  spec->emit_ms = ct_now_ms() - start;
  if (status == CT_OK) {
    CtNvrtcJob job =
        kernel_job(k, ct_text_str(&source), ct_device_info(spec->device)->arch, options);
    status = spec_plan(spec, true, err);
    status = status == CT_OK ? make_params(spec, err) : status;
    if (status == CT_OK && k->state->taps.collection != NULL) {
      status = launch_collect(k->state->taps.collection, k, spec, &job, err);
    }
    status = status == CT_OK ? compile_job(k, spec, &job, symbol, &output, err) : status;
  }
  status = status == CT_OK ? launch_maps_new(k->state->alloc, &spec->ir, &spec->maps, err) : status;
  status = status == CT_OK ? make_fault(spec, err) : status;
  status = status == CT_OK ? make_prints(spec, err) : status;
  if (status == CT_OK) {
    spec->from_cache = output.from_cache;
    status = load_module(k, spec, symbol, output.image.s, err);
    ct_nvrtc_output_clear(&output);
  }
  ct_text_clear(&source);
  spec->compile_ms = ct_now_ms() - start - spec->emit_ms;
  spec->shared_bytes = (unsigned)ct_emit_dynamic_shared(&spec->ir);
  return status;
}

/* What tiles are aligned to is known at the end of the trace. */
CtStatus spec_check_shared(const Kernel *k, const Spec *spec, CtErr *err) {
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

CtStatus spec_compile(const Kernel *k, Spec *spec, CtDevice *device, CtErr *err) {
  if (spec_check_shared(k, spec, err) != CT_OK) {
    return CT_EINVAL;
  }
  if (device == NULL) {
    return ct_simt_lower(k->state->alloc, &spec->ir, &spec->simt, err);
  }
  spec->device = device;
  return compile_cuda(k, spec, err);
}
