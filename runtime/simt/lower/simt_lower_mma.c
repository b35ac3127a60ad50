/* simt_lower_mma.c: lowering to the CPU engine: the place of each lane's values in the matrices
   that an MMA atom multiplies, from the layouts of its row. */
#include <string.h>

#include "runtime/simt/model/exact_product.h"
#include "simt_lower.h"

/* If targets round differently, the CPU engine rounds as this target. */
enum { CPU_SM = 90, MAX_GROUPS = CT_LANES, MOST_SCALES = 64 };

typedef struct Place {
  CtCx cx;
  const CtAtom *atom;
  CtMma *mma;
  int lane[MAX_GROUPS][CT_LANES]; /* of (group, thread) */
  bool failed;
} Place;

static CtLayout parse(Place *p, const char *text) {
  CtLayout l = {0};
  CtErr err;
  p->failed = p->failed || ct_layout_parse(p->cx.arena, text, strlen(text), &l, &err) != CT_OK;
  return l;
}

/* The index that a layout gives at (thread, value); thr_id has only the thread. */
static int index_at(Place *p, CtLayout l, int t, int v) {
  CtNode crd[3] = {{.rank = 2, .len = 3},
                   {.rank = CT_LEAF, .len = 1, .i = {.v = t}},
                   {.rank = CT_LEAF, .len = 1, .i = {.v = v}}};
  CtInt i = ct_int(0);
  CtErr err;
  CtTuple at = v < 0 ? &crd[1] : crd;
  p->failed = p->failed || ct_crd2idx(&p->cx, at, l, &i, &err) != CT_OK;
  return (int)i.v;
}

/* Each group of threads has the first group's lanes, moved to the first lane that is still free. */
static void find_lanes(Place *p) {
  bool taken[CT_LANES] = {false};
  int n = p->atom->threads;
  CtLayout thr_id = parse(p, p->atom->thr_id);
  p->mma->groups = CT_LANES / n;
  for (int g = 0; g < p->mma->groups && !p->failed; g++) {
    int first = 0;
    while (taken[first]) {
      first++;
    }
    for (int t = 0; t < n; t++) {
      int lane = index_at(p, thr_id, t, -1) + first;
      CT_ASSERT(lane < CT_LANES);
      p->lane[g][t] = lane;
      taken[lane] = true;
    }
  }
}

/* A by rows, B by rows of k, C by rows, the scales of a row or a column together. All are dense; groups follow one
   another. */
static int place_at(const CtMma *m, CtAtomOperand of, int row, int col) {
  switch (of) {
    case CT_ATOM_A: return row * m->k + col;
    case CT_ATOM_B: return col * m->n + row;
    case CT_ATOM_SFA:
    case CT_ATOM_SFB: return row * m->vec + col;
    case CT_ATOM_C:
    case CT_ATOM_D:
    case CT_ATOM_OPERANDS: break;
  }
  return row * m->n + col;
}

static void find_places(Place *p, CtArena *arena, CtAtomOperand of) {
  CtMma *m = p->mma;
  int per = ct_atom_per_element(p->atom, of), n_v = ct_atom_values(p->atom, of);
  int rows = of == CT_ATOM_B ? p->atom->n : p->atom->m;
  int word = of == CT_ATOM_C ? 1 : m->word;
  CtLayout l = parse(p, p->atom->layouts[of]);
  uint16_t *to = ct_arena_alloc(arena, (size_t)n_v * CT_LANES * sizeof *to);
  m->values[of] = n_v;
  m->size[of] = of == CT_ATOM_A ? m->m * m->k : of == CT_ATOM_B ? m->n * m->k : m->m * m->n;
  m->place[of] = to;
  p->failed = p->failed || to == NULL;
  for (int g = 0; g < m->groups && !p->failed; g++) {
    for (int t = 0; t < p->atom->threads; t++) {
      for (int v = 0; v < n_v && !p->failed; v++) {
        int i = index_at(p, l, t, v * per);
        int col = i / rows / word;
        to[v * CT_LANES + p->lane[g][t]] =
            (uint16_t)(g * m->size[of] + place_at(m, of, i % rows, col));
      }
    }
  }
}

