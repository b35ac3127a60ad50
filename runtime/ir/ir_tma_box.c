/* ir_tma_box.c: the boxes of a tensor that make up a tile, and their places in shared memory.

   The tile is given twice: by the coordinates of its elements in the tensor, and by their places in
   shared memory. Both layouts are cut to common factors: modes (n, leaf, step, place), n elements that
   go `step` along one mode of the tensor and `place` in memory. In the order of places they make the
   box, as far as they leave no gap: each goes on where the last one did, or begins a dimension of the
   map. A second run along the same mode of the tensor (a panel) splits that mode into two dimensions,
   where the mode's extent is known to be divisible, so that no part of a panel is outside by another
   rule than the tensor's own edge. What is left takes one instruction for each of its elements. */
#include "ir_tma_box.h"

enum { MAX_INSTRUCTIONS = 64 };

/* --- messages ----------------------------------------------------------------------------------- */

#define FAIL(d, ...) al_fail(&(d)->g, CT_EINVAL, __VA_ARGS__)

const char *ct_tma_shared_text(CtTmaTile *d) {
  CtComposed l = ct_ir_view_layout(d->ir, &d->call->shared);
  return al_show_composed(&d->g, l);
}

/* --- the tensor --------------------------------------------------------------------------------- */

static void fail_coordinates(CtTmaTile *d) {
  FAIL(d,
       "%s: the coordinates of %s are not a tile of %s; cut it with tile, parallelize or a "
       "slice of tma_tensor(%s)",
       d->call->op, d->tile, d->tensor, d->tensor);
}

static void fail_modes(CtTmaTile *d, const char *what, int most) {
  FAIL(d, "%s: %s has more than %d modes; coalesce those that are adjacent", d->call->op, what,
       most);
}

/* Appends the integer modes of a tensor. `at`: NULL if the tile begins at 0. */
static void list_leaves(CtTmaTile *d, CtTuple shape, CtTuple stride, CtTuple at) {
  if (ct_is_leaf(shape)) {
    CtInt begin = at == NULL ? ct_int(0) : at->i;
    if (d->n_leaves == CT_TMA_LEAVES) {
      fail_modes(d, d->tensor, CT_TMA_LEAVES);
    } else if ((at != NULL && !ct_is_leaf(at)) || begin.basis_depth > 0) {
      fail_coordinates(d);
    } else {
      d->leaf[d->n_leaves++] = (CtTmaLeaf){shape->i, stride->i, begin};
    }
    return;
  }
  if (at != NULL && ct_is_leaf(at)) {
    if (!ct_is_const(at->i, 0)) {
      fail_coordinates(d);
    }
    at = NULL;
  }
  for (int i = 0; al_ok(&d->g) && i < shape->rank; i++) {
    CtTuple child = at == NULL || i >= at->rank ? NULL : ct_child(at, i);
    list_leaves(d, ct_child(shape, i), ct_child(stride, i), child);
  }
}

/* The number of the integer mode that a basis element names; -1: there is no such mode. */
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

static void fail_shape(CtTmaTile *d) {
  FAIL(d, "%s: %s has shape %s, which is not static; cut it into static tiles with tile",
       d->call->op, d->tile, al_show_tuple(&d->g, d->call->coords.shape));
}

static void list_factors(CtTmaTile *d, CtLayout l, bool is_coordinates, Factors *out) {
  out->n = out->i = 0;
  for (CtLeaves w = ct_layout_leaves(l); al_ok(&d->g) && ct_next_leaf(&w);) {
    CtInt n = w.shape->i, step = w.stride->i;
    int leaf = is_coordinates ? leaf_of(d->source->view.layout.shape, step) : 0;
    if (ct_is_const(n, 1)) {
      continue;
    }
    if (!ct_is_static(n) || !ct_is_static(step)) {
      fail_shape(d);
    } else if (out->n == CT_TMA_MODES) {
      fail_modes(d, is_coordinates ? d->tile : d->shared, CT_TMA_MODES);
    } else if (leaf < 0) {
      fail_coordinates(d);
    } else {
      out->of[out->n].n = n.v;
      out->of[out->n].step = step.v;
      out->of[out->n++].leaf = leaf;
    }
  }
}

