/* atom.c: the table of atoms, and the atoms that are made by rule. */
#include "atom.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* {====== The rows ====== */

typedef enum Type {
#define CT_ATOM_TYPE(id, name, ptx, bits) TYPE_##id,
#include "atoms.def"
  TYPE_COUNT
} Type;

static const CtAtomType types[TYPE_COUNT] = {
#define CT_ATOM_TYPE(id, name, ptx, bits) {name, ptx, bits},
#include "atoms.def"
};

typedef enum Form {
#define CT_MMA_FORM(id, family, m, n, k, threads, thr_id, a, b, c, ptx, section) FORM_##id,
#include "atoms.def"
  FORM_COUNT
} Form;

typedef struct FormRow {
  const char *family;
  int m, n, k, threads;
  const char *thr_id, *layouts[3], *ptx, *section;
} FormRow; /* layouts: of A, B and C */

static const FormRow forms[FORM_COUNT] = {
#define CT_MMA_FORM(id, family, m, n, k, threads, thr_id, a, b, c, ptx, section)                   \
  {family, m, n, k, threads, thr_id, {a, b, c}, ptx, section},
#include "atoms.def"
};

typedef enum Majors { MAJORS_NONE, MAJORS_TN, MAJORS_NT, MAJORS_NN, MAJORS_TT } Majors;

static const char *const major_texts[] = {
    [MAJORS_TN] = ".row.col.",
    [MAJORS_NT] = ".col.row.",
    [MAJORS_NN] = ".col.col.",
    [MAJORS_TT] = ".row.row.",
};

typedef struct MmaRow {
  const char *name;
  Form form;
  Type d, a, b, c;
  Majors majors;
  const char *tail;
  int times, sm;
} MmaRow;

