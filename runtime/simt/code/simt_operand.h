/* simt_operand.h: the operands in memory of an instruction of the CPU engine, as far as the program says:
   for lowering, for those who watch, and for simt_access.h, which adds what a warp makes of them. */
#ifndef CT_SIMT_OPERAND_H
#define CT_SIMT_OPERAND_H

#include "simt_program.h"

/* Which operand of the operation it is. Scalar loads have the source, stores and atomic operations the
   destination. */
typedef enum CtAccessRole { CT_ACCESS_DST, CT_ACCESS_A, CT_ACCESS_B } CtAccessRole;

typedef struct CtOperand {
  uint32_t buf;
  CtAccessRole role;
  bool reads, writes;   /* both: atomic operations, and what is added to */
  const CtTileArg *arg; /* of TILE; else NULL */
  const CtIn *code;     /* of MEMORY and DOT: the load or store; else NULL */
} CtOperand;

/* A copy_if has three, a GEMM has three. */
enum { CT_MAX_OPERANDS = 3 };

/* Their number; 0 where the instruction touches no memory. Fragments are memory here. Of TILE they are A,
   B and the destination, as far as it has them; of TMA the tensor, then the box. */
int ct_simt_operands(const CtSimtProgram *p, const CtIn *code, CtOperand out[CT_MAX_OPERANDS]);

#endif
