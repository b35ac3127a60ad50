/* emit_plan.c: decides how to write each value. A value with one use is written at that use, if
   nothing in between can change it. A value is declared where the script made it if it has more
   than one use, has a name in the script, or would be computed again in each iteration of a loop.

   Operations are numbered in the order of the text. Uses have higher numbers than definitions, so
   one walk backwards sees all uses of a value before the value itself. */
#include <string.h>

#include "emit.h"
#include "runtime/ir/ir_tma.h"

/* How often the text of a use is evaluated. */
typedef enum UseKind {
  USE_ONCE,
  USE_COND, /* once per iteration, in the head of a `for`: pure expressions read well there */
  USE_MANY
} UseKind;

typedef struct Use {
  uint32_t at;    /* number of the statement that contains the use */
  uint32_t until; /* the value must not change before this number */
  UseKind kind;
  bool is_arm; /* not evaluated each time that the statement is */
} Use;

enum { MAX_COST = 12, CALL_COST = 3, MAX_LOOK = 4096 };

/* --- numbers ------------------------------------------------------------------------------------ */

static bool is_loop(const CtInst *inst) { return inst->op == CT_OP_FOR || inst->op == CT_OP_LOOP; }

/* For the operations of a region from v on, up to the loop; 0: to the end, where none comes. */
static void set_looped(CtEmit *e, CtVal v, CtVal loop) {
  for (; v != loop; v = ct_inst(e->ir, v)->next) {
    e->vals[v].looped = loop == 0 ? UINT32_MAX : e->vals[loop].end;
  }
}

static void number(CtEmit *e, CtRegion r, CtRegion parent, CtVal loop, int depth) {
  e->regions[r] = (CtEmitRegion){parent, loop, depth};
  CtVal first = e->ir->regions[r].first; /* not followed by a loop so far */
  for (CtVal v = first; v != 0; v = ct_inst(e->ir, v)->next) {
    const CtInst *inst = ct_inst(e->ir, v);
    e->order[e->n_order] = v;
    e->vals[v].pos = e->n_order++;
    if (ct_ops[inst->op].cls == CT_CLS_REGION) {
      CtVal inner = is_loop(inst) ? v : loop;
      number(e, inst->u.regions[0], r, inner, depth + 1);
      if (inst->op == CT_OP_IF && inst->u.regions[1] != 0) {
        number(e, inst->u.regions[1], r, inner, depth + 1);
      }
    }
    e->vals[v].end = e->n_order;
    if (is_loop(inst)) {
      set_looped(e, first, v);
      first = v;
    }
  }
  set_looped(e, first, 0);
}

/* --- uses ---------------------------------------------------------------------------------------- */

static void use(CtEmit *e, CtVal v, Use u) {
  CtEmitVal *x = &e->vals[v];
  x->n_uses++;
  if (x->pos == 0) {
    return;
  }
  CtVal mine = ct_emit_loop_of(e, v);
  CtVal loop = ct_emit_loop_of(e, e->order[u.at]);
  while (loop != mine && loop != 0 && ct_inst(e->ir, v)->op != CT_OP_FOR) {
    x->crosses_loop = true;
    u.until = e->vals[loop].end > u.until ? e->vals[loop].end : u.until;
    loop = ct_emit_loop_of(e, loop);
  }
  x->at = u.at > x->at ? u.at : x->at;
  x->until = u.until > x->until ? u.until : x->until;
  x->use = (uint8_t)((UseKind)x->use > u.kind ? (UseKind)x->use : u.kind);
  x->is_arm = x->is_arm || u.is_arm;
}

static Use once(uint32_t pos) { return (Use){.at = pos, .until = pos}; }

typedef struct ViewUses {
  CtEmit *e;
  Use u;
  bool in_units;    /* tiles of wgmma */
  const char *name; /* of the tensor */
} ViewUses;

static void use_tuple(ViewUses *w, CtTuple t) {
  for (uint32_t i = 0; i < t->len; i++) {
    if (ct_is_leaf(&t[i]) && t[i].i.kind == CT_DYNAMIC) {
      use(w->e, t[i].i.id, w->u);
    }
  }
}

