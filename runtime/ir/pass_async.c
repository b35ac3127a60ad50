/* pass_async.c: plain copies from global to shared memory that may be cp.async keep plain order, whatever the
   target. Where the kernel itself never waits, a wait is put before each operation that could tell them from
   copies that are complete at once:

   - what tells other threads that this one has come so far (it lacks PASSES): they may then read what was
     copied, or write what it was copied from;
   - an access of this thread that writes the source of a copy under way, or meets its destination. That goes for
     another such copy, too, for which nothing but a wait keeps the two in order.

   For copies by atoms of cp.async the kernel waits itself. */
#include "pass.h"

#include "ir_tma.h"
#include "runtime/layout/tuple_leaves.h"
#include "runtime/base/order.h"

/* The copies that may be under way, by their number modulo 64: begun in this turn of the loops around, or in an
   earlier one. */
typedef struct Flow {
  uint64_t now, earlier;
} Flow;

/* A loop or block that a jump may leave. */
typedef struct Frame {
  CtVal owner;
  Flow left; /* with these under way */
  struct Frame *outer;
} Frame;

enum { MANY = 1 << 10 };

typedef struct Order {
  CtIr *ir;
  CtVal *copies; /* the plain asynchronous ones, ascending */
  size_t n_copies;
  Flow *turn;     /* by the body of a loop: what one turn leaves under way */
  bool *is_known; /* `turn` is */
  bool is_trial;  /* no wait is put */
} Order;

static const Flow nothing;

static Flow either(Flow a, Flow b) { return (Flow){a.now | b.now, a.earlier | b.earlier}; }
static Flow turned(Flow f) { return (Flow){0, f.now | f.earlier}; }
static bool is_under_way(Flow f) { return (f.now | f.earlier) != 0; }

static bool is_async(const CtInst *inst) {
  return inst->op == CT_OP_COPY && inst->u.tile->async && inst->u.tile->atom == NULL;
}

static const CtTile *tile_of(const Order *o, size_t copy) {
  return ct_inst(o->ir, o->copies[copy])->u.tile;
}

/* --- do two copies write the same elements? --------------------------------------------------------- */

/* Elements base + lo .. base + hi of a buffer. */
typedef struct Span {
  CtVal base; /* or 0 */
  int64_t lo, hi;
} Span;

static Span begin_of(const CtIr *ir, CtInt offset) {
  Span s = {0};
  if (ct_is_static(offset)) {
    s.lo = offset.v;
  } else {
    s.base = offset.id;
  }
  for (int left = CT_WALK_STEPS; s.base != 0 && ct_ir_step(&left);) {
    const CtInst *sum = ct_inst(ir, s.base);
    const CtInst *added = sum->op == CT_OP_ADD ? ct_inst(ir, sum->args[1]) : NULL;
    if (added == NULL || added->op != CT_OP_CONST || ct_add_overflow(s.lo, added->imm.i, &s.lo)) {
      break;
    }
    s.base = sum->args[0];
  }
  s.hi = s.lo;
  return s;
}

/* False: it is not known. */
static bool find_span(const CtIr *ir, const CtView *v, Span *s) {
  *s = begin_of(ir, v->offset);
  for (CtLeaves w = ct_layout_leaves(v->layout); ct_next_leaf(&w);) {
    int64_t last;
    if (!ct_is_static(w.shape->i) || !ct_is_static(w.stride->i) ||
        ct_mul_overflow(w.shape->i.v - 1, w.stride->i.v, &last)) {
      return false;
    }
    int64_t *end = last < 0 ? &s->lo : &s->hi;
    if (ct_add_overflow(*end, last, end)) {
      return false;
    }
  }
  return true;
}

/* Is a value the same in all turns of loops? */
static bool is_fixed(const CtIr *ir, CtVal v) {
  for (CtRegion r = ct_inst(ir, v)->region; r > 1;) {
    const CtInst *owner = ct_inst(ir, ir->regions[r].owner);
    if (owner->op == CT_OP_FOR || owner->op == CT_OP_LOOP) {
      return false;
    }
    r = owner->region;
  }
  return true;
}

static bool are_apart(const CtIr *ir, const CtView *a, const CtView *b, bool is_earlier) {
  Span x, y;
  return a->buf == b->buf && find_span(ir, a, &x) && find_span(ir, b, &y) && x.base == y.base &&
         (!is_earlier || is_fixed(ir, x.base)) && (x.hi < y.lo || y.hi < x.lo);
}

/* --- what an operation meets ------------------------------------------------------------------------ */

