/* ir_atom.c: copies through copy atoms. An atom takes n elements of a thread at once, the bits of its
   layout over those of an element; a view has those of one atom behind those of the other. Whether the
   views allow that is checked here, once for all engines. */
#include <stdio.h>
#include <string.h>

#include "ir_build.h"

/* A copy by an atom, as its checks see it. */
typedef struct By {
  CtTileCx *c;
  CtIr *ir;
  const CtAtom *atom;
  CtDtype dtype;
  CtView src, dst;
  const CtView *pred;
  int64_t size;         /* elements of src */
  int64_t n_src, n_dst; /* elements of one atom */
} By;

static const char *name_of(const By *by, CtView v) { return ct_ir_view_name(by->ir, &v); }

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
  return bits.v / ct_dtype_width(dtype);
}

static void check_type(const By *by, CtView v) {
  CtDtype t = by->ir->bufs[v.buf].dtype;
  if (t != by->dtype) {
    ct_tile_fail(by->c,
                 "%s was made to copy %s, but the elements of %s are %s; make the atom of "
                 "that type, or recast the tensor",
                 by->atom->name, ct_dtypes[by->dtype].name, name_of(by, v), ct_dtypes[t].name);
  }
}

/* An atom that copies, and whole elements. */
static void check_kind(const By *by) {
  if (by->atom->kind != CT_ATOM_COPY) {
    ct_tile_fail(by->c, "%s multiplies; an atom that copies was expected", by->atom->name);
  } else if (by->n_src < 1 || by->n_dst < 1) {
    ct_tile_fail(by->c, "%s copies fewer bits than an element of %s has", by->atom->name,
                 ct_dtypes[by->dtype].name);
  }
}

static void check_target(const By *by) {
  const CtTarget *target = &by->ir->target;
  if (target->is_cuda && by->atom->targets != CT_TARGETS_FROM &&
      !ct_atom_is_on(by->atom, target->sm, target->is_common)) {
    al_fail(&by->c->g, CT_EUNSUPPORTED,
            "%s: %s needs sm_100a, sm_100f, sm_103a or sm_110a; the target is sm_%d", by->c->op,
            by->atom->name, target->sm);
  } else if (target->is_cuda && !ct_atom_is_on(by->atom, target->sm, target->is_common)) {
    al_fail(&by->c->g, CT_EUNSUPPORTED,
            "%s: %s needs sm_%d; the target is sm_%d, so use an atom that it has "
            "(atoms{kind = \"copy\", sm = %d} lists them), or copy without one",
            by->c->op, by->atom->name, by->atom->sm, target->sm, target->sm);
  }
}

/* Mode 0 holds the elements of whole atoms. */
static void check_values(const By *by, CtView v, int64_t n) {
  ct_tile_check_static(by->c, v);
  if (!al_ok(&by->c->g)) {
    return;
  }
  CtInt size = al_size(&by->c->g, ct_is_leaf(v.layout.shape) ? v.layout : ct_mode(v.layout, 0));
  if (!al_ok(&by->c->g) || size.v % n == 0) {
    return;
  }
  CtText text;
  ct_text_init(&text, by->ir->arena.alloc);
  ct_ir_put_view(by->ir, v, &text);
  ct_tile_fail(by->c,
               "%s copies %lld x %s of a thread at once, but mode 0 of %s has %lld; partition "
               "the tensor with a tiled copy of this atom, or use a narrower one",
               by->atom->name, (long long)n, ct_dtypes[by->dtype].name, ct_text_str(&text),
               (long long)size.v);
  ct_text_clear(&text);
}

/* --- width ---------------------------------------------------------------------------------------- */

