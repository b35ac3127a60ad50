/* simt_lower_control.c: lowering to the CPU engine: structure becomes masks and jumps.

   A construct that lanes may leave one by one keeps the mask to continue with in a row of saved
   masks; rows are numbered by nesting. A BREAK removes its lanes from the rows of all constructs
   inside its target. When lanes come together again, the mask may be empty; then control goes to
   the next enclosing place where lanes come together. */
#include "simt_lower.h"

static uint32_t new_label(CtLow *l) {
  if (!CT_LOW_GROW(l, labels, n_labels, cap_labels)) {
    return 0;
  }
  l->labels[l->n_labels] = -1;
  return (uint32_t)l->n_labels++;
}

static void place(CtLow *l, uint32_t label) {
  if (label < l->n_labels) {
    l->labels[label] = (int32_t)l->body.n;
  }
}

static uint32_t take_rows(CtLow *l, uint32_t n) {
  uint32_t first = l->n_rows;
  l->n_rows += n;
  l->max_rows = l->n_rows > l->max_rows ? l->n_rows : l->max_rows;
  return first;
}

/* Where control goes if no lane is active: the innermost place where lanes come together. */
static uint32_t outer_join(const CtLow *l) {
  for (size_t i = l->n_frames; i-- > 0;) {
    const CtFrame *f = &l->frames[i];
    if (!f->is_scalar_if) {
      return f->in_then ? f->on_else : f->on_next;
    }
  }
  return 0; /* the label of the end */
}

static uint32_t new_construct(CtLow *l, const CtFrame *f) {
  if (!CT_LOW_GROW(l, constructs, n_constructs, cap_constructs)) {
    return 0;
  }
  uint32_t parent = l->n_frames > 0 ? l->frames[l->n_frames - 1].construct : 0;
  l->constructs[l->n_constructs] = (CtConstruct){f->row, parent, ct_inst(l->ir, f->v)->loc};
  return f->is_scalar_if ? parent : (uint32_t)l->n_constructs++;
}

static void push(CtLow *l, CtFrame f) {
  f.construct = new_construct(l, &f);
  if (CT_LOW_GROW(l, frames, n_frames, cap_frames)) {
    l->frames[l->n_frames++] = f;
  }
}

static void enter_if(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool has_else = inst->u.regions[1] != 0;
  CtFrame f = {.v = v, .is_scalar_if = !ct_low_varies(l, inst->args[0]), .in_then = has_else};
  f.on_else = new_label(l);
  f.on_next = f.on_exit = new_label(l);
  uint32_t cond = ct_low_natural(l, inst->args[0]);
  uint32_t target = has_else ? f.on_else : f.on_exit;
  f.row = l->n_rows;
  if (f.is_scalar_if) {
    CT_EMIT(l, CT_SIMT_IFNOT, .d = cond, .c = target);
  } else {
    f.row = take_rows(l, 1 + has_else);
    bool whole = !l->is_divergent[inst->region]; /* for the peephole pass */
    CT_EMIT(l, has_else ? CT_SIMT_SPLIT_ELSE : CT_SIMT_SPLIT, .d = f.row, .a = cond, .c = target,
            .imm = whole);
  }
  push(l, f);
}

void ct_low_else(CtLow *l) {
  CtFrame *f = &l->frames[l->n_frames - 1];
  if (f->is_scalar_if) {
    CT_EMIT(l, CT_SIMT_JUMP, .c = f->on_exit);
    place(l, f->on_else);
  } else {
    place(l, f->on_else);
    CT_EMIT(l, CT_SIMT_ELSE, .d = f->row + 1, .c = f->on_exit);
  }
  f->in_then = false;
}

static void open_loop(CtLow *l, CtFrame *f) {
  f->loop = (uint32_t)l->n_loops;
  if (CT_LOW_GROW(l, loops, n_loops, cap_loops)) {
    l->loops[l->n_loops++] = (CtLoopSpan){(uint32_t)l->body.n, (uint32_t)l->body.n};
  }
}

static CtFrame loop_frame(CtLow *l, CtVal v) {
  CtFrame f = {.v = v, .row = take_rows(l, 1)};
  f.on_next = new_label(l);
  f.on_exit = new_label(l);
  return f;
}

static void enter_loop(CtLow *l, CtVal v) {
  CtFrame f = loop_frame(l, v);
  CT_EMIT(l, CT_SIMT_SAVE, .d = f.row);
  open_loop(l, &f);
  push(l, f);
}

static void enter_block(CtLow *l, CtVal v) {
  CtFrame f = loop_frame(l, v);
  f.on_next = f.on_exit;
  CT_EMIT(l, CT_SIMT_SAVE, .d = f.row);
  push(l, f);
}