static bool is_same(const CtIr *ir, uint32_t a, uint32_t b) {
  a = ct_ir_memory(ir, a);
  b = ct_ir_memory(ir, b);
  return a == b ||
         (ir->may_overlap && ir->bufs[a].space == CT_GLOBAL && ir->bufs[b].space == CT_GLOBAL);
}

/* What an operation accesses: a buffer, or the destination of another plain copy. */
typedef struct Access {
  uint32_t buf;
  bool writes;
  const CtView *copied;
} Access;

static bool meets_copy(const Order *o, Access a, size_t copy, bool is_earlier) {
  const CtTile *t = tile_of(o, copy);
  if (a.writes && is_same(o->ir, a.buf, t->a.buf)) {
    return true;
  }
  return is_same(o->ir, a.buf, t->dst.buf) &&
         (a.copied == NULL || !are_apart(o->ir, &t->dst, a.copied, is_earlier));
}

/* Among many copies nobody looks for the right one. */
static bool meets(const Order *o, Flow f, Access a) {
  if (o->n_copies > MANY) {
    CtSpace space = o->ir->bufs[a.buf].space;
    return a.buf != 0 && (space == CT_SHARED || (a.writes && space == CT_GLOBAL));
  }
  for (uint64_t rest = a.buf == 0 ? 0 : f.now | f.earlier; rest != 0; rest &= rest - 1) {
    uint64_t bit = rest & (~rest + 1);
    for (size_t i = (size_t)__builtin_ctzll(rest); i < o->n_copies; i += 64) {
      if (meets_copy(o, a, i, (f.earlier & bit) != 0)) {
        return true;
      }
    }
  }
  return false;
}

static bool tile_meets(const Order *o, Flow f, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  return meets(o, f, (Access){.buf = t->a.buf}) || meets(o, f, (Access){.buf = t->b.buf}) ||
         meets(o, f, (Access){t->dst.buf, true, is_async(inst) ? &t->dst : NULL});
}

static bool tma_meets(const Order *o, Flow f, const CtInst *inst) {
  bool loads = inst->op != CT_OP_TMA_STORE;
  const CtTma *t = inst->u.tma;
  if (t->is_cancel) {
    return meets(o, f, (Access){.buf = t->buf, .writes = true});
  }
  uint32_t other = t->from != 0 ? t->from : o->ir->maps[t->map].buf;
  return meets(o, f, (Access){.buf = t->buf, .writes = loads}) ||
         meets(o, f, (Access){.buf = other, .writes = !loads});
}

static bool element_meets(const Order *o, Flow f, const CtInst *inst) {
  return meets(o, f, (Access){(uint32_t)inst->imm.i, inst->op != CT_OP_LOAD, NULL});
}

static bool atomic_meets(const Order *o, Flow f, const CtInst *inst) {
  bool releases = inst->op == CT_OP_ATOMIC_STORE && (inst->order & CT_ORDER_RELAXED) == 0;
  return releases ||
         meets(o, f, (Access){(uint32_t)inst->imm.i, inst->op != CT_OP_ATOMIC_LOAD, NULL});
}

/* What the row of an effect says. */
static bool tells(const CtInst *inst) {
  return ct_ops[inst->op].cls == CT_CLS_EFFECT && !ct_op_has((CtOp)inst->op, CT_TRAIT_PASSES);
}

/* A function of the kernel computes numbers. */
static bool text_meets(const Order *o, Flow f, const CtInst *inst) {
  (void)o;
  (void)f;
  CtTextEffect effect = inst->u.escape->effect;
  return tells(inst) && effect != CT_TEXT_PURE && effect != CT_TEXT_FIXED &&
         !ct_text_is_call(inst->u.escape);
}

/* Could somebody tell by this operation that the copies are not complete? What accesses memory is looked at by
   its data; of the rest, the row says. */
static bool tells_copies(const Order *o, Flow f, const CtInst *inst) {
  static bool (*const of_data[CT_DATA_TEXT + 1])(const Order *o, Flow f, const CtInst *inst) = {
      [CT_DATA_TILE] = tile_meets,
      [CT_DATA_TMA] = tma_meets,
      [CT_DATA_ELEMENT] = element_meets,
      [CT_DATA_ATOMIC] = atomic_meets,
      [CT_DATA_TEXT] = text_meets};
  CtOpData data = ct_ops[inst->op].data;
  if (of_data[data] != NULL) {
    return of_data[data](o, f, inst);
  }
  return tells(inst);
}

/* --- the walk --------------------------------------------------------------------------------------- */

static Flow put_wait(Order *o, CtVal before) {
  CtVal wait = o->is_trial ? 0 : ct_ir_new(o->ir, CT_OP_CP_WAIT, CT_VOID);
  if (wait != 0) {
    o->ir->insts[wait].loc = o->ir->insts[before].loc;
    ct_ir_link(o->ir, wait, o->ir->insts[before].region, before);
  }
  return nothing;
}

