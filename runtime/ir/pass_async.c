/* pass_async.c: a plain copy from global to shared memory is complete at the next sync_threads, cluster_sync,
   arrival at an mbarrier or named barrier, whatever the target: where it may be cp.async and the kernel itself
   never waits, a wait is put before each of these. For the thread that copies it is complete at once: a wait is
   also put before an operation that may write the source of a copy under way, or access its destination. For
   copies by atoms of cp.async the kernel waits itself. */
#include "pass.h"

typedef struct Order {
  CtIr *ir;
  bool *is_source;   /* by buffer: a plain copy reads its memory asynchronously */
  bool *is_target;   /* and writes its memory */
  bool *has_copy;    /* by region: such a copy is in it */
  bool is_under_way; /* a copy, here */
  bool may_leave;    /* a jump left a loop or block while one was */
} Order;

static bool is_async(const CtInst *inst) {
  return inst->op == CT_OP_COPY && inst->u.tile->async && inst->u.tile->atom == NULL;
}

static bool is_of(const Order *o, const bool *which, uint32_t buf) {
  return buf != 0 && which[ct_ir_memory(o->ir, buf)];
}

/* Does the operation write what a copy may be reading, or access what it may be writing? */
static bool meets_copy(const Order *o, const CtInst *inst) {
  if (ct_ops[inst->op].cls == CT_CLS_TILE) {
    const CtTile *t = inst->u.tile;
    return is_of(o, o->is_source, t->dst.buf) || is_of(o, o->is_target, t->a.buf) ||
           is_of(o, o->is_target, t->b.buf) ||
           (!is_async(inst) && is_of(o, o->is_target, t->dst.buf));
  }
  bool writes = inst->op == CT_OP_STORE || ct_ops[inst->op].data == CT_DATA_ATOMIC;
  uint32_t buf = writes || inst->op == CT_OP_LOAD ? (uint32_t)inst->imm.i : 0;
  return (writes && is_of(o, o->is_source, buf)) || is_of(o, o->is_target, buf);
}

static void put_wait(Order *o, CtVal before) {
  CtVal wait = ct_ir_new(o->ir, CT_OP_CP_WAIT, CT_VOID);
  if (wait != 0) {
    o->ir->insts[wait].loc = o->ir->insts[before].loc;
    ct_ir_link(o->ir, wait, o->ir->insts[before].region, before);
  }
  o->is_under_way = false;
}

static void walk_region(Order *o, CtRegion r);

/* A branch that is not there leaves all as it was. */
static void walk_branches(Order *o, const CtRegion branch[2]) {
  bool before = o->is_under_way, after = false;
  for (int i = 0; i < 2; i++) {
    o->is_under_way = before;
    walk_region(o, branch[i]);
    after = after || o->is_under_way;
  }
  o->is_under_way = after;
}

/* A copy of the turn before may be under way when the body of a loop begins. */
static void walk_body(Order *o, CtRegion body, bool repeats) {
  bool before = o->is_under_way, outer = o->may_leave;
  o->may_leave = false;
  o->is_under_way = before || (repeats && o->has_copy[body]);
  walk_region(o, body);
  o->is_under_way = o->is_under_way || o->may_leave || (repeats && before);
  o->may_leave = o->may_leave || outer;
}

static void walk(Order *o, CtVal v) {
  const CtInst *inst = ct_inst(o->ir, v);
  CtRegion regions[2] = {inst->u.regions[0], inst->u.regions[1]};
  if (inst->op == CT_OP_CP_WAIT) {
    o->is_under_way = false;
  } else if (ct_op_has((CtOp)inst->op, CT_TRAIT_ARRIVES)) {
    put_wait(o, v);
  } else if (inst->op == CT_OP_IF) {
    walk_branches(o, regions);
  } else if (ct_ops[inst->op].cls == CT_CLS_REGION) {
    walk_body(o, regions[0], inst->op != CT_OP_BLOCK);
  } else if (ct_ops[inst->op].cls == CT_CLS_JUMP) {
    o->may_leave = o->may_leave || o->is_under_way;
  } else {
    if (o->is_under_way && meets_copy(o, inst)) {
      put_wait(o, v);
    }
    o->is_under_way = o->is_under_way || is_async(ct_inst(o->ir, v));
  }
}

static void walk_region(Order *o, CtRegion r) {
  for (CtVal v = r == 0 ? 0 : o->ir->regions[r].first; v != 0; v = ct_inst(o->ir, v)->next) {
    walk(o, v);
  }
}

static void mark_regions(Order *o, CtRegion r) {
  while (r != 0 && !o->has_copy[r]) {
    CtVal owner = o->ir->regions[r].owner;
    o->has_copy[r] = true;
    r = owner == 0 ? 0 : ct_inst(o->ir, owner)->region;
  }
}

/* Finds the plain asynchronous copies. False: there are none, or the kernel waits itself. */
static bool find_copies(Order *o) {
  const CtIr *ir = o->ir;
  bool found = false;
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->region != 0 && inst->op == CT_OP_CP_WAIT) {
      return false;
    }
    if (inst->region != 0 && is_async(inst)) {
      found = true;
      o->is_source[ct_ir_memory(ir, inst->u.tile->a.buf)] = true;
      o->is_target[ct_ir_memory(ir, inst->u.tile->dst.buf)] = true;
      mark_regions(o, inst->region);
    }
  }
  return found;
}

/* All global memory is a source if buffers may overlap. */
static void widen_sources(const CtIr *ir, bool *is_source) {
  for (uint32_t i = 1; ir->may_overlap && i < ir->n_bufs; i++) {
    is_source[i] = is_source[i] || ir->bufs[i].space == CT_GLOBAL;
  }
}

void ct_pass_async(CtIr *ir) {
  Order o = {.ir = ir,
             .is_source = ct_arena_alloc(&ir->arena, ir->n_bufs * sizeof *o.is_source),
             .is_target = ct_arena_alloc(&ir->arena, ir->n_bufs * sizeof *o.is_target),
             .has_copy = ct_arena_alloc(&ir->arena, ir->n_regions * sizeof *o.has_copy)};
  if (o.is_source == NULL || o.is_target == NULL || o.has_copy == NULL) {
    ir->failed = true;
    return;
  }
  if (find_copies(&o)) {
    widen_sources(ir, o.is_source);
    walk_region(&o, 1);
  }
}
