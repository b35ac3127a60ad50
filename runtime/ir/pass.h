/* pass.h: the passes, in the order in which ct_ir_finish (pass_dce.c) runs them on a complete program. */
#ifndef CT_PASS_H
#define CT_PASS_H

#include "ir_build.h"

void ct_pass_async(CtIr *ir); /* waits that asynchronous copies imply */
void ct_pass_wraps(CtIr *ir); /* WRAPS of shifts that only bits matter of go */
CtStatus ct_pass_dce(CtIr *ir, CtErr *err) CT_NODISCARD; /* what nothing needs; CtSlot.used */
void ct_pass_contract(CtIr *ir); /* a*b + c becomes one operation, if the kernel allows it */
void ct_pass_early(CtIr *ir);    /* index arithmetic before loops, if the kernel asks */
CtStatus ct_pass_registers(CtIr *ir, CtErr *err) CT_NODISCARD; /* indices of register arrays */

#endif
