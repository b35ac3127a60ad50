/* emit_tile.c: operations on whole tensors. */
#include "emit_each.h"

static void fill_body(CtEmit *e, const CtEmitEach *each) {
  ct_emit_begin(e, each->inst->loc);
  const char *end = ct_emit_begin_store(e, &each->op[CT_EACH_DST], 1);
  ct_emit_expr(e, each->inst->args[0], CT_PREC_COND);
  ct_text_puts(&e->body, end);
  ct_emit_end(e);
}

static void write_fill(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtEmitViews views = {.what = "fill", .inst = inst, .n = 1, .view = {&inst->u.tile->dst}};
  ct_emit_each(e, &views, 1, fill_body);
}

static bool is_one(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  return inst->op == CT_OP_CONST &&
         (ct_is_float((CtDtype)inst->type) ? inst->imm.f == 1.0 : inst->imm.i == 1);
}

/* scale * element, or just the element if the scale is 1; the product in unsigned numbers. */
static void put_scaled(CtEmit *e, CtVal scale, const CtEmitOperand *op) {
  CtDtype type = (CtDtype)ct_inst(e->ir, scale)->type;
  if (ct_is_int(type)) {
    ct_text_printf(&e->body, "(%s)", ct_emit_unsigned(type));
  }
  if (!is_one(e, scale)) {
    ct_emit_expr(e, scale, CT_PREC_UNARY);
    ct_text_puts(&e->body, " * ");
  }
  ct_emit_value(e, op, true);
}

/* alpha * x + beta * y, contracted like any such sum: the left product becomes part of an fma.
   alpha * x if y is not read. */
static void axpby_body(CtEmit *e, const CtEmitEach *each) {
  const CtInst *inst = each->inst;
  CtDtype type = each->op[CT_EACH_DST].buf->dtype;
  bool reads = ct_tile_reads_dst(e->ir, inst);
  bool fused = reads && ct_is_float(type) && e->ir->contract && !is_one(e, inst->args[0]);
  ct_emit_begin(e, inst->loc);
  const char *end = ct_emit_begin_store(e, &each->op[CT_EACH_DST], 1);
  if (fused) {
    ct_text_puts(&e->body, type == CT_f32 ? "fmaf(" : "fma(");
    ct_emit_expr(e, inst->args[0], CT_PREC_COND);
    ct_text_puts(&e->body, ", ");
    ct_emit_value(e, &each->op[CT_EACH_SRC], true);
    ct_text_puts(&e->body, ", ");
    put_scaled(e, inst->args[1], &each->op[CT_EACH_DST]);
    ct_text_putc(&e->body, ')');
  } else {
    bool is_int = ct_is_int(type);
    if (is_int) {
      ct_text_printf(&e->body, "(%s)(", ct_dtypes[type].cuda);
    }
    put_scaled(e, inst->args[0], &each->op[CT_EACH_SRC]);
    if (reads) {
      ct_text_puts(&e->body, " + ");
      put_scaled(e, inst->args[1], &each->op[CT_EACH_DST]);
    }
    ct_text_puts(&e->body, is_int ? ")" : "");
  }
  ct_text_puts(&e->body, end);
  ct_emit_end(e);
}

static void write_axpby(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  if (!ct_emit_has_numbers(e, inst, "axpby")) {
    return;
  }
  const CtEmitViews views = {.what = "axpby", .inst = inst, .n = 2, .view = {&t->dst, &t->a}};
  ct_emit_each(e, &views, 1, axpby_body);
}

static void fma_body(CtEmit *e, const CtEmitEach *each) {
  ct_emit_begin(e, each->inst->loc);
  ct_emit_fma(e, &each->op[CT_EACH_DST], &each->op[CT_EACH_SRC], &each->op[CT_EACH_SRC_B]);
  ct_emit_end(e);
}

static void emit_elementwise_fma(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  const CtEmitViews views = {.what = "gemm", .inst = inst, .n = 3, .view = {&t->dst, &t->a, &t->b}};
  if (ct_emit_has_numbers(e, inst, "gemm")) {
    ct_emit_each(e, &views, 1, fma_body);
  }
}

static void write_gemm(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (ct_layout_rank(inst->u.tile->dst.layout) == 1) {
    emit_elementwise_fma(e, inst);
  } else {
    ct_emit_gemm(e, inst);
  }
}

#define write_copy ct_emit_copy
#define write_warp_copy ct_emit_warp_copy
#define write_tcgen05_copy ct_emit_tcgen05_copy
#define write_tcgen05_cp ct_emit_tcgen05_cp
#define write_mma ct_emit_mma
#define write_wgmma ct_emit_wgmma

/* By the rows of ops.def. */
static void (*const writers[CT_OP_COUNT])(CtEmit *e, CtVal v) = {
#define PURE(...)
#define OP(NAME, text, n, result, cls, data, traits, engine, write, ...) ROW_##cls(NAME, write)
#define ROW_TILE(NAME, write) [CT_OP_##NAME] = write_##write,
#define ROW_LEAF(...)
#define ROW_READ(...)
#define ROW_EFFECT(...)
#define ROW_REGION(...)
#define ROW_JUMP(...)
#include "runtime/ir/ops.def"
};

void ct_emit_tile(CtEmit *e, CtVal v) { writers[ct_inst(e->ir, v)->op](e, v); }
