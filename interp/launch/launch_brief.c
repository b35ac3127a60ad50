/* launch_brief.c: launches that were worked out before; launch_brief.h. */
#include "launch_brief.h"

#include <string.h>

/* Nothing is to be done at such a launch but to pass the block: no maps, no word of grid_barrier, no printf, no
   requirements. */
static bool is_plain(const Spec *spec) {
  return spec->device != NULL && spec->maps == NULL && spec->prints == NULL && spec->each == NULL &&
         !ct_ir_has_grid_barrier(&spec->ir) && spec->ir.n_requires == 0 &&
         spec->params_bytes <= BRIEF_BYTES && spec->n_packs <= BRIEF_PACKS;
}

void launch_brief_note(LaunchBrief *b, const Spec *spec, const LaunchConfig *config) {
  b->fn = NULL;
  if (is_plain(spec)) {
    b->fn = spec->fn;
    b->device = spec->device;
    b->is_captured = spec->is_captured;
    b->n_bytes = (unsigned)spec->params_bytes;
    b->n_packs = spec->n_packs;
    b->launch = launch_of(spec, config);
    memcpy(b->params, spec->params, spec->params_bytes);
    memcpy(b->packs, spec->packs, (size_t)spec->n_packs * sizeof *spec->packs);
  }
}

CtSlotValue launch_host_number(const cuttle_Arg *a, CtDtype dtype) {
  bool is_float = a->kind == CUTTLE_ARG_FLOAT || a->kind == CUTTLE_ARG_F64;
  int64_t i = a->kind == CUTTLE_ARG_BOOL ? a->u.i != 0 : a->u.i;
  return is_float ? ct_slot_float(dtype, a->u.f) : (CtSlotValue){.i = i};
}

bool launch_brief_run(LaunchBrief *b, const CtSlotValue *slots, const LaunchLent *lent,
                      CtStatus *status, CtErr *err) {
  if (b->fn == NULL) {
    return false;
  }
  CtStream stream = lent->use_stream ? lent->stream : ct_device_stream(b->device);
  if (!b->is_captured && ct_device_is_capturing(b->device, stream)) {
    return false;
  }
  launch_pack(b->packs, b->n_packs, slots, b->params);
  b->launch.stream = stream;
  *status = ct_function_launch(b->fn, &b->launch, b->params, b->n_bytes, err);
  return true;
}