static const MmaRow mmas[] = {
#define CT_MMA(name, form, d, a, b, c, majors, tail, times, sm)                                    \
  {#name, FORM_##form, TYPE_##d, TYPE_##a, TYPE_##b, TYPE_##c, MAJORS_##majors, tail, times, sm},
#include "atoms.def"
};

typedef struct NarrowRow {
  Type a, b;
} NarrowRow;

static const NarrowRow narrows[] = {
#define CT_NARROW(a, b) {TYPE_##a, TYPE_##b},
#include "atoms.def"
};

typedef struct ScaledRow {
  Form form;
  Type d, a, b, c, scale;
  int vec;
  const char *kind;
} ScaledRow;

static const ScaledRow scaleds[] = {
#define CT_SCALED(form, d, a, b, c, scale, vec, kind)                                              \
  {FORM_##form, TYPE_##d, TYPE_##a, TYPE_##b, TYPE_##c, TYPE_##scale, vec, kind},
#include "atoms.def"
};

typedef struct WgmmaRow {
  const char *name; /* the rest of the name after SM90_64xNxK_ */
  int k;
  Type d, a, b;
  bool is_a_shared, is_every;
  const char *tail;
} WgmmaRow;

enum { SOURCE_RS, SOURCE_SS, SIZES_INTS = 0, SIZES_EVERY = 1 };

static const WgmmaRow wgmmas[] = {
#define CT_WGMMA(name, k, d, a, b, source, tail, sizes)                                            \
  {#name,                                                                                          \
   k,                                                                                              \
   TYPE_##d,                                                                                       \
   TYPE_##a,                                                                                       \
   TYPE_##b,                                                                                       \
   SOURCE_##source == SOURCE_SS,                                                                   \
   SIZES_##sizes == SIZES_EVERY,                                                                   \
   tail},
#include "atoms.def"
};

typedef struct UmmaRow {
  const char *operation, *kind;
  Type d, a, b;
  bool is_every;
} UmmaRow;

static const UmmaRow ummas[] = {
#define CT_UMMA(operation, kind, d, a, b, sizes)                                                   \
  {#operation, #kind, TYPE_##d, TYPE_##a, TYPE_##b, SIZES_##sizes == SIZES_EVERY},
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

typedef struct CopyRow {
  const char *name, *family;
  int threads, sm;
  const char *thr_id, *layouts[3], *ptx, *section;
} CopyRow;

static const CopyRow copies[] = {
#define CT_COPY(name, family, threads, thr_id, src, dst, ref, sm, ptx, section)                    \
  {name, family, threads, sm, thr_id, {src, dst, ref}, ptx, section},
#include "atoms.def"
};

/* Types of UniversalFMA that are listed. */
static const Type universal[] = {TYPE_F64, TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_S32};

/* {====== From rows to atoms ====== */

/* vsnprintf, of texts that are known to fit. */
static CT_PRINTF(3, 0) void put_all(char *out, size_t size, const char *format, va_list args) {
  int n = vsnprintf(out, size, format, args);
  CT_ASSERT(n >= 0 && (size_t)n < size);
  (void)n;
}

static CT_PRINTF(2, 3) void put(char out[CT_ATOM_TEXT_MAX], const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_all(out, CT_ATOM_TEXT_MAX, format, args);
  va_end(args);
}

static CT_PRINTF(2, 3) void put_ptx(CtAtom *atom, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_all(atom->ptx, sizeof atom->ptx, format, args);
  va_end(args);
}

/* Registers of one thread for n values. */
static int count_registers(CtAtomType t, int n) {
  int unit = t.bits < 64 ? 32 : 64;
  return (n * t.bits + unit - 1) / unit;
}

static void set_types(CtAtom *atom, Type d, Type a, Type b, Type c) {
  atom->types[CT_ATOM_A] = types[a];
  atom->types[CT_ATOM_B] = types[b];
  atom->types[CT_ATOM_C] = types[c];
  atom->types[CT_ATOM_D] = types[d];
}

/* Elements of an operand that one thread has. */
static int count_values(const CtAtom *atom, int of) {
  if (of == CT_ATOM_SFA || of == CT_ATOM_SFB) {
    return atom->vec; /* several threads have the same */
  }
  const int sizes[] = {[CT_ATOM_A] = atom->m * atom->k,
                       [CT_ATOM_B] = atom->n * atom->k,
                       [CT_ATOM_C] = atom->m * atom->n,
                       [CT_ATOM_D] = atom->m * atom->n};
  return sizes[of] / atom->threads;
}

static void set_registers(CtAtom *atom) {
  for (int i = 0; i < CT_ATOM_OPERANDS; i++) {
    bool is_one = atom->from_shared[i] || atom->from_tensor[i];
    atom->registers[i] = is_one ? 1 : count_registers(atom->types[i], count_values(atom, i));
  }
}

static CtAtom from_form(const FormRow *f) {
  CtAtom atom = {.kind = CT_ATOM_MMA,
                 .family = f->family,
                 .times = 1,
                 .section = f->section,
                 .threads = f->threads,
                 .thr_id = f->thr_id,
                 .m = f->m,
                 .n = f->n,
                 .k = f->k};
  for (int i = 0; i < 3; i++) {
    put(atom.layouts[i], "%s", f->layouts[i]);
  }
  return atom;
}

static CtAtom from_mma(const MmaRow *row) {
  const FormRow *f = &forms[row->form];
  CtAtom atom = from_form(f);
  put(atom.name, "%s", row->name);
  atom.sm = row->sm;
  atom.times = row->times;
  set_types(&atom, row->d, row->a, row->b, row->c);
  set_registers(&atom);
  if (row->majors == MAJORS_NONE) {
    put_ptx(&atom, "%s", f->ptx);
  } else {
    put_ptx(&atom, "%s%s%s.%s.%s.%s%s", f->ptx, major_texts[row->majors], types[row->d].ptx,
            types[row->a].ptx, types[row->b].ptx, types[row->c].ptx, row->tail);
  }
  return atom;
}

/* {====== Narrow floats of sm_120 ====== */

/* "<f8e4m3,f4e2m1,f32": the types in a name, up to what follows them. */
static void put_name(CtAtom *atom, const char *kind, Type a, Type b, Type c) {
  put(atom->name, "SM120_%dx%dx%d_%s<%s,%s,%s", atom->m, atom->n, atom->k, kind, types[a].name,
      types[b].name, types[c].name);
}

static void end_name(CtAtom *atom, const char *end) {
  size_t len = strlen(atom->name);
  CT_ASSERT(len + strlen(end) < sizeof atom->name);
  memcpy(atom->name + len, end, strlen(end) + 1);
}

static CtAtom from_scaled(const ScaledRow *row) {
  const FormRow *f = &forms[row->form];
  CtAtom atom = from_form(f);
  char end[32];
  snprintf(end, sizeof end, ",%s,%d>", types[row->scale].name, atom.k / row->vec);
  put_name(&atom, "TN_VS", row->a, row->b, row->c);
  end_name(&atom, end);
  atom.sm = 120;
  atom.is_sm_specific = true;
  atom.section = "9.7.14.5.14";
  atom.vec = row->vec;
  set_types(&atom, row->d, row->a, row->b, row->c);
  atom.types[CT_ATOM_SFA] = atom.types[CT_ATOM_SFB] = types[row->scale];
  put(atom.layouts[CT_ATOM_SFA], "((2,2,8),%d):((8,0,1),16)", row->vec);
  put(atom.layouts[CT_ATOM_SFB], "((4,8),%d):((0,1),8)", row->vec);
  set_registers(&atom);
  put_ptx(&atom, "%s.row.col%s.%s.%s.%s.%s.%s", f->ptx, row->kind, types[row->d].ptx,
          types[row->a].ptx, types[row->b].ptx, types[row->c].ptx, types[row->scale].ptx);
  return atom;
}

enum { NARROW_F32, NARROW_F16, NARROW_SCALED, NARROW_KINDS };

static CtAtom from_narrow(const NarrowRow *row, int kind) {
  if (kind == NARROW_SCALED) {
    return from_scaled(&(ScaledRow){FORM_m16n8k32_8, TYPE_F32, row->a, row->b, TYPE_F32, TYPE_UE8M0,
                                    1, ".kind::mxf8f6f4.block_scale.scale_vec::1X"});
  }
  Type c = kind == NARROW_F32 ? TYPE_F32 : TYPE_F16;
  const FormRow *f = &forms[FORM_m16n8k32_8];
  CtAtom atom = from_form(f);
  put_name(&atom, "TN", row->a, row->b, c);
  end_name(&atom, ">");
  atom.sm = 120;
  atom.is_sm_specific = true;
  atom.section = "9.7.14.5.14";
  set_types(&atom, c, row->a, row->b, c);
  set_registers(&atom);
  put_ptx(&atom, "%s.row.col.kind::f8f6f4.%s.%s.%s.%s", f->ptx, types[c].ptx, types[row->a].ptx,
          types[row->b].ptx, types[c].ptx);
  return atom;
}

/* {====== Atoms by rule ====== */

/* The element types d, a, b, c; only those that the language has. */
static CtAtom from_types(Type d, Type a, Type b, Type c) {
  CtAtom atom = from_form(&forms[FORM_fma]);
  set_types(&atom, d, a, b, c);
  set_registers(&atom);
  if (d == a && a == b && b == c) {
    put(atom.name, "UniversalFMA<%s>", types[d].name);
  } else {
    put(atom.name, "UniversalFMA<%s,%s,%s,%s>", types[d].name, types[a].name, types[b].name,
        types[c].name);
  }
  return atom;
}

static bool has_n(bool is_every, int n) {
  return n >= 8 && n <= 256 && n % 8 == 0 && (is_every || n % 16 == 0 || n == 8 || n == 24);
}
static bool has_size(const WgmmaRow *row, int n) { return has_n(row->is_every, n); }

/* A of a warpgroup in registers: a thread has 32 bits of k together, at two rows of 8 and two places
   of k; each warp has 16 rows. */
static void put_wgmma_a(char out[CT_ATOM_TEXT_MAX], int k, int bits) {
  int together = 32 / bits;
  if (together == 1) {
    put(out, "((4,8,4),(2,2)):((64,1,16),(8,256))");
  } else {
    put(out, "((4,8,4),(%d,2,2)):((%d,1,16),(64,8,%d))", together, 64 * together, 32 * k);
  }
}

static CtAtom from_wgmma(const WgmmaRow *row, int n) {
  CtAtom atom = {.kind = CT_ATOM_MMA,
                 .family = "wgmma",
                 .sm = 90,
                 .is_sm_specific = true,
                 .times = 1,
                 .section = "9.7.15.5.2",
                 .threads = 128,
                 .thr_id = "128:1",
                 .m = 64,
                 .n = n,
                 .k = row->k};
  put(atom.name, "SM90_64x%dx%d_%s", n, row->k, row->name);
  put_ptx(&atom, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s%s", n, row->k, types[row->d].ptx,
          types[row->a].ptx, types[row->b].ptx, row->tail);
  set_types(&atom, row->d, row->a, row->b, row->d);
  atom.from_shared[CT_ATOM_A] = row->is_a_shared;
  atom.from_shared[CT_ATOM_B] = true;
  set_registers(&atom);
  if (row->is_a_shared) {
    put(atom.layouts[CT_ATOM_A], "(128,(64,%d)):(0,(1,64))", row->k);
  } else {
    put_wgmma_a(atom.layouts[CT_ATOM_A], row->k, types[row->a].bits);
  }
  put(atom.layouts[CT_ATOM_B], "(128,(%d,%d)):(0,(1,%d))", n, row->k, n);
  put(atom.layouts[CT_ATOM_C], "((4,8,4),(2,2,%d)):((128,1,16),(64,8,512))", n / 8);
  return atom;
}

static bool has_umma_size(const UmmaRow *row, bool is_a_shared, int m, int n) {
  return has_n(row->is_every, n) && (m == 128 ? n % 16 == 0 : m == 64 && is_a_shared);
}

/* One thread issues it: the operands are whole matrices. */
static CtAtom from_umma(const UmmaRow *row, bool is_a_shared, int m, int n) {
  enum { K_BITS = 256 };
  int k = K_BITS / types[row->a].bits;
  CtAtom atom = {.kind = CT_ATOM_MMA,
                 .family = "tcgen05",
                 .sm = 100,
                 .is_sm_specific = true,
                 .times = 1,
                 .section = "9.7.16.10.9.1",
                 .threads = 1,
                 .thr_id = "1:0",
                 .m = m,
                 .n = n,
                 .k = k};
  put(atom.name, "SM100_MMA_%s_%s<%s,%s,%s,%d,%d>", row->operation, is_a_shared ? "SS" : "TS",
      types[row->a].name, types[row->b].name, types[row->d].name, m, n);
  put(atom.ptx, "tcgen05.mma.cta_group::1.kind::%s", row->kind);
  set_types(&atom, row->d, row->a, row->b, row->d);
  atom.from_shared[CT_ATOM_A] = is_a_shared;
  atom.from_tensor[CT_ATOM_A] = !is_a_shared;
  atom.from_shared[CT_ATOM_B] = true;
  atom.from_tensor[CT_ATOM_C] = atom.from_tensor[CT_ATOM_D] = true;
  set_registers(&atom);
  put(atom.layouts[CT_ATOM_A], "(1,(%d,%d)):(0,(1,%d))", m, k, m);
  put(atom.layouts[CT_ATOM_B], "(1,(%d,%d)):(0,(1,%d))", n, k, n);
  put(atom.layouts[CT_ATOM_C], "(1,(%d,%d)):(0,(1,%d))", m, n, m);
  return atom;
}

/* (thread, bit) -> bit, the bits of a lane of tensor memory one after the other, then those of the next. */
static void put_tmem_layout(char out[CT_ATOM_TEXT_MAX], const TmemRow *row, int times) {
  int lane = row->bits * times; /* bits of one lane */
  if (row->lanes == 32) {
    put(out, "(32,%d):(%d,1)", lane, lane);
  } else if (row->bits == 64) {
    put(out, "((2,2,8),(32,%d)):((%d,32,%d),(1,64))", times, 8 * lane, lane);
  } else {
    put(out, "((4,8),(%d,2,%d)):((%d,%d),(1,%d,%d))", row->bits / 4, times, row->bits / 4, lane,
        8 * lane, row->bits);
  }
}

/* Both sides are what a thread has in registers: CuTe's source of a load is the whole piece of tensor memory, for
   all threads, because the instruction takes one address. */
static CtAtom from_tmem(const TmemRow *row, bool is_load, int times) {
  CtAtom atom = {.kind = CT_ATOM_COPY,
                 .family = is_load ? "tcgen05.ld" : "tcgen05.st",
                 .sm = 100,
                 .is_sm_specific = true,
                 .times = 1,
                 .section = is_load ? "9.7.16.8.3" : "9.7.16.8.4",
                 .threads = 32,
                 .thr_id = "32:1"};
  put(atom.name, "SM100_TMEM_%s_%s%dx", is_load ? "LOAD" : "STORE", row->shape, times);
  put(atom.ptx, "%s.sync.aligned.%s.x%d.b32", atom.family, row->ptx, times);
  for (int i = 0; i < 3; i++) {
    put_tmem_layout(atom.layouts[i], row, times);
  }
  return atom;
}

static CtAtom from_copy(const CopyRow *row) {
  CtAtom atom = {.kind = CT_ATOM_COPY,
                 .family = row->family,
                 .sm = row->sm,
                 .times = 1,
                 .section = row->section,
                 .threads = row->threads,
                 .thr_id = row->thr_id};
  put(atom.name, "%s", row->name);
  put_ptx(&atom, "%s", row->ptx);
  for (int i = 0; i < 3; i++) {
    put(atom.layouts[i], "%s", row->layouts[i]);
  }
  return atom;
}

/* {====== By number ====== */

enum { WGMMA_SIZES = 256 / 8 }; /* N = 8, 16, ... 256 */

static int count_wgmma_sizes(const WgmmaRow *row) {
  int n = 0;
  for (int i = 1; i <= WGMMA_SIZES; i++) {
    n += has_size(row, 8 * i);
  }
  return n;
}

static int count_wgmmas(void) {
  int n = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(wgmmas); i++) {
    n += count_wgmma_sizes(&wgmmas[i]);
  }
  return n;
}

/* The i-th of the wgmma atoms. */
static CtAtom wgmma_at(int i) {
  for (size_t row = 0; row < CT_ARRAY_LEN(wgmmas); row++) {
    for (int n = 8; n <= 8 * WGMMA_SIZES; n += 8) {
      if (has_size(&wgmmas[row], n) && i-- == 0) {
        return from_wgmma(&wgmmas[row], n);
      }
    }
  }
  CT_UNREACHABLE();
}

/* The tcgen05 atoms in order: products of SS and TS, by M and N; then loads and stores. */
enum { UMMA_MS = 2, TMEM_TIMES = 8 };

static int count_ummas(void) {
  int n = 0;
  for (size_t row = 0; row < CT_ARRAY_LEN(ummas); row++) {
    for (int i = 0; i < 2 * UMMA_MS * WGMMA_SIZES; i++) {
      n += has_umma_size(&ummas[row], i / WGMMA_SIZES / UMMA_MS == 0,
                         64 << i / WGMMA_SIZES % UMMA_MS, 8 + 8 * (i % WGMMA_SIZES));
    }
  }
  return n;
}

static CtAtom umma_at(int at) {
  for (size_t row = 0; row < CT_ARRAY_LEN(ummas); row++) {
    for (int i = 0; i < 2 * UMMA_MS * WGMMA_SIZES; i++) {
      bool is_a_shared = i / WGMMA_SIZES / UMMA_MS == 0;
      int m = 64 << i / WGMMA_SIZES % UMMA_MS, n = 8 + 8 * (i % WGMMA_SIZES);
      if (has_umma_size(&ummas[row], is_a_shared, m, n) && at-- == 0) {
        return from_umma(&ummas[row], is_a_shared, m, n);
      }
    }
  }
  CT_UNREACHABLE();
}

static int count_tmems(void) {
  int n = 0;
  for (size_t row = 0; row < CT_ARRAY_LEN(tmems); row++) {
    for (int times = 1; times <= tmems[row].most; times *= 2) {
      n += 2;
    }
  }
  return n;
}

static CtAtom tmem_at(int at) {
  bool is_load = at < count_tmems() / 2;
  at -= is_load ? 0 : count_tmems() / 2;
  for (size_t row = 0; row < CT_ARRAY_LEN(tmems); row++) {
    for (int times = 1; times <= tmems[row].most; times *= 2) {
      if (at-- == 0) {
        return from_tmem(&tmems[row], is_load, times);
      }
    }
  }
  CT_UNREACHABLE();
}

static CtAtom universal_at(int i) {
  Type t = universal[i];
  return from_types(t, t, t, t);
}
static CtAtom mma_at(int i) { return from_mma(&mmas[i]); }
static CtAtom narrow_at(int i) { return from_narrow(&narrows[i / NARROW_KINDS], i % NARROW_KINDS); }
static CtAtom scaled_at(int i) { return from_scaled(&scaleds[i]); }
static CtAtom copy_at(int i) { return from_copy(&copies[i]); }

/* All kinds of rows, in the order of numbers. */
typedef struct Rows {
  int n;
  CtAtom (*at)(int i);
} Rows;

enum { N_ROWS = 8 };

static void list_rows(Rows out[N_ROWS]) {
  const Rows all[N_ROWS] = {{(int)CT_ARRAY_LEN(universal), universal_at},
                            {(int)CT_ARRAY_LEN(mmas), mma_at},
                            {(int)CT_ARRAY_LEN(narrows) * NARROW_KINDS, narrow_at},
                            {(int)CT_ARRAY_LEN(scaleds), scaled_at},
                            {count_wgmmas(), wgmma_at},
                            {count_ummas(), umma_at},
                            {count_tmems(), tmem_at},
                            {(int)CT_ARRAY_LEN(copies), copy_at}};
  memcpy(out, all, sizeof all);
}

int ct_atom_count(void) {
  Rows rows[N_ROWS];
  int n = 0;
  list_rows(rows);
  for (int i = 0; i < N_ROWS; i++) {
    n += rows[i].n;
  }
  return n;
}

void ct_atom_get(int i, CtAtom *out) {
  Rows rows[N_ROWS];
  const Rows *r = rows;
  list_rows(rows);
  CT_ASSERT(i >= 0 && i < ct_atom_count());
  while (i >= r->n) {
    i -= r->n;
    r++;
  }
  *out = r->at(i);
}

/* {====== By name ====== */

static bool find_mma(const char *name, CtAtom *out) {
  for (size_t i = 0; i < CT_ARRAY_LEN(mmas); i++) {
    if (strcmp(mmas[i].name, name) == 0) {
      *out = from_mma(&mmas[i]);
      return true;
    }
  }
  return false;
}

/* SM120_...<...>: few enough to make each. */
static bool find_sm120(const char *name, CtAtom *out) {
  static const char start[] = "SM120_";
  const int n = (int)CT_ARRAY_LEN(narrows) * NARROW_KINDS;
  if (strncmp(name, start, sizeof start - 1) != 0) {
    return false;
  }
  for (int i = 0; i < n + (int)CT_ARRAY_LEN(scaleds); i++) {
    CtAtom atom = i < n ? narrow_at(i) : scaled_at(i - n);
    if (strcmp(atom.name, name) == 0) {
      *out = atom;
      return true;
    }
  }
  return false;
}

static bool find_copy(const char *name, CtAtom *out) {
  for (size_t i = 0; i < CT_ARRAY_LEN(copies); i++) {
    if (strcmp(copies[i].name, name) == 0) {
      *out = from_copy(&copies[i]);
      return true;
    }
  }
  return false;
}

/* A number without sign or leading zero, below 1000; NULL when there is none, else what follows. */
static const char *read_number(const char *s, int *out) {
  int n = 0, digits = 0;
  for (; s[digits] >= '0' && s[digits] <= '9' && digits < 3; digits++) {
    n = 10 * n + (s[digits] - '0');
  }
  *out = n;
  return digits > 0 && s[0] != '0' ? s + digits : NULL;
}

/* SM90_64xNxK_... */
static bool find_wgmma(const char *name, CtAtom *out) {
  static const char start[] = "SM90_64x";
  int n, k;
  if (strncmp(name, start, sizeof start - 1) != 0) {
    return false;
  }
  const char *s = read_number(name + sizeof start - 1, &n);
  s = s == NULL || *s != 'x' ? NULL : read_number(s + 1, &k);
  if (s == NULL || *s != '_') {
    return false;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(wgmmas); i++) {
    if (wgmmas[i].k == k && has_size(&wgmmas[i], n) && strcmp(wgmmas[i].name, s + 1) == 0) {
      *out = from_wgmma(&wgmmas[i], n);
      return true;
    }
  }
  return false;
}

/* Few scripts name many: the table is searched from the start. */
static bool find_tcgen05(const char *name, CtAtom *out) {
  bool is_copy = strncmp(name, "SM100_TMEM_", 11) == 0;
  int n = is_copy ? count_tmems() : strncmp(name, "SM100_MMA_", 10) == 0 ? count_ummas() : 0;
  for (int i = 0; i < n; i++) {
    CtAtom atom = is_copy ? tmem_at(i) : umma_at(i);
    if (strcmp(atom.name, name) == 0) {
      *out = atom;
      return true;
    }
  }
  return false;
}

/* A type of the language that ends with ',' or '>'; NULL when there is none, else what follows. */
static const char *read_type(const char *s, Type *out) {
  size_t len = strcspn(s, ",>");
  for (int t = 0; t < TYPE_COUNT; t++) {
    const char *name = types[t].name;
    if (strlen(name) == len && strncmp(name, s, len) == 0 && ct_dtype_from_name(name) != CT_VOID) {
      *out = (Type)t;
      return s + len;
    }
  }
  return NULL;
}

static bool find_universal(const char *name, CtAtom *out) {
  static const char start[] = "UniversalFMA<";
  Type t[4];
  int n = 0;
  if (strncmp(name, start, sizeof start - 1) != 0) {
    return false;
  }
  const char *s = name + sizeof start - 2;
  do {
    s = read_type(s + 1, &t[n++]);
  } while (s != NULL && *s == ',' && n < 4);
  if (s == NULL || strcmp(s, ">") != 0) {
    return false;
  }
  Type a = n > 1 ? t[1] : t[0];
  *out = from_types(t[0], a, n > 2 ? t[2] : a, n > 3 ? t[3] : t[0]);
  return true;
}

bool ct_atom_find(const char *name, CtAtom *out) {
  return find_mma(name, out) || find_sm120(name, out) || find_wgmma(name, out) ||
         find_universal(name, out) || find_tcgen05(name, out) || find_copy(name, out);
}

/* {====== Targets ====== */

bool ct_atom_is_on(const CtAtom *atom, int sm) {
  if (strncmp(atom->family, "tcgen05", 7) == 0) {
    bool is_i8 = strstr(atom->ptx, "::i8") != NULL;
    return ct_sm_has_tcgen05(sm) && !(is_i8 && sm % 10 != 0);
  }
  return sm >= atom->sm && (!atom->is_sm_specific || sm / 10 == atom->sm / 10);
}

/* {====== Operands as tensors ====== */

CtDtype ct_atom_dtype(const CtAtom *atom, CtAtomOperand of) {
  return atom->types[of].bits < 8 ? CT_u32 : ct_dtype_from_name(atom->types[of].name);
}

int ct_atom_per_element(const CtAtom *atom, CtAtomOperand of) {
  int bits = atom->types[of].bits;
  return bits < 8 ? 32 / bits : 1;
}

int ct_atom_values(const CtAtom *atom, CtAtomOperand of) {
  return count_values(atom, (int)of) / ct_atom_per_element(atom, of);
}

CtTmemShape ct_atom_tmem_shape(const CtAtom *atom) {
  for (size_t row = 0; row < CT_ARRAY_LEN(tmems); row++) {
    const char *at = strstr(atom->name, tmems[row].shape);
    int times;
    if (at != NULL && read_number(at + strlen(tmems[row].shape), &times) != NULL) {
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
               {"u8", 0},  {"i8", 1},   {"f32", 1},  {"i32", 2}};
  uint32_t of[3] = {0};
  for (int i = 0; i < 3; i++) {
    for (size_t k = 0; k < CT_ARRAY_LEN(codes); k++) {
      of[i] = strcmp(atom->types[i].name, codes[k].type) == 0 ? codes[k].code : of[i];
    }
  }
  return of[CT_ATOM_C] << 4 | of[CT_ATOM_A] << 7 | of[CT_ATOM_B] << 10 |
         (uint32_t)is_a_mn_major << 15 | (uint32_t)is_b_mn_major << 16 |
         (uint32_t)atom->n >> 3 << 17 | (uint32_t)atom->m >> 4 << 24;
}
