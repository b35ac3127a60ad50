/* rewrite.c: finds functions of a parsed chunk and puts together the wrapper for one: the runtime
   functions it uses, copies of the outer constants, the upvalues to join, and the function. */
#include "rewrite.h"

#include <stdio.h>
#include <string.h>

#include "rewrite_int.h"

/* Above this many names of its own the wrapper takes its runtime functions in one table: Lua allows
   200 locals in a function. */
enum { MAX_NAMES = 195 };

const char *const rw_fn_names[RW_FN_COUNT] = {
#define RW_FN_ROW(id, name) [RW_##id] = name,
#include "rewrite_fns.def"
};

/* {==== the chunk ==== */

static bool occurs(const LxTokens *lx, const char *prefix) {
  for (size_t i = 0; i < lx->n_buckets; i++) {
    for (const LxSym *y = lx->buckets[i]; y != NULL; y = y->next) {
      if (strstr(y->s, prefix) != NULL) {
        return true;
      }
    }
  }
  return false;
}

static void choose_prefix(RwChunk *c) {
  unsigned n = 1;
  strcpy(c->prefix, "R_");
  while (occurs(&c->lp.lx, c->prefix)) {
    snprintf(c->prefix, sizeof c->prefix, "R%u_", n++);
  }
}

/* Lays out the functions by number. */
static bool list_functions(RwChunk *c) {
  c->funcs = ct_arena_alloc(&c->lp.arena, c->lp.n_funcs * sizeof *c->funcs);
  c->infos = ct_arena_alloc(&c->lp.arena, c->lp.n_funcs * sizeof *c->infos);
  if (c->funcs == NULL || c->infos == NULL) {
    return false;
  }
  for (LpFunc *f = c->lp.funcs; f != NULL; f = f->next) {
    c->funcs[f->number] = f;
    if (f->parent != NULL) {
      c->infos[f->number] = (RwFunction){.first_line = lp_line(&c->lp, f->tok),
                                         .last_line = lp_line(&c->lp, f->end),
                                         .body = lp_token(&c->lp, f->close)->end,
                                         .name = f->name};
    }
  }
  return true;
}

CtStatus rw_parse(CtAlloc alloc, const char *text, size_t len, const char *name, RwChunk **out,
                  CtErr *err) {
  RwChunk *c = ct_alloc(alloc, sizeof *c);
  if (c == NULL) {
    return ct_fail_nomem(err);
  }
  *c = (RwChunk){.alloc = alloc};
  CtStatus st = lp_parse(alloc, text, len, name, &c->lp, err);
  if (st != CT_OK) {
    ct_free(alloc, c, sizeof *c);
    return st;
  }
  if (!list_functions(c)) {
    rw_free(c);
    return ct_fail_nomem(err);
  }
  choose_prefix(c);
  *out = c;
  return CT_OK;
}

void rw_free(RwChunk *c) {
  if (c != NULL) {
    lp_clear(&c->lp);
    ct_free(c->alloc, c, sizeof *c);
  }
}

void rw_note_reads(RwChunk *c, bool on) { c->notes_reads = on; }

size_t rw_function_count(const RwChunk *c) { return c->lp.n_funcs; }

const RwFunction *rw_function(const RwChunk *c, size_t fn) { return &c->infos[fn]; }

size_t rw_function_find(const RwChunk *c, size_t from, int first_line, int last_line) {
  for (; from < c->lp.n_funcs; from++) {
    if (c->infos[from].first_line == first_line && c->infos[from].last_line == last_line) {
      break;
    }
  }
  return from;
}

static bool is_env(const RwChunk *c, const LpVar *v) { return v == NULL || v->sym == c->lp.env; }

/* Whether Lua gives a local of an outer function no upvalue, because it is a constant. */
static bool is_copied(const LpVar *v) { return v != NULL && v->init != NULL; }

void rw_function_upvalues(const RwChunk *c, size_t fn, void (*each)(void *ud, const char *name),
                          void *ud) {
  for (const LpUpvalue *u = c->funcs[fn]->upvalues; u != NULL; u = u->next) {
    if (!is_copied(u->var)) {
      each(ud, u->var == NULL ? "_ENV" : u->var->sym->s);
    }
  }
}

/* {==== copies of constants ==== */

typedef struct Consts { /* outer constants that the wrapper declares, in order of the text */
  const LpVar **items;
  size_t n, cap;
} Consts;

