/* swizzle.c: swizzles as values: their masks, application, merging and text. */
#include "layout_algebra.h"

#include <inttypes.h>
#include <string.h>

#include "tuple_parse.h"

enum { INDEX_BITS = 62 };

CtSwizzle al_swizzle_make(CtAlg *g, int64_t bits, int64_t base, int64_t shift) {
  bool small = bits >= 0 && bits <= INDEX_BITS && base >= 0 && base <= INDEX_BITS &&
               shift >= -INDEX_BITS && shift <= INDEX_BITS;
  int64_t places = shift < 0 ? -shift : shift;
  if (!small || base + places + bits > INDEX_BITS) {
    al_fail(g, CT_EINVAL,
            "swizzle: Sw<%" PRId64 ",%" PRId64 ",%" PRId64
            "> is out of range; expected B >= 0, M >= 0 and B + M + |S| <= %d",
            bits, base, shift, INDEX_BITS);
  } else if (places < bits) {
    al_fail(g, CT_EINVAL,
            "swizzle: the fields of Sw<%" PRId64 ",%" PRId64 ",%" PRId64
            "> overlap; expected |S| >= B",
            bits, base, shift);
  }
  return al_ok(g) ? (CtSwizzle){(int8_t)bits, (int8_t)base, (int8_t)shift} : (CtSwizzle){0};
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
  bool moves = (uint64_t)n > (y & (0 - y)); /* does some index have a deciding bit? */
  if (ct_add_overflow(n, moves && rest != 0 ? block - rest : 0, out)) {
    return ct_fail(err, CT_EOVERFLOW, "swizzle: the swizzled indices exceed 64 bits");
  }
  return CT_OK;
}

/* x / 2^from % 2^bits * 2^to: the deciding field, moved to the place of the changing one. */
static CtInt moved_field(CtAlg *g, CtSwizzle sw, CtInt x) {
  int from = sw.base + (sw.shift > 0 ? sw.shift : 0), to = sw.base + (sw.shift < 0 ? -sw.shift : 0);
  x = al_div(g, x, ct_int((int64_t)1 << from));
  x = al_mod(g, x, ct_int((int64_t)1 << sw.bits));
  return al_mul(g, x, ct_int((int64_t)1 << to));
}

CtInt al_swizzle(CtAlg *g, CtSwizzle sw, CtInt x) {
  if (x.kind == CT_ANY || x.basis_depth > 0) {
    al_fail(g, CT_EINVAL, "swizzle: a coordinate or '_' cannot be swizzled; expected a number");
  }
  if (ct_is_static(x) || sw.bits == 0) {
    return ct_is_static(x) ? ct_int(ct_swizzle_at(sw, x.v)) : x;
  }
  return al_op(g, CT_INT_XOR, x, moved_field(g, sw, x));
}

/* --- masks ------------------------------------------------------------------------------------ */

static bool is_run(uint64_t m) { /* of ones: 00111000, or none */
  return (m & (m + (m & (0 - m)))) == 0;
}

CtSwizzle al_swizzle_masks(CtAlg *g, int64_t y, int64_t z) {
  uint64_t uy = (uint64_t)y, uz = (uint64_t)z;
  if (y == 0 && z == 0) {
    return (CtSwizzle){0, 0, 0};
  }
  int bits = __builtin_popcountll(uy);
  if (y <= 0 || z <= 0 || !is_run(uy) || !is_run(uz) || bits != __builtin_popcountll(uz)) {
    al_fail(g, CT_EINVAL,
            "swizzle: masks %" PRId64 " and %" PRId64
            " do not form a swizzle; expected two runs of equally many bits",
            y, z);
    return (CtSwizzle){0, 0, 0};
  }
  int from = __builtin_ctzll(uy), to = __builtin_ctzll(uz), shift = from - to;
  if ((shift < 0 ? -shift : shift) < bits) {
    al_fail(g, CT_EINVAL,
            "swizzle: masks %" PRId64 " and %" PRId64
            " overlap; expected two separate runs of bits",
            y, z);
  }
  return al_swizzle_make(g, bits, from < to ? from : to, shift);
}

