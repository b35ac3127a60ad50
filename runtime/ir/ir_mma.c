/* ir_mma.c: products by an MMA atom: what each operand must be, checked once for all engines.

   A thread's operands are (V,M,K), (V,N,K) and (V,M,N), as a tiled MMA partitions: V are the values of
   one atom, M, N and K count atoms. UniversalFMA has one value, so it is the GEMM of what is left; any
   other atom becomes one operation MMA, whose operands are fragments that lie in whole registers. */
#include <stdio.h>
#include <string.h>

#include "ir_build.h"

enum { N_OPERANDS = 3, LANES = 32 };

static const char *const letters[N_OPERANDS] = {"A", "B", "C"};
static const CtAtomOperand operand_of[N_OPERANDS] = {CT_ATOM_A, CT_ATOM_B, CT_ATOM_C};

/* --- the atom ------------------------------------------------------------------------------------- */

static bool is_universal(const CtAtom *atom) { return strcmp(atom->family, "fma") == 0; }
static bool is_tcgen05(const CtAtom *atom) { return atom->from_tensor[CT_ATOM_C]; }
/* Operands are matrices, and the sums may be overwritten. */
static bool is_of_tiles(const CtAtom *atom) { return atom->from_shared[CT_ATOM_B]; }

static void check_target(CtTileCx *c) {
  int sm = c->ir->target.sm;
  const CtAtom *atom = c->atom;
  if (c->ir->target.is_cuda && is_tcgen05(atom) &&
      !ct_atom_is_on(atom, sm, c->ir->target.is_common)) {
    al_fail(
        &c->g, CT_EUNSUPPORTED,
        ct_sm_has_tcgen05(sm)
            ? "gemm: %s needs sm_100a or sm_110a, as it multiplies integers; the target is sm_%d%s"
            : "gemm: %s needs sm_100a, sm_100f, sm_103a or sm_110a; the target is sm_%d%s",
        atom->name, sm, c->ir->target.is_common ? "f" : "");
  } else if (c->ir->target.is_cuda && !ct_atom_is_on(atom, sm, c->ir->target.is_common)) {
    al_fail(&c->g, CT_EUNSUPPORTED,
            "gemm: %s needs sm_%d%s; the target is sm_%d, so use an atom that it has: "
            "atoms{kind = \"mma\", sm = %d} lists them",
            atom->name, atom->sm, atom->targets != CT_TARGETS_FROM ? "a" : "", sm, sm);
  }
}

/* Atoms that are not run as an MMA. */
static void check_kind(CtTileCx *c) {
  if (c->atom->kind != CT_ATOM_MMA) {
    ct_tile_fail(c, "%s copies; an atom that multiplies was expected", c->atom->name);
  } else if (c->atom->times > 1) {
    al_fail(&c->g, CT_EUNSUPPORTED,
            "gemm: %s multiplies complex numbers, which no tensor has; multiply real and "
            "imaginary parts with the f64 atom of that shape",
            c->atom->name);
  }
}

/* An instruction of a warp needs whole warps, one of a warpgroup whole warpgroups. `way`: what else would do. */
void ct_mma_check_block(CtTileCx *c, int64_t n, const char *group, const char *way) {
  int64_t threads = ct_ir_block_size(c->ir);
  if (threads % n != 0) {
    ct_tile_fail(c,
                 "%s is an instruction of a %s, but a block of %lld threads has one with %lld; "
                 "launch a multiple of %lld threads%s",
                 c->atom->name, group, (long long)threads, (long long)(threads % n), (long long)n,
                 way);
  }
}

/* --- the operands ----------------------------------------------------------------------------------- */

/* tf32 is the upper bits of an f32, so that the instruction takes these, too. */
static bool takes(CtDtype wanted, CtDtype given) {
  return wanted == given || (wanted == CT_tf32 && given == CT_f32) ||
         (wanted == CT_u32 && given == CT_i32) || (wanted == CT_i32 && given == CT_u32);
}

static void check_type(CtTileCx *c, const CtView *v, int i) {
  const CtAtom *atom = c->atom;
  CtDtype given = c->ir->bufs[v->buf].dtype, wanted = ct_atom_dtype(atom, operand_of[i]);
  const char *name = ct_ir_view_name(c->ir, v);
  int per = ct_atom_per_element(atom, operand_of[i]);
  if (takes(wanted, given)) {
    return;
  }
  if (per > 1) {
    ct_tile_fail(c, "%s (%s) is %s but %s needs words of %d %s; expected a tensor of u32",
                 letters[i], name, ct_dtypes[given].name, atom->name, per,
                 atom->types[operand_of[i]].name);
  } else {
    ct_tile_fail(
        c, i == 2 ? "%s (%s) is %s but %s adds to %s" : "%s (%s) is %s but %s multiplies %s",
        letters[i], name, ct_dtypes[given].name, atom->name, atom->types[operand_of[i]].name);
  }
}

