/* test_simt_tile.c: operations on whole tensors on the CPU engine: GEMM, AXPBY, FILL and COPY with
   random shapes, strides, spaces and addresses by lane, on every instruction set of this CPU, against
   plain loops that go through the elements of one thread after the other. */
#include "emit_kernels.h"

#include "runtime/base/convert.h"
#include "runtime/simt/simt.h"
#include "runtime/simt/run/simt_scalar.h"

#include "tap.h"

enum { MAX_SHARED = 4096, MAX_MODE = 9, N_PATTERNS = 6 };

static uint64_t state = 1;
static uint32_t random_below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

/* What the shared memory, X and the parameters hold, and how a problem is put together. */
typedef struct Problem {
  CtDtype type; /* of C and of what is computed */
  CtDtype from; /* of A, B and X: the same, or a narrow one to be widened */
  int block, m, n, k;
  int pattern[2];       /* of A, B */
  int base[2];          /* added to the pattern */
  int stride[2][2];     /* of (m,k), (n,k) in shared memory */
  bool dynamic[2];      /* A's or B's second stride is a parameter */
  bool in_registers[2]; /* A, B copied to fragments first */
  bool rank_one;        /* A and B are vectors: K is 1 */
  bool elementwise;     /* all are vectors: K and N are 1, B's extent is M */
  bool shared_c;        /* C is in shared memory, a part for each thread */
  bool divergent;       /* only some threads take part */
  bool contract, varying_alpha;
  bool echo; /* `back` gets X, by way of a fragment that was filled; else what it was filled with */
  bool widen[2]; /* A's or B's fragment has C's type */
} Problem;

/* Offsets by thread: contiguous, rows of 16, the same, anything. */
static int pattern_at(int pattern, int t) {
  switch (pattern) {
    case 0: return t % 16;
    case 1: return t / 16;
    case 2: return 3;
    case 3: return t * 5 % 7;
    case 4: return t % 32;
    default: return t / 4 % 8;
  }
}

static CtVal pattern_val(Kit *k, int pattern) {
  CtVal t = tid(k, 0);
  switch (pattern) {
    case 0: return op2(k, CT_OP_FLOORMOD, t, num(k, 16));
    case 1: return op2(k, CT_OP_FLOORDIV, t, num(k, 16));
    case 2: return num(k, 3);
    case 3: return op2(k, CT_OP_FLOORMOD, mul(k, t, num(k, 5)), num(k, 7));
    case 4: return op2(k, CT_OP_FLOORMOD, t, num(k, 32));
    default: return op2(k, CT_OP_FLOORMOD, op2(k, CT_OP_FLOORDIV, t, num(k, 4)), num(k, 8));
  }
}

/* A type whose values are widened to `type`, or that one. */
static CtDtype narrow_type(CtDtype type) {
  CtDtype all[CT_DTYPE_COUNT];
  uint32_t n = 0;
  for (int t = CT_f64; t < CT_bool; t++) {
    if (ct_dtype_compute((CtDtype)t) == type) {
      all[n++] = (CtDtype)t;
    }
  }
  return random_below(2) == 0 ? type : all[random_below(n)];
}

static Problem random_problem(uint64_t seed) {
  static const int blocks[] = {32, 64, 40, 96, 8};
  static const CtDtype types[] = {CT_f32, CT_f64, CT_i32, CT_i64, CT_u32, CT_u64, CT_i32, CT_f32};
  state = seed * 2 + 1;
  Problem p = {.type = types[random_below(8) * (random_below(3) == 0)]};
  p.type = random_below(3) == 0 ? CT_f64 : p.type;
  p.block = blocks[random_below(CT_ARRAY_LEN(blocks))];
  p.m = 1 + (int)random_below(MAX_MODE);
  p.n = 1 + (int)random_below(MAX_MODE);
  p.k = 1 + (int)random_below(MAX_MODE);
  p.rank_one = random_below(6) == 0;
  p.elementwise = !p.rank_one && random_below(8) == 0;
  p.k = p.rank_one || p.elementwise ? 1 : p.k;
  p.n = p.elementwise ? 1 : p.n;
  for (int i = 0; i < 2; i++) {
    p.pattern[i] = (int)random_below(N_PATTERNS);
    p.base[i] = (int)random_below(50);
    p.stride[i][0] = (int)random_below(40);
    p.stride[i][1] = (int)random_below(140);
    p.dynamic[i] = random_below(3) == 0;
    p.in_registers[i] = random_below(4) == 0;
  }
  p.shared_c = random_below(4) == 0;
  p.divergent = random_below(5) == 0;
  p.contract = random_below(2) == 0;
  p.from = narrow_type(p.type);
  p.echo = random_below(2) == 0;
  p.widen[0] = random_below(2) == 0;
  p.widen[1] = random_below(2) == 0;
  p.varying_alpha = random_below(2) == 0;
  return p;
}

