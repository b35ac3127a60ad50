/* ir_atom.c: copies through copy atoms. An atom takes n elements of a thread at once, the bits of its
   layout over those of an element; a view has those of one atom behind those of the other. Whether the
   views allow that is checked here, once for all engines. */
#include <stdio.h>
#include <string.h>

#include "ir_build.h"

/* A copy by an atom, as its checks see it. */
typedef struct By {
  CtIr *ir;
  const char *op; /* "copy", "copy_if" */
  const CtAtom *atom;
  CtDtype dtype;
  CtView src, dst;
  const CtView *pred;
  int64_t size;         /* elements of src */
  int64_t n_src, n_dst; /* elements of one atom */
} By;

static const char *name_of(const By *by, CtView v) {
  return v.name != NULL ? v.name : by->ir->bufs[v.buf].name;
}

static void print_view(const By *by, CtView v, CtText *out) {
  CtCx cx = ct_ir_cx(by->ir);
  CtComposed l = ct_ir_view_layout(by->ir, &v);
  ct_text_printf(out, "%s ", name_of(by, v));
  ct_composed_print(&cx, &l, out);
}

/* --- elements ------------------------------------------------------------------------------------- */

int64_t ct_ir_atom_values(CtIr *ir, const CtAtom *atom, CtAtomSide side, CtDtype dtype) {
  CtCx cx = ct_ir_cx(ir);
  CtLayout l;
  CtInt bits = ct_int(0);
  CtErr err;
  const char *text = atom->layouts[side];
  if (ct_layout_parse(cx.arena, text, strlen(text), &l, &err) != CT_OK ||
      ct_size(&cx, ct_mode(l, 1), &bits, &err) != CT_OK) {
    ir->failed = true;
    return 1;
  }
  return bits.v / ct_dtypes[dtype].bits;
}

static CtStatus check_type(const By *by, CtView v, CtErr *err) {
  CtDtype t = by->ir->bufs[v.buf].dtype;
  return t == by->dtype
             ? CT_OK
             : ct_fail(
                   err, CT_EINVAL,
                   "%s: %s was made to copy %s, but the elements of %s are %s; make the atom of "
                   "that type, or recast the tensor",
                   by->op, by->atom->name, ct_dtypes[by->dtype].name, name_of(by, v),
                   ct_dtypes[t].name);
}

static CtStatus check_target(const By *by, CtErr *err) {
  const CtTarget *target = &by->ir->target;
  if (!target->is_cuda || target->sm >= by->atom->sm) {
    return CT_OK;
  }
  return ct_fail(err, CT_EUNSUPPORTED,
                 "%s: %s needs sm_%d; the target is sm_%d, so take an atom that it has, "
                 "atoms{kind = \"copy\", sm = %d} lists them, or copy without one",
                 by->op, by->atom->name, by->atom->sm, target->sm, target->sm);
}

/* Mode 0 holds the elements of whole atoms. */
static CtStatus check_values(const By *by, CtView v, int64_t n, CtErr *err) {
  CtCx cx = ct_ir_cx(by->ir);
  CtInt size;
  CtStatus status = CT_OK;
  if (!ct_all_static(v.layout.shape)) {
    return ct_tile_fail(by->ir, by->op, v, "has a dynamic shape; tile it first", err);
  }
  status = ct_size(&cx, ct_is_leaf(v.layout.shape) ? v.layout : ct_mode(v.layout, 0), &size, err);
  if (status != CT_OK || size.v % n == 0) {
    return status;
  }
  CtText text;
  ct_text_init(&text, by->ir->arena.alloc);
  print_view(by, v, &text);
  status =
      ct_fail(err, CT_EINVAL,
              "%s: %s takes %lld x %s of a thread at once, but mode 0 of %s has %lld; partition "
              "the tensor by a tiled copy of this atom, or take a narrower one",
              by->op, by->atom->name, (long long)n, ct_dtypes[by->dtype].name, ct_text_str(&text),
              (long long)size.v);
  ct_text_clear(&text);
  return status;
}

/* --- width ---------------------------------------------------------------------------------------- */

