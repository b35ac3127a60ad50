/* emit_tile.c: operations on whole tensors as loops that the compiler unrolls.

   The views of an elementwise operation have the same size but may have different shapes: element i,
   counted colexicographically, belongs to element i. Where the shapes have a common refinement, each
   of its modes is one loop; else one loop counts the elements and each view splits the number. */
#include <inttypes.h>
#include <string.h>

#include "emit_tile.h"

enum {
  MAX_VIEWS = 3,
  MAX_PARTS = 16, /* views and the axes of their guards */
  MAX_VEC = 16,
  MAX_UNROLLED = 64, /* iterations without registers: more do not pay */
  MANY = 8192
};

enum { DST, SRC, SRC_B };

/* A loop over the elements of some views. */
typedef struct Each {
  const char *what;
  const CtInst *inst;
  int n_views;
  const CtView *view[MAX_VIEWS];
  int n_parts; /* parts [n_views, n_parts) are axes: coordinates instead of offsets */
  CtLayout layout[MAX_PARTS];
  CtEmitOperand op[MAX_PARTS];
  int view_of[MAX_PARTS];      /* axes: the guarded view */
  CtInt bound[MAX_PARTS];      /* axes */
  const char *when[MAX_VIEWS]; /* conditions that hold for all elements alike, named, or NULL */
  bool is_early;               /* the source is read by load_early */
  bool casts;                  /* registers to registers of another type: in any order */
  int vec;
  int64_t lane[MAX_PARTS][MAX_VEC]; /* offsets of the elements of a vector */
  int n_modes;                      /* the common refinement */
  CtInt extent[CT_EMIT_MAX_MODES];
  CtEmitStride stride[MAX_PARTS][CT_EMIT_MAX_MODES];
} Each;

/* --- elementwise loops ------------------------------------------------------------------------------ */

/* The smallest extent that the views have at their leaves; false where no common one can be. */
static bool next_extent(const Each *each, const CtEmitLeaves *l, const int *at, CtInt *out) {
  CtInt g = l[0].leaf[at[0]].extent;
  for (int k = 1; k < each->n_parts; k++) {
    if (at[k] >= l[k].n) {
      return false;
    }
    CtInt n = l[k].leaf[at[k]].extent;
    if (!ct_int_equal(n, g) && (!ct_is_static(n) || !ct_is_static(g))) {
      return false;
    }
    g = ct_is_static(n) && n.v < g.v ? n : g;
  }
  *out = g;
  return true;
}

/* Takes n elements off a leaf; true when it is used up, or cannot be split (then *fits is false). */
static bool take_extent(CtEmitLeaf *leaf, CtInt n, bool *fits) {
  if (ct_int_equal(leaf->extent, n)) {
    return true;
  }
  *fits = n.v > 0 && leaf->extent.v % n.v == 0;
  leaf->extent.v /= n.v > 0 ? n.v : 1;
  leaf->stride = ct_emit_times(leaf->stride, n.v);
  return !*fits;
}

/* Splits the modes of all views until they agree. False where they cannot. */
static bool refine(Each *each) {
  CtEmitLeaves l[MAX_PARTS] = {{0}};
  int at[MAX_PARTS] = {0};
  bool fits = true;
  for (int k = 0; k < each->n_parts; k++) {
    fits = fits && ct_emit_list_leaves(each->layout[k], false, &l[k]);
  }
  each->n_modes = 0;
  while (fits && at[0] < l[0].n) {
    int i = each->n_modes;
    if (i == CT_EMIT_MAX_MODES || !next_extent(each, l, at, &each->extent[i])) {
      return false;
    }
    for (int k = 0; k < each->n_parts; k++) {
      CtEmitLeaf *leaf = &l[k].leaf[at[k]];
      each->stride[k][i] = leaf->stride;
      at[k] += take_extent(leaf, each->extent[i], &fits);
    }
    each->n_modes++;
  }
  for (int k = 1; k < each->n_parts; k++) {
    fits = fits && at[k] == l[k].n;
  }
  return fits;
}

static void drop_mode(Each *each, int i) {
  for (int j = i; j + 1 < each->n_modes; j++) {
    each->extent[j] = each->extent[j + 1];
    for (int k = 0; k < each->n_parts; k++) {
      each->stride[k][j] = each->stride[k][j + 1];
    }
  }
  each->n_modes--;
}

