/* emit_kernels.h: kernels built by hand through the IR builder, for tests of what runs or prints an
   IR. Each function builds one kernel as a trace of a script would; the script's lines are made up.
   A failing builder call ends the program: these are no tests of the builder. */
#ifndef EMIT_KERNELS_H
#define EMIT_KERNELS_H

#include "runtime/ir/ir_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Kit {
  CtIr ir;
  CtErr err;
  const char *chunk;
} Kit;

static inline void kit_must(Kit *k, CtStatus status) {
  if (status != CT_OK || k->ir.failed) {
    printf("Bail out! %s: %s\n", k->chunk, k->err.msg);
    exit(1);
  }
}

static inline void kit_begin(Kit *k, const char *name, int sm, int64_t x, int64_t y) {
  const int64_t block[3] = {x, y, 1};
  CtTarget target = {.is_cuda = true, .sm = sm, .shared_max = 227 * 1024, .name = "test"};
  memset(k, 0, sizeof *k);
  ct_ir_init(&k->ir, ct_alloc_std, target, block);
  k->ir.name = name;
  k->chunk = name;
}

static inline void at(Kit *k, int line) {
  char chunk[64];
  snprintf(chunk, sizeof chunk, "%.50s.lua", k->chunk);
  ct_ir_at(&k->ir, chunk, line);
  if (k->ir.loc.line == 0) {
    k->ir.loc = k->ir.cur_loc;
  }
}

static inline CtLayout lay(Kit *k, const char *text) {
  CtLayout l;
  kit_must(k, ct_layout_parse(&k->ir.arena, text, strlen(text), &l, &k->err));
  return l;
}

static inline CtTiler tiler(Kit *k, const char *text) {
  CtTiler t;
  kit_must(k, ct_tiler_parse(&k->ir.arena, text, strlen(text), &t, &k->err));
  return t;
}

/* A tuple of n integers. */
static inline CtTuple crd(Kit *k, int n, const CtInt *items) {
  CtTuple t = ct_tuple_ints(&k->ir.arena, n, items);
  kit_must(k, t == NULL ? CT_ENOMEM : CT_OK);
  return t;
}
static inline CtTuple crd2(Kit *k, CtInt a, CtInt b) { return crd(k, 2, (CtInt[]){a, b}); }
static inline CtTuple crd3(Kit *k, CtInt a, CtInt b, CtInt c) {
  return crd(k, 3, (CtInt[]){a, b, c});
}

static inline CtInt dyn(const Kit *k, CtVal v) { return ct_ir_int(&k->ir, v); }
static inline CtVal num(Kit *k, int64_t v) { return ct_ir_const_int(&k->ir, CT_i32, v); }
static inline CtVal f32(Kit *k, double v) { return ct_ir_const_float(&k->ir, CT_f32, v); }
static inline CtVal tid(Kit *k, int axis) { return ct_ir_axis(&k->ir, CT_OP_TID, axis); }
static inline CtVal bid(Kit *k, int axis) { return ct_ir_axis(&k->ir, CT_OP_BID, axis); }
static inline CtVal op2(Kit *k, CtOp op, CtVal a, CtVal b) {
  return ct_ir_binary(&k->ir, op, a, b);
}
static inline CtVal add(Kit *k, CtVal a, CtVal b) { return op2(k, CT_OP_ADD, a, b); }
static inline CtVal mul(Kit *k, CtVal a, CtVal b) { return op2(k, CT_OP_MUL, a, b); }
static inline CtVal lt(Kit *k, CtVal a, CtVal b) { return op2(k, CT_OP_LT, a, b); }

/* A tensor whose dynamic extents and strides are written `?`; divided by 16, as wide as int. */
static inline CtView tensor(Kit *k, const char *name, CtDtype dtype, const char *shape,
                            const char *stride) {
  static const CtFacts extent = {1, INT32_MAX - 1, 16};
  CtFacts facts[8];
  CtTuple t[2];
  const char *text[2] = {shape, stride};
  for (size_t i = 0; i < CT_ARRAY_LEN(facts); i++) {
    facts[i] = extent;
  }
  for (int i = 0; i < 2; i++) {
    char copy[64];
    snprintf(copy, sizeof copy, "%s", text[i]);
    for (char *s = strchr(copy, '?'); s != NULL; s = strchr(s, '?')) {
      *s = '_';
    }
    CtNode *nodes;
    kit_must(k, ct_tuple_parse(&k->ir.arena, copy, strlen(copy), &t[i], &k->err));
    nodes = ct_arena_alloc(&k->ir.arena, t[i]->len * sizeof *nodes);
    kit_must(k, nodes == NULL ? CT_ENOMEM : CT_OK);
    memcpy(nodes, t[i], t[i]->len * sizeof *nodes);
    for (uint32_t j = 0; j < t[i]->len; j++) {
      nodes[j].i.kind = nodes[j].i.kind == CT_ANY ? CT_DYNAMIC : nodes[j].i.kind;
    }
    t[i] = nodes;
  }
  CtTensorSpec spec = {.name = name,
                       .dtype = dtype,
                       .index = CT_i32,
                       .align = 16,
                       .shape = t[0],
                       .stride = t[1],
                       .facts = facts};
  CtView v = ct_ir_tensor(&k->ir, &spec);
  kit_must(k, CT_OK);
  return v;
}

static inline CtView named(CtView v, const char *name) {
  v.name = name;
  return v;
}

static inline CtView moved(Kit *k, CtView v, CtLayout layout, CtInt by, const char *name) {
  CtCx cx = ct_ir_cx(&k->ir);
  kit_must(k, ct_int_op(&cx, CT_INT_ADD, v.offset, by, &v.offset, &k->err));
  v.layout = layout;
  v.name = name;
  return v;
}

static inline CtView tile(Kit *k, CtView v, const char *by, CtTuple c, const char *name) {
  CtCx cx = ct_ir_cx(&k->ir);
  CtLayout l;
  CtInt offset;
  kit_must(k, ct_tile(&cx, v.layout, tiler(k, by), c, NULL, &l, &offset, &k->err));
  return moved(k, v, l, offset, name);
}