/* Why a view refuses a width, "%s" being its name; and what else to write than a narrower atom. */
static const struct {
  const char *why, *fix;
} refusals[CT_WIDTH_WHY_COUNT] = {
    [CT_WIDTH_EXTENT] = {"%s has too many elements", "smaller tiles"},
    [CT_WIDTH_COMMON] = {"neighbours in %s are not neighbours in memory",
                         "give threads adjacent elements"},
    [CT_WIDTH_MULTIPLE] = {"a stride of %s is not a multiple of that",
                           "make the strides multiples"},
    [CT_WIDTH_STRIDE] = {"a run-time stride of %s is not known to be a multiple",
                         "trace with {static_shapes = true}"},
    [CT_WIDTH_POINTER] = {"the first element of %s is not aligned to that",
                          "begin at a multiple of 16 bytes"},
    [CT_WIDTH_OFFSET] = {"%s does not begin at a multiple of that",
                         "make strides and offsets multiples"},
    [CT_WIDTH_SWIZZLE] = {"the swizzle of %s separates them",
                          "swizzle whole vectors (a larger base)"},
    [CT_WIDTH_GUARD] = {"the guard of %s may end between them", "make the extents multiples"},
};

/* Bytes that matter to an access of this atom. */
static int64_t most_align(const By *by) {
  return ct_max(16, (int64_t)ct_dense_bytes(by->dtype, (size_t)by->n_src));
}

static int64_t align_of(const By *by, CtView v) {
  bool is_free = by->ir->bufs[v.buf].space == CT_REGISTER;
  int64_t align = is_free ? most_align(by) : (int64_t)ct_ir_view_align(by->ir, v);
  return ct_min(align, most_align(by));
}

/* What else to write than a narrower atom. Of 32 bytes a trace knows less: not whether strides are multiples. */
static const char *fix_of(const By *by, CtWidthWhy why) {
  bool is_wide = most_align(by) > 16;
  return is_wide && why == CT_WIDTH_POINTER ? "begin at a multiple of 32 bytes"
         : is_wide && why == CT_WIDTH_OFFSET
             ? "make strides and offsets multiples, and trace with {static_shapes = true}"
             : refusals[why].fix;
}

enum { ASYNC_BITS = 32 }; /* the least that cp.async copies */

static bool is_zero_filling(const By *by) { return strstr(by->atom->name, "_ZFILL") != NULL; }