/* Merges mode i + 1 into mode i where every view ct_emit_continues. */
static bool merge_mode(Each *each, int i) {
  if (!ct_is_static(each->extent[i]) || !ct_is_static(each->extent[i + 1])) {
    return false;
  }
  for (int k = 0; k < each->n_parts; k++) {
    if (!ct_emit_continues(each->extent[i], each->stride[k][i], each->stride[k][i + 1])) {
      return false;
    }
  }
  each->extent[i].v *= each->extent[i + 1].v;
  drop_mode(each, i + 1);
  return true;
}

static void coalesce(Each *each) {
  for (int i = 0; i + 1 < each->n_modes;) {
    i += merge_mode(each, i) ? 0 : 1;
  }
}

/* Takes n of the first mode into the vector: lanes [have, have * n) continue lanes [0, have). */
static bool take_lanes(Each *each, int have, int64_t n) {
  for (int k = 0; k < each->n_parts; k++) {
    CtEmitStride s = each->stride[k][0];
    if (!ct_is_static(s.d)) {
      return false;
    }
    for (int j = have; j < have * n; j++) {
      each->lane[k][j] = each->lane[k][j - have] + s.d.v;
    }
    each->stride[k][0] = ct_emit_times(s, n);
  }
  return true;
}

/* Splits `vec` elements off the front of the modes. */
static bool take_vector(Each *each, int vec) {
  int have = 1;
  memset(each->lane, 0, sizeof each->lane);
  while (have < vec) {
    int64_t want = vec / have;
    if (each->n_modes == 0 || !ct_is_static(each->extent[0])) {
      return false;
    }
    int64_t n = ct_min(each->extent[0].v, want);
    if (n == 0 || each->extent[0].v % n != 0 || want % n != 0 || !take_lanes(each, have, n)) {
      return false;
    }
    each->extent[0].v /= n;
    have *= (int)n;
    if (each->extent[0].v == 1) {
      drop_mode(each, 0);
    }
  }
  each->vec = vec;
  return true;
}

/* One loop over all elements; each view splits their number. */
static bool flatten(CtEmit *e, Each *each, CtEmitNest *nest) {
  CtEmitLeaves l;
  for (int k = 0; k < each->n_parts; k++) {
    if (!ct_all_static(each->layout[k].shape) || !ct_emit_list_leaves(each->layout[k], true, &l)) {
      ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED,
                   "%s: the shapes of '%s' and '%s' split a run-time extent differently; give both "
                   "tensors the same modes",
                   each->what, each->op[0].base, each->op[each->n_views - 1].base);
      return false;
    }
  }
  const char *var =
      ct_emit_enter_loop(nest, 'i', ct_int(ct_emit_leaves_size(&l)), 1, CT_UNROLL_ALL);
  for (int k = 0; k < each->n_parts; k++) {
    (void)ct_emit_list_leaves(each->layout[k], true, &l);
    ct_emit_add_split(&each->op[k], var, &l, 1);
  }
  return true;
}

static bool has_registers(const Each *each) {
  bool any = false;
  for (int k = 0; k < each->n_views; k++) {
    any = any || ct_emit_is_register(&each->op[k]);
  }
  return any;
}

/* Iterations of the modes [0, n), or a huge number. */
static int64_t iterations(const Each *each, int n) {
  int64_t total = 1;
  for (int i = 0; i < n; i++) {
    if (!ct_is_static(each->extent[i]) || each->extent[i].v > MANY || total > MANY) {
      return INT64_MAX;
    }
    total *= each->extent[i].v;
  }
  return total;
}

static void enter_modes(Each *each, CtEmitNest *nest) {
  static const char names[] = "ijkl";
  const char *vars[CT_EMIT_MAX_MODES] = {NULL};
  bool all = has_registers(each);
  for (int i = each->n_modes; i-- > 0;) {
    bool unrolled = all || iterations(each, i + 1) <= MAX_UNROLLED;
    vars[i] = ct_emit_enter_loop(nest, names[i < 4 ? i : 3], each->extent[i], 1,
                                 unrolled ? CT_UNROLL_ALL : CT_UNROLL_NO);
  }
  for (int k = 0; k < each->n_parts; k++) {
    for (int i = 0; i < each->n_modes; i++) {
      int64_t n = ct_is_static(each->extent[i]) ? each->extent[i].v : 0;
      ct_emit_add_term(&each->op[k], (CtEmitTerm){vars[i], 1, 0, n, each->stride[k][i]});
    }
  }
}

