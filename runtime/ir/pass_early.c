/* pass_early.c: where a kernel asks for it (CtIr.early_index), index arithmetic of its body moves up to
   what it is made of, if a loop, a condition or a tile's operation stands in between; within loops it moves
   down to its first use. The compilers leave it where it is, and CUDA 13.0's assembler orders the products in
   a loop by what stands around it. */
#include <string.h>

#include "pass.h"

typedef struct Place {
  uint32_t order; /* in the body; 0: not in it */
  uint32_t
      n_structures; /* loops, conditions and operations on tiles of the body that come before */
  CtVal after;      /* the next operation that is more than arithmetic, or 0 */
} Place;

typedef struct Early {
  CtIr *ir;
  Place *at;     /* by value; of 0, where the body begins */
  CtVal last;    /* operand of those seen, or 0 */
  bool can_move; /* all of them are integers */
} Early;

static bool is_pure(const CtIr *ir, CtVal v) {
  return ct_ops[ct_inst(ir, v)->op].cls == CT_CLS_PURE;
}

static bool is_structure(const CtIr *ir, CtVal v) {
  CtOpClass cls = ct_ops[ct_inst(ir, v)->op].cls;
  return cls == CT_CLS_REGION || cls == CT_CLS_TILE;
}

/* Orders are even: an operation that moves gets the odd one before its new place. */
static void number(Early *e) {
  uint32_t order = 0, n_structures = 0;
  for (CtVal v = e->ir->regions[CT_BODY].first; v != 0; v = ct_inst(e->ir, v)->next) {
    e->at[v] = (Place){.order = order += 2, .n_structures = n_structures};
    n_structures += is_structure(e->ir, v);
  }
  CtVal after = 0;
  for (CtVal v = e->ir->regions[CT_BODY].last; v != 0; v = ct_inst(e->ir, v)->prev) {
    e->at[v].after = after;
    after = is_pure(e->ir, v) ? after : v;
  }
  e->at[0].after = after;
}

static void see_operand(void *ud, CtVal v) {
  Early *e = ud;
  e->can_move = e->can_move && ct_is_int((CtDtype)ct_inst(e->ir, v)->type);
  e->last = e->at[v].order > e->at[e->last].order ? v : e->last;
}

static bool is_index(Early *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool divides = inst->op == CT_OP_FLOORDIV || inst->op == CT_OP_FLOORMOD;
  e->last = 0;
  e->can_move = is_pure(e->ir, v) && ct_is_int((CtDtype)inst->type) && !inst->is_conditional &&
                (!divides || ct_inst(e->ir, inst->args[1])->op == CT_OP_CONST);
  ct_ir_each_operand(e->ir, v, see_operand, e);
  return e->can_move;
}

static void move_up(Early *e, CtVal v) {
  CtVal place = e->at[e->last].after;
  if (place != 0 && e->at[place].n_structures < e->at[v].n_structures) {
    ct_ir_unlink(e->ir, v);
    ct_ir_link(e->ir, v, 1, place);
    e->at[v] = e->at[place];
    e->at[v].order--;
    e->at[v].after = place;
  }
}

/* Past what is pure, too, and does not use it. */
static void move_down(CtIr *ir, CtVal v, CtRegion region) {
  CtVal next = ct_inst(ir, v)->next, at = next;
  while (at != 0 && is_pure(ir, at) && !ct_ir_uses(ir, at, v)) {
    at = ct_inst(ir, at)->next;
  }
  if (at != 0 && at != next) {
    ct_ir_unlink(ir, v);
    ct_ir_link(ir, v, region, at);
  }
}

static void move_all_down(CtIr *ir) {
  for (CtRegion r = 2; r < ir->n_regions; r++) {
    for (CtVal v = ir->regions[r].last, before; v != 0; v = before) {
      before = ct_inst(ir, v)->prev;
      if (is_pure(ir, v)) {
        move_down(ir, v, r);
      }
    }
  }
}

void ct_pass_early(CtIr *ir) {
  if (!ir->early_index) {
    return;
  }
  size_t n = ir->n_insts;
  Early e = {.ir = ir, .at = ct_alloc(ir->arena.alloc, n * sizeof *e.at)};
  if (e.at == NULL) {
    ir->failed = true;
    return;
  }
  memset(e.at, 0, n * sizeof *e.at);
  number(&e);
  for (CtVal v = ir->regions[CT_BODY].first, next; v != 0; v = next) {
    next = ct_inst(ir, v)->next;
    if (is_index(&e, v)) {
      move_up(&e, v);
    }
  }
  ct_free(ir->arena.alloc, e.at, n * sizeof *e.at);
  move_all_down(ir);
}
