/* ir_tcgen05.c: products by tcgen05 (SM100_MMA atoms), one operation TCGEN05_MMA for each gemm, and copies between
   tensor memory and registers (SM100_TMEM_LOAD and _STORE atoms), TCGEN05_COPY.

   Where a matrix of `rows` rows must be in tensor memory (PTX ISA, "Data path layout organization", D and F): element
   (i, j) of 32 bits is in column j, and row i in lane i of 128, or in lane i % 16 + 32 * (i / 16) of 64. Narrower
   elements of a row share words: j % (32 / bits) is the place in the word. */
#include <string.h>

#include "ir_build.h"

static const CtAtomOperand A = CT_ATOM_A, B = CT_ATOM_B, C = CT_ATOM_C;
enum { WORD_BITS = 32, HALF = 64, ROWS_OF_WARP = 16, LANES_OF_WARP = 32 };

/* Elements that share a word. */
static int64_t per_word(const CtTileCx *c, CtView v) {
  int width = ct_dtype_width(c->ir->bufs[v.buf].dtype);
  return width < WORD_BITS ? WORD_BITS / width : 1;
}

/* --- operands of a product ------------------------------------------------------------------------ */

/* Of an operand of one block: its rows, and its columns. */
static int64_t rows_of(const CtAtom *atom) { return atom->m / ct_atom_blocks(atom); }

static int64_t place_of_row(int64_t rows, int64_t i, int64_t per) {
  int64_t lane = rows == HALF ? i % ROWS_OF_WARP + i / ROWS_OF_WARP * LANES_OF_WARP : i;
  return lane * per;
}

/* Two blocks with 64 rows each have the second half of the columns in lanes 64 to 127 (layout B). */
static int64_t place_of_column(const CtAtom *atom, int64_t j, int64_t per) {
  int64_t half = atom->n / 2, lanes = 0;
  if (ct_atom_blocks(atom) == 2 && rows_of(atom) == HALF && j >= half) {
    j -= half;
    lanes = HALF;
  }
  return j / per * CT_TMEM_LANES * per + j % per + lanes;
}

/* Are the values that a block has of an atom, (rows, columns), in the lanes and columns where the instruction has them? */
static bool is_matrix(const CtTileCx *c, CtLayout values, int64_t rows, int64_t columns,
                      int64_t per) {
  CtAlg g = al_trial(&c->g);
  if (ct_layout_rank(values) != 2 || !ct_is_const(al_size(&g, ct_mode(values, 0)), rows) ||
      !ct_is_const(al_size(&g, ct_mode(values, 1)), columns)) {
    return false;
  }
  bool is = true;
  for (int64_t i = 0; i < rows && is; i++) {
    is = ct_layout_at(ct_mode(values, 0), i) ==
         (ct_atom_blocks(c->atom) == 2 ? i * per : place_of_row(rows, i, per));
  }
  for (int64_t j = 0; j < columns && is; j++) {
    is = ct_layout_at(ct_mode(values, 1), j) == place_of_column(c->atom, j, per);
  }
  return is;
}

/* Do the view, and its atoms, begin at lane 0? */
static bool begins_at_columns(const CtTileCx *c, CtView v, int64_t per) {
  bool is = ct_ir_facts(c->ir, v.offset).div % (CT_TMEM_LANES * per) == 0;
  for (int i = 1; i < ct_layout_rank(v.layout); i++) {
    for (CtLeaves w = ct_layout_leaves(ct_mode(v.layout, i)); ct_next_leaf(&w);) {
      is = is && (ct_is_const(w.shape->i, 1) || w.stride->i.v % (CT_TMEM_LANES * per) == 0);
    }
  }
  return is;
}

static void fail_pair_matrix(CtTileCx *c, CtView v, CtAtomOperand of) {
  const CtAtom *atom = c->atom;
  const char *name = of == A ? "A" : "C";
  int rows = (int)rows_of(atom);
  ct_tile_fail_view(c, v,
                    "does not have the lanes and columns that each block has of %s for %s; "
                    "make the tensor with %s, and part it by partition_%s of a slice of the tiled "
                    "MMA, as partition_%s(pair_tile(t))",
                    atom->name, name,
                    rows == HALF ? "tmem(f32, L\"(64,(N/2,2)):(1,(128,64))\") for N columns"
                                 : "tmem(dtype, {128, columns})",
                    name, name);
}

