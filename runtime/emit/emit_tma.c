/* emit_tma.c: instructions of the tensor memory accelerator. Before the kernel stands a function
   for each kind of instruction that it uses, by number of dimensions:

     tma_load_2d(A_map, k * 64, m * 128, &full[slot], sA + slot * 8192); */
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "runtime/ir/ir_tma.h"

/* The names of an instruction, in the text and in PTX. */
static void name_function(const CtTma *tma, bool is_load, int n, bool has_hint, char out[64]) {
  const char *kind = tma->mask != 0 && tma->is_of_pair ? "_pair_multicast"
                     : tma->is_of_pair                 ? "_pair"
                     : tma->mask != 0                  ? "_multicast"
                                                       : "";
  const char *hint = has_hint ? "_hint" : "";
  if (!is_load && tma->reduce != CT_TMA_NONE) {
    snprintf(out, 64, "tma_reduce_%s%s_%dd", ct_tma_reductions[tma->reduce], hint, n);
  } else {
    snprintf(out, 64, "tma_%s%s%s_%dd", is_load ? "load" : "store", kind, hint, n);
  }
}

/* int c0, int c1 */
static void put_parameters(CtText *t, int n) {
  for (int i = 0; i < n; i++) {
    ct_text_printf(t, "%sint c%d", i > 0 ? ", " : "", i);
  }
}

/* "r"(c0), "r"(c1) */
static void put_coordinates(CtText *t, int n) {
  for (int i = 0; i < n; i++) {
    ct_text_printf(t, ", \"r\"(c%d)", i);
  }
}

static void put_slots(CtText *t, int first, int n) { /* {%2, %3} */
  ct_text_putc(t, '{');
  for (int i = 0; i < n; i++) {
    ct_text_printf(t, "%s%%%d", i > 0 ? ", " : "", first + i);
  }
  ct_text_putc(t, '}');
}

#define ADDRESS(name) "\"r\"((unsigned)__cvta_generic_to_shared(" name "))"

/* The operand of a policy of L2 is number `slot`. */
static void put_policy_slot(CtText *t, bool has_hint, int slot) {
  if (has_hint) {
    ct_text_printf(t, ", %%%d", slot);
  }
}

static const char *policy_parameter(bool has_hint) {
  return has_hint ? ", unsigned long long policy" : "";
}
static const char *policy_operand(bool has_hint) { return has_hint ? ", \"l\"(policy)" : ""; }
static const char *policy_suffix(bool has_hint) { return has_hint ? ".L2::cache_hint" : ""; }

/* Of a pair of blocks: without the lowest bit of the rank in its address, the barrier is the even block's. */
static void write_load(CtText *t, const char *name, int n, const CtTma *tma, bool has_hint) {
  bool is_multicast = tma->mask != 0;
  ct_text_printf(t, "static __device__ __forceinline__ void %s(const TensorMap& map, ", name);
  put_parameters(t, n);
  ct_text_printf(t, ", const void* bar, const void* box%s%s) {\n",
                 is_multicast ? ", int blocks" : "", policy_parameter(has_hint));
  ct_text_printf(t,
                 "  asm volatile(\"cp.async.bulk.tensor.%dd%s.shared::cluster.global.tile\"\n"
                 "               \".mbarrier::complete_tx::bytes%s%s [%%0], [%%1, ",
                 n, tma->is_of_pair ? ".cta_group::2" : "",
                 is_multicast ? ".multicast::cluster" : "", policy_suffix(has_hint));
  put_slots(t, 3, n);
  ct_text_puts(t, "], [%2]");
  if (is_multicast) {
    ct_text_printf(t, ", %%%d", 3 + n);
  }
  put_policy_slot(t, has_hint, 3 + n + is_multicast);
  ct_text_puts(t, ";\"\n               :: " ADDRESS("box") ", \"l\"(&map), ");
  ct_text_puts(t, tma->is_of_pair ? "\"r\"((unsigned)__cvta_generic_to_shared(bar) & 0xfeffffffu)"
                                  : ADDRESS("bar"));
  put_coordinates(t, n);
  ct_text_printf(t, "%s%s : \"memory\");\n}\n", is_multicast ? ", \"h\"((short)blocks)" : "",
                 policy_operand(has_hint));
}

static void write_store(CtText *t, const char *name, int n, CtTmaReduce reduce, bool has_hint) {
  ct_text_printf(t, "static __device__ __forceinline__ void %s(const TensorMap& map, ", name);
  put_parameters(t, n);
  ct_text_printf(t, ", const void* box%s) {\n", policy_parameter(has_hint));
  if (reduce == CT_TMA_NONE) {
    ct_text_printf(
        t, "  asm volatile(\"cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group%s [%%0, ",
        n, policy_suffix(has_hint));
  } else {
    ct_text_printf(t,
                   "  asm volatile(\"cp.reduce.async.bulk.tensor.%dd.global.shared::cta.%s.tile."
                   "bulk_group%s [%%0, ",
                   n, ct_tma_reductions[reduce], policy_suffix(has_hint));
  }
  put_slots(t, 2, n);
  ct_text_puts(t, "], [%1]");
  put_policy_slot(t, has_hint, 2 + n);
  ct_text_puts(t, ";\"\n               :: \"l\"(&map), " ADDRESS("box"));
  put_coordinates(t, n);
  ct_text_printf(t, "%s : \"memory\");\n}\n", policy_operand(has_hint));
}

