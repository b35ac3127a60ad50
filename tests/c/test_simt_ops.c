/* test_simt_ops.c: every pure operation of the CPU engine, on every type, with every mix of lanes and
   scalars, on every instruction set of this CPU: bit for bit what plain C computes, and convert.c where
   a cast has to do with narrow or unsigned types. */
#include "emit_kernels.h"

#include "runtime/base/bits.h"
#include "runtime/base/convert.h"
#include "runtime/math/math.h"
#include "runtime/simt/simt.h"

#include <float.h>
#include <math.h>

#include "ref_fma.h"
#include "ref_word.h"
#include "tap.h"

enum { MAX_VALUES = 32, MAX_PAIRS = MAX_VALUES * MAX_VALUES, MAX_FORMS = 8, BLOCK = 96 };

typedef union Val {
  int64_t i; /* integers as 64 bits hold them, narrow floats as their bits */
  double f64;
  float f32;
} Val;

static const double float_values[] = {
    0.0,           -0.0,   1.0,      -1.0,      0.5,        -0.5,    1.5,          2.5,
    -2.5,          3.0,    7.0,      -7.25,     1e-40,      -3e-42,  1e-310,       1e38,
    -1e38,         3.4e38, INFINITY, -INFINITY, NAN,        1.0 / 3, 2147483647.0, 2147483648.0,
    -2147483649.0, 9.3e18, -9.3e18,  1e300,     16777217.0, 0.1,     -1e9,         88.7};
static const int64_t int_values[] = {0,
                                     1,
                                     -1,
                                     2,
                                     -2,
                                     3,
                                     -3,
                                     5,
                                     7,
                                     -7,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     -31,
                                     -32,
                                     -33,
                                     -64,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT32_MIN + 1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MIN + 1,
                                     1000003,
                                     -1000003,
                                     1 << 24,
                                     (1 << 24) + 1,
                                     (1LL << 53) + 1,
                                     4294967296LL,
                                     255};

static bool is_wide_float(CtDtype t) { return t == CT_f64 || t == CT_f32; }

static int value_of(CtDtype t, int i, Val *v) {
  if (t == CT_f64) {
    v->f64 = float_values[i];
  } else if (t == CT_f32) {
    v->f32 = (float)float_values[i];
  } else if (ct_is_float(t)) {
    v->i = (int64_t)ct_bits_of_float(t, float_values[i]);
  } else {
    v->i = t == CT_bool ? i & 1 : ct_dtype_wrap(t, int_values[i]);
  }
  return ct_is_float(t) ? (int)CT_ARRAY_LEN(float_values) : (int)CT_ARRAY_LEN(int_values);
}

/* Bits in memory and back. */
static uint64_t bits_of(CtDtype t, Val v) {
  uint32_t low;
  memcpy(&low, &v.f32, sizeof low);
  return t == CT_f32 ? low : ct_is_int(t) ? ct_bits_of_int(t, v.i) : (uint64_t)v.i;
}
static Val of_bits(CtDtype t, uint64_t bits) {
  Val v = {.i = ct_is_int(t) ? ct_int_of_bits(t, bits) : (int64_t)bits};
  return v;
}

static void poke(CtDtype t, void *p, size_t i, Val v) {
  uint64_t bits = bits_of(t, v);
  memcpy((char *)p + i * ct_value_bytes(t), &bits, ct_value_bytes(t));
}

static Val peek(CtDtype t, const void *p, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)p + i * ct_value_bytes(t), ct_value_bytes(t));
  return of_bits(t, bits);
}

/* Floats, either half of a pair; the bits of a NaN may differ. */
static bool same_pair(Val a, Val b) {
  bool is = true;
  for (int i = 0; i < 2; i++) {
    float x = ct_f32_of_bits((uint32_t)((uint64_t)a.i >> 32 * i));
    float y = ct_f32_of_bits((uint32_t)((uint64_t)b.i >> 32 * i));
    is = is && ((isnan(x) && isnan(y)) || ct_bits_of_f32(x) == ct_bits_of_f32(y));
  }
  return is;
}