static void check_matrix(CtTileCx *c, CtView v, CtAtomOperand of) {
  const CtAtom *atom = c->atom;
  int64_t per = per_word(c, v);
  if (c->ir->bufs[v.buf].space != CT_TENSOR) {
    ct_tile_fail_view(c, v,
                      "is in %s memory; %s has %s in tensor memory, as tmem(dtype, shape) makes it",
                      ct_spaces[c->ir->bufs[v.buf].space], atom->name, of == A ? "A" : "C");
  } else if (al_ok(&c->g) && (!ct_layout_is_static(v.layout) || ct_guard_n(&v) > 0)) {
    ct_tile_fail_view(c, v, "has no static layout, or is guarded; neither can be in tensor memory");
  } else if (al_ok(&c->g) && (!is_matrix(c, ct_mode(v.layout, 0), rows_of(atom),
                                         of == A ? atom->k : atom->n, per) ||
                              !begins_at_columns(c, v, per))) {
    if (ct_atom_blocks(atom) == 2) {
      fail_pair_matrix(c, v, of);
      return;
    }
    ct_tile_fail_view(c, v,
                      "does not have the lanes and columns that %s has for %s, %d rows from lane 0 "
                      "on; make the tensor with tmem(dtype, {%d, columns}), and part it by "
                      "partition_%s of a slice of the tiled MMA",
                      atom->name, of == A ? "A" : "C", atom->m, atom->m, of == A ? "A" : "C");
  }
}

/* --- pairs of blocks ------------------------------------------------------------------------------ */

/* Is it an instruction whose atom says whether it is of one block, or of a pair? */
static bool has_group(const CtInst *inst) {
  return inst->region != 0 && (inst->op == CT_OP_TCGEN05_MMA || inst->op == CT_OP_TCGEN05_CP);
}

bool ct_ir_has_pairs(const CtIr *ir) {
  bool has = false;
  for (CtVal v = 1; v < ir->n_insts && !has; v++) {
    const CtInst *inst = ct_inst(ir, v);
    has = has_group(inst) && ct_atom_is_of_pair(inst->u.tile->atom);
  }
  return has;
}

/* All products and copies of scales of a kernel are of one block, or all are of two (PTX ISA: all tcgen05 instructions
   have the same .cta_group). */
static void check_group(CtTileCx *c) {
  const CtIr *ir = c->ir;
  bool is_pair = ct_atom_is_of_pair(c->atom);
  int64_t in_cluster = ct_ir_cluster_size(ir);
  for (CtVal v = 1; v < ir->n_insts && al_ok(&c->g); v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (has_group(inst) && ct_atom_is_of_pair(inst->u.tile->atom) != is_pair) {
      ct_tile_fail(c,
                   "%s is an instruction of %s, but %s at line %d is one of %s; a kernel has only "
                   "one of the two kinds, so take atoms of one kind",
                   c->atom->name, is_pair ? "two blocks" : "one block", inst->u.tile->atom->name,
                   inst->loc.line, is_pair ? "one" : "two");
    }
  }
  if (al_ok(&c->g) && is_pair && in_cluster % 2 != 0) {
    ct_tile_fail(c,
                 "%s is an instruction of two blocks of a cluster, but the launch has clusters of "
                 "%lld; launch with {cluster = 2}, or another even number",
                 c->atom->name, (long long)in_cluster);
  }
}

static void check_operands(CtTileCx *c, const CtView v[3], CtWgmma *w) {
  check_group(c);
  w->is_a_shared = c->atom->from_shared[A];
  check_matrix(c, v[C], C);
  if (w->is_a_shared) {
    ct_wgmma_tile(c, v[A], A, &w->a);
  } else {
    check_matrix(c, v[A], A);
  }
  ct_wgmma_tile(c, v[B], B, &w->b);
  for (int i = 0; i < 3; i++) {
    ct_tile_check_inside(c, v[i]);
  }
  ct_mma_check_shapes(c, v);
  ct_tile_check_writable(c, v[C]);
}

/* --- scales ----------------------------------------------------------------------------------------

   Scale j of row i is in byte j % 4 of a word, in lane i % 32 and column i / 32 + rows / 32 * (j / 4), and again in the
   same place of the lanes of the other three warps. Elements are counted in the first warp's lanes. An instruction takes
   `vec` neighbouring bytes of a word. */
enum { BYTES_OF_WORD = 4, OF_COLUMN = CT_TMEM_LANES * BYTES_OF_WORD };

static int64_t place_of_scale(int64_t i) {
  return i % LANES_OF_WARP * BYTES_OF_WORD + i / LANES_OF_WARP * OF_COLUMN;
}

/* Are the scales of one atom, (rows, vec), where the instruction has them? */
static bool are_scales(const CtTileCx *c, CtLayout values, int64_t rows) {
  CtAlg g = al_trial(&c->g);
  int64_t vec = c->atom->vec;
  if (ct_layout_rank(values) != 2 || !ct_is_const(al_size(&g, ct_mode(values, 0)), rows) ||
      !ct_is_const(al_size(&g, ct_mode(values, 1)), vec)) {
    return false;
  }
  bool are = true;
  for (int64_t i = 0; i < rows && are; i++) {
    are = ct_layout_at(ct_mode(values, 0), i) == place_of_scale(i);
  }
  for (int64_t j = 0; j < vec && are; j++) {
    are = ct_layout_at(ct_mode(values, 1), j) == j;
  }
  return are;
}

