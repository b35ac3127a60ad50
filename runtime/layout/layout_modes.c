/* layout_modes.c: a layout as a list of modes: slicing, dicing, grouping, picking. */
#include "layout_flat.h"

/* --- slice and dice ---------------------------------------------------------------------------- */

/* What a coordinate keeps of a layout, or of a tuple (then stride is shape once more): the parts
   under `_` (slice) or under the integers (dice). The parts kept inside a nested coordinate join
   those outside it. */
typedef struct Keep {
  CtBuild *b;
  bool any; /* slice */
} Keep;

static bool keep_parts(Keep *k, CtTuple crd, CtLayout l) {
  if (ct_is_leaf(crd)) {
    if ((crd->i.kind == CT_ANY) == k->any) {
      ct_build_copy(k->b, l.shape, l.stride);
    }
    return true;
  }
  if (ct_is_leaf(l.shape) || crd->rank != l.shape->rank) {
    return false;
  }
  CtLayout m = {ct_first(l.shape), ct_first(l.stride)};
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
    if (!keep_parts(k, c, m)) {
      return false;
    }
    m = (CtLayout){ct_next(m.shape), ct_next(m.stride)};
  }
  return true;
}

/* A leaf coordinate keeps all of l as it is, or nothing; a tuple gives a tuple. */
static bool build_kept(Keep *k, CtTuple crd, CtLayout l) {
  bool whole = ct_is_leaf(crd) && (crd->i.kind == CT_ANY) == k->any;
  if (whole) {
    return keep_parts(k, crd, l);
  }
  ct_build_open_named(k->b, ct_whole_name(l));
  bool fits = keep_parts(k, crd, l);
  ct_build_close(k->b);
  return fits;
}

static CtStatus fail_keep(const CtCx *cx, const char *op, CtTuple crd, CtTuple shape, CtErr *err) {
  return ct_fail(err, CT_EINVAL,
                 "%s: coordinate %s does not fit shape %s; give one entry per mode, '_' to keep a "
                 "mode",
                 op, ct_show_tuple(cx, crd), ct_show_tuple(cx, shape));
}

static CtStatus keep_layout(const CtCx *cx, const char *op, bool any, CtTuple crd, CtLayout l,
                            CtLayout *out, CtErr *err) {
  CtBuild b;
  Keep k = {&b, any};
  ct_build_init_layout(&b, cx, op, err);
  if (!build_kept(&k, crd, l)) {
    return fail_keep(cx, op, crd, l.shape, err);
  }
  return ct_build_finish_layout(&b, out);
}

static CtStatus keep_tuple(const CtCx *cx, const char *op, bool any, CtTuple crd, CtTuple t,
                           CtTuple *out, CtErr *err) {
  CtBuild b;
  Keep k = {&b, any};
  ct_build_init(&b, cx->arena, op, false, err);
  if (!build_kept(&k, crd, (CtLayout){t, t})) {
    return fail_keep(cx, op, crd, t, err);
  }
  return ct_build_finish(&b, out, NULL);
}

CtStatus ct_slice(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtInt *offset,
                  CtErr *err) {
  CtLayout kept;
  CtInt at;
  CtStatus st = keep_layout(cx, "slice", true, crd, l, &kept, err);
  if (st == CT_OK) {
    st = ct_crd2idx(cx, crd, l, &at, err);
  }
  if (st == CT_OK) {
    *out = kept;
    *offset = at;
  }
  return st;
}

CtStatus ct_slice_at(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtTuple *offset,
                     CtErr *err) {
  CtLayout kept;
  CtTuple at = NULL;
  CtStatus st = keep_layout(cx, "slice", true, crd, l, &kept, err);
  if (st == CT_OK) {
    st = ct_evaluate(cx, crd, l, &at, err);
  }
  if (st == CT_OK) {
    *out = kept;
    *offset = at;
  }
  return st;
}

CtStatus ct_dice(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtErr *err) {
  return keep_layout(cx, "dice", false, crd, l, out, err);
}

CtStatus ct_slice_tuple(const CtCx *cx, CtTuple crd, CtTuple t, CtTuple *out, CtErr *err) {
  return keep_tuple(cx, "slice", true, crd, t, out, err);
}

CtStatus ct_dice_tuple(const CtCx *cx, CtTuple crd, CtTuple t, CtTuple *out, CtErr *err) {
  return keep_tuple(cx, "dice", false, crd, t, out, err);
}

/* --- picking modes ----------------------------------------------------------------------------- */

static void build_modes(CtBuild *b, CtLayout l, int first, int last) {
  for (int i = first; i < last; i++) {
    ct_build_layout(b, ct_mode(l, i));
  }
}

static CtStatus check_range(const CtCx *cx, const char *op, CtLayout l, int first, int last,
                            CtErr *err) {
  if (first >= 0 && first < last && last <= ct_layout_rank(l)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "%s: modes %d to %d of %s, which has rank %d; expected 0 <= first < last <= rank",
                 op, first, last, ct_show_layout(cx, l), ct_layout_rank(l));
}

