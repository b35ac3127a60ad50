/* swizzle.c: swizzles as values: their masks, application, merging and text. */
#include "swizzle.h"

#include <inttypes.h>

#include "tuple_parse.h"

enum { INDEX_BITS = 62 };

CtStatus ct_swizzle_make(int64_t bits, int64_t base, int64_t shift, CtSwizzle *out, CtErr *err) {
  bool small = bits >= 0 && bits <= INDEX_BITS && base >= 0 && base <= INDEX_BITS &&
               shift >= -INDEX_BITS && shift <= INDEX_BITS;
  int64_t places = shift < 0 ? -shift : shift;
  if (!small || base + places + bits > INDEX_BITS) {
    return ct_fail(err, CT_EINVAL,
                   "swizzle: Sw<%" PRId64 ",%" PRId64 ",%" PRId64
                   "> is out of range; expected B >= 0, M >= 0 and B + M + |S| <= %d",
                   bits, base, shift, INDEX_BITS);
  }
  if (places < bits) {
    return ct_fail(err, CT_EINVAL,
                   "swizzle: the fields of Sw<%" PRId64 ",%" PRId64 ",%" PRId64
                   "> overlap; expected |S| >= B",
                   bits, base, shift);
  }
  *out = (CtSwizzle){(int8_t)bits, (int8_t)base, (int8_t)shift};
  return CT_OK;
}

static uint64_t field(CtSwizzle sw, int up) {
  return (((uint64_t)1 << sw.bits) - 1) << (sw.base + up);
}

uint64_t ct_swizzle_y(CtSwizzle sw) { return field(sw, sw.shift > 0 ? sw.shift : 0); }

uint64_t ct_swizzle_z(CtSwizzle sw) { return field(sw, sw.shift < 0 ? -sw.shift : 0); }

int64_t ct_swizzle_at(CtSwizzle sw, int64_t x) {
  uint64_t y = (uint64_t)x & ct_swizzle_y(sw);
  return (int64_t)((uint64_t)x ^ (sw.shift > 0 ? y >> sw.shift : y << -sw.shift));
}

int64_t ct_swizzle_block(CtSwizzle sw) {
  int up = sw.shift < 0 ? -sw.shift : 0;
  return (int64_t)1 << (sw.bits == 0 ? 0 : sw.base + up + sw.bits);
}

int64_t ct_swizzle_period(CtSwizzle sw) {
  int up = sw.shift < 0 ? -sw.shift : sw.shift;
  return (int64_t)1 << (sw.bits == 0 ? 0 : sw.base + up + sw.bits);
}

CtStatus ct_swizzle_extent(CtSwizzle sw, int64_t n, int64_t *out, CtErr *err) {
  uint64_t y = ct_swizzle_y(sw);
  int64_t block = ct_swizzle_block(sw), rest = n % block;
  bool moves = (uint64_t)n > (y & (0 - y)); /* some index has a deciding bit */
  if (ct_add_overflow(n, moves && rest != 0 ? block - rest : 0, out)) {
    return ct_fail(err, CT_EOVERFLOW, "swizzle: the swizzled indices exceed 64 bits");
  }
  return CT_OK;
}

/* x / 2^from % 2^bits * 2^to: the deciding field in the place of the changing one. */
static CtStatus moved_field(const CtCx *cx, CtSwizzle sw, CtInt x, CtInt *out, CtErr *err) {
  int from = sw.base + (sw.shift > 0 ? sw.shift : 0), to = sw.base + (sw.shift < 0 ? -sw.shift : 0);
  CtStatus st = ct_int_op(cx, CT_INT_DIV, x, ct_int((int64_t)1 << from), &x, err);
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_MOD, x, ct_int((int64_t)1 << sw.bits), &x, err);
  }
  return st == CT_OK ? ct_int_op(cx, CT_INT_MUL, x, ct_int((int64_t)1 << to), out, err) : st;
}

CtStatus ct_swizzle_apply(const CtCx *cx, CtSwizzle sw, CtInt x, CtInt *out, CtErr *err) {
  CtInt moved;
  if (x.kind == CT_ANY || x.basis_depth > 0) {
    return ct_fail(err, CT_EINVAL,
                   "swizzle: a coordinate or '_' cannot be swizzled; expected a number");
  }
  if (ct_is_static(x) || sw.bits == 0) {
    *out = ct_is_static(x) ? ct_int(ct_swizzle_at(sw, x.v)) : x;
    return CT_OK;
  }
  CtStatus st = moved_field(cx, sw, x, &moved, err);
  return st == CT_OK ? ct_int_op(cx, CT_INT_XOR, x, moved, out, err) : st;
}

/* --- masks ------------------------------------------------------------------------------------ */

static bool is_run(uint64_t m) { /* of ones: 00111000, or none */
  return (m & (m + (m & (0 - m)))) == 0;
}

