/* ir_mma.c: products by an MMA atom: what each operand must be, checked once for all engines.

   A thread's operands are (V,M,K), (V,N,K) and (V,M,N), as a tiled MMA partitions: V are the values of
   one atom, M, N and K count atoms. UniversalFMA has one value, so it is the GEMM of what is left; any
   other atom becomes one operation MMA, whose operands are fragments that lie in whole registers. */
#include <stdio.h>
#include <string.h>

#include "ir_build.h"

enum { N_OPERANDS = 3 };

static const char *const letters[N_OPERANDS] = {"A", "B", "C"};
static const CtAtomOperand operand_of[N_OPERANDS] = {CT_ATOM_A, CT_ATOM_B, CT_ATOM_C};

static const char *name_of(const CtIr *ir, const CtView *v) {
  return v->name != NULL ? v->name : ir->bufs[v->buf].name;
}

/* --- the atom ------------------------------------------------------------------------------------- */

static bool is_universal(const CtAtom *atom) { return strcmp(atom->family, "fma") == 0; }
static bool is_wgmma(const CtAtom *atom) { return atom->from_shared[CT_ATOM_B]; }

static CtStatus check_target(const CtIr *ir, const CtAtom *atom, CtErr *err) {
  int sm = ir->target.sm;
  if (!ir->target.is_cuda || (atom->is_sm_specific ? sm == atom->sm : sm >= atom->sm)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EUNSUPPORTED,
                 "gemm: %s needs sm_%d%s; the target is sm_%d, so take an atom that it has: "
                 "atoms{kind = \"mma\", sm = %d} lists them",
                 atom->name, atom->sm, atom->is_sm_specific ? "a" : "", sm, sm);
}

/* Atoms that are not run as an MMA. */
static CtStatus check_kind(const CtAtom *atom, CtErr *err) {
  if (atom->times > 1) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "gemm: %s multiplies complex numbers, which no tensor has; multiply real and "
                   "imaginary parts by the atom of f64 of that shape",
                   atom->name);
  }
  return CT_OK;
}

/* An instruction of a warp needs whole warps. */
static CtStatus check_block(const CtIr *ir, const CtAtom *atom, CtErr *err) {
  enum { LANES = 32 };
  int64_t n = ir->block[0] * ir->block[1] * ir->block[2];
  if (atom->threads == 1 || n % LANES == 0) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "gemm: %s is an instruction of a whole warp, but a block of %lld threads has one "
                 "with %lld; launch a multiple of %d threads",
                 atom->name, (long long)n, (long long)(n % LANES), LANES);
}

/* --- the operands ----------------------------------------------------------------------------------- */

/* tf32 is the upper bits of an f32, so that the instruction takes these, too. */
static bool takes(CtDtype wanted, CtDtype given) {
  return wanted == given || (wanted == CT_tf32 && given == CT_f32) ||
         (wanted == CT_u32 && given == CT_i32) || (wanted == CT_i32 && given == CT_u32);
}

static CtStatus check_type(const CtIr *ir, const CtAtom *atom, const CtView *v, int i, CtErr *err) {
  CtDtype given = ir->bufs[v->buf].dtype, wanted = ct_atom_dtype(atom, operand_of[i]);
  if (takes(wanted, given)) {
    return CT_OK;
  }
  int per = ct_atom_per_element(atom, operand_of[i]);
  if (per > 1) {
    return ct_fail(err, CT_EINVAL,
                   "gemm: %s (%s) is %s but %s takes words of %d %s; expected a tensor of u32",
                   letters[i], name_of(ir, v), ct_dtypes[given].name, atom->name, per,
                   atom->types[operand_of[i]].name);
  }
  return ct_fail(err, CT_EINVAL, "gemm: %s (%s) is %s but %s %s %s", letters[i], name_of(ir, v),
                 ct_dtypes[given].name, atom->name, i == 2 ? "adds to" : "multiplies",
                 atom->types[operand_of[i]].name);
}

static CtStatus check_values(CtIr *ir, const CtAtom *atom, CtView v, int i, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt n;
  int wanted = ct_atom_values(atom, operand_of[i]);
  CtLayout values = ct_layout_rank(v.layout) == 1 ? v.layout : ct_mode(v.layout, 0);
  CtStatus status = ct_size(&cx, values, &n, err);
  if (status == CT_OK && !ct_is_const(n, wanted)) {
    char rule[CT_ATOM_TEXT_MAX + 128];
    snprintf(rule, sizeof rule,
             "has %lld values in its mode 0; %s takes %d as %s of each thread: partition with a "
             "tiled MMA of that atom",
             (long long)n.v, atom->name, wanted, letters[i]);
    return ct_tile_fail(ir, "gemm", v, rule, err);
  }
  return status;
}

