/* atom.c: the table of atoms, and the atoms that are made by rule. */
#include "atom_row.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* {====== The rows ====== */

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
  CtAtomTypeId d, a, b, c;
  Majors majors;
  const char *tail;
  int times, sm;
} MmaRow;

static const MmaRow mmas[] = {
#define CT_MMA(name, form, d, a, b, c, majors, tail, times, sm)                                    \
  {#name,                                                                                          \
   FORM_##form,                                                                                    \
   CT_ATOM_TYPE_##d,                                                                               \
   CT_ATOM_TYPE_##a,                                                                               \
   CT_ATOM_TYPE_##b,                                                                               \
   CT_ATOM_TYPE_##c,                                                                               \
   MAJORS_##majors,                                                                                \
   tail,                                                                                           \
   times,                                                                                          \
   sm},
#include "atoms.def"
};

typedef struct NarrowRow {
  CtAtomTypeId a, b;
} NarrowRow;

static const NarrowRow narrows[] = {
#define CT_NARROW(a, b) {CT_ATOM_TYPE_##a, CT_ATOM_TYPE_##b},
#include "atoms.def"
};

typedef struct ScaledRow {
  Form form;
  CtAtomTypeId d, a, b, c, scale;
  int vec;
  const char *kind;
} ScaledRow;

static const ScaledRow scaleds[] = {
#define CT_SCALED(form, d, a, b, c, scale, vec, kind)                                              \
  {FORM_##form,                                                                                    \
   CT_ATOM_TYPE_##d,                                                                               \
   CT_ATOM_TYPE_##a,                                                                               \
   CT_ATOM_TYPE_##b,                                                                               \
   CT_ATOM_TYPE_##c,                                                                               \
   CT_ATOM_TYPE_##scale,                                                                           \
   vec,                                                                                            \
   kind},
#include "atoms.def"
};

typedef struct WgmmaRow {
  const char *name; /* the rest of the name after SM90_64xNxK_ */
  int k;
  CtAtomTypeId d, a, b;
  bool is_a_shared, is_every;
  const char *tail;
} WgmmaRow;

enum { SOURCE_RS, SOURCE_SS };

static const WgmmaRow wgmmas[] = {
#define CT_WGMMA(name, k, d, a, b, source, tail, sizes)                                            \
  {#name,                                                                                          \
   k,                                                                                              \
   CT_ATOM_TYPE_##d,                                                                               \
   CT_ATOM_TYPE_##a,                                                                               \
   CT_ATOM_TYPE_##b,                                                                               \
   SOURCE_##source == SOURCE_SS,                                                                   \
   SIZES_##sizes == SIZES_EVERY,                                                                   \
   tail},
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
static const CtAtomTypeId universal[] = {CT_ATOM_TYPE_F64, CT_ATOM_TYPE_F32, CT_ATOM_TYPE_F16,
                                         CT_ATOM_TYPE_BF16, CT_ATOM_TYPE_S32};

/* {====== From rows to atoms ====== */

static CT_PRINTF(2, 3) void put_ptx(CtAtom *atom, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(atom->ptx, sizeof atom->ptx, format, args);
  va_end(args);
  CT_ASSERT(n >= 0 && (size_t)n < sizeof atom->ptx);
  (void)n;
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
    ct_atom_put(atom.layouts[i], "%s", f->layouts[i]);
  }
  return atom;
}

static CtAtom from_mma(const MmaRow *row) {
  const FormRow *f = &forms[row->form];
  CtAtom atom = from_form(f);
  ct_atom_put(atom.name, "%s", row->name);
  atom.sm = row->sm;
  atom.times = row->times;
  ct_atom_set_types(&atom, row->d, row->a, row->b, row->c);
  ct_atom_set_registers(&atom);
  if (row->majors == MAJORS_NONE) {
    put_ptx(&atom, "%s", f->ptx);
  } else {
    put_ptx(&atom, "%s%s%s.%s.%s.%s%s", f->ptx, major_texts[row->majors], ct_atom_types[row->d].ptx,
            ct_atom_types[row->a].ptx, ct_atom_types[row->b].ptx, ct_atom_types[row->c].ptx,
            row->tail);
  }
  return atom;
}

/* {====== Narrow floats of sm_120 ====== */

