/* ir_trust.c: do the bytes of a file make an IR at all? Lists end, regions nest, expressions have no circles, and
   what an operation needs is there. Traces are that because of how they are stored. What an IR may say, whoever
   says it, is for ct_ir_check. */
#include <string.h>

#include "ir_file_rows.h"

enum { BLOCK_THREADS = 1024, CLUSTER_BLOCKS = 16, DEEPEST = 1000 };

typedef struct Trust {
  const CtIr *ir;
  const char *kind; /* of what is looked at: "operation" */
  size_t at;        /* its number */
  CtStatus status;
  CtErr *err;
} Trust;

/* Holds the rule? If not, that is the failure, unless there is one. */
static bool rule(Trust *t, bool holds, const char *what) {
  if (!holds && t->status == CT_OK) {
    t->status = ct_fail(t->err, CT_EINVAL, "ir_read: %s %zu of kernel '%s': %s", t->kind, t->at,
                        t->ir->name == NULL ? "?" : t->ir->name, what);
  }
  return holds && t->status == CT_OK;
}

/* --- operations --------------------------------------------------------------------------------- */

static void trust_view(void *ud, const CtView *v, bool is_written) {
  Trust *t = ud;
  (void)is_written;
  const char *fault = t->status == CT_OK ? ct_ir_view_fault(t->ir, v) : NULL;
  rule(t, fault == NULL, fault);
}

static bool has_a(CtOp op) { return op != CT_OP_FILL; }
static bool has_b(CtOp op) { return ct_op_has(op, CT_TRAIT_SUMS); }

static void trust_tile(Trust *t, const CtInst *inst) {
  const CtTile *tile = inst->u.tile;
  CtOp op = (CtOp)inst->op;
  if (!rule(t,
            tile != NULL && tile->dst.buf != 0 && (tile->a.buf != 0 || !has_a(op)) &&
                (tile->b.buf != 0 || !has_b(op)),
            "an operation without one of its tensors")) {
    return;
  }
  bool has_atom = op == CT_OP_MMA || op == CT_OP_WGMMA || op == CT_OP_WARP_COPY ||
                  op == CT_OP_TCGEN05_MMA || op == CT_OP_TCGEN05_COPY || op == CT_OP_TCGEN05_CP;
  rule(t, !has_atom || tile->atom != NULL, "an instruction without an atom");
  ct_ir_each_view(inst, trust_view, t);
}

/* Of an operation that was taken out it is of no account. */
static void trust_regions(Trust *t, const CtInst *inst) {
  const CtIr *ir = t->ir;
  CtRegion body = inst->u.regions[0], other = inst->u.regions[1];
  rule(t,
       inst->region == 0 || (body > 1 && ir->regions[body].owner == t->at && body != other &&
                             (other == 0 || (other > 1 && inst->op == CT_OP_IF &&
                                             ir->regions[other].owner == t->at))),
       "structure without a body");
}

static void trust_inst(Trust *t, const CtInst *inst) {
  CtOp op = (CtOp)inst->op;
  CtOpClass cls = ct_ops[op].cls;
  if (op == CT_OP_NONE) {
    rule(t, inst->region == 0 && inst->type == CT_VOID, "no operation");
    return;
  }
  rule(t, inst->region == 0 || cls != CT_CLS_LEAF, "a leaf inside a region");
  const char *fault = t->status == CT_OK ? ct_ir_op_fault(t->ir, (CtVal)t->at) : NULL;
  rule(t, fault == NULL, fault);
  if (cls == CT_CLS_REGION) {
    trust_regions(t, inst);
  } else if (cls == CT_CLS_TILE) {
    trust_tile(t, inst);
  }
}

/* --- structure ---------------------------------------------------------------------------------- */

static void trust_region(Trust *t, const CtRegionInfo *r) {
  const CtIr *ir = t->ir;
  CtRegion at = (CtRegion)t->at;
  int depth = 0;
  rule(t, (at == 1) == (r->owner == 0), "a region that no operation has");
  rule(t, at == 1 || ct_ops[ir->insts[r->owner].op].cls == CT_CLS_REGION,
       "a region of no structure");
  while (at > 1 && depth++ < DEEPEST) {
    at = ir->insts[ir->regions[at].owner].region;
  }
  rule(t, depth < DEEPEST, "regions that contain each other");
}