static void use_axis(ViewUses *w, const CtGuardAxis *axis) {
  int64_t plus;
  CtVal v = ct_emit_split_offset(w->e->ir, axis->at, &plus);
  if (v != 0) {
    use(w->e, v, w->u);
    ct_emit_want(w->e, v, w->name, "_coord");
  }
  if (axis->bound.kind == CT_DYNAMIC) {
    use(w->e, axis->bound.id, w->u);
  }
  use_tuple(w, axis->stride);
}

static void use_offset(ViewUses *w, const CtBuf *buf, CtVal v) {
  CtEmitPulled parts = {.n_own = 1, .own = {v}};
  if (ct_buf_is_swizzled(buf)) {
    ct_emit_pull(w->e->ir, buf->swizzle, v, &parts);
  }
  for (int i = 0; i < parts.n_own; i++) {
    use(w->e, parts.own[i], w->u);
    ct_emit_want(w->e, parts.own[i], w->name, "_at");
  }
  if (parts.turns != 0) {
    use(w->e, parts.turns, w->u);
  }
  for (int i = 0; i < parts.n_after; i++) {
    use(w->e, parts.after[i], w->u);
    ct_emit_want(w->e, parts.after[i], w->name, "_at");
  }
}

/* Must match what emit_wgmma.c writes. */
static void use_units(CtEmit *e, CtVal v, int64_t per, int *left, Use u) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtEmitUnits how = ct_emit_units(e->ir, v, per, left);
  if (how == CT_UNITS_SUM) {
    use_units(e, inst->args[0], per, left, u);
    use_units(e, inst->args[1], per, left, u);
  } else {
    use(e, how == CT_UNITS_PRODUCT ? inst->args[0] : v, u);
  }
}

static void use_view(void *ud, const CtView *view, bool is_written) {
  ViewUses *w = ud;
  int64_t plus;
  int left = CT_WALK_STEPS;
  (void)is_written;
  CtVal v = ct_emit_split_offset(w->e->ir, view->offset, &plus);
  const CtBuf *buf = &w->e->ir->bufs[view->buf];
  w->name = view->name != NULL ? view->name : buf->name;
  if (v != 0 && ct_emit_find_ptr(w->e, view->buf, v) == NULL) {
    if (w->in_units && (buf->space == CT_SHARED || buf->space == CT_TENSOR)) {
      use_units(w->e, v, ct_emit_unit(buf), &left, w->u);
    } else {
      use_offset(w, buf, v);
    }
  }
  use_tuple(w, view->layout.shape);
  use_tuple(w, view->layout.stride);
  for (int i = 0; i < ct_guard_n(view); i++) {
    use_axis(w, &view->guard->axis[i]);
  }
}

static void use_tile(CtEmit *e, const CtInst *inst, uint32_t pos) {
  bool in_units = inst->op == CT_OP_WGMMA || inst->op == CT_OP_TCGEN05_MMA;
  ViewUses w = {e, {pos, pos, in_units ? USE_ONCE : USE_MANY, false}, in_units, NULL};
  for (int i = 0; i < inst->n_args; i++) {
    use(e, inst->args[i], w.u);
  }
  ct_ir_each_view(inst, use_view, &w);
}

/* How often $name occurs in a text. */
static int uses_in_text(const char *text, const char *name) {
  size_t len = strlen(name);
  int n = 0;
  for (const char *s = strchr(text, '$'); s != NULL; s = strchr(s + 1, '$')) {
    n += strncmp(s + 1, name, len) == 0 && !ct_is_word(s[1 + len]);
  }
  return n;
}

/* Assembly has an operand once, however often its text does, also if never. */
static void use_named(CtEmit *e, const CtEscape *code, const char *name, CtVal v, uint32_t pos) {
  int n = code->is_ptx ? 1 : uses_in_text(code->text, name);
  if (n > 0) {
    use(e, v, (Use){.at = pos, .until = pos, .kind = n > 1 ? USE_MANY : USE_ONCE});
  }
}

static void use_escape(CtEmit *e, const CtInst *inst, uint32_t pos) {
  const CtEscape *code = inst->u.escape;
  for (int i = 0; i < code->n; i++) {
    use_named(e, code, code->names[i], code->vals[i], pos);
  }
  for (int i = 0; i < code->n_places; i++) {
    use_named(e, code, code->places[i].name, code->places[i].at, pos);
    ct_emit_use_buf(e, code->places[i].buf);
  }
  for (int i = 0; i < code->n_outs; i++) {
    if (code->outs[i].from != 0) {
      use(e, code->outs[i].from, once(pos));
    }
  }
}