/* Atoms begin at whole columns, or `vec` bytes further within a word. */
static bool steps_by_scales(const CtTileCx *c, CtView v) {
  int64_t vec = c->atom->vec, last = 0;
  bool is = ct_ir_facts(c->ir, v.offset).div % OF_COLUMN == 0;
  for (int i = 1; i < ct_layout_rank(v.layout); i++) {
    for (CtLeaves w = ct_layout_leaves(ct_mode(v.layout, i)); ct_next_leaf(&w);) {
      int64_t step = w.stride->i.v;
      bool is_one = ct_is_const(w.shape->i, 1), is_column = step % OF_COLUMN == 0;
      is = is && (is_one || is_column || (step > 0 && step % vec == 0));
      last += is_one || is_column ? 0 : step * (w.shape->i.v - 1);
    }
  }
  return is && last + vec <= BYTES_OF_WORD;
}

static void check_scales(CtTileCx *c, CtView v, CtAtomOperand of) {
  const char *name = of == CT_ATOM_SFA ? "SFA" : "SFB";
  int64_t rows = of == CT_ATOM_SFA ? rows_of(c->atom) : c->atom->n;
  if (c->ir->bufs[v.buf].space != CT_TENSOR) {
    ct_tile_fail_view(c, v,
                      "is in %s memory; %s has %s in tensor memory, as tmem(dtype, {%d, scales}) "
                      "makes it and a copy by SM100_UTCCP_4x32dp128bit_%dcta fills it",
                      ct_spaces[c->ir->bufs[v.buf].space], c->atom->name, name, (int)rows,
                      ct_atom_blocks(c->atom));
  } else if (al_ok(&c->g) &&
             (!ct_layout_is_static(v.layout) || ct_guard_n(&v) > 0 ||
              !are_scales(c, ct_mode(v.layout, 0), rows) || !steps_by_scales(c, v))) {
    ct_tile_fail_view(c, v,
                      "does not have scales where %s has %s: 32 rows to a column, and the scales "
                      "of a row side by side in a word; make the tensor with tmem(dtype, {%d, "
                      "scales}), and part it by partition_%s of a slice of the tiled MMA",
                      c->atom->name, name, (int)rows, name);
  }
}

void ct_ir_tcgen05(CtTileCx *c, const CtView v[3], const CtMmaOpts *opts) {
  if (c->atom->vec > 0 && opts->sfa != NULL && opts->sfb != NULL) {
    check_scales(c, *opts->sfa, CT_ATOM_SFA);
    check_scales(c, *opts->sfb, CT_ATOM_SFB);
    ct_mma_check_scale_shapes(c, v, opts);
  }
  if (al_ok(&c->g)) {
    ct_wgmma_add(c, CT_OP_TCGEN05_MMA, v, opts, check_operands);
  }
}

/* Value i of a copy's atom, 32 rows of 16 bytes: four words of a lane, in neighbouring columns. */
static int64_t place_of_byte(int64_t i) {
  enum { ROW = 16 };
  return i % BYTES_OF_WORD + i / BYTES_OF_WORD % (ROW / BYTES_OF_WORD) * OF_COLUMN +
         i / ROW * BYTES_OF_WORD;
}

static bool is_in_order(CtLayout values, int64_t n, bool is_tensor) {
  bool is = true;
  for (int64_t i = 0; i < n && is; i++) {
    is = ct_layout_at(values, i) == (is_tensor ? place_of_byte(i) : i);
  }
  return is;
}

/* Do atoms begin at multiples of 16 bytes of shared memory? */
static bool begins_at_rows(const CtTileCx *c, CtView v) {
  bool is = ct_ir_facts(c->ir, v.offset).div % 16 == 0;
  for (CtLeaves w = ct_layout_leaves(ct_mode(v.layout, 1)); ct_next_leaf(&w);) {
    is = is && (ct_is_const(w.shape->i, 1) || w.stride->i.v % 16 == 0);
  }
  return is;
}