static inline CtView parallelize(Kit *k, CtView v, const char *thr, CtTuple proj,
                                 const char *name) {
  CtCx cx = ct_ir_cx(&k->ir);
  CtLayout l;
  CtInt offset;
  kit_must(
      k, ct_parallelize(&cx, v.layout, lay(k, thr), dyn(k, tid(k, 0)), proj, &l, &offset, &k->err));
  return moved(k, v, l, offset, name);
}

static inline CtView slice(Kit *k, CtView v, CtTuple c) {
  CtCx cx = ct_ir_cx(&k->ir);
  CtLayout l;
  CtInt offset;
  kit_must(k, ct_slice(&cx, c, v.layout, &l, &offset, &k->err));
  return moved(k, v, l, offset, v.name);
}

static inline CtVal load_at(Kit *k, CtView v, CtTuple c) {
  CtVal offset;
  kit_must(k, ct_ir_offset(&k->ir, v, c, &offset, &k->err));
  return ct_ir_load(&k->ir, v.buf, offset);
}

static inline void store_at(Kit *k, CtView v, CtTuple c, CtVal value) {
  CtVal offset;
  kit_must(k, ct_ir_offset(&k->ir, v, c, &offset, &k->err));
  ct_ir_store(&k->ir, v.buf, offset, value);
}

static inline void copy(Kit *k, CtView src, CtView dst) {
  kit_must(k, ct_ir_copy(&k->ir, src, dst, &k->err));
}

/* examples/moye_matmul.lua of the design, with extents and strides known at launch only. */
static inline void build_moye_matmul(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  CtInt any = ct_any();
  kit_begin(k, "matmul", sm, 256, 1);
  at(k, 6);
  CtView A = tensor(k, "A", CT_f32, "(?,?)", "(1,?)");
  CtView B = tensor(k, "B", CT_f32, "(?,?)", "(1,?)");
  CtView C = tensor(k, "C", CT_f32, "(?,?)", "(1,?)");
  at(k, 7);
  CtView sA = ct_ir_shared(ir, "sA", CT_f32, lay(k, "(128,8):(1,129)"));
  at(k, 8);
  CtView sB = ct_ir_shared(ir, "sB", CT_f32, lay(k, "(128,8):(1,129)"));
  at(k, 9);
  CtView gA = tile(k, A, "<128,8>", crd2(k, dyn(k, bid(k, 0)), any), "gA");
  at(k, 10);
  CtView gB = tile(k, B, "<128,8>", crd2(k, dyn(k, bid(k, 1)), any), "gB");
  at(k, 11);
  CtView gC = tile(k, C, "<128,128>", crd2(k, dyn(k, bid(k, 0)), dyn(k, bid(k, 1))), "gC");
  at(k, 13);
  CtView tAgA = parallelize(k, gA, "(32,8):(1,32)", NULL, "tAgA");
  CtView tAsA = parallelize(k, sA, "(32,8):(1,32)", NULL, "tAsA");
  at(k, 14);
  CtView tBgB = parallelize(k, gB, "(32,8):(1,32)", NULL, "tBgB");
  CtView tBsB = parallelize(k, sB, "(32,8):(1,32)", NULL, "tBsB");
  at(k, 15);
  CtView tCsA = parallelize(k, sA, "(16,16):(1,16)", crd2(k, ct_int(1), any), "tCsA");
  at(k, 16);
  CtView tCsB = parallelize(k, sB, "(16,16):(1,16)", crd2(k, any, ct_int(1)), "tCsB");
  at(k, 17);
  CtView tCgC = parallelize(k, gC, "(16,16):(1,16)", NULL, "tCgC");
  at(k, 18);
  CtView tCrC = ct_ir_fragment(ir, "tCrC", CT_f32, lay(k, "(8,8):(1,8)"));
  at(k, 19);
  kit_must(k, ct_ir_fill(ir, tCrC, f32(k, 0), &k->err));
  at(k, 21);
  CtCx cx = ct_ir_cx(ir);
  CtInt tiles;
  kit_must(k, ct_size(&cx, ct_mode(tAgA.layout, 2), &tiles, &k->err));
  CtVal loop = ct_ir_for(ir, num(k, 0), ct_ir_val(ir, tiles, CT_i32), num(k, 1), 0, "k");
  at(k, 22);
  copy(k, slice(k, tAgA, crd3(k, any, any, dyn(k, loop))), tAsA);
  at(k, 23);
  copy(k, slice(k, tBgB, crd3(k, any, any, dyn(k, loop))), tBsB);
  at(k, 24);
  ct_ir_effect(ir, CT_OP_CP_WAIT, 0);
  at(k, 25);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  at(k, 26);
  kit_must(k, ct_ir_gemm(ir, tCsA, tCsB, tCrC, &(CtGemmOrder){0}, &k->err));
  at(k, 27);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  ct_ir_end(ir, loop);
  at(k, 29);
  copy(k, tCrC, tCgC);
}