static bool is_empty(const Each *each) {
  for (int i = 0; i < each->n_modes; i++) {
    if (ct_is_const(each->extent[i], 0)) {
      return true;
    }
  }
  return false;
}

typedef void (*Body)(CtEmit *e, const Each *each);

/* The operands, and behind them the axes of their guards. */
static bool list_parts(CtEmit *e, Each *each) {
  each->n_parts = each->n_views;
  for (int k = 0; k < each->n_views; k++) {
    const CtView *view = each->view[k];
    each->op[k] = ct_emit_operand(e, view);
    each->layout[k] = view->layout;
    for (int i = 0; i < ct_guard_n(view); i++) {
      int n = each->n_parts++;
      if (n == MAX_PARTS) {
        ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED,
                     "%s: the tensors may overhang in more than %d ways", each->what,
                     MAX_PARTS - MAX_VIEWS);
        return false;
      }
      each->op[n] = ct_emit_axis(e, view, &view->guard->axis[i]);
      each->layout[n] = ct_guard_layout(view, &view->guard->axis[i]);
      each->view_of[n] = k;
      each->bound[n] = view->guard->axis[i].bound;
    }
  }
  return true;
}

static bool is_fixed_axis(const Each *each, int k) {
  for (int i = 0; i < each->n_modes; i++) {
    if (!ct_emit_is_stride(each->stride[k][i], 0)) {
      return false;
    }
  }
  return true;
}

/* In front of the loops: the conditions that are the same for all elements. */
static void hoist_conditions(Each *each, CtEmitNest *nest) {
  CtEmit *e = nest->e;
  const char *fixed[MAX_VIEWS] = {NULL};
  bool any = false;
  for (int k = each->n_views; each->n_modes > 0 && k < each->n_parts; k++) {
    const char **when = &fixed[each->view_of[k]];
    if (is_fixed_axis(each, k)) {
      *when = ct_emit_and(e, *when, ct_emit_below(e, &each->op[k], each->bound[k]));
      any = true;
    }
  }
  if (!any) {
    return;
  }
  ct_emit_line(e, nest->loc, "{");
  ct_emit_enter_scope(nest);
  for (int k = 0; k < each->n_views; k++) {
    each->when[k] = fixed[k] == NULL ? NULL : ct_emit_name_when(nest, fixed[k]);
  }
}

/* In the loops: each operand's whole condition. */
static void set_conditions(CtEmit *e, Each *each) {
  for (int k = 0; k < each->n_views; k++) {
    each->op[k].when = each->when[k];
  }
  for (int k = each->n_views; k < each->n_parts; k++) {
    CtEmitOperand *op = &each->op[each->view_of[k]];
    if (each->when[each->view_of[k]] == NULL || each->op[k].n > 0) {
      op->when = ct_emit_and(e, op->when, ct_emit_below(e, &each->op[k], each->bound[k]));
    }
  }
}

/* Writes the loops, and in them what `body` does with one element, or with vec of them. */
static void put_loops(CtEmit *e, Each *each, int vec, Body body) {
  CtEmitNest nest = {.e = e, .loc = each->inst->loc};
  if (!list_parts(e, each)) {
    return;
  }
  each->vec = 1;
  if (refine(each)) {
    coalesce(each);
    if (is_empty(each)) {
      return;
    }
    Each before = *each;
    if (vec > 1 && !take_vector(each, vec)) {
      *each = before;
      memset(each->lane, 0, sizeof each->lane);
    }
    hoist_conditions(each, &nest);
    enter_modes(each, &nest);
  } else if (!flatten(e, each, &nest)) {
    return;
  }
  set_conditions(e, each);
  each->op[SRC].is_early =
      each->is_early && (size_t)each->vec * ct_dtype_bytes(each->op[SRC].buf->dtype) >= 4;
  ct_emit_enter_when(&nest, each->op[0].when);
  each->op[0].when = NULL;
  body(e, each);
  ct_emit_leave_all(&nest);
}

/* --- copy -------------------------------------------------------------------------------------------- */