static void fail_shapes(CtTmaTile *d) {
  FAIL(d, "%s: %s has shape %s but %s is %s; give the shared tensor the tile's shape", d->call->op,
       d->tile, al_show_tuple(&d->g, d->call->coords.shape), d->shared, ct_tma_shared_text(d));
}

/* The largest first factor that the extents of both current modes share; 0: they share no
   factor. */
static int64_t common_factor(const Factors *a, const Factors *b) {
  int64_t m = a->of[a->i].n, n = b->of[b->i].n;
  return m % n == 0 ? n : n % m == 0 ? m : 0;
}

static void advance(Factors *f, int64_t n) {
  f->of[f->i].n /= n;
  f->of[f->i].step *= n;
  f->i += f->of[f->i].n == 1;
}

static void cut_modes(CtTmaTile *d) {
  Factors tile, place;
  list_factors(d, d->call->coords, true, &tile);
  list_factors(d, d->call->shared.layout, false, &place);
  while (al_ok(&d->g) && tile.i < tile.n && place.i < place.n) {
    int64_t n = common_factor(&tile, &place);
    if (n == 0) {
      fail_shapes(d);
    } else if (d->n_modes == CT_TMA_MODES) {
      fail_modes(d, d->tile, CT_TMA_MODES);
    } else {
      d->mode[d->n_modes++] =
          (CtTmaMode){n, tile.of[tile.i].step, place.of[place.i].step, tile.of[tile.i].leaf};
      advance(&tile, n);
      advance(&place, n);
    }
  }
  if (tile.i < tile.n || place.i < place.n) {
    fail_shapes(d);
  }
}

static void sort_modes(CtTmaTile *d) {
  for (int i = 0; i < d->n_modes; i++) {
    CtTmaMode m = d->mode[i];
    if (m.place <= 0 || m.step <= 0) {
      FAIL(d,
           "%s: %s %s puts several elements of %s at one place, or in descending order, which no "
           "box can do; expected strides above 0",
           d->call->op, d->shared, ct_tma_shared_text(d), d->tile);
      return;
    }
    int j = i;
    for (; j > 0 && d->mode[j - 1].place > m.place; j--) {
      d->mode[j] = d->mode[j - 1];
    }
    d->mode[j] = m;
  }
}

/* --- boxes ---------------------------------------------------------------------------------------- */

static int64_t largest_divisor(int64_t n, int64_t most) {
  int64_t f = ct_min(n, ct_max(most, 1));
  while (n % f != 0) {
    f--;
  }
  return f;
}

/* The span of a swizzle's rows. */
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

/* The elements of the mode that the box takes, a divisor of n; 1: it takes only one. */
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

/* The fewest equal pieces of a run that fit a box, multiples of `unit` elements; 0: no pieces
   fit. */
static int64_t pieces_of(int64_t run, int64_t unit) {
  int64_t n = (run + CT_TMA_BOX - 1) / CT_TMA_BOX;
  while (n > 0 && n <= run && (run % n != 0 || run / n % unit != 0)) {
    n++;
  }
  return n <= run ? n : 0;
}

/* For a shared layout that holds box after box, each in one piece. Runs before make_box, which
   takes modes. */
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

