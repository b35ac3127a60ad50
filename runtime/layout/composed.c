/* composed.c: layouts under a swizzle as values: evaluation, slices, other elements, text. What
   moves a swizzle through a layout is in composed_compose.c. */
#include "composed.h"

#include <inttypes.h>
#include <string.h>

#include "layout_flat.h"
#include "tuple_parse.h"

CtStatus ct_composed_make(const CtCx *cx, CtSwizzle sw, CtInt offset, CtLayout l, CtComposed *out,
                          CtErr *err) {
  if (sw.bits == 0 && ct_is_const(offset, 0)) {
    *out = ct_composed_plain(l);
    return CT_OK;
  }
  if (offset.kind == CT_ANY || offset.basis_depth > 0) {
    return ct_fail(err, CT_EINVAL, "composition: offset %s of a swizzled layout; expected a number",
                   ct_show_int(cx, offset));
  }
  if (ct_has_basis(l.stride)) {
    return ct_fail(err, CT_EINVAL,
                   "composition: the values of %s are coordinates; only indices can be swizzled",
                   ct_show_layout(cx, l));
  }
  *out = (CtComposed){.layout = l, .offset = offset, .swizzle = sw, .is_swizzled = true};
  return CT_OK;
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

CtStatus ct_composed_crd2idx(const CtCx *cx, CtTuple crd, const CtComposed *c, CtInt *out,
                             CtErr *err) {
  CtInt i;
  CtStatus st = ct_crd2idx(cx, crd, c->layout, &i, err);
  if (st == CT_OK && c->is_swizzled) {
    st = ct_int_op(cx, CT_INT_ADD, c->offset, i, &i, err);
    if (st == CT_OK) {
      st = ct_swizzle_apply(cx, c->swizzle, i, &i, err);
    }
  }
  if (st == CT_OK) {
    *out = i;
  }
  return st;
}

CtStatus ct_composed_evaluate(const CtCx *cx, CtTuple crd, const CtComposed *c, CtTuple *out,
                              CtErr *err) {
  CtInt i;
  if (!c->is_swizzled) {
    return ct_evaluate(cx, crd, c->layout, out, err);
  }
  CtStatus st = ct_composed_crd2idx(cx, crd, c, &i, err);
  CtTuple leaf = st == CT_OK ? ct_leaf(cx->arena, i) : NULL;
  if (leaf != NULL) {
    *out = leaf;
  }
  return st == CT_OK && leaf == NULL ? ct_fail_nomem(err) : st;
}

int64_t ct_composed_at(const CtComposed *c, int64_t i) {
  int64_t at = ct_layout_at(c->layout, i);
  return c->is_swizzled ? ct_swizzle_at(c->swizzle, c->offset.v + at) : at;
}

/* --- parts: what is fixed moves into the offset ------------------------------------------------ */

/* `part` of c that begins at `at`. */
static CtStatus make_part(const CtCx *cx, const CtComposed *c, CtLayout part, CtTuple at,
                          CtComposed *out, CtTuple *offset, CtErr *err) {
  CtComposed r = ct_composed_with(c, part);
  if (c->is_swizzled) {
    CtStatus st = ct_int_op(cx, CT_INT_ADD, c->offset, at->i, &r.offset, err);
    at = ct_leaf(cx->arena, ct_int(0));
    if (st != CT_OK || at == NULL) {
      return st != CT_OK ? st : ct_fail_nomem(err);
    }
  }
  *out = r;
  *offset = at;
  return CT_OK;
}

CtStatus ct_composed_slice(const CtCx *cx, CtTuple crd, const CtComposed *c, CtComposed *out,
                           CtTuple *offset, CtErr *err) {
  CtLayout part;
  CtTuple at;
  CtStatus st = ct_slice_at(cx, crd, c->layout, &part, &at, err);
  return st == CT_OK ? make_part(cx, c, part, at, out, offset, err) : st;
}

CtStatus ct_composed_tile(const CtCx *cx, const CtComposed *c, CtTiler tiler, CtTuple crd,
                          CtTuple proj, CtComposed *out, CtTuple *offset, CtErr *err) {
  CtLayout part;
  CtTuple at;
  CtStatus st = ct_tile_at(cx, c->layout, tiler, crd, proj, &part, &at, err);
  return st == CT_OK ? make_part(cx, c, part, at, out, offset, err) : st;
}

CtStatus ct_composed_parallelize(const CtCx *cx, const CtComposed *c, CtLayout thr, CtInt idx,
                                 CtTuple proj, CtComposed *out, CtTuple *offset, CtErr *err) {
  CtLayout part;
  CtTuple at;
  CtStatus st = ct_parallelize_at(cx, c->layout, thr, idx, proj, &part, &at, err);
  return st == CT_OK ? make_part(cx, c, part, at, out, offset, err) : st;
}

/* --- other elements --------------------------------------------------------------------------- */

CtStatus ct_composed_upcast(const CtCx *cx, const CtComposed *c, int64_t n, CtComposed *out,
                            CtErr *err) {
  CtLayout l;
  CtSwizzle sw;
  CtInt offset;
  CtStatus st = ct_upcast(cx, c->layout, n, &l, err);
  if (st != CT_OK || !c->is_swizzled) {
    if (st == CT_OK) {
      *out = ct_composed_plain(l);
    }
    return st;
  }
  st = ct_swizzle_upcast(c->swizzle, n, &sw, err);
  if (st == CT_OK && ct_int_divides(cx, ct_int(n), c->offset) != CT_KNOWN_YES) {
    st =
        ct_fail(err, CT_EINVAL, "upcast: offset %s in %s is not known to be a multiple of %" PRId64,
                ct_show_int(cx, c->offset), ct_show_composed(cx, c), n);
  }
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_DIV, c->offset, ct_int(n), &offset, err);
  }
  return st == CT_OK ? ct_composed_make(cx, sw, offset, l, out, err) : st;
}

