/* ir_tma_box.c: which boxes of a tensor make up a tile, and where they lie in shared memory.

   The tile is given twice: by the coordinates of its elements in the tensor, and by their places in
   shared memory. Both layouts are cut to common factors: modes (n, leaf, step, place), n elements that
   go `step` along one mode of the tensor and `place` in memory. In the order of places they make the
   box, as far as they leave no gap: each goes on where the last one did, or begins a dimension of the
   map. A second run along the same mode of the tensor (a panel) splits that mode into two dimensions,
   where the mode's extent is known to be divisible, so that no part of a panel is outside by another
   rule than the tensor's own edge. What is left takes one instruction for each of its elements. */
#include "ir_tma_box.h"

#include "ir_build.h"
#include "runtime/layout/layout_flat.h"

enum { MAX_INSTRUCTIONS = 64 };

/* --- messages ----------------------------------------------------------------------------------- */

#define FAIL(d, ...) ct_fail((d)->err, CT_EINVAL, __VA_ARGS__)

const char *ct_tma_shared_text(CtTmaTile *d) {
  CtComposed l = ct_ir_view_layout(d->ir, &d->call->shared);
  return ct_show_composed(&d->cx, &l);
}

/* --- the tensor --------------------------------------------------------------------------------- */

static CtStatus fail_coordinates(CtTmaTile *d) {
  return FAIL(d,
              "%s: the coordinates of %s are no tile of %s; cut it by tile, parallelize or a slice "
              "of tma_tensor(%s)",
              d->call->op, d->tile, d->tensor, d->tensor);
}

static CtStatus fail_modes(CtTmaTile *d, const char *what, int most) {
  return FAIL(d, "%s: %s has more than %d modes; coalesce those that lie side by side", d->call->op,
              what, most);
}

/* Appends the integer modes of a tensor. `at`: NULL where the tile begins at 0. */
static CtStatus list_leaves(CtTmaTile *d, CtTuple shape, CtTuple stride, CtTuple at) {
  if (ct_is_leaf(shape)) {
    CtInt begin = at == NULL ? ct_int(0) : at->i;
    if (d->n_leaves == CT_TMA_LEAVES) {
      return fail_modes(d, d->tensor, CT_TMA_LEAVES);
    }
    if ((at != NULL && !ct_is_leaf(at)) || begin.basis_depth > 0) {
      return fail_coordinates(d);
    }
    d->leaf[d->n_leaves++] = (CtTmaLeaf){shape->i, stride->i, begin};
    return CT_OK;
  }
  if (at != NULL && ct_is_leaf(at)) {
    if (!ct_is_const(at->i, 0)) {
      return fail_coordinates(d);
    }
    at = NULL;
  }
  for (int i = 0; i < shape->rank; i++) {
    CtTuple child = at == NULL || i >= at->rank ? NULL : ct_child(at, i);
    CtStatus status = list_leaves(d, ct_child(shape, i), ct_child(stride, i), child);
    if (status != CT_OK) {
      return status;
    }
  }
  return CT_OK;
}

/* The number of the integer mode that a basis element names; -1: none. */
static int leaf_of(CtTuple shape, CtInt basis) {
  CtTuple at = shape;
  int leaf = 0;
  for (int i = 0; i < basis.basis_depth; i++) {
    if (ct_is_leaf(at) || basis.basis[i] >= at->rank) {
      return -1;
    }
    at = ct_child(at, basis.basis[i]);
  }
  for (CtTuple t = shape; t < at; t++) {
    leaf += t->rank == CT_LEAF;
  }
  return ct_is_leaf(at) ? leaf : -1;
}

/* --- common factors ------------------------------------------------------------------------------ */

/* The integer modes of a layout, those of one element left out. */
typedef struct Factors {
  int n, i; /* i: the current one */
  struct {
    int64_t n, step;
    int leaf;
  } of[CT_TMA_MODES];
} Factors;

static CtStatus fail_shape(CtTmaTile *d) {
  return FAIL(d, "%s: %s has shape %s, which is not static; cut it by tile with a static tile",
              d->call->op, d->tile, ct_show_tuple(&d->cx, d->call->coords.shape));
}