/* The notebook's kernel: row-major, any size, a run-time loop and lazy arms. */
static inline void build_notebook(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "matmul_shared", sm, 16, 16);
  at(k, 2);
  CtView m = tensor(k, "m", CT_f32, "(?,?)", "(?,1)");
  CtView n = tensor(k, "n", CT_f32, "(?,?)", "(?,1)");
  CtView out = tensor(k, "out", CT_f32, "(?,?)", "(?,1)");
  at(k, 3);
  CtVal h = out.layout.shape[1].i.id, w = out.layout.shape[2].i.id, K = m.layout.shape[2].i.id;
  at(k, 4);
  CtView ms = ct_ir_shared(ir, "ms", CT_f32, lay(k, "(16,16):(16,1)"));
  CtView ns = ct_ir_shared(ir, "ns", CT_f32, lay(k, "(16,16):(16,1)"));
  at(k, 5);
  CtVal tc = tid(k, 0), tr = tid(k, 1);
  ct_ir_name(ir, tc, "tc");
  ct_ir_name(ir, tr, "tr");
  at(k, 6);
  CtVal r = add(k, mul(k, bid(k, 1), num(k, 16)), tr);
  CtVal c = add(k, mul(k, bid(k, 0), num(k, 16)), tc);
  ct_ir_name(ir, r, "r");
  ct_ir_name(ir, c, "c");
  at(k, 7);
  CtVal p = ct_ir_var(ir, CT_f32, "p");
  ct_ir_set(ir, p, f32(k, 0));
  at(k, 8);
  CtCx cx = ct_ir_cx(ir);
  CtInt phases;
  kit_must(k, ct_int_op(&cx, CT_INT_CEILDIV, dyn(k, K), ct_int(16), &phases, &k->err));
  CtVal ph = ct_ir_for(ir, num(k, 0), ct_ir_val(ir, phases, CT_i32), num(k, 1), 0, "ph");
  at(k, 9);
  CtVal x = mul(k, ph, num(k, 16));
  ct_ir_name(ir, x, "x");
  at(k, 10);
  CtVal xc = add(k, x, tc);
  CtVal t1 = ct_ir_var(ir, CT_f32, NULL);
  CtVal c1 = ct_ir_if(ir, op2(k, CT_OP_LAND, lt(k, r, h), lt(k, xc, K)));
  ct_ir_set(ir, t1, load_at(k, m, crd2(k, dyn(k, r), dyn(k, xc))));
  ct_ir_else(ir, c1);
  ct_ir_set(ir, t1, f32(k, 0));
  ct_ir_end(ir, c1);
  store_at(k, ms, crd2(k, dyn(k, tr), dyn(k, tc)), ct_ir_get(ir, t1));
  at(k, 11);
  CtVal xr = add(k, x, tr);
  CtVal t2 = ct_ir_var(ir, CT_f32, NULL);
  CtVal c2 = ct_ir_if(ir, op2(k, CT_OP_LAND, lt(k, c, w), lt(k, xr, K)));
  ct_ir_set(ir, t2, load_at(k, n, crd2(k, dyn(k, xr), dyn(k, c))));
  ct_ir_else(ir, c2);
  ct_ir_set(ir, t2, f32(k, 0));
  ct_ir_end(ir, c2);
  store_at(k, ns, crd2(k, dyn(k, tr), dyn(k, tc)), ct_ir_get(ir, t2));
  at(k, 12);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  for (int i = 0; i < 16; i++) {
    at(k, 13);
    CtVal a = load_at(k, ms, crd2(k, dyn(k, tr), ct_int(i)));
    CtVal b = load_at(k, ns, crd2(k, ct_int(i), dyn(k, tc)));
    ct_ir_set(ir, p, add(k, ct_ir_get(ir, p), mul(k, a, b)));
  }
  at(k, 14);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  ct_ir_end(ir, ph);
  at(k, 16);
  CtVal inside = ct_ir_if(ir, op2(k, CT_OP_LAND, lt(k, r, h), lt(k, c, w)));
  store_at(k, out, crd2(k, dyn(k, r), dyn(k, c)), ct_ir_get(ir, p));
  ct_ir_end(ir, inside);
}

/* y = a*x + y, guarded. */
static inline void build_saxpy(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "saxpy", sm, 256, 1);
  at(k, 2);
  CtVal a = ct_ir_number(ir, "a", CT_f32, (CtFacts){0, 0, 1});
  CtView x = tensor(k, "x", CT_f32, "(?)", "(1)");
  CtView y = tensor(k, "y", CT_f32, "(?)", "(1)");
  at(k, 3);
  CtVal i = add(k, mul(k, bid(k, 0), num(k, 256)), tid(k, 0));
  ct_ir_name(ir, i, "i");
  at(k, 4);
  CtVal c = ct_ir_if(ir, lt(k, i, y.layout.shape[1].i.id));
  CtTuple at_i = crd(k, 1, (CtInt[]){dyn(k, i)});
  store_at(k, y, at_i, add(k, mul(k, a, load_at(k, x, at_i)), load_at(k, y, at_i)));
  ct_ir_end(ir, c);
}

/* MoYe's transpose: 32x32 tiles by 32x8 threads through padded shared memory. */
static inline void build_transpose(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "transpose", sm, 256, 1);
  at(k, 2);
  CtView A = tensor(k, "A", CT_f32, "(?,?)", "(1,?)");
  CtView B = tensor(k, "B", CT_f32, "(?,?)", "(1,?)");
  at(k, 3);
  CtView s = ct_ir_shared(ir, "s", CT_f32, lay(k, "(32,32):(1,33)"));
  CtView st = named(s, "st");
  st.layout = lay(k, "(32,32):(33,1)");
  at(k, 4);
  CtView gA = tile(k, A, "<32,32>", crd2(k, dyn(k, bid(k, 0)), dyn(k, bid(k, 1))), "gA");
  CtView gB = tile(k, B, "<32,32>", crd2(k, dyn(k, bid(k, 1)), dyn(k, bid(k, 0))), "gB");
  at(k, 5);
  CtView tAsA = parallelize(k, s, "(32,8):(1,32)", NULL, "tAsA");
  copy(k, parallelize(k, gA, "(32,8):(1,32)", NULL, "tAgA"), tAsA);
  at(k, 6);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  at(k, 7);
  CtView tBgB = parallelize(k, gB, "(32,8):(1,32)", NULL, "tBgB");
  copy(k, parallelize(k, st, "(32,8):(1,32)", NULL, "tBsB"), tBgB);
}

/* Valid until the next call. */
static inline const CtGemmOrder *order_of(Kit *k, const char *text) {
  static CtGemmOrder order;
  kit_must(k, ct_gemm_order_parse(text, &order, &k->err));
  return &order;
}