/* Why a view refuses a width, "%s" being its name; and what else to write than a narrower atom. */
static const struct {
  const char *why, *fix;
} refusals[CT_WIDTH_WHY_COUNT] = {
    [CT_WIDTH_EXTENT] = {"%s has too many elements", "smaller tiles"},
    [CT_WIDTH_COMMON] = {"neighbours in %s are not neighbours in memory",
                         "give threads the elements that lie side by side"},
    [CT_WIDTH_MULTIPLE] = {"a stride of %s is not a multiple of that",
                           "make the strides multiples"},
    [CT_WIDTH_STRIDE] = {"a run-time stride of %s is not known to be a multiple",
                         "trace with {static_shapes = true}"},
    [CT_WIDTH_POINTER] = {"the first element of %s is not aligned to that",
                          "begin at a multiple of 16 bytes"},
    [CT_WIDTH_OFFSET] = {"%s does not begin at a multiple of that",
                         "make strides and offsets multiples"},
    [CT_WIDTH_SWIZZLE] = {"the swizzle of %s takes them apart",
                          "swizzle whole vectors (a larger base)"},
    [CT_WIDTH_GUARD] = {"the guard of %s may end between them", "make the extents multiples"},
};

static int64_t align_of(const By *by, CtView v) {
  return by->ir->bufs[v.buf].space == CT_REGISTER ? 16 : (int64_t)ct_ir_view_align(by->ir, v);
}

/* "take UniversalCopy<u32>": an atom of the same kind that takes as many elements as both views allow. */
static void print_narrower(const By *by, int64_t vec, CtText *out) {
  int64_t bits = vec * ct_dtypes[by->dtype].bits;
  bool is_async = strcmp(by->atom->family, "cp.async") == 0;
  if (is_async && bits < 32) {
    ct_text_puts(out, "copy without an atom");
    return;
  }
  const char *zero_fill = strstr(by->atom->name, "_ZFILL") != NULL ? "_ZFILL" : "";
  ct_text_printf(out, "take %s%s<u%lld>", is_async ? "SM80_CP_ASYNC_CACHEALWAYS" : "UniversalCopy",
                 is_async ? zero_fill : "", (long long)bits);
}

static CtWidthWhy refuse_both(const By *by, int64_t vec, CtView *whose) {
  CtWidthWhy why = ct_tile_refuse(by->ir, by->src, by->size, vec);
  *whose = by->src;
  if (why == CT_WIDTH_WIDEST) {
    why = ct_tile_refuse(by->ir, by->dst, by->size, vec);
    *whose = by->dst;
  }
  return why;
}

/* Is it the tensor's extent, and not where the tile begins, that may end between them? */
static bool is_extent_odd(const By *by, CtView v, int64_t vec) {
  for (int i = 0; i < ct_guard_n(&v); i++) {
    if (ct_ir_facts(by->ir, v.guard->axis[i].bound).div % vec != 0) {
      return true;
    }
  }
  return false;
}

/* "neighbours in sA are not neighbours in memory" */
static void print_why(const By *by, CtWidthWhy why, CtView whose, CtText *out) {
  const char *text = refusals[why].why, *hole = strstr(text, "%s");
  ct_text_printf(out, "%.*s%s%s", (int)(hole - text), text, name_of(by, whose), hole + 2);
  if (why == CT_WIDTH_GUARD && is_extent_odd(by, whose, by->n_src)) {
    ct_text_printf(out, ", as an extent is not a multiple of %lld", (long long)by->n_src);
  }
}

