/* emit_sync.c: operations of synchronisation objects as C expressions: each is a call of a function of
   the prelude. */
#include <inttypes.h>

#include "emit.h"

typedef struct Call {
  CtHelper helper;
  const char *name;
} Call;

static const Call calls[CT_OP_COUNT] = {
    [CT_OP_MBAR_INIT] = {CT_HELP_MBAR_INIT, "mbar_init"},
    [CT_OP_MBAR_ARRIVE] = {CT_HELP_MBAR_ARRIVE, "mbar_arrive"},
    [CT_OP_MBAR_ARRIVE_AT] = {CT_HELP_MBAR_ARRIVE_AT, "mbar_arrive_at"},
    [CT_OP_MBAR_EXPECT] = {CT_HELP_MBAR_EXPECT, "mbar_expect_tx"},
    [CT_OP_MBAR_ARRIVE_EXPECT] = {CT_HELP_MBAR_ARRIVE_EXPECT, "mbar_arrive_expect_tx"},
    [CT_OP_MBAR_WAIT] = {CT_HELP_MBAR_WAIT, "mbar_wait"},
    [CT_OP_MBAR_TEST] = {CT_HELP_MBAR_TEST, "mbar_test"},
    [CT_OP_NAMED_SYNC] = {CT_HELP_NAMED_SYNC, "named_barrier_sync"},
    [CT_OP_NAMED_ARRIVE] = {CT_HELP_NAMED_ARRIVE, "named_barrier_arrive"},
    [CT_OP_ELECT] = {CT_HELP_ELECT_ONE, "elect_one"},
};

void ct_emit_bar(CtEmit *e, uint32_t buf, CtVal slot) {
  ct_text_printf(&e->body, "&%s[", e->buf_names[buf]);
  ct_emit_expr(e, slot, CT_PREC_ANY);
  ct_text_putc(&e->body, ']');
}

static void put_mbar(CtEmit *e, const CtInst *inst) {
  const CtBuf *buf = &e->ir->bufs[inst->imm.i];
  if (inst->op == CT_OP_MBAR_INIT) {
    ct_text_printf(&e->body, "%s, %" PRId64 ", %u", e->buf_names[inst->imm.i], buf->n_elems.v,
                   buf->arrivals);
    return;
  }
  ct_emit_bar(e, (uint32_t)inst->imm.i, inst->args[0]);
  if (inst->n_args > 1) {
    ct_text_puts(&e->body, ", ");
    ct_emit_expr(e, inst->args[1], CT_PREC_COND);
  }
}

/* More registers than before, or fewer. */
static void put_setmaxnreg(CtEmit *e, const CtInst *inst) {
  bool more = inst->imm.i > ct_ir_first_registers(e->ir);
  ct_text_printf(&e->body, "%s<%" PRId64 ">()",
                 ct_emit_help(e, more ? CT_HELP_SETMAXNREG_INC : CT_HELP_SETMAXNREG_DEC,
                              more ? "more_registers" : "fewer_registers"),
                 inst->imm.i);
}

void ct_emit_sync(CtEmit *e, const CtInst *inst) {
  CtOp op = (CtOp)inst->op;
  if (op == CT_OP_SETMAXNREG) {
    put_setmaxnreg(e, inst);
    return;
  }
  ct_text_printf(&e->body, "%s(", ct_emit_help(e, calls[op].helper, calls[op].name));
  if (ct_op_is_mbar(op)) {
    put_mbar(e, inst);
  } else if (op != CT_OP_ELECT) {
    ct_emit_expr(e, inst->args[0], CT_PREC_COND);
    ct_text_printf(&e->body, ", %" PRId64, inst->imm.i);
  }
  ct_text_putc(&e->body, ')');
}
