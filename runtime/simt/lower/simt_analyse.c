/* simt_analyse.c: lowering to the CPU engine, first stage: facts about values.

   A value is varying if lanes of a warp may hold different numbers at the same time; any other
   value is computed once per warp, as a scalar. A variable is one value per warp if every
   assignment to it assigns such a value, and no lane is elsewhere at that time. A region is
   divergent if lanes may be elsewhere and come back: under a varying condition, in a loop of
   varying length, or after a BREAK in such a region. Lanes that have ended do not come back, so
   they do not count. */
#include "runtime/ir/ir_tma.h"
#include "simt_lower.h"

/* --- the regions as a sequence ---------------------------------------------------------------------- */

static void add_step(CtLow *l, CtStepKind kind, CtVal v) {
  if (CT_LOW_GROW(l, steps, n_steps, cap_steps)) {
    l->steps[l->n_steps++] = (CtLowStep){kind, v};
  }
}

static bool is_region_op(const CtInst *inst) { return ct_ops[inst->op].cls == CT_CLS_REGION; }

/* The step after an operation and all that it contains, out of regions that end here; 0 at the
   end. */
static CtVal leave(CtLow *l, CtVal v) {
  const CtIr *ir = l->ir;
  while (v != 0 && ct_inst(ir, v)->next == 0) {
    CtRegion r = ct_inst(ir, v)->region;
    v = ir->regions[r].owner;
    if (v == 0) {
      return 0;
    }
    const CtInst *owner = ct_inst(ir, v);
    if (owner->op == CT_OP_IF && r == owner->u.regions[0] && owner->u.regions[1] != 0) {
      add_step(l, CT_STEP_ELSE, v);
      CtVal first = ir->regions[owner->u.regions[1]].first;
      if (first != 0) {
        return first;
      }
    }
    add_step(l, CT_STEP_LEAVE, v);
  }
  return v == 0 ? 0 : ct_inst(ir, v)->next;
}

/* The step into an operation with regions: its first operation, or past it if all regions are
   empty. */
static CtVal enter(CtLow *l, CtVal v) {
  const CtIr *ir = l->ir;
  const CtInst *inst = ct_inst(ir, v);
  add_step(l, CT_STEP_ENTER, v);
  CtVal first = ir->regions[inst->u.regions[0]].first;
  if (first == 0 && inst->op == CT_OP_IF && inst->u.regions[1] != 0) {
    add_step(l, CT_STEP_ELSE, v);
    first = ir->regions[inst->u.regions[1]].first;
  }
  if (first != 0) {
    return first;
  }
  add_step(l, CT_STEP_LEAVE, v);
  return leave(l, v);
}

static void make_steps(CtLow *l) {
  CtVal v = l->ir->regions[1].first;
  while (v != 0 && !l->failed) {
    if (is_region_op(ct_inst(l->ir, v))) {
      v = enter(l, v);
    } else {
      add_step(l, CT_STEP_OP, v);
      v = leave(l, v);
    }
  }
}

/* --- varying and divergent -------------------------------------------------------------------------- */

static bool any_varying(const CtLow *l, const CtInst *inst) {
  for (int i = 0; i < inst->n_args; i++) {
    if (inst->args[i] != 0 && ct_low_is(l, inst->args[i], CT_VARYING)) {
      return true;
    }
  }
  return false;
}

/* The result of an effect that this function does not know may differ from lane to lane. */
static bool is_varying(const CtLow *l, const CtInst *inst) {
  const CtOpInfo *op = &ct_ops[inst->op];
  if (inst->op == CT_OP_LOAD) {
    const CtBuf *buf = &l->ir->bufs[inst->imm.i];
    return buf->space == CT_REGISTER || ct_low_by_lane(l, (uint32_t)inst->imm.i) != 0 ||
           any_varying(l, inst);
  }
  if (inst->op == CT_OP_GET) {
    return ct_low_is(l, (CtVal)inst->imm.i, CT_VARYING);
  }
  return (op->traits & CT_TRAIT_UNIFORM) == 0 &&
         ((op->cls == CT_CLS_EFFECT && inst->type != CT_VOID) || any_varying(l, inst));
}

static bool mark(CtLow *l, CtVal v, uint8_t flag) {
  bool changed = !ct_low_is(l, v, flag);
  l->flags[v] |= flag;
  return changed;
}