/* "take UniversalCopy<u32>": an atom of the same kind that takes as many elements as both views allow. */
static void print_narrower(const By *by, int64_t vec, CtText *out) {
  int64_t bits = vec * ct_dtype_width(by->dtype);
  bool is_async = strcmp(by->atom->family, "cp.async") == 0;
  if (is_async && bits < ASYNC_BITS) {
    ct_text_puts(out, "copy without an atom");
    return;
  }
  const char *zero_fill = is_zero_filling(by) ? "_ZFILL" : "";
  ct_text_printf(out, "use %s%s<u%lld>", is_async ? "SM80_CP_ASYNC_CACHEALWAYS" : "UniversalCopy",
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

static void fail_width(const By *by, CtWidthWhy why, CtView whose) {
  int64_t vec = by->n_src;
  int64_t common = al_max_common_vector(&by->c->g, ct_composed_plain(by->src.layout),
                                        ct_composed_plain(by->dst.layout));
  CtView unused;
  CtText text;
  while (vec > 1 && refuse_both(by, vec, &unused) != CT_WIDTH_WIDEST) {
    vec /= 2;
  }
  ct_text_init(&text, by->ir->arena.alloc);
  print_why(by, why, whose, &text);
  ct_text_puts(&text, "; ");
  print_narrower(by, vec, &text);
  ct_text_printf(&text, ", or %s\n  ", fix_of(by, why));
  ct_ir_put_view(by->ir, by->src, &text);
  ct_text_printf(&text, " (aligned to %lld bytes) and ", (long long)align_of(by, by->src));
  ct_ir_put_view(by->ir, by->dst, &text);
  ct_text_printf(&text, " (%lld bytes) allow %lld at once", (long long)align_of(by, by->dst),
                 (long long)vec);
  if (common > vec) {
    ct_text_printf(&text, "; their layouts alone would allow %lld", (long long)common);
  }
  ct_tile_fail(by->c, "%s copies %lld x %s at once, but %s", by->atom->name, (long long)by->n_src,
               ct_dtypes[by->dtype].name, ct_text_str(&text));
  ct_text_clear(&text);
}

/* `vec` elements at once, because the atom says so: 16 bytes are all that an instruction takes without one. */
static CtWidth width_of(const By *by, int64_t vec) {
  int64_t bits = vec * ct_dtype_width(by->dtype);
  return (CtWidth){(uint8_t)vec, bits == 128 ? CT_WIDTH_WIDEST : CT_WIDTH_ATOM, 0};
}

/* A guard may end between the elements of an atom, where the script cannot know it: the extent is the launch's. So
   fewer are taken at once, and `profile` says why. vec 0: with zeros for a predicate there is no instruction for so
   few. */
static CtWidth narrowed(const By *by) {
  CtWidth w = {(uint8_t)by->n_src, CT_WIDTH_WIDEST, 0};
  int64_t least = by->pred != NULL && is_zero_filling(by) ? ASYNC_BITS : 0;
  for (; w.vec > 1; w.vec /= 2) {
    CtView whose;
    CtWidthWhy why = refuse_both(by, w.vec, &whose);
    if (why == CT_WIDTH_WIDEST) {
      break;
    }
    w.why = (uint8_t)why;
    w.of = whose.buf == by->src.buf;
  }
  w.vec = w.vec * ct_dtype_width(by->dtype) < least ? 0 : w.vec;
  return w;
}

/* Those of the atom, or fewer under a guard. */
static CtWidth find_width(const By *by) {
  CtView whose;
  CtWidthWhy why = refuse_both(by, by->n_src, &whose);
  CtWidth w = width_of(by, by->n_src);
  if (!al_ok(&by->c->g) || why == CT_WIDTH_WIDEST) {
    return w;
  }
  w = why == CT_WIDTH_GUARD ? narrowed(by) : (CtWidth){0};
  if (w.vec == 0) {
    fail_width(by, why, whose);
  }
  return w;
}

/* --- predicates ----------------------------------------------------------------------------------- */

/* (n, rest) of a view that has rest's elements, n times each. */
static CtLayout repeat(const By *by, CtLayout rest) {
  const CtNode n = {.rank = CT_LEAF, .len = 1, .i = ct_int(by->n_src)};
  const CtNode zero = {.rank = CT_LEAF, .len = 1, .i = ct_int(0)};
  return al_concat(&by->c->g, 2, (const CtLayout[]){{&n, &zero}, rest});
}

/* (the n elements of one atom, atoms) */
static CtLayout divide(const By *by, CtLayout l, int64_t n) {
  const CtNode shape = {.rank = CT_LEAF, .len = 1, .i = ct_int(n)};
  const CtNode stride = {.rank = CT_LEAF, .len = 1, .i = ct_int(1)};
  const CtTiler tiler = {.kind = CT_TILER_LAYOUT, .layout = {&shape, &stride}};
  return al_logical_divide(&by->c->g, l, tiler);
}

/* The predicate as one for every element, the same within each atom. */
static void set_predicate(const By *by, CtTile *tile) {
  if (by->pred == NULL) {
    return;
  }
  CtView pred = *by->pred;
  ct_tile_check_pred(by->c, pred);
  CtInt size = al_size(&by->c->g, pred.layout);
  bool is_each = ct_is_const(size, by->size);
  if (!is_each && !ct_is_const(size, by->size / by->n_src)) {
    ct_tile_fail_views(by->c, pred, by->src,
                       "have different sizes; a predicate has one bool for each element, or one "
                       "for all that an atom copies at once");
  } else if (is_each && by->size != by->size / by->n_src) {
    CtLayout divided = divide(by, pred.layout, by->n_src);
    pred.layout = al_ok(&by->c->g) ? repeat(by, ct_mode(divided, 1)) : divided;
  } else {
    pred.layout = repeat(by, pred.layout);
  }
  tile->b = pred;
}

/* --- families ------------------------------------------------------------------------------------- */

static bool in_registers(const By *by, CtView v) {
  return by->ir->bufs[v.buf].space == CT_REGISTER;
}

/* Loads and stores of one thread, of a given width. */
static void add_universal(const By *by) {
  CtTile tile = {.dst = by->dst, .a = by->src, .atom = by->atom};
  ct_tile_check_copy(by->c, by->src, by->dst);
  set_predicate(by, &tile);
  bool is_free = in_registers(by, by->src) && in_registers(by, by->dst);
  /* the compiler moves registers as it likes */
  tile.width[0] = is_free ? width_of(by, 1) : find_width(by);
  tile.vec = tile.width[0].vec;
  if (al_ok(&by->c->g)) {
    ct_tile_add(by->ir, CT_OP_COPY, &tile);
  }
}

/* "copy: cp.async copies from ..., but x is in ... and y in ...<fix>" */
static void check_spaces(const By *by, CtSpace from, CtSpace to, const char *fix) {
  static const char *const spaces[] = {"global memory", "shared memory", "registers",
                                       "constant memory", "tensor memory"};
  CtSpace src = by->ir->bufs[by->src.buf].space, dst = by->ir->bufs[by->dst.buf].space;
  if (src != from || dst != to) {
    bool is_async = from == CT_GLOBAL;
    ct_tile_fail(by->c, "%s copies from %s to %s, but %s is in %s and %s in %s%s", by->atom->name,
                 is_async ? "global" : spaces[from], spaces[to], name_of(by, by->src), spaces[src],
                 name_of(by, by->dst), spaces[dst], fix);
  }
}

static void check_own(const By *by, CtView v) {
  if (al_ok(&by->c->g)) {
    by->c->g.status = ct_ir_check_own(by->ir, by->atom->name, v, by->c->g.err);
  }
}

static void add_async(const By *by) {
  CtTile tile = {.dst = by->dst, .a = by->src, .atom = by->atom};
  ct_tile_check_copy(by->c, by->src, by->dst);
  check_spaces(by, CT_GLOBAL, CT_SHARED, "; use UniversalCopy, or copy without an atom");
  check_own(by, by->dst);
  set_predicate(by, &tile);
  tile.width[0] = find_width(by);
  tile.vec = tile.width[0].vec;
  /* fewer bits are copied at once, which is no later than the kernel waits for */
  tile.async = tile.vec * ct_dtype_width(by->dtype) >= ASYNC_BITS;
  tile.zero_fill = tile.b.buf != 0 && is_zero_filling(by);
  if (al_ok(&by->c->g)) {
    ct_tile_add(by->ir, CT_OP_COPY, &tile);
  }
}

/* 256 bits of one thread, between global memory and registers: the instruction says what the caches do, as a hint of the
   tensor would. */
static void add_wide(const By *by, CtView in_memory, CtSpace from, CtSpace to) {
  CtCacheHint hint = by->ir->bufs[in_memory.buf].cache;
  check_spaces(by, from, to, "; use UniversalCopy, or copy without an atom");
  if (by->dtype == CT_bool) { /* a fragment has a byte for each, of which a vector is not made */
    ct_tile_fail(by->c, "%s copies no bools; recast both tensors as u8", by->atom->name);
  }
  if (hint != CT_CACHE_NONE && hint != CT_CACHE_NO_ALLOCATE) {
    ct_tile_fail(by->c,
                 "%s keeps nothing in the first cache, but %s has the hint \"%s\"; copy "
                 "the tensor without the hint, or use UniversalCopy",
                 by->atom->name, name_of(by, in_memory), ct_caches[hint]);
  }
  add_universal(by);
}

static void add_wide_load(const By *by) { add_wide(by, by->src, CT_GLOBAL, CT_REGISTER); }
static void add_wide_store(const By *by) { add_wide(by, by->dst, CT_REGISTER, CT_GLOBAL); }

/* --- atoms of a warp ------------------------------------------------------------------------------ */

static void check_warps(const By *by) {
  enum { LANES = 32 };
  int64_t threads = ct_ir_block_size(by->ir);
  if (by->pred != NULL) {
    ct_tile_fail(by->c,
                 "all lanes of a warp do %s together, and no element can be left out; use "
                 "copy or UniversalCopy",
                 by->atom->name);
  } else if (threads % LANES != 0) {
    ct_tile_fail(by->c,
                 "%s needs whole warps of 32 threads, but the block has %lld; launch a "
                 "multiple of 32",
                 by->atom->name, (long long)threads);
  }
}

/* As many atoms on both sides. */
static void check_counts(const By *by, CtInt n_dst) {
  if (al_ok(&by->c->g) && by->size / by->n_src != n_dst.v / by->n_dst) {
    ct_tile_fail_views(by->c, by->src, by->dst,
                       "need different numbers of %s, which reads %lld "
                       "elements of the first and writes %lld of the second",
                       by->atom->name, (long long)by->n_src, (long long)by->n_dst);
  }
}

static void fail_rows(const By *by, CtView v, CtWidthWhy why) {
  static const char apart[] = "use the rows that tiled_copy_A, _B or _C of a tiled MMA gives a "
                              "thread or, if columns are contiguous, an atom whose name ends in _T";
  CtText text;
  ct_text_init(&text, by->ir->arena.alloc);
  ct_ir_put_view(by->ir, v, &text);
  ct_text_printf(&text, " (aligned to %lld bytes) has no such rows: ", (long long)align_of(by, v));
  print_why(by, why, v, &text);
  ct_tile_fail(by->c, "%s reads rows of 16 bytes, %lld x %s that are adjacent and aligned; %s; %s",
               by->atom->name, (long long)(128 / ct_dtype_width(by->dtype)),
               ct_dtypes[by->dtype].name, ct_text_str(&text),
               why == CT_WIDTH_COMMON ? apart : refusals[why].fix);
  ct_text_clear(&text);
}

/* One side: rows of shared memory, or words of registers. */
static void check_side(const By *by, CtView v, int64_t size) {
  int bits = ct_dtype_width(by->dtype);
  CtWidthWhy why = CT_WIDTH_WIDEST;
  if (!al_ok(&by->c->g)) {
    return;
  }
  if (!in_registers(by, v)) {
    why = ct_tile_refuse(by->ir, v, size, 128 / bits);
  } else if (bits > 32) {
    ct_tile_fail(by->c, "%s moves words of 32 bits, but an element of %s has %d", by->atom->name,
                 ct_dtypes[by->dtype].name, bits);
  } else if (!ct_tile_is_packed(by->ir, v, 32 / bits)) {
    ct_tile_fail_view(by->c, v,
                      "does not hold the words of %s: %d neighbouring elements that "
                      "begin at a multiple; retile a fragment of the MMA (retile_D, retile_S), or "
                      "make one like the partition",
                      by->atom->name, 32 / bits);
  }
  if (why != CT_WIDTH_WIDEST) {
    fail_rows(by, v, why);
  }
}

static void check_whole(const By *by, CtView v) {
  if (ct_guard_n(&v) > 0) {
    ct_tile_fail(by->c,
                 "%s copies all that its lanes have, but %s may overhang (guard); copy the "
                 "guarded tensor to whole tiles of shared memory first",
                 by->atom->name, name_of(by, v));
  }
}

/* 16 bytes of a side in shared memory lie together. */
static void add_warp(const By *by, CtSpace from, CtSpace to) {
  CtTile tile = {.dst = by->dst, .a = by->src, .atom = by->atom, .vec = 1};
  CtInt n_dst = al_size(&by->c->g, by->dst.layout);
  check_warps(by);
  check_spaces(by, from, to, "");
  check_own(by, by->src);
  check_own(by, by->dst);
  check_counts(by, n_dst);
  check_whole(by, by->src);
  check_whole(by, by->dst);
  check_side(by, by->src, by->size);
  check_side(by, by->dst, n_dst.v);
  ct_tile_check_writable(by->c, by->dst);
  ct_tile_check_inside(by->c, by->src);
  ct_tile_check_inside(by->c, by->dst);
  tile.a.layout = divide(by, by->src.layout, by->n_src);
  tile.dst.layout = divide(by, by->dst.layout, by->n_dst);
  if (al_ok(&by->c->g)) {
    ct_tile_use_words(by->ir, by->src.buf);
    ct_tile_use_words(by->ir, by->dst.buf);
    bool in_memory = from != CT_REGISTER || to != CT_REGISTER;
    tile.width[0] = width_of(by, (uint8_t)(in_memory ? 128 / ct_dtype_width(by->dtype) : 1));
    ct_tile_add(by->ir, CT_OP_WARP_COPY, &tile);
  }
}

static void add_ldmatrix(const By *by) { add_warp(by, CT_SHARED, CT_REGISTER); }
static void add_stmatrix(const By *by) { add_warp(by, CT_REGISTER, CT_SHARED); }
static void add_exchange(const By *by) { add_warp(by, CT_REGISTER, CT_REGISTER); }

/* Adds both views, divided by what an atom has of each. */
static void add_divided(const By *by,
                        void (*add)(CtTileCx *c, CtDtype dtype, CtView src, CtView dst)) {
  check_counts(by, al_size(&by->c->g, by->dst.layout));
  check_whole(by, by->src);
  check_whole(by, by->dst);
  if (al_ok(&by->c->g)) {
    CtView src = by->src, dst = by->dst;
    src.layout = divide(by, src.layout, by->n_src);
    dst.layout = divide(by, dst.layout, by->n_dst);
    add(by->c, by->dtype, src, dst);
  }
}

/* Tensor memory: a thread's part there is what it has in registers. */
static void add_tmem(const By *by, CtSpace from, CtSpace to) {
  check_warps(by);
  check_spaces(by, from, to, "");
  add_divided(by, ct_ir_tcgen05_copy);
}

/* Shared to tensor memory, by one thread. */
static void add_tmem_cp(const By *by) {
  if (by->pred != NULL) {
    ct_tile_fail(by->c,
                 "%s copies whole blocks of scales, and no element can be left out; use copy",
                 by->atom->name);
  }
  check_spaces(by, CT_SHARED, CT_TENSOR, "");
  add_divided(by, ct_ir_tcgen05_cp);
}
static void add_tmem_load(const By *by) { add_tmem(by, CT_TENSOR, CT_REGISTER); }
static void add_tmem_store(const By *by) { add_tmem(by, CT_REGISTER, CT_TENSOR); }

const char *ct_atom_moves_to(const CtAtom *atom) {
  return strcmp(atom->family, "movmatrix") == 0 ? "((4,8),(16,2)):((256,16),(1,128))"
                                                : atom->layouts[CT_ATOM_DST];
}

/* --- all -------------------------------------------------------------------------------------------- */

static const struct {
  const char *family;
  void (*add)(const By *by);
} families[] = {
    {"copy", add_universal},        {"cp.async", add_async},       {"ldmatrix", add_ldmatrix},
    {"ld.global", add_wide_load},   {"st.global", add_wide_store}, {"stmatrix", add_stmatrix},
    {"movmatrix", add_exchange},    {"shfl", add_exchange},        {"tcgen05.ld", add_tmem_load},
    {"tcgen05.st", add_tmem_store}, {"tcgen05.cp", add_tmem_cp}};

CtStatus ct_ir_copy_by(CtIr *ir, const CtAtom *atom, CtDtype dtype, const CtView *pred, CtView src,
                       CtView dst, CtErr *err) {
  CtTileCx c = ct_tile_begin(ir, pred != NULL ? "copy_if" : "copy", atom, err);
  By by = {.c = &c,
           .ir = ir,
           .atom = atom,
           .dtype = dtype,
           .src = src,
           .dst = dst,
           .pred = pred,
           .n_src = ct_ir_atom_values(ir, atom, CT_ATOM_SRC, dtype),
           .n_dst = ct_ir_atom_values(ir, atom, CT_ATOM_DST, dtype)};
  check_kind(&by);
  check_target(&by);
  check_type(&by, src);
  check_type(&by, dst);
  check_values(&by, src, by.n_src);
  check_values(&by, dst, by.n_dst);
  by.size = al_size(&c.g, src.layout).v;
  for (size_t i = 0; i < CT_ARRAY_LEN(families); i++) {
    if (al_ok(&c.g) && strcmp(families[i].family, atom->family) == 0) {
      families[i].add(&by);
      return c.g.status;
    }
  }
  al_fail(&c.g, CT_EUNSUPPORTED, "%s: no kernel can use %s yet", c.op, atom->name);
  return c.g.status;
}
