/* fuzz_layout.c: the texts of tuples, layouts and tilers. Whatever is read must print to a text that
   reads as the same value; what is refused must say why. What is read is also run through the
   algebra, which may refuse but not fail otherwise. */
#include "runtime/layout/composed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

static void need_message(CtStatus st, const CtErr *err) {
  need(st == CT_OK || (err->status == st && err->msg[0] != '\0' && strchr(err->msg, '\n') == NULL));
}

static void fuzz_tuple(const CtCx *cx, const char *s, size_t len) {
  CtErr err;
  CtTuple t, again;
  CtText text;
  CtStatus st = ct_tuple_parse(cx->arena, s, len, &t, &err);
  need_message(st, &err);
  if (st != CT_OK) {
    return;
  }
  ct_text_init(&text, ct_alloc_std);
  ct_tuple_print(cx, t, &text);
  need(ct_tuple_parse(cx->arena, ct_text_str(&text), text.len, &again, &err) == CT_OK);
  need(ct_tuple_equal(t, again));
  ct_text_clear(&text);
}

/* A chain of operations on what was read; each may refuse. */
static void use_layout(const CtCx *cx, CtLayout l, CtTiler tiler) {
  CtErr err;
  CtLayout r;
  CtInt i;
  int64_t n;
  CtTuple crd;
  need_message(ct_size(cx, l, &i, &err), &err);
  need_message(ct_cosize(cx, l, &i, &err), &err);
  need_message(ct_coalesce(cx, l, NULL, &r, &err), &err);
  need_message(ct_complement(cx, l, NULL, &r, &err), &err);
  need_message(ct_left_inverse(cx, l, &r, &err), &err);
  need_message(ct_max_common_vector(cx, l, l, &n, &err), &err);
  need_message(ct_idx2crd(cx, ct_int(7), l.shape, &crd, &err), &err);
  need_message(ct_layout_like(cx, l, &r, &err), &err);
  need_message(ct_fragment_layout_like(cx, l, &r, &err), &err);
  need_message(ct_zipped_divide(cx, l, tiler, &r, &err), &err);
  need_message(ct_flat_product(cx, l, tiler, &r, &err), &err);
  need_message(ct_composition(cx, l, tiler, &r, &err), &err);
  need_message(ct_blocked_product(cx, l, l, &r, &err), &err);
  need_message(ct_recast(cx, l, 16, 6, &r, &err), &err);
  need_message(ct_nullspace(cx, l, &r, &err), &err);
  need_message(ct_tile_to_shape(cx, l, l.shape, l.stride, &r, &err), &err);
  need_message(ct_domain_distribute(cx, l.shape, 360, &r, &err), &err);
  CtStatus st = ct_right_inverse(cx, l, &r, &err);
  need_message(st, &err);
  if (st == CT_OK) {
    need_message(ct_compose(cx, l, r, &r, &err), &err);
  }
  ct_layout_at(l, 12345);
}

/* The same names in the same nodes; with ct_layout_equal: the same layout. */
static void need_same_names(CtTuple a, CtTuple b) {
  for (uint32_t i = 0; i < a->len; i++) {
    need(a[i].name == b[i].name);
  }
}

/* A name in the layout is found, or its paths are told. */
static void find_names(const CtCx *cx, CtLayout l) {
  CtErr err;
  int path[CT_MAX_DEPTH], n;
  for (uint32_t i = 0; i < l.shape->len; i++) {
    if (l.shape[i].name != 0) {
      need_message(ct_find_mode(cx, "size", l, l.shape[i].name, path, &n, &err), &err);
      return;
    }
  }
}

static void fuzz_layout(const CtCx *cx, const char *s, size_t len, CtTiler tiler) {
  CtErr err;
  CtLayout l, again;
  CtText text;
  CtStatus st = ct_layout_parse(cx->arena, s, len, &l, &err);
  need_message(st, &err);
  if (st != CT_OK) {
    return;
  }
  ct_text_init(&text, ct_alloc_std);
  ct_layout_print(cx, l, &text);
  need(ct_layout_parse(cx->arena, ct_text_str(&text), text.len, &again, &err) == CT_OK);
  need(ct_layout_equal(l, again));
  need_same_names(l.shape, again.shape);
  find_names(cx, l);
  ct_text_clear(&text);
  use_layout(cx, l, tiler);
}

