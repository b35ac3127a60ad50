/* atom_row.h: what files that make atoms from the rows of atoms.def share. */
#ifndef CUTTLE_RUNTIME_IR_ATOM_ROW_H
#define CUTTLE_RUNTIME_IR_ATOM_ROW_H

#include "atom.h"

typedef enum CtAtomTypeId {
#define CT_ATOM_TYPE(id, name, ptx, bits) CT_ATOM_TYPE_##id,
#include "atoms.def"
  CT_ATOM_TYPES
} CtAtomTypeId;

extern const CtAtomType ct_atom_types[CT_ATOM_TYPES];

/* Whether a row has every N that is a multiple of 8, or only those that products of integers have. */
enum { SIZES_INTS = 0, SIZES_EVERY = 1 };
/* N of products of sm_90 and sm_100 is one of 8, 16, ... 256. */
enum { CT_ATOM_SIZES_N = 256 / 8 };

bool ct_atom_has_n(bool is_every, int n);

/* printf into one of an atom's texts, which is known to fit. */
CT_PRINTF(2, 3) void ct_atom_put(char out[CT_ATOM_TEXT_MAX], const char *format, ...);

void ct_atom_set_types(CtAtom *atom, CtAtomTypeId d, CtAtomTypeId a, CtAtomTypeId b,
                       CtAtomTypeId c);
/* Elements of an operand that one thread has. */
int ct_atom_count_values(const CtAtom *atom, int of);
/* From the types, the sizes, and where the operands lie. */
void ct_atom_set_registers(CtAtom *atom);

/* A number without sign or leading zero, below 1000; NULL when there is none, else what follows. */
const char *ct_atom_read_number(const char *s, int *out);

/* The atoms of atom_tcgen05.c, by number and by name. */
int ct_atom_count_umma(void);
CtAtom ct_atom_umma(int at);
bool ct_atom_each_umma(CtAtomVisit visit, void *ud); /* as ct_atom_each */
int ct_atom_count_tmem(void);
CtAtom ct_atom_tmem(int at);
bool ct_atom_find_tcgen05(const char *name, CtAtom *out);

#endif