void ct_ir_tcgen05_cp(CtTileCx *c, CtDtype dtype, CtView src, CtView dst) {
  CtTile tile = {.dst = dst, .a = src, .atom = c->atom, .vec = 1};
  enum { BYTES = 512, BITS = 8, ROW = 16 };
  check_group(c);
  if (ct_dtype_width(dtype) != BITS) {
    ct_tile_fail(c, "%s copies scales, which have 8 bits, and no elements of %s", c->atom->name,
                 ct_dtypes[dtype].name);
  } else if (!ct_layout_is_static(src.layout) || !ct_layout_is_static(dst.layout) ||
             c->ir->bufs[src.buf].swizzle.bits != 0 ||
             !is_in_order(ct_mode(src.layout, 0), BYTES, false) || !begins_at_rows(c, src)) {
    ct_tile_fail_view(c, src,
                      "does not have the %d scales of 128 rows next to each other, as %s needs "
                      "them; its layout should be tile_to_shape(L\"((32,4),4):((16,4),1)\", "
                      "shape, \"right\"), parted by partition_S of a slice of tmem_copy",
                      BYTES, c->atom->name);
  } else if (!is_in_order(ct_mode(dst.layout, 0), BYTES, true) ||
             !begins_at_columns(c, dst, BYTES_OF_WORD)) {
    ct_tile_fail_view(c, dst,
                      "is not where %s writes scales; make the tensor with tmem(dtype, {128, "
                      "scales}), and part it by partition_D of a slice of tmem_copy(atom, tensor)",
                      c->atom->name);
  }
  ct_tile_check_writable(c, dst);
  ct_tile_check_inside(c, src);
  ct_tile_check_inside(c, dst);
  if (al_ok(&c->g)) {
    CtBuf *b = &c->ir->bufs[ct_ir_memory(c->ir, src.buf)];
    b->align = b->align > ROW ? b->align : ROW;
    tile.width[0] = (CtWidth){1, CT_WIDTH_WIDEST, 0};
    ct_tile_add(c->ir, CT_OP_TCGEN05_CP, &tile);
  }
}

/* --- copies --------------------------------------------------------------------------------------- */

int64_t ct_atom_tmem_at(const CtAtom *atom, CtLayout layout, int width, int thread, int64_t i) {
  CtTmemShape shape = ct_atom_tmem_shape(atom);
  int64_t bit = ct_layout_at(layout, thread + (int64_t)atom->threads * width * i);
  int64_t lane = bit / shape.bits, column = bit % shape.bits / WORD_BITS;
  int64_t per = WORD_BITS / width;
  return (column * CT_TMEM_LANES + lane) * per + bit % WORD_BITS / width;
}

/* Thread 0's values of one atom, as the instruction has them from the first on. */
static bool is_part(CtTileCx *c, CtLayout values, int width) {
  CtLayout layout;
  CtErr err;
  const char *text = c->atom->layouts[CT_ATOM_DST];
  CtCx cx = ct_ir_cx(c->ir);
  if (ct_layout_parse(cx.arena, text, strlen(text), &layout, &err) != CT_OK) {
    c->ir->failed = true;
    return true;
  }
  int64_t n = al_size(&c->g, values).v;
  bool is = true;
  for (int64_t i = 0; i < n && is; i++) {
    is = ct_layout_at(values, i) == ct_atom_tmem_at(c->atom, layout, width, 0, i);
  }
  return is;
}

void ct_ir_tcgen05_copy(CtTileCx *c, CtDtype dtype, CtView src, CtView dst) {
  bool is_load = c->ir->bufs[src.buf].space == CT_TENSOR;
  CtView own = is_load ? dst : src, there = is_load ? src : dst;
  CtTile tile = {.dst = dst, .a = src, .atom = c->atom, .vec = 1};
  int width = ct_dtype_width(dtype);
  if (width > WORD_BITS || dtype == CT_bool) {
    ct_tile_fail(c, "%s moves words of 32 bits, and no elements of %s", c->atom->name,
                 ct_dtypes[dtype].name);
  } else if (!ct_wgmma_is_compact(c, own) || !ct_tile_is_packed(c->ir, own, per_word(c, own))) {
    ct_tile_fail_view(c, own,
                      "does not have the values of an atom next to each other and in order, as %s "
                      "needs them; fragment_like of the thread's part makes such a fragment",
                      c->atom->name);
  } else if (al_ok(&c->g) && !is_part(c, ct_mode(there.layout, 0), width)) {
    ct_tile_fail_view(c, there,
                      "is not what %s reaches of tensor memory; part the tensor by partition_S or "
                      "_D of a slice of tmem_copy(atom, tensor)",
                      c->atom->name);
  }
  ct_tile_check_writable(c, dst);
  ct_tile_check_inside(c, src);
  ct_tile_check_inside(c, dst);
  if (al_ok(&c->g)) {
    ct_tile_use_words(c->ir, own.buf);
    tile.width[0] = (CtWidth){1, CT_WIDTH_WIDEST, 0}; /* words, whatever the atom */
    ct_tile_add(c->ir, CT_OP_TCGEN05_COPY, &tile);
  }
}
