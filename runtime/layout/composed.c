/* composed.c: layouts under a swizzle as values: evaluation, slices, recasts, text.
   composed_compose.c moves a swizzle through a layout. */
#include <inttypes.h>
#include <string.h>

#include "layout_algebra.h"
#include "tuple_parse.h"

CtComposed al_composed(CtAlg *g, CtSwizzle sw, CtInt offset, CtLayout l) {
  if (sw.bits == 0 && ct_is_const(offset, 0)) {
    return ct_composed_plain(l);
  }
  if (offset.kind == CT_ANY || offset.basis_depth > 0) {
    al_fail(g, CT_EINVAL, "composition: offset %s of a swizzled layout; expected a number",
            al_show_int(g, offset));
  } else if (ct_has_basis(l.stride)) {
    al_fail(g, CT_EINVAL,
            "composition: the values of %s are coordinates; only indices can be swizzled",
            al_show_layout(g, l));
  }
  return (CtComposed){.layout = l, .offset = offset, .swizzle = sw, .is_swizzled = true};
}

bool ct_composed_equal(const CtComposed *a, const CtComposed *b) {
  if (a->is_swizzled != b->is_swizzled || !ct_layout_equal(a->layout, b->layout)) {
    return false;
  }
  return !a->is_swizzled ||
         (ct_swizzle_equal(a->swizzle, b->swizzle) && ct_int_equal(a->offset, b->offset));
}

bool ct_composed_is_static(const CtComposed *c) {
  return ct_layout_is_static(c->layout) && ct_is_static(c->offset);
}

/* --- evaluation ------------------------------------------------------------------------------- */

CtInt al_index(CtAlg *g, CtTuple crd, CtComposed c) {
  CtInt i = al_plain_index(g, crd, c.layout);
  return c.is_swizzled ? al_swizzle(g, c.swizzle, al_add(g, c.offset, i)) : i;
}

CtTuple al_evaluate(CtAlg *g, CtTuple crd, CtComposed c) {
  return c.is_swizzled ? al_leaf(g, al_index(g, crd, c)) : al_plain_evaluate(g, crd, c.layout);
}

int64_t ct_composed_at(const CtComposed *c, int64_t i) {
  int64_t at = ct_layout_at(c->layout, i);
  return c->is_swizzled ? ct_swizzle_at(c->swizzle, c->offset.v + at) : at;
}

/* The index of the fixed part moves into the offset. */
CtComposed al_slice(CtAlg *g, CtTuple crd, CtComposed c, CtTuple *offset) {
  CtComposed part = ct_composed_with(&c, al_keep(g, "slice", true, crd, c.layout));
  *offset = al_plain_evaluate(g, crd, c.layout);
  if (c.is_swizzled && al_ok(g)) {
    part.offset = al_add(g, c.offset, (*offset)->i);
    *offset = al_leaf(g, ct_int(0));
  }
  return part;
}

/* --- other elements --------------------------------------------------------------------------- */

CtComposed al_upcast(CtAlg *g, CtComposed c, int64_t n) {
  CtLayout l = al_plain_upcast(g, c.layout, n);
  if (!al_ok(g) || !c.is_swizzled) {
    return ct_composed_plain(l);
  }
  CtSwizzle sw = al_swizzle_upcast(g, c.swizzle, n);
  if (al_ok(g) && !al_divides(g, ct_int(n), c.offset)) {
    al_fail(g, CT_EINVAL, "upcast: offset %s in %s is not known to be a multiple of %" PRId64,
            al_show_int(g, c.offset), al_show_composed(g, c), n);
  }
  return al_composed(g, sw, al_div(g, c.offset, ct_int(n)), l);
}

CtComposed al_downcast(CtAlg *g, CtComposed c, int64_t n) {
  CtLayout l = al_plain_downcast(g, c.layout, n);
  if (!al_ok(g) || !c.is_swizzled) {
    return ct_composed_plain(l);
  }
  CtSwizzle sw = al_swizzle_downcast(g, c.swizzle, n);
  return al_composed(g, sw, al_mul(g, c.offset, ct_int(n)), l);
}

CtComposed al_recast(CtAlg *g, CtComposed c, int64_t from_bits, int64_t to_bits) {
  if (!al_check_bits(g, from_bits, to_bits)) {
    return c;
  }
  int64_t gcd = ct_gcd(from_bits, to_bits), larger = to_bits / gcd, smaller = from_bits / gcd;
  c = larger > 1 ? al_upcast(g, c, larger) : c;
  c = smaller > 1 ? al_downcast(g, c, smaller) : c;
  c.layout = al_copy(g, c.layout);
  return c;
}

/* --- common vectors ---------------------------------------------------------------------------- */