/* C = alpha*A*B + beta*C with vectors of four: 64 threads, tiles of 64x64x8, 8x8 per thread. */
static inline void build_sgemm(Kit *k, int sm, const char *order) {
  CtIr *ir = &k->ir;
  CtInt any = ct_any();
  kit_begin(k, "sgemm", sm, 64, 1);
  at(k, 2);
  CtView A = tensor(k, "A", CT_f32, "(?,?)", "(1,?)");
  CtView B = tensor(k, "B", CT_f32, "(?,?)", "(1,?)");
  CtView C = tensor(k, "C", CT_f32, "(?,?)", "(1,?)");
  CtVal alpha = ct_ir_number(ir, "alpha", CT_f32, (CtFacts){0, 0, 1});
  CtVal beta = ct_ir_number(ir, "beta", CT_f32, (CtFacts){0, 0, 1});
  at(k, 3);
  CtView sA = ct_ir_shared(ir, "sA", CT_f32, lay(k, "(64,8):(1,64)"));
  CtView sB = ct_ir_shared(ir, "sB", CT_f32, lay(k, "(64,8):(1,64)"));
  at(k, 4);
  CtView gA = tile(k, A, "<64,8>", crd2(k, dyn(k, bid(k, 0)), any), "gA");
  CtView gB = tile(k, B, "<64,8>", crd2(k, dyn(k, bid(k, 1)), any), "gB");
  CtView gC = tile(k, C, "<64,64>", crd2(k, dyn(k, bid(k, 0)), dyn(k, bid(k, 1))), "gC");
  at(k, 5);
  CtCx cx = ct_ir_cx(ir);
  CtTiler by = tiler(k, "<64,8>");
  CtLayout tv = lay(k, "((16,4),(4,2)):((4,64),(1,256))");
  CtView src[2] = {gA, gB}, dst[2] = {sA, sB};
  static const char *const names[2][2] = {{"tAgA", "tBgB"}, {"tAsA", "tBsB"}};
  for (int i = 0; i < 2; i++) {
    CtLayout l;
    CtInt offset;
    kit_must(k,
             ct_tv_partition(&cx, src[i].layout, by, tv, dyn(k, tid(k, 0)), &l, &offset, &k->err));
    src[i] = moved(k, src[i], l, offset, names[0][i]);
    kit_must(k,
             ct_tv_partition(&cx, dst[i].layout, by, tv, dyn(k, tid(k, 0)), &l, &offset, &k->err));
    dst[i] = moved(k, dst[i], l, offset, names[1][i]);
  }
  at(k, 7);
  CtInt m, n;
  kit_must(k, ct_int_op(&cx, CT_INT_MOD, dyn(k, tid(k, 0)), ct_int(8), &m, &k->err));
  kit_must(k, ct_int_op(&cx, CT_INT_DIV, dyn(k, tid(k, 0)), ct_int(8), &n, &k->err));
  kit_must(k, ct_int_op(&cx, CT_INT_MUL, m, ct_int(4), &m, &k->err));
  kit_must(k, ct_int_op(&cx, CT_INT_MUL, n, ct_int(4), &n, &k->err));
  CtView tCsA = moved(k, sA, lay(k, "((4,2),8):((1,32),64)"), m, "tCsA");
  CtView tCsB = moved(k, sB, lay(k, "((4,2),8):((1,32),64)"), n, "tCsB");
  at(k, 8);
  CtView tCrC = ct_ir_fragment(ir, "tCrC", CT_f32, lay(k, "((4,2),(4,2)):((1,4),(8,32))"));
  kit_must(k, ct_ir_fill(ir, tCrC, f32(k, 0), &k->err));
  at(k, 9);
  CtInt tiles;
  kit_must(k, ct_size(&cx, ct_mode(gA.layout, 2), &tiles, &k->err));
  CtVal loop = ct_ir_for(ir, num(k, 0), ct_ir_val(ir, tiles, CT_i32), num(k, 1), 1, "k");
  at(k, 10);
  for (int i = 0; i < 2; i++) {
    CtTuple part = ct_tuple(
        &ir->arena, 2,
        (CtTuple[]){ct_leaf(&ir->arena, any), crd3(k, ct_int(0), ct_int(0), dyn(k, loop))});
    CtView s = slice(k, src[i], part);
    CtView d =
        slice(k, dst[i],
              ct_tuple(&ir->arena, 2,
                       (CtTuple[]){ct_leaf(&ir->arena, any), crd2(k, ct_int(0), ct_int(0))}));
    copy(k, s, named(d, names[1][i]));
  }
  at(k, 12);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  at(k, 13);
  kit_must(k, ct_ir_gemm(ir, tCsA, tCsB, tCrC, order_of(k, order), &k->err));
  at(k, 14);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  ct_ir_end(ir, loop);
  at(k, 16);
  CtNode stride[7], shape[7];
  CtInt off, col;
  CtInt lead = gC.layout.stride[2].i;
  kit_must(k, ct_int_op(&cx, CT_INT_MUL, n, lead, &col, &k->err));
  kit_must(k, ct_int_op(&cx, CT_INT_ADD, m, col, &off, &k->err));
  CtLayout reg = tCrC.layout;
  memcpy(shape, reg.shape, sizeof shape);
  memcpy(stride, reg.stride, sizeof stride);
  CtInt wide;
  kit_must(k, ct_int_op(&cx, CT_INT_MUL, lead, ct_int(32), &wide, &k->err));
  stride[2].i = ct_int(1);
  stride[3].i = ct_int(32);
  stride[5].i = lead;
  stride[6].i = wide;
  CtLayout l;
  kit_must(k, ct_layout_copy(&ir->arena, (CtLayout){shape, stride}, &l, &k->err));
  CtView tCgC = moved(k, gC, l, off, "tCgC");
  at(k, 17);
  kit_must(k, ct_ir_axpby(ir, alpha, tCrC, beta, tCgC, &k->err));
}

/* --- small kernels, for the text ---------------------------------------------------------------- */

static inline CtVal number(Kit *k, const char *name, CtDtype dtype, int64_t lo, int64_t hi) {
  return ct_ir_number(&k->ir, name, dtype, (CtFacts){lo, hi, 1});
}
static inline CtVal any_int(Kit *k, const char *name) {
  return number(k, name, CT_i32, INT32_MIN, INT32_MAX);
}
static inline CtVal any_long(Kit *k, const char *name) {
  return number(k, name, CT_i64, INT64_MIN, INT64_MAX);
}
static inline void put(Kit *k, CtView out, int i, CtVal v) {
  ct_ir_store(&k->ir, out.buf, num(k, i), v);
}

