/* launch_engine.c: launches on their engine, and nothing else; launch_device.c has the work of a device. */
#include "launch_engine.h"

#include "launch_joint.h"
#include "launch_list.h"

static CtStatus run_cpu(const Launch *l, CtErr *err) {
  CuttleState *s = l->state;
  const LaunchConfig *c = l->config;
  const LaunchArgs *a = l->args;
  CtSimtEngine *engine;
  if (s->is_engine_busy) {
    return ct_fail(err, CT_EINVAL,
                   "%s: launched while the CPU engine runs another launch, from a callback that "
                   "prints; launch it after that one has returned",
                   a->of->name);
  }
  CtStatus status = state_simt(s, &engine, err);
  CtSimtLaunch launch = {.grid = {c->grid.x, c->grid.y, c->grid.z},
                         .slots = a->slots,
                         .n_elems = a->n_elems,
                         .lists = a->lists,
                         .interrupt = &s->interrupt,
                         .print = state_print_to,
                         .print_ud = s,
                         .print_order = c->print_order,
                         .watch = s->taps.watch,
                         .is_dependent = c->pdl,
                         .is_cooperative = c->cooperative,
                         .may_overlap = s->may_overlap,
                         .n_host = s->n_host};
  if (status == CT_OK && l->spec->ir.has_addresses) {
    status = state_memory(s, ct_ir_writes_at(&l->spec->ir), &launch.memory, &launch.n_memory, err);
  }
  if (status != CT_OK) {
    return status;
  }
  s->is_engine_busy = true;
  status = ct_simt_run(engine, l->spec->simt, &launch, err);
  s->is_engine_busy = false;
  return status;
}

/* Memory is freed in the order of the stream that used it last. */
static void use_on_stream(const LaunchArgs *a, CtStream stream) {
  for (int i = 0; i < a->n; i++) {
    if (a->args[i].kind == ARG_TENSOR) {
      a->args[i].tensor->storage->stream = stream;
    } else if (a->args[i].kind == ARG_LIST) {
      launch_list_use(a->args[i].list, stream);
    }
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

static CtStatus run_cuda(const Spec *spec, const LaunchConfig *c, const LaunchArgs *a, CtErr *err) {
  CtStatus status = launch_fill(spec, c, a->slots, err);
  return status == CT_OK ? launch_start(spec, c, launch_joint_seconds(a, spec), err) : status;
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
