/* ir_wgmma.c: products by wgmma: of a warpgroup, from shared memory, one operation WGMMA for each gemm. */
#include "ir_build.h"

static const CtAtomOperand A = CT_ATOM_A, B = CT_ATOM_B, C = CT_ATOM_C;
enum { GROUP = 128 };

static CtStatus check_block(const CtIr *ir, const CtAtom *atom, CtErr *err) {
  int64_t n = ir->block[0] * ir->block[1] * ir->block[2];
  if (n % GROUP == 0) {
    return CT_OK;
  }
  return ct_fail(
      err, CT_EINVAL,
      "gemm: %s is an instruction of a warpgroup, 4 warps, but a block of %lld threads has one "
      "with %lld; launch a multiple of %d threads",
      atom->name, (long long)n, (long long)(n % GROUP), GROUP);
}

/* Registers of an instruction are the fragment's, one behind the other: it names them all. */
static CtStatus check_compact(CtIr *ir, const CtAtom *atom, CtView v, CtAtomOperand of,
                              CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtLayout values;
  CtStatus status = ct_mma_check_register(ir, atom, v, of, err);
  status = status == CT_OK ? ct_coalesce(&cx, ct_mode(v.layout, 0), NULL, &values, err) : status;
  if (status == CT_OK && !(ct_is_leaf(values.shape) && ct_is_const(values.stride->i, 1))) {
    return ct_tile_fail(
        ir, "gemm", v,
        of == A ? "does not have its values of an atom side by side, in order, as wgmma "
                  "takes them; partition_fragment_A makes a fragment that has"
                : "does not have its values of an atom side by side, in order, as wgmma "
                  "takes them; partition_fragment_C makes a fragment that has",
        err);
  }
  return status == CT_OK ? ct_tile_check_inside(ir, "gemm", v, err) : status;
}

/* Addresses of a swizzle count from multiples of 1024. */
static void align_for(CtIr *ir, uint32_t buf, int swizzle) {
  enum { PLAIN = 128, ROWS = 8 };
  uint32_t wanted = swizzle > 0 ? (uint32_t)swizzle * ROWS : PLAIN;
  CtBuf *b = &ir->bufs[ct_ir_memory(ir, buf)];
  b->align = b->align > wanted ? b->align : wanted;
}

static CtStatus check_operands(CtIr *ir, const CtAtom *atom, const CtView v[3], CtWgmma *w,
                               CtErr *err) {
  CtStatus status = check_block(ir, atom, err);
  status = status == CT_OK ? check_compact(ir, atom, v[C], C, err) : status;
  w->is_a_shared = atom->from_shared[A];
  if (status == CT_OK) {
    status = w->is_a_shared ? ct_wgmma_tile(ir, atom, v[A], A, &w->a, err)
                            : check_compact(ir, atom, v[A], A, err);
  }
  status = status == CT_OK ? ct_wgmma_tile(ir, atom, v[B], B, &w->b, err) : status;
  status = status == CT_OK ? ct_tile_check_inside(ir, "gemm", v[A], err) : status;
  status = status == CT_OK ? ct_tile_check_inside(ir, "gemm", v[B], err) : status;
  status = status == CT_OK ? ct_mma_check_shapes(ir, v, err) : status;
  return status == CT_OK ? ct_ir_check_writable(ir, "gemm", v[C], err) : status;
}

/* Accumulators of a row block follow the one before it. */
static const CtGemmOrder by_columns = {2, {{.mode = 1, .step = 1}, {.mode = 0, .step = 1}}};

CtStatus ct_ir_wgmma(CtIr *ir, const CtAtom *atom, const CtView v[3], const CtMmaOpts *opts,
                     CtErr *err) {
  CtTile tile = {.dst = v[C], .a = v[A], .b = v[B], .vec = 1, .atom = atom};
  CtWgmma *w = ct_arena_alloc(&ir->arena, sizeof *w);
  if (w == NULL) {
    return ct_fail_nomem(err);
  }
  *w = (CtWgmma){0};
  CtStatus status = check_operands(ir, atom, v, w, err);
  if (status != CT_OK) {
    return status;
  }
  tile.wgmma = w;
  tile.order = opts->order.n == 0 ? by_columns : opts->order;
  tile.width[0] = (CtWidth){1, CT_WIDTH_ATOM, 1};
  tile.width[1] = (CtWidth){1, CT_WIDTH_ATOM, 2};
  CtVal accumulate = opts->accumulate != 0 ? opts->accumulate : ct_ir_const_int(ir, CT_bool, 1);
  CtVal op = ct_tile_add(ir, CT_OP_WGMMA, &tile);
  ir->insts[op].args[0] = accumulate;
  ct_tile_use_words(ir, v[C].buf);
  if (w->is_a_shared) {
    align_for(ir, v[A].buf, w->a.swizzle);
  } else {
    ct_tile_use_words(ir, v[A].buf);
  }
  align_for(ir, v[B].buf, w->b.swizzle);
  return CT_OK;
}