/* Every operation of integers, where ranges say nothing and where they say enough. */
static inline void build_integers(Kit *k, int sm) {
  static const CtOp ops[] = {CT_OP_ADD,      CT_OP_SUB, CT_OP_MUL, CT_OP_FLOORDIV,
                             CT_OP_FLOORMOD, CT_OP_MIN, CT_OP_MAX, CT_OP_AND,
                             CT_OP_OR,       CT_OP_XOR, CT_OP_SHL, CT_OP_SHR};
  kit_begin(k, "integers", sm, 1, 1);
  at(k, 1);
  CtView out = tensor(k, "out", CT_i32, "(100)", "(1)");
  CtView wide = tensor(k, "wide", CT_i64, "(100)", "(1)");
  CtVal a = any_int(k, "a"), b = any_int(k, "b");
  CtVal x = any_long(k, "x"), y = any_long(k, "y");
  CtVal m = number(k, "m", CT_i32, 0, 1000), n = number(k, "n", CT_i32, 1, 30);
  int i = 0;
  for (size_t j = 0; j < CT_ARRAY_LEN(ops); j++, i++) {
    at(k, 2 + i);
    put(k, out, i, op2(k, ops[j], a, b));
    put(k, wide, i, op2(k, ops[j], x, y));
    put(k, out, 20 + i, op2(k, ops[j], m, n));
  }
  at(k, 30);
  put(k, out, 40, ct_ir_unary(&k->ir, CT_OP_NEG, a));
  put(k, out, 41, ct_ir_unary(&k->ir, CT_OP_NEG, m));
  put(k, out, 42, ct_ir_unary(&k->ir, CT_OP_ABS, a));
  put(k, out, 43, ct_ir_unary(&k->ir, CT_OP_ABS, op2(k, CT_OP_SUB, m, n)));
  put(k, out, 44, ct_ir_unary(&k->ir, CT_OP_NOT, a));
  put(k, wide, 40, ct_ir_unary(&k->ir, CT_OP_NEG, x));
  put(k, wide, 42, ct_ir_unary(&k->ir, CT_OP_ABS, x));
  put(k, wide, 44, ct_ir_unary(&k->ir, CT_OP_NOT, x));
  at(k, 31); /* chains and parentheses */
  put(k, out, 45, op2(k, CT_OP_SUB, add(k, mul(k, a, b), a), num(k, 7)));
  put(k, out, 46, op2(k, CT_OP_SUB, num(k, 7), mul(k, add(k, a, b), a)));
  put(k, out, 47, op2(k, CT_OP_SUB, m, op2(k, CT_OP_SUB, n, num(k, 3))));
  put(k, out, 48, mul(k, add(k, m, num(k, -3)), op2(k, CT_OP_FLOORDIV, m, n)));
  put(k, out, 49, op2(k, CT_OP_FLOORMOD, mul(k, m, n), add(k, n, num(k, 1))));
  put(k, out, 50,
      op2(k, CT_OP_OR, op2(k, CT_OP_AND, a, num(k, 255)), op2(k, CT_OP_SHL, b, num(k, 8))));
  put(k, out, 51, op2(k, CT_OP_SHR, a, num(k, 3)));
  put(k, out, 52, op2(k, CT_OP_SHR, a, num(k, 40)));
  put(k, out, 53, op2(k, CT_OP_SHL, m, num(k, 4)));
  put(k, out, 54, op2(k, CT_OP_FLOORDIV, a, num(k, 4)));
  put(k, out, 55, num(k, INT32_MIN));
  put(k, wide, 55, ct_ir_const_int(&k->ir, CT_i64, INT64_MIN));
  put(k, wide, 56, ct_ir_cast(&k->ir, a, CT_i64));
  put(k, out, 56, ct_ir_cast(&k->ir, x, CT_i32));
  put(k, wide, 57,
      op2(k, CT_OP_MUL, ct_ir_cast(&k->ir, m, CT_i64),
          ct_ir_const_int(&k->ir, CT_i64, 5000000000)));
  at(k, 32);
  CtVal less = lt(k, a, b), same = op2(k, CT_OP_EQ, x, y);
  CtVal both = op2(k, CT_OP_LAND, op2(k, CT_OP_LOR, less, same), op2(k, CT_OP_NE, a, num(k, 0)));
  put(k, out, 57, ct_ir_select(&k->ir, both, a, b));
  put(k, out, 58, ct_ir_cast(&k->ir, ct_ir_unary(&k->ir, CT_OP_LNOT, less), CT_i32));
  put(k, out, 59,
      ct_ir_select(&k->ir, op2(k, CT_OP_LE, num(k, 3), a), ct_ir_select(&k->ir, same, a, b),
                   ct_ir_select(&k->ir, less, b, a)));
}