static CtStatus list_factors(CtTmaTile *d, CtLayout l, bool is_coordinates, Factors *out) {
  out->n = out->i = 0;
  CtTuple s = l.shape, t = l.stride;
  for (uint32_t k = 0; k < s->len; k++) {
    if (s[k].rank != CT_LEAF || ct_is_const(s[k].i, 1)) {
      continue;
    }
    if (!ct_is_static(s[k].i) || !ct_is_static(t[k].i)) {
      return fail_shape(d);
    }
    int leaf = is_coordinates ? leaf_of(d->source->view.layout.shape, t[k].i) : 0;
    if (out->n == CT_TMA_MODES) {
      return fail_modes(d, is_coordinates ? d->tile : d->shared, CT_TMA_MODES);
    }
    if (leaf < 0) {
      return fail_coordinates(d);
    }
    out->of[out->n].n = s[k].i.v;
    out->of[out->n].step = t[k].i.v;
    out->of[out->n++].leaf = leaf;
  }
  return CT_OK;
}

static CtStatus fail_shapes(CtTmaTile *d) {
  return FAIL(d, "%s: %s has shape %s but %s is %s; give the shared tensor the tile's shape",
              d->call->op, d->tile, ct_show_tuple(&d->cx, d->call->coords.shape), d->shared,
              ct_tma_shared_text(d));
}

/* The largest number that the extents of both current modes have as their first factor; 0: none. */
static int64_t common_factor(const Factors *a, const Factors *b) {
  int64_t m = a->of[a->i].n, n = b->of[b->i].n;
  return m % n == 0 ? n : n % m == 0 ? m : 0;
}

static void advance(Factors *f, int64_t n) {
  f->of[f->i].n /= n;
  f->of[f->i].step *= n;
  f->i += f->of[f->i].n == 1;
}

static CtStatus cut_modes(CtTmaTile *d) {
  Factors tile, place;
  CtStatus status = list_factors(d, d->call->coords, true, &tile);
  status = status == CT_OK ? list_factors(d, d->call->shared.layout, false, &place) : status;
  while (status == CT_OK && tile.i < tile.n && place.i < place.n) {
    int64_t n = common_factor(&tile, &place);
    if (n != 0 && d->n_modes == CT_TMA_MODES) {
      return fail_modes(d, d->tile, CT_TMA_MODES);
    }
    if (n == 0) {
      return fail_shapes(d);
    }
    d->mode[d->n_modes++] =
        (CtTmaMode){n, tile.of[tile.i].step, place.of[place.i].step, tile.of[tile.i].leaf};
    advance(&tile, n);
    advance(&place, n);
  }
  return status != CT_OK ? status : tile.i < tile.n || place.i < place.n ? fail_shapes(d) : CT_OK;
}

static CtStatus sort_modes(CtTmaTile *d) {
  for (int i = 0; i < d->n_modes; i++) {
    CtTmaMode m = d->mode[i];
    if (m.place <= 0 || m.step <= 0) {
      return FAIL(d,
                  "%s: %s %s puts several elements of %s at one place, or in descending order, "
                  "which no box is; expected strides above 0",
                  d->call->op, d->shared, ct_tma_shared_text(d), d->tile);
    }
    int j = i;
    for (; j > 0 && d->mode[j - 1].place > m.place; j--) {
      d->mode[j] = d->mode[j - 1];
    }
    d->mode[j] = m;
  }
  return CT_OK;
}

/* --- boxes ---------------------------------------------------------------------------------------- */

static int64_t largest_divisor(int64_t n, int64_t most) {
  int64_t f = ct_min(n, ct_max(most, 1));
  while (n % f != 0) {
    f--;
  }
  return f;
}

/* Of the rows of a swizzle. */
static int64_t span_of(const CtTmaTile *d) { return (int64_t)CT_TMA_UNIT << d->swizzle; }

static int64_t most_in(const CtTmaTile *d, int dim) {
  return dim == 0 && d->swizzle > 0 ? span_of(d) / d->bytes : CT_TMA_BOX;
}

static bool is_multiple(const CtTmaTile *d, CtInt i, int64_t n) {
  return ct_is_static(i) ? i.v % n == 0 : ct_ir_facts(d->ir, i).div % n == 0;
}

/* The outermost dimension along a mode of the tensor so far, or NULL. */
static CtTmaBoxDim *outer_of(CtTmaTile *d, int leaf) {
  CtTmaBoxDim *found = NULL;
  for (int i = 0; i < d->n_dims; i++) {
    found = d->dim[i].leaf == leaf ? &d->dim[i] : found;
  }
  return found;
}

/* A mode of one element that the tile begins at: the map leaves it out. */
static bool is_needed(const CtTmaLeaf *leaf) {
  return !(ct_is_const(leaf->extent, 1) && ct_is_const(leaf->at, 0));
}

