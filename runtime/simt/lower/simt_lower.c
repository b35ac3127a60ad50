/* simt_lower.c: lowering to the CPU engine, second stage: instructions over virtual slots. Values
   that depend only on the launch and the thread go to the prologue. */
#include "simt_lower.h"

/* --- operations by the rows of ops.def ------------------------------------------------------------------ */

static void low_row(CtLow *l, CtVal v);

/* How to lower an operation; low_row if it is an instruction of its own. */
typedef struct Lowering {
  void (*lower)(CtLow *l, CtVal v);
  uint16_t instruction;
} Lowering;

#define LOW(name)                                                                                  \
  { .lower = ct_low_##name }
#define IN(NAME)                                                                                   \
  { .lower = low_row, .instruction = CT_SIMT_##NAME }
#define ROWS(NAME) /* the row is there, or this does not compile */                                \
  { .lower = CT_SIMT_##NAME < CT_SIMT_OP_COUNT ? ct_low_arith : NULL }
#define LOWERED(NAME, ...) [CT_OP_##NAME] = __VA_ARGS__,
#define ROW_PURE LOWERED
#define ROW_READ LOWERED
#define ROW_EFFECT LOWERED
#define ROW_JUMP LOWERED
#define ROW_TILE LOWERED
#define ROW_LEAF(...)   /* simt_lower_value.c */
#define ROW_REGION(...) /* simt_lower_control.c */
static const Lowering lowerings[CT_OP_COUNT] = {
#define OP(NAME, text, n, result, cls, data, traits, engine, ...) ROW_##cls(NAME, engine)
#include "runtime/ir/ops.def"
};

/* Lowers an operation that is an instruction. The roles of the instruction's fields decide: a
   written field gets the result, a number gets the enclosing construct, and other fields get the
   operands in order. */
static void low_row(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtIn in = {.u.op = lowerings[inst->op].instruction, .imm = inst->imm.i};
  uint32_t *const fields[4] = {&in.d, &in.a, &in.b, &in.c};
  const char *roles = ct_in_roles(&in);
  int n = 0;
  for (int i = 0; i < 4; i++) {
    if (roles[i] == 'k') {
      *fields[i] = ct_low_construct(l);
    } else if (roles[i] >= 'a') {
      *fields[i] = ct_low_lanes(l, inst->args[n++]);
    }
  }
  if (roles[0] >= 'A' && roles[0] <= 'Z') {
    in.d = ct_low_result(l, v, false);
  }
  ct_low_emit(l, &l->body, in);
}

/* Its accesses change the block of the buffer: ct_low_each. */
void ct_low_nothing(CtLow *l, CtVal v) {
  (void)l;
  (void)v;
}

void ct_low_escape(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool is_ptx = inst->op == CT_OP_ESCAPE && inst->u.escape->is_ptx;
  l->status = ct_fail(l->err, CT_EUNSUPPORTED,
                      is_ptx ? "ptx: the CPU engine cannot run PTX; give a Lua twin or run on a "
                               "CUDA device"
                             : "cuda[[...]]: the CPU engine cannot run CUDA C; give a Lua twin or "
                               "run on a CUDA device");
  ct_err_at(l->err, ct_ir_chunk(l->ir, inst->loc), inst->loc.line);
}

static void lower_op(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtOpClass cls = ct_ops[inst->op].cls;
  if ((cls != CT_CLS_PURE && cls != CT_CLS_READ) || ct_low_is(l, v, CT_NEEDED)) {
    lowerings[inst->op].lower(l, v);
  }
}

static void lower_steps(CtLow *l) {
  ct_low_begin(l);
  for (size_t i = 0; i < l->n_steps && l->status == CT_OK && !l->failed; i++) {
    CtLowStep step = l->steps[i];
    l->loc = ct_inst(l->ir, step.v)->loc;
    l->region = ct_inst(l->ir, step.v)->region;
    switch (step.kind) {
      case CT_STEP_OP: lower_op(l, step.v); break;
      case CT_STEP_ENTER: ct_low_enter(l, step.v); break;
      case CT_STEP_ELSE: ct_low_else(l); break;
      case CT_STEP_LEAVE: ct_low_leave(l); break;
    }
  }
  ct_low_end(l);
}

/* --- the program ------------------------------------------------------------------------------------------ */

static void *zeroed(CtLow *l, size_t n, size_t size) {
  void *p = ct_arena_alloc(&l->tmp, n * size + 1);
  l->failed = l->failed || p == NULL;
  return p;
}

/* Entry 0 of the arrays whose entry 0 is unused. */
static void add_sentinels(CtLow *l) {
  (void)ct_low_slot(l, CT_CLASS_SCALAR, 8, true);
  if (CT_LOW_GROW(l, constructs, n_constructs, cap_constructs)) {
    l->constructs[l->n_constructs++] = (CtConstruct){.row = 0};
  }
}

static void open_low(CtLow *l, CtAlloc alloc, const CtIr *ir) {
  *l = (CtLow){.alloc = alloc, .ir = ir};
  ct_arena_init(&l->tmp, alloc);
  l->flags = zeroed(l, ir->n_insts, sizeof *l->flags);
  l->is_divergent = zeroed(l, ir->n_regions, sizeof *l->is_divergent);
  l->slot_of = zeroed(l, ir->n_insts, sizeof *l->slot_of);
  l->reg_slots = zeroed(l, ir->n_bufs, sizeof *l->reg_slots);
  add_sentinels(l);
}

static void close_stream(CtLow *l, CtLowCode *s) {
  ct_free(l->alloc, s->in, s->cap * sizeof *s->in);
  ct_free(l->alloc, s->locs, s->cap_locs * sizeof *s->locs);
}

static void close_low(CtLow *l) {
  CtAlloc a = l->alloc;
  ct_free(a, l->steps, l->cap_steps * sizeof *l->steps);
  ct_free(a, l->slots, l->cap_slots * sizeof *l->slots);
  close_stream(l, &l->prologue);
  close_stream(l, &l->body);
  ct_free(a, l->memos, l->cap_memos * sizeof *l->memos);
  ct_hash_table_clear(&l->memo_at, a);
  ct_hash_table_clear(&l->mode_at, a);
  ct_free(a, l->labels, l->cap_labels * sizeof *l->labels);
  ct_free(a, l->frames, l->cap_frames * sizeof *l->frames);
  ct_free(a, l->loops, l->cap_loops * sizeof *l->loops);
  ct_free(a, l->consts, l->cap_consts * sizeof *l->consts);
  ct_free(a, l->const_slots, l->cap_const_slots * sizeof *l->const_slots);
  ct_free(a, l->params, l->cap_params * sizeof *l->params);
  ct_free(a, l->modes, l->cap_modes * sizeof *l->modes);
  ct_free(a, l->tiles, l->cap_tiles * sizeof *l->tiles);
  ct_free(a, l->guards, l->cap_guards * sizeof *l->guards);
  ct_free(a, l->constructs, l->cap_constructs * sizeof *l->constructs);
  ct_free(a, l->tmas, l->cap_tmas * sizeof *l->tmas);
  ct_free(a, (void *)l->texts, l->cap_texts * sizeof *l->texts);
  ct_arena_clear(&l->tmp);
}

static CtStatus lower(CtLow *l) {
  if (!l->failed) {
    ct_low_analyse(l);
  }
  if (!l->failed) {
    lower_steps(l);
  }
  if (l->status == CT_OK && !l->failed) {
    l->status = ct_low_finish(l, l->err);
  }
  return l->failed ? ct_fail_nomem(l->err) : l->status;
}

CtStatus ct_low_program(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) {
  CtSimtProgram *p = ct_alloc(alloc, sizeof *p);
  CtLow *l = ct_alloc(alloc, sizeof *l);
  if (p == NULL || l == NULL) {
    ct_free(alloc, p, sizeof *p);
    ct_free(alloc, l, sizeof *l);
    return ct_fail_nomem(err);
  }
  *p = (CtSimtProgram){.alloc = alloc};
  ct_arena_init(&p->arena, alloc);
  open_low(l, alloc, ir);
  l->p = p;
  l->err = err;
  CtStatus status = lower(l);
  close_low(l);
  ct_free(alloc, l, sizeof *l);
  if (status == CT_OK) {
    *out = p;
  } else {
    ct_simt_free(p);
  }
  return status;
}