static void find_swizzle(CtTmaTile *d) {
  CtSwizzle sw = d->ir->bufs[d->call->shared.buf].swizzle;
  CtSwizzle bytes = sw;
  CtErr err;
  if (sw.bits == 0) {
    return;
  }
  bool fits = ct_swizzle_recast(sw, d->bytes * 8, 8, &bytes, &err) == CT_OK;
  if (!fits || bytes.bits > 3 || bytes.base != 4 || bytes.shift != 3) {
    FAIL(d,
         "%s: the swizzle Sw<%d,%d,%d> of %s is Sw<%d,%d,%d> on bytes; the hardware has "
         "Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>, those of gmma_layout(%s, ...)",
         d->call->op, sw.bits, sw.base, sw.shift, d->shared, bytes.bits, bytes.base, bytes.shift,
         ct_dtypes[d->ir->bufs[d->call->shared.buf].dtype].name);
  }
  d->swizzle = (unsigned char)bytes.bits;
}

static void check_operands(CtTmaTile *d) {
  const CtBuf *shared = &d->ir->bufs[d->call->shared.buf];
  const CtBuf *global = &d->ir->bufs[d->source->view.buf];
  if (ct_ir_check_tma(d->ir, d->call->op, d->g.err) != CT_OK) {
    d->g.status = CT_EUNSUPPORTED;
    return;
  }
  if (shared->space != CT_SHARED || d->call->shared.buf == d->ir->smem_buf) {
    FAIL(d, "%s: %s is not a shared tensor that the kernel declares; write shared(%s, layout)",
         d->call->op, d->shared, ct_dtypes[global->dtype].name);
  }
  if (global->chosen != 0) {
    FAIL(d,
         "%s: %s is chosen at run time, but tensor maps are made before the launch, from "
         "arguments; use copy",
         d->call->op, d->tensor);
  }
  if (shared->remote != 0) {
    FAIL(d, "%s: %s is another block's; {multicast = mask} brings a tile to other blocks",
         d->call->op, d->shared);
  }
  if (shared->dtype != global->dtype) {
    FAIL(d, "%s: %s is %s but %s is %s; the element types must be equal", d->call->op, d->tensor,
         ct_dtypes[global->dtype].name, d->shared, ct_dtypes[shared->dtype].name);
  }
  if (d->call->shared.guard != NULL && ct_guard_n(&d->call->shared) > 0) {
    FAIL(d, "%s: %s is guarded; only the tensor's own edges clip a box, so leave the guard out",
         d->call->op, d->shared);
  }
  if (al_ok(&d->g)) {
    CtTileCx c = {d->ir, d->call->op, NULL, d->g};
    ct_tile_check_inside(&c, d->call->shared);
    d->g.status = c.g.status;
  }
}

static void check_first(CtTmaTile *d) {
  const CtTmaMode *m = &d->mode[0];
  const CtTmaLeaf *leaf = d->n_modes > 0 ? &d->leaf[m->leaf] : NULL;
  if (leaf == NULL || m->place != 1) {
    FAIL(d, "%s: %s %s has no two adjacent elements of %s; a box needs 16 bytes in a row",
         d->call->op, d->shared, ct_tma_shared_text(d), d->tile);
    return;
  }
  if (!ct_is_const(leaf->stride, 1) || m->step != 1) {
    FAIL(d,
         "%s: adjacent elements of %s are %s apart in %s (mode %d, step %lld); a box is "
         "contiguous in both, so order the shared layout along the mode of stride 1",
         d->call->op, d->shared, al_show_int(&d->g, leaf->stride), d->tensor, m->leaf,
         (long long)m->step);
  }
  int n = 0;
  for (int i = 0; i < d->n_leaves; i++) {
    n += is_needed(&d->leaf[i]);
  }
  if (n > CT_TMA_DIMS) {
    FAIL(d, "%s: %s has %d modes; a tensor map has at most %d: slice or coalesce it", d->call->op,
         d->tensor, n, CT_TMA_DIMS);
  }
}

static void check_row(CtTmaTile *d) {
  int64_t row = d->dim[0].box * d->bytes;
  if (row % CT_TMA_UNIT != 0) {
    FAIL(d,
         "%s: %s has rows of %lld bytes (%lld elements of mode %d of %s in a row); expected "
         "a multiple of %d bytes",
         d->call->op, d->shared, (long long)row, (long long)d->dim[0].box, d->dim[0].leaf,
         d->tensor, CT_TMA_UNIT);
  }
  if (d->swizzle > 0 && row != span_of(d)) {
    FAIL(d,
         "%s: %s has rows of %lld bytes under a swizzle of %lld bytes; both must be equal: "
         "use gmma_layout with %lld bytes, or other tiles",
         d->call->op, d->shared, (long long)row, (long long)span_of(d), (long long)row);
  }
}