/* A FOR counts its remaining iterations, so that its index cannot overflow. */
static void enter_for(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool lanes = ct_low_varies(l, v);
  uint32_t s[3];
  for (int i = 0; i < 3; i++) {
    s[i] = lanes ? ct_low_lanes(l, inst->args[i]) : ct_low_scalar(l, inst->args[i]);
  }
  CtFrame f = loop_frame(l, v);
  f.step = s[2];
  f.left = ct_low_temp(l, lanes ? CT_CLASS_LANES8 : CT_CLASS_SCALAR, false);
  uint32_t index = ct_low_result(l, v, false);
  bool is_i32 = inst->type == CT_i32;
  if (lanes) {
    CT_EMIT(l, is_i32 ? CT_SIMT_TRIPS_i32 : CT_SIMT_TRIPS_i64, .d = f.left, .a = s[0], .b = s[1],
            .c = s[2]);
    CT_EMIT(l, ct_low_moves[inst->type].move, .d = index, .a = s[0]);
    CT_EMIT(l, CT_SIMT_LANES_START, .d = f.left, .a = f.row, .c = f.on_exit);
  } else {
    CT_EMIT(l, CT_SIMT_TRIPS, .d = f.left, .a = s[0], .b = s[1], .c = s[2]);
    CT_EMIT(l, CT_SIMT_MOVE_s, .d = index, .a = s[0]);
    CT_EMIT(l, CT_SIMT_SAVE, .d = f.row);
    CT_EMIT(l, CT_SIMT_IFNOT, .d = f.left, .c = f.on_exit);
  }
  open_loop(l, &f);
  push(l, f);
}

static void (*const enters[CT_OP_COUNT])(CtLow *l, CtVal v) = {
#define LOW(name) enter_##name
#define IN(NAME)
#define ROW_REGION(NAME, engine) [CT_OP_##NAME] = engine,
#define ROW_PURE(...)
#define ROW_READ(...)
#define ROW_EFFECT(...)
#define ROW_JUMP(...)
#define ROW_TILE(...)
#define ROW_LEAF(...)
#define OP(NAME, text, n, result, cls, data, traits, engine, ...) ROW_##cls(NAME, engine)
#include "runtime/ir/ops.def"
};

void ct_low_enter(CtLow *l, CtVal v) { enters[ct_inst(l->ir, v)->op](l, v); }

/* The back edge of a loop. `top` is a position; labels make it relative at the end. */
static void close_loop(CtLow *l, const CtFrame *f) {
  const CtInst *inst = ct_inst(l->ir, f->v);
  if (l->failed) {
    return;
  }
  uint32_t top = new_label(l);
  if (l->failed) {
    return;
  }
  l->labels[top] = (int32_t)l->loops[f->loop].first;
  place(l, f->on_next);
  l->loops[f->loop].last = (uint32_t)l->body.n;
  CtSpin spin = ct_low_spin(l, f->v);
  if (inst->op == CT_OP_LOOP) {
    CT_EMIT(l, CT_SIMT_AGAIN, .c = top, .imm = spin);
  } else {
    CtSimtOp op = !ct_low_varies(l, f->v) ? CT_SIMT_NEXT
                  : inst->type == CT_i32  ? CT_SIMT_LANES_NEXT_i32
                                          : CT_SIMT_LANES_NEXT_i64;
    CT_EMIT(l, op, .d = l->slot_of[f->v], .a = f->left, .b = f->step, .c = top, .imm = spin);
  }
}

void ct_low_leave(CtLow *l) {
  CtFrame f = l->frames[--l->n_frames];
  CtOp op = (CtOp)ct_inst(l->ir, f.v)->op;
  if (op == CT_OP_LOOP || op == CT_OP_FOR) {
    close_loop(l, &f);
  }
  if (op == CT_OP_IF && ct_inst(l->ir, f.v)->u.regions[1] == 0) {
    place(l, f.on_else);
  }
  place(l, f.on_exit);
  if (!f.is_scalar_if) {
    CT_EMIT(l, CT_SIMT_JOIN, .d = f.row, .c = outer_join(l));
  }
  l->n_rows = f.row;
}

void ct_low_break(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtVal target = (CtVal)inst->imm.i;
  size_t i = l->n_frames;
  while (i-- > 0 && l->frames[i].v != target) {}
  const CtFrame *f = &l->frames[i];
  if (ct_low_is(l, target, CT_LAST)) {
    CT_EMIT(l, CT_SIMT_EXIT, .d = f->row + 1, .a = l->n_rows, .c = outer_join(l));
  } else if (l->is_divergent[inst->region]) {
    CT_EMIT(l, CT_SIMT_BREAK, .d = f->row + 1, .a = l->n_rows, .c = outer_join(l));
  } else { /* no lane is elsewhere */
    CT_EMIT(l, CT_SIMT_JUMP, .c = f->on_exit);
  }
}

uint32_t ct_low_construct(const CtLow *l) {
  return l->n_frames > 0 ? l->frames[l->n_frames - 1].construct : 0;
}

void ct_low_begin(CtLow *l) { (void)new_label(l); /* label 0: the end */ }

void ct_low_end(CtLow *l) {
  place(l, 0);
  CT_EMIT(l, CT_SIMT_END);
  CT_HOIST(l, CT_SIMT_END);
}
