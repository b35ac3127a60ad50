/* ir_flow.c: operations whose order counts: loads and stores, variables, and the structure of control
   flow. */
#include "ir_build.h"

/* --- memory and variables --------------------------------------------------------------------- */

CtVal ct_ir_load(CtIr *ir, uint32_t buf, CtVal offset) {
  if (ct_ir_is_packed(ir, buf)) {
    return ct_ir_load_packed(ir, buf, offset);
  }
  offset = ct_ir_place(ir, buf, offset);
  CtVal v = ct_ir_append(ir, CT_OP_LOAD, ir->bufs[buf].dtype);
  ir->insts[v].imm.i = buf;
  ir->insts[v].args[0] = offset;
  return v;
}

void ct_ir_store(CtIr *ir, uint32_t buf, CtVal offset, CtVal value) {
  CT_ASSERT(ir->insts[value].type == ir->bufs[buf].dtype || ir->failed);
  if (ct_ir_is_packed(ir, buf)) {
    ct_ir_store_packed(ir, buf, offset, value);
    return;
  }
  offset = ct_ir_place(ir, buf, offset);
  CtVal v = ct_ir_append(ir, CT_OP_STORE, CT_VOID);
  ir->insts[v].imm.i = buf;
  ir->insts[v].args[0] = offset;
  ir->insts[v].args[1] = value;
  ct_ir_written(ir, buf);
}

CtVal ct_ir_var(CtIr *ir, CtDtype type, const char *name) {
  CtVal v = ct_ir_new(ir, CT_OP_VAR, type);
  ir->insts[v].name = ct_ir_intern(ir, name);
  return v;
}

CtVal ct_ir_get(CtIr *ir, CtVal var) {
  CtVal v = ct_ir_append(ir, CT_OP_GET, (CtDtype)ir->insts[var].type);
  ir->insts[v].imm.i = var;
  ir->insts[v].name = ir->insts[var].name;
  ir->insts[v].untyped = ir->insts[var].untyped;
  return v;
}

CtVal ct_ir_get_before(CtIr *ir, CtVal var, CtVal op) {
  CtVal v = ct_ir_new(ir, CT_OP_GET, (CtDtype)ir->insts[var].type);
  if (v != 0) {
    ir->insts[v].imm.i = var;
    ir->insts[v].name = ir->insts[var].name;
    ir->insts[v].untyped = ir->insts[var].untyped;
    ct_ir_link(ir, v, ir->insts[op].region, op);
  }
  return v;
}

void ct_ir_set(CtIr *ir, CtVal var, CtVal value) {
  CT_ASSERT(ir->insts[var].type == ir->insts[value].type || ir->failed);
  CtVal v = ct_ir_append(ir, CT_OP_SET, CT_VOID);
  ir->insts[v].imm.i = var;
  ir->insts[v].args[0] = value;
}

void ct_ir_set_before(CtIr *ir, CtVal var, CtVal value, CtVal op) {
  CT_ASSERT(ir->insts[var].type == ir->insts[value].type || ir->failed);
  CtVal v = ct_ir_new(ir, CT_OP_SET, CT_VOID);
  if (v != 0) {
    ir->insts[v].imm.i = var;
    ir->insts[v].args[0] = value;
    ct_ir_link(ir, v, op == 0 ? ir->cur : ir->insts[op].region, op);
  }
}

static bool is_get_of(const CtIr *ir, CtVal v, CtVal var) {
  return ir->insts[v].op == CT_OP_GET && ir->insts[v].imm.i == var;
}

typedef struct GetUse {
  const CtIr *ir;
  CtVal var;
  bool found;
} GetUse;

static void find_get(void *ud, CtVal v) {
  GetUse *use = ud;
  use->found = use->found || is_get_of(use->ir, v, use->var);
}

/* A constant that the type can have, a float rounded. */
static bool is_const_of(const CtIr *ir, CtVal v, CtDtype type) {
  const CtInst *inst = &ir->insts[v];
  return inst->op == CT_OP_CONST && (ct_is_float(type) || ct_is_float((CtDtype)inst->type) ||
                                     ct_dtype_fits(type, inst->imm.i));
}

