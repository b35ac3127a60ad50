/* atom_row.c: the types of atoms, and what is counted and written of each. */
#include "atom_row.h"

#include <stdarg.h>
#include <stdio.h>

const CtAtomType ct_atom_types[CT_ATOM_TYPES] = {
#define CT_ATOM_TYPE(id, name, ptx, bits) {name, ptx, bits},
#include "atoms.def"
};

void ct_atom_put(char out[CT_ATOM_TEXT_MAX], const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(out, CT_ATOM_TEXT_MAX, format, args);
  va_end(args);
  CT_ASSERT(n >= 0 && n < CT_ATOM_TEXT_MAX);
  (void)n;
}

/* Registers of one thread for n values. */
static int count_registers(CtAtomType t, int n) {
  int unit = t.bits < 64 ? 32 : 64;
  return (n * t.bits + unit - 1) / unit;
}

void ct_atom_set_types(CtAtom *atom, CtAtomTypeId d, CtAtomTypeId a, CtAtomTypeId b,
                       CtAtomTypeId c) {
  atom->types[CT_ATOM_A] = ct_atom_types[a];
  atom->types[CT_ATOM_B] = ct_atom_types[b];
  atom->types[CT_ATOM_C] = ct_atom_types[c];
  atom->types[CT_ATOM_D] = ct_atom_types[d];
}

int ct_atom_count_values(const CtAtom *atom, int of) {
  if (of == CT_ATOM_SFA || of == CT_ATOM_SFB) {
    return atom->vec; /* several threads have the same */
  }
  const int sizes[] = {[CT_ATOM_A] = atom->m * atom->k,
                       [CT_ATOM_B] = atom->n * atom->k,
                       [CT_ATOM_C] = atom->m * atom->n,
                       [CT_ATOM_D] = atom->m * atom->n};
  return sizes[of] / atom->threads;
}

void ct_atom_set_registers(CtAtom *atom) {
  for (int i = 0; i < CT_ATOM_OPERANDS; i++) {
    bool is_one = atom->from_shared[i] || atom->from_tensor[i];
    atom->registers[i] =
        is_one ? 1 : count_registers(atom->types[i], ct_atom_count_values(atom, i));
  }
}

bool ct_atom_has_n(bool is_every, int n) {
  return n >= 8 && n <= 256 && n % 8 == 0 && (is_every || n % 16 == 0 || n == 8 || n == 24);
}

const char *ct_atom_read_number(const char *s, int *out) {
  int n = 0, digits = 0;
  for (; s[digits] >= '0' && s[digits] <= '9' && digits < 3; digits++) {
    n = 10 * n + (s[digits] - '0');
  }
  *out = n;
  return digits > 0 && s[0] != '0' ? s + digits : NULL;
}
