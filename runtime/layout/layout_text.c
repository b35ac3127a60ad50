/* layout_text.c: layouts and tilers as text, read and written. */
#include <string.h>

#include "layout_algebra.h"
#include "tuple_parse.h"

/* layout := tuple [ ':' tuple ] */
static CtLayout parse_layout_rest(CtParse *p, CtTuple shape) {
  CtTuple stride = NULL;
  if (ct_parse_accept(p, ':')) {
    const char *unnamed = p->unnamed;
    p->unnamed = "strides have no names; unexpected name";
    stride = ct_parse_tuple(p);
    p->unnamed = unnamed;
  }
  return al_layout(&p->g, shape, stride);
}

CtLayout ct_parse_layout(CtParse *p) { return parse_layout_rest(p, ct_parse_tuple(p)); }

void ct_layout_print(const CtCx *cx, CtLayout l, CtText *out) {
  ct_tuple_print(cx, l.shape, out);
  ct_text_putc(out, ':');
  ct_tuple_print(cx, l.stride, out);
}

static CtTiler parse_tiler(CtParse *p, int depth);

/* The items after '<': tiler { ',' tiler } '>'. */
static CtTiler parse_items(CtParse *p, int depth) {
  CtAlloc heap = p->g.cx.arena->alloc;
  CtTiler *items = NULL;
  size_t cap = 0, n = 0;
  do {
    if (n == CT_MAX_NODES) {
      ct_parse_fail(p, p->at, "too many items");
    }
    if (al_ok(&p->g)) {
      p->g.status = CT_GROW(heap, items, cap, n + 1, p->g.err);
    }
    if (al_ok(&p->g)) {
      items[n++] = parse_tiler(p, depth);
    }
  } while (ct_parse_accept(p, ','));
  ct_parse_expect(p, '>');
  CtTiler *kept = al_alloc(&p->g, n, sizeof *kept);
  if (kept != NULL && items != NULL) {
    memcpy(kept, items, n * sizeof *kept);
  }
  ct_free(heap, items, cap * sizeof *items);
  return (CtTiler){.kind = CT_TILER_TUPLE, .n = kept == NULL ? 0 : (int)n, .items = kept};
}

/* tiler := '<' tiler { ',' tiler } '>' | tuple ':' tuple | tuple */
static CtTiler parse_tiler(CtParse *p, int depth) {
  if (ct_parse_accept(p, '<')) {
    if (depth == CT_MAX_DEPTH) {
      ct_parse_fail(p, p->at, "nesting too deep");
    }
    return parse_items(p, depth + 1);
  }
  ct_parse_peek(p);
  size_t begin = p->at;
  CtTuple t = ct_parse_tuple(p);
  if (al_ok(&p->g) && ct_parse_peek(p) == ':') {
    return (CtTiler){.kind = CT_TILER_LAYOUT, .layout = parse_layout_rest(p, t)};
  }
  if (al_ok(&p->g) && ct_has_names(t)) {
    ct_parse_fail(p, begin, "tile sizes cannot have names, only shapes can; unexpected name");
  }
  return al_tiler(&p->g, t);
}

CtTiler ct_parse_tiler(CtParse *p) { return parse_tiler(p, 0); }

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

static CtTiler tiler_from_int(CtAlg *g, CtInt i) {
  if (i.kind == CT_ANY) {
    return (CtTiler){.kind = CT_TILER_ANY};
  }
  if (i.basis_depth > 0 || (i.kind == CT_STATIC && i.v < 0)) {
    al_fail(g, CT_EINVAL, "tiler: %s is not a tile size; expected a number >= 0",
            al_show_int(g, i));
  }
  CtLayout l = {al_leaf(g, i), al_leaf(g, ct_int(1))};
  return (CtTiler){.kind = CT_TILER_LAYOUT, .layout = l, .is_int = true};
}

CtTiler al_tiler(CtAlg *g, CtTuple t) {
  if (!al_ok(g) || ct_is_leaf(t)) {
    return al_ok(g) ? tiler_from_int(g, t->i) : (CtTiler){.kind = CT_TILER_ANY};
  }
  CtTiler *items = al_alloc(g, (size_t)t->rank, sizeof *items);
  int n = 0;
  for (CtTuple c = ct_first(t); items != NULL && c != ct_end(t); c = ct_next(c)) {
    items[n++] = al_tiler(g, c);
  }
  return (CtTiler){.kind = CT_TILER_TUPLE, .n = n, .items = items};
}

const char *al_show_layout(const CtAlg *g, CtLayout l) {
  CtText t;
  if (l.shape == NULL || l.stride == NULL) {
    return "?";
  }
  ct_text_init(&t, g->cx.arena->alloc);
  ct_layout_print(&g->cx, l, &t);
  return al_keep_text(g, &t);
}

const char *al_show_tiler(const CtAlg *g, CtTiler tiler) {
  CtText t;
  if (!al_ok(g)) {
    return "?";
  }
  ct_text_init(&t, g->cx.arena->alloc);
  ct_tiler_print(&g->cx, tiler, &t);
  return al_keep_text(g, &t);
}