/* Dimensions of the map if it got one more along a mode. */
static int n_with(CtTmaTile *d, int leaf) {
  int n = d->n_dims + 1;
  for (int i = 0; i < d->n_leaves; i++) {
    n += i != leaf && is_needed(&d->leaf[i]) && outer_of(d, i) == NULL;
  }
  return n;
}

static bool may_begin(CtTmaTile *d, const CtTmaMode *m) {
  const CtTmaBoxDim *inner = outer_of(d, m->leaf);
  const CtTmaLeaf *leaf = &d->leaf[m->leaf];
  if (n_with(d, m->leaf) > CT_TMA_DIMS) {
    return false;
  }
  if (inner == NULL) {
    return m->step == 1;
  }
  return m->step % inner->step == 0 && m->step >= inner->step * inner->box &&
         is_multiple(d, leaf->extent, m->step) && is_multiple(d, leaf->at, m->step);
}

/* Elements of the mode that the box takes, a divisor of n; 1: none. */
static int64_t take(CtTmaTile *d, const CtTmaMode *m) {
  CtTmaBoxDim *last = d->n_dims > 0 ? &d->dim[d->n_dims - 1] : NULL;
  if (last != NULL && last->leaf == m->leaf && m->step == last->step * last->box) {
    int64_t f = largest_divisor(m->n, most_in(d, d->n_dims - 1) / last->box);
    last->box *= f;
    if (f > 1) {
      return f;
    }
  }
  int64_t f = largest_divisor(m->n, most_in(d, d->n_dims));
  if (f == 1 || !may_begin(d, m)) {
    return 1;
  }
  d->dim[d->n_dims++] = (CtTmaBoxDim){m->leaf, m->step, f};
  return f;
}

static void make_box(CtTmaTile *d) {
  int64_t run = 1;
  int i = 0;
  while (i < d->n_modes && d->mode[i].place == run) {
    CtTmaMode *m = &d->mode[i];
    int64_t f = take(d, m);
    if (f == 1) {
      break;
    }
    run *= f;
    *m = (CtTmaMode){m->n / f, m->step * f, m->place * f, m->leaf};
    i += m->n == 1;
  }
  d->loop = &d->mode[i];
  d->n_loops = d->n_modes - i;
  for (int leaf = 0; leaf < d->n_leaves; leaf++) {
    if (is_needed(&d->leaf[leaf]) && outer_of(d, leaf) == NULL && d->n_dims < CT_TMA_DIMS) {
      d->dim[d->n_dims++] = (CtTmaBoxDim){leaf, 1, 1};
    }
  }
}

/* --- the fewest boxes ------------------------------------------------------------------------------ */

/* How many elements side by side the tile has along a mode of the tensor; 0: they are not. */
static int64_t run_of(const CtTmaTile *d, int leaf) {
  int64_t n = 1, run = 1, before;
  do {
    before = run;
    for (int i = 0; i < d->n_modes; i++) {
      run *= d->mode[i].leaf == leaf && d->mode[i].step == run ? d->mode[i].n : 1;
    }
  } while (run > before);
  for (int i = 0; i < d->n_modes; i++) {
    n *= d->mode[i].leaf == leaf ? d->mode[i].n : 1;
  }
  return n == run ? run : 0;
}

/* The fewest equal pieces of a run that fit a box, multiples of `unit` elements; 0: none do. */
static int64_t pieces_of(int64_t run, int64_t unit) {
  int64_t n = (run + CT_TMA_BOX - 1) / CT_TMA_BOX;
  while (n > 0 && n <= run && (run % n != 0 || run / n % unit != 0)) {
    n++;
  }
  return n <= run ? n : 0;
}

/* Of a shared layout that holds box after box, each in one piece; before make_box, which takes modes. */
static void find_fewest(CtTmaTile *d) {
  int first = d->mode[0].leaf;
  int64_t n = 1, bytes = d->bytes;
  CtTmaBoxes b = {0};
  for (int k = -1; k < d->n_leaves; k++) {
    int leaf = k < 0 ? first : k;
    int64_t run = k == first ? 1 : run_of(d, leaf);
    int64_t pieces = pieces_of(run, k < 0 ? CT_TMA_UNIT / d->bytes : 1);
    if (pieces == 0) {
      return;
    }
    if (run > 1 && b.n_dims < CT_TMA_DIMS) {
      b.box[b.n_dims++] = (uint16_t)(run / pieces);
    }
    n *= pieces;
    bytes *= run / pieces;
  }
  if (d->swizzle == 0 && n <= MAX_INSTRUCTIONS && (n == 1 || bytes % CT_TMA_ALIGN == 0)) {
    b.fewest = (uint8_t)n;
    d->boxes = b;
  }
}