static void use_list(CtEmit *e, const CtEscape *list, Use u) {
  for (int i = 0; i < list->n; i++) {
    use(e, list->vals[i], u);
  }
}

typedef struct TmaUses {
  CtEmit *e;
  uint32_t pos;
} TmaUses;

static void use_operand(void *ud, CtVal v) {
  TmaUses *t = ud;
  use(t->e, v, once(t->pos));
}

static void use_tma(CtEmit *e, const CtTma *tma, uint32_t pos) {
  TmaUses uses = {e, pos};
  ct_tma_each_operand(e->ir, tma, use_operand, &uses);
  ct_emit_use_buf(e, tma->buf);
  if (tma->bar != 0) {
    ct_emit_use_buf(e, tma->bar);
  }
  if (tma->from != 0) {
    ct_emit_use_buf(e, tma->from);
  }
}

static void use_for(CtEmit *e, CtVal v, uint32_t pos) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool counted = ct_emit_for_form(e->ir, inst) == CT_FOR_COUNTED;
  uint32_t end = e->vals[v].end;
  Use many = {.at = pos, .until = end, .kind = USE_MANY};
  Use each = {.at = pos, .until = end, .kind = USE_COND};
  use(e, inst->args[0], counted ? many : once(pos));
  use(e, inst->args[1], counted ? once(pos) : each);
  use(e, inst->args[2], counted ? many : each);
}

/* The first operand that C evaluates only sometimes. */
static int first_arm(const CtInst *inst) {
  bool chooses = inst->op == CT_OP_SELECT || inst->op == CT_OP_LAND || inst->op == CT_OP_LOR;
  return chooses ? 1 : inst->n_args;
}

static void use_args(CtEmit *e, const CtInst *inst, Use u) {
  bool is_extreme = inst->type == CT_i32 && (inst->op == CT_OP_MIN || inst->op == CT_OP_MAX);
  for (int i = 0; i < inst->n_args; i++) {
    u.is_arm = u.is_arm || i >= first_arm(inst);
    use(e, inst->args[i], u);
    e->vals[inst->args[i]].in_extreme |= is_extreme;
  }
}

/* --- what changes a value that was read ----------------------------------------------------------- */

/* May a write to one buffer change the other? */
static bool overlaps(const CtIr *ir, uint32_t a, uint32_t b) {
  a = ct_ir_memory(ir, a);
  b = ct_ir_memory(ir, b);
  bool global = ir->bufs[a].space == CT_GLOBAL && ir->bufs[b].space == CT_GLOBAL;
  return a == b || (global && ir->may_overlap);
}

static bool clobbers_load(const CtEmit *e, uint32_t buf, const CtInst *by) {
  const CtBuf *b = &e->ir->bufs[ct_ir_memory(e->ir, buf)];
  bool is_kept = b->space == CT_GLOBAL && !b->is_written && !e->ir->may_overlap;
  if (is_kept || b->space == CT_CONSTANT) {
    return false;
  }
  switch (ct_ops[by->op].cls) {
    case CT_CLS_TILE: return overlaps(e->ir, by->u.tile->dst.buf, buf);
    case CT_CLS_EFFECT:
      if (by->op == CT_OP_STORE) {
        return overlaps(e->ir, (uint32_t)by->imm.i, buf);
      }
      if (by->op == CT_OP_ESCAPE && by->u.escape->effect != CT_TEXT_WRITES) {
        return false;
      }
      return !ct_op_has((CtOp)by->op, CT_TRAIT_KEEPS) &&
             b->space != CT_REGISTER; /* other threads */
    case CT_CLS_LEAF:
    case CT_CLS_PURE:
    case CT_CLS_READ:
    case CT_CLS_REGION:
    case CT_CLS_JUMP: return false;
  }
  CT_UNREACHABLE();
}

static bool clobbers(const CtEmit *e, const CtInst *read, const CtInst *by) {
  if (read->op == CT_OP_GET) {
    return by->op == CT_OP_SET && by->imm.i == read->imm.i;
  }
  return clobbers_load(e, (uint32_t)read->imm.i, by);
}

