/* launch_device.c: a launch on a device: its parameter block, and what the driver is told. */
#include "launch.h"

#include <string.h>

CtDim3 launch_cluster(const LaunchConfig *c) {
  uint64_t blocks = (uint64_t)c->cluster.x * c->cluster.y * c->cluster.z;
  return blocks == 1 ? (CtDim3){0, 0, 0} : c->cluster;
}

/* Adds what the launch needs to print. */
static CtStatus add_print(const Spec *spec, CtStream stream, CtPrintOrder order, CtErr *err) {
  CtPrintArgs print;
  CtStatus status = ct_print_begin(spec->device, stream, spec->prints, (int)spec->ir.n_prints,
                                   order, &print, err);
  if (status == CT_OK) {
    memcpy(spec->params + spec->print_at, &print.log, sizeof print.log);
    memcpy(spec->params + spec->print_at + sizeof print.log, &print.first, sizeof print.first);
  }
  return status;
}

/* Adds what its barriers of the grid count on. */
static CtStatus add_grid_word(const Spec *spec, CtStream stream, CtErr *err) {
  CtDevPtr word;
  CtStatus status = ct_grid_word(spec->device, stream, &word, err);
  memcpy(spec->params + spec->grid_at, &word, status == CT_OK ? sizeof word : 0);
  return status;
}

static CtStatus clear_grid_word(const Spec *spec, CtStream stream, CtErr *err) {
  CtDevPtr word;
  memcpy(&word, spec->params + spec->grid_at, sizeof word);
  return ct_grid_clear(spec->device, stream, word, err);
}

/* Puts into the parameter block what is not in the slots. */
static CtStatus add_others(const Spec *spec, const CtSlotValue *slots, CtStream stream,
                           CtPrintOrder order, CtErr *err) {
  /* First what may call the host, which may launch the kernel itself. */
  CtStatus status = spec->prints == NULL ? CT_OK : add_print(spec, stream, order, err);
  if (status == CT_OK && spec->maps != NULL) {
    status = launch_maps_write(spec->maps, spec->device, slots, spec->params + spec->maps_at, err);
  }
  if (status == CT_OK && ct_ir_has_grid_barrier(&spec->ir)) {
    status = add_grid_word(spec, stream, err);
  }
  if (spec->fault != NULL) {
    CtDevPtr at = ct_fault_address(spec->fault);
    memcpy(spec->params + spec->fault_at, &at, sizeof at);
  }
  return status;
}

void launch_pack(const Pack *packs, int n, const CtSlotValue *slots, unsigned char *params) {
  for (const Pack *p = packs; p < packs + n; p++) {
    if (p->bytes == sizeof *slots) {
      memcpy(params + p->offset, &slots[p->slot], sizeof *slots);
    } else if (p->bytes == sizeof(int32_t)) { /* little-endian: the low bytes */
      memcpy(params + p->offset, &slots[p->slot], sizeof(int32_t));
    } else {
      memcpy(params + p->offset, &slots[p->slot], p->bytes);
    }
  }
}

CtLaunch launch_of(const Spec *spec, const LaunchConfig *c) {
  return (CtLaunch){.grid = c->grid,
                    .block = c->block,
                    .cluster = launch_cluster(c),
                    .is_dependent = c->pdl,
                    .is_cooperative = c->cooperative,
                    .shared_bytes = spec->shared_bytes + c->shared_bytes,
                    .stream = launch_stream(c, spec->device),
                    .params = spec->each};
}

CtStatus launch_fill(const Spec *spec, const LaunchConfig *c, const CtSlotValue *slots,
                     CtErr *err) {
  CtStream stream = launch_stream(c, spec->device);
  CtStatus status = add_others(spec, slots, stream, c->print_order, err);
  launch_pack(spec->packs, spec->n_packs, slots, spec->params);
  return status;
}

static CtStatus start(const Spec *spec, const CtLaunch *launch, CtErr *err) {
  CtStatus status =
      ct_ir_has_grid_barrier(&spec->ir) ? clear_grid_word(spec, launch->stream, err) : CT_OK;
  return status == CT_OK
             ? ct_function_launch(spec->fn, launch, spec->params, spec->params_bytes, err)
             : status;
}

CtStatus launch_start(const Spec *spec, const LaunchConfig *c, double seconds, CtErr *err) {
  CtLaunch launch = launch_of(spec, c);
  if (seconds == 0) {
    return start(spec, &launch, err);
  }
  CtStatus status = ct_device_limit_begin(spec->device, launch.stream, seconds, err);
  status = status == CT_OK ? start(spec, &launch, err) : status;
  return status == CT_OK ? ct_device_limit_end(spec->device, launch.stream, err) : status;
}