/* Every use of the variable's reads is a cast to `type`, every store a constant. */
static bool may_retype(const CtIr *ir, CtVal var, CtDtype type) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = &ir->insts[v];
    if (inst->region == 0) {
      continue;
    }
    if (inst->op == CT_OP_SET && inst->imm.i == var && !is_const_of(ir, inst->args[0], type)) {
      return false;
    }
    GetUse use = {ir, var, false};
    ct_ir_each_operand(ir, v, find_get, &use);
    if (use.found && !(inst->op == CT_OP_CAST && inst->type == type)) {
      return false;
    }
  }
  return true;
}

static void replace_operand(CtIr *ir, CtVal from, CtVal to) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    for (int i = 0; i < ir->insts[v].n_args; i++) {
      if (ir->insts[v].args[i] == from) {
        ir->insts[v].args[i] = to;
      }
    }
  }
}

bool ct_ir_retype(CtIr *ir, CtVal var, CtDtype type) {
  if (!may_retype(ir, var, type)) {
    return false;
  }
  size_t n = ir->n_insts;
  ir->insts[var].type = (uint8_t)type;
  for (CtVal v = 1; v < n; v++) {
    if (ir->insts[v].op == CT_OP_SET && ir->insts[v].imm.i == var) {
      CtVal value = ct_ir_cast(ir, ir->insts[v].args[0], type);
      ir->insts[v].args[0] = value;
    } else if (is_get_of(ir, v, var)) {
      ir->insts[v].type = (uint8_t)type;
      ir->insts[v].facts = ct_type_facts(type);
    }
  }
  for (CtVal v = 1; v < n; v++) {
    CtInst *inst = &ir->insts[v];
    if (inst->region != 0 && inst->op == CT_OP_CAST && is_get_of(ir, inst->args[0], var)) {
      CtVal get = inst->args[0];
      ct_ir_unlink(ir, v);
      replace_operand(ir, v, get);
    }
  }
  return true;
}

/* --- structure -------------------------------------------------------------------------------- */

/* Appends an operation with one region and goes into it. */
static CtVal enter(CtIr *ir, CtOp op, CtDtype type) {
  CtVal v = ct_ir_append(ir, op, type);
  CtRegion body = v == 0 ? 0 : ct_ir_new_region(ir, v);
  if (body != 0) {
    ir->insts[v].u.regions[0] = body;
    ir->cur = body;
  }
  return v;
}

CtVal ct_ir_if(CtIr *ir, CtVal cond) {
  CtVal v = enter(ir, CT_OP_IF, CT_VOID);
  ir->insts[v].args[0] = cond;
  return v;
}

void ct_ir_else(CtIr *ir, CtVal if_) {
  CtRegion other = ct_ir_new_region(ir, if_);
  if (other != 0) {
    ir->insts[if_].u.regions[1] = other;
    ir->cur = other;
  }
}

static CtFacts loop_facts(const CtIr *ir, CtVal start, CtVal stop, CtVal step) {
  CtFacts a = ir->insts[start].facts;
  CtFacts b = ir->insts[stop].facts;
  CtFacts s = ir->insts[step].facts;
  CtFacts f = ct_type_facts((CtDtype)ir->insts[start].type);
  f.div = ct_gcd(a.div, s.div);
  if (s.lo > 0) {
    f.lo = a.lo;
    f.hi = ct_max(a.lo, b.hi - (b.hi > INT64_MIN));
  } else if (s.hi < 0) {
    f.lo = ct_min(a.hi, b.lo + (b.lo < INT64_MAX));
    f.hi = a.hi;
  }
  return f;
}

CtVal ct_ir_for(CtIr *ir, CtVal start, CtVal stop, CtVal step, int64_t unroll, const char *name) {
  CtVal v = enter(ir, CT_OP_FOR, (CtDtype)ir->insts[start].type);
  CtInst *inst = &ir->insts[v];
  inst->args[0] = start;
  inst->args[1] = stop;
  inst->args[2] = step;
  inst->imm.i = unroll;
  inst->name = ct_ir_intern(ir, name);
  ir->insts[v].facts = loop_facts(ir, start, stop, step);
  return v;
}

CtVal ct_ir_loop(CtIr *ir) { return enter(ir, CT_OP_LOOP, CT_VOID); }

void ct_ir_end(CtIr *ir, CtVal op) { ir->cur = ir->insts[op].region; }