CtSwizzle al_swizzle_join(CtAlg *g, CtSwizzle a, CtSwizzle b) {
  CtAlg trial = al_trial(g);
  if (a.shift != b.shift && (a.bits == 0 || b.bits == 0)) {
    return a.bits == 0 ? b : a;
  }
  /* One shift: each deciding bit has its own changing bit, and what both change cancels out. */
  uint64_t y = ct_swizzle_y(a) ^ ct_swizzle_y(b), z = ct_swizzle_z(a) ^ ct_swizzle_z(b);
  CtSwizzle both = al_swizzle_masks(&trial, (int64_t)y, (int64_t)z);
  if (a.shift != b.shift || !al_ok(&trial)) {
    al_fail(g, CT_EINVAL,
            "composition: Sw<%d,%d,%d> after Sw<%d,%d,%d> is not a swizzle; "
            "expected equal shifts and fields that join to one run of bits",
            a.bits, a.base, a.shift, b.bits, b.base, b.shift);
  }
  return both;
}

/* --- other elements --------------------------------------------------------------------------- */

static int log2_factor(CtAlg *g, const char *op, CtSwizzle sw, int64_t n) {
  bool is_power = n > 0 && (n & (n - 1)) == 0;
  if (!is_power) {
    al_fail(g, CT_EINVAL, "%s: factor %" PRId64 " for Sw<%d,%d,%d>; expected a power of 2", op, n,
            sw.bits, sw.base, sw.shift);
  }
  return is_power ? __builtin_ctzll((uint64_t)n) : 0;
}

CtSwizzle al_swizzle_upcast(CtAlg *g, CtSwizzle sw, int64_t n) {
  int base = sw.base - log2_factor(g, "upcast", sw, n), bits = base < 0 ? sw.bits + base : sw.bits;
  return (CtSwizzle){(int8_t)(bits < 0 ? 0 : bits), (int8_t)(base < 0 ? 0 : base), sw.shift};
}

CtSwizzle al_swizzle_downcast(CtAlg *g, CtSwizzle sw, int64_t n) {
  return al_swizzle_make(g, sw.bits, sw.base + log2_factor(g, "downcast", sw, n), sw.shift);
}

bool al_check_bits(CtAlg *g, int64_t from_bits, int64_t to_bits) {
  if (from_bits <= 0 || to_bits <= 0) {
    al_fail(g, CT_EINVAL, "recast: %" PRId64 " to %" PRId64 " bits; expected numbers > 0",
            from_bits, to_bits);
    return false;
  }
  return al_ok(g);
}

CtSwizzle al_swizzle_recast(CtAlg *g, CtSwizzle sw, int64_t from_bits, int64_t to_bits) {
  if (!al_check_bits(g, from_bits, to_bits)) {
    return sw;
  }
  int64_t gcd = ct_gcd(from_bits, to_bits);
  return al_swizzle_downcast(g, al_swizzle_upcast(g, sw, to_bits / gcd), from_bits / gcd);
}

/* --- text ------------------------------------------------------------------------------------- */

bool ct_begins_swizzle(const char *text, size_t len) {
  return (len >= 3 && memcmp(text, "Sw<", 3) == 0) || (len >= 2 && memcmp(text, "S<", 2) == 0);
}

/* swizzle := ( 'Sw<' | 'S<' ) int ',' int ',' int '>' */
CtSwizzle ct_parse_swizzle(CtParse *p) {
  int64_t n[3];
  static const char before[] = "<,,";
  if (!ct_parse_word(p, "Sw") && !ct_parse_word(p, "S")) {
    ct_parse_fail(p, p->at, "expected 'Sw<B,M,S>'");
  }
  for (int i = 0; i < 3; i++) {
    ct_parse_expect(p, before[i]);
    n[i] = ct_parse_number(p);
  }
  ct_parse_expect(p, '>');
  return al_ok(&p->g) ? al_swizzle_make(&p->g, n[0], n[1], n[2]) : (CtSwizzle){0};
}

void ct_swizzle_print(CtSwizzle sw, CtText *out) {
  ct_text_printf(out, "Sw<%d,%d,%d>", sw.bits, sw.base, sw.shift);
}