static bool is_clobbered(const CtEmit *e, CtVal v) {
  const CtInst *read = ct_inst(e->ir, v);
  uint32_t first = e->vals[v].pos + 1;
  uint32_t until = e->vals[v].until;
  if (until > first + MAX_LOOK) {
    return true;
  }
  for (uint32_t i = first; i < until; i++) {
    if (clobbers(e, read, ct_inst(e->ir, e->order[i]))) {
      return true;
    }
  }
  return false;
}

/* --- named or inline ------------------------------------------------------------------------------- */

/* Will its text certainly be a name? Script names are kept, so we know before the plan is made. */
static bool is_name(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  return ct_emit_is_leaf(ir, v) || inst->op == CT_OP_FOR ||
         (ct_emit_is_value((CtOp)inst->op) && inst->op != CT_OP_GET && inst->name != NULL);
}

/* A division that costs little or that compilers are known to share. */
static bool is_cheap_division(const CtIr *ir, const CtInst *inst) {
  return (inst->op == CT_OP_FLOORDIV || inst->op == CT_OP_FLOORMOD) &&
         ct_inst(ir, inst->args[1])->facts.lo > 0 &&
         (ct_emit_is_plain_division(ir, inst) || ct_emit_is_bit_division(ir, inst));
}

static bool is_comparison(const CtInst *inst) {
  return inst->op == CT_OP_EQ || inst->op == CT_OP_NE || inst->op == CT_OP_LT ||
         inst->op == CT_OP_LE;
}

/* `tid_x / 32`, `lane == 0`: a name gains nothing, and compilers share and move it by themselves. */
static bool is_trivial(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  bool is_sum = inst->op == CT_OP_ADD || inst->op == CT_OP_SUB || inst->op == CT_OP_MUL ||
                inst->op == CT_OP_NEG;
  if (inst->op == CT_OP_NEG && ct_is_float((CtDtype)inst->type)) {
    return is_name(ir, inst->args[0]);
  }
  if (inst->op == CT_OP_CAST) {
    CtDtype from = (CtDtype)ct_inst(ir, inst->args[0])->type;
    return is_name(ir, inst->args[0]) && !ct_is_bits(from) && !ct_is_bits((CtDtype)inst->type) &&
           (ct_is_float((CtDtype)inst->type) ||
            !ct_is_float((CtDtype)ct_inst(ir, inst->args[0])->type));
  }
  for (int i = 0; i < inst->n_args; i++) {
    if (!is_name(ir, inst->args[i])) {
      return false;
    }
  }
  return is_comparison(inst) || (ct_is_int((CtDtype)inst->type) && ct_emit_is_exact(ir, v) &&
                                 (is_sum || is_cheap_division(ir, inst)));
}

/* A division by an unknown number: compilers move it neither out of a loop's head nor up past a
   loop. */
static bool is_division(const CtIr *ir, const CtInst *inst) {
  return (inst->op == CT_OP_FLOORDIV || inst->op == CT_OP_FLOORMOD) &&
         ct_inst(ir, inst->args[1])->op != CT_OP_CONST;
}

/* Is a loop between the value and its use? */
static bool is_before_loop(const CtEmit *e, CtVal v) { return e->vals[v].looped <= e->vals[v].at; }

static CtPrint choose(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtEmitVal *x = &e->vals[v];
  bool repeats = x->n_uses > 1 || x->crosses_loop || x->use == USE_MANY;
  bool needs_name = (repeats && !is_trivial(e->ir, v)) ||
                    (inst->name != NULL && (repeats || !x->is_initial)) ||
                    (is_division(e->ir, inst) && (x->use == USE_COND || is_before_loop(e, v)));
  if (inst->op == CT_OP_GET) {
    return is_clobbered(e, v) ? CT_PRINT_NAMED : CT_PRINT_INLINE;
  }
  if (inst->op == CT_OP_LOAD) {
    needs_name = needs_name || x->use != USE_ONCE || is_clobbered(e, v);
  }
  return needs_name ? CT_PRINT_NAMED : CT_PRINT_INLINE;
}