static bool mark_region(CtLow *l, CtRegion r) {
  bool changed = r != 0 && !l->is_divergent[r];
  if (r != 0) {
    l->is_divergent[r] = true;
  }
  return changed;
}

/* Do the regions of an operation diverge? */
static bool diverges(const CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  return l->is_divergent[inst->region] || any_varying(l, inst) ||
         (ct_low_is(l, v, CT_SPLITTING) && !ct_low_is(l, v, CT_LAST));
}

static bool visit(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool changed = false;
  if (is_varying(l, inst)) {
    changed = mark(l, v, CT_VARYING) || changed;
  }
  if (inst->op == CT_OP_SET && (any_varying(l, inst) || l->is_divergent[inst->region])) {
    changed = mark(l, (CtVal)inst->imm.i, CT_VARYING) || changed;
  }
  if (inst->op == CT_OP_BREAK && l->is_divergent[inst->region]) {
    changed = mark(l, (CtVal)inst->imm.i, CT_SPLITTING) || changed;
  }
  if (is_region_op(inst) && diverges(l, v)) {
    changed = mark_region(l, inst->u.regions[0]) || changed;
    changed = (inst->op == CT_OP_IF && mark_region(l, inst->u.regions[1])) || changed;
  }
  return changed;
}

static void find_varying(CtLow *l) {
  for (CtVal v = 1; v < l->ir->n_insts; v++) {
    if (ct_inst(l->ir, v)->op == CT_OP_TID) {
      mark(l, v, CT_VARYING);
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < l->n_steps; i++) {
      CtStepKind kind = l->steps[i].kind;
      if (kind == CT_STEP_OP || kind == CT_STEP_ENTER) {
        changed = visit(l, l->steps[i].v) || changed;
      }
    }
  }
}

/* --- blocks whose end is the kernel's ------------------------------------------------------------------ */

static void find_last_blocks(CtLow *l) {
  for (size_t i = 0; i < l->n_steps; i++) {
    const CtInst *inst = ct_inst(l->ir, l->steps[i].v);
    CtVal owner = l->ir->regions[inst->region].owner;
    if (l->steps[i].kind == CT_STEP_ENTER && inst->op == CT_OP_BLOCK && inst->next == 0 &&
        (owner == 0 || ct_low_is(l, owner, CT_LAST))) {
      mark(l, l->steps[i].v, CT_LAST);
    }
  }
}

/* --- invariant ------------------------------------------------------------------------------------------ */

/* A division by a number that may be 0 must stay in place. */
static bool can_fail(const CtLow *l, const CtInst *inst) {
  if ((inst->op != CT_OP_FLOORDIV && inst->op != CT_OP_FLOORMOD) ||
      !ct_is_int((CtDtype)inst->type)) {
    return false;
  }
  CtFacts f = ct_inst(l->ir, inst->args[1])->facts;
  return f.lo <= 0 && f.hi >= 0;
}

static bool is_invariant(const CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  if (ct_ops[inst->op].cls != CT_CLS_PURE || can_fail(l, inst)) {
    return false;
  }
  for (int i = 0; i < inst->n_args; i++) {
    if (!ct_low_is(l, inst->args[i], CT_INVARIANT)) {
      return false;
    }
  }
  return true;
}

static void find_invariant_leaves(CtLow *l) {
  for (CtVal v = 1; v < l->ir->n_insts; v++) {
    CtOp op = (CtOp)ct_inst(l->ir, v)->op;
    if (op == CT_OP_CONST || op == CT_OP_PARAM || op == CT_OP_TID || op == CT_OP_GDIM) {
      mark(l, v, CT_INVARIANT);
    }
  }
}

static void find_invariant(CtLow *l) {
  for (size_t i = 0; i < l->n_steps; i++) {
    if (l->steps[i].kind == CT_STEP_OP && is_invariant(l, l->steps[i].v)) {
      mark(l, l->steps[i].v, CT_INVARIANT);
    }
  }
}

/* --- sums ------------------------------------------------------------------------------------------------- */

static int64_t mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static bool add_term(CtLowSum *s, CtVal v, CtVal by, int64_t coef) {
  int i = 0;
  while (i < s->n && (s->t[i].v != v || s->t[i].by != by)) {
    i++;
  }
  if (i == CT_MAX_TERMS) {
    return false;
  }
  if (i == s->n) {
    s->t[s->n++] = (CtLowTerm){v, by, 0};
  }
  s->t[i].coef = plus(s->t[i].coef, coef);
  return true;
}