static CtStatus add_const(Rw *w, Consts *list, const LpVar *v);

/* The constants that a constant expression uses. Its left spine may be long, the rest is shallow.
   */
static CtStatus add_consts_of(Rw *w, Consts *list, const LpExp *e) {
  CtStatus st = CT_OK;
  for (; e != NULL && st == CT_OK; e = e->a) {
    if (e->kind == LP_NAME) {
      st = add_const(w, list, e->var);
    }
    if (e->b != NULL && st == CT_OK) {
      st = add_consts_of(w, list, e->b);
    }
  }
  return st;
}

static CtStatus add_const(Rw *w, Consts *list, const LpVar *v) {
  size_t at = 0;
  while (at < list->n && list->items[at]->tok < v->tok) {
    at++;
  }
  if (at < list->n && list->items[at] == v) {
    return CT_OK;
  }
  CtStatus st = CT_GROW(w->c->alloc, list->items, list->cap, list->n + 1, w->err);
  if (st != CT_OK) {
    return st;
  }
  memmove(list->items + at + 1, list->items + at, (list->n - at) * sizeof *list->items);
  list->items[at] = v;
  list->n++;
  return add_consts_of(w, list, v->init);
}

/* A string literal anew, on one line. */
static void write_string(Rw *w, const char *s, size_t len) {
  char *value = ct_alloc(w->c->alloc, len);
  if (value == NULL) {
    w->status = ct_fail_nomem(w->err);
    return;
  }
  size_t n = lx_string_value(s, len, value);
  rw_puts(w, "\"");
  for (size_t i = 0; i < n; i++) {
    char escape[8];
    snprintf(escape, sizeof escape, "\\%03u", (unsigned)(unsigned char)value[i]);
    rw_glue(w, escape);
  }
  rw_puts(w, "\"");
  ct_free(w->c->alloc, value, len);
}

/* `local x <const> = exp`, on one line. */
static void write_const(Rw *w, const LpVar *v) {
  rw_write(w, "local %s <const> = ", v->sym->s);
  for (LpTok t = v->init->tok; t <= v->init->last; t++) {
    const LxToken *tok = lp_token(&w->c->lp, t);
    const char *s = w->c->lp.lx.text + tok->start;
    if (tok->kind == LX_STRING) {
      write_string(w, s, tok->end - tok->start);
    } else {
      ct_text_add(w->out, s, tok->end - tok->start);
    }
    rw_puts(w, " ");
  }
}

static CtStatus write_consts(Rw *w) {
  Consts list = {0};
  CtStatus st = CT_OK;
  for (const LpUpvalue *u = w->root->upvalues; u != NULL && st == CT_OK; u = u->next) {
    if (is_copied(u->var)) {
      st = add_const(w, &list, u->var);
    }
  }
  for (size_t i = 0; i < list.n && st == CT_OK; i++) {
    write_const(w, list.items[i]);
  }
  ct_free(w->c->alloc, list.items, list.cap * sizeof *list.items);
  return st;
}

/* {==== what the caller must know ==== */

static const char *keep(RwInfo *info, const char *s) {
  return ct_arena_strdup(&info->arena, s, strlen(s));
}

static CtStatus fill_upvalues(const Rw *w, RwInfo *info) {
  size_t n = 0;
  for (const LpUpvalue *u = w->root->upvalues; u != NULL; u = u->next) {
    n++;
  }
  info->upvalues = ct_arena_alloc(&info->arena, n * sizeof *info->upvalues);
  for (const LpUpvalue *u = w->root->upvalues; u != NULL && info->upvalues != NULL; u = u->next) {
    if (is_env(w->c, u->var) && !is_copied(u->var)) {
      info->uses_env = true;
    } else if (!is_copied(u->var)) {
      const char *s = keep(info, u->var->sym->s);
      info->upvalues[info->n_upvalues++] = s;
      if (s == NULL) {
        return ct_fail_nomem(w->err);
      }
    }
  }
  return info->upvalues == NULL ? ct_fail_nomem(w->err) : CT_OK;
}

static CtStatus fill_params(const Rw *w, RwInfo *info) {
  const LpVar *v = w->root->vars;
  info->is_vararg = w->root->is_vararg;
  info->params = ct_arena_alloc(&info->arena, w->root->n_params * sizeof *info->params);
  for (uint32_t i = 0; i < w->root->n_params && info->params != NULL; i++, v = v->next) {
    info->params[info->n_params++] = keep(info, v->sym->s);
    if (info->params[i] == NULL) {
      return ct_fail_nomem(w->err);
    }
  }
  return info->params == NULL ? ct_fail_nomem(w->err) : CT_OK;
}