/* What is written within a value is for the same. */
static void want_parts(CtEmit *e, const CtInst *inst, const CtEmitVal *x) {
  bool is_sum = inst->op == CT_OP_ADD || inst->op == CT_OP_SUB;
  for (int i = inst->op == CT_OP_SELECT ? 1 : 0; i < inst->n_args; i++) {
    if (inst->op == CT_OP_SELECT || is_sum) {
      ct_emit_want(e, inst->args[i], x->wanted, x->suffix);
    }
  }
}

static void plan_value(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtEmitVal *x = &e->vals[v];
  if (x->n_uses == 0) {
    return;
  }
  x->print = (uint8_t)choose(e, v);
  if (x->print == CT_PRINT_NAMED) {
    use_args(e, inst, once(x->pos));
  } else {
    use_args(e, inst, (Use){x->at, x->until, (UseKind)x->use, x->is_arm});
  }
  if (inst->op == CT_OP_LOAD) {
    ct_emit_use_buf(e, (uint32_t)inst->imm.i);
    ct_emit_want(e, inst->args[0], e->ir->bufs[inst->imm.i].name, "_at");
  } else if (x->print == CT_PRINT_INLINE && x->wanted != NULL) {
    want_parts(e, inst, x);
  }
}

/* Does the statement evaluate its expressions once, before all that it does? A SET of a branch may become an arm
   of c ? a : b. */
static bool is_plain(const CtIr *ir, const CtInst *inst) {
  CtVal owner = ir->regions[inst->region].owner;
  bool is_arm = owner != 0 && ct_inst(ir, owner)->op == CT_OP_IF;
  return ct_emit_is_value((CtOp)inst->op) || ct_emit_is_exchange(inst) ||
         (inst->op == CT_OP_SET && !is_arm) || inst->op == CT_OP_STORE || inst->op == CT_OP_IF;
}

/* May a shuffle or vote be written where its value is used? All lanes must still come to it together, and
   nothing that happens in between may move past it. A MASKED condition is an int in CUDA. */
static bool can_move(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtEmitVal *x = &e->vals[v];
  if (x->n_uses != 1 || x->use != USE_ONCE || x->is_arm || x->ptrs != NULL || inst->name != NULL ||
      (inst->op == CT_OP_MASKED && inst->type == CT_bool)) {
    return false;
  }
  const CtInst *user = ct_inst(e->ir, e->order[x->at]);
  bool moves = x->at <= x->pos + MAX_LOOK && user->region == inst->region && is_plain(e->ir, user);
  for (uint32_t i = x->pos + 1; moves && i < x->at; i++) {
    const CtInst *between = ct_inst(e->ir, e->order[i]);
    const CtEmitVal *y = &e->vals[e->order[i]];
    moves = ct_emit_is_value((CtOp)between->op) ||
            (ct_emit_is_exchange(between) && y->print == CT_PRINT_INLINE && y->at == x->at);
  }
  return moves;
}

static void plan_exchange(CtEmit *e, CtVal v) {
  CtEmitVal *x = &e->vals[v];
  x->print = can_move(e, v) ? CT_PRINT_INLINE : CT_PRINT_NAMED;
  uint32_t at = x->print == CT_PRINT_INLINE ? x->at : x->pos;
  use_args(e, ct_inst(e->ir, v), once(at));
}

static void use_pointers(CtEmit *e, CtVal v) {
  for (const CtEmitPtr *p = e->vals[v].ptrs; p != NULL; p = p->next) {
    CtVal at = p->base != NULL ? p->addend : v;
    use(e, at, once(e->vals[v].pos));
    ct_emit_want(e, at, p->wanted != NULL ? p->wanted : e->ir->bufs[p->buf].name, "_at");
  }
}

/* For `local v = x[i]` with a variable v: one of the two names is enough. */
static void mark_set(CtEmit *e, const CtInst *set) {
  e->vals[set->args[0]].is_whole = true;
  const char *mine = ct_inst(e->ir, set->args[0])->name;
  const char *var = ct_inst(e->ir, (CtVal)set->imm.i)->name;
  ct_emit_want(e, set->args[0], var, "_next");
  if (mine != NULL && var != NULL && strcmp(mine, var) == 0) {
    e->vals[set->args[0]].is_initial = true;
  }
}

