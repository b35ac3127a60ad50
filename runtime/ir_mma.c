/* ir_mma.c: products by an MMA atom: what each operand must be, checked once for all engines.

   A thread's operands are (V,M,K), (V,N,K) and (V,M,N), as a tiled MMA partitions: V are the values of
   one atom, M, N and K count atoms. UniversalFMA has one value, so it is the GEMM of what is left. */
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
  return status == CT_OK ? check_values(ir, atom, v, i, err) : status;
}

static CtStatus check_ranks(const CtAtom *atom, const CtView *v, CtErr *err) {
  static const int ranks[][N_OPERANDS] = {{3, 3, 3}, {2, 2, 3}, {1, 1, 1}};
  int r[N_OPERANDS];
  for (int i = 0; i < N_OPERANDS; i++) {
    r[i] = ct_layout_rank(v[i].layout);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(ranks); i++) {
    if (memcmp(r, ranks[i], sizeof r) == 0) {
      return CT_OK;
    }
  }
  return ct_fail(err, CT_EINVAL,
                 "gemm: A, B and C have ranks %d, %d and %d; with %s (V,M,K), (V,N,K), (V,M,N), or "
                 "(V,M), (V,N), (V,M,N), or (V), (V), (V) were expected, as partition_A, _B and _C "
                 "make them",
                 r[0], r[1], r[2], atom->name);
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

static CtStatus add_universal(CtIr *ir, CtView *v, const CtGemmOrder *order, CtErr *err) {
  CtStatus status = CT_OK;
  for (int i = 0; i < N_OPERANDS && status == CT_OK; i++) {
    status = drop_values(ir, &v[i], err);
  }
  return status == CT_OK ? ct_ir_gemm(ir, v[0], v[1], v[2], order, err) : status;
}

CtStatus ct_ir_mma(CtIr *ir, const CtAtom *atom, CtView a, CtView b, CtView c,
                   const CtGemmOrder *order, CtErr *err) {
  CtView v[N_OPERANDS] = {a, b, c};
  CtStatus status = check_target(ir, atom, err);
  status = status == CT_OK ? check_ranks(atom, v, err) : status;
  for (int i = 0; i < N_OPERANDS && status == CT_OK; i++) {
    status = check_operand(ir, atom, v[i], i, err);
  }
  if (status != CT_OK || is_universal(atom)) {
    return status == CT_OK ? add_universal(ir, v, order, err) : status;
  }
  return ct_fail(err, CT_EUNSUPPORTED, "gemm: %s is not emitted yet; take UniversalFMA",
                 atom->name);
}