static CtStatus check_operand(CtIr *ir, const CtAtom *atom, CtView v, int i, CtErr *err) {
  if (!ct_all_static(v.layout.shape)) {
    return ct_tile_fail(ir, "gemm", v, "has a dynamic shape; tile it first", err);
  }
  CtStatus status = check_type(ir, atom, &v, i, err);
  if (status != CT_OK || atom->from_shared[operand_of[i]]) {
    return status; /* wgmma looks at its tiles itself */
  }
  return check_values(ir, atom, v, i, err);
}

static CtStatus check_ranks(const CtAtom *atom, const CtView *v, CtErr *err) {
  static const int ranks[][N_OPERANDS] = {{3, 3, 3}, {2, 2, 3}, {1, 1, 1}};
  size_t n_ranks = CT_ARRAY_LEN(ranks) - is_wgmma(atom); /* a tile's (V) could be (M,K) */
  int r[N_OPERANDS];
  for (int i = 0; i < N_OPERANDS; i++) {
    r[i] = ct_layout_rank(v[i].layout);
  }
  for (size_t i = 0; i < n_ranks; i++) {
    if (memcmp(r, ranks[i], sizeof r) == 0) {
      return CT_OK;
    }
  }
  return ct_fail(err, CT_EINVAL,
                 "gemm: A, B and C have ranks %d, %d and %d; with %s (V,M,K), (V,N,K), (V,M,N), or "
                 "(V,M), (V,N), (V,M,N)%s were expected, as partition_A, _B and _C make them",
                 r[0], r[1], r[2], atom->name, is_wgmma(atom) ? "" : ", or (V), (V), (V)");
}

/* --- UniversalFMA ------------------------------------------------------------------------------------- */

/* The view without its mode 0, which has one element. */
static CtStatus drop_values(CtIr *ir, CtView *v, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  int rank = ct_layout_rank(v->layout);
  CtLayout whole = v->layout;
  if (rank == 1) {
    return CT_OK;
  }
  CtStatus status = ct_take(&cx, whole, 1, rank, &v->layout, err);
  if (status != CT_OK || v->guard == NULL) {
    return status;
  }
  CtGuard *g = ct_arena_alloc(&ir->arena, sizeof *g);
  if (g == NULL) {
    return ct_fail_nomem(err);
  }
  *g = *v->guard;
  for (int i = 0; i < g->n && status == CT_OK; i++) {
    CtLayout axis = {whole.shape, g->axis[i].stride};
    status = ct_take(&cx, axis, 1, rank, &axis, err);
    g->axis[i].stride = axis.stride;
  }
  v->guard = g;
  return status;
}

/* The order that CuTe multiplies in, where the script asks for none: pairs of rows, every second
   backwards over the columns. */
static const CtGemmOrder by_row_pairs = {
    3, {{.mode = 0, .step = 2}, {.mode = 1, .step = 1, .turns = true}, {.mode = 0, .step = 1}}};

static CtStatus add_universal(CtIr *ir, CtView *v, const CtGemmOrder *order, CtErr *err) {
  CtStatus status = CT_OK;
  order = order->n == 0 ? &by_row_pairs : order;
  for (int i = 0; i < N_OPERANDS && status == CT_OK; i++) {
    status = drop_values(ir, &v[i], err);
  }
  return status == CT_OK ? ct_ir_gemm(ir, v[0], v[1], v[2], order, err) : status;
}

/* --- MMA ------------------------------------------------------------------------------------------------ */

/* The values of each register lie side by side, at a place that is a multiple of their number. */
CtStatus ct_mma_check_register(CtIr *ir, const CtAtom *atom, CtView v, CtAtomOperand of,
                               CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  int64_t per = ct_dtypes[buf->dtype].bits < 32 ? 32 / ct_dtypes[buf->dtype].bits : 1;
  char rule[CT_ATOM_TEXT_MAX + 160];
  if (buf->space != CT_REGISTER) {
    snprintf(rule, sizeof rule,
             "is in %s memory; %s takes registers: copy it to a fragment, "
             "partition_fragment_%s makes one",
             buf->space == CT_SHARED ? "shared" : "global", atom->name, letters[of]);
    return ct_tile_fail(ir, "gemm", v, rule, err);
  }
  if (ct_guard_n(&v) > 0) {
    return ct_tile_fail(ir, "gemm", v, "is guarded, which an MMA cannot be; guard what is copied",
                        err);
  }
  if (!ct_tile_is_packed(ir, v, per)) {
    snprintf(rule, sizeof rule,
             "does not have the values of a register side by side, %lld of them, from a multiple "
             "of %lld on; partition_fragment_%s of a tiled MMA makes a fragment that has",
             (long long)per, (long long)per, letters[of]);
    return ct_tile_fail(ir, "gemm", v, rule, err);
  }
  return CT_OK;
}