/* --- what the hardware asks for -------------------------------------------------------------------- */

static CtStatus find_swizzle(CtTmaTile *d) {
  CtSwizzle sw = d->ir->bufs[d->call->shared.buf].swizzle;
  CtSwizzle bytes = sw;
  CtErr err;
  if (sw.bits == 0) {
    return CT_OK;
  }
  bool fits = ct_swizzle_recast(sw, d->bytes * 8, 8, &bytes, &err) == CT_OK;
  if (!fits || bytes.bits > 3 || bytes.base != 4 || bytes.shift != 3) {
    return FAIL(d,
                "%s: the swizzle Sw<%d,%d,%d> of %s is Sw<%d,%d,%d> on bytes; the hardware has "
                "Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>, those of gmma_layout(%s, ...)",
                d->call->op, sw.bits, sw.base, sw.shift, d->shared, bytes.bits, bytes.base,
                bytes.shift, ct_dtypes[d->ir->bufs[d->call->shared.buf].dtype].name);
  }
  d->swizzle = (unsigned char)bytes.bits;
  return CT_OK;
}

static CtStatus check_operands(CtTmaTile *d) {
  const CtBuf *shared = &d->ir->bufs[d->call->shared.buf];
  const CtBuf *global = &d->ir->bufs[d->source->view.buf];
  if (ct_ir_check_tma(d->ir, d->call->op, d->err) != CT_OK) {
    return CT_EUNSUPPORTED;
  }
  if (shared->space != CT_SHARED || d->call->shared.buf == d->ir->smem_buf) {
    return FAIL(d, "%s: %s is no shared tensor that the kernel declares; write shared(%s, layout)",
                d->call->op, d->shared, ct_dtypes[global->dtype].name);
  }
  if (shared->remote != 0) {
    return FAIL(d, "%s: %s is another block's; {multicast = mask} brings a tile to other blocks",
                d->call->op, d->shared);
  }
  if (shared->dtype != global->dtype) {
    return FAIL(d, "%s: %s is %s but %s is %s; the element types must be equal", d->call->op,
                d->tensor, ct_dtypes[global->dtype].name, d->shared, ct_dtypes[shared->dtype].name);
  }
  if (d->call->shared.guard != NULL && ct_guard_n(&d->call->shared) > 0) {
    return FAIL(d,
                "%s: %s is guarded; only the tensor's own edges clip a box, so leave the guard out",
                d->call->op, d->shared);
  }
  return ct_tile_check_inside(d->ir, d->call->op, d->call->shared, d->err);
}

static CtStatus check_first(CtTmaTile *d) {
  const CtTmaMode *m = &d->mode[0];
  const CtTmaLeaf *leaf = d->n_modes > 0 ? &d->leaf[m->leaf] : NULL;
  if (leaf == NULL || m->place != 1) {
    return FAIL(d,
                "%s: %s %s has no two neighbours of %s side by side; a box needs 16 bytes in a row",
                d->call->op, d->shared, ct_tma_shared_text(d), d->tile);
  }
  if (!ct_is_const(leaf->stride, 1) || m->step != 1) {
    return FAIL(d,
                "%s: elements side by side in %s are %s apart in %s (mode %d, step %lld); a box is "
                "contiguous in both, so order the shared layout along the mode of stride 1",
                d->call->op, d->shared, ct_show_int(&d->cx, leaf->stride), d->tensor, m->leaf,
                (long long)m->step);
  }
  int n = 0;
  for (int i = 0; i < d->n_leaves; i++) {
    n += is_needed(&d->leaf[i]);
  }
  return n <= CT_TMA_DIMS
             ? CT_OK
             : FAIL(d, "%s: %s has %d modes; a tensor map has at most %d: slice or coalesce it",
                    d->call->op, d->tensor, n, CT_TMA_DIMS);
}