static CtStatus fail_width(const By *by, CtWidthWhy why, CtView whose, CtErr *err) {
  int64_t vec = by->n_src, common = 1;
  CtCx cx = ct_ir_cx(by->ir);
  CtView unused;
  CtText text;
  CtStatus status = ct_max_common_vector(&cx, by->src.layout, by->dst.layout, &common, err);
  if (status != CT_OK) {
    return status;
  }
  while (vec > 1 && refuse_both(by, vec, &unused) != CT_WIDTH_WIDEST) {
    vec /= 2;
  }
  ct_text_init(&text, by->ir->arena.alloc);
  print_why(by, why, whose, &text);
  ct_text_puts(&text, "; ");
  print_narrower(by, vec, &text);
  ct_text_printf(&text, ", or %s\n  ", refusals[why].fix);
  print_view(by, by->src, &text);
  ct_text_printf(&text, " (aligned to %lld bytes) and ", (long long)align_of(by, by->src));
  print_view(by, by->dst, &text);
  ct_text_printf(&text, " (%lld bytes) allow %lld at once", (long long)align_of(by, by->dst),
                 (long long)vec);
  if (common > vec) {
    ct_text_printf(&text, "; their layouts alone would allow %lld", (long long)common);
  }
  status = ct_fail(err, CT_EINVAL, "%s: %s takes %lld x %s at once, but %s", by->op, by->atom->name,
                   (long long)by->n_src, ct_dtypes[by->dtype].name, ct_text_str(&text));
  ct_text_clear(&text);
  return status;
}

static CtStatus check_width(const By *by, CtErr *err) {
  CtView whose;
  CtWidthWhy why = refuse_both(by, by->n_src, &whose);
  return why == CT_WIDTH_WIDEST ? CT_OK : fail_width(by, why, whose, err);
}

/* --- predicates ----------------------------------------------------------------------------------- */

/* (n, rest) of a view that has rest's elements, n times each; NULL where there is no memory. */
static CtStatus repeat(const By *by, CtLayout rest, CtLayout *out, CtErr *err) {
  CtCx cx = ct_ir_cx(by->ir);
  const CtNode n = {.rank = CT_LEAF, .len = 1, .i = ct_int(by->n_src)};
  const CtNode zero = {.rank = CT_LEAF, .len = 1, .i = ct_int(0)};
  return ct_layout_concat(&cx, 2, (CtLayout[]){{&n, &zero}, rest}, out, err);
}

/* The predicate as one for every element, the same within each atom. */
static CtStatus spread_predicate(const By *by, CtView *pred, CtErr *err) {
  CtCx cx = ct_ir_cx(by->ir);
  CtInt size;
  CtStatus status = ct_tile_size(by->ir, *pred, &size, err);
  CtLayout divided;
  if (status != CT_OK) {
    return status;
  }
  if (ct_is_const(size, by->size / by->n_src)) {
    return repeat(by, pred->layout, &pred->layout, err);
  }
  if (!ct_is_const(size, by->size)) {
    return ct_tile_fail_views(
        by->ir, by->op, *pred, by->src,
        "have different sizes; a predicate has one bool for each element, or one "
        "for all that an atom copies at once",
        err);
  }
  const CtNode n = {.rank = CT_LEAF, .len = 1, .i = ct_int(by->n_src)};
  const CtNode one = {.rank = CT_LEAF, .len = 1, .i = ct_int(1)};
  const CtTiler tiler = {.kind = CT_TILER_LAYOUT, .layout = {&n, &one}};
  status = ct_logical_divide(&cx, pred->layout, tiler, &divided, err);
  return status == CT_OK ? repeat(by, ct_mode(divided, 1), &pred->layout, err) : status;
}

static CtStatus set_predicate(const By *by, CtTile *tile, CtErr *err) {
  if (by->pred == NULL) {
    return CT_OK;
  }
  tile->b = *by->pred;
  CtStatus status = ct_tile_check_pred(by->ir, tile->b, err);
  return status == CT_OK ? spread_predicate(by, &tile->b, err) : status;
}

/* --- families ------------------------------------------------------------------------------------- */

static bool in_registers(const By *by, CtView v) {
  return by->ir->bufs[v.buf].space == CT_REGISTER;
}

/* `vec` elements at once, because the atom says so: 16 bytes are all that an instruction can take. */
static CtWidth width_of(const By *by, uint8_t vec) {
  int bits = vec * ct_dtypes[by->dtype].bits;
  return (CtWidth){vec, bits == 128 ? CT_WIDTH_WIDEST : CT_WIDTH_ATOM, 0};
}