static void check_count(CtTileCx *c, CtView v, int wanted, const char *as) {
  CtInt n = al_size(&c->g, ct_layout_rank(v.layout) == 1 ? v.layout : ct_mode(v.layout, 0));
  if (!ct_is_const(n, wanted)) {
    ct_tile_fail_view(c, v,
                      "has %lld values in its mode 0; %s needs %d as %s of each thread: partition "
                      "it with a tiled MMA of that atom",
                      (long long)n.v, c->atom->name, wanted, as);
  }
}

static void check_operand(CtTileCx *c, CtView v, int i) {
  ct_tile_check_static(c, v);
  check_type(c, &v, i);
  bool is_tile = c->atom->from_shared[operand_of[i]] || c->atom->from_tensor[operand_of[i]];
  if (al_ok(&c->g) && !is_tile) { /* tiles are checked where descriptors are made */
    check_count(c, v, ct_atom_values(c->atom, operand_of[i]), letters[i]);
  }
}

/* {====== Scales ====== */

static const char *const scale_names[] = {"SFA", "SFB"};
static const CtAtomOperand scale_of[] = {CT_ATOM_SFA, CT_ATOM_SFB};

/* Scales are there if the atom multiplies by them. */
static void check_has_scales(CtTileCx *c, const CtMmaOpts *opts) {
  bool has = opts->sfa != NULL && opts->sfb != NULL;
  if (c->atom->vec > 0 && !has) {
    ct_tile_fail(c,
                 "%s multiplies by scales; give each operand with its own, {A, SFA} and {B, SFB}, "
                 "as partition_fragment_SFA and _SFB make them",
                 c->atom->name);
  } else if (c->atom->vec == 0 && (opts->sfa != NULL || opts->sfb != NULL)) {
    ct_tile_fail(c,
                 "%s takes no scales; give A and B alone, or use an atom with scales, such as "
                 "SM120_16x8x32_TN_VS or SM100_MMA_MXF8F6F4_SS",
                 c->atom->name);
  }
}

static void check_scale(CtTileCx *c, CtView v, int i, int rank) {
  CtDtype given = c->ir->bufs[v.buf].dtype, wanted = ct_atom_dtype(c->atom, scale_of[i]);
  ct_tile_check_static(c, v);
  if (given != wanted) {
    ct_tile_fail(c, "%s (%s) is %s but the scales of %s are %s", scale_names[i],
                 ct_ir_view_name(c->ir, &v), ct_dtypes[given].name, c->atom->name,
                 ct_dtypes[wanted].name);
  } else if (al_ok(&c->g) && ct_layout_rank(v.layout) != rank) {
    ct_tile_fail_view(c, v,
                      "has rank %d, but %s has rank %d; give %s the modes of %s, or let "
                      "partition_fragment_%s make it",
                      ct_layout_rank(v.layout), letters[i], rank, scale_names[i], letters[i],
                      scale_names[i]);
  } else if (al_ok(&c->g)) {
    int rows = !c->atom->from_tensor[scale_of[i]] ? 1
               : i == 0                           ? c->atom->m / ct_atom_blocks(c->atom)
                                                  : c->atom->n; /* each block has all of B's */
    check_count(c, v, rows * c->atom->vec, scale_names[i]);
  }
}

static void check_scales(CtTileCx *c, const CtView *v, const CtMmaOpts *opts) {
  const CtView *scales[] = {opts->sfa, opts->sfb};
  check_has_scales(c, opts);
  for (int i = 0; i < 2 && al_ok(&c->g) && scales[i] != NULL; i++) {
    check_scale(c, *scales[i], i, ct_layout_rank(v[i].layout));
  }
}

static void check_ranks(CtTileCx *c, const CtView *v) {
  static const int ranks[][N_OPERANDS] = {{3, 3, 3}, {2, 2, 3}, {1, 1, 1}};
  bool shared = is_of_tiles(c->atom); /* a tile's (V) could be (M,K) */
  int r[N_OPERANDS];
  for (int i = 0; i < N_OPERANDS; i++) {
    r[i] = ct_layout_rank(v[i].layout);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(ranks) - shared; i++) {
    if (memcmp(r, ranks[i], sizeof r) == 0) {
      return;
    }
  }
  ct_tile_fail(c,
               "A, B and C have ranks %d, %d and %d; with %s (V,M,K), (V,N,K), (V,M,N), or "
               "(V,M), (V,N), (V,M,N)%s were expected, as partition_A, _B and _C make them",
               r[0], r[1], r[2], c->atom->name, shared ? "" : ", or (V), (V), (V)");
}