/* --- building --------------------------------------------------------------------------------------- */

static CtVal constant(Kit *k, CtDtype t, int v) {
  return ct_is_float(t) ? ct_ir_const_float(&k->ir, t, v) : ct_ir_const_int(&k->ir, t, v);
}

/* (s0,s1):(d0,d1), of rank 1 without the second mode; d1 may be a value. */
static CtLayout matrix(Kit *k, int s0, int s1, CtInt d0, CtInt d1, bool vector) {
  CtInt shape[2] = {ct_int(s0), ct_int(s1)}, stride[2] = {d0, d1};
  CtLayout l = {ct_tuple_ints(&k->ir.arena, vector ? 1 : 2, shape),
                ct_tuple_ints(&k->ir.arena, vector ? 1 : 2, stride)};
  kit_must(k, l.shape == NULL || l.stride == NULL ? CT_ENOMEM : CT_OK);
  return l;
}

/* A's or B's view: in shared memory, or copied from there to a fragment. */
static CtView operand(Kit *k, const Problem *p, int i, CtView shared, CtVal param) {
  CtInt d1 = p->dynamic[i] ? dyn(k, param) : ct_int(p->stride[i][1]);
  int rows = i == 0 || p->elementwise ? p->m : p->n;
  bool vector = p->rank_one || p->elementwise;
  CtLayout l = matrix(k, rows, p->k, ct_int(p->stride[i][0]), d1, vector);
  CtVal at = add(k, pattern_val(k, p->pattern[i]), num(k, p->base[i]));
  CtView v = moved(k, shared, l, dyn(k, at), "view");
  if (!p->in_registers[i]) {
    return v;
  }
  CtLayout own = matrix(k, rows, p->k, ct_int(1), ct_int(rows + 1), vector);
  CtView frag = ct_ir_fragment(&k->ir, "ab", p->widen[i] ? p->type : p->from, own);
  copy(k, v, frag);
  return frag;
}