/* cp.async of 4, 8 and 16 bytes, by plain copies and by atoms; without and with a condition. */
#define ASYNC(NAME, name)                                                                          \
  {                                                                                                \
    {CT_HELP_##NAME, #name}, { CT_HELP_##NAME##_ZFILL, #name "_zfill" }                            \
  }
typedef struct Async {
  CtHelper helper;
  const char *name;
} Async;
static const Async plain_asyncs[][2] = {
    ASYNC(CP_ASYNC_4, cp_async_4), ASYNC(CP_ASYNC_8, cp_async_8), ASYNC(CP_ASYNC_16, cp_async_16)};
static const Async atom_asyncs[][2] = {
    ASYNC(CP_ASYNC_CA_4, cp_async_ca_4), ASYNC(CP_ASYNC_CA_8, cp_async_ca_8),
    ASYNC(CP_ASYNC_CG_16, cp_async_cg_16), ASYNC(CP_ASYNC_CA_16, cp_async_ca_16)};

/* when: else zeros are written; NULL: it is copied. */
static void put_async(CtEmit *e, const Each *each, const char *when) {
  const CtAtom *atom = each->inst->u.tile->atom;
  size_t bytes = (size_t)each->vec * ct_dtype_bytes(each->op[DST].buf->dtype);
  bool is_ca = atom != NULL && strstr(atom->ptx, ".ca.") != NULL;
  int i = bytes == 4 ? 0 : bytes == 8 ? 1 : is_ca ? 3 : 2;
  const Async *async = &(atom != NULL ? atom_asyncs : plain_asyncs)[i][when != NULL];
  ct_text_printf(&e->body, "%s(", ct_emit_help(e, async->helper, async->name));
  ct_emit_address(e, &each->op[DST]);
  ct_text_puts(&e->body, ", ");
  ct_emit_address(e, &each->op[SRC]);
  if (when != NULL) {
    ct_text_printf(&e->body, ", %s", when);
  }
  ct_text_puts(&e->body, ");");
}

/* Are lanes j to j + n - 1 of a fragment one of its 32-bit words, whatever the loops' variables are? */
static bool is_word(const CtEmit *e, const Each *each, int part, int j, int n) {
  const CtEmitOperand *op = &each->op[part];
  const int64_t *lane = &each->lane[part][j];
  bool whole = op->buf->has_words && op->when == NULL && n > 1 &&
               n * ct_dtypes[op->buf->dtype].bits == 32 && (op->plus + lane[0]) % n == 0 &&
               (op->index == 0 || ct_inst(e->ir, op->index)->facts.div % n == 0);
  for (int i = 0; i < op->n; i++) {
    whole = whole && ct_is_static(op->term[i].stride.d) && op->term[i].stride.d.v % n == 0;
  }
  for (int i = 1; i < n; i++) {
    whole = whole && lane[i] == lane[0] + i;
  }
  return whole;
}

static void put_word_of(CtEmit *e, const CtEmitOperand *op, int64_t lane, bool is_read) {
  CtEmitOperand at = *op;
  at.plus += lane;
  ct_text_printf(&e->body, "*reinterpret_cast<%sunsigned*>(", is_read ? "const " : "");
  ct_emit_address(e, &at);
  ct_text_putc(&e->body, ')');
}

/* Registers from a vector: read into a local, then taken apart, where a fragment has words, into these:
   NVRTC does not see that halves make up the word that they came from. */
static void unpack(CtEmit *e, const Each *each) {
  const char *v = ct_names_add(&e->names, "v");
  ct_text_printf(&e->body,
                 "const %s %s = ", ct_emit_vector_type(each->op[SRC].buf->dtype, each->vec), v);
  ct_emit_vector_value(e, &each->op[SRC], each->vec);
  ct_text_putc(&e->body, ';');
  CtDtype type = each->op[SRC].buf->dtype;
  int per_word = ct_dtypes[type].bits < 32 ? 32 / ct_dtypes[type].bits : 1, step = 1;
  for (int j = 0; j < each->vec; j += step) {
    ct_emit_end(e);
    ct_emit_begin(e, each->inst->loc);
    step = j + per_word <= each->vec && is_word(e, each, DST, j, per_word) ? per_word : 1;
    if (step > 1) {
      put_word_of(e, &each->op[DST], each->lane[DST][j], false);
      ct_text_printf(&e->body, " = %s", v);
      if (each->vec > per_word) {
        ct_text_printf(&e->body, ".%c", "xyzw"[j / per_word]);
      }
    } else {
      ct_emit_element(e, &each->op[DST], each->lane[DST][j]);
      ct_text_puts(&e->body, " = ");
      ct_emit_lane(e, type, each->vec, v, j);
    }
    ct_text_putc(&e->body, ';');
  }
}

/* A lane of a vector that is in registers, which may be guarded too. */
static void put_lane(CtEmit *e, const CtEmitOperand *op, int64_t lane) {
  CtEmitOperand at = *op;
  at.plus += lane;
  ct_emit_value(e, &at, false);
}

/* Elements j to j + n - 1 as one number: a | (unsigned)b << 16. */
static void put_word(CtEmit *e, const Each *each, int j, int n) {
  CtDtype type = each->op[SRC].buf->dtype;
  if (is_word(e, each, SRC, j, n)) {
    put_word_of(e, &each->op[SRC], each->lane[SRC][j], true);
    return;
  }
  const char *word = n * ct_dtypes[type].bits == 32 ? "(unsigned)" : "";
  bool extends = !ct_is_unsigned(type) && !ct_is_float(type);
  const char *bits = !extends                     ? ""
                     : ct_dtypes[type].bits == 16 ? "(unsigned short)"
                                                  : "(unsigned char)";
  for (int i = 0; i < n; i++) {
    ct_text_printf(&e->body, "%s%s%s", i > 0 ? " | " : "", i > 0 ? word : "", bits);
    put_lane(e, &each->op[SRC], each->lane[SRC][j + i]);
    if (i > 0) {
      ct_text_printf(&e->body, " << %d", i * ct_dtypes[type].bits);
    }
  }
}

static void pack(CtEmit *e, const Each *each) {
  CtDtype type = each->op[DST].buf->dtype;
  int per_word = ct_dtypes[type].bits < 32 ? 32 / ct_dtypes[type].bits : 1;
  ct_emit_vector(e, &each->op[DST], each->vec, false);
  if (per_word >= each->vec) {
    ct_text_puts(&e->body, " = ");
    put_word(e, each, 0, each->vec);
    ct_text_putc(&e->body, ';');
    return;
  }
  ct_text_printf(&e->body, " = make_%s(", ct_emit_vector_type(type, each->vec));
  for (int j = 0; j < each->vec; j += per_word) {
    ct_text_puts(&e->body, j > 0 ? ", " : "");
    if (per_word == 1) {
      put_lane(e, &each->op[SRC], each->lane[SRC][j]);
    } else {
      put_word(e, each, j, per_word);
    }
  }
  ct_text_puts(&e->body, ");");
}

static void copy_elements(CtEmit *e, const Each *each) {
  if (each->vec > 1) {
    ct_emit_vector(e, &each->op[DST], each->vec, false);
    ct_text_puts(&e->body, " = ");
    ct_emit_vector_value(e, &each->op[SRC], each->vec);
  } else {
    bool widens = each->op[DST].buf->dtype != each->op[SRC].buf->dtype;
    ct_emit_element(e, &each->op[DST], 0);
    ct_text_puts(&e->body, " = ");
    ct_emit_value(e, &each->op[SRC], widens);
  }
  ct_text_putc(&e->body, ';');
}

static void cast_body(CtEmit *e, const Each *each) {
  ct_emit_begin(e, each->inst->loc);
  ct_emit_cast_elements(e, each->inst->loc, &each->op[DST], each->lane[DST], &each->op[SRC],
                        each->lane[SRC], each->vec);
  ct_emit_end(e);
}

/* From registers to registers, by words where both have them. */
static void move_body(CtEmit *e, const Each *each) {
  bool by_word = is_word(e, each, DST, 0, each->vec) && is_word(e, each, SRC, 0, each->vec);
  for (int j = 0; j < each->vec; j += by_word ? each->vec : 1) {
    ct_emit_begin(e, each->inst->loc);
    if (by_word) {
      put_word_of(e, &each->op[DST], each->lane[DST][0], false);
      ct_text_puts(&e->body, " = ");
      put_word_of(e, &each->op[SRC], each->lane[SRC][0], true);
    } else {
      ct_emit_element(e, &each->op[DST], each->lane[DST][j]);
      ct_text_puts(&e->body, " = ");
      ct_emit_element(e, &each->op[SRC], each->lane[SRC][j]);
    }
    ct_text_putc(&e->body, ';');
    ct_emit_end(e);
  }
}

/* Of copy_if: whether the element, or the vector, is copied. */
static const char *predicate(CtEmit *e, const Each *each) {
  size_t mark = e->body.len;
  ct_emit_value(e, &each->op[SRC_B], false);
  return ct_emit_cut(e, mark);
}

static void copy_body(CtEmit *e, const Each *each) {
  const CtTile *t = each->inst->u.tile;
  size_t bytes = (size_t)each->vec * ct_dtype_bytes(each->op[DST].buf->dtype);
  CtEmitNest nest = {.e = e, .loc = each->inst->loc};
  const char *chosen = each->n_views == 3 ? predicate(e, each) : NULL;
  if (t->atom != NULL && each->vec != t->vec) {
    ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED,
                 "copy: the shapes of '%s' and '%s' split the elements that %s takes at once; give "
                 "both tensors the same modes",
                 each->op[SRC].base, each->op[DST].base, t->atom->name);
  }
  ct_emit_enter_when(&nest, t->zero_fill ? NULL : chosen);
  ct_emit_begin(e, each->inst->loc);
  if (t->async && bytes >= 4) {
    put_async(e, each,
              t->zero_fill ? ct_emit_and(e, chosen, each->op[SRC].when) : each->op[SRC].when);
  } else if (each->vec > 1 && ct_emit_is_register(&each->op[DST])) {
    unpack(e, each);
  } else if (each->vec > 1 && ct_emit_is_register(&each->op[SRC])) {
    pack(e, each);
  } else {
    copy_elements(e, each);
  }
  ct_emit_end(e);
  ct_emit_leave_all(&nest);
}