static bool is_const(const CtLow *l, CtVal v) { return ct_inst(l->ir, v)->op == CT_OP_CONST; }

/* Can sums be multiplied by this operand? It pays for a sum that varies. */
static bool is_factor(const CtLow *l, CtVal product, CtVal operand) {
  return ct_low_is(l, product, CT_VARYING) && !ct_low_is(l, product, CT_INVARIANT) &&
         ct_low_is(l, operand, CT_INVARIANT) && !ct_low_is(l, operand, CT_VARYING);
}

static bool add_value(const CtLow *l, CtLowSum *s, CtVal v, CtVal by, int64_t coef, int *left);

static bool add_product(const CtLow *l, CtLowSum *s, CtVal v, CtVal by, int64_t coef, int *left) {
  const CtVal *args = ct_inst(l->ir, v)->args;
  for (int i = 0; i < 2; i++) {
    if (is_const(l, args[i])) {
      int64_t factor = ct_inst(l->ir, args[i])->imm.i;
      return add_value(l, s, args[1 - i], by, mul(coef, factor), left);
    }
  }
  for (int i = 0; i < 2 && by == 0; i++) {
    if (is_factor(l, v, args[i])) {
      return add_value(l, s, args[1 - i], args[i], coef, left);
    }
  }
  return add_term(s, v, by, coef);
}

/* Takes apart sums, and products with constants or with values that are fixed in a launch. All
   arithmetic is modulo the width, so the parts may be computed in any order. */
static bool add_value(const CtLow *l, CtLowSum *s, CtVal v, CtVal by, int64_t coef, int *left) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtVal *args = inst->args;
  int64_t minus = mul(coef, -1);
  if (!ct_ir_step(left)) {
    return add_term(s, v, by, coef);
  }
  if (inst->op == CT_OP_CONST && by != 0) {
    return add_term(s, by, 0, mul(coef, inst->imm.i));
  }
  if (inst->op == CT_OP_CONST) {
    s->imm = plus(s->imm, mul(coef, inst->imm.i));
    return true;
  }
  if (inst->op == CT_OP_ADD || inst->op == CT_OP_SUB) {
    return add_value(l, s, args[0], by, coef, left) &&
           add_value(l, s, args[1], by, inst->op == CT_OP_SUB ? minus : coef, left);
  }
  return inst->op == CT_OP_NEG   ? add_value(l, s, args[0], by, minus, left)
         : inst->op == CT_OP_MUL ? add_product(l, s, v, by, coef, left)
                                 : add_term(s, v, by, coef);
}

/* Drops coefficients that cancelled out, and sorts the others by value, so that sums with the same
   beginning share it. */
static void tidy(CtLowSum *s) {
  int n = 0;
  for (int i = 0; i < s->n; i++) {
    CtLowTerm t = s->t[i];
    if (t.coef == 0) {
      continue;
    }
    int j = n++;
    for (; j > 0 && s->t[j - 1].v > t.v; j--) {
      s->t[j] = s->t[j - 1];
    }
    s->t[j] = t;
  }
  s->n = n;
}

void ct_low_sum(const CtLow *l, CtVal v, CtLowSum *s) {
  int left = CT_WALK_STEPS;
  *s = (CtLowSum){0};
  if (!add_value(l, s, v, 0, 1, &left)) {
    *s = (CtLowSum){.n = 1, .t = {{v, 0, 1}}};
  }
  tidy(s);
}

bool ct_low_is_affine(const CtLow *l, const CtLowSum *s, CtSpace space) {
  for (int i = 0; i < s->n; i++) {
    if (ct_low_is(l, s->t[i].v, CT_VARYING) &&
        (space == CT_REGISTER || !ct_low_is(l, s->t[i].v, CT_INVARIANT))) {
      return false;
    }
  }
  return true;
}

CtVal ct_low_compared(const CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  if ((inst->op != CT_OP_LT && inst->op != CT_OP_LE) || ct_low_is(l, v, CT_INVARIANT)) {
    return 0;
  }
  bool first = ct_low_is(l, inst->args[0], CT_VARYING);
  CtVal arg = inst->args[first ? 0 : 1];
  CtDtype t = (CtDtype)ct_inst(l->ir, arg)->type;
  CtLowSum s;
  if ((t != CT_i32 && t != CT_i64) || first == ct_low_is(l, inst->args[1], CT_VARYING)) {
    return 0;
  }
  ct_low_sum(l, arg, &s);
  return ct_low_is_affine(l, &s, CT_GLOBAL) ? arg : 0;
}

