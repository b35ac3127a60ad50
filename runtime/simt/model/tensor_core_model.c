/* tensor_core_model.c: which arithmetic each atom has on each target. */
#include "tensor_core.h"

#include "exact_product.h"

#include <string.h>

/* --- what targets have --- */

/* Block sizes of f16 and bf16 (tf32 has half of that); binary places that are kept. */
typedef struct Target {
  int sm; /* the first compute capability of this kind */
  int block, fraction_bits;
  bool has_fp8; /* mma.sync has its own instructions for eight-bit floats */
} Target;

static const Target targets[] = {
    {70, 4, 23, false},   /* published */
    {75, 8, 24, false},   /* published */
    {80, 8, 24, false},   /* published */
    {89, 8, 24, true},    /* published */
    {90, 16, 25, false},  /* measured on an H200 */
    {100, 16, 25, false}, /* published for f16, bf16 and tf32 */
};

static const Target *target_of(int sm) {
  const Target *t = &targets[0];
  for (size_t i = 1; i < CT_ARRAY_LEN(targets) && targets[i].sm <= sm; i++) {
    t = &targets[i];
  }
  return t;
}

/* --- types --- */

typedef struct Operand {
  const char *name;
  int min_exponent;
} Operand;

static const Operand operands[] = {
    {"f16", -14}, {"bf16", -126}, {"tf32", -126}, {"f8e4m3", -6}, {"f8e5m2", -14},
};

static const Operand *operand_of(const CtAtomType *type) {
  for (size_t i = 0; i < CT_ARRAY_LEN(operands); i++) {
    if (strcmp(operands[i].name, type->name) == 0) {
      return &operands[i];
    }
  }
  return NULL;
}

static bool is_type(const CtAtom *atom, CtAtomOperand operand, const char *name) {
  return strcmp(atom->types[operand].name, name) == 0;
}

/* --- atoms --- */

/* Eight-bit floats. wgmma and sm_89 sum them with 13 binary places, sm_89 in two halves. Elsewhere
   ptxas turns an mma.sync into two products of f16s: of the first two of every four bytes, then of
   the other two, starting from 0; the accumulator is added last. */
static void use_fp8(const CtAtom *atom, const Target *t, CtTcModel *m) {
  bool is_wgmma = strcmp(atom->family, "wgmma") == 0;
  if (strcmp(atom->family, "tcgen05") == 0) { /* not published: as of f16 */
    return;
  }
  if (is_wgmma || t->has_fp8) {
    m->block = is_wgmma ? 32 : 16;
    m->fraction_bits = 13;
    m->round = m->round == CT_TC_F32 ? CT_TC_E8M13 : m->round;
    return;
  }
  m->block = 16;
  m->halves_of_4 = true;
  m->c_last = true;
  m->min_exponent[0] = m->min_exponent[1] = -14;
}

bool ct_tc_model(const CtAtom *atom, int sm, CtTcModel *out) {
  const Target *t = target_of(sm);
  if (atom->kind != CT_ATOM_MMA || strcmp(atom->family, "fma") == 0 || ct_is_exact(atom)) {
    return false;
  }
  const Operand *a = operand_of(&atom->types[CT_ATOM_A]);
  const Operand *b = operand_of(&atom->types[CT_ATOM_B]);
  if (a == NULL || b == NULL) {
    return false;
  }
  CtTcModel m = {.round = is_type(atom, CT_ATOM_D, "f16") ? CT_TC_F16 : CT_TC_F32,
                 .block = t->block,
                 .fraction_bits = t->fraction_bits,
                 .min_exponent = {a->min_exponent, b->min_exponent, -126},
                 .floor = -133};
  if (m.round == CT_TC_F16) {
    m.min_exponent[2] = -14;
  }
  if (is_type(atom, CT_ATOM_A, "tf32")) {
    m.is_tf32 = true;
    m.block = t->block < 8 ? 4 : t->block / 2;
  } else if (atom->types[CT_ATOM_A].bits == 8) {
    use_fp8(atom, t, &m);
  } else if (atom->k == 4 && atom->threads == 8 && t->sm >= 80) {
    /* The quad pairs' products of Volta: ordinary instructions from sm_80 on. */
    m.sum = m.round == CT_TC_F16 ? CT_TC_PAIRS : CT_TC_CHAIN;
    m.block = 4;
  }
  *out = m;
  return true;
}