static void emit_copy(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  Each each = {.what = "copy",
               .inst = inst,
               .is_early = ct_emit_is_early(e, v),
               .n_views = t->b.buf != 0 ? 3 : 2,
               .view = {&t->dst, &t->a, &t->b}};
  const CtBuf *to = &e->ir->bufs[t->dst.buf], *from = &e->ir->bufs[t->a.buf];
  bool in_registers = to->space == CT_REGISTER && from->space == CT_REGISTER && each.n_views == 2 &&
                      t->dst.guard == NULL && t->a.guard == NULL;
  if (to->dtype != from->dtype && in_registers) {
    put_loops(e, &each, ct_emit_cast_width(e, to->dtype, from->dtype), cast_body);
    return;
  }
  if (in_registers && t->atom == NULL && to->has_words && from->has_words &&
      ct_dtypes[to->dtype].bits < 32) {
    put_loops(e, &each, 32 / ct_dtypes[to->dtype].bits, move_body);
    return;
  }
  put_loops(e, &each, t->vec, copy_body);
  if (each.is_early && ct_emit_ends_early(e, v)) {
    ct_emit_line(e, inst->loc, "__syncwarp();");
  }
}

/* --- fill, axpby, fma -------------------------------------------------------------------------------- */

static void fill_body(CtEmit *e, const Each *each) {
  ct_emit_begin(e, each->inst->loc);
  ct_emit_element(e, &each->op[DST], 0);
  ct_text_puts(&e->body, " = ");
  ct_emit_expr(e, each->inst->args[0], CT_PREC_ANY);
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
}

