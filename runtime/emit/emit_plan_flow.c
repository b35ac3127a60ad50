/* emit_plan_flow.c: decides where variables are declared, and how C says a BREAK. */
#include "emit.h"

enum {
  MAX_ABSORBED = 6,
  MANY_STEPS = 1 << 20, /* of a kernel's walks, beside FEW_EACH for each of its operations */
  FEW_EACH = 16
};

/* --- variables ------------------------------------------------------------------------------------ */

static CtRegion common_region(const CtEmit *e, CtRegion a, CtRegion b) {
  while (a != b) {
    if (e->regions[a].depth >= e->regions[b].depth) {
      a = e->regions[a].parent;
    } else {
      b = e->regions[b].parent;
    }
  }
  return a;
}

/* Does the text of this operation read or write the variable? */
static bool touches(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  return inst->op == CT_OP_SET || (inst->op == CT_OP_GET && e->vals[v].n_uses > 0);
}

/* Definite assignment: is the variable set on all paths to here? No path continues after a jump. */
typedef struct Flow {
  const CtEmit *e;
  CtVal var;
  uint32_t last; /* the position of the last operation that touches it: no later one matters */
  uint64_t left; /* steps that may still be taken; 0: too many, and the answer is not known */
  bool is_set;
  bool is_read_early; /* some read may come before every SET */
  struct Exit *exits; /* of the enclosing operations, innermost first */
} Flow;

typedef struct Exit {
  CtVal target;
  bool is_set; /* set at all jumps out of it so far */
  struct Exit *outer;
} Exit;

static void flow_region(Flow *f, CtRegion r, CtVal from);

static void flow_if(Flow *f, const CtInst *inst) {
  bool before = f->is_set;
  flow_region(f, inst->u.regions[0], 0);
  bool after_then = f->is_set;
  f->is_set = before;
  if (inst->u.regions[1] != 0) {
    flow_region(f, inst->u.regions[1], 0);
  }
  f->is_set = f->is_set && after_then;
}

static void flow_body(Flow *f, CtVal v) {
  const CtInst *inst = ct_inst(f->e->ir, v);
  bool before = f->is_set;
  Exit exit = {v, true, f->exits};
  f->exits = &exit;
  flow_region(f, inst->u.regions[0], 0);
  f->exits = exit.outer;
  if (inst->op == CT_OP_BLOCK) {
    f->is_set = f->is_set && exit.is_set;
  } else { /* a FOR may run no iteration */
    f->is_set = inst->op == CT_OP_LOOP ? exit.is_set : before;
  }
}

static void flow_jump(Flow *f, CtVal target) {
  for (Exit *x = f->exits; x != NULL; x = x->outer) {
    if (x->target == target) {
      x->is_set = x->is_set && f->is_set;
    }
  }
  f->is_set = true;
}

static void flow_region(Flow *f, CtRegion r, CtVal from) {
  const CtIr *ir = f->e->ir;
  for (CtVal v = from != 0 ? from : ir->regions[r].first;
       v != 0 && f->e->vals[v].pos <= f->last && f->left > 0; v = ct_inst(ir, v)->next) {
    const CtInst *inst = ct_inst(ir, v);
    f->left--;
    if (inst->op == CT_OP_IF) {
      flow_if(f, inst);
    } else if (ct_ops[inst->op].cls == CT_CLS_REGION) {
      flow_body(f, v);
    } else if (inst->op == CT_OP_BREAK) {
      flow_jump(f, (CtVal)inst->imm.i);
    } else if (touches(f->e, v) && inst->imm.i == f->var) {
      f->is_read_early = f->is_read_early || (inst->op == CT_OP_GET && !f->is_set);
      f->is_set = f->is_set || inst->op == CT_OP_SET;
    }
  }
}

static bool is_set_first(Flow *f, CtRegion r, CtVal from, CtVal var) {
  f->var = var;
  f->last = f->e->vals[f->e->vals[var].last].pos;
  f->is_set = f->is_read_early = false;
  flow_region(f, r, from);
  return !f->is_read_early && f->left > 0;
}

/* The operation of an enclosing region that contains v, or v itself. */
static CtVal ancestor_in(const CtEmit *e, CtVal v, CtRegion r) {
  while (ct_inst(e->ir, v)->region != r) {
    v = e->ir->regions[ct_inst(e->ir, v)->region].owner;
  }
  return v;
}

/* Is `inner`, which is in the block's body, in the scope around the block? The braces of a labelled
   block, or of an else part that absorbs the rest of the block, may stand in between. */
static bool is_same_scope(const CtEmit *e, CtVal block, CtVal inner) {
  if (ct_inst(e->ir, block)->op != CT_OP_BLOCK || e->vals[block].has_label) {
    return false;
  }
  CtVal v = e->ir->regions[ct_inst(e->ir, block)->u.regions[0]].first;
  while (v != inner && !e->vals[v].absorbs) {
    v = ct_inst(e->ir, v)->next;
  }
  return v == inner;
}

/* A variable that is set before it is read is declared in the innermost region of its uses. Any
   other variable keeps its value from one iteration to the next, so it is declared outside all
   loops; so is one of which that would take too long to know. */