static CtSimtProgram *build(const Problem *p, CtIr *keep) {
  Kit k;
  kit_begin(&k, "tiles", 0, p->block, 1);
  at(&k, 1);
  CtView S = tensor(&k, "S", p->from, "(4096)", "(1)");
  CtView X = tensor(&k, "X", p->from, "(?)", "(1)");
  CtView out = tensor(&k, "out", p->type, "(?)", "(1)");
  CtVal stride[2], alpha = ct_ir_number(&k.ir, "alpha", p->type, (CtFacts){-9, 9, 1});
  CtFacts any = {0, 1000, 1};
  stride[0] = ct_ir_number(&k.ir, "da", CT_i32, any);
  stride[1] = ct_ir_number(&k.ir, "db", CT_i32, any);
  CtView back = tensor(&k, "back", p->from, "(?)", "(1)");
  CtView shared = ct_ir_shared(&k.ir, "shared", p->from, lay(&k, "4096:1"));
  CtInt size = ct_int(p->m * p->n);
  at(&k, 2); /* each thread brings in elements tid, tid + block, ... */
  CtVal from = ct_ir_for(&k.ir, tid(&k, 0), num(&k, MAX_SHARED), num(&k, p->block), 0, "i");
  ct_ir_store(&k.ir, shared.buf, from, ct_ir_load(&k.ir, S.buf, from));
  ct_ir_end(&k.ir, from);
  ct_ir_effect(&k.ir, CT_OP_BARRIER, 0);
  at(&k, 3);
  CtVal some =
      p->divergent
          ? ct_ir_if(&k.ir, lt(&k, op2(&k, CT_OP_FLOORMOD, tid(&k, 0), num(&k, 3)), num(&k, 2)))
          : 0;
  CtView a = operand(&k, p, 0, shared, stride[0]), b = operand(&k, p, 1, shared, stride[1]);
  CtLayout lc = matrix(&k, p->m, p->n, ct_int(1), ct_int(p->m), p->elementwise);
  CtView c =
      p->shared_c
          ? ct_ir_shared(&k.ir, "sc", p->type,
                         matrix(&k, p->block, p->m * p->n, ct_int(1), ct_int(p->block + 1), false))
          : ct_ir_fragment(&k.ir, "c", p->type, lc);
  if (p->shared_c) {
    c = moved(
        &k, c,
        matrix(&k, p->m, p->n, ct_int(p->block + 1), ct_int(p->m * (p->block + 1)), p->elementwise),
        dyn(&k, tid(&k, 0)), "c");
  }
  at(&k, 4);
  CtVal start = ct_ir_cast(&k.ir, tid(&k, 0), p->type);
  kit_must(&k, ct_ir_fill(&k.ir, c, start, &k.err));
  at(&k, 5);
  kit_must(&k, ct_ir_gemm(&k.ir, a, b, c, &(CtGemmOrder){0}, &k.err));
  at(&k, 6);
  CtVal own = mul(&k, tid(&k, 0), num(&k, p->m * p->n));
  CtView x =
      moved(&k, X, matrix(&k, p->m * p->n, 1, ct_int(1), ct_int(1), true), dyn(&k, own), "x");
  CtVal by = p->varying_alpha ? ct_ir_binary(&k.ir, CT_OP_MUL, alpha, start) : alpha;
  kit_must(&k, ct_ir_axpby(&k.ir, by, x, constant(&k, p->type, 3), c, &k.err));
  at(&k, 7);
  copy(&k, c, moved(&k, out, matrix(&k, p->m * p->n, 1, ct_int(1), size, true), dyn(&k, own), "o"));
  at(&k, 8);
  CtLayout row = matrix(&k, p->m * p->n, 1, ct_int(1), ct_int(1), true);
  CtView e = ct_ir_fragment(&k.ir, "e", p->from, row);
  kit_must(&k, ct_ir_fill(&k.ir, e, ct_ir_cast(&k.ir, tid(&k, 0), p->from), &k.err));
  if (p->echo) {
    copy(&k, x, e);
  }
  copy(&k, e, moved(&k, back, row, dyn(&k, own), "b"));
  if (some != 0) {
    ct_ir_end(&k.ir, some);
  }
  k.ir.contract = p->contract;
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtSimtProgram *prog;
  kit_must(&k, ct_simt_lower(ct_alloc_std, &k.ir, &prog, &k.err));
  *keep = k.ir;
  return prog;
}

/* --- the same in plain loops ------------------------------------------------------------------------- */