static void emit_fill(CtEmit *e, const CtInst *inst) {
  Each each = {.what = "fill", .inst = inst, .n_views = 1, .view = {&inst->u.tile->dst}};
  put_loops(e, &each, 1, fill_body);
}

static bool is_one(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  return inst->op == CT_OP_CONST &&
         (ct_is_float((CtDtype)inst->type) ? inst->imm.f == 1.0 : inst->imm.i == 1);
}

/* scale * element, or the element itself where the scale is 1; the product in unsigned numbers. */
static void put_scaled(CtEmit *e, CtVal scale, const CtEmitOperand *op) {
  CtDtype type = (CtDtype)ct_inst(e->ir, scale)->type;
  if (ct_is_int(type)) {
    ct_text_printf(&e->body, "(%s)", ct_emit_unsigned(type));
  }
  if (!is_one(e, scale)) {
    ct_emit_expr(e, scale, CT_PREC_UNARY);
    ct_text_puts(&e->body, " * ");
  }
  ct_emit_value(e, op, true);
}

/* alpha * x + beta * y, contracted as any such sum: the left product is part of an fma; alpha * x
   where y is not read. */
static void axpby_body(CtEmit *e, const Each *each) {
  const CtInst *inst = each->inst;
  CtDtype type = each->op[DST].buf->dtype;
  bool reads = ct_tile_reads_dst(e->ir, inst);
  bool fused = reads && ct_is_float(type) && e->ir->contract && !is_one(e, inst->args[0]);
  ct_emit_begin(e, inst->loc);
  ct_emit_element(e, &each->op[DST], 0);
  ct_text_puts(&e->body, " = ");
  if (fused) {
    ct_text_puts(&e->body, type == CT_f32 ? "fmaf(" : "fma(");
    ct_emit_expr(e, inst->args[0], CT_PREC_COND);
    ct_text_puts(&e->body, ", ");
    ct_emit_value(e, &each->op[SRC], true);
    ct_text_puts(&e->body, ", ");
    put_scaled(e, inst->args[1], &each->op[DST]);
    ct_text_puts(&e->body, ");");
  } else {
    bool is_int = ct_is_int(type);
    if (is_int) {
      ct_text_printf(&e->body, "(%s)(", ct_dtypes[type].cuda);
    }
    put_scaled(e, inst->args[0], &each->op[SRC]);
    if (reads) {
      ct_text_puts(&e->body, " + ");
      put_scaled(e, inst->args[1], &each->op[DST]);
    }
    ct_text_puts(&e->body, is_int ? ");" : ";");
  }
  ct_emit_end(e);
}

