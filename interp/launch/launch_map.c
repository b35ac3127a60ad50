/* launch_map.c: the tensor maps of a launch. What they are made of are some of the launch's slots; a few sets of
   maps are kept with these, so that the next launch with the same tensors copies bytes only. */
#include <string.h>

#include "launch.h"
#include "runtime/ir/ir_tma.h"

enum { MAX_KEPT = 8 };

/* The maps for one set of slots. */
typedef struct MapSet {
  CtSlotValue *slots; /* the values of LaunchMaps.used */
  unsigned char *bytes;
  bool is_valid;
} MapSet;

struct LaunchMaps {
  CtAlloc alloc;
  const CtIr *ir;
  size_t bytes; /* of the whole block */
  int n_used;
  uint16_t used[LAUNCH_MAX_SLOTS]; /* the slots that the maps are made of */
  int next;                        /* the set to be replaced */
  MapSet sets[MAX_KEPT];
};

/* --- which slots ------------------------------------------------------------------------------------ */

typedef struct Slots {
  const CtIr *ir;
  bool used[LAUNCH_MAX_SLOTS];
} Slots;

static void note(Slots *s, CtVal v) {
  const CtInst *inst = ct_inst(s->ir, v);
  if (inst->op == CT_OP_PARAM) {
    s->used[inst->imm.i] = true;
  }
  for (int i = 0; i < inst->n_args; i++) {
    note(s, inst->args[i]);
  }
}

static size_t pointer_of(const CtIr *ir, const CtTmaMap *map) {
  return ir->params[ir->bufs[map->buf].param].first_slot;
}

static void list_slots(LaunchMaps *m) {
  Slots s = {.ir = m->ir};
  for (size_t i = 0; i < m->ir->n_maps; i++) {
    const CtTmaMap *map = &m->ir->maps[i];
    s.used[pointer_of(m->ir, map)] = true;
    note(&s, map->offset);
    for (int k = 0; k < map->n; k++) {
      note(&s, map->dim[k].extent);
      note(&s, map->dim[k].stride);
    }
  }
  for (int i = 0; i < LAUNCH_MAX_SLOTS; i++) {
    if (s.used[i]) {
      m->used[m->n_used++] = (uint16_t)i;
    }
  }
}

CtStatus launch_maps_new(CtAlloc alloc, const CtIr *ir, LaunchMaps **out, CtErr *err) {
  size_t maps = ir->n_maps * CT_MAP_BYTES, slots = ir->n_slots * sizeof(CtSlotValue);
  *out = NULL;
  if (ir->n_maps == 0) {
    return CT_OK;
  }
  if (ir->n_maps > LAUNCH_MAX_MAPS) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "kernel '%s' needs %zu tensor maps; at most %d fit its "
                   "parameters: load tiles of one shape, so that they share one",
                   ir->name, ir->n_maps, LAUNCH_MAX_MAPS);
  }
  size_t bytes = sizeof(LaunchMaps) + MAX_KEPT * (maps + slots);
  LaunchMaps *m = ct_alloc(alloc, bytes);
  if (m == NULL) {
    return ct_fail_nomem(err);
  }
  *m = (LaunchMaps){.alloc = alloc, .ir = ir, .bytes = bytes};
  list_slots(m);
  CtSlotValue *values = (CtSlotValue *)(void *)(m + 1);
  unsigned char *made = (unsigned char *)(values + MAX_KEPT * ir->n_slots);
  for (size_t i = 0; i < MAX_KEPT; i++) {
    m->sets[i] = (MapSet){values + i * ir->n_slots, made + i * maps, false};
  }
  *out = m;
  return CT_OK;
}

void launch_maps_free(LaunchMaps *m) {
  if (m != NULL) {
    ct_free(m->alloc, m, m->bytes);
  }
}

/* --- making them -------------------------------------------------------------------------------------- */

/* Neighbours of a mode of one element are nowhere: any stride is right that the driver takes. */
static uint64_t stride_of(int64_t extent, int64_t bytes) {
  int64_t any = ct_max(ct_ceildiv(ct_max(bytes, 1), CT_TMA_UNIT) * CT_TMA_UNIT, CT_TMA_UNIT);
  return (uint64_t)(extent == 1 ? any : bytes);
}

static CtStatus fill(const CtIr *ir, const CtTmaMap *map, const CtSlotValue *slots,
                     CtDeviceMap *out, CtErr *err) {
  int64_t offset;
  *out = (CtDeviceMap){.dtype = map->dtype,
                       .n = map->n,
                       .swizzle = map->swizzle,
                       .promotion = map->promotion,
                       .name = map->name};
  CtStatus status = ct_ir_eval(ir, map->offset, slots, &offset, err);
  for (int i = 0; i < map->n && status == CT_OK; i++) {
    int64_t extent, stride = 0;
    status = ct_ir_eval(ir, map->dim[i].extent, slots, &extent, err);
    status = status == CT_OK ? ct_ir_eval(ir, map->dim[i].stride, slots, &stride, err) : status;
    if (status == CT_OK && extent <= 0) {
      status =
          ct_fail(err, CT_EINVAL,
                  "the tensor map of '%s': mode %d has no elements, and a map needs some; launch "
                  "no blocks for an empty tensor",
                  map->name, i);
    }
    if (status == CT_OK) {
      extent /= map->dim[i].div;
      out->extent[i] = (uint64_t)extent;
      out->stride[i] = stride_of(extent, ct_dtype_byte(map->dtype, stride * map->dim[i].mul));
      out->box[i] = map->dim[i].box;
    }
  }
  if (status == CT_OK) {
    out->at = (CtDevPtr)(uintptr_t)slots[pointer_of(ir, map)].ptr +
              (CtDevPtr)ct_dtype_byte(map->dtype, offset);
  }
  return status;
}

static CtStatus make(LaunchMaps *m, CtDevice *device, const CtSlotValue *slots, MapSet *set,
                     CtErr *err) {
  CtStatus status = CT_OK;
  set->is_valid = false;
  for (size_t i = 0; i < m->ir->n_maps && status == CT_OK; i++) {
    CtDeviceMap map;
    status = fill(m->ir, &m->ir->maps[i], slots, &map, err);
    status =
        status == CT_OK ? ct_device_map(device, &map, set->bytes + i * CT_MAP_BYTES, err) : status;
  }
  for (int i = 0; i < m->n_used; i++) {
    set->slots[i] = slots[m->used[i]];
  }
  set->is_valid = status == CT_OK;
  return status;
}

static bool fits(const LaunchMaps *m, const MapSet *set, const CtSlotValue *slots) {
  bool same = set->is_valid;
  for (int i = 0; same && i < m->n_used; i++) {
    same = set->slots[i].i == slots[m->used[i]].i;
  }
  return same;
}

CtStatus launch_maps_write(LaunchMaps *m, CtDevice *device, const CtSlotValue *slots,
                           unsigned char *out, CtErr *err) {
  MapSet *set = NULL;
  CtStatus status = CT_OK;
  for (int i = 0; i < MAX_KEPT && set == NULL; i++) {
    set = fits(m, &m->sets[i], slots) ? &m->sets[i] : NULL;
  }
  if (set == NULL) {
    set = &m->sets[m->next];
    m->next = (m->next + 1) % MAX_KEPT;
    status = make(m, device, slots, set, err);
  }
  if (status == CT_OK) {
    memcpy(out, set->bytes, m->ir->n_maps * CT_MAP_BYTES);
  }
  return status;
}