CtStatus ct_composed_downcast(const CtCx *cx, const CtComposed *c, int64_t n, CtComposed *out,
                              CtErr *err) {
  CtLayout l;
  CtSwizzle sw;
  CtInt offset;
  CtStatus st = ct_downcast(cx, c->layout, n, &l, err);
  if (st != CT_OK || !c->is_swizzled) {
    if (st == CT_OK) {
      *out = ct_composed_plain(l);
    }
    return st;
  }
  st = ct_swizzle_downcast(c->swizzle, n, &sw, err);
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_MUL, c->offset, ct_int(n), &offset, err);
  }
  return st == CT_OK ? ct_composed_make(cx, sw, offset, l, out, err) : st;
}

CtStatus ct_composed_recast(const CtCx *cx, const CtComposed *c, int64_t from_bits, int64_t to_bits,
                            CtComposed *out, CtErr *err) {
  CtComposed r = *c;
  if (!c->is_swizzled || from_bits <= 0 || to_bits <= 0) {
    CtStatus st = ct_recast(cx, c->layout, from_bits, to_bits, &r.layout, err);
    if (st == CT_OK) {
      *out = r;
    }
    return st;
  }
  int64_t gcd = ct_gcd(from_bits, to_bits), larger = to_bits / gcd, smaller = from_bits / gcd;
  CtStatus st = larger > 1 ? ct_composed_upcast(cx, c, larger, &r, err) : CT_OK;
  if (st == CT_OK && smaller > 1) {
    st = ct_composed_downcast(cx, &r, smaller, &r, err);
  }
  if (st == CT_OK) {
    *out = r;
  }
  return st;
}

/* --- common vectors ---------------------------------------------------------------------------- */

/* How many elements from the first one on the swizzle keeps together. */
static int64_t kept_together(const CtCx *cx, const CtComposed *c) {
  if (!c->is_swizzled) {
    return INT64_MAX;
  }
  int64_t run = (int64_t)1 << c->swizzle.base, div = ct_int_facts(cx, c->offset).div;
  int64_t aligned = (int64_t)((uint64_t)div & (0 - (uint64_t)div)); /* its power of 2 */
  return div == 0 ? run : ct_min(run, aligned);
}

CtStatus ct_composed_max_common_vector(const CtCx *cx, const CtComposed *a, const CtComposed *b,
                                       int64_t *out, CtErr *err) {
  int64_t n;
  CtStatus st = ct_max_common_vector(cx, a->layout, b->layout, &n, err);
  if (st == CT_OK) {
    *out = ct_min(n, ct_min(kept_together(cx, a), kept_together(cx, b)));
  }
  return st;
}

CtStatus ct_composed_max_common_layout(const CtCx *cx, const CtComposed *a, const CtComposed *b,
                                       CtLayout *out, CtErr *err) {
  CtLayout common;
  CtLeafLayout nodes;
  CtInt n;
  int64_t most = ct_min(kept_together(cx, a), kept_together(cx, b));
  CtStatus st = ct_max_common_layout(cx, a->layout, b->layout, &common, err);
  if (st == CT_OK) {
    st = ct_size(cx, common, &n, err);
  }
  if (st == CT_OK && ct_int_le(cx, n, ct_int(most)) != CT_KNOWN_YES) {
    st = ct_compose(cx, common, ct_leaf_layout(&nodes, ct_int(most), ct_int(1)), &common, err);
  }
  if (st == CT_OK) {
    *out = common;
  }
  return st;
}

/* --- text -------------------------------------------------------------------------------------- */

/* composed := swizzle 'o' int 'o' layout | layout */
static CtStatus parse_swizzled(CtParse *p, CtComposed *out) {
  CtSwizzle sw;
  CtInt offset = ct_int(0);
  CtLayout l;
  CtCx cx = {p->arena, NULL};
  CtStatus st = ct_parse_swizzle(p, &sw);
  if (st == CT_OK) {
    st = ct_parse_expect(p, 'o');
  }
  if (st == CT_OK) {
    st = ct_parse_number(p, &offset.v);
  }
  if (st == CT_OK) {
    st = ct_parse_expect(p, 'o');
  }
  if (st == CT_OK) {
    st = ct_parse_layout(p, &l);
  }
  return st == CT_OK ? ct_composed_make(&cx, sw, offset, l, out, p->err) : st;
}

static bool begins_swizzle(CtParse *p) { /* a mode's name may begin with Sw as well */
  return ct_parse_peek(p) == 'S' && p->len - p->at >= 3 && memcmp(p->s + p->at, "Sw<", 3) == 0;
}

CtStatus ct_composed_parse(CtArena *a, const char *s, size_t len, CtComposed *out, CtErr *err) {
  CtParse p;
  CtComposed c = {.offset = ct_int(0)};
  ct_parse_init(&p, a, "layout", s, len, err);
  CtStatus st = begins_swizzle(&p) ? parse_swizzled(&p, &c) : ct_parse_layout(&p, &c.layout);
  if (st == CT_OK) {
    st = ct_parse_end(&p);
  }
  if (st == CT_OK) {
    *out = c;
  }
  return st;
}

const char *ct_show_composed(const CtCx *cx, const CtComposed *c) {
  CtText t;
  ct_text_init(&t, cx->arena->alloc);
  ct_composed_print(cx, c, &t);
  return ct_keep_text(cx, &t);
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
