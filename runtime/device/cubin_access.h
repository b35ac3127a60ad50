/* cubin_access.h: the instructions of a cubin that access shared or global memory: what each takes of a lane at
   once, and which line of the script it is from. For sm_70 and later, whose instructions have 128 bits. NVIDIA
   does not document them; what is read agrees with nvdisasm (scripts/cubin_beside_nvdisasm.lua):
     bits 0 to 8    the operation; 9 to 11 where operands come from
     bits 12 to 15  the predicate; 15: never
     a branch       how many words of 4 bytes lie between its end and where it goes: before sm_90 48 bits from
                    bit 34 on; then 8 bits more, from bit 16 on, which are the lowest
     bits 73 to 75  the width: u8, s8, u16, s16, 32, 64, 128 bits; of LDGSTS from sm_100 on it is in
                    bits 74 and 75: 32, 64, 128 bits
   An instruction that is never carried out is left out: before copies by LDGSTS the assembler puts three LDS
   of that kind. */
#ifndef CT_CUBIN_ACCESS_H
#define CT_CUBIN_ACCESS_H

#include "runtime/base/arena.h"

typedef enum CtCubinOp { CT_CUBIN_LOAD, CT_CUBIN_STORE, CT_CUBIN_COPY } CtCubinOp; /* LDGSTS */
typedef enum CtCubinSpace {
  CT_CUBIN_SHARED,
  CT_CUBIN_GLOBAL,
  CT_CUBIN_GENERIC /* either: the address says which */
} CtCubinSpace;

typedef struct CtCubinAccess {
  uint64_t at; /* in its section */
  CtCubinOp op;
  CtCubinSpace space;
  int bits;        /* of a lane */
  bool is_in_loop; /* a branch behind it goes to before it: a warp may carry it out again */
  /* In no loop, and a branch of this later line of the script goes past it: a compiler has moved it to where
     alone it is needed, and not all warps may come there. 0: no such branch. */
  uint32_t sunk_by;
  const char *folder, *file; /* in the image; "": not known */
  uint32_t line;
} CtCubinAccess;

typedef struct CtCubinAccesses {
  CtAlloc alloc;
  CtCubinAccess *list;
  size_t n, cap;
} CtCubinAccesses;

/* Those of all functions of the cubin. A line is of the innermost function that is of no text of our own (a
   file *.cu). An image that is no cubin has none. Close it in any case. */
CtStatus ct_cubin_accesses(CtAlloc alloc, const void *image, size_t len, CtCubinAccesses *out,
                           CtErr *err) CT_NODISCARD;
void ct_cubin_accesses_close(CtCubinAccesses *a);

#endif