static bool same(CtDtype t, Val a, Val b) {
  switch (t) {
    case CT_f64: return (isnan(a.f64) && isnan(b.f64)) || a.i == b.i;
    case CT_f32: return (isnan(a.f32) && isnan(b.f32)) || bits_of(t, a) == bits_of(t, b);
    default: return a.i == b.i;
  }
}

/* --- what plain C says -------------------------------------------------------------------------- */

static double ref_min(double a, double b) {
  return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
static double ref_max(double a, double b) {
  return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

/* The functions of runtime/math; test_math.c says how exact they are. */
static double (*const ones_f64[CT_OP_COUNT])(double) = {
#define ONE(NAME, name) [CT_OP_##NAME] = ct_##name##_f64,
#define TWO(NAME, name)
#include "runtime/math/math_names.def"
#undef ONE
#undef TWO
};
static double (*const twos_f64[CT_OP_COUNT])(double, double) = {
#define ONE(NAME, name)
#define TWO(NAME, name) [CT_OP_##NAME] = ct_##name##_f64,
#include "runtime/math/math_names.def"
#undef ONE
#undef TWO
};
static float (*const ones_f32[CT_OP_COUNT])(float) = {
#define ONE(NAME, name) [CT_OP_##NAME] = ct_##name##_f32,
#define TWO(NAME, name)
#include "runtime/math/math_names.def"
#undef ONE
#undef TWO
};
static float (*const twos_f32[CT_OP_COUNT])(float, float) = {
#define ONE(NAME, name)
#define TWO(NAME, name) [CT_OP_##NAME] = ct_##name##_f32,
#include "runtime/math/math_names.def"
#undef ONE
#undef TWO
};
static bool is_own(CtOp op) { return ones_f64[op] != NULL || twos_f64[op] != NULL; }

static double ref_f64(CtOp op, double a, double b, double c) {
  double r;
  if (is_own(op)) {
    return ones_f64[op] != NULL ? ones_f64[op](a) : twos_f64[op](a, b);
  }
  switch (op) {
    case CT_OP_ADD: return a + b;
    case CT_OP_SUB: return a - b;
    case CT_OP_MUL: return a * b;
    case CT_OP_DIV: return a / b;
    case CT_OP_FLOORDIV: return floor(a / b);
    case CT_OP_FLOORMOD: r = fmod(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    case CT_OP_NEG: return -a;
    case CT_OP_FMA: return ref_fma(a, b, c);
    case CT_OP_MIN: return ref_min(a, b);
    case CT_OP_MAX: return ref_max(a, b);
    case CT_OP_ABS: return fabs(a);
    case CT_OP_FMOD: return fmod(a, b);
    case CT_OP_COPYSIGN: return copysign(a, b);
    case CT_OP_SQRT: return sqrt(a);
    case CT_OP_FLOOR: return floor(a);
    case CT_OP_CEIL: return ceil(a);
    case CT_OP_TRUNC: return trunc(a);
    case CT_OP_ROUND: return round(a);
    case CT_OP_RINT: return nearbyint(a);
    default: return 0;
  }
}

static float ref_f32(CtOp op, float a, float b, float c) {
  float r;
  if (is_own(op)) {
    return ones_f32[op] != NULL ? ones_f32[op](a) : twos_f32[op](a, b);
  }
  switch (op) {
    case CT_OP_ADD: return a + b;
    case CT_OP_SUB: return a - b;
    case CT_OP_MUL: return a * b;
    case CT_OP_DIV: return a / b;
    case CT_OP_FLOORDIV: return floorf(a / b);
    case CT_OP_FLOORMOD: r = fmodf(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    case CT_OP_FMA: return fmaf(a, b, c);
    case CT_OP_FMOD: return fmodf(a, b);
    case CT_OP_FAST_EXP: return ct_exp_f32(a);
    case CT_OP_FAST_EXP10: return ct_exp10_f32(a);
    case CT_OP_FAST_LOG: return ct_log_f32(a);
    case CT_OP_FAST_LOG2: return ct_log2_f32(a);
    case CT_OP_FAST_LOG10: return ct_log10_f32(a);
    case CT_OP_FAST_SIN: return ct_sin_f32(a);
    case CT_OP_FAST_COS: return ct_cos_f32(a);
    case CT_OP_FAST_TANH: return ct_tanh_f32(a);
    case CT_OP_FAST_RCP: return 1 / a;
    case CT_OP_FAST_RSQRT: return ct_rsqrt_f32(a);
    case CT_OP_FAST_DIV: return a / b;
    case CT_OP_FAST_POW: return ct_pow_f32(a, b);
    case CT_OP_FAST_SQRT:
    case CT_OP_SQRT: return sqrtf(a);
    case CT_OP_EX2: r = ct_exp2_f32(fabsf(a) < FLT_MIN ? 0 : a); return r < FLT_MIN ? 0 : r;
    default: return (float)ref_f64(op, a, b, c); /* exact in f64 */
  }
}

static int64_t ref_shift(int64_t a, int64_t n, int width) {
  uint64_t x = width == 32 ? (uint32_t)a : (uint64_t)a;
  for (; n > 0 && x != 0; n--) {
    x = x * 2;
    x = width == 32 ? (uint32_t)x : x;
  }
  for (; n < 0 && x != 0; n++) {
    x = x / 2;
  }
  return (int64_t)x;
}

static int64_t ref_int(CtOp op, int64_t a, int64_t b, int width) {
  __extension__ typedef __int128 Wide;
  Wide q;
  switch (op) {
    case CT_OP_ADD: return (int64_t)((Wide)a + b);
    case CT_OP_SUB: return (int64_t)((Wide)a - b);
    case CT_OP_MUL: return (int64_t)((Wide)a * b);
    case CT_OP_FLOORDIV:
    case CT_OP_FLOORMOD:
      q = (Wide)a / b;
      q -= (Wide)a % b != 0 && (a < 0) != (b < 0);
      return (int64_t)(op == CT_OP_FLOORDIV ? q : (Wide)a - q * b);
    case CT_OP_MULHI: return (int64_t)((Wide)a * b >> width);
    case CT_OP_NEG: return (int64_t) - (Wide)a;
    case CT_OP_MIN: return a < b ? a : b;
    case CT_OP_MAX: return a < b ? b : a;
    case CT_OP_ABS: return a < 0 ? (int64_t) - (Wide)a : a;
    case CT_OP_AND: return a & b;
    case CT_OP_OR: return a | b;
    case CT_OP_XOR: return a ^ b;
    case CT_OP_NOT: return -1 - a;
    case CT_OP_SHL: return ref_shift(a, b, width);
    case CT_OP_SHR: return ref_shift(a, b == INT64_MIN ? INT64_MAX : -b, width);
    case CT_OP_ASHR:
      if (b < 0) {
        return ref_shift(a, b == INT64_MIN ? INT64_MAX : -b, width);
      }
      for (int i = 0; i < width && i < b; i++) {
        a = (a - (a % 2 != 0 && a < 0)) / 2;
      }
      return a;
    default: return 0;
  }
}

static uint64_t ref_uint(CtOp op, uint64_t a, uint64_t b, int width) {
  switch (op) {
    case CT_OP_FLOORDIV: return a / b;
    case CT_OP_FLOORMOD: return a % b;
    case CT_OP_MULHI: return (uint64_t)((__extension__(unsigned __int128) a) * b >> width);
    case CT_OP_MIN: return a < b ? a : b;
    case CT_OP_MAX: return a < b ? b : a;
    case CT_OP_ABS: return a;
    case CT_OP_SHL:
      return b >= (uint64_t)width ? 0 : (uint64_t)ref_shift((int64_t)a, (int64_t)b, width);
    case CT_OP_SHR:
      return b >= (uint64_t)width ? 0 : (uint64_t)ref_shift((int64_t)a, -(int64_t)b, width);
    default: return (uint64_t)ref_int(op, (int64_t)a, (int64_t)b, width);
  }
}

/* Digit by digit. */
static int64_t ref_bits(CtOp op, uint64_t a, int width) {
  uint64_t reversed = 0;
  int ones = 0, front = width, lowest = 0;
  for (int i = 0; i < width; i++) {
    int digit = (int)(a % 2);
    a /= 2;
    reversed = 2 * reversed + (uint64_t)digit;
    ones += digit;
    front = digit != 0 ? width - 1 - i : front;
    lowest = digit != 0 && lowest == 0 ? i + 1 : lowest;
  }
  return op == CT_OP_BREV   ? (int64_t)reversed
         : op == CT_OP_POPC ? ones
         : op == CT_OP_CLZ  ? front
                            : lowest;
}

static bool is_of_bits(CtOp op) {
  return op == CT_OP_BREV || op == CT_OP_POPC || op == CT_OP_CLZ || op == CT_OP_FFS;
}

static bool ref_compare(CtOp op, CtDtype t, Val a, Val b) {
  if (ct_is_unsigned(t) && (op == CT_OP_LT || op == CT_OP_LE)) {
    return op == CT_OP_LT ? (uint64_t)a.i < (uint64_t)b.i : (uint64_t)a.i <= (uint64_t)b.i;
  }
  double x = t == CT_f64 ? a.f64 : (double)a.f32, y = t == CT_f64 ? b.f64 : (double)b.f32;
  bool f = t == CT_f64 || t == CT_f32;
  switch (op) {
    case CT_OP_LT: return f ? x < y : a.i < b.i;
    case CT_OP_LE: return f ? x <= y : a.i <= b.i;
    case CT_OP_EQ: return f ? x == y : a.i == b.i;
    case CT_OP_NE: return f ? x != y : a.i != b.i;
    case CT_OP_LAND: return a.i != 0 && b.i != 0;
    case CT_OP_LOR: return a.i != 0 || b.i != 0;
    default: return a.i == 0; /* LNOT */
  }
}

static int64_t ref_saturate(long double x, int64_t lo, int64_t hi) {
  return isnan(x) ? 0 : x <= lo ? lo : x >= hi ? hi : (int64_t)x;
}

/* Types whose casts plain C knows. */
static bool is_plain(CtDtype t) {
  return is_wide_float(t) || t == CT_i64 || t == CT_i32 || t == CT_bool;
}

static Val ref_cast(CtDtype to, CtDtype from, Val a) {
  Val r = {0};
  bool f = is_wide_float(from);
  if (!is_plain(to) || !is_plain(from)) {
    return of_bits(to, ct_convert(to, from, bits_of(from, a)));
  }
  double x = from == CT_f64 ? a.f64 : (double)a.f32;
  switch (to) {
    case CT_f64: r.f64 = f ? x : (double)a.i; break;
    case CT_f32: r.f32 = from == CT_f32 ? a.f32 : f ? (float)x : (float)a.i; break;
    case CT_i64: r.i = f ? ref_saturate(x, INT64_MIN, INT64_MAX) : a.i; break;
    case CT_i32: r.i = f ? ref_saturate(x, INT32_MIN, INT32_MAX) : (int32_t)(uint32_t)a.i; break;
    default: r.i = f ? x != 0 : a.i != 0; break;
  }
  return r;
}

typedef struct Case {
  CtOp op;
  CtDtype type; /* of the operands (of SELECT: of the last two) */
  CtDtype result;
} Case;

static bool is_float_pair(CtOp op) { return ct_ops[op].types == CT_TYPES_U64; }

/* One float of a pair, by the operation of single floats. */
static uint32_t ref_of_pair(CtOp op, const Val v[3], int which) {
  CtOp one = op == CT_OP_ADD_F32X2   ? CT_OP_ADD
             : op == CT_OP_SUB_F32X2 ? CT_OP_SUB
             : op == CT_OP_MUL_F32X2 ? CT_OP_MUL
                                     : CT_OP_FMA;
  float x[3];
  for (int i = 0; i < 3; i++) {
    x[i] = ct_f32_of_bits((uint32_t)((uint64_t)v[i].i >> 32 * which));
  }
  return ct_bits_of_f32(ref_f32(one, x[0], x[1], x[2]));
}

static Val reference(Case c, const Val v[3]) {
  Val r = {0};
  if (is_float_pair(c.op)) {
    r.i = (int64_t)((uint64_t)ref_of_pair(c.op, v, 1) << 32 | ref_of_pair(c.op, v, 0));
    return r;
  }
  if (c.op == CT_OP_CAST) {
    return ref_cast(c.result, c.type, v[0]);
  }
  if (c.op == CT_OP_BITCAST) {
    return of_bits(c.result, bits_of(c.type, v[0]));
  }
  if (c.op == CT_OP_SELECT) {
    return v[0].i != 0 ? v[1] : v[2];
  }
  if (c.result == CT_bool) {
    r.i = ref_compare(c.op, c.type, v[0], v[1]);
    return r;
  }
  if (is_of_bits(c.op)) {
    r.i = ct_dtype_wrap(c.result, ref_bits(c.op, (uint64_t)v[0].i, ct_dtypes[c.type].bits));
    return r;
  }
  if (is_word_op(c.op)) {
    uint32_t word = ref_word(c.op, (uint32_t)v[0].i, (uint32_t)v[1].i, (uint32_t)v[2].i);
    r.i = ct_int_of_bits(c.type, word);
    return r;
  }
  switch (c.type) {
    case CT_f64: r.f64 = ref_f64(c.op, v[0].f64, v[1].f64, v[2].f64); break;
    case CT_f32: r.f32 = ref_f32(c.op, v[0].f32, v[1].f32, v[2].f32); break;
    case CT_i64: r.i = ref_int(c.op, v[0].i, v[1].i, 64); break;
    case CT_u64: r.i = (int64_t)ref_uint(c.op, (uint64_t)v[0].i, (uint64_t)v[1].i, 64); break;
    case CT_u32: r.i = (uint32_t)ref_uint(c.op, (uint64_t)v[0].i, (uint64_t)v[1].i, 32); break;
    default: r.i = (int32_t)ref_int(c.op, v[0].i, v[1].i, 32); break;
  }
  return r;
}

/* --- the kernel: out_f[i] = op(operands), operand j a parameter where bit j of f is set ------------ */

static CtDtype operand_type(Case c, int j) {
  return c.op == CT_OP_SELECT && j == 0 ? CT_bool : c.type;
}

static CtVal apply(Kit *k, Case c, const CtVal v[3]) {
  if (is_word_op(c.op) || is_float_pair(c.op)) {
    return ct_ir_word(&k->ir, c.op, v);
  }
  switch (ct_ops[c.op].n_args) {
    case 1:
      return c.op == CT_OP_CAST      ? ct_ir_cast(&k->ir, v[0], c.result)
             : c.op == CT_OP_BITCAST ? ct_ir_bitcast(&k->ir, v[0], c.result)
                                     : ct_ir_unary(&k->ir, c.op, v[0]);
    case 2: return ct_ir_binary(&k->ir, c.op, v[0], v[1]);
    default:
      return c.op == CT_OP_FMA ? ct_ir_fma(&k->ir, v[0], v[1], v[2])
                               : ct_ir_select(&k->ir, v[0], v[1], v[2]);
  }
}

static CtSimtProgram *build(Case c, CtIr *keep) {
  static const char *const in_names[] = {"x", "y", "z"}, *const p_names[] = {"p", "q", "r"};
  Kit k;
  int n_args = ct_ops[c.op].n_args;
  CtView in[3], out[MAX_FORMS];
  CtVal scalar[3];
  kit_begin(&k, "op", 0, BLOCK, 1);
  at(&k, 1);
  for (int j = 0; j < n_args; j++) {
    in[j] = tensor(&k, in_names[j], operand_type(c, j), "(?)", "(1)");
    CtFacts any = ct_type_facts(operand_type(c, j));
    scalar[j] = ct_ir_number(&k.ir, p_names[j], operand_type(c, j), any);
  }
  for (int f = 0; f < 1 << n_args; f++) {
    char name[16];
    snprintf(name, sizeof name, "out%d", f);
    out[f] = tensor(&k, name, c.result, "(?)", "(1)");
  }
  CtVal i = add(&k, mul(&k, bid(&k, 0), num(&k, BLOCK)), tid(&k, 0));
  CtTuple at_i = crd(&k, 1, (CtInt[]){dyn(&k, i)});
  CtVal inside = ct_ir_if(&k.ir, lt(&k, i, out[0].layout.shape[1].i.id));
  CtVal lanes[3];
  for (int j = 0; j < n_args; j++) {
    lanes[j] = load_at(&k, in[j], at_i);
  }
  for (int f = 0; f < 1 << n_args; f++) {
    CtVal v[3] = {0};
    for (int j = 0; j < n_args; j++) {
      v[j] = (f >> j & 1) != 0 ? scalar[j] : lanes[j];
    }
    store_at(&k, out[f], at_i, apply(&k, c, v));
  }
  ct_ir_end(&k.ir, inside);
  k.ir.contract = false;
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtSimtProgram *p;
  kit_must(&k, ct_simt_lower(ct_alloc_std, &k.ir, &p, &k.err));
  *keep = k.ir;
  return p;
}

/* --- running --------------------------------------------------------------------------------------- */

typedef struct Data {
  int n_values, n;
  Val in[3][MAX_PAIRS];
  void *in_mem[3], *out_mem[MAX_FORMS];
  Val scalar[3];
  Val want[MAX_FORMS][MAX_PAIRS];
} Data;

static bool needs_nonzero(Case c) {
  return (c.op == CT_OP_FLOORDIV || c.op == CT_OP_FLOORMOD) && ct_is_int(c.type);
}

static Val pick(Case c, int j, int i) {
  Val v = {0};
  value_of(operand_type(c, j), i, &v);
  if (j == 1 && needs_nonzero(c) && v.i == 0) {
    v.i = ct_dtype_wrap(c.type, -5);
  }
  return v;
}

static void make_data(Case c, Data *d) {
  Val v;
  d->n_values = value_of(c.type, 0, &v);
  d->n = d->n_values * d->n_values;
  for (int j = 0; j < ct_ops[c.op].n_args; j++) {
    d->in_mem[j] = malloc(MAX_PAIRS * 8);
    for (int i = 0; i < d->n; i++) {
      int at_j[3] = {i / d->n_values, i % d->n_values, i * 7 % d->n_values};
      d->in[j][i] = pick(c, j, at_j[j]);
      poke(operand_type(c, j), d->in_mem[j], (size_t)i, d->in[j][i]);
    }
  }
  for (int f = 0; f < MAX_FORMS; f++) {
    d->out_mem[f] = malloc(MAX_PAIRS * 8);
  }
}

static void operands(Case c, const Data *d, int form, int i, Val v[3]) {
  for (int j = 0; j < ct_ops[c.op].n_args; j++) {
    v[j] = (form >> j & 1) != 0 ? d->scalar[j] : d->in[j][i];
  }
}

/* The s-th scalars, and what all engines must give with them. Form 0 has none. */
static void choose_scalars(Case c, Data *d, int s) {
  int n_args = ct_ops[c.op].n_args;
  const int at_j[3] = {s, (s * 5 + 1) % d->n_values, (s * 3 + 2) % d->n_values};
  for (int j = 0; j < n_args; j++) {
    d->scalar[j] = pick(c, j, at_j[j]);
  }
  for (int f = s == 0 ? 0 : 1; f < 1 << n_args; f++) {
    for (int i = 0; i < d->n; i++) {
      Val v[3] = {{0}};
      operands(c, d, f, i, v);
      d->want[f][i] = reference(c, v);
    }
  }
}

static int compare(Case c, const Data *d, const char *isa) {
  int wrong = 0;
  for (int f = 0; f < 1 << ct_ops[c.op].n_args; f++) {
    for (int i = 0; i < d->n; i++) {
      Val want = d->want[f][i], got = peek(c.result, d->out_mem[f], (size_t)i);
      bool is = is_float_pair(c.op) ? same_pair(got, want) : same(c.result, got, want);
      if (!is && wrong++ == 0) {
        Val v[3] = {{0}};
        operands(c, d, f, i, v);
        tap_diag("%s: %s %s form %d: (%g %g %g) (%lld %lld %lld): got %g %lld, want %g %lld", isa,
                 ct_ops[c.op].text, ct_dtypes[c.type].name, f, v[0].f64, v[1].f64, v[2].f64,
                 (long long)v[0].i, (long long)v[1].i, (long long)v[2].i, got.f64, (long long)got.i,
                 want.f64, (long long)want.i);
      }
    }
  }
  return wrong;
}

static void to_slot(CtDtype t, Val v, CtSlotValue *s) {
  if (t == CT_f32) {
    s->f32 = v.f32;
  } else {
    s->i = v.i;
  }
}

static int run_case(Case c, CtSimtEngine *e, const CtIr *ir, const CtSimtProgram *p, Data *d) {
  int n_args = ct_ops[c.op].n_args;
  CtSlotValue slots[64];
  int64_t n_elems[32] = {0};
  for (size_t i = 0; i < ir->n_params; i++) {
    const CtParam *param = &ir->params[i];
    int j = (int)i / 2, f = (int)i - 2 * n_args;
    n_elems[i] = param->is_tensor ? d->n : 0;
    if (param->is_tensor) {
      slots[param->first_slot].ptr = f >= 0 ? d->out_mem[f] : d->in_mem[j];
      slots[param->first_slot + 1].i = d->n;
    } else {
      to_slot(param->dtype, d->scalar[j], &slots[param->first_slot]);
    }
  }
  CtSimtLaunch launch = {
      .grid = {(d->n + BLOCK - 1) / BLOCK, 1, 1}, .slots = slots, .n_elems = n_elems};
  CtErr err = {0};
  if (ct_simt_run(e, p, &launch, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    return 1;
  }
  return compare(c, d, ct_simt_isa(e));
}

static void test_case(Case c, CtSimtEngine *const *engines, int n_engines) {
  static Data d;
  CtIr ir;
  CtSimtProgram *p = build(c, &ir);
  make_data(c, &d);
  int wrong = 0;
  for (int s = 0; s < d.n_values; s += TAP_PART) { /* all pairs of lanes come in any case */
    choose_scalars(c, &d, s);
    for (int i = 0; i < n_engines; i++) {
      wrong += run_case(c, engines[i], &ir, p, &d);
    }
  }
  IS_INT(wrong, 0, "%s %s%s%s", ct_ops[c.op].text, ct_dtypes[c.type].name,
         c.result != c.type ? " to " : "", c.result != c.type ? ct_dtypes[c.result].name : "");
  for (int j = 0; j < ct_ops[c.op].n_args; j++) {
    free(d.in_mem[j]);
  }
  for (int f = 0; f < MAX_FORMS; f++) {
    free(d.out_mem[f]);
  }
  ct_simt_free(p);
  ct_ir_clear(&ir);
}

static bool takes(CtOp op, CtDtype t) {
  if (is_float_pair(op)) {
    return t == CT_u64;
  }
  if (is_word_op(op)) {
    return t == (ct_ops[op].types == CT_TYPES_I32 ? CT_i32 : CT_u32);
  }
  if (is_own(op)) {
    return is_wide_float(t);
  }
  switch (op) {
    case CT_OP_DIV:
    case CT_OP_FMA:
    case CT_OP_SQRT:
    case CT_OP_FMOD:
    case CT_OP_COPYSIGN:
    case CT_OP_FLOOR:
    case CT_OP_TRUNC:
    case CT_OP_ROUND:
    case CT_OP_RINT:
    case CT_OP_CEIL: return is_wide_float(t);
    case CT_OP_FAST_EXP:
    case CT_OP_FAST_EXP10:
    case CT_OP_FAST_LOG:
    case CT_OP_FAST_LOG2:
    case CT_OP_FAST_LOG10:
    case CT_OP_FAST_SIN:
    case CT_OP_FAST_COS:
    case CT_OP_FAST_TANH:
    case CT_OP_FAST_RCP:
    case CT_OP_FAST_SQRT:
    case CT_OP_FAST_RSQRT:
    case CT_OP_FAST_DIV:
    case CT_OP_FAST_POW:
    case CT_OP_EX2: return t == CT_f32;
    case CT_OP_MULHI:
    case CT_OP_AND:
    case CT_OP_OR:
    case CT_OP_XOR:
    case CT_OP_SHL:
    case CT_OP_SHR:
    case CT_OP_BREV:
    case CT_OP_POPC:
    case CT_OP_CLZ:
    case CT_OP_FFS:
    case CT_OP_NOT: return ct_is_int(t) && !ct_is_narrow(t);
    case CT_OP_ASHR: return t == CT_i32 || t == CT_i64;
    case CT_OP_LAND:
    case CT_OP_LOR:
    case CT_OP_LNOT: return t == CT_bool;
    case CT_OP_SELECT: return true;
    case CT_OP_EQ:
    case CT_OP_NE: return !ct_is_narrow(t);
    default: return t != CT_bool && !ct_is_narrow(t);
  }
}

int main(void) {
  static const char *const isas[] = {"base", "avx2", "avx512"};
  CtSimtEngine *engines[3];
  int n = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(isas); i++) {
    CtErr err;
    n += ct_simt_open(ct_alloc_std, 1 + (int)i % 2, isas[i], &engines[n], &err) == CT_OK;
  }
  OK(n >= 1, "%d instruction sets to test", n);
  for (int op = CT_OP_ADD; op < CT_OP_CAST; op++) {
    for (int t = CT_f64; t <= CT_bool; t++) {
      if (takes((CtOp)op, (CtDtype)t)) {
        CtDtype result = ct_ops[op].result == CT_RES_BOOL           ? CT_bool
                         : is_of_bits((CtOp)op) && op != CT_OP_BREV ? CT_i32
                                                                    : (CtDtype)t;
        test_case((Case){(CtOp)op, (CtDtype)t, result}, engines, n);
      }
    }
  }
  for (int from = CT_f64; from <= CT_bool; from++) {
    for (int to = CT_f64; to <= CT_bool; to++) {
      test_case((Case){CT_OP_CAST, (CtDtype)from, (CtDtype)to}, engines, n);
      if (from != to && to != CT_bool && from != CT_bool &&
          ct_dtypes[from].bits == ct_dtypes[to].bits) {
        test_case((Case){CT_OP_BITCAST, (CtDtype)from, (CtDtype)to}, engines, n);
      }
    }
  }
  for (int i = 0; i < n; i++) {
    ct_simt_close(engines[i]);
  }
  return done_testing();
}