/* Mode `x` of a and mode `y` of b count the same atoms; beyond a view's rank there is one. */
static CtStatus check_rest(CtIr *ir, CtView a, int x, CtView b, int y, const char *rule,
                           CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt n[2] = {ct_int(1), ct_int(1)};
  CtView v[2] = {a, b};
  int mode[2] = {x, y};
  for (int i = 0; i < 2; i++) {
    if (mode[i] < ct_layout_rank(v[i].layout)) {
      CtStatus status = ct_size(&cx, ct_mode(v[i].layout, mode[i]), &n[i], err);
      if (status != CT_OK) {
        return status;
      }
    }
  }
  return ct_int_equal(n[0], n[1]) ? CT_OK : ct_tile_fail_views(ir, "gemm", a, b, rule, err);
}

CtStatus ct_mma_check_shapes(CtIr *ir, const CtView v[3], CtErr *err) {
  CtStatus status =
      check_rest(ir, v[0], 1, v[2], 1, "differ in M, mode 1 of A and mode 1 of C", err);
  status = status == CT_OK
               ? check_rest(ir, v[1], 1, v[2], 2, "differ in N, mode 1 of B and mode 2 of C", err)
               : status;
  return status == CT_OK ? check_rest(ir, v[0], 2, v[1], 2, "differ in K, mode 2 of both", err)
                         : status;
}

static CtStatus check_mma(CtIr *ir, const CtAtom *atom, const CtView *v, CtErr *err) {
  CtStatus status = check_block(ir, atom, err);
  for (int i = 0; i < N_OPERANDS && status == CT_OK; i++) {
    status = ct_mma_check_register(ir, atom, v[i], operand_of[i], err);
    status = status == CT_OK ? ct_tile_check_inside(ir, "gemm", v[i], err) : status;
  }
  status = status == CT_OK ? ct_mma_check_shapes(ir, v, err) : status;
  status = status == CT_OK ? ct_ir_check_writable(ir, "gemm", v[2], err) : status;
  if (status == CT_OK && (v[2].buf == v[0].buf || v[2].buf == v[1].buf)) {
    return ct_fail(err, CT_EINVAL,
                   "gemm: %s is C and %s of %s; what is added to needs a fragment of its own",
                   name_of(ir, &v[2]), v[2].buf == v[0].buf ? "A" : "B", atom->name);
  }
  return status;
}

/* CuTe's: each product shares a fragment with the one before it. */
static const CtGemmOrder serpentine = {
    2, {{.mode = 0, .step = 1}, {.mode = 1, .step = 1, .turns = true}}};

static CtStatus add_mma(CtIr *ir, const CtAtom *atom, const CtView *v, const CtGemmOrder *order,
                        CtErr *err) {
  CtTile tile = {.dst = v[2], .a = v[0], .b = v[1], .vec = 1, .atom = atom};
  tile.order = order->n == 0 ? serpentine : *order;
  tile.width[0] = (CtWidth){1, CT_WIDTH_REGISTERS, 1};
  tile.width[1] = (CtWidth){1, CT_WIDTH_REGISTERS, 2};
  CtStatus status = check_mma(ir, atom, v, err);
  if (status == CT_OK) {
    ct_tile_add(ir, CT_OP_MMA, &tile);
    for (int i = 0; i < N_OPERANDS; i++) {
      ct_tile_use_words(ir, v[i].buf);
    }
  }
  return status;
}

/* The sums of a register are there or not: only wgmma is told. */
static CtStatus check_accumulate(const CtAtom *atom, const CtMmaOpts *opts, CtErr *err) {
  if (opts->accumulate == 0 || is_wgmma(atom)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "gemm: 'accumulate' is an option of wgmma atoms only, not of %s; fill C with 0 to "
                 "start its sums",
                 atom->name);
}

CtStatus ct_ir_mma(CtIr *ir, const CtAtom *atom, CtView a, CtView b, CtView c,
                   const CtMmaOpts *opts, CtErr *err) {
  CtView v[N_OPERANDS] = {a, b, c};
  CtStatus status = check_kind(atom, err);
  status = status == CT_OK ? check_accumulate(atom, opts, err) : status;
  status = status == CT_OK ? check_target(ir, atom, err) : status;
  status = status == CT_OK ? check_ranks(atom, v, err) : status;
  for (int i = 0; i < N_OPERANDS && status == CT_OK; i++) {
    status = check_operand(ir, atom, v[i], i, err);
  }
  if (status != CT_OK) {
    return status;
  }
  if (is_wgmma(atom)) {
    return ct_ir_wgmma(ir, atom, v, opts, err);
  }
  return is_universal(atom) ? add_universal(ir, v, &opts->order, err)
                            : add_mma(ir, atom, v, &opts->order, err);
}
