/* emit_variant.c: variants of a kernel's text that compute the same bits (CtEmission): they move what the
   assembler makes of it by some per cent, in a direction that nobody foresees. */
#include <inttypes.h>

#include "emit.h"

enum { REGISTERS_OF_BLOCK = 65536 };

/* --- limits of registers ------------------------------------------------------------------------------- */

static CtVal first_setmaxnreg(const CtIr *ir) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    if (ct_inst(ir, v)->op == CT_OP_SETMAXNREG && ct_inst(ir, v)->region != 0) {
      return v;
    }
  }
  return 0;
}

bool ct_emit_has_setmaxnreg(const CtIr *ir) { return first_setmaxnreg(ir) != 0; }

void ct_emit_check_emission(CtEmit *e) {
  const CtEmission *x = &e->ir->emission;
  int most = x->registers > 0 ? x->registers : x->planned_registers;
  int64_t threads = ct_ir_block_size(e->ir);
  if (most > 0 && ct_emit_has_setmaxnreg(e->ir)) {
    ct_emit_fail(e, ct_inst(e->ir, first_setmaxnreg(e->ir))->loc, CT_EINVAL,
                 "%s: emission.%s = %d, but setmaxnreg counts on the registers that the launch "
                 "bounds give; leave one of them out",
                 e->ir->name, x->registers > 0 ? "registers" : "planned_registers", most);
  } else if (x->registers > 0 && x->registers * threads > REGISTERS_OF_BLOCK) {
    ct_emit_fail(e, e->ir->loc, CT_EINVAL,
                 "%s: emission.registers = %d for each of %" PRId64
                 " threads are more than the %d of a multiprocessor; at most %d were expected",
                 e->ir->name, x->registers, threads, REGISTERS_OF_BLOCK,
                 (int)(REGISTERS_OF_BLOCK / threads));
  }
}

/* --- loops --------------------------------------------------------------------------------------------- */

static bool runs_often(const CtInst *inst) {
  return inst->op == CT_OP_LOOP || (inst->op == CT_OP_FOR && inst->imm.i == 0);
}

/* Is there a loop in the region that the compiler does not unroll? */
static bool has_loop(const CtIr *ir, CtRegion r) {
  for (CtVal v = r == 0 ? 0 : ir->regions[r].first; v != 0; v = ct_inst(ir, v)->next) {
    const CtInst *inst = ct_inst(ir, v);
    bool is_region = ct_ops[inst->op].cls == CT_CLS_REGION;
    if (runs_often(inst) || (is_region && has_loop(ir, inst->u.regions[0])) ||
        (inst->op == CT_OP_IF && has_loop(ir, inst->u.regions[1]))) {
      return true;
    }
  }
  return false;
}

int64_t ct_emit_unroll(const CtEmit *e, const CtInst *loop) {
  int64_t wanted = e->ir->emission.unroll;
  bool is_free = wanted > 0 && loop->imm.i == 0 && !has_loop(e->ir, loop->u.regions[0]);
  return is_free ? wanted : loop->imm.i;
}

/* --- declarations -------------------------------------------------------------------------------------- */

/* The place from which the i-th of n arrays comes: they are turned by (order - 1) / 2, and an even order
   reverses them. */
static size_t place_of(int order, size_t i, size_t n) {
  size_t k = (size_t)(order - 1);
  size_t at = (i + k / 2) % n;
  return k % 2 == 0 ? at : n - 1 - at;
}

void ct_emit_order_arrays(CtEmit *e, uint32_t *ids, size_t n) {
  int order = e->ir->emission.order;
  uint32_t *from = ct_arena_alloc(&e->arena, (n + 1) * sizeof *from);
  if (from == NULL) {
    ct_emit_fail(e, e->ir->loc, CT_ENOMEM, "out of memory");
    return;
  }
  for (size_t i = 0; i < n; i++) {
    from[i] = ids[i];
  }
  for (size_t i = 0; i < n; i++) {
    ids[i] = from[place_of(order, i, n)];
  }
}

/* Compilers take what assembly may have written as it is: they neither compute it again in a loop nor
   know what it is made of. */
void ct_emit_pin(CtEmit *e, CtVal v, const char *name) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *kind = inst->type == CT_i64 ? "l" : "r";
  ct_emit_line(e, inst->loc, "asm(\"\" : \"+%s\"(%s));", kind, name);
}

bool ct_emit_is_pinned(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool is_word = inst->type == CT_i32 || inst->type == CT_i64;
  return e->ir->emission.pin && is_word && ct_emit_loop_of(e, v) == 0;
}
