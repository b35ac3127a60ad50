/* pass_async.c: a plain copy from global to shared memory is complete at the next sync_threads, cluster_sync,
   arrival at an mbarrier or named barrier, whatever the target: where it may be cp.async and the kernel itself
   never waits, a wait is put before each of these. For copies by atoms of cp.async the kernel waits itself. */
#include "pass.h"

void ct_pass_async(CtIr *ir) {
  bool async = false;
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->region != 0 && inst->op == CT_OP_CP_WAIT) {
      return;
    }
    async = async || (inst->region != 0 && inst->op == CT_OP_COPY && inst->u.tile->async &&
                      inst->u.tile->atom == NULL);
  }
  size_t n = ir->n_insts;
  for (CtVal v = 1; async && v < n; v++) {
    if (ir->insts[v].region != 0 && ct_op_has((CtOp)ir->insts[v].op, CT_TRAIT_ARRIVES)) {
      CtVal wait = ct_ir_new(ir, CT_OP_CP_WAIT, CT_VOID);
      if (wait != 0) {
        ir->insts[wait].loc = ir->insts[v].loc;
        ct_ir_link(ir, wait, ir->insts[v].region, v);
      }
    }
  }
}