/* --- UniversalFMA ------------------------------------------------------------------------------------- */

/* The view without its mode 0, which has one element. */
static void drop_values(CtTileCx *c, CtView *v) {
  int rank = ct_layout_rank(v->layout);
  CtLayout whole = v->layout;
  if (rank == 1) {
    return;
  }
  v->layout = al_take(&c->g, whole, 1, rank);
  CtGuard *g = v->guard == NULL ? NULL : al_alloc(&c->g, 1, sizeof *g);
  if (g == NULL) {
    return;
  }
  *g = *v->guard;
  for (int i = 0; i < g->n; i++) {
    g->axis[i].stride = al_take(&c->g, (CtLayout){whole.shape, g->axis[i].stride}, 1, rank).stride;
  }
  v->guard = g;
}

/* The order that CuTe multiplies in, where the script asks for none: pairs of rows, every second
   backwards over the columns. */
static const CtGemmOrder by_row_pairs = {
    3, {{.mode = 0, .step = 2}, {.mode = 1, .step = 1, .turns = true}, {.mode = 0, .step = 1}}};

static CtStatus add_universal(CtTileCx *c, CtView *v, const CtGemmOrder *order) {
  order = order->n == 0 ? &by_row_pairs : order;
  for (int i = 0; i < N_OPERANDS; i++) {
    drop_values(c, &v[i]);
  }
  return al_ok(&c->g) ? ct_ir_gemm(c->ir, v[0], v[1], v[2], order, c->g.err) : c->g.status;
}

/* --- MMA ------------------------------------------------------------------------------------------------ */

/* `per` values, those of a register, lie side by side, at a place that is a multiple of their number. */
static void check_in_registers(CtTileCx *c, CtView v, int64_t per, const char *as) {
  const CtBuf *buf = &c->ir->bufs[v.buf];
  if (buf->space != CT_REGISTER) {
    ct_tile_fail_view(c, v,
                      "is in %s memory; %s needs registers: copy it to a fragment "
                      "made by partition_fragment_%s",
                      ct_spaces[buf->space], c->atom->name, as);
  } else if (ct_guard_n(&v) > 0) {
    ct_tile_fail_view(c, v,
                      "is guarded, but operands of an MMA cannot be; guard the source of the copy");
  } else if (!ct_tile_is_packed(c->ir, v, per)) {
    ct_tile_fail_view(c, v,
                      "does not have the %lld values of a register next to each other, from "
                      "a multiple of %lld on; partition_fragment_%s of a tiled MMA makes such a "
                      "fragment",
                      (long long)per, (long long)per, as);
  }
}

void ct_mma_check_register(CtTileCx *c, CtView v, CtAtomOperand of) {
  int width = ct_dtype_width(c->ir->bufs[v.buf].dtype);
  check_in_registers(c, v, width < 32 ? 32 / width : 1, letters[of]);
}

/* Atoms that a mode counts; beyond the view's rank there is one. */
static CtInt count_atoms(CtTileCx *c, CtView v, int mode) {
  return mode < ct_layout_rank(v.layout) ? al_size(&c->g, ct_mode(v.layout, mode)) : ct_int(1);
}

/* Mode `x` of a and mode `y` of b count the same atoms. */
static void check_rest(CtTileCx *c, CtView a, int x, CtView b, int y, const char *rule) {
  if (!ct_int_equal(count_atoms(c, a, x), count_atoms(c, b, y))) {
    ct_tile_fail_views(c, a, b, "%s", rule);
  }
}

void ct_mma_check_shapes(CtTileCx *c, const CtView v[3]) {
  check_rest(c, v[0], 1, v[2], 1, "differ in M, mode 1 of A and mode 1 of C");
  check_rest(c, v[1], 1, v[2], 2, "differ in N, mode 1 of B and mode 2 of C");
  check_rest(c, v[0], 2, v[1], 2, "differ in K, mode 2 of both");
}