/* Loads and stores of one thread, of a given width. */
static CtStatus add_universal(const By *by, CtErr *err) {
  CtTile tile = {.dst = by->dst, .a = by->src, .atom = by->atom, .vec = (uint8_t)by->n_src};
  CtStatus status = ct_tile_check_copy(by->ir, by->op, by->src, by->dst, err);
  status = status == CT_OK ? set_predicate(by, &tile, err) : status;
  if (in_registers(by, by->src) && in_registers(by, by->dst)) {
    tile.vec = 1; /* the compiler moves them as it likes */
  } else {
    status = status == CT_OK ? check_width(by, err) : status;
  }
  if (status == CT_OK) {
    tile.width[0] = width_of(by, tile.vec);
    ct_tile_add(by->ir, CT_OP_COPY, &tile);
  }
  return status;
}

static CtStatus check_async_spaces(const By *by, CtErr *err) {
  static const char *const spaces[] = {"global memory", "shared memory", "registers"};
  CtSpace from = by->ir->bufs[by->src.buf].space, to = by->ir->bufs[by->dst.buf].space;
  if (from == CT_GLOBAL && to == CT_SHARED) {
    return ct_ir_check_own(by->ir, by->atom->name, by->dst, err);
  }
  return ct_fail(err, CT_EINVAL,
                 "%s: %s copies from global to shared memory, but %s is in %s and %s in %s; take "
                 "UniversalCopy, or copy without an atom",
                 by->op, by->atom->name, name_of(by, by->src), spaces[from], name_of(by, by->dst),
                 spaces[to]);
}

static CtStatus add_async(const By *by, CtErr *err) {
  CtTile tile = {.dst = by->dst,
                 .a = by->src,
                 .atom = by->atom,
                 .vec = (uint8_t)by->n_src,
                 .width = {width_of(by, (uint8_t)by->n_src)},
                 .async = true};
  CtStatus status = ct_tile_check_copy(by->ir, by->op, by->src, by->dst, err);
  status = status == CT_OK ? check_async_spaces(by, err) : status;
  status = status == CT_OK ? set_predicate(by, &tile, err) : status;
  status = status == CT_OK ? check_width(by, err) : status;
  tile.zero_fill = tile.b.buf != 0 && strstr(by->atom->name, "_ZFILL") != NULL;
  if (status == CT_OK) {
    ct_tile_add(by->ir, CT_OP_COPY, &tile);
  }
  return status;
}

/* --- atoms of a warp ------------------------------------------------------------------------------ */

/* Where each side of an atom is; 16 bytes of a side in shared memory lie together. */
typedef struct WarpSides {
  CtSpace from, to;
} WarpSides;

static CtStatus check_warps(const By *by, CtErr *err) {
  enum { LANES = 32 };
  const int64_t *block = by->ir->block;
  int64_t threads = block[0] * block[1] * block[2];
  if (by->pred != NULL) {
    return ct_fail(
        err, CT_EINVAL,
        "copy_if: all lanes of a warp do %s together, and no element can be left out; take "
        "copy, or UniversalCopy",
        by->atom->name);
  }
  return threads % LANES == 0
             ? CT_OK
             : ct_fail(err, CT_EINVAL,
                       "copy: %s takes whole warps of 32 threads, but the block has %lld; launch a "
                       "multiple of 32",
                       by->atom->name, (long long)threads);
}

static CtStatus check_spaces(const By *by, WarpSides sides, CtErr *err) {
  static const char *const spaces[] = {"global memory", "shared memory", "registers"};
  CtSpace from = by->ir->bufs[by->src.buf].space, to = by->ir->bufs[by->dst.buf].space;
  return from == sides.from && to == sides.to
             ? CT_OK
             : ct_fail(err, CT_EINVAL,
                       "copy: %s copies from %s to %s, but %s is in %s and %s in %s",
                       by->atom->name, spaces[sides.from], spaces[sides.to], name_of(by, by->src),
                       spaces[from], name_of(by, by->dst), spaces[to]);
}