/* One element type: memory, and what a thread computes. */
#define PLAIN(T, S, MULADD, IS_FLOAT)                                                              \
  static void fill_##S(T *p, size_t n) {                                                           \
    for (size_t i = 0; i < n; i++) {                                                               \
      p[i] = IS_FLOAT ? (T)((double)random_below(1u << 24) / 999.0 - 8000.0)                       \
                      : (T)((int64_t)random_below(1u << 31) * 3 - (1 << 30));                      \
    }                                                                                              \
  }                                                                                                \
  static void thread_##S(const Problem *p, int t, const T *s, const T *x, T alpha, T *out) {       \
    alpha = p->varying_alpha ? MUL_##S(alpha, (T)t) : alpha;                                       \
    const T *a = s + pattern_at(p->pattern[0], t) + p->base[0];                                    \
    const T *b = s + pattern_at(p->pattern[1], t) + p->base[1];                                    \
    for (int n = 0; n < p->n; n++) {                                                               \
      for (int m = 0; m < p->m; m++) {                                                             \
        T c = (T)t;                                                                                \
        int j = p->elementwise ? m : n;                                                            \
        for (int k = 0; k < p->k; k++) {                                                           \
          T u = a[m * p->stride[0][0] + k * p->stride[0][1]];                                      \
          T v = b[j * p->stride[1][0] + k * p->stride[1][1]];                                      \
          c = MULADD(u, v, c);                                                                     \
        }                                                                                          \
        int e = m + n * p->m;                                                                      \
        T y = MUL_##S((T)3, c);                                                                    \
        out[e] =                                                                                   \
            IS_FLOAT && p->contract ? MULADD(alpha, x[e], y) : ADD_##S(MUL_##S(alpha, x[e]), y);   \
      }                                                                                            \
    }                                                                                              \
  }
#define WRAP_i32(a, b, c) ADD_i32(MUL_i32(a, b), c)
#define WRAP_i64(a, b, c) ADD_i64(MUL_i64(a, b), c)
PLAIN(float, f32, fmaf, true)
PLAIN(double, f64, fma, true)
PLAIN(int32_t, i32, WRAP_i32, false)
PLAIN(int64_t, i64, WRAP_i64, false)

static void fill_random(CtDtype t, void *p, size_t n) {
  switch (t) {
    case CT_f32: fill_f32(p, n); break;
    case CT_f64: fill_f64(p, n); break;
    case CT_i32:
    case CT_u32: fill_i32(p, n); break;
    default: fill_i64(p, n); break;
  }
}

static void run_plain(const Problem *p, const void *s, const void *x, CtSlotValue alpha,
                      void *out) {
  for (int t = 0; t < p->block; t++) {
    size_t own = (size_t)(t * p->m * p->n);
    if (p->divergent && t % 3 == 2) {
      continue;
    }
    switch (p->type) {
      case CT_f32:
        thread_f32(p, t, s, (const float *)x + own, alpha.f32, (float *)out + own);
        break;
      case CT_f64:
        thread_f64(p, t, s, (const double *)x + own, alpha.f64, (double *)out + own);
        break;
      case CT_i32:
      case CT_u32:
        thread_i32(p, t, s, (const int32_t *)x + own, (int32_t)alpha.i, (int32_t *)out + own);
        break;
      default: thread_i64(p, t, s, (const int64_t *)x + own, alpha.i, (int64_t *)out + own); break;
    }
  }
}

/* --- comparing ------------------------------------------------------------------------------------------ */

/* n random elements of `from` to p, the same as `type` to wide. */
static void fill_both(CtDtype type, CtDtype from, void *p, void *wide, size_t n) {
  size_t bytes = ct_value_bytes(type), narrow = ct_value_bytes(from);
  fill_random(type, wide, n);
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (char *)wide + i * bytes, bytes);
    bits = ct_convert(from, type, bits);
    memcpy((char *)p + i * narrow, &bits, narrow);
    bits = ct_convert(type, from, bits);
    memcpy((char *)wide + i * bytes, &bits, bytes);
  }
}

/* What `back` gets. */
static void run_back(const Problem *p, const char *x, char *back) {
  size_t bytes = ct_value_bytes(p->from), own = (size_t)(p->m * p->n);
  for (int t = 0; t < p->block; t++) {
    uint64_t bits = ct_convert(p->from, CT_i32, (uint64_t)t);
    for (size_t i = (size_t)t * own; (!p->divergent || t % 3 < 2) && i < ((size_t)t + 1) * own;
         i++) {
      memcpy(back + i * bytes, p->echo ? x + i * bytes : (char *)&bits, bytes);
    }
  }
}