/* The number of elements, from the first one on, that the swizzle keeps together. */
static int64_t kept_together(const CtAlg *g, CtComposed c) {
  if (!c.is_swizzled) {
    return INT64_MAX;
  }
  int64_t run = (int64_t)1 << c.swizzle.base, div = ct_int_facts(&g->cx, c.offset).div;
  /* its largest factor that is a power of 2 */
  int64_t aligned = (int64_t)((uint64_t)div & (0 - (uint64_t)div));
  return div == 0 ? run : ct_min(run, aligned);
}

int64_t al_max_common_vector(CtAlg *g, CtComposed a, CtComposed b) {
  int64_t n = al_common_vector(g, a.layout, b.layout);
  return ct_min(n, ct_min(kept_together(g, a), kept_together(g, b)));
}

CtLayout al_max_common_layout(CtAlg *g, CtComposed a, CtComposed b) {
  CtLeafLayout nodes;
  CtLayout common = al_common_layout(g, a.layout, b.layout);
  CtInt most = ct_int(ct_min(kept_together(g, a), kept_together(g, b)));
  return al_le(g, al_size(g, common), most)
             ? common
             : al_plain_compose(g, common, ct_leaf_layout(&nodes, most, ct_int(1)));
}

/* --- text -------------------------------------------------------------------------------------- */

/* A pointer and the 'o' after it, as CuTe prints the memory of a tensor: smem_ptr[16b](0x7f40) o. Returns the bits
   of an element, or 0 if there is none. The address says nothing about the layout. */
static int64_t parse_pointer(CtParse *p) {
  static const char *const pointers[] = {"gmem_ptr[", "smem_ptr[", "rmem_ptr[", "tmem_ptr[",
                                         "ptr["};
  bool is_one = false;
  for (size_t i = 0; i < CT_ARRAY_LEN(pointers) && !is_one; i++) {
    is_one = ct_parse_word(p, pointers[i]);
  }
  if (!is_one) {
    return 0;
  }
  size_t begin = p->at;
  int64_t bits = ct_parse_number(p);
  if (bits < 1) {
    ct_parse_fail(p, begin, "an element has 1 bit or more");
  }
  ct_parse_expect(p, 'b');
  ct_parse_expect(p, ']');
  ct_parse_expect(p, '(');
  while (p->at < p->len && p->s[p->at] != ')') {
    p->at++;
  }
  ct_parse_expect(p, ')');
  ct_parse_expect(p, 'o');
  return al_ok(&p->g) ? bits : 0;
}

/* A swizzle of addresses, which count bytes, as one of elements. */
static CtSwizzle of_elements(CtAlg *g, CtSwizzle sw, int64_t bits) {
  return bits >= 8 ? al_swizzle_upcast(g, sw, bits / 8) : al_swizzle_downcast(g, sw, 8 / bits);
}

/* composed := swizzle 'o' int 'o' layout | swizzle ( 'o' | '_' ) pointer 'o' layout | [ pointer 'o' ] layout */
CtComposed ct_parse_composed(CtParse *p) {
  /* names of modes may begin with S, too */
  bool is_swizzled = ct_parse_peek(p) == 'S' && ct_begins_swizzle(p->s + p->at, p->len - p->at);
  if (!is_swizzled) {
    (void)parse_pointer(p);
    return ct_composed_plain(ct_parse_layout(p));
  }
  CtSwizzle sw = ct_parse_swizzle(p);
  bool must_point = ct_parse_accept(p, '_');
  if (!must_point) {
    ct_parse_expect(p, 'o');
  }
  int64_t bits = parse_pointer(p);
  if (bits > 0) {
    return al_composed(&p->g, of_elements(&p->g, sw, bits), ct_int(0), ct_parse_layout(p));
  }
  if (must_point) {
    ct_parse_fail(p, p->at, "expected a pointer such as smem_ptr[16b](0x0)");
  }
  CtInt offset = ct_int(ct_parse_static(p));
  ct_parse_expect(p, 'o');
  return al_composed(&p->g, sw, offset, ct_parse_layout(p));
}

const char *al_show_composed(const CtAlg *g, CtComposed c) {
  CtText t;
  if (c.layout.shape == NULL || c.layout.stride == NULL) {
    return "?";
  }
  ct_text_init(&t, g->cx.arena->alloc);
  ct_composed_print(&g->cx, &c, &t);
  return al_keep_text(g, &t);
}

void ct_composed_print(const CtCx *cx, const CtComposed *c, CtText *out) {
  if (c->is_swizzled) {
    ct_swizzle_print(c->swizzle, out);
    ct_text_puts(out, " o ");
    ct_int_print(cx, c->offset, out);
    ct_text_puts(out, " o ");
  }
  ct_layout_print(cx, c->layout, out);
}
