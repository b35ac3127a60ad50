/* atom.h: MMA and copy atoms: what one instruction of a device computes or moves, and which thread
   holds which element. The rows are in atoms.def; those of wgmma are made from N, and UniversalFMA of
   any types from its name. An atom is data: what executes it is another file's business.

   An atom of wgmma or with `<...>` in its name exists only as the value that these functions fill,
   so atoms are passed by value; their texts are part of the value or live forever. */
#ifndef CT_ATOM_H
#define CT_ATOM_H

#include "runtime/base/dtype.h"

typedef enum CtAtomKind { CT_ATOM_MMA, CT_ATOM_COPY } CtAtomKind;

/* Operands of an MMA, and the sides of a copy. D lies as C. SFA and SFB are the scales of A and of B. */
typedef enum CtAtomOperand {
  CT_ATOM_A,
  CT_ATOM_B,
  CT_ATOM_C,
  CT_ATOM_D,
  CT_ATOM_SFA,
  CT_ATOM_SFB,
  CT_ATOM_OPERANDS
} CtAtomOperand;
typedef enum CtAtomSide { CT_ATOM_SRC, CT_ATOM_DST, CT_ATOM_REF } CtAtomSide;

typedef struct CtAtomType {
  const char *name; /* the language's name if it has the type: "f16"; else "i4", "u1", "c64" */
  const char *ptx;  /* "f16", "s8", "b1" */
  int bits;         /* of its place in a register */
} CtAtomType;

/* Which targets have an atom whose first one is sm: all from it on; those of its family (sm_90a; sm_120a and sm_121a);
   those with tensor memory; and of these the ones that multiply integers, sm_100a and sm_110a but no sm_100f. */
typedef enum CtAtomTargets {
  CT_TARGETS_FROM,
  CT_TARGETS_FAMILY,
  CT_TARGETS_TENSOR,
  CT_TARGETS_INTEGERS
} CtAtomTargets;

enum { CT_ATOM_TEXT_MAX = 64, CT_ATOM_PTX_MAX = 112 };

typedef struct CtAtom {
  CtAtomKind kind;
  char name[CT_ATOM_TEXT_MAX]; /* as in CuTe: "SM80_16x8x16_F32F16F16F32_TN" */
  const char *family;    /* "fma", "dp", "mma.sync", "wgmma", "tcgen05"; "copy", "ldmatrix", ... */
  int sm;                /* the first that has it: 80; 0 any */
  CtAtomTargets targets; /* which of the later ones have it, too */
  char ptx[CT_ATOM_PTX_MAX]; /* the instruction without its operands; "" for plain code */
  int times;                 /* how many of the instructions an atom takes */
  const char *section;       /* of the PTX ISA; "" if there is no instruction */
  int threads;               /* that take part */
  const char *thr_id;        /* layout: logical thread -> lane of the warp or warpgroup */
  /* Layouts: of an MMA (thread, value) -> element of A, B and C; of a copy (thread, bit) -> bit of
     the source, the destination, and the order that tiles are made in. Of scales: (thread, value) -> element
     of `vec` scales for each row of A, or column of B; threads whose value is another's, too, supply none. */
  char layouts[CT_ATOM_OPERANDS][CT_ATOM_TEXT_MAX];
  /* For an MMA only; indexed by CtAtomOperand. */
  int m, n, k;
  int vec; /* scales of a row of A and of a column of B, each for k / vec elements; 0: there are none */
  CtAtomType types[CT_ATOM_OPERANDS];
  /* of one thread: 32 bits each, or 64 if a type is that wide */
  int registers[CT_ATOM_OPERANDS];
  /* the operand is a descriptor of shared memory: one register of 64 bits */
  bool from_shared[CT_ATOM_OPERANDS];
  /* it is an address of tensor memory: one register of 32 bits */
  bool from_tensor[CT_ATOM_OPERANDS];
} CtAtom;

/* All atoms with a row, those of wgmma by N, in order: first products, then copies. */
int ct_atom_count(void);
void ct_atom_get(int i, CtAtom *out); /* 0 <= i < ct_atom_count() */

/* Whether to go on. */
typedef bool (*CtAtomVisit)(void *ud, const CtAtom *atom);
/* Visits all in their order, which is much quicker than to get each; false: a visit ended it. */
bool ct_atom_each(CtAtomVisit visit, void *ud);

/* Has one the instructions of tensor memory, tcgen05? The families of 100 and 110 have. */
static inline bool ct_sm_has_tcgen05(int sm) { return sm >= 100 && sm < 120; }
/* Of a product by tcgen05, whose threads are blocks: how many blocks multiply together, 1 or 2, each with its rows of
   A, B and the sums (PTX ISA, .cta_group); of other atoms 1. */
static inline int ct_atom_blocks(const CtAtom *atom) {
  return atom->from_tensor[CT_ATOM_C] ? atom->threads : 1;
}
/* Of an instruction of tcgen05 that names it, a product or a copy of scales: is it of a pair of blocks? */
bool ct_atom_is_of_pair(const CtAtom *atom);
/* The bits of one lane that a copy of tensor memory moves, and how many lanes. */
typedef struct CtTmemShape {
  int lanes, bits;
} CtTmemShape;
CtTmemShape ct_atom_tmem_shape(const CtAtom *atom);

/* The instruction descriptor of a product by tcgen05 (PTX ISA, "Instruction descriptor"). */
uint32_t ct_atom_instruction_word(const CtAtom *atom, bool is_a_mn_major, bool is_b_mn_major);

/* The atom of this name; false when there is none, and *out is as it was. UniversalFMA<D,A,B,C> takes
   the element types of the language, as in CuTe the later ones may be left out: A is D, B is A, C is D. */
bool ct_atom_find(const char *name, CtAtom *out);

/* Does the target of compute capability `sm` (90 for 9.0) have the instruction? is_common: the target stands for its whole
   family, as sm_100f does. */
bool ct_atom_is_on(const CtAtom *atom, int sm, bool is_common);

/* Of an MMA whose operands are in registers, by operand: the type of the elements of a thread's tensor,
   u32 where the language has no type of so few bits, CT_VOID where it has none at all; how many of the
   instruction's elements, consecutive in k, one of these has (1, or 8 of i4, 32 of u1); and how many of
   them a thread holds. */
CtDtype ct_atom_dtype(const CtAtom *atom, CtAtomOperand of);
int ct_atom_per_element(const CtAtom *atom, CtAtomOperand of);
int ct_atom_values(const CtAtom *atom, CtAtomOperand of);

#endif