/* Every operation of floats, casts and literals. */
static inline void build_floats(Kit *k, int sm) {
  static const CtOp binary[] = {CT_OP_ADD, CT_OP_SUB, CT_OP_MUL,      CT_OP_DIV, CT_OP_FLOORDIV,
                                CT_OP_POW, CT_OP_MIN, CT_OP_FLOORMOD, CT_OP_MAX};
  static const CtOp unary[] = {
      CT_OP_NEG,   CT_OP_ABS,   CT_OP_SQRT, CT_OP_RSQRT, CT_OP_EXP,   CT_OP_EXP2, CT_OP_LOG,
      CT_OP_LOG2,  CT_OP_SIN,   CT_OP_COS,  CT_OP_TANH,  CT_OP_ERF,   CT_OP_ERFC, CT_OP_EXPM1,
      CT_OP_LOG1P, CT_OP_LOG10, CT_OP_CBRT, CT_OP_SINH,  CT_OP_COSH,  CT_OP_ASIN, CT_OP_ACOS,
      CT_OP_ATAN,  CT_OP_FLOOR, CT_OP_CEIL, CT_OP_TRUNC, CT_OP_ROUND, CT_OP_RINT};
  static const double literals[] = {0.0,      -0.0,       1.0,    100.0, 0.1,
                                    -2.5e-30, 16777216.0, 3.4e38, 1e10,  1e-45};
  static const CtDtype types[] = {CT_f32, CT_f64};
  CtIr *ir = &k->ir;
  kit_begin(k, "floats", sm, 1, 1);
  ir->contract = false;
  at(k, 1);
  CtView out[2] = {tensor(k, "out", CT_f32, "(200)", "(1)"),
                   tensor(k, "wide", CT_f64, "(200)", "(1)")};
  CtView ints = tensor(k, "ints", CT_i32, "(100)", "(1)"),
         longs = tensor(k, "longs", CT_i64, "(100)", "(1)");
  CtView flags = tensor(k, "flags", CT_bool, "(100)", "(1)");
  CtVal a[2] = {number(k, "a", CT_f32, 0, 0), number(k, "x", CT_f64, 0, 0)};
  CtVal b[2] = {number(k, "b", CT_f32, 0, 0), number(k, "y", CT_f64, 0, 0)};
  CtVal i = any_int(k, "i"), l = any_long(k, "l");
  for (int t = 0; t < 2; t++) {
    int n = 0;
    for (size_t j = 0; j < CT_ARRAY_LEN(binary); j++) {
      at(k, 2 + n);
      put(k, out[t], n++, op2(k, binary[j], a[t], b[t]));
    }
    for (size_t j = 0; j < CT_ARRAY_LEN(unary); j++) {
      at(k, 2 + n);
      put(k, out[t], n++, ct_ir_unary(ir, unary[j], a[t]));
    }
    at(k, 40);
    put(k, out[t], n++, ct_ir_fma(ir, a[t], b[t], ct_ir_unary(ir, CT_OP_NEG, a[t])));
    put(k, out[t], n++, add(k, a[t], add(k, b[t], a[t])));
    put(k, out[t], n++, op2(k, CT_OP_SUB, a[t], op2(k, CT_OP_SUB, b[t], a[t])));
    put(k, out[t], n++, op2(k, CT_OP_DIV, a[t], op2(k, CT_OP_DIV, b[t], a[t])));
    put(k, out[t], n++, ct_ir_unary(ir, CT_OP_NEG, ct_ir_unary(ir, CT_OP_NEG, a[t])));
    for (size_t j = 0; j < CT_ARRAY_LEN(literals); j++) {
      put(k, out[t], n++, ct_ir_const_float(ir, types[t], literals[j]));
    }
    put(k, out[t], n++, ct_ir_const_float(ir, types[t], 1.0 / 0.0));
    put(k, out[t], n++, ct_ir_const_float(ir, types[t], -1.0 / 0.0));
    put(k, out[t], n++, ct_ir_cast(ir, a[1 - t], types[t]));
    put(k, out[t], n++, ct_ir_cast(ir, i, types[t]));
    put(k, out[t], n++, ct_ir_cast(ir, l, types[t]));
    put(k, ints, t, ct_ir_cast(ir, a[t], CT_i32));
    put(k, longs, t, ct_ir_cast(ir, a[t], CT_i64));
    put(k, flags, t, ct_ir_cast(ir, a[t], CT_bool));
    put(k, flags, 2 + t, ct_ir_unary(ir, CT_OP_LNOT, lt(k, a[t], b[t])));
  }
  put(k, flags, 4, ct_ir_cast(ir, i, CT_bool));
  put(k, flags, 5, ct_ir_const_int(ir, CT_bool, 1));
  put(k, ints, 4, ct_ir_cast(ir, ct_ir_cast(ir, a[0], CT_bool), CT_i32));
}

static inline CtVal get(Kit *k, CtVal var) { return ct_ir_get(&k->ir, var); }
static inline CtVal var_of(Kit *k, const char *name, CtVal value) {
  CtVal v = ct_ir_var(&k->ir, (CtDtype)ct_inst(&k->ir, value)->type, name);
  ct_ir_set(&k->ir, v, value);
  return v;
}

/* Leaves `target` when `cond`. */
static inline void leave_if(Kit *k, CtVal cond, CtVal target) {
  CtVal c = ct_ir_if(&k->ir, cond);
  ct_ir_break(&k->ir, target);
  ct_ir_end(&k->ir, c);
}