void ct_mma_check_scale_shapes(CtTileCx *c, const CtView v[3], const CtMmaOpts *opts) {
  const CtView *scales[] = {opts->sfa, opts->sfb};
  for (int i = 0; i < 2 && scales[i] != NULL; i++) {
    ct_tile_check_inside(c, *scales[i]);
    check_rest(c, v[i], 1, *scales[i], 1,
               "differ in mode 1, which counts the atoms of an operand and of its scales");
    check_rest(c, v[i], 2, *scales[i], 2, "differ in K, mode 2 of the operand and of its scales");
  }
}

/* Of an atom the scales are the low bytes of one register. */
static void check_scale_registers(CtTileCx *c, const CtView *v, const CtMmaOpts *opts) {
  const CtView *scales[] = {opts->sfa, opts->sfb};
  for (int i = 0; i < 2 && scales[i] != NULL; i++) {
    check_in_registers(c, *scales[i], c->atom->vec, scale_names[i]);
  }
  ct_mma_check_scale_shapes(c, v, opts);
}

static void check_mma(CtTileCx *c, const CtView *v) {
  ct_mma_check_block(c, c->atom->threads == 1 ? 1 : LANES, "whole warp", "");
  for (int i = 0; i < N_OPERANDS; i++) {
    ct_mma_check_register(c, v[i], operand_of[i]);
    ct_tile_check_inside(c, v[i]);
  }
  ct_mma_check_shapes(c, v);
  ct_tile_check_writable(c, v[2]);
  if (v[2].buf == v[0].buf || v[2].buf == v[1].buf) {
    ct_tile_fail(c, "%s is both C and %s of %s; C needs a fragment of its own",
                 ct_ir_view_name(c->ir, &v[2]), v[2].buf == v[0].buf ? "A" : "B", c->atom->name);
  }
}

/* CuTe's: each product shares a fragment with the one before it. */
static const CtGemmOrder serpentine = {
    2, {{.mode = 0, .step = 1}, {.mode = 1, .step = 1, .turns = true}}};

static void add_mma(CtTileCx *c, const CtView *v, const CtMmaOpts *opts) {
  CtTile tile = {.dst = v[2],
                 .a = v[0],
                 .b = v[1],
                 .sfa = opts->sfa,
                 .sfb = opts->sfb,
                 .vec = 1,
                 .atom = c->atom};
  tile.order = opts->order.n == 0 ? serpentine : opts->order;
  tile.width[0] = (CtWidth){1, CT_WIDTH_REGISTERS, 1};
  tile.width[1] = (CtWidth){1, CT_WIDTH_REGISTERS, 2};
  ct_tile_check_order(c, &tile.order);
  check_mma(c, v);
  check_scale_registers(c, v, opts);
  if (al_ok(&c->g)) {
    ct_tile_add(c->ir, CT_OP_MMA, &tile);
    for (int i = 0; i < N_OPERANDS; i++) {
      ct_tile_use_words(c->ir, v[i].buf);
    }
    if (opts->sfa != NULL && opts->sfb != NULL) {
      ct_tile_use_words(c->ir, opts->sfa->buf);
      ct_tile_use_words(c->ir, opts->sfb->buf);
    }
  }
}

/* The sums of a register are there or not: only wgmma and tcgen05 are told. */
static void check_accumulate(CtTileCx *c, const CtMmaOpts *opts) {
  if (opts->accumulate != 0 && !is_of_tiles(c->atom)) {
    ct_tile_fail(c,
                 "'accumulate' is an option of wgmma and tcgen05 atoms only, not of %s; fill C "
                 "with 0 to start its sums",
                 c->atom->name);
  }
}

CtStatus ct_ir_mma(CtIr *ir, const CtAtom *atom, CtView a, CtView b, CtView c,
                   const CtMmaOpts *opts, CtErr *err) {
  CtView v[N_OPERANDS] = {a, b, c};
  CtTileCx g = ct_tile_begin(ir, "gemm", atom, err);
  check_kind(&g);
  if (!al_ok(&g.g)) { /* its rows are no products' */
    return g.g.status;
  }
  check_accumulate(&g, opts);
  check_target(&g);
  check_ranks(&g, v);
  for (int i = 0; i < N_OPERANDS; i++) {
    check_operand(&g, v[i], i);
  }
  check_scales(&g, v, opts);
  if (al_ok(&g.g) && is_universal(atom)) {
    return add_universal(&g, v, &opts->order);
  }
  if (al_ok(&g.g) && is_tcgen05(atom)) {
    ct_ir_tcgen05(&g, v, opts);
  } else if (al_ok(&g.g) && is_of_tiles(atom)) {
    ct_ir_wgmma(&g, v, opts);
  } else if (al_ok(&g.g)) {
    add_mma(&g, v, opts);
  }
  return g.g.status;
}