/* As many atoms on both sides. */
static CtStatus check_counts(const By *by, int64_t *n_dst, CtErr *err) {
  CtInt size;
  CtStatus status = ct_tile_size(by->ir, by->dst, &size, err);
  if (status == CT_OK) {
    *n_dst = size.v;
  }
  if (status != CT_OK || by->size / by->n_src == size.v / by->n_dst) {
    return status;
  }
  char rule[256];
  snprintf(
      rule, sizeof rule,
      "are of different numbers of %s, which takes %lld elements of the first and gives %lld of "
      "the second",
      by->atom->name, (long long)by->n_src, (long long)by->n_dst);
  return ct_tile_fail_views(by->ir, "copy", by->src, by->dst, rule, err);
}

static CtStatus fail_rows(const By *by, CtView v, CtWidthWhy why, CtErr *err) {
  static const char apart[] = "take the rows that tiled_copy_A, _B or _C of a tiled MMA gives a "
                              "thread, or, where columns lie side by side, an atom that ends in _T";
  CtText text;
  ct_text_init(&text, by->ir->arena.alloc);
  print_view(by, v, &text);
  ct_text_printf(&text, " (aligned to %lld bytes) has not: ", (long long)align_of(by, v));
  print_why(by, why, v, &text);
  CtStatus status = ct_fail(err, CT_EINVAL,
                            "copy: %s takes rows of 16 bytes, %lld x %s that lie together and are "
                            "aligned, which %s; %s",
                            by->atom->name, (long long)(128 / ct_dtypes[by->dtype].bits),
                            ct_dtypes[by->dtype].name, ct_text_str(&text),
                            why == CT_WIDTH_COMMON ? apart : refusals[why].fix);
  ct_text_clear(&text);
  return status;
}

static CtStatus fail_words(const By *by, CtView v, int64_t per, CtErr *err) {
  char rule[256];
  snprintf(
      rule, sizeof rule,
      "does not hold the words of %s: %lld neighbouring elements that begin at a multiple; retile "
      "a fragment of the MMA (retile_D, retile_S), or make one like the partition",
      by->atom->name, (long long)per);
  return ct_tile_fail(by->ir, "copy", v, rule, err);
}

/* One side: rows of shared memory, or words of registers. */
static CtStatus check_side(const By *by, CtView v, int64_t size, CtErr *err) {
  int bits = ct_dtypes[by->dtype].bits;
  if (!in_registers(by, v)) {
    CtWidthWhy why = ct_tile_refuse(by->ir, v, size, 128 / bits);
    return why == CT_WIDTH_WIDEST ? CT_OK : fail_rows(by, v, why, err);
  }
  if (bits > 32) {
    return ct_fail(err, CT_EINVAL, "copy: %s moves words of 32 bits, but an element of %s has %d",
                   by->atom->name, ct_dtypes[by->dtype].name, bits);
  }
  return ct_tile_is_packed(by->ir, v, 32 / bits) ? CT_OK : fail_words(by, v, 32 / bits, err);
}

static CtStatus check_whole(const By *by, CtView v, CtErr *err) {
  return ct_guard_n(&v) == 0
             ? CT_OK
             : ct_fail(
                   err, CT_EINVAL,
                   "copy: %s takes all that its lanes have, but %s may overhang (guard); copy the "
                   "guarded tensor to whole tiles of shared memory first",
                   by->atom->name, name_of(by, v));
}

/* (the n elements of one atom, atoms) */
static CtStatus divide(const By *by, CtView *v, int64_t n, CtErr *err) {
  CtCx cx = ct_ir_cx(by->ir);
  const CtNode shape = {.rank = CT_LEAF, .len = 1, .i = ct_int(n)};
  const CtNode stride = {.rank = CT_LEAF, .len = 1, .i = ct_int(1)};
  const CtTiler tiler = {.kind = CT_TILER_LAYOUT, .layout = {&shape, &stride}};
  return ct_logical_divide(&cx, v->layout, tiler, &v->layout, err);
}