static uint64_t bit_of(const Order *o, CtVal copy) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, o->n_copies, o->copies[i] < copy);
  return (uint64_t)1 << i % 64;
}

static Flow walk_region(Order *o, CtRegion r, Flow in, Frame *outer);

static Flow walk_block(Order *o, CtVal v, Flow in, Frame *outer) {
  Frame frame = {.owner = v, .outer = outer};
  Flow end = walk_region(o, ct_inst(o->ir, v)->u.regions[0], in, &frame);
  return either(end, frame.left);
}

/* What a turn leaves under way for the next one, if nothing was when it began. */
static Flow turn_of(Order *o, CtRegion body) {
  if (!o->is_known[body]) {
    bool was_trial = o->is_trial;
    o->is_trial = true;
    o->turn[body] = turned(walk_region(o, body, nothing, NULL));
    o->is_trial = was_trial;
    o->is_known[body] = true;
  }
  return o->turn[body];
}

static Flow walk_loop(Order *o, CtVal v, Flow in, Frame *outer) {
  CtRegion body = ct_inst(o->ir, v)->u.regions[0];
  bool may_not_run = ct_inst(o->ir, v)->op == CT_OP_FOR;
  Frame frame = {.owner = v, .outer = outer};
  Flow end = walk_region(o, body, either(in, turn_of(o, body)), &frame);
  Flow left = turned(frame.left);
  return may_not_run ? either(in, either(turned(end), left)) : left;
}

static Flow walk_branches(Order *o, CtVal v, Flow in, Frame *outer) {
  CtRegion branches[2] = {ct_inst(o->ir, v)->u.regions[0], ct_inst(o->ir, v)->u.regions[1]};
  Flow first = walk_region(o, branches[0], in, outer);
  return either(first, walk_region(o, branches[1], in, outer));
}

static Flow jump(const Order *o, CtVal v, Flow in, Frame *frame) {
  CtVal target = (CtVal)ct_inst(o->ir, v)->imm.i;
  while (frame != NULL && frame->owner != target) {
    frame = frame->outer;
  }
  if (frame != NULL) {
    frame->left = either(frame->left, in);
  }
  return nothing;
}

static Flow walk_structure(Order *o, CtVal v, Flow in, Frame *outer) {
  CtOp op = (CtOp)ct_inst(o->ir, v)->op;
  return op == CT_OP_IF      ? walk_branches(o, v, in, outer)
         : op == CT_OP_BLOCK ? walk_block(o, v, in, outer)
                             : walk_loop(o, v, in, outer);
}

static Flow walk(Order *o, CtVal v, Flow in, Frame *outer) {
  CtOp op = (CtOp)ct_inst(o->ir, v)->op;
  if (ct_ops[op].cls == CT_CLS_REGION) {
    return walk_structure(o, v, in, outer);
  }
  if (ct_ops[op].cls == CT_CLS_JUMP) {
    return jump(o, v, in, outer);
  }
  if (ct_op_has(op, CT_TRAIT_ARRIVES) ||
      (is_under_way(in) && tells_copies(o, in, ct_inst(o->ir, v)))) {
    in = put_wait(o, v);
  }
  if (is_async(ct_inst(o->ir, v))) {
    in.now |= bit_of(o, v);
  }
  return in;
}

static Flow walk_region(Order *o, CtRegion r, Flow in, Frame *outer) {
  for (CtVal v = r == 0 ? 0 : o->ir->regions[r].first; v != 0; v = ct_inst(o->ir, v)->next) {
    in = walk(o, v, in, outer);
  }
  return in;
}

/* Finds the plain asynchronous copies. False: there are none, or the kernel waits itself. */
static bool find_copies(Order *o) {
  const CtIr *ir = o->ir;
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->region != 0 && inst->op == CT_OP_CP_WAIT) {
      return false;
    }
    if (inst->region != 0 && is_async(inst)) {
      o->copies[o->n_copies++] = v;
    }
  }
  return o->n_copies != 0;
}

void ct_pass_async(CtIr *ir) {
  Order o = {.ir = ir,
             .copies = ct_arena_alloc(&ir->arena, ir->n_insts * sizeof *o.copies),
             .turn = ct_arena_alloc(&ir->arena, ir->n_regions * sizeof *o.turn),
             .is_known = ct_arena_alloc(&ir->arena, ir->n_regions * sizeof *o.is_known)};
  if (o.copies == NULL || o.turn == NULL || o.is_known == NULL) {
    ir->failed = true;
  } else if (find_copies(&o)) {
    walk_region(&o, 1, nothing, NULL);
  }
}
