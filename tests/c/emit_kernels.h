/* emit_kernels.h: kernels built by hand through the IR builder, for tests of what runs or prints an
   IR. Each function builds one kernel as a trace of a script would; the script's lines are made up.
   A failing builder call ends the program: these are no tests of the builder. */
#ifndef EMIT_KERNELS_H
#define EMIT_KERNELS_H

#include "runtime/ir.h"

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
static inline CtVal op2(Kit *k, CtOp op, CtVal a, CtVal b) { return ct_ir_binary(&k->ir, op, a, b); }
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
  CtTensorSpec spec = {.name = name, .dtype = dtype, .index = CT_i32, .align = 16,
                       .shape = t[0], .stride = t[1], .facts = facts};
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

static inline CtView parallelize(Kit *k, CtView v, const char *thr, CtTuple proj, const char *name) {
  CtCx cx = ct_ir_cx(&k->ir);
  CtLayout l;
  CtInt offset;
  kit_must(k, ct_parallelize(&cx, v.layout, lay(k, thr), dyn(k, tid(k, 0)), proj, &l, &offset,
                             &k->err));
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
  kit_must(k, ct_ir_gemm(ir, tCsA, tCsB, tCrC, CT_GEMM_COLUMNS, &k->err));
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
  copy(k, parallelize(k, gA, "(32,8):(1,32)", NULL, "tAgA"),
       parallelize(k, s, "(32,8):(1,32)", NULL, "tAsA"));
  at(k, 6);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  at(k, 7);
  copy(k, parallelize(k, st, "(32,8):(1,32)", NULL, "tBsB"),
       parallelize(k, gB, "(32,8):(1,32)", NULL, "tBgB"));
}

/* C = alpha*A*B + beta*C with vectors of four: 64 threads, tiles of 64x64x8, 8x8 per thread. */
static inline void build_sgemm(Kit *k, int sm, CtGemmOrder order) {
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
    kit_must(k, ct_tv_partition(&cx, src[i].layout, by, tv, dyn(k, tid(k, 0)), &l, &offset, &k->err));
    src[i] = moved(k, src[i], l, offset, names[0][i]);
    kit_must(k, ct_tv_partition(&cx, dst[i].layout, by, tv, dyn(k, tid(k, 0)), &l, &offset, &k->err));
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
    CtTuple part = ct_tuple(&ir->arena, 2, (CtTuple[]){ct_leaf(&ir->arena, any),
        crd3(k, ct_int(0), ct_int(0), dyn(k, loop))});
    CtView s = slice(k, src[i], part);
    CtView d = slice(k, dst[i], ct_tuple(&ir->arena, 2, (CtTuple[]){ct_leaf(&ir->arena, any),
        crd2(k, ct_int(0), ct_int(0))}));
    copy(k, s, named(d, names[1][i]));
  }
  at(k, 12);
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  at(k, 13);
  kit_must(k, ct_ir_gemm(ir, tCsA, tCsB, tCrC, order, &k->err));
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

#endif