static void place_var(CtEmit *e, Flow *f, CtVal var) {
  CtEmitVal *x = &e->vals[var];
  CtVal at = ancestor_in(e, x->first, x->home);
  if (!is_set_first(f, x->home, at, var)) {
    while (e->regions[x->home].loop != 0) {
      at = e->ir->regions[x->home].owner;
      x->home = ct_inst(e->ir, at)->region;
    }
    x->declares = true; /* with a value */
  } else {
    CtVal inner = at;
    while (ct_inst(e->ir, inner)->op == CT_OP_BLOCK) {
      CtVal next = ancestor_in(e, x->first, ct_inst(e->ir, inner)->u.regions[0]);
      if (!is_same_scope(e, inner, next)) {
        break;
      }
      inner = next;
    }
    if (ct_inst(e->ir, inner)->op == CT_OP_SET) {
      e->vals[inner].declares = true;
      return;
    }
  }
  x->next_decl = e->vals[at].decls;
  e->vals[at].decls = var;
}

void ct_emit_plan_vars(CtEmit *e) {
  Flow f = {.e = e, .left = MANY_STEPS + (uint64_t)FEW_EACH * e->n_order};
  for (uint32_t i = 1; i < e->n_order; i++) {
    CtVal v = e->order[i];
    if (touches(e, v)) {
      CtEmitVal *x = &e->vals[ct_inst(e->ir, v)->imm.i];
      CtRegion r = ct_inst(e->ir, v)->region;
      x->home = x->first == 0 ? r : common_region(e, x->home, r);
      x->first = x->first == 0 ? v : x->first;
      x->last = v;
      x->n_uses += ct_inst(e->ir, v)->op == CT_OP_SET;
    }
  }
  for (CtVal v = (CtVal)e->ir->n_insts; v-- > 1;) { /* so that chains are in order */
    if (ct_inst(e->ir, v)->op == CT_OP_VAR && e->vals[v].first != 0) {
      place_var(e, &f, v);
    }
  }
}

/* --- jumps ------------------------------------------------------------------------------------------ */

/* After v, does control reach the end of `within` (0: of the kernel) with nothing in between? */
static bool is_last(const CtEmit *e, CtVal v, CtVal within) {
  for (;;) {
    const CtInst *inst = ct_inst(e->ir, v);
    CtVal owner = e->ir->regions[inst->region].owner;
    if (inst->next != 0) {
      return false;
    }
    if (owner == within) {
      return true;
    }
    CtOp op = (CtOp)ct_inst(e->ir, owner)->op;
    if (op == CT_OP_FOR || op == CT_OP_LOOP) {
      return false;
    }
    v = owner;
  }
}

/* Is everything after an IF, up to the end of the block, in the regions around the IF, so that it
   can become part of the IF? */
static bool leads_to_end(const CtEmit *e, CtVal v, CtVal block) {
  for (;;) {
    CtRegion r = ct_inst(e->ir, v)->region;
    CtVal owner = e->ir->regions[r].owner;
    const CtInst *inst = ct_inst(e->ir, owner);
    if (owner == block) {
      return true;
    }
    bool is_else = inst->op == CT_OP_IF && inst->u.regions[1] == r;
    if (owner == 0 || inst->op == CT_OP_FOR || inst->op == CT_OP_LOOP ||
        (inst->next != 0 && !(is_else && e->vals[owner].absorbs))) {
      return false;
    }
    v = owner;
  }
}

/* For `if (c) { ...; leave the block }` followed by the rest of the block: the rest may become the
   else part, and then nothing has to jump. Many such IFs would nest too deeply to read. */
static bool try_absorb(CtEmit *e, CtVal v, CtVal block) {
  CtRegion r = ct_inst(e->ir, v)->region;
  CtVal owner = e->ir->regions[r].owner;
  const CtInst *test = ct_inst(e->ir, owner);
  if (owner == block || test->op != CT_OP_IF || test->u.regions[0] != r ||
      e->vals[block].n_uses > MAX_ABSORBED || !leads_to_end(e, owner, block)) {
    return false;
  }
  e->vals[owner].absorbs = true;
  return true;
}

static CtJump choose_jump(CtEmit *e, CtVal v) {
  CtVal target = (CtVal)ct_inst(e->ir, v)->imm.i;
  CtVal loop = ct_emit_loop_of(e, v);
  bool is_block = ct_inst(e->ir, target)->op == CT_OP_BLOCK;
  if (is_block && is_last(e, v, target)) {
    return CT_JUMP_NONE;
  }
  if (target == loop) {
    return CT_JUMP_BREAK;
  }
  if (is_last(e, target, 0)) {
    return CT_JUMP_RETURN;
  }
  if (is_block && loop != 0 && loop == ct_emit_loop_of(e, target) && is_last(e, target, loop)) {
    return CT_JUMP_CONTINUE;
  }
  return is_block && try_absorb(e, v, target) ? CT_JUMP_NONE : CT_JUMP_GOTO;
}

void ct_emit_plan_jumps(CtEmit *e) {
  for (uint32_t i = 1; i < e->n_order; i++) {
    CtVal v = e->order[i];
    if (ct_inst(e->ir, v)->op == CT_OP_BREAK) {
      CtJump jump = choose_jump(e, v);
      e->vals[v].jump = (uint8_t)jump;
      if (jump == CT_JUMP_GOTO) {
        e->vals[ct_inst(e->ir, v)->imm.i].has_label = true;
      }
    }
  }
}
