/* launch_brief.c: launches that were worked out before; launch_brief.h. */
#include "launch_brief.h"

#include <string.h>

/* {====== Noting one ======

   Nothing is to be done at such a launch but to pass the block: no maps, no word of grid_barrier, no printf, no
   requirements. */

static bool is_plain(const Spec *spec, const LaunchArgs *a) {
  return spec->device != NULL && spec->maps == NULL && spec->prints == NULL && spec->each == NULL &&
         !ct_ir_has_grid_barrier(&spec->ir) && spec->ir.n_requires == 0 &&
         spec->params_bytes <= BRIEF_BYTES && a->n <= BRIEF_ARGS;
}

static BriefArg brief_arg(const Spec *spec, const Arg *arg) {
  BriefArg out = {.is_tensor = arg->kind == ARG_TENSOR,
                  .dtype = (unsigned char)arg->dtype,
                  .begin = arg->begin - arg->address,
                  .end = arg->end - arg->address};
  for (int i = 0; i < spec->n_packs && arg->kind <= ARG_NUMBER; i++) {
    if (spec->packs[i].slot == arg->first_slot) {
      out.offset = spec->packs[i].offset;
      out.bytes = spec->packs[i].bytes;
    }
  }
  return out;
}

void launch_brief_note(LaunchBrief *b, const Spec *spec, const LaunchConfig *config,
                       const LaunchArgs *args) {
  b->fn = NULL;
  if (!is_plain(spec, args)) {
    return;
  }
  b->fn = spec->fn;
  b->device = spec->device;
  b->overlap = args->overlap;
  b->is_captured = spec->is_captured;
  b->n_bytes = (unsigned)spec->params_bytes;
  b->launch = launch_of(spec, config);
  memcpy(b->params, spec->params, spec->params_bytes);
  for (int i = 0; i < args->n; i++) {
    b->args[i] = brief_arg(spec, &args->args[i]);
  }
}

/* {====== Running it ====== */

CtSlotValue launch_host_number(const cuttle_Arg *a, CtDtype dtype) {
  bool is_float = a->kind == CUTTLE_ARG_FLOAT || a->kind == CUTTLE_ARG_F64;
  int64_t i = a->kind == CUTTLE_ARG_BOOL ? a->u.i != 0 : a->u.i;
  return is_float ? ct_slot_float(dtype, a->u.f) : (CtSlotValue){.i = i};
}

typedef struct Span {
  uint64_t begin, end;
} Span;

static Span put_arg(LaunchBrief *b, const BriefArg *arg, const cuttle_Arg *given) {
  if (!arg->is_tensor) {
    CtSlotValue v = launch_host_number(given, (CtDtype)arg->dtype);
    memcpy(b->params + arg->offset, &v, arg->bytes); /* little-endian: the low bytes */
    return (Span){0, 0};
  }
  uint64_t address = (uint64_t)(uintptr_t)given->u.memory->ptr;
  memcpy(b->params + arg->offset, &address, arg->bytes);
  return (Span){address + arg->begin, address + arg->end};
}

static bool overlaps(const Span *spans, int n) {
  for (int i = 1; i < n; i++) {
    for (int j = 0; j < i; j++) {
      if (spans[i].begin < spans[j].end && spans[j].begin < spans[i].end) {
        return true;
      }
    }
  }
  return false;
}

bool launch_brief_run(LaunchBrief *b, const LaunchLent *lent, CtStatus *status, CtErr *err) {
  Span spans[BRIEF_ARGS];
  if (b->fn == NULL) {
    return false;
  }
  CtStream stream = lent->use_stream ? lent->stream : ct_device_stream(b->device);
  for (int i = 0; i < lent->n; i++) {
    spans[i] = put_arg(b, &b->args[i], &lent->args[i]);
  }
  if (overlaps(spans, lent->n) != b->overlap ||
      (!b->is_captured && ct_device_is_capturing(b->device, stream))) {
    return false;
  }
  b->launch.stream = stream;
  *status = ct_function_launch(b->fn, &b->launch, b->params, b->n_bytes, err);
  return true;
}