static CtStatus check_mode(const CtCx *cx, const char *op, CtLayout l, int i, CtErr *err) {
  if (i >= 0 && i < ct_layout_rank(l)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL, "%s: no mode %d in %s, which has rank %d", op, i,
                 ct_show_layout(cx, l), ct_layout_rank(l));
}

CtStatus ct_layout_concat(const CtCx *cx, int n, const CtLayout *modes, CtLayout *out, CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, "concat", err);
  ct_build_open(&b);
  for (int i = 0; i < n; i++) {
    ct_build_layout(&b, modes[i]);
  }
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_mode_at(const CtCx *cx, const char *op, CtLayout l, int n, const int *path,
                    CtLayout *out, CtErr *err) {
  for (int i = 0; i < n; i++) {
    CtStatus st = check_mode(cx, op, l, path[i], err);
    if (st != CT_OK) {
      return st;
    }
    l = ct_mode(l, path[i]);
  }
  *out = l;
  return CT_OK;
}

CtStatus ct_group(const CtCx *cx, CtLayout l, int first, int last, CtLayout *out, CtErr *err) {
  CtBuild b;
  CtStatus st = check_range(cx, "group", l, first, last, err);
  if (st != CT_OK) {
    return st;
  }
  ct_build_init_layout(&b, cx, "group", err);
  ct_build_open_named(&b, ct_whole_name(l));
  build_modes(&b, l, 0, first);
  ct_build_open(&b);
  build_modes(&b, l, first, last);
  ct_build_close(&b);
  build_modes(&b, l, last, ct_layout_rank(l));
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_take(const CtCx *cx, CtLayout l, int first, int last, CtLayout *out, CtErr *err) {
  CtBuild b;
  CtStatus st = check_range(cx, "take", l, first, last, err);
  if (st != CT_OK) {
    return st;
  }
  ct_build_init_layout(&b, cx, "take", err);
  ct_build_open_named(&b, ct_whole_name(l));
  build_modes(&b, l, first, last);
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_select(const CtCx *cx, CtLayout l, int n, const int *modes, CtLayout *out, CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, "select", err);
  ct_build_open_named(&b, ct_whole_name(l));
  for (int i = 0; i < n; i++) {
    CtStatus st = check_mode(cx, "select", l, modes[i], err);
    if (st != CT_OK) {
      return st;
    }
    ct_build_layout(&b, ct_mode(l, modes[i]));
  }
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

/* How many times x must be added; a layout of the wanted rank stays as it is. */
static CtStatus count_padding(const CtCx *cx, const char *op, CtLayout l, int rank, int *n,
                              CtErr *err) {
  *n = rank > 0 ? rank - ct_layout_rank(l) : 1;
  if (*n >= 0 && *n <= CT_MAX_NODES) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL, "%s: %s has rank %d, more than %d", op, ct_show_layout(cx, l),
                 ct_layout_rank(l), rank);
}

static CtStatus pad(const CtCx *cx, const char *op, CtLayout l, CtLayout x, int rank, bool front,
                    CtLayout *out, CtErr *err) {
  CtBuild b;
  int n = 0;
  CtStatus st = count_padding(cx, op, l, rank, &n, err);
  if (st != CT_OK || n == 0) {
    return st == CT_OK ? ct_layout_copy(cx->arena, l, out, err) : st;
  }
  ct_build_init_layout(&b, cx, op, err);
  ct_build_open(&b);
  for (int i = 0; front && i < n; i++) {
    ct_build_layout(&b, x);
  }
  build_modes(&b, l, 0, ct_layout_rank(l));
  for (int i = 0; !front && i < n; i++) {
    ct_build_layout(&b, x);
  }
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_append(const CtCx *cx, CtLayout l, CtLayout x, int rank, CtLayout *out, CtErr *err) {
  return pad(cx, "append", l, x, rank, false, out, err);
}

CtStatus ct_prepend(const CtCx *cx, CtLayout l, CtLayout x, int rank, CtLayout *out, CtErr *err) {
  return pad(cx, "prepend", l, x, rank, true, out, err);
}

CtStatus ct_replace(const CtCx *cx, CtLayout l, int i, CtLayout x, CtLayout *out, CtErr *err) {
  CtBuild b;
  CtStatus st = check_mode(cx, "replace", l, i, err);
  if (st != CT_OK || ct_is_leaf(l.shape)) {
    return st == CT_OK ? ct_layout_copy(cx->arena, x, out, err) : st;
  }
  ct_build_init_layout(&b, cx, "replace", err);
  ct_build_open_named(&b, ct_whole_name(l));
  build_modes(&b, l, 0, i);
  ct_build_layout(&b, x);
  build_modes(&b, l, i + 1, ct_layout_rank(l));
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}