static void check_strides(CtTmaTile *d) {
  for (int i = 1; i < d->n_dims; i++) {
    const CtTmaLeaf *leaf = &d->leaf[d->dim[i].leaf];
    int64_t unit = d->dim[i].step * d->bytes;
    int64_t div =
        ct_is_static(leaf->stride) ? leaf->stride.v : ct_ir_facts(d->ir, leaf->stride).div;
    if (ct_is_static(leaf->stride) && leaf->stride.v <= 0 && !ct_is_const(leaf->extent, 1)) {
      FAIL(d, "%s: mode %d of %s has stride %lld; a tensor map needs strides above 0", d->call->op,
           d->dim[i].leaf, d->tensor, (long long)leaf->stride.v);
    }
    if (!ct_is_const(leaf->extent, 1) && div * unit % CT_TMA_UNIT != 0) {
      FAIL(d,
           "%s: mode %d of %s has stride %s, of %lld bytes each; a tensor map needs a "
           "multiple of %d bytes: pad the rows of %s",
           d->call->op, d->dim[i].leaf, d->tensor, al_show_int(&d->g, leaf->stride),
           (long long)unit, CT_TMA_UNIT, d->tensor);
    }
  }
}

static void check_alignment(CtTmaTile *d) {
  const CtView *global = &d->source->view, *shared = &d->call->shared;
  const CtBuf *buf = &d->ir->bufs[global->buf];
  if (buf->align < CT_TMA_UNIT || !is_multiple(d, global->offset, CT_TMA_UNIT / d->bytes)) {
    FAIL(d, "%s: %s does not begin at a multiple of %d bytes, which a tensor map needs",
         d->call->op, d->tensor, CT_TMA_UNIT);
  }
  int64_t place = 0, n = 1;
  for (int i = 0; i < d->n_loops; i++) {
    bool fits = d->loop[i].place * d->bytes % CT_TMA_ALIGN == 0;
    place = fits || place != 0 ? place : d->loop[i].place;
    n *= d->loop[i].n;
  }
  if (place != 0 || n > MAX_INSTRUCTIONS) {
    FAIL(d,
         "%s: %s %s is %lld boxes of %s, of %lld bytes in a row, %lld bytes apart; a box "
         "begins at a multiple of %d bytes, and at most %d instructions are allowed: use a layout "
         "without gaps, as gmma_layout makes it",
         d->call->op, d->shared, ct_tma_shared_text(d), (long long)n, d->tensor,
         (long long)(d->dim[0].box * d->bytes),
         (long long)((place != 0 ? place : d->loop[0].place) * d->bytes), CT_TMA_ALIGN,
         MAX_INSTRUCTIONS);
  }
  if (!is_multiple(d, shared->offset, CT_TMA_ALIGN / d->bytes)) {
    FAIL(d,
         "%s: %s is not known to begin at a multiple of %d bytes in its memory; slice tiles of "
         "such a size",
         d->call->op, d->shared, CT_TMA_ALIGN);
  }
}

CtStatus ct_tma_derive(CtTmaTile *d) {
  const CtView *v = &d->source->view;
  check_operands(d);
  find_swizzle(d);
  list_leaves(d, v->layout.shape, v->layout.stride, d->call->at);
  cut_modes(d);
  sort_modes(d);
  if (al_ok(&d->g)) {
    check_first(d);
  }
  if (al_ok(&d->g)) {
    find_fewest(d);
    make_box(d);
    check_row(d);
    check_strides(d);
    check_alignment(d);
  }
  return d->g.status;
}