static CtStatus check_row(CtTmaTile *d) {
  int64_t row = d->dim[0].box * d->bytes;
  if (row % CT_TMA_UNIT != 0) {
    return FAIL(d,
                "%s: %s has rows of %lld bytes (%lld elements of mode %d of %s in a row); expected "
                "a multiple of %d bytes",
                d->call->op, d->shared, (long long)row, (long long)d->dim[0].box, d->dim[0].leaf,
                d->tensor, CT_TMA_UNIT);
  }
  if (d->swizzle > 0 && row != span_of(d)) {
    return FAIL(d,
                "%s: %s has rows of %lld bytes under a swizzle of %lld bytes; they must be as "
                "long: take gmma_layout with %lld bytes, or other tiles",
                d->call->op, d->shared, (long long)row, (long long)span_of(d), (long long)row);
  }
  return CT_OK;
}

static CtStatus check_strides(CtTmaTile *d) {
  for (int i = 1; i < d->n_dims; i++) {
    const CtTmaLeaf *leaf = &d->leaf[d->dim[i].leaf];
    int64_t unit = d->dim[i].step * d->bytes;
    int64_t div =
        ct_is_static(leaf->stride) ? leaf->stride.v : ct_ir_facts(d->ir, leaf->stride).div;
    if (ct_is_static(leaf->stride) && leaf->stride.v <= 0 && !ct_is_const(leaf->extent, 1)) {
      return FAIL(d, "%s: mode %d of %s has stride %lld; a tensor map needs strides above 0",
                  d->call->op, d->dim[i].leaf, d->tensor, (long long)leaf->stride.v);
    }
    if (!ct_is_const(leaf->extent, 1) && div * unit % CT_TMA_UNIT != 0) {
      return FAIL(d,
                  "%s: mode %d of %s has stride %s, of %lld bytes each; a tensor map needs a "
                  "multiple of %d bytes: pad the rows of %s",
                  d->call->op, d->dim[i].leaf, d->tensor, ct_show_int(&d->cx, leaf->stride),
                  (long long)unit, CT_TMA_UNIT, d->tensor);
    }
  }
  return CT_OK;
}

static CtStatus check_alignment(CtTmaTile *d) {
  const CtView *global = &d->source->view, *shared = &d->call->shared;
  const CtBuf *buf = &d->ir->bufs[global->buf];
  if (buf->align < CT_TMA_UNIT || !is_multiple(d, global->offset, CT_TMA_UNIT / d->bytes)) {
    return FAIL(d, "%s: %s begins at no multiple of %d bytes, which a tensor map needs",
                d->call->op, d->tensor, CT_TMA_UNIT);
  }
  bool is_aligned = is_multiple(d, shared->offset, CT_TMA_ALIGN / d->bytes);
  int64_t place = 0, n = 1;
  for (int i = 0; i < d->n_loops; i++) {
    bool fits = d->loop[i].place * d->bytes % CT_TMA_ALIGN == 0;
    place = fits || place != 0 ? place : d->loop[i].place;
    n *= d->loop[i].n;
  }
  if (place != 0 || n > MAX_INSTRUCTIONS) {
    return FAIL(
        d,
        "%s: %s %s is %lld boxes of %s, of %lld bytes in a row, %lld bytes apart; a box begins at a "
        "multiple of %d bytes, and %d instructions are the most: take a layout without gaps, as of "
        "gmma_layout",
        d->call->op, d->shared, ct_tma_shared_text(d), (long long)n, d->tensor,
        (long long)(d->dim[0].box * d->bytes),
        (long long)((place != 0 ? place : d->loop[0].place) * d->bytes), CT_TMA_ALIGN,
        MAX_INSTRUCTIONS);
  }
  return is_aligned ? CT_OK
                    : FAIL(d,
                           "%s: %s begins at no known multiple of %d bytes in its memory; slice "
                           "tiles whose size is one",
                           d->call->op, d->shared, CT_TMA_ALIGN);
}

CtStatus ct_tma_derive(CtTmaTile *d) {
  const CtView *v = &d->source->view;
  CtStatus status = check_operands(d);
  status = status == CT_OK ? find_swizzle(d) : status;
  status =
      status == CT_OK ? list_leaves(d, v->layout.shape, v->layout.stride, d->call->at) : status;
  status = status == CT_OK ? cut_modes(d) : status;
  status = status == CT_OK ? sort_modes(d) : status;
  status = status == CT_OK ? check_first(d) : status;
  if (status != CT_OK) {
    return status;
  }
  find_fewest(d);
  make_box(d);
  status = check_row(d);
  status = status == CT_OK ? check_strides(d) : status;
  return status == CT_OK ? check_alignment(d) : status;
}
