/* atom_tcgen05.c: atoms of sm_100: products with sums in tensor memory, and loads and stores of it. */
#include <stdio.h>
#include <string.h>

#include "atom_row.h"

typedef struct UmmaRow {
  const char *operation, *kind;
  CtAtomTypeId d, a, b;
  bool is_every;
} UmmaRow;

static const UmmaRow ummas[] = {
#define CT_UMMA(operation, kind, d, a, b, sizes)                                                   \
  {#operation,       #kind,                                                                        \
   CT_ATOM_TYPE_##d, CT_ATOM_TYPE_##a,                                                             \
   CT_ATOM_TYPE_##b, SIZES_##sizes == SIZES_EVERY},
#include "atoms.def"
};

typedef struct UmmaScaledRow {
  const char *operation, *kind;
  CtAtomTypeId a, b, scale;
  int vec;
  const char *tail;
} UmmaScaledRow;

static const UmmaScaledRow scaleds[] = {
#define CT_UMMA_SCALED(operation, kind, a, b, scale, vec, tail)                                    \
  {#operation, kind, CT_ATOM_TYPE_##a, CT_ATOM_TYPE_##b, CT_ATOM_TYPE_##scale, vec, tail},
#include "atoms.def"
};

typedef struct TmemRow {
  const char *shape;
  int lanes, bits, most;
  const char *ptx;
} TmemRow;

static const TmemRow tmems[] = {
#define CT_TMEM(shape, lanes, bits, most, ptx) {#shape, lanes, bits, most, ptx},
#include "atoms.def"
};

/* {====== From rows to atoms ====== */

/* The forms of a row: of one block or of a pair, with A in shared memory or in tensor memory. */
typedef struct UmmaForm {
  const char *name;
  int blocks;
  bool is_a_shared;
} UmmaForm;

static const UmmaForm forms[] = {
    {"SS", 1, true}, {"TS", 1, false}, {"2x1SM_SS", 2, true}, {"2x1SM_TS", 2, false}};
/* With scales: of one block, and of a pair. */
static const UmmaForm *const scaled_forms[] = {&forms[0], &forms[2]};

/* (block, (row, column)) -> element of a matrix whose rows the blocks share. */
static void put_rows(char out[CT_ATOM_TEXT_MAX], int blocks, int rows, int columns) {
  ct_atom_put(out, "(%d,(%d,%d)):(%d,(1,%d))", blocks, rows / blocks, columns,
              blocks == 1 ? 0 : rows / blocks, rows);
}

static bool has_umma_size(const UmmaRow *row, const UmmaForm *form, int m, int n) {
  int of_block = m / form->blocks;
  int step = form->blocks == 2 ? 32 : of_block == 128 ? 16 : 8;
  return ct_atom_has_n(row->is_every, n) && n % step == 0 && (of_block == 128 || form->is_a_shared);
}

/* One thread issues it: the operands are whole matrices, or each block's part of them. */
static CtAtom from_umma(const UmmaRow *row, const UmmaForm *form, int m, int n) {
  enum { K_BITS = 256 };
  int k = K_BITS / ct_atom_types[row->a].bits, blocks = form->blocks;
  bool is_a_shared = form->is_a_shared;
  CtAtom atom = {.kind = CT_ATOM_MMA,
                 .family = "tcgen05",
                 .sm = 100,
                 .targets = CT_TARGETS_TENSOR,
                 .times = 1,
                 .section = "9.7.16.10.9.1",
                 .threads = blocks,
                 .thr_id = blocks == 1 ? "1:0" : "2:1",
                 .m = m,
                 .n = n,
                 .k = k};
  ct_atom_put(atom.name, "SM100_MMA_%s_%s<%s,%s,%s,%d,%d>", row->operation, form->name,
              ct_atom_types[row->a].name, ct_atom_types[row->b].name, ct_atom_types[row->d].name, m,
              n);
  atom.targets = strcmp(row->kind, "i8") == 0 ? CT_TARGETS_INTEGERS : CT_TARGETS_TENSOR;
  ct_atom_put(atom.ptx, "tcgen05.mma.cta_group::%d.kind::%s", blocks, row->kind);
  ct_atom_set_types(&atom, row->d, row->a, row->b, row->d);
  atom.from_shared[CT_ATOM_A] = is_a_shared;
  atom.from_tensor[CT_ATOM_A] = !is_a_shared;
  atom.from_shared[CT_ATOM_B] = true;
  atom.from_tensor[CT_ATOM_C] = atom.from_tensor[CT_ATOM_D] = true;
  ct_atom_set_registers(&atom);
  put_rows(atom.layouts[CT_ATOM_A], blocks, m, k);
  put_rows(atom.layouts[CT_ATOM_B], blocks, n, k);
  put_rows(atom.layouts[CT_ATOM_C], blocks, m, n);
  return atom;
}

/* A matrix of scales has the rows of A, or of B, and `vec` columns. Each block of a pair has its rows of A's scales, and
   all of B's. */
enum { SCALED_ROWS = 128, SCALED_NS = 8, SCALED_STEP = 32 };

static CtAtom from_umma_scaled(const UmmaScaledRow *row, const UmmaForm *form, int n) {
  const UmmaRow plain = {row->operation, row->kind, CT_ATOM_TYPE_F32, row->a, row->b, true};
  int m = SCALED_ROWS * form->blocks;
  CtAtom atom = from_umma(&plain, form, m, n);
  ct_atom_put(atom.name, "SM100_MMA_%s_%s<%s,%s,f32,%s,%d,%d%s>", row->operation, form->name,
              ct_atom_types[row->a].name, ct_atom_types[row->b].name,
              ct_atom_types[row->scale].name, m, n, row->tail);
  atom.vec = row->vec;
  atom.types[CT_ATOM_SFA] = atom.types[CT_ATOM_SFB] = ct_atom_types[row->scale];
  atom.from_tensor[CT_ATOM_SFA] = atom.from_tensor[CT_ATOM_SFB] = true;
  put_rows(atom.layouts[CT_ATOM_SFA], form->blocks, m, row->vec);
  ct_atom_put(atom.layouts[CT_ATOM_SFB], "(%d,(%d,%d)):(0,(1,%d))", form->blocks, n, row->vec, n);
  ct_atom_set_registers(&atom);
  return atom;
}

/* (thread, bit) -> bit, the bits of a lane of tensor memory one after the other, then those of the next. */
static void put_tmem_layout(char out[CT_ATOM_TEXT_MAX], const TmemRow *row, int times) {
  int lane = row->bits * times; /* bits of one lane */
  if (row->lanes == 32) {
    ct_atom_put(out, "(32,%d):(%d,1)", lane, lane);
  } else if (row->bits == 64) {
    ct_atom_put(out, "((2,2,8),(32,%d)):((%d,32,%d),(1,64))", times, 8 * lane, lane);
  } else {
    ct_atom_put(out, "((4,8),(%d,2,%d)):((%d,%d),(1,%d,%d))", row->bits / 4, times, row->bits / 4,
                lane, 8 * lane, row->bits);
  }
}

/* Both sides are what a thread has in registers: CuTe's source of a load is the whole piece of tensor memory, for
   all threads, because the instruction takes one address. */
static CtAtom from_tmem(const TmemRow *row, bool is_load, int times) {
  CtAtom atom = {.kind = CT_ATOM_COPY,
                 .family = is_load ? "tcgen05.ld" : "tcgen05.st",
                 .sm = 100,
                 .targets = CT_TARGETS_TENSOR,
                 .times = 1,
                 .section = is_load ? "9.7.16.8.3" : "9.7.16.8.4",
                 .threads = 32,
                 .thr_id = "32:1"};
  ct_atom_put(atom.name, "SM100_TMEM_%s_%s%dx", is_load ? "LOAD" : "STORE", row->shape, times);
  ct_atom_put(atom.ptx, "%s.sync.aligned.%s.x%d.b32", atom.family, row->ptx, times);
  for (int i = 0; i < 3; i++) {
    put_tmem_layout(atom.layouts[i], row, times);
  }
  return atom;
}

/* {====== By number, by name ====== */

/* The tcgen05 atoms in order: products by row, form, M and N, then those with scales by row, form and N; then loads and
   stores. */
enum { UMMA_MS = 2, UMMA_SIZES = UMMA_MS * CT_ATOM_SIZES_N };

/* One size of one form of one row; not all of them exist. */
typedef struct UmmaAt {
  const UmmaRow *row;
  const UmmaForm *form;
  int m, n;
} UmmaAt;

enum { N_UMMA_AT = CT_ARRAY_LEN(ummas) * CT_ARRAY_LEN(forms) * UMMA_SIZES };

static bool find_umma(int i, UmmaAt *out) {
  const UmmaForm *form = &forms[i / UMMA_SIZES % (int)CT_ARRAY_LEN(forms)];
  *out = (UmmaAt){.row = &ummas[i / UMMA_SIZES / (int)CT_ARRAY_LEN(forms)],
                  .form = form,
                  .m = form->blocks * 64 << i / CT_ATOM_SIZES_N % UMMA_MS,
                  .n = 8 + 8 * (i % CT_ATOM_SIZES_N)};
  return has_umma_size(out->row, form, out->m, out->n);
}

enum { N_SCALED = CT_ARRAY_LEN(scaleds) * CT_ARRAY_LEN(scaled_forms) * SCALED_NS };

static CtAtom scaled_umma_at(int at) {
  int n_forms = (int)CT_ARRAY_LEN(scaled_forms), form = at / SCALED_NS % n_forms;
  return from_umma_scaled(&scaleds[at / SCALED_NS / n_forms], scaled_forms[form],
                          SCALED_STEP + SCALED_STEP * (at % SCALED_NS));
}

int ct_atom_count_umma(void) {
  UmmaAt at;
  int n = N_SCALED;
  for (int i = 0; i < N_UMMA_AT; i++) {
    n += find_umma(i, &at);
  }
  return n;
}

CtAtom ct_atom_umma(int at) {
  UmmaAt found;
  for (int i = 0; i < N_UMMA_AT; i++) {
    if (find_umma(i, &found) && at-- == 0) {
      return from_umma(found.row, found.form, found.m, found.n);
    }
  }
  return scaled_umma_at(at);
}

bool ct_atom_each_umma(CtAtomVisit visit, void *ud) {
  bool goes_on = true;
  UmmaAt at;
  for (int i = 0; goes_on && i < N_UMMA_AT; i++) {
    if (find_umma(i, &at)) {
      CtAtom atom = from_umma(at.row, at.form, at.m, at.n);
      goes_on = visit(ud, &atom);
    }
  }
  for (int i = 0; goes_on && i < N_SCALED; i++) {
    CtAtom atom = scaled_umma_at(i);
    goes_on = visit(ud, &atom);
  }
  return goes_on;
}

int ct_atom_count_tmem(void) {
  int n = 0;
  for (size_t row = 0; row < CT_ARRAY_LEN(tmems); row++) {
    for (int times = 1; times <= tmems[row].most; times *= 2) {
      n += 2;
    }
  }
  return n;
}

CtAtom ct_atom_tmem(int at) {
  bool is_load = at < ct_atom_count_tmem() / 2;
  at -= is_load ? 0 : ct_atom_count_tmem() / 2;
  for (size_t row = 0; row < CT_ARRAY_LEN(tmems); row++) {
    for (int times = 1; times <= tmems[row].most; times *= 2) {
      if (at-- == 0) {
        return from_tmem(&tmems[row], is_load, times);
      }
    }
  }
  CT_UNREACHABLE();
}

typedef struct Sought {
  const char *name;
  CtAtom *out;
} Sought;

static bool is_other(void *ud, const CtAtom *atom) {
  const Sought *sought = ud;
  bool is_it = strcmp(atom->name, sought->name) == 0;
  if (is_it) {
    *sought->out = *atom;
  }
  return !is_it;
}

/* Few scripts name many: the table is searched from the start. */
bool ct_atom_find_tcgen05(const char *name, CtAtom *out) {
  Sought sought = {name, out};
  if (strncmp(name, "SM100_MMA_", 10) == 0) {
    return !ct_atom_each_umma(is_other, &sought);
  }
  bool is_found = false;
  for (int i = 0; strncmp(name, "SM100_TMEM_", 11) == 0 && !is_found && i < ct_atom_count_tmem();
       i++) {
    CtAtom atom = ct_atom_tmem(i);
    is_found = !is_other(&sought, &atom);
  }
  return is_found;
}

/* {====== Of tensor memory ====== */

bool ct_atom_is_of_pair(const CtAtom *atom) { return strstr(atom->ptx, ".cta_group::2") != NULL; }

CtTmemShape ct_atom_tmem_shape(const CtAtom *atom) {
  for (size_t row = 0; row < CT_ARRAY_LEN(tmems); row++) {
    const char *at = strstr(atom->name, tmems[row].shape);
    int times;
    if (at != NULL && ct_atom_read_number(at + strlen(tmems[row].shape), &times) != NULL) {
      return (CtTmemShape){tmems[row].lanes, tmems[row].bits * times};
    }
  }
  CT_UNREACHABLE();
}

/* {====== Descriptors ====== */

uint32_t ct_atom_instruction_word(const CtAtom *atom, bool is_a_mn_major, bool is_b_mn_major) {
  static const struct {
    const char *type;
    uint32_t code;
  } codes[] = {{"f16", 0}, {"bf16", 1}, {"tf32", 2}, {"f8e4m3", 0}, {"f8e5m2", 1},
               {"u8", 0},  {"i8", 1},   {"f32", 1},  {"i32", 2},    {"f4e2m1", 1}};
  uint32_t of[3] = {0}, scales = 0;
  for (int i = 0; i < 3; i++) {
    for (size_t k = 0; k < CT_ARRAY_LEN(codes); k++) {
      of[i] = strcmp(atom->types[i].name, codes[k].type) == 0 ? codes[k].code : of[i];
    }
  }
  if (atom->vec > 0) { /* the numbers of scales within a word are added where it is emitted */
    enum { IS_UE8M0 = 1 << 23 };
    of[CT_ATOM_C] = 0;
    scales = strcmp(atom->types[CT_ATOM_SFA].name, "f8ue8m0") == 0 ? IS_UE8M0 : 0;
  }
  return scales | of[CT_ATOM_C] << 4 | of[CT_ATOM_A] << 7 | of[CT_ATOM_B] << 10 |
         (uint32_t)is_a_mn_major << 15 | (uint32_t)is_b_mn_major << 16 |
         (uint32_t)atom->n >> 3 << 17 | (uint32_t)atom->m >> 4 << 24;
}