/* Jumps of all kinds, loops of all forms, variables that live where they must. */
static inline void build_control(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "control", sm, 32, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_f32, "(?)", "(1)"), out = tensor(k, "out", CT_f32, "(1000)", "(1)");
  CtVal n = any_int(k, "n"), step = any_int(k, "step"), far = any_long(k, "far");
  at(k, 2); /* an early return around everything */
  CtVal body = ct_ir_block_begin(ir);
  leave_if(k, lt(k, n, num(k, 1)), body);
  at(k, 3); /* while */
  CtVal i = var_of(k, "i", num(k, 0));
  CtVal loop = ct_ir_loop(ir);
  leave_if(k, ct_ir_unary(ir, CT_OP_LNOT, lt(k, get(k, i), n)), loop);
  ct_ir_set(ir, i, add(k, get(k, i), num(k, 1)));
  ct_ir_end(ir, loop);
  at(k, 5); /* while with the body in the then part */
  loop = ct_ir_loop(ir);
  CtVal go = ct_ir_if(ir, lt(k, num(k, 3), get(k, i)));
  ct_ir_set(ir, i, op2(k, CT_OP_SUB, get(k, i), num(k, 3)));
  ct_ir_else(ir, go);
  ct_ir_break(ir, loop);
  ct_ir_end(ir, go);
  ct_ir_end(ir, loop);
  at(k, 7); /* a loop that is left in the middle, and from an inner one */
  CtVal s = var_of(k, "s", f32(k, 0));
  CtVal outer = ct_ir_loop(ir);
  CtVal old = get(k, s);
  ct_ir_set(ir, s, add(k, get(k, s), f32(k, 1)));
  leave_if(k, lt(k, f32(k, 10), get(k, s)), outer);
  at(k, 8);
  CtVal inner = ct_ir_for(ir, num(k, 0), n, num(k, 1), 0, "j");
  CtVal v = ct_ir_load(ir, x.buf, inner);
  ct_ir_name(ir, v, "v");
  leave_if(k, lt(k, v, f32(k, 0)), outer);
  leave_if(k, lt(k, v, old), inner);
  at(k, 9); /* continue */
  CtVal skip = ct_ir_block_begin(ir);
  leave_if(k, op2(k, CT_OP_EQ, v, f32(k, 5)), skip);
  ct_ir_set(ir, s, add(k, get(k, s), v));
  ct_ir_block_end(ir, skip, true);
  ct_ir_end(ir, inner);
  at(k, 10);
  ct_ir_set(ir, s, mul(k, get(k, s), f32(k, 2)));
  ct_ir_end(ir, outer);
  at(k, 11); /* loops down, by steps, by an unknown step, over 64 bits */
  CtVal down = ct_ir_for(ir, n, num(k, 0), num(k, -2), 0, "d");
  ct_ir_set(ir, s, add(k, get(k, s), ct_ir_cast(ir, down, CT_f32)));
  ct_ir_end(ir, down);
  CtVal by3 = ct_ir_for(ir, num(k, 0), n, num(k, 3), 4, NULL);
  ct_ir_set(ir, s, add(k, get(k, s), ct_ir_cast(ir, by3, CT_f32)));
  ct_ir_end(ir, by3);
  CtVal some = ct_ir_for(ir, num(k, 0), n, step, 0, "e");
  ct_ir_set(ir, s, add(k, get(k, s), ct_ir_cast(ir, some, CT_f32)));
  ct_ir_end(ir, some);
  CtVal wide =
      ct_ir_for(ir, ct_ir_const_int(ir, CT_i64, 1), far, ct_ir_const_int(ir, CT_i64, 2), 0, "f");
  ct_ir_set(ir, s, add(k, get(k, s), ct_ir_cast(ir, wide, CT_f32)));
  ct_ir_end(ir, wide);
  at(k, 12); /* a value kept from one iteration to the next, first set under a condition */
  CtVal kept = ct_ir_var(ir, CT_f32, "kept");
  CtVal l2 = ct_ir_for(ir, num(k, 0), n, num(k, 1), 1, "i");
  CtVal c = ct_ir_if(ir, op2(k, CT_OP_EQ, l2, num(k, 0)));
  ct_ir_set(ir, kept, f32(k, 3));
  ct_ir_end(ir, c);
  ct_ir_store(ir, out.buf, l2, get(k, kept));
  ct_ir_end(ir, l2);
  at(k, 14); /* an if of one line is a choice; else if */
  CtVal chosen = ct_ir_var(ir, CT_f32, NULL);
  CtVal c1 = ct_ir_if(ir, lt(k, tid(k, 0), n));
  CtVal c2 = ct_ir_if(ir, lt(k, num(k, 3), tid(k, 0)));
  ct_ir_set(ir, chosen, ct_ir_load(ir, x.buf, tid(k, 0)));
  ct_ir_else(ir, c2);
  ct_ir_set(ir, chosen, f32(k, 1));
  ct_ir_end(ir, c2);
  ct_ir_else(ir, c1);
  ct_ir_set(ir, chosen, f32(k, 2));
  ct_ir_end(ir, c1);
  put(k, out, 1, get(k, chosen));
  at(k, 15);
  c1 = ct_ir_if(ir, op2(k, CT_OP_EQ, n, num(k, 1)));
  put(k, out, 2, f32(k, 1));
  ct_ir_else(ir, c1);
  at(k, 16);
  c2 = ct_ir_if(ir, op2(k, CT_OP_EQ, n, num(k, 2)));
  put(k, out, 2, f32(k, 2));
  ct_ir_else(ir, c2);
  at(k, 17);
  put(k, out, 2, f32(k, 3));
  ct_ir_end(ir, c2);
  ct_ir_end(ir, c1);
  at(k, 18); /* a helper that returns in three places: its result needs no jump */
  CtVal result = ct_ir_var(ir, CT_f32, "result");
  CtVal call = ct_ir_block_begin(ir);
  for (int j = 0; j < 2; j++) {
    CtVal cj = ct_ir_if(ir, lt(k, get(k, s), f32(k, j)));
    ct_ir_set(ir, result, f32(k, 10 + j));
    ct_ir_break(ir, call);
    ct_ir_end(ir, cj);
  }
  ct_ir_set(ir, result, get(k, s));
  ct_ir_break(ir, call);
  ct_ir_block_end(ir, call, true);
  put(k, out, 3, get(k, result));
  at(k, 20); /* a block that is left from within a loop */
  CtVal found = ct_ir_block_begin(ir);
  CtVal search = ct_ir_for(ir, num(k, 0), n, num(k, 1), 0, "i");
  leave_if(k, op2(k, CT_OP_EQ, ct_ir_load(ir, x.buf, search), f32(k, 0)), found);
  ct_ir_end(ir, search);
  put(k, out, 4, f32(k, 1));
  ct_ir_block_end(ir, found, true);
  at(k, 22);
  ct_ir_effect(ir, CT_OP_SYNC_WARP, 0);
  put(k, out, 5, get(k, s));
  ct_ir_block_end(ir, body, true);
}