/* What differs under a swizzle; each may refuse. */
static void use_composed(const CtCx *cx, const CtComposed *c, CtTiler tiler) {
  CtErr err;
  CtComposed r;
  CtInt i;
  CtLayout l;
  int64_t n;
  CtNode seven = {.rank = CT_LEAF, .len = 1, .i = ct_int(7)};
  CtTuple value;
  need_message(ct_composed_evaluate(cx, &seven, c, &value, &err), &err);
  need_message(ct_composed_slice(cx, c->layout.shape, c, &r, &value, &err), &err);
  need_message(ct_composed_tile(cx, c, tiler, &seven, NULL, &r, &value, &err), &err);
  need_message(ct_composed_recast(cx, c, 16, 8, &r, &err), &err);
  need_message(ct_composed_recast(cx, c, 8, 32, &r, &err), &err);
  need_message(ct_composed_max_common_vector(cx, c, c, &n, &err), &err);
  need_message(ct_composed_max_common_layout(cx, c, c, &l, &err), &err);
  need_message(ct_composed_compose(cx, c, c, &r, &err), &err);
  need_message(ct_composed_left_inverse(cx, c, &r, &err), &err);
  CtStatus st = ct_size(cx, c->layout, &i, &err);
  bool is_empty = st == CT_OK && i.v == 0;
  if (st == CT_OK && i.v <= 1 << 12) { /* else listing the values takes long */
    need_message(ct_composed_cosize(cx, c, &i, &err), &err);
  }
  st = ct_composed_right_inverse(cx, c, &r, &err);
  need_message(st, &err);
  if (st == CT_OK && !is_empty && ct_size(cx, r.layout, &i, &err) == CT_OK && i.v > 7) {
    need(ct_composed_at(c, ct_composed_at(&r, 7)) == 7);
  }
}

static void fuzz_composed(const CtCx *cx, const char *s, size_t len, CtTiler tiler) {
  CtErr err;
  CtComposed c, again;
  CtText text;
  CtStatus st = ct_composed_parse(cx->arena, s, len, &c, &err);
  need_message(st, &err);
  if (st != CT_OK) {
    return;
  }
  ct_text_init(&text, ct_alloc_std);
  ct_composed_print(cx, &c, &text);
  need(ct_composed_parse(cx->arena, ct_text_str(&text), text.len, &again, &err) == CT_OK);
  need(ct_composed_equal(&c, &again));
  ct_text_clear(&text);
  use_composed(cx, &c, tiler);
}

static CtTiler fuzz_tiler(const CtCx *cx, const char *s, size_t len) {
  CtErr err;
  CtTiler t, again;
  CtText text, second;
  CtStatus st = ct_tiler_parse(cx->arena, s, len, &t, &err);
  need_message(st, &err);
  if (st != CT_OK) {
    return (CtTiler){.kind = CT_TILER_ANY};
  }
  ct_text_init(&text, ct_alloc_std);
  ct_text_init(&second, ct_alloc_std);
  ct_tiler_print(cx, t, &text);
  need(ct_tiler_parse(cx->arena, ct_text_str(&text), text.len, &again, &err) == CT_OK);
  ct_tiler_print(cx, again, &second);
  need(strcmp(ct_text_str(&text), ct_text_str(&second)) == 0);
  ct_text_clear(&text);
  ct_text_clear(&second);
  return t;
}

/* The input up to the first ';' is a tuple, a layout and a tiler; what follows, a tiler for it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  CtArena arena;
  CtCx cx = {&arena, NULL};
  const char *s = (const char *)data;
  const char *end = len > 0 ? memchr(s, ';', len) : NULL;
  size_t first = end == NULL ? len : (size_t)(end - s);
  ct_arena_init(&arena, ct_alloc_std);
  fuzz_tuple(&cx, s, first);
  CtTiler tiler = fuzz_tiler(&cx, s, first);
  if (end != NULL) {
    tiler = fuzz_tiler(&cx, end + 1, len - first - 1);
  }
  fuzz_layout(&cx, s, first, tiler);
  fuzz_composed(&cx, s, first, tiler);
  ct_arena_clear(&arena);
  return 0;
}
