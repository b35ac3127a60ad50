/* launch_engine.c: launches on their engine, and nothing else. */
#include <string.h>

#include "launch_list.h"
#include "launch_tap.h"
#include "runtime/watch/needless.h"

/* {====== On the CPU engine ====== */

/* A launch that is checked may run in several orders. */
static CtStatus run_or_explore(const CuttleState *s, CtSimtEngine *engine, const CtSimtProgram *p,
                               const CtSimtLaunch *launch, CtErr *err) {
  CtSimtEntry entry = {p, launch, -1};
  bool checks = s->taps.check != NULL && launch->watch == ct_check_watch(s->taps.check);
  return checks ? ct_needless_run(s->taps.check, engine, &entry, 1, err)
                : ct_simt_run(engine, p, launch, err);
}

CtSimtLaunch launch_simt(const Launch *l) {
  CuttleState *s = l->state;
  const LaunchConfig *c = l->config;
  const LaunchArgs *a = l->args;
  return (CtSimtLaunch){.grid = {c->grid.x, c->grid.y, c->grid.z},
                        .slots = a->slots,
                        .n_elems = a->n_elems,
                        .lists = a->lists,
                        .interrupt = &s->interrupt,
                        .print = state_print_to,
                        .print_ud = s,
                        .print_order = c->print_order,
                        .watch = l->watch,
                        .is_cooperative = c->cooperative,
                        .is_deterministic = c->deterministic,
                        .n_host = s->n_host,
                        .n_waits = s->n_host - s->taps.order.n_fills};
}

static CtStatus run_cpu(const Launch *l, CtErr *err) {
  CuttleState *s = l->state;
  CtSimtEngine *engine;
  if (s->is_engine_busy) {
    return ct_fail(err, CT_EINVAL,
                   "%s: launched while the CPU engine runs another launch, from a callback that "
                   "prints; launch it after that one has returned",
                   l->args->of->name);
  }
  CtStatus status = state_simt(s, &engine, err);
  CtSimtLaunch launch = launch_simt(l);
  launch.watch = s->taps.watch;
  launch.is_dependent = l->config->pdl;
  launch.may_overlap = s->may_overlap;
  if (status == CT_OK && launch.watch != NULL && s->rank < 0 && order_has_streams(&s->taps.order)) {
    StateRow row = {0};
    status = order_launch(&s->taps.order, s->alloc, l->config->cpu_stream, &row, err);
    launch.stream = l->config->cpu_stream;
    launch.known = row.known;
    launch.n_streams = row.n;
  }
  if (status == CT_OK && l->spec->ir.has_addresses) {
    status = state_memory(s, ct_ir_writes_at(&l->spec->ir), &launch.memory, &launch.n_memory, err);
  }
  if (status != CT_OK) {
    return status;
  }
  s->is_engine_busy = true;
  status = run_or_explore(s, engine, l->spec->simt, &launch, err);
  s->is_engine_busy = false;
  if (launch.known != NULL) {
    order_launched(&s->taps.order, launch.stream);
  }
  return status;
}

/* {====== On a device: the parameter block, and what the driver is told ====== */

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

/* {====== Memory of a device ====== */

/* Memory is freed in the order of the stream that used it last. */
static void use_on_stream(const LaunchArgs *a, CtStream stream) {
  for (LaunchTensors w = {.args = a}; launch_next_tensor(&w);) {
    w.tensor->storage->stream = stream;
  }
}

/* Copies the tables of lists to the device, and notes where they are and on which stream memory is used. */
static CtStatus upload(const LaunchConfig *c, LaunchArgs *a, CtErr *err) {
  CtStream stream = launch_stream(c, a->device);
  CtStatus status = CT_OK;
  if (c->stream_device != NULL &&
      a->of->state->taps.recorder == NULL) { /* a graph: on the main one */
    use_on_stream(a, stream);
  }
  for (int i = 0; i < a->n && status == CT_OK; i++) {
    CtDevPtr at;
    if (a->args[i].kind == ARG_LIST) {
      status = launch_list_upload(a->args[i].list, stream, &at, err);
      a->slots[a->args[i].first_slot] = (CtSlotValue){.i = (int64_t)(status == CT_OK ? at : 0)};
    }
  }
  return status;
}

/* {====== Waiting for other ranks ====== */

static bool uses_peers(const LaunchArgs *a) {
  bool does = false;
  for (LaunchTensors w = {.args = a}; !does && launch_next_tensor(&w);) {
    does = w.tensor->storage->is_peer;
  }
  return does;
}

/* A launch on a device begins at once, unless it may wait for one that another rank of this process makes later, or
   follows such a launch. */
bool launch_may_wait(const LaunchArgs *a, const Spec *spec) {
  return spec->ir.may_overlap || uses_peers(a);
}

double launch_seconds(const LaunchArgs *args, const Spec *spec) {
  const CuttleState *s = args->of->state;
  bool is_limited =
      s->rank >= 0 && s->rank_seconds > 0 && s->taps.recorder == NULL && !s->is_benched;
  return is_limited && launch_may_wait(args, spec) ? s->rank_seconds : 0;
}

/* {====== On either engine ====== */

static CtStatus run_cuda(const Spec *spec, const LaunchConfig *c, const LaunchArgs *a, CtErr *err) {
  CtStatus status = launch_fill(spec, c, a->slots, err);
  return status == CT_OK ? launch_start(spec, c, launch_seconds(a, spec), err) : status;
}

TapAnswer launch_memory_before(Launch *l, CtErr *err) {
  return upload(l->config, l->args, err) == CT_OK ? TAP_IN : TAP_FAILED;
}

CtStatus launch_on_engine(const Launch *l, CtErr *err) {
  CtStatus status = CT_OK;
  for (int64_t i = 0; i < l->n && status == CT_OK; i++) {
    status = l->args->device == NULL ? run_cpu(l, err) : run_cuda(l->spec, l->config, l->args, err);
  }
  return status;
}

CtStatus launch_enqueue(const Spec *spec, const LaunchConfig *config, LaunchArgs *args, int64_t n,
                        CtErr *err) {
  CtStatus status = upload(config, args, err);
  for (int64_t i = 0; i < n && status == CT_OK; i++) {
    status = run_cuda(spec, config, args, err);
  }
  return status;
}