static CtStatus add_warp(const By *by, WarpSides sides, CtErr *err) {
  CtTile tile = {.dst = by->dst, .a = by->src, .atom = by->atom, .vec = 1};
  int64_t n_dst = 0;
  CtStatus status = check_warps(by, err);
  status = status == CT_OK ? check_spaces(by, sides, err) : status;
  status = status == CT_OK ? ct_ir_check_own(by->ir, by->atom->name, by->src, err) : status;
  status = status == CT_OK ? ct_ir_check_own(by->ir, by->atom->name, by->dst, err) : status;
  status = status == CT_OK ? check_counts(by, &n_dst, err) : status;
  status = status == CT_OK ? check_whole(by, by->src, err) : status;
  status = status == CT_OK ? check_whole(by, by->dst, err) : status;
  status = status == CT_OK ? check_side(by, by->src, by->size, err) : status;
  status = status == CT_OK ? check_side(by, by->dst, n_dst, err) : status;
  status = status == CT_OK ? ct_ir_check_writable(by->ir, "copy", by->dst, err) : status;
  status = status == CT_OK ? ct_tile_check_inside(by->ir, "copy", by->src, err) : status;
  status = status == CT_OK ? ct_tile_check_inside(by->ir, "copy", by->dst, err) : status;
  status = status == CT_OK ? divide(by, &tile.a, by->n_src, err) : status;
  status = status == CT_OK ? divide(by, &tile.dst, by->n_dst, err) : status;
  if (status == CT_OK) {
    ct_tile_use_words(by->ir, by->src.buf);
    ct_tile_use_words(by->ir, by->dst.buf);
    bool in_memory = sides.from != CT_REGISTER || sides.to != CT_REGISTER;
    tile.width[0] = width_of(by, (uint8_t)(in_memory ? 128 / ct_dtypes[by->dtype].bits : 1));
    ct_tile_add(by->ir, CT_OP_WARP_COPY, &tile);
  }
  return status;
}

static CtStatus add_ldmatrix(const By *by, CtErr *err) {
  return add_warp(by, (WarpSides){CT_SHARED, CT_REGISTER}, err);
}

static CtStatus add_stmatrix(const By *by, CtErr *err) {
  return add_warp(by, (WarpSides){CT_REGISTER, CT_SHARED}, err);
}

static CtStatus add_exchange(const By *by, CtErr *err) {
  return add_warp(by, (WarpSides){CT_REGISTER, CT_REGISTER}, err);
}

const char *ct_atom_moves_to(const CtAtom *atom) {
  return strcmp(atom->family, "movmatrix") == 0 ? "((4,8),(16,2)):((256,16),(1,128))"
                                                : atom->layouts[CT_ATOM_DST];
}

/* --- all -------------------------------------------------------------------------------------------- */

static const struct {
  const char *family;
  CtStatus (*add)(const By *by, CtErr *err);
} families[] = {{"copy", add_universal},    {"cp.async", add_async},     {"ldmatrix", add_ldmatrix},
                {"stmatrix", add_stmatrix}, {"movmatrix", add_exchange}, {"shfl", add_exchange}};

CtStatus ct_ir_copy_by(CtIr *ir, const CtAtom *atom, CtDtype dtype, const CtView *pred, CtView src,
                       CtView dst, CtErr *err) {
  By by = {.ir = ir,
           .op = pred != NULL ? "copy_if" : "copy",
           .atom = atom,
           .dtype = dtype,
           .src = src,
           .dst = dst,
           .pred = pred,
           .n_src = ct_ir_atom_values(ir, atom, CT_ATOM_SRC, dtype),
           .n_dst = ct_ir_atom_values(ir, atom, CT_ATOM_DST, dtype)};
  CtInt size = ct_int(0);
  CtStatus status = check_target(&by, err);
  status = status == CT_OK ? check_type(&by, src, err) : status;
  status = status == CT_OK ? check_type(&by, dst, err) : status;
  status = status == CT_OK ? check_values(&by, src, by.n_src, err) : status;
  status = status == CT_OK ? check_values(&by, dst, by.n_dst, err) : status;
  status = status == CT_OK ? ct_tile_size(ir, src, &size, err) : status;
  by.size = size.v;
  for (size_t i = 0; i < CT_ARRAY_LEN(families) && status == CT_OK; i++) {
    if (strcmp(families[i].family, atom->family) == 0) {
      return families[i].add(&by, err);
    }
  }
  return status != CT_OK
             ? status
             : ct_fail(err, CT_EUNSUPPORTED, "%s: no kernel can use %s yet", by.op, atom->name);
}