/* Copies of all kinds, fills, sums and products that are no matrix product. */
static inline void build_tiles(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "tiles", sm, 32, 1);
  at(k, 1);
  CtView a = tensor(k, "a", CT_f64, "(64,?)", "(1,?)"),
         ints = tensor(k, "ints", CT_i32, "(256)", "(1)");
  CtView longs = tensor(k, "longs", CT_i64, "(64)", "(1)"),
         flags = tensor(k, "flags", CT_bool, "(256)", "(1)");
  CtView big = tensor(k, "big", CT_f32, "(70000,70000)", "(1,70000)");
  CtView floats = tensor(k, "floats", CT_f32, "(?,4)", "(4,1)"),
         other = tensor(k, "other", CT_f32, "(?,4)", "(4,1)");
  CtView s = ct_ir_shared(ir, "s", CT_f64, lay(k, "(64,2)"));
  CtView sb = ct_ir_shared(ir, "sb", CT_bool, lay(k, "256"));
  CtView rb = ct_ir_fragment(ir, "rb", CT_bool, lay(k, "8"));
  at(k, 2); /* vectors of two doubles, of 16 bools, of bools into registers, of ints out of them */
  CtView part = a;
  part.layout = lay(k, "(64,2):(1,64)");
  copy(k, part, s);
  at(k, 3);
  copy(k, flags, sb);
  CtView some = sb;
  some.layout = lay(k, "8");
  copy(k, some, rb);
  at(k, 4);
  CtView ri = ct_ir_fragment(ir, "ri", CT_i32, lay(k, "(4,2):(2,1)"));
  kit_must(k, ct_ir_fill(ir, ri, num(k, 7), &k->err));
  CtView eight = ints;
  eight.layout = lay(k, "8");
  copy(k, ri, eight);
  copy(k, eight, ri);
  at(k, 5); /* one register tensor to another, with shapes that have no common refinement */
  CtView r6 = ct_ir_fragment(ir, "r6", CT_i64, lay(k, "(2,3):(3,1)"));
  CtView q6 = ct_ir_fragment(ir, "q6", CT_i64, lay(k, "(3,2):(2,1)"));
  CtView six = longs;
  six.layout = lay(k, "6");
  copy(k, six, r6);
  copy(k, r6, q6);
  copy(k, q6, six);
  at(k, 6); /* run-time extents: loops that are not unrolled */
  other.layout.shape = floats.layout.shape;
  copy(k, floats, other);
  at(k, 7); /* beyond 2^31 elements */
  CtView far = big;
  far.layout = lay(k, "(2,2):(1,2147480000)");
  CtView rf = ct_ir_fragment(ir, "rf", CT_f32, lay(k, "(2,2)"));
  copy(k, far, rf);
  at(k, 8); /* integers wrap around in axpby and gemm */
  CtView rj = ct_ir_fragment(ir, "rj", CT_i32, lay(k, "8"));
  kit_must(k, ct_ir_fill(ir, rj, num(k, 1), &k->err));
  CtView flat = ri;
  flat.layout = lay(k, "8");
  kit_must(k, ct_ir_axpby(ir, num(k, 3), flat, num(k, 1), rj, &k->err));
  kit_must(k, ct_ir_gemm(ir, flat, rj, flat, &(CtGemmOrder){0}, &k->err));
  copy(k, flat, eight);
  at(k, 9); /* (M), (N), (M,N), and one with an odd number of columns in pairs */
  CtView m = floats, n = floats, mn = ct_ir_fragment(ir, "mn", CT_f32, lay(k, "(4,3)"));
  m.layout = lay(k, "4");
  n.layout = lay(k, "3");
  kit_must(k, ct_ir_fill(ir, mn, f32(k, 0), &k->err));
  kit_must(k, ct_ir_gemm(ir, m, n, mn, order_of(k, "column_pairs"), &k->err));
  at(k, 10); /* operands in registers, nested modes */
  CtView ra = ct_ir_fragment(ir, "ra", CT_f32, lay(k, "((2,2),2):((1,4),2)"));
  CtView rn = ct_ir_fragment(ir, "rn", CT_f32, lay(k, "(3,2)"));
  kit_must(k, ct_ir_fill(ir, ra, f32(k, 2), &k->err));
  kit_must(k, ct_ir_fill(ir, rn, f32(k, 3), &k->err));
  kit_must(k, ct_ir_gemm(ir, ra, rn, mn, order_of(k, "rows"), &k->err));
  CtView twelve = other;
  twelve.layout = lay(k, "(4,3):(1,4)");
  kit_must(k, ct_ir_axpby(ir, f32(k, 1), mn, f32(k, 0.5), twelve, &k->err));
  at(k, 11);
  copy(k, s, part);
  copy(k, rb, some);
  copy(k, sb, flags);
  copy(k, rf, far);
}

/* CUDA text of the script, as a value, as one statement and as several. */
static inline void build_escape(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "escape", sm, 32, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_f32, "(32)", "(1)"), out = tensor(k, "out", CT_f32, "(32)", "(1)");
  CtVal t = tid(k, 0), v = ct_ir_load(ir, x.buf, t);
  at(k, 2);
  const char *const names[] = {"v", "lane"};
  const CtVal vals[] = {v, add(k, t, num(k, 1))};
  CtVal shifted =
      ct_ir_escape(ir, CT_f32, "__shfl_sync(0xffffffff, $v, $lane % 32)", 2, names, vals);
  ct_ir_name(ir, shifted, "shifted");
  at(k, 3);
  ct_ir_escape(ir, CT_VOID, "__nanosleep(10)", 0, NULL, NULL);
  at(k, 4);
  ct_ir_escape(ir, CT_VOID, "const int twice = $lane * 2;\nif (twice < 0) { __trap(); }", 2, names,
               vals);
  at(k, 6);
  ct_ir_store(ir, out.buf, t, add(k, v, shifted));
}

/* More shared memory than can be declared; names that C++ has taken; a loop that indexes registers. */
static inline void build_names(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "names", sm, 128, 1);
  ir->name = "float";
  at(k, 1);
  CtView out = tensor(k, "int", CT_f32, "(128)", "(1)"),
         in = tensor(k, "max", CT_f32, "(128)", "(1)");
  CtView big = ct_ir_shared(ir, "smem", CT_f32, lay(k, "(128,100)"));
  CtView more = ct_ir_shared(ir, "__x", CT_f32, lay(k, "(128,2)"));
  CtView regs = ct_ir_fragment(ir, "for", CT_f32, lay(k, "8"));
  at(k, 2);
  CtVal t = tid(k, 0);
  ct_ir_name(ir, t, "threadIdx");
  ct_ir_store(ir, big.buf, t, ct_ir_load(ir, in.buf, t));
  ct_ir_store(ir, more.buf, t, f32(k, 1));
  CtVal loop = ct_ir_for(ir, num(k, 0), num(k, 8), num(k, 1), 0, "while");
  ct_ir_store(ir, regs.buf, loop, ct_ir_load(ir, big.buf, add(k, t, loop)));
  ct_ir_end(ir, loop);
  at(k, 3);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  CtVal v = add(k, ct_ir_load(ir, regs.buf, num(k, 3)), ct_ir_load(ir, more.buf, t));
  ct_ir_name(ir, v, "fmaf");
  ct_ir_store(ir, out.buf, t, v);
}

#endif
