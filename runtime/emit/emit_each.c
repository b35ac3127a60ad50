/* emit_each.c: loops over the elements of some views, which the compiler unrolls. */
#include "emit_each.h"

#include <string.h>

enum {
  MAX_UNROLLED = 64, /* iterations without registers: unrolling more does not pay */
  MANY = 8192
};

/* The smallest extent among the views' current leaves; false if the views cannot share one. */
static bool next_extent(const CtEmitEach *each, const CtEmitLeaves *l, const int *at, CtInt *out) {
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

/* Takes n elements off a leaf; true when the leaf is used up, or cannot be split (then *fits is
   false). */
static bool take_extent(CtEmitLeaf *leaf, CtInt n, bool *fits) {
  if (ct_int_equal(leaf->extent, n)) {
    return true;
  }
  *fits = n.v > 0 && leaf->extent.v % n.v == 0;
  leaf->extent.v /= n.v > 0 ? n.v : 1;
  leaf->stride = ct_emit_times(leaf->stride, n.v);
  return !*fits;
}

/* Splits the modes of all views until they agree; false if they cannot. */
static bool refine(CtEmitEach *each) {
  CtEmitLeaves l[CT_EACH_MAX_PARTS] = {{0}};
  int at[CT_EACH_MAX_PARTS] = {0};
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

static void drop_mode(CtEmitEach *each, int i) {
  for (int j = i; j + 1 < each->n_modes; j++) {
    each->extent[j] = each->extent[j + 1];
    for (int k = 0; k < each->n_parts; k++) {
      each->stride[k][j] = each->stride[k][j + 1];
    }
  }
  each->n_modes--;
}

/* Merges mode i + 1 into mode i if it continues that mode in every view; false if it does not. */
static bool merge_mode(CtEmitEach *each, int i) {
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

static void coalesce(CtEmitEach *each) {
  for (int i = 0; i + 1 < each->n_modes;) {
    i += merge_mode(each, i) ? 0 : 1;
  }
}

/* Takes n of the first mode into the vector: lanes [have, have * n) continue lanes [0, have). */
static bool take_lanes(CtEmitEach *each, int have, int64_t n) {
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
static bool take_vector(CtEmitEach *each, int vec) {
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

static bool fail_modes(CtEmit *e, const CtEmitEach *each, int k) {
  int view = k < each->n_views ? k : each->view_of[k];
  ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED, "%s: '%s' has more than %d modes", each->what,
               each->op[view].base, CT_EMIT_MAX_MODES);
  return false;
}

static bool has_registers(const CtEmitEach *each) {
  bool any = false;
  for (int k = 0; k < each->n_views; k++) {
    any = any || (ct_emit_is_register(&each->op[k]) && !ct_emit_is_large(&each->op[k]));
  }
  return any;
}

/* One loop over all elements; each view splits their number. */
static bool flatten(CtEmit *e, CtEmitEach *each, CtEmitNest *nest) {
  CtEmitLeaves l;
  for (int k = 0; k < each->n_parts; k++) {
    if (!ct_emit_list_leaves(each->layout[k], true, &l)) {
      return fail_modes(e, each, k);
    }
  }
  for (int k = 0; k < each->n_parts; k++) {
    if (!ct_all_static(each->layout[k].shape)) {
      ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED,
                   "%s: the shapes of '%s' and '%s' split a run-time extent differently; give both "
                   "tensors the same modes",
                   each->what, each->op[0].base, each->op[each->n_views - 1].base);
      return false;
    }
  }
  int64_t n = ct_emit_leaves_size(&l);
  bool unrolled = has_registers(each) || n <= MANY;
  const char *var =
      ct_emit_enter_loop(nest, 'i', ct_int(n), 1, unrolled ? CT_UNROLL_ALL : CT_UNROLL_NO);
  for (int k = 0; k < each->n_parts; k++) {
    (void)ct_emit_list_leaves(each->layout[k], true, &l);
    ct_emit_add_split(&each->op[k], var, &l, 1);
  }
  return true;
}

/* Iterations of the modes [0, n), or a huge number. */
static int64_t iterations(const CtEmitEach *each, int n) {
  int64_t total = 1;
  for (int i = 0; i < n; i++) {
    if (!ct_is_static(each->extent[i]) || each->extent[i].v > MANY || total > MANY) {
      return INT64_MAX;
    }
    total *= each->extent[i].v;
  }
  return total;
}

static void enter_modes(CtEmitEach *each, CtEmitNest *nest) {
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

static bool is_empty(const CtEmitEach *each) {
  for (int i = 0; i < each->n_modes; i++) {
    if (ct_is_const(each->extent[i], 0)) {
      return true;
    }
  }
  return false;
}

/* Lists the operands, then the axes of their guards. */
static bool list_parts(CtEmit *e, const CtEmitViews *views, CtEmitEach *each) {
  *each = (CtEmitEach){
      .what = views->what, .inst = views->inst, .n_views = views->n, .n_parts = views->n, .vec = 1};
  for (int k = 0; k < each->n_views; k++) {
    const CtView *view = views->view[k];
    each->op[k] = ct_emit_operand(e, view);
    each->layout[k] = view->layout;
    for (int i = 0; i < ct_guard_n(view); i++) {
      int n = each->n_parts++;
      if (n == CT_EACH_MAX_PARTS) {
        ct_emit_fail(e, each->inst->loc, CT_EUNSUPPORTED,
                     "%s: the tensors may overhang in more than %d ways", each->what,
                     CT_EACH_MAX_PARTS - CT_EACH_MAX_VIEWS);
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

static bool is_fixed_axis(const CtEmitEach *each, int k) {
  for (int i = 0; i < each->n_modes; i++) {
    if (!ct_emit_is_stride(each->stride[k][i], 0)) {
      return false;
    }
  }
  return true;
}

/* Before the loops: computes the conditions that are the same for all elements. */
static void hoist_conditions(CtEmitEach *each, CtEmitNest *nest) {
  CtEmit *e = nest->e;
  const char *fixed[CT_EACH_MAX_VIEWS] = {NULL};
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

/* Inside the loops: sets each operand's whole condition. */
static void set_conditions(CtEmit *e, CtEmitEach *each) {
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

/* The loops of one operation are written before those of the next begin, so all use the same two. NULL: out of
   memory. */
static CtEmitEach *room_of(CtEmit *e) {
  if (e->each == NULL) {
    e->each = ct_arena_alloc(&e->arena, 2 * sizeof *e->each);
    if (e->each == NULL) {
      ct_emit_fail(e, e->ir->loc, CT_ENOMEM, "out of memory");
    }
  }
  return e->each;
}

void ct_emit_each(CtEmit *e, const CtEmitViews *views, int vec, CtEmitEachBody body) {
  CtEmitNest nest = {.e = e, .loc = views->inst->loc};
  CtEmitEach *each = room_of(e);
  if (each == NULL || !list_parts(e, views, each)) {
    return;
  }
  if (refine(each)) {
    coalesce(each);
    if (is_empty(each)) {
      return;
    }
    CtEmitEach *before = &each[1];
    *before = *each;
    if (vec > 1 && !take_vector(each, vec)) {
      *each = *before;
      memset(each->lane, 0, sizeof each->lane);
    }
    hoist_conditions(each, &nest);
    enter_modes(each, &nest);
  } else if (!flatten(e, each, &nest)) {
    return;
  }
  set_conditions(e, each);
  each->op[CT_EACH_SRC].is_early =
      views->is_early && ct_buf_bytes(each->op[CT_EACH_SRC].buf, each->vec) >= 4;
  ct_emit_enter_when(&nest, each->op[0].when);
  each->op[0].when = NULL;
  body(e, each);
  ct_emit_leave_all(&nest);
}