/* "<f8e4m3,f4e2m1,f32": the types in a name, up to what follows them. */
static void put_name(CtAtom *atom, const char *kind, CtAtomTypeId a, CtAtomTypeId b,
                     CtAtomTypeId c) {
  ct_atom_put(atom->name, "SM120_%dx%dx%d_%s<%s,%s,%s", atom->m, atom->n, atom->k, kind,
              ct_atom_types[a].name, ct_atom_types[b].name, ct_atom_types[c].name);
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
  snprintf(end, sizeof end, ",%s,%d>", ct_atom_types[row->scale].name, atom.k / row->vec);
  put_name(&atom, "TN_VS", row->a, row->b, row->c);
  end_name(&atom, end);
  atom.sm = 120;
  atom.targets = CT_TARGETS_FAMILY;
  atom.section = "9.7.14.5.14";
  atom.vec = row->vec;
  ct_atom_set_types(&atom, row->d, row->a, row->b, row->c);
  atom.types[CT_ATOM_SFA] = atom.types[CT_ATOM_SFB] = ct_atom_types[row->scale];
  ct_atom_put(atom.layouts[CT_ATOM_SFA], "((2,2,8),%d):((8,0,1),16)", row->vec);
  ct_atom_put(atom.layouts[CT_ATOM_SFB], "((4,8),%d):((0,1),8)", row->vec);
  ct_atom_set_registers(&atom);
  put_ptx(&atom, "%s.row.col%s.%s.%s.%s.%s.%s", f->ptx, row->kind, ct_atom_types[row->d].ptx,
          ct_atom_types[row->a].ptx, ct_atom_types[row->b].ptx, ct_atom_types[row->c].ptx,
          ct_atom_types[row->scale].ptx);
  return atom;
}

enum { NARROW_F32, NARROW_F16, NARROW_SCALED, NARROW_KINDS };

static CtAtom from_narrow(const NarrowRow *row, int kind) {
  if (kind == NARROW_SCALED) {
    return from_scaled(&(ScaledRow){FORM_m16n8k32_8, CT_ATOM_TYPE_F32, row->a, row->b,
                                    CT_ATOM_TYPE_F32, CT_ATOM_TYPE_UE8M0, 1,
                                    ".kind::mxf8f6f4.block_scale.scale_vec::1X"});
  }
  CtAtomTypeId c = kind == NARROW_F32 ? CT_ATOM_TYPE_F32 : CT_ATOM_TYPE_F16;
  const FormRow *f = &forms[FORM_m16n8k32_8];
  CtAtom atom = from_form(f);
  put_name(&atom, "TN", row->a, row->b, c);
  end_name(&atom, ">");
  atom.sm = 120;
  atom.targets = CT_TARGETS_FAMILY;
  atom.section = "9.7.14.5.14";
  ct_atom_set_types(&atom, c, row->a, row->b, c);
  ct_atom_set_registers(&atom);
  put_ptx(&atom, "%s.row.col.kind::f8f6f4.%s.%s.%s.%s", f->ptx, ct_atom_types[c].ptx,
          ct_atom_types[row->a].ptx, ct_atom_types[row->b].ptx, ct_atom_types[c].ptx);
  return atom;
}

/* {====== Atoms by rule ====== */

/* The element types d, a, b, c; only those that the language has. */
static CtAtom from_types(CtAtomTypeId d, CtAtomTypeId a, CtAtomTypeId b, CtAtomTypeId c) {
  CtAtom atom = from_form(&forms[FORM_fma]);
  ct_atom_set_types(&atom, d, a, b, c);
  ct_atom_set_registers(&atom);
  if (d == a && a == b && b == c) {
    ct_atom_put(atom.name, "UniversalFMA<%s>", ct_atom_types[d].name);
  } else {
    ct_atom_put(atom.name, "UniversalFMA<%s,%s,%s,%s>", ct_atom_types[d].name,
                ct_atom_types[a].name, ct_atom_types[b].name, ct_atom_types[c].name);
  }
  return atom;
}

static bool has_size(const WgmmaRow *row, int n) { return ct_atom_has_n(row->is_every, n); }

/* A of a warpgroup in registers: a thread has 32 bits of k together, at two rows of 8 and two places
   of k; each warp has 16 rows. */
static void put_wgmma_a(char out[CT_ATOM_TEXT_MAX], int k, int bits) {
  int together = 32 / bits;
  if (together == 1) {
    ct_atom_put(out, "((4,8,4),(2,2)):((64,1,16),(8,256))");
  } else {
    ct_atom_put(out, "((4,8,4),(%d,2,2)):((%d,1,16),(64,8,%d))", together, 64 * together, 32 * k);
  }
}

static CtAtom from_wgmma(const WgmmaRow *row, int n) {
  CtAtom atom = {.kind = CT_ATOM_MMA,
                 .family = "wgmma",
                 .sm = 90,
                 .targets = CT_TARGETS_FAMILY,
                 .times = 1,
                 .section = "9.7.15.5.2",
                 .threads = 128,
                 .thr_id = "128:1",
                 .m = 64,
                 .n = n,
                 .k = row->k};
  ct_atom_put(atom.name, "SM90_64x%dx%d_%s", n, row->k, row->name);
  put_ptx(&atom, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s%s", n, row->k,
          ct_atom_types[row->d].ptx, ct_atom_types[row->a].ptx, ct_atom_types[row->b].ptx,
          row->tail);
  ct_atom_set_types(&atom, row->d, row->a, row->b, row->d);
  atom.from_shared[CT_ATOM_A] = row->is_a_shared;
  atom.from_shared[CT_ATOM_B] = true;
  ct_atom_set_registers(&atom);
  if (row->is_a_shared) {
    ct_atom_put(atom.layouts[CT_ATOM_A], "(128,(64,%d)):(0,(1,64))", row->k);
  } else {
    put_wgmma_a(atom.layouts[CT_ATOM_A], row->k, ct_atom_types[row->a].bits);
  }
  ct_atom_put(atom.layouts[CT_ATOM_B], "(128,(%d,%d)):(0,(1,%d))", n, row->k, n);
  ct_atom_put(atom.layouts[CT_ATOM_C], "((4,8,4),(2,2,%d)):((128,1,16),(64,8,512))", n / 8);
  return atom;
}