bool ct_emit_has_numbers(CtEmit *e, const CtInst *inst, const char *what) {
  if (e->ir->bufs[inst->u.tile->dst.buf].dtype != CT_bool) {
    return true;
  }
  ct_emit_fail(e, inst->loc, CT_EUNSUPPORTED, "%s: the elements of '%s' are bool; expected numbers",
               what, e->ir->bufs[inst->u.tile->dst.buf].name);
  return false;
}

static void emit_axpby(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  if (!ct_emit_has_numbers(e, inst, "axpby")) {
    return;
  }
  Each each = {.what = "axpby", .inst = inst, .n_views = 2, .view = {&t->dst, &t->a}};
  put_loops(e, &each, 1, axpby_body);
}

/* c = a * b + c, rounded once; integers wrap around. a and b: an element, or a staged one by name. */
void ct_emit_fma(CtEmit *e, const CtEmitOperand *c, const CtEmitOperand *a,
                 const CtEmitOperand *b) {
  CtDtype type = c->buf->dtype;
  bool is_int = ct_is_int(type);
  ct_emit_element(e, c, 0);
  if (is_int) {
    ct_text_printf(&e->body, " = (%s)((%s)", ct_dtypes[type].cuda, ct_emit_unsigned(type));
  } else {
    ct_text_puts(&e->body, type == CT_f32 ? " = fmaf(" : " = fma(");
  }
  ct_emit_value(e, a, true);
  ct_text_puts(&e->body, is_int ? " * " : ", ");
  ct_emit_value(e, b, true);
  ct_text_puts(&e->body, is_int ? " + " : ", ");
  ct_emit_element(e, c, 0);
  ct_text_puts(&e->body, ");");
}

static void fma_body(CtEmit *e, const Each *each) {
  ct_emit_begin(e, each->inst->loc);
  ct_emit_fma(e, &each->op[DST], &each->op[SRC], &each->op[SRC_B]);
  ct_emit_end(e);
}

static void emit_elementwise_fma(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  Each each = {.what = "gemm", .inst = inst, .n_views = 3, .view = {&t->dst, &t->a, &t->b}};
  if (ct_emit_has_numbers(e, inst, "gemm")) {
    put_loops(e, &each, 1, fma_body);
  }
}

void ct_emit_tile(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  switch ((CtOp)inst->op) {
    case CT_OP_COPY: emit_copy(e, v); break;
    case CT_OP_WARP_COPY: ct_emit_warp_copy(e, inst); break;
    case CT_OP_FILL: emit_fill(e, inst); break;
    case CT_OP_AXPBY: emit_axpby(e, inst); break;
    case CT_OP_GEMM:
      if (ct_layout_rank(inst->u.tile->dst.layout) == 1) {
        emit_elementwise_fma(e, inst);
      } else {
        ct_emit_gemm(e, inst);
      }
      break;
    case CT_OP_MMA: ct_emit_mma(e, inst); break;
    case CT_OP_WGMMA: ct_emit_wgmma(e, inst); break;
    default: CT_UNREACHABLE();
  }
}