/* Only the first of the lanes that have a scale supplies it: the others' go to the place that nobody reads. */
static void find_scale_places(Place *p, CtArena *arena, CtAtomOperand of) {
  CtMma *m = p->mma;
  int rows = of == CT_ATOM_SFB ? p->atom->n : p->atom->m, last = rows * m->vec;
  CtLayout l = parse(p, p->atom->layouts[of]);
  uint16_t *to = ct_arena_alloc(arena, (size_t)m->vec * CT_LANES * sizeof *to);
  bool taken[MOST_SCALES] = {false};
  m->values[of] = m->vec;
  m->size[of] = last + 1;
  m->place[of] = to;
  p->failed = p->failed || to == NULL;
  CT_ASSERT(last <= MOST_SCALES);
  for (int i = 0; i < m->vec * CT_LANES && !p->failed; i++) {
    int at = index_at(p, l, i % CT_LANES, i / CT_LANES);
    int place = place_at(m, of, at % rows, at / rows);
    to[i] = (uint16_t)(taken[place] ? last : place);
    taken[place] = true;
  }
}

/* A number of a matrix takes 4 bytes; an f64 takes 8. */
static void set_kind(CtMma *m, const CtAtom *atom) {
  int bits = atom->types[CT_ATOM_A].bits;
  int sm = strcmp(atom->family, "tcgen05") == 0 ? atom->sm : CPU_SM;
  if (ct_is_exact(atom)) {
    m->kind = CT_MMA_EXACT;
    m->vec = atom->vec;
  } else if (ct_tc_model(atom, sm, &m->model)) {
    m->kind = CT_MMA_FLOAT;
  } else if (bits == 64) {
    m->kind = CT_MMA_F64;
  } else {
    m->kind = bits == 1 ? CT_MMA_BITS : CT_MMA_INT;
  }
  m->saturates = strstr(atom->ptx, ".satfinite") != NULL;
  m->is_xor = strstr(atom->ptx, ".xor.") != NULL;
  m->word = m->kind == CT_MMA_BITS ? 32 : 1;
  m->m = atom->m;
  m->n = atom->n;
  m->k = atom->k / m->word;
  m->threads = atom->threads;
}

static int64_t rest_of(const CtCx *cx, CtLayout l, int mode) {
  CtInt n = ct_int(1);
  CtErr err;
  if (mode < ct_layout_rank(l) && ct_size(cx, ct_mode(l, mode), &n, &err) != CT_OK) {
    return 0;
  }
  return n.v;
}

static CtLoad load_of(const CtAtom *atom, CtAtomOperand of) {
  static const struct {
    const char *name;
    CtLoad load;
  } rows[] = {
#define CUT(...)
#define NARROW(t, ...) {#t, CT_LOAD_##t},
#include "runtime/base/dtypes.def"
      {"i8", CT_LOAD_i8},       {"u8", CT_LOAD_u8},       {"i16", CT_LOAD_i16},
      {"i4", CT_LOAD_i4},       {"u4", CT_LOAD_u4},       {"f64", CT_LOAD_WORDS_8},
      {"c64", CT_LOAD_WORDS_8}, {"gc64", CT_LOAD_WORDS_8}};
  if (atom->types[of].bits == 4 && strcmp(atom->types[of].name, "f4e2m1") == 0) {
    return CT_LOAD_f4;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(rows); i++) {
    const char *name = atom->types[of].name;
    if (name != NULL && strcmp(rows[i].name, name) == 0) {
      return rows[i].load;
    }
  }
  return CT_LOAD_WORDS_4; /* f32, tf32, s32, words of bits */
}

/* For wgmma, and for tcgen05, whose operands need no places: what one warp computes: 16 rows, whose places come from the group's first warp;
   columns in `groups` blocks of 8, one after the other. */
enum { WGMMA_ROWS = 16, WGMMA_COLS = 8 };

static int place_of_wgmma(const CtMma *m, CtAtomOperand of, int row, int col) {
  return of == CT_ATOM_A
             ? row * m->k + col
             : col / WGMMA_COLS * WGMMA_ROWS * WGMMA_COLS + row * WGMMA_COLS + col % WGMMA_COLS;
}

static void find_wgmma_places(Place *p, CtArena *arena, CtAtomOperand of) {
  CtMma *m = p->mma;
  CtLayout l = parse(p, p->atom->layouts[of]);
  int n_v = ct_atom_values(p->atom, of);
  uint16_t *to = ct_arena_alloc(arena, (size_t)n_v * CT_LANES * sizeof *to);
  m->values[of] = n_v;
  m->place[of] = to;
  p->failed = p->failed || to == NULL;
  for (int v = 0; v < n_v && !p->failed; v++) {
    for (int t = 0; t < CT_LANES && !p->failed; t++) {
      int i = index_at(p, l, t, v);
      to[v * CT_LANES + t] = (uint16_t)place_of_wgmma(m, of, i % p->atom->m, i / p->atom->m);
    }
  }
}

