/* simt_operand.h: an instruction's operands in memory, as far as the program determines them: for
   lowering, for watchers, and for simt_access.h, which adds what a warp knows. */
#ifndef CT_SIMT_OPERAND_H
#define CT_SIMT_OPERAND_H

#include "simt_program.h"

/* Which operand of the operation it is. A scalar load has the source; a store or an atomic
   operation has the destination. */
typedef enum CtAccessRole {
  CT_ACCESS_DST,
  CT_ACCESS_A,
  CT_ACCESS_B,
  CT_ACCESS_SFA, /* the scales of A and of B */
  CT_ACCESS_SFB
} CtAccessRole;

typedef struct CtOperand {
  uint32_t buf;
  CtAccessRole role;
  bool reads, writes;   /* both: atomic operations, and sums that are added to */
  const CtTileArg *arg; /* for TILE; else NULL */
  const CtIn *code;     /* for MEMORY and DOT: the load or store; else NULL */
} CtOperand;

/* A copy_if has three, a GEMM has three, and two more with scales. */
enum { CT_MAX_OPERANDS = 5 };

/* The number of operands; 0 if the instruction touches no memory. Fragments count as memory here.
   TILE has A, B, scales and the destination, if the operation uses them; TMA has the tensor, then the
   box. */
int ct_simt_operands(const CtSimtProgram *p, const CtIn *code, CtOperand out[CT_MAX_OPERANDS]);

/* The operation of which the instruction of this number is a part, among those that TMA and mbarriers have;
   CT_OP_NONE of others. Its text is its name in messages. */
CtOp ct_in_op(const CtSimtProgram *p, uint32_t in);

#endif