/* Marks what stands in the body, directly or deeper. */
static void mark_linked(const CtIr *ir, CtRegion r, bool *is_linked) {
  for (CtVal v = ir->regions[r].first; v != 0; v = ir->insts[v].next) {
    is_linked[v] = true;
    if (ct_ops[ir->insts[v].op].cls == CT_CLS_REGION) {
      mark_linked(ir, ir->insts[v].u.regions[0], is_linked);
      mark_linked(ir, ir->insts[v].u.regions[1], is_linked);
    }
  }
}

static bool has_settled_operands(const CtInst *inst, const bool *is_settled) {
  int i = 0;
  while (i < inst->n_args && (inst->args[i] == 0 || is_settled[inst->args[i]])) {
    i++;
  }
  return i == inst->n_args;
}

/* ct_ir_check sees what stands in the body; what was taken out of it is still read, as an extent is. So its
   operands end somewhere. Passes may leave an operand after it, but few in a row. */
static void trust_order(Trust *t, bool *is_settled) {
  bool is_changed = true;
  for (int turn = 0; is_changed && turn < DEEPEST; turn++) {
    is_changed = false;
    for (CtVal v = 1; v < t->ir->n_insts; v++) {
      if (!is_settled[v] && has_settled_operands(&t->ir->insts[v], is_settled)) {
        is_settled[v] = is_changed = true;
      }
    }
  }
  for (CtVal v = 1; v < t->ir->n_insts; v++) {
    t->at = v;
    rule(t, is_settled[v], "an expression in a circle");
  }
}

static void trust_expressions(Trust *t) {
  bool *is_linked = ct_alloc(t->ir->arena.alloc, t->ir->n_insts);
  if (is_linked == NULL) {
    t->status = ct_fail_nomem(t->err);
    return;
  }
  memset(is_linked, 0, t->ir->n_insts);
  mark_linked(t->ir, 1, is_linked);
  trust_order(t, is_linked);
  ct_free(t->ir->arena.alloc, is_linked, t->ir->n_insts);
}

static void trust_head(Trust *t) {
  const CtIr *ir = t->ir;
  const int64_t *b = ir->block, *c = ir->cluster;
  rule(t, ir->name != NULL && ir->name[0] != '\0', "a kernel without a name");
  rule(t, ct_loc_is(ir->loc) && ct_loc_is(ir->grid_barrier), "a line that no script has");
  for (int i = 0; i < 3; i++) {
    rule(t, b[i] > 0 && b[i] <= BLOCK_THREADS && c[i] > 0 && c[i] <= CLUSTER_BLOCKS,
         "no block or cluster");
  }
  rule(t,
       t->status != CT_OK ||
           (b[0] * b[1] * b[2] <= BLOCK_THREADS && c[0] * c[1] * c[2] <= CLUSTER_BLOCKS),
       "a block or a cluster that is too large");
  rule(t, ir->smem >= 0 && ir->smem <= CT_MOST_SHARED && ir->target.shared_max <= CT_MOST_SHARED,
       "shared memory of no size");
  rule(t, ir->n_asserts <= ir->n_insts && ir->n_prints <= ir->n_insts,
       "more messages than operations");
  rule(t, ir->smem_buf == 0 || ir->bufs[ir->smem_buf].space == CT_SHARED,
       "memory that is not shared");
  for (size_t i = 1; i < ir->n_chunks; i++) {
    rule(t, ir->chunks[i] != NULL, "a script without a name");
  }
  rule(t, ir->n_notes == 0 || ir->notes != NULL, "notes that are missing");
  for (size_t i = 0; i < ir->n_notes && t->status == CT_OK; i++) {
    rule(t, ir->notes[i].what != NULL, "a note of nothing");
  }
}

/* Looks at each element of a table. */
#define TRUST_EACH(t, what, table, n, first, fn)                                                   \
  for ((t)->kind = (what), (t)->at = (first); (t)->at < (n) && (t)->status == CT_OK; (t)->at++) {  \
    fn((t), &(table)[(t)->at]);                                                                    \
  }

CtStatus ct_ir_trust(const CtIr *ir, CtErr *err) {
  Trust t = {.ir = ir, .kind = "head", .err = err};
  trust_head(&t);
  TRUST_EACH(&t, "region", ir->regions, ir->n_regions, 1, trust_region)
  TRUST_EACH(&t, "operation", ir->insts, ir->n_insts, 1, trust_inst)
  if (t.status == CT_OK) {
    trust_expressions(&t);
  }
  return t.status;
}