CtVal ct_ir_position(const CtIr *ir) { return ir->regions[ir->cur].last; }

/* The position is kept in imm until the end; a BLOCK has no other use for it. */
CtVal ct_ir_block_begin(CtIr *ir) {
  CtVal v = ct_ir_new(ir, CT_OP_BLOCK, CT_VOID);
  ir->insts[v].imm.i = ct_ir_position(ir);
  return v;
}

void ct_ir_block_late(CtIr *ir, CtVal block, CtRegion region, CtVal inner) {
  CtVal holder = 0;
  if (inner != 0) {
    ir->insts[block].imm.i = ir->insts[inner].imm.i;
    return;
  }
  for (CtRegion r = ir->cur; r != region && r != 0; r = ir->insts[holder].region) {
    holder = ir->regions[r].owner;
  }
  ir->insts[block].imm.i = holder == 0 ? ir->regions[region].last : ir->insts[holder].prev;
}

void ct_ir_block_end(CtIr *ir, CtVal block, bool used) {
  CtVal begin = (CtVal)ir->insts[block].imm.i;
  if (!used || ir->failed) {
    return;
  }
  CtRegion body = ct_ir_new_region(ir, block);
  if (body == 0) {
    return;
  }
  CtVal v = begin == 0 ? ir->regions[ir->cur].first : ir->insts[begin].next;
  while (v != 0) {
    CtVal next = ir->insts[v].next;
    ct_ir_unlink(ir, v);
    ct_ir_link(ir, v, body, 0);
    v = next;
  }
  ir->insts[block].u.regions[0] = body;
  ir->insts[block].imm.i = 0;
  ct_ir_link(ir, block, ir->cur, 0);
}

void ct_ir_break(CtIr *ir, CtVal target) {
  CtVal v = ct_ir_append(ir, CT_OP_BREAK, CT_VOID);
  ir->insts[v].imm.i = target;
}

void ct_ir_rollback(CtIr *ir, CtVal position) {
  while (ir->regions[ir->cur].last != position && ir->regions[ir->cur].last != 0) {
    ct_ir_unlink(ir, ir->regions[ir->cur].last);
  }
}

/* Runs as well when its condition is false: no memory, no division by zero. */
static bool is_eager(const CtIr *ir, const CtInst *inst) {
  bool divides =
      (inst->op == CT_OP_FLOORDIV || inst->op == CT_OP_FLOORMOD) && ct_is_int((CtDtype)inst->type);
  CtFacts by = divides ? ir->insts[inst->args[1]].facts : (CtFacts){1, 1, 1};
  return (ct_ops[inst->op].cls == CT_CLS_PURE || inst->op == CT_OP_GET) && !inst->is_conditional &&
         (by.lo > 0 || by.hi < 0);
}

static bool is_last_set(const CtInst *inst, CtVal var) {
  return var != 0 && inst->op == CT_OP_SET && inst->imm.i == var && inst->next == 0;
}

static bool is_eager_region(const CtIr *ir, CtRegion r, CtVal var) {
  for (CtVal v = ir->regions[r].first; r != 0 && v != 0; v = ir->insts[v].next) {
    if (!is_eager(ir, &ir->insts[v]) && !is_last_set(&ir->insts[v], var)) {
      return false;
    }
  }
  return true;
}

bool ct_ir_flatten_if(CtIr *ir, CtVal if_, CtVal var, CtVal set[2]) {
  const CtInst *inst = &ir->insts[if_];
  if (!is_eager_region(ir, inst->u.regions[0], var) ||
      !is_eager_region(ir, inst->u.regions[1], var)) {
    return false;
  }
  for (int i = 0; i < 2; i++) {
    CtRegion r = inst->u.regions[i];
    set[i] = 0;
    for (CtVal v = r == 0 ? 0 : ir->regions[r].first; v != 0;) {
      CtVal next = ir->insts[v].next;
      ct_ir_unlink(ir, v);
      if (ir->insts[v].op == CT_OP_SET) {
        set[i] = ir->insts[v].args[0];
      } else {
        ct_ir_link(ir, v, inst->region, if_);
      }
      v = next;
    }
  }
  ct_ir_unlink(ir, if_);
  return true;
}