static void plan_inst(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtEmitVal *x = &e->vals[v];
  use_pointers(e, v);
  switch (ct_ops[inst->op].cls) {
    case CT_CLS_PURE:
    case CT_CLS_READ: plan_value(e, v); break;
    case CT_CLS_TILE: use_tile(e, inst, x->pos); break;
    case CT_CLS_REGION:
      if (inst->op == CT_OP_FOR) {
        use_for(e, v, x->pos);
      } else {
        use_args(e, inst, once(x->pos));
      }
      break;
    case CT_CLS_EFFECT:
      if (ct_emit_is_exchange(inst)) {
        plan_exchange(e, v);
        break;
      }
      if (inst->op == CT_OP_ESCAPE) {
        use_escape(e, inst, x->pos);
      } else if (ct_op_has_text((CtOp)inst->op)) {
        use_list(e, inst->u.escape, once(x->pos));
      } else if (ct_op_is_tma((CtOp)inst->op)) {
        use_tma(e, inst->u.tma, x->pos);
      } else if (ct_op_has_buf((CtOp)inst->op) || ct_ops[inst->op].data == CT_DATA_TENSOR) {
        ct_emit_use_buf(e, (uint32_t)inst->imm.i);
        if (inst->op == CT_OP_STORE) {
          e->vals[inst->args[1]].is_whole = true;
          ct_emit_want(e, inst->args[0], e->ir->bufs[inst->imm.i].name, "_at");
        }
      } else if (inst->op == CT_OP_SET) {
        mark_set(e, inst);
      }
      use_args(e, inst, once(x->pos));
      break;
    case CT_CLS_JUMP: e->vals[inst->imm.i].n_uses++; break;
    case CT_CLS_LEAF: break;
  }
}

/* Cuts long expressions: an operand gets a name. An operand that is a statement of its own needs
   none. */
static void limit_cost(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtEmitVal *x = &e->vals[v];
  if (x->print == CT_PRINT_NOT || inst->op == CT_OP_GET) {
    return;
  }
  bool is_call = inst->op == CT_OP_FMA || inst->op == CT_OP_LOAD || inst->op == CT_OP_SELECT ||
                 ct_emit_is_exchange(inst);
  int cost = is_call ? CALL_COST : 1;
  for (int i = 0; i < inst->n_args; i++) {
    cost += e->vals[inst->args[i]].cost;
  }
  if (x->print == CT_PRINT_INLINE && cost > MAX_COST && !x->is_whole) {
    x->print = CT_PRINT_NAMED;
  }
  x->cost = (uint16_t)(x->print == CT_PRINT_NAMED ? 0 : cost);
}

/* --- the plan ---------------------------------------------------------------------------------------- */

static void find_features(CtEmit *e) {
  bool is_mapped = false; /* other blocks' shared memory */
  for (uint32_t i = 1; i < e->n_order; i++) {
    const CtInst *inst = ct_inst(e->ir, e->order[i]);
    bool is_remote = inst->op == CT_OP_REMOTE,
         is_bar = is_remote && e->ir->bufs[inst->imm.i].bar != 0;
    is_mapped = is_mapped || (is_remote && !is_bar);
    e->reaches = e->reaches || is_bar || inst->op == CT_OP_MBAR_ARRIVE_AT;
    e->has_async = e->has_async || (inst->op == CT_OP_COPY && inst->u.tile->async) ||
                   (inst->op == CT_OP_ESCAPE && inst->u.escape->effect == CT_TEXT_WRITES &&
                    e->ir->target.is_cuda && e->ir->target.sm >= 80);
  }
  e->reaches = e->reaches && is_mapped;
}

void ct_emit_plan(CtEmit *e) {
  e->n_order = 1;
  number(e, 1, 0, 0, 1);
  find_features(e);
  ct_emit_plan_pointers(e);
  for (uint32_t i = e->n_order; i-- > 1 && e->status == CT_OK;) {
    plan_inst(e, e->order[i]);
  }
  for (uint32_t i = 1; i < e->n_order; i++) {
    const CtInst *inst = ct_inst(e->ir, e->order[i]);
    if (ct_emit_is_value((CtOp)inst->op) || ct_emit_is_exchange(inst)) {
      limit_cost(e, e->order[i]);
    }
  }
  ct_emit_plan_continued(e);
  ct_emit_plan_jumps(e);
  ct_emit_plan_vars(e);
}
