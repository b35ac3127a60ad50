/* layout_text.c: layouts and tilers as text, read and written. */
#include <string.h>

#include "layout.h"
#include "layout_flat.h"
#include "tuple_parse.h"

/* layout := tuple [ ':' tuple ] */
static CtStatus parse_layout_rest(CtParse *p, CtTuple shape, CtLayout *out) {
  CtCx cx = {p->arena, NULL};
  CtTuple stride = NULL;
  if (ct_parse_accept(p, ':')) {
    const char *unnamed = p->unnamed;
    p->unnamed = "strides have no names; unexpected name";
    CtStatus st = ct_parse_tuple(p, &stride);
    p->unnamed = unnamed;
    if (st != CT_OK) {
      return st;
    }
  }
  return ct_layout_make(&cx, shape, stride, out, p->err);
}

CtStatus ct_parse_layout(CtParse *p, CtLayout *out) {
  CtTuple shape;
  CtStatus st = ct_parse_tuple(p, &shape);
  return st == CT_OK ? parse_layout_rest(p, shape, out) : st;
}

CtStatus ct_layout_parse(CtArena *a, const char *s, size_t len, CtLayout *out, CtErr *err) {
  CtParse p;
  CtLayout l;
  ct_parse_init(&p, a, "layout", s, len, err);
  CtStatus st = ct_parse_layout(&p, &l);
  if (st == CT_OK) {
    st = ct_parse_end(&p);
  }
  if (st == CT_OK) {
    *out = l;
  }
  return st;
}

void ct_layout_print(const CtCx *cx, CtLayout l, CtText *out) {
  ct_tuple_print(cx, l.shape, out);
  ct_text_putc(out, ':');
  ct_tuple_print(cx, l.stride, out);
}

static CtStatus parse_tiler(CtParse *p, int depth, CtTiler *out);

/* The items behind '<': tiler { ',' tiler } '>'. */
static CtStatus parse_items(CtParse *p, int depth, CtTiler *out) {
  CtTiler *items = NULL;
  size_t cap = 0, n = 0;
  CtStatus st = CT_OK;
  do {
    if (n == CT_MAX_NODES) {
      st = ct_parse_fail(p, p->at, "too many items");
    }
    if (st == CT_OK) {
      st = ct_grow(p->arena->alloc, &items, &cap, n + 1, sizeof *items, p->err);
    }
    if (st == CT_OK) {
      st = parse_tiler(p, depth, &items[n++]);
    }
  } while (st == CT_OK && ct_parse_accept(p, ','));
  if (st == CT_OK) {
    st = ct_parse_expect(p, '>');
  }
  CtTiler *kept = st == CT_OK ? ct_arena_alloc(p->arena, n * sizeof *kept) : NULL;
  if (kept != NULL) {
    memcpy(kept, items, n * sizeof *kept);
    *out = (CtTiler){.kind = CT_TILER_TUPLE, .n = (int)n, .items = kept};
  } else if (st == CT_OK) {
    st = ct_fail_nomem(p->err);
  }
  ct_free(p->arena->alloc, items, cap * sizeof *items);
  return st;
}

/* tiler := '<' tiler { ',' tiler } '>' | tuple ':' tuple | tuple */
static CtStatus parse_tiler(CtParse *p, int depth, CtTiler *out) {
  CtTuple t;
  if (ct_parse_accept(p, '<')) {
    return depth < CT_MAX_DEPTH ? parse_items(p, depth + 1, out)
                                : ct_parse_fail(p, p->at, "nesting too deep");
  }
  ct_parse_peek(p);
  size_t begin = p->at;
  CtStatus st = ct_parse_tuple(p, &t);
  if (st != CT_OK) {
    return st;
  }
  if (ct_parse_peek(p) != ':') {
    if (ct_has_names(t)) {
      return ct_parse_fail(p, begin, "tile sizes have no names, shapes have; unexpected name");
    }
    return ct_tiler_from_tuple(p->arena, t, out, p->err);
  }
  *out = (CtTiler){.kind = CT_TILER_LAYOUT};
  return parse_layout_rest(p, t, &out->layout);
}

CtStatus ct_tiler_parse(CtArena *a, const char *s, size_t len, CtTiler *out, CtErr *err) {
  CtParse p;
  CtTiler t;
  ct_parse_init(&p, a, "tiler", s, len, err);
  CtStatus st = parse_tiler(&p, 0, &t);
  if (st == CT_OK) {
    st = ct_parse_end(&p);
  }
  if (st == CT_OK) {
    *out = t;
  }
  return st;
}

static bool is_ints(CtTiler t) { /* prints as a tuple: integers, `_` and tuples of them */
  if (t.kind != CT_TILER_TUPLE) {
    return t.kind == CT_TILER_ANY || t.is_int;
  }
  for (int i = 0; i < t.n; i++) {
    if (!is_ints(t.items[i])) {
      return false;
    }
  }
  return true;
}

static void print_items(const CtCx *cx, CtTiler t, CtText *out) {
  bool ints = is_ints(t);
  ct_text_putc(out, ints ? '(' : '<');
  for (int i = 0; i < t.n; i++) {
    if (i > 0) {
      ct_text_putc(out, ',');
    }
    ct_tiler_print(cx, t.items[i], out);
  }
  ct_text_putc(out, ints ? ')' : '>');
}

void ct_tiler_print(const CtCx *cx, CtTiler t, CtText *out) {
  switch (t.kind) {
    case CT_TILER_ANY: ct_text_putc(out, '_'); break;
    case CT_TILER_TUPLE: print_items(cx, t, out); break;
    case CT_TILER_LAYOUT:
      if (t.is_int) {
        ct_tuple_print(cx, t.layout.shape, out);
      } else {
        ct_layout_print(cx, t.layout, out);
      }
      break;
  }
}

static CtStatus tiler_from_int(CtArena *a, CtInt i, CtTiler *out, CtErr *err) {
  if (i.kind == CT_ANY) {
    *out = (CtTiler){.kind = CT_TILER_ANY};
    return CT_OK;
  }
  if (i.basis_depth > 0 || (i.kind == CT_STATIC && i.v < 0)) {
    CtCx cx = {a, NULL};
    return ct_fail(err, CT_EINVAL, "tiler: %s is no tile size; expected a number >= 0",
                   ct_show_int(&cx, i));
  }
  CtLayout l = {ct_leaf(a, i), ct_leaf(a, ct_int(1))};
  if (l.shape == NULL || l.stride == NULL) {
    return ct_fail_nomem(err);
  }
  *out = (CtTiler){.kind = CT_TILER_LAYOUT, .layout = l, .is_int = true};
  return CT_OK;
}

CtStatus ct_tiler_from_tuple(CtArena *a, CtTuple t, CtTiler *out, CtErr *err) {
  if (ct_is_leaf(t)) {
    return tiler_from_int(a, t->i, out, err);
  }
  int n = 0;
  CtTiler *items = ct_arena_alloc(a, (size_t)t->rank * sizeof *items);
  if (items == NULL) {
    return ct_fail_nomem(err);
  }
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    CtStatus st = ct_tiler_from_tuple(a, c, &items[n++], err);
    if (st != CT_OK) {
      return st;
    }
  }
  *out = (CtTiler){.kind = CT_TILER_TUPLE, .n = n, .items = items};
  return CT_OK;
}