static void set_wgmma(Place *p, CtArena *arena, const CtWgmma *w, int64_t *scratch) {
  CtMma *m = p->mma;
  m->m = WGMMA_ROWS;
  m->n = WGMMA_COLS;
  m->groups = p->atom->n / WGMMA_COLS;
  m->size[CT_ATOM_A] = m->m * m->k;
  m->size[CT_ATOM_B] = p->atom->n * m->k;
  m->size[CT_ATOM_C] = m->m * p->atom->n;
  m->words = m->k / ct_atom_per_element(p->atom, CT_ATOM_A);
  m->is_a_shared = w->is_a_shared;
  m->is_mn_major[CT_ATOM_A] = w->a.is_mn_major;
  m->is_mn_major[CT_ATOM_B] = w->b.is_mn_major;
  m->blocks = ct_atom_blocks(p->atom);
  m->rows = p->atom->m / m->blocks;
  bool is_tensor = p->atom->from_tensor[CT_ATOM_C];
  if (!is_tensor) {
    find_wgmma_places(p, arena, CT_ATOM_C);
  }
  if (!w->is_a_shared && !is_tensor) {
    find_wgmma_places(p, arena, CT_ATOM_A);
  }
  int64_t most = ct_max(m->size[CT_ATOM_A], m->size[CT_ATOM_B]);
  *scratch = WGMMA_ROWS * (int64_t)sizeof(CtTcRow) + m->groups * (int64_t)sizeof(CtTcCols) +
             4 * (m->rest[0] * m->rest[1] * m->size[CT_ATOM_C] + m->size[CT_ATOM_A] + 2 * most +
                  (WGMMA_ROWS + p->atom->n) * (int64_t)m->vec);
}

static const CtMma *finish(CtLow *l, const Place *p) {
  l->failed = l->failed || p->failed;
  return p->mma;
}

const CtMma *ct_low_make_mma(CtLow *l, const CtTile *t, int64_t *scratch) {
  CtMma *m = ct_arena_alloc(&l->p->arena, sizeof *m);
  Place p = {.cx = ct_ir_cx((CtIr *)(uintptr_t)l->ir), .atom = t->atom, .mma = m};
  if (m == NULL) {
    l->failed = true;
    return NULL;
  }
  *m = (CtMma){0};
  set_kind(m, t->atom);
  m->rest[0] = rest_of(&p.cx, t->dst.layout, 1);
  m->rest[1] = rest_of(&p.cx, t->dst.layout, 2);
  m->rest[2] = rest_of(&p.cx, t->a.layout, 2);
  for (int of = CT_ATOM_A; of < CT_ATOM_OPERANDS; of++) {
    m->load[of] = load_of(t->atom, (CtAtomOperand)of);
  }
  if (t->wgmma != NULL) {
    set_wgmma(&p, &l->p->arena, t->wgmma, scratch);
    return finish(l, &p);
  }
  find_lanes(&p);
  for (int of = CT_ATOM_A; of <= CT_ATOM_C; of++) {
    find_places(&p, &l->p->arena, (CtAtomOperand)of);
  }
  for (int of = CT_ATOM_SFA; m->vec > 0 && of <= CT_ATOM_SFB; of++) {
    find_scale_places(&p, &l->p->arena, (CtAtomOperand)of);
  }
  int64_t bytes = m->kind == CT_MMA_F64 ? 8 : 4, mn = m->rest[0] * m->rest[1];
  *scratch = bytes * m->groups *
             (m->rest[0] * (m->size[CT_ATOM_A] + m->size[CT_ATOM_SFA]) +
              m->rest[1] * (m->size[CT_ATOM_B] + m->size[CT_ATOM_SFB]) + mn * m->size[CT_ATOM_C]);
  if (m->kind == CT_MMA_FLOAT) {
    *scratch += m->rest[0] * ct_mma_apart(m, CT_ATOM_A) + m->rest[1] * ct_mma_apart(m, CT_ATOM_B);
  }
  return finish(l, &p);
}