/* "sA", "sA + 64" */
static void put_place(CtEmit *e, const char *sep, uint32_t buf, CtVal offset) {
  const CtInst *at = ct_inst(e->ir, offset);
  bool is_first = at->op == CT_OP_CONST && at->imm.i == 0;
  ct_emit_put(e, is_first ? "%s%s" : "%s%s + %m", sep, e->buf_names[buf], offset);
}

void ct_emit_tma(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTma *tma = inst->u.tma;
  const CtTmaMap *map = &e->ir->maps[tma->map];
  bool is_load = inst->op == CT_OP_TMA_LOAD;
  const char *policy = ct_emit_policy(e, tma->cache);
  char name[64];
  name_function(tma, is_load, map->n, policy != NULL, name);
  if (ct_emit_is_new_function(e, name)) {
    if (is_load) {
      write_load(&e->functions, name, map->n, tma, policy != NULL);
    } else {
      write_store(&e->functions, name, map->n, tma->reduce, policy != NULL);
    }
  }
  ct_emit_begin(e, inst->loc);
  ct_emit_put(e, "%s(%s", name, e->map_names[tma->map]);
  for (int i = 0; i < map->n; i++) {
    ct_emit_put(e, ", %c", tma->crd[i]);
  }
  if (is_load) {
    ct_emit_put(e, ", &%s[%v]", e->buf_names[tma->bar], tma->slot);
  }
  put_place(e, ", ", tma->buf, tma->offset);
  if (tma->mask != 0) {
    ct_emit_put(e, ", %c", tma->mask);
  }
  if (policy != NULL) {
    ct_text_printf(&e->body, ", %s()", policy);
  }
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
}

void ct_emit_tma_send(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTma *tma = inst->u.tma;
  ct_emit_begin(e, inst->loc);
  ct_emit_put(e, "%s(", ct_emit_help(e, CT_HELP_TMA_SEND));
  put_place(e, "", tma->from, tma->crd[0]);
  put_place(e, ", ", tma->buf, tma->offset);
  ct_emit_put(e, ", &%s[%v], %c, %d);", e->buf_names[tma->bar], tma->slot, tma->mask,
              (int)ct_dtype_span(e->ir->bufs[tma->buf].dtype, tma->count));
  ct_emit_end(e);
}

/* The answer goes to this block, or to all blocks of the cluster. */
static const char *make_try_cancel(CtEmit *e, bool is_multicast) {
  const char *name = is_multicast ? "clc_try_cancel_multicast" : "clc_try_cancel";
  if (ct_emit_is_new_function(e, name)) {
    ct_text_printf(
        &e->functions,
        "static __device__ __forceinline__ void %s(const void* bar, const void* response) {\n"
        "  asm volatile(\"clusterlaunchcontrol.try_cancel.async.shared::cta\"\n"
        "               \".mbarrier::complete_tx::bytes%s.b128 [%%0], [%%1];\"\n"
        "               :: " ADDRESS("response") ", " ADDRESS("bar") " : \"memory\");\n}\n",
        name, is_multicast ? ".multicast::cluster::all" : "");
  }
  return name;
}

void ct_emit_try_cancel(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTma *tma = inst->u.tma;
  const char *name = make_try_cancel(e, tma->mask != 0);
  ct_emit_begin(e, inst->loc);
  ct_emit_put(e, "%s(&%s[%v]", name, e->buf_names[tma->bar], tma->slot);
  put_place(e, ", ", tma->buf, tma->offset);
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
}

void ct_emit_name_maps(CtEmit *e) {
  e->helps[CT_HELP_TENSOR_MAP] = e->ir->n_maps > 0;
  for (size_t i = 0; i < e->ir->n_maps; i++) {
    char name[160];
    snprintf(name, sizeof name, "%.150s_map", e->ir->maps[i].name);
    e->map_names[i] = ct_names_add(&e->names, name);
  }
}

void ct_emit_prefetch_maps(CtEmit *e) {
  for (size_t i = 0; i < e->ir->n_maps; i++) {
    ct_emit_line(e, (CtLoc){0, 0}, "%s(%s);", ct_emit_help(e, CT_HELP_TMA_PREFETCH),
                 e->map_names[i]);
  }
}

/* The parameters for the maps, after the slots. */
const char *ct_emit_put_maps(CtEmit *e, const char *sep) {
  for (size_t i = 0; i < e->ir->n_maps; i++) {
    ct_text_printf(&e->body, "%sconst __grid_constant__ TensorMap %s", i == 0 ? sep : ", ",
                   e->map_names[i]);
  }
  return e->ir->n_maps > 0 ? ", " : sep;
}