static CtAtom from_copy(const CopyRow *row) {
  CtAtom atom = {.kind = CT_ATOM_COPY,
                 .family = row->family,
                 .sm = row->sm,
                 .targets =
                     strncmp(row->family, "tcgen05", 7) == 0 ? CT_TARGETS_TENSOR : CT_TARGETS_FROM,
                 .times = 1,
                 .section = row->section,
                 .threads = row->threads,
                 .thr_id = row->thr_id};
  ct_atom_put(atom.name, "%s", row->name);
  put_ptx(&atom, "%s", row->ptx);
  for (int i = 0; i < 3; i++) {
    ct_atom_put(atom.layouts[i], "%s", row->layouts[i]);
  }
  return atom;
}

/* {====== By number ====== */

static int count_wgmma_sizes(const WgmmaRow *row) {
  int n = 0;
  for (int i = 1; i <= CT_ATOM_SIZES_N; i++) {
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
    for (int n = 8; n <= 8 * CT_ATOM_SIZES_N; n += 8) {
      if (has_size(&wgmmas[row], n) && i-- == 0) {
        return from_wgmma(&wgmmas[row], n);
      }
    }
  }
  CT_UNREACHABLE();
}

static CtAtom universal_at(int i) {
  CtAtomTypeId t = universal[i];
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
                            {ct_atom_count_umma(), ct_atom_umma},
                            {ct_atom_count_tmem(), ct_atom_tmem},
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

bool ct_atom_each(CtAtomVisit visit, void *ud) {
  Rows rows[N_ROWS];
  bool goes_on = true;
  list_rows(rows);
  for (int r = 0; goes_on && r < N_ROWS; r++) {
    if (rows[r].at == ct_atom_umma) { /* each by its number takes a search */
      goes_on = ct_atom_each_umma(visit, ud);
      continue;
    }
    for (int i = 0; goes_on && i < rows[r].n; i++) {
      CtAtom atom = rows[r].at(i);
      goes_on = visit(ud, &atom);
    }
  }
  return goes_on;
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

/* SM90_64xNxK_... */
static bool find_wgmma(const char *name, CtAtom *out) {
  static const char start[] = "SM90_64x";
  int n, k;
  if (strncmp(name, start, sizeof start - 1) != 0) {
    return false;
  }
  const char *s = ct_atom_read_number(name + sizeof start - 1, &n);
  s = s == NULL || *s != 'x' ? NULL : ct_atom_read_number(s + 1, &k);
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

/* A type of the language that ends with ',' or '>'; NULL when there is none, else what follows. */
static const char *read_type(const char *s, CtAtomTypeId *out) {
  size_t len = strcspn(s, ",>");
  for (int t = 0; t < CT_ATOM_TYPES; t++) {
    const char *name = ct_atom_types[t].name;
    if (strlen(name) == len && strncmp(name, s, len) == 0 && ct_dtype_from_name(name) != CT_VOID) {
      *out = (CtAtomTypeId)t;
      return s + len;
    }
  }
  return NULL;
}

static bool find_universal(const char *name, CtAtom *out) {
  static const char start[] = "UniversalFMA<";
  CtAtomTypeId t[4];
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
  CtAtomTypeId a = n > 1 ? t[1] : t[0];
  *out = from_types(t[0], a, n > 2 ? t[2] : a, n > 3 ? t[3] : t[0]);
  return true;
}

bool ct_atom_find(const char *name, CtAtom *out) {
  return find_mma(name, out) || find_sm120(name, out) || find_wgmma(name, out) ||
         find_universal(name, out) || ct_atom_find_tcgen05(name, out) || find_copy(name, out);
}

/* {====== Targets ====== */

bool ct_atom_is_on(const CtAtom *atom, int sm, bool is_common) {
  switch (atom->targets) {
    case CT_TARGETS_FROM: break;
    case CT_TARGETS_FAMILY: return sm >= atom->sm && sm / 10 == atom->sm / 10;
    case CT_TARGETS_TENSOR: return ct_sm_has_tcgen05(sm);
    case CT_TARGETS_INTEGERS: return ct_sm_has_tcgen05(sm) && sm % 10 == 0 && !is_common;
  }
  return sm >= atom->sm;
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
  return ct_atom_count_values(atom, (int)of) / ct_atom_per_element(atom, of);
}
