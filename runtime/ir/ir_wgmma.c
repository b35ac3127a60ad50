/* ir_wgmma.c: products by wgmma: of a warpgroup, from shared memory, one operation WGMMA for each gemm. */
#include "ir_build.h"

static const CtAtomOperand A = CT_ATOM_A, B = CT_ATOM_B, C = CT_ATOM_C;
enum { GROUP = 128 };

bool ct_wgmma_is_compact(CtTileCx *c, CtView v) {
  CtLayout mode = ct_is_leaf(v.layout.shape) ? v.layout : ct_mode(v.layout, 0);
  CtLayout values = al_coalesce(&c->g, mode, NULL);
  return !al_ok(&c->g) || (ct_is_leaf(values.shape) &&
                           (ct_is_const(values.stride->i, 1) || ct_is_const(values.shape->i, 1)));
}

/* An instruction names all its registers: they are the fragment's, one after the other. */
static void check_compact(CtTileCx *c, CtView v, CtAtomOperand of) {
  ct_mma_check_register(c, v, of);
  if (al_ok(&c->g) && !ct_wgmma_is_compact(c, v)) {
    ct_tile_fail_view(c, v,
                      "does not have the values of an atom next to each other and in order, "
                      "as wgmma needs them; partition_fragment_%s makes such a fragment",
                      of == A ? "A" : "C");
  }
  ct_tile_check_inside(c, v);
}

/* Addresses of a swizzle count from multiples of 1024. */
static void align(CtIr *ir, uint32_t buf, int swizzle) {
  enum { PLAIN = 128, ROWS = 8 };
  uint32_t wanted = swizzle > 0 ? (uint32_t)swizzle * ROWS : PLAIN;
  CtBuf *b = &ir->bufs[ct_ir_memory(ir, buf)];
  b->align = b->align > wanted ? b->align : wanted;
}

/* Whole groups come here: by the block's size, or by the conditions around. */
static void check_block(CtTileCx *c) {
  const int64_t *block = c->ir->block;
  int64_t lo, hi;
  bool is_line = block[1] * block[2] == 1;
  if (ct_ir_block_size(c->ir) % GROUP != 0 &&
      (!is_line || !ct_ir_come_threads(c->ir, 0, &lo, &hi) || lo % GROUP != 0 ||
       (hi + 1) % GROUP != 0)) {
    ct_mma_check_block(c, GROUP, "warpgroup, 4 warps",
                       ", or let whole groups come here: if threadIdx.x < 128 then");
  }
}

static void check_operands(CtTileCx *c, const CtView v[3], CtWgmma *w) {
  check_block(c);
  check_compact(c, v[C], C);
  w->is_a_shared = c->atom->from_shared[A];
  if (w->is_a_shared) {
    ct_wgmma_tile(c, v[A], A, &w->a);
  } else {
    check_compact(c, v[A], A);
  }
  ct_wgmma_tile(c, v[B], B, &w->b);
  ct_tile_check_inside(c, v[A]);
  ct_tile_check_inside(c, v[B]);
  ct_mma_check_shapes(c, v);
  ct_tile_check_writable(c, v[C]);
}

/* Accumulators of a row block follow the one before it. */
static const CtGemmOrder by_columns = {2, {{.mode = 1, .step = 1}, {.mode = 0, .step = 1}}};

CtWgmma *ct_wgmma_add(CtTileCx *c, CtOp operation, const CtView v[3], const CtMmaOpts *opts,
                      CtWgmmaCheck *check) {
  CtTile tile = {.dst = v[C],
                 .a = v[A],
                 .b = v[B],
                 .sfa = opts->sfa,
                 .sfb = opts->sfb,
                 .vec = 1,
                 .atom = c->atom};
  CtIr *ir = c->ir;
  CtWgmma *w = al_alloc(&c->g, 1, sizeof *w);
  if (w == NULL) {
    return NULL;
  }
  tile.order = opts->order.n == 0 ? by_columns : opts->order;
  ct_tile_check_order(c, &tile.order);
  check(c, v, w);
  if (!al_ok(&c->g)) {
    return NULL;
  }
  tile.wgmma = w;
  tile.width[0] = (CtWidth){1, CT_WIDTH_ATOM, 1};
  tile.width[1] = (CtWidth){1, CT_WIDTH_ATOM, 2};
  CtVal accumulate = opts->accumulate != 0 ? opts->accumulate : ct_ir_const_int(ir, CT_bool, 1);
  CtVal op = ct_tile_add(ir, operation, &tile);
  ir->insts[op].args[0] = accumulate;
  if (w->is_a_shared) {
    align(ir, v[A].buf, w->a.swizzle);
  }
  align(ir, v[B].buf, w->b.swizzle);
  return w;
}

void ct_ir_wgmma(CtTileCx *c, const CtView v[3], const CtMmaOpts *opts) {
  CtWgmma *w = ct_wgmma_add(c, CT_OP_WGMMA, v, opts, check_operands);
  if (w == NULL) {
    return;
  }
  ct_tile_use_words(c->ir, v[C].buf);
  if (!w->is_a_shared) {
    ct_tile_use_words(c->ir, v[A].buf);
  }
}