CtStatus ct_swizzle_from_masks(int64_t y, int64_t z, CtSwizzle *out, CtErr *err) {
  uint64_t uy = (uint64_t)y, uz = (uint64_t)z;
  if (y == 0 && z == 0) {
    *out = (CtSwizzle){0, 0, 0};
    return CT_OK;
  }
  int bits = __builtin_popcountll(uy);
  if (y <= 0 || z <= 0 || !is_run(uy) || !is_run(uz) || bits != __builtin_popcountll(uz)) {
    return ct_fail(err, CT_EINVAL,
                   "swizzle: masks %" PRId64 " and %" PRId64
                   " do not form a swizzle; expected two runs of equally many bits",
                   y, z);
  }
  int from = __builtin_ctzll(uy), to = __builtin_ctzll(uz), shift = from - to;
  if ((shift < 0 ? -shift : shift) < bits) {
    return ct_fail(err, CT_EINVAL,
                   "swizzle: masks %" PRId64 " and %" PRId64
                   " overlap; expected two runs of bits apart from each other",
                   y, z);
  }
  return ct_swizzle_make(bits, from < to ? from : to, shift, out, err);
}

CtStatus ct_swizzle_compose(CtSwizzle a, CtSwizzle b, CtSwizzle *out, CtErr *err) {
  if (a.shift != b.shift && (a.bits == 0 || b.bits == 0)) {
    *out = a.bits == 0 ? b : a;
    return CT_OK;
  }
  /* One shift: each deciding bit has its own changing bit, and what both change cancels out. */
  uint64_t y = ct_swizzle_y(a) ^ ct_swizzle_y(b), z = ct_swizzle_z(a) ^ ct_swizzle_z(b);
  if (a.shift != b.shift || ct_swizzle_from_masks((int64_t)y, (int64_t)z, out, NULL) != CT_OK) {
    return ct_fail(err, CT_EINVAL,
                   "composition: Sw<%d,%d,%d> after Sw<%d,%d,%d> is no swizzle; expected equal "
                   "shifts and fields that join to one run of bits",
                   a.bits, a.base, a.shift, b.bits, b.base, b.shift);
  }
  return CT_OK;
}

/* --- other elements --------------------------------------------------------------------------- */

static CtStatus log2_factor(const char *op, CtSwizzle sw, int64_t n, int *out, CtErr *err) {
  if (n <= 0 || (n & (n - 1)) != 0) {
    return ct_fail(err, CT_EINVAL, "%s: factor %" PRId64 " for Sw<%d,%d,%d>; expected a power of 2",
                   op, n, sw.bits, sw.base, sw.shift);
  }
  *out = __builtin_ctzll((uint64_t)n);
  return CT_OK;
}

CtStatus ct_swizzle_upcast(CtSwizzle sw, int64_t n, CtSwizzle *out, CtErr *err) {
  int k = 0;
  CtStatus st = log2_factor("upcast", sw, n, &k, err);
  if (st != CT_OK) {
    return st;
  }
  int base = sw.base - k, bits = base < 0 ? sw.bits + base : sw.bits;
  *out = (CtSwizzle){(int8_t)(bits < 0 ? 0 : bits), (int8_t)(base < 0 ? 0 : base), sw.shift};
  return CT_OK;
}

CtStatus ct_swizzle_downcast(CtSwizzle sw, int64_t n, CtSwizzle *out, CtErr *err) {
  int k = 0;
  CtStatus st = log2_factor("downcast", sw, n, &k, err);
  return st == CT_OK ? ct_swizzle_make(sw.bits, sw.base + k, sw.shift, out, err) : st;
}

CtStatus ct_swizzle_recast(CtSwizzle sw, int64_t from_bits, int64_t to_bits, CtSwizzle *out,
                           CtErr *err) {
  if (from_bits <= 0 || to_bits <= 0) {
    return ct_fail(err, CT_EINVAL, "recast: %" PRId64 " to %" PRId64 " bits; expected numbers > 0",
                   from_bits, to_bits);
  }
  int64_t gcd = ct_gcd(from_bits, to_bits);
  CtStatus st = ct_swizzle_upcast(sw, to_bits / gcd, &sw, err);
  return st == CT_OK ? ct_swizzle_downcast(sw, from_bits / gcd, out, err) : st;
}

/* --- text ------------------------------------------------------------------------------------- */

/* swizzle := 'Sw<' int ',' int ',' int '>' */
CtStatus ct_parse_swizzle(CtParse *p, CtSwizzle *out) {
  int64_t n[3];
  static const char before[] = "<,,";
  CtStatus st = ct_parse_word(p, "Sw") ? CT_OK : ct_parse_fail(p, p->at, "expected 'Sw<B,M,S>'");
  for (int i = 0; st == CT_OK && i < 3; i++) {
    st = ct_parse_expect(p, before[i]);
    if (st == CT_OK) {
      st = ct_parse_number(p, &n[i]);
    }
  }
  if (st == CT_OK) {
    st = ct_parse_expect(p, '>');
  }
  return st == CT_OK ? ct_swizzle_make(n[0], n[1], n[2], out, p->err) : st;
}

CtStatus ct_swizzle_parse(CtArena *a, const char *s, size_t len, CtSwizzle *out, CtErr *err) {
  CtParse p;
  CtSwizzle sw;
  ct_parse_init(&p, a, "swizzle", s, len, err);
  CtStatus st = ct_parse_swizzle(&p, &sw);
  if (st == CT_OK) {
    st = ct_parse_end(&p);
  }
  if (st == CT_OK) {
    *out = sw;
  }
  return st;
}

void ct_swizzle_print(CtSwizzle sw, CtText *out) {
  ct_text_printf(out, "Sw<%d,%d,%d>", sw.bits, sw.base, sw.shift);
}
