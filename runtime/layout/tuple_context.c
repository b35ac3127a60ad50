/* tuple_context.c: the context of the algebra: its first failure, its memory, texts for messages. */
#include "tuple_context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 200 };

void al_fail(CtAlg *g, CtStatus status, const char *fmt, ...) {
  char msg[sizeof g->err->msg];
  va_list args;
  if (g->status != CT_OK) {
    return;
  }
  va_start(args, fmt);
  vsnprintf(msg, sizeof msg, fmt, args);
  va_end(args);
  g->status = ct_fail(g->err, status, "%s", msg);
}

void *al_alloc(CtAlg *g, size_t n, size_t size) {
  void *p = al_ok(g) ? ct_arena_alloc(g->cx.arena, n * size) : NULL;
  if (p == NULL && al_ok(g)) {
    g->status = ct_fail_nomem(g->err);
  }
  return p;
}

const char *al_keep_text(const CtAlg *g, CtText *t) {
  size_t n = t->len < SHOWN_BYTES ? t->len : SHOWN_BYTES;
  char *s = ct_arena_alloc(g->cx.arena, n + 4);
  if (s != NULL) {
    memcpy(s, ct_text_str(t), n);
    memcpy(s + n, t->len > n ? "..." : "", t->len > n ? 4 : 1);
  }
  ct_text_clear(t);
  return s == NULL ? "?" : s;
}

const char *al_show_int(const CtAlg *g, CtInt i) {
  CtText t;
  CtCx cx = g->cx;
  CtDyn alone;
  if (cx.dyn != NULL && cx.dyn->print_value != NULL) {
    alone = *cx.dyn;
    alone.print = alone.print_value;
    cx.dyn = &alone;
  }
  ct_text_init(&t, g->cx.arena->alloc);
  ct_int_print(&cx, i, &t);
  return al_keep_text(g, &t);
}

const char *al_show_tuple(const CtAlg *g, CtTuple tuple) {
  CtText t;
  if (tuple == NULL) {
    return "?";
  }
  ct_text_init(&t, g->cx.arena->alloc);
  ct_tuple_print(&g->cx, tuple, &t);
  return al_keep_text(g, &t);
}