static CtStatus fill_globals(const Rw *w, RwInfo *info) {
  info->globals = ct_arena_alloc(&info->arena, w->n_globals * sizeof *info->globals);
  for (size_t i = 0; i < w->n_globals && info->globals != NULL; i++) {
    info->globals[info->n_globals++] = keep(info, w->globals[i]);
    if (info->globals[i] == NULL) {
      return ct_fail_nomem(w->err);
    }
  }
  return info->globals == NULL ? ct_fail_nomem(w->err) : CT_OK;
}

static void fill_fns(const Rw *w, RwInfo *info) {
  info->in_table = w->in_table;
  for (RwFn fn = 0; fn < RW_FN_COUNT; fn++) {
    if (w->used[fn]) {
      info->fns[info->n_fns++] = fn;
    }
  }
}

/* {==== the wrapper ==== */

/* `local R_if, R_r = ...`, or the table under the bare prefix */
static void write_runtime_names(Rw *w) {
  const char *comma = "";
  rw_puts(w, "local ");
  if (w->in_table) {
    rw_puts(w, w->c->prefix);
  }
  for (RwFn fn = 0; fn < RW_FN_COUNT && !w->in_table; fn++) {
    if (w->used[fn]) {
      rw_puts(w, comma);
      rw_puts(w, w->c->prefix);
      rw_glue(w, rw_fn_names[fn]);
      comma = ", ";
    }
  }
  rw_puts(w, " = ... ");
}

static void write_upvalues(Rw *w, const RwInfo *info) {
  for (size_t i = 0; i < info->n_upvalues; i++) {
    rw_write(w, i == 0 ? "local %s" : ", %s", info->upvalues[i]);
  }
  rw_puts(w, " return function");
}

static CtStatus write_header(Rw *w, const RwInfo *info) {
  for (int i = w->c->infos[w->root->number].first_line; i > 1; i--) {
    rw_puts(w, "\n");
  }
  write_runtime_names(w);
  CtStatus st = write_consts(w);
  write_upvalues(w, info);
  return st;
}

/* The function's text into `body`; fills w->used. */
static CtStatus write_body(Rw *w, CtText *body) {
  size_t n_names = 0;
  for (const LpUpvalue *u = w->root->upvalues; u != NULL; u = u->next) {
    n_names++;
  }
  w->in_table = n_names + RW_FN_COUNT > MAX_NAMES;
  w->out = body;
  if (w->root->parent != NULL) {
    w->cursor = lp_token(&w->c->lp, w->root->tok)->end;
    rw_skip(w, w->root->open);
  }
  rw_function_body(w, w->root);
  return w->status != CT_OK ? w->status : ct_text_status(body, w->err);
}

CtStatus rw_rewrite(RwChunk *c, size_t fn, RwKind kind, CtText *out, RwInfo *info, CtErr *err) {
  CtText body;
  Rw w = {.c = c, .root = c->funcs[fn], .kind = kind, .err = err};
  *info = (RwInfo){0};
  ct_arena_init(&info->arena, c->alloc);
  ct_text_init(&body, c->alloc);
  CtStatus st = rw_analyse(c, w.root, err);
  st = st == CT_OK ? write_body(&w, &body) : st;
  if (st == CT_OK) {
    st = fill_upvalues(&w, info);
  }
  st = st == CT_OK ? fill_params(&w, info) : st;
  if (st == CT_OK) {
    st = fill_globals(&w, info);
  }
  if (st == CT_OK) {
    fill_fns(&w, info);
    w.out = out;
    st = write_header(&w, info);
    ct_text_add(out, body.s, body.len);
  }
  if (st == CT_OK) {
    st = w.status != CT_OK ? w.status : ct_text_status(out, err);
  }
  ct_text_clear(&body);
  ct_free(c->alloc, w.globals, w.cap_globals * sizeof *w.globals);
  if (st != CT_OK) {
    rw_info_clear(info);
  }
  return st;
}

void rw_info_clear(RwInfo *info) {
  ct_arena_clear(&info->arena);
  *info = (RwInfo){.arena = info->arena};
}
