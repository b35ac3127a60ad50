/* spec.c: a specialisation's memory. */
#include <string.h>

#include "launch.h"
#include "runtime/ir/ir_make.h"

Spec *spec_new(CuttleState *s, const LaunchConfig *config, const LaunchArgs *args,
               CtTarget target) {
  const int64_t block[3] = {config->block.x, config->block.y, config->block.z};
  Spec *spec = ct_alloc(s->alloc, sizeof *spec);
  if (spec == NULL) {
    return NULL;
  }
  memset(spec, 0, sizeof *spec);
  spec->n_refs = 1;
  spec->key = args->key;
  spec->key.bytes = ct_alloc(s->alloc, args->key.len);
  ct_ir_init(&spec->ir, s->alloc, target, block);
  spec->ir.smem = config->shared_bytes;
  spec->ir.cluster[0] = config->cluster.x;
  spec->ir.cluster[1] = config->cluster.y;
  spec->ir.cluster[2] = config->cluster.z;
  spec->has_marks = s->taps.marks != NULL;
  spec->marks = spec->has_marks ? s->taps.marks->marks : spec->marks;
  spec->id = ++s->n_specs;
  if (spec->key.bytes == NULL || spec->ir.failed) {
    ct_ir_clear(&spec->ir);
    ct_free(s->alloc, spec->key.bytes, spec->key.len);
    ct_free(s->alloc, spec, sizeof *spec);
    return NULL;
  }
  memcpy(spec->key.bytes, args->key.bytes, args->key.len);
  return spec;
}

void spec_free(CuttleState *s, Spec *spec) {
  if (spec == NULL || --spec->n_refs > 0) {
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
  ct_ir_functions_free(s->alloc, spec->ir.functions);
  ct_ir_clear(&spec->ir);
  ct_free(s->alloc, spec->key.bytes, spec->key.len);
  ct_free(s->alloc, spec, sizeof *spec);
}
