/* pass_registers.c: registers have no addresses. Where a register tensor is indexed by the variable
   of a loop, that loop must be unrolled by the compiler, so its trip count must be static; any other
   run-time index is an error. Local arrays have addresses, so any index will do. */
#include <stdio.h>

#include "pass.h"

enum { FULLY = -1, MAX_TRIPS = 4096, MAX_INDEX_DEPTH = 100 };

typedef struct Finder {
  CtIr *ir;
  CtVal at; /* the access */
  const char *name;
  int depth;
  CtStatus status;
  CtErr *err;
} Finder;

/* The iterations of a loop; -1: unknown before the launch. */
static int64_t static_trips(const CtIr *ir, const CtInst *loop) {
  for (int i = 0; i < 3; i++) {
    if (ct_inst(ir, loop->args[i])->op != CT_OP_CONST) {
      return -1;
    }
  }
  int64_t step = ct_inst(ir, loop->args[2])->imm.i;
  int64_t first = ct_inst(ir, loop->args[0])->imm.i, end = ct_inst(ir, loop->args[1])->imm.i;
  int64_t span;
  if (step == 0 || ct_sub_overflow(end, first, &span)) {
    return step == 0 ? -1 : INT64_MAX;
  }
  return span / step + (span % step != 0);
}

static void fail_at(Finder *f, const char *why) {
  const CtInst *inst = ct_inst(f->ir, f->at);
  f->status = ct_fail(f->err, CT_EINVAL, "register tensor '%s' is indexed by %s", f->name, why);
  ct_err_at(f->err, ct_ir_chunk(f->ir, inst->loc), inst->loc.line);
}

static void check_index(void *ud, CtVal v) {
  Finder *f = ud;
  CtInst *inst = &f->ir->insts[v];
  if (f->status != CT_OK || inst->op == CT_OP_CONST) {
    return;
  }
  if (inst->op == CT_OP_FOR) {
    int64_t trips = static_trips(f->ir, inst);
    if (trips >= 0 && trips <= MAX_TRIPS) {
      inst->imm.i = FULLY;
    } else if (trips >= 0) {
      char why[256];
      snprintf(
          why, sizeof why,
          "the variable of a loop of %lld iterations; registers have no addresses, so the loop is "
          "unrolled, which works for up to %d iterations; declare it with local_array, or keep the "
          "data in shared memory",
          (long long)trips, MAX_TRIPS);
      fail_at(f, why);
    } else {
      fail_at(f, "the variable of a loop whose trip count is not static; give the loop static "
                 "bounds, declare it with local_array, or keep the data in shared memory");
    }
  } else if (ct_ops[inst->op].cls == CT_CLS_PURE && inst->n_args > 0 &&
             f->depth < MAX_INDEX_DEPTH) {
    f->depth++;
    ct_ir_each_operand(f->ir, v, check_index, f);
    f->depth--;
  } else {
    fail_at(f, "a run-time value; registers have no addresses: use static indices, declare it with "
               "local_array, or keep the data in shared memory");
  }
}

static bool has_addresses(const Finder *f, uint32_t buf) {
  return f->ir->bufs[buf].space != CT_REGISTER || f->ir->bufs[buf].is_local;
}

static void check_register(Finder *f, uint32_t buf, CtInt offset) {
  f->name = f->ir->bufs[buf].name;
  if (!has_addresses(f, buf) && offset.kind == CT_DYNAMIC) {
    check_index(f, offset.id);
  }
}

static void check_view(void *ud, const CtView *view, bool is_written) {
  Finder *f = ud;
  (void)is_written;
  check_register(f, view->buf, view->offset);
  if (!has_addresses(f, view->buf) && !ct_layout_is_static(view->layout)) {
    fail_at(f, "a layout that is not static");
  }
}

/* If a copy fills a fragment that instructions take by words, its source moves by words too. */
static void share_words(CtIr *ir) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_COPY) {
      const CtTile *t = inst->u.tile;
      const CtBuf *to = &ir->bufs[t->dst.buf];
      CtBuf *from = &ir->bufs[t->a.buf];
      if (to->has_words && from->space == CT_REGISTER && from->dtype == to->dtype) {
        from->has_words = true;
      }
    }
  }
}

CtStatus ct_pass_registers(CtIr *ir, CtErr *err) {
  Finder f = {.ir = ir, .err = err};
  share_words(ir);
  for (CtVal v = 1; v < ir->n_insts && f.status == CT_OK; v++) {
    const CtInst *inst = ct_inst(ir, v);
    f.at = v;
    if (inst->region != 0 && (inst->op == CT_OP_LOAD || inst->op == CT_OP_STORE)) {
      check_register(&f, (uint32_t)inst->imm.i, ct_ir_int(ir, inst->args[0]));
    } else if (inst->region != 0) {
      ct_ir_each_view(inst, check_view, &f);
    }
  }
  return f.status;
}