static CtSlotValue alpha_of(CtDtype t) {
  CtSlotValue v = {.i = -7};
  if (t == CT_f32) {
    v.f32 = 0.3f;
  } else if (t == CT_f64) {
    v.f64 = 0.3;
  }
  return v;
}

typedef struct Memory {
  void *s, *x, *wide_s, *wide_x, *want, *got, *want_back, *got_back;
} Memory;

static Memory make_memory(const Problem *p, size_t n) {
  Memory m = {malloc(MAX_SHARED * 8), malloc(n * 8), malloc(MAX_SHARED * 8), malloc(n * 8),
              calloc(n, 8),           calloc(n, 8),  calloc(n, 8),           calloc(n, 8)};
  fill_both(p->type, p->from, m.s, m.wide_s, MAX_SHARED);
  fill_both(p->type, p->from, m.x, m.wide_x, n);
  return m;
}

static void free_memory(Memory *m) {
  void *const all[] = {m->s,    m->x,   m->wide_s,    m->wide_x,
                       m->want, m->got, m->want_back, m->got_back};
  for (size_t i = 0; i < CT_ARRAY_LEN(all); i++) {
    free(all[i]);
  }
}

static bool agrees(const Problem *p, CtSimtEngine *e) {
  CtIr ir;
  CtSimtProgram *prog = build(p, &ir);
  size_t n = (size_t)(p->block * p->m * p->n);
  Memory m = make_memory(p, n);
  CtSlotValue slots[12];
  slots[ir.params[0].first_slot].ptr = m.s;
  void *const vectors[] = {m.x, m.got, m.got_back};
  static const int vector_params[] = {1, 2, 6};
  for (int i = 0; i < 3; i++) {
    uint32_t first = ir.params[vector_params[i]].first_slot;
    slots[first].ptr = vectors[i];
    slots[first + 1].i = (int64_t)n;
  }
  slots[ir.params[3].first_slot] = alpha_of(p->type);
  slots[ir.params[4].first_slot].i = p->stride[0][1];
  slots[ir.params[5].first_slot].i = p->stride[1][1];
  const int64_t n_elems[7] = {MAX_SHARED, (int64_t)n, (int64_t)n, 0, 0, 0, (int64_t)n};
  CtSimtLaunch launch = {.grid = {1, 1, 1}, .slots = slots, .n_elems = n_elems};
  CtErr err = {0};
  bool ran = ct_simt_run(e, prog, &launch, &err) == CT_OK;
  run_plain(p, m.wide_s, m.wide_x, slots[ir.params[3].first_slot], m.want);
  run_back(p, m.x, m.want_back);
  bool same =
      ran && memcmp(m.want, m.got, n * 8) == 0 && memcmp(m.want_back, m.got_back, n * 8) == 0;
  if (!ran) {
    tap_diag("line %d: %s", err.line, err.msg);
  }
  free_memory(&m);
  ct_simt_free(prog);
  ct_ir_clear(&ir);
  return same;
}

static void test_isa(const char *isa, uint64_t first, uint64_t n) {
  CtSimtEngine *e;
  CtErr err;
  int wrong = 0;
  if (ct_simt_open(ct_alloc_std, 1, isa, &e, &err) != CT_OK) {
    SKIP(1, "this CPU has no such instruction set");
    return;
  }
  for (uint64_t seed = first; seed < first + n; seed++) {
    Problem p = random_problem(seed);
    if (!agrees(&p, e) && wrong++ < 3) {
      tap_diag("seed %llu: %s from %s, block %d, %dx%dx%d, patterns %d %d, registers %d %d",
               (unsigned long long)seed, ct_dtypes[p.type].name, ct_dtypes[p.from].name, p.block,
               p.m, p.n, p.k, p.pattern[0], p.pattern[1], p.in_registers[0], p.in_registers[1]);
    }
  }
  IS_INT(wrong, 0, "%s: %llu random problems", isa, (unsigned long long)n);
  ct_simt_close(e);
}

int main(int argc, char **argv) {
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : 600;
  test_isa("base", first, n);
  test_isa("avx2", first, n);
  test_isa("avx512", first, n);
  return done_testing();
}