/* --- needed ----------------------------------------------------------------------------------------------- */

static void need_address(CtLow *l, CtSpace space, CtVal offset) {
  CtLowSum s;
  ct_low_sum(l, offset, &s);
  if (!ct_low_is_affine(l, &s, space)) {
    mark(l, offset, CT_NEEDED);
    return;
  }
  for (int i = 0; i < s.n; i++) {
    mark(l, s.t[i].v, CT_NEEDED);
    mark(l, s.t[i].by, CT_NEEDED);
  }
}

static void need_tuple(CtLow *l, CtTuple t) {
  for (uint32_t i = 0; i < t->len; i++) {
    if (t[i].rank == CT_LEAF && t[i].i.kind == CT_DYNAMIC) {
      mark(l, t[i].i.id, CT_NEEDED);
    }
  }
}

static void need_guard(CtLow *l, const CtGuardAxis *axis) {
  if (axis->at.kind == CT_DYNAMIC) {
    need_address(l, CT_GLOBAL, axis->at.id);
  }
  if (axis->bound.kind == CT_DYNAMIC) {
    mark(l, axis->bound.id, CT_NEEDED);
  }
  need_tuple(l, axis->stride);
}

static void need_view(void *ud, const CtView *view, bool is_written) {
  CtLow *l = ud;
  (void)is_written;
  if (view->offset.kind == CT_DYNAMIC) {
    need_address(l, l->ir->bufs[view->buf].space, view->offset.id);
  }
  need_tuple(l, view->layout.shape);
  need_tuple(l, view->layout.stride);
  for (int i = 0; i < ct_guard_n(view); i++) {
    need_guard(l, &view->guard->axis[i]);
  }
}

static void need_args(CtLow *l, const CtInst *inst, int first) {
  for (int i = first; i < inst->n_args; i++) {
    mark(l, inst->args[i], CT_NEEDED);
  }
}

static void need_operand(void *ud, CtVal v) { mark(ud, v, CT_NEEDED); }

static void need(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtOpClass cls = ct_ops[inst->op].cls;
  if ((cls == CT_CLS_PURE || cls == CT_CLS_READ) && !ct_low_is(l, v, CT_NEEDED)) {
    return;
  }
  if (inst->op == CT_OP_LOAD || inst->op == CT_OP_STORE) {
    const CtBuf *buf = &l->ir->bufs[inst->imm.i];
    bool by_lane = ct_low_by_lane(l, (uint32_t)inst->imm.i) != 0;
    if (!by_lane) {
      need_address(l, buf->space, inst->args[0]);
    }
    need_args(l, inst, by_lane ? 0 : 1);
    return;
  }
  CtVal compared = ct_low_compared(l, v);
  if (compared != 0) {
    need_address(l, CT_GLOBAL, compared);
    mark(l, inst->args[compared == inst->args[0] ? 1 : 0], CT_NEEDED);
    return;
  }
  need_args(l, inst, 0);
  for (int i = 0; ct_op_has_text((CtOp)inst->op) && i < inst->u.escape->n; i++) {
    mark(l, inst->u.escape->vals[i], CT_NEEDED);
  }
  if (cls == CT_CLS_TILE) {
    ct_ir_each_view(inst, need_view, l);
  } else if (ct_op_is_tma((CtOp)inst->op)) {
    ct_tma_each_operand(l->ir, inst->u.tma, need_operand, l);
  }
}

/* Walks from the end, so that users come before the values that they use. */
static void find_needed(CtLow *l) {
  for (size_t i = l->n_steps; i-- > 0;) {
    if (l->steps[i].kind == CT_STEP_OP || l->steps[i].kind == CT_STEP_ENTER) {
      need(l, l->steps[i].v);
    }
  }
}

void ct_low_analyse(CtLow *l) {
  make_steps(l);
  if (l->failed) {
    return;
  }
  find_last_blocks(l);
  find_varying(l);
  find_invariant_leaves(l);
  find_invariant(l);
  find_needed(l);
}
